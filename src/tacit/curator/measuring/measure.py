"""Exact columns in, noisy columns out. The only place where exact numbers are looked at."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from tacit.curator.measuring.bias import measure_cut
from tacit.curator.measuring.noisy import KeyTuple, Noisy, NoisyColumn
from tacit.curator.measuring.ordering import rank
from tacit.curator.measuring.ranks import quantile_scores
from tacit.engines import Exact
from tacit.errors import EngineError
from tacit.mechanisms import GradualRelease
from tacit.mechanisms.protocol import AddedNoise, NoisyChoice
from tacit.noise import IntArray, Source, WideArray
from tacit.policy import TableDomain
from tacit.sql import Additive, Histogram, Measurement, Mode, Plan, Quantile
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.listed_keys import domains_of, in_one_row
from tacit.sql.expressions.measures import Measure
from tacit.sql.planning.stability import StabilityTest
from tacit.sql.relations.joining.two_owners import DISTANCE

PublicTables = Mapping[TableDomain | tuple[TableDomain, ...], tuple[object, ...]]  # of several: in one row


def measure(plan: Plan, exact: Sequence[Exact], *, public: PublicTables, source: Source) -> Noisy:
    """Add noise to every measurement, and keep the private keys that pass their threshold.

    `exact` holds one result for each of `plan.runs`; `public` the values of domains that are columns of public tables.
    Where rows have two owners, the test comes first: unless it passes, no noise is drawn for anything else, and all
    that leaves is that it failed (AnswerWithheld). Whoever measures a plan measures it here, and so no test is skipped.
    """
    if plan.test is not None:
        *exact, distance = exact
        check_stability(plan.test, distance, source=source)
    groups = _groups(plan, exact, public)
    numbers: dict[int, IntArray | WideArray] = {}
    for index, measurement in enumerate(plan.measurements):
        if isinstance(measurement.measure, Additive) and measurement.added is not None:
            column = groups.filled(exact[measurement.statement], measurement.column, wide=measurement.wide)
            numbers[index] = measurement.added.release(column, source)
    kept = np.arange(len(groups.keys))
    if plan.selection is not None:
        kept = np.flatnonzero(numbers[plan.selection.measurement] >= plan.selection.threshold)
        kept = _in_key_order(groups.keys, kept)  # an engine's own order is a fact about the data
    keys = [groups.keys[group] for group in kept.tolist()]
    columns = []
    for index, measurement in enumerate(plan.measurements):
        if index in numbers:
            columns.append(NoisyColumn(measurement.measure.signature, measurement.step, numbers=numbers[index][kept]))
        else:
            known = replace(measurement, measure=_with_values(measurement.measure, public))
            columns.append(_chosen(plan, known, exact[measurement.statement], keys=keys, source=source))
    others = exact[len(plan.statements) :]  # two for each measurement of the bias
    for excess, cells, sums in zip(plan.bias, others[::2], others[1::2], strict=True):
        indexes = _Groups(keys, groups.names).indices(sums)
        cut = measure_cut(plan, excess, (cells, sums), indexes=indexes, groups=len(keys), source=source)
        columns[excess.measurement] = replace(columns[excess.measurement], cut=cut)
    return Noisy(_decoded(plan, keys), tuple(columns), plan.selection is not None)


def tellings(
    plan: Plan, exact: Sequence[Exact], *, prices: Sequence[Fraction], public: PublicTables, source: Source
) -> list[Noisy]:
    """The measurements of a plan at each of these prices, which rise from its own, each a noisier copy of the next.

    All of a plan's measurements are sums with Laplace noise, and its groups public; see `tacit.curator.tellings`.
    """
    groups = _groups(plan, exact, public)
    keys = _decoded(plan, groups.keys)
    columns = []
    for measurement in plan.measurements:
        column = groups.filled(exact[measurement.statement], measurement.column, wide=False)
        told = gradual(measurement, prices).release(np.asarray(column, dtype=np.int64), source)
        signature, step = measurement.measure.signature, measurement.step
        columns.append([NoisyColumn(signature, step, numbers=numbers) for numbers in told])
    return [Noisy(keys, each, private_keys=False) for each in zip(*columns, strict=True)]


def gradual(measurement: Measurement, prices: Sequence[Fraction]) -> GradualRelease:
    """The noise of one measurement at each price of its question: its own at the first, and less as they rise."""
    return GradualRelease([measurement.noise.law.size * prices[0] / price for price in prices])


def check_stability(test: StabilityTest, distance: Exact, *, source: Source) -> None:
    """Raise AnswerWithheld unless the noisy distance is small enough: see `tacit.sql.planning.stability`."""
    (noisy,) = test.noise.release(distance.integers(DISTANCE), source).tolist()
    if noisy > test.most:
        raise test.refusal()


def _with_values(asked: Measure, public: PublicTables) -> Measure:
    """The same with the values of its domain, where those are a public table's."""
    if isinstance(asked, (Mode, Histogram)) and isinstance(asked.values, TableDomain):
        return replace(asked, values=public[asked.values])  # type: ignore[arg-type]  # cells are of a column's types
    return asked


