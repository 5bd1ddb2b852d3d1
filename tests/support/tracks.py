"""Points on a map: a private table of two columns with bounds, and the policy over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy

Point = tuple[object, object, object]  # who, x, y
COLUMNS = (
    ColumnPolicy("who", type="integer"),
    ColumnPolicy("x", type="number", lower=0, upper=8, step="0.01"),
    ColumnPolicy("y", type="number", lower=-4, upper=4, step="0.01"),
    ColumnPolicy("free", type="text"),
    ColumnPolicy("mode", type="text", domain=["run", "ride"]),
    ColumnPolicy("day", type="date", lower="2024-01-01", upper="2024-03-01"),
)


def points(number: int) -> list[Point]:
    """A crowd about (2, 1), a few elsewhere, and nobody in a corner."""
    spread = [(i * 37 % 100 / 100, i * 61 % 100 / 100) for i in range(number)]
    return [
        (i, 2 + a, 1 + b) if i % 10 else (i, round(6 * a, 2), round(-4 + 7 * b, 2)) for i, (a, b) in enumerate(spread)
    ]


def policy(
    base: Path,
    data: Sequence[Point],
    *,
    unit: str = "row",
    max_rows: int = 1,
    adjacency: str = "add/remove",
    budget: BudgetPolicy | None = None,
) -> Policy:
    """A policy over a file that holds these points."""
    lines = [
        ",".join("" if cell is None else str(cell) for cell in (*row, "SECRET", "run", "2024-01-15")) for row in data
    ]
    (base / "tracks.csv").write_text("\n".join(["who,x,y,free,mode,day", *lines]) + "\n")
    caps = {} if unit == "row" else {"max_rows": max_rows, "max_groups": 2}
    return Policy(
        Dataset("runs", FileSource((("tracks", "tracks.csv"),)), base=base, adjacency=adjacency),
        budget or BudgetPolicy(2_000, "1e-3", default_delta="1e-6"),
        tables=[TablePolicy("tracks", unit, columns=COLUMNS, **caps)],  # type: ignore[arg-type]
        analysts=[AnalystPolicy("ana", 2_000), AnalystPolicy("ben", 1)],
    )
