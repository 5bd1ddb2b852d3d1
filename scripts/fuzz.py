"""The sensitivity fuzz at length: a million pairs of question and unit by `make fuzz`; `--seed` repeats a failure."""

from __future__ import annotations

import argparse
import importlib
import secrets
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
CHUNK = 20_000  # pairs of one task
WORLDS = 10_000  # seeds set aside for one task: each table takes one
ROWS, UNITS = 100, 36  # of a table: the more units, the more pairs for one run of the engine


def chunk(seed: int, pairs: int) -> int:
    """Try `pairs` of them; how many it came to. Raises Violation."""
    sys.path.insert(0, str(TESTS))
    fuzz = importlib.import_module("conformance.sql_sensitivity").fuzz
    done = 0
    for tried in fuzz(seed, pairs=pairs, rows=ROWS, units=UNITS):
        done = tried.pairs
    return done


def main() -> int:
    """Run until all pairs are tried or one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000, help="how many to try")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 40), help="where to start")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    asked = parser.parse_args()
    print(f"seed {asked.seed}: {asked.pairs:,} pairs of question and unit in {asked.jobs} processes", flush=True)
    start, done = time.monotonic(), 0
    count = -(-asked.pairs // CHUNK)
    with ProcessPoolExecutor(asked.jobs) as pool:
        tasks = [
            pool.submit(chunk, asked.seed + place * WORLDS, min(CHUNK, asked.pairs - place * CHUNK))
            for place in range(count)
        ]
        for task in as_completed(tasks):
            if (error := task.exception()) is not None:
                pool.shutdown(wait=False, cancel_futures=True)
                print(f"\nA unit moves an answer too far: {error}\nrepeat it with --pairs 1 --seed and that seed")
                return 1
            done += task.result()
            rate = done / (time.monotonic() - start)
            left = max(0, asked.pairs - done) / rate
            print(f"\r{done:>12,} pairs, {rate:,.0f} a second, {left:,.0f} s left ", end="", flush=True)
    print(f"\nno plan claims too little: {done:,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