def _decoded(plan: Plan, keys: Sequence[KeyTuple]) -> tuple[KeyTuple, ...]:
    if all(key.step is None for key in plan.keys):  # the engine's values are what a person sees
        return tuple(keys)
    return tuple(tuple(key.decode(value) for key, value in zip(plan.keys, values, strict=True)) for values in keys)


def listed(values: list[object]) -> list[object]:
    """Values as a policy lists them: a double is the decimal it prints as, so 0.1 is one tenth; a NaN is one NaN."""
    if float not in set(map(type, values)):
        return values
    return [_decimal(value) if isinstance(value, float) else value for value in values]


def _decimal(value: float) -> object:
    if not math.isfinite(value):
        return math.nan if math.isnan(value) else value
    exact = Fraction(repr(value))
    return exact.numerator if exact.denominator == 1 else exact


class _Groups:
    """The groups of an answer, in a public order, and where each exact row belongs."""

    def __init__(self, keys: list[KeyTuple], names: Sequence[str]) -> None:
        self.keys, self.names = keys, names
        self._last: tuple[Exact, IntArray] | None = None  # measurements of one statement stand in the same rows

    def indices(self, exact: Exact) -> IntArray:
        """For each exact row the index of its group, −1 for none."""
        if self._last is None or self._last[0] is not exact:
            self._last = exact, self._looked_up(exact)
        return self._last[1]

    def _looked_up(self, exact: Exact) -> IntArray:
        if not self.names:
            return np.zeros(exact.rows, dtype=np.int64)
        index = {key: number for number, key in enumerate(self.keys)}
        columns = [listed(exact.keys(name)) for name in self.names]
        return np.array([index.get(key, -1) for key in zip(*columns, strict=True)], dtype=np.int64)

    def filled(self, exact: Exact, column: str, *, wide: bool) -> IntArray | WideArray:
        """The column over all groups, zero where the data have nothing. `wide`: as Python's own whole numbers."""
        values = exact.wide(column) if wide else exact.integers(column)
        indexes = self.indices(exact)
        known = indexes >= 0
        full: IntArray | WideArray = np.zeros(len(self.keys), dtype=object if wide else np.int64)
        full[indexes[known]] = values[known]
        return full


class _PrivateGroups(_Groups):
    """Groups read off the data: every exact row is one, in the engine's order."""

    def __init__(self, exact: Exact, names: Sequence[str]) -> None:
        super().__init__([], names)
        self.keys = list(zip(*(listed(exact.keys(name)) for name in names), strict=True))
        self._first = exact

    def filled(self, exact: Exact, column: str, *, wide: bool) -> IntArray | WideArray:
        if exact is self._first:
            return exact.wide(column) if wide else exact.integers(column)
        return super().filled(exact, column, wide=wide)


def _groups(plan: Plan, exact: Sequence[Exact], public: PublicTables) -> _Groups:
    names = [f"k{index}" for index in range(len(plan.keys))]
    if plan.selection is not None:
        return _PrivateGroups(exact[plan.measurements[plan.selection.measurement].statement], names)
    groups = _listed_groups(plan.keys, public)
    if plan.groups is not None and len(groups) > plan.groups:  # a unit in all of them is not paid for
        raise more_groups()
    return _Groups(groups, names)


def more_groups() -> EngineError:
    """What is said where a unit could be in more groups than were counted when its contributions were bounded."""
    return EngineError(
        "a public table has more rows than when the question was planned", hint="ask again: it is planned anew"
    )


def listed_groups(keys: Sequence[Key], public: PublicTables) -> int:
    """How many groups are listed."""
    sizes = (
        len(together)
        if len(block) > 1 and (together := public.get(domains_of([keys[index] for index in block]))) is not None
        else math.prod(len(encoded(keys[index], public)) for index in block)
        for block in in_one_row(keys)
    )
    return math.prod(sizes)


def _listed_groups(keys: Sequence[Key], public: PublicTables) -> list[KeyTuple]:
    """Every combination of public values: of those that stand in one row of a public table, the ones that do."""
    blocks = in_one_row(keys)
    order = [index for block in blocks for index in block]
    lists: list[Sequence[Sequence[object]]] = []
    for block in blocks:
        together = public.get(domains_of([keys[index] for index in block])) if len(block) > 1 else None
        separate = itertools.product(*(encoded(keys[index], public) for index in block))
        lists.append(list(separate) if together is None else [tuple(row) for row in together])  # type: ignore[arg-type]
    flat = [tuple(itertools.chain.from_iterable(chosen)) for chosen in itertools.product(*lists)]
    if order == sorted(order):
        return flat
    back = [order.index(index) for index in range(len(order))]
    return [tuple(row[index] for index in back) for row in flat]


