"""No connection crosses a fork: SQLite's locks belong to a process, and a child that inherits one believes it has them.

Closing the inherited connection in the child is no cure (it could checkpoint and unlink the log its parent writes),
nor is opening another beside it. So every ledger lets go of its files before a fork, and opens them again when it is
next used, in the parent as in the child.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """What can let go of its files, and take them up again."""

    def before_fork(self) -> None:
        """Wait for work under way, let go, and let nobody in."""
        ...

    def after_fork(self, *, child: bool) -> None:
        """Let work begin again."""
        ...


_ledgers: WeakSet[Forkable] = WeakSet()
_paused: list[Forkable] = []
_gate = threading.Lock()  # held over a fork, and by those whose connection must not see one


def watch(ledger: Forkable) -> None:
    """Have `ledger` step aside at every fork."""
    _ledgers.add(ledger)


@contextmanager
def held_off() -> Iterator[None]:
    """No fork happens in here: for a connection that is opened, used and closed in one go."""
    with _gate:
        yield


def _before() -> None:
    _gate.acquire()
    for ledger in list(_ledgers):
        ledger.before_fork()
        _paused.append(ledger)


def _after(*, child: bool) -> None:
    while _paused:
        _paused.pop().after_fork(child=child)
    _gate.release()


os.register_at_fork(
    before=_before, after_in_parent=lambda: _after(child=False), after_in_child=lambda: _after(child=True)
)
