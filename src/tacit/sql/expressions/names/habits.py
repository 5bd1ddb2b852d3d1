"""Functions of other databases, read as the ones that are bound here: ISNULL, IFF, DATEADD, FORMAT_DATE and their like.

Each is built by the parser itself, so that whoever writes DATEDIFF(a, b) or DATE_TRUNC(day, MONTH) means what MySQL or
BigQuery mean by it. A call with other arguments than these stays as it was written, and is refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlglot import exp

from tacit.sql.expressions.names.converted import (
    convert,
    day_of_parts,
    decode,
    moment_at,
    months_between,
    tried_as,
    trimmed,
    try_convert,
)
from tacit.sql.expressions.names.printing import copied

Arguments = list[exp.Expr]
Build = Callable[[Arguments], exp.Expr]

_UNITS = frozenset(
    f"{unit}{ending}"
    for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "ISOWEEK", "DAY", "HOUR", "MINUTE", "SECOND")
    for ending in ("", "S")
)
_ABBREVIATED = {"YY": "YEAR", "YYYY": "YEAR", "QQ": "QUARTER", "MM": "MONTH", "WK": "WEEK", "WW": "WEEK", "DD": "DAY"}
_ABBREVIATED |= {"HH": "HOUR", "MI": "MINUTE", "SS": "SECOND"}
_STARTS = {  # 0 is 1900-01-01 where a date is written as a number
    "YEAR": r"0|\d{4}-01-01",
    "QUARTER": r"0|\d{4}-(01|04|07|10)-01",
    "MONTH": r"0|\d{4}-\d\d-01",
    "DAY": r"0|\d{4}-\d\d-\d\d",
}
_CUT_TO = {"MON": "MONTH", "Q": "QUARTER", "IW": "WEEK", "YYYY": "YEAR", "Y": "YEAR"}
_PICTURED = (("YYYY", "%Y"), ("MM", "%m"), ("DD", "%d"))
_TIMED = (*_PICTURED, ("HH24", "%H"), ("MI", "%M"), ("SS", "%S"), ("US", "%f"))
_LONGEST_SECONDS = 11  # digits: until the year 5138
_DOTNET = {"yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "dddd": "%A", "ddd": "%a", "dd": "%d"}
_DOTNET |= {"HH": "%H", "mm": "%M", "ss": "%S"}


def _call(name: str, arguments: Sequence[exp.Expr]) -> exp.Expr:
    """The call as it was written."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def _either(arguments: Arguments, *, name: str) -> exp.Expr:
    if len(arguments) != 2:
        return _call(name, arguments)
    return exp.Coalesce(this=arguments[0], expressions=arguments[1:])


def _or_zero(arguments: Arguments) -> exp.Expr:
    if len(arguments) != 1:
        return _call("ZEROIFNULL", arguments)
    return exp.Coalesce(this=arguments[0], expressions=[exp.Literal.number(0)])


def _if(arguments: Arguments) -> exp.Expr:
    if len(arguments) not in {2, 3}:
        return _call("IFF", arguments)
    return exp.If(this=arguments[0], true=arguments[1], false=arguments[2] if len(arguments) == 3 else None)


def _quotient(arguments: Arguments) -> exp.Expr:
    """SAFE_DIVIDE: NULL where the divisor is zero."""
    if len(arguments) != 2:
        return _call("SAFE_DIVIDE", arguments)
    below = exp.Nullif(this=_grouped(arguments[1]), expression=exp.Literal.number(0))
    return exp.Div(this=_grouped(arguments[0]), expression=below, typed=False, safe=False)


def _quotient_or_zero(arguments: Arguments) -> exp.Expr:
    """DIV0 of Snowflake: zero where the divisor is."""
    if len(arguments) != 2:
        return _call("DIV0", arguments)
    zero = exp.EQ(this=copied(_grouped(arguments[1])), expression=exp.Literal.number(0))
    default = _quotient(arguments)
    return exp.Case(ifs=[exp.If(this=zero, true=exp.Literal.number(0))], default=default)


