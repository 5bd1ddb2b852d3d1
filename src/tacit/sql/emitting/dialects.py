"""One tree, many engines: the text of a generated query in the words of the engine that runs it.

The tree means what it means in DuckDB, whose text needs no rewriting. Elsewhere a function of the same name may fail,
round or compare otherwise; each such place is rewritten into words that give the same whole numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from tacit.errors import EngineError, QueryRefused
from tacit.sql.emitting.single_read import weighed_in_one_reading
from tacit.sql.emitting.three_valued import three_valued
from tacit.sql.expressions import arithmetic
from tacit.sql.expressions.aliases import qualified
from tacit.sql.expressions.arithmetic import Whole, Width
from tacit.sql.expressions.printing import CANONICAL, text_of

Rewrite = Callable[[exp.Expression], exp.Expression]
Order = Callable[[Sequence[exp.Expression]], exp.Expression]  # how a unit's own rows or groups are ranked

_SPACES = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"  # what DuckDB's TRIM takes
_TINY, _TINIEST = 1e-290, 1e-300  # a number below the one, a quotient below the other: dividing could underflow
_INT64 = 1 << 63
_YEARS = -1_000_000, 1_000_000  # of PostgreSQL's dates, with room to spare
_MAX_REPEATED = 400  # parts of an expression that is written out twice


def emit(tree: exp.Expression, dialect: str, *, pretty: bool = False, order: Order | None = None) -> str:
    """The text of `tree` for an engine. `order` replaces the engine's own keyed hash, so that two engines agree."""
    if dialect == CANONICAL and order is None:
        return text_of(tree, pretty=pretty)
    if dialect not in _REWRITES:
        raise EngineError(f"tacit writes no SQL for {dialect!r}")
    rewrites, hashed = _REWRITES[dialect]
    return _rewritten(tree.copy(), rewrites, order or hashed).sql(dialect=dialect, pretty=pretty, copy=False)


def values_of(table: str, column: str, *, dialect: str) -> str:
    """The query for the values of a public column, as `k`."""
    name = exp.column(exp.to_identifier(column, quoted=True))
    there = exp.Not(this=exp.Is(this=name.copy(), expression=exp.null()))
    source = exp.Table(this=exp.to_identifier(table, quoted=True))
    return emit(qualified(exp.select(exp.alias_(name, "k")).distinct().from_(source).where(there)), dialect)


