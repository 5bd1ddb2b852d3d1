"""Questions for rows: `DP-SELECT 1 * FROM t WHERE …`. What they say of the rows is computed from synthetic ones."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused, TacitError
from tacit.policy import fold
from tacit.sql.binding.aggregates import has_aggregate
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import parameter_value
from tacit.sql.expressions.operands import literal
from tacit.sql.parsing.parse import parse
from tacit.sql.parsing.query import Query

_CLAUSES = {"expressions", "from_", "from", "where", "order", "limit", "offset", "kind", "hint", "operation_modifiers"}
_CONDITION = {"expressions", "from_", "from", "where"}
_REFUSED = (exp.Subquery, exp.Select, exp.Window, exp.Exists, exp.Join, exp.Table)


@dataclass(frozen=True, slots=True)
class RowQuestion:
    """Columns of one table, and conditions, an order and a limit on its rows."""

    query: Query
    table: str
    columns: tuple[str, ...]  # in the order they are shown, under the names of the table; empty: all
    needed: tuple[str, ...]  # those, and the ones that conditions and order read

    def text(self, name: str) -> str:
        """The SELECT over a table of that name, in DuckDB's SQL: rebuilt from the parsed tree, parameters filled in."""
        tree = copied(self.query.question)
        for held in list(tree.find_all(exp.Placeholder)):
            held.replace(literal(parameter_value(self.query.parameters, held)))
        for table in tree.find_all(exp.Table):
            called = table.alias or table.name
            named = exp.Table(this=exp.to_identifier(name, quoted=True))
            table.replace(exp.alias_(named, exp.to_identifier(called, quoted=True), table=True))
        return tree.sql(dialect="duckdb", comments=False)


def rows_asked(query: Query) -> RowQuestion | None:
    """What a statement says of rows; None where it asks for something else, or for more than one table's rows."""
    select = query.select
    if not isinstance(select, exp.Select) or any(value for key, value in select.args.items() if key not in _CLAUSES):
        return None
    tables = list(select.find_all(exp.Table))
    inside = [node for node in select.walk() if node is not select and isinstance(node, _REFUSED)]
    if len(tables) != 1 or inside != tables or tables[0].args.get("db") or has_aggregate(select):
        return None
    items = [item.this if isinstance(item, exp.Alias) else item for item in select.expressions]
    starred = [item for item in items if item.is_star]
    if not items or any(not isinstance(item, exp.Column) and not item.is_star for item in items):
        return None
    if starred and len(items) > 1:
        return None
    columns = () if starred else tuple(item.name for item in items)
    aliases = {fold(item.alias) for item in select.expressions if isinstance(item, exp.Alias)}
    order = select.args.get("order")
    renamed = [] if order is None else [node for node in order.find_all(exp.Column) if fold(node.name) in aliases]
    apart = {id(node) for node in renamed if not node.table}  # ORDER BY means what the select list calls so
    read = [node.name for node in select.find_all(exp.Column) if not node.is_star and id(node) not in apart]
    return RowQuestion(query, tables[0].name, columns, () if starred else tuple(dict.fromkeys(read)))


@dataclass(frozen=True, slots=True)
class RowRule:
    """A condition that rows keep: as it was written, rebuilt in DuckDB's SQL, and the columns it reads."""

    written: str
    condition: str
    columns: tuple[str, ...]


def row_rule(written: str, table: str) -> RowRule:
    """The rule behind a text. Raises QueryRefused for what is no condition on columns of the table."""
    named = exp.to_identifier(table, quoted=True).sql()
    try:
        asked = rows_asked(parse(f"SELECT * FROM {named} WHERE {written}"))
    except TacitError:
        asked = None
    select = None if asked is None else asked.query.question
    if select is None or any(value for key, value in select.args.items() if value and key not in _CONDITION):
        raise QueryRefused(
            f"a rule of {table} is no condition on its columns: {written[:80]}", hint='write rules = ["age >= 18"]'
        )
    tree = select.args["where"].this
    columns = tuple(dict.fromkeys(node.name for node in tree.find_all(exp.Column)))
    return RowRule(written, tree.sql(dialect="duckdb", comments=False), columns)


def conjuncts(rule: RowRule) -> tuple[RowRule, ...]:
    """The parts that AND joins, each with the columns it reads."""
    select = parse(f"SELECT * FROM t WHERE {rule.condition}").question
    tree = select.args["where"].this
    parts = tree.flatten() if isinstance(tree, exp.And) else (tree,)
    return tuple(
        RowRule(
            rule.written,
            part.sql(dialect="duckdb", comments=False),
            tuple(dict.fromkeys(node.name for node in part.find_all(exp.Column))),
        )
        for part in parts
    )


def refuse_unpriced(asked: RowQuestion) -> None:
    """Rows have no error bars: what speaks of them makes no sense."""
    if asked.query.bias or asked.query.confidence is not None:
        raise QueryRefused("rows have no error bars: WITH BIAS and CONFIDENCE are refused", hint="leave them out")
