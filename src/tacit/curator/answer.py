"""Noisy columns into rows: arithmetic, HAVING, ORDER BY, LIMIT, and an error bar for every number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tacit.curator.forms.shape import ColumnShape
from tacit.curator.measuring.bias import taken_by_bounds
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.curator.measuring.ordering import ranks
from tacit.mechanisms import strategy
from tacit.mechanisms.sums import sum_reach
from tacit.sql import Additive, Counted, Measurement, Plan
from tacit.sql.binding import dated, post
from tacit.sql.binding.bind import Output
from tacit.sql.planning.errors_expected import half_width, shared_confidence

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
    count = len(noisy.keys)
    bands = bands_of(plan, noisy, 1)
    keep = np.ones(count, dtype=bool)
    if plan.having is not None:
        keep = np.broadcast_to(plan.having.holds(bands), (count,)).copy()
    indices = np.flatnonzero(keep)
    for item in reversed(plan.order):
        indices = in_order(indices, _sort_values(item.output, plan, noisy, bands), descending=item.descending)
    end = None if plan.limit is None else plan.offset + plan.limit
    indices = indices[plan.offset : end]
    columns = [_column(out, plan, noisy) for out in plan.outputs]
    rows = tuple(tuple(column[0][index] for column in columns) for index in indices.tolist())
    errors = tuple(tuple(column[1][index] for column in columns) for index in indices.tolist())
    return AnswerTable(tuple(out.name for out in plan.outputs), rows, errors, keys_among(plan.outputs))


def possible(plan: Plan, noisy: Noisy) -> Noisy:
    """The noisy groups without those that WHERE rules out, whatever the rows are."""
    return noisy.without([key.impossible for key in plan.keys])


def keys_among(outputs: Sequence[Output]) -> tuple[int, ...]:
    """The indices of those that are keys."""
    return tuple(index for index, out in enumerate(outputs) if out.key is not None)


def bands_of(plan: Plan, noisy: Noisy, refs: int) -> list[post.Band]:
    """The noisy columns with their intervals; `refs` of them share the stated confidence."""
    bands: list[post.Band] = []
    width: float | NDArray[np.float64]
    confidence = shared_confidence(plan.confidence, refs * (2 if plan.bias else 1))
    one_sided = {excess.measurement: excess.one_sided for excess in plan.bias}
    for measurement, column in zip(plan.measurements, noisy.columns, strict=True):
        if column.numbers is not None:
            step = column.step
            value = column.numbers.astype(np.float64) * step.numerator / step.denominator
            width = _half_width(measurement, column, confidence)
        else:
            value = column.values if column.values is not None else np.zeros(len(noisy.keys))
            width = _estimate_width(measurement, column, confidence)
        band = post.around(value, width)
        if column.cut is not None:
            below, above = taken_by_bounds(column.cut, confidence, one_sided=one_sided[len(bands)])
            band = post.Band(band.value, band.low + below, band.high + above)
        bands.append(band)
    return bands


def _half_width(measurement: Measurement, column: NoisyColumn, confidence: Fraction) -> float:
    """The error of one value; where it is a sum of noisy ones, that of the sum."""
    if column.cells == 1 or measurement.added is None:
        return half_width(measurement, confidence)
    return float(sum_reach(measurement.added, count=column.cells, confidence=confidence) * measurement.step)


def _estimate_width(measurement: Measurement, column: NoisyColumn, confidence: Fraction) -> float | NDArray[np.float64]:
    """The error of each estimate; of a choice none is known."""
    if column.variances is None or measurement.added is None:
        return np.inf
    return estimate_width(column.variances, measurement, column.lattice, confidence=confidence)


def estimate_width(
    variances: NDArray[np.float64], measurement: Measurement, lattice: Fraction | None, *, confidence: Fraction
) -> NDArray[np.float64]:
    """How far estimates with these variances may stray; by the very law of their noise where they are sums of draws."""
    noise = measurement.added
    if noise is None:
        raise TypeError("an estimate has the noise of numbers")
    if lattice is not None:
        return strategy.drawn_half_width(variances, noise=noise, confidence=confidence, step=float(lattice))
    return strategy.half_width(variances, noise=noise, confidence=confidence, step=float(measurement.step))


def _column(out: Output, plan: Plan, noisy: Noisy) -> tuple[Sequence[Cell], Sequence[float | None]]:
    count = len(noisy.keys)
    if out.key is not None or out.value is None:
        return [key[out.key or 0] for key in noisy.keys], [None] * count
    refs = post.refs(out.value)
    chosen = noisy.columns[out.value.measure].choices if isinstance(out.value, post.Ref) else None
    if chosen is not None:
        return [_picked(row) for row in chosen], [None] * count
    band = post.evaluate(out.value, bands_of(plan, noisy, len(refs)))
    value = np.broadcast_to(band.value, (count,))
    error = np.broadcast_to(band.error, (count,))
    shown: Sequence[Cell] = _whole(value) if _is_count(out.value, plan) else _cells(value)
    if isinstance(out.value, post.Moment):
        shown = [dated.shown(units, out.value.kind) for units in value.tolist()]
    has_noise = np.broadcast_to(_has_noise(refs, noisy), (count,))
    return shown, [float(w) if np.isfinite(w) and some else None for w, some in zip(error, has_noise, strict=True)]


def _has_noise(refs: frozenset[int], noisy: Noisy) -> NDArray[np.bool_]:
    """Where a value has noise in it: an estimate that nothing contributes to is exactly zero."""
    noisy_rows = np.zeros(1, dtype=bool)
    for ref in refs:
        variances = noisy.columns[ref].variances
        noisy_rows = noisy_rows | (np.ones(1, dtype=bool) if variances is None else variances > 0)
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
    return [int(number) for number in np.rint(value)]


def _sort_values(out: Output, plan: Plan, noisy: Noisy, bands: Sequence[post.Band]) -> Sequence[object]:
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
