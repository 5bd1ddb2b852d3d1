"""Whole rows from tables of small areas, as a census prints them: counts that fit all tables at once are the people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attack.asking import exactly, noisily
from tacit.attack.people import Codes, People, shuffled
from tacit.attack.results import AttackResult, against_controls
from tacit.attack.solving import fitting, from_scipy, nearest
from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source

WAYS = 2  # columns that a printed table crosses within an area, where there are more than two
MOST_PEOPLE = 200  # in an area, on average: beyond, tables fit too many populations
MOST_CELLS = 20_000  # of an area: each combination of what may stand in the columns
TRIED = 1_000  # people of the areas that are solved for, about
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AreaTables:
    """Which cells of an area every number of its printed tables adds up, as a sparse matrix: (number, cell)."""

    shape: tuple[int, ...]  # how many values each column has
    sums: Any
    tables: int

    @classmethod
    def crossing(cls, shape: Sequence[int], *, ways: int = WAYS) -> AreaTables:
        """All tables that cross so many of the columns. Raises InvalidParameter where there are too many cells."""
        cells = int(np.prod([float(size) for size in shape]))
        if cells > MOST_CELLS:
            raise InvalidParameter(
                f"an area would have {cells:,} cells: at most {MOST_CELLS:,} are solved for",
                hint="name fewer columns, or coarser ones",
            )
        sparse = from_scipy("sparse")
        coordinates = np.unravel_index(np.arange(cells), tuple(shape))
        parts = []
        for chosen in combinations(range(len(shape)), min(ways, len(shape))):
            numbers = tuple(shape[column] for column in chosen)
            own = np.ravel_multi_index(tuple(coordinates[column] for column in chosen), numbers)
            size = int(np.prod(numbers))
            parts.append(sparse.csr_array((np.ones(cells), (own, np.arange(cells))), shape=(size, cells)))
        return cls(tuple(shape), sparse.vstack(parts).tocsr(), len(parts))

    def of(self, cells: Codes) -> Codes:
        """What is printed of an area with these people, given by their cells."""
        counts = np.bincount(cells, minlength=self.sums.shape[1])
        return np.asarray(self.sums @ counts, dtype=np.float64).round().astype(np.int64)


@dataclass(frozen=True, slots=True)
class SolvedArea:
    """How many people an area has in each cell, as solved for; and whether no others would fit what is printed."""

    cells: Codes
    certain: bool


def solve_area(tables: AreaTables, printed: Floats, *, exact: bool, by: str = "integer programme") -> SolvedArea:
    """People that fit what is printed: exactly, or where there is noise as nearly as can be, rounded.

    Exact tables are solved a second time for people as unlike the first as can be: where there are none, the attacker
    knows to be right without asking anybody. "least squares" rounds the least numbers that fit, for comparison.
    """
    total = max(0, round(float(printed.sum()) / tables.tables))
    if by == "least squares":
        numbers = np.linalg.lstsq(tables.sums.toarray(), printed, rcond=None)[0]
        return SolvedArea(_whole(np.maximum(0, numbers), total), certain=False)
    if not exact:
        return SolvedArea(_whole(nearest(tables.sums, printed, total=total), total), certain=False)
    empty = np.asarray(tables.sums[printed == 0].sum(axis=0)).ravel() > 0  # a zero in print empties all its cells
    kept = np.flatnonzero(~empty)
    sums, numbers = tables.sums[printed > 0][:, kept], printed[printed > 0]
    first = fitting(sums, numbers) if numbers.size else np.zeros(kept.size)
    if first is None:
        raise InvalidParameter("no people fit all these tables: they are not of the same area, or not exact")
    cells = np.zeros(tables.sums.shape[1], dtype=np.int64)
    cells[kept] = first
    return SolvedArea(cells, certain=not numbers.size or _alone(sums, numbers, first))


def _alone(sums: Any, numbers: Floats, first: Floats) -> bool:
    """Whether nothing else fits: nobody can live in another cell, and those cells can be filled in one way only."""
    there = first > 0
    unlike = fitting(sums, numbers, cost=there.astype(np.float64))
    if unlike is None or unlike[there].sum() < first.sum():
        return False
    return int(np.linalg.matrix_rank(sums[:, np.flatnonzero(there)].toarray())) == int(there.sum())


def _whole(numbers: Floats, total: int) -> Codes:
    """So many people in all: rounded down, and the rest where most of a person is missing."""
    cells = np.floor(numbers + 1e-9).astype(np.int64)
    missing = max(0, total - int(cells.sum()))
    order = np.argsort(cells - numbers, kind="stable")
    cells += np.bincount(order[np.arange(missing) % order.size], minlength=order.size)
    return cells


def small_areas(
    people: People,
    *,
    epsilon: Fraction | None = None,
    area: str | None = None,
    by: str = "integer programme",
    source: Source = SYSTEM,
) -> AttackResult:
    """Print tables of areas, exact or at a total price, and solve for their rows; counted is whose whole row is there.

    An area is a value of one known column, the finest where none is named; its tables cross every two of the other
    columns and the secret. The same is looked for of people who are held out of the tables.
    """
    index = _area(people, area)
    columns = [column for number, column in enumerate((*people.known, people.secret)) if number != index]
    if len(columns) < 2:
        raise InvalidParameter(
            "reconstruction from small areas lacks a second known column", hint="name another in --qi"
        )
    tables = AreaTables.crossing([len(column.values) for column in columns], ways=min(WAYS, len(columns) - 1))
    cells = np.ravel_multi_index(tuple(column.codes for column in columns), tables.shape)
    where = people.known[index].codes
    answer = exactly if epsilon is None else noisily(epsilon / tables.tables, source=source)
    hits, others, certain, seen = [], [], 0, 0
    for number in _chosen(where[people.members], source):
        inside = people.members[where[people.members] == number]
        solved = solve_area(tables, answer(tables.of(cells[inside])), exact=epsilon is None, by=by)
        hits += list(solved.cells[cells[inside]] > 0)
        others += list(solved.cells[cells[people.controls[where[people.controls] == number]]] > 0)
        certain, seen = certain + solved.certain, seen + 1
    sure = f"; of {certain} of {seen} areas nobody else would fit" if epsilon is None else ""
    return against_controls(
        "rows from tables", "exact counts" if epsilon is None else f"DP-SELECT at ε = {float(epsilon):g}",
        (int(np.sum(hits)), len(hits)), (int(np.sum(others)), len(others)),
        loss=None if epsilon is None else Loss(epsilon),
        note=f"the whole row is among those solved for, by {by} from {tables.tables} tables an area{sure}",
    )  # fmt: skip


def _area(people: People, name: str | None) -> int:
    """Which known column is the area."""
    names = [column.name.casefold() for column in people.known]
    if name is not None:
        if name.casefold() not in names:
            raise InvalidParameter(f"no known column is called {name!r}", hint=f"there is {', '.join(names)}")
        return names.index(name.casefold())
    finest = int(np.argmax([len(column.values) for column in people.known]))
    size = people.rows / len(people.known[finest].values)
    if size > MOST_PEOPLE:
        raise InvalidParameter(
            f"rows from tables lack a column of small areas: the finest leaves {size:,.0f} people in each",
            hint=f"at most {MOST_PEOPLE} are solved for: name a finer column in --qi",
        )
    return finest


def _chosen(areas: Codes, source: Source) -> list[int]:
    """Areas in random order, until about as many people as are tried live in them."""
    there, sizes = np.unique(areas, return_counts=True)
    order = shuffled(there.size, source)
    before = np.cumsum(sizes[order]) - sizes[order]
    return [int(number) for number in there[order[before < TRIED]]]
