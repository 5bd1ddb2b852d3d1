"""The model of a child's table: each column's law given the row it belongs to and the columns drawn before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.release.linked.counting import child_axes
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.fitting.arrays import FloatArray, fitted_to
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.compression import (
    Compression,
    compression_of,
    held_within,
    ordered_bins,
    rare_together,
)
from tacit.release.synthesise.fitting.estimation import fitted_tree
from tacit.release.synthesise.fitting.hybrid import (
    ModelSettings,
    Pair,
    Pairs,
    Singles,
    measured_pairs,
    measured_singles,
    pair_errors,
    single_errors,
)
from tacit.release.synthesise.fitting.junction_tree import drawn_within, tree_of
from tacit.release.synthesise.fitting.measuring import Meter
from tacit.release.synthesise.ruling import keeping
from tacit.release.synthesise.table import SyntheticTable, made_table

_MOST_GIVEN = 4  # columns that another is drawn given
_MOST_CELLS = 30_000  # of a column and those it is drawn given, together
_TRIES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """The law of a column given others: one line of chances over its bins for each of their bins together."""

    column: int
    given: tuple[int, ...]  # columns of the child that are drawn before it, and of the parent
    chances: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ChildModel:
    """What a child's rows are drawn from. Columns are numbered: its own, then those of the parent's model."""

    table: str
    column: str  # that holds the parent's key
    attributes: tuple[Attribute, ...]
    context: tuple[int, ...]  # which columns of the parent's model are looked at; the last is the number of children
    bins: tuple[Compression, ...]
    laws: tuple[Conditional, ...]  # in the order in which they are drawn
    rows: int  # about how many were counted: noisy
    bound: int  # how many rows of a unit count
    rules: tuple[str, ...]
    errors: tuple[tuple[tuple[int, ...], float], ...]

    def drawn(self, parents: SyntheticTable, owners: IntArray, chance: Chance) -> SyntheticTable:
        """A row for each owner, by its index among the parents; every row keeps the rules."""
        cells = self._any(parents, owners, chance)
        table = made_table(self.table, self.attributes, cells, chance=chance)
        for _ in range(_TRIES):
            broken = np.flatnonzero(~keeping(table, self.rules))
            if not broken.size:
                return table
            cells = self._any(parents, owners[broken], chance)
            table = _put(table, broken, made_table(self.table, self.attributes, cells, chance=chance))
        kept = keeping(table, self.rules)
        if not kept.any():
            raise InvalidParameter(
                "no row that was drawn keeps the rules of the table", hint="look at `rules` in the policy"
            )
        broken = np.flatnonzero(~kept)
        return _put(table, broken, table.at(np.resize(np.flatnonzero(kept), broken.size)))

    def _any(self, parents: SyntheticTable, owners: IntArray, chance: Chance) -> IntArray:
        """Cells of whatever kind: no rule has been looked at."""
        own = len(self.attributes)
        codes: dict[int, IntArray] = {
            own + index: self.bins[own + index].bins[parents.codes[axis][owners]]
            for index, axis in enumerate(self.context)
        }
        fine = np.zeros((owners.size, own), dtype=np.int64)
        for law in self.laws:
            group: IntArray = np.zeros(owners.size, dtype=np.int64)
            for axis in law.given:
                group = group * self.bins[axis].size + codes[axis]
            codes[law.column] = drawn_within(group, law.chances, chance=chance)
            compression = self.bins[law.column]
            within = np.zeros((compression.size, compression.bins.size))
            within[compression.bins, np.arange(compression.bins.size)] = compression.within
            fine[:, law.column] = drawn_within(codes[law.column], within, chance=chance)
        return fine


def _put(table: SyntheticTable, rows: IntArray, others: SyntheticTable) -> SyntheticTable:
    """The table with other rows at these indices."""
    columns = []
    for old, new in zip((*table.codes, *table.steps), (*others.codes, *others.steps), strict=True):
        column = old.copy()
        column[rows] = new
        columns.append(column)
    own = len(table.codes)
    return SyntheticTable(table.name, table.attributes, tuple(columns[:own]), tuple(columns[own:]))


@dataclass(frozen=True, slots=True, eq=False)
class ParentRows:
    """Synthetic rows of the parent, each weighed by its number of children: what the context of a child's row is."""

    cells: tuple[IntArray, ...]  # of each column that is looked at
    numbers: IntArray
    sigmas: tuple[float, ...]  # of chances, that the parent's columns were measured with

    def chances(self, axis: int, size: int) -> FloatArray:
        """How likely a child's row is to have its parent in each cell."""
        return _shares(np.bincount(self.cells[axis], weights=self.numbers, minlength=size).astype(np.float64))

    def pair(self, one: int, other: int, bins: tuple[Compression, Compression]) -> FloatArray:
        """The same of two columns, over bins."""
        first, second = bins[0].bins[self.cells[one]], bins[1].bins[self.cells[other]]
        cells = first * bins[1].size + second
        counts = np.bincount(cells, weights=self.numbers, minlength=bins[0].size * bins[1].size).astype(np.float64)
        return _shares(counts).reshape(bins[0].size, bins[1].size)


