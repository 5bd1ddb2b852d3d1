"""CONVERT and DECODE, MAKE_DATE and MONTHS_BETWEEN: calls of other databases whose arguments say what they mean."""

from __future__ import annotations

from sqlglot import exp

Arguments = list[exp.Expr]

_TYPES = {
    **dict.fromkeys(("INT", "INTEGER", "SMALLINT", "TINYINT", "SIGNED", "UNSIGNED"), "INT"),
    "BIGINT": "BIGINT",
    **dict.fromkeys(("VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "TEXT", "VARCHAR2"), "VARCHAR"),
    **dict.fromkeys(("FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC", "MONEY"), "DOUBLE"),
    "DATE": "DATE",
    **dict.fromkeys(("DATETIME", "DATETIME2", "SMALLDATETIME", "TIMESTAMP"), "TIMESTAMP"),
}
_STYLES = {"23", "120", "121", "126"}  # SQL Server's numbers for 2024-01-31 and what may follow it
_CUT = {"4": "%Y", "7": "%Y-%m", "10": "%Y-%m-%d"}  # by how many characters are kept of it


def convert(arguments: Arguments) -> exp.Expr:
    """CONVERT(INT, x) of SQL Server, which names the type first, and MySQL's CONVERT(x, CHAR), which names it last."""
    if len(arguments) in {2, 3} and (kind := _type_named(arguments[0])):
        cut = _as_text_of_a_day(arguments)
        return cut or (exp.cast(arguments[1], kind) if len(arguments) == 2 else _call("CONVERT", arguments))
    if len(arguments) == 2 and (kind := _type_named(arguments[1])):
        return exp.cast(arguments[0], kind)
    return _call("CONVERT", arguments)


def _type_named(node: exp.Expr) -> str:
    """The type that a bare word names, with its length or without; empty where it names none."""
    if isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted"):
        return _TYPES.get(node.name.upper(), "")
    return _TYPES.get(str(node.this).upper(), "") if isinstance(node, exp.Anonymous) else ""


def _as_text_of_a_day(arguments: Arguments) -> exp.Expr | None:
    """CONVERT(VARCHAR(7), day, 120): the year and the month."""
    kept = arguments[0].expressions if isinstance(arguments[0], exp.Anonymous) else []
    picture = _CUT.get(kept[0].name) if len(kept) == 1 and isinstance(kept[0], exp.Literal) else None
    if len(arguments) != 3 or arguments[2].name not in _STYLES or picture is None:
        return None
    return exp.TimeToStr(this=arguments[1], format=exp.Literal.string(picture))


def decode(arguments: Arguments) -> exp.Expr:
    """DECODE(x, 'a', 1, 'b', 2, 3) of Oracle: a CASE, in which two empty cells are the same."""
    if len(arguments) < 3:
        return _call("DECODE", arguments)
    value, *rest = arguments
    branches = [
        exp.If(this=_same(value, wanted), true=result.copy())
        for wanted, result in zip(rest[0::2], rest[1::2], strict=False)
    ]
    return exp.Case(ifs=branches, default=rest[-1].copy() if len(rest) % 2 else None)


def _same(value: exp.Expr, wanted: exp.Expr) -> exp.Expr:
    if isinstance(wanted, exp.Null):
        return exp.Is(this=value.copy(), expression=exp.null())
    return exp.EQ(this=_grouped(value).copy(), expression=_grouped(wanted).copy())


def _grouped(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if isinstance(node, exp.Binary) else node


def day_of_parts(arguments: Arguments) -> exp.Expr:
    """MAKE_DATE(YEAR(d), MONTH(d), 1): the month of a day; of constants, a day."""
    if len(arguments) != 3:
        return _call("MAKE_DATE", arguments)
    year, month, day = arguments
    first_day = isinstance(day, exp.Literal) and str(day.this) == "1"
    first_month = isinstance(month, exp.Literal) and str(month.this) == "1"
    moment = _whose_part(year, "YEAR")
    if moment is None or not first_day or not (first_month or _whose_part(month, "MONTH") == moment):
        return exp.DateFromParts(year=year, month=month, day=day)
    unit = exp.Literal.string("YEAR" if first_month else "MONTH")
    return exp.cast(exp.TimestampTrunc(this=moment.copy(), unit=unit), "DATE")


def _whose_part(node: exp.Expr, unit: str) -> exp.Expr | None:
    """Of which moment an expression is the year or the month; None where it is neither."""
    while isinstance(node, (exp.Paren, exp.Cast)):
        node = node.this
    if isinstance(node, {"YEAR": exp.Year, "MONTH": exp.Month}[unit]):
        inner: exp.Expr = node.this
        return inner
    if isinstance(node, exp.Extract) and node.this.name.upper() == unit:
        moment: exp.Expr = node.expression
        return moment
    return None


def months_between(arguments: Arguments) -> exp.Expr:
    """MONTHS_BETWEEN(later, earlier) of Oracle: months, and days as parts of 31."""
    if len(arguments) != 2:
        return _call("MONTHS_BETWEEN", arguments)
    later, earlier = arguments
    months = exp.DateDiff(this=later.copy(), expression=earlier.copy(), unit=exp.var("MONTH"))
    days = exp.Paren(this=exp.Sub(this=exp.Day(this=later.copy()), expression=exp.Day(this=earlier.copy())))
    parts = exp.Div(this=days, expression=exp.Literal.number(31), typed=False, safe=False)
    both_last = exp.And(this=_is_last(later), expression=_is_last(earlier))
    return exp.Case(ifs=[exp.If(this=both_last, true=months.copy())], default=exp.Add(this=months, expression=parts))


def _is_last(moment: exp.Expr) -> exp.Expr:
    """Whether a day is the last of its month: two of these are whole months apart."""
    return exp.EQ(this=exp.LastDay(this=moment.copy()), expression=moment.copy())


def _call(name: str, arguments: Arguments) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
