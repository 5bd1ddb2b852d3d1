"""Run every benchmark, or those named: `python -m bench`, `python -m bench noise`."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

import bench
from bench.report import Report


def benchmarks() -> list[str]:
    """Every file of this package that has a `run(report)`; adding a file adds a benchmark. Nothing is imported yet."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    return [file.stem for file in files if "\ndef run(report" in file.read_text(encoding="utf-8")]


def main(arguments: list[str]) -> int:
    known = benchmarks()
    parser = argparse.ArgumentParser(prog="python -m bench", description=bench.__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(known)}; all of them if none is given")
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the work: to see that it runs, not how fast"
    )
    parser.add_argument("--long", action="store_true", help="a ledger of 200,000 entries too: some minutes")
    parser.add_argument("--minutes", type=float, default=1, help="how long the server's memory is watched under load")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)} (there are {', '.join(known)})")
    report = Report(quick=chosen.quick, long=chosen.long, minutes=chosen.minutes)
    for name in chosen.names or known:
        importlib.import_module(f"bench.{name}").run(report)
    report.close(Path(__file__).parent / "results")
    return 0  # speed is reported, not asserted: a busy machine must not turn a build red


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
