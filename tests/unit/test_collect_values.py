"""Choosing and estimating: the values of the local model and their goldens."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from support.sources import Constant, Seeded
from tacit import collect
from tacit.accounting.shuffle import shuffle
from tacit.accounting.shuffle_numerical import shuffle_numerically
from tacit.collect.estimates import nearest_on_simplex
from tacit.collect.frequencies.linear_hash import LinearHash, is_field_size
from tacit.core import Bounds, Loss
from tacit.errors import InvalidParameter

LN3 = 1.0986122886681098


# ── the lectures ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_two_fair_coins_are_the_lectures() -> None:
    coins = collect.Direct.two_coin()
    assert float(coins.loss().epsilon) == pytest.approx(LN3, abs=1e-15)
    assert (coins.support.own, coins.support.other) == (Fraction(3, 4), Fraction(1, 4))
    tally = collect.Tally(np.array([60, 40]), 100)
    assert coins.estimate(tally).values == pytest.approx([0.7, 0.3]), "q = 2p − 1/2"


def test_a_yes_raises_one_in_ten_to_one_in_four() -> None:
    [row] = collect.learnt(collect.Direct.two_coin(), ["0.1"])
    assert row.named == Fraction(1, 4)
    assert row.other == Fraction(1, 28)
    assert float(row.highest) == pytest.approx(0.25)
    assert row.lowest <= row.other < row.prior < row.named <= row.highest


def test_no_protocol_teaches_more_than_its_price_allows() -> None:
    for row in collect.learnt(collect.Hadamard.costing(Loss("0.1"), domain=8), ["0.5"]):
        assert float(row.highest) == pytest.approx(0.52497918747894)
        assert float(row.lowest) == pytest.approx(0.47502081252106)


def test_the_optimum_is_the_golden() -> None:
    optimised = collect.Unary.optimised(Loss(1), domain=1024)
    assert optimised.support.variance(0, 1) == pytest.approx(3.6826943768311695, rel=1e-12)


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        (collect.Unary.optimised, 1 - 1e-9, 1 + 1e-9),
        (collect.LocalHash.costing, 1, 1.003),
        (collect.Hadamard.costing, 1.27, 1.28),
        (collect.SubsetSelection.costing, 0.99, 1.001),
        (collect.Projective.costing, 1, 1.03),
    ],
)
def test_stated_variances_are_as_near_the_optimum_as_they_should_be(make: Any, low: float, high: float) -> None:
    optimum = 4 * math.e / (math.e - 1) ** 2
    assert low <= make(Loss(1), domain=1024).support.variance(0, 1) / optimum <= high


# ── choosing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_short_messages_are_chosen_where_they_cost_little() -> None:
    choice = collect.best(domain=1024, epsilon=1, n=1e6, bits=16)
    assert choice.best.bits <= 16
    assert choice.best.deviation < 1.02 * choice.options[0].deviation
    assert [option.fits for option in choice.options if option.bits > 16] == [False] * 3
    text = str(choice)
    assert text.count("\n") == 7
    assert text.count("→") == 1
    assert text.count("too long") == 3


def test_few_values_are_named_directly() -> None:
    assert isinstance(collect.best(3, 1, n=1000).protocol, collect.Direct)


def test_every_option_keeps_to_the_price() -> None:
    for epsilon in ("0.1", "1", "5"):
        choice = collect.best(200, epsilon, n=10_000)
        assert all(option.protocol.loss().epsilon <= Fraction(epsilon) for option in choice.options)
        assert len(choice.options) == 7


@pytest.mark.parametrize(
    ("domain", "epsilon", "options"),
    [
        (1, 1, {"n": 10}),
        (5, 0, {"n": 10}),
        (5, "nan", {"n": 10}),
        (5, 1, {"n": 0}),
        (5, 1, {"n": "2.5"}),
        (5, 1, {"n": 10, "bits": 0}),
        (500, 1, {"n": 10, "bits": 8}),
    ],
)
def test_a_choice_that_cannot_be_made_is_refused(domain: int, epsilon: Any, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        collect.best(domain, epsilon, **options)


def test_a_large_domain_leaves_out_what_cannot_be_added_up() -> None:
    names = {option.name for option in collect.best(1 << 22, 1, n=10**6).options}
    assert names >= {"direct", "Hadamard"}
    assert "local hash" not in names


# ── hashing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("buckets", [2, 3, 4, 5, 7, 8, 16])
def test_any_two_values_meet_once_in_as_many_times_as_there_are_buckets(buckets: int) -> None:
    family = LinearHash(30, buckets)
    functions = np.arange(family.functions)
    table = np.array([family(functions, np.array(value)) for value in range(30)])
    for one in range(30):
        for other in range(one):
            assert np.count_nonzero(table[one] == table[other]) * buckets == family.functions


@pytest.mark.parametrize(("domain", "buckets"), [(100, 3), (100, 4), (60, 2), (5, 7), (200, 13)])
def test_the_transform_counts_what_looking_one_by_one_does(domain: int, buckets: int) -> None:
    family = LinearHash(domain, buckets)
    seen = np.random.default_rng(22).integers(0, 50, (family.functions, buckets))
    functions = np.arange(family.functions)
    slow = [int(seen[functions, family(functions, np.array(value))].sum()) for value in range(domain)]
    assert family.agreeing(seen).tolist() == slow
    assert family._transformed(seen).tolist() == slow


def test_fields_are_of_prime_size_or_a_power_of_two() -> None:
    assert [size for size in range(20) if is_field_size(size)] == [2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19]
    with pytest.raises(InvalidParameter, match="no field of 6"):
        LinearHash(10, 6)


# ── estimates ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_nearest_point_of_the_simplex() -> None:
    assert nearest_on_simplex(np.array([0.5, 0.6, -0.3])) == pytest.approx([0.45, 0.55, 0])
    assert nearest_on_simplex(np.array([0.2, 0.3, 0.5])) == pytest.approx([0.2, 0.3, 0.5])
    random = nearest_on_simplex(np.random.default_rng(23).normal(size=50))
    assert random.sum() == pytest.approx(1)
    assert (random >= 0).all()


def test_a_consistent_estimate_is_labelled_biased() -> None:
    coins = collect.Direct.costing(Loss(1), domain=9)
    found = coins.estimate(coins.tally(coins.encode([0] * 50, Seeded(24))))
    fixed = found.on_simplex()
    assert fixed.biased
    assert not found.biased
    with pytest.raises(InvalidParameter, match="biased"):
        fixed.interval("0.95")


def test_intervals_that_hold_together_are_wider() -> None:
    coins = collect.Direct.costing(Loss(1), domain=9)
    found = coins.estimate(coins.tally(coins.encode(np.arange(900) % 9, Seeded(25))))
    single, together = (found.interval("0.95", together=both) for both in (False, True))
    assert (together[0] < single[0]).all()
    counts, errors = found.counts()
    assert counts.sum() == pytest.approx(900)
    assert errors == pytest.approx(found.errors * 900)


def test_there_is_nothing_to_estimate_without_reports() -> None:
    for protocol in (collect.Direct.two_coin(), collect.OneBit.costing(Loss(1), bounds=Bounds(0, 5))):
        with pytest.raises(InvalidParameter, match="nothing to estimate"):
            protocol.estimate(protocol.tally(np.zeros((0, 1), np.uint8)))


def test_tallies_of_different_protocols_do_not_add_up() -> None:
    with pytest.raises(InvalidParameter, match="do not fit together"):
        collect.Tally(np.zeros(2), 0) + collect.Tally(np.zeros(3), 0)


@pytest.mark.parametrize("weights", [[1, 2, 3], [-1, 1], [0.5, 1.0]])
def test_weights_that_do_not_fit_are_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidParameter, match="weights"):
        collect.Direct.two_coin().tally(np.zeros((2, 1), np.uint8), np.array(weights))


@pytest.mark.parametrize("value", [[5], [-1], [0.5], ["1"], [True]])
def test_an_answer_that_cannot_be_given_is_refused_and_not_repeated(value: list[Any]) -> None:
    for protocol in (
        collect.Direct.costing(Loss(1), domain=5),
        collect.Unary.optimised(Loss(1), domain=5),
        collect.LocalHash.costing(Loss(1), domain=5),
        collect.Hadamard.costing(Loss(1), domain=5),
        collect.SubsetSelection.costing(Loss(1), domain=5),
        collect.Projective.costing(Loss(1), domain=5),
    ):
        with pytest.raises(InvalidParameter):
            protocol.encode(value)


def test_a_tie_at_the_edge_of_a_subset_is_drawn_again() -> None:
    class TiesFirst:
        """Equal keys once, then honest ones."""

        def __init__(self) -> None:
            self.honest, self.asked = Seeded(26), 0

        def draw(self, count: int) -> Any:
            self.asked += 1
            return Constant(7).draw(count) if self.asked == 2 else self.honest.draw(count)

    protocol = collect.SubsetSelection.costing(Loss(1), domain=7)
    source = TiesFirst()
    assert protocol.tally(protocol.encode([3], source)).reports == 1
    assert source.asked == 3


# ── several attributes ───────────────────────────────────────────────────────────────────────────────────────────────


def test_all_attributes_cost_their_sum_and_one_of_them_the_dearest() -> None:
    parts = (collect.Direct.costing(Loss("0.5"), domain=3), collect.Direct.costing(Loss("0.25"), domain=4))
    assert float(collect.EveryAttribute(parts).loss().epsilon) == pytest.approx(0.75)
    assert float(collect.OneAttribute(parts).loss().epsilon) == pytest.approx(0.5)


@pytest.mark.parametrize("kind", [collect.EveryAttribute, collect.OneAttribute])
def test_each_attribute_is_estimated(kind: Any) -> None:
    parts = (collect.Direct.costing(Loss(2), domain=3), collect.Piecewise.costing(Loss(2), bounds=Bounds(0, 10)))
    people = 20_000
    protocol = kind(parts)
    bodies = protocol.encode([np.arange(people) % 3 // 2, np.full(people, 4.0)], Seeded(27))
    shares, mean = (part.estimate(tally) for part, tally in zip(parts, protocol.tallies(bodies), strict=True))
    assert (np.abs(shares.values - [2 / 3, 1 / 3, 0]) < 5 * shares.errors + 1e-4).all()
    assert abs(mean.values[0] - 4) < 5 * mean.errors[0]
    assert shares.reports + mean.reports == (2 * people if kind is collect.EveryAttribute else people)


def test_sampling_one_attribute_beats_splitting_the_price_over_many() -> None:
    attributes, people = 6, 6000
    split = collect.Direct.costing(Loss(Fraction(1, attributes)), domain=4).support.variance(0, people)
    sampled = collect.Direct.costing(Loss(1), domain=4).support.variance(0, people // attributes)
    assert sampled < split / 3


def test_records_that_do_not_fit_are_refused() -> None:
    parts = (collect.Direct.two_coin(), collect.Direct.two_coin())
    for values in ([[0]], [[0, 1], [0]]):
        with pytest.raises(InvalidParameter, match="do not fit"):
            collect.OneAttribute(parts).encode(values)
    with pytest.raises(InvalidParameter):
        collect.EveryAttribute(())


# ── shuffling ────────────────────────────────────────────────────────────────────────────────────────────────────────


def clones_delta(local: float, reports: int, epsilon: float) -> float:
    """The divergence of the two laws that shuffling is proved to be no worse than, added up."""
    reach = 10 * math.sqrt(reports) + 10
    middle = (reports - 1) * math.exp(-local)
    alpha = math.exp(local) / (1 + math.exp(local))
    total = 0.0
    for clones in range(max(0, int(middle - reach)), min(reports - 1, int(middle + reach)) + 1, 1):
        weight = stats.binom.pmf(clones, reports - 1, math.exp(-local))
        if weight < 1e-14:
            continue
        heads = np.arange(clones + 2)
        plain = stats.binom.pmf(heads, clones, 0.5)
        moved = np.concatenate(([0.0], plain[:-1]))
        one, two = alpha * moved + (1 - alpha) * plain, (1 - alpha) * moved + alpha * plain
        total += weight * float(np.maximum(one - math.exp(epsilon) * two, 0).sum())
    return total


@pytest.mark.parametrize(("epsilon", "reports"), [("0.5", 1000), ("1", 3000), ("2", 4000), ("3", 50)])
@pytest.mark.parametrize("bound", [shuffle, shuffle_numerically])
def test_shuffled_reports_cost_no_more_than_is_said(bound: Any, epsilon: str, reports: int) -> None:
    loss = bound(epsilon, reports=reports, delta="1e-4")
    if loss.is_pure:
        assert loss.epsilon == Fraction(epsilon)
    else:
        assert clones_delta(float(epsilon), reports, float(loss.epsilon)) <= 1e-4


@pytest.mark.parametrize(("epsilon", "reports"), [("0.5", 1000), ("1", 3000), ("2", 4000)])
def test_the_numerical_bound_is_sharp_and_far_below_the_closed_form(epsilon: str, reports: int) -> None:
    sharp = shuffle_numerically(epsilon, reports=reports, delta="1e-4")
    closed = shuffle(epsilon, reports=reports, delta="1e-4")
    assert sharp.epsilon < closed.epsilon / 3
    assert clones_delta(float(epsilon), reports, 0.95 * float(sharp.epsilon)) > 1e-4


def test_more_reports_hide_better_and_too_few_hide_nothing() -> None:
    losses = [shuffle(1, reports=10**power, delta="1e-6").epsilon for power in range(1, 9)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == 1
    assert float(losses[5]) == pytest.approx(0.0238064, rel=1e-5)
    assert shuffle(1, reports=10, delta="1e-6").is_pure
    assert shuffle(0, reports=10**6, delta="1e-6") == Loss(0)


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta"),
    [(-1, 10, "0.1"), (1, 0, "0.1"), (1, True, "0.1"), (1, 10, 0), (1, 10, 1), ("x", 10, 0)],
)
def test_a_shuffle_that_cannot_be_is_refused(epsilon: Any, reports: int, delta: Any) -> None:
    for bound in (shuffle, shuffle_numerically):
        with pytest.raises(InvalidParameter):
            bound(epsilon, reports=reports, delta=delta)
