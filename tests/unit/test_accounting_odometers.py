"""Odometers: the running loss, true whenever it is read."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest

from tacit.accounting import BasicOdometer, NumericalOdometer, ZcdpOdometer, compose_numerically, odometers, zcdp_to_dp
from tacit.core import NOTHING, ApproximateEvent, ComposedEvent, GaussianEvent, Loss, PureEvent
from tacit.errors import InvalidParameter

TENTH = PureEvent(Fraction(1, 10))


def test_a_basic_odometer_adds_exactly():
    reading = BasicOdometer()
    assert reading.loss == NOTHING
    for _ in range(10):
        reading = reading.charge(TENTH)
    reading = reading.charge(ApproximateEvent(Loss("0.5", "1e-9")))
    assert reading.loss == Loss("1.5", "1e-9")


def test_a_zcdp_odometer_adds_rho_exactly():
    reading = ZcdpOdometer("1e-6")
    assert reading.loss == NOTHING
    for _ in range(10):
        reading = reading.charge(GaussianEvent(Fraction(1, 10)))
    assert reading.rho == 1


def test_a_zcdp_odometer_reads_more_than_the_conversion_but_not_much_more():
    for rho in ("1e-6", "0.0001", "0.0008", "0.00081", "0.001", "0.00101", "0.01", "1", "30"):
        reading = ZcdpOdometer("1e-6").charge(GaussianEvent(Fraction(rho))).loss
        least = zcdp_to_dp(Fraction(rho), "1e-6").epsilon
        assert least < reading.epsilon < least * Fraction(9, 5)
        assert reading.delta == Fraction("1e-6")


def test_the_shares_of_delta_add_up_to_one_at_most():
    shares = [Fraction(1, 2 * mark * (mark + 1)) for mark in range(1, 1000)]
    assert 2 * sum(shares) == 1 - Fraction(1, 1000)


def test_marks_that_differ_have_shares_of_their_own(monkeypatch):
    """Every reading is at some mark, with some share of delta; no share may serve two marks."""
    asked = {}

    def converted(mark, share):
        asked.setdefault(mark, set()).add(share)
        return Loss(1, "1e-6")

    monkeypatch.setattr(odometers, "zcdp_to_dp", converted)
    rho = Fraction(1, 10**7)
    while rho < 10:
        reading = ZcdpOdometer("1e-6", rho)
        assert reading.loss.epsilon == 1
        rho = rho * Fraction(21, 20)
    assert all(len(shares) == 1 for shares in asked.values())
    assert sum(share for shares in asked.values() for share in shares) <= Fraction("1e-6")
    marks = sorted(asked)
    assert all(above <= below * odometers.RATIO for below, above in pairwise(marks))


def test_a_reading_never_falls():
    reading, last = ZcdpOdometer("1e-6"), Fraction(0)
    for _ in range(100):
        reading = reading.charge(GaussianEvent(Fraction(1, 300)))
        assert reading.loss.epsilon >= last
        last = reading.loss.epsilon


def test_a_zcdp_odometer_refuses_what_it_cannot_read():
    with pytest.raises(InvalidParameter, match="no event with a delta"):
        ZcdpOdometer("1e-6").charge(ApproximateEvent(Loss("0.1", "1e-9")))
    for delta in (0, 1):
        with pytest.raises(InvalidParameter):
            ZcdpOdometer(delta)
    with pytest.raises(InvalidParameter):
        ZcdpOdometer("1e-6", -1)


def stopped(odometer, stop, p=1, q=1, answers=0):
    """All ways a game of fair-looking responses can end when the adversary reads and stops: (reading, p, q)."""
    event = PureEvent(Fraction(3, 10))
    stay = 1 / (1 + mpmath.exp(-mpmath.mpf(3) / 10))
    if answers == 9 or (answers and stop(p, q)):
        return [(odometer.loss.epsilon, p, q)]
    later = odometer.charge(event)
    return stopped(later, stop, p * stay, q * (1 - stay), answers + 1) + stopped(
        later, stop, p * (1 - stay), q * stay, answers + 1
    )


def missed(odometer, threshold):
    """P - e^reading Q over the transcripts, for an adversary who stops once the evidence passes a threshold."""
    ends = stopped(odometer, lambda p, q: p > threshold * q)
    return sum(
        max(0, p - mpmath.exp(mpmath.mpf(reading.numerator) / reading.denominator) * q) for reading, p, q in ends
    )


class Late(ZcdpOdometer):
    """A broken twin: it reads half of what was spent."""

    __slots__ = ()

    @property
    def loss(self):
        return zcdp_to_dp(self.rho / 8, self.delta)


def test_an_adversary_who_stops_at_will_is_still_within_the_reading():
    with mpmath.workdps(30):
        for threshold in (1.1, 2, 3, 5):
            assert missed(ZcdpOdometer("0.05"), threshold) <= mpmath.mpf("0.05")
        assert any(missed(Late("0.05"), threshold) > mpmath.mpf("0.05") for threshold in (1.1, 2, 3, 5))


def test_a_numerical_odometer_counts_equal_events():
    reading = NumericalOdometer()
    assert reading.loss("1e-6") == NOTHING
    for _ in range(30):
        reading = reading.charge(TENTH).charge(ComposedEvent(((GaussianEvent(Fraction(1, 100)), 2),)))
    assert dict(reading.counts) == {TENTH: 30, GaussianEvent(Fraction(1, 100)): 60}
    assert reading.loss("1e-6") == compose_numerically([TENTH] * 30 + [GaussianEvent(Fraction(1, 100))] * 60, "1e-6")
    with pytest.raises(TypeError):
        reading.counts[TENTH] = 0
