"""What is broken off takes nothing of the data along: no exact value hangs on an interrupt, whenever it comes."""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType

import pytest

import tacit
from conformance.sql_clinic import clinic
from tacit.curator import Curator, Session, payment
from tacit.engines import Exact
from tacit.errors import TacitError

OURS = str(Path(tacit.__file__).parent)
ANA = Session("ana")
CANARY = "city4"  # a private key, that an answer may not show
QUESTION = "DP-SELECT 0.5 DELTA 1e-9 city, COUNT(*) FROM visits GROUP BY city"
POINTS = 12


@contextmanager
def stopped(point: int, stop: type[BaseException]) -> Iterator[list[int]]:
    """The exception at a given step of whatever happens between the charge and its outcome."""
    steps = [0]

    def local(frame: FrameType, event: str, arg: object) -> object:
        if _at_with(frame):
            return local
        steps[0] += 1
        if steps[0] == point:
            raise stop
        return local

    def top(frame: FrameType, event: str, arg: object) -> object:
        name = frame.f_code.co_filename
        reading = name.startswith(OURS) and not name.startswith((f"{OURS}/ledger", f"{OURS}/sql", f"{OURS}/policy"))
        return local(frame, event, arg) if reading and _paid(frame) else None

    before = sys.gettrace()
    sys.settrace(top)  # type: ignore[arg-type]
    try:
        yield steps
    finally:
        sys.settrace(before)


def _at_with(frame: FrameType) -> bool:
    """Whether a block is entered or left: between its end and the release of its lock Python itself breaks nothing off.

    A trace can, and would leave the lock held for good (https://bugs.python.org/issue29988).
    """
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


def _paid(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "read_job":
            return True
        frame = frame.f_back
    return False


def held(error: BaseException) -> list[str]:
    """What the error holds on to that is exact: over its traceback's variables, and over those of its context."""
    found = []
    chain: list[BaseException | None] = [error, error.__context__, error.__cause__]
    for one in chain:
        trace: TracebackType | None = None if one is None else one.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            ours = frame.f_code.co_filename.startswith(OURS)
            for name, value in frame.f_locals.items() if ours else ():
                exact = isinstance(value, Exact) or (
                    isinstance(value, list) and any(isinstance(v, Exact) for v in value)
                )
                if exact or CANARY in repr(value):
                    found.append(f"{frame.f_code.co_name}.{name}")
            trace = trace.tb_next
    return found


def broken_off(curator: Curator, stop: type[BaseException]) -> Iterator[BaseException]:
    """What a question raises that is stopped at each of some steps. How many it has differs from draw to draw."""
    fresh = QUESTION.replace("0.5", "0.5 FRESH")
    curator.ask(fresh, session=ANA)  # what is done once is done
    with stopped(0, stop) as steps:
        curator.ask(fresh, session=ANA)
    for point in sorted(random.Random(5).sample(range(1, steps[0]), POINTS)):
        try:
            with stopped(point, stop):
                curator.ask(fresh, session=ANA)
        except BaseException as error:
            yield error


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, MemoryError, ValueError])
def test_nothing_exact_hangs_on_what_broke_a_question_off(tmp_path: Path, stop: type[BaseException]) -> None:
    curator, count = clinic().curator(tmp_path), 0
    for error in broken_off(curator, stop):
        count += 1
        assert isinstance(error, (stop, TacitError))
        assert held(error) == []
        assert curator.log("ana")[0].act == "fail"
    assert count > POINTS / 2


def test_the_search_finds_what_an_ordinary_interrupt_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: an interrupt that is let through as it is."""

    curator = clinic().curator(tmp_path)
    monkeypatch.setattr(payment, "BaseException", (), raising=False)  # so that the handler catches nothing
    assert any(held(error) for error in broken_off(curator, KeyboardInterrupt))
