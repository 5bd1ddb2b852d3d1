"""Lanes to processes: one whose answer was not waited for is never used again, or somebody would be told it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.errors import EngineError, Overloaded, QueryRefused
from tacit.faces.server import processes
from tacit.faces.server.calls import CuratorCall
from tacit.faces.server.processes import Processes

CALL = CuratorCall("ask", ("SELECT 1",))


class Lane:
    """A lane that gives what it is told to."""

    def __init__(self, *gives: Any) -> None:
        self.gives, self.is_closed = list(gives), False

    def send(self, _: CuratorCall) -> None:
        assert not self.is_closed

    def recv(self) -> Any:
        given = self.gives.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given

    def close(self) -> None:
        self.is_closed = True


def opened(*lanes: Lane) -> Processes:
    made = Processes.__new__(Processes)
    alive = SimpleNamespace(is_alive=lambda: True)
    made._changed, made._closing = threading.Condition(), False
    made._workers = [processes._Worker(alive, list(lanes), list(lanes))]  # type: ignore[arg-type]
    return made


def test_an_outcome_is_given_or_raised_and_its_lane_is_free_again():
    lane = Lane(("answer", None), (None, QueryRefused("no")), ("next", None))
    pool = opened(lane)
    assert pool.do(CALL) == "answer"
    with pytest.raises(QueryRefused, match="no"):
        pool.do(CALL)
    assert pool.do(CALL) == "next"


@pytest.mark.parametrize("broken", [KeyboardInterrupt(), EOFError(), ConnectionResetError(), TypeError("half a value")])
def test_a_lane_that_broke_is_closed_and_passed_over(monkeypatch, broken):
    monkeypatch.setattr(processes, "_START", 0.01)
    late = Lane(broken, ("somebody else's answer", None))
    pool = opened(late)
    expected = EngineError if isinstance(broken, EOFError | OSError) else type(broken)
    with pytest.raises(expected):
        pool.do(CALL)
    assert late.is_closed
    with pytest.raises(Overloaded, match="nothing was charged"):
        pool.do(CALL)


def test_the_process_that_has_least_to_do_is_asked():
    busy, idle = Lane(("busy", None)), Lane(("idle", None))
    pool = opened(busy)
    pool._workers[0].lanes.append(Lane())  # type: ignore[arg-type]  # which is taken
    pool._workers += opened(idle)._workers
    assert pool.do(CALL) == "idle"
