"""B and C: odd numbers, odd cells, odd orders. Whatever a table holds, an answer has one shape and a bounded size."""

from __future__ import annotations

import itertools
from fractions import Fraction

import duckdb
import numpy as np
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.curator.answer import answer
from tacit.curator.measuring.measure import measure
from tacit.engines import Limits
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.errors import UnboundedColumn
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.binding import post

X = ColumnPolicy("x", lower=-5, upper=1000, step="0.01")


def table_of(cells, *, kind="DOUBLE", columns=(X,), unit="row", **caps):
    """A table of (uid, x) with the given cells, one to a person."""
    rows = ", ".join(f"({place}, CAST({cell} AS {kind}))" for place, cell in enumerate(cells)) or "(NULL, NULL)"
    policy = policy_of([TablePolicy("t", unit, columns=columns, **caps)])
    where = "" if cells else " WHERE FALSE"
    return world(
        policy, f"CREATE TABLE t AS SELECT uid, CAST(x AS {kind}) AS x FROM (VALUES {rows}) AS v(uid, x){where}"
    )


def shown(over, text, seed=1):
    made = over.plan(f"DP-SELECT 1 {text}")
    return answer(made, measure(made, over.exact(made), public={}, source=Seeded(seed)))


def exactly(over, text):
    """The integers that noise is added to."""
    made = over.plan(f"DP-SELECT 1 {text}")
    return [int(over.exact(made)[m.statement].wide(m.column)[0]) for m in made.measurements]


# ── B ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_b1_a_sum_is_one_integer_in_any_order_on_any_number_of_threads():
    cells = ["0.1", "0.2", "0.3", "1e15", "-1e15", "1e-16", "999.99", "'nan'", "'inf'"] * 400
    sums = set()
    for threads, order in itertools.product((1, 2), ("uid", "uid DESC", "hash(uid)", "x")):

        def fill(connection, order=order):
            rows = ", ".join(f"({place}, CAST({cell} AS DOUBLE))" for place, cell in enumerate(cells))
            connection.execute(
                f"CREATE TABLE raw AS SELECT uid, CAST(x AS DOUBLE) AS x FROM (VALUES {rows}) AS v(uid, x)"
            )
            connection.execute(f"CREATE TABLE t AS SELECT * FROM raw ORDER BY {order}")
            return Exposed(("t",))

        engine = build(fill, Limits(threads=threads))
        made = table_of(["1"]).plan("DP-SELECT 1 SUM(x) FROM t")
        sums.add(int(engine.execute(made.statements[0].sql("duckdb")).wide("m0")[0]))
        engine.close()
    assert len(sums) == 1


def test_b2_tiny_values_move_a_sum_by_no_more_than_its_sensitivity():
    whole = exactly(table_of(["1"] + ["1e-16"] * 500), "SUM(x) FROM t")
    without = exactly(table_of(["1e-16"] * 500), "SUM(x) FROM t")
    assert whole[0] - without[0] == 100


@pytest.mark.parametrize("cells", [["1e308", "1e308", "-1e308"], ["'inf'", "'-inf'"], ["1e308"] * 9])
def test_b3_extreme_doubles_are_clamped_and_finite(cells):
    found = exactly(table_of(cells), "SUM(x) FROM t")[0]
    assert abs(found) <= 100_000 * len(cells)


def test_b4_values_at_the_end_of_their_type_neither_overflow_nor_fail():
    column = ColumnPolicy("x", lower=0, upper=10, step=1)
    over = table_of(["170141183460469231731687303715884105727"] * 5, kind="HUGEINT", columns=[column])
    assert exactly(over, "SUM(x * x * x) FROM t") == [5000]


def test_b5_a_half_step_is_rounded_up_into_the_sensitivity():
    column = ColumnPolicy("x", lower=0, upper=7, step=1)  # the middle is 3.5
    made = table_of(["7"], kind="INTEGER", columns=[column]).plan("DP-SELECT 1 AVG(x) FROM t")
    (total,) = [m for m in made.measurements if m.step == Fraction(1, 2)]
    assert total.l1 * total.step == Fraction(7, 2)


def test_b6_a_sum_without_bounds_is_refused_and_never_exact():
    over = table_of(["1"], columns=[ColumnPolicy("x")])
    for call in ("SUM(x)", "AVG(x)", "VAR_POP(x)", "MEDIAN(x)", "MAX(x)", "SUM(x + 1)"):
        with pytest.raises(UnboundedColumn):
            over.plan(f"DP-SELECT 1 {call} FROM t")


def test_b7_an_average_is_two_noisy_numbers_and_never_the_true_count():
    made = table_of(["1", "2"]).plan("DP-SELECT 1 AVG(x) FROM t")
    assert len(made.measurements) == 2
    assert all(m.share > 0 for m in made.measurements)


def test_b8_fifty_sums_cost_what_one_does():
    over = table_of(["1"])
    made = over.plan("DP-SELECT 1 " + ", ".join(f"SUM(x * {n})" for n in range(1, 51)) + " FROM t")
    costs = [Fraction(m.l1) / m.noise.scale for m in made.measurements]
    assert sum(costs) == 1


