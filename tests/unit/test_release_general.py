"""The Net mechanism and multiplicative weights: their laws, sensitivity and price, and how good they are."""

from __future__ import annotations

import itertools
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from support.sources import Seeded
from tacit.accounting import loss_of
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Exponential, Laplace
from tacit.release.general import Mwem, NetMechanism, OnlineWeights
from tacit.release.general.queries import checked_queries

FALSE_ALARM = 1e-9
TOY, QUERIES = np.array([3, 1, 0]), np.array([[1, 0, 0], [0, 1, 1]])
HISTOGRAM = st.lists(st.integers(0, 6), min_size=3, max_size=3).map(np.array)
MATRIX = st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=4).map(np.array)


def p_value(drawn: Fraction, claimed: Fraction, draws: int = 8_000) -> float:
    """How likely multisets drawn by release at one ε are under the enumerated exponential mechanism at another."""
    net, source = NetMechanism.costing(Loss(drawn), 2), Seeded(11)
    every = [tuple(np.bincount(each, minlength=3)) for each in itertools.combinations_with_replacement(range(3), 2)]
    seen = dict.fromkeys(every, 0)
    for _ in range(draws):
        seen[tuple(net.release(TOY, QUERIES, source))] += 1
    scores = np.array([-max(abs(2 * q @ TOY - TOY.sum() * (q @ np.array(y))) for q in QUERIES) for y in every])
    weights = np.exp(float(claimed) / (2 * 2) * scores)
    expected = draws * weights / weights.sum()
    return float(chi2.sf(((np.array(list(seen.values())) - expected) ** 2 / expected).sum(), len(every) - 1))


def test_the_net_mechanism_has_the_law_of_the_enumerated_exponential_mechanism() -> None:
    assert p_value(Fraction(2), Fraction(2)) > FALSE_ALARM


@pytest.mark.parametrize("claimed", [Fraction(14, 10), Fraction(26, 10)])
def test_a_wrong_scale_is_noticed(claimed: Fraction) -> None:
    assert p_value(Fraction(2), claimed) < FALSE_ALARM


@given(HISTOGRAM, MATRIX, st.integers(1, 4))
def test_one_row_moves_no_score_further_than_the_size(data: np.ndarray, matrix: np.ndarray, size: int) -> None:
    net, asked = NetMechanism.costing(Loss(1), size), checked_queries(matrix)
    before = net.scores(data, asked)
    for gone, new in itertools.product(range(4), repeat=2):  # the fourth is nobody: added, removed or replaced
        moved = data.copy()
        if gone < 3:
            moved[gone] -= 1
        if new < 3:
            moved[new] += 1
        if moved.min() >= 0:
            assert np.abs(net.scores(moved, asked) - before).max() <= size


def test_a_row_can_move_a_score_by_the_whole_size() -> None:
    net, asked = NetMechanism.costing(Loss(1), 4), checked_queries(np.eye(3, dtype=int))
    moved = net.scores(np.array([6, 0, 0]), asked) - net.scores(np.array([5, 0, 0]), asked)
    assert np.abs(moved).max() == 4


def test_a_choice_costs_what_was_typed_and_its_usefulness_holds() -> None:
    net = NetMechanism.costing(Loss(1), 4)
    assert net.loss() == Loss(1)
    assert net.event().epsilon == 1
    data, asked = np.array([9_000, 4_000, 2_000, 1_000]), np.eye(4, dtype=int)
    bound = net.error("0.99", universe=4, queries=4, rows=16_000)
    for turn in range(30):
        chosen = net.release(data, asked, Seeded(turn))
        assert chosen.sum() == 4
        assert np.abs(chosen / 4 - data / data.sum()).max() <= bound
    assert NetMechanism.size_for(0.1, 100) == 265


def test_multiplicative_weights_beat_independent_noise_on_a_thousand_marginals() -> None:
    bits = (np.arange(1024)[:, None] >> np.arange(10)) & 1
    triples = [(axes, values) for axes in itertools.combinations(range(10), 3) for values in np.ndindex(2, 2, 2)]
    pairs = [(axes, values) for axes in itertools.combinations(range(10), 2) for values in np.ndindex(2, 2)]
    asked = np.array([(bits[:, list(axes)] == values).all(axis=1) for axes, values in [*triples, *pairs][:1000]])
    random = np.random.default_rng(0)
    chances = random.random((4, 10))[random.integers(0, 4, 10**6)]
    histogram = np.bincount((random.random((10**6, 10)) < chances) @ (1 << np.arange(10)), minlength=1024)
    mechanism = Mwem.costing(Loss(1), 60)
    hypothesis = mechanism.release(histogram, asked.astype(int), rows=10**6, source=Seeded(3))
    worst = float(np.abs(asked @ (hypothesis - histogram)).max())
    alone = Laplace.costing(Loss("1/1000"), 1).error("0.5", count=1000)  # of half of all runs the largest is below
    assert worst < min(alone, mechanism.error(universe=1024, queries=1000, rows=10**6))


