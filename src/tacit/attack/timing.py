"""The clock as a side channel: whether the time of a whole answer tells two neighbours apart."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import duckdb
import numpy as np

from tacit.attack.results import AttackResult, against_chance, enough
from tacit.curator import Curator, Session
from tacit.engines import open_engine
from tacit.ledger import SqliteLedger
from tacit.noise import SYSTEM, Source, uniform_integer
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy

PAIRS = 100
OTHERS, HEAVY = 5_000, 500_000  # rows of everybody else, and of the one person in whom the neighbours differ
QUESTION = "DP-SELECT 0.001 COUNT(*) FROM visits"
Ask = Callable[[], object]


def timing_of_answers(
    asks: tuple[Ask, Ask], *, pairs: int = PAIRS, against: str, source: Source = SYSTEM
) -> AttackResult:
    """Ask two neighbours in pairs, in random order, and say by the clock which answer is whose.

    Which of them is the slower is learnt on half of the pairs; counted is how often it is in the others. That share is
    the area under the curve of the two laws of time: a half where the clock tells nothing. Ask whatever answers: a
    curator, a server with slots, an endpoint. It measures this machine at this hour, and what it does not find may be
    there.
    """
    enough(pairs // 2, "timing of questions")
    for ask in asks:
        ask()  # planned, and warm
    slower = np.zeros(pairs)
    for pair, first in enumerate(uniform_integer(2, pairs, source=source).tolist()):
        taken = [0, 0]
        for side in (first, 1 - first):
            start = time.perf_counter_ns()
            asks[side]()
            taken[side] = time.perf_counter_ns() - start
        slower[pair] = np.sign(taken[1] - taken[0])
    half = pairs // 2
    direction = 1.0 if slower[:half].sum() >= 0 else -1.0
    right = slower[half:] == direction
    return against_chance(
        "timing of questions", against, int(np.count_nonzero(right)), right.size, chance=0.5,
        note="the slower of two answers is that of the neighbour which was slower before",
    )  # fmt: skip


def timing_of_a_heavy_user(*, pairs: int = PAIRS, heavy: int = HEAVY, source: Source = SYSTEM) -> AttackResult:
    """Whether the clock tells that one person with very many rows is in the data: asked of a curator without slots."""
    with tempfile.TemporaryDirectory(prefix="tacit-timing-") as scratch, ExitStack() as opened:
        curators = [opened.enter_context(closing(_curator(Path(scratch), side, heavy * side))) for side in (0, 1)]
        asks = tuple(_asking(curator) for curator in curators)
        return timing_of_answers(
            (asks[0], asks[1]), pairs=pairs, against=f"answers without slots, DuckDB, {heavy:,} rows of one person",
            source=source,
        )  # fmt: skip


def _asking(curator: Curator) -> Ask:
    return lambda: curator.ask(QUESTION, session=Session("mallory"))


def _curator(scratch: Path, side: int, heavy: int) -> Curator:
    name = f"side{side}"
    with duckdb.connect(str(scratch / f"{name}.duckdb")) as connection:
        connection.execute(f"""CREATE TABLE visits AS
            SELECT 'person ' || i AS person, i % 400 AS cost FROM range({OTHERS}) made(i)
            UNION ALL SELECT 'somebody', i % 400 FROM range({heavy}) made(i)""")
    table = TablePolicy(
        "visits", unit="person", max_rows=1, max_groups=1, columns=[ColumnPolicy("cost", lower=0, upper=500, step=1)]
    )
    policy = Policy(
        Dataset(name, f"{name}.duckdb", base=scratch), BudgetPolicy(10**6, reuse=False), tables=[table],
        analysts=[AnalystPolicy("mallory", 10**6)],
    )  # fmt: skip
    return Curator(policy, open_engine(policy), SqliteLedger(scratch / f"{name}.ledger", create=True))
