"""Nothing an analyst may write makes the engine fail on a cell: a failure would tell that the cell is there."""

from __future__ import annotations

import itertools

import duckdb
import pytest

from conformance.sql_world import policy_of, world
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy

EXTREMES = {
    "TINYINT": ("-128", "127", "0"),
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("-2147483648", "2147483647"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "HUGEINT": ("-170141183460469231731687303715884105728", "170141183460469231731687303715884105727"),
    "UTINYINT": ("0", "255"),
    "UINTEGER": ("0", "4294967295"),
    "UBIGINT": ("0", "18446744073709551615"),
    "UHUGEINT": ("0", "340282366920938463463374607431768211455"),
    "FLOAT": ("'nan'", "'inf'", "'-inf'", "3e38", "1e-45", "-0.0"),
    "DOUBLE": ("'nan'", "'inf'", "'-inf'", "1e308", "5e-324", "-0.0"),
    "DECIMAL(4,1)": ("-999.9", "999.9"),
    "DECIMAL(18,4)": ("-99999999999999.9999", "99999999999999.9999"),
    "DECIMAL(38,0)": ("-" + "9" * 38, "9" * 38),
    "DECIMAL(38,37)": ("-9." + "9" * 37, "9." + "9" * 37),
    "VARCHAR": ("''", "'Alice'", "'1'", "'2024-01-01'", "'nan'", "chr(0)", "repeat('x', 100000)", "'\u00df'"),
    "UUID": ("'00000000-0000-0000-0000-000000000000'",),
    "ENUM('a', 'b')": ("'a'", "'b'"),
    "BOOLEAN": ("TRUE", "FALSE"),
    "DATE": ("'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'0001-01-01'", "'9999-12-31'"),
    "TIMESTAMP": ("'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"),
    "TIMESTAMP_S": ("'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"),
    "TIMESTAMP_MS": ("'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54'"),
    "TIMESTAMP_NS": ("'1677-09-22 00:00:00'", "'2262-04-11 00:00:00'"),
    "TIMESTAMPTZ": ("'infinity'", "'290309-12-22 (BC) 00:00:00+00'", "'294247-01-10 04:00:54+00'"),
}
NUMBERS = (
    *("0", "-1", "0.5", "-0.5", "1e-9", "1e-36", "1e-300", "0.00000000000000000000000000000000001", "1e300", "-1e300"),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "100000000000000000000000000000000000000"),
    *("10000000000000000000000000000000000000", "340282366920938463463374607431768211456", "9" * 55, "0." + "9" * 50),
)
TEXTS = ("''", "'a'", "'abc'", "'zzz'", "'1'", "'%'", "'2024-01-01'", "'\u00df'")
DATES = (
    "DATE '0001-01-01'",
    "DATE '9999-12-31'",
    "'1969-12-31'",
    "TIMESTAMP '0001-01-01 00:00:00'",
    "TIMESTAMP '9999-12-31 23:59:59'",
)
KINDS = {
    **dict.fromkeys([kind for kind in EXTREMES if kind.endswith("INT") or "INTEGER" in kind], NUMBERS),
    **dict.fromkeys(["FLOAT", "DOUBLE", *(kind for kind in EXTREMES if "DECIMAL" in kind)], NUMBERS),
    **dict.fromkeys(["VARCHAR", "UUID", "ENUM('a', 'b')"], TEXTS),
    **dict.fromkeys([kind for kind in EXTREMES if "DATE" in kind or "TIMESTAMP" in kind], DATES),
}
FUNCTIONS = {
    "text": (
        "LOWER({})",
        "UPPER({})",
        "TRIM({})",
        "SUBSTRING({}, 1, 2)",
        "SUBSTRING({}, 1000000)",
        "COALESCE({}, 'zzz')",
    ),
    "moment": tuple(
        [f"DATE_TRUNC('{unit}', {{}})" for unit in ("year", "quarter", "month", "week", "day", "hour", "minute")]
        + [f"EXTRACT({part} FROM {{}})" for part in ("YEAR", "QUARTER", "MONTH", "DAY", "DOW")]
        + ["YEAR({})", "MONTH({})", "DAY({})"]
    ),
}


