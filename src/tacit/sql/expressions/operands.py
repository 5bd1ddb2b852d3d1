"""Values that stand in a condition or a key: columns as they are, constants, and functions that cannot fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, ColumnType
from tacit.sql.expressions import cells
from tacit.sql.expressions.dates.date_functions import SPELLED_OUT, no_number, part_of
from tacit.sql.expressions.dates.date_texts import formatted, is_text, text_of_date
from tacit.sql.expressions.dates.instant_reading import instant, is_instant
from tacit.sql.expressions.names.nodes import cast_as, quoted_column
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, Value, bare, name_of
from tacit.sql.expressions.names.sugar import plain
from tacit.sql.expressions.names.written import not_too_long
from tacit.sql.expressions.numeric import numerics
from tacit.sql.expressions.numeric.arithmetic import cast_in
from tacit.sql.expressions.numeric.doubles import decimal, double, rounded
from tacit.sql.expressions.numeric.grid import Grid
from tacit.sql.expressions.numeric.numerics import Numeric, numeric

_TEXT = ColumnType.TEXT
_MOMENTS = {ColumnType.DATE, ColumnType.TIMESTAMP}
_LARGEST_FLOAT = 3e38
DATE_PARTS = {"YEAR": None, "QUARTER": (1, 4), "MONTH": (1, 12), "DAY": (1, 31), "DAYOFWEEK": (0, 6), "DOW": (0, 6)}
TIME_PARTS = {**DATE_PARTS, "HOUR": (0, 23), "MINUTE": (0, 59)}
TRUNCATIONS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")


@dataclass(frozen=True, slots=True)
class Operand:
    """A value of a known type; `kind` None is a bare NULL."""

    sql: exp.Expression
    kind: ColumnType | None
    constant: bool = False
    sql_type: str = ""  # of a column: the engine's own word for it
    exact: exp.Expression | None = None  # the same value as it is, where its type is an exact one
    numeric: Numeric | None = None  # and that type
    never_null: bool = False  # the policy says what an empty cell counts as
    times: int = 1  # how many times its longest part a text can be long


def literal(value: Value) -> exp.Expression:
    """A constant in SQL, written by us."""
    if value is None:
        return exp.null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, (int, Fraction)):
        return decimal(Fraction(value))
    if isinstance(value, datetime):
        return cast_in(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMP")
    if isinstance(value, date):
        return cast_in(exp.Literal.string(value.isoformat()), "DATE")
    return exp.Literal.string(value)


def constant(value: Value, sql_type: str = "") -> exp.Expression:
    """A constant to compare with a column of this type.

    A number that is not a 64-bit whole one is a double, so that no cell need fit it; beside a FLOAT it is one, if it
    fits, so that 0.1 is 0.1.
    """
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)) or (value.denominator == 1 and _fits(value)):
        return literal(value)
    try:
        size = abs(float(value))
    except OverflowError:
        raise QueryRefused("a number is too large: no column could hold it") from None
    kind = "FLOAT" if sql_type.lower() in {"float", "real"} and size < _LARGEST_FLOAT else "DOUBLE"
    return rounded(Fraction(value), kind)


def _fits(value: int | Fraction) -> bool:
    return -(1 << 63) < value < 1 << 63


def kind_of(value: Value) -> ColumnType | None:
    """The type of a constant."""
    if isinstance(value, bool):
        return ColumnType.BOOLEAN
    if isinstance(value, int):
        return ColumnType.INTEGER
    if isinstance(value, Fraction):
        return ColumnType.NUMBER
    if isinstance(value, datetime):
        return ColumnType.TIMESTAMP
    if isinstance(value, date):
        return ColumnType.DATE
    return ColumnType.TEXT if isinstance(value, str) else None


@not_too_long
def operand(node: exp.Expression, scope: Scope) -> Operand | None:
    """The operand behind a node, or None where it is neither column, constant nor allowed function."""
    if isinstance(node, exp.Paren):
        return operand(node.this, scope)
    if scope.is_constant(node):
        value = scope.value(node)
        return Operand(constant(value), kind_of(value), constant=True)
    if scope.is_unit(node):
        raise QueryRefused(
            f"{node.name} is refused here: it tells one person from another",
            hint=f"it may stand in COUNT(DISTINCT {node.name}) only, or COUNT(DISTINCT ({node.name}, …)) of pairs",
        )
    if isinstance(node, exp.Column):
        return cell(*scope.column(node), scope)
    if isinstance(node, exp.Subquery):
        if scope.scalar is None:
            raise QueryRefused("a subquery is refused here", hint="write it after WHERE")
        scalar, kind, sql_type = scope.scalar(node)
        exact = numeric(sql_type)
        return Operand(cells.comparable(scalar, sql_type), kind, exact=None if exact is None else scalar, numeric=exact)
    if isinstance(node, exp.Window):
        return _neighbour(node, scope)
    return _call(formatted(plain(node), scope), scope)


def _neighbour(node: exp.Window, scope: Scope) -> Operand | None:
    """A text or a truth value of another of the unit's rows; None where a window gives a number or a date."""
    places = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue)
    inner = node.this.this if isinstance(node.this, places) else None
    if scope.window is None or not isinstance(inner, exp.Column) or scope.key(inner) is not None:
        return None
    kind = scope.column(inner)[1]
    if kind not in {_TEXT, ColumnType.BOOLEAN}:
        return None
    window = scope.window(node)
    return Operand(window.sql, kind)  # type: ignore[attr-defined]  # a cell of that column, as `windows` gives it


