"""Random questions from the grammar, over the table of `sql_tables`."""

from __future__ import annotations

import random

from conformance import sql_dates, sql_words

Rng = random.Random
NUMERIC = ("n", "x", "y", "m", "flag")
CONSTANTS = ("0", "1", "2", "-1", "0.5", "1.5", "10", "-3", "0.01", "7")
EDGES = tuple(  # of the types of whole numbers, and fractions that become such numbers on their grid
    text
    for bits in (30, 31, 62, 63)
    for off in (-1, 0, 1)
    for text in (str((1 << bits) + off), f"-{(1 << bits) + off}", f"{((1 << bits) + off) / 10**9:.9f}")
)
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
CONDITIONS = (
    "flag",
    "NOT flag",
    "g = 'CS'",
    "g IN ('CS', 'Art')",
    "s LIKE 'B%'",
    "s ILIKE '%io'",
    "LOWER(s) = 'bio'",
    "LENGTH(TRIM(s)) > 2",
    "SUBSTRING(s, 1, 2) = 'Bi'",
    "COALESCE(s, 'none') <> 'none'",
    "d >= '2020-02-01'",
    "d BETWEEN DATE '2020-01-10' AND DATE '2020-02-10'",
    "EXTRACT(MONTH FROM d) = 2",
    "DATE_TRUNC('month', d) = DATE '2020-02-01'",
    "ts > TIMESTAMP '2020-01-01 00:00:00'",
    "ts > DATE '2020-01-01'",
    "HOUR(ts) < 12",
    "id = 'abc'",
    "id = s",
    "x IS NULL",
    "n IS NOT NULL",
    "(x > 0) IS TRUE",
    "n = 0.5",
    "n > -5",
    "n < 100000000000000000000000000000",
    "x > 1e37",
    "x IN (1e-30, 0.5, 3)",
    "n = x",
    "q = 0.1",
    "m IN (1, 2, 3)",
    "n = †",
    "x <= †",
    "n IN (0, †)",
    "n / † > x",
    "TRUE",
    "1 = 0",
    *sql_words.CONDITIONS,
    *(f"{text} = 'Bio'" for text in (*sql_words.TEXTS, *sql_words.ENGINE_TEXTS)),
    *sql_dates.CONDITIONS,
)
KEYS = (
    "g",
    "g",
    "m",
    "m",
    "s",
    "flag",
    "q",
    "d",
    "FLOOR(m / 2)",
    "FLOOR(m / 2) * 2",
    "m % 2",
    "CASE WHEN x > 0 THEN 'high' WHEN x < 0 THEN 'low' ELSE 'zero' END",
    "CASE g WHEN 'CS' THEN 1 WHEN 'Bio' THEN 2 END",
    "CASE WHEN m > 2 THEN m ELSE 0 END",
    "n > 0",
    "x IS NULL",
    "DATE_TRUNC('month', d)",
    "EXTRACT(MONTH FROM d)",
    "LOWER(s)",
    "SUBSTRING(s, 1, 1)",
    "COALESCE(s, 'none')",
    "ROUND(x)",
    "CAST(y AS INTEGER)",
    "CAST(n / 4 AS INTEGER) * 4",
    "n",
    "FLOOR(x / 3) * 3",
    "n // 4",
    "n - n % 4",
    "TRUNC(y)",
    "SIGN(y)",
    "WIDTH_BUCKET(x, 0, 5, 3)",
    "WIDTH_BUCKET(n, †, 0, 4)",
    "ROUND(m / NULLIF(n, 0))",
    "GREATEST(LEAST(m, 4), 2)",
    "FLOOR(m / †)",
    "FLOOR(CASE WHEN m > 2 THEN 1.073741823 WHEN 1 = 0 THEN -1.073741823 ELSE 0 END)",
    *sql_words.PUBLIC_KEYS,
    *sql_words.TEXTS[::3],
    *sql_words.ENGINE_TEXTS[::2],
    *sql_dates.KEYS,
)
PRIVATE = {*sql_words.TEXTS, *sql_words.ENGINE_TEXTS, "s", "LOWER(s)", "SUBSTRING(s, 1, 1)", "COALESCE(s, 'none')", "n"}


