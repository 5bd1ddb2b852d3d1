"""Window functions within one unit: a value for each row that the unit's own rows decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType, ListDomain
from tacit.sql.expressions.dates.instant_reading import is_instant
from tacit.sql.expressions.dates.instants import Instant
from tacit.sql.expressions.names.nodes import cast_as, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, bare, name_of
from tacit.sql.expressions.names.spoken import clause_named
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.expressions.operands import cell, kind_of, literal, operand
from tacit.sql.expressions.predicates import is_condition, moment_of, predicate
from tacit.sql.relations.deriving.frames import FARTHEST, by_value, spec_of
from tacit.sql.relations.relation import Relation

_RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
_NEIGHBOURS = (exp.Lag, exp.Lead)
_ENDS = (exp.FirstValue, exp.LastValue, exp.NthValue)
_BY_PLACE = (exp.RowNumber, exp.Ntile, *_NEIGHBOURS, *_ENDS)  # the others give equal rows equal numbers
_TOTALS = (exp.Count, exp.Sum, exp.Min, exp.Max)
_FINEST, _COARSEST = 10**6, 10**3  # an average is cut off at such a part of its column's step
_ROOM = 1 << 40  # steps of an average that is cut off finely
_FILLED = {ColumnType.TEXT: ("varchar", "'none'"), ColumnType.BOOLEAN: ("boolean", "FALSE")}
_FORMS = (
    "ROW_NUMBER, RANK, NTILE, LAG, LEAD, FIRST_VALUE and NTH_VALUE with ORDER BY; COUNT, SUM, AVG, MIN and MAX with or"
    " without"
)


@dataclass(frozen=True, slots=True)
class NeighbourCell:
    """A text or a truth value of another of the unit's rows, with what is known of its column."""

    sql: exp.Expression
    column: ColumnPolicy
    kind: ColumnType
    sql_type: str


@dataclass(frozen=True, slots=True)
class _Frame:
    """Which of the unit's rows a window looks at, and in which order."""

    partition: list[exp.Expression]
    order: list[exp.Expression]
    spec: exp.Expression | None

    def over(self, function: exp.Expression) -> exp.Expression:
        """The function over these rows."""
        window = exp.Window(this=function, partition_by=[copied(part) for part in self.partition])
        if self.order:
            window.set("order", exp.Order(expressions=[copied(item) for item in self.order]))
        if self.spec is not None:
            window.set("spec", copied(self.spec))
        return window


def window(node: exp.Window, scope: Scope, relation: Relation) -> Grid | Instant | NeighbourCell:
    """What a window function gives that looks at one unit's rows only: a number on its grid, a moment, or a cell.

    Rows that the ORDER BY leaves equal, all of them where there is none, are put in order by all their columns and
    keys, so that neither storage nor any other unit decides between them; rows that are equal in all that could leave
    the subquery may change places unseen.
    """
    frame = _frame(node, scope, relation)
    function, ordered = node.this, bool(node.args.get("order"))
    from_first = isinstance(function, (exp.FirstValue, exp.NthValue)) and frame.spec is None
    by_place = isinstance(function, _NEIGHBOURS) or from_first
    by_place = by_place or (isinstance(function, _ENDS) and _is_whole(frame.spec))
    if by_place and ordered:
        return _neighbour(function, scope, frame)
    if is_instant(node, scope) and isinstance(function, (exp.Min, exp.Max)):
        moment = moment_of(function.this, scope)
        sql = frame.over(type(function)(this=moment.sql))
        return Instant(moment.kind, moment.low, moment.high, sql, unbounded=moment.unbounded, zoned=moment.zoned)
    return _number(function, scope, relation, frame=frame, ordered=ordered)


def _frame(node: exp.Window, scope: Scope, relation: Relation) -> _Frame:
    function = node.this
    keys = node.args.get("partition_by") or []
    if relation.table.public:
        raise QueryRefused(
            f"{name_of(function)} OVER is refused over public tables", hint="make a public table or view that has it"
        )
    if not any(scope.key(bare(key)) for key in keys):
        raise QueryRefused(
            f"{name_of(function)} OVER is refused here: it would look at the rows of several units",
            hint=f"write OVER (PARTITION BY {relation.table.unit_column} …)" + _of_all(function),
        )
    known = {"this", "partition_by", "order", "over", "spec"}
    extra = [name for name, value in node.args.items() if value and name not in known]
    if extra:
        raise QueryRefused(
            f"a window with {clause_named(extra[0])} is refused", hint="PARTITION BY, ORDER BY and ROWS are allowed"
        )
    within = None if isinstance(function, _BY_PLACE) else by_value(node.args.get("spec"), node.args.get("order"), scope)
    spec = within[1] if within else spec_of(node.args.get("spec"), ordered=bool(node.args.get("order")))
    ordered = [within[0]] if within else _order(node.args.get("order"), scope)
    if isinstance(function, _BY_PLACE) or (spec is not None and str(spec.args.get("kind")).upper() == "ROWS"):
        ordered += [_ordered(quoted_column(name)) for name in relation.all_columns]
    owner = quoted_column(relation.table.unit_column or "")
    return _Frame([relation.spelled(owner), *(_plain(key, scope) for key in keys)], ordered, spec)


