"""A hundred and twenty people, some cells of each column missing or outside its domain."""

from __future__ import annotations

import tacit

COLUMNS = (
    tacit.ColumnPolicy("age", lower=18, upper=40, step=1, domain="range"),
    tacit.ColumnPolicy("dept", domain=["CS", "Econ", "other"]),
    tacit.ColumnPolicy("insured"),
    tacit.ColumnPolicy("seen", type="date", lower="2024-01-01", upper="2024-01-20", domain="range"),
)
PEOPLE = (
    "CREATE TABLE t (age INTEGER, dept VARCHAR, insured BOOLEAN, seen DATE)",
    *(
        "INSERT INTO t VALUES ("
        + ", ".join(
            (
                f"{10 + i * 7 % 40}" if i % 17 else "NULL",
                ("'CS'", "'Art'", "'other'")[i % 3] if i % 5 else "NULL",
                ("TRUE", "FALSE", "NULL")[i * i % 3],
                f"DATE '2024-01-{1 + i % 27:02}'" if i % 7 else "NULL",
            )
        )
        + ")"
        for i in range(120)
    ),
)
