"""PostgreSQL's words: what it would fail on, round or compare otherwise, written so that it gives the same numbers."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from sqlglot import exp

from tacit.sql.emitting.computed_once import computed_once
from tacit.sql.emitting.engine_nodes import Rewrite, call, cast, named, quoted, small
from tacit.sql.emitting.text_words import other_words, postgres_trim
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Whole, Width

_TINY, _TINIEST = 1e-290, 1e-300  # a number below the one, a quotient below the other: dividing could underflow
_INT64 = 1 << 63
_YEARS = -1_000_000, 1_000_000  # of PostgreSQL's dates, with room to spare

_POSTGRES_TYPES = {
    exp.DType.INT128: "NUMERIC",  # exact, and as wide as it needs to be
    exp.DType.FLOAT: "REAL",
    exp.DType.DOUBLE: "DOUBLE PRECISION",
    exp.DType.VARCHAR: "TEXT",
    exp.DType.TEXT: "TEXT",
}
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.If, exp.Case, exp.Coalesce, exp.Neg)


def _pg_type(node: exp.Expression) -> exp.Expression:
    kind = _POSTGRES_TYPES.get(node.this)
    return node if kind is None else named(kind)


def _pg_cast(node: exp.Expression) -> exp.Expression:
    """Text made by a cast is in byte order; a REAL constant is rounded here, where rounding to zero is no error."""
    kind = node.args["to"].args.get("kind")
    if kind == "TEXT":
        return exp.Collate(this=node, expression=exp.to_identifier("C", quoted=True))
    if kind == "REAL" and isinstance(node.this, exp.Literal):
        (rounded,) = struct.unpack("f", struct.pack("f", float(node.this.this)))
        return cast(quoted(repr(rounded)), "REAL")
    return node


def plain_literal(node: exp.Expression) -> exp.Expression:
    """A whole number among others is 64 bits wide, as columns are: 32 bits would overflow, and so fail."""
    if node.is_string or not isinstance(node.parent, _ARITHMETIC):
        return node
    text = str(node.this)
    return cast(node.copy(), "BIGINT") if text.isdigit() and int(text) < _INT64 else node


def _pg_extract(node: exp.Expression) -> exp.Expression:
    """Whole numbers, NULL for ±infinity, and the years before 1 counted as DuckDB does: 1 BC is 0."""
    part, moment = str(node.this.name).upper(), node.expression
    if part == "EPOCH":
        return cast(node.copy(), "DOUBLE PRECISION")
    taken = cast(node.copy(), "BIGINT")
    if part == "YEAR":
        before = exp.LT(this=moment.copy(), expression=exp.cast(quoted("0001-01-01"), "DATE"))
        one = exp.Case(ifs=[exp.If(this=before, true=exp.Literal.number(1))], default=exp.Literal.number(0))
        taken = exp.paren(arithmetic.add(Whole(taken, *_YEARS, Width.BIGINT), Whole(one, 0, 1)).sql)
    return exp.Case(ifs=[exp.If(this=call("ISFINITE", moment.copy()), true=taken)])


def _pg_divide(node: exp.Expression) -> exp.Expression:
    """Doubles: too small a quotient is zero rather than an error, which underflow is in PostgreSQL.

    One of two counts is left as it is: it is never so small.
    """
    by = _constant(node.expression)
    if by is None:
        return node
    least = repr(max(_TINY, _TINIEST * by))
    above = node.this
    tiny = exp.LT(this=call("ABS", above.copy()), expression=cast(quoted(least), "DOUBLE PRECISION"))
    zero = cast(quoted("0"), "DOUBLE PRECISION")
    return exp.paren(exp.Case(ifs=[exp.If(this=tiny, true=zero)], default=node.copy()))


def _constant(node: exp.Expression) -> float | None:
    """The size of a number that is written out, whatever it is cast to."""
    while isinstance(node, (exp.Cast, exp.Paren, exp.Neg)):
        node = node.this
    return float(node.this) if isinstance(node, exp.Literal) else None


def _pg_upper(node: exp.Expression) -> exp.Expression:
    return exp.Upper(this=call("REPLACE", node.this, quoted("ß"), quoted("ẞ")))


def _pg_like(node: exp.Expression) -> exp.Expression:
    return exp.Escape(this=node.copy(), expression=quoted(""))  # a backslash is a backslash


def _pg_ilike(node: exp.Expression) -> exp.Expression:
    """As DuckDB does it: both sides in small letters."""
    pattern = "".join(map(small, str(node.expression.this)))
    return exp.Escape(this=exp.Like(this=exp.Lower(this=node.this), expression=quoted(pattern)), expression=quoted(""))


def _pg_same(node: exp.Expression) -> exp.Expression:
    """IS NOT DISTINCT FROM cannot be hashed, and a join on it takes the square of the rows. Arrays can."""
    return exp.EQ(this=exp.Array(expressions=[node.this]), expression=exp.Array(expressions=[node.expression]))


def postgres_order(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The text of a row tells NULL from '' and where a value ends: two groups of a unit do not tie by spelling."""
    row = exp.Anonymous(this="ROW", expressions=[part.copy() for part in parts])
    return call("HASHTEXTEXTENDED", cast(row, "TEXT"), exp.Literal.number(0))


def _pg_called(node: exp.Expression) -> exp.Expression:
    """So many seconds as an interval: whole ones, up to 10^12, are doubles. Any other call, in other words."""
    if node.this == "QUANTILE_CONT":
        values, share = (argument.copy() for argument in node.expressions)
        order = exp.Order(expressions=[exp.Ordered(this=values)])
        return exp.WithinGroup(this=call("PERCENTILE_CONT", share), expression=order)
    if node.this == "TO_MONTHS":
        return call("MAKE_INTERVAL", exp.Literal.number(0), cast(node.expressions[0].copy(), "INT"))
    if node.this != "TO_SECONDS":
        return other_words(node)
    zeros = (exp.Literal.number(0) for _ in range(6))
    return call("MAKE_INTERVAL", *zeros, cast(node.expressions[0].copy(), "DOUBLE PRECISION"))


POSTGRES: dict[type, Rewrite] = {
    exp.Anonymous: _pg_called,
    exp.Select: computed_once,
    exp.DataType: _pg_type,
    exp.Cast: _pg_cast,
    exp.Literal: plain_literal,
    exp.Extract: _pg_extract,
    exp.Div: _pg_divide,
    exp.IntDiv: lambda node: call("DIV", node.this, node.expression),
    exp.IsNan: lambda node: exp.EQ(this=node.this, expression=cast(quoted("NaN"), "DOUBLE PRECISION")),
    exp.Trim: postgres_trim,
    exp.StrPosition: lambda node: cast(call("STRPOS", node.this, node.args["substr"]), "BIGINT"),
    exp.Upper: _pg_upper,
    exp.Length: lambda node: cast(call("LENGTH", node.this), "BIGINT"),
    exp.Like: _pg_like,
    exp.ILike: _pg_ilike,
    exp.NullSafeEQ: _pg_same,
    exp.TimestampTrunc: lambda node: call(
        "DATE_TRUNC", quoted(str(node.args["unit"].name).lower()), exp.cast(node.this, "TIMESTAMP")
    ),
}
