"""Group commit: everybody's work is done, once, and everybody learns how it ended."""

from __future__ import annotations

import threading
import time

import pytest

from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import fork
from tacit.ledger.group_commit import GroupCommit, Take, apart


def served(batches: list[int]) -> GroupCommit[int]:
    def serve(take: Take[int]) -> None:
        time.sleep(0.005)  # as a sync would, so that others gather meanwhile
        batch = list(take())
        batches.append(len(batch))
        for ticket in batch:
            assert ticket.work is not None
            try:
                ticket.result, ticket.error = ticket.work(7), None
            except BudgetExceeded as refusal:
                ticket.error = refusal

    return GroupCommit(serve)


def together(count: int, act: object) -> list[object]:
    """What each of so many clients got, or was told."""
    results: list[object] = []

    def client(number: int) -> None:
        try:
            results.append(act(number))
        except BaseException as error:
            results.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results


def test_work_that_arrives_together_is_committed_together() -> None:
    batches: list[int] = []
    commits = served(batches)
    results = together(40, lambda number: commits.submit(lambda seven: seven * 100 + number))
    assert sorted(results) == [700 + number for number in range(40)]
    assert sum(batches) == 40
    assert len(batches) < 40


def test_reads_and_writes_are_done_one_after_another() -> None:
    inside: list[int] = []

    def busy(_: int = 0) -> int:
        inside.append(1)
        time.sleep(0.001)
        assert len(inside) == 1
        inside.clear()
        return 1

    commits = served([])
    assert together(30, lambda n: commits.submit(busy) if n % 2 else commits.alone(busy)) == [1] * 30


def test_a_refusal_reaches_the_one_who_asked() -> None:
    def refuse(_: int = 0) -> None:
        raise BudgetExceeded("too much")

    commits = served([])
    for ask in (commits.submit, commits.alone, apart):
        with pytest.raises(BudgetExceeded, match="too much"):
            ask(refuse)  # type: ignore[arg-type]


@pytest.mark.parametrize("where", ["before anything is taken", "after"])
def test_after_an_interruption_nobody_is_told_that_it_worked_and_the_next_may_pass(where: str) -> None:
    calls: list[int] = []

    def serve(take: Take[int]) -> None:
        calls.append(1)
        if len(calls) == 1 and where == "before anything is taken":
            raise KeyboardInterrupt
        batch = list(take())
        if len(calls) == 1:
            raise KeyboardInterrupt
        for ticket in batch:
            ticket.result, ticket.error = 1, None

    commits: GroupCommit[int] = GroupCommit(serve)
    with pytest.raises(LedgerError, match="may or may not"):
        commits.submit(lambda _: 1)
    assert commits.submit(lambda _: 1) == 1


def test_what_our_own_code_stumbles_over_is_told_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    def stumble() -> None:
        raise ValueError("canary-Alice")

    for ask in (served([]).alone, apart):
        with pytest.raises(LedgerError, match="damaged") as caught:
            ask(stumble)
        assert "canary" not in f"{caught.value!r} {caplog.text}"


def test_work_waits_while_a_fork_is_under_way_and_is_done_afterwards() -> None:
    commits, done = served([]), []
    commits.submit(lambda _: 1)
    fork._forks.append(True)
    try:
        commits.aside(lambda: done.append("aside"))
        client = threading.Thread(target=lambda: done.append(commits.submit(lambda _: "worked")))
        client.start()
        client.join(0.05)
        assert done == ["aside"]
    finally:
        fork._forks.pop()
    client.join(60)
    assert done == ["aside", "worked"]


def test_forks_amid_work_lose_nobody() -> None:
    commits, stop = served([]), threading.Event()

    def forker() -> None:
        while not stop.is_set():
            fork._forks.append(True)
            commits.aside(lambda: None)
            fork._forks.pop()
            time.sleep(0.005)  # nobody does nothing but fork

    worker = threading.Thread(target=forker)
    worker.start()
    try:
        assert together(60, lambda number: commits.submit(lambda _: number) == number) == [True] * 60
    finally:
        stop.set()
        worker.join()


def test_work_that_nobody_waits_for_any_more_is_not_begun() -> None:
    commits, begun = served([]), []
    held = threading.Event()
    holder = threading.Thread(target=lambda: commits.alone(held.wait))
    holder.start()
    while not commits._turn.locked():
        time.sleep(0.001)
    ticket_of: list[object] = []

    def interrupted() -> None:
        from tacit.ledger.group_commit import Ticket

        ticket = Ticket(alone=lambda: begun.append(1))
        ticket_of.append(ticket)
        commits._queue.put(ticket)
        ticket.abandoned = True  # as `wait` does on its way out of an interrupt

    interrupted()
    held.set()
    holder.join()
    commits.alone(lambda: None)
    assert begun == []