def _of_all(function: exp.Expression) -> str:
    """How units are told apart by a number that all of them have a part in."""
    if not isinstance(function, (*_RANKS, exp.Ntile, exp.PercentRank, exp.CumeDist)):
        return ""
    return "; to part the units by a number, ask for QUANTILE(x, 0.25) of it first, and write what it is into a CASE"


def _is_whole(spec: exp.Expression | None) -> bool:
    """Whether a frame is all of the unit's rows."""
    ends = [] if spec is None else [str(spec.args.get(name)).upper() for name in ("start", "end")]
    return ends == ["UNBOUNDED", "UNBOUNDED"]


def _neighbour(function: exp.Expression, scope: Scope, frame: _Frame) -> Grid | Instant | NeighbourCell:
    """A value of another of the unit's rows."""

    def over(value: exp.Expression, default: exp.Expression | None = None) -> exp.Expression:
        offset = _offset(function)
        if isinstance(function, exp.NthValue):
            return frame.over(exp.NthValue(this=value, offset=offset))
        if isinstance(function, _ENDS):
            return frame.over(type(function)(this=value))
        given = {"offset": offset or (exp.Literal.number(1) if default is not None else None), "default": default}
        return frame.over(
            type(function)(this=value, **{name: part for name, part in given.items() if part is not None})
        )

    inner, default = bare(function.this), function.args.get("default")
    if is_instant(inner, scope) and default is None:
        moment = moment_of(inner, scope)
        return Instant(
            moment.kind, moment.low, moment.high, over(moment.sql), unbounded=moment.unbounded, zoned=moment.zoned
        )
    column = scope.column(inner) if isinstance(inner, exp.Column) and scope.key(inner) is None else None
    if column is not None and _is_carried(*column) and (default is None or column[1] in _FILLED):
        read = cell(*column, scope)
        return _carried(function, column, (read.sql, read.sql_type), scope, over=over)
    if is_condition(inner):
        truth = ColumnPolicy("truth", type=ColumnType.BOOLEAN), ColumnType.BOOLEAN
        return _carried(function, truth, (predicate(inner, scope), "boolean"), scope, over=over)
    values = number(inner, scope, predicate=predicate)
    if default is None:
        return replace(values, sql=over(values.sql), nullable=True)
    units = number(default, scope, predicate=predicate)
    if not units.is_constant or (units.value / values.step).denominator != 1:
        raise QueryRefused(
            f"{name_of(function)} needs a constant for where there is no such row", hint="write LAG(x, 1, 0)"
        )
    steps = int(units.value / values.step)
    ends = min(values.low, steps), max(values.high, steps)
    return replace(values, sql=over(values.sql, integer(steps)), low=ends[0], high=ends[1], nullable=True)


def _carried(
    function: exp.Expression,
    column: tuple[ColumnPolicy, ColumnType],
    read: tuple[exp.Expression, str],
    scope: Scope,
    *,
    over: Callable[..., exp.Expression],
) -> NeighbourCell:
    """A cell of another row, and what stands where there is no such row: LAG(ward, 1, 'none')."""
    (declared, kind), (sql, sql_type), given = column, read, function.args.get("default")
    if given is None:
        return NeighbourCell(over(sql), declared, kind, sql_type)
    value = scope.value(given) if scope.is_constant(given) else None
    if value is None or kind_of(value) is not kind:
        raise QueryRefused(
            f"{name_of(function)} needs a constant {kind} for where there is no such row",
            hint=f"write LAG(x, 1, {_FILLED[kind][1]})",
        )
    sql_type = _FILLED[kind][0]  # both in one type: an engine would read the constant in the column's
    if isinstance(declared.domain, ListDomain) and value not in declared.domain.values:
        declared = replace(declared, domain=ListDomain((*declared.domain.values, value)))
    if kind is ColumnType.TEXT:
        sql = cast_as(sql, "VARCHAR")
    return NeighbourCell(over(sql, literal(value)), declared, kind, sql_type)


def _is_carried(declared: ColumnPolicy, kind: ColumnType) -> bool:
    """Whether a cell is taken as it is: what nobody computes with, whole numbers without bounds among it."""
    return kind in {ColumnType.TEXT, ColumnType.BOOLEAN} or (kind is ColumnType.INTEGER and declared.bounds is None)


def _offset(function: exp.Expression) -> exp.Expression | None:
    """How many rows LAG and LEAD look back or ahead."""
    offset = function.args.get("offset")
    counts_from_one = isinstance(function, exp.NthValue)  # an engine would fail on 0
    if offset is None and not counts_from_one:
        return None
    whole = isinstance(offset, exp.Literal) and not offset.is_string and str(offset.this).isdigit()
    if offset is None or not whole or not counts_from_one <= int(offset.this) <= FARTHEST:
        raise QueryRefused(f"{name_of(function)} takes a whole number of rows")
    if any(value for name, value in function.args.items() if name not in {"this", "offset", "default"}):
        raise QueryRefused(f"{name_of(function)} is refused in this form", hint="it counts from the first row")
    copy: exp.Expression = copied(offset)
    return copy


