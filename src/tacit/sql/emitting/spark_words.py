"""The words of Spark, and of what speaks its SQL: the same whole numbers, by functions that it has."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.emitting.engine_nodes import Rewrite, call, cast, named, quoted, small
from tacit.sql.emitting.postgres_words import plain_literal
from tacit.sql.emitting.single_read import weighed_in_one_reading
from tacit.sql.emitting.text_words import other_words, spark_trim, without_many_gaps
from tacit.sql.emitting.three_valued import three_valued
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Whole

_MAX_REPEATED = 400  # parts of an expression that is written out twice

_SPARK_TYPES = {
    exp.DType.INT128: "DECIMAL(38, 0)",
    exp.DType.VARCHAR: "STRING",
    exp.DType.TEXT: "STRING",
    exp.DType.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}


def _wide(value: exp.Expression) -> exp.Expression:
    return cast(value, "DECIMAL(38, 0)")


def _spark_type(node: exp.Expression) -> exp.Expression:
    kind = _SPARK_TYPES.get(node.this)
    return node if kind is None else named(kind)


def _spark_literal(node: exp.Expression) -> exp.Expression:
    """A fraction is a double: beside a decimal, Sail would convert the column, and fail on NaN.

    It is read from text, to the nearest double: by way of a decimal, Sail cuts off what a double does not hold.
    """
    if node.is_string or str(node.this).isdigit():
        return plain_literal(node)
    text = quoted(str(node.this))
    if not isinstance(node.parent, exp.Cast):
        return cast(text, "DOUBLE")
    return text if node.parent.to.this in {exp.DType.DOUBLE, exp.DType.FLOAT} else node


def _spark_truncate(node: exp.Expression) -> exp.Expression:
    """By the calendar: Sail's own functions count in nanoseconds, and fail on what is 300 years away."""
    unit, moment = str(node.args["unit"].name).upper(), node.this
    if unit in {"HOUR", "MINUTE"}:
        micros = call("UNIX_MICROS", cast(moment, "TIMESTAMP"))
        width = exp.Literal.number({"HOUR": 3_600_000_000, "MINUTE": 60_000_000}[unit])
        return call("TIMESTAMP_MICROS", arithmetic.less(micros, call("PMOD", micros.copy(), width)))
    day = exp.cast(moment, "DATE")
    if unit == "DAY":
        return day
    if unit == "WEEK":  # by days since a Monday: of Sundays, Sail's own WEEKDAY is -1
        monday = exp.cast(exp.Literal.string("1970-01-05"), "DATE")
        return call("DATE_SUB", day, call("PMOD", call("DATEDIFF", day.copy(), monday), exp.Literal.number(7)))
    year, month = call("YEAR", day), call("MONTH", day.copy())
    first = {"YEAR": exp.Literal.number(1), "MONTH": month, "QUARTER": _first_of_quarter(month)}[unit]
    return call("MAKE_DATE", year, first, exp.Literal.number(1))


def _first_of_quarter(month: exp.Expression) -> exp.Expression:
    """1, 4, 7 or 10, as a 32-bit number, which DIV does not give."""
    months_into = arithmetic.remainder(arithmetic.shift(Whole(month, 1, 12), -1), 3)
    return arithmetic.subtract(Whole(month.copy(), 1, 12), months_into).sql


def _spark_divide_whole(node: exp.Expression) -> exp.Expression:
    """DIV gives 64 bits. Where the sides are wider, take the remainder out first, and divide exactly."""
    if isinstance(node.expression, exp.Literal) and not _is_wide(node):
        return call("DIV", node.this, node.expression)
    if sum(1 for _ in node.walk()) > _MAX_REPEATED:
        raise QueryRefused("a whole division of such large numbers is too long for Spark", hint="divide fewer times")
    return _wide(arithmetic.exact_quotient(_wide(node.this), _wide(node.expression)))


def _is_wide(node: exp.Expression) -> bool:
    """Whether a number of 128 bits is computed with: not where it was narrowed on the way."""
    parts = node.walk(prune=lambda part: isinstance(part, exp.Cast) and _is_bigint(part.to))
    return any(part.args.get("kind") == "DECIMAL(38, 0)" for part in parts if isinstance(part, exp.DataType))


def _is_bigint(kind: exp.DataType) -> bool:
    return kind.this is exp.DType.BIGINT or kind.args.get("kind") == "BIGINT"


def _spark_extract(node: exp.Expression) -> exp.Expression:
    """Whole numbers: days of the week from 0 on, seconds cut off downwards before 1970 too."""
    part, moment = str(node.this.name).upper(), node.expression
    if part == "DOW":
        return cast(exp.paren(arithmetic.shift(Whole(call("DAYOFWEEK", moment), 1, 7), -1).sql), "BIGINT")
    if part == "EPOCH":
        micros = _wide(call("UNIX_MICROS", cast(moment, "TIMESTAMP")))
        return cast(arithmetic.exact_quotient(micros, exp.Literal.number(1_000_000), least="PMOD"), "BIGINT")
    return cast(node.copy(), "BIGINT")


