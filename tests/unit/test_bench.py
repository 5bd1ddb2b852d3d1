"""The benchmarks run and report; a missed bar is printed, never raised."""

from __future__ import annotations

import ast
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


def answered(**change: object) -> dict[str, object]:
    found = {"title": "Peer", "version": "1.2", "rows": 1_000_000, "why": "", "reasons": {}}
    return found | {"seconds": {"count": 1.5}, "plain": {"count": 0.5, "median": 0.1}} | change


def test_what_peers_took_stands_beside_our_own(bench: dict[str, ModuleType]) -> None:
    ask, said = importlib.import_module("bench.ask"), []
    report = bench["report"].Report(say=said.append)
    ask._beside(report, "count", {"peer": answered(), "other": {"title": "Other", "failed": "no wheel"}})
    assert [(line.what.strip(), line.shown) for line in report.lines] == [
        ("Peer 1.2, 1,000,000 rows (1.50 s to 0.5000 s)", "3.000×")
    ]
    for name in ("median", "count distinct users"):  # not measured
        ask._beside(report, name, {"peer": answered()})
    assert len(report.lines) == 1


def test_a_peer_that_cannot_is_named_with_its_reason(bench: dict[str, ModuleType]) -> None:
    ask = importlib.import_module("bench.ask")
    absent = {"other": {"title": "Other", "failed": "no wheel"}, "peer": answered(reasons={"median": "TypeError: no"})}
    assert ask._absent(absent) == "Other was not measured: no wheel; Peer cannot median"
    assert ask._absent({"peer": answered()}) == ""
    assert "make bench-peers" in ask._absent({})


def test_every_peer_is_asked_our_questions_by_their_names(bench: dict[str, ModuleType]) -> None:
    """The scripts run in environments of their own, so they are read here and not imported."""
    ask = importlib.import_module("bench.ask")
    cases = {ask.question(case[0]) for case in ask.CASES}
    peers = importlib.import_module("bench.peers.__main__").PEERS
    for peer in peers.values():
        tree = ast.parse((BENCH / "peers" / peer.script).read_text(encoding="utf-8"))
        returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
        names = [key.value for node in returned if isinstance(node, ast.Dict) for key in node.keys]
        assert set(names) == cases


def test_a_peer_that_cannot_be_set_up_gives_its_reason(bench: dict[str, ModuleType], tmp_path: Path) -> None:
    peers = importlib.import_module("bench.peers.__main__")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peers, "HOME", tmp_path)
        patch.setattr(peers, "PYTHON", "no-such-python")
        found = peers.measured("opendp", peers.PEERS["opendp"], 100)
    assert found["failed"] == "no-such-python -m venv could not be started"
    assert str(tmp_path) not in json.dumps(found)
