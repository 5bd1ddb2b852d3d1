"""A workload behind the curator: one price for questions asked one by one, and no more told than it paid for."""

from __future__ import annotations

import copy
import itertools
import traceback
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from unittest.mock import patch

import duckdb
import numpy as np
import pytest

import tacit
from support.sources import Seeded
from support.synthetic import opened, policy, rows
from tacit.accounting import loss_of, zcdp_of
from tacit.attack import audit
from tacit.core import ComposedEvent, Loss
from tacit.errors import BudgetExceeded, EngineError, TacitError
from tacit.mechanisms import Laplace
from tacit.policy import ColumnPolicy
from tacit.release.general import OnlineWeights, WorkloadRequest, online
from tacit.release.general.workload import WorkloadPlan, open_workload
from tacit.release.publishing import Publisher

NAMED = ("town", "age", "ok")


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(policy(tmp_path, rows(3_000)), analyst="ana") as opened_:
        yield opened_


def spent(db: tacit.Database) -> Fraction:
    return db.budget.total.spent.epsilon


def test_a_whole_workload_is_one_charge_and_its_questions_are_free(db: tacit.Database) -> None:
    work = db.workload("t", NAMED, epsilon=20, questions=60)
    assert spent(db) == 20
    true = {"town = 'a'": 1_000, "ok AND age > 3": 1_500, "town IN ('b', 'c') AND NOT ok": 0, "age <= 1": 1_000}
    for _ in range(3):
        for condition, count in true.items():
            answer = work.count(condition)
            assert abs(float(answer) - count) <= work.error
            assert answer.error == work.error
    assert spent(db) == 20
    assert [entry.act for entry in db.log] == ["settle", "charge"]
    (charge,) = [entry for entry in db.log if entry.act == "charge"]
    assert charge.asked is not None
    assert charge.asked.questions[0].startswith("PUBLISH 20 DELTA 0 WORKLOAD")
    assert db.workload("t", NAMED, epsilon=20).left == 100
    assert spent(db) == 40, "a run is one person's: another pays for its own"


def test_with_no_corrections_left_no_error_is_stated(db: tacit.Database) -> None:
    work = db.workload("t", NAMED, epsilon=50, corrections=1, threshold=0)
    assert work.count("town = 'a'").measured
    assert work.left == 0
    for condition in ("town = 'a'", "ok"):
        answer = work.count(condition)
        assert (answer.error, answer.measured, answer.left) == (None, False, 0)


def test_it_shows_nothing_of_what_it_holds(db: tacit.Database) -> None:
    work = db.workload("t", ("town",), epsilon=1)
    assert repr(work) == "<workload on t: ε = 1, 100 corrections left>"
    for way in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            way(work)
    assert not hasattr(work, "__dict__")


STOPS = (KeyboardInterrupt, SystemExit, MemoryError, ValueError)


def modules_passed(error: BaseException) -> set[str]:
    """Where an error has been, over its traceback and those of its context and cause."""
    chain = [one for one in (error, error.__context__, error.__cause__) if one is not None]
    frames = [frame for one in chain for frame, _ in traceback.walk_tb(one.__traceback__)]
    return {frame.f_globals["__name__"] for frame in frames}


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("where", ["a count", "the beginning"])
def test_nothing_exact_hangs_on_what_breaks_a_run_off(
    db: tacit.Database, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException], where: str
) -> None:
    """It is raised amid exact cells, and has never been there as far as its traceback knows."""

    def broken(*_: object, **__: object) -> None:
        raise stop

    workload = db.workload("t", NAMED, epsilon=1)
    monkeypatch.setattr(online, "answers" if where == "a count" else "checked_histogram", broken)
    with pytest.raises((stop, EngineError)) as found:
        workload.count("ok") if where == "a count" else db.workload("t", NAMED, epsilon=1)
    assert online.__name__ not in modules_passed(found.value)
    monkeypatch.undo()
    assert workload.count("ok").left == 100


