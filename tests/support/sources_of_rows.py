"""Sources of every kind with given rows in them: how a person's row reaches a file, well written or not."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import psycopg

from support import sail
from support.postgres import server
from tacit.policy.sources.dataset import SourceLike

NAMES = ("id", "name", "n", "whole", "day", "moment", "ok", "undeclared")
Row = Sequence[str | None]  # one text for each name


@dataclass(frozen=True)
class Kind:
    """A kind of source: what it is called, how rows are written, and how one row is made that was written by hand."""

    source: SourceLike | Callable[[], SourceLike]
    write: Callable[[Path, Sequence[object]], None]
    engine: str = "duckdb"
    by_hand: Callable[[bytes], object] | None = None  # any bytes as one line of the file


@dataclass(frozen=True)
class Line:
    """A line as it stands in a file."""

    text: bytes


def _csv_line(row: object, mark: str) -> bytes:
    if isinstance(row, Line):
        return row.text
    assert isinstance(row, Sequence)
    quoted = ['"' + cell.replace('"', '""') + '"' if cell is not None else "" for cell in row]
    return mark.join(quoted).encode(errors="surrogatepass")


def _bare_line(row: object, mark: str) -> bytes:
    """As most programs write it: with quotes in a row that needs them, so that one row brings the file's first."""
    bare = isinstance(row, Sequence) and not any({mark, '"'} & set(cell or "") or cell == "" for cell in row)
    if not bare:
        return _csv_line(row, mark)
    return mark.join(cell or "" for cell in row).encode(errors="surrogatepass")  # type: ignore[union-attr]


def _csv(
    file: str, mark: str, *, line: Callable[[object, str], bytes] = _csv_line
) -> Callable[[Path, Sequence[object]], None]:
    def write(base: Path, rows: Sequence[object]) -> None:
        lines = [mark.join(NAMES).encode(), *(line(row, mark) for row in rows)]
        text = b"\n".join(lines) + b"\n"
        (base / file).write_bytes(gzip.compress(text) if file.endswith(".gz") else text)

    return write


def _object(row: object) -> str:
    assert isinstance(row, Sequence)
    return json.dumps({name: cell for name, cell in zip(NAMES, row, strict=True) if cell is not None})


def _jsonl(base: Path, rows: Sequence[object]) -> None:
    lines = [row.text if isinstance(row, Line) else _object(row).encode() for row in rows]
    (base / "v.jsonl").write_bytes(b"\n".join(lines))


def _json(base: Path, rows: Sequence[object]) -> None:
    (base / "v.json").write_text(f"[{', '.join(map(_object, rows))}]")


def _parquet(base: Path, rows: Sequence[object]) -> None:
    """Two files of one table."""
    with duckdb.connect() as owner:
        for place, some in (("a", rows[:2]), ("b", rows[2:])):
            (base / place).mkdir(exist_ok=True)
            _fill(owner, f"v{place}", some)
            owner.execute(f"COPY v{place} TO '{base}/{place}/v.parquet' (FORMAT parquet)")


def _one_parquet(base: Path, rows: Sequence[object]) -> None:
    os.environ["SPARK_REMOTE"] = sail.server()
    (base / "a").mkdir(exist_ok=True)
    with duckdb.connect() as owner:
        _fill(owner, "v", rows)
        owner.execute(f"COPY v TO '{base}/a/v.parquet' (FORMAT parquet)")


def _duckdb(base: Path, rows: Sequence[object]) -> None:
    (base / "v.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(base / "v.duckdb")) as owner:
        _fill(owner, "v", rows)


def _fill(owner: duckdb.DuckDBPyConnection, table: str, rows: Sequence[object]) -> None:
    types = ("VARCHAR", "VARCHAR", "DOUBLE", "BIGINT", "DATE", "TIMESTAMP", "BOOLEAN", "VARCHAR")
    listed = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, types, strict=True))
    owner.execute(f"CREATE TABLE {table} ({listed})")
    cells = ", ".join(f"TRY_CAST(CAST(? AS VARCHAR) AS {kind})" for kind in types)
    for row in rows:
        assert isinstance(row, Sequence)
        owner.execute(f"INSERT INTO {table} SELECT {cells}", list(row))


def _sqlite(base: Path, rows: Sequence[object]) -> None:
    (base / "v.sqlite").unlink(missing_ok=True)
    owner = sqlite3.connect(base / "v.sqlite")
    owner.execute(
        "CREATE TABLE v (id TEXT, name TEXT, n REAL, whole INT, day DATE, moment DATETIME, ok BOOLEAN, undeclared TEXT)"
    )
    owner.executemany(f"INSERT INTO v VALUES ({', '.join('?' * len(NAMES))})", rows)  # type: ignore[arg-type]
    owner.commit()
    owner.close()


def _postgres(base: Path, rows: Sequence[object]) -> None:
    """As DuckDB casts them, but for what PostgreSQL cannot store."""
    with duckdb.connect() as owner:
        _fill(owner, "v", rows)
        cells = owner.execute(f"SELECT {', '.join(f'CAST({name} AS VARCHAR)' for name in NAMES)} FROM v").fetchall()
    types = ("TEXT", "TEXT", "DOUBLE PRECISION", "BIGINT", "DATE", "TIMESTAMP", "BOOLEAN", "TEXT")
    listed = ", ".join(f"{name} {kind}" for name, kind in zip(NAMES, types, strict=True))
    given = ", ".join(f"CAST(CAST(%s AS TEXT) AS {kind})" for kind in types)
    with psycopg.connect(_database()) as writer:
        writer.execute(f"DROP TABLE IF EXISTS v; CREATE TABLE v ({listed})".encode())
        for row in cells:
            stored = [None if cell is None or "\0" in cell or "(BC)" in cell else cell for cell in row]
            writer.execute(f"INSERT INTO v VALUES ({given})".encode(), stored)


@cache
def _database() -> str:
    return server().database()


KINDS = {
    "csv": Kind({"v": "v.csv"}, _csv("v.csv", ","), by_hand=Line),
    "bare tsv": Kind({"v": "v.tsv"}, _csv("v.tsv", "\t", line=_bare_line), by_hand=Line),
    "tsv": Kind({"v": "v.tsv"}, _csv("v.tsv", "\t"), by_hand=Line),
    "csv.gz": Kind({"v": "v.csv.gz"}, _csv("v.csv.gz", ","), by_hand=Line),
    "jsonl": Kind({"v": "v.jsonl"}, _jsonl, by_hand=Line),
    "json": Kind({"v": "v.json"}, _json),
    "parquet": Kind({"v": "*/v.parquet"}, _parquet),
    "duckdb": Kind("v.duckdb", _duckdb),
    "sqlite": Kind("v.sqlite", _sqlite, engine="sqlite"),
    "postgres": Kind(_database, _postgres, engine="postgres"),
    "sail": Kind({"v": "a/v.parquet"}, _one_parquet, engine="spark"),
}