def _rewritten(tree: exp.Expression, rewrites: Mapping[type, Rewrite], order: Order) -> exp.Expression:
    """Every node after its children."""
    nodes = [node for node in tree.walk() if isinstance(node, exp.Expression)]
    for node in reversed(nodes):
        made: exp.Expression | None = None
        if isinstance(node, exp.Anonymous) and node.this == "HASH":
            inner = node.expressions[0]
            if isinstance(inner, exp.Anonymous) and inner.this == "HASH":  # hashed twice for DuckDB's sake
                made = order(inner.expressions)
        elif type(node) in rewrites:
            made = rewrites[type(node)](node)
        if made is not None and made is not node:
            node.replace(made)
    return tree


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _named(kind: str) -> exp.DataType:
    """A type by the engine's own name."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=kind)


def _cast(value: exp.Expression, kind: str) -> exp.Expression:
    return arithmetic.cast_to(value, _named(kind))


def _text(value: str) -> exp.Expression:
    return exp.Literal.string(value)


# ── PostgreSQL ───────────────────────────────────────────────────────────────────────────────────────────────────────

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
    return node if kind is None else _named(kind)


def _pg_cast(node: exp.Expression) -> exp.Expression:
    """Text made by a cast is in byte order; a REAL constant is rounded here, where rounding to zero is no error."""
    kind = node.args["to"].args.get("kind")
    if kind == "TEXT":
        return exp.Collate(this=node, expression=exp.to_identifier("C", quoted=True))
    if kind == "REAL" and isinstance(node.this, exp.Literal):
        (rounded,) = struct.unpack("f", struct.pack("f", float(node.this.this)))
        return _cast(_text(repr(rounded)), "REAL")
    return node


def _pg_literal(node: exp.Expression) -> exp.Expression:
    """A whole number among others is 64 bits wide, as columns are: 32 bits would overflow, and so fail."""
    if node.is_string or not isinstance(node.parent, _ARITHMETIC):
        return node
    text = str(node.this)
    return _cast(node.copy(), "BIGINT") if text.isdigit() and int(text) < _INT64 else node


def _pg_extract(node: exp.Expression) -> exp.Expression:
    """Whole numbers, NULL for ±infinity, and the years before 1 counted as DuckDB does: 1 BC is 0."""
    part, moment = str(node.this.name).upper(), node.expression
    if part == "EPOCH":
        return _cast(node.copy(), "DOUBLE PRECISION")
    taken = _cast(node.copy(), "BIGINT")
    if part == "YEAR":
        before = exp.LT(this=moment.copy(), expression=exp.cast(_text("0001-01-01"), "DATE"))
        one = exp.Case(ifs=[exp.If(this=before, true=exp.Literal.number(1))], default=exp.Literal.number(0))
        taken = exp.paren(arithmetic.add(Whole(taken, *_YEARS, Width.BIGINT), Whole(one, 0, 1)).sql)
    return exp.Case(ifs=[exp.If(this=_call("ISFINITE", moment.copy()), true=taken)])


def _pg_divide(node: exp.Expression) -> exp.Expression:
    """Doubles: too small a quotient is zero rather than an error, which underflow is in PostgreSQL."""
    if not isinstance(node.expression, exp.Literal):
        return node
    least = repr(max(_TINY, _TINIEST * float(node.expression.this)))
    above = node.this
    tiny = exp.LT(this=_call("ABS", above.copy()), expression=_cast(_text(least), "DOUBLE PRECISION"))
    zero = _cast(_text("0"), "DOUBLE PRECISION")
    return exp.paren(exp.Case(ifs=[exp.If(this=tiny, true=zero)], default=node.copy()))


def _pg_upper(node: exp.Expression) -> exp.Expression:
    return exp.Upper(this=_call("REPLACE", node.this, _text("ß"), _text("ẞ")))


def _pg_like(node: exp.Expression) -> exp.Expression:
    return exp.Escape(this=node.copy(), expression=_text(""))  # a backslash is a backslash


def _pg_ilike(node: exp.Expression) -> exp.Expression:
    """As DuckDB does it: both sides in small letters."""
    pattern = "".join(map(_small, str(node.expression.this)))
    return exp.Escape(this=exp.Like(this=exp.Lower(this=node.this), expression=_text(pattern)), expression=_text(""))


def _small(letter: str) -> str:
    """One letter for one letter: İ has two in Python."""
    return letter.lower()[0]


def _pg_same(node: exp.Expression) -> exp.Expression:
    """IS NOT DISTINCT FROM cannot be hashed, and a join on it takes the square of the rows. Arrays can."""
    return exp.EQ(this=exp.Array(expressions=[node.this]), expression=exp.Array(expressions=[node.expression]))


def _pg_order(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The text of a row tells NULL from '' and where a value ends: two groups of a unit do not tie by spelling."""
    row = exp.Anonymous(this="ROW", expressions=[part.copy() for part in parts])
    return _call("HASHTEXTEXTENDED", _cast(row, "TEXT"), exp.Literal.number(0))


_POSTGRES: dict[type, Rewrite] = {
    exp.DataType: _pg_type,
    exp.Cast: _pg_cast,
    exp.Literal: _pg_literal,
    exp.Extract: _pg_extract,
    exp.Div: _pg_divide,
    exp.IntDiv: lambda node: _call("DIV", node.this, node.expression),
    exp.IsNan: lambda node: exp.EQ(this=node.this, expression=_cast(_text("NaN"), "DOUBLE PRECISION")),
    exp.Trim: lambda node: _call("BTRIM", node.this, _text(_SPACES)),
    exp.Upper: _pg_upper,
    exp.Length: lambda node: _cast(_call("LENGTH", node.this), "BIGINT"),
    exp.Like: _pg_like,
    exp.ILike: _pg_ilike,
    exp.NullSafeEQ: _pg_same,
    exp.TimestampTrunc: lambda node: _call(
        "DATE_TRUNC", _text(str(node.args["unit"].name).lower()), exp.cast(node.this, "TIMESTAMP")
    ),
}


