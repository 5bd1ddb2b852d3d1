"""What the data are called and where they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from tacit.core import Adjacency
from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.names import account_name, all_different, fold, table_name
from tacit.policy.reading.readers import flag, hold, one_of, text
from tacit.policy.reading.types import kind_name
from tacit.policy.sources.engine_specs import engine_name, refuse_source
from tacit.policy.sources.servers import is_server, no_password


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """One database that holds every table."""

    location: str


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file for each table: pairs of (table, location)."""

    files: tuple[tuple[str, str], ...]

    def location(self, table: str) -> str | None:
        """Where a table lies, whatever the case of its name."""
        return next((where for name, where in self.files if fold(name) == fold(table)), None)


Source = DatabaseSource | FileSource
SourceLike = Source | str | PurePath | Mapping[str, str | PurePath]


@dataclass(frozen=True, slots=True, init=False)
class Dataset:
    """The dataset a ledger account belongs to. The account goes by `name`, whatever the files are called.

    `base` is the directory relative locations start from; it, `ledger` and `keep_words` say where things lie and what
    is noted down, not what is promised, so they count neither for equality nor for the policy's version.
    """

    name: str
    source: Source
    engine: str
    adjacency: Adjacency
    data_version: str
    ledger: str = field(compare=False)
    keep_words: bool = field(compare=False)
    base: Path = field(compare=False, repr=False)

    def __init__(
        self,
        name: str,
        source: SourceLike,
        *,
        engine: str = "duckdb",
        adjacency: Adjacency | str = Adjacency.ADD_REMOVE,
        data_version: str = "1",
        ledger: str = "",
        keep_words: bool = False,
        base: Path | str = ".",
    ) -> None:
        hold(
            self,
            (),
            _READERS,
            name=name,
            source=source,
            engine=engine,
            adjacency=adjacency,
            data_version=data_version,
            ledger=ledger or f"{name}.ledger",
            keep_words=keep_words,
            base=Path(base),
        )
        _fits(self)

    @property
    def ledger_path(self) -> Path:
        """The file that holds the debits, where it is a file."""
        return self.base / self.ledger

    @property
    def ledger_place(self) -> str | Path:
        """Where the debits are: the address of a server, or a file."""
        return self.ledger if is_server(self.ledger) else self.ledger_path

    @property
    def ledger_mark(self) -> Path | None:
        """Where this host remembers how far a server's ledger had come; a file's mark stands beside it."""
        if not is_server(self.ledger):
            return None
        mark, earlier, file = (self.base / f"{self.name}.{end}" for end in ("server.mark", "ledger.mark", "ledger"))
        # An earlier version called it as a file's mark is called: without that file, it is the server's.
        return earlier if earlier.exists() and not mark.exists() and not file.exists() else mark

    def resolve(self, location: str) -> Path:
        """A location of the source as a path, relative ones starting from `base`."""
        return self.base / location


def _source(value: object, path: KeyPath) -> Source:
    if isinstance(value, DatabaseSource | FileSource):
        return value
    if isinstance(value, str | PurePath):
        return DatabaseSource(_location(value, path))
    if not isinstance(value, Mapping):
        hint = 'write source = "clinic.duckdb", or source = { visits = "visits.parquet" }'
        raise Fault(f"must be a file, or a table of files: it is {kind_name(value)}", path=path, hint=hint)
    if not value:
        raise Fault("is empty: it names no table", path=path)
    names = [table_name(name, (*path, name)) for name in value]
    all_different(names, path=path)
    return FileSource(tuple((name, _location(value[name], (*path, name))) for name in names))


def _location(value: object, path: KeyPath) -> str:
    return no_password(text(value.as_posix() if isinstance(value, PurePath) else value, path), path)


def _ledger(value: object, path: KeyPath) -> str:
    return no_password(text(value, path), path)


def _fits(dataset: Dataset) -> None:
    """Refuse a source that the engine cannot have."""
    refuse_source(dataset.engine, dataset.source.location if isinstance(dataset.source, DatabaseSource) else None)


_READERS = {
    "name": account_name,
    "source": _source,
    "engine": engine_name,
    "adjacency": one_of(Adjacency),
    "data_version": text,
    "ledger": _ledger,
    "keep_words": flag,
}
