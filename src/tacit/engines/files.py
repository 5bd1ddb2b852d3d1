"""Which files a policy's location means, and how each is read."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from enum import Enum

from tacit.errors import PolicyError
from tacit.policy import Dataset


class Format(Enum):
    """What a file's name says of its inside."""

    PARQUET = "Parquet"
    CSV = "CSV"
    JSON = "JSON"


_ENDINGS = {
    Format.PARQUET: (".parquet", ".pq"),
    Format.CSV: (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst"),
    Format.JSON: (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz"),
}
_MARKS = frozenset("*?[")  # what makes a name a pattern


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of one table, in the order of their names."""

    table: str
    location: str  # as the policy has it: messages show this, never a path of the machine
    format: Format
    paths: tuple[str, ...]

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """The columns that stand in the names of directories, as in `year=2026/a.parquet`, if all files have them."""
        keys = {tuple(part.partition("=")[0] for part in _directories(path) if "=" in part) for path in self.paths}
        return keys.pop() if len(keys) == 1 else ()


def _directories(path: str) -> list[str]:
    return os.path.dirname(path).split(os.sep)


def table_files(dataset: Dataset, table: str, *, location: str) -> TableFiles:
    """The files behind a location, which may be a pattern such as `visits/*.parquet`."""
    what = f"table {table!r}: source {location!r}"
    form = _format(location, what)
    path = os.path.abspath(dataset.resolve(location))
    paths = [path] if os.path.lexists(path) else _matching(dataset, location)
    if not paths:
        raise PolicyError(f"{what} is not there: no such file", hint=f"relative paths start from {_base(dataset)}")
    for path in paths:
        if not _MARKS.isdisjoint(path):  # DuckDB would read the name as a pattern, and open other files
            raise PolicyError(f"{what} has * ? or [ in the name of a file itself", hint="rename the file")
        readable(path, what)
    return TableFiles(table, location, form, tuple(paths))


def readable(path: str, what: str) -> None:
    """Refuse a file that cannot be opened, with a reason that names what the policy says."""
    if os.path.isdir(path):
        raise PolicyError(f"{what} is a directory", hint='name its files, as in "visits/*.parquet"')
    try:
        with open(path, "rb"):
            return
    except FileNotFoundError:
        reason = "is not there: no such file"
    except PermissionError:
        reason = "may not be read: permission denied"
    except OSError:
        reason = "cannot be opened"
    raise PolicyError(f"{what} {reason}")


def _matching(dataset: Dataset, location: str) -> list[str]:
    pattern = os.path.join(glob.escape(os.path.abspath(dataset.base)), location)
    return sorted(path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path))


def _format(location: str, what: str) -> Format:
    name = location.lower()
    for form, endings in _ENDINGS.items():
        if name.endswith(endings):
            return form
    listed = ", ".join(endings[0] for endings in _ENDINGS.values())
    raise PolicyError(f"{what} is of no kind tacit reads: its name ends in none of {listed}")


def _base(dataset: Dataset) -> str:
    return f"{dataset.base.name!r}" if dataset.base.name else "the current directory"
