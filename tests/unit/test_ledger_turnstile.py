"""Group commit: everybody's work is done, once, and everybody learns how it ended."""

from __future__ import annotations

import threading
import time

import pytest

from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger.turnstile import Take, Turnstile


def served(batches: list[int]) -> Turnstile[int]:
    def serve(take: Take[int]) -> None:
        batch = take()
        batches.append(len(batch))
        time.sleep(0.005)  # as a sync would, so that others gather meanwhile
        for ticket in batch:
            try:
                ticket.result, ticket.error = ticket.work(7), None
            except BudgetExceeded as refusal:
                ticket.error = refusal

    return Turnstile(serve)


def test_work_that_arrives_together_is_committed_together() -> None:
    batches: list[int] = []
    turnstile, results = served(batches), []

    def client(number: int) -> None:
        results.append(turnstile.submit(lambda seven: seven * 100 + number))

    threads = [threading.Thread(target=client, args=(number,)) for number in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [700 + number for number in range(40)]
    assert sum(batches) == 40
    assert len(batches) < 40


def test_a_refusal_reaches_the_one_who_asked() -> None:
    def refuse(_: int) -> None:
        raise BudgetExceeded("too much")

    with pytest.raises(BudgetExceeded, match="too much"):
        served([]).submit(refuse)


def test_after_an_interruption_nobody_is_told_that_it_worked_and_the_next_may_pass() -> None:
    calls = []

    def serve(take: Take[int]) -> None:
        batch = take()
        calls.append(len(batch))
        if len(calls) == 1:
            while len(turnstile._queue) < 2:
                time.sleep(0.001)
            return  # served nothing, as if it had been killed in the middle
        if len(calls) == 2:
            raise KeyboardInterrupt
        for ticket in batch:
            ticket.result, ticket.error = 1, None

    turnstile: Turnstile[int] = Turnstile(serve)
    errors: list[BaseException] = []

    def client() -> None:
        try:
            turnstile.submit(lambda _: 1)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(type(error).__name__ for error in errors) == ["KeyboardInterrupt", "LedgerError", "LedgerError"]
    assert all("may or may not" in error.message for error in errors if isinstance(error, LedgerError))
    assert turnstile.submit(lambda _: 1) == 1


def test_whoever_was_in_the_queue_when_nothing_could_be_served_is_told() -> None:
    def serve(take: Take[int]) -> None:
        raise KeyboardInterrupt  # before anything was taken

    turnstile: Turnstile[int] = Turnstile(serve)
    with pytest.raises(KeyboardInterrupt):
        turnstile.submit(lambda _: 1)
    assert turnstile._queue == []
