"""How cost grows with the rows, on DuckDB and on Spark: `python -m bench.growth`, where SPARK_HOME is set."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Set
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.support import spark

from bench.engines import BENCHED, CITIES, Clock, opened, policy_over, texts_of, trips
from tacit.engines import Engine, Limits, open_engine
from tacit.errors import EngineError

SIZES = (1_000_000, 10_000_000, 100_000_000)
PATIENCE = 1200  # seconds for one question
REPEATED_UP_TO = 1_000_000  # rows; the quickest counts
DOMAIN = ", ".join(f'"city_{i}"' for i in range(CITIES + 1))
COLOURS = {"DuckDB": "#c27a00", "Spark": "#1f5fa8"}
STYLES = {"private keys, sampled": "o-", "private keys, weighed": "s--", "public keys": "^:"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A question, and how the heavy users are bounded."""

    name: str
    question: str
    bounding: str
    city: str = "{}"


@dataclass(frozen=True, slots=True)
class Point:
    """What one question took; None where it failed, or took longer than anybody waits."""

    engine: str
    kind: str
    rows: int
    seconds: float | None  # of all the engine's cores together: the same on a machine that does other things as well
    wall: float | None


DUCKDB = Limits(threads=2, memory="8GB", timeout=PATIENCE)
KINDS = (
    Kind("private keys, sampled", "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city", "sample"),
    Kind("private keys, weighed", "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM trips GROUP BY city", "weigh"),
    Kind("public keys", "DP-SELECT 1 city, COUNT(*), SUM(amount) FROM trips GROUP BY city", "weigh",
         f"{{ domain = [{DOMAIN}] }}"),
)  # fmt: skip


def measured(data: Path, sizes: tuple[int, ...], *, known: Set[tuple[str, str, int]]) -> Iterator[Point]:
    """Every question of both engines that is not yet known, the smallest files first."""
    cluster = spark.fresh_cluster(BENCHED)
    engines: dict[str, tuple[str, Clock, Callable[..., Engine]]] = {
        "DuckDB": ("duckdb", time.process_time, lambda p: open_engine(p, DUCKDB)),
        "Spark": ("spark", cluster.cpu_seconds, lambda p: opened(p, cluster.address, Limits(timeout=PATIENCE))),
    }
    for rows, kind, name in itertools.product(sizes, KINDS, engines):
        if (name, kind.name, rows) in known:
            continue
        folder = data / str(rows)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "trips.parquet").exists():
            trips(folder / "trips.parquet", rows)
        engine, clock, open_it = engines[name]
        source = '{ trips = "trips.parquet" }'
        policy = policy_over(engine, source, bounding=kind.bounding, base=folder, city=kind.city)
        made = open_it(policy)
        texts = texts_of(policy, made, kind.question)
        times = [_seconds(made, texts, clock) for _ in range(3 if rows <= REPEATED_UP_TO else 1)]
        yield Point(name, kind.name, rows, *min((pair for pair in times if pair), default=(None, None)))
        made.close()
    cluster.stop()


def _seconds(engine: Engine, texts: list[str], clock: Clock) -> tuple[float, float] | None:
    start, at = clock(), time.perf_counter()
    try:
        for text in texts:
            engine.execute(text)
    except EngineError:
        return None
    return clock() - start, time.perf_counter() - at


def table(points: list[Point]) -> str:
    """Rows down, questions and engines across."""
    columns = [(kind.name, engine) for kind in KINDS for engine in COLOURS]
    lines = ["| rows | " + " | ".join(f"{kind}: {engine}" for kind, engine in columns) + " |"]
    lines.append("|---" * (len(columns) + 1) + "|")
    for rows in sorted({point.rows for point in points}):
        found = {(p.kind, p.engine): p.seconds for p in points if p.rows == rows}
        cells = [_cell(found.get(column, "not measured")) for column in columns]
        lines.append(f"| {rows:,} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(seconds: float | str | None) -> str:
    return "failed" if seconds is None else seconds if isinstance(seconds, str) else f"{seconds:.3g} s"


def draw(points: list[Point], path: Path) -> None:
    """Both axes by powers of ten: a straight line at the grid's own slope grows with the rows, and no faster."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "tacit"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2))
    for engine, colour in COLOURS.items():
        for kind, style in STYLES.items():
            found = (p for p in points if p.engine == engine and p.kind == kind and p.seconds is not None)
            ours = sorted(found, key=lambda p: p.rows)
            axes.plot([p.rows for p in ours], [p.seconds for p in ours], style, color=colour, label=f"{engine}, {kind}")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="CPU seconds for one question")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def _shown(point: Point) -> str:
    return "failed" if point.seconds is None else f"{point.seconds:8.2f} CPU s {point.wall:8.2f} s"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description=__doc__)
    parser.add_argument(
        "--data", type=Path, required=True, help="where files are kept: 1.3 GB; what was measured is not repeated"
    )
    parser.add_argument("--draw", type=Path, help="draw the curve into this file")
    parser.add_argument("--up-to", type=int, default=SIZES[-1], help="the most rows")
    chosen = parser.parse_args(arguments)
    why = spark.missing()
    if why is not None:
        parser.error(why)
    kept = chosen.data / "growth.json"
    points = [Point(**point) for point in json.loads(kept.read_text(encoding="utf-8"))] if kept.exists() else []
    sizes = tuple(size for size in SIZES if size <= chosen.up_to)
    for point in measured(chosen.data, sizes, known={(p.engine, p.kind, p.rows) for p in points}):
        print(f"{point.rows:>11,} rows  {point.engine:<7}{point.kind:<24}{_shown(point)}", flush=True)
        points.append(point)
        kept.write_text(json.dumps([asdict(point) for point in points], indent=1), encoding="utf-8")
    print(table(points))
    if chosen.draw:
        draw(points, chosen.draw)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