def question(rng: Rng, *, by_row: bool, bias: bool = False, rare: bool = False) -> str:
    """One DP-SELECT with its price; with `bias`, one whose error bars cover what the bounds cut.

    With `rare`, one that has an aggregate which is seldom drawn otherwise.
    """
    forms = rng.sample(KEYS, rng.choice((0, 0, 1, 1, 1, 2)))
    private = any(key in PRIVATE for key in forms)
    keys = [_written(rng, key, 0) for key in forms]
    sums = bias or rng.random() < 0.5  # a histogram beside it would settle how heavy units are bounded
    measured = [_aggregate(rng, by_row=by_row, sums=sums) for _ in range(rng.choice((1, 1, 2, 3)))]
    measured[:1] = [rng.choice(RARE)] if rare else measured[:1]
    delta = f" DELTA {rng.choice(('1e-6', '0.01', '1/7'))}" if private or rng.random() < 0.5 else ""
    text = f"DP-SELECT {rng.choice(('1', '1/3', '0.25', '8'))}{delta}"
    text += f"{' WITH BIAS' if bias else ''} {', '.join([*keys, *measured])} FROM t"
    if rng.random() < 0.5:
        text += f" WHERE {condition(rng, 2)}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
    if rng.random() < 0.1:
        text += " HAVING COUNT(*) > 3"
    if rng.random() < 0.1:
        text += f" ORDER BY {_aggregate(rng, by_row=by_row, sums=sums)} DESC"
    return text


def condition(rng: Rng, depth: int) -> str:
    kind = rng.random()
    if depth and kind < 0.3:
        joined = f" {rng.choice(('AND', 'OR'))} ".join(f"({condition(rng, depth - 1)})" for _ in range(2))
        return f"NOT ({joined})" if rng.random() < 0.3 else joined
    if kind < 0.5:
        return f"{number(rng, min(depth, 1))} {rng.choice(COMPARISONS)} {number(rng, min(depth, 1))}"
    if kind < 0.55:
        return f"{number(rng, 0)} BETWEEN {rng.choice(CONSTANTS)} AND {rng.choice(CONSTANTS)}"
    return _written(rng, rng.choice(CONDITIONS), 0)


FORMS = (  # # is a smaller expression, § a condition, ¢ a constant, † one at the edge of a type
    "(# + #)",
    "(# - #)",
    "(# * #)",
    "(# * ¢)",
    "(# + ¢)",
    "(# / 2)",
    "(# / -4)",
    "(# / 0.3)",
    "-#",
    "ABS(#)",
    "FLOOR(# / 2)",
    "FLOOR(# / 0.7)",
    "CEIL(# * 0.5)",
    "ROUND(#)",
    "ROUND(#, 1)",
    "ROUND(#, -1)",
    "ABS(#) % 2",
    "ABS(#) % 5.5",
    "ABS(#) % 0.3",
    "ABS(#) // 3",
    "# // 3",
    "# // -0.7",
    "# % 4",
    "# % -2.5",
    "(m - m % 2)",
    "# / NULLIF(#, 0)",
    "# / NULLIF(#, 0)",
    "# / (ABS(#) + 1)",
    "# / (-ABS(#) - 0.5)",
    "# / NULLIF(#, †)",
    "† / NULLIF(#, 0)",
    "(# * #) / NULLIF(# * #, 0)",
    "LEAST(GREATEST(# / NULLIF(#, 0), 0), 9)",
    "GREATEST(#, #, ¢)",
    "LEAST(#, †)",
    "NULLIF(#, ¢)",
    "NULLIF(#, #)",
    "TRUNC(#)",
    "TRUNC(# / 0.3, 1)",
    "TRUNC(#, -1)",
    "SIGN(#)",
    "WIDTH_BUCKET(#, 0, 10, 5)",
    "WIDTH_BUCKET(#, †, -3, 7)",
    "LN(#)",
    "LN(ABS(#) + 1)",
    "LOG10(#)",
    "LOG(2, # + ¢)",
    "SQRT(#)",
    "SQRT(ABS(#))",
    "CBRT(#)",
    "EXP(#)",
    "EXP(LEAST(#, 20))",
    "EXP(-ABS(#))",
    "POWER(#, 2)",
    "POWER(#, 3)",
    "POWER(ABS(#) + 1, -2)",
    "# ^ 0.3",
    "POWER(2, LEAST(#, 9))",
    "POWER(0.5, #)",
    "CASE WHEN § THEN # ELSE # END",
    "CASE WHEN § THEN # END",
    "CASE g WHEN 'CS' THEN # WHEN 'Bio' THEN 2 ELSE 0 END",
    "COALESCE(#, ¢)",
    "COALESCE(#, #, ¢)",
    "CAST(# AS DOUBLE)",
    "CAST(# AS INTEGER)",
    "CAST(# / 4 AS BIGINT)",
    "(# / †)::INT",
    "CONVERT(INT, # * 0.5)",
    "DECODE(g, 'CS', #, 'Bio', 2, #)",
    "CASE WHEN n > 0 THEN # / n END",
    "CASE WHEN y <> 0 AND § THEN # / y ELSE # END",
    "EXTRACT(MONTH FROM d)",
    "EXTRACT(DOW FROM d)",
    "HOUR(ts)",
    "FLOOR(# / †)",
    "CEIL(# / †)",
    "ROUND(# / †)",
    "(# / †)",
    "ABS(# + †)",
    "ABS(#) % ABS(†)",
    "COALESCE(#, †)",
    "FLOOR(CASE WHEN § THEN † / 1000000000 WHEN 1 = 0 THEN -† / 1000000000 ELSE # END)",
    "CASE WHEN § THEN † ELSE 0 END",
    *sql_words.NUMBERS,
    *sql_dates.NUMBERS,
)


