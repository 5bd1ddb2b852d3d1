"""Record and replay: a plan's own SQL on neighbours, and how far one unit moves what it measures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.attack.auditing.playing import Draw
from tacit.attack.auditing.worlds import LEAST_ROWS, MOST_ROWS, MOST_UNITS, UNITS, MadeUp, Row, Rows, insert, write
from tacit.core import Adjacency
from tacit.noise import SYSTEM, Source
from tacit.policy import TableDomain
from tacit.sql import Additive, Measurement, Plan

CANDIDATES = 60
_KEY = re.compile(r"k\d+|x")  # how generated SQL calls what it groups by
_LEVELS = 200  # of the likelihood ratio of many numbers, to either side
_HIDDEN = np.iinfo(np.int64).min
Cells = Mapping[tuple[object, ...], int]


@dataclass(frozen=True, slots=True)
class Movement:
    """How far one unit moved a measurement on the neighbours that were tried, and how far its plan says it can."""

    label: str
    planned: float
    found: float
    norm: str

    @property
    def holds(self) -> bool:
        """Whether it moved no farther than planned."""
        return self.found <= self.planned * (1 + 1e-12)

    def __str__(self) -> str:
        word = "holds" if self.holds else "IS BROKEN"
        return f"{self.label}: one unit moved it by {self.found:,.6g} of {self.planned:,.6g} ({self.norm}); {word}"


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two databases that differ in one unit, and what the plan's queries return on each, exactly."""

    rows: tuple[Rows, Rows]
    cells: tuple[tuple[Cells, ...], tuple[Cells, ...]]  # for each side, for each measurement: numbers by key
    movements: tuple[Movement, ...]

    @property
    def worth(self) -> tuple[float, int]:
        """How much of the planned sensitivities is used, over all measurements; then the fewer cells it takes.

        The same loss spread over many cells is as large and harder to see: the event that tells all is rarer.
        """
        share = sum(one.found / one.planned for one in self.movements if one.planned)
        moved = sum(
            here.get(key, 0) != there.get(key, 0)
            for here, there in zip(*self.cells, strict=True)
            for key in here.keys() | there.keys()
        )
        return round(share, 9), -moved


