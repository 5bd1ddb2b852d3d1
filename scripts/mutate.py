"""Plant small faults in what guards money and privacy, one at a time, and report those that no test notices.

    python scripts/mutate.py ledger                          every fault of a room
    python scripts/mutate.py --sample 40 sql                 forty of them, the same ones for the same --seed
    python scripts/mutate.py --files 'curator/pay*' --lines 40-60
    python scripts/mutate.py sql --files 'sql/rules/*' 'sql/planning/bounding.py'
    python scripts/mutate.py --resume faults.jsonl           write each verdict down, and go on where it ends

A fault is a comparison or a condition turned, a number one off, a sign, a `not`, a call, a guard or a part of a tuple
left out. The tests of a room are collected and run once, to learn which lines each of them runs and how long it takes.
Each fault is then planted in a fork of that process, which runs the tests that reach its line, those that have noticed
most so far first, then the fastest, and stops at the first that fails. What survives is printed with its line: some
change nothing that matters (a message, a cache's size); the others need a test. Tests that do not end in time decide
nothing, and are named.

Not planted: faults outside of functions (constants, defaults, decorators), unless --constants, which runs a new process
for each; and nothing in the processes that a test starts.
"""

from __future__ import annotations

import _thread
import argparse
import ast
import fnmatch
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mutate_faults import SOURCES, Fault, faults, plant

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60  # seconds of tests, as they took without a fault, for one fault
HANGS = 90  # seconds besides, after which a fault is given up

ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # what is mutated, and what should notice
    "curator": (
        (
            "curator/payment.py",
            "curator/jobs/*.py",
            "curator/answering.py",
            "curator/reading.py",
            "curator/reusing/*.py",
            "curator/curator.py",
            "curator/within.py",
            "curator/tellings.py",
        ),
        (
            "tests/property/test_charges.py",
            "tests/property/test_kept_members.py",
            "tests/property/test_plan_cache.py",
            "tests/property/test_reuse_properties.py",
            "tests/conformance/test_jobs.py",
            "tests/unit/test_curator_*.py",
            "tests/unit/test_calibrate*.py",
            "tests/unit/test_mechanism_gaussian_job.py",
        ),
    ),
    "ledger": (
        ("ledger/entries/*.py", "ledger/amounts.py", "ledger/desk.py"),
        (
            "tests/unit/test_ledger_[!i]*.py",  # not the interrupts, which trace as we do
            "tests/conformance/test_ledgers.py",
            "tests/property/test_ledger_filters.py",
            "tests/unit/test_curator_remembered.py",
        ),
    ),
    "accounting": (
        (
            "accounting/composition.py",
            "accounting/filters/sums.py",
            "accounting/event_loss.py",
            "accounting/zcdp.py",
            "accounting/grains.py",
            "accounting/filters/grains.py",
            "accounting/filters/alternatives.py",
            "accounting/groups.py",
            "accounting/refining.py",
        ),
        (
            "tests/unit/test_accounting_*.py",
            "tests/unit/test_lectures_composition.py",
            "tests/property/test_composition_properties.py",
            "tests/property/test_ledger_filters.py",
            "tests/property/test_grains.py",
        ),
    ),
    "sql": (
        (
            "sql/planning/*.py",
            "sql/rules/*.py",
            "sql/binding/told_keys.py",
            "sql/expressions/listed_keys.py",
            "sql/expressions/public_rows.py",
        ),
        (
            "tests/rules/test_rules.py",
            "tests/unit/test_sql_*.py",
            "tests/unit/test_curator_bias.py",
            "tests/unit/test_left_out.py",
            "tests/unit/test_planning_budget.py",
            "tests/property/test_charges.py",
            "tests/property/test_sql_split.py",
            "tests/e2e/test_sensitivity_fuzz.py",
        ),
    ),
    "learn": (
        (
            "learn/sums/*.py",
            "learn/networks/*.py",
            "learn/classifiers/*.py",
            "learn/regression/*.py",
            "learn/unsupervised/*.py",
            "learn/holdout/*.py",
            "learn/hypotheses/*.py",
            "learn/accuracy/*.py",
            "learn/searching.py",
        ),
        (
            "tests/unit/test_learn_[!e]*.py",  # engines and the long rows of every model take minutes
            "tests/unit/test_mechanism_threshold.py",
            "tests/statistical/test_comparing.py",
        ),
    ),
}


