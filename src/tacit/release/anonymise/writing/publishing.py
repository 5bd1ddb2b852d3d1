"""Join the classes back to the rows: the table that is published, still inside the engine."""

from __future__ import annotations

import numpy as np

from tacit.engines.columns import quoted
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.reading.preparing import KEYED, Prepared, hidden
from tacit.release.anonymise.reading.source import ask
from tacit.release.anonymise.writing.pseudonyms import pseudonyms

PUBLISHED = "published"


def publish(prepared: Prepared, partition: Partition, *, key: bytes | None) -> None:
    """Make the table `published`: generalised cells, pseudonyms, and what is kept, in the order of the source.

    Rows are sorted by what they hold, so that their order says nothing about where they came from.
    """
    connection, roles = prepared.source.connection, prepared.request.roles
    for index, cells in enumerate(partition.cells):
        _labels(prepared, index, cells.names)
    _placed(prepared, partition)
    for index, name in enumerate(roles.pseudonyms):
        pseudonyms(prepared.source, name, key=key, table=f"pseudonym{index}")
    # Or threads would shuffle what was sorted, here and on its way to a file.
    ask(connection, "SET preserve_insertion_order = true")
    ask(connection, _counted(prepared) if not (roles.keep or roles.pseudonyms) else _sorted(prepared))
    ask(connection, "DROP TABLE placed; DROP TABLE cells")


def _counted(prepared: Prepared) -> str:
    """Rows that read alike are alike: they are counted, and written as often. Far less is joined and sorted."""
    held = "".join(f", k.{quoted(name)}" for name in prepared.request.roles.sensitive)
    count = (
        f"SELECT tacit_class{held}, count(*) AS tacit_n FROM {KEYED} k JOIN placed USING ({prepared.by}) GROUP BY ALL"
    )
    cells = f"SELECT {_columns(prepared)}, tacit_n FROM ({count}) k JOIN cells USING (tacit_class)"
    ordered = f"{cells} ORDER BY tacit_class{held}"
    each = f"SELECT *, unnest(range(tacit_n)) AS tacit_copy FROM ({ordered})"
    return f"CREATE OR REPLACE TEMP TABLE {PUBLISHED} AS SELECT * EXCLUDE (tacit_n, tacit_copy) FROM ({each})"


def _sorted(prepared: Prepared) -> str:
    roles = prepared.request.roles
    joins = " ".join(
        f"JOIN pseudonym{index} p{index} ON k.{quoted(name)} IS NOT DISTINCT FROM p{index}.v"
        for index, name in enumerate(roles.pseudonyms)
    )
    codes = (f"k.{quoted(hidden(index))}" for index in range(len(roles.sensitive)))  # whole numbers sort faster
    kept = (f"k.{quoted(name)}" for name in roles.keep)
    hashes = (f"p{index}.h" for index in range(len(roles.pseudonyms)))
    others = "".join(f", {column}" for column in (*codes, *kept, *hashes))
    return (
        f"CREATE OR REPLACE TEMP TABLE {PUBLISHED} AS SELECT {_columns(prepared)} FROM {KEYED} k"
        f" JOIN placed USING ({prepared.by}) JOIN cells USING (tacit_class) {joins} ORDER BY tacit_class{others}"
    )


def _labels(prepared: Prepared, index: int, names: tuple[str, ...]) -> None:
    """The cells of one column as an ENUM: small in memory, and quick to compare."""
    connection = prepared.source.connection
    connection.register("incoming", {"label": np.array(names, dtype=object), "i": np.arange(len(names))})
    kind = f"cell{index}"
    ask(
        connection,
        f"DROP TYPE IF EXISTS {kind}; CREATE TYPE {kind} AS ENUM (SELECT label FROM incoming ORDER BY i);"
        f" CREATE OR REPLACE TEMP TABLE label{index} AS SELECT i, label::{kind} AS label FROM incoming",
    )
    connection.unregister("incoming")


def _placed(prepared: Prepared, partition: Partition) -> None:
    """Two tables: the class of each key or row, and the cells of each class."""
    connection = prepared.source.connection
    kept = partition.classes >= 0
    connection.register("incoming", {prepared.by: prepared.key[kept], "tacit_class": partition.classes[kept]})
    ask(connection, "CREATE OR REPLACE TEMP TABLE placed AS FROM incoming")
    connection.unregister("incoming")
    numbers = {f"i{index}": cells.label for index, cells in enumerate(partition.cells)}
    connection.register("incoming", {"tacit_class": np.arange(partition.number), **numbers})
    labels = ", ".join(f"label{index}.label AS tacit_cell{index}" for index in range(len(partition.cells)))
    joins = " ".join(
        f"JOIN label{index} ON incoming.i{index} = label{index}.i" for index in range(len(partition.cells))
    )
    ask(connection, f"CREATE OR REPLACE TEMP TABLE cells AS SELECT tacit_class, {labels} FROM incoming {joins}")
    connection.unregister("incoming")


def _columns(prepared: Prepared) -> str:
    roles = prepared.request.roles
    expressions = {name: f"cells.tacit_cell{index}" for index, name in enumerate(roles.quasi_identifiers)}
    expressions |= {name: f"p{index}.h" for index, name in enumerate(roles.pseudonyms)}
    expressions |= {name: f"k.{quoted(name)}" for name in (*roles.sensitive, *roles.keep)}
    order = [name for name in prepared.source.columns() if name in expressions]
    return ", ".join(f"{expressions[name]} AS {quoted(name)}" for name in order)
