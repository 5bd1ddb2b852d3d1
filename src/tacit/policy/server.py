"""How the dataset is served: where the doors of `tacit serve` are, and what each of them lets through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import PurePath

from tacit.core import Number
from tacit.policy.budget import read_epsilon
from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.readers import count, duration, hold, optional, text
from tacit.policy.reading.types import kind_name

IDLE = timedelta(minutes=10)
CONNECTION_IDLE = timedelta(hours=8)
PATIENCE = timedelta(seconds=30)
DRAIN = timedelta(seconds=30)
_MOST_WORKERS = 256
_IN_AN_ADDRESS = re.compile(r"[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True, slots=True, init=False)
class ServerPolicy:
    """The doors and their limits. They promise nothing of an answer, so they do not count for the policy's version.

    With `slot_ms` an answer leaves only when a whole number of slots has passed since its question came: success,
    refusal and error alike, so that how long the data took is told in slots and no finer.
    """

    host: str
    http_port: int
    pg_port: int
    names: tuple[str, ...]
    certificate: str | None
    key: str | None
    slot_ms: int | None
    workers: int
    processes: int
    per_analyst: int
    queue: int
    rate: int
    surveys: tuple[str, ...]
    survey_rate: int
    connection_epsilon: Fraction | None
    idle: timedelta
    connection_idle: timedelta
    patience: timedelta
    drain: timedelta

    def __init__(  # noqa: PLR0913 - the keys of the section
        self,
        *,
        host: str = "127.0.0.1",
        http_port: int = 8080,
        pg_port: int = 5433,
        names: Sequence[str] = (),
        certificate: str | None = None,
        key: str | None = None,
        slot_ms: int | None = None,
        workers: int = 16,
        processes: int = 1,
        per_analyst: int = 12,
        queue: int = 100,
        rate: int = 60_000,
        surveys: Sequence[str] = (),
        survey_rate: int = 60,
        connection_epsilon: Number | None = None,
        idle: timedelta | str = IDLE,
        connection_idle: timedelta | str = CONNECTION_IDLE,
        patience: timedelta | str = PATIENCE,
        drain: timedelta | str = DRAIN,
    ) -> None:
        hold(
            self,
            (),
            _READERS,
            host=host,
            http_port=http_port,
            pg_port=pg_port,
            names=names,
            certificate=certificate,
            key=key,
            slot_ms=slot_ms,
            workers=workers,
            processes=processes,
            per_analyst=per_analyst,
            queue=queue,
            rate=rate,
            surveys=surveys,
            survey_rate=survey_rate,
            connection_epsilon=connection_epsilon,
            idle=idle,
            connection_idle=connection_idle,
            patience=patience,
            drain=drain,
        )
        if (self.certificate is None) != (self.key is None):
            missing = "certificate" if self.certificate is None else "key"
            raise Fault(
                "is missing: a certificate and its key go together", path=(missing,), hint=f'add {missing} = "…"'
            )


def _port(value: object, path: KeyPath) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 65_535:
        raise Fault("must be a port: a whole number from 0 to 65535", path=path, hint="0 takes any that is free")
    return value


def _workers(value: object, path: KeyPath) -> int:
    if count(value, path) > _MOST_WORKERS:
        raise Fault(f"must be at most {_MOST_WORKERS}", path=path)
    return count(value, path)


def _names(value: object, path: KeyPath) -> tuple[str, ...]:
    return tuple(name.lower() for name in _texts(value, path, what="names", example='["dp.example.org"]'))


def _surveys(value: object, path: KeyPath) -> tuple[str, ...]:
    """Files whose names, without what follows the dot, are parts of an address, and differ."""
    names = _texts(value, path, what="files", example='["doping.toml"]')
    seen: set[str] = set()
    for index, name in enumerate(names):
        stem = PurePath(name).stem
        if not _IN_AN_ADDRESS.fullmatch(stem) or stem in seen:
            why = "is there twice" if stem in seen else "cannot stand in an address"
            hint = "name the file with letters, digits, - and _, such as doping.toml"
            raise Fault(f"{why}: the survey's page goes by {stem!r}", path=(*path, index), hint=hint)
        seen.add(stem)
    return names


def _texts(value: object, path: KeyPath, *, what: str, example: str) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Fault(f"must be a list of {what}: it is {kind_name(value)}", path=path, hint=f"write {example}")
    return tuple(text(name, (*path, index)) for index, name in enumerate(value))


def _survey_rate(value: object, path: KeyPath) -> int:
    return 0 if value == 0 and not isinstance(value, bool) else count(value, path)


_READERS = {
    "host": text,
    "http_port": _port,
    "pg_port": _port,
    "names": _names,
    "certificate": optional(text),
    "key": optional(text),
    "slot_ms": optional(count),
    "workers": _workers,
    "processes": _workers,
    "per_analyst": _workers,
    "queue": count,
    "rate": count,
    "surveys": _surveys,
    "survey_rate": _survey_rate,
    "connection_epsilon": optional(read_epsilon),
    "idle": duration,
    "connection_idle": duration,
    "patience": duration,
    "drain": duration,
}
