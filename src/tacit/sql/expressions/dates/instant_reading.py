"""Dates and timestamps as an analyst writes them: columns, constants, and what moves, cuts or chooses them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.calendar import Span, span_of
from tacit.sql.expressions.dates import instants
from tacit.sql.expressions.dates.instant_numbers import part_name
from tacit.sql.expressions.dates.instants import DAY, UNITS, Instant
from tacit.sql.expressions.dates.zones import in_zone
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, bare, name_of, written_twice
from tacit.sql.expressions.names.written import not_too_long
from tacit.sql.expressions.numeric import grid as g

Number = Callable[[exp.Expression], g.Grid]
Predicate = Callable[[exp.Expression, Scope], exp.Expression]

_DAY_LENGTH = len("2026-01-31")
_DEEPEST = 24  # levels of a date that is computed from dates
_FIXED = {"DAY": DAY, "WEEK": 7 * DAY, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = (exp.DType.DATE,)
_STAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME)
_FIRST_MONDAY = 10_959  # 2000-01-03, where the bins of TIME_BUCKET begin
_MOVED = (exp.Add, exp.Sub, exp.DateAdd, exp.DateSub)
_CALLED_MOVED = {"DATE_SUB", "DATEADD", "TIMESTAMPADD", "DATE_ADD"}
_SPANS = {"TO_WEEKS": "WEEK", "TO_HOURS": "HOUR", "TO_MINUTES": "MINUTE", "TO_SECONDS": "SECOND", "TO_MONTHS": "MONTH"}
OF_TEXT: list[Callable[..., Instant]] = []  # what `read_as` makes of a text that is cast
_SPANS |= {"TO_YEARS": "YEAR", "TO_QUARTERS": "QUARTER"}


def is_instant(node: exp.Expression, scope: Scope, *, depth: int = 0) -> bool:
    """Whether an expression is a date or a timestamp, by its form."""
    node = bare(node)
    if depth > _DEEPEST:
        return False
    if isinstance(node, exp.Column):
        return not scope.is_unit(node) and scope.link(node) is None and scope.column(node)[1].is_temporal
    if scope.is_constant(node):
        return isinstance(node, (exp.Cast, exp.Placeholder, exp.DateFromParts, *_MOVED)) and isinstance(
            scope.value(node), date
        )
    if isinstance(node, (exp.DateFromParts, exp.UnixToTime, exp.TryCast)):
        return not isinstance(node, exp.TryCast) or node.to.this in (*_DAYS, *_STAMPS)
    some = any(is_instant(part, scope, depth=depth + 1) for part in _decisive(node))
    if some and isinstance(node, exp.Sub):
        return not is_instant(node.expression, scope, depth=depth + 1)
    return some


def _decisive(node: exp.Expression) -> list[exp.Expression]:
    """The parts of an expression of which one need be a date for the whole to be one."""
    parts: list[object] = []
    if isinstance(node, (exp.Case, exp.If)):
        branches = node.args.get("ifs") or [node]
        parts = [*(branch.args.get("true") for branch in branches), node.args.get("default"), node.args.get("false")]
    elif isinstance(node, exp.Window):
        parts = [node.this.this] if isinstance(node.this, _NEIGHBOURS) else []
    elif isinstance(node, exp.Anonymous):
        parts = _decisive_arguments(node)
    elif isinstance(node, (exp.Coalesce, exp.Least, exp.Greatest)):
        parts = [node.this, *node.expressions]
    elif isinstance(node, (exp.Add, exp.DateAdd)):
        parts = [node.this, node.expression]
    elif isinstance(node, exp.DateBin):
        parts = [node.expression]
    elif type(node) in _READERS and not (isinstance(node, exp.Cast) and node.to.this not in (*_DAYS, *_STAMPS)):
        parts = [node.this]
    return [part for part in parts if isinstance(part, exp.Expression)]


def _decisive_arguments(node: exp.Anonymous) -> list[object]:
    """Which argument a function moves: DATE_SUB(day, …), DATEADD(unit, n, day), TIMEZONE(zone, time)."""
    name, arguments = str(node.this).upper(), node.expressions
    if (name not in _CALLED_MOVED and name != "TIMEZONE") or len(arguments) not in {2, 3}:
        return []
    if name == "DATE_SUB" and len(arguments) == 3:  # DATE_SUB('month', a, b) is a number
        return []
    return [arguments[0] if len(arguments) == 2 and name != "TIMEZONE" else arguments[-1]]


def is_computed_instant(node: exp.Expression, scope: Scope) -> bool:
    """Whether a date is more than a column, a constant, or a column cut to a unit that engines agree on."""
    node = bare(node)
    if isinstance(node, exp.Column) or scope.is_constant(node):
        return False
    if isinstance(node, (exp.TimestampTrunc, exp.DateTrunc)) and isinstance(bare(node.this), exp.Column):
        return False
    return not isinstance(node, exp.Coalesce) and is_instant(node, scope)


_NEIGHBOURS = (exp.Lag, exp.Lead, exp.Min, exp.Max, exp.FirstValue, exp.LastValue, exp.NthValue)


def instant(node: exp.Expression, scope: Scope, *, number: Number, predicate: Predicate | None = None) -> Instant:
    """The moment behind an expression that is one."""
    return _Reader(scope, number, predicate).read(node)


class _Reader:
    """Reads the dates of one expression."""

    def __init__(self, scope: Scope, number: Number, predicate: Predicate | None) -> None:
        self.scope, self.number, self.predicate = scope, number, predicate

    @not_too_long
    def read(self, node: exp.Expression) -> Instant:
        node = bare(node)
        if isinstance(node, exp.Column):
            declared, kind = self.scope.column(node)
            if not kind.is_temporal:  # or an engine would be asked to cast it, after the charge
                raise QueryRefused(f"the column {declared.name} is {kind}: a date is needed")
            return instants.of_column(declared, kind, self.scope)
        if self.scope.is_constant(node):
            return instants.constant(date_in(self.scope.value(node)))
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.Anonymous):
            return self._called(node)
        build = _READERS.get(type(node))
        if build is None or not is_instant(node, self.scope):
            raise QueryRefused(f"{name_of(node)} is refused where a date is needed")
        return build(self, node)

    def _window(self, node: exp.Window) -> Instant:
        if self.scope.window is None:
            raise QueryRefused(f"{name_of(node.this)} OVER is refused here", hint="put it into a subquery after FROM")
        window = self.scope.window(node)
        if not isinstance(window, Instant):
            raise QueryRefused(f"{name_of(node.this)} OVER is refused where a date is needed")
        return window

    def _called(self, node: exp.Anonymous) -> Instant:
        name, arguments = str(node.this).upper(), node.expressions
        if name == "TIMEZONE" and len(arguments) == 2:
            return in_zone(self.read(arguments[1]), self.scope.value(arguments[0]))
        if name in {"DATE_SUB", "DATE_ADD"} and len(arguments) == 2:
            return self._shifted(arguments[0], arguments[1], back=name == "DATE_SUB")
        if name in _CALLED_MOVED and len(arguments) == 3:  # DATEADD(day, 30, admitted)
            span = exp.Interval(this=paren(copied(arguments[1])), unit=exp.var(_unit_of(arguments[0])))
            return self._shifted(arguments[2], span, back=False)
        raise QueryRefused(f"{name[:40]} is refused in this form")

    # ── moving ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def moved(self, node: exp.Expression) -> Instant:
        left, right = bare(node.this), bare(node.expression)
        back = isinstance(node, (exp.Sub, exp.DateSub))
        if not back and not is_instant(left, self.scope):
            left, right = right, left
        unit = node.args.get("unit")
        if isinstance(node, (exp.DateAdd, exp.DateSub)) and unit is not None and not isinstance(right, exp.Interval):
            right = exp.Interval(this=paren(copied(right)), unit=exp.var(str(unit.name)))
        return self._shifted(left, right, back=back)

    def _shifted(self, start: exp.Expression, by: exp.Expression, *, back: bool) -> Instant:
        moment = self.read(start)
        span = self._span(bare(by), moment)
        if isinstance(span, Span):
            return instants.moved(moment, -span if back else span)
        moved_by = instants.moved_by_months if span[0] is None else instants.moved_by
        return moved_by(span[0] or moment, g.negate(span[1]) if back else span[1])

    def _span(self, node: exp.Expression, start: Instant) -> Span | tuple[Instant | None, g.Grid]:
        """How far a moment is moved: a constant, or so many days or seconds of the row's own, and what they move.

        So many months of the row's own move the moment as it is: None stands for it.
        """
        node = times_interval(node)
        if isinstance(node, exp.Interval):
            unit = part_name(_unit_of(node.args.get("unit")))
            if not isinstance(node.this, exp.Expression) or self.scope.is_constant(node.this):
                return span_of(node, self.scope.value)
            return self._own_span(node.this, unit, start)
        named = "DAY" if isinstance(node, exp.ToDays) else _SPANS.get(_name(node))
        if named is not None:
            counted = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
            if self.scope.is_constant(counted):
                return span_of(exp.Interval(this=copied(counted), unit=exp.var(named)), self.scope.value)
            return self._own_span(counted, named, start)
        if start.kind is ColumnType.TIMESTAMP:
            raise QueryRefused("a number is added to a TIMESTAMP: of what?", hint="write INTERVAL '30' DAY")
        return start, self.number(node)

    def _own_span(self, counted: exp.Expression, unit: str, start: Instant) -> tuple[Instant | None, g.Grid]:
        if unit in _MONTHS:
            return None, g.multiply(self.number(counted), g.constant(Fraction(_MONTHS[unit])))
        width = _FIXED.get(unit)
        if width is None:
            raise QueryRefused(
                f"a date is moved by {unit[:20]}s of a row's own",
                hint=f"the units are {', '.join((*_MONTHS, *_FIXED))}",
            )
        if start.kind is ColumnType.DATE and width % DAY == 0:
            return start, g.multiply(self.number(counted), g.constant(Fraction(width // DAY)))
        return instants.as_timestamp(start.bounded()), g.multiply(self.number(counted), g.constant(Fraction(width)))

    def months(self, node: exp.Expression) -> Instant:
        if not self.scope.is_constant(node.expression):
            return instants.moved_by_months(self.read(node.this), self.number(node.expression))
        count = self.scope.value(node.expression)
        if type(count) is not int or abs(count) > 1_000_000:
            raise QueryRefused("ADD_MONTHS needs a whole number of months", hint="write ADD_MONTHS(day, 3)")
        return instants.moved(self.read(node.this), Span(months=count))

    def made(self, node: exp.Expression) -> Instant:
        """MAKE_DATE of a row's own year, and of its month: so many months after a day of the year 2000."""
        parts = [node.args[name] for name in ("year", "month", "day") if node.args.get(name) is not None]
        if len(parts) < 3:
            raise QueryRefused(f"{name_of(node)} needs three parts", hint="write MAKE_DATE(year, 3, 31)")
        month, day = (self.scope.value(part) if self.scope.is_constant(part) else None for part in parts[1:])
        longest = 28 if type(month) is not int or month == 2 else 30 if month in {4, 6, 9, 11} else 31
        if type(day) is not int or not 1 <= day <= longest or (type(month) is int and not 1 <= month <= 12):
            raise QueryRefused(
                f"{name_of(node)} of a row's own parts needs a day that every such month has",
                hint="write MAKE_DATE(year, 3, 31), or MAKE_DATE(year, month, 1)",
            )
        months = g.multiply(
            g.add(self.number(node.args["year"]), g.constant(Fraction(-2000))), g.constant(Fraction(12))
        )
        if type(month) is not int:
            own = self.number(node.args["month"])
            if own.low * own.step < 1 or own.high * own.step > 12:
                raise QueryRefused(
                    f"{name_of(node)} needs a month from 1 to 12: its bounds allow others",
                    hint="declare bounds from 1 to 12, or write EXTRACT(MONTH FROM …)",
                )
            months, month = g.add(months, g.add(own, g.constant(Fraction(-1)))), 1
        return instants.moved_by_months(instants.constant(date(2000, month, day)), months)

    # ── cutting ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def truncated(self, node: exp.Expression) -> Instant:
        unit = part_name(_unit_of(node.args.get("unit")))
        if unit not in UNITS:
            raise QueryRefused(f"DATE_TRUNC to {unit[:20]} is refused", hint=f"the units are {', '.join(UNITS)}")
        return instants.truncated(self.read(node.this), unit)

    def last_day(self, node: exp.Expression) -> Instant:
        first = instants.truncated(instants.as_day(self.read(node.this)), "MONTH")
        return instants.moved(first, Span(months=1, seconds=-DAY))

    def binned(self, node: exp.Expression) -> Instant:
        """TIME_BUCKET(INTERVAL '14 days', day) and DATE_BIN with its origin."""
        width = exp.Interval(this=copied(node.this)) if isinstance(node.this, exp.Literal) else node.this
        if not isinstance(width, exp.Interval):
            called = name_of(node)
            raise QueryRefused(f"{called} needs a constant width", hint=f"write {called}(INTERVAL '14 days', …)")
        span, start = span_of(width, self.scope.value), self.read(node.expression)
        if span.months or span.seconds <= 0 or (start.kind is ColumnType.DATE and span.seconds % DAY):
            raise QueryRefused(
                f"{name_of(node)} needs whole days, or hours of a TIMESTAMP", hint="DATE_TRUNC has months"
            )
        origin = node.args.get("unit") or node.args.get("zone") or node.args.get("origin")
        unit = 1 if start.kind is ColumnType.TIMESTAMP else DAY
        first = _FIRST_MONDAY * DAY // unit
        if isinstance(origin, exp.Expression):
            aligned = instants.alike([self.read(origin), start])[0]
            if not aligned.is_constant or aligned.kind is not start.kind:
                raise QueryRefused("the origin of bins is a constant date", hint="write DATE '2026-01-01'")
            first = aligned.low
        each = span.seconds // unit
        return instants.cut_down(start, each, origin=first % each)

    def counted(self, node: exp.Expression) -> Instant:
        """TO_TIMESTAMP(seconds), and so of FLOOR(EXTRACT(EPOCH FROM ts) / 300) * 300 its bins of five minutes."""
        if node.args.get("scale") is not None:
            raise QueryRefused(f"{name_of(node)} is refused of a row's own number", hint="write TO_TIMESTAMP(seconds)")
        seconds = self.number(node.this)
        if seconds.step.denominator != 1:
            raise QueryRefused(f"{name_of(node)} needs whole seconds", hint="round them: FLOOR(…) or ROUND(…)")
        return instants.since_1970(seconds)

    def cast(self, node: exp.Expression) -> Instant:
        moment = self.read(node.this)
        return instants.as_day(moment) if node.args["to"].this in _DAYS else instants.as_timestamp(moment.bounded())

    def tried(self, node: exp.Expression) -> Instant:
        """TRY_CAST: of a date it is a cast; of a text, what that says."""
        if is_instant(node.this, self.scope):
            return self.cast(node)
        return OF_TEXT[0](node.this, self.scope, with_time=node.args["to"].this in _STAMPS)

    # ── choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def listed(self, node: exp.Expression) -> Instant:
        parts = [self.read(part) for part in (node.this, *node.expressions) if not isinstance(part, exp.Null)]
        if isinstance(node, exp.Coalesce):
            return instants.first_of(parts)
        return instants.extreme(parts, least=isinstance(node, exp.Least))

    def case(self, node: exp.Expression) -> Instant:
        if self.predicate is None:
            raise QueryRefused("a CASE of dates is refused here", hint="COALESCE, LEAST and GREATEST are allowed")
        subject = node.args.get("this") if isinstance(node, exp.Case) else None
        if subject is not None:
            subject = written_twice(subject)
        branches = []
        for branch in node.args.get("ifs") or [node]:
            when = branch.this if subject is None else exp.EQ(this=copied(subject), expression=copied(branch.this))
            branches.append((self.predicate(when, self.scope), self._or_null(branch.args["true"])))
        default = node.args.get("default") or node.args.get("false")
        return instants.choose(branches, None if default is None else self._or_null(default))

    def _or_null(self, node: exp.Expression) -> Instant | None:
        return None if isinstance(bare(node), exp.Null) else self.read(node)


