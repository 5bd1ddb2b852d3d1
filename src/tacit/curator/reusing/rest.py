"""What of a batch is still to be paid for: the statements that no kept answer serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.curator.answer import estimate_width
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Served
from tacit.curator.reusing.derive import ServedAnswer, levels
from tacit.errors import QueryRefused
from tacit.sql import Plan
from tacit.sql.planning.errors_expected import half_width

_MOST_TRIED = 6  # prices: each of them is planned
_SAME = 1 + 1e-9  # what the arithmetic of estimates may differ by


@dataclass(frozen=True, slots=True)
class Rest:
    """The job of some statements of a batch, and which of them these are."""

    job: Job
    statements: tuple[int, ...]

    @property
    def questions(self) -> int:
        """The number of questions."""
        return len(self.statements)


def rest_of(job: Job, served: Sequence[ServedAnswer | None]) -> Rest | None:
    """The cheapest job of what is not known yet in which no number is noisier than in the whole; None for the whole.

    `found` has for each member a kept answer, or None. Each question has an equal share of the price, so the rest costs
    at least the shares of its questions. Where they would have gained from what they shared a histogram with, they are
    given so many shares more that they lose nothing, as long as these are fewer than all.
    """
    unknown = _unknown(job, served)
    if job.narrower is None or not 0 < len(unknown) < len(job.statements):
        return None
    questions = [question for index in unknown for question in job.statements[index].questions]
    wanted = [job.members[job.answering[question]] for question in questions]
    low, high = len({job.answering[question] for question in questions}), len(job.members) - 1
    best, shares = None, low
    for _ in range(_MOST_TRIED):
        if not low <= shares <= high:
            break
        candidate = _at(job, unknown, Fraction(shares, len(job.members)))
        if candidate is not None and _no_noisier(candidate, wanted):
            best, high = candidate, shares - 1
        else:
            low = shares + 1
        shares = (low + high) // 2
    return None if best is None else Rest(best, unknown)


def _unknown(job: Job, served: Sequence[ServedAnswer | None]) -> tuple[int, ...]:
    """The statements of which some question has no kept answer."""
    return tuple(
        index
        for index, asked in enumerate(job.statements)
        if any(served[job.answering[question]] is None for question in asked.questions)
    )


def _at(job: Job, statements: Sequence[int], share: Fraction) -> Job | None:
    """The job of these statements at a share of the price; None where that is too little for them."""
    if job.narrower is None:
        return None
    try:
        return job.narrower(statements, job.loss * share)
    except QueryRefused:
        return None


def _no_noisier(job: Job, wanted: Sequence[Served]) -> bool:
    """Whether every question of a job is answered at least as well as wanted."""
    served = [job.members[index] for index in job.answering]
    return all(_serves(one, other) for one, other in zip(served, wanted, strict=True))


def _serves(one: Served, other: Served) -> bool:
    """Whether no half-width that could be stated is larger, no choice less sharp, no threshold higher."""
    if not _no_duller(one.plan, other.plan):
        return False
    return all(
        np.all(_widths(one, index, level) <= _widths(other, index, level) * _SAME)
        for level in levels(other.plan)
        for index, measurement in enumerate(other.plan.measurements)
        if measurement.added is not None
    )


def _no_duller(one: Plan, other: Plan) -> bool:
    """The same of what has no half-width: choices, the thresholds of private keys, the measured bias."""
    pairs = zip(one.measurements, other.measurements, strict=True)
    rates = all(mine.noise.law.size >= its.noise.law.size for mine, its in pairs if its.added is None)
    threshold = other.selection is None or (
        one.selection is not None and one.selection.threshold <= other.selection.threshold
    )
    biases = zip(one.bias, other.bias, strict=True)
    return rates and threshold and all(mine.epsilon >= its.epsilon for mine, its in biases)


def _widths(served: Served, index: int, confidence: Fraction) -> NDArray[np.float64]:
    """Of one measurement the half-width in each group, or the one that all have."""
    measurement = served.plan.measurements[index]
    if served.estimates is None:
        return np.array([half_width(measurement, confidence)])
    return estimate_width(measurement, served.estimates[index], confidence)