def test_an_error_that_is_let_through_as_it_is_would_be_noticed(
    db: tacit.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.release.general.workload.bare_error", lambda error, _: error)
    test_of = test_nothing_exact_hangs_on_what_breaks_a_run_off
    with pytest.raises(AssertionError):
        test_of(db, monkeypatch, KeyboardInterrupt, "a count")


@pytest.mark.parametrize(
    "condition",
    ["nope = 1", "unit = 3", "1 = 1", "COUNT(*) > 1", "town = (SELECT 'a')", "random() < age", "age >", "age LIMIT 1"],
)
def test_what_is_no_condition_on_its_columns_is_refused(db: tacit.Database, condition: str) -> None:
    work = db.workload("t", NAMED, epsilon=1)
    with pytest.raises(TacitError):
        work.count(condition)
    assert work.left == 100


def test_conditions_are_read_by_cells_and_never_cut_a_bin(tmp_path: Path) -> None:
    columns = (
        ColumnPolicy("town", type="text", domain=["a", "b", "c"]),
        ColumnPolicy("age", type="integer", lower=0, upper=500),
        ColumnPolicy("ok", type="boolean"),
    )
    with tacit.open(policy(tmp_path, rows(300), unit="row", columns=columns), analyst="ana") as db:
        work = db.workload("t", NAMED, epsilon=40)
        assert abs(float(work.count("age < 10 AND town = 'a'")) - 100) <= work.error
        assert abs(float(work.count("town = 'a' OR ok")) - 300) <= work.error
        for cutting in ("age = 3", "age > 11", "town = 'a' OR age < 10"):
            with pytest.raises(TacitError, match=r"cuts a bin|bins alone"):
                work.count(cutting)


@pytest.mark.parametrize(
    "wrong",
    [
        {"columns": ("unit",)},
        {"columns": ("nope",)},
        {"epsilon": 0},
        {"corrections": 0},
        {"corrections": 10**6},
        {"questions": 0},
        {"threshold": -1},
        {"table": "nope"},
    ],
)
def test_what_makes_no_sense_is_refused_and_costs_nothing(db: tacit.Database, wrong: dict[str, object]) -> None:
    asked = {"table": "t", "columns": NAMED, "epsilon": 1, **wrong}
    with pytest.raises(TacitError):
        db.workload(**asked)  # type: ignore[arg-type]
    assert spent(db) == 0


def test_who_cannot_pay_for_all_of_it_gets_none_of_it(tmp_path: Path) -> None:
    with tacit.open(policy(tmp_path, rows(9)), analyst="ben") as db:
        with pytest.raises(BudgetExceeded):
            db.workload("t", NAMED, epsilon=2)
        assert spent(db) == 0


@pytest.mark.parametrize(("unit", "moved"), [("row", 1), ("unit", 2)])
def test_the_noise_is_for_all_that_one_unit_moves(tmp_path: Path, unit: str, moved: int) -> None:
    declared = policy(tmp_path, rows(40), unit=unit)
    with opened(declared) as (engine, ledger):
        plan = WorkloadRequest("t", NAMED, 1).plan(declared, engine)
        counted = plan.counted
        assert counted.sensitivity == moved * counted.weight
        assert plan.weights.sensitivity == counted.sensitivity
        told = loss_of(plan.event).epsilon
        assert Fraction(999_999, 10**6) < told <= 1
        half = plan.weights.sparse
        scale = 1 / (half.loss(counted.sensitivity).epsilon)
        assert scale >= Fraction(100, 77), "four fifths of what the number of rows leaves of ε"
        work = open_workload(
            Publisher(declared, engine, ledger), WorkloadRequest("t", NAMED, 1), declared.analyst("ana")
        )
        assert work.columns == NAMED


def test_a_thousand_counts_of_a_million_rows_are_within_the_bound_and_better_than_one_by_one(tmp_path: Path) -> None:
    """Ten truth values, 1,000 counts, n = 10^6, ε = 1; the bound is kept 95 times in 100, and sources are seeded."""
    random = np.random.default_rng(0)
    chances = random.random((4, 10))[random.integers(0, 4, 10**6)]
    bits = random.random((10**6, 10)) < chances
    with duckdb.connect() as made:
        made.register("bits", {f"b{i}": bits[:, i] for i in range(10)})
        made.execute(f"COPY (SELECT * FROM bits) TO '{tmp_path}/t.parquet'")
    names = [f"b{i}" for i in range(10)]
    declared = tacit.Policy(
        tacit.Dataset("bits", {"t": "t.parquet"}, base=tmp_path),
        tacit.BudgetPolicy(2),
        tables=[
            tacit.TablePolicy("t", "row", columns=[ColumnPolicy(name, type="boolean", null=False) for name in names])
        ],
        analysts=[tacit.AnalystPolicy("ana", 2)],
    )
    asked = [
        (axes, values)
        for size in (3, 2)
        for axes in itertools.combinations(range(10), size)
        for values in np.ndindex(*(2,) * size)
    ][:1000]
    with opened(declared) as (engine, ledger):
        door = Publisher(declared, engine, ledger, Seeded(4))
        work = open_workload(door, WorkloadRequest("t", tuple(names), 1, corrections=140), declared.analyst("ana"))
        elements = (np.arange(1024)[:, None] >> np.arange(9, -1, -1)) & 1  # the last column is the last digit
        worst, measured = 0.0, 0
        with patch("tacit.release.general.workload.universe_meeting") as meeting:
            for axes, values in asked:  # cells, as the condition would find them: the SQL is tested elsewhere
                meeting.return_value = (elements[:, list(axes)] == values).all(axis=1)
                answer = work.count("")
                true = int((bits[:, list(axes)] == values).all(axis=1).sum())
                worst, measured = max(worst, abs(float(answer) - true)), measured + answer.measured
                assert answer.error is not None
        assert work.count("b0 AND NOT b9").error is not None
    alone = Laplace.costing(Loss("1/1000"), 1).error("0.5", count=1000)  # of half of all runs the largest is below
    assert worst <= work.error
    assert worst < alone, (worst, alone, measured)
    assert 0 < measured < 140


# ── the guarantee ────────────────────────────────────────────────────────────────────────────────────────────────────


def life(weights: OnlineWeights, sides: tuple[list[int], list[int]], seed: int):  # type: ignore[no-untyped-def]
    """What a stranger sees of a run: which questions were measured, and what was said."""
    source = Seeded(seed)

    def once(side: int) -> tuple[int, ...]:
        run = weights.start(np.array(sides[side]), rows=6, source=source)
        given = [run.ask(query) for query in ([1, 0], [0, 1], [1, 0])]
        return tuple(part for answer in given for part in (int(answer.measured), round(answer.value)))

    return lambda side, times: [once(side) for _ in range(times)]


def test_an_audit_of_a_run_finds_no_more_than_was_paid() -> None:
    """Some of it is found: a false alarm is one in a million."""
    weights = OnlineWeights.costing(Loss(4), threshold=1, corrections=1)
    found = audit(life(weights, ([6, 0], [5, 0]), 3), draws=2_400, claimed=4, false_alarm=1e-6)
    assert not found.violates, found.event
    assert found.epsilon > 0.3


def test_an_audit_catches_noise_for_a_tenth_of_what_a_unit_moves() -> None:
    honest = OnlineWeights.costing(Loss(4), threshold=1, corrections=1)
    bold = OnlineWeights.costing(Loss(40), threshold=1, corrections=1)
    broken = replace(honest, noise=bold.noise, sparse=bold.sparse)
    assert audit(life(broken, ([6, 0], [5, 0]), 3), draws=2_400, claimed=4, false_alarm=1e-6).violates


def test_a_run_is_priced_as_it_draws(tmp_path: Path) -> None:
    """Every draw of noise is one that the event knows of: one for the size, one for each correction."""
    declared = policy(tmp_path, rows(400))
    drawn: list[Fraction] = []
    honest = Laplace.release

    def heard(self: Laplace, *arguments: object) -> object:
        drawn.append(self.scale)
        return honest(self, *arguments)  # type: ignore[arg-type]

    with opened(declared) as (engine, ledger), patch.object(Laplace, "release", heard):
        request = WorkloadRequest("t", NAMED, 30, corrections=3, threshold=0)
        plan: WorkloadPlan = request.plan(declared, engine)
        work = open_workload(Publisher(declared, engine, ledger), request, declared.analyst("ana"))
        for _ in range(5):
            for condition in ("town = 'a'", "age > 3", "ok"):
                work.count(condition)
        (charge,) = [entry for entry in ledger.entries(limit=9) if entry.act == "charge"]
    assert drawn[0] == plan.size.scale
    assert drawn[1:] == [plan.weights.noise.scale] * 3
    event = ComposedEvent(((plan.weights.event(), 1), (plan.size.event(plan.counted.sensitivity), 1)))
    assert charge.epsilon == 30 >= loss_of(event).epsilon
    assert zcdp_of(event).rho <= charge.rho < zcdp_of(event).rho * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("total", [1, 2, 3])
def test_a_table_that_noise_makes_look_nearly_empty_is_answered_as_any_other(total: int) -> None:
    """Noise may say that there is one row, or less: warnings are errors here, and an answer is a number."""
    for seed in range(5):
        weights = OnlineWeights.costing(Loss(100), threshold=0, corrections=5)
        run = weights.start(np.array([0, 0, 5, 0]), rows=total, source=Seeded(seed))
        for query in ((1, 0, 0, 0), (0, 0, 1, 0), (1, 1, 1, 1), (0, 0, 0, 0), (0, 0, 1, 1)):
            assert np.isfinite(run.ask(np.array(query)).value)
        assert np.isfinite(run.hypothesis).all()
