"""Patients and their visits, with what a test wants wrong about them, and the door to both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from support.synthetic import opened
from tacit.noise import SYSTEM, Source
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, FileSource, Policy, TablePolicy
from tacit.release.publishing import Publisher

Patient = tuple[object, object, object]  # id, sex, age
Visit = tuple[object, object, object]  # patient_id, ward, age
PATIENT_COLUMNS = (
    ColumnPolicy("id", type="integer"),
    ColumnPolicy("sex", type="text", domain=["f", "m"]),
    ColumnPolicy("age", type="integer", lower=0, upper=9),
)
VISIT_COLUMNS = (
    ColumnPolicy("patient_id", type="integer"),
    ColumnPolicy("ward", type="text", domain=["a", "b", "c"]),
    ColumnPolicy("age", type="integer", lower=0, upper=9, null=0),  # of the ward: the name is the patient's, too
)


def clinic(number: int, *, seed: int = 5) -> tuple[list[Patient], list[Visit]]:
    """The older come more often, and their age tells the ward; men wait longer."""
    made = np.random.default_rng(seed)
    ages, sexes = made.integers(0, 10, number), made.integers(0, 2, number)
    visits = made.poisson(0.4 + ages / 3)
    patients: list[Patient] = [(i, "fm"[sexes[i]], int(ages[i])) for i in range(number)]
    rows: list[Visit] = []
    for patient in range(number):
        for _ in range(visits[patient]):
            ward = ages[patient] // 4 if made.random() < 0.8 else made.integers(0, 3)
            rows.append((patient, "abc"[ward], int(min(9, made.integers(0, 3) + 2 * ward + 2 * sexes[patient]))))
    return patients, rows


def policy(
    base: Path,
    patients: Sequence[Patient],
    visits: Sequence[Visit],
    *,
    max_rows: int | None = 3,
    adjacency: str = "add/remove",
    budget: BudgetPolicy | None = None,
    rules: Sequence[str] = (),
    more: Sequence[TablePolicy] = (),
) -> Policy:
    """A policy over files that hold these rows; `more` tables are in files of their names."""
    for name, header, rows in (("patients", "id,sex,age", patients), ("visits", "patient_id,ward,age", visits)):
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        (base / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
    files = tuple((name, f"{name}.csv") for name in ("patients", "visits", *(table.name for table in more)))
    return Policy(
        Dataset("clinic", FileSource(files), base=base, adjacency=adjacency),
        budget or BudgetPolicy(100, "1e-3", default_delta="1e-6"),
        tables=[
            TablePolicy("patients", "id", columns=PATIENT_COLUMNS, max_rows=1, max_groups=1),
            TablePolicy(
                "visits",
                "patient_id -> patients.id",
                columns=VISIT_COLUMNS,
                max_rows=max_rows,
                max_groups=2,
                rules=rules,
            ),
            *more,
        ],
        analysts=[AnalystPolicy("ana", 10_000), AnalystPolicy("ben", 1)],
    )


@contextmanager
def publisher(declared: Policy, source: Source = SYSTEM) -> Iterator[Publisher]:
    """The door to the tables."""
    with opened(declared) as (engine, ledger):
        yield Publisher(declared, engine, ledger, source)
