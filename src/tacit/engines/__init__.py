"""Engines: generated SQL in, exact columns out. A new one is a file and a line in `OPENERS`."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Protocol

from tacit.engines.base import UNLIMITED, Engine, Limits, limits_of
from tacit.engines.duckdb import open_duckdb, unfit_in
from tacit.engines.dummy import dummy_engine
from tacit.engines.exact import Exact, IntArray
from tacit.engines.looking import Looked, look_at_files
from tacit.engines.owner import run_owner_sql
from tacit.engines.reading import advice_on, holds_identifiers, shared_keys, unreadable_tables
from tacit.engines.snapshot import State, one_state
from tacit.engines.watching import Mark, mark_of
from tacit.errors import EngineError, PolicyError
from tacit.policy import Dataset, Policy, Schema, TablePolicy

__all__ = [
    "OPENERS",
    "UNLIMITED",
    "Engine",
    "Exact",
    "IntArray",
    "Limits",
    "Looked",
    "Mark",
    "State",
    "advice_on",
    "dummy_engine",
    "holds_identifiers",
    "limits_of",
    "look_at_files",
    "mark_of",
    "one_state",
    "open_engine",
    "read_schema",
    "run_owner_sql",
    "shared_keys",
    "unfit_in",
    "unreadable_tables",
]


class Opener(Protocol):
    """Opens a dataset's source for these tables, or for `every` table there is. Raises PolicyError or EngineError."""

    def __call__(self, dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool, limits: Limits) -> Engine:
        """See above."""


def _open_postgres(dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool, limits: Limits) -> Engine:
    try:
        from tacit.engines.postgres import open_postgres
    except ImportError:
        raise _extra("PostgreSQL", "postgres") from None
    return open_postgres(dataset, tables, every=every, limits=limits)


def _open_spark(dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool, limits: Limits) -> Engine:
    try:
        from tacit.engines.spark import open_spark
    except ImportError:
        raise _extra("Spark", "spark") from None
    return open_spark(dataset, tables, every=every, limits=limits)


def _open_sqlite(dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool, limits: Limits) -> Engine:
    from tacit.engines.sqlite import open_sqlite  # here, so that other sources need not wait for it

    return open_sqlite(dataset, tables, every=every, limits=limits)


def _extra(what: str, name: str) -> EngineError:
    return EngineError(f"{what} is not installed with tacit", hint=f"pip install 'tacit[{name}]'")


OPENERS: MappingProxyType[str, Opener] = MappingProxyType(
    {
        "duckdb": open_duckdb,
        "postgres": _open_postgres,
        "spark": _open_spark,
        "sqlite": _open_sqlite,
    }
)


def open_engine(policy: Policy, limits: Limits = UNLIMITED) -> Engine:
    """The engine the policy names, open on its source and locked. A table the policy does not name has no name here."""
    try:
        return _opener(policy.dataset)(policy.dataset, policy.tables, every=False, limits=limits)
    except PolicyError as error:
        where = policy.place("dataset", "source")
        raise PolicyError(f"{where}: {error.message}" if where else error.message, hint=error.hint) from None


def read_schema(dataset: Dataset, tables: Sequence[TablePolicy] = ()) -> Schema:
    """Every table the source has, and its columns; `tables` lend their declared types to files that have none."""
    engine = _opener(dataset)(dataset, tables, every=True, limits=UNLIMITED)
    try:
        return engine.schema()
    finally:
        engine.close()


def _opener(dataset: Dataset) -> Opener:
    return OPENERS[dataset.engine]  # the policy has refused every other name
