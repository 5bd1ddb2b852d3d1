"""Which tables of a PostgreSQL database a policy means, and the words that put them before a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tacit.engines.columns import quoted
from tacit.engines.postgres.types import SourceColumn, reading
from tacit.errors import EngineError, PolicyError
from tacit.policy import Schema, TablePolicy, fold, identifiers
from tacit.policy.tables.table import spellings

Ask = Callable[[str], list[tuple[object, ...]]]

# Tables, views, materialised views, foreign and partitioned tables; only columns that this role may read. A domain over
# a domain is walked to its end; the first of them that has digits says how many.
_COLUMNS = """
WITH RECURSIVE walked(first, type, digits) AS (
    SELECT oid, oid, -1 FROM pg_type UNION ALL
    SELECT w.first, t.typbasetype, CASE WHEN w.digits >= 0 THEN w.digits ELSE t.typtypmod END
    FROM walked AS w JOIN pg_type AS t ON t.oid = w.type WHERE t.typtype = 'd')
SELECT s.nspname, c.relname, a.attname, b.typname, format_type(b.oid, NULL), b.typtype = 'e',
CASE WHEN a.atttypmod >= 0 THEN a.atttypmod ELSE w.digits END, a.attgenerated = 'v',
c.relkind IN ('v', 'f') OR row_security_active(c.oid)
FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN walked AS w ON w.first = a.atttypid JOIN pg_type AS b ON b.oid = w.type AND b.typtype <> 'd'
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND s.nspname !~ '^pg_' AND s.nspname <> 'information_schema'
AND has_schema_privilege(s.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY s.nspname, c.relname, a.attnum"""
_COLLATIONS = """
SELECT collname FROM pg_collation WHERE collname IN ('pg_c_utf8', 'C.utf8', 'C.UTF-8') AND collencoding IN (-1, 6)
AND collnamespace = CAST('pg_catalog' AS regnamespace)
ORDER BY array_position(ARRAY['pg_c_utf8', 'C.utf8', 'C.UTF-8'], CAST(collname AS TEXT)) LIMIT 1"""

# The columns of the tables, and how often a row of them was written, or of what views and partitions read: by counters
# of the server that anybody may read. A table that is emptied or written anew has another file.
_STATE = """
WITH RECURSIVE named(oid) AS (SELECT CAST(to_regclass(name) AS OID) FROM unnest(CAST({0} AS TEXT[])) AS t(name)),
reads(oid) AS (SELECT oid FROM named UNION SELECT n.oid FROM reads AS r, LATERAL (
    SELECT d.refobjid FROM pg_rewrite AS w JOIN pg_depend AS d ON d.classid = CAST('pg_rewrite' AS regclass)
    AND d.objid = w.oid AND d.refclassid = CAST('pg_class' AS regclass) WHERE w.ev_class = r.oid
    UNION ALL SELECT i.inhrelid FROM pg_inherits AS i WHERE i.inhparent = r.oid) AS n(oid))
SELECT (SELECT md5(string_agg(concat_ws('/', a.attrelid, a.attname, a.atttypid, a.atttypmod, a.attgenerated), ','
    ORDER BY a.attrelid, a.attnum)) FROM pg_attribute AS a WHERE a.attrelid IN (SELECT oid FROM named) AND a.attnum > 0
    AND NOT a.attisdropped),
(SELECT concat_ws('/', sum(pg_stat_get_tuples_inserted(oid)), sum(pg_stat_get_tuples_updated(oid)),
    sum(pg_stat_get_tuples_deleted(oid)), string_agg(CAST(pg_relation_filenode(oid) AS TEXT), ',' ORDER BY oid))
    FROM reads),
(SELECT stats_reset FROM pg_stat_database WHERE datname = current_database())"""


@dataclass(frozen=True, slots=True)
class PostgresTables:
    """The tables of a policy: their schema, and a WITH clause under which only they have names."""

    schema: Schema
    clause: str
    origins: tuple[str, ...]  # as the database names them
    computed: tuple[str, ...] = ()  # those that are computed when they are read, so that reading a row can fail
    columns: str = ""  # a hash of their columns, as they were when the tables were found

    @property
    def state(self) -> str:
        """The query for (columns, writes, when the counters were set back): it reads the catalogue, never a row."""
        listed = ", ".join("'" + origin.replace("'", "''") + "'" for origin in self.origins)
        return _STATE.replace("{0}", f"ARRAY[{listed}]")

    def before(self, select: str) -> str:
        """One SELECT that sees the tables as the schema describes them. Two statements are no SELECT."""
        if "\0" in select:
            raise ValueError("a statement ends at a NUL")
        return f"{self.clause}SELECT * FROM (\n{select.strip().rstrip(';')}\n) AS result"


def find_tables(ask: Ask, tables: Sequence[TablePolicy], *, every: bool) -> PostgresTables:
    """The policy's tables, or `every` one of the schema `public`. Reads the catalogue, never a row."""
    there = _there(ask)
    collation = _collation(ask)
    wanted = [name for schema, name in there if schema == "public"] if every else [table.name for table in tables]
    schema: dict[str, Mapping[str, str]] = {}
    parts, origins, computed = [], [], []
    for name in wanted:
        own = _find(there, name)
        spelled = spellings(tables, name)
        stored = _stored(there[own], name, spelled)
        keys = _identifiers(tables, name)
        read = {column.name: reading(column, collation=collation, key=fold(column.name) in keys) for column in stored}
        computed += [name] if any(column.is_computed for column in there[own]) else []
        names = _named(read, spelled)
        schema[name] = {names[column]: way.type for column, way in read.items()}
        origins.append(f"{quoted(own[0])}.{quoted(own[1])}")
        cells = ", ".join(f"{way.sql} AS {quoted(names[column])}" for column, way in read.items())
        parts.append(f"{quoted(name)} AS NOT MATERIALIZED (SELECT {cells} FROM {origins[-1]})")
    clause = f"WITH {', '.join(parts)}\n" if parts else ""
    tables_found = PostgresTables(schema, clause, tuple(origins), tuple(computed))
    return replace(tables_found, columns=str(ask(tables_found.state)[0][0]))


def _collation(ask: Ask) -> str:
    """One that compares bytes, and knows the small letter of É: by "C" alone, two spellings would be two units."""
    collations = ask(_COLLATIONS)
    if not collations:
        raise EngineError(
            "the database cannot fold case as other engines do: it has no collation that knows Unicode's letters",
            hint="use PostgreSQL 17 or newer; or have the system's locale C.utf8 installed, and "
            "SELECT pg_import_system_collations('pg_catalog')",
        )
    return str(collations[0][0])


def _stored(columns: Sequence[SourceColumn], table: str, spellings: Mapping[str, str]) -> list[SourceColumn]:
    """The columns without those that are computed on reading, which may fail on a row and so tell that it is there."""
    for column in columns:
        if column.is_virtual and fold(column.name) in spellings:
            raise PolicyError(
                f"column {column.name!r} of table {table!r} cannot be used: it is generated anew whenever it is read, "
                "which can fail on a row",
                hint="declare it GENERATED ALWAYS AS … STORED",
            )
    return [column for column in columns if not column.is_virtual]


def _there(ask: Ask) -> dict[tuple[str, str], list[SourceColumn]]:
    columns: dict[tuple[str, str], list[SourceColumn]] = {}
    for schema, table, column, base, shown, is_enum, packed, is_virtual, is_computed in ask(_COLUMNS):
        modifier = int(str(packed))
        digits = _digits(modifier) if base == "numeric" and modifier >= 0 else None
        source_column = SourceColumn(
            str(column), str(base), str(shown), bool(is_enum), digits, bool(is_virtual), bool(is_computed)
        )
        columns.setdefault((str(schema), str(table)), []).append(source_column)
    return columns


def _digits(modifier: int) -> tuple[int, int]:
    """Precision and scale, as NUMERIC packs them; the scale has a sign."""
    packed = modifier - 4
    return (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


def _find(there: Iterable[tuple[str, str]], name: str) -> tuple[str, str]:
    """Where a table lies: in `public` if it is there, else in the one schema that has it."""
    same = [candidate for candidate in there if fold(candidate[1]) == fold(name)]
    for choice in ([f for f in same if f[0] == "public" and f[1] == name], [f for f in same if f[0] == "public"], same):
        if len(choice) == 1:
            return choice[0]
    if same:
        raise PolicyError(f"table {name!r} is not one table: several of the database have that name")
    raise PolicyError(
        f"table {name!r} is not in the database, or may not be read",
        hint="check [tables] against the source, and GRANT SELECT on it to the role that connects",
    )


def _identifiers(tables: Sequence[TablePolicy], name: str) -> frozenset[str]:
    table = next((table for table in tables if fold(table.name) == fold(name)), None)
    return frozenset() if table is None else identifiers(tables, table)


def _named(columns: Iterable[str], spellings: Mapping[str, str]) -> dict[str, str]:
    """What each column is called in questions. Twins that differ in case keep their names, for `check` to refuse."""
    folded = [fold(column) for column in columns]
    return {
        column: column if folded.count(fold(column)) > 1 else spellings.get(fold(column), column) for column in columns
    }
