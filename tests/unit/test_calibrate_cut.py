"""What the bounds cut: measured at a price that covers one unit, written into the policy, said on every answer."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import duckdb
import pytest

from conformance.sql_clinic import clinic
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.calibrate import Quantity, Target, plan_calibration
from tacit.curator.measuring import cuts
from tacit.curator.measuring.cuts import COLUMNS, MANY
from tacit.errors import PolicyError
from tacit.faces.owner.calibrating import CalibrationRequest, run_calibration
from tacit.policy import parse_policy
from tacit.policy.amend import amend_policy
from tacit.policy.tables.cut import CutShares

ANA = Session("ana")
ROWS = [
    *(("ann", "Bern") for _ in range(3)),
    *(("bob", f"city {place}") for place in range(5)),
    *(("cy", "Bern") for _ in range(400)),
    *((f"u{place}", "Bern") for place in range(40)),
    (None, "Bern"),
]
POLICY = """\
[dataset]
name = "cut"
source = "data.duckdb"
{dataset}
[budget]
epsilon = 1000
[tables.visits]
unit = "who"
max_rows = 2
max_groups = 3
[tables.visits.columns]
city = {{}}
"""


def made(directory, rows=ROWS, dataset=""):
    with closing(duckdb.connect(str(directory / "data.duckdb"))) as connection:
        connection.execute("CREATE TABLE visits (who VARCHAR, city VARCHAR)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
    return parse_policy(POLICY.format(dataset=dataset), directory)


def sums(sql, rows):
    with closing(duckdb.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE visits (who VARCHAR, city VARCHAR)")
        if rows:
            connection.executemany("INSERT INTO visits VALUES (?, ?)", rows)
        return connection.execute(sql).fetchone()


def step_of(policy):
    schema = {"visits": {"who": "VARCHAR", "city": "VARCHAR"}}
    target = Target("visits", Quantity.CUT, ("city",))
    (step,) = plan_calibration(
        policy, [target], schema=schema, price=Loss(1), coverage=Fraction(9, 10), dialect="duckdb"
    ).steps
    return step


def far_moves(step):
    """Units whose removal moves a sum farther than its noise covers."""
    whole = sums(step.sql[0], ROWS)
    found = []
    for unit in {who for who, _ in ROWS}:
        without = sums(step.sql[0], [row for row in ROWS if row[0] != unit])
        moved = [abs(one - other) for one, other in zip(whole, without, strict=True)]
        found += [unit for move, most in zip(moved, step.cut.moves, strict=True) if move > most]
    return found


def test_the_sums_are_those_of_the_table(tmp_path):
    found = sums(step_of(made(tmp_path)).sql[0], ROWS)
    # ann and cy have more than 2 rows, bob those and more than 3 cities; of cy's 400 rows 20 are looked at
    assert dict(zip(COLUMNS, found, strict=True)) == {"c0": 43, "c1": 3, "c2": 46, "c3": 1 + 3 + (MANY - 1) * 2}
    assert sums(step_of(parse_policy(POLICY.format(dataset=""), tmp_path)).sql[0], []) == (0,) * 4


def test_one_unit_moves_each_sum_no_farther_than_its_noise_covers(tmp_path):
    assert far_moves(step_of(made(tmp_path))) == []


def test_rows_without_end_would_be_noticed(tmp_path, monkeypatch):
    policy = made(tmp_path)
    step = step_of(policy)
    monkeypatch.setattr(cuts, "MANY", 1000)
    assert far_moves(type(step)(step.target, step.loss, step_of(policy).sql, cut=step.cut)) == ["cy"]


@pytest.mark.parametrize(("dataset", "steps"), [("", 1), ('adjacency = "replace"', 2)])
def test_the_events_add_up_to_the_price(tmp_path, dataset, steps):
    step = step_of(made(tmp_path, dataset=dataset))
    assert sum(event.epsilon for event, _ in step.event(steps).parts) == step.loss.epsilon


def wish(*names):
    return CalibrationRequest(names=names, epsilon=400, delta=None, coverage="0.95", grids={})


def test_what_was_measured_is_written_and_does_not_change_the_promise(tmp_path):
    policy = made(tmp_path)
    result, changes = run_calibration(policy, wish("visits.cut"))
    assert [item.target.quantity for item in result.measured] == [Quantity.CUT]
    text = amend_policy(POLICY.format(dataset=""), changes)
    written = parse_policy(text, tmp_path)
    cut = written.table("visits").cut
    assert cut.measured == datetime.now(UTC).date()
    assert float(cut.rows) == pytest.approx(22 / 68, abs=0.02)
    assert float(cut.units) == pytest.approx(3 / 43, abs=0.02)
    assert written.version == policy.version
    assert parse_policy(text, tmp_path).plain() == written.plain()


def test_a_table_without_bounds_or_of_rows_has_nothing_that_is_cut(tmp_path):
    policy = made(tmp_path)
    bare = parse_policy(POLICY.format(dataset="").replace("max_rows = 2\n", ""), tmp_path)
    with pytest.raises(PolicyError, match="no max_rows"):
        run_calibration(bare, wish("visits.cut"))
    text = POLICY.format(dataset="").replace('"who"', '"row"').replace("max_rows = 2\nmax_groups = 3\n", "")
    with pytest.raises(PolicyError, match="nothing is cut"):
        run_calibration(parse_policy(text, tmp_path), wish("visits.cut"))
    assert policy.table("visits").cut is None


def test_answers_carry_what_was_measured_and_how_long_ago(tmp_path):
    cut = CutShares(Fraction(53, 1000), Fraction(21, 1000), datetime.now(UTC).date() - timedelta(days=12))
    curator = clinic(cut=cut).curator(tmp_path)
    for body in ("COUNT(*) FROM visits", "dept, AVG(age) FROM visits GROUP BY ROLLUP (dept)"):
        notes = " ".join(curator.ask(f"DP-SELECT 1 {body}", session=ANA).notes)
        assert "about 2.1% of the units, and leave out about 5.3% of the rows" in notes
        assert "12 days ago" in notes
    measured = curator.ask("DP-SELECT 1 WITH BIAS COUNT(*) FROM visits", session=ANA)
    assert not any("days ago" in note for note in measured.notes)  # it has its own
    other = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, max_rows_contributed=1) COUNT(*) FROM visits"
    assert not any("days ago" in note for note in curator.ask(other, session=ANA).notes)  # other bounds than those


@pytest.mark.parametrize(
    "text",
    [
        "cut = 0.5",
        "cut = { rows = 0.5, units = 0.5 }",
        "cut = { rows = 2, units = 0.5, measured = 2026-01-31 }",
        "cut = { rows = 0.5, units = -1, measured = 2026-01-31 }",
        'cut = { rows = 0.5, units = 0.5, measured = "today" }',
        "cut = { rows = 0.5, units = 0.5, measured = 2026-01-31T00:00:00 }",
        "cut = { rows = 0.5, units = 0.5, measured = 2026-01-31, people = 3 }",
    ],
)
def test_a_cut_that_says_something_else_is_refused_by_its_line(tmp_path, text):
    with pytest.raises(PolicyError, match=r"tacit\.toml:\d+.*cut"):
        parse_policy(POLICY.format(dataset="").replace("max_rows = 2\n", f"max_rows = 2\n{text}\n"), tmp_path)


def test_an_age_is_never_negative():
    assert "today" in CutShares(Fraction(0), Fraction(0), date(2026, 5, 5)).text(date(2026, 5, 1))
    assert "1 day ago" in CutShares(Fraction(0), Fraction(0), date(2026, 5, 5)).text(date(2026, 5, 6))
