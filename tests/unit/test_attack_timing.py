"""The clock against whole answers: what it finds, what slots leave of it, and how often it errs. The clock is ours."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from support.sources import Seeded
from tacit.attack import timing, timing_of_a_heavy_user, timing_of_answers
from tacit.errors import InvalidParameter


class Clock:
    """A clock that only answers move: each takes a random time, longer on side 1 by `more`, rounded up to slots."""

    def __init__(self, seed: int, *, more: float, slot: float = 0) -> None:
        self.now, self._more, self._slot = 0.0, more, slot
        self._draws = np.random.default_rng(seed)

    def perf_counter_ns(self) -> int:
        return int(self.now)

    def ask(self, side: int):
        def asked() -> None:
            taken = 1e6 + 1e5 * self._draws.normal() + self._more * side
            self.now += self._slot * np.ceil(taken / self._slot) if self._slot else taken

        return asked


def found(monkeypatch, seed: int, *, pairs: int = 200, **how):
    clock = Clock(seed, **how)
    monkeypatch.setattr(timing, "time", clock)
    return timing_of_answers((clock.ask(0), clock.ask(1)), pairs=pairs, against="a clock", source=Seeded(seed))


def test_an_answer_that_takes_longer_for_one_person_is_told_apart_and_slots_hide_it(monkeypatch):
    bare, slotted = (found(monkeypatch, 1, more=2e5, slot=slot) for slot in (0, 1e8))
    expected = stats.norm.cdf(2 / 2**0.5)
    assert bare.alarms
    assert bare.low <= expected <= bare.high
    assert not slotted.alarms


@pytest.mark.parametrize("more", [3e4, 2e5])
def test_slots_that_are_too_short_do_not_hide_it(monkeypatch, more):
    assert found(monkeypatch, 2, more=more, slot=1e4, pairs=2000).alarms


def test_a_clock_that_tells_nothing_alarms_no_more_often_than_it_says(monkeypatch):
    """A rate above one in twenty is rejected wrongly with probability 1e-9."""
    alarms = sum(found(monkeypatch, seed, more=0, pairs=100).alarms for seed in range(200))
    assert stats.binom.sf(alarms - 1, 200, 0.05) > 1e-9


def test_too_few_pairs_are_no_verdict():
    with pytest.raises(InvalidParameter, match="a verdict needs 20"):
        timing_of_answers((lambda: None, lambda: None), pairs=10, against="nothing")


def test_a_curator_is_timed_on_both_neighbours():
    assert timing_of_a_heavy_user(pairs=40, heavy=1000).trials == 20
