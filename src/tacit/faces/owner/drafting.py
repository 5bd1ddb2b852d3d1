"""A first policy, drafted from the names and types of a source."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from tacit.engines import look_at_files, read_schema
from tacit.engines.sources import holds_sqlite
from tacit.errors import InvalidParameter
from tacit.policy import Dataset, draft_policy
from tacit.policy.sources.engine_specs import engine_at

_DATABASES = (".duckdb", ".db", ".ddb")
_SQLITE = (".sqlite", ".sqlite3")


def draft_text(given: Sequence[str], *, policy: Path, name: str | None) -> str:
    """The text of a first policy: from the schema of a database, server or files; of CSV and JSON, from their rows."""
    base = policy.absolute().parent
    server = engine_at(given[0]) if len(given) == 1 else None
    if server is not None:
        address = urlsplit(given[0])
        title = name or _account(address.path.strip("/;") or address.hostname or server.name)
        schema = read_schema(Dataset(title, given[0], engine=server.name, base=base))
        return draft_policy(schema, name=title, source=given[0], engine=server.name)
    sources = [Path(source) for source in given]
    location = _location(sources, base)
    title = name or _account(sources[0].stem if len(sources) == 1 else base.name)
    engine = "sqlite" if isinstance(location, str) and _is_sqlite(sources[0]) else "duckdb"
    dataset = Dataset(title, location, engine=engine, base=base)
    if isinstance(location, str):
        return draft_policy(read_schema(dataset), name=title, source=location, engine=engine)
    looked = look_at_files(dataset)
    return draft_policy(looked.schema, name=title, source=location, engine=engine, looked_at=looked.formats)


def _location(sources: Sequence[Path], base: Path) -> str | dict[str, str]:
    databases = [source for source in sources if source.suffix.lower() in _DATABASES or _is_sqlite(source)]
    if databases and len(sources) > 1:
        raise InvalidParameter("one database, or several files: not both", hint="draft a policy for each database")
    if databases:
        return _relative(databases[0], base)
    locations: dict[str, str] = {}
    for source in sources:
        table = re.sub(r"\W+", "_", source.name.partition(".")[0]).strip("_") or "data"
        if table.casefold() in map(str.casefold, locations):
            raise InvalidParameter(f"two files would both be the table {table!r}", hint="rename one of them")
        locations[table] = _relative(source, base)
    return locations


def _is_sqlite(source: Path) -> bool:
    return source.suffix.lower() in _SQLITE or holds_sqlite(str(source))


def _relative(source: Path, base: Path) -> str:
    """As the policy writes it: relative to the policy where it lies below or beside it."""
    return Path(os.path.relpath(source.absolute(), base)).as_posix()


def _account(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@-]+", "-", text).strip("-_.@") or "data"
