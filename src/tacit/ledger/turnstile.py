"""Group commit: one thread goes through, and carries the work of all who wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

from tacit.errors import LedgerError, TacitError

T = TypeVar("T")
C = TypeVar("C")


class Ticket(Generic[C]):
    """One piece of work, and what became of it."""

    def __init__(self, work: Callable[[C], object]) -> None:
        self.work = work
        self.result: object = None
        self.error: TacitError | None = LedgerError("the charge was interrupted: it may or may not be on record")
        self.done = False


Take = Callable[[], list[Ticket[C]]]


class Turnstile(Generic[C]):
    """Lets one thread at a time at the files. Work that arrives meanwhile is committed together, in one sync.

    `serve` is given a function that takes what has gathered. It should call it late, with every lock in hand: whoever
    arrives while it waits is carried too.
    """

    def __init__(self, serve: Callable[[Take[C]], None]) -> None:
        self._serve = serve
        lock = threading.Lock()
        self._gate, self._arrival = threading.Condition(lock), threading.Condition(lock)
        self._queue: list[Ticket[C]] = []
        self._busy = False
        self._carried, self._grace = 1, 0.0  # by the last to go through, and how long to wait for as many

    def submit(self, work: Callable[[C], T]) -> T:
        """Have `work` done in a transaction, and return once that is committed."""
        ticket: Ticket[C] = Ticket(work)
        with self._gate:
            self._queue.append(ticket)
            self._arrival.notify()
            while self._busy and not ticket.done:
                self._gate.wait()
            if not ticket.done:
                self._busy = True
        if not ticket.done:
            self._lead()
        if ticket.error is not None:
            raise ticket.error from None
        return cast("T", ticket.result)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Be the only one at the files, for a read or for a fork."""
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def enter(self) -> None:
        """Wait for the turn, and take it."""
        with self._gate:
            while self._busy:
                self._gate.wait()
            self._busy = True

    def leave(self) -> None:
        """Give the turn back."""
        with self._gate:
            self._busy = False
            self._gate.notify_all()

    def _lead(self) -> None:
        batch: list[Ticket[C]] = []

        def take() -> list[Ticket[C]]:
            with self._gate:
                batch.extend(self._queue)
                self._queue.clear()
            return batch

        try:
            self._gather()
            started = time.monotonic()
            self._serve(take)
            self._carried, self._grace = len(batch), (time.monotonic() - started) / 4
        finally:
            for ticket in batch or take():
                ticket.done = True
            self.leave()

    def _gather(self) -> None:
        """Those carried last time are about to come back: without a moment's grace every other commit carries one."""
        deadline = time.monotonic() + self._grace
        with self._gate:
            while len(self._queue) < self._carried and (left := deadline - time.monotonic()) > 0:
                self._arrival.wait(left)