def _spark_sum(node: exp.Expression) -> exp.Expression:
    return exp.Sum(this=_wide(node.this))  # 64 bits would overflow in silence


def _spark_days(node: exp.Expression) -> exp.Expression:
    """DATE − DATE is an interval there; only the difference from 1970 is ever asked for."""
    since = node.expression
    if isinstance(since, exp.Cast) and since.to.this is exp.DType.DATE:
        return cast(call("DATEDIFF", node.this, since), "BIGINT")
    return node


def _spark_moved(node: exp.Expression) -> exp.Expression:
    """DATE + INT, DATE + INTERVAL of months and TIMESTAMP + TO_SECONDS are functions there."""
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval):
        return call("ADD_MONTHS", left.copy(), cast(quoted(str(right.this.this)), "INT"))
    if isinstance(right, exp.Anonymous) and right.this == "TO_MONTHS":
        return call("ADD_MONTHS", left.copy(), right.expressions[0].copy())
    if isinstance(right, exp.Anonymous) and right.this == "TO_SECONDS":
        return cast(call("TIMESTAMP_SECONDS", right.expressions[0].copy()), "TIMESTAMP_NTZ")
    if isinstance(left, exp.Cast) and left.to.this is exp.DType.DATE:
        return call("DATE_ADD", left.copy(), right.copy())
    return node


def _spark_like(node: exp.Expression) -> exp.Expression:
    pattern = without_many_gaps(str(node.expression.this)).replace("\\", "\\\\")  # a backslash is a backslash
    return exp.Like(this=node.this.copy(), expression=quoted(pattern))


def _spark_ilike(node: exp.Expression) -> exp.Expression:
    pattern = "".join(map(small, without_many_gaps(str(node.expression.this)))).replace("\\", "\\\\")
    return exp.Like(this=_spark_lower(exp.Lower(this=node.this.copy())), expression=quoted(pattern))


def _spark_lower(node: exp.Expression) -> exp.Expression:
    return exp.Lower(this=call("REPLACE", node.this, quoted("İ"), quoted("i")))


def _spark_upper(node: exp.Expression) -> exp.Expression:
    return exp.Upper(this=call("REPLACE", node.this, quoted("ß"), quoted("ẞ")))


def _spark_having(node: exp.Expression) -> exp.Expression:
    """A name in HAVING is a column of what is grouped; Sail would take it for the sum of the same name."""
    grouped = node.parent.args.values() if node.parent is not None else ()
    sources = [child.alias_or_name for child in grouped if isinstance(child, exp.From)]
    for column in node.find_all(exp.Column):
        if sources and not column.table:
            column.set("table", exp.to_identifier(sources[0]))
    return node


def spark_order(parts: Sequence[exp.Expression]) -> exp.Expression:
    """NULL leaves no trace in the hash, so that it is said beside each value that can differ among those ranked."""
    window = parts[0].find_ancestor(exp.Window)
    same = {part.name for part in window.args["partition_by"]} if window is not None else set()
    columns = [column for part in parts for column in part.find_all(exp.Column) if column.name not in same]
    missing = [exp.Is(this=column.copy(), expression=exp.null()) for column in columns]
    return call("XXHASH64", *(part.copy() for part in parts), *missing)


def _spark_ranked(node: exp.Expression) -> exp.Expression:
    """A hash is never NULL; told where NULL would go, Sail takes longer to sort."""
    if isinstance(node.this, exp.Anonymous) and node.this.this == "XXHASH64":
        node.set("nulls_first", True)  # which is where Spark puts it by itself
    return node


def _spark_called(node: exp.Expression) -> exp.Expression:
    """A quantile by the name that it has here; any other call, in other words."""
    return call("PERCENTILE", *node.expressions) if node.this == "QUANTILE_CONT" else other_words(node)


SPARK: dict[type, Rewrite] = {
    exp.DataType: _spark_type,
    exp.Literal: _spark_literal,
    exp.IntDiv: _spark_divide_whole,
    exp.Extract: _spark_extract,
    exp.Sum: _spark_sum,
    exp.In: three_valued,
    exp.Sub: _spark_days,
    exp.Add: _spark_moved,
    exp.Trim: spark_trim,
    exp.StrPosition: lambda node: cast(call("INSTR", node.this, node.args["substr"]), "BIGINT"),
    exp.Anonymous: _spark_called,
    exp.Lower: _spark_lower,
    exp.Upper: _spark_upper,
    exp.Length: lambda node: cast(call("CHAR_LENGTH", node.this), "BIGINT"),
    exp.Like: _spark_like,
    exp.ILike: _spark_ilike,
    exp.Select: weighed_in_one_reading,
    exp.Having: _spark_having,
    exp.Ordered: _spark_ranked,
    exp.TimestampTrunc: _spark_truncate,
}