# ── Spark, and what speaks its SQL ───────────────────────────────────────────────────────────────────────────────────

_SPARK_TYPES = {
    exp.DType.INT128: "DECIMAL(38, 0)",
    exp.DType.VARCHAR: "STRING",
    exp.DType.TEXT: "STRING",
    exp.DType.TIMESTAMP: "TIMESTAMP_NTZ",
    exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
}


def _wide(value: exp.Expression) -> exp.Expression:
    return _cast(value, "DECIMAL(38, 0)")


def _spark_type(node: exp.Expression) -> exp.Expression:
    kind = _SPARK_TYPES.get(node.this)
    return node if kind is None else _named(kind)


def _spark_literal(node: exp.Expression) -> exp.Expression:
    """A fraction is a double: beside a decimal, Sail would convert the column, and fail on NaN.

    It is read from text, to the nearest double: by way of a decimal, Sail cuts off what a double does not hold.
    """
    if node.is_string or str(node.this).isdigit():
        return _pg_literal(node)
    text = _text(str(node.this))
    if not isinstance(node.parent, exp.Cast):
        return _cast(text, "DOUBLE")
    return text if node.parent.to.this in {exp.DType.DOUBLE, exp.DType.FLOAT} else node


def _spark_truncate(node: exp.Expression) -> exp.Expression:
    """By the calendar: Sail's own functions count in nanoseconds, and fail on what is 300 years away."""
    unit, moment = str(node.args["unit"].name).upper(), node.this
    if unit in {"HOUR", "MINUTE"}:
        micros = _call("UNIX_MICROS", _cast(moment, "TIMESTAMP"))
        width = exp.Literal.number({"HOUR": 3_600_000_000, "MINUTE": 60_000_000}[unit])
        return _call("TIMESTAMP_MICROS", arithmetic.less(micros, _call("PMOD", micros.copy(), width)))
    day = exp.cast(moment, "DATE")
    if unit == "DAY":
        return day
    if unit == "WEEK":
        return _call("DATE_SUB", day, _call("WEEKDAY", day.copy()))
    year, month = _call("YEAR", day), _call("MONTH", day.copy())
    first = {"YEAR": exp.Literal.number(1), "MONTH": month, "QUARTER": _first_of_quarter(month)}[unit]
    return _call("MAKE_DATE", year, first, exp.Literal.number(1))


def _first_of_quarter(month: exp.Expression) -> exp.Expression:
    """1, 4, 7 or 10, as a 32-bit number, which DIV does not give."""
    place = arithmetic.remainder(arithmetic.shift(Whole(month, 1, 12), -1), 3)
    return arithmetic.subtract(Whole(month.copy(), 1, 12), place).sql


def _spark_divide_whole(node: exp.Expression) -> exp.Expression:
    """DIV gives 64 bits. Where the sides are wider, take the remainder out first, and divide exactly."""
    wide = any(kind.args.get("kind") == "DECIMAL(38, 0)" for kind in node.find_all(exp.DataType))
    if isinstance(node.expression, exp.Literal) and not wide:
        return _call("DIV", node.this, node.expression)
    if sum(1 for _ in node.walk()) > _MAX_REPEATED:
        raise QueryRefused("a whole division of such large numbers is too long for Spark", hint="divide fewer times")
    return _wide(arithmetic.exact_quotient(_wide(node.this), _wide(node.expression)))


def _spark_extract(node: exp.Expression) -> exp.Expression:
    """Whole numbers: days of the week from 0 on, seconds cut off downwards before 1970 too."""
    part, moment = str(node.this.name).upper(), node.expression
    if part == "DOW":
        return _cast(exp.paren(arithmetic.shift(Whole(_call("DAYOFWEEK", moment), 1, 7), -1).sql), "BIGINT")
    if part == "EPOCH":
        micros = _wide(_call("UNIX_MICROS", _cast(moment, "TIMESTAMP")))
        return _cast(arithmetic.exact_quotient(micros, exp.Literal.number(1_000_000), least="PMOD"), "BIGINT")
    return _cast(node.copy(), "BIGINT")


