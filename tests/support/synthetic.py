"""A small table to be synthesised, with what a test wants wrong about it, and the door to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tacit.engines import Engine, open_engine
from tacit.ledger import Ledger, SqliteLedger
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy
from tacit.release.publishing import Publisher

Row = tuple[object, ...]  # unit, town, age, ok
HEADER = "unit,town,age,ok"
COLUMNS = (
    ColumnPolicy("unit", type="integer"),
    ColumnPolicy("town", type="text", domain=["a", "b", "c"]),
    ColumnPolicy("age", type="integer", lower=0, upper=9),
    ColumnPolicy("ok", type="boolean"),
)


def rows(number: int) -> list[Row]:
    """Towns tell the age, and the age tells whether it is ok."""
    return [(i // 2, "abc"[i % 3], min(9, i % 3 * 3 + i % 2), i % 3 > 0) for i in range(number)]


def policy(
    base: Path,
    data: Sequence[Row],
    *,
    unit: str = "unit",
    max_rows: int | None = 2,
    columns: Sequence[ColumnPolicy] = COLUMNS,
    budget: BudgetPolicy | None = None,
    adjacency: str = "add/remove",
) -> Policy:
    """A policy over a file that holds these rows."""
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in data]
    (base / "t.csv").write_text("\n".join([HEADER, *lines]) + "\n")
    caps = {} if unit == "row" else {"max_rows": max_rows, "max_groups": 2}
    return Policy(
        Dataset("small", FileSource((("t", "t.csv"),)), base=base, adjacency=adjacency),
        budget or BudgetPolicy(100, "1e-3", default_delta="1e-6"),
        tables=[TablePolicy("t", unit, columns=columns, **caps)],  # type: ignore[arg-type]
        analysts=[AnalystPolicy("ana", 100), AnalystPolicy("ben", 1)],
    )


@contextmanager
def opened(declared: Policy) -> Iterator[tuple[Engine, Ledger]]:
    """The engine over the rows, and a ledger beside them."""
    place = Path(str(declared.dataset.base)) / "small.ledger"
    with (
        closing(open_engine(declared)) as engine,
        closing(SqliteLedger(place, create=not place.exists())) as ledger,
    ):
        yield engine, ledger


@contextmanager
def publisher(declared: Policy, source: Source = SYSTEM) -> Iterator[Publisher]:
    """The door to what is published of a policy's tables."""
    with opened(declared) as (engine, ledger):
        yield Publisher(declared, engine, ledger, source)