def column_of(kind):
    return f"c{list(EXTREMES).index(kind)}"


@pytest.fixture(scope="module")
def over():
    columns = [ColumnPolicy(column_of(kind)) for kind in EXTREMES]
    wide = max(len(cells) for cells in EXTREMES.values())
    rows = []
    for place in range(wide):
        cells = [f"CAST({cells[place % len(cells)]} AS {kind})" for kind, cells in EXTREMES.items()]
        rows.append(
            f"SELECT {place} AS uid, "
            + ", ".join(f"{c} AS {column_of(k)}" for k, c in zip(EXTREMES, cells, strict=True))
        )
    nothing = "SELECT 99, " + ", ".join(["NULL"] * len(EXTREMES))
    policy = policy_of([TablePolicy("t", "uid", columns=columns, max_rows=2, max_groups=2)])
    return world(policy, f"CREATE TABLE t AS {' UNION ALL '.join([*rows, nothing])}")


def fails(over, text):
    """What DuckDB says when the plan's SQL runs; None if it runs or is refused beforehand."""
    try:
        made = over.plan(text)
    except QueryRefused:
        return None
    cursor = over.engine._connection.cursor()
    for statement in made.statements:
        try:
            cursor.execute(statement.sql("duckdb")).fetchall()
        except duckdb.Error as error:
            return f"{text}: {error}"
    return ""


def assert_none_fails(over, texts):
    found = [fails(over, text) for text in texts]
    assert [message for message in found if message] == []
    assert "" in found, "every one of them is refused: nothing was tried"


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_compares_with_any_constant(over, kind):
    name = column_of(kind)
    forms = ("{} = {}", "{} < {}", "{} IN ({}, {})", "{} BETWEEN {} AND {}", "COALESCE({}, {}) = {}", "NOT {} >= {}")
    conditions = [form.format(name, value, value) for form in forms for value in KINDS[kind]]
    assert_none_fails(
        over,
        [
            f"DP-SELECT 1 COUNT(*) FROM t WHERE {' OR '.join(f'({c})' for c in some)}"
            for some in _in_tens(over, conditions)
        ],
    )


def _in_tens(over, conditions):
    """The conditions that are not refused, ten to a question."""
    allowed = []
    for condition in conditions:
        try:
            over.bound(f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}")
        except QueryRefused:
            continue
        allowed.append(condition)
    return [allowed[start : start + 10] for start in range(0, len(allowed), 10)]


def test_a_column_compares_with_any_other_column_of_its_sort(over):
    pairs = itertools.combinations(EXTREMES, 2)
    assert_none_fails(over, [f"DP-SELECT 1 COUNT(*) FROM t WHERE {column_of(a)} <= {column_of(b)}" for a, b in pairs])