def _spark_sum(node: exp.Expression) -> exp.Expression:
    return exp.Sum(this=_wide(node.this))  # 64 bits would overflow in silence


def _spark_days(node: exp.Expression) -> exp.Expression:
    """DATE − DATE is an interval there; only the difference from 1970 is ever asked for."""
    since = node.expression
    if isinstance(since, exp.Cast) and since.to.this is exp.DType.DATE:
        return _cast(_call("DATEDIFF", node.this, since), "BIGINT")
    return node


def _spark_like(node: exp.Expression) -> exp.Expression:
    pattern = str(node.expression.this).replace("\\", "\\\\")  # a backslash is a backslash
    return exp.Like(this=node.this.copy(), expression=_text(pattern))


def _spark_ilike(node: exp.Expression) -> exp.Expression:
    pattern = "".join(map(_small, str(node.expression.this))).replace("\\", "\\\\")
    return exp.Like(this=_spark_lower(exp.Lower(this=node.this.copy())), expression=_text(pattern))


def _spark_lower(node: exp.Expression) -> exp.Expression:
    return exp.Lower(this=_call("REPLACE", node.this, _text("İ"), _text("i")))


def _spark_upper(node: exp.Expression) -> exp.Expression:
    return exp.Upper(this=_call("REPLACE", node.this, _text("ß"), _text("ẞ")))


def _spark_having(node: exp.Expression) -> exp.Expression:
    """A name in HAVING is a column of what is grouped; Sail would take it for the sum of the same name."""
    grouped = node.parent.args.values() if node.parent is not None else ()
    sources = [child.alias_or_name for child in grouped if isinstance(child, exp.From)]
    for column in node.find_all(exp.Column):
        if sources and not column.table:
            column.set("table", exp.to_identifier(sources[0]))
    return node


def _spark_order(parts: Sequence[exp.Expression]) -> exp.Expression:
    """NULL leaves no trace in the hash, so that it is said beside each value that can differ among those ranked."""
    window = parts[0].find_ancestor(exp.Window)
    same = {part.name for part in window.args["partition_by"]} if window is not None else set()
    columns = [column for part in parts for column in part.find_all(exp.Column) if column.name not in same]
    missing = [exp.Is(this=column.copy(), expression=exp.null()) for column in columns]
    return _call("XXHASH64", *(part.copy() for part in parts), *missing)


def _spark_ranked(node: exp.Expression) -> exp.Expression:
    """A hash is never NULL; told where NULL would go, Sail takes longer to sort."""
    if isinstance(node.this, exp.Anonymous) and node.this.this == "XXHASH64":
        node.set("nulls_first", True)  # which is where Spark puts it by itself
    return node


_SPARK: dict[type, Rewrite] = {
    exp.DataType: _spark_type,
    exp.Literal: _spark_literal,
    exp.IntDiv: _spark_divide_whole,
    exp.Extract: _spark_extract,
    exp.Sum: _spark_sum,
    exp.In: three_valued,
    exp.Sub: _spark_days,
    exp.Trim: lambda node: exp.Trim(this=node.this, expression=_text(_SPACES), position="BOTH"),
    exp.Lower: _spark_lower,
    exp.Upper: _spark_upper,
    exp.Length: lambda node: _cast(_call("CHAR_LENGTH", node.this), "BIGINT"),
    exp.Like: _spark_like,
    exp.ILike: _spark_ilike,
    exp.Select: weighed_in_one_reading,
    exp.Having: _spark_having,
    exp.Ordered: _spark_ranked,
    exp.TimestampTrunc: _spark_truncate,
}

# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────

_DUCKDB: dict[type, Rewrite] = {}  # its own words; only the order of a unit's rows can be replaced


def _duckdb_order(parts: Sequence[exp.Expression]) -> exp.Expression:
    return _call("HASH", _call("HASH", *(part.copy() for part in parts)))


_REWRITES: dict[str, tuple[Mapping[type, Rewrite], Order]] = {
    "duckdb": (_DUCKDB, _duckdb_order),
    "postgres": (_POSTGRES, _pg_order),
    "spark": (_SPARK, _spark_order),
}
