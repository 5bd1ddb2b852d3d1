"""Calibration: what one unit can change is what the price covers, and the price is on record before a row is read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.core import Loss
from tacit.curator import calibrate as room
from tacit.curator.calibrate import (
    ACCOUNT,
    Calibration,
    CalibrationPlan,
    CalibrationStep,
    Quantity,
    Target,
    calibrate,
    plan_calibration,
)
from tacit.engines import Engine, Exact, open_engine
from tacit.errors import BudgetExceeded, EngineError, PolicyError, UnknownName
from tacit.faces.owner.calibrating import CalibrationRequest, changes, explain_calibration, run_calibration
from tacit.faces.owner.grids import bound_edges, cap_edges
from tacit.ledger import SqliteLedger
from tacit.noise import IntArray
from tacit.policy import ColumnType, Policy, TablePolicy, parse_policy, resolve_types
from tacit.policy.amend import amend_policy

POLICY = """\
[dataset]
name = "calibrated"
source = "data.duckdb"
{dataset}
[budget]
epsilon = 2
delta = 1e-5
[tables.visits]
unit = "who"
{table}
[tables.visits.columns]
amount = {{}}  # in euros
age = {{}}
day = {{}}
city = {{}}
[tables.people]
unit = "row"
[tables.people.columns]
height = {{}}
"""
SCHEMA = {
    "visits": {"who": "VARCHAR", "amount": "DOUBLE", "age": "INTEGER", "day": "DATE", "city": "VARCHAR"},
    "people": {"height": "DOUBLE"},
}
FORMS = 'unit_form = "trim-lower"\nnull_unit = "one"'
# every unit below is removed in turn, whichever way it is spelt
MESSY: list[tuple[str | None, float, int | None, str | None, str | None]] = [
    ("ann", 10.0, 30, "2024-05-01", "Bern"),
    ("Ann ", 5e9, 31, "2024-06-01", "Basel"),
    ("ann", float("nan"), None, None, None),
    ("bob", float("inf"), -5, "1800-01-01", "Bern"),
    ("bob", -2.5, 200, "2300-01-01", "Bern"),
    ("BOB", 0.0, 0, "2024-05-02", "Genf"),
    (None, 7.0, 40, "2024-05-03", "Bern"),
    (None, 8.0, 41, "2024-05-04", "Chur"),
    ("cy", 1e-9, 18, "2024-05-05", "Bern"),
    *(("dee", float(i), i, f"2024-01-{i % 28 + 1:02d}", f"city {i}") for i in range(25)),
    *((f"u{i}", 100.0 + i, 20 + i, "2024-07-01", "Bern") for i in range(5)),
]


def who(row: tuple[object, ...]) -> str | None:
    return None if row[0] is None else str(row[0]).strip().lower()


def create(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    kinds = SCHEMA["visits"]
    cells = ", ".join(f"unnest(CAST(${i} AS {kind}[])) AS {name}" for i, (name, kind) in enumerate(kinds.items(), 1))
    connection.execute(f"CREATE TABLE {table} AS SELECT {cells}", columns)


def make(directory: Path, rows: Sequence[tuple[object, ...]] = MESSY) -> Policy:
    with closing(duckdb.connect(str(directory / "data.duckdb"))) as connection:
        create(connection, "visits", rows)
        connection.execute("CREATE TABLE people AS SELECT 150 + range / 100 AS height FROM range(4000)")
    return parse_policy(POLICY.format(dataset="", table=""), directory)


class Databases:
    """The whole table, and one without each unit, in one place."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self._known: dict[str, list[tuple[Any, ...]]] = {}
        create(self.connection, "visits", MESSY)
        self.units = sorted({who(row) for row in MESSY}, key=str)
        for place, unit in enumerate(self.units):
            create(self.connection, f"visits_{place}", [row for row in MESSY if who(row) != unit])

    def rows(self, sql: str, without: int | None = None) -> list[tuple[Any, ...]]:
        table = '"visits"' if without is None else f'"visits_{without}"'
        text = sql.replace('"visits"', table)
        if text not in self._known:
            self._known[text] = self.connection.execute(text).fetchall()
        return self._known[text]

    def counts(self, step: CalibrationStep, without: int | None = None) -> IntArray:
        found = np.zeros(len(step.target.edges) + 1, dtype=np.int64)
        for cell, count in self.rows(step.sql[0], without):
            found[cell] = count
        return found

    def law(self, step: CalibrationStep, without: int | None = None) -> NDArray[np.float64]:
        """The exact law of the choice: the logarithms of all probabilities."""
        assert step.noise is not None
        scores = room._scores(self.counts(step, without), step.share)
        weights: NDArray[np.float64] = float(step.noise.rate) * scores.astype(np.float64)
        return weights - np.logaddexp.reduce(weights)


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    made = Databases()
    yield made
    made.connection.close()


