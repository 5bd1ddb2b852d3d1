"""Where a policy's people are: each place under one name, however it is written and by whatever path it is reached."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qs, unquote, urlsplit

from tacit.policy import Policy
from tacit.policy.reading.names import fold
from tacit.policy.sources.dataset import DatabaseSource, Dataset
from tacit.policy.sources.servers import is_server

_MOST_FILES = 1_000  # of one pattern: further ones go by the pattern alone
_PORT = "5432"


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """One place where people are.

    `file` says which file stands there now; `seen`, of a place that goes by its file rather than by its path, what was
    found there: another file may get the number of one that is gone.
    """

    name: str
    file: str
    seen: str = ""


def places_of(policy: Policy) -> set[SourcePlace]:
    """The places of every private table, by path and, where they are files of this host, by file."""
    return {place for each in _locations(policy) for place in _named(*each)}


def database_of(policy: Policy) -> str | None:
    """How the names of all places in the policy's database begin; None where each table is a file of its own."""
    source = policy.dataset.source
    return f"{_place(policy.dataset, source.location)}#" if isinstance(source, DatabaseSource) else None


def is_still(seen: str, now: str) -> bool:
    """Whether a place that goes by its file is the one that was seen: it lies where it lay, or was only moved."""
    if not seen:
        return True
    (was, _, path), (identity, _, here) = seen.partition(" "), now.partition(" ")
    try:
        return was == identity or os.path.samefile(path, here)
    except OSError:
        return False


def _locations(policy: Policy) -> Iterator[tuple[str, str]]:
    """Each private table's path or address, and its name within where there are several."""
    dataset = policy.dataset
    for table in policy.tables:
        if table.public:
            continue
        if isinstance(dataset.source, DatabaseSource):
            yield _place(dataset, dataset.source.location), f"#{fold(table.name)}"
            continue
        location = dataset.source.location(table.name) or ""
        place = _place(dataset, location)
        yield place, ""
        if "://" not in location and not os.path.lexists(place):
            pattern = os.path.join(glob.escape(os.path.abspath(dataset.base)), location)
            for path in sorted(glob.glob(pattern, recursive=True))[:_MOST_FILES]:
                yield os.path.realpath(path), ""


def _named(place: str, table: str) -> Iterator[SourcePlace]:
    try:
        status = os.stat(place)
    except (OSError, ValueError):
        yield SourcePlace(f"{place}{table}", "")
        return
    file = f"{status.st_dev}:{status.st_ino}"
    yield SourcePlace(f"{place}{table}", file)
    yield SourcePlace(f"file {file}{table}", file, f"{status.st_size}:{status.st_mtime_ns} {place}")


def _place(dataset: Dataset, location: str) -> str:
    """One spelling for one place: who connects, and how, is left out of a server's address."""
    if "://" not in location:
        return os.path.realpath(dataset.resolve(location))
    if not is_server(location):
        return location.partition(";")[0].rstrip("/").casefold()
    parts = urlsplit(location)
    said = {name: values[-1] for name, values in parse_qs(parts.query).items()}  # libpq heeds these before the rest
    host, colon, port = parts.netloc.rpartition("@")[2].rpartition(":")
    if not colon or "]" in port:
        host, port = f"{host}{colon}{port}", ""
    host = said.get("hostaddr") or said.get("host") or unquote(host).strip("[]")
    database = said.get("dbname") or unquote(parts.path).removeprefix("/")
    return f"postgresql://{_host(host)}:{said.get('port') or port or _PORT}/{database}"


def _host(host: str) -> str:
    """The name of a host: one for this host itself, whichever of its own it is called by, or a socket's directory."""
    try:
        return "localhost" if ip_address(host).is_loopback else host.casefold()
    except ValueError:
        return host if host.startswith("/") else host.casefold()
