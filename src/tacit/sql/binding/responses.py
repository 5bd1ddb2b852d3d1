"""Questions `USING RANDOMISED RESPONSE`: rows of one table, each column told with a coin in hand, or counts of them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.sql.binding.rows import RowQuestion, rows_asked
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import parameter_value
from tacit.sql.expressions.operands import literal
from tacit.sql.parsing.query import Query

_CLAUSES = {"expressions", "from_", "from", "where", "group", "kind", "hint", "operation_modifiers"}
_REFUSED = (exp.Subquery, exp.Select, exp.Window, exp.Exists, exp.Join)
_FORMS = "columns of one table, or COUNT(*) with a GROUP BY of columns; AND of conditions, each on one column"


@dataclass(frozen=True, slots=True)
class ResponseCondition:
    """A condition on one column, in DuckDB's SQL."""

    column: str
    sql: str


@dataclass(frozen=True, slots=True)
class ResponseQuestion:
    """What is asked of responses: rows, or counts of them, by groups, under conditions."""

    query: Query
    table: str
    needed: tuple[str, ...]  # the columns that are perturbed; empty: all
    rows: RowQuestion | None  # None where they are counted
    groups: tuple[str, ...] = ()
    shown: tuple[tuple[str, str | None], ...] = ()  # of a count: the name of each output, and its column
    conditions: tuple[ResponseCondition, ...] = ()


def response_asked(query: Query) -> ResponseQuestion:
    """What a statement asks of responses. Raises QueryRefused for what cannot be told or estimated from them."""
    rows = rows_asked(query)
    if rows is not None:
        return ResponseQuestion(query, rows.table, rows.needed, rows)
    select = query.select
    if not isinstance(select, exp.Select) or any(value for key, value in select.args.items() if key not in _CLAUSES):
        raise _refused()
    tables = list(select.find_all(exp.Table))
    if len(tables) != 1 or tables[0].args.get("db") or any(node is not select for node in select.find_all(*_REFUSED)):
        raise _refused()
    group = select.args.get("group")
    groups = tuple(_column(node) for node in (group.expressions if group is not None else ()))
    shown = tuple(_output(item, groups) for item in select.expressions)
    if not any(column is None for _, column in shown):
        raise _refused()
    conditions = _conditions(query, select)
    needed = dict.fromkeys((*groups, *(each.column for each in conditions)))
    if not needed:
        raise QueryRefused(
            "nothing is perturbed: no column is read", hint="DP-SELECT 1 COUNT(*) FROM t needs no randomised response"
        )
    return ResponseQuestion(query, tables[0].name, tuple(needed), None, groups, shown, conditions)


def _output(item: exp.Expr, groups: tuple[str, ...]) -> tuple[str, str | None]:
    node = item.this if isinstance(item, exp.Alias) else item
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return item.alias or "count(*)", None
    column = _column(node)
    if fold(column) not in set(map(fold, groups)):
        raise QueryRefused(f"{column[:60]} is neither grouped nor counted", hint=f"add {column[:60]} to GROUP BY")
    return item.alias_or_name, next(name for name in groups if fold(name) == fold(column))


def _column(node: exp.Expr) -> str:
    if not isinstance(node, exp.Column) or node.is_star:
        raise _refused()
    return node.name


def _conditions(query: Query, select: exp.Select) -> tuple[ResponseCondition, ...]:
    where = select.args.get("where")
    if where is None:
        return ()
    tree = copied(where.this)
    for held in list(tree.find_all(exp.Placeholder)):
        value = literal(parameter_value(query.parameters, held))
        if held is tree:
            raise _refused()
        held.replace(value)
    conditions = []
    for part in tree.flatten() if isinstance(tree, exp.And) else (tree,):
        columns = {fold(node.name): node.name for node in part.find_all(exp.Column)}
        if len(columns) != 1:
            raise QueryRefused("a condition is not on one column: nothing says how often it is true", hint=_FORMS)
        for node in part.find_all(exp.Column):
            node.set("table", None)
        conditions.append(ResponseCondition(next(iter(columns.values())), text_of(copied(part), comments=False)))
    return tuple(conditions)


def _refused() -> QueryRefused:
    return QueryRefused("USING RANDOMISED RESPONSE is refused over this statement", hint=_FORMS)