def test_rounds_cost_what_was_typed_and_draw_no_more() -> None:
    mechanism = Mwem.costing(Loss("0.7"), 5)
    assert mechanism.loss() == Loss("0.7")
    assert loss_of(mechanism.event()) == Loss("0.7")
    drawn: list[str] = []
    with (
        patch.object(Exponential, "release", heard(Exponential.release, drawn, "choice")),
        patch.object(Laplace, "release", heard(Laplace.release, drawn, "noise")),
    ):
        mechanism.release(TOY, QUERIES, rows=4)
    assert drawn == ["choice", "noise"] * 5


def heard(original: object, drawn: list[str], name: str) -> object:
    def release(self: object, *args: object) -> object:
        drawn.append(name)
        return original(self, *args)  # type: ignore[operator]

    return release


@pytest.mark.parametrize(
    ("histogram", "queries"),
    [
        ([], [[1]]),
        ([-1, 2], [[1, 0]]),
        ([1, 2], [[1, 2]]),
        ([1, 2], [[1, 0, 1]]),
        ([1, 2], [1, 0]),
        ([1, 2], np.zeros((0, 2))),
        ([1.5, 2], [[1, 0]]),
    ],
)
def test_what_makes_no_sense_is_refused(histogram: object, queries: object) -> None:
    with pytest.raises(InvalidParameter):
        NetMechanism.costing(Loss(1), 2).release(histogram, queries)
    with pytest.raises(InvalidParameter):
        Mwem.costing(Loss(1), 2).release(histogram, queries, rows=3)


def test_too_many_multisets_and_odd_sizes_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="multisets"):
        NetMechanism.costing(Loss(1), 9).release([1] * 60, np.eye(60, dtype=int))
    for size in (0, 65, True, 1.5):
        with pytest.raises(InvalidParameter):
            NetMechanism.costing(Loss(1), size)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter):
            Mwem.costing(Loss(1), 0 if size == 65 else size)  # type: ignore[arg-type]


def online(epsilon: str = "1", *, threshold: int = 3_000, corrections: int = 12) -> OnlineWeights:
    return OnlineWeights.costing(Loss(epsilon), threshold=threshold, corrections=corrections)


def test_an_online_life_costs_what_was_typed_however_it_is_used() -> None:
    mechanism = online("0.6")
    assert mechanism.loss().epsilon <= Fraction("0.6")
    assert mechanism.loss().epsilon > Fraction("0.6") * (1 - Fraction(1, 10**9))
    assert loss_of(mechanism.event()) == mechanism.loss()


def test_most_questions_are_free_and_every_answer_is_near() -> None:
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    histogram = np.where(bits[:, 0] == bits[:, 1], 1_500, 60)
    rows = int(histogram.sum())
    asked = np.array(
        [(bits[:, [a, b]] == (u, v)).all(axis=1) for a in range(8) for b in range(a) for u, v in np.ndindex(2, 2)]
    )
    life, bound = online().start(histogram, rows=rows, source=Seeded(5)), online().error("0.999999", questions=224)
    given = [(life.ask(query), int(query @ histogram)) for query in (*asked.astype(int), *asked.astype(int))]
    assert 0 < sum(answer.measured for answer, _ in given) < 12
    assert all(abs(float(answer) - true) < bound for answer, true in given)
    assert repr(life).startswith("<online weights")
    assert "data" not in repr(life)


def test_a_life_that_is_used_up_answers_from_what_is_public() -> None:
    """What a stranger sees once it is over no longer depends on the data."""
    lives = [
        online(threshold=1, corrections=1).start(data, rows=10_000, source=Seeded(8))
        for data in ([9_999, 1], [1, 9_999])
    ]
    for life in lives:
        while life.left:
            life.ask([1, 0])
        life._data[:] = 0
        assert life.ask([0, 1]).value == pytest.approx(life.hypothesis[1])
        assert not life.ask([1, 0]).measured
    with pytest.raises(InvalidParameter):
        lives[0].ask([1, 0, 1])
    with pytest.raises(InvalidParameter):
        online().start([1, 2], rows=0)


def test_data_are_measured_no_more_often_than_was_paid() -> None:
    drawn: list[str] = []
    with patch.object(Laplace, "release", heard(Laplace.release, drawn, "noise")):
        life = online(threshold=1, corrections=3).start([5_000, 10, 70, 900], rows=5_980, source=Seeded(1))
        for turn in range(200):
            life.ask(np.eye(4, dtype=int)[turn % 4])
    assert len(drawn) <= 3
