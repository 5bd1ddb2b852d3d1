"""A subquery in a condition: IN and EXISTS, over public tables or the same unit's own rows; one value of the former."""

from __future__ import annotations

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType, fold
from tacit.sql.expressions import cells
from tacit.sql.expressions.names.nodes import paren, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import bare
from tacit.sql.expressions.numeric.numerics import numeric
from tacit.sql.expressions.operands import comparable
from tacit.sql.relations.correlating.correlated import NEAREST, Asker, Correlated
from tacit.sql.relations.joining.parts import NamedTable

__all__ = ["Asker", "member", "scalar"]
_ONE = (exp.Min, exp.Max, exp.Count)
_FIRST = "ask for the inner number first, then write it as a constant"
_ELSE = {
    True: "put it after FROM, grouped by the unit, and join it",
    False: "its tables are public: read it directly, then write it as a constant",
}
_CUT = ("distinct", "limit", "order", "offset", "group", "having")
_NUMERIC = {ColumnType.INTEGER, ColumnType.NUMBER}


def member(node: exp.Expression, asker: Asker) -> exp.Expression:
    """EXISTS or IN, rebuilt: only rows that suit the row outside are looked at."""
    return _exists(_select(node.this, "EXISTS"), asker) if isinstance(node, exp.Exists) else _in(node, asker)


def _select(query: exp.Expression, what: str) -> exp.Select:
    while isinstance(query, exp.Subquery) and not any(value for name, value in query.args.items() if name != "this"):
        query = query.this
    if isinstance(query, exp.SetOperation) and not query.args.get("with_"):
        query = _over_set(query)
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        raise QueryRefused(f"{what} needs a SELECT … FROM …", hint="write WITH before the question")
    return query


def _over_set(query: exp.SetOperation) -> exp.Select:
    """SELECT … FROM (… UNION …): the columns go by the names that the first SELECT gives them."""
    first: exp.Expression = query
    while not isinstance(first, exp.Select):
        first = first.this
    names = [exp.to_identifier(item.alias_or_name, quoted=True) for item in first.expressions]
    listed = [exp.column(name) for name in names if name is not None]
    alias = exp.TableAlias(this=exp.to_identifier("united"))
    return exp.select(*listed).from_(exp.Subquery(this=copied(query), alias=alias))


def _exists(select: exp.Select, asker: Asker) -> exp.Expression:
    if any(item.find(exp.AggFunc) for item in select.expressions):
        raise QueryRefused("EXISTS over an aggregate is refused: it would always hold", hint="write IN, or join")
    if select.args.get("group") or select.args.get("having"):
        raise QueryRefused("GROUP BY is refused in EXISTS", hint="write IN (SELECT key … GROUP BY key HAVING …)")
    inner = Correlated(select, asker)
    inner.take_apart()
    inner.select.set("distinct", None)  # how often a row is there is not asked
    part = inner.derived()
    if _is_untied(part, inner):
        raise QueryRefused(
            "EXISTS is refused where nothing ties its rows to the unit outside: other people's rows would decide",
            hint=inner.nearest,
        )
    return inner.exists(part)


def _is_untied(part: NamedTable, inner: Correlated) -> bool:
    """Whether it is about people, and nothing says that they are the one outside."""
    return part.is_private and not inner.ties


def _in(node: exp.Expression, asker: Asker) -> exp.Expression:
    select = _select(node.args["query"], "IN")
    if len(select.expressions) != 1 or select.expressions[0].find(exp.Star, exp.Columns):
        raise QueryRefused("IN needs a subquery of one column", hint="write x IN (SELECT y FROM …)")
    inner = Correlated(select, asker)
    inner.take_apart()
    grouped = select.args.get("group") or select.args.get("distinct") or select.expressions[0].find(exp.AggFunc)
    if grouped and inner.is_tied:
        raise QueryRefused("a grouped subquery that looks at the row outside is refused", hint="move it into a join")
    outside = asker.scope.key(bare(node.this))
    inner.in_key = outside is not None
    part = inner.derived(select.expressions)
    if not part.is_private:
        return _public(node, inner, part)
    if outside is None:
        raise QueryRefused(
            "IN over other people's rows is refused: whether a row is counted would depend on everybody", hint=NEAREST
        )
    inner.ties.append((part.listed[0], outside))
    exists = inner.exists(part)
    missing = exp.Is(this=asker.relation.held(outside[0]), expression=exp.null())
    return paren(exp.Case(ifs=[exp.If(this=exp.Not(this=paren(missing)), true=exists)]))  # NULL IN … is NULL


def _public(node: exp.Expression, inner: Correlated, part: NamedTable) -> exp.Expression:
    """The engine's own IN: three-valued, so that NOT IN holds for nothing where the public column has a NULL."""
    left = comparable(node.this, inner.asker.scope)
    if left is None or left.constant:
        raise QueryRefused("IN needs a column before it", hint="write x IN (SELECT y FROM …)")
    column, kind = _first(part)
    if left.kind is not kind and not {left.kind, kind} <= _NUMERIC:
        raise QueryRefused(
            f"{left.kind} is looked for among {kind}: tacit does not convert cells",
            hint="compare columns of one type",
        )
    exact = left.exact is not None and left.numeric == numeric(part.types[column])
    value = _raw(inner, column) if exact else _cell(inner, part, column)
    rows = inner.over(part, listed=[value], names=[column])
    return exp.In(this=left.exact if exact else left.sql, query=exp.Subquery(this=rows))


