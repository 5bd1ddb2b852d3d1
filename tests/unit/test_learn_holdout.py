"""The reusable holdout: repeats the training set where it is right, contradicts it where it is not, and stops."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.core import Loss
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.learn import HoldoutWarning, Ladder, ReusableHoldout, benjamini_hochberg, benjamini_yekutieli
from tacit.learn.holdout import rows as rows_in_steps
from tacit.learn.holdout.rows import steps_of_one, sums_in_steps, values_of

ROWS = 4_000


def holdout(**options) -> ReusableHoldout:
    settings = {"threshold": 0.04, "noise": 0.001, "budget": 20} | options
    return ReusableHoldout(np.zeros(ROWS), np.zeros(ROWS), **settings)


def ones(share: float, rows: int = ROWS) -> np.ndarray:
    return np.arange(rows) < round(share * rows)


def test_where_both_sets_agree_the_training_set_is_repeated_exactly():
    checked = holdout().check_values(ones(0.5), ones(0.505))
    assert (checked.value, checked.misled, checked.left) == (0.5, False, 20)


def test_where_the_training_set_misleads_the_holdout_answers_with_noise():
    checked = holdout().check_values(ones(0.9), ones(0.5))
    assert checked.misled
    assert checked.left == 19
    assert checked.value == pytest.approx(0.5, abs=0.03)  # Laplace of scale .001: beyond with e^-30
    assert checked.value != 0.5


def test_a_life_costs_what_the_paper_says():
    guarded = holdout()
    assert guarded.loss == Loss(2 * Fraction(20) / (Fraction("0.001") * ROWS))
    assert holdout(bounds=(-2, 2), threshold=0.16, noise=0.004).loss == guarded.loss


def test_without_a_number_the_budget_is_what_an_epsilon_of_one_pays_for():
    assert holdout(noise=0.01, budget=None).loss.epsilon <= 1
    assert holdout(noise=0.01, budget=None).budget == 20


def test_a_holdout_that_contradicted_often_enough_stops_for_good_and_says_so_before():
    guarded = holdout(budget=10)
    for _ in range(8):
        guarded.check_values(ones(0.9), ones(0.1))
    with pytest.warns(HoldoutWarning, match="1 more"):
        guarded.check_values(ones(0.9), ones(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        guarded.check_values(ones(0.9), ones(0.1))
    for train, hidden in ((0.9, 0.1), (0.5, 0.5)):
        with pytest.raises(BudgetExceeded, match="used up"):
            guarded.check_values(ones(train), ones(hidden))
    assert [entry.checked.left for entry in guarded.log] == list(range(9, -1, -1))


def test_many_statistics_are_asked_from_left_to_right_and_what_was_answered_stays_on_record():
    guarded = holdout(budget=2)
    train = np.stack([ones(0.5), ones(0.9), ones(0.5), ones(0.9), ones(0.5)], axis=1)
    hidden = np.stack([ones(0.5)] * 5, axis=1)
    with pytest.warns(HoldoutWarning), pytest.raises(BudgetExceeded):
        guarded.check_many(train, hidden, labels=list("abcde"))
    assert [(entry.label, entry.checked.misled) for entry in guarded.log] == [
        ("a", False),
        ("b", True),
        ("c", False),
        ("d", True),
    ]


def test_the_two_sets_need_not_be_of_one_size():
    guarded = ReusableHoldout(np.zeros(1_000), np.zeros(ROWS), noise=0.001, budget=5)
    assert not guarded.check_values(ones(0.25, 1_000), ones(0.25)).misled


def test_generalisation_is_promised_only_where_theory_does():
    wide = ReusableHoldout([0], np.zeros(200_000), noise=0.01, budget=20)
    assert wide.loss.epsilon == Fraction(1, 50)
    assert wide.generalises(0.05)
    assert not wide.generalises(0.03)  # ε > τ/2
    assert not holdout(budget=1, noise=0.1).generalises(0.02)  # too few rows


class Sign:
    def predict(self, rows):
        return rows > 0


def test_a_model_is_scored_by_its_predictions():
    rng = np.random.default_rng(5)
    sets = [(rows := rng.normal(size=ROWS), rows > 0) for _ in range(2)]
    guarded = ReusableHoldout(*sets, noise=Fraction(1, 1000), budget=5)
    assert guarded.scorer(Sign(), None, None) == pytest.approx(1, abs=0.03)  # further off one time in 10^13
    ((fit, test),) = guarded.split(sets[0][0])
    assert (fit.size, test.size, guarded.get_n_splits()) == (ROWS, 1, 1)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40),
    st.integers(-3, 2),
    st.integers(1, 5),
)
def test_sums_are_those_of_each_value_rounded_by_itself(values, low, width):
    def one(value: float) -> Fraction:
        clamped = min(max(Fraction(value), Fraction(low)), Fraction(low + width))
        return (clamped - low) / width * steps_of_one()

    (found,) = sums_in_steps(np.array(values)[:, None], (Fraction(low), Fraction(low + width)))
    assert abs(found - sum(map(one, values))) <= len(values) * Fraction(501, 1000)
    assert 0 <= found <= len(values) * steps_of_one()


def test_bounds_that_no_single_number_holds_bound_what_a_row_adds():
    """The nearest to 16,777,219 in single precision is one more: a row there would add four thirds of what it costs."""
    bounds = (Fraction(1 << 24), Fraction((1 << 24) + 3))
    assert sums_in_steps(np.array([[1e9]], dtype=np.float32), bounds) == [steps_of_one()]


def test_truth_is_one_whatever_the_bounds():
    truth = np.array([[True], [False], [True]])
    assert sums_in_steps(truth, (Fraction(0), Fraction(1))) == [2 * steps_of_one()]
    assert sums_in_steps(truth, (Fraction(0), Fraction(2))) == [steps_of_one()]
    assert sums_in_steps(truth, (Fraction(-1), Fraction(1))) == [5 * steps_of_one() // 2]


def test_rows_that_no_double_could_add_up_are_refused(monkeypatch):
    monkeypatch.setattr(rows_in_steps, "_MOST_ROWS", 3)
    assert values_of(np.zeros((3, 1)), rows=3).shape == (3, 1)
    with pytest.raises(InvalidParameter, match="too many rows"):
        values_of(np.zeros((4, 1)), rows=4)


@given(st.data())
@settings(max_examples=50)
def test_one_row_moves_a_sum_by_at_most_the_steps_of_one(data):
    """The sensitivity that the price rests on, whatever the other rows hold and in whatever precision."""
    kind = data.draw(st.sampled_from([np.float64, np.float32, np.int64, np.bool_]))
    extremes = st.sampled_from([-1e300, -3.4e38, -1.0, -1e-300, 0.0, 1e-45, 0.5, 1.0, 2.0, 3.4e38, 1e300])
    ends = (0, 1) if kind is np.bool_ else (-1, 1)
    cells = data.draw(st.lists(extremes, min_size=1, max_size=30))
    with np.errstate(all="ignore"):
        rows = np.clip(cells, -1e18, 1e18).astype(kind) if kind is np.int64 else np.array(cells).astype(kind)
        other = rows.copy()
        other[0] = np.array(data.draw(st.sampled_from([-1.0, 0.0, 1.0]))).astype(kind)
    finite = [np.nan_to_num(part) if part.dtype.kind == "f" else part for part in (rows, other)]
    bounds = (Fraction(ends[0]), Fraction(ends[1]))
    one, two = (sums_in_steps(part[:, None], bounds)[0] for part in finite)
    assert abs(one - two) <= steps_of_one()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"bounds": (1, 1)}, "width"),
        ({"threshold": 0}, "threshold"),
        ({"noise": -1}, "noise"),
        ({"noise": float("nan")}, "noise"),
        ({"budget": 0}, "budget"),
        ({"budget": True}, "budget"),
    ],
)
def test_a_holdout_that_cannot_be_is_refused(options, says):
    with pytest.raises(InvalidParameter, match=says):
        holdout(**options)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.zeros(3), "one value for each"),
        (np.full(ROWS, np.nan), "not finite"),
        (np.array(["a"] * ROWS), "numbers"),
        (np.zeros((ROWS, 2)), "one value for each"),
        (np.array(0.5), "one value for each"),
    ],
)
def test_values_that_are_no_statistic_are_refused_and_cost_nothing(values, says):
    guarded = holdout()
    with pytest.raises(InvalidParameter, match=says):
        guarded.check_values(ones(0.5), values)
    assert (guarded.left, guarded.log) == (20, ())


class Zeros:
    def predict(self, rows):
        return np.zeros(len(rows), dtype=int)


def test_one_label_of_a_list_does_not_decide_how_others_are_read():
    """Of a list with one text in it numpy makes texts; then no number was the label it had been."""
    rows = np.zeros((400, 1))
    judges = [ReusableHoldout((rows, [1] * 400), (rows, [0] * 399 + [last]), budget=5) for last in (1, "x")]
    assert all(judge.accuracy(Zeros()).value > 0.8 for judge in judges)


@pytest.mark.parametrize("data", [[], np.zeros((0, 3)), 5, np.array(1)])
def test_data_without_rows_are_refused(data):
    with pytest.raises(InvalidParameter):
        ReusableHoldout(data, np.zeros(5))
    with pytest.raises(InvalidParameter):
        ReusableHoldout(np.zeros(5), data)


# ── the Ladder ───────────────────────────────────────────────────────────────────────────────────────────────────────


def climbed(board, rounds: int, rng) -> float:
    """Boosting by guessing: random labels are kept and voted where the board praises them."""
    truth = rng.integers(0, 2, ROWS)
    votes = np.zeros(ROWS)
    best = math.inf
    for _ in range(rounds):
        guess = rng.integers(0, 2, ROWS)
        score = board((guess != truth).astype(float))
        if score < min(best, 0.5):
            votes += 2 * guess - 1
            if score < best and board is not every_score:
                best = score
    final = (votes > 0).astype(int)
    return board((final != truth).astype(float))


def every_score(losses) -> float:
    return float(np.mean(losses))


def test_a_board_that_shows_every_score_is_climbed_by_guessing_and_the_ladder_is_not():
    naive = climbed(every_score, 400, np.random.default_rng(1))
    ladder = climbed(Ladder(ROWS).submit, 400, np.random.default_rng(1))
    assert naive < 0.5 - 10 * 0.5 / math.sqrt(ROWS)  # about √(k/n): .13 below a coin's half
    assert ladder > 0.5 - 5 * 0.5 / math.sqrt(ROWS)


def test_an_improvement_that_is_real_is_told():
    board = Ladder(ROWS, step=0.01)
    losses = [np.arange(ROWS) < share * ROWS for share in (0.5, 0.495, 0.4, 0.399, 0.45)]
    assert [board.submit(each.astype(float)) for each in losses] == [0.5, 0.5, 0.4, 0.4, 0.4]
    assert board.submissions == 5


@pytest.mark.parametrize("make", [lambda: Ladder(0), lambda: Ladder(True), lambda: Ladder(5, step=0)])
def test_a_board_that_cannot_be_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()


# ── many hypotheses ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_textbooks_example_rejects_four_of_fifteen():
    """Benjamini and Hochberg 1995, section 4.1, at a level of 5 %."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert benjamini_hochberg(p, 0.05).tolist() == [True] * 4 + [False] * 11
    assert benjamini_yekutieli(p, 0.05).sum() == 3


