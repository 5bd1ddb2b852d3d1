"""The benchmarks run and report; a missed bar is printed, never raised."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def bench() -> dict[str, ModuleType]:
    """The modules of the package beside `tests`, which is not installed."""
    if str(BENCH.parent) not in sys.path:
        sys.path.append(str(BENCH.parent))
    return {name: importlib.import_module(f"bench.{name}") for name in ("report", "timing", "__main__")}


def test_a_missed_bar_is_printed_and_kept(bench: dict[str, ModuleType], tmp_path: Path) -> None:
    said: list[str] = []
    report = bench["report"].Report(say=said.append)
    report.section("A section")
    report.add("fast enough", 60, unit="×", bar=bench["report"].at_least(50))
    report.add("too slow", 40, unit="×", bar=bench["report"].at_least(50))
    report.add("leaks too much", 0.5, bar=bench["report"].below(0.05))
    report.add("for comparison", 1.5)
    report.close(tmp_path / "results")
    assert "1 of 3 bars met" in said[-1]
    assert any("too slow" in line and line.endswith("FAIL") for line in said)
    [kept] = (tmp_path / "results").iterdir()
    assert [line["verdict"] for line in json.loads(kept.read_text())["lines"]] == ["pass", "fail", "fail", ""]


def test_every_benchmark_is_found_by_its_file(bench: dict[str, ModuleType]) -> None:
    found = bench["__main__"].benchmarks()
    assert "noise" in found
    assert not {"report", "timing"} & set(found)


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_times_are_medians_of_alternating_repeats(bench: dict[str, ModuleType]) -> None:
    clock, ran = Clock(), []
    costs = {"a": iter([100, 1, 2, 900, 3, 4]), "b": iter([100, 7, 7, 7, 7, 7])}

    def task(name: str) -> None:
        ran.append(name)
        clock.now += next(costs[name])

    took = bench["timing"].cpu_seconds({"a": lambda: task("a"), "b": lambda: task("b")}, clock=clock)
    assert took == {"a": 3, "b": 7}  # the first round is for warming up; one busy moment does not count
    assert ran == ["a", "b"] * 6


def test_time_that_grows_with_what_is_drawn_is_noticed(bench: dict[str, ModuleType]) -> None:
    clock, numbers = Clock(), iter(range(10**6))

    def leaking() -> int:
        number = next(numbers) * 7919 % 101
        clock.now += number
        return -number

    def steady() -> int:
        number = next(numbers)
        clock.now += number % 2
        return number * 7919 % 101

    assert bench["timing"].time_and_size(leaking, draws=1000, clock=clock) > 0.99
    assert abs(bench["timing"].time_and_size(steady, draws=1000, clock=clock)) < 0.1
    assert bench["timing"].time_and_size(lambda: 0, draws=10, clock=clock) == 0