def date_in(value: object) -> date:
    """A constant where a date is needed: one, or the text of one."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value) if len(value) == _DAY_LENGTH else datetime.fromisoformat(value)
        except ValueError:
            value = None
    if not isinstance(value, date):
        raise QueryRefused("a date is needed here", hint="write DATE '2026-01-31'")
    return value


def times_interval(node: exp.Expression) -> exp.Expression:
    """`n * INTERVAL 3 MONTH` and `INTERVAL 3 MONTH * n` as INTERVAL (n * 3) MONTH; anything else as it is."""
    if not isinstance(node, exp.Mul):
        return node
    sides = bare(node.this), bare(node.expression)
    span, count = sides if isinstance(sides[0], exp.Interval) else sides[::-1]
    size = span.this if isinstance(span, exp.Interval) else None
    if not isinstance(size, exp.Literal) or not isinstance(span.args.get("unit"), exp.Expression):
        return node
    times = exp.Mul(this=paren(copied(count)), expression=exp.Literal.number(str(size.this)))
    return exp.Interval(this=paren(times), unit=copied(span.args["unit"]))


def _unit_of(node: object) -> str:
    """What a unit of time is called: DAY, 'day', or a name that the parser took for a column."""
    if not isinstance(node, exp.Expression) or isinstance(node, exp.Placeholder):  # the name of a parameter is no unit
        return ""
    return str(node.name or node.key)


def _name(node: exp.Expression) -> str:
    return str(node.this).upper() if isinstance(node, exp.Anonymous) else ""


_READERS: dict[type[exp.Expression], Callable[[_Reader, exp.Expression], Instant]] = {
    **dict.fromkeys(_MOVED, _Reader.moved),
    exp.AddMonths: _Reader.months,
    exp.TimestampTrunc: _Reader.truncated,
    exp.DateTrunc: _Reader.truncated,
    exp.LastDay: _Reader.last_day,
    exp.DateBin: _Reader.binned,
    exp.DateFromParts: _Reader.made,
    exp.Cast: _Reader.cast,
    exp.TryCast: _Reader.tried,
    exp.UnixToTime: _Reader.counted,
    exp.Date: lambda reader, node: instants.as_day(reader.read(node.this)),
    exp.TsOrDsToDate: lambda reader, node: instants.as_day(reader.read(node.this)),
    exp.AtTimeZone: lambda reader, node: in_zone(reader.read(node.this), reader.scope.value(node.args["zone"])),
    **dict.fromkeys((exp.Coalesce, exp.Least, exp.Greatest), _Reader.listed),
    **dict.fromkeys((exp.Case, exp.If), _Reader.case),
}
