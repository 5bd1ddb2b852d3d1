"""Marginals counted by the engine: planned before anything is paid, read once it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.core import Loss
from tacit.curator.measuring.measure import PublicTables, encoded, listed
from tacit.curator.reading import execute
from tacit.engines import Engine, State
from tacit.errors import EngineError, QueryRefused
from tacit.noise import IntArray
from tacit.policy import Policy, TableDomain, TablePolicy, resolve_types
from tacit.release.synthesise.columns import (
    MOST_CELLS,
    Attribute,
    ColumnKey,
    attribute_of,
    chosen_columns,
    key_of,
    refuse_empty,
)
from tacit.release.synthesise.ruling import rules_of
from tacit.sql import Plan, Planner, bind, parse
from tacit.sql.emitting.dialects import values_of
from tacit.sql.expressions.keys import Key
from tacit.sql.workloads.marginals import Marginals, bind_marginals

Axes = tuple[int, ...]
MOST_PAIRED = 2_000_000  # cells of columns that are counted together
MOST_WRITTEN = (
    2_500_000  # listed values, once for each marginal of one or two columns: every plan has them in its WHERE
)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is counted of a table: its columns, and for each marginal the plan of the question that counts it."""

    table: str
    attributes: tuple[Attribute, ...]
    places: tuple[dict[object, int], ...]  # of each column, the cell that the engine's value falls into
    plans: dict[Axes, Plan]
    sensitivity: int  # how far one unit moves any marginal in L1, in whole numbers of 1/weight rows
    weight: int
    rules: tuple[str, ...]  # conditions that every row shall keep, in DuckDB's SQL
    rows: int | None  # as many as the policy says that there are about

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of cells."""
        return tuple(each.cells for each in self.attributes)


@dataclass(frozen=True, slots=True)
class JoinedKeys:
    """What stands behind FROM where that is more than the table, and how many keys are its own: they come first."""

    relation: str | None = None
    own: int | None = None


def plan_table(policy: Policy, engine: Engine, table: str, *, columns: Sequence[str] = ()) -> TablePlan:
    """Bind the columns and plan every marginal of one or two of them. Reads public tables alone; charges nothing."""
    typed = resolve_types(policy, engine.schema())
    declared = typed.table(table)
    keys = [key_of(declared, column) for column in chosen_columns(declared, columns)]
    axes = [each for size in (1, 2) for each in itertools.combinations(range(len(keys)), size)]
    return plan_counts(typed, engine, declared, keys=keys, axes=axes, most=MOST_CELLS)


def plan_counts(
    typed: Policy,
    engine: Engine,
    declared: TablePolicy,
    *,
    keys: Sequence[ColumnKey],
    axes: Sequence[Axes],
    most: int,
    most_together: int = MOST_PAIRED,
    joined: JoinedKeys | None = None,
) -> TablePlan:
    """Bind the keys of a table and plan these marginals of them. `most` is how many values a column may list.

    Those that are counted together have at most `most_together` cells. Where the table is `joined` with others, some
    keys are theirs.
    """
    joined = joined or JoinedKeys()
    asked = [key.sql for key in keys]
    marginals = bind_marginals(declared.name, asked, typed, schema=engine.schema(), relation=joined.relation)
    if len(marginals.keys) != len(keys):
        raise QueryRefused("two columns are the same", hint="name each once")
    values = [_public_values(each.values, engine) for each in marginals.keys]
    attributes = tuple(attribute_of(key, each, most=most) for key, each in zip(keys, values, strict=True))
    for attribute in attributes:
        if not attribute.cells:
            refuse_empty(declared.name, attribute)
    returned = [encoded(key, _tabled(key, each)) for key, each in zip(marginals.keys, values, strict=True)]
    cell_of = tuple(_places(attribute, each) for attribute, each in zip(attributes, returned, strict=True))
    _refuse_long(declared.name, attributes, [each for each in axes if len(each) < 3])
    plans = {each: _planned(marginals, each, attributes, typed, most_together) for each in axes}
    sensitivity = max(plan.measurements[0].l1 for plan in plans.values())
    return TablePlan(
        table=declared.name,
        attributes=attributes,
        places=cell_of,
        plans=plans,
        sensitivity=sensitivity,
        weight=sensitivity // marginals.rows,
        rules=rules_of(declared, attributes[: joined.own]),
        rows=declared.rows,
    )


def _planned(marginals: Marginals, axes: Axes, attributes: Sequence[Attribute], policy: Policy, most: int) -> Plan:
    """The plan of the question that counts these columns: at a nominal price, for its SQL and its sensitivity."""
    cells = math.prod(attributes[axis].cells for axis in axes)
    if cells > most:
        names = ", ".join(attributes[axis].name for axis in axes)
        raise QueryRefused(
            f"{names} have {cells:,} cells together: at most {most:,} are counted",
            hint="declare coarser domains, or leave one of them out",
        )
    return Planner(marginals.question(axes), policy).at(Loss(1))


def _refuse_long(table: str, attributes: Sequence[Attribute], axes: Sequence[Axes]) -> None:
    """Refuse lists that the plans of all marginals together could not hold in memory."""
    listed_values = sum(len(each.values) for each in attributes)
    if len(axes) * listed_values > MOST_WRITTEN:
        raise QueryRefused(
            f"{table} lists {listed_values:,} values in {len(attributes)} columns: with {len(axes):,} marginals at most"
            f" {MOST_WRITTEN // len(axes):,} are counted",
            hint="name fewer columns, or declare coarser domains",
        )


def plan_all_rows(policy: Policy, engine: Engine, table: str) -> Plan:
    """The plan of how many rows there are, whatever they hold: a number that the curator may declare public.

    Marginals leave out rows with a value outside of a domain. How many are left is nobody's declaration: to replace a
    row by one of those moves it, and so it never leaves without noise.
    """
    named = table.replace('"', '""')
    bound = bind(parse(f'SELECT COUNT(*) AS n FROM "{named}"'), policy, schema=engine.schema())
    return Planner(bound, policy).at(Loss(1))


def all_rows(plan: Plan, state: State) -> int:
    """How many rows there are: exact."""
    (statement,) = plan.statements
    return int(execute(statement, state).integers(plan.measurements[0].column)[0])


def _public_values(values: object, engine: Engine) -> list[object]:
    if isinstance(values, TableDomain):
        exact = engine.execute(values_of(values, dialect=engine.dialect))
        return sorted(listed(exact.keys("k")), key=str)
    if not isinstance(values, tuple):
        raise QueryRefused("a column has no public domain: a synthetic value must come from one")
    return list(values)


def _tabled(key: Key, values: Sequence[object]) -> PublicTables:
    return {key.values: tuple(values)} if isinstance(key.values, TableDomain) else {}


def _places(attribute: Attribute, values: Sequence[object]) -> dict[object, int]:
    cells = {value: index for index, value in enumerate(values)}
    return cells | {None: len(values)} if attribute.nullable else cells


@dataclass(slots=True)
class MarginalCounter:
    """Counts marginals in one state of the data; keeps none, for those of a large table would not fit into memory."""

    plan: TablePlan
    state: State
    progress: Callable[[float], None] = lambda _: None
    _read: set[Axes] = field(default_factory=set, repr=False)

    def __call__(self, axes: Axes) -> IntArray:
        """The exact counts over all cells of these columns."""
        cells, counts = self.counted(axes)
        self._read.add(axes)
        self.progress(len(self._read) / len(self.plan.plans))
        shape = tuple(self.plan.sizes[axis] for axis in axes)
        full: IntArray = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(full, cells, counts)
        return full.reshape(shape)

    def counted(self, axes: Axes) -> tuple[IntArray, IntArray]:
        """The cells of these columns that are not empty, as numbers with the last column's digit last; and counts."""
        plan = self.plan.plans[axes]
        (statement,) = plan.statements
        exact = execute(statement, self.state)
        measurement = plan.measurements[0]
        scale, rest = divmod(self.plan.sensitivity, measurement.l1)
        if rest:
            raise EngineError("marginals are weighed unlike")
        cells, known = np.zeros(exact.rows, dtype=np.int64), np.ones(exact.rows, dtype=bool)
        for position, axis in enumerate(axes):
            index = self.plan.places[axis]
            codes = np.array([index.get(value, -1) for value in listed(exact.keys(f"k{position}"))], dtype=np.int64)
            known &= codes >= 0
            cells = cells * self.plan.sizes[axis] + codes
        return cells[known], exact.integers(measurement.column)[known] * scale
