"""Dates as text: STRFTIME, TO_CHAR, DATE_FORMAT, DAYNAME, MONTHNAME. The same letters on every engine, and public bins.

No engine's own formatting is used: they differ in names, padding and locale. A text is put together from the whole
numbers that a date's parts are; which texts there can be follows from the column's bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import partial, reduce

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.dates import instant_numbers as numbers
from tacit.sql.expressions.dates import instants
from tacit.sql.expressions.dates.date_keys import bins_of
from tacit.sql.expressions.dates.instant_reading import is_instant
from tacit.sql.expressions.dates.instants import Instant
from tacit.sql.expressions.names.nodes import cast_as, paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, bare, name_of
from tacit.sql.expressions.names.typed import SAID
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric import grid as g

DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
MOST_TEXTS = 100_000  # that are listed as a public domain
_LONGEST = 100  # letters of a format
_CYCLE = date(2000, 1, 1), date(2027, 12, 31)  # in 28 years every day of the year is every day of the week


@dataclass(frozen=True, slots=True)
class _Piece:
    """A number that stands in a text: which part, in how many digits, or by which names."""

    part: str
    digits: int = 1
    names: tuple[str, ...] = ()
    unit: str = "DAY"
    of: Callable[[datetime], int] = lambda moment: moment.day
    less: int = 0  # what the first name stands for

    def text(self, moment: datetime) -> str:
        """The piece of a moment's text."""
        value = self.of(moment)
        return self.names[value - self.less] if self.names else str(value).rjust(self.digits, "0")[-4:]


def _two(part: str, unit: str, of: Callable[[datetime], int]) -> _Piece:
    return _Piece(part, 2, (), unit, of)


