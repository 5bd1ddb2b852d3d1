"""Answers used again: the same question, or one that follows from answers already given, costs nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.core import decimal_text, sqrt_above
from tacit.curator.noisy import Noisy, NoisyColumn
from tacit.ledger import Keep, KeptAnswer, Ledger, Shelf
from tacit.mechanisms import Gaussian, Laplace
from tacit.sql import Additive, Counted, Measurement, Plan


@dataclass(frozen=True, slots=True)
class Found:
    """A kept answer that serves a new plan: the noised columns, the noise they really have, and how they were got."""

    noisy: Noisy
    plan: Plan
    how: str
    entry: str


def keep(plan: Plan, *, data_version: str, audience: str | None) -> Keep:
    """Under which keys the answer to `plan` goes on the shelf."""
    facts = {
        "keys": _key_texts(plan),
        "columns": [
            {
                "signature": m.measure.signature,
                "noise": type(m.noise).__name__,
                "scale": decimal_text(_scale(m)),
                "delta": decimal_text(m.noise.delta) if isinstance(m.noise, Gaussian) else "0",
                "step": decimal_text(m.step),
            }
            for m in plan.measurements
        ],
    }
    return Keep(key=plan.key, family=plan.family, data_version=data_version, audience=audience, facts=json.dumps(facts))


def find(plan: Plan, ledger: Ledger, shelf: Shelf) -> Found | None:
    """The best kept answer that serves `plan` at least as well as a fresh one would."""
    for kept in ledger.kept(shelf, key=plan.key):
        found = _same(plan, kept, ledger)
        if found is not None:
            return found
    for kept in ledger.kept(shelf, family=plan.family):
        found = _derived(plan, kept, ledger)
        if found is not None:
            return found
    return None


def _scale(measurement: Measurement) -> Fraction:
    noise = measurement.noise
    if isinstance(noise, Laplace):
        return noise.scale
    return noise.sigma if isinstance(noise, Gaussian) else noise.rate


def _same(plan: Plan, kept: KeptAnswer, ledger: Ledger) -> Found | None:
    """The same measurements, none of them noisier than asked."""
    columns = json.loads(kept.keep.facts)["columns"]
    swapped = [_swapped(m, c) for m, c in zip(plan.measurements, columns, strict=True)]
    measurements = [m for m in swapped if m is not None]
    if len(measurements) != len(columns):
        return None
    noisy = Noisy.from_bytes(ledger.answer(kept))
    return Found(noisy, replace(plan, measurements=tuple(measurements), loss=kept.loss), "the same question", kept.hash)


def _swapped(measurement: Measurement, column: dict[str, str]) -> Measurement | None:
    """The measurement with the noise the kept answer has; None if that is more than was asked for."""
    scale = Fraction(column["scale"])
    if column["noise"] == "Laplace":
        noise: Laplace | Gaussian = Laplace(scale)
    elif column["noise"] == "Gaussian":
        noise = Gaussian(scale, Fraction(column["delta"]))
    else:  # a choice: a higher rate is a sharper one
        same = column["noise"] == type(measurement.noise).__name__ and scale >= _scale(measurement)
        return measurement if same else None
    if not isinstance(measurement.noise, (Laplace, Gaussian)):
        return None
    wanted, has = measurement.noise.error(Fraction(95, 100)), noise.error(Fraction(95, 100))
    return replace(measurement, noise=noise) if has <= wanted else None


def _derived(plan: Plan, kept: KeptAnswer, ledger: Ledger) -> Found | None:
    """Some of its columns, or a roll-up: sums over finer public keys."""
    facts = json.loads(kept.keep.facts)
    columns = {column["signature"]: (place, column) for place, column in enumerate(facts["columns"])}
    finer = set(facts["keys"]) - set(_key_texts(plan))
    if not _follows(plan, facts["keys"], columns) or (finer and not _adds_up(plan)):
        return None
    noisy = Noisy.from_bytes(ledger.answer(kept))
    if finer and noisy.private_keys:
        return None
    groups = _regrouped(noisy, [facts["keys"].index(text) for text in _key_texts(plan)])
    width = max((len(places) for places in groups.values()), default=1)
    measurements: list[Measurement] = []
    made: list[NoisyColumn] = []
    for measurement in plan.measurements:
        place, column = columns[measurement.measure.signature]
        wider = _swapped(measurement, column) if width == 1 else _summed_noise(measurement, column, width)
        if wider is None:
            return None
        measurements.append(wider)
        made.append(_summed(noisy.columns[place], list(groups.values())))
    how = "some columns of an earlier answer"
    notes = plan.notes
    if finer:
        how = "rolled up from a finer answer"
        notes = (*notes, f"rows outside the public domain of {', '.join(sorted(finer))} are not in it")
    derived = Noisy(tuple(groups), tuple(made), noisy.private_keys)
    return Found(derived, replace(plan, measurements=tuple(measurements), notes=notes, loss=kept.loss), how, kept.hash)


def _regrouped(noisy: Noisy, places: list[int]) -> dict[tuple[object, ...], list[int]]:
    groups: dict[tuple[object, ...], list[int]] = {}
    for row, key in enumerate(noisy.keys):
        groups.setdefault(tuple(key[place] for place in places), []).append(row)
    return groups


def _summed(column: NoisyColumn, groups: list[list[int]]) -> NoisyColumn:
    if column.numbers is None:  # a choice is never summed: each group is one row
        return column
    sums = [sum(column.numbers[rows].tolist()) for rows in groups]
    return replace(column, numbers=np.array(sums, dtype=np.int64))


def _follows(plan: Plan, keys: list[str], columns: dict[str, tuple[int, dict[str, str]]]) -> bool:
    """Whether every measurement was taken, over groups that make up the groups asked for."""
    return set(_key_texts(plan)) <= set(keys) and all(m.measure.signature in columns for m in plan.measurements)


def _adds_up(plan: Plan) -> bool:
    """Whether sums over finer groups are the sums asked for: not where a unit is in several, nor for quantiles."""
    sums = {Counted.ROWS, Counted.VALUES}
    additive = all(isinstance(m.measure, Additive) and m.measure.counted in sums for m in plan.measurements)
    listed = all(isinstance(key.values, tuple) for key in plan.keys)
    return additive and listed and plan.selection is None and plan.unit.is_row


def _summed_noise(measurement: Measurement, column: dict[str, str], width: int) -> Measurement | None:
    """The noise of `width` summed values, stated by a law at least as wide; None if it is more than was asked for."""
    if column["noise"] not in {"Laplace", "Gaussian"}:
        return None
    scale = Fraction(column["scale"])
    if column["noise"] == "Gaussian":
        noise: Laplace | Gaussian = Gaussian(scale * sqrt_above(Fraction(width)), Fraction(column["delta"]))
    else:
        noise = Laplace(scale * width)
    if not isinstance(measurement.noise, (Laplace, Gaussian)):
        return None
    confidence = Fraction(95, 100)
    if noise.error(confidence) * Fraction(column["step"]) > measurement.noise.error(confidence) * measurement.step:
        return None
    return replace(measurement, noise=noise, step=Fraction(column["step"]))


def _key_texts(plan: Plan) -> list[str]:
    return [key.sql.sql(dialect="duckdb") for key in plan.keys]