def number(rng: Rng, depth: int) -> str:
    """A numeric expression; every column in it has bounds."""
    if not depth or rng.random() < 0.25:
        return rng.choice(NUMERIC)
    return _written(rng, rng.choice(FORMS), depth - 1)


def _written(rng: Rng, form: str, depth: int) -> str:
    parts = {
        "#": lambda: number(rng, depth),
        "§": lambda: condition(rng, 0),
        "¢": lambda: rng.choice(CONSTANTS),
        "†": lambda: rng.choice(EDGES),
        "@": lambda: _moment(rng, depth),
    }
    return "".join(parts[letter]() if letter in parts else letter for letter in form)


def _moment(rng: Rng, depth: int) -> str:
    """A date or a timestamp; a plain column at the leaves."""
    if depth <= 0:
        return rng.choice(("d", "e", "tb", "d", "e", "tb", "d", "e", "tb", "ts"))
    return _written(rng, rng.choice(sql_dates.MOMENTS), depth - 1)


AGGREGATES = (  # ° is a column
    "COUNT(*)",
    "COUNT(#)",
    "COUNT(s)",
    "COUNT(DISTINCT s)",
    "COUNT(DISTINCT LOWER(s))",
    "COUNT(DISTINCT x)",
    "COUNT(DISTINCT n)",
    "COUNT(DISTINCT d)",
    "COUNT(DISTINCT id)",
    "COUNT(DISTINCT (s, m))",
    "COUNT(DISTINCT s, m)",
    "COUNT(DISTINCT m * 2)",
    "COUNT(DISTINCT FLOOR(# / †))",
    "SUM(#)",
    "SUM(#)",
    "SUM(#)",
    "SUM(x)",
    "AVG(#)",
    "AVG(#)",
    "VAR_POP(°)",
    "STDDEV_SAMP(°)",
    "MEDIAN(°)",
    "QUANTILE(°, 0.25)",
    "QUANTILE(°, 0.9)",
    "QUANTILE(°, 1)",
    "MIN(°)",
    "MAX(#)",
    "MODE(g)",
    "MODE(flag)",
    "MODE(q)",
    "MODE(d)",
    "TOP_K(m, 2)",
    "HISTOGRAM(g)",
    "HISTOGRAM(FLOOR(m / 2))",
    "COUNT_IF(§)",
    "SUM(#) / COUNT(*)",
    "SUM(§)",
    "AVG((§)::INT)",
    "COUNT(DISTINCT LEFT(s, 1) || g)",
    "MODE(LOWER(g))",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY °)",
    "PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY # DESC)",
    "MEDIAN(#)",
    "MODE() WITHIN GROUP (ORDER BY g)",
    "APPROX_QUANTILE(°, 0.4)",
    "APPROX_COUNT_DISTINCT(m)",
    "CORR(#, °)",
    "CORR(°, °)",
    "COVAR_POP(#, #)",
    "COVAR_SAMP(°, m)",
    "REGR_SLOPE(°, #)",
    "REGR_INTERCEPT(m, °)",
    "REGR_R2(°, x)",
    "REGR_COUNT(#, #)",
    "REGR_AVGX(°, #)",
    "REGR_SXY(°, #)",
    "WEIGHTED_AVG(°, #)",
    "WEIGHTED_AVG(#, ABS(°))",
    "SKEWNESS(°)",
    "KURTOSIS(#)",
    "GEOMEAN(ABS(°) + 1)",
    "GEOMEAN(#)",
    *sql_dates.AGGREGATES,
)
RARE = ("HISTOGRAM(g)", "HISTOGRAM(FLOOR(m / 2))", "MODE(q)", "TOP_K(m, 2)", "COUNT(DISTINCT s)", "QUANTILE(x, 0.25)")
OF_UNITS = ("COUNT(DISTINCT uid)", "COUNT(DISTINCT uid)", "COUNT(uid)")


SUMS = ("COUNT(*)", "SUM(#)", "SUM(#)", "AVG(#)", "COUNT(#)", "SUM(x)")


def _aggregate(rng: Rng, *, by_row: bool, sums: bool) -> str:
    form = rng.choice((SUMS if sums else AGGREGATES) + (() if by_row else OF_UNITS))
    chosen = _written(rng, form.replace("°", rng.choice(NUMERIC)), 2)
    if rng.random() < 0.2 and not any(word in form for word in ("/", "WITHIN", "_IF")):
        chosen += f" FILTER (WHERE {condition(rng, 1)})"
    return chosen