EVERYTHING = (
    Target("visits", Quantity.MAX_ROWS, (), cap_edges()),
    Target("visits", Quantity.MAX_GROUPS, ("city", "day"), cap_edges()),
    *(
        Target("visits", quantity, (column,), bound_edges(kind, upper=quantity is Quantity.UPPER))
        for column, kind in (("amount", ColumnType.NUMBER), ("age", ColumnType.INTEGER), ("day", ColumnType.DATE))
        for quantity in (Quantity.LOWER, Quantity.UPPER)
    ),
)


def planned(
    targets: tuple[Target, ...] = EVERYTHING, price: Loss = Loss(1), *, dataset: str = "", table: str = FORMS
) -> CalibrationPlan:
    return plan_calibration(
        resolve_types(parse_policy(POLICY.format(dataset=dataset, table=table)), SCHEMA),
        targets,
        schema=SCHEMA,
        price=price,
        coverage=Fraction(9, 10),
        dialect="duckdb",
    )


def test_one_unit_is_in_one_cell_of_every_measurement(databases: Databases) -> None:
    for step in planned().steps:
        whole = databases.counts(step)
        assert whole.sum() > 0, step.target
        for place, unit in enumerate(databases.units):
            moved = whole - databases.counts(step, place)
            assert moved.min() >= 0, (unit, step.target)
            assert moved.sum() <= 1, (unit, step.target)


def test_the_law_of_every_choice_moves_by_no_more_than_its_price(databases: Databases) -> None:
    widest = 0.0
    for step in planned().steps:
        whole = databases.law(step)
        for place, unit in enumerate(databases.units):
            ratio = float(np.abs(whole - databases.law(step, place)).max())
            assert ratio <= float(step.loss.epsilon) * (1 + 1e-9), (unit, step.target)
            widest = max(widest, ratio / float(step.loss.epsilon))
    assert widest > 0.25  # the bound is not idle: a law that never moved would pass as well


def test_replacing_a_unit_moves_the_law_by_no_more_than_its_price_either(databases: Databases) -> None:
    for step in planned(dataset='adjacency = "replace"').steps:
        assert step.noise is not None
        assert step.noise.loss(room._weight(step.share)) * 2 == step.loss, "removing one and adding one"
        # two databases that each lack another unit differ by one replacement
        laws = [databases.law(step, place) for place in range(len(databases.units))]
        for one, other in itertools.combinations(laws, 2):
            assert np.abs(one - other).max() <= float(step.loss.epsilon) * (1 + 1e-9), step.target


