"""Which settings of PostgreSQL hold while a question runs: ours, not the server's, the database's or the role's.

A timeout of the server's choice is an error if and only if somebody's rows take that long; a spelling of dates is
another answer. So every setting is settled that can make a text of SQL mean, show or do something else, and read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.engines.base import Limits

_SINCE_17 = 17_00_00

_FIXED = {
    # what a name, a literal or an operator means
    "search_path": "pg_catalog, pg_temp",  # a table has a name only where the policy gives it one
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "escape_string_warning": "off",
    "transform_null_equals": "off",
    "array_nulls": "on",
    # how a cell is read and shown
    "timezone": "UTC",
    "timezone_abbreviations": "Default",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "client_encoding": "UTF8",
    "client_min_messages": "error",
    # which rows there are
    "row_security": "on",
    "gin_fuzzy_search_limit": "0",  # else an index gives some rows, by chance
    # when a question is cut short: by the policy's timeout, and by nothing else that can be settled
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    # how it runs: what depends on estimates would take other times for other rows
    "jit": "off",
    "plan_cache_mode": "force_custom_plan",
    "from_collapse_limit": "20",  # joins of up to twenty tables are put in order as a whole,
    "join_collapse_limit": "20",  # whether a comma or JOIN stands between them,
    "geqo": "on",  # and from the twelfth on not by trying every order
    "geqo_threshold": "12",
    "temp_tablespaces": "",
}
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))
# What only a superuser may set, and so is looked at: (setting, what it is where it cannot cut a question short)
WATCHED = (("temp_file_limit", "-1"),)


def settings(limits: Limits, *, version: int = _SINCE_17) -> dict[str, str]:
    """What holds in every transaction, on a server of this version."""
    settled = dict(_FIXED)
    settled["statement_timeout"] = milliseconds_text(
        0 if limits.timeout is None else max(1, round(limits.timeout * 1000))
    )
    if version >= _SINCE_17:
        settled["transaction_timeout"] = "0"
    if limits.threads is not None:
        settled["max_parallel_workers_per_gather"] = str(limits.threads - 1)
    if limits.memory is not None:
        settled["work_mem"] = limits.memory
    return settled


def milliseconds_text(count: int) -> str:
    """A time as PostgreSQL shows it: in the largest unit that divides it."""
    unit = next((unit for size, unit in _UNITS if count and count % size == 0), "")
    size = next((size for size, name in _UNITS if name == unit), 1)
    return f"{count // size}{unit}"


def statement(chosen: Mapping[str, str]) -> tuple[str, list[str]]:
    """One SELECT that settles all of them until the transaction ends, and its parameters."""
    calls = ", ".join("pg_catalog.set_config(%s, %s, true)" for _ in chosen)
    return f"SELECT {calls}", [word for pair in chosen.items() for word in pair]


def differing(chosen: Mapping[str, str], shown: Sequence[object] | None) -> list[str]:
    """The settings that do not hold, though they were set; memory, which is shown in other units, aside."""
    values = list(shown) if shown is not None else [None] * len(chosen)
    return [
        name for (name, value), seen in zip(chosen.items(), values, strict=True) if name != "work_mem" and seen != value
    ]
