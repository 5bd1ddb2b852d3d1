"""A batch answered as a whole: what is shared, what is charged, what is refused, and that the answers are right."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import HALF, clinic, row_clinic, visits
from conformance.sql_world import ANALYSTS, policy_of, world
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.jobs import pieces as batch_pieces
from tacit.curator.jobs.job_plan import plan_batch
from tacit.curator.jobs.pieces import Joint, Lone
from tacit.curator.reading import histograms
from tacit.errors import BudgetExceeded, EngineError, InvalidParameter, QueryRefused
from tacit.mechanisms import Gaussian, Laplace
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy
from tacit.sql.workloads import workload

ANA = Session("ana")
RANGES = tuple(
    f"SELECT COUNT(*) FROM visits WHERE age BETWEEN {a} AND {b}" for a in range(20, 90, 8) for b in (a + 3, 90)
)


@pytest.fixture
def by_row(tmp_path):
    return row_clinic().curator(tmp_path)


def planned(made, questions, epsilon=1, delta=0):
    return plan_batch(questions, made.policy, schema=made.engine.schema(), session=ANA, price=Loss(epsilon, delta))


def spent(curator):
    return curator.balance("ana").total.spent


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_overlapping_ranges_share_one_statement():
    made = planned(row_clinic(), RANGES)
    (piece,) = made.pieces
    assert isinstance(piece, Joint)
    assert len(piece.plan.statements) == 1
    assert piece.cells.workload.cells < 73  # ages that no question tells apart are one
    assert piece.loss == Loss(1)


def test_the_prices_of_the_pieces_are_the_price_exactly():
    made = planned(
        clinic(), [*RANGES[:7], "SELECT SUM(amount) FROM visits", "SELECT MEDIAN(age) FROM visits"], Fraction(1, 3)
    )
    losses = [piece.loss if isinstance(piece, Joint) else piece.plan.loss for piece in made.pieces]
    assert sum((loss.epsilon for loss in losses), Fraction(0)) == Fraction(1, 3)
    assert sorted(type(piece).__name__ for piece in made.pieces) == ["Joint", "Lone", "Lone"]
    assert next(loss for loss in losses).epsilon == Fraction(1, 3) * 7 / 9


@pytest.mark.parametrize(
    "made", [row_clinic(), clinic(), clinic(bounding="sample"), row_clinic(dataset={"adjacency": "replace"})]
)
def test_the_noise_of_a_workload_costs_what_is_charged(made):
    (piece,) = planned(made, RANGES, HALF).pieces
    measured = piece.plan.measurements[0]
    steps = made.policy.adjacency.steps
    strategy = piece.noise.strategy
    moved = [
        measured.l1 * strategy.absolute_norm(part) for part in strategy.parts
    ]  # a unit moves weighted sums further
    costs = [noise.loss(by).epsilon for noise, by in zip(piece.noise.noises, moved, strict=True)]
    assert sum(costs, Fraction(0)) * steps == HALF


@pytest.mark.parametrize("adjacency", ["add/remove", "replace"])
def test_gaussian_noise_costs_no_more_than_the_price_in_rho(adjacency):
    made = replace_budget(row_clinic(dataset={"adjacency": adjacency}), accounting="zcdp")
    (piece,) = planned(made, RANGES, 1, Fraction(1, 10**6)).pieces
    assert isinstance(piece.noise.noises[0], Gaussian)
    rho = sum((noise.rho(piece.plan.measurements[0].l1) for noise in piece.noise.noises), Fraction(0))
    assert rho * made.policy.adjacency.steps**2 <= batch_pieces.rho_of_job(
        Loss(1, Fraction(1, 10**6)), [(10**9, Fraction(1))]
    )


def test_gaussian_noise_is_taken_where_it_is_better():
    """Eight attributes of which each pair is asked: a person is in 28 of the bars, which in L2 are few."""
    columns = [ColumnPolicy(f"b{place}") for place in range(8)]
    made = world(
        policy_of([TablePolicy("bits", "row", columns=columns)]),
        "CREATE TABLE bits AS SELECT "
        + ", ".join(f"i % {place + 2} = 0 AS b{place}" for place in range(8))
        + " FROM range(9) AS made(i)",
    )
    pairs = [
        f"SELECT {a}, {b}, COUNT(*) FROM bits GROUP BY {a}, {b}"
        for a, b in itertools.combinations([c.name for c in columns], 2)
    ]
    (pure,), (approximate,) = planned(made, pairs).pieces, planned(made, pairs, 1, Fraction(1, 1000)).pieces
    assert isinstance(pure.noise.noises[0], Laplace)
    assert isinstance(approximate.noise.noises[0], Gaussian)
    assert approximate.noise.strategy.name == "marginals"


@pytest.mark.parametrize("bounding", ["sample", "weigh"])
def test_one_unit_moves_the_cells_by_no_more_than_is_claimed(bounding):
    """Every unit is taken out in turn; the farthest one comes close, so the claim is not idle."""
    made = clinic(bounding=bounding)
    questions = ["SELECT dept, insured, COUNT(*) FROM visits GROUP BY dept, insured", *RANGES[:8]]
    joint = next(piece for piece in planned(made, questions, 100).pieces if isinstance(piece, Joint))
    measured = joint.plan.measurements[0]

    def cells(where):
        reads = (
            joint.plan.statements[0].sql("duckdb").replace('FROM "visits"', f'FROM (SELECT * FROM "visits" {where})', 1)
        )
        return histograms(joint, made.engine.execute(reads))[0]

    whole = cells("")
    assert whole.any()
    moved = [np.abs(whole - cells(f"WHERE patient_id <> 'p{unit}'")).sum() for unit in range(40)]
    assert max(moved) <= measured.l1
    assert max(moved) >= measured.l1 / 4


def test_one_question_is_no_workload():
    (piece,) = planned(row_clinic(), RANGES[:1]).pieces
    assert isinstance(piece, Lone)


def test_the_same_question_twice_is_asked_once(by_row):
    made = planned(row_clinic(), ["SELECT SUM(amount) FROM visits"] * 3 + ["SELECT AVG(amount) FROM visits"])
    assert len(made.pieces) == 2
    batch = by_row.batch(["SELECT SUM(amount) FROM visits"] * 3, session=ANA, epsilon=1)
    assert batch[0].rows == batch[1].rows == batch[2].rows


def test_too_many_cells_fall_back_on_questions_one_by_one(monkeypatch):
    monkeypatch.setattr(workload, "MAX_CELLS", 20)
    made = planned(row_clinic(), RANGES)
    assert all(isinstance(piece, Lone) for piece in made.pieces)
    assert sum((piece.plan.loss.epsilon for piece in made.pieces), Fraction(0)) == 1


def test_columns_that_no_question_combines_are_taken_apart_where_their_cells_are_too_many(monkeypatch):
    monkeypatch.setattr(workload, "MAX_CELLS", 100)
    seen = [
        f"SELECT COUNT(*) FROM visits WHERE dept IN {names}" for names in ("('CS')", "('CS', 'Bio')", "('CS', 'Econ')")
    ]
    pieces = planned(row_clinic(), [*RANGES, *seen]).pieces
    assert len(pieces) < len(RANGES) + 3
    assert any(isinstance(piece, Joint) and len(piece.members) == len(RANGES) for piece in pieces)


JOINED = "FROM visits v JOIN cities c ON v.city = c.name"
BELOW = tuple(f"SELECT COUNT(*) {JOINED} WHERE v.age < {age}" for age in range(20, 90, 3))


def test_questions_over_a_join_share_it(tmp_path):
    """Caps that nobody reaches, so that the counts can be told by hand; at so large an epsilon noise is nothing."""
    made = clinic(max_groups=6, max_rows=6)
    (piece,) = planned(made, BELOW, 1000).pieces
    assert isinstance(piece, Joint)
    batch = made.curator(tmp_path).batch(BELOW, session=ANA, epsilon=1000)
    exact = [made.engine.execute(text.replace("COUNT(*)", "COUNT(*) AS n")).integers("n")[0] for text in BELOW]
    assert [answer.rows[0][0] for answer in batch] == pytest.approx(exact, abs=1)


def test_what_gains_nothing_from_a_workload_does_not_keep_others_from_theirs():
    others = [
        f"SELECT dept, COUNT(*) {JOINED} GROUP BY dept",
        f"SELECT COUNT(*) {JOINED} WHERE dept = 'CS' AND age < 60",
    ]
    made = planned(clinic(max_groups=6, max_rows=2, bounding="sample"), [*BELOW, *others])
    assert [type(piece).__name__ for piece in made.pieces] == ["Joint", "Lone", "Lone"]
    losses = [piece.loss if isinstance(piece, Joint) else piece.plan.loss for piece in made.pieces]
    assert sum((loss.epsilon for loss in losses), Fraction(0)) == 1


def test_without_max_groups_units_that_are_sampled_stand_alone():
    made = planned(clinic(max_groups=None, bounding="sample"), RANGES)
    assert all(isinstance(piece, Lone) for piece in made.pieces)


def test_questions_alone_are_split_for_the_least_squared_error(monkeypatch):
    """Under Laplace noise a question with 73 groups is given ∛73 times what a single count is."""
    monkeypatch.setattr(workload, "MAX_CELLS", 1)
    made = planned(
        row_clinic(),
        ["SELECT age, COUNT(*) FROM visits GROUP BY age", "SELECT COUNT(*) FROM visits WHERE age < 30"],
        Fraction(1, 100),  # so little that noise knows no lattice
    )
    many, one = (piece.plan.loss.epsilon for piece in made.pieces)
    assert float(many / one) == pytest.approx(73 ** (1 / 3), rel=1e-4)


def test_other_conditions_stay_with_the_histogram_they_share():
    questions = [f"SELECT COUNT(*) FROM visits WHERE city LIKE 'city%' AND age < {age}" for age in range(25, 60, 5)]
    (piece,) = planned(row_clinic(), questions).pieces
    assert "LIKE" in piece.plan.statements[0].canonical
    mixed = planned(row_clinic(), [*questions, *RANGES]).pieces
    assert len([piece for piece in mixed if isinstance(piece, Joint)]) == 2


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_batch_is_one_charge_of_exactly_what_was_typed(by_row):
    batch = by_row.batch([*RANGES, "SELECT SUM(amount) FROM visits"], session=ANA, epsilon="0.3")
    assert spent(by_row).epsilon == Fraction(3, 10)
    charges = [entry for entry in by_row.log("ana") if entry.act == "charge"]
    assert [entry.epsilon for entry in charges] == [Fraction(3, 10)]
    assert charges[0].outcome == "settle"
    assert charges[0].note == f"a batch of {len(RANGES) + 1} questions"
    assert batch.cost == Loss(Fraction(3, 10))
    assert len({answer.receipt.entry for answer in batch} | {batch.receipt.entry}) == 1


class Watched:
    """An engine that tells what the ledger holds when a row is read, or fails."""

    def __init__(self, engine, look):
        self._engine, self._look = engine, look
        self.dialect, self.asked = engine.dialect, []

    def schema(self):
        return self._engine.schema()

    def execute(self, sql):
        self.asked.append(sql)
        self._look()
        return self._engine.execute(sql)

    def close(self):
        self._engine.close()


def test_the_charge_is_on_record_before_the_one_query_runs(tmp_path):
    made = row_clinic()
    seen = []
    engine = Watched(made.engine, lambda: seen.append(spent(curator).epsilon))
    curator = replace(made, engine=engine).curator(tmp_path)
    curator.batch(RANGES, session=ANA, epsilon=1)
    assert len(engine.asked) == 1
    assert seen == [1]


def test_what_fails_stays_charged_and_says_nothing(tmp_path):
    def fail():
        raise ValueError("Could not convert string 'Alice'")

    made = row_clinic()
    curator = replace(made, engine=Watched(made.engine, fail)).curator(tmp_path)
    with pytest.raises(EngineError) as caught:
        curator.batch(RANGES, session=ANA, epsilon=1)
    assert "Alice" not in str(caught.value)
    assert caught.value.__context__ is None
    assert spent(curator).epsilon == 1
    assert [entry.outcome for entry in curator.log("ana") if entry.act == "charge"] == ["fail"]


def test_the_same_batch_is_free_and_the_same_to_the_last_digit(by_row):
    first = by_row.batch([*RANGES, "SELECT SUM(amount) FROM visits"], session=ANA, epsilon=1)
    again = by_row.batch([*RANGES, "SELECT SUM(amount) FROM visits"], session=ANA, epsilon=1)
    assert again.reused == "the same questions"
    assert again.cost == Loss(0)
    assert [answer.rows for answer in again] == [answer.rows for answer in first]
    assert by_row.batch(RANGES, session=ANA, epsilon=2).reused is None
    assert by_row.batch(RANGES, session=ANA, epsilon=1, fresh=True).cost == Loss(1)


def test_a_request_id_gives_the_batch_already_paid_for(tmp_path):
    made = row_clinic()
    policy = replace_budget(made, reuse=False)
    curator = policy.curator(tmp_path)
    first = curator.batch(RANGES, session=ANA, epsilon=1, request_id="one")
    again = curator.batch(RANGES, session=ANA, epsilon=1, request_id="one")
    assert again.reused == "the same request"
    assert [answer.rows for answer in again] == [answer.rows for answer in first]
    assert spent(curator).epsilon == 1
    with pytest.raises(QueryRefused):
        curator.batch(RANGES[:5], session=ANA, epsilon=1, request_id="one")


def replace_budget(made, **budget):
    usual = {"epsilon": 1000, "delta": Fraction(1, 10)}
    tables, adjacency = [made.policy.table("visits")], made.policy.adjacency.value
    policy = policy_of(tables, budget=BudgetPolicy(**(usual | budget)), analysts=ANALYSTS, adjacency=adjacency)
    return replace(made, policy=policy)


def test_under_concentrated_accounting_a_batch_costs_its_rho(tmp_path):
    made = replace_budget(row_clinic(), accounting="zcdp")
    curator = made.curator(tmp_path)
    batch = curator.batch([*RANGES, "SELECT SUM(amount) FROM visits"], session=ANA, epsilon=1, delta="1e-6")
    assert all(isinstance(n, Gaussian) for n in planned(made, RANGES, 1, Fraction(1, 10**6)).pieces[0].noise.noises)
    assert 0 < spent(curator).rho < Fraction(1, 20)
    assert batch.cost == Loss(1, Fraction(1, 10**6))


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("questions", "says"),
    [
        (["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM nowhere"], "question 2: "),
        (["SELECT COUNT(* FROM visits"], "question 1: "),
        (["DP-SELECT 0.5 COUNT(*) FROM visits"], "no price of its own"),
        (["EXPLAIN SELECT COUNT(*) FROM visits"], "no price of its own"),
        (["DP-SELECT WITHIN 5 COUNT(*) FROM visits"], "no price of its own"),
        ([], "1 to 2,000 questions"),
        (["SELECT COUNT(*) FROM visits", "SELECT city, COUNT(*) FROM visits GROUP BY city"], "question 2: .*delta"),
    ],
)
def test_a_refusal_says_which_question_and_charges_nothing(by_row, questions, says):
    with pytest.raises(QueryRefused, match=says):
        by_row.batch(questions, session=ANA, epsilon=1)
    assert spent(by_row).epsilon == 0
    assert by_row.log("ana") == ()


@pytest.mark.parametrize("epsilon", [0, -1, "much"])
def test_an_epsilon_that_is_none_is_refused(by_row, epsilon):
    with pytest.raises(InvalidParameter):
        by_row.batch(RANGES, session=ANA, epsilon=epsilon)


def test_a_batch_that_costs_too_much_is_refused(by_row, tmp_path):
    with pytest.raises(BudgetExceeded):
        by_row.batch(RANGES, session=ANA, epsilon=1001)
    (tmp_path / "limited").mkdir()
    limited = replace_budget(row_clinic(), max_epsilon=HALF).curator(tmp_path / "limited")
    with pytest.raises(BudgetExceeded, match="at most"):
        limited.batch(RANGES, session=ANA, epsilon=1)
    assert spent(by_row).epsilon == spent(limited).epsilon == 0


def test_private_keys_take_the_delta_of_the_policy(tmp_path):
    curator = replace_budget(row_clinic(), default_delta=Fraction(1, 10**5)).curator(tmp_path)
    questions = ["SELECT city, COUNT(*) FROM visits GROUP BY city", "SELECT COUNT(*) FROM visits"]
    batch = curator.batch(questions, session=ANA, epsilon=20)
    assert batch.cost == Loss(20, Fraction(1, 10**5))
    assert batch[0].columns == ("city", "count(*)")
    assert spent(curator).delta == Fraction(1, 10**5)


def test_parameters_come_with_their_question(by_row):
    batch = by_row.batch(
        [
            ("SELECT COUNT(*) FROM visits WHERE age < ?", [90]),
            ("SELECT COUNT(*) FROM visits WHERE age < :a", {"a": 19}),
        ],
        session=ANA,
        epsilon=300,
    )
    assert batch[0].rows[0][0] > batch[1].rows[0][0] + 100


def test_every_answer_says_how_it_was_got(by_row):
    batch = by_row.batch([*RANGES, "SELECT SUM(amount) FROM visits"], session=ANA, epsilon=1)
    assert any("least squares" in note for note in batch[0].notes)
    assert batch.strategies[0].startswith(f"{len(RANGES)} questions together, by ")
    assert batch.strategies[1].startswith("1 question alone")
    assert "Laplace of scale" in batch[0].receipt.mechanisms[0]
    assert isinstance(planned(row_clinic(), RANGES).pieces[0].noise.noises[0], Laplace)
    for text in (batch.to_markdown(), batch.to_json(), batch._repr_html_(), batch.footer()):
        assert "1" in text
    assert batch.to_dict()["epsilon"] == "1"
    assert len(batch) == len(list(batch)) == len(RANGES) + 1


def test_caps_of_different_size_do_not_share_a_histogram():
    options = "WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed={})"
    made = clinic()
    kinds = {workload.fitting(made.bound(f"SELECT {options.format(n)} COUNT(*) FROM visits")).kind for n in (1, 2)}
    assert len(kinds) == 2
    assert visits().max_rows == 3


def test_a_delta_of_the_policy_pays_for_the_keys_of_those_questions_that_have_private_ones(tmp_path):
    budget = BudgetPolicy(10, Fraction(1, 100), default_delta=Fraction(1, 10**6))
    curator = row_clinic(dataset={"budget": budget}).curator(tmp_path)
    texts = ["SELECT COUNT(*) FROM visits", "SELECT city, COUNT(*) FROM visits GROUP BY city"]
    curator.batch(texts, session=ANA, epsilon=1)
    assert (spent(curator).epsilon, spent(curator).delta) == (1, Fraction(1, 10**6))


def test_an_epsilon_beyond_all_bounds_is_refused(by_row):
    with pytest.raises(InvalidParameter, match="epsilon is too large a number"):
        by_row.batch(RANGES[:2], session=ANA, epsilon=10**300)