def _number(function: exp.Expression, scope: Scope, relation: Relation, *, frame: _Frame, ordered: bool) -> Grid:
    """A rank or a total of the unit's rows."""
    cap = relation.table.max_rows
    if isinstance(function, (exp.Rank, exp.DenseRank)) and not ordered:
        raise QueryRefused(f"{name_of(function)} needs an ORDER BY", hint="write OVER (PARTITION BY … ORDER BY …)")
    if isinstance(function, _RANKS) and not function.expressions:
        if cap is None:
            raise _uncapped(function, scope)
        return Grid(frame.over(type(function)()), Fraction(1), 0, cap)
    if isinstance(function, exp.Ntile):
        parts = scope.value(function.this) if function.this is not None and scope.is_constant(function.this) else None
        if type(parts) is not int or not 1 <= parts <= FARTHEST or not ordered:
            raise QueryRefused(
                "NTILE needs a whole number of parts, and an ORDER BY",
                hint="write NTILE(4) OVER (PARTITION BY … ORDER BY …)",
            )
        return Grid(frame.over(exp.Ntile(this=integer(parts))), Fraction(1), 1, parts)
    if isinstance(function, _TOTALS) and not isinstance(function.this, exp.Distinct):
        total = _total(function, scope, cap)
        return replace(total, sql=frame.over(total.sql))
    if isinstance(function, exp.Avg) and not isinstance(function.this, exp.Distinct):
        return averaged(number(function.this, scope, predicate=predicate), frame.over)
    raise QueryRefused(f"{name_of(function)} OVER is refused in this form", hint=_FORMS)


def sum_ends(values: Grid, cap: int) -> tuple[int, int]:
    """What a sum of so many values at the most lies between: of none it is NULL, so that it has one value at least."""
    low = values.low if values.low > 0 else cap * values.low
    return low, values.high if values.high < 0 else cap * values.high


def averaged(values: Grid, over: Callable[[exp.Expression], exp.Expression]) -> Grid:
    """The mean of a unit's values, cut off at a part of their step; `over` says of which of its rows."""
    part = _FINEST if values.magnitude * _FINEST < _ROOM else _COARSEST
    ends = MOST_ROWS * min(values.low, 0), MOST_ROWS * max(values.high, 0)
    total = arithmetic.widened(Whole(over(exp.Sum(this=copied(values.sql))), *ends), Width.INT128)
    count = over(exp.Count(this=copied(values.sql)))
    counted = exp.Anonymous(this="GREATEST", expressions=[count, integer(1)])
    # of none the sum is NULL, by whatever it is divided
    mean = arithmetic.scale(total, part, over=Whole(counted, 1, MOST_ROWS, Width.BIGINT))
    return Grid(
        mean.sql, values.step / part, values.low * part, values.high * part, nullable=True, width=mean.width
    )  # a mean lies between the ends of what it is of, and stays there when it is cut off towards zero


def _uncapped(function: exp.Expression, scope: Scope) -> QueryRefused:
    tables = " and ".join(f"[tables.{name}]" for name in scope.private_tables)
    return QueryRefused(
        f"{name_of(function)} OVER has no bound: max_rows is not declared", hint=f"add max_rows = … to {tables}"
    )


def _total(function: exp.Expression, scope: Scope, cap: int | None) -> Grid:
    if isinstance(function, exp.Count):
        if cap is None:
            raise _uncapped(function, scope)
        return Grid(
            exp.Count(this=exp.Star() if isinstance(function.this, exp.Star) else _plain(function.this, scope)),
            Fraction(1),
            0,
            cap,
        )
    values = number(function.this, scope, predicate=predicate)
    if isinstance(function, exp.Sum):
        if cap is None:
            raise _uncapped(function, scope)
        ends = sum_ends(values, cap)
        # a unit may have more rows than count: no width but the widest is sure to hold their sum
        return Grid(exp.Sum(this=values.sql), values.step, *ends, nullable=True, width=Width.INT128)
    return replace(values, sql=type(function)(this=values.sql), nullable=True)


def _order(order: exp.Order | None, scope: Scope) -> list[exp.Expression]:
    if order is None:
        return []
    asked: list[exp.Expression] = []
    for item in order.expressions:
        if item.args.get("nulls_first") or item.args.get("with_fill"):
            raise QueryRefused("NULLS FIRST and WITH FILL are refused in ORDER BY", hint="NULL stands last")
        asked.append(_ordered(_plain(item.this, scope), descending=bool(item.args.get("desc"))))
    return asked


def _ordered(value: exp.Expression, *, descending: bool = False) -> exp.Expression:
    return exp.Ordered(this=value, desc=descending, nulls_first=False)  # said, for engines differ


def _plain(node: exp.Expression, scope: Scope) -> exp.Expression:
    owner = scope.key(bare(node))
    if owner is not None:
        return quoted_column(owner[0])
    value = operand(node, scope)
    return value.sql if value is not None else number(node, scope, predicate=predicate).sql
