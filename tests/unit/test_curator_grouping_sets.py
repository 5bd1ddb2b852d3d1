"""A statement with grouping sets through the rooms: its plan, its one charge, its one table, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import COLUMNS, clinic, row_clinic
from conformance.sql_noiseless import switch_off
from conformance.sql_sets import planned, rho_paid_for
from conformance.sql_world import ANALYSTS, policy_of
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.jobs.pieces import Joint, Lone
from tacit.errors import BudgetExceeded, EngineError, QueryRefused, RequestConflict
from tacit.mechanisms import Gaussian
from tacit.mechanisms.strategy import flat
from tacit.mechanisms.strategy.blocks import added_up, padded
from tacit.policy import BudgetPolicy, ColumnPolicy, TableDomain

ANA = Session("ana")
TOP, LOW = int(np.iinfo(np.int64).max), int(np.iinfo(np.int64).min)
ROLLUP = "dept, insured, COUNT(*) AS n FROM visits GROUP BY ROLLUP (dept, insured)"


@pytest.fixture
def by_row(tmp_path):
    return row_clinic().curator(tmp_path)


def spent(curator):
    return curator.balance("ana").total.spent


def ask(curator, text, **more):
    return curator.ask(text, session=ANA, **more)


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("price", ["1", "1/3", "0.7"])
@pytest.mark.parametrize(
    "body",
    [
        ROLLUP,
        "COUNT(*), SUM(amount), AVG(age) FROM visits GROUP BY CUBE (dept, insured)",
        "MEDIAN(age) FROM visits GROUP BY ROLLUP (dept, insured)",
        "COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP (dept)",
    ],
)
def test_the_sets_cost_exactly_what_was_typed(price, body):
    made = planned(clinic(), f"DP-SELECT {price} {body}")
    assert sum((piece.loss.epsilon for piece in made.pieces), Fraction(0)) == Fraction(price)
    assert made.loss == Loss(Fraction(price))


def test_counts_over_public_keys_are_one_workload_read_by_one_statement():
    (piece,) = planned(row_clinic(), f"DP-SELECT 1 {ROLLUP}").pieces
    assert isinstance(piece, Joint)
    assert len(piece.plan.statements) == 1
    assert len(piece.members) == 3
    assert piece.gain > 1


@pytest.mark.parametrize("made", [row_clinic(), clinic(), clinic(bounding="sample"), clinic(bounding="weigh")])
def test_the_numbers_of_a_workload_share_its_price(made):
    text = "DP-SELECT 1/2 COUNT(*), AVG(amount) FROM visits GROUP BY ROLLUP (dept, age)"
    (piece,) = planned(made, text).pieces
    paid = [
        noise.loss(measured.l1).epsilon
        for measured, strategy in zip(piece.plan.measurements, piece.noises, strict=True)
        for noise in strategy.noises
    ]
    assert len(piece.noises) > 1
    assert sum(paid, Fraction(0)) == Fraction(1, 2)


def test_other_sets_have_the_split_with_the_least_error():
    """A median of nine groups needs a larger share than that of all; no other split has a smaller sum of squares."""
    made = planned(row_clinic(), "DP-SELECT 1 MEDIAN(amount) FROM visits GROUP BY ROLLUP (dept, MONTH(seen))")
    shares = [float(piece.loss.epsilon) for piece in made.pieces]
    assert shares == sorted(shares, reverse=True)
    groups = np.array([36, 3, 1])

    def error(split):
        return float(np.sum(groups / np.array(split) ** 2))

    assert all(isinstance(piece, Lone) for piece in made.pieces)
    for one, other in ((0, 1), (0, 2), (1, 2)):
        for step in (0.01, -0.01):
            moved = list(shares)
            moved[one], moved[other] = moved[one] + step, moved[other] - step
            assert error(moved) > error(shares)


def test_private_keys_have_a_share_of_the_delta():
    made = planned(row_clinic(), "DP-SELECT 1 DELTA 1e-3 city, COUNT(*) FROM visits GROUP BY CUBE (city, dept)")
    private = [piece for piece in made.pieces if isinstance(piece, Lone) and piece.plan.selection is not None]
    assert len(private) == 2
    assert sum((piece.loss.delta for piece in made.pieces), Fraction(0)) == Fraction(1, 1000)
    assert any(isinstance(piece, Joint) for piece in made.pieces)  # (dept) and ()


def test_gaussian_noise_costs_its_rho():
    made = replace_budget(row_clinic(), accounting="zcdp")
    text = "DP-SELECT 1 DELTA 1e-6 COUNT(*), SUM(age) FROM visits GROUP BY CUBE (dept, insured)"
    (piece,) = planned(made, text).pieces
    assert all(isinstance(noise, Gaussian) for strategy in piece.noises for noise in strategy.noises)
    paid = [
        noise.rho(measured.l1)
        for measured, strategy in zip(piece.plan.measurements, piece.noises, strict=True)
        for noise in strategy.noises
    ]
    assert 0 < sum(paid, Fraction(0)) <= rho_paid_for(piece)


def replace_budget(made, **budget):
    usual = {"epsilon": 1000, "delta": Fraction(1, 10)}
    tables, adjacency = [made.policy.table("visits")], made.policy.adjacency.value
    policy = policy_of(tables, budget=BudgetPolicy(**(usual | budget)), analysts=ANALYSTS, adjacency=adjacency)
    return replace(made, policy=policy)


# ── the charge ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_statement_is_charged_once(by_row):
    answer = ask(by_row, f"DP-SELECT 0.3 {ROLLUP}")
    assert answer.cost == Loss("0.3")
    assert spent(by_row).epsilon == Fraction(3, 10)
    (entry,) = [entry for entry in by_row.log("ana") if entry.act == "charge"]
    assert entry.note == "3 grouping sets"
    assert answer.receipt.guarantee == "ε = 0.3 for one row (add/remove)"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DP-SELECT 1 city, COUNT(*) FROM visits GROUP BY ROLLUP (city)", QueryRefused),
        ("SELECT dept, COUNT(*) FROM visits GROUP BY ROLLUP (dept)", QueryRefused),
        ("DP-SELECT 1001 dept, COUNT(*) FROM visits GROUP BY ROLLUP (dept)", BudgetExceeded),
    ],
)
def test_a_refusal_charges_nothing_and_reads_nothing(by_row, monkeypatch, text, kind):
    monkeypatch.setattr(type(by_row._engine), "execute", lambda self, sql: pytest.fail("data were read"))
    with pytest.raises(kind):
        ask(by_row, text)
    assert spent(by_row).epsilon == 0
    assert by_row.log("ana") == ()


def test_the_charge_is_on_record_before_the_data_are_read(by_row, monkeypatch):
    seen = []

    def broken(self, sql):
        seen.append(spent(by_row).epsilon)
        raise RuntimeError("Alice")

    monkeypatch.setattr(type(by_row._engine), "execute", broken)
    with pytest.raises(EngineError) as caught:
        ask(by_row, f"DP-SELECT 1 {ROLLUP}")
    assert seen[0] == 1
    assert "Alice" not in str(caught.value)
    assert caught.value.__context__ is None
    assert spent(by_row).epsilon == 1


def test_explain_reads_nothing_and_charges_nothing(by_row, monkeypatch):
    monkeypatch.setattr(type(by_row._engine), "execute", lambda self, sql: pytest.fail("data were read"))
    shown = by_row.explain(f"DP-SELECT 1 {ROLLUP}", session=ANA)
    assert [each.name for each in shown.sets] == ["(dept, insured)", "(dept)", "()"]
    questions = [f"SELECT COUNT(*) FROM visits WHERE age < {age}" for age in range(20, 80, 5)]
    batch = by_row.explain_batch(questions, session=ANA, epsilon=1)
    assert len(batch) == len(questions)
    assert spent(by_row).epsilon == 0


def test_the_same_statement_is_free_and_so_is_another_view_of_its_rows(by_row):
    first = ask(by_row, f"DP-SELECT 1 {ROLLUP}")
    again = ask(by_row, f"DP-SELECT 1 {ROLLUP}")
    assert (again.reused, again.cost, again.rows) == ("the same question", Loss(0), first.rows)
    part = ask(by_row, f"DP-SELECT 1 {ROLLUP} HAVING COUNT(*) > 20 ORDER BY n DESC LIMIT 3")
    kept = sorted((row for row in first.rows if row[2] > 20), key=lambda row: -row[2])[:3]
    assert (part.reused, sorted(part.rows, key=str)) == ("the same question", sorted(kept, key=str))
    assert part.receipt.plan != first.receipt.plan
    assert ask(by_row, f"DP-SELECT 1 FRESH {ROLLUP}").reused is None
    assert ask(by_row, f"DP-SELECT 2 {ROLLUP}").reused is None
    assert ask(by_row, f"DP-SELECT 1/2 {ROLLUP}").reused == "the same question"
    assert ask(by_row, f"DP-SELECT 2 {ROLLUP.replace('ROLLUP', 'CUBE')}").reused is None
    assert spent(by_row).epsilon == 6


def test_a_request_id_gives_the_answer_already_paid_for(tmp_path):
    curator = replace_budget(row_clinic(), reuse=False).curator(tmp_path)
    first = ask(curator, f"DP-SELECT 1 {ROLLUP}", request_id="one")
    again = ask(curator, f"DP-SELECT 1 {ROLLUP}", request_id="one")
    assert (again.reused, again.rows) == ("the same request", first.rows)
    assert spent(curator).epsilon == 1


def test_private_and_chosen_answers_are_kept_as_well(tmp_path):
    curator = row_clinic().curator(tmp_path)
    for text in (
        "DP-SELECT 50 DELTA 1e-3 city, dept, COUNT(*) FROM visits GROUP BY CUBE (city, dept)",
        "DP-SELECT 1 dept, MEDIAN(age), SUM(amount) FROM visits GROUP BY ROLLUP (dept)",
    ):
        first, again = ask(curator, text), ask(curator, text)
        assert again.reused
        assert (again.rows, again.errors) == (first.rows, first.errors)


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_come_set_by_set_with_null_where_a_column_is_rolled_up(by_row):
    rows = ask(by_row, f"DP-SELECT 1 {ROLLUP}").rows
    keys = [(dept, insured) for dept in ("CS", "Econ", "Bio") for insured in (False, True)]
    assert [row[:2] for row in rows] == [*keys, ("CS", None), ("Econ", None), ("Bio", None), (None, None)]


def test_a_set_that_is_named_twice_is_there_twice_and_paid_once(by_row):
    answer = ask(by_row, "DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY GROUPING SETS ((dept), (dept), ())")
    assert answer.rows[:3] == answer.rows[3:6]
    assert len(answer.rows) == 7


def test_having_order_by_and_limit_act_on_the_rows_of_all_sets(by_row):
    text = "DP-SELECT 100 dept, insured, COUNT(*) AS n, GROUPING(dept, insured) AS g FROM visits"
    every = ask(by_row, f"{text} GROUP BY CUBE (dept, insured) ORDER BY n DESC").rows
    counts = [row[2] for row in every]
    assert counts == sorted(counts, reverse=True)
    assert every[0][3] == 3  # the total is the largest
    later = ask(by_row, f"{text} GROUP BY CUBE (dept, insured) ORDER BY n DESC LIMIT 2 OFFSET 1").rows
    assert later == every[1:3]
    totals = ask(by_row, f"{text} GROUP BY CUBE (dept, insured) HAVING GROUPING(insured) = 1 AND n > 5 ORDER BY 1").rows
    assert [row[0] for row in totals] == ["Bio", "CS", "Econ", None]
    mixed = ask(by_row, f"{text} GROUP BY CUBE (dept, insured) ORDER BY GROUPING(dept) DESC, g, n").rows
    assert [row[3] for row in mixed] == [2, 2, 3, *[0] * 6, 1, 1, 1]
    assert spent(by_row).epsilon == 100


@pytest.mark.parametrize("chosen", ["MODE(dept)", "TOP_K(dept, 2)", "HISTOGRAM(dept)"])
def test_what_is_chosen_can_be_ordered_by(by_row, chosen):
    text = f"DP-SELECT 1 insured, {chosen} AS m FROM visits GROUP BY ROLLUP (insured) ORDER BY m DESC, 1"
    read = [str(row[1]) for row in ask(by_row, text).rows]
    assert read == sorted(read, reverse=True)


def test_grouping_is_a_whole_number_and_arithmetic_over_it_is_exact(by_row):
    answer = ask(
        by_row,
        "DP-SELECT 1 GROUPING(dept) AS g, GROUPING(dept) / 2 AS h, COUNT(*) + GROUPING(dept) AS n FROM visits"
        " GROUP BY ROLLUP (dept)",
    )
    assert [row[:2] for row in answer.rows] == [(0, 0), (0, 0), (0, 0), (1, 0.5)]
    assert all(isinstance(row[0], int) for row in answer.rows)
    for errors in answer.errors:
        assert errors[:2] == (None, None)
        assert errors[2] > 0


def test_sums_of_sums_add_up_too(by_row):
    rows = ask(by_row, "DP-SELECT 1 dept, SUM(amount), SUM(age), COUNT(*) FROM visits GROUP BY ROLLUP (dept)").rows
    for column in (1, 2, 3):
        assert sum(row[column] for row in rows[:3]) == pytest.approx(rows[3][column])


def test_a_public_tables_values_are_keys_of_sets(monkeypatch, tmp_path):
    switch_off(monkeypatch)
    cities = ColumnPolicy("city", domain=TableDomain("cities", "name"))
    columns = [cities if column.name == "city" else column for column in COLUMNS]
    made = clinic(unit="row", max_groups=1, max_rows=1, columns=columns)
    text = "DP-SELECT 1 city, COUNT(*) AS n FROM visits GROUP BY ROLLUP (city)"
    answer = ask(made.curator(tmp_path), text)
    assert answer.rows == (("city0", 40), ("city1", 40), ("city2", 40), (None, 120))  # of five cities three are public


# ── sums that do not wrap round ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        ([TOP, TOP, TOP, 1], TOP),
        ([LOW, LOW, -1, 0], LOW),
        ([TOP, LOW, 5, 0], 4),
        ([TOP, 1, -1, 0], TOP),
        ([-3, 5, -(1 << 40), 1 << 41], 2 + (1 << 40)),
    ],
)
def test_bars_are_held_at_the_ends_of_64_bits(cells, total):
    assert added_up(padded(np.array(cells, dtype=np.int64), [flat(4)]), (1,)).tolist() == [total]


@pytest.mark.parametrize(
    "other",
    [
        "ORDER BY n LIMIT 2",
        "ORDER BY dept DESC LIMIT 2",
        "ORDER BY n DESC LIMIT 3",
        "ORDER BY n DESC LIMIT 2 OFFSET 1",
        "HAVING COUNT(*) > 5 ORDER BY n DESC LIMIT 2",
    ],
)
def test_an_id_stands_for_the_order_and_the_rows_that_are_shown_too(by_row, other):
    text = f"DP-SELECT 1 FRESH {ROLLUP}"
    ask(by_row, f"{text} ORDER BY n DESC LIMIT 2", request_id="r")
    before = spent(by_row)
    with pytest.raises(RequestConflict):
        ask(by_row, f"{text} {other}", request_id="r")
    assert spent(by_row) == before