_WEEKDAY = lambda moment: moment.isoweekday() % 7  # noqa: E731 - one of the parts below
_PIECES = {
    "Y": _Piece("YEAR", 4, unit="YEAR", of=lambda m: m.year),
    "y": _Piece("YEAR2", 2, unit="YEAR", of=lambda m: m.year % 100),
    "m": _two("MONTH", "MONTH", lambda m: m.month),
    "-m": _Piece("MONTH", unit="MONTH", of=lambda m: m.month),
    "B": _Piece("MONTH", names=MONTHS, unit="MONTH", of=lambda m: m.month, less=1),
    "b": _Piece("MONTH", names=tuple(name[:3] for name in MONTHS), unit="MONTH", of=lambda m: m.month, less=1),
    "q": _Piece("QUARTER", unit="MONTH", of=lambda m: (m.month + 2) // 3),
    "d": _two("DAY", "DAY", lambda m: m.day),
    "-d": _Piece("DAY", of=lambda m: m.day),
    "j": _Piece("DOY", 3, of=lambda m: m.timetuple().tm_yday),
    "A": _Piece("DOW", names=DAYS, of=_WEEKDAY),
    "a": _Piece("DOW", names=tuple(name[:3] for name in DAYS), of=_WEEKDAY),
    "w": _Piece("DOW", of=_WEEKDAY),
    "u": _Piece("ISODOW", of=lambda m: m.isoweekday()),
    "V": _two("WEEK", "DAY", lambda m: m.isocalendar().week),
    "G": _Piece("ISOYEAR", 4, of=lambda m: m.isocalendar().year),
    "H": _two("HOUR", "HOUR", lambda m: m.hour),
    "-H": _Piece("HOUR", unit="HOUR", of=lambda m: m.hour),
    "M": _two("MINUTE", "MINUTE", lambda m: m.minute),
    "S": _two("SECOND", "SECOND", lambda m: m.second),
}
_CASES: dict[str, Callable[[str], str]] = {"": str, "U": str.upper, "L": str.lower}
_FILLED = 9  # letters, to which PostgreSQL fills up the names of days and months
_PIECES |= {
    f"{kind}{case}{fill}": replace(
        piece, names=tuple(write(name).ljust(_FILLED if fill else 0) for name in piece.names)
    )
    for kind, piece in _PIECES.items()
    if piece.names
    for case, write in _CASES.items()
    for fill in ("", "9")
}
_TIMES = {"HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
_STRFTIME = {**{key: key for key in _PIECES}, "F": "Y-m-d", "T": "H:M:S", "h": "b", "R": "H:M"}
_MYSQL = {
    "Y": "Y",
    "y": "y",
    "m": "m",
    "c": "-m",
    "M": "B",
    "b": "b",
    "d": "d",
    "e": "-d",
    "j": "j",
    "W": "A",
    "a": "a",
}
_MYSQL |= {"H": "H", "k": "-H", "i": "M", "s": "S", "S": "S", "v": "V", "x": "G", "w": "w", "T": "H:M:S"}
_POSTGRES = {"YYYY": "Y", "YY": "y", "MM": "m", "DDD": "j", "DD": "d", "HH24": "H", "MI": "M", "SS": "S", "IYYY": "G"}
_POSTGRES |= {"IW": "V", "ID": "u", "Q": "q", "FMMM": "-m", "FMDD": "-d", "FMHH24": "-H"}
_POSTGRES |= {word.lower(): mark for word, mark in _POSTGRES.items()} | {
    f"{lead}{write(word)}": f"{kind}{case}{fill}"
    for word, kind in (("month", "B"), ("day", "A"))
    for case, write in (("", str.title), ("U", str.upper), ("L", str.lower))
    for lead, fill in (("FM", ""), ("", "9"))
}
_POSTGRES |= {"Mon": "b", "MON": "bU", "mon": "bL", "Dy": "a", "DY": "aU", "dy": "aL"}
_JAVA = {"yyyy": "Y", "yy": "y", "MMMM": "B", "MMM": "b", "MM": "m", "M": "-m", "dd": "d", "d": "-d", "DDD": "j"}
_JAVA |= {"EEEE": "A", "EEE": "a", "E": "a", "HH": "H", "H": "-H", "mm": "M", "ss": "S", "q": "q", "Q": "q"}

Pieces = list[_Piece | str]
Marks = list[tuple[str, str]]  # the name of a piece, or, where that is empty, a text as it is


def is_text(node: exp.Expression) -> bool:
    """Whether an expression makes a text of a date."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper() in {"DATE_FORMAT", "TO_CHAR"} and len(node.expressions) == 2
    return isinstance(node, (exp.TimeToStr, exp.Dayname, exp.Monthname))


def formatted(node: exp.Expression, scope: Scope) -> exp.Expression:
    """CAST(day AS VARCHAR) as the format that it means, 2026-01-31 or 2026-01-31 23:59:59; any other node as it is."""
    if not isinstance(node, exp.Cast) or node.to.this not in exp.DataType.TEXT_TYPES or node.to.expressions:
        return node
    inner = bare(node.this)
    if not is_instant(inner, scope):
        return node
    days = _is_day(inner, scope)
    shown = exp.TimeToStr(this=copied(inner), format=exp.Literal.string("%Y-%m-%d" if days else "%Y-%m-%d %H:%M:%S"))
    shown.meta[SAID] = name_of(node)
    return shown


def _is_day(node: exp.Expression, scope: Scope) -> bool:
    """Whether a moment is a DATE, by its form: what is moved by hours is none."""
    node = bare(node)
    if isinstance(node, exp.Column):
        return scope.column(node)[1] is ColumnType.DATE
    if scope.is_constant(node):
        return not isinstance(scope.value(node), datetime)
    if isinstance(node, exp.Cast):
        return node.to.this is exp.DType.DATE
    return isinstance(node, (exp.Date, exp.TsOrDsToDate, exp.LastDay))


def text_of_date(
    node: exp.Expression, scope: Scope, read: Callable[[exp.Expression], Instant]
) -> tuple[exp.Expression, Callable[[], tuple[str, ...] | None]]:
    """The text in SQL, and who lists all that it can be, in the order of the moments; None where that is too many."""
    inner, pieces = _written(node, scope)
    moment = read(inner)
    if not moment.kind.is_temporal:
        raise QueryRefused(f"{name_of(node)} needs a date or a timestamp")
    if moment.kind is ColumnType.DATE:
        pieces = [_at_midnight(piece) for piece in pieces]
        if all(isinstance(piece, str) for piece in pieces):
            raise QueryRefused("a date has no time of day to be shown", hint="CAST(… AS TIMESTAMP) has one")
    texts = [_literal(piece) if isinstance(piece, str) else _sql(piece, moment) for piece in pieces]
    whole = reduce(lambda left, right: exp.DPipe(this=left, expression=right, safe=True), texts)
    return whole, partial(_texts, pieces, moment)


def _at_midnight(piece: _Piece | str) -> _Piece | str:
    """What is shown of a date's time of day, which is the same for all of them."""
    timed = isinstance(piece, _Piece) and piece.unit in _TIMES
    return piece.text(datetime(2000, 1, 1)) if timed and isinstance(piece, _Piece) else piece  # noqa: DTZ001


def _written(node: exp.Expression, scope: Scope) -> tuple[exp.Expression, Pieces]:
    """What is shown, and the pieces of its text."""
    if isinstance(node, (exp.Dayname, exp.Monthname)):
        return bare(node.this), [_PIECES["A" if isinstance(node, exp.Dayname) else "B"]]
    inner, form = (node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.args.get("format")))[:2]
    text = scope.value(form) if isinstance(form, exp.Expression) and scope.is_constant(form) else None
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST:
        raise QueryRefused("a date is shown by a constant format", hint="write STRFTIME(day, '%Y-%m')")
    pieces = [_PIECES.get(mark, text) for mark, text in _marks(node, text)]
    if not any(isinstance(piece, _Piece) for piece in pieces):
        raise QueryRefused("a format shows nothing of a date", hint="write STRFTIME(day, '%Y-%m')")
    return bare(inner), pieces


def _marks(node: exp.Expression, text: str) -> Marks:
    """What a format is made of, in the words of the function that it is given to."""
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "TO_CHAR":
        return _matched(text, _POSTGRES)
    if isinstance(node, exp.Anonymous):
        return _percent(text, _MYSQL) if "%" in text else _matched(text, _JAVA)
    return _percent(text, _STRFTIME)


def over_answers(tree: exp.Expr) -> None:
    """TO_CHAR and DATE_FORMAT of dates, in place, as DuckDB writes them, which computes from answers.

    What is no format of dates, as TO_CHAR(n, '999'), stays: DuckDB has no such function, and it is refused by its name.
    """
    for node in list(tree.find_all(exp.Anonymous)):
        form = node.expressions[1] if is_text(node) else None
        if not isinstance(form, exp.Literal) or not form.is_string:
            continue
        try:
            marks = _marks(node, str(form.this))
        except QueryRefused:
            continue
        if any(mark for mark, _ in marks):
            texts = [_shown(mark, text, node.expressions[0]) for mark, text in marks]
            node.replace(paren(reduce(lambda one, two: exp.DPipe(this=one, expression=two, safe=True), texts)))


def _shown(mark: str, text: str, moment: exp.Expression) -> exp.Expression:
    """One piece of a text, in DuckDB's words."""
    if not mark:
        return _literal(text)
    if mark == "q":
        return cast_as(exp.Quarter(this=copied(moment)), "VARCHAR")
    fill, case = mark.endswith("9"), mark.removesuffix("9")[-1:]
    sign = mark.removesuffix("9").removesuffix("U").removesuffix("L")
    shown: exp.Expression = exp.TimeToStr(this=copied(moment), format=_literal(f"%{sign}"))
    if case in {"U", "L"}:
        shown = exp.Upper(this=shown) if case == "U" else exp.Lower(this=shown)
    filled = [shown, exp.Literal.number(_FILLED), _literal(" ")]
    return exp.Anonymous(this="RPAD", expressions=filled) if fill else shown


def _percent(text: str, known: dict[str, str]) -> Marks:
    marks: Marks = []
    for plain, mark in re.findall(r"([^%]+)|%(-?.)", text, flags=re.DOTALL):
        if plain or mark == "%":
            marks.append(("", plain or "%"))
        elif mark in known:
            marks += _spelled(known[mark])
        else:
            raise QueryRefused(f"%{mark} is refused in a format", hint=f"allowed are {_listed(known, '%')}")
    return marks


def _matched(text: str, known: dict[str, str]) -> Marks:
    """The longest word of the format first; other letters are refused, for they may mean something elsewhere."""
    words = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    written = rf"({words})|[\"']([^\"']*)[\"']|([^A-Za-z\"']+)|([A-Za-z]+|.)"
    marks: Marks = []
    for word, quoted, plain, odd in re.findall(written, text, re.DOTALL):
        if odd:
            shown = [word for word in known if not (known is _POSTGRES and word.islower())]
            raise QueryRefused(f"{odd} is refused in a format", hint=f"allowed are {_listed(shown)}")
        marks += _spelled(known[word]) if word else [("", quoted or plain)]
    return marks


def _spelled(names: str) -> Marks:
    if names in _PIECES:
        return [(names, "")]
    return [(name, "") if name in _PIECES else ("", name) for name in names]


def _listed(known: Iterable[str], lead: str = "") -> str:
    return ", ".join(f"{lead}{name}" for name in known)


def _literal(text: str) -> exp.Expression:
    return exp.Literal.string(text)


def _sql(piece: _Piece, moment: Instant) -> exp.Expression:
    grid = _number(piece, moment)
    if piece.names:
        ifs = [
            exp.If(
                this=exp.EQ(this=arithmetic.operand(grid.sql), expression=arithmetic.integer(value + piece.less)),
                true=_literal(name),
            )
            for value, name in enumerate(piece.names)
        ]
        return paren(exp.Case(ifs=ifs))
    if piece.digits == 1:
        return cast_as(grid.sql, "VARCHAR")
    padded = g.add(grid, g.constant(Fraction(10**piece.digits)))
    start, length = (exp.Literal.number(number) for number in (2, piece.digits))
    return exp.Substring(this=cast_as(padded.sql, "VARCHAR"), start=start, length=length)


def _number(piece: _Piece, moment: Instant) -> g.Grid:
    if piece.part == "YEAR2":
        return instants.remainder(numbers.part(moment, "YEAR"), 100)
    return numbers.part(moment, piece.part)


def _texts(pieces: Pieces, moment: Instant) -> tuple[str, ...] | None:
    """Every text that a moment within the bounds can have."""
    units = {piece.unit for piece in pieces if isinstance(piece, _Piece)}
    moments = _moments(max(units, key=_UNITS.index), units, moment)
    if moments is None:
        return None
    texts: dict[str, None] = {}
    for each in moments:
        stamp = each if isinstance(each, datetime) else datetime(each.year, each.month, each.day)  # noqa: DTZ001
        texts["".join(piece if isinstance(piece, str) else piece.text(stamp) for piece in pieces)] = None
    return tuple(texts) if len(texts) <= MOST_TEXTS else None


def _moments(finest: str, units: set[str], moment: Instant) -> Iterable[date] | None:
    """One moment of each bin: of a single day where the text has a time alone."""
    if units <= set(_TIMES):
        width = _TIMES[finest]
        return [datetime(2000, 1, 1) + timedelta(seconds=second) for second in range(0, 86_400, width)]  # noqa: DTZ001
    if moment.unbounded is not None:
        if units & set(_TIMES):
            return None
        return [_CYCLE[0] + timedelta(days=day) for day in range((_CYCLE[1] - _CYCLE[0]).days + 1)]
    return bins_of(instants.truncated(moment, finest), most=10 * MOST_TEXTS)