def _call(node: exp.Expression, scope: Scope) -> Operand | None:
    """A function of columns as they are; a date that is computed, which is held between its bounds first."""
    if is_text(node):
        return Operand(text_of_date(node, scope, lambda part: instant(part, scope, number=_constant_days))[0], _TEXT)
    taken = part_of(node)
    if taken is not None and (taken[0] not in TIME_PARTS or not isinstance(taken[1], exp.Column)):
        return None  # a number, with bounds of its own
    build = FUNCTIONS.get(type(node))
    if build is not None and not (build is _truncate and _is_computed(node)):
        built = build(node, scope)
        if built is not None or not isinstance(node, exp.Cast):  # CAST(… AS DATE) is none of a text
            return built
    if not is_instant(node, scope):
        return None
    moment = instant(node, scope, number=_constant_days)
    return Operand(moment.sql, moment.kind)


def _is_computed(node: exp.Expression) -> bool:
    """Whether what is truncated is no column, or the unit is one that engines differ in."""
    return not isinstance(bare(node.this), exp.Column) or str(node.args["unit"].name).upper() not in TRUNCATIONS


def _constant_days(node: exp.Expression) -> Grid:
    raise QueryRefused(f"a date is moved by {name_of(node)} here", hint="a constant number of days is allowed here")


def comparable(node: exp.Expression, scope: Scope) -> Operand | None:
    """As `operand`, in a type that compares with any constant or column of its kind whatever the cells hold."""
    value = operand(node, scope)
    if value is not None and cells.is_length(value.sql_type):
        raise no_number(bare(node).name)
    if value is not None and isinstance(bare(node), exp.Column):
        kind, read = numeric(value.sql_type), cells.comparable(value.sql, value.sql_type)
        return replace(value, sql=read, exact=None if kind is None else value.sql, numeric=kind)
    return value


def cell(declared: ColumnPolicy, kind: ColumnType, scope: Scope) -> Operand:
    """A column as it is, with what the policy says that an empty cell counts as in its place."""
    column = quoted_column(declared.name)
    sql_type = scope.sql_types.get(declared.name.casefold(), "")
    if declared.null is None:
        return Operand(column, kind, sql_type=sql_type)
    filled, sql_type = _filled(column, declared.null, sql_type)
    matched = scope.matched(declared.name)  # what an outer join left without a cell has none to be empty
    if matched is not None:
        filled = exp.Case(ifs=[exp.If(this=matched, true=filled)])
    return Operand(filled, kind, sql_type=sql_type, never_null=matched is None)


def _filled(column: exp.Expression, value: Value, sql_type: str) -> tuple[exp.Expression, str]:
    """COALESCE(column, value), and its type."""
    exact = numeric(sql_type)
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool) and exact is not None:
        if exact.holds(Fraction(value)):
            return _either(column, numerics.constant(Fraction(value), exact)), sql_type
        return _either(double(column), rounded(Fraction(value), "DOUBLE")), "double"
    return _either(cells.comparable(column, sql_type), constant(value, sql_type)), cells.compared_as(sql_type)


def _either(column: exp.Expression, value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=column, expressions=[value])


def of_kind(node: exp.Expression, kinds: set[ColumnType], *, scope: Scope, where: str) -> Operand:
    """An operand that must have one of these types: no engine is ever asked to convert a cell."""
    value = comparable(node, scope)
    if value is None:
        raise QueryRefused(f"{name_of(node)} is refused in {where}")
    if value.kind not in kinds:
        raise QueryRefused(f"{where} needs {' or '.join(sorted(str(kind) for kind in kinds))}")
    return value


