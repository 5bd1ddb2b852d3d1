"""The owner's direct look at the data: true rows, without privacy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tacit.engines import UNLIMITED, opener_of, run_owner_sql
from tacit.engines.reading import name_in
from tacit.errors import EngineError
from tacit.policy import Dataset, Policy, TablePolicy

Rows = tuple[tuple[str, ...], list[tuple[object, ...]]]
Columns = Mapping[str, str]  # names and types


def direct(source: Policy | Path, sql: str, parameters: Sequence[object]) -> Rows:
    """Run the owner's SQL on a policy's own source, or on a database that has no policy yet."""
    return run_owner_sql(source, sql, parameters)


def look(dataset: Dataset, table: str, *, write: Callable[[str, str, Columns], str]) -> dict[str, list[object]]:
    """Run one SELECT on a table that has no policy, in its own engine: true columns, for the owner alone.

    `write` makes the SELECT of the engine's dialect, the table's name as it is quoted there, and the types of columns.
    """
    engine = opener_of(dataset.engine)(dataset, [TablePolicy(table, public=True)], every=False, limits=UNLIMITED)
    with closing(engine):
        sql = write(engine.dialect, name_in(engine)(table), engine.schema()[table])
        try:
            found = engine.execute(sql)
        except EngineError:  # which speaks of a charge, and nothing was charged
            raise EngineError(f"the table {table!r} could not be read", hint="the curator's log says why") from None
    return {name: found.keys(name) for name in found.names}
