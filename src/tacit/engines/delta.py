"""Delta tables: Parquet files, and a log beside them that says which of them count and which version that is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

_LOG = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")  # the log's own name for a version


def is_delta(directory: str) -> bool:
    """Whether a directory is a Delta table."""
    return os.path.isdir(os.path.join(directory, _LOG))


def delta_tables(paths: Iterable[str]) -> list[str]:
    """The Delta tables that these files or directories belong to."""
    roots = {root for directory in {_directory(path) for path in paths} if (root := _table_of(directory)) is not None}
    return sorted(roots)


def version(table: str) -> tuple[int, float]:
    """(its latest version, when that was written), by the names in the log alone; (−1, 0) where there is none."""
    latest, at = -1, 0.0
    try:
        with os.scandir(os.path.join(table, _LOG)) as entries:
            for entry in entries:
                commit = _COMMIT.fullmatch(entry.name)
                if commit is not None and int(commit.group(1)) > latest:
                    latest, at = int(commit.group(1)), entry.stat().st_mtime
    except OSError:  # gone, which differs from any version
        return -1, 0.0
    return latest, at


def advice_on_delta(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What a careful curator would change where files of a Delta table are read as they are."""
    hint = "read it through Spark, by its directory; or write the rows that count to Parquet files of their own"
    said = "is a Delta table whose files are read as they are: what Delta has deleted or replaced counts as well"
    return tuple((f"{os.path.basename(table)!r} {said}", hint) for table in delta_tables(paths))


def _directory(path: str) -> str:
    return path if os.path.isdir(path) else os.path.dirname(path)


def _table_of(directory: str) -> str | None:
    """The table above a directory: partitions, year=2026/month=1, lie below it."""
    while True:
        if is_delta(directory):
            return directory
        above, name = os.path.split(directory.rstrip(os.sep))
        if "=" not in name or above == directory:
            return None
        directory = above
