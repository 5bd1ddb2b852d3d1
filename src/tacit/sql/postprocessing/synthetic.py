"""Questions for what is free: `SELECT … FROM t SYNTHETIC`, computed from the rows of a model that was paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import Policy, fold
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import parameter_value
from tacit.sql.expressions.names.typed import SYNTHETIC
from tacit.sql.expressions.operands import literal
from tacit.sql.parsing.query import DefaultPrice, Query
from tacit.sql.postprocessing.dissection import name_columns


@dataclass(frozen=True, slots=True)
class SyntheticQuestion:
    """A SELECT over synthetic tables, and public ones."""

    query: Query
    tables: tuple[str, ...]  # those that are synthetic, as they were typed
    others: tuple[str, ...]  # those that are not
    read: frozenset[str]  # the names of all columns, folded
    starred: bool  # whether all columns of some table are read

    def text(self, held: Mapping[str, str]) -> str:
        """The same in DuckDB's SQL: rebuilt from the parsed tree, tables by the names they are held under (by folded
        names), parameters filled in.
        """
        tree = copied(self.query.select)
        for parameter in list(tree.find_all(exp.Placeholder)):
            parameter.replace(literal(parameter_value(self.query.parameters, parameter)))
        for table in list(_read_tables(tree)):
            typed = table.name.removeprefix(SYNTHETIC)
            table.set("this", exp.to_identifier(held[fold(table.name)], quoted=True))
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(typed, quoted=True)))
        name_columns(self.query.select, tree)
        return text_of(tree, comments=False)


def synthetic_asked(query: Query) -> SyntheticQuestion | None:
    """What a statement asks of synthetic tables; None where it names none."""
    tables = list(_read_tables(query.select))
    synthetic = [table.name.removeprefix(SYNTHETIC) for table in tables if is_synthetic(table)]
    if not synthetic:
        return None
    if any(table.args.get("db") for table in tables):
        raise QueryRefused("a table of another schema is refused beside SYNTHETIC", hint="write its name alone")
    stars = (node for node in query.select.find_all(exp.Star) if not isinstance(node.parent, exp.Count))
    return SyntheticQuestion(
        query,
        tuple(dict.fromkeys(synthetic)),
        tuple(dict.fromkeys(table.name for table in tables if not is_synthetic(table))),
        frozenset(fold(node.name) for node in query.select.find_all(exp.Column)),
        starred=any(stars) or query.select.find(exp.Columns) is not None,
    )


def is_synthetic(table: exp.Table) -> bool:
    """Whether a table was typed as `t SYNTHETIC`."""
    return table.name.startswith(SYNTHETIC)


def names_synthetic(query: Query) -> bool:
    """Whether a statement names a synthetic table anywhere: then it is free, or refused."""
    return any(map(is_synthetic, query.select.find_all(exp.Table)))


def refuse_synthetic(query: Query) -> None:
    """Refuse, as a private question, what is computed from a model: it reads nobody's rows."""
    if names_synthetic(query):
        raise QueryRefused(
            "SYNTHETIC is computed from released rows: it is no private question, and has no price",
            hint="ask it on its own: SELECT … FROM t SYNTHETIC",
        )


def refuse_price(asked: SyntheticQuestion) -> None:
    """What is free has no price, and nothing to renew; it has no ± to speak of, either."""
    query = asked.query
    if not isinstance(query.price, DefaultPrice) or query.delta is not None or query.fresh:
        raise QueryRefused(
            "what is asked of a synthetic table is free: it has no price, and is never FRESH", hint="write SELECT …"
        )
    if query.bias or query.confidence is not None:
        raise QueryRefused("synthetic rows have no error bars: WITH BIAS and CONFIDENCE are refused")
    if query.unit is not None or query.caps.max_rows is not None or query.caps.max_groups is not None:
        raise QueryRefused("options are refused over a synthetic table: nobody is in it", hint="write SELECT …")


def refuse_private(asked: SyntheticQuestion, policy: Policy) -> dict[str, str]:
    """The public tables that are read, by their folded names; refused where a table has people in it."""
    public = {fold(table.name): table.name for table in policy.tables if table.public}
    for name in asked.others:
        if fold(name) in public:
            continue
        named = [table.name for table in policy.tables] + [view.name for view in policy.views]
        known = fold(name) in set(map(fold, named))
        raise QueryRefused(
            f"{name[:60]} is refused beside a synthetic table: "
            + ("people are in it" if known else "the policy does not name it"),
            hint=f"write {name[:60]} SYNTHETIC, or ask about it on its own" if known else "",
        )
    return {fold(name): public[fold(name)] for name in asked.others}


def _read_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables that are read, but for the names that WITH gives; functions are tables to the parser, and none."""
    named = {fold(each.alias) for each in tree.find_all(exp.CTE)}
    tables = (node for node in tree.find_all(exp.Table) if isinstance(node.this, exp.Identifier))
    return (node for node in tables if fold(node.name) not in named)
