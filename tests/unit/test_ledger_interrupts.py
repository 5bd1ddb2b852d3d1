"""Ctrl-C at every step of all that a ledger does: it never hangs, never shuts, and loses no charge."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from weakref import WeakSet

import pytest

import tacit.ledger
from support.postgres import server
from tacit.core import Budget, Loss
from tacit.ledger import (
    Answer,
    BudgetLimits,
    Charge,
    Keep,
    Ledger,
    Reservation,
    Shelf,
    SqliteLedger,
    accept_rollback,
    fork,
    verify_file,
)
from tacit.ledger.group_commit import GroupCommit, Take, Ticket
from tacit.ledger.postgres.ledger import PostgresLedger

OURS = str(Path(tacit.ledger.__file__).parent)
CAPS = BudgetLimits(total=Budget(1000), analyst=None, window=None, groups=())
KEEP = Keep(key="k", family="f", data_version="1", audience=None, facts="{}")
SHELF = Shelf(dataset="clinic", policy_version="1", data_version="1", analyst="ana")
PATIENCE = 60.0  # seconds after which something hangs


def charge() -> Charge:
    return Charge(
        dataset="clinic", analyst="ana", groups=(), loss=Loss("0.001"), zcdp=None, plan_hash="plan",
        policy_version="1", kind="query",
    )  # fmt: skip


def ask(ledger: Ledger) -> None:
    made = ledger.reserve(charge(), CAPS)
    assert isinstance(made, Reservation)
    ledger.settle(made, [Answer(b"about 42", KEEP)])


def look(ledger: Ledger) -> None:
    ledger.balance("clinic", CAPS, analyst="ana")
    for kept in ledger.kept(SHELF, key="k")[:1]:
        ledger.answer(kept)
    ledger.entries(limit=3)


def give_up(ledger: Ledger) -> None:
    made = ledger.reserve(charge(), CAPS)
    assert isinstance(made, Reservation)
    ledger.fail(made)


ACTS: dict[str, Callable[[Ledger], object]] = {
    "ask": ask, "look": look, "give up": give_up, "verify": lambda ledger: ledger.verify(),
}  # fmt: skip


@contextmanager
def interrupted(point: int, *, how: str, where: str = OURS) -> Iterator[list[int]]:
    """An interrupt at the given step of this thread's way through the ledger. The list counts the steps."""
    steps = [0]

    def local(frame: FrameType, event: str, arg: object) -> object:
        steps[0] += 1
        if steps[0] == point:
            if how == "raised":
                raise KeyboardInterrupt
            signal.raise_signal(signal.SIGINT)
        return local

    def top(frame: FrameType, event: str, arg: object) -> object:
        return local(frame, event, arg) if frame.f_code.co_filename.startswith(where) else None

    before = sys.gettrace()
    sys.settrace(top)  # type: ignore[arg-type]
    try:
        yield steps
    finally:
        sys.settrace(before)