def encoded(key: Key, public: PublicTables) -> list[object]:
    """The public values of a key, as the engine will return them."""
    values = public[key.values] if isinstance(key.values, TableDomain) else key.values
    if values is None:
        raise EngineError("a private key has no list of values")
    return _as_returned(values, key.step)


def _as_returned(values: Sequence[object], step: Fraction | None) -> list[object]:
    """Public values as the engine returns them: whole steps, where they have a grid."""
    return list(values) if step is None else [_steps(value, step) for value in values]


def _steps(value: object, step: Fraction) -> int:
    if not isinstance(value, (int, Fraction)):
        raise EngineError("a public value has no place on its grid")
    whole, rest = divmod(value.numerator * step.denominator, value.denominator * step.numerator)
    return int(value / step) if rest else whole


def _in_key_order(keys: Sequence[KeyTuple], kept: IntArray) -> IntArray:
    indexes = kept.tolist()
    columns = list(zip(*(keys[position] for position in indexes), strict=True))
    alike = all(set(map(type, column)) in ({str}, {int}) for column in columns)  # then tuples compare as they are
    order = keys.__getitem__ if alike else lambda position: tuple(rank(value) for value in keys[position])
    return np.array(sorted(indexes, key=order), dtype=np.int64)


def _chosen(
    plan: Plan, measurement: Measurement, exact: Exact, *, keys: Sequence[KeyTuple], source: Source
) -> NoisyColumn:
    """One choice per group, by the exponential mechanism or permute-and-flip."""
    asked = measurement.measure
    tallies = _tallies(plan, exact)
    added, choice = measurement.added, measurement.choice
    if isinstance(asked, Quantile) and choice is not None:
        rows = measurement.in_group
        values = [_quantile(asked, choice, tallies.get(key, []), rows=rows, source=source) for key in keys]
        return NoisyColumn(asked.signature, asked.grid.step, values=np.array(values, dtype=np.float64))
    if isinstance(asked, Histogram) and added is not None:
        wide = measurement.wide
        bars = tuple(_bars(asked, added, tallies.get(key, []), wide=wide, source=source) for key in keys)
        return NoisyColumn(asked.signature, Fraction(1), choices=bars)
    if isinstance(asked, Mode) and choice is not None:
        chosen = tuple(_top(asked, choice, tallies.get(key, []), source=source) for key in keys)
        return NoisyColumn(asked.signature, Fraction(1), choices=chosen)
    raise EngineError("a measurement has no mechanism")


def _tallies(plan: Plan, exact: Exact) -> dict[KeyTuple, list[tuple[object, int]]]:
    names = [f"k{index}" for index in range(len(plan.keys))]
    columns = [listed(exact.keys(name)) for name in names]
    cells, counts = listed(exact.keys("x")), exact.integers("c").tolist()
    tallies: dict[KeyTuple, list[tuple[object, int]]] = {}
    rows = zip(*columns, strict=True) if columns else itertools.repeat((), len(cells))
    for key, cell, count in zip(rows, cells, counts, strict=True):
        tallies.setdefault(tuple(key), []).append((cell, count))
    return tallies


def _quantile(
    asked: Quantile, choice: NoisyChoice, tally: Sequence[tuple[object, int]], *, rows: int, source: Source
) -> float:
    bins = asked.bins
    counts = np.zeros(asked.cells, dtype=np.int64)
    for cell, count in tally:
        counts[int(str(cell)) - asked.grid.low if bins is None else bins.place(int(str(cell)))] += count
    chosen = choice.release(quantile_scores(counts, asked, choice, rows=rows), source)
    units = asked.grid.low + chosen if bins is None else bins.middle(chosen)
    return float(units * asked.grid.step)


def _bars(
    asked: Histogram, noise: AddedNoise, tally: Sequence[tuple[object, int]], *, wide: bool, source: Source
) -> tuple[tuple[object, ...], ...]:
    """Every value of the domain with its noisy count, empty ones too."""
    counted, values = dict(tally), _values(asked)
    cells = _as_returned(values, asked.step)
    exact = [counted.get(cell, 0) for cell in cells]
    counts = noise.release(np.array(exact, dtype=object if wide else np.int64), source)
    return tuple(zip(values, counts.tolist(), strict=True))


def _values(asked: Mode | Histogram) -> tuple[object, ...]:
    if isinstance(asked.values, TableDomain):
        raise EngineError("a domain has no list of values")
    return asked.values


def _top(
    asked: Mode, choice: NoisyChoice, tally: Sequence[tuple[object, int]], *, source: Source
) -> tuple[object, ...]:
    """The most frequent values, one after another, each chosen privately from those that remain."""
    counted = dict(tally)
    remaining = list(_values(asked))
    chosen: list[object] = []
    for _ in range(min(asked.count, len(remaining))):
        cells = _as_returned(remaining, asked.step)
        scores = np.array([counted.get(cell, 0) for cell in cells], dtype=np.int64)
        chosen.append(remaining.pop(choice.release(scores, source)))
    return tuple(chosen)