def _extract(node: exp.Expression, scope: Scope) -> Operand:
    part = str(node.this.name).upper()
    return date_part(part, node.expression, scope=scope)


def _named_part(node: exp.Expression, scope: Scope) -> Operand:
    return date_part(node.key.upper().replace("DAYOFMONTH", "DAY"), node.this, scope=scope, called=name_of(node))


def date_part(part: str, node: exp.Expression, *, scope: Scope, called: str = "") -> Operand:
    """EXTRACT(part FROM date or timestamp): a whole number."""
    while isinstance(node, (exp.TsOrDsToDate, exp.Paren)):
        node = node.this
    said = called or SPELLED_OUT.get(part, part)
    inner = of_kind(node, {ColumnType.DATE, ColumnType.TIMESTAMP}, scope=scope, where=said)
    allowed = DATE_PARTS if inner.kind is ColumnType.DATE else TIME_PARTS
    if part not in allowed:
        raise QueryRefused(f"{called or part} is refused", hint=f"the parts are {', '.join(allowed)}")
    name = "DOW" if part == "DAYOFWEEK" else part
    return Operand(exp.Extract(this=exp.var(name), expression=inner.sql), ColumnType.INTEGER)


def _truncate(node: exp.Expression, scope: Scope) -> Operand:
    unit = str(node.args["unit"].name).upper()
    if unit not in TRUNCATIONS:
        raise QueryRefused(f"DATE_TRUNC to {unit[:20]} is refused", hint=f"the units are {', '.join(TRUNCATIONS)}")
    inner = of_kind(node.this, {ColumnType.DATE, ColumnType.TIMESTAMP}, scope=scope, where="DATE_TRUNC")
    kind = inner.kind or ColumnType.DATE
    name = "DATE" if kind is ColumnType.DATE else "TIMESTAMP"
    cut = exp.TimestampTrunc(this=cells.within_calendar(inner.sql, name), unit=exp.var(unit))
    return Operand(cast_as(cut, name), kind)


def _coalesce(node: exp.Expression, scope: Scope) -> Operand:
    parts = [comparable(part, scope) for part in (node.this, *node.expressions)]
    kinds = {part.kind for part in parts if part is not None} - {None}
    if _TEXT in kinds and any(part is not None and part.kind in _MOMENTS and not part.constant for part in parts):
        moment = instant(node, scope, number=_constant_days)
        return Operand(moment.sql, moment.kind)
    if kinds == {ColumnType.INTEGER, ColumnType.NUMBER}:  # any number is a NUMBER
        kinds = {ColumnType.NUMBER}
    if None in parts or len(kinds) != 1:
        raise QueryRefused(
            f"{name_of(node)} needs columns and constants of one type",
            hint="quote text ('none'), do not quote numbers; a date is DATE '2026-01-31'",
        )
    exact = _exact_coalesce(node, scope, [part for part in parts if part is not None])
    if exact is not None:
        return exact
    first, *others = [part.sql for part in parts if part is not None]
    grown = max(part.times for part in parts if part is not None)
    return Operand(exp.Coalesce(this=first, expressions=others), next(iter(kinds)), times=grown)


def _exact_coalesce(node: exp.Expression, scope: Scope, parts: Sequence[Operand]) -> Operand | None:
    """COALESCE of decimals in their own type, where they have one and the constants among them are of it."""
    types = {part.numeric for part in parts if not part.constant}
    kind = next(iter(types)) if len(types) == 1 else None
    if kind is None or not kind.is_decimal:
        return None
    values: list[exp.Expression] = []
    for part, written in zip(parts, (node.this, *node.expressions), strict=True):
        value = scope.value(written) if part.constant else None
        if part.exact is not None:
            values.append(copied(part.exact))
        elif isinstance(value, (int, Fraction)) and kind.holds(Fraction(value)):
            values.append(numerics.constant(Fraction(value), kind))
        else:
            return None
    whole = exp.Coalesce(this=values[0], expressions=values[1:])
    return Operand(whole, parts[0].kind, exact=whole, numeric=kind)


FUNCTIONS: dict[type[exp.Expression], Callable[[exp.Expression, Scope], Operand | None]] = {  # `texts` adds its own
    exp.Extract: _extract,
    exp.Year: _named_part,
    exp.Quarter: _named_part,
    exp.Month: _named_part,
    exp.Day: _named_part,
    exp.DayOfMonth: _named_part,
    exp.DayOfWeek: _named_part,
    exp.Hour: _named_part,
    exp.Minute: _named_part,
    exp.TimestampTrunc: _truncate,
    exp.DateTrunc: _truncate,
    exp.Coalesce: _coalesce,
}
