"""Subqueries in other forms, written anew in the one that is derived: what each means is said by SQL alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import fold
from tacit.sql.expressions.names.nodes import aliased, paren, quoted_column
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import bare, name_of
from tacit.sql.relations.joining.parts import unlike
from tacit.sql.relations.rewriting.spreads import MIDDLES, SPREADS

AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, *SPREADS, *MIDDLES)
_BY_ANOTHER = (exp.ArgMax, exp.ArgMin)
_INNER = "inner"


def settled(select: exp.Select) -> exp.Select:
    """The same rows: aggregates and windows are named before they are computed with."""
    select = _distinct_over(_first_of_each(_plain_aggregates(_chosen_rows(_keys_written_out(select)))))
    if select.args.get("qualify") is not None:
        select = _qualified(select)
    return _in_two_levels(select) or select


def _keys_written_out(select: exp.Select) -> exp.Select:
    """GROUP BY ALL: by whatever of the list is no aggregate."""
    group = select.args.get("group")
    if group is None or not group.args.get("all") or any(item.is_star for item in select.expressions):
        return select
    copy = copied(select)
    listed = [item.unalias() for item in copy.expressions]
    keys = [copied(item) for item in listed if not any(isinstance(node, exp.AggFunc) for node in _over_rows(item))]
    copy.set("group", exp.Group(expressions=keys))
    return copy


def _over_rows(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression outside of its subqueries and windows."""
    return node.walk(prune=lambda each: isinstance(each, (exp.Query, exp.Window)))


def own_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, without those of the subqueries in it."""
    return node.walk(prune=lambda each: isinstance(each, exp.Query))


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _plain_aggregates(select: exp.Select) -> exp.Select:
    """FILTER, COUNT_IF, BOOL_OR and BOOL_AND of one unit's rows, by CASE."""
    parts = [*select.expressions, *(part for part in (select.args.get("having"),) if part is not None)]
    others = (exp.Filter, exp.CountIf, exp.LogicalOr, exp.LogicalAnd, exp.AnyValue, exp.IgnoreNulls, exp.WithinGroup)
    if not any(isinstance(node, others) for part in parts for node in own_nodes(part)):
        return select
    copy = copied(select)
    parts = [*copy.expressions, *(part for part in (copy.args.get("having"),) if part is not None)]
    for node in [each for part in parts for each in own_nodes(part) if isinstance(each, others)]:
        if not isinstance(node.parent, (exp.Filter, exp.IgnoreNulls)):
            plain = _plain_aggregate(node)
            fits = isinstance(plain, AGGREGATES) or not isinstance(node.parent, exp.Window)
            if node.parent is not None and plain is not node and fits:
                node.replace(plain)
    return copy


def _plain_aggregate(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Filter):
        return _filtered(_plain_aggregate(node.this), node.expression.this)
    if isinstance(node, exp.CountIf):
        return exp.Count(this=_where(node.this, exp.Literal.number(1)))
    if isinstance(node, (exp.LogicalOr, exp.LogicalAnd)):
        truth = exp.Case(
            ifs=[
                exp.If(this=copied(node.this), true=exp.Literal.number(1)),
                exp.If(this=exp.Not(this=paren(copied(node.this))), true=exp.Literal.number(0)),
            ]
        )
        kind = exp.Max if isinstance(node, exp.LogicalOr) else exp.Min
        return exp.Paren(this=exp.EQ(this=kind(this=truth), expression=exp.Literal.number(1)))
    if (
        isinstance(node, exp.IgnoreNulls) and isinstance(node.this, exp.AnyValue) and node.this.this is not None
    ):  # any will do: the least
        return exp.Min(this=copied(node.this.this))
    if isinstance(node, exp.WithinGroup):
        return _within_group(node)
    return node


