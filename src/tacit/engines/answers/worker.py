"""The process that computes from answers: a DuckDB of its own, locked, with released rows and public tables alone.

It is started as a file and imports nothing of tacit: it could not reach private rows if it wanted to. DuckDB's own
limits do not hold for all it does (`repeat('x', 1000000000)` is memory nobody counts), so that the system limits the
process, and who started it ends it when its time is over. Requests and replies are lines of JSON.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import duckdb

CONFIG: dict[str, Any] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
    "temp_directory": "",
    "threads": 1,  # the same rows in the same order, each time
    "memory_limit": "256MB",
}
MAX_BYTES = 32 << 20  # of a reply
_STEADY = "CONSISTENT"  # what DuckDB calls a function whose value depends on its arguments alone
_UNSTEADY = frozenset({"current_localtime", "current_localtimestamp", "reservoir_quantile"})  # it calls these so, too
_WORDS = frozenset(  # what is written as a column and is none
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_user", "session_user"}
    | {"current_role", "current_catalog", "current_schema", "get_current_time", "get_current_timestamp", "today"}
)
_REFUSED = {"SHOW_REF": "SHOW and DESCRIBE are", "RECURSIVE_CTE_NODE": "WITH RECURSIVE is"}
_BUILT_IN = frozenset({"count_star", "coalesce", "try", "unnest", "grouping", "grouping_id", "columns", "row_number"})


class Refused(Exception):
    """What is not computed here, and why: words and the name in question."""


class Scratch:
    """One DuckDB for request after request: to open one costs five times what most requests do.

    Each runs in a transaction that is rolled back, so that nothing of it stays for the next. After one that failed, or
    was refused, DuckDB is closed and opened anew: nobody needs to know what it had come to.
    """

    def __init__(self) -> None:
        self._milliseconds = 0
        self._connection: duckdb.DuckDBPyConnection | None = None

    def answered(self, request: dict[str, Any]) -> dict[str, Any]:
        """What each SELECT of a request gives over the tables that come with it."""
        connection = self._open(request["milliseconds"])
        try:
            connection.begin()
            for table in request["tables"]:
                _load(connection, table)
            results = [_result(connection, sql, request) for sql in request["sql"]]
            connection.rollback()
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return {"results": results}

    def _open(self, milliseconds: int) -> duckdb.DuckDBPyConnection:
        """What the last request left behind, if it went well; from here on it is nobody's until this one has."""
        kept, self._connection = self._connection, None
        if kept is not None and milliseconds == self._milliseconds:
            return kept
        self._milliseconds = milliseconds
        connection = duckdb.connect(":memory:", config={**CONFIG, "max_execution_time": str(milliseconds)})
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET lock_configuration = true")
        return connection


def main() -> None:
    """Answer requests until there are no more."""
    _limit(int(sys.argv[1]))
    scratch = Scratch()
    for line in sys.stdin:
        try:
            reply = json.dumps(scratch.answered(json.loads(line)))
            if len(reply) > MAX_BYTES:
                reply = json.dumps({"failed": "limit", "text": "the result is too large"})
        except Refused as error:
            reply = json.dumps({"failed": "refused", "text": str(error)})
        except MemoryError:
            reply = json.dumps({"failed": "limit", "text": "it takes too much memory"})
        except Exception as error:
            kind = "limit" if isinstance(error, (duckdb.OutOfMemoryException, duckdb.InterruptException)) else "error"
            reply = json.dumps({"failed": kind, "text": str(error)})
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()


def _limit(size: int) -> None:
    try:
        import resource
    except ImportError:  # a system without such limits; that of DuckDB and the one of time remain
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _load(connection: duckdb.DuckDBPyConnection, table: dict[str, Any]) -> None:
    named = [(_quoted(name), kind) for name, kind in table["columns"]]
    quoted = _quoted(table["name"])
    connection.execute(f"CREATE TABLE {quoted} ({', '.join(f'{name} {kind}' for name, kind in named)})")
    if "codes" in table:
        _load_coded(connection, table, quoted)
    elif table["cells"] and table["cells"][0]:
        listed = ", ".join(f"unnest(${index}::{kind}[])" for index, (_, kind) in enumerate(named, 1))
        connection.execute(f"INSERT INTO {quoted} SELECT {listed}", table["cells"])


