"""A small clinic that Spark reads, as files or as tables of its catalogue, beside the truth that DuckDB tells of it."""

from __future__ import annotations

from pathlib import Path

import duckdb

from tacit.engines.spark.client import connect, disconnect

PARTS = 3  # files a table is cut into: more than one worker has something to read
POLICY = """\
[dataset]
name = "clinic"
engine = "spark"
source = {source}
[budget]
epsilon = 100
delta = 1e-3
[analysts.ana]
epsilon = 100
delta = 1e-3
[tables.patients]
unit = "id"
max_rows = 1
max_groups = 1
[tables.patients.columns]
city = {{}}
[tables.visits]
unit = "patient_id -> patients.id"
max_groups = 3
max_rows = 4
[tables.visits.columns]
amount = {{ lower = 0, upper = 500, step = 0.01 }}
dept = {{ domain = ["CS", "Econ", "Bio"] }}
[tables.towns]
public = true
"""
TABLES = {
    "patients": "SELECT i AS id, ['Bern', 'Basel', 'Chur'][1 + i % 3] AS city FROM range({people}) AS made(i)",
    "visits": "SELECT i % {people} AS patient_id, (i * 13 % 40000) / 100 AS amount,"
    " ['CS', 'Econ', 'Bio'][1 + i // {people} % 3] AS dept FROM range(3 * {people}) AS made(i)",
    "towns": "SELECT * FROM (VALUES ('Bern', 'BE'), ('Basel', 'BS'), ('Chur', 'GR')) AS made(town, canton)",
}


def cut(select: str, directory: Path, *, owner: duckdb.DuckDBPyConnection) -> None:
    """The rows of a SELECT as Parquet files in a directory, each with a part of them."""
    directory.mkdir()
    for part in range(PARTS):
        owner.execute(
            f"COPY (SELECT * EXCLUDE part FROM (SELECT *, row_number() OVER () % {PARTS} AS part FROM ({select}))"
            f" WHERE part = {part}) TO '{directory}/part-{part}.parquet' (FORMAT parquet)"
        )


def declare(name: str, directory: Path, *, address: str) -> None:
    """A table of the server's catalogue over these files, instead of the one that had its name."""
    session = connect(address)
    session.sql(f"DROP TABLE IF EXISTS {name}").toArrow()
    session.sql(f"CREATE TABLE {name} USING parquet LOCATION '{directory}'").toArrow()
    disconnect(session)


def build(directory: Path, *, address: str | None = None, people: int = 3000) -> Path:
    """The policy's path, over files beside it; or over tables of the server at `address`."""
    with duckdb.connect() as owner:
        for name, select in TABLES.items():
            cut(select.format(people=people), directory / f"{name}.parquet", owner=owner)
            if address is not None:
                declare(name, directory / f"{name}.parquet", address=address)
    files = ", ".join(f'{name} = "{name}.parquet"' for name in TABLES)
    path = directory / "tacit.toml"
    path.write_text(POLICY.format(source=f"{{ {files} }}" if address is None else f'"{address}"'), encoding="utf-8")
    return path