def test_b9_a_variance_is_never_negative_nor_nan_whatever_the_noise():
    over = table_of(["1", "1.01", "0.99"])
    for seed in range(60):
        values = shown(over, "VAR_POP(x), STDDEV_SAMP(x), AVG(x) FROM t", seed=seed).rows[0]
        assert not np.isnan(np.array(values, dtype=float)).any()
        assert min(values[:2]) >= 0
        assert -5 <= values[2] <= 1000
        assert values[0] <= Fraction(1005, 2) ** 2


def test_b12_a_unit_with_a_hundred_thousand_values_counts_its_cap():
    policy = policy_of([TablePolicy("t", "uid", columns=[ColumnPolicy("x")], max_rows=2, max_groups=1, max_distinct=3)])
    over = world(policy, "CREATE TABLE t AS SELECT 1 AS uid, i AS x FROM range(100000) AS made(i)")
    assert exactly(over, "COUNT(DISTINCT x) FROM t") == [3]
    assert over.plan("DP-SELECT 1 COUNT(DISTINCT x) FROM t").measurements[0].l1 == 3
    assert exactly(over, "COUNT(*) FROM t") == [2]


def test_b14_ratios_and_differences_are_arithmetic_over_noise():
    made = table_of(["1"]).plan("DP-SELECT 1 SUM(x) / COUNT(*), SUM(x) - 3 * COUNT(*) FROM t")
    assert all(out.value is not None and post.refs(out.value) for out in made.outputs)


# ── C ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

ODD = ["'nan'", "'inf'", "'-inf'", "-0.0", "5e-324", "1e308", "NULL", "0.0"]
QUESTIONS = [
    "COUNT(*), COUNT(x), SUM(x), AVG(x), VAR_POP(x) FROM t",
    "SUM(COALESCE(x, 3)), COUNT(COALESCE(x, 3)), SUM(ABS(x)), SUM(-x), SUM(x * x) FROM t",
    "COUNT(CASE WHEN x > 1 THEN 1 END), SUM(CASE WHEN x > 1 THEN x END), COUNT(x + 1) FROM t",
    "MEDIAN(x), MIN(x), MAX(x), QUANTILE(x, 0.9) FROM t",
    "COUNT(*) FILTER (WHERE x > 0), COUNT(x) FILTER (WHERE FALSE), SUM(x) FILTER (WHERE x IS NULL) FROM t",
    "x > 1, COUNT(*) FROM t GROUP BY 1",
    "CASE WHEN x > 1 THEN 'big' WHEN x <= 1 THEN 'small' END, COUNT(*), SUM(x) FROM t GROUP BY 1",
    "COUNT(DISTINCT x) FROM t WHERE x = x OR x IS NULL",
]


@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("odd", ODD)
def test_c1_to_c6_an_odd_cell_changes_no_shape_and_fails_nothing(odd, text):
    shapes = set()
    for cells in ([odd, "1", "2"], ["1", "2"], [odd], [odd] * 5, []):
        table = shown(table_of(cells), text)
        shapes.add((table.columns, len(table.rows), tuple(type(value).__name__ for value in table.rows[0])))
        assert not any(isinstance(value, float) and np.isnan(value) for row in table.rows for value in row)
    assert len(shapes) == 1


def test_c1_nan_counts_as_the_policy_says_and_infinities_as_bounds():
    odd = ["'nan'", "'inf'", "'-inf'"]
    assert exactly(table_of(odd), "SUM(x) FROM t") == [100_000 - 500]
    with_rule = ColumnPolicy("x", lower=-5, upper=1000, step="0.01", nan=7)
    assert exactly(table_of(odd, columns=[with_rule]), "SUM(x) FROM t") == [100_000 - 500 + 700]


def test_c2_null_replaced_by_text_that_means_nan_is_refused():
    with pytest.raises(Exception, match="a number is needed"):
        table_of(["NULL"]).plan("DP-SELECT 1 SUM(COALESCE(x, 'nan')) FROM t")


def test_c3_c4_every_count_gets_noise_even_where_it_looks_public():
    over = table_of(["1"] * 15)
    for text in (
        "COUNT(x)",
        "COUNT(CAST(x AS DOUBLE))",
        "COUNT(CASE WHEN x > 0 THEN 1 ELSE NULL END)",
        "COUNT(FLOOR(x / 10))",
        "COUNT(1)",
    ):
        seen = {shown(over, f"{text} FROM t", seed=seed).rows[0][0] for seed in range(25)}
        assert len(seen) > 3, text


@pytest.mark.parametrize(
    "text",
    ["COUNT(*) FROM t", "COUNT(x) FROM t", "SUM(x) FROM t", "AVG(x) FROM t", "x > 1, COUNT(*) FROM t GROUP BY 1"],
)
def test_c7_nothing_is_a_noisy_zero_of_the_same_type(text):
    empty, full = shown(table_of([]), text), shown(table_of(["1", "2"]), text)
    none = shown(table_of(["1", "2"]), text.replace("FROM t", "FROM t WHERE FALSE"))
    for one in (empty, none):
        assert len(one.rows) == len(full.rows)
        assert [type(value) for value in one.rows[0]] == [type(value) for value in full.rows[0]]
        assert None not in one.rows[0]


