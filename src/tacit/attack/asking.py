"""Attacks by asking: differences of two counts, averages of many, and a whole column from random sums."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.attack.people import shuffled
from tacit.attack.results import AttackResult, against_chance
from tacit.attack.solving import solve_bits
from tacit.core import Loss
from tacit.mechanisms import Laplace, RandomisedResponse
from tacit.noise import SYSTEM, Source, uniform_integer

TARGETS = 400
Counts = NDArray[np.int64]
Answering = Callable[[Counts], NDArray[np.float64]]  # true counts → what is answered


def exactly(counts: Counts) -> NDArray[np.float64]:
    """Counts as they are: no privacy."""
    return counts.astype(np.float64)


def noisily(epsilon: Fraction, *, source: Source = SYSTEM) -> Answering:
    """Counts with the noise that DP-SELECT adds to each at this price."""
    noise = Laplace.costing(Loss(epsilon), 1)
    return lambda counts: noise.release(counts, source).astype(np.float64)


def differencing(
    bits: NDArray[np.bool_], answer: Answering, *, against: str, loss: Loss | None = None, source: Source = SYSTEM
) -> AttackResult:
    """Ask for all, and for all but one: the difference is what the one has. As many have the bit as have not."""
    chosen = _balanced(bits, source)
    whole = int(np.count_nonzero(bits))
    everybody = answer(np.full(chosen.size, whole, dtype=np.int64))
    without = answer(np.asarray(whole - bits[chosen], dtype=np.int64))
    right = (everybody - without > 0.5) == bits[chosen]
    return against_chance(
        "differencing", against, int(np.count_nonzero(right)), chosen.size, chance=0.5, loss=loss,
        note="“all” less “all but one” tells the one's bit",
    )  # fmt: skip


def averaging(
    bits: NDArray[np.bool_], answer: Answering, *, times: int, against: str, loss: Loss | None = None,
    source: Source = SYSTEM,
) -> AttackResult:  # fmt: skip
    """Ask the same about one person again and again, and take the mean."""
    chosen = _balanced(bits, source)
    total = np.zeros(chosen.size)
    for _ in range(times):
        total += answer(bits[chosen].astype(np.int64))
    right = (total / times > 0.5) == bits[chosen]
    return against_chance(
        "averaging", against, int(np.count_nonzero(right)), chosen.size, chance=0.5, loss=loss,
        note=f"the mean of {times} answers tells the bit",
    )  # fmt: skip


def reconstruction(
    bits: NDArray[np.bool_],
    answer: Answering,
    *,
    questions: int,
    against: str,
    loss: Loss | None = None,
    by: str = "least squares",
    source: Source = SYSTEM,
) -> AttackResult:
    """Ask how many of random halves of the people have the bit, and solve for all of them (Dinur & Nissim 2003)."""
    inside = uniform_integer(2, questions * bits.size, source=source).reshape(questions, bits.size)
    return from_sums(inside, answer(inside @ bits.astype(np.int64)), bits, against=against, loss=loss, by=by)


def from_sums(
    inside: Counts, answers: NDArray[np.float64], bits: NDArray[np.bool_], *, against: str, loss: Loss | None = None,
    by: str = "least squares",
) -> AttackResult:  # fmt: skip
    """Solve for the bits of people from how many of them have it in each of many groups, as a published table says.

    `inside` has a row for each group and a column for each person. `by` is "least squares", "linear programme" or
    "integer programme": programmes minimise the sum of the errors with every bit between 0 and 1, or one of them, each
    block of people who share groups by itself; they need scipy.
    """
    right = (solve_bits(inside.astype(np.float64), answers, by=by) > 0.5) == bits
    likelier = max(np.mean(bits), 1 - np.mean(bits))
    return against_chance(
        "reconstruction", against, int(np.count_nonzero(right)), bits.size, chance=float(likelier), loss=loss,
        note=f"a bit that was solved for is right, by {by} from {answers.size:,} sums",
    )  # fmt: skip


def longitudinal(
    bits: NDArray[np.bool_], epsilon: Fraction, *, times: int, remembered: bool, source: Source = SYSTEM
) -> AttackResult:
    """The local model, asked again and again: devices that answer anew each time give themselves away.

    A device that remembers its answer repeats it, and nothing more is told.
    """
    chosen = _balanced(bits, source)
    coin = RandomisedResponse.costing(Loss(epsilon), 1)
    truth = bits[chosen].astype(np.int64)
    reports = [coin.release(truth, source) for _ in range(1 if remembered else times)]
    right = (np.mean(reports, axis=0) > 0.5) == bits[chosen]
    loss = Loss(epsilon if remembered else epsilon * times)
    said = "reports that are remembered" if remembered else "reports drawn anew"
    return against_chance(
        "longitudinal", said, int(np.count_nonzero(right)), chosen.size, chance=0.5, loss=loss,
        note=f"the majority of {times} reports at ε = {float(epsilon):g} tells the truth",
    )  # fmt: skip


def _balanced(bits: NDArray[np.bool_], source: Source) -> NDArray[np.int64]:
    """As many people with the bit as without, in random order."""
    order = shuffled(bits.size, source)
    have, have_not = order[bits[order]], order[~bits[order]]
    size = min(have.size, have_not.size, TARGETS // 2)
    return np.concatenate([have[:size], have_not[:size]])