def hangs(act: Callable[[], object]) -> bool:
    """Whether `act`, in a thread of its own, does not come back. What it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    for error in raised:
        raise error
    return thread.is_alive()


def charges(ledger: Ledger) -> int:
    return int(ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon * 1000)


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    if request.param == "sqlite":
        opened: Ledger = SqliteLedger(tmp_path / "ledger.sqlite", create=True)
    else:
        opened = PostgresLedger(server().database(), create=True, mark=tmp_path / "mark")
    ask(opened)
    yield opened
    opened.close()


@pytest.mark.parametrize("how", ["raised", "signalled"])
@pytest.mark.parametrize("name", ACTS)
def test_an_interrupt_at_any_step_neither_hangs_the_ledger_nor_shuts_it(ledger: Ledger, name: str, how: str) -> None:
    point, done = 0, False
    while not done:
        point += 1
        before = charges(ledger)
        with suppress(KeyboardInterrupt), interrupted(point, how=how) as steps:
            ACTS[name](ledger)
        done = steps[0] < point
        assert not hangs(lambda: ask(ledger)), f"step {point} hangs"
        assert charges(ledger) <= before + 2
        assert ledger.entries(limit=1)[0].act != "open"
    assert point > 10
    assert ledger.verify().problems == ()


@pytest.mark.parametrize("how", ["raised", "signalled"])
def test_an_interrupt_while_opening_or_closing_leaves_files_that_open(tmp_path: Path, how: str) -> None:
    path, point, done = tmp_path / "ledger.sqlite", 0, False
    with SqliteLedger(path, create=True) as first:
        ask(first)
    while not done:
        point += 1
        opened = None
        with suppress(KeyboardInterrupt), interrupted(point, how=how) as steps:
            opened = SqliteLedger(path, create=False)
            opened.close()
        done = steps[0] < point

        def go_on() -> None:
            with SqliteLedger(path, create=False) as again:
                ask(again)

        assert not hangs(go_on), f"step {point} hangs"
        if opened is not None:
            assert not hangs(opened.close)
    assert point > 10
    assert verify_file(path).sound


def test_an_interrupt_while_the_owner_accepts_leaves_a_ledger_that_opens(tmp_path: Path) -> None:
    path, point, done = tmp_path / "ledger.sqlite", 0, False
    SqliteLedger(path, create=True).close()
    while not done:
        point += 1
        with suppress(KeyboardInterrupt), interrupted(point, how="raised") as steps:
            accept_rollback(path, "a drill")
        done = steps[0] < point

        def go_on() -> None:
            assert verify_file(path).sound
            with SqliteLedger(path, create=False) as again:
                ask(again)

        assert not hangs(go_on), f"step {point} hangs"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a hook's own interrupt is told there
def test_an_interrupt_amid_a_fork_hangs_neither_parent_nor_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork, "_ledgers", WeakSet())  # every ledger that another test left open would add its steps
    with SqliteLedger(tmp_path / "ledger.sqlite", create=True) as ledger:
        point, done = 0, False
        while not done:
            point += 1
            ask(ledger)
            child = -1
            with suppress(KeyboardInterrupt), interrupted(point, how="raised") as steps:
                child = os.fork()
            if child == 0:
                sys.settrace(None)
                try:
                    os._exit(0 if not hangs(lambda: ask(ledger)) else 3)
                finally:
                    os._exit(4)
            done = steps[0] < point
            assert not hangs(lambda: ask(ledger)), f"step {point} hangs the parent"
            if child > 0:
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 4), f"step {point}"
        assert point > 20


# --- the twin: one who asks takes the lock


class LockTaker(GroupCommit[int]):
    """A group commit whose callers take the turn themselves, as ours once did."""

    def __init__(self) -> None:
        super().__init__(lambda take: None)
        self._lock = threading.Condition()
        self._busy = False

    def submit(self, work: Callable[[int], object]) -> object:  # type: ignore[override]
        with self._lock:
            while self._busy:
                self._lock.wait()
            self._busy = True
        result = work(7)
        with self._lock:
            self._busy = False
            self._lock.notify_all()
        return result


def test_the_injector_catches_a_group_commit_whose_callers_take_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "PATIENCE", 0.2)
    stuck = []
    for point in range(1, 30):
        twin = LockTaker()
        with suppress(KeyboardInterrupt), interrupted(point, how="raised", where=__file__):
            twin.submit(lambda _: 1)
        if hangs(lambda twin=twin: twin.submit(lambda _: 1)):  # type: ignore[misc]
            stuck.append(point)
    assert stuck


def test_one_who_was_interrupted_while_waiting_does_not_stop_the_others() -> None:
    def serve(take: Take[int]) -> None:
        for ticket in take():
            ticket.result, ticket.error = 1, None

    commits: GroupCommit[int] = GroupCommit(serve)
    for _ in range(50):
        gone: Ticket[int] = Ticket(lambda _: 1)
        commits._queue.put(gone)  # put, and never waited for
        assert not hangs(lambda: commits.submit(lambda _: 1))