@pytest.mark.parametrize(("rule", "counted"), [("drop", 2), ("one", 4)])
def test_c8_rows_without_a_unit_are_dropped_or_one_unit_never_a_unit_each(rule, counted):
    table = TablePolicy(
        "t", "uid", columns=[ColumnPolicy("g")], max_rows=2, max_groups=1, null_unit=rule, unit_form="trim"
    )
    rows = "(NULL, 1), (NULL, 1), (NULL, 1), (NULL, 1), ('a', 1), (' a ', 1), ('a', 1)"
    over = world(policy_of([table]), f"CREATE TABLE t AS FROM (VALUES {rows}) AS v(uid, g)")
    assert exactly(over, "COUNT(*) FROM t") == [counted]
    assert exactly(over, "COUNT(DISTINCT uid) FROM t") == [counted // 2]
    blank = world(
        policy_of([table]), "CREATE TABLE t AS FROM (VALUES (NULL, 1), ('', 1), (' ', 1), ('  ', 1)) AS v(uid, g)"
    )
    assert exactly(blank, "COUNT(DISTINCT uid) FROM t") == [counted // 2]  # blanks are one unit, NULL another or none


@pytest.mark.parametrize(
    "day", ["'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'5881580-07-10'", "'2016-12-31'", "NULL"]
)
def test_c9_odd_dates_change_nothing_but_counts(day):
    column = ColumnPolicy("x", type="date", lower="2020-01-01", upper="2020-12-31", domain="range")
    shapes = set()
    for cells in ([day, "'2020-02-29'"], ["'2020-02-29'"]):
        over = table_of(cells, kind="DATE", columns=[column])
        for text in (
            "DATE_TRUNC('month', x), COUNT(*) FROM t GROUP BY 1",
            "COUNT(*) FROM t WHERE x > '2019-01-01'",
            "SUM(EXTRACT(MONTH FROM x)) FROM t",
        ):
            table = shown(over, text)
            shapes.add((text, table.columns, len(table.rows)))
    assert len(shapes) == 3


def test_c9_minus_zero_is_zero_in_every_way():
    over = table_of(["-0.0", "0.0", "-0.0"], columns=[ColumnPolicy("x", domain=[0, 1])])
    made = over.plan("DP-SELECT 1 x, COUNT(*) FROM t GROUP BY x")
    result = over.exact(made)[0]
    assert result.rows == 1
    assert measure(made, [result], public={}, source=Seeded(0)).keys == ((0,), (1,))


@pytest.mark.parametrize(
    "key", ["repeat('k', 1000000)", "'a' || chr(0) || 'b'", "chr(65533)", "'\u202e'", "chr(55295)", "''"]
)
def test_c10_a_strange_key_goes_the_way_of_any_other(key):
    table = TablePolicy("t", "uid", columns=[ColumnPolicy("g")], max_rows=1, max_groups=1)
    shapes = []
    for extra in ("", f" UNION ALL SELECT 99, {key}"):
        over = world(
            policy_of([table]), f"CREATE TABLE t AS SELECT i AS uid, 'usual' AS g FROM range(400) AS made(i){extra}"
        )
        made = over.plan("DP-SELECT 1 DELTA 1e-9 g, COUNT(*) FROM t GROUP BY g")
        shapes.append(answer(made, measure(made, over.exact(made), public={}, source=Seeded(3))).columns)
        noisy = measure(made, over.exact(made), public={}, source=Seeded(3))
        assert noisy.keys == (("usual",),)
        assert noisy.to_bytes()
    assert shapes[0] == shapes[1]


def test_invalid_utf8_cannot_even_be_stored():
    with pytest.raises(duckdb.Error):
        duckdb.connect().execute("SELECT CAST('\\xFF'::BLOB AS VARCHAR) = 'x', decode('\\xFF'::BLOB)").fetchall()


# ── what is released lies on the grid ────────────────────────────────────────────────────────────────────────────────


def test_a2_every_released_sum_is_a_whole_number_of_steps():
    over = table_of(["0.1", "999.99", "3"])
    made = over.plan("DP-SELECT 1 SUM(x) FROM t")
    exact = over.exact(made)
    for seed in range(300):
        noisy = measure(made, exact, public={}, source=Seeded(seed))
        assert noisy.columns[0].numbers.dtype == np.int64
        value = answer(made, noisy).rows[0][0]
        assert Fraction(round(value * 100), 100) == Fraction(int(noisy.columns[0].numbers[0]), 100)


def test_without_noise_an_average_of_one_value_is_that_value(monkeypatch):
    switch_off(monkeypatch)
    assert shown(table_of(["7.25"]), "AVG(x), SUM(x), COUNT(x) FROM t").rows == ((7.25, 7.25, 1),)
