"""Processes that answer questions: started, asked, started again when one dies, and ended without losing what runs."""

from __future__ import annotations

import atexit
import multiprocessing
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tacit.errors import EngineError, Overloaded, TacitError
from tacit.faces.log_file import log, open_log
from tacit.faces.server.calls import CuratorCall
from tacit.faces.server.serving import Hub, open_hub
from tacit.policy import Policy

_START = 120.0  # seconds that a process may take to open the policy
_PAUSE = 1.0  # seconds before one that died is started again, so that one that cannot live does not fill the machine
_LAST_WORDS = 5.0  # seconds in which a process that is told to end does so

_Outcome = tuple[Any, BaseException | None]


@dataclass(slots=True, eq=False)
class _Worker:
    """A process that runs, and its lanes: one for each question that it may be at."""

    process: BaseProcess
    lanes: list[Connection]
    free: list[Connection] = field(default_factory=list)
    replaced: bool = False

    @property
    def busy(self) -> int:
        return len(self.lanes) - len(self.free)


def open_hub_in(path: Path | str, count: int) -> Hub:
    """The hub of the policy in a file, for which so many processes answer; it does so itself where that is one."""

    def others(policy: Policy) -> Processes | None:
        return None if count == 1 else Processes(Path(path), count, lanes=policy.server.workers)

    return open_hub(path, processes=others)


class Processes:
    """So many processes with one curator each, on one ledger. Safe to use from many threads.

    What must be one for all of them is not theirs: turns, limits, request keys, sessions and connections stay with
    whoever asks, and what is charged is in the ledger. Each has the engine, the plans it made, and nothing else, so one
    that dies takes with it what it was at, which stays charged, and no more.
    """

    def __init__(self, policy: Path, count: int, *, lanes: int) -> None:
        self._policy, self._lanes = policy, -(-lanes // count)
        self._changed = threading.Condition()
        self._closing = False
        self._workers: list[_Worker] = []
        self.restarts = 0
        atexit.register(self.close)  # or the interpreter would wait for them
        try:
            started = [self._started() for _ in range(count)]  # side by side: each takes a while
            for worker in started:
                self._workers.append(worker)
            for worker in started:
                _await_ready(worker)
        except BaseException:
            self.close()
            raise
        for worker in started:
            self._watch(worker)

    @property
    def alive(self) -> int:
        """How many run."""
        with self._changed:
            return len(self._workers)

    @property
    def busy(self) -> int:
        """How many questions they are at."""
        with self._changed:
            return sum(worker.busy for worker in self._workers)

    @property
    def pids(self) -> tuple[int, ...]:
        """Which they are, to the operating system."""
        with self._changed:
            return tuple(worker.process.pid or 0 for worker in self._workers)

    def do(self, call: CuratorCall) -> Any:
        """What a call comes to, in the process that has least to do. Raises what it raises there."""
        worker, lane = self._taken()
        try:
            lane.send(call)
            result, error = lane.recv()
        except BaseException as broken:
            lane.close()  # what comes through it later is nobody's: the next question must not be told it
            if not isinstance(broken, (EOFError, OSError)):
                raise
            raise EngineError(  # the process is gone; its watcher starts another
                "the answer was cut short: the process that was at it ended",
                hint="it may be charged; ask again under the same request id, if it had one",
            ) from None
        with self._changed:
            worker.free.append(lane)
            self._changed.notify()
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """End all of them; one that does not end by itself is killed, and what it is at stays charged."""
        with self._changed:
            self._closing = True
            atexit.unregister(self.close)
            workers, self._workers = self._workers, []
            self._changed.notify_all()
        for worker in workers:
            worker.replaced = True
            for lane in worker.lanes:
                lane.close()
        for worker in workers:
            worker.process.join(_LAST_WORDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def _taken(self) -> tuple[_Worker, Connection]:
        def least() -> _Worker | None:
            able = [worker for worker in self._workers if worker.free and worker.process.is_alive()]
            return min(able, key=lambda worker: worker.busy, default=None)

        with self._changed:
            self._changed.wait_for(lambda: self._closing or least() is not None, _START)
            worker = least()
            if worker is None:
                raise Overloaded("no process takes questions now: nothing was charged", hint="ask again in a while")
            return worker, worker.free.pop()

    def _started(self) -> _Worker:
        context = multiprocessing.get_context("spawn")  # a fork would share threads' locks, and the engine's state
        pairs = [context.Pipe() for _ in range(self._lanes)]
        theirs = [there for _, there in pairs]
        process = context.Process(target=serve_lanes, args=(str(self._policy), theirs), name="tacit-worker")
        process.start()
        for lane in theirs:
            lane.close()  # or its end would never be seen
        lanes = [here for here, _ in pairs]
        return _Worker(process, lanes, list(lanes))

    def _watch(self, worker: _Worker) -> None:
        threading.Thread(target=self._replace, args=(worker,), daemon=True, name="tacit-watch").start()

    def _replace(self, worker: _Worker) -> None:
        """Wait for the end of a process, and put another in its place."""
        worker.process.join()
        while not worker.replaced:
            log.error("a process that answers questions ended with %s: another is started", worker.process.exitcode)
            with self._changed:
                if self._closing:
                    return
                if worker in self._workers:
                    self._workers.remove(worker)
            fresh = None
            try:
                fresh = self._started()
                _await_ready(fresh)
            except (TacitError, OSError) as error:
                log.error("a process that answers questions could not be started: %s", error)
                _end(fresh)
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, _PAUSE)
                continue
            self._take_in(worker, fresh)

    def _take_in(self, worker: _Worker, fresh: _Worker) -> None:
        with self._changed:
            worker.replaced = True
            if self._closing:
                _end(fresh)
                return
            self._workers.append(fresh)
            self.restarts += 1
            self._changed.notify_all()
        self._watch(fresh)


def _end(worker: _Worker | None) -> None:
    if worker is not None:
        worker.process.kill()
        worker.process.join()
        for lane in worker.lanes:
            lane.close()


def _await_ready(worker: _Worker) -> None:
    """Until the process has opened the policy. Raises what kept it from doing so."""
    lane = worker.lanes[0]
    try:
        error = lane.recv() if lane.poll(_START) else EngineError("a process that answers questions does not start")
    except (EOFError, OSError):
        error = EngineError("a process that answers questions ended at once", hint="see the curator's log")
    if isinstance(error, BaseException):
        raise error


def serve_lanes(policy: str, lanes: list[Connection]) -> None:
    """Answer what comes through the lanes, until the last of them is closed: the main function of such a process.

    Signals are for the process that started this one: it says when to end by closing the lanes, or by dying.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    try:
        open_log()
        hub = open_hub(policy)
    except TacitError as error:
        lanes[0].send(error)
        return
    lanes[0].send(None)
    threads = [threading.Thread(target=_serve_lane, args=(lane, hub.answer), daemon=True) for lane in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hub.close(0)


def _serve_lane(lane: Connection, answer: Callable[[CuratorCall], Any]) -> None:
    with suppress(EOFError, OSError):
        while True:
            call = lane.recv()
            outcome: _Outcome
            try:
                outcome = answer(call), None
            except TacitError as error:  # it belongs to whoever asked
                outcome = None, error
            except BaseException as error:  # whatever it is, it may hold cells: it stays here
                log.error("%s: %s", type(error).__name__, error, exc_info=error)
                outcome = None, EngineError("something went wrong inside tacit", hint="the curator's log says what")
            lane.send(outcome)