def test_counting_rows_instead_of_units_would_be_noticed(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = room._values_sql

    def per_row(target: Target, table: TablePolicy, *, types: dict[str, str], owned: str) -> str:
        if target.quantity is Quantity.UPPER:
            return f"SELECT v0 AS v FROM ({owned}) AS owned"
        return honest(target, table, types=types, owned=owned)

    monkeypatch.setattr(room, "_values_sql", per_row)
    with pytest.raises(AssertionError, match="upper"):
        test_one_unit_is_in_one_cell_of_every_measurement(databases)


def test_a_rate_twice_too_high_would_be_noticed(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_weight", lambda share: Fraction(share.numerator, 2))
    with pytest.raises(AssertionError):
        test_the_law_of_every_choice_moves_by_no_more_than_its_price(databases)


def test_a_domain_counts_each_unit_for_one_key(databases: Databases) -> None:
    (step,) = planned((Target("visits", Quantity.DOMAIN, ("city",)),), Loss(1, "1e-6")).steps
    assert step.keys is not None
    assert len(step.keys.measurements) == 1, "the whole price goes into the count that chooses"
    whole = dict(databases.rows(step.sql[0]))
    for place in range(len(databases.units)):
        less = dict(databases.rows(step.sql[0], place))
        assert sum(abs(whole.get(key, 0) - less.get(key, 0)) for key in whole.keys() | less.keys()) == 1


@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.7"])
def test_the_shares_add_up_to_exactly_what_was_asked(epsilon: str) -> None:
    price = Loss(epsilon, "1e-6")
    made = planned((*EVERYTHING, Target("visits", Quantity.DOMAIN, ("city",))), price)
    assert made.loss == price
    assert [step.target for step in made.steps if step.loss.delta] == [Target("visits", Quantity.DOMAIN, ("city",))]
    assert len({step.loss.epsilon for step in made.steps}) == 1


class Watching:
    """An engine that notes what the ledger held when it was first asked."""

    def __init__(self, engine: Engine, ledger: SqliteLedger) -> None:
        self._engine, self._ledger = engine, ledger
        self.seen: list[tuple[str, str | None]] = []
        self.dialect, self.schema = engine.dialect, engine.schema

    def execute(self, sql: str) -> Exact:
        self.seen += [(entry.act, entry.kind) for entry in self._ledger.entries(limit=1)]
        return self._engine.execute(sql)

    def interrupt(self) -> None: ...

    def close(self) -> None: ...


class Failing(Watching):
    def execute(self, sql: str) -> Exact:
        super().execute(sql)
        raise RuntimeError("cell CANARY-4711 cannot be converted")


def open_both(directory: Path) -> tuple[Policy, Engine, SqliteLedger]:
    policy = make(directory)
    return policy, open_engine(policy), SqliteLedger(policy.dataset.ledger_path, create=True)


def test_the_charge_is_on_record_before_the_first_row_is_read(tmp_path: Path) -> None:
    policy, engine, ledger = open_both(tmp_path)
    with closing(engine), closing(ledger):
        watching = Watching(engine, ledger)
        made = planned(table="")
        calibrate(made, policy, engine=watching, ledger=ledger, fresh=False)
        assert watching.seen[0] == ("charge", "calibrate")
        charge = next(entry for entry in ledger.entries(limit=9) if entry.act == "charge")
        assert (charge.analyst, charge.epsilon, charge.outcome) == (ACCOUNT, 1, "settle")


def test_what_fails_stays_charged_and_says_nothing_of_the_cells(tmp_path: Path) -> None:
    policy, engine, ledger = open_both(tmp_path)
    with closing(engine), closing(ledger):
        with pytest.raises(EngineError) as caught:
            calibrate(planned(table=""), policy, engine=Failing(engine, ledger), ledger=ledger, fresh=False)
        assert "CANARY" not in caught.value.explain()
        assert caught.value.__context__ is None
        newest = ledger.entries(limit=2)
        assert [entry.act for entry in newest] == ["fail", "charge"]
        assert newest[1].epsilon == 1


def test_the_same_calibration_again_costs_nothing_and_reads_nothing(tmp_path: Path) -> None:
    policy, engine, ledger = open_both(tmp_path)
    with closing(engine), closing(ledger):
        watching = Watching(engine, ledger)
        made = planned(table="")
        first = calibrate(made, policy, engine=watching, ledger=ledger, fresh=False)
        reads = len(watching.seen)
        again = calibrate(made, policy, engine=watching, ledger=ledger, fresh=False)
        assert (again.measured, again.reused, again.loss) == (first.measured, True, Loss(0))
        assert len(watching.seen) == reads
        fresh = calibrate(made, policy, engine=watching, ledger=ledger, fresh=True)
        assert (fresh.reused, fresh.loss) == (False, Loss(1))
        with pytest.raises(BudgetExceeded):
            calibrate(made, policy, engine=watching, ledger=ledger, fresh=True)


def test_results_are_as_close_as_the_theorem_says(databases: Databases) -> None:
    """Each choice strays beyond its bound with a chance of at most 1e-9; there are 8 × 20 of them."""
    for step in planned().steps:
        assert step.noise is not None
        held = databases.counts(step)
        scores = room._scores(held, step.share)
        bound = step.noise.error(1 - Fraction(1, 10**9), candidates=held.size)
        assert (scores.max() - scores[step.noise.simulate(scores, 20)]).max() <= bound, step.target


def test_caps_and_bounds_cover_the_wanted_share(tmp_path: Path) -> None:
    rows = [(f"u{i}", float(i % 90), 20 + i % 60, "2024-07-01", f"c{i % 3}") for i in range(4000) for _ in range(3)]
    policy = make(tmp_path, rows)
    with closing(duckdb.connect(str(tmp_path / "data.duckdb"))) as connection:
        connection.execute("UPDATE visits SET day = DATE '2021-01-01' + CAST(age AS INTEGER) * 10")
    wish = CalibrationRequest(
        names=[], epsilon="1.9", delta="1e-6", coverage="0.9", grids={"visits.amount": "0:100:10"}
    )
    result, changed = run_calibration(policy, wish)
    found = {str(item.target): item.value for item in result.measured}
    assert found["visits max_rows"] == 3
    assert found["visits max_groups"] == 1
    assert found["visits.amount lower"] in {Fraction(0), Fraction(10)}
    assert found["visits.amount upper"] in {Fraction(80), Fraction(90)}
    assert found["visits.age lower"] == 20
    assert found["visits.age upper"] in {70, 100}
    assert (found["visits.day lower"], found["visits.day upper"]) == (date(2021, 1, 1), date(2023, 12, 31))
    assert found["visits.city domain"] == ("c0", "c1", "c2")
    assert found["people.height lower"] == 150
    assert found["people.height upper"] == 200
    written = amend_policy(POLICY.format(dataset="", table=""), changed)
    assert "# in euros; calibrated at" in written, "comments stay"
    assert "age = { lower = 20," in written
    amended = parse_policy(written)
    assert amended.table("visits").column("age").step == 1
    assert amended.version != policy.version


def test_bounds_that_noise_has_crossed_are_put_right() -> None:
    policy = resolve_types(
        parse_policy(POLICY.format(dataset="", table="")),
        SCHEMA,
    )
    edges = bound_edges(ColumnType.NUMBER, upper=True)
    low = room.Measured(Target("visits", Quantity.LOWER, ("amount",), edges), Fraction(700), Loss(1))
    high = room.Measured(Target("visits", Quantity.UPPER, ("amount",), edges), Fraction(5), Loss(1))
    (change,) = changes(Calibration((low, high), Loss(2), "entry", reused=False), policy)
    assert change.values["lower"] == 700
    assert change.values["upper"] == 1000


@pytest.mark.parametrize(
    ("names", "delta", "said"),
    [
        (["people.max_rows"], None, 'unit = "row"'),
        (["visits.who"], None, "does not name it"),
        (["visits.city"], None, "domains need a delta"),
        (["visits.amount"], "1e-6", "no domain is asked for"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_any_charge(
    tmp_path: Path, names: list[str], delta: str | None, said: str
) -> None:
    policy = make(tmp_path)
    with pytest.raises((PolicyError, UnknownName), match=said):
        explain_calibration(policy, CalibrationRequest(names=names, epsilon=1, delta=delta, coverage="0.9", grids={}))
    assert not policy.dataset.ledger_path.exists()
