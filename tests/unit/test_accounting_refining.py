"""What a finer telling is charged: worked out on the exact laws of two tellings of the same number."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import grains_for, refined_charge
from tacit.core import Loss, Zcdp
from tacit.errors import InvalidParameter
from tacit.ledger.amounts import Spent

PRICES = st.fractions(Fraction(1, 10_000), 8, max_denominator=10_000)
FAR = 60  # of 0: beyond, nothing is left of either law that could be seen


def geometric(epsilon: float) -> np.ndarray:
    q = math.exp(-epsilon)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-FAR, FAR + 1))


def both_tellings(coarse: float, fine: float, *, at: int) -> np.ndarray:
    """P(T₁ = a, T₂ = b) about a number: T₂ has noise of the finer price, and T₁ is T₂ with further noise."""
    q1, q2 = math.exp(-coarse), math.exp(-fine)
    stays = ((1 - q1) / (1 - q2)) ** 2 * q2 / q1
    values = np.arange(-FAR, FAR + 1)
    more = (1 - q1) / (1 + q1) * q1 ** np.abs(values[:, None] - values[None, :])
    kernel = (1 - stays) * more + stays * np.eye(len(values))
    return kernel * np.roll(geometric(fine), at)[None, :]


@pytest.mark.parametrize(("coarse", "fine"), [(0.5, 1.0), (0.9, 1.0), (0.2, 1.5)])
def test_both_tellings_lose_what_the_last_one_costs_and_the_last_alone_more_than_it_adds(coarse, fine):
    here, there = both_tellings(coarse, fine, at=0), both_tellings(coarse, fine, at=1)
    inner = slice(FAR // 2, -FAR // 2)
    joint = np.log(here / there)[inner, inner]
    assert np.abs(joint).max() == pytest.approx(fine)
    first = np.log(here.sum(axis=1) / there.sum(axis=1))[inner]
    assert np.abs(first).max() == pytest.approx(coarse, rel=1e-3)
    last = np.abs(joint - first[:, None]).max()  # in view of the first
    assert last == pytest.approx(fine + coarse, rel=1e-3)
    loss, zcdp = refined_charge(Loss(Fraction(coarse)), Loss(Fraction(fine)))
    assert coarse + float(loss.epsilon) == pytest.approx(fine)
    assert float(zcdp.rho) == pytest.approx(last**2 / 2, rel=1e-2)


@given(PRICES, PRICES, st.sampled_from([Fraction(1, 100), Fraction(1, 20), Fraction(1)]))
def test_in_grains_a_finer_telling_counts_as_what_it_costs_by_itself(one, other, grain):
    before, after = sorted((one, one + other))
    loss, zcdp = refined_charge(Loss(before), Loss(after))
    alone = grains_for(Loss(before + after), grain).count
    counted = Spent(grain=grain).plus(loss, zcdp)
    assert counted.grains == grains_for(loss, grain, rho=zcdp.rho).count
    assert alone <= counted.grains <= grains_for(Loss((before + after) * Fraction(1001, 1000)), grain).count
    assert (counted.epsilon, counted.rho) == (after - before, (after + before) ** 2 / 2)


@given(PRICES, st.sampled_from([None, Fraction(0), Fraction(1, 2), Fraction(1)]))
def test_an_ordinary_loss_counts_as_it_always_did(epsilon, part):
    rho = None if part is None else part * epsilon**2 / 2
    assert grains_for(Loss(epsilon), Fraction(1, 20), rho=rho) == grains_for(Loss(epsilon), Fraction(1, 20))
    large = grains_for(Loss(epsilon, Fraction(1, 100)), Fraction(1, 20), rho=Fraction(10**6))
    assert large.count == grains_for(Loss(epsilon), Fraction(1, 20)).count  # with a delta rho says something else


@given(st.lists(PRICES, min_size=1, max_size=8))
def test_the_charges_of_a_chain_add_up_to_its_last_price(rises):
    price, spent = Fraction(0), Spent()
    for rise in rises:
        after = price + rise
        loss, zcdp = refined_charge(Loss(price), Loss(after)) if price else (Loss(after), Zcdp(after**2 / 2))
        price, spent = after, spent.plus(loss, zcdp)
    assert spent.epsilon == sum(rises)
    assert spent.rho >= sum(rises) ** 2 / 2


@pytest.mark.parametrize(
    ("before", "after"),
    [(Loss(1), Loss(1)), (Loss(2), Loss(1)), (Loss(1), Loss(2, "1e-6")), (Loss(1, "1e-6"), Loss(2))],
)
def test_what_is_not_a_finer_telling_has_no_price(before, after):
    with pytest.raises(InvalidParameter, match="finer telling"):
        refined_charge(before, after)
