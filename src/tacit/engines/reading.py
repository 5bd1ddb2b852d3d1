"""Does every cell decode? Asked by the curator once, so that no question fails on a cell later."""

from __future__ import annotations

from tacit.engines.base import Engine
from tacit.engines.columns import quoted
from tacit.errors import EngineError


def unreadable_tables(engine: Engine) -> tuple[str, ...]:
    """The tables that hold a cell the engine cannot read, such as text in Parquet that is not UTF-8.

    Reads all rows, and the answer depends on them: it is for the curator alone (`tacit check`). A table named here
    would make every question that touches the cell fail, which tells that the cell is there.
    """
    found = []
    for table, columns in engine.schema().items():
        cells = ", ".join(map(quoted, columns))
        try:
            engine.execute(f"SELECT bit_xor(hash({cells})) AS cells FROM {quoted(table)}")
        except EngineError:
            found.append(table)
    return tuple(found)