def _load_coded(connection: duckdb.DuckDBPyConnection, table: dict[str, Any], quoted: str) -> None:
    """Columns of places in lists of values, four bytes each: a value is looked up where it lies."""
    import numpy as np

    codes = [np.frombuffer(base64.b64decode(column), dtype="<i4") for column in table["codes"]]
    connection.register("codes of it", {f"c{index}": column for index, column in enumerate(codes)})
    listed = ", ".join(
        f"list_extract(${index + 1}::{kind}[], c{index} + 1)" for index, (_, kind) in enumerate(table["columns"])
    )
    connection.execute(f'INSERT INTO {quoted} SELECT {listed} FROM "codes of it"', table["values"])
    connection.unregister("codes of it")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _result(connection: duckdb.DuckDBPyConnection, sql: str, request: dict[str, Any]) -> dict[str, Any]:
    check(connection, sql, {table["name"] for table in request["tables"]})
    described = [(name, str(kind)) for name, kind, *_ in connection.execute(f"DESCRIBE {sql}").fetchall()]
    zoned = next((name for name, kind in described if "TIME ZONE" in kind), None)
    if zoned is not None:
        raise Refused(f"{zoned[:60]} has a time zone: write CAST(… AS TIMESTAMP)")
    rows = connection.execute(sql).fetchmany(request["rows"] + 1)
    if len(rows) > request["rows"]:
        raise Refused(f"what is computed has too many rows: at most {request['rows']:,}")
    return {
        "columns": [name for name, _ in described],
        "types": [kind for _, kind in described],
        "rows": [[_plain(cell) for cell in row] for row in rows],
    }


def _plain(cell: object) -> object:
    """A cell as JSON has it; what is no number, text, date or list is shown as its text."""
    if cell is None or isinstance(cell, (bool, int, str)):
        return cell
    if isinstance(cell, (float, Decimal)):
        number = float(cell)
        return number if math.isfinite(number) else None
    if isinstance(cell, date):  # a datetime is one, too
        return {"timestamp" if isinstance(cell, datetime) else "date": cell.isoformat()}
    if isinstance(cell, (list, tuple)):
        return [_plain(each) for each in cell]
    if isinstance(cell, dict):
        return {"pairs": [[_plain(key), _plain(value)] for key, value in cell.items()]}
    return str(cell)


# ── what may run ─────────────────────────────────────────────────────────────────────────────────────────────────────


_SERIES = {"generate_series", "range", "unnest"}  # they read nothing but what the question writes down


def check(connection: duckdb.DuckDBPyConnection, sql: str, tables: set[str]) -> None:
    """Refuse all but one SELECT over these tables, of functions whose value depends on their arguments alone.

    It looks at what DuckDB itself makes of the text, so that nobody needs to read it as DuckDB does.
    """
    statements = connection.extract_statements(sql)
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise Refused("only one SELECT is computed from answers")
    read = json.loads(connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchall()[0][0])
    if read.get("error"):
        raise Refused("what is computed from the answers cannot be read")
    named = {entry["key"] for node in _nodes(read) for entry in (node.get("cte_map") or {}).get("map", ())}
    for node in _nodes(read):
        _check_node(connection, node, tables | named)


def _check_node(connection: duckdb.DuckDBPyConnection, node: dict[str, Any], tables: set[str]) -> None:
    kind = node.get("type")
    if kind == "TABLE_FUNCTION" and node["function"]["function_name"].lower() not in _SERIES:
        raise Refused(f"{node['function']['function_name'].upper()} is refused after FROM: it is no answer")
    if kind == "BASE_TABLE":
        known = {name.casefold() for name in tables}
        if node.get("schema_name") or node.get("catalog_name") or node["table_name"].casefold() not in known:
            raise Refused(f"there is no table {node['table_name'][:60]}")
    elif isinstance(kind, str) and kind in _REFUSED:
        raise Refused(f"{_REFUSED[kind]} refused: it is not computed from answers")
    if node.get("sample"):
        raise Refused("a sample is refused: it would be another each time")
    if node.get("class") == "COLUMN_REF" and node["column_names"][-1].lower() in _WORDS:
        raise Refused(f"{node['column_names'][-1].upper()} is refused: its value depends on more than its arguments")
    if node.get("class") in {"FUNCTION", "WINDOW"} and "function_name" in node:
        if node.get("schema") or node.get("catalog"):
            raise Refused(f"{node['schema'][:40]}.{node['function_name'][:40].upper()} is refused")
        if node["function_name"].lower() == "age" and len(node.get("arguments") or node.get("children") or ()) == 1:
            raise Refused("AGE of one date is refused: it counts from today. Write AGE(later, earlier)")
        _check_function(connection, node["function_name"].lower())


def _check_function(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    if name in _BUILT_IN:
        return
    function = functions().get(name)
    if function is None:
        raise Refused(f"there is no function {name[:60].upper()}")
    steady, macro = function
    if macro is not None:
        check(connection, f"SELECT {macro}", set())  # what it stands for
    elif not steady or name in _UNSTEADY or name.startswith("__"):
        raise Refused(f"{name[:60].upper()} is refused: its value depends on more than its arguments")


@cache
def functions() -> dict[str, tuple[bool, str | None]]:
    """Every function by its name: whether its value depends on its arguments alone, and, of a macro, what it is."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT lower(function_name), function_type, stability, macro_definition FROM duckdb_functions()"
            " WHERE function_type IN ('scalar', 'aggregate', 'window', 'macro') AND internal"
        ).fetchall()
    listed: dict[str, tuple[bool, str | None]] = {}
    for name, kind, stability, macro in rows:
        steady, definition = listed.get(name, (True, None))
        listed[name] = (steady and (stability == _STEADY or kind == "macro"), macro if kind == "macro" else definition)
    return listed


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


if __name__ == "__main__":
    main()
