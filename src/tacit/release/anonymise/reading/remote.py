"""A table of another engine: grouped where it lies, its distinct rows brought here with how often each occurs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.engines import UNLIMITED, Engine, Exact, opener_of
from tacit.engines.columns import quoted
from tacit.engines.reading import name_in
from tacit.errors import EngineError, InvalidParameter
from tacit.policy import Policy, TablePolicy

COUNT = "tacit_n"  # no column that has a role begins like this
_WHOLE = frozenset({"BIGINT", "INTEGER", "SMALLINT"})
_KINDS = _WHOLE | frozenset(
    {"DOUBLE", "FLOAT", "DECIMAL", "NUMERIC", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "UUID"}
)
_WIDE = Context(prec=80)  # more digits than a DECIMAL has


@dataclass(frozen=True, slots=True, eq=False)
class Remote:
    """A table of a policy that DuckDB does not read itself, and the types of its columns in DuckDB's words."""

    policy: Policy
    table: TablePolicy
    columns: Mapping[str, str]

    def bring(self, connection: duckdb.DuckDBPyConnection, names: Sequence[str], *, view: str) -> None:
        """Make a view of these columns: rows that are alike are counted there, by one query, and repeated here."""
        for name in names:
            if self.columns[name].partition("(")[0] not in _KINDS:
                raise InvalidParameter(f"{name} is of a kind that cannot be published: {self.columns[name]}")
        with closing(_opened(self.policy, self.table)) as engine:
            counted = _counted(engine, self.table.name, names)
        arrays: dict[str, NDArray[Any]] = {COUNT: np.array(counted.integers(COUNT))}
        cells = []
        for index, name in enumerate(names):
            values = counted.keys(name)
            arrays[f"v{index}"] = np.array([value is not None for value in values], dtype=np.bool_)
            arrays[f"c{index}"] = _laid(values, whole=self.columns[name] in _WHOLE)
            cells.append(f"CASE WHEN v{index} THEN CAST(c{index} AS {self.columns[name]}) END AS {quoted(name)}")
        connection.register("incoming", arrays)
        _run(connection, f"CREATE OR REPLACE TEMP TABLE counted AS SELECT {', '.join(cells)}, {COUNT} FROM incoming")
        connection.unregister("incoming")
        listed = ", ".join(map(quoted, names))
        each = f"SELECT {listed}, unnest(range({COUNT})) FROM counted"
        _run(connection, f"CREATE OR REPLACE TEMP VIEW {quoted(view)} AS SELECT {listed} FROM ({each})")

    def repeats(self, unit: str) -> bool:
        """Whether any value of this column stands in more than one row. Only how many do travels."""
        with closing(_opened(self.policy, self.table)) as engine:
            name_of = name_in(engine)
            who = spelt(name_of(unit), self.table, is_text=self.columns[unit] == "VARCHAR")
            twice = f"SELECT {who} AS tacit_who FROM {name_of(self.table.name)} GROUP BY {who} HAVING COUNT(*) > 1"
            counts = _asked(engine, f"SELECT CAST(COUNT(*) AS BIGINT) AS {COUNT} FROM ({twice}) tacit_twice")
        return any(number > 0 for number in counts.integers(COUNT))


def spelt(column: str, table: TablePolicy | None, *, is_text: bool) -> str:
    """Whose a row is in SQL, with the spellings made one that the policy takes for one person."""
    if table is None or not is_text:
        return column
    trimmed = f"TRIM({column})" if table.unit_form.trims else column
    return f"LOWER({trimmed})" if table.unit_form.lowers else trimmed


def find_remote(policy: Policy, table: TablePolicy) -> Remote:
    """The table and its columns. Touches no rows."""
    with closing(_opened(policy, table)) as engine:
        kinds = engine.schema()[table.name]
        zoneless = {name: kind.replace(" WITH TIME ZONE", "") for name, kind in kinds.items()}  # which are read in UTC
        return Remote(policy, table, zoneless)


def _opened(policy: Policy, table: TablePolicy) -> Engine:
    return opener_of(policy.dataset.engine)(policy.dataset, [table], every=False, limits=UNLIMITED)


def _counted(engine: Engine, table: str, names: Sequence[str]) -> Exact:
    name_of = name_in(engine)
    listed = ", ".join(map(name_of, names))
    return _asked(
        engine, f"SELECT {listed}, CAST(COUNT(*) AS BIGINT) AS {COUNT} FROM {name_of(table)} GROUP BY {listed}"
    )


def _asked(engine: Engine, sql: str) -> Exact:
    try:
        return engine.execute(sql)
    except EngineError:  # which speaks of a charge, and nothing was charged
        raise EngineError("the table could not be read", hint="the curator's log says why") from None


def _laid(values: Sequence[Any], *, whole: bool) -> NDArray[Any]:
    """An array of one kind throughout: DuckDB guesses what is in an array of objects from some of them."""
    if whole:
        return np.array([0 if value is None else value for value in values], dtype=np.int64)
    return np.array(["" if value is None else _text(value) for value in values], dtype=object)


def _text(value: object) -> str:
    """A cell in words that DuckDB reads back as the same value."""
    if isinstance(value, Fraction):
        return format(_WIDE.divide(Decimal(value.numerator), Decimal(value.denominator)), "f")
    return repr(value) if isinstance(value, float) else str(value)


def _run(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    try:
        connection.execute(sql)
    except duckdb.Error:  # whose words hold cells, so that what is raised is raised outside
        failed = True
    else:
        failed = False
    if failed:
        raise EngineError("the table cannot be read as it is", hint="check the types of its columns")
