"""Play neighbours: draw outcomes on both, learn an event on some of them, count it on the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.attack.auditing.certificate import FALSE_ALARM, Certificate, certified
from tacit.attack.auditing.events import LearntEvent, learn_event
from tacit.errors import InvalidParameter

BLOCK = 1 << 18
LEARNT_FROM = 1 << 18  # draws of a side by which an event is learnt, at most
DRAWS = 1 << 20
FEWEST = 20
_FIRST_LOOK = 1 << 10


class Draw(Protocol):
    """The mechanism on one of two neighbours."""

    def __call__(self, side: int, times: int, /) -> object:
        """So many independent outcomes on this side, 0 or 1: an array with one row each, or a sequence."""


EventOf = Callable[[NDArray[np.int64]], NDArray[np.bool_]]


def audit(
    draw: Draw,
    event: EventOf | None = None,
    *,
    draws: int = DRAWS,
    delta: float = 0.0,
    claimed: float | None = None,
    false_alarm: float = FALSE_ALARM,
) -> Certificate:
    """The epsilon that `draws` outcomes a side certify.

    Where an `event` is given it is one fixed beforehand, likelier on side 0, and all draws are counted. Else it is
    learnt on half of the draws and counted on the other half, so that however it was found the bound holds.
    """
    _checked(draws, delta, false_alarm)
    if event is not None:
        likely, rare = (_count(draw, side, draws, event) for side in (0, 1))
        bound = certified(likely, rare, draws=draws, delta=delta, false_alarm=false_alarm)
        return Certificate(
            epsilon=bound, delta=delta, false_alarm=false_alarm, draws=draws, counted=draws,
            likely=likely, rare=rare, event="fixed beforehand", claimed=claimed,
        )  # fmt: skip
    half = min(draws // 2, LEARNT_FROM)
    learnt = learn_event((draw(0, half), draw(1, half)), counted=draws - half, delta=delta, level=false_alarm)
    counts = [_count(draw, side, draws - half, learnt) for side in (0, 1)]
    return _certificate(
        learnt, counts, size=draws - half, before=half, delta=delta, claimed=claimed, false_alarm=false_alarm
    )


def audit_sequentially(
    draw: Draw,
    *,
    claimed: float,
    enough: float = 0.95,
    most: int = 1 << 22,
    delta: float = 0.0,
    false_alarm: float = FALSE_ALARM,
) -> Certificate:
    """An audit that looks again and again, at twice as many draws each time, and stops as soon as it may.

    It stops where more than `claimed` is certified, where `enough` of it is, or after `most` draws a side. Look number
    j learns on the draws of all looks before and counts on its own, with a share 1 / (j (j + 1)) of `false_alarm`:
    these add up to no more than all of it (alpha spending), so stopping early costs nothing of the guarantee.
    """
    _checked(most, delta, false_alarm)
    if not claimed > 0:
        raise InvalidParameter("a sequential audit holds what it finds against a claim above 0", hint="name the claim")
    size = min(_FIRST_LOOK, most // 2)
    seen, drawn, look = (draw(0, size), draw(1, size)), size, 0
    while True:
        look += 1
        size = min(drawn, most - drawn)
        share = false_alarm / (look * (look + 1))
        learnt = learn_event(seen, counted=size, delta=delta, level=share)
        fresh = (draw(0, size), draw(1, size))
        counts = [int(np.count_nonzero(learnt(side))) for side in fresh]
        certificate = _certificate(
            learnt, counts, size=size, before=drawn, delta=delta, claimed=claimed, false_alarm=share
        )
        drawn += size
        if certificate.violates or certificate.epsilon >= enough * claimed or drawn >= most:
            return replace(certificate, looks=look, false_alarm=false_alarm)
        seen = (_both(seen[0], fresh[0]), _both(seen[1], fresh[1])) if drawn <= LEARNT_FROM else fresh


def _both(earlier: object, later: object) -> object:
    if isinstance(earlier, np.ndarray) and isinstance(later, np.ndarray):
        return np.concatenate([earlier, later])
    return [*earlier, *later]  # type: ignore[misc]


def _certificate(
    event: LearntEvent,
    counts: Sequence[int],
    *,
    size: int,
    before: int,
    delta: float,
    claimed: float | None,
    false_alarm: float,
) -> Certificate:
    """What the counts of a learnt event certify."""
    likely, rare = counts[event.side], counts[1 - event.side]
    return Certificate(
        epsilon=certified(likely, rare, draws=size, delta=delta, false_alarm=false_alarm), delta=delta,
        false_alarm=false_alarm, draws=before + size, counted=size, likely=likely, rare=rare, event=str(event),
        claimed=claimed,
    )  # fmt: skip


def _count(draw: Draw, side: int, draws: int, event: Callable[..., NDArray[np.bool_]]) -> int:
    sizes = (min(BLOCK, draws - start) for start in range(0, draws, BLOCK))
    return sum(int(np.count_nonzero(event(draw(side, size)))) for size in sizes)


def _checked(draws: int, delta: float, false_alarm: float) -> None:
    if draws < FEWEST:
        raise InvalidParameter(f"{draws} draws certify nothing: an audit needs {FEWEST} a side, and better thousands")
    if not 0 <= delta < 1:
        raise InvalidParameter(f"delta is a probability below 1: got {delta:g}")
    if not 0 < false_alarm < 1:
        raise InvalidParameter(f"a false alarm has a probability between 0 and 1: got {false_alarm:g}")
