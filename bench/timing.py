"""How long things take: medians of alternating repeats, so that a busy minute hurts all alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from scipy import stats

REPEATS = 5
Task = Callable[[], object]


def cpu_seconds(
    tasks: Mapping[str, Task], *, repeats: int = REPEATS, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """The median CPU time of each task, run in turn: a, b, c, a, b, c, …"""
    spent: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()  # warm up: caches, lazily built tables
    for _ in range(repeats):
        for name, task in tasks.items():
            gc.collect()
            start = clock()
            task()
            spent[name].append(clock() - start)
    return {name: statistics.median(times) for name, times in spent.items()}


def cpu_of(pid: int) -> float:
    """Seconds of CPU that another process has taken, where the system counts them finely (Linux); else 0."""
    try:
        counted = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:
        return 0.0
    return sum(int(text.split()[0]) for text in counted if text) / 1e9


def time_and_size(draw: Callable[[], int], *, draws: int, clock: Callable[[], float] = time.perf_counter_ns) -> float:
    """Spearman's correlation between the size of a number drawn and the time it took: 0 leaks nothing by the clock."""
    sizes, times = np.empty(draws), np.empty(draws)
    for _ in range(100):
        draw()
    gc.collect()
    gc.disable()
    try:
        for place in range(draws):
            start = clock()
            number = draw()
            times[place] = clock() - start
            sizes[place] = abs(number)
    finally:
        gc.enable()
    if len(set(sizes)) == 1:
        return 0.0
    return float(stats.spearmanr(sizes, times).statistic)
