"""CONVERT, TRY_CONVERT, DECODE, MAKE_DATE, MONTHS_BETWEEN: calls of other databases that say what they mean."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied

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


def try_convert(arguments: Arguments) -> exp.Expr:
    """TRY_CONVERT(INT, x) of SQL Server: NULL where a text is no such thing."""
    kind = _type_named(arguments[0]) if len(arguments) == 2 else ""
    if not kind:
        return _call("TRY_CONVERT", arguments)
    places = arguments[0].expressions if isinstance(arguments[0], exp.Anonymous) and kind == "DOUBLE" else []
    numbers = [each.name for each in places if isinstance(each, exp.Literal) and each.name.isdigit()]
    exact = len(numbers) == len(places) > 0
    return exp.TryCast(
        this=arguments[1], to=exp.DataType.build(f"DECIMAL({', '.join(numbers)})" if exact else kind), safe=True
    )


def tried_as(arguments: Arguments, *, name: str, kind: str) -> exp.Expr:
    """TRY_TO_NUMBER(x), TRY_TO_DECIMAL(x, 8, 2), TRY_TO_DATE(x) of Snowflake; TO_NUMBER(x) of Oracle, which fails."""
    numbers = [each.name for each in arguments[1:] if isinstance(each, exp.Literal) and each.name.isdigit()]
    if not arguments or len(numbers) < len(arguments) - 1 or len(numbers) > 2 * (kind == "BIGINT"):
        return _call(name, arguments)
    to = exp.DataType.build(f"DECIMAL({', '.join(numbers)})" if numbers else kind)
    if name.startswith("TRY_"):
        return exp.TryCast(this=arguments[0], to=to, safe=True)
    return exp.Cast(this=arguments[0], to=to)


def moment_at(arguments: Arguments, *, name: str) -> exp.Expr:
    """TIMESTAMP('2023-06-01') and DATETIME('2023-06-01 12:00:00') of BigQuery and MySQL."""
    text = arguments[0] if len(arguments) == 1 else None
    if not isinstance(text, exp.Literal) or not text.is_string:
        return exp.cast(text, "TIMESTAMP") if isinstance(text, exp.Column) else _call(name, arguments)
    return exp.cast(text, "TIMESTAMP")


def trimmed(arguments: Arguments) -> exp.Expr:
    """BTRIM(x) and BTRIM(x, 'ab') of PostgreSQL."""
    if len(arguments) not in {1, 2}:
        return _call("BTRIM", arguments)
    return exp.Trim(this=arguments[0], expression=arguments[1] if len(arguments) == 2 else None)


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
        exp.If(this=_same(value, wanted), true=copied(result))
        for wanted, result in zip(rest[0::2], rest[1::2], strict=False)
    ]
    return exp.Case(ifs=branches, default=copied(rest[-1]) if len(rest) % 2 else None)


def _same(value: exp.Expr, wanted: exp.Expr) -> exp.Expr:
    if isinstance(wanted, exp.Null):
        return exp.Is(this=copied(value), expression=exp.null())
    return exp.EQ(this=copied(_grouped(value)), expression=copied(_grouped(wanted)))


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
    return exp.cast(exp.TimestampTrunc(this=copied(moment), unit=unit), "DATE")


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
    months = exp.DateDiff(this=copied(later), expression=copied(earlier), unit=exp.var("MONTH"))
    days = exp.Paren(this=exp.Sub(this=exp.Day(this=copied(later)), expression=exp.Day(this=copied(earlier))))
    parts = exp.Div(this=days, expression=exp.Literal.number(31), typed=False, safe=False)
    both_last = exp.And(this=_is_last(later), expression=_is_last(earlier))
    return exp.Case(ifs=[exp.If(this=both_last, true=copied(months))], default=exp.Add(this=months, expression=parts))


def _is_last(moment: exp.Expr) -> exp.Expr:
    """Whether a day is the last of its month: two of these are whole months apart."""
    return exp.EQ(this=exp.LastDay(this=copied(moment)), expression=copied(moment))


def _call(name: str, arguments: Arguments) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(arguments))
