"""Noisy columns into rows: arithmetic, HAVING, ORDER BY, LIMIT, and an error bar for every number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tacit.curator.forms.shape import ColumnShape
from tacit.curator.measuring.bias import taken_by_bounds
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.curator.measuring.ordering import ranks
from tacit.mechanisms.strategy import EstimateSpread
from tacit.mechanisms.sums import sum_reach
from tacit.sql import Additive, Counted, Measurement, Plan
from tacit.sql.binding import dated, post
from tacit.sql.binding.bind import Output
from tacit.sql.expressions.dates.date_bins import agreement
from tacit.sql.planning.errors_expected import MeasuredColumns, half_width
from tacit.sql.planning.output_laws import ColumnNoise, shared_confidence, single_term

Cell = object


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Rows and, of the same shape, the half-width of each number; None where a value is exact."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    errors: tuple[tuple[float | None, ...], ...]
    keys: tuple[int, ...]  # the indices of the columns that are keys
    shapes: tuple[ColumnShape, ...] = ()  # of columns that are computed from answers: what each holds


def answer(plan: Plan, noisy: Noisy) -> AnswerTable:
    """The rows an analyst sees: of public keys, those that WHERE leaves."""
    noisy = possible(plan, noisy)
    measured = measured_columns(plan, noisy)
    end = None if plan.limit is None else plan.offset + plan.limit
    indices = _in_their_order(plan, noisy, measured)[plan.offset : end]
    columns = [_column(out, plan, noisy, measured=measured) for out in plan.outputs]
    rows = tuple(tuple(column[0][index] for column in columns) for index in indices.tolist())
    errors = tuple(tuple(column[1][index] for column in columns) for index in indices.tolist())
    names, keys = plan.once("names", lambda: (tuple(out.name for out in plan.outputs), keys_among(plan.outputs)))
    return AnswerTable(names, rows, errors, keys)


def _in_their_order(plan: Plan, noisy: Noisy, measured: MeasuredColumns) -> NDArray[np.int64]:
    """The indices of the groups that HAVING keeps, as ORDER BY has them."""
    count = len(noisy.keys)
    bands = measured.bands(plan.confidence)
    indices = np.arange(count)
    if plan.having is not None:
        indices = np.flatnonzero(np.broadcast_to(plan.having.holds(bands), (count,)))
    for item in reversed(plan.order):
        indices = in_order(indices, _sort_values(item.output, noisy, bands), descending=item.descending)
    return indices


def cut_notes(plan: Plan, noisy: Noisy) -> tuple[str, ...]:
    """How sure it is that the rows before LIMIT are the first: by the released numbers on both sides of the cut."""
    out = plan.order[0].output if plan.order else None
    if plan.limit is None or out is None or out.value is None or not post.refs(out.value):
        return ()
    noisy = possible(plan, noisy)
    measured = measured_columns(plan, noisy)
    end = plan.offset + plan.limit
    indices = _in_their_order(plan, noisy, measured)
    cells, widths = _column(out, plan, noisy, measured=measured)
    if not 0 < end < len(indices):
        return ()
    last, following = int(indices[end - 1]), int(indices[end])
    numbers = [value for value in (cells[last], cells[following]) if isinstance(value, (int, float))]
    reach = sum(widths[index] or 0 for index in (last, following))
    if len(numbers) < 2 or not reach:
        return ()
    first = f"the first {end:,}"
    if abs(numbers[0] - numbers[1]) < reach:
        return (f"which rows are {first} is not sure: the last of them and the next differ by less than their ±",)
    return (f"the last of {first} rows and the next are farther apart than their ±",)


def possible(plan: Plan, noisy: Noisy) -> Noisy:
    """The noisy groups without those that WHERE or the calendar rules out, whatever the rows are."""
    shown = noisy.without([key.impossible for key in plan.keys])
    if any(key.excluded for key in plan.keys):
        shown = shown.where(
            lambda group: (
                not any(key.excluded and key.excluded(value) for key, value in zip(plan.keys, group, strict=True))
            )
        )
    agree = agreement([key.bin_of for key in plan.keys])
    return shown if agree is None else shown.where(agree)


def keys_among(outputs: Sequence[Output]) -> tuple[int, ...]:
    """The indices of the columns that are keys."""
    return tuple(index for index, out in enumerate(outputs) if out.key is not None)


def shown_values(noisy: Noisy) -> list[NDArray[np.float64]]:
    """The noisy columns as numbers; zero where a value is no number."""
    values = []
    for column in noisy.columns:
        if column.numbers is not None:
            values.append(column.numbers.astype(np.float64) * column.step.numerator / column.step.denominator)
        else:
            values.append(column.values if column.values is not None else np.zeros(len(noisy.keys)))
    return values


def measured_columns(plan: Plan, noisy: Noisy) -> MeasuredColumns:
    """The noisy columns, for outputs made of them; with the bias of each measured, it has half of what may fail."""
    known: dict[Fraction, _Bands] = {}  # outputs of as many measurements share them
    values = shown_values(noisy)

    def bands(confidence: Fraction) -> _Bands:
        if confidence not in known:
            held = shared_confidence(confidence, 2) if plan.bias else confidence
            known[confidence] = _Bands(partial(_band, plan, noisy, values=values, confidence=held))
        return known[confidence]

    plain = tuple(column.cells == 1 and column.numbers is not None for column in noisy.columns)
    return MeasuredColumns(bands, plan.once(("noise", plain), lambda: _column_noise(plan, plain)))


def _column_noise(plan: Plan, plain: Sequence[bool]) -> ColumnNoise:
    """The noise in each column that one draw is in: not in that which keys are shown for, and not beside a bias."""
    testing = None if plan.selection is None else plan.selection.measurement
    terms = (
        single_term(measurement) if alone and not plan.bias and index != testing else None
        for index, (measurement, alone) in enumerate(zip(plan.measurements, plain, strict=True))
    )
    return ColumnNoise(tuple(terms), plan.confidence)


class _Bands(dict[int, post.Band]):
    """The intervals of measurements, by their indices, each worked out when it is asked for."""

    def __init__(self, work: Callable[[int], post.Band]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, index: int) -> post.Band:
        band = self[index] = self._work(index)
        return band


def _band(
    plan: Plan, noisy: Noisy, index: int, *, values: Sequence[NDArray[np.float64]], confidence: Fraction
) -> post.Band:
    """A noisy column with the intervals that it holds with this confidence."""
    column = noisy.columns[index]
    band = post.around(values[index], _width(plan, index, column, confidence))
    if plan.selection is not None and index == plan.selection.measurement:
        reach = partial(_excess_reach, plan.measurements[index], confidence)
        band = _given_shown(band, column, plan.selection.threshold, plan.once(("excess", confidence), reach))
    if column.cut is not None:
        one_sided = {excess.measurement: excess.one_sided for excess in plan.bias}
        below, above = taken_by_bounds(column.cut, confidence, one_sided=one_sided[index])
        band = post.Band(band.value, band.low + below, band.high + above)
    return band


def _given_shown(band: post.Band, column: NoisyColumn, threshold: int, reach: int) -> post.Band:
    """The interval of the very number that a key is shown for, given that it is shown.

    Of a key with fewer units than the threshold only a number that noise has raised is ever seen. How far above the
    threshold that lies says nothing of how far below it the truth is (exactly nothing, with Laplace noise): so it may
    be anything down to none, unless the number lies further above than noise goes (`_excess_reach`). A key whose truth
    reaches the threshold is shown at least every other time, which is why its interval holds as it is: of what noise
    above zero may do, half as much goes wrong.
    """
    if column.numbers is None:
        return band
    near = (column.numbers < threshold + reach).astype(bool)
    return post.Band(band.value, np.where(near, np.minimum(band.low, 0.0), band.low), band.high)


def _excess_reach(measurement: Measurement, confidence: Fraction) -> int:
    """A g that noise which has come to some m ≥ 1 comes to m + g as well with no more chance than 1 − confidence.

    Both laws are log-concave, so that chance is largest at m = 1: P(noise > g) / P(noise > 0).
    """
    noise = measurement.added
    if noise is None or noise.law.moments is None:
        return 1 << 62  # nothing is known: however far above, it may be noise
    ever = 1 - Fraction(float(noise.law.moments.cells(1, 64)[64]))
    return noise.error(1 - (1 - confidence) * max(ever, Fraction(1, 10**12))) + 1


def _width(plan: Plan, index: int, column: NoisyColumn, confidence: Fraction) -> float | NDArray[np.float64]:
    """The error of each value; where it is a sum of noisy ones, that of the sum; of a choice none is known."""
    measurement, cells = plan.measurements[index], column.cells
    if column.numbers is None:
        known = column.estimates is not None and measurement.added is not None
        return estimate_width(measurement, column.estimates, confidence) if known and column.estimates else np.inf
    return plan.once(("width", index, cells, confidence), lambda: _half_width(measurement, cells, confidence))


def _half_width(measurement: Measurement, cells: int, confidence: Fraction) -> float:
    """The error of one value; where it is a sum of so many noisy ones, that of the sum."""
    if cells == 1 or measurement.added is None:
        return half_width(measurement, confidence)
    return float(sum_reach(measurement.added, count=cells, confidence=confidence) * measurement.step)


def estimate_width(measurement: Measurement, spread: EstimateSpread, confidence: Fraction) -> NDArray[np.float64]:
    """How far estimates may stray; by the very law of their noise where that is known."""
    if measurement.added is None:
        raise TypeError("an estimate has the noise of numbers")
    return spread.half_widths(measurement.added, confidence, step=float(measurement.step))


def _column(
    out: Output, plan: Plan, noisy: Noisy, *, measured: MeasuredColumns
) -> tuple[Sequence[Cell], Sequence[float | None]]:
    count = len(noisy.keys)
    if out.key is not None or out.value is None:
        return [key[out.key or 0] for key in noisy.keys], [None] * count
    refs = post.refs(out.value)
    chosen = noisy.columns[out.value.measure].choices if isinstance(out.value, post.Ref) else None
    if chosen is not None:
        return [_picked(row) for row in chosen], [None] * count
    band = measured.band(out.value)
    value, error = _in_rows(band.value, count), _in_rows(band.error, count)
    shown: Sequence[Cell] = _whole(value) if _is_count(out.value, plan) else _cells(value)
    if isinstance(out.value, post.Moment):
        shown = [dated.shown(units, out.value.kind) for units in value.tolist()]
    known = np.isfinite(error) & _has_noise(refs, noisy)
    return shown, [width if some else None for width, some in zip(error.tolist(), known.tolist(), strict=True)]


def _in_rows(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """One value for each group; a constant is the same in all of them."""
    return values if values.shape == (count,) else np.broadcast_to(values, (count,))


def _has_noise(refs: frozenset[int], noisy: Noisy) -> NDArray[np.bool_] | bool:
    """Where a value has noise in it: an estimate that nothing contributes to is exactly zero."""
    noisy_rows: NDArray[np.bool_] | bool = False
    for ref in refs:
        spread = noisy.columns[ref].estimates
        if spread is None:
            return True
        noisy_rows = noisy_rows | (spread.variances > 0)
    return noisy_rows


def _picked(row: tuple[object, ...]) -> Cell:
    """One value, several in order, or a histogram as a mapping from value to count."""
    if row and all(isinstance(item, tuple) for item in row):
        return dict(cast("tuple[tuple[object, object], ...]", row))
    return row[0] if len(row) == 1 else list(row)


def _is_count(value: post.Post, plan: Plan) -> bool:
    if not isinstance(value, post.Ref):
        return False
    measure = plan.measurements[value.measure].measure
    return isinstance(measure, Additive) and measure.counted is not Counted.VALUES


def _cells(value: NDArray[np.float64]) -> list[object]:
    """Numbers as cells: NaN, which divides by nothing, is NULL."""
    return [None if math.isnan(number) else number for number in value.tolist()]


def _whole(value: NDArray[np.float64]) -> list[int]:
    return [int(number) for number in np.rint(value).tolist()]


def _sort_values(out: Output, noisy: Noisy, bands: post.Bands) -> Sequence[object]:
    if out.key is not None or out.value is None:
        return [key[out.key or 0] for key in noisy.keys]
    if isinstance(out.value, post.Ref) and noisy.columns[out.value.measure].choices is not None:
        return [str(row) for row in noisy.columns[out.value.measure].choices or ()]
    return _cells(np.broadcast_to(post.evaluate(out.value, bands).value, (len(noisy.keys),)))


def in_order(indices: NDArray[np.int64], values: Sequence[object], *, descending: bool) -> NDArray[np.int64]:
    """The indices of rows in the order of their values: a stable sort, NULL last."""
    present = [index for index in indices.tolist() if values[index] is not None]
    absent = [index for index in indices.tolist() if values[index] is None]
    order = ranks(values)
    present.sort(key=lambda index: order[index], reverse=descending)
    return np.array([*present, *absent], dtype=np.int64)
