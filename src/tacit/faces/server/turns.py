"""Fair turns: worker threads that serve analysts in rotation, so that nobody's queue holds up anybody else."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tacit.errors import Overloaded

T = TypeVar("T")
_Task = tuple["Future[Any]", Callable[[], Any]]


@dataclass(slots=True)
class _Line:
    """The questions of one analyst: those that wait, and how many run."""

    waiting: deque[_Task] = field(default_factory=deque)
    running: int = 0


class Turns:
    """So many threads for all, at most so many for each analyst, and a queue for each.

    Who has questions waiting and may run another takes the next free thread, in rotation: a thousand questions of one
    analyst delay the one of another by a single question at most.
    """

    def __init__(self, workers: int, *, per_analyst: int, queue: int) -> None:
        self._per_analyst, self._queue = per_analyst, queue
        self._lines: dict[str, _Line] = {}
        self._rotation: deque[str] = deque()  # analysts with waiting questions, the next first
        lock = threading.Lock()
        self._changed = threading.Condition(lock)  # something to do, or nothing any more
        self._idle = threading.Condition(lock)  # nothing runs
        self._stopping = False
        self._threads = [threading.Thread(target=self._work, name=f"tacit-worker-{i}") for i in range(workers)]
        for thread in self._threads:
            thread.daemon = True  # one that is stuck in an engine does not keep the process alive
            thread.start()

    def submit(self, analyst: str, act: Callable[[], T]) -> Future[T]:
        """What `act` will return. Raises Overloaded where too many wait, or where no more are taken."""
        future: Future[T] = Future()
        with self._changed:
            if self._stopping:
                raise stopping()
            line = self._lines.setdefault(analyst, _Line())
            if len(line.waiting) >= self._queue:
                raise Overloaded(
                    f"{self._queue} questions of yours are waiting already: nothing was charged",
                    hint="wait for answers before you ask more",
                )
            if not line.waiting:
                self._rotation.append(analyst)
            line.waiting.append((future, act))
            if line.running < self._per_analyst:  # else whoever runs one of theirs takes it next
                self._changed.notify()
        return future

    @property
    def load(self) -> tuple[int, int]:
        """How many questions run, and how many wait."""
        with self._changed:
            lines = self._lines.values()
            return sum(line.running for line in lines), sum(len(line.waiting) for line in lines)

    def stop(self, seconds: float) -> bool:
        """Take no more questions, refuse those that wait, let those that run finish; whether they did in that time."""
        with self._changed:
            self._stopping = True
            refused = [task for line in self._lines.values() for task in line.waiting]
            for line in self._lines.values():
                line.waiting.clear()
            self._rotation.clear()
            self._changed.notify_all()
        for future, _ in refused:
            if future.set_running_or_notify_cancel():
                future.set_exception(stopping())
        with self._changed:
            return self._idle.wait_for(lambda: not any(line.running for line in self._lines.values()), seconds)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._next() is not None)
                analyst = self._next()
                if analyst is None:
                    return  # told to stop
                task = self._take(analyst)
            if task is not None:
                _run(*task)
                del task  # what it held is not kept until the next question
                self._done(analyst)

    def _next(self) -> str | None:
        """Whose turn it is: the first in the rotation who may run one more."""
        return next((name for name in self._rotation if self._lines[name].running < self._per_analyst), None)

    def _take(self, analyst: str) -> _Task | None:
        """The first question of an analyst that is still wanted; the analyst goes to the end of the rotation."""
        line = self._lines[analyst]
        self._rotation.remove(analyst)
        taken = None
        while line.waiting and taken is None:
            future, act = line.waiting.popleft()
            if future.set_running_or_notify_cancel():
                taken = future, act
        if line.waiting:
            self._rotation.append(analyst)
        if taken is not None:
            line.running += 1
        return taken

    def _done(self, analyst: str) -> None:
        with self._changed:
            line = self._lines[analyst]
            line.running -= 1
            if not line.running and not line.waiting:
                del self._lines[analyst]
            if self._stopping:
                self._idle.notify_all()


def stopping() -> Overloaded:
    """What is said to questions that come too late."""
    return Overloaded("the server is stopping: nothing was charged", hint="ask again once it is back")


def _run(future: Future[Any], act: Callable[[], Any]) -> None:
    try:
        result = act()
    except BaseException as error:  # it belongs to whoever waits for the future
        future.set_exception(error)
    else:
        future.set_result(result)
