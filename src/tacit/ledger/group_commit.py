"""Group commit: one thread of the ledger's own goes through, and carries the work of all who wait.

An interrupt (Ctrl-C) is raised in the main thread, between any two steps of whatever it is doing. So nobody who asks
ever holds a lock or touches a file: work is put into a queue, and done by a thread that no interrupt reaches. Whoever
is interrupted while waiting leaves; the work is finished without them, or not begun.
"""

from __future__ import annotations

import _thread
import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast

from tacit.errors import LedgerError, TacitError
from tacit.ledger import fork

T = TypeVar("T")
C = TypeVar("C")

STAY = 0.1  # seconds
_log = logging.getLogger("tacit.ledger")


class Ticket(Generic[C]):
    """One piece of work, and what became of it. `alone` is work that is given no transaction."""

    def __init__(self, work: Callable[[C], object] | None = None, *, alone: Callable[[], object] | None = None) -> None:
        self.work, self.alone = work, alone
        self.result: object = None
        self.error: TacitError | None = LedgerError("the charge was interrupted: it may or may not be on record")
        self.abandoned = False
        self._finished = False
        self._done = threading.Lock()  # let go of when it is done: a bare lock, that can be left at any moment
        self._done.acquire()

    def wait(self) -> Any:
        """What became of the work, once it is done."""
        try:
            self._done.acquire()
        except BaseException:
            self.abandoned = True  # work that nobody waits for need not begin
            raise
        return self._outcome()

    def outlast(self) -> Any:
        """The same, but an interrupt is raised only once the work is done: what follows must not meet it half-way."""
        interrupted: BaseException | None = None
        while not self._finished:
            try:
                self._done.acquire(timeout=STAY)
            except BaseException as error:
                interrupted = error
        if interrupted is not None:
            raise interrupted
        return self._outcome()

    def _outcome(self) -> Any:
        if self.error is not None:
            raise self.error from None
        return self.result

    def finish(self) -> None:
        """Let the one who waits go on."""
        self._finished = True
        self._done.release()


Take = Callable[[], list[Ticket[C]]]


class GroupCommit(Generic[C]):
    """Lets one thread at a time at the files. Work that arrives meanwhile is committed together, in one sync.

    `serve` is given a function that takes what has gathered. It should call it late, with every lock in hand: whoever
    arrives while it waits is carried too.
    """

    def __init__(self, serve: Callable[[Take[C]], None]) -> None:
        self._serve = serve
        self._queue: SimpleQueue[Ticket[C] | None] = SimpleQueue()
        self._here = threading.Lock()  # of the one thread that works, as long as it is there
        self._turn = threading.Lock()  # of the same, while it is at the files
        self._carried, self._grace = 1, 0.0  # by the last to go through, and how long to wait for as many

    def submit(self, work: Callable[[C], T]) -> T:
        """Have `work` done in a transaction, and return once that is committed."""
        return cast("T", self._done(Ticket(work)))

    def alone(self, work: Callable[[], T]) -> T:
        """Have `work` done while nobody else is at the files, for a read, or to open and close them."""
        return cast("T", self._done(Ticket(alone=work)))

    def leave(self) -> None:
        """Have the thread that works go, once it has nothing to do."""
        if self._here.locked():
            self._queue.put(None)

    def aside(self, act: Callable[[], None]) -> None:
        """Wait for work under way, and do `act`, before a fork: until that is over, no other work begins.

        `act` has the turn: were the fork broken off around it, work that then begins must not meet it at the files.
        """

        def in_turn() -> None:
            with self._turn:
                act()

        _begun(in_turn).outlast()

    def _done(self, ticket: Ticket[C]) -> object:
        self._queue.put(ticket)
        if not self._here.locked():  # a thread that is here looks into the queue once more before it goes
            _begin(self._work)
        return ticket.wait()

    def _work(self) -> None:
        while self._here.acquire(blocking=False):
            try:
                while (ticket := self._next()) is not None:
                    fork.take(self._turn)
                    try:
                        self._lead(ticket)
                    finally:
                        self._turn.release()
            finally:
                self._here.release()
            if self._queue.empty():
                return

    def _next(self) -> Ticket[C] | None:
        """The next to be served. One question is several pieces of work: the thread stays a moment for the next."""
        try:
            return self._queue.get(timeout=STAY)
        except Empty:
            return None

    def _lead(self, first: Ticket[C]) -> None:
        """Serve those who have gathered: writers together, then each of the others."""
        crowd: _Crowd[C] = _Crowd(self._queue)
        crowd.add(first)
        try:
            if crowd.take():
                crowd.gather(self._carried, seconds=self._grace)
                started = time.monotonic()
                self._serve(crowd.take)
                self._carried, self._grace = len(crowd.writers), (time.monotonic() - started) / 4
            for ticket in crowd.others:
                _attend(ticket)
        except BaseException as error:
            _log.error("the ledger's work was broken off: %s", type(error).__name__)
        finally:
            for ticket in (*crowd.writers, *crowd.others):
                ticket.finish()


class _Crowd(Generic[C]):
    """The callers that one commit serves together."""

    def __init__(self, queue: SimpleQueue[Ticket[C] | None]) -> None:
        self._queue = queue
        self.writers: list[Ticket[C]] = []
        self.others: list[Ticket[C]] = []

    def add(self, ticket: Ticket[C] | None) -> None:
        if ticket is not None:
            (self.others if ticket.work is None else self.writers).append(ticket)

    def take(self) -> list[Ticket[C]]:
        """All writers who have come so far."""
        while not self._queue.empty():
            self.add(self._queue.get())
        return self.writers

    def gather(self, count: int, *, seconds: float) -> None:
        """Those carried last time are about to come back: without a moment's grace every other commit carries one."""
        deadline = time.monotonic() + seconds
        while len(self.writers) < count and (left := deadline - time.monotonic()) > 0:
            try:
                self.add(self._queue.get(timeout=left))
            except Empty:
                return


def apart(work: Callable[[], T]) -> T:
    """Do `work` in a thread of its own, where no interrupt reaches it, and return what it gave."""
    return cast("T", _begun(work).wait())


def _begun(work: Callable[[], object]) -> Ticket[None]:
    ticket: Ticket[None] = Ticket(alone=work)

    def attended() -> None:
        try:
            _attend(ticket)
        finally:
            ticket.finish()

    _begin(attended)
    return ticket


def _begin(work: Callable[[], None]) -> None:
    """Start a thread: in one step, so that an interrupt comes before it or after. Nobody waits for its end."""
    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:  # the interpreter is about to end, and starts no more of them
        work()


def _attend(ticket: Ticket[C]) -> None:
    if ticket.alone is None or ticket.abandoned:
        return
    try:
        ticket.result, ticket.error = ticket.alone(), None
    except TacitError as error:
        ticket.error = error
    except Exception as error:
        ticket.error = unexpected(error)


def unexpected(error: Exception) -> LedgerError:
    """What is said where our own code stumbles over what it found; the log learns over what kind of thing."""
    _log.error("the ledger's contents could not be worked with: %s", type(error).__name__)
    return LedgerError("the ledger cannot be used: it is damaged", hint="run `tacit ledger verify`")
