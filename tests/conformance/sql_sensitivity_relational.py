"""The sensitivity of a plan over several tables, by brute force: a unit is taken out of all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import duckdb
from sqlglot import exp

from conformance.sql_sensitivity import Violation, compare
from conformance.sql_world import World
from tacit.engines import Exact, Limits
from tacit.engines.columns import readable
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.policy import Policy
from tacit.sql import BoundQuery, Plan
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.rules import GRID_RULES, Facts, apply, grids_of


@dataclass(frozen=True)
class Database:
    """Tables from which any one unit can be taken out: `gone` holds it, and private tables are views without it."""

    world: World
    connection: duckdb.DuckDBPyConnection

    def read(self, made: Plan, *, without: object = None) -> list[Exact]:
        """What every statement of a plan returns where one unit is not there."""
        self.connection.execute("UPDATE gone SET unit = ?", [without])
        try:
            return [
                Exact(readable(self.connection, statement.sql("duckdb")).read(self.connection))
                for statement in made.statements
            ]
        except duckdb.Error as error:
            raise Violation(f"the engine fails: {error}") from None

    def rows(self, sql: str, *, without: object = None) -> set[tuple[object, ...]]:
        """The rows of a query where one unit is not there."""
        self.connection.execute("UPDATE gone SET unit = ?", [without])
        return set(self.connection.execute(sql).fetchall())

    def units(self, query: str) -> list[object]:
        """The units that a query over the tables finds."""
        return [unit for (unit,) in self.connection.execute(query).fetchall()]


def database(
    policy: Policy, fill: Callable[[duckdb.DuckDBPyConnection], None], *, owned: Mapping[str, str]
) -> Database:
    """`owned` says of each private table which of its rows are there when the one unit of `gone` is not."""

    def filled(connection: duckdb.DuckDBPyConnection) -> Exposed:
        fill(connection)
        connection.execute("CREATE TABLE gone AS SELECT NULL::BIGINT AS unit")
        for table in owned:
            connection.execute(f"ALTER TABLE {table} RENAME TO every_{table}")
        for table, there in owned.items():
            connection.execute(f"CREATE VIEW {table} AS SELECT every_{table}.* FROM every_{table}, gone WHERE {there}")
        return Exposed(tuple(table.name for table in policy.tables))

    world = World(policy, build(filled, Limits(threads=1)))
    return Database(world, world.engine._connection.cursor())


def check(made: Plan, over: Database, *, units: Iterable[object]) -> int:
    """Every unit removed in turn; how many of them the exact numbers depend on. Raises Violation."""
    whole = over.read(made)
    moved = 0
    for unit in units:
        without = over.read(made, without=unit)
        try:
            compare(made, whole, without)
        except Violation as violation:
            raise Violation(f"{violation}\n  without {unit}") from None
        moved += [_rows(exact) for exact in whole] != [_rows(exact) for exact in without]
    return moved


def check_others(bound: BoundQuery, over: Database, *, units: Iterable[object]) -> None:
    """Every unit removed in turn: no other's rows may change, be they counted or beyond a cap. Raises Violation."""
    relation = bound.relation
    listed = [exp.alias_(exp.column(name, quoted=True), f"c{i}") for i, name in enumerate(relation.all_columns)]
    owner = relation.spelled(exp.column(relation.table.unit_column or "", quoted=True))
    rows = exp.select(exp.alias_(owner, "u"), *listed).from_(relation.sql.copy())
    rows = rows if bound.where is None else rows.where(bound.where.copy())
    made = qualified(apply(GRID_RULES, rows, facts=Facts(grids=grids_of(relation.table, relation.sql_types))))
    summed = "SELECT u, count(*), sum(hash(t)::HUGEINT)"
    sql = f"{summed} FROM ({made.sql(dialect='duckdb')}) AS t WHERE u IS NOT NULL GROUP BY u"
    whole = over.rows(sql)
    for unit in units:
        without = over.rows(sql, without=unit)
        differ = {row[0] for row in whole ^ without}
        if len(differ) > 1:
            raise Violation(f"the rows of {len(differ)} units change\n  without {unit}")


def _rows(exact: Exact) -> list[str]:
    """In an order of their own: the engine's may change with what is not there."""
    return sorted(map(repr, zip(*exact._columns.values(), strict=True)))