def test_the_share_of_false_discoveries_is_held():
    """Over 400 draws of 200 hypotheses, 150 of them true, at a level of 10 %: the mean share is .075.

    A share lies between 0 and 1 and its variance is below .005 here; a mean above .1 has probability below 1e-9.
    """
    rng = np.random.default_rng(7)
    shares = []
    for _ in range(400):
        p = rng.uniform(size=200)
        p[:50] = rng.uniform(size=50) * 1e-4
        found = benjamini_hochberg(p, 0.1)
        shares.append(found[50:].sum() / max(1, found.sum()))
    assert 0.05 < np.mean(shares) < 0.1


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.001, 0.999))
def test_a_smaller_p_value_is_never_passed_over(p, level):
    found = benjamini_hochberg(p, level)
    kept = [value for value, rejected in zip(p, found, strict=True) if rejected]
    assert all(rejected for value, rejected in zip(p, found, strict=True) if kept and value <= max(kept))
    assert (benjamini_yekutieli(p, level) <= found).all()


@pytest.mark.parametrize("p", [[0.5, float("nan")], [-0.1], [1.1], [[0.5]]])
def test_what_are_no_p_values_is_refused(p):
    with pytest.raises(InvalidParameter):
        benjamini_hochberg(p, 0.05)


# ── the lectures' variant ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_gaussian_holdout_answers_warns_and_stops_and_names_no_price():
    from support.sources import Seeded
    from tacit.errors import QueryRefused
    from tacit.learn import GaussianHoldout

    rows = 2_000
    guard = GaussianHoldout(np.zeros((rows, 1)), np.zeros((rows, 1)), budget=11, source=Seeded(1))
    same, other = np.zeros(rows), np.ones(rows)
    agreed = guard.check_values(same, same)
    assert (agreed.value, agreed.misled, agreed.left) == (0.0, False, 11)
    contradicted = guard.check_values(same, other)
    assert contradicted.misled
    assert contradicted.value == pytest.approx(1, abs=0.08)  # eight standard deviations, held at 1
    for refused in (lambda: guard.loss, lambda: guard.generalises(0.05)):
        with pytest.raises(QueryRefused, match="no price"):
            refused()
    for _ in range(8):
        guard.check_values(same, other)
    with pytest.warns(HoldoutWarning):
        guard.check_values(same, other)
    guard.check_values(same, other)
    with pytest.raises(BudgetExceeded):
        guard.check_values(same, other)
