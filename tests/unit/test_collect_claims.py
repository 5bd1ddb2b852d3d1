"""What the docs say of the protocols' errors, worked out from the protocols themselves."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tacit import collect
from tacit.collect.best import Oracle
from tacit.core import Loss

MAKERS = (
    collect.Direct.costing,
    collect.Unary.optimised,
    collect.Unary.symmetric,
    collect.LocalHash.costing,
    collect.Hadamard.costing,
    collect.SubsetSelection.costing,
    collect.Projective.costing,
)


def variance(protocol: Oracle, share: Fraction) -> float:
    return float(protocol.support.variance(share, 1))


def optimum(epsilon: int) -> float:
    return 4 * math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2


@pytest.mark.parametrize("epsilon", [1, 2, 3])
def test_direct_is_the_best_up_to_twice_e_to_the_epsilon_values_and_no_further(epsilon: int) -> None:
    turn = math.ceil(2 * math.exp(epsilon))
    for domain in (2, turn // 2 + 1, turn):
        found = [variance(make(Loss(epsilon), domain=domain), Fraction(1, domain)) for make in MAKERS]
        assert found[0] <= min(found) * (1 + 1e-9)
    beyond = turn + 1
    subset = collect.SubsetSelection.costing(Loss(epsilon), domain=beyond)
    assert variance(subset, Fraction(1, beyond)) < variance(
        collect.Direct.costing(Loss(epsilon), domain=beyond), Fraction(1, beyond)
    )


@pytest.mark.parametrize("epsilon", [1, 2, 3])
def test_of_a_rare_value_unary_is_the_better_from_three_e_to_the_epsilon_on(epsilon: int) -> None:
    turn = 3 * math.exp(epsilon) + 2
    for domain, better in ((math.floor(turn), False), (math.ceil(turn), True)):
        direct, unary = (make(Loss(epsilon), domain=domain) for make in MAKERS[:2])
        assert (variance(unary, Fraction(0)) < variance(direct, Fraction(0))) == better


@pytest.mark.parametrize(("epsilon", "times"), [(2, 1.01), (3, 1.07), (4, 1.7), (5, 3.6)])
def test_projective_pays_for_a_prime_that_is_too_small(epsilon: int, times: float) -> None:
    protocol = collect.Projective.costing(Loss(epsilon), domain=10_000)
    assert variance(protocol, Fraction(1, 10_000)) / optimum(epsilon) == pytest.approx(times, rel=0.01)
    hashed = collect.LocalHash.costing(Loss(epsilon), domain=10_000)
    assert variance(hashed, Fraction(1, 10_000)) / optimum(epsilon) < 1.05
