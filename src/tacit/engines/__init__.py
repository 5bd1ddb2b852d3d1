"""Engines: generated SQL in, exact columns out. A new one is an `EngineSpec` of the policy, and what it opens."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from tacit.engines.base import UNLIMITED, Engine, Limits, limits_of
from tacit.engines.columns import SQL_TYPES
from tacit.engines.duckdb import unfit_in
from tacit.engines.dummy import dummy_engine
from tacit.engines.exact import Exact, IntArray
from tacit.engines.looking import Looked, look_at_files
from tacit.engines.owner import run_owner_sql
from tacit.engines.reading import advice_on, holds_identifiers, shared_keys, unreadable_tables
from tacit.engines.snapshot import State, one_state
from tacit.engines.watching import DataMark, mark_of
from tacit.errors import EngineError, PolicyError
from tacit.policy import Dataset, Policy, Schema, TablePolicy
from tacit.policy.sources.engine_specs import ENGINES

__all__ = [
    "SQL_TYPES",
    "UNLIMITED",
    "DataMark",
    "Engine",
    "Exact",
    "IntArray",
    "Limits",
    "Looked",
    "State",
    "advice_on",
    "dummy_engine",
    "holds_identifiers",
    "limits_of",
    "look_at_files",
    "mark_of",
    "one_state",
    "open_engine",
    "opener_of",
    "read_schema",
    "run_owner_sql",
    "shared_keys",
    "unfit_in",
    "unreadable_tables",
]


class Opener(Protocol):
    """Opens a dataset's source for these tables, or for `every` table there is. Raises PolicyError or EngineError."""

    def __call__(self, dataset: Dataset, tables: Sequence[TablePolicy], *, every: bool, limits: Limits) -> Engine:
        """An engine over the source, ready to answer."""


def opener_of(engine: str) -> Opener:
    """Who opens the sources of an engine. It is fetched when it is first needed, so that others need not wait."""
    spec = ENGINES[engine]  # the policy has refused every other name
    module, _, function = spec.opener.partition(":")
    try:
        opener: Opener = getattr(import_module(module), function)
    except ImportError:
        if spec.extra is None:
            raise
        raise EngineError(
            f"{spec.title} is not installed with tacit", hint=f"pip install 'tacit[{spec.extra}]'"
        ) from None
    return opener


def open_engine(policy: Policy, limits: Limits = UNLIMITED) -> Engine:
    """The engine the policy names, open on its source and locked. A table the policy does not name has no name here."""
    try:
        return opener_of(policy.dataset.engine)(policy.dataset, policy.tables, every=False, limits=limits)
    except PolicyError as error:
        where = policy.place("dataset", "source")
        raise PolicyError(f"{where}: {error.message}" if where else error.message, hint=error.hint) from None


def read_schema(dataset: Dataset, tables: Sequence[TablePolicy] = ()) -> Schema:
    """Every table the source has, and its columns; `tables` lend their declared types to files that have none."""
    engine = opener_of(dataset.engine)(dataset, tables, every=True, limits=UNLIMITED)
    try:
        return engine.schema()
    finally:
        engine.close()
