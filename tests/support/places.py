"""People in towns, towns in regions, regions in countries: a private table, and a public one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy

Person = tuple[object, object, object, object]  # who, town, age, sex
PLACES = ("t1,r1,n", "t2,r1,n", "t3,r2,n", "t4,r3,s", "t5,r3,s")
COLUMNS = (
    ColumnPolicy("who", type="integer"),
    ColumnPolicy("town", type="text", domain={"table": "places", "column": "town"}),
    ColumnPolicy("age", type="integer", lower=0, upper=3, domain="range", null=0),
    ColumnPolicy("sex", type="text", domain=["f", "m"], null="f"),
)


def people(number: int) -> list[Person]:
    """More of them in the first towns; nobody in the last."""
    return [(i, f"t{1 + (i % 10 > 4) + (i % 10 > 7) + (i % 10 > 8)}", i % 4, "fm"[i % 2]) for i in range(number)]


def policy(
    base: Path,
    data: Sequence[Person],
    *,
    unit: str = "row",
    max_rows: int = 1,
    public_totals: str | None = None,
    adjacency: str = "add/remove",
    places: Sequence[str] = PLACES,
    columns: Sequence[ColumnPolicy] = COLUMNS,
    budget: BudgetPolicy | None = None,
) -> Policy:
    """A policy over files that hold these rows."""
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in data]
    (base / "people.csv").write_text("\n".join(["who,town,age,sex", *lines]) + "\n")
    (base / "places.csv").write_text("\n".join(["town,region,country", *places]) + "\n")
    caps = {} if unit == "row" else {"max_rows": max_rows, "max_groups": 2}
    known = [ColumnPolicy(name, type="text") for name in ("town", "region", "country")]
    return Policy(
        Dataset(
            "land", FileSource((("people", "people.csv"), ("places", "places.csv"))), base=base, adjacency=adjacency
        ),
        budget or BudgetPolicy(100, "1e-3", default_delta="1e-6"),
        tables=[
            TablePolicy("people", unit, columns=columns, public_totals=public_totals, **caps),  # type: ignore[arg-type]
            TablePolicy("places", public=True, columns=known),
        ],
        analysts=[AnalystPolicy("ana", 10_000), AnalystPolicy("ben", 1)],
    )
