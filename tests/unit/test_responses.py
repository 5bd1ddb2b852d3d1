"""Rows USING RANDOMISED RESPONSE: told with coins, counted without bias, and no more told than was paid."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import tacit
from support.sources import Seeded
from support.synthetic import COLUMNS, opened, policy, rows
from tacit.attack import audit
from tacit.core import ApproximateEvent, Loss, PureEvent
from tacit.errors import QueryRefused, TacitError
from tacit.mechanisms import Laplace
from tacit.noise import IntArray
from tacit.policy import BudgetPolicy, ColumnPolicy, ColumnType, Policy
from tacit.release.publishing import Publisher
from tacit.release.responses import PerturbedTable, ResponseRequest, request
from tacit.release.responses.request import ResponsePlan, response_plan, told_rows, too_many
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.counting import MarginalCounter, TablePlan
from tacit.sql import Plan

USING = "USING RANDOMISED RESPONSE"


def by_row(base: Path, data: list[tuple[object, ...]], *, public: bool = False, **more: object) -> Policy:
    made = policy(base, data, unit="row", adjacency="replace" if public else "add/remove", columns=COLUMNS[1:], **more)  # type: ignore[arg-type]
    (table,) = made.tables
    return replace(made, tables=(replace(table, public_totals="*" if public else None),))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(by_row(tmp_path, rows(300)), analyst="ana") as opened_:
        yield opened_


def spent(db: tacit.Database) -> Fraction:
    return db.budget.total.spent.epsilon


def test_rows_are_told_paid_once_and_then_free(db: tacit.Database) -> None:
    first = db.query(f"DP-SELECT 12 town, age FROM t {USING}")
    assert first.columns == ("town", "age")
    assert first.cost == Loss(12, "1e-6")
    assert any("any cell may be a lie" in note for note in first.notes)
    told = db.query(f"DP-SELECT 5 age AS years, town FROM t WHERE town = 'a' ORDER BY years LIMIT 4 {USING}")
    assert (told.cost.epsilon, told.columns, told.reused) == (0, ("years", "town"), "the same responses")
    among = sorted(age for town, age in first if town == "a" and age is not None)
    assert [age for age, _ in told] == among[:4], "the condition looks at what was told"
    count = db.query(f"DP-SELECT 12 town, COUNT(*) AS n FROM t WHERE age < 5 GROUP BY town {USING}")
    assert (count.cost.epsilon, count.columns) == (0, ("town", "n"))
    assert [row[0] for row in count] == ["a", "b", "c", None]
    assert spent(db) == 12
    assert db.query(f"DP-SELECT 1 FRESH town FROM t {USING} LIMIT 1").cost.epsilon == 1
    assert spent(db) == 13
    kinds = {entry.kind for entry in db.log if entry.act == "charge"}
    assert kinds == {"publish"}, "one entry for each, whatever is asked of it"


def test_explaining_is_free_and_names_the_columns(db: tacit.Database) -> None:
    asked = {f"DP-SELECT 1 town AS x FROM t {USING}": "x", f"DP-SELECT 1 COUNT(*) FROM t WHERE ok {USING}": "count(*)"}
    for sql, name in asked.items():
        said = db.explain(sql)
        assert (said.outputs, said.loss.epsilon, spent(db)) == ((name,), 1, 0)


@pytest.mark.parametrize(
    "sql",
    [
        "DP-SELECT 1 nope FROM t {}",
        "DP-SELECT 1 * FROM nope {}",
        "DP-SELECT 1 COUNT(*) FROM t {}",
        "DP-SELECT 1 SUM(age) FROM t {}",
        "DP-SELECT 1 town, COUNT(*) FROM t {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE town = 'a' OR ok {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE town || age = 'a1' {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE town = (SELECT 'a') {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE getenv(town) = '' {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE random() < age {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE age > 'x' {}",
        "DP-SELECT 1 COUNT(*) FROM t WHERE ok HAVING COUNT(*) > 3 {}",
        "DP-SELECT 1 COUNT(*) FROM t JOIN t AS u ON t.age = u.age {}",
        "DP-SELECT 1 COUNT(*) FROM t {} {}",
        "DP-SELECT 1 CONFIDENCE 0.9 town FROM t {}",
        "DP-SELECT 1 WITH BIAS COUNT(*) FROM t WHERE ok {}",
        "DP-SELECT WITHIN 5 COUNT(*) FROM t WHERE ok {}",
        "SELECT town FROM t {}",
        "SELECT town FROM t SYNTHETIC {}",
        "DP-SELECT 1 unit FROM t {}",
    ],
)
def test_what_makes_no_sense_is_refused_and_costs_nothing(db: tacit.Database, sql: str) -> None:
    with pytest.raises(TacitError):
        db.query(sql.format(USING, USING))
    assert spent(db) == 0


@pytest.mark.parametrize("epsilon", ["1e-5", "1e-9", "1e-18", "1e-60", "1e-290"])
def test_a_price_that_needs_more_made_up_rows_than_a_machine_holds_is_refused_and_costs_nothing(
    db: tacit.Database, epsilon: str
) -> None:
    """They are drawn in memory: for ε = 1e-6 there would be two hundred million."""
    for say in (db.query, db.explain):
        with pytest.raises(QueryRefused, match="rows that nobody is behind"):
            say(f"DP-SELECT {epsilon} DELTA 1e-9 town FROM t {USING}")
    assert spent(db) == 0
    assert db.query(f"DP-SELECT 1e-3 DELTA 1e-9 COUNT(*) FROM t WHERE ok {USING}").cost.epsilon == Fraction(1, 1000)


def test_in_a_batch_it_is_refused(db: tacit.Database) -> None:
    with pytest.raises(QueryRefused, match="USING RANDOMISED RESPONSE is refused here"):
        db.batch([f"SELECT COUNT(*) FROM t WHERE ok {USING}"], epsilon=1)
    assert spent(db) == 0


@pytest.mark.parametrize(
    ("unit", "adjacency", "budget", "what"),
    [
        ("unit", "add/remove", None, "may have several"),
        ("row", "replace", None, 'public_totals = "*"'),
        ("row", "add/remove", BudgetPolicy(9), "pure"),
        ("row", "add/remove", BudgetPolicy(9, "1e-6"), "need a delta|needs a delta"),
    ],
)
def test_where_the_number_of_rows_would_tell_it_is_refused(
    tmp_path: Path, unit: str, adjacency: str, budget: BudgetPolicy | None, what: str
) -> None:
    declared = policy(tmp_path, rows(9), unit=unit, adjacency=adjacency, budget=budget)
    with tacit.open(declared, analyst="ana") as db, pytest.raises(QueryRefused) as refused:
        db.query(f"DP-SELECT 1 town FROM t {USING}")
    assert any(word in f"{refused.value} {refused.value.hint}" for word in what.split("|"))


def test_a_condition_that_cuts_a_bin_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    wide = (COLUMNS[1], ColumnPolicy("age", type="integer", lower=0, upper=500), COLUMNS[3])
    declared = policy(tmp_path, rows(90), unit="row", columns=wide)
    with tacit.open(declared, analyst="ana") as db:
        for cutting in ("age > 17", "age = 12", "age % 7 = 3", "age NOT IN (13)"):
            with pytest.raises(QueryRefused, match="cuts a bin of age"):
                db.query(f"DP-SELECT 1 COUNT(*) FROM t WHERE {cutting} {USING}")
        assert spent(db) == 0
        assert db.query(f"DP-SELECT 1 COUNT(*) FROM t WHERE age >= 20 {USING}").cost.epsilon == 1


def test_public_numbers_of_rows_leave_as_they_are_whatever_the_rows_hold(tmp_path: Path) -> None:
    for cell in ("a", "z", None):
        declared = by_row(tmp_path, [*rows(50), (50, cell, 3, True)], public=True)
        with opened(declared) as (engine, ledger):
            door = Publisher(declared, engine, ledger)
            request = ResponseRequest("t", ("town", "ok"), 1, fresh=True)
            assert door.plan(request).event == PureEvent(Fraction(1))
            paid = door.publish(request, declared.analyst("ana"))
        assert (len(paid.value), paid.cost) == (51, Loss(1))


def test_a_charge_is_what_the_event_costs(tmp_path: Path) -> None:
    declared = by_row(tmp_path, rows(50))
    with opened(declared) as (engine, ledger):
        door = Publisher(declared, engine, ledger)
        request = ResponseRequest("t", ("town", "ok"), 2, "1e-5")
        assert door.plan(request).event == ApproximateEvent(Loss(2, "1e-5"))
        door.publish(request, declared.analyst("ana"))
        (charge,) = [entry for entry in ledger.entries(limit=9) if entry.act == "charge"]
    assert (charge.epsilon, charge.delta) == (2, Fraction(1, 10**5))
    least = 2 * math.tanh(1)  # ε tanh(ε / 2): what ε costs in concentrated privacy, but for the same δ
    assert least <= charge.rho < least * (1 + 1e-9)
    assert charge.slack == charge.delta


# ── the mathematics, without an engine ───────────────────────────────────────────────────────────────────────────────


def attribute(name: str, cells: int) -> Attribute:
    return Attribute(name, ColumnType.INTEGER, ordered=False, nullable=False, values=tuple(range(cells)))


def planned(sizes: tuple[int, ...], loss: Loss, *, public: bool = False) -> ResponsePlan:
    attributes = tuple(attribute(f"c{index}", size) for index, size in enumerate(sizes))
    counted = TablePlan("t", attributes, ({},) * len(sizes), {}, 1, 1, (), None)
    return response_plan(counted, loss, rows=cast("Plan", object()), public=public)


def test_all_that_is_told_adds_up_to_the_price() -> None:
    for sizes in ((4,), (3, 7), (2, 1, 9), (1,)):
        for loss in (Loss(1, "1e-6"), Loss(8, "1e-9"), Loss("0.01", "1e-6")):
            plan = planned(sizes, loss)
            told = Fraction(0)
            for size, lie in zip(sizes, plan.lies, strict=True):
                if size > 1:
                    told += Fraction(math.log((1 - lie) * (size - 1) / lie))
            assert told + plan.size_epsilon + plan.limit_epsilon <= loss.epsilon * Fraction(1 + 10**-12)
            q = math.exp(-float(plan.size_epsilon))
            unhidden = float(plan.padding) * math.log(q) - math.log1p(q) + float(told)
            assert unhidden <= math.log(loss.delta), "e^ε₁ P(no row is made up) is within delta"


SIZES, RUNS = (3, 4), 1_500
TRUTH: IntArray = np.array([0] * 40 + [5] * 25 + [6] * 10 + [11] * 25, dtype=np.int64)  # c0 * 4 + c1


def z_scores(plan: ResponsePlan, *, padding: int | None = None) -> np.ndarray:  # type: ignore[type-arg]
    """How many of its own standard errors each of many estimates is from the truth."""
    source, found = Seeded(11), []
    for _ in range(RUNS):
        table = told_rows(plan, TRUTH, 0, source)
        table = table if padding is None else replace(table, padding=padding)
        for chosen, true in (({"c0": (0,)}, 40), ({"c0": (1, 2), "c1": (1, 3)}, 50), ({"c1": (2,)}, 10)):
            estimate = table.count(**chosen)  # type: ignore[arg-type]
            found.append((estimate.value - true) / max(estimate.standard_error, 1e-9))
    return np.array(found).reshape(RUNS, -1)


@pytest.mark.parametrize("public", [True, False])
def test_estimates_are_unbiased_and_keep_their_standard_errors(public: bool) -> None:
    """Means of 1,500 scores: six standard errors from 0 are 2e-9; the spread of each is 1 within a tenth."""
    plan = planned(SIZES, Loss(4) if public else Loss(4, "1e-2"), public=public)
    scores = z_scores(plan)
    assert (np.abs(scores.mean(axis=0)) < 6 / math.sqrt(RUNS) + 0.1).all(), "0.1: the error of a share of skewed laws"
    assert (np.abs(scores.std(axis=0) - 1) < 0.15).all()


def test_an_estimate_that_forgets_the_made_up_rows_would_be_noticed() -> None:
    scores = z_scores(planned(SIZES, Loss(4, "1e-2")), padding=0)
    assert (np.abs(scores.mean(axis=0)) > 0.5).all()


def test_responses_leave_in_the_order_of_their_cells(tmp_path: Path) -> None:
    plan = planned(SIZES, Loss(4, "1e-2"))
    table = told_rows(plan, TRUTH[::-1].copy(), 0, Seeded(3))
    cells = table.codes[0] * 4 + table.codes[1]
    assert (np.diff(cells) >= 0).all()
    again = PerturbedTable.from_bytes(table.to_bytes())
    assert again.to_bytes() == table.to_bytes()
    assert list(again.rows) == list(table.rows)
    shown = np.array([one * 4 + other for one, other in table.rows])
    assert (np.diff(shown) < 0).any(), "a LIMIT shows a fair part of them"
    assert sorted(shown) == sorted(cells.tolist())


def draws(plan: ResponsePlan, sides: tuple[list[int], list[int]], seed: int):  # type: ignore[no-untyped-def]
    source = Seeded(seed)

    def once(side: int) -> tuple[int, ...]:
        table = told_rows(plan, np.array(sides[side], dtype=np.int64), 0, source)
        cells = np.bincount(table.codes[0] * 4 + table.codes[1], minlength=12)
        return (len(table), int(cells[0]), int(cells[5]))

    return lambda side, times: [once(side) for _ in range(times)]


def test_an_audit_finds_no_more_than_was_paid_and_almost_all_of_it() -> None:
    """One row against another, and one more row: false alarm 1e-6 each."""
    replaced = planned(SIZES, Loss(2), public=True)
    found = audit(draws(replaced, ([0], [5]), 1), draws=4_000, claimed=2, false_alarm=1e-6)
    assert not found.violates, found.event
    assert found.epsilon > 1
    added = planned(SIZES, Loss(2, "1e-3"))
    more = audit(draws(added, ([6, 0], [6]), 2), draws=4_000, delta=1e-3, claimed=2, false_alarm=1e-6)
    assert not more.violates, more.event


def test_an_audit_catches_lies_that_are_too_rare_and_rows_that_are_not_hidden() -> None:
    replaced = planned(SIZES, Loss(2), public=True)
    bold = replace(replaced, lies=tuple(lie / 2 for lie in replaced.lies))
    assert audit(draws(bold, ([0], [5]), 1), draws=4_000, claimed=2, false_alarm=1e-6).violates
    added = planned(SIZES, Loss(2, "1e-3"))
    bare = replace(added, size_epsilon=Fraction(0))  # nothing is made up
    assert audit(draws(bare, ([6, 0], [6]), 2), draws=4_000, delta=1e-3, claimed=2, false_alarm=1e-6).violates
    assert Laplace(1 / added.size_epsilon).variance > 10


# ── more rows than memory ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("public", [True, False])
def test_too_many_rows_are_not_told_and_that_is_paid_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, public: bool
) -> None:
    monkeypatch.setattr(request, "MOST_TOLD", 200)
    with tacit.open(by_row(tmp_path, rows(3_000), public=public), analyst="ana") as db:
        read: list[object] = []
        monkeypatch.setattr(MarginalCounter, "counted", lambda *_: read.append(None))
        for sql in (f"DP-SELECT 20 town, age FROM t {USING}", f"DP-SELECT 20 age, town FROM t LIMIT 1 {USING}"):
            with pytest.raises(QueryRefused, match="too many rows to tell each of them: at most 100 are told of 2 col"):
                db.query(sql)
        with pytest.raises(QueryRefused, match="too many rows"):
            db.responses("t", ("town", "age"), epsilon=20)
        assert (spent(db), read) == (20, []), "no row was read, and what is kept says so again for nothing"


def test_a_public_number_of_rows_is_compared_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "MOST_TOLD", 100)
    for number in (50, 51):
        with tacit.open(by_row(tmp_path, rows(number), public=True), analyst="ana") as db:
            asked = f"DP-SELECT 1 FRESH town, age FROM t {USING}"
            if number == 50:
                assert len(db.query(asked)) == 50
            else:
                with pytest.raises(QueryRefused, match="at most 50"):
                    db.query(asked)


def test_a_table_that_is_declared_too_large_is_refused_and_costs_nothing(tmp_path: Path) -> None:
    declared = by_row(tmp_path, rows(9))
    large = replace(declared, tables=tuple(replace(table, rows=5_000_001) for table in declared.tables))
    with tacit.open(large, analyst="ana") as db:
        with pytest.raises(QueryRefused, match="at most 5,000,000 are told of 2 columns"):
            db.query(f"DP-SELECT 1 town, age FROM t {USING}")
        assert spent(db) == 0
        assert db.query(f"DP-SELECT 1 town FROM t {USING}").cost.epsilon == 1


def at_the_limit(plan: ResponsePlan):  # type: ignore[no-untyped-def]
    source = Seeded(8)
    return lambda side, times: [(int(too_many(plan, plan.most + side, source)),) for _ in range(times)]


def test_whether_rows_are_too_many_tells_of_one_row_no_more_than_its_part_of_the_price() -> None:
    """One row at the limit and one more: false alarm 1e-6."""
    plan = planned(SIZES, Loss(100, "1e-3"))
    found = audit(at_the_limit(plan), draws=4_000, claimed=float(plan.limit_epsilon), false_alarm=1e-6)
    assert not found.violates, found.event
    exact = replace(plan, limit_epsilon=Fraction(0))
    assert audit(at_the_limit(exact), draws=4_000, claimed=1, false_alarm=1e-6).violates, "a bare comparison is found"
