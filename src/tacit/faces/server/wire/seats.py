"""Connections of those who are known: so many in all, half of them of one analyst, and idle ones give way."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.faces.server.wire.faults import WireFault


@dataclass(eq=False, slots=True)
class Seat:
    """One connection: whose it is, since when it has asked nothing, and how to end it."""

    analyst: str
    end: Callable[[], None]
    idle_since: float | None = None  # None: it is at a question
    ended: bool = False

    def rest(self) -> None:
        """It waits for its client."""
        self.idle_since = time.monotonic()

    def work(self) -> None:
        """Its client has sent something."""
        self.idle_since = None


@dataclass(slots=True)
class Seats:
    """So many connections. One event loop uses them.

    When all are taken, whoever comes takes the place of the connection that has been idle longest, of the analyst with
    the most, if that analyst has more than the one who comes would then have: nobody who keeps connections open and
    idle keeps others out, and nobody's question is ever ended for it.
    """

    at_once: int = 200
    _taken: set[Seat] = field(default_factory=set)

    def __len__(self) -> int:
        """How many are taken."""
        return len(self._taken)

    def take(self, analyst: str, end: Callable[[], None]) -> Seat:
        """A place. Raises WireFault where there is none, or where the analyst has as many as one may have."""
        counts = Counter(seat.analyst for seat in self._taken)
        most = max(1, self.at_once // 2)
        if counts[analyst] >= most and len(self._taken) < self.at_once:
            raise _too_many_of(analyst, most)
        if len(self._taken) >= self.at_once:
            self._make_room(analyst, counts)
        seat = Seat(analyst, end)
        self._taken.add(seat)
        return seat

    def leave(self, seat: Seat) -> None:
        """Give a place back; one that was taken away already is passed over."""
        self._taken.discard(seat)

    def _make_room(self, analyst: str, counts: Counter[str]) -> None:
        idle = [
            seat for seat in self._taken if seat.idle_since is not None and counts[seat.analyst] > counts[analyst] + 1
        ]
        if not idle:
            raise WireFault("53300", "sorry, too many clients already", hint="close some connections")
        longest = min(idle, key=lambda seat: (-counts[seat.analyst], seat.idle_since))
        self._taken.discard(longest)
        longest.ended = True
        longest.end()


def _too_many_of(analyst: str, most: int) -> WireFault:
    why = f"too many connections of {analyst}: {most} are the most of one analyst"
    return WireFault("53300", why, hint="close some connections")
