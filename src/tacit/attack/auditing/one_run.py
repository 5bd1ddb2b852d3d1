"""The one-run audit: many canaries, each in or out by a coin, and a single run of what is audited."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.attack.auditing.binomial import tail
from tacit.attack.auditing.certificate import Certificate
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source, uniform_integer

FALSE_ALARM = 0.05  # one run is little to go by
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)  # of the canaries, about how many are guessed: each is tried, and paid for
_MOST = 64.0  # an epsilon that no audit certifies
Run = Callable[[NDArray[np.bool_]], NDArray[np.float64]]


def audit_one_run(
    run: Run,
    canaries: int,
    *,
    delta: float = 0.0,
    claimed: float | None = None,
    false_alarm: float = FALSE_ALARM,
    shares: Sequence[float] = _SHARES,
    source: Source = SYSTEM,
) -> Certificate:
    """The epsilon that one run certifies, by how many of its canaries are guessed rightly.

    `run` is told which canaries are in, trains or computes once with those, and says of every canary how much the
    result looks as if it were in: the higher, the likelier. The highest scores are guessed in, as many of the lowest
    out, and nothing is said of the others. Of an (epsilon, delta)-DP result the right guesses are no more than binomial
    with e^epsilon / (1 + e^epsilon), but for a part that delta pays for (Steinke, Nasr & Jagielski, NeurIPS 2023,
    theorem 5.2). Each of `shares` is a number of guesses that is tried; they share `false_alarm` equally. Neighbours
    differ in one canary, added or removed.
    """
    if canaries < 10:
        raise InvalidParameter(
            f"{canaries} canaries certify nothing: an audit in one run needs 10, and better hundreds"
        )
    included = uniform_integer(2, canaries, source=source).astype(np.bool_)
    scores = np.asarray(run(included.copy()), dtype=np.float64)
    if scores.shape != (canaries,):
        raise InvalidParameter(f"the run must say one score of each canary: it said {scores.size} of {canaries}")
    return certify_guesses(scores, included, delta=delta, claimed=claimed, false_alarm=false_alarm, shares=shares)


def certify_guesses(
    scores: NDArray[np.float64],
    included: NDArray[np.bool_],
    *,
    delta: float = 0.0,
    claimed: float | None = None,
    false_alarm: float = FALSE_ALARM,
    shares: Sequence[float] = _SHARES,
) -> Certificate:
    """The epsilon that guesses by these scores certify, of canaries each of which was in by a fair coin of its own.

    Canaries of several runs count together: a canary of one run is in no other, so all runs are one.
    """
    canaries = included.size
    order = np.argsort(-scores, kind="stable")
    best: Certificate | None = None
    for share in shares:
        side = max(1, round(share * canaries / 2))
        right = int(np.count_nonzero(included[order[:side]])) + int(np.count_nonzero(~included[order[-side:]]))
        certificate = Certificate(
            epsilon=one_run_epsilon(
                right, 2 * side, canaries=canaries, delta=delta, false_alarm=false_alarm / len(shares)
            ),
            delta=delta, false_alarm=false_alarm, draws=1, counted=2 * side, likely=right, rare=2 * side - right,
            event=f"{right:,} of {2 * side:,} guesses about {canaries:,} canaries were right", looks=len(shares),
            claimed=claimed,
        )  # fmt: skip
        best = certificate if best is None or certificate.epsilon > best.epsilon else best
    if best is None:
        raise InvalidParameter("no number of guesses is tried: shares is empty")
    return best


def one_run_epsilon(right: int, guesses: int, *, canaries: int, delta: float, false_alarm: float) -> float:
    """The largest epsilon at which so many right guesses or more are less likely than `false_alarm`."""
    low, high = 0.0, _MOST
    if _chance(right, guesses, canaries, 0.0, delta) >= false_alarm:
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        if _chance(right, guesses, canaries, middle, delta) < false_alarm:
            low = middle
        else:
            high = middle
    return low


def _chance(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """A bound on the probability of so many right guesses of an (epsilon, delta)-DP result."""
    each = 1 / (1 + math.exp(-epsilon))
    at_random = tail(right, guesses, each)
    if delta == 0:
        return at_random
    steps = _distances(right)
    steepest = max(((tail(right - last, guesses, each) - at_random) / first for first, last in steps), default=0.0)
    return min(1.0, at_random + 2 * canaries * delta * steepest)


def _distances(right: int) -> list[tuple[int, int]]:
    """How many guesses delta may have turned: each number, and from some on ranges, whose fall is taken for steeper."""
    distances = []
    first = 1
    while first <= right:
        last = min(right, max(first, first + first // 100 - 1))
        distances.append((first, last))
        first = last + 1
    return distances
