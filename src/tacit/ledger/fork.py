"""No connection crosses a fork: SQLite's locks belong to a process, and a child that inherits one believes it has them.

Closing the inherited connection in the child is no cure (it could checkpoint and unlink the log its parent writes),
nor is opening another beside it. So every ledger lets go of its files before a fork, and opens them again when it is
next used, in the parent as in the child.

An interrupt may come while the hooks of a fork run, and nobody would catch it. So what ends a fork is one step that
cannot be broken off, and whatever depends on the process asks which one it is in.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What can let go of its files, and take them up again."""

    def before_fork(self) -> None:
        """Wait for work under way, and let go. Nothing begins while a fork is under way."""
        ...


_WINK = 0.001  # seconds
_ledgers: WeakSet[Forkable] = WeakSet()
_forks: list[bool] = []  # those under way
_gates: dict[int, threading.Lock] = {}  # of this process: held by those whose connection must not see a fork


def watch(ledger: Forkable) -> None:
    """Have `ledger` step aside at every fork."""
    _ledgers.add(ledger)


def take(lock: threading.Lock) -> None:
    """Take a lock while no fork is under way: only by threads that no interrupt reaches."""
    while True:
        lock.acquire()
        if not _forks:
            return
        lock.release()
        time.sleep(_WINK)


@contextmanager
def held_off() -> Iterator[None]:
    """No fork happens in here: for a connection that is opened, used and closed in one go, by a thread of its own."""
    gate = _gate()
    take(gate)
    try:
        yield
    finally:
        gate.release()


def _gate() -> threading.Lock:
    return _gates.setdefault(os.getpid(), threading.Lock())  # whoever held it in the parent does not exist here


def wait_for(lock: threading.Lock) -> None:
    """Wait until whoever took the lock before this fork has let go of it. The one who forks takes none."""
    while lock.locked():
        time.sleep(_WINK)


def _before() -> None:
    _forks.append(True)
    try:
        _all_aside()
    except (
        BaseException
    ):  # an interrupt, which stops no fork: whoever was passed over, or left half-way, steps aside now
        _all_aside()
        raise


def _all_aside() -> None:
    wait_for(_gate())
    for ledger in list(_ledgers):
        ledger.before_fork()


os.register_at_fork(before=_before, after_in_parent=_forks.pop, after_in_child=_forks.clear)
