"""What leaves beside the answer: digits of floats, the time of a draw, the words of an error, a race for a budget."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.attack.auditing.outcomes import fractional_digits
from tacit.attack.results import AttackResult, against_chance
from tacit.curator import Curator, Release, Session
from tacit.engines import open_engine
from tacit.errors import BudgetExceeded, TacitError
from tacit.ledger import SqliteLedger
from tacit.mechanisms import Laplace
from tacit.noise import SYSTEM, Source, uniform_integer
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy

Noisy = Callable[[NDArray[np.int64]], NDArray[np.float64]]
HOSTILE = (  # each fails on one kind of cell, if cells are ever converted, divided by or printed
    "DP-SELECT 1 SUM(CAST(name AS INTEGER)) FROM people",
    "DP-SELECT 1 COUNT(*) FROM people WHERE 1 / (x - 7) > 0",
    "DP-SELECT 1 SUM(x * 1e300 * 1e300) FROM people",
    "DP-SELECT 1 COUNT(*) FROM people WHERE name = (SELECT name FROM people)",
    "DP-SELECT 1 name, COUNT(*) FROM people GROUP BY name",
    "DP-SELECT 1 AVG(x) FROM people WHERE name LIKE '%\\'",
    "SELECT * FROM people",
    "DP-SELECT 1 SUM(y) FROM people",
)


def floating_digits(noisy: Noisy, *, against: str, draws: int = 400, source: Source = SYSTEM) -> AttackResult:
    """Tell 0 from 1 by the digits of a noisy number: a float near zero has more of them behind the point."""
    truth = uniform_integer(2, draws, source=source)
    digits = fractional_digits(np.asarray(noisy(truth), dtype=np.float64))
    guess = np.where(digits > 53, 0, np.where(digits >= 53, uniform_integer(2, draws, source=source), 1))
    if not np.any(digits > 53):
        guess = uniform_integer(2, draws, source=source)
    hits = int(np.count_nonzero(guess == truth))
    return against_chance("floating-point digits", against, hits, draws, chance=0.5, note="digits tell 0 from 1")


def timing_of_draws(*, draws: int = 600, source: Source = SYSTEM) -> AttackResult:
    """Tell large noise from small by how long it took to draw: the threshold is learnt on half of the draws."""
    noise = Laplace(1000)
    value = np.zeros(1, dtype=np.int64)
    taken, sizes = np.zeros(draws), np.zeros(draws)
    for index in range(draws):
        start = time.perf_counter_ns()
        drawn = noise.release(value, source)
        taken[index] = time.perf_counter_ns() - start
        sizes[index] = abs(int(drawn[0]))
    large = sizes > np.median(sizes)
    half = draws // 2
    cut = np.median(taken[:half])
    slow_is_large = np.mean(large[:half] == (taken[:half] > cut)) >= 0.5
    right = (large[half:] == (taken[half:] > cut)) == slow_is_large
    return against_chance(
        "timing of draws", "our Laplace noise", int(np.count_nonzero(right)), draws - half, chance=0.5,
        note="the time of a draw tells whether it is large",
    )  # fmt: skip


def error_texts() -> tuple[int, int]:
    """How many of some hostile questions are answered, refused or failed in other words on two neighbours; of how many.

    One neighbour has a person more, with a name and a number that would make careless SQL fail.
    """
    people = "(VALUES ('Alice', 3), ('Bob', 4))"
    more = "(VALUES ('Alice', 3), ('Bob', 4), ('7e999', 7))"
    said = []
    with tempfile.TemporaryDirectory(prefix="tacit-errors-") as scratch:
        for side, rows in enumerate((people, more)):
            with closing(_bench(Path(scratch), f"side{side}", rows, budget=10**6)) as curator:
                said.append([_words(curator, text) for text in HOSTILE])
    return sum(a != b for a, b in zip(*said, strict=True)), len(HOSTILE)


def _words(curator: Curator, text: str) -> str:
    try:
        answer = curator.ask(text, session=Session("mallory"))
    except TacitError as error:
        return error.explain()
    assert isinstance(answer, Release)  # noqa: S101 - none of them says EXPLAIN
    return f"{answer.columns} {answer.cost} {answer.notes}"


def budget_race(*, threads: int = 8, budget: int = 5) -> tuple[int, int]:
    """How many answers at epsilon 1 a race of threads gets from a budget, and how many it covers."""
    answered: list[int] = []
    barrier = threading.Barrier(threads)
    with (
        tempfile.TemporaryDirectory(prefix="tacit-race-") as scratch,
        closing(_bench(Path(scratch), "race", "(VALUES ('Alice', 3))", budget=budget)) as curator,
    ):

        def ask(number: int) -> None:
            barrier.wait()
            for turn in range(budget):
                text = f"DP-SELECT 1 COUNT(*) FROM people WHERE x < {number * 10 + turn}"
                try:
                    curator.ask(text, session=_MALLORY)
                except BudgetExceeded:
                    continue
                answered.append(1)

        racing = [threading.Thread(target=ask, args=(number,)) for number in range(threads)]
        for thread in racing:
            thread.start()
        for thread in racing:
            thread.join()
    return len(answered), budget


_MALLORY = Session("mallory")


def _bench(scratch: Path, name: str, rows: str, *, budget: int) -> Curator:
    with duckdb.connect(str(scratch / f"{name}.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM {rows} AS made(name, x)")
    table = TablePolicy(
        "people", unit="row", columns=[ColumnPolicy("name"), ColumnPolicy("x", lower=0, upper=10, step=1)]
    )
    policy = Policy(
        Dataset(name, f"{name}.duckdb", base=scratch), BudgetPolicy(budget, reuse=False), tables=[table],
        analysts=[AnalystPolicy("mallory", budget)],
    )  # fmt: skip
    return Curator(policy, open_engine(policy), SqliteLedger(scratch / f"{name}.ledger", create=True))
