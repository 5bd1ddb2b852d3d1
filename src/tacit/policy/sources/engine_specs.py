"""The one list of database engines: what policies call each, which sources it takes, who opens it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.policy.reading.fault import Fault, KeyPath, shown
from tacit.policy.reading.names import meant
from tacit.policy.reading.readers import text
from tacit.policy.sources.servers import is_server, is_spark


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """All that tacit knows of an engine beside the code that runs it, which `opener` names as `module:function`.

    A source is one place (a file, an address), or None where it is a table of files.
    """

    name: str
    title: str
    opener: str
    extra: str | None = None  # what pip installs it with
    dialect: str  # of tacit.sql.emitting.dialects
    every_cell: str  # SQL: one whole number that cannot be had without reading every cell
    is_address: Callable[[str], bool] = lambda location: False  # whether a location can be nothing else
    takes: Callable[[str | None], bool]
    must_be: str  # what a source that it does not take should have been
    example: str


def _is_file(location: str | None) -> bool:
    return location is not None and not is_server(location) and not is_spark(location)


ENGINES: dict[str, EngineSpec] = {
    spec.name: spec
    for spec in (
        EngineSpec(
            name="duckdb",
            title="DuckDB",
            opener="tacit.engines.duckdb:open_duckdb",
            dialect="duckdb",
            every_cell="bit_xor(hash({0}))",
            takes=lambda location: location is None or _is_file(location),
            must_be="must be one database, or a table of files",
            example='source = "clinic.duckdb"',
        ),
        EngineSpec(
            name="postgres",
            title="PostgreSQL",
            opener="tacit.engines.postgres.engine:open_postgres",
            extra="postgres",
            dialect="postgres",
            every_cell="sum(length(CAST(ROW({0}) AS TEXT)))",
            is_address=is_server,
            takes=lambda location: location is not None and is_server(location),
            must_be="must be the address of a PostgreSQL database",
            example='source = "postgresql://host/database"',
        ),
        EngineSpec(
            name="spark",
            title="Spark",
            opener="tacit.engines.spark.engine:open_spark",
            extra="spark",
            dialect="spark",
            every_cell="sum(xxhash64({0}) % 2)",
            is_address=is_spark,
            takes=lambda location: location is None or is_spark(location),
            must_be="must be the address of a Spark Connect server, or a table of Parquet files",
            example='source = "sc://host", or source = { visits = "visits/*.parquet" }',
        ),
        EngineSpec(
            name="sqlite",
            title="SQLite",
            opener="tacit.engines.sqlite.engine:open_sqlite",
            dialect="duckdb",  # it is copied into one
            every_cell="bit_xor(hash({0}))",
            takes=_is_file,
            must_be="must be one SQLite database",
            example='source = "clinic.sqlite"',
        ),
    )
}


def engine_name(value: object, path: KeyPath) -> str:
    """An engine that this version serves."""
    name = text(value, path)
    if name in ENGINES:
        return name
    served = ", ".join(f'"{engine}"' for engine in ENGINES)
    raise Fault(
        f"{shown(name)} is not an engine tacit knows: it serves {served}", path=path, hint=meant(name, tuple(ENGINES))
    )


def engine_at(location: str) -> EngineSpec | None:
    """The engine whose address a location is; None where it may be several's."""
    return next((spec for spec in ENGINES.values() if spec.is_address(location)), None)


def refuse_source(engine: str, location: str | None) -> None:
    """Refuse a source that the engine cannot have."""
    spec, other = ENGINES[engine], None if location is None else engine_at(location)
    if spec.takes(location):
        return
    if other is not None and other != spec and engine == "duckdb":
        raise Fault("is the address of a server", path=("source",), hint=f'write engine = "{other.name}" beside it')
    raise Fault(spec.must_be, path=("source",), hint=f"write {spec.example}")