def _within_group(node: exp.WithinGroup) -> exp.Expr:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x) is QUANTILE_CONT(x, 0.9); any other stays, and is refused."""
    share, order = node.this, node.expression
    ordered = order.expressions if isinstance(order, exp.Order) else []
    if not isinstance(share, exp.PercentileCont) or len(ordered) != 1:
        return node
    wanted = share.this
    if ordered[0].args.get("desc"):
        if not isinstance(wanted, exp.Literal) or wanted.is_string:
            return node
        wanted = exp.Literal.number(f"{1 - Decimal(str(wanted.this)):f}")
    return exp.PercentileCont(this=copied(ordered[0].this), expression=copied(wanted))


def _where(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=copied(condition), true=copied(value))])


def _filtered(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """An aggregate of the rows for which a condition holds."""
    copy = copied(call)
    for node in [copy] if isinstance(copy, AGGREGATES) else list(copy.find_all(*AGGREGATES)):
        inner = node.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            inner.set("expressions", [_where(condition, inner.expressions[0])])
        elif isinstance(inner, exp.Star):
            node.set("this", _where(condition, exp.Literal.number(1)))
        else:
            node.set("this", _where(condition, inner))
    return copy


def counted_where(distinct: exp.Distinct) -> tuple[exp.Expression, exp.Expression | None]:
    """What COUNT(DISTINCT …) counts, and where: CASE WHEN c THEN x END counts x where c holds."""
    if not distinct.expressions:
        raise QueryRefused("COUNT(DISTINCT) lacks what is counted", hint="write COUNT(DISTINCT x)")
    inner = bare(distinct.expressions[0])
    if len(counted_together(distinct)) > 1:
        return inner, None
    branches = inner.args.get("ifs") if isinstance(inner, exp.Case) else [inner] if isinstance(inner, exp.If) else None
    if not branches or len(branches) != 1 or (isinstance(inner, exp.Case) and inner.this is not None):
        return inner, None
    default = inner.args.get("default") or inner.args.get("false")
    if default is not None and not isinstance(bare(default), exp.Null):
        return inner, None
    return bare(branches[0].args["true"]), branches[0].this


def counted_together(distinct: exp.Distinct) -> list[exp.Expression]:
    """What COUNT(DISTINCT a, b) and COUNT(DISTINCT (a, b)) count together."""
    row = counted_row(distinct)
    return list(map(bare, distinct.expressions if row is None else row.expressions))


def counted_row(distinct: exp.Distinct) -> exp.Tuple | None:
    """The row that COUNT(DISTINCT (a, b)) counts, which is no NULL even where a part of it is."""
    only = bare(distinct.expressions[0]) if len(distinct.expressions) == 1 else None
    return only if isinstance(only, exp.Tuple) else None


@dataclass(frozen=True, slots=True)
class _Choice:
    """A value of one row of a group: the first in an order, of the rows that it may be of."""

    value: exp.Expr
    order: list[exp.Expr]
    among: exp.Expr | None  # None: any row may be it


def _choice(node: exp.Expr) -> _Choice | None:
    """ARG_MAX(x, y), ARG_MIN, FIRST(x ORDER BY y), LAST and ARRAY_AGG(x ORDER BY y)[1], with their FILTER.

    ARG_MAX passes over rows without an x or a y, as in DuckDB. Of several rows in the same place, any may be taken.
    """
    condition = node.expression.this if isinstance(node, exp.Filter) else None
    call = bare(node.this) if isinstance(node, exp.Filter) else node
    if isinstance(call, _BY_ANOTHER):
        if call.expression is None:
            raise QueryRefused(f"{name_of(call)} needs two values", hint="write ARG_MAX(what, by which)")
        by = copied(call.expression) if condition is None else _where(condition, call.expression)
        missing = exp.Or(this=_missing(call.this), expression=_missing(by))
        order: list[exp.Expr] = [
            exp.Ordered(this=missing),
            exp.Ordered(this=copied(by), desc=isinstance(call, exp.ArgMax)),
        ]
        return _Choice(call.this, order, exp.Not(this=paren(_missing(by))))
    if isinstance(call, exp.Bracket) and [item.sql() for item in call.expressions] == ["0"]:  # the first, here
        call = bare(call.this)
    if not isinstance(call, (exp.First, exp.Last, exp.ArrayAgg)) or not isinstance(call.this, exp.Order):
        return None
    ordered = [each for item in call.this.expressions for each in _placed(item, back=isinstance(call, exp.Last))]
    if condition is not None:
        ordered.insert(0, exp.Ordered(this=_missing(_where(condition, exp.Literal.number(1)))))
    return _Choice(call.this.this, ordered, condition)


def _placed(item: exp.Expr, *, back: bool) -> list[exp.Expr]:
    """One item of ORDER BY, with the place of rows without it said; all the other way round for the last row."""
    nulls_first = bool(item.args.get("nulls_first")) is not back
    return [
        exp.Ordered(this=_missing(item.this), desc=nulls_first),
        exp.Ordered(this=copied(item.this), desc=bool(item.args.get("desc")) is not back),
    ]


def _choices(parts: Sequence[exp.Expr]) -> list[tuple[exp.Expr, _Choice]]:
    """Such calls, none of them within another."""
    found = [(node, choice) for part in parts for node in own_nodes(part) if (choice := _choice(node)) is not None]
    inside = {id(node) for outer, _ in found for node in outer.walk() if node is not outer}
    return [(node, choice) for node, choice in found if id(node) not in inside]


def _chosen_rows(select: exp.Select) -> exp.Select:
    """A value of one row of a group, by a window over one table's rows."""
    source, group, having = (select.args.get(name) for name in ("from_", "group", "having"))
    parts = [*select.expressions, *([] if having is None else [having.this])]
    if group is None or source is None or select.args.get("joins") or not _choices(parts):
        return select
    copy = copied(select)
    items = [(item.alias_or_name, item.unalias()) for item in copy.expressions]
    keys = [copied(_meant(node, items)) for node in copy.args["group"].expressions]
    level = _Level(set())
    parts = [*copy.expressions, *([] if having is None else [copy.args["having"].this])]
    for node, choice in _choices(parts):
        window = exp.Window(this=exp.FirstValue(this=copied(choice.value)), partition_by=[copied(key) for key in keys])
        window.set("order", exp.Order(expressions=choice.order))
        named = level.name(window)
        node.replace(exp.Min(this=named if choice.among is None else _where(choice.among, named)))
    rows = exp.Select(expressions=[exp.Star(), *level.items.values()], from_=copied(copy.args["from_"]))
    for name in ("where", "with_"):
        if copy.args.get(name) is not None:
            rows.set(name, copied(copy.args[name]))
            copy.set(name, None)
    alias = exp.TableAlias(this=exp.to_identifier(source.this.alias_or_name or _INNER))
    copy.set("from_", exp.From(this=exp.Subquery(this=rows, alias=alias)))
    return copy