class Campaign:
    """A pytest plugin that runs, in place of the tests, the tests of each fault in a fork of their own."""

    def __init__(self, planted: list[Fault], *, record: Path | None, patience: float) -> None:
        self.planted, self.patience = planted, patience
        self.record = record
        self.verdicts: dict[str, str] = {}
        self.kills: dict[Path, Counter[str]] = defaultdict(Counter)
        if record is not None and record.exists():
            for line in record.read_text().splitlines():
                self.verdicts.update([json.loads(line)])

    def pytest_configure(self, config: pytest.Config) -> None:
        """Let hypothesis draw what it draws in CI, and not shrink what fails."""
        from hypothesis import Phase, settings

        settings.register_profile("mutate", settings.get_profile("ci"), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutate")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn what each test reaches; then plant every fault."""
        temporary = Path(session.config.getoption("basetemp"))
        reached, seconds = self._reached(session, temporary)
        items = {item.nodeid: item for item in session.items}
        for count, fault in enumerate(self.planted, 1):
            if fault.key in self.verdicts:
                continue
            tests = [name for name in seconds if reached[name] & {(str(fault.path), line) for line in fault.lines}]
            kills = self.kills[fault.path]
            chosen = _first(sorted(tests, key=lambda name: (-kills[name], seconds[name])), seconds, self.patience)
            self._verdict(fault, self._try(fault, [items[name] for name in chosen], temporary), len(chosen), len(tests))
            if sys.stderr.isatty():
                print(f"\r{count} of {len(self.planted)}", end="", file=sys.stderr)
        return True

    def _reached(self, session: pytest.Session, temporary: Path) -> tuple[dict[str, set[Any]], dict[str, float]]:
        """The lines of mutated files that each test runs, and how long it takes, of those that pass."""
        answer = temporary.with_suffix(".json") if self.record is None else self.record.with_suffix(".reached")
        watched = {str(fault.path) for fault in self.planted}
        child = os.fork()
        if child == 0:
            _trace(session, watched, answer)
        os.waitpid(child, 0)
        recorded = json.loads(answer.read_text())
        for name, count in Counter(name.split("::")[0] for name in recorded["failed"]).items():
            print(f"{count} tests fail without a fault: {name}")
        reached = {name: {tuple(line) for line in lines} for name, lines in recorded["reached"].items()}
        seconds = {item.nodeid: recorded["seconds"][item.nodeid] for item in session.items if item.nodeid in reached}
        print(f"{len(seconds)} tests in {sum(seconds.values()):.0f} s, {len(self.planted)} faults", flush=True)
        return reached, seconds

    def _try(self, fault: Fault, items: list[pytest.Item], temporary: Path) -> str:
        if not items:
            return "unreached"
        if fault.within is None:
            return _anew(fault, [item.nodeid for item in items])
        report = temporary.with_suffix(".killer")
        report.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os._exit(_child(fault, items, report))
        status = _wait(child, HANGS + self.patience)
        shutil.rmtree(temporary, ignore_errors=True)
        if status is None:
            return "out of time"
        if status != 0 and report.exists():
            self.kills[fault.path][report.read_text()] += 1
        return "survives" if status == 0 else "killed"

    def _verdict(self, fault: Fault, verdict: str, tried: int, reaching: int) -> None:
        self.verdicts[fault.key] = verdict
        if self.record is not None:
            with self.record.open("a") as record:
                record.write(json.dumps([fault.key, verdict]) + "\n")
        if verdict != "killed":
            print(f"{verdict} ({tried} of {reaching} tests): {fault.key}", flush=True)


def _first(names: list[str], seconds: dict[str, float], patience: float) -> list[str]:
    """As many as take no longer than our patience, and at least one."""
    chosen: list[str] = []
    total = 0.0
    for name in names:
        total += seconds[name]
        if chosen and total > patience:
            break
        chosen.append(name)
    return chosen


def _silent() -> None:
    """Send what the tests of this process print nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _run(items: list[pytest.Item], index: int) -> bool:
    """Whether the test at this index passes."""
    session = items[index].session
    before = session.testsfailed
    following = items[index + 1] if index + 1 < len(items) else None
    items[index].config.hook.pytest_runtest_protocol(item=items[index], nextitem=following)
    return session.testsfailed == before


def _child(fault: Fault, items: list[pytest.Item], report: Path) -> int:
    """Plant the fault, and run the tests until one fails: 0 where none does."""
    _silent()
    try:
        if not plant(fault):
            return 3
        for index in range(len(items)):
            if not _run(items, index):
                report.write_text(items[index].nodeid)
                return 1
    except BaseException:  # a fault that stops the run has been noticed
        return 2
    return 0


def _trace(session: pytest.Session, watched: set[str], answer: Path) -> None:
    """Run all tests of which nothing is on record, and write down what each reaches. Does not return."""
    _silent()
    lines: set[tuple[str, int]] = set()

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def trace(frame: FrameType, _: str, __: Any) -> Any:
        return local if frame.f_code.co_filename in watched else None

    recorded: dict[str, Any] = {"reached": {}, "seconds": {}, "failed": []}
    if answer.exists():
        recorded = {**json.loads(answer.read_text()), "failed": []}
    items = [item for item in session.items if item.nodeid not in recorded["reached"]]
    _follow(trace)
    for index, item in enumerate(items):
        lines.clear()
        sys.settrace(trace)
        begun = time.process_time()
        passes = _run(items, index)
        sys.settrace(None)
        if passes:
            recorded["reached"][item.nodeid] = sorted(lines)
            recorded["seconds"][item.nodeid] = time.process_time() - begun
        else:
            recorded["failed"].append(item.nodeid)
    answer.write_text(json.dumps(recorded))
    os._exit(0)


def _follow(trace: Any) -> None:
    """Trace every thread that is begun from here on: those of `threading`, and the ledger's own, which are bare."""
    begin = _thread.start_new_thread

    def traced(work: Any, *rest: Any) -> int:
        def run(*arguments: Any, **named: Any) -> None:
            sys.settrace(trace)
            work(*arguments, **named)

        return begin(run, *rest)

    threading.settrace(trace)
    _thread.start_new_thread = traced


def _wait(child: int, patience: float) -> int | None:
    """Its exit status; None where it did not end in time, and was ended."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _anew(fault: Fault, tests: list[str]) -> str:
    """The verdict of a new process, whose modules are imported with the fault in them."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "src"
        shutil.copytree(SOURCES.parent, tree, ignore=shutil.ignore_patterns("__pycache__"))
        (tree / fault.path.relative_to(SOURCES.parent)).write_text(ast.unparse(fault.tree))
        environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", *tests]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=HANGS + PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            return "out of time"
    return "killed" if done.returncode else "survives"


def table(verdicts: dict[str, str]) -> str:
    """How many faults of each file were planted, and what became of them."""
    outcomes = ("killed", "survives", "unreached", "out of time")
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for key, verdict in verdicts.items():
        counts[key.split(":")[0]][verdict] += 1
        counts["together"][verdict] += 1
    rows: list[tuple[str, ...]] = [("file", "planted", *outcomes)]
    rows += [
        (name, str(count.total()), *(str(count[outcome]) for outcome in outcomes)) for name, count in counts.items()
    ]
    rows.sort(key=lambda row: (row[0] == "together", row[0] != "file"))
    return "\n".join(f"{row[0]:40}" + "".join(f"{cell:>13}" for cell in row[1:]) for row in rows)


def main() -> int:
    """Plant, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[[], *ROOMS], help=f"of {', '.join(ROOMS)}; all, if none is named")
    parser.add_argument("--files", nargs="+", default=["*"], help="patterns: only these files, as curator/jobs/*.py")
    parser.add_argument("--lines", help="only these lines, as 40-60 or 44")
    parser.add_argument("--tests", nargs="*", help="these tests in place of the room's")
    parser.add_argument("--constants", action="store_true", help="faults outside of functions too, which is slow")
    parser.add_argument("--sample", type=int, help="how many faults of each room; all, if not given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=PATIENCE, help="seconds of tests for one fault")
    parser.add_argument("--resume", type=Path, help="a file of verdicts: those in it are not sought again")
    asked = parser.parse_args()
    verdicts: dict[str, str] = {}
    for room in asked.rooms or ROOMS:
        verdicts.update(_room(room, asked))
    print(table(verdicts))
    return 1 if set(verdicts.values()) - {"killed"} else 0


def _room(room: str, asked: argparse.Namespace) -> dict[str, str]:
    patterns, wanted = ROOMS[room]
    first, _, last = (asked.lines or "1-999999").partition("-")
    lines = range(int(first), int(last or first) + 1)
    possible = [
        fault
        for pattern in patterns
        for path in sorted(SOURCES.glob(pattern))
        if any(fnmatch.fnmatch(str(path.relative_to(SOURCES)), files) for files in asked.files)
        for fault in faults(path)
        if fault.line in lines and (fault.within is not None or asked.constants)
    ]
    if asked.sample is not None:
        possible = random.Random(asked.seed).sample(possible, min(asked.sample, len(possible)))
    if not possible:
        return {}
    tests = asked.tests or [str(path) for pattern in wanted for path in sorted(ROOT.glob(pattern))]
    campaign = Campaign(possible, record=asked.resume, patience=asked.patience)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        quiet = ["-q", "-s", "-n0", "-p", "no:cacheprovider", "--basetemp", f"{folder}/tests", "-m", "not heavy"]
        pytest.main([*quiet, "--no-header", *tests], plugins=[campaign])
    chosen = {fault.key for fault in possible}
    return {key: verdict for key, verdict in campaign.verdicts.items() if key in chosen}


if __name__ == "__main__":
    sys.exit(main())