def _grouped(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node


# ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def unit_named(node: exp.Expr) -> str:
    """The unit of time that a bare word or a text names; empty where it names none."""
    is_word = isinstance(node, exp.Var) or (isinstance(node, exp.Column) and not node.table)
    if not is_word and not (isinstance(node, exp.Literal) and node.is_string):
        return ""
    word = str(node.name).upper()
    word = _ABBREVIATED.get(word, word)
    return word.removesuffix("S") if word in _UNITS else ""


def _difference(arguments: Arguments) -> exp.Expr:
    """DATEDIFF(day, a, b); MySQL's DATEDIFF(b, a) in days; BigQuery's DATE_DIFF(b, a, DAY)."""
    if len(arguments) == 2:
        later, earlier, unit = *arguments, "DAY"
    elif len(arguments) == 3 and unit_named(arguments[2]) and not isinstance(arguments[0], (exp.Literal, exp.Var)):
        later, earlier, unit = arguments[0], arguments[1], unit_named(arguments[2])
    elif len(arguments) == 3 and not isinstance(arguments[0], exp.Placeholder):  # the name of a parameter is no unit
        earlier, later, unit = arguments[1], arguments[2], unit_named(arguments[0]) or str(arguments[0].name)
    else:
        return _call("DATEDIFF", arguments)
    return exp.DateDiff(this=_moment(later), expression=_moment(earlier), unit=exp.var(unit))


def _whole_difference(arguments: Arguments) -> exp.Expr:
    """TIMESTAMPDIFF(MONTH, a, b) of MySQL and TIMESTAMP_DIFF(b, a, HOUR) of BigQuery count whole ones."""
    if len(arguments) != 3:
        return _call("TIMESTAMPDIFF", arguments)
    if unit_named(arguments[0]):
        unit, earlier, later = unit_named(arguments[0]), arguments[1], arguments[2]
    else:
        later, earlier, unit = arguments[0], arguments[1], unit_named(arguments[2])
    if not unit:
        return _call("TIMESTAMPDIFF", arguments)
    return _call("DATE_SUB", [exp.Literal.string(unit.lower()), _moment(earlier), _moment(later)])


def _truncated(arguments: Arguments) -> exp.Expr:
    """DATE_TRUNC('month', day), or BigQuery's DATE_TRUNC(day, MONTH)."""
    if len(arguments) != 2:
        return _call("DATE_TRUNC", arguments)
    unit, moment = arguments
    if isinstance(moment, exp.Column) and unit_named(moment) and not isinstance(unit, exp.Literal):
        unit, moment = moment, unit
    elif isinstance(moment, exp.Func) and str(moment.name).upper() == "WEEK":  # WEEK(MONDAY)
        return _call("DATE_TRUNC", arguments)
    if isinstance(unit, exp.Placeholder):  # its name is no unit
        return _call("DATE_TRUNC", arguments)
    written = unit_named(unit) or str(unit.name).upper()
    word = exp.Literal.string("WEEK" if written == "ISOWEEK" else written)
    if isinstance(moment, exp.Cast) and moment.is_type("date"):
        return exp.DateTrunc(unit=word, this=moment)  # type: ignore[no-untyped-call]  # its stubs have no types
    return exp.TimestampTrunc(this=moment, unit=word)


def _moved(arguments: Arguments, *, name: str, back: bool) -> exp.Expr:
    """DATE_ADD(day, INTERVAL 3 DAY); DATEADD(month, 3, day) and TIMESTAMPADD; DATE_SUB('month', a, b) is a number."""
    kind = exp.Sub if back else exp.Add
    if len(arguments) == 2 and isinstance(arguments[1], exp.Interval):
        return exp.Paren(this=kind(this=_grouped(_moment(arguments[0])), expression=arguments[1]))
    if len(arguments) == 3 and not back and unit_named(arguments[0]):
        start = _start_of(unit_named(arguments[0]), arguments[1], arguments[2])
        if start is not None:
            return start
        span = exp.Interval(this=_amount(arguments[1]), unit=exp.var(unit_named(arguments[0])))
        return exp.Paren(this=exp.Add(this=_grouped(_moment(arguments[2])), expression=span))
    return _call(name, arguments)


def _start_of(unit: str, amount: exp.Expr, base: exp.Expr) -> exp.Expr | None:
    """DATEADD(month, DATEDIFF(month, 0, day), 0) of SQL Server: the month of a day, counted from the start of one."""
    if not isinstance(amount, exp.DateDiff) or unit_named(amount.args["unit"]) != unit or unit not in _STARTS:
        return None
    first, start = (_without_cast(node) for node in (amount.expression, base))
    named = str(start.this) if isinstance(start, exp.Literal) else ""
    if first != start or not re.fullmatch(_STARTS[unit], named):
        return None
    return exp.TimestampTrunc(this=amount.this, unit=exp.Literal.string(unit))


def _without_cast(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Cast) and node.is_type("date", "timestamp") else node


def _amount(node: exp.Expr) -> exp.Expr:
    """How many units an INTERVAL is of: a whole number as text, or what a row has."""
    negative = node.this if isinstance(node, exp.Neg) else None
    if isinstance(negative, exp.Literal):
        return exp.Literal.string(f"-{negative.this}")
    return exp.Literal.string(str(node.this)) if isinstance(node, exp.Literal) else exp.Paren(this=node)


def _moment(node: exp.Expr) -> exp.Expr:
    """A text constant where a date is needed is one."""
    if not (isinstance(node, exp.Literal) and node.is_string):
        return node
    return exp.cast(node, "TIMESTAMP" if ":" in str(node.this) else "DATE")


def _read_day(text: exp.Expr | None, picture: exp.Expr | None, *, letters: bool) -> exp.Expr | None:
    """A constant text read as a date by a constant picture of it, of letters as in DD.MM.YYYY or of signs as in %d."""
    pieces = [str(part.this) for part in (text, picture) if isinstance(part, exp.Literal) and part.is_string]
    if len(pieces) != 2:
        return None
    written = pieces[1]
    for word, sign in _PICTURED if letters else ():
        written = re.sub(word, sign, written, flags=re.IGNORECASE)
    try:
        day = datetime.strptime(pieces[0], written).date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return None
    return exp.cast(exp.Literal.string(day.isoformat()), "DATE")


def _to_date(arguments: Arguments) -> exp.Expr:
    """TO_DATE('31.01.2023', 'DD.MM.YYYY') of Oracle, PostgreSQL and Snowflake; of one argument it is a cast."""
    if len(arguments) == 1:
        return exp.cast(arguments[0], "DATE")
    day = _read_day(*arguments, letters=True) if len(arguments) == 2 else None
    return day or _call("TO_DATE", arguments)


def _to_timestamp(arguments: Arguments) -> exp.Expr:
    """TO_TIMESTAMP('2023-01-31 12:00:00', 'YYYY-MM-DD HH24:MI:SS') of PostgreSQL; of one argument it counts seconds."""
    if len(arguments) != 2 or not all(isinstance(each, exp.Literal) and each.is_string for each in arguments):
        return _after_1970(arguments[0]) if len(arguments) == 1 else _call("TO_TIMESTAMP", arguments)
    text, picture = (str(each.this) for each in arguments)
    for letters, sign in _TIMED:
        picture = picture.replace(letters, sign)
    try:
        moment = datetime.strptime(text, picture)  # noqa: DTZ007 - zoneless, as columns are
    except ValueError:
        return _call("TO_TIMESTAMP", arguments)
    return exp.cast(exp.Literal.string(moment.isoformat(sep=" ")), "TIMESTAMPTZ")


def _after_1970(seconds: exp.Expr) -> exp.Expr:
    """The moment that many seconds after 1970 began: of a constant, that moment itself."""
    written = str(seconds.this) if isinstance(seconds, exp.Literal) and not seconds.is_string else ""
    if not written.isdigit() or len(written) > _LONGEST_SECONDS:
        return exp.UnixToTime(this=seconds)
    moment = datetime(1970, 1, 1) + timedelta(seconds=int(written))  # noqa: DTZ001 - zoneless, as columns are
    return exp.cast(exp.Literal.string(moment.isoformat(sep=" ")), "TIMESTAMPTZ")


def _made_interval(arguments: Arguments) -> exp.Expr:
    """MAKE_INTERVAL(years => 3, days => 5) of PostgreSQL; of one unit, so many as a row says."""
    if len(arguments) == 1 and isinstance(arguments[0], exp.Kwarg) and (unit := unit_named(arguments[0].this)):
        return exp.Interval(this=_amount(arguments[0].expression), unit=exp.var(unit))
    parts = []
    for each in arguments:
        unit = unit_named(each.this) if isinstance(each, exp.Kwarg) else ""
        size = _amount(each.expression) if unit else None
        if not isinstance(size, exp.Literal):
            return _call("MAKE_INTERVAL", arguments)
        parts.append(f"{size.this} {unit}")
    return exp.Interval(this=exp.Literal.string(" ".join(parts))) if parts else _call("MAKE_INTERVAL", arguments)


def _parsed_day(arguments: Arguments, *, name: str, picture: int) -> exp.Expr:
    """PARSE_DATE('%Y-%m-%d', '2023-01-31') of BigQuery, and MySQL's STR_TO_DATE with its arguments the other way."""
    day = None
    if len(arguments) == 2:
        day = _read_day(arguments[1 - picture], arguments[picture], letters=False)
    return day or _call(name, arguments)


def _cut(arguments: Arguments) -> exp.Expr:
    """TRUNC(day, 'MM') of Oracle and Snowflake; TRUNC(x, 2) cuts digits."""
    if len(arguments) == 2 and isinstance(arguments[1], exp.Literal) and arguments[1].is_string:
        unit = _CUT_TO.get(str(arguments[1].this).upper()) or unit_named(arguments[1])
        return _truncated([exp.Literal.string(unit), arguments[0]]) if unit else _call("TRUNC", arguments)
    if len(arguments) not in {1, 2}:
        return _call("TRUNC", arguments)
    return exp.Trunc(this=arguments[0], decimals=arguments[1] if len(arguments) == 2 else None)


def _last_day(arguments: Arguments) -> exp.Expr:
    return exp.LastDay(this=arguments[0]) if len(arguments) == 1 else _call("EOMONTH", arguments)


def _formatted(arguments: Arguments, *, name: str) -> exp.Expr:
    """FORMAT_DATE('%Y-%m', day) is STRFTIME(day, '%Y-%m')."""
    if len(arguments) != 2:
        return _call(name, arguments)
    return exp.TimeToStr(this=arguments[1], format=arguments[0])


def _dotnet(arguments: Arguments) -> exp.Expr:
    """FORMAT(day, 'yyyy-MM') of SQL Server; FORMAT('{}', x) of DuckDB stays."""
    picture = arguments[1] if len(arguments) == 2 else None
    if not (isinstance(picture, exp.Literal) and picture.is_string) or isinstance(arguments[0], exp.Literal):
        return exp.Format(this=arguments[0] if arguments else None, expressions=arguments[1:])
    text, written = str(picture.this), ""
    while text:
        word = next((each for each in _DOTNET if text.startswith(each)), None)
        if word is None and text[0].isalpha():
            return exp.Format(this=arguments[0], expressions=arguments[1:])
        written += text[0] if word is None else _DOTNET[word]
        text = text[1 if word is None else len(word) :]
    return exp.TimeToStr(this=arguments[0], format=exp.Literal.string(written))


def _part_name(arguments: Arguments) -> exp.Expr:
    """DATENAME(month, day) of SQL Server."""
    unit = unit_named(arguments[0]) if len(arguments) == 2 else str(arguments[0].name).upper() if arguments else ""
    if len(arguments) == 2 and unit == "MONTH":
        return exp.Monthname(this=arguments[1])
    if len(arguments) == 2 and str(arguments[0].name).upper() in {"WEEKDAY", "DW"}:
        return exp.Dayname(this=arguments[1])
    return _call("DATENAME", arguments)


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _quantile(arguments: Arguments, *, name: str) -> exp.Expr:
    if len(arguments) not in {2, 3}:  # the third is how exact it need be
        return _call(name, arguments)
    return exp.Quantile(this=arguments[0], quantile=arguments[1])


def _one(kind: type[exp.Func], name: str) -> Build:
    return lambda arguments: kind(this=arguments[0]) if len(arguments) == 1 else _call(name, arguments)


def _counted(arguments: Arguments) -> exp.Expr:
    return exp.Count(this=arguments[0], big_int=True) if len(arguments) == 1 else _call("COUNT_BIG", arguments)


def _regular(arguments: Arguments) -> exp.Expr:
    if len(arguments) != 2:
        return _call("REGEXP_CONTAINS", arguments)
    return exp.RegexpLike(this=arguments[0], expression=arguments[1])


HABITS: dict[str, Build] = {
    "ISNULL": lambda arguments: _either(arguments, name="ISNULL"),
    "ZEROIFNULL": _or_zero,
    "IFF": _if,
    "SAFE_DIVIDE": _quotient,
    "DIV0": _quotient_or_zero,
    "DIV0NULL": _quotient_or_zero,
    **dict.fromkeys(("DATEDIFF", "DATE_DIFF", "DATETIME_DIFF"), _difference),
    **dict.fromkeys(("TIMESTAMPDIFF", "TIMESTAMP_DIFF"), _whole_difference),
    **dict.fromkeys(("DATE_TRUNC", "DATETRUNC", "TIMESTAMP_TRUNC", "DATETIME_TRUNC"), _truncated),
    **{
        name: lambda arguments, name=name: _moved(arguments, name=name, back=False)  # type: ignore[misc]
        for name in ("DATE_ADD", "DATEADD", "ADDDATE", "TIMESTAMP_ADD", "DATETIME_ADD", "TIMESTAMPADD")
    },
    **{
        name: lambda arguments, name=name: _moved(arguments, name=name, back=True)  # type: ignore[misc]
        for name in ("DATE_SUB", "SUBDATE", "TIMESTAMP_SUB", "DATETIME_SUB")
    },
    "EOMONTH": _last_day,
    "TO_DATE": _to_date,
    "TO_TIMESTAMP": _to_timestamp,
    "MAKE_INTERVAL": _made_interval,
    "PARSE_DATE": lambda arguments: _parsed_day(arguments, name="PARSE_DATE", picture=0),
    "STR_TO_DATE": lambda arguments: _parsed_day(arguments, name="STR_TO_DATE", picture=1),
    **dict.fromkeys(("TRUNC", "TRUNCATE"), _cut),
    **{
        name: lambda arguments, name=name: _formatted(arguments, name=name)  # type: ignore[misc]
        for name in ("FORMAT_DATE", "FORMAT_DATETIME", "FORMAT_TIMESTAMP")
    },
    "FORMAT": _dotnet,
    "DATENAME": _part_name,
    "CURDATE": lambda arguments: _call("CURDATE", arguments) if arguments else exp.CurrentDate(),
    **{
        name: lambda arguments, name=name: _quantile(arguments, name=name)  # type: ignore[misc]
        for name in ("PERCENTILE", "PERCENTILE_APPROX", "APPROX_PERCENTILE")
    },
    "STDEVP": _one(exp.StddevPop, "STDEVP"),
    "VAR": _one(exp.Variance, "VAR"),
    "VARP": _one(exp.VariancePop, "VARP"),
    "EVERY": _one(exp.LogicalAnd, "EVERY"),
    "REGEXP_CONTAINS": _regular,
    "COUNT_BIG": _counted,
    "CONVERT": convert,
    "TRY_CONVERT": try_convert,
    **{
        name: lambda arguments, name=name, kind=kind: tried_as(arguments, name=name, kind=kind)  # type: ignore[misc]
        for name, kind in (
            ("TO_NUMBER", "BIGINT"),
            ("TRY_TO_NUMBER", "BIGINT"),
            ("TRY_TO_NUMERIC", "BIGINT"),
            ("TRY_TO_DECIMAL", "BIGINT"),
            ("TRY_TO_DOUBLE", "DOUBLE"),
            ("TRY_TO_DATE", "DATE"),
            ("TRY_TO_TIMESTAMP", "TIMESTAMP"),
        )
    },
    **{
        name: lambda arguments, name=name: moment_at(arguments, name=name)  # type: ignore[misc]
        for name in ("TIMESTAMP", "DATETIME")
    },
    "BTRIM": trimmed,
    "DECODE": decode,
    **dict.fromkeys(("MAKE_DATE", "DATEFROMPARTS"), day_of_parts),
    "MONTHS_BETWEEN": months_between,
}