def worst_neighbours(
    plan: Plan, world: MadeUp, *, candidates: int = CANDIDATES, source: Source = SYSTEM
) -> tuple[Neighbours, tuple[Movement, ...]]:
    """The neighbours, of those tried, that the plan's measurements tell apart best; and the farthest of all movements.

    A unit is tried with few rows and with many, of values at the ends of their bounds and beyond, of the domains and
    of the question's own constants.
    """
    replaces, single = plan.unit.adjacency is Adjacency.REPLACE, plan.unit.is_row
    units = UNITS if plan.selection is None else min(MOST_UNITS, max(UNITS, 2 * plan.selection.threshold))
    crowd = _merged([world.rows_of(unit, rows=LEAST_ROWS, source=source) for unit in range(1, units + 1)])
    best: Neighbours | None = None
    farthest: Sequence[Movement] = ()
    for shared in (crowd, {}):
        before: Rows = {}
        with write(world, shared, ":memory:") as connection:
            for number in range(candidates // 2):
                rows = 1 if single else (MOST_ROWS if number % 3 else LEAST_ROWS)
                added = world.rows_of(0, rows=rows, source=source)
                unit = _one_table(added, plan.table) if single else added
                difference = _compared(plan, connection, shared, (before if replaces else {}, unit), world)
                before = unit
                pairs = zip(farthest or difference.movements, difference.movements, strict=True)
                farthest = [max(pair, key=lambda one: one.found) for pair in pairs]
                if best is None or difference.worth > best.worth:
                    best = difference
    assert best is not None  # noqa: S101 - there is at least one candidate
    return best, tuple(farthest)


def _one_table(rows: Mapping[str, Sequence[Row]], table: str) -> Rows:
    """Where each row is a unit, one row of one table is what neighbours differ in."""
    named = [name for name in rows if name.casefold() == table.casefold()] or list(rows)[:1]
    return {name: rows[name][:1] for name in named}


def _merged(parts: Sequence[Rows]) -> dict[str, list[Row]]:
    merged: dict[str, list[Row]] = {}
    for part in parts:
        for table, rows in part.items():
            merged.setdefault(table, []).extend(rows)
    return merged


def _compared(
    plan: Plan, connection: duckdb.DuckDBPyConnection, shared: Rows, units: tuple[Rows, Rows], world: MadeUp
) -> Neighbours:
    """Both sides read with the plan's SQL."""
    cells = []
    for unit in units:
        connection.execute("BEGIN")
        for table, rows in unit.items():
            insert(connection, table, rows)
        cells.append(_read(plan, connection, world))
        connection.execute("ROLLBACK")
    steps = plan.unit.adjacency.steps
    moved = tuple(_movement(m, (cells[0][i], cells[1][i]), steps) for i, m in enumerate(plan.measurements))
    sides = (_merged([shared, units[0]]), _merged([shared, units[1]]))
    return Neighbours(sides, (cells[0], cells[1]), moved)


def _read(plan: Plan, connection: duckdb.DuckDBPyConnection, world: MadeUp) -> tuple[Cells, ...]:
    """What every measurement is, exactly, group by group: of the groups that can leave, and of no others."""
    tables = []
    for statement in plan.statements:
        result = connection.execute((statement.settled or statement).sql("duckdb"))
        names = [str(column[0]) for column in result.description or ()]
        tables.append((names, result.fetchall()))
    read = []
    for measurement in plan.measurements:
        names, rows = tables[measurement.statement]
        keys = [index for index, name in enumerate(names) if _KEY.fullmatch(name)]
        value = names.index(measurement.column if isinstance(measurement.measure, Additive) else "c")
        cells = {tuple(row[index] for index in keys): int(row[value]) for row in rows}
        read.append({key: number for key, number in cells.items() if _leaves(plan, key, world)})
    return tuple(read)


def _leaves(plan: Plan, values: tuple[object, ...], world: MadeUp) -> bool:
    """Whether a group is among the public ones: a row whose key is none of them is read, and left out."""
    for key, value in zip(plan.keys, values, strict=False):  # a value that is chosen stands after the keys
        listed: Sequence[object] | None
        listed = world.values_of(key.values) if isinstance(key.values, TableDomain) else key.values  # None: any
        seen = Fraction(repr(value)) if isinstance(value, float) and math.isfinite(value) else value
        if listed is not None and key.decode(seen) not in listed:
            return False
    return True


def plain_neighbours(world: MadeUp, *, replaces: bool, source: Source = SYSTEM) -> tuple[Rows, Rows]:
    """Two databases that differ in one unit with many rows; in one row, where each is a unit."""
    private = [table for table in world.policy.tables if not table.public]
    single = not any(table.identifying for table in private)
    shared = _merged([world.rows_of(unit, rows=LEAST_ROWS, source=source) for unit in range(1, UNITS + 1)])
    units = [world.rows_of(0, rows=1 if single else MOST_ROWS, source=source) for _ in range(2)]
    kept = [_one_table(unit, private[0].name) if single else unit for unit in units]
    return _merged([shared, kept[0] if replaces else {}]), _merged([shared, kept[1]])


def _movement(measurement: Measurement, sides: tuple[Cells, Cells], steps: int) -> Movement:
    keys = sides[0].keys() | sides[1].keys()
    gaps = [abs(sides[1].get(key, 0) - sides[0].get(key, 0)) for key in keys]
    label = measurement.measure.label
    if measurement.noise.law.norm == 2:
        length = float(sum(gap * gap for gap in gaps)) ** 0.5
        return Movement(label, steps * float(measurement.l2), length, "L2")
    return Movement(label, float(steps * measurement.l1), float(sum(gaps)), "L1")


def noisy_draw(plan: Plan, neighbours: Neighbours, *, source: Source = SYSTEM) -> Draw | None:
    """A draw of all that the plan's noise leaves to be seen on either side; None where it chooses instead of adding.

    Of each number that the unit moves, as it leaves; of a private key that does not reach its threshold, nothing. Where
    several numbers are moved a last column says what all of them together speak for, by the laws of their noise: of
    the best event of many cells a table learnt from draws is too coarse to find it.
    """
    if any(m.added is None or m.wide or not isinstance(m.measure, Additive) for m in plan.measurements) or plan.bias:
        return None
    keys = sorted({key for side in neighbours.cells for cells in side for key in cells}, key=repr)
    moved = [key for key in keys if any(_at(a, key) != _at(b, key) for a, b in zip(*neighbours.cells, strict=True))]
    shown = moved or keys[:1] or [()]
    private = plan.selection is not None

    together = (
        _Together.of(plan, neighbours, shown) if not private and len(shown) * len(plan.measurements) > 1 else None
    )

    def draw(side: int, times: int, /) -> NDArray[np.int64]:
        columns: list[NDArray[np.int64]] = []
        for key in shown:
            there = any(key in cells for cells in neighbours.cells[side])
            numbers = []
            for measurement, cells in zip(plan.measurements, neighbours.cells[side], strict=True):
                exact = np.full(times, cells.get(key, 0), dtype=np.int64)
                assert measurement.added is not None  # noqa: S101 - looked at above
                numbers.append(np.asarray(measurement.added.release(exact, source), dtype=np.int64))
            if plan.selection is not None:
                seen = numbers[plan.selection.measurement] >= plan.selection.threshold
                numbers = [np.where(seen, number, _HIDDEN) for number in numbers]
            columns += [np.full(times, _HIDDEN) if private and not there else number for number in numbers]
        return np.stack(columns if together is None else [*columns, together.levels(columns)], axis=1)

    return draw


@dataclass(frozen=True, slots=True)
class _Together:
    """The likelihood ratio of one side against the other over several numbers, each with noise of a known law."""

    cells: tuple[tuple[float, float, float, int], ...]  # of each number what it truly is on both sides, size, and norm
    reach: float  # beyond which its logarithm hardly ever lies

    @classmethod
    def of(cls, plan: Plan, neighbours: Neighbours, keys: Sequence[tuple[object, ...]]) -> _Together | None:
        cells = []
        for key in keys:
            for index, measurement in enumerate(plan.measurements):
                here, there = (float(side[index].get(key, 0)) for side in neighbours.cells)
                law = measurement.noise.law
                cells.append((here, there, float(law.size), law.norm))
        far = sum(abs(there - here) / size for here, there, size, norm in cells if norm == 1)
        wide = sum(((there - here) / size) ** 2 for here, there, size, norm in cells if norm == 2)
        reach = far + wide / 2 + 6 * wide**0.5
        return cls(tuple(cells), reach) if reach else None

    def levels(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Its logarithm, in whole steps from one end of its reach to the other; a law is exp(−|x/size|^norm / norm)."""
        total = np.zeros(columns[0].size)
        for (here, there, size, norm), column in zip(self.cells, columns, strict=True):
            total += (np.abs((column - here) / size) ** norm - np.abs((column - there) / size) ** norm) / norm
        return np.rint(np.clip(total / self.reach, -1, 1) * _LEVELS).astype(np.int64)


def _at(cells: Cells, key: tuple[object, ...]) -> int | None:
    return cells.get(key)
