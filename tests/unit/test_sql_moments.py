"""CORR, COVAR, REGR, weighted and geometric means, SKEWNESS, KURTOSIS: DuckDB's own without noise, covered with it."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.curator import Session
from tacit.curator.answer import measured_columns
from tacit.curator.measuring.measure import measure
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")
ASKED = (
    "CORR(y, x)",
    "COVAR_POP(y, x)",
    "COVAR_SAMP(y, x)",
    "REGR_SLOPE(y, x)",
    "REGR_INTERCEPT(y, x)",
    "REGR_R2(y, x)",
    "REGR_COUNT(y, x)",
    "REGR_AVGX(y, x)",
    "REGR_AVGY(y, x)",
    "REGR_SXX(y, x)",
    "REGR_SYY(y, x)",
    "REGR_SXY(y, x)",
    "SKEWNESS(x)",
    "SKEWNESS(y)",
    "KURTOSIS(y)",
    "KURTOSIS_POP(x)",
    "GEOMEAN(p)",
    "GEOMETRIC_MEAN(p)",
    "WEIGHTED_AVG(y, p)",
    "CORR(y, x) FILTER (WHERE g = 'a')",
    "SKEWNESS(y) FILTER (WHERE x > 20)",
    "CORR(LN(p), x * 2)",
)


@pytest.fixture(scope="module")
def over():
    columns = [
        ColumnPolicy("x", lower=-50, upper=200, step=1),
        ColumnPolicy("y", lower=0, upper=1000, step="0.5"),
        ColumnPolicy("p", lower="0.5", upper=100, step="0.01"),
        ColumnPolicy("g", domain=["a", "b"]),
    ]
    return world(
        policy_of([TablePolicy("t", "row", columns=columns, rows=4000)]),
        "CREATE TABLE t (x INTEGER, y DOUBLE, p DOUBLE, g VARCHAR)",
        """INSERT INTO t SELECT i % 97, CASE WHEN i % 11 > 0 THEN FLOOR((i % 97) * 3 + (i * 31 % 400)) / 2 END,
            CASE WHEN i % 7 > 0 THEN 1 + (i * 13 % 500) / 10 END, CASE WHEN i % 3 = 0 THEN 'a' ELSE 'b' END
            FROM range(4000) AS r(i)""",
    )


def truth_of(over, text):
    raw = text.replace("WEIGHTED_AVG(y, p)", "SUM(y * p) / SUM(p) FILTER (WHERE y IS NOT NULL)")
    ((value,),) = over.engine._connection.cursor().execute(f"SELECT {raw} FROM t").fetchall()
    return value


@pytest.mark.parametrize("text", ASKED)
def test_without_noise_it_is_what_duckdb_itself_says(over, text, tmp_path, monkeypatch):
    switch_off(monkeypatch)
    release = over.curator(tmp_path).ask(f"DP-SELECT 1 {text} FROM t", session=ANA)
    assert release.rows[0][0] == pytest.approx(truth_of(over, text), rel=1e-6)


def misses(over, text, *, shrunk=1.0):
    """How many of 120 answers have an interval, shrunk to so much of its width, that leaves out the truth."""
    made = over.plan(f"DP-SELECT 20 {text} FROM t")
    exact, truth = over.exact(made), truth_of(over, text)
    (out,) = made.outputs
    found = 0
    for seed in range(120):
        noisy = measure(made, exact, public={}, source=Seeded(seed))
        band = measured_columns(made, noisy).band(out.value)
        low, high = (band.value[0] + (end[0] - band.value[0]) * shrunk for end in (band.low, band.high))
        assert np.isfinite([low, high]).all()
        found += not low - 1e-9 * abs(truth) <= truth <= high + 1e-9 * abs(truth)
    return found


@pytest.mark.parametrize("text", [text for text in ASKED if "FILTER" not in text])
def test_the_interval_covers_the_truth(over, text):
    """95 % and more, by the union bound: 20 misses of 120 have a chance below 1e-5."""
    assert misses(over, text) <= 20


@pytest.mark.parametrize("text", ["COVAR_POP(y, x)", "REGR_AVGX(y, x)", "SKEWNESS(y)", "GEOMEAN(p)"])
def test_an_interval_that_is_too_narrow_would_be_noticed(over, text):
    assert misses(over, text, shrunk=0.02) > 20


@pytest.mark.parametrize("text", ["CORR(y, x)", "SKEWNESS(y)", "REGR_SLOPE(y, x)"])
def test_a_group_without_rows_has_no_value_and_is_no_error(over, text, tmp_path):
    release = over.curator(tmp_path).ask(f"DP-SELECT 1 g, {text} FROM t WHERE x > 198 GROUP BY g", session=ANA)
    assert len(release.rows) == 2


def test_sums_are_shared_between_the_aggregates_of_a_pair(over):
    one = over.plan("DP-SELECT 1 CORR(y, x) FROM t")
    many = over.plan("DP-SELECT 1 CORR(y, x), REGR_SLOPE(y, x), COVAR_POP(y, x), REGR_R2(y, x) FROM t")
    assert len(one.measurements) == len(many.measurements) == 6


def test_wide_columns_are_rounded_before_they_are_cubed_and_that_is_said():
    columns = [ColumnPolicy("x", type="integer", lower=0, upper=1 << 40)]
    wide = world(policy_of([TablePolicy("t", "row", columns=columns)]), "CREATE TABLE t (x BIGINT)")
    made = wide.plan("DP-SELECT 1 SKEWNESS(x) FROM t")
    assert any("finer powers would overflow" in note for note in made.notes)
