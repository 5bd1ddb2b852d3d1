"""What the curator asks of a source once, before any question: does every cell decode, may the role write?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from tacit.engines.base import Engine
from tacit.engines.columns import quoted
from tacit.errors import EngineError
from tacit.policy import Policy
from tacit.policy.sources.engine_specs import ENGINES

_EVERY_CELL = {spec.dialect: spec.every_cell for spec in ENGINES.values()}


def name_in(engine: Engine) -> Callable[[str], str]:
    """How an engine quotes a name."""
    return _in_backticks if engine.dialect == "spark" else quoted


def _in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def unreadable_tables(engine: Engine) -> tuple[str, ...]:
    """The tables that hold a cell the engine cannot read, such as text in Parquet that is not UTF-8.

    Reads all rows, and the answer depends on them: it is for the curator alone (`tacit check`). A table named here
    would make every question that touches the cell fail, which tells that the cell is there.
    """
    unreadable = []
    name_of = name_in(engine)
    for table, columns in engine.schema().items():
        every_cell = _EVERY_CELL[engine.dialect].format(", ".join(map(name_of, columns)))
        try:
            engine.execute(f"SELECT {every_cell} AS cells FROM {name_of(table)}")
        except EngineError:
            unreadable.append(table)
    return tuple(unreadable)


def shared_keys(engine: Engine, policy: Policy) -> tuple[tuple[str, str], ...]:
    """The tables whose unit links to a key that several owners share, and that key: such rows have no one owner.

    Like `unreadable_tables` it reads the rows, and is for the curator alone.
    """
    keys = []
    name_of = name_in(engine)
    for table in policy.tables:
        target = policy.table(table.link.table) if table.link is not None else None
        if table.link is None or target is None or target.is_unit(table.link.key):
            continue
        key, owner = name_of(table.link.key), name_of(target.unit_column or "")
        several = (
            f"SELECT {key} FROM {name_of(target.name)} WHERE {key} IS NOT NULL"
            f" GROUP BY {key} HAVING COUNT(DISTINCT {owner}) > 1 OR (COUNT(*) > COUNT({owner}) AND COUNT({owner}) > 0)"
        )
        counted = engine.execute(f"SELECT CAST(COUNT(*) AS BIGINT) AS several FROM ({several}) AS shared")
        if counted.integers("several")[0]:
            keys.append((table.name, f"{target.name}.{table.link.key}"))
    return tuple(keys)


@runtime_checkable
class Advised(Protocol):
    """An engine that knows what a careful curator would change about its source."""

    def advice(self) -> tuple[tuple[str, str], ...]:
        """What is not as it should be, and what to do about it."""


def advice_on(engine: Engine) -> tuple[tuple[str, str], ...]:
    """What a careful curator would change about the source, and how: nothing, for most engines."""
    return engine.advice() if isinstance(engine, Advised) else ()


_FEWEST = 10  # values that must be found again before a column is said to hold identifiers
_SHARE = 2  # one in so many


def holds_identifiers(engine: Engine, column: tuple[str, str], unit: tuple[str, str]) -> bool:
    """Whether at least half of the values of a column are identifiers of units, and more than a few.

    Like `unreadable_tables` it reads the rows, and is for the curator alone. Both are (table, column).
    """
    name_of = name_in(engine)
    table, name = map(name_of, column)
    other, key = map(name_of, unit)
    values = f"SELECT DISTINCT {name} AS v FROM {table} WHERE {name} IS NOT NULL"
    known = f"SELECT {key} FROM {other} WHERE {key} IS NOT NULL"
    count = "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM ({}) AS each_value{}"
    total, distinct = (
        int(engine.execute(count.format(values, where)).integers("n")[0]) for where in ("", f" WHERE v IN ({known})")
    )
    return distinct >= _FEWEST and _SHARE * distinct >= total