@pytest.mark.parametrize("kind", [kind for kind in EXTREMES if kind in ("VARCHAR", "UUID", "ENUM('a', 'b')")])
def test_functions_of_text_hold_for_every_cell(over, kind):
    name = column_of(kind)
    calls = [call.format(name) for call in FUNCTIONS["text"]]
    conditions = [f"{call} = 'a'" for call in calls] + [
        f"{name} LIKE 'a%'",
        f"{name} ILIKE '_'",
        f"LENGTH({name}) > 0.5",
    ]
    assert_none_fails(over, [f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}" for condition in conditions])
    assert_none_fails(over, [f"DP-SELECT 1 DELTA 1e-6 {call}, COUNT(*) FROM t GROUP BY 1" for call in calls])
    assert_none_fails(over, [f"DP-SELECT 1 COUNT(DISTINCT {call}) FROM t" for call in calls])


@pytest.mark.parametrize("kind", [kind for kind in EXTREMES if "DATE" in kind or "TIMESTAMP" in kind])
def test_functions_of_dates_hold_for_every_cell(over, kind):
    calls = [call.format(column_of(kind)) for call in FUNCTIONS["moment"]]
    assert_none_fails(over, [f"DP-SELECT 1 COUNT({call}) FROM t" for call in calls])
    assert_none_fails(over, [f"DP-SELECT 1 DELTA 1e-6 {call}, COUNT(*) FROM t GROUP BY 1" for call in calls])
    assert_none_fails(over, [f"DP-SELECT 1 SUM({call}) FROM t" for call in calls if "MONTH" in call or "DOW" in call])


BOUNDS = (
    {"lower": -5, "upper": 7, "step": 1},
    {"lower": "-0.5", "upper": "7.5", "step": "0.5"},
    {"lower": 0, "upper": (1 << 53) + 1, "step": 1},
    {"lower": -(1 << 61), "upper": 1 << 61, "step": 1},
    {"lower": "0", "upper": "0.0000000001", "step": "0.0000000001"},
    {"lower": 0, "upper": 16777219, "step": 1},
)


@pytest.mark.parametrize("kind", [kind for kind, values in KINDS.items() if values is NUMBERS])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_every_cell_is_clamped_into_its_bounds_and_none_fails(kind, bounds):
    column = ColumnPolicy("x", **bounds)
    over = world(
        policy_of([TablePolicy("t", "row", columns=[column])]),
        f"CREATE TABLE t (x {kind})",
        f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in (*EXTREMES[kind], 'NULL'))}",
    )
    made = over.plan("DP-SELECT 1e9 SUM(x) FROM t")
    one_by_one = made.statements[0].sql("duckdb").partition(" FROM (")[2].rpartition(")")[0]  # the rows themselves
    cells = [cell for (cell,) in over.engine._connection.cursor().execute(one_by_one).fetchall() if cell is not None]
    assert len(cells) == len(EXTREMES[kind])
    assert column.bounds is not None
    assert column.bounds.lower_units <= min(cells)
    assert max(cells) <= column.bounds.upper_units
    assert made.measurements[0].l1 >= max(map(abs, cells))


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_S", "TIMESTAMPTZ"])
def test_a_date_with_bounds_is_grouped_without_a_failure(kind):
    column = ColumnPolicy(
        "x", type="date" if kind == "DATE" else "timestamp", lower="1990-01-01", upper="2400-01-01", domain=None
    )
    over = world(
        policy_of([TablePolicy("t", "row", columns=[column])]),
        f"CREATE TABLE t (x {kind})",
        f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in (*EXTREMES[kind], 'NULL'))}",
    )
    assert_none_fails(
        over,
        ["DP-SELECT 1 DELTA 1e-6 x, COUNT(*) FROM t GROUP BY x", "DP-SELECT 1 COUNT(*) FROM t WHERE x > '2300-01-01'"],
    )


@pytest.mark.parametrize(
    "condition",
    [
        "s = 'Alice' AND id = 'abc'",
        "s = 'Alice' AND price > 10000000000000000000000000000000000000",
        "s = 'Alice' AND seen > '9000-01-01'",
        "s = 'Alice' AND big = 0.5",
        "s = 'Alice' AND DATE_TRUNC('month', day) > '2024-01-01'",
        "s = 'Alice' AND n + m > 1e-36",
    ],
)
def test_no_condition_asks_by_failing_whether_alice_is_there(condition):
    """Each of these once failed if and only if Alice was in the table: an exact answer for any price."""
    columns = [
        *(ColumnPolicy(name) for name in ("s", "id", "price", "seen", "big", "day")),
        *(ColumnPolicy(name, lower=0, upper=10**6, step=1) for name in ("n", "m")),
    ]
    kinds = "s VARCHAR, id UUID, price DECIMAL(38,10), seen TIMESTAMP_NS, big HUGEINT, day DATE, n BIGINT, m BIGINT"
    row = "'00000000-0000-0000-0000-000000000000', 1, '2000-01-01', 170141183460469231731687303715884105727"
    row += ", '5881580-07-10', 900000, 1"
    outcomes = []
    for names in (("Bob",), ("Bob", "Alice")):
        over = world(
            policy_of([TablePolicy("t", "row", columns=columns)]),
            f"CREATE TABLE t ({kinds})",
            f"INSERT INTO t VALUES {', '.join(f'({chr(39)}{name}{chr(39)}, {row})' for name in names)}",
        )
        outcomes.append(fails(over, f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}"))
    assert outcomes in ([None, None], ["", ""])