def scalar(node: exp.Expression, asker: Asker) -> tuple[exp.Expression, ColumnType, str]:
    """(SELECT MIN(x) FROM …): one value, of public tables or of the same unit's own rows; its type, if it is exact."""
    select = _select(node, "a subquery")
    written = select.expressions[0].unalias() if len(select.expressions) == 1 else None
    looked_up = isinstance(written, exp.Column) and not any(select.args.get(name) for name in _CUT)
    call = exp.Min(this=copied(written)) if looked_up and written is not None else written
    if call is None or not call.find(exp.AggFunc) or select.args.get("group") or select.args.get("having"):
        raise _several()
    inner = Correlated(select, asker)
    inner.take_apart()
    plain = isinstance(call, _ONE) and not call.expressions and _is_of_a_value(call)
    value = copied(call.this) if plain else exp.Literal.number(1)
    part = inner.derived([exp.Alias(this=value, alias=exp.to_identifier("value"))])
    if looked_up and part.is_private:
        raise _several()
    if _is_untied(part, inner):
        raise QueryRefused("a subquery is refused here: other people's rows would decide", hint=_FIRST)
    if not plain and not (isinstance(call, exp.Count) and isinstance(call.this, exp.Star)):
        raise QueryRefused("a subquery is refused here unless it is MIN, MAX or COUNT", hint=_ELSE[part.is_private])
    if not all(_is_plain_equality(condition) for condition in inner.conditions):  # other forms run on some engines only
        raise QueryRefused(
            "a subquery that stands for one value is tied to the row outside by = between columns",
            hint="write EXISTS, which may compare as it likes; or " + _ELSE[part.is_private],
        )
    if looked_up and written is not None:
        _at_most_one_row(inner, part, written.name[:60])
    column, kind = _first(part)
    counted, exact = isinstance(call, exp.Count), numeric(part.types[column]) is not None
    value = _raw(inner, column) if exact else _cell(inner, part, column)
    aggregate = (
        exp.Count(this=value) if counted else cells.extreme(type(call), value, cells.compared_as(part.types[column]))[0]
    )
    subquery: exp.Expression = exp.Subquery(this=inner.over(part, listed=[aggregate], names=[column]))
    present = inner.present() if part.is_private else None
    if present is not None:  # of nobody there are no rows
        none = exp.Literal.number(0) if counted else exp.null()
        subquery = paren(exp.Case(ifs=[exp.If(this=present, true=subquery)], default=none))
    return subquery, ColumnType.INTEGER if counted else kind, part.types[column] if exact and not counted else ""


def _at_most_one_row(inner: Correlated, part: NamedTable, column: str) -> None:
    """Refuse, as SQL does, what finds several rows. How many there are is counted in public tables, whoever asks.

    Whether a person's row meets those several must not be told: a value that could be found twice is refused to
    everybody. What changes after the count can fail for nobody: the engine is asked for the least.
    """
    rows = inner.asker.counted(inner.fan(part))
    if rows is None:
        inner.asker.note(f"of several rows that a subquery finds, the least {column} counts")
    elif rows > 1:
        raise QueryRefused(
            f"the subquery finds up to {rows:,} rows, and one value is needed: {column} is not certain",
            hint=f"write MIN({column}) or MAX({column}), IN (SELECT …), or WHERE a column that names one row = …",
        )


def _several() -> QueryRefused:
    return QueryRefused(
        "a subquery is refused here: it may have more than one row",
        hint="write MIN(…) or MAX(…) in it, or IN (SELECT …)",
    )


def _is_of_a_value(call: exp.Expression) -> bool:
    return isinstance(call.this, exp.Expression) and not isinstance(call.this, (exp.Distinct, exp.Star))


def _is_plain_equality(condition: exp.Expression) -> bool:
    node = bare(condition)
    sides = (bare(node.this), bare(node.expression)) if isinstance(node, exp.EQ) else ()
    return bool(sides) and all(isinstance(side, exp.Column) for side in sides)


def _first(part: NamedTable) -> tuple[str, ColumnType]:
    """The column that a subquery of one column has, and its type."""
    column = next((column for column in part.columns if fold(column.name) == part.listed[0]), None)
    kind = None if column is None else column.type or ColumnType.from_sql(part.types[column.name])
    if column is None or kind is None:
        raise QueryRefused("the subquery's column has a type that cannot be asked about")
    return column.name, kind


def _cell(inner: Correlated, part: NamedTable, column: str) -> exp.Expression:
    return cells.comparable(_raw(inner, column), part.types[column])


def _raw(inner: Correlated, column: str) -> exp.Expression:
    return quoted_column(inner.called(column))