def _missing(node: exp.Expr) -> exp.Expr:
    return exp.Is(this=copied(node), expression=exp.null())


def _first_of_each(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT ON (key) … ORDER BY key, day: the first row of each, by QUALIFY."""
    distinct = select.args.get("distinct")
    on = None if distinct is None else distinct.args.get("on")
    if on is None or select.args.get("qualify") is not None or select.args.get("group") is not None:
        return select
    keys = on.expressions if isinstance(on, exp.Tuple) else [on]
    order = select.args.get("order")
    copy = copied(select)
    copy.set("distinct", None)
    copy.set("order", None)
    window = exp.Window(this=exp.RowNumber(), partition_by=[copied(key) for key in keys])
    if order is not None:
        window.set("order", copied(order))
    copy.set("qualify", exp.Qualify(this=exp.EQ(this=window, expression=exp.Literal.number(1))))
    return copy


def _distinct_over(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT with windows: those are named inside, and what is the same twice is left out around them."""
    distinct = select.args.get("distinct")
    windows = any(isinstance(node, exp.Window) for item in select.expressions for node in own_nodes(item))
    windows = windows and not any(isinstance(bare(item), exp.Star) for item in select.expressions)
    if distinct is None or distinct.args.get("on") is not None or not windows or select.args.get("group") is not None:
        return select
    copy = select.copy()
    copy.set("distinct", None)
    names = [item.alias_or_name or text_of(item, comments=False) for item in copy.expressions]
    items = [
        item if item.alias else exp.alias_(item, name, quoted=True)
        for item, name in zip(copy.expressions, names, strict=True)
    ]
    copy.set("expressions", [item.copy() for item in items])
    outer = over(copy, [exp.column(exp.to_identifier(name, quoted=True)) for name in names])
    outer.set("distinct", exp.Distinct())
    return outer


# ── levels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Level:
    """An inner select that names what an outer one computes with."""

    taken: set[str]
    items: dict[str, exp.Expr] = field(default_factory=dict)  # by the text of what is named: its alias

    def name(self, node: exp.Expr, wanted: str = "") -> exp.Column:
        """The outer column that holds an expression of the inner select."""
        text = text_of(node, comments=False)
        if text not in self.items:
            name = unlike(wanted or text, lambda tried: fold(tried) in self.taken)
            self.taken.add(fold(name))
            self.items[text] = aliased(copied(node), name)
        return quoted_column(self.items[text].alias)

    def replaced(self, tree: exp.Expr, known: Collection[str], kinds: tuple[type[exp.Expr], ...]) -> exp.Expr:
        """The expression, over the columns of the inner select."""
        whole = exp.Paren(this=copied(tree))
        waiting: list[exp.Expr] = [whole.this]
        while waiting:
            node = waiting.pop()
            named = not isinstance(node, exp.Ordered) and text_of(node, comments=False) in known
            if isinstance(node, kinds) or named:
                node.replace(self.name(node))
            elif isinstance(node, exp.Window):  # its own function is computed around what it is given
                function = node.this
                while isinstance(function, (exp.IgnoreNulls, exp.RespectNulls)):
                    function = function.this
                waiting += [*function.iter_expressions()]
                waiting += [part for part in node.iter_expressions() if part is not node.this]
            elif not isinstance(node, exp.Query):
                waiting += list(node.iter_expressions())
        inner: exp.Expr = whole.this
        return inner


def _in_two_levels(select: exp.Select) -> exp.Select | None:
    """MAX(b) - MIN(a) of a group, LAG(SUM(x)) OVER …: the aggregates in a subquery of their own.

    None where none is computed with.
    """
    items = [(item.alias_or_name or text_of(item, comments=False), item.unalias()) for item in select.expressions]
    grouped = [node for _, node in items if has_aggregate(node)]
    group = select.args.get("group")
    windows = any(isinstance(node, exp.Window) for _, item in items for node in own_nodes(item))
    if windows and group is None:
        return None
    computed = windows or any(not isinstance(bare(node), AGGREGATES) for node in grouped)
    if not computed or select.args.get("distinct"):
        return None
    if group is not None and any(value for name, value in group.args.items() if name != "expressions"):
        return None
    keys = [_meant(node, items) for node in (group.expressions if group is not None else ())]
    level = _Level(set())
    named = {text_of(key, comments=False): name for name, key in items}
    for key in keys:
        level.name(key, named.get(text_of(key, comments=False)) or key.alias_or_name)
    known = set(level.items)
    listed = [aliased(level.replaced(node, known, AGGREGATES), name) for name, node in items]
    inner = copied(select)
    inner.set("expressions", list(level.items.values()))
    if keys:
        inner.set("group", exp.Group(expressions=[copied(key) for key in keys]))
    return over(inner, listed)


def _meant(node: exp.Expr, items: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """A key of GROUP BY: a position and an alias are the select list's."""
    if isinstance(node, exp.Literal) and str(node.this).isdigit() and 1 <= int(node.this) <= len(items):
        return items[int(node.this) - 1][1]
    if isinstance(node, exp.Column) and not node.table:
        meant = next((item for name, item in items if fold(name) == fold(node.name)), None)
        return node if meant is None or isinstance(meant, exp.Column) else meant
    return bare(node)  # type: ignore[arg-type]


def has_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate over groups stands in an expression."""
    return any(isinstance(each, AGGREGATES) for each in _over_rows(node))


def _qualified(select: exp.Select) -> exp.Select:
    """QUALIFY: its windows are named inside, and its condition stands around them."""
    copy = copied(select)
    condition = copy.args["qualify"].this
    copy.set("qualify", None)
    level = _Level({fold(item.alias_or_name) for item in copy.expressions})
    names = [item.alias_or_name for item in copy.expressions]
    starred = any(item.find(exp.Star) and not item.find(exp.Count) for item in copy.expressions)
    whole = exp.Paren(this=level.replaced(condition, (), (exp.Window,)))
    known = {fold(name) for name in names}
    for column in list(whole.find_all(exp.Column)):
        if not starred and fold(column.name) not in known | level.taken:
            column.replace(level.name(column))
    if starred:
        hidden = [exp.to_identifier(item.alias, quoted=True) for item in level.items.values()]
        listed: list[exp.Expr] = [exp.Star(except_=hidden)]
    else:
        listed = [quoted_column(name) for name in names]
    copy.set("expressions", [*copy.expressions, *level.items.values()])
    return over(copy, listed).where(whole, copy=False)


def over(inner: exp.Select, listed: Sequence[exp.Expr]) -> exp.Select:
    """A select of these columns from another one."""
    alias = exp.TableAlias(this=exp.to_identifier(_INNER))
    return exp.Select(expressions=list(listed), from_=exp.From(this=exp.Subquery(this=inner, alias=alias)))
