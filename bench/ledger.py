"""The ledger: durable charges a second, alone and together, and what a charge costs late in a long log."""

from __future__ import annotations

import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import Report, at_least, below
from tacit.core import Budget, Loss
from tacit.ledger import Answer, BudgetLimits, Charge, Reservation, SqliteLedger

CAPS = BudgetLimits(total=Budget(10**9), analyst=Budget(10**9), window=86_400, groups=(("staff", Budget(10**9)),))
PROCESSES, THREADS = 8, 8
CHARGES, LONG, LONGEST = 4_000, 30_000, 200_000


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:  # beside the code: /tmp may be memory
        where = Path(folder)
        count = report.share(CHARGES)
        report.section(
            "Durable charges", f"SQLite, write-ahead log, one sync each ({_sync(where):.2f} ms on this disk)"
        )
        one = where / "one.sqlite"
        report.add("one client, a second", count / 4 / _clients(one, 1, count // 4))
        many = where / "many.sqlite"
        rate = count / _clients(many, THREADS, count)
        report.add(f"{THREADS} clients in one process, a second", rate, bar=at_least(300))
        rate = count / _processes(where / "all.sqlite", count)
        report.add(f"{PROCESSES * THREADS} clients in {PROCESSES} processes, a second", rate, bar=at_least(300))
        report.add("reserve and settle, median ms", _question(where / "question.sqlite", report.share(400)), unit=" ms")
        _late(report, where / "late.sqlite")


def _sync(where: Path) -> float:
    descriptor = os.open(where / "sync", os.O_CREAT | os.O_WRONLY)
    times = []
    for _ in range(50):
        os.write(descriptor, bytes(4096))
        start = time.perf_counter()
        os.fdatasync(descriptor)
        times.append(time.perf_counter() - start)
    os.close(descriptor)
    return statistics.median(times) * 1000


def _charge(number: int) -> Charge:
    return Charge(
        dataset="clinic", analyst=f"analyst {number}", groups=("staff",), loss=Loss("0.001"), zcdp=None,
        plan_hash="0" * 64, policy_version="1", kind="query",
    )  # fmt: skip


def _repeat(ledger: SqliteLedger, number: int, times: int) -> None:
    charge = _charge(number)
    for _ in range(times):
        ledger.reserve(charge, CAPS)


def _together(task: Callable[[int], None], clients: int) -> None:
    threads = [threading.Thread(target=task, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _clients(path: Path, clients: int, charges: int) -> float:
    with SqliteLedger(path, create=True) as ledger:
        start = time.perf_counter()
        _together(lambda number: _repeat(ledger, number, charges // clients), clients)
        return time.perf_counter() - start


def _process(path: Path, charges: int, ready: object, go: object) -> None:
    with SqliteLedger(path, create=True) as ledger:
        ready.release()
        go.wait()
        _together(lambda number: _repeat(ledger, number, charges // THREADS), THREADS)


def _processes(path: Path, charges: int) -> float:
    context = multiprocessing.get_context("spawn")
    ready, go = context.Semaphore(0), context.Event()
    workers = [context.Process(target=_process, args=(path, charges // PROCESSES, ready, go)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    for _ in workers:
        ready.acquire()
    start = time.perf_counter()
    go.set()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def _question(path: Path, questions: int) -> float:
    times = []
    with SqliteLedger(path, create=True) as ledger:
        for _ in range(questions):
            start = time.perf_counter()
            made = ledger.reserve(_charge(0), CAPS)
            assert isinstance(made, Reservation)
            ledger.settle(made, [Answer(bytes(1000))])
            times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def _late(report: Report, path: Path) -> None:
    earlier, sample = report.share(LONGEST if report.long else LONG), report.share(500)
    with SqliteLedger(path, create=True) as ledger:
        early = _cpu(ledger, sample)
        connection = ledger._desk.connection
        connection.execute("PRAGMA synchronous = OFF")  # only to fill it
        _together(lambda number: _repeat(ledger, number, earlier // 64), 64)
        connection.execute("PRAGMA synchronous = FULL")
        late = _cpu(ledger, sample)
        report.add(
            f"a charge after {earlier:,}, in CPU, beside one of the first", late / early, unit="×", bar=below(1.5)
        )
        start = time.perf_counter()
        entries = ledger.verify().entries
        seconds = time.perf_counter() - start
        report.add("entries verified a second", entries / seconds)
        if report.long:
            report.add(f"all {entries:,} entries verified", seconds, unit=" s", bar=below(22))


def _cpu(ledger: SqliteLedger, charges: int) -> float:
    start = time.process_time()
    _repeat(ledger, 0, charges)
    return time.process_time() - start