def _shares(counts: FloatArray) -> FloatArray:
    total = float(counts.sum())
    return counts / total if total > 0 else np.full_like(counts, 1.0 / counts.size)


@dataclass(frozen=True, slots=True, eq=False)
class FittedChild:
    """The laws of a child's columns, their bins, about how many rows there are, and what noise makes one expect."""

    bins: tuple[Compression, ...]
    laws: tuple[Conditional, ...]
    rows: float
    errors: Mapping[tuple[int, ...], float]


def fitted_child(
    meter: Meter,
    attributes: Sequence[Attribute],
    *,
    own: int,
    parents: ParentRows,
    settings: ModelSettings,
) -> FittedChild:
    """Everything that is measured of a child's table, and the laws that are made of it.

    Measured are its own columns, and the pairs that have one of them; the others are known from the parent's rows.
    """
    sizes, ordered = [each.cells for each in attributes], [each.ordered for each in attributes]
    measured = measured_singles(meter, sizes[:own], ordered[:own], share=settings.singles, settings=settings)
    singles = _beside_parents(measured, parents, sizes, ordered, settings=settings)
    wanted = [(one, other) for one, other in (axes for axes in child_axes(own, len(sizes)) if len(axes) == 2)]
    pairs = measured_pairs(meter, singles, share=1 - settings.singles, settings=settings, wanted=wanted)
    tables = dict(pairs.tables)
    for one, other in combinations(range(own, len(sizes)), 2):
        bins = singles.bins[one], singles.bins[other]
        tables[one, other] = fitted_to(parents.pair(one - own, other - own, bins), pairs.ones[one], pairs.ones[other])
    laws = tuple(
        _law(column, given, pairs, tables, rows=singles.rows, steps=settings.fit_steps)
        for column, given in _order(pairs, singles.sizes, own)
    )
    errors = {axes: error for axes, error in single_errors(singles).items() if axes[0] < own}
    return FittedChild(singles.bins, laws, measured.total, {**errors, **pair_errors(pairs, singles, pairs.tables)})


def _beside_parents(
    measured: Singles, parents: ParentRows, sizes: Sequence[int], ordered: Sequence[bool], *, settings: ModelSettings
) -> Singles:
    """The single columns of the child, and those of its parent as they are seen from its rows."""
    chances, bins = list(measured.chances), list(measured.bins)
    least = settings.rare * float(np.mean(measured.sigmas))
    own = len(chances)
    for axis, (size, is_ordered) in enumerate(zip(sizes[own:], ordered[own:], strict=True)):
        seen = parents.chances(axis, size)
        put = ordered_bins(seen, most=settings.bins) if is_ordered else rare_together(seen, least=least)
        chances.append(seen)
        bins.append(compression_of(put, seen))
    sigmas = (*measured.sigmas, *parents.sigmas)
    held = held_within(bins, chances, ordered, cells=settings.pair_cells)
    return Singles(measured.rows, measured.total, tuple(chances), sigmas, held)


def _order(pairs: Pairs, sizes: Sequence[int], own: int) -> list[tuple[int, tuple[int, ...]]]:
    """The child's columns, those that are told most by what is known first, each with what it is drawn given."""
    told = {
        pair: float(np.abs(table - np.outer(pairs.ones[pair[0]], pairs.ones[pair[1]])).sum())
        for pair, table in pairs.tables.items()
        if pairs.ranks[pair]
    }

    def between(one: int, other: int) -> float:
        return told.get((min(one, other), max(one, other)), 0.0)

    known, left, order = list(range(own, len(sizes))), list(range(own)), []
    while left:
        column = max(left, key=lambda one: sum(between(one, other) for other in known))
        given: list[int] = []
        for other in sorted(known, key=lambda other: -between(column, other)):
            cells = sizes[column] * sizes[other] * int(np.prod([sizes[axis] for axis in given], dtype=np.int64))
            if between(column, other) > 0 and len(given) < _MOST_GIVEN and cells <= _MOST_CELLS:
                given.append(other)
        order.append((column, tuple(given)))
        known.append(column)
        left.remove(column)
    return order


def _law(
    column: int, given: tuple[int, ...], pairs: Pairs, tables: Mapping[Pair, FloatArray], *, rows: float, steps: int
) -> Conditional:
    """The law of most entropy of a column and those it is given that has their pairs, as lines of chances."""
    axes = (column, *given)
    ones = [pairs.ones[axis] for axis in axes]
    if not given:
        return Conditional(column, given, ones[0][None, :])
    wanted: dict[Pair, FloatArray] = {}
    sigmas: dict[Pair, float] = {}
    for one, other in combinations(range(len(axes)), 2):
        first, second = axes[one], axes[other]
        wanted[one, other] = tables[first, second] if first < second else tables[second, first].T
        pair = (min(first, second), max(first, second))
        sigmas[one, other] = pairs.sigmas.get(pair, min(pairs.sigmas.values()))
    tree = tree_of([each.size for each in ones], list(wanted))
    (joint,), _ = fitted_tree(tree, ones, wanted, sigmas=sigmas, rows=rows, steps=steps)
    return Conditional(column, given, np.moveaxis(joint, 0, -1).reshape(-1, ones[0].size))
