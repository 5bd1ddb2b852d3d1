"""Plant small faults in what guards money and privacy, one at a time, and report those that no test notices.

    python scripts/mutate.py ledger            every fault of a room, as many as the sample allows
    python scripts/mutate.py --sample 40 sql   forty of them, the same ones for the same --seed

A fault is a comparison turned, a number one off, a sign, a `not` or a guard left out. Each runs the tests of its room
against a copy of the sources, and stops at the first test that fails. What survives is printed with its line: some
change nothing that matters (a message, a cache's size); the others need a test. Tests that do not end in time decide
nothing, and are named.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "tacit"
PATIENCE = 240  # seconds for one fault

ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # what is mutated, and what should notice
    "ledger": (
        (
            "ledger/entries/accounts.py",
            "ledger/amounts.py",
            "ledger/entries/book.py",
            "ledger/entries/chain.py",
            "ledger/desk.py",
        ),
        ("tests/unit/test_ledger_*.py", "tests/conformance/test_ledgers.py"),
    ),
    "accounting": (
        (
            "accounting/composition.py",
            "accounting/groups.py",
            "accounting/zcdp.py",
            "accounting/filters.py",
            "accounting/event_loss.py",
            "accounting/grains.py",
            "accounting/grain_filter.py",
        ),
        (
            "tests/unit/test_accounting_*.py",
            "tests/property/test_composition_properties.py",
            "tests/property/test_grains.py",
        ),
    ),
    "curator": (
        (
            "curator/jobs/pricing.py",
            "curator/jobs/caps.py",
            "curator/payment.py",
            "curator/answering.py",
            "curator/reading.py",
            "curator/jobs/job.py",
            "curator/jobs/job_plan.py",
            "curator/jobs/members.py",
            "curator/curator.py",
            "curator/jobs/pieces.py",
            "curator/reusing/reuse.py",
            "curator/reusing/derive.py",
            "curator/within.py",
        ),
        (
            "tests/property/test_charges.py",
            "tests/property/test_kept_members.py",
            "tests/unit/test_curator_*.py",
            "tests/unit/test_calibrate.py",
        ),
    ),
    "sql": (
        ("sql/planning/bounding.py", "sql/rules/*.py", "sql/planning/planner.py", "sql/planning/plan.py"),
        (
            "tests/rules/test_rules.py",
            "tests/unit/test_sql_planner.py",
            "tests/unit/test_sql_ties.py",
            "tests/property/test_charges.py",
            "tests/e2e/test_sensitivity_fuzz.py",
        ),
    ),
}
TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One mutated file."""

    path: Path
    line: int
    what: str
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.what}"


def faults(path: Path) -> Iterator[Fault]:
    """Every fault that can be planted in a file. Docstrings, annotations and messages are left alone."""
    tree = ast.parse(path.read_text())
    for index, node in enumerate(ast.walk(tree)):
        for what, change in _changes(node):
            mutant = copy.deepcopy(tree)
            twin = next(found for place, found in enumerate(ast.walk(mutant)) if place == index)
            change(twin)
            ast.fix_missing_locations(mutant)
            yield Fault(path, getattr(node, "lineno", 0), what, ast.unparse(mutant))


def _changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        other = TURNED[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} becomes {other.__name__}", _Change("ops", [other(), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        other_op = SWAPPED[type(node.op)]
        yield f"{type(node.op).__name__} becomes {other_op.__name__}", _Change("op", other_op())
    elif isinstance(node, ast.BoolOp):
        flipped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} becomes {type(flipped).__name__}", _Change("op", flipped)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not is left out", _Change("op", ast.UAdd())
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} becomes {node.value + 1}", _Change("value", node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} becomes {not node.value}", _Change("value", not node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}:
        other_name = "max" if node.func.id == "min" else "min"
        yield f"{node.func.id} becomes {other_name}", _Change("func", ast.Name(other_name, ast.Load()))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield f"{ast.unparse(node.value)[:60]} is left out", _Change("value", ast.Constant(None))
    elif isinstance(node, ast.If) and node.body and isinstance(node.body[-1], ast.Raise):
        yield f"the guard {ast.unparse(node.test)[:60]} is left out", _Change("test", ast.Constant(False))


@dataclass(frozen=True, slots=True)
class _Change:
    field: str
    value: object

    def __call__(self, node: ast.AST) -> None:
        setattr(node, self.field, self.value)


def noticed(fault: Fault, tests: list[str], *, tree: Path) -> bool | None:
    """Whether a test fails, or nothing even imports; None where the tests did not end in time."""
    target = tree / fault.path.relative_to(SOURCES.parent)
    original = target.read_text()
    target.write_text(fault.text)
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", "-m", "not heavy", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return None
    finally:
        target.write_text(original)
    if done.returncode not in {0, 1, 2}:
        raise SystemExit(f"error: the tests could not run: {done.stdout.decode()[-2000:]}")
    return done.returncode != 0


def main() -> int:
    """Plant, run, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[[], *ROOMS], help=f"of {', '.join(ROOMS)}; all, if none is named")
    parser.add_argument("--sample", type=int, help="how many faults of each room; all, if not given")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "src"
        shutil.copytree(SOURCES.parent, tree, ignore=shutil.ignore_patterns("__pycache__"))
        for room in asked.rooms or ROOMS:
            survivors += _room(room, tree, sample=asked.sample, seed=asked.seed)
    return 1 if survivors else 0


def _room(room: str, tree: Path, *, sample: int | None, seed: int) -> int:
    patterns, wanted = ROOMS[room]
    found = [fault for pattern in patterns for path in sorted(SOURCES.glob(pattern)) for fault in faults(path)]
    tests = [str(path.relative_to(ROOT)) for pattern in wanted for path in sorted(ROOT.glob(pattern))]
    chosen = found if sample is None else random.Random(seed).sample(found, min(sample, len(found)))
    alive = unknown = 0
    for count, fault in enumerate(chosen, 1):
        seen = noticed(fault, tests, tree=tree)
        if seen is None:  # it hangs, or the machine is busy
            unknown += 1
            print(f"out of time: {fault}", flush=True)
        elif not seen:
            alive += 1
            print(f"survives: {fault}", flush=True)
        elif sys.stderr.isatty():
            print(f"\r{room}: {count} of {len(chosen)}", end="", file=sys.stderr)
    print(f"{room}: {len(chosen)} of {len(found)} faults planted, {alive} survive, {unknown} ran out of time")
    return alive


if __name__ == "__main__":
    sys.exit(main())
