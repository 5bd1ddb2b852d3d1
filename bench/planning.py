"""What planning costs: every question of the analysts' and the county's lists, never seen before, in CPU time."""

from __future__ import annotations

import gc
import importlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.report import Report, at_least, below
from bench.timing import cpu_of
from tacit.curator import Curator, Session
from tacit.engines.answers.process import SHARED

REPEATS = 3
MOST = 5  # milliseconds
_TESTS = Path(__file__).parents[1] / "tests"
_LISTS = {"analysts": ("sql_analysts", "analysts_hospital"), "county": ("sql_county", "county")}


def run(report: Report) -> None:
    try:
        build = f"compiled, sqlglotc {version('sqlglotc')}"
    except PackageNotFoundError:
        build = "plain"
    about = (
        f"CPU of a question that was never seen, to the plan, that of the process that rehearses too; sqlglot {build}"
    )
    report.section("Planning", about)
    taken = sorted(1_000 * _planned(curator, text) for curator, text in _questions(report))
    within = sum(each <= MOST for each in taken) / len(taken)
    report.add(f"mean of {len(taken)} questions", statistics.mean(taken), unit=" ms", bar=below(MOST))
    report.add("median", statistics.median(taken), unit=" ms", bar=below(MOST))
    report.add("nine in ten are below", taken[int(0.9 * len(taken))], unit=" ms")
    report.add("the longest", taken[-1], unit=" ms")
    report.add(f"share within {MOST} ms", within, bar=at_least(1))


def _questions(report: Report) -> Iterator[tuple[Curator, str]]:
    """Every question that is answered, and who answers it."""
    sys.path.append(str(_TESTS))  # the lists belong to the tests, and so do the worlds they are asked of
    cases = importlib.import_module("unit.test_sql_analysts").cases
    for table, (module, world) in _LISTS.items():
        with tempfile.TemporaryDirectory() as folder:
            asked_of = getattr(importlib.import_module(f"conformance.{module}"), world)()
            with closing(asked_of.curator(Path(folder))) as curator:
                texts = [
                    case.text for case in cases(_TESTS / "unit" / "data" / f"sql_{table}.sql") if case.refused is None
                ]
                yield from ((curator, text) for text in texts[: report.share(len(texts))])


def _planned(curator: Curator, text: str) -> float:
    """Seconds of CPU: a text that is kept is known by its letters, so that one more space makes it new."""
    session, taken = Session("ana"), []
    gc.disable()  # what is collected in between is other questions'
    try:
        for repeat in range(REPEATS + 1):
            start = _spent()
            curator.prepare(text + " " * repeat, session=session)
            taken.append(_spent() - start)
    finally:
        gc.enable()
    return statistics.median(taken[1:])  # the first warms caches of what many questions share


def _spent() -> float:
    """CPU seconds so far: ours, and those of the process in which what is computed from answers is tried."""
    return time.process_time() + sum(cpu_of(process.pid) for process in SHARED._idle)
