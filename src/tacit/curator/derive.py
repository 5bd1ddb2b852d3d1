"""New answers from kept ones: some of their columns, some of their public keys, sums over finer keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacit.curator.noisy import KeyTuple, Noisy, NoisyColumn, noisy_numbers
from tacit.ledger import KeptAnswer, Ledger
from tacit.mechanisms import Gaussian, Laplace
from tacit.mechanisms.sums import sum_reach
from tacit.sql import Additive, Counted, Measurement, Plan, post
from tacit.sql.errors_expected import shared_confidence
from tacit.sql.plan import Selection
from tacit.sql.restriction import Picked
from tacit.sql.rules import Spread

Picks = tuple[tuple[str, Picked], ...]
Groups = dict[KeyTuple, list[int]]  # a group asked for, and the rows of the kept answer that make it up


@dataclass(frozen=True, slots=True)
class Found:
    """A kept answer that serves a new plan: the noised columns, the noise they really have, and how they were got."""

    noisy: Noisy
    plan: Plan
    how: str
    entry: str
    at: float  # when it was given


def derived(plan: Plan, kept: KeptAnswer, ledger: Ledger, *, picks: Picks = ()) -> Found | None:
    """The answer to `plan` from a kept one over more keys, of which `picks` says the values that count."""
    facts = json.loads(kept.keep.facts)
    texts: list[str] = facts["keys"]
    columns = {column["signature"]: (place, column) for place, column in enumerate(facts["columns"])}
    asked = key_texts(plan)
    picked = {name for name, _ in picks}
    finer = set(texts) - set(asked)
    measured = all(m.measure.signature in columns for m in plan.measurements)
    if not measured or not {*asked, *picked} <= set(texts):
        return None
    if (finer or picks) and not _same_quantity(plan, finer=bool(finer), picks=bool(picks)):
        return None
    noisy = Noisy.from_bytes(ledger.answer(kept))
    if (finer or picks) and noisy.private_keys:
        return None
    groups = _groups(noisy, texts, asked=asked, picks=picks)
    if groups is None:
        return None
    cells = max((len(rows) for rows in groups.values()), default=1)
    measurements: list[Measurement] = []
    made: list[NoisyColumn] = []
    for measurement in plan.measurements:
        place, column = columns[measurement.measure.signature]
        served = swapped(measurement, column) if cells == 1 else _summed_noise(plan, measurement, column, cells)
        if served is None:
            return None
        measurements.append(served)
        made.append(_summed(noisy.columns[place], list(groups.values()), cells))
    how, notes = _said(plan, unpicked=finer - picked, picked=picked, cells=cells)
    serving = replace(
        plan,
        measurements=tuple(measurements),
        notes=(*plan.notes, *notes),
        loss=kept.loss,
        selection=kept_selection(plan, facts),
    )
    return Found(Noisy(tuple(groups), tuple(made), noisy.private_keys), serving, how, kept.hash, kept.at)


def _same_quantity(plan: Plan, *, finer: bool, picks: bool) -> bool:
    """Whether sums over the cells of a kept answer are the numbers asked for.

    Where a unit's groups were sampled or weighed, what it counts for in one of them depends on the others, which the
    new question may not have; and where it is in several, their sum is not what a cap over all of them would leave.
    A median is no sum, and a choice from nothing is a choice: neither is picked or added up. Nor is an average picked.
    """
    sums = {Counted.ROWS, Counted.VALUES} if finer else {Counted.ROWS, Counted.VALUES, Counted.UNITS}
    additive = all(isinstance(m.measure, Additive) and m.measure.counted in sums for m in plan.measurements)
    listed = all(isinstance(key.values, tuple) for key in plan.keys)
    linear = not picks or all(out.value is None or post.is_linear(out.value) for out in plan.outputs)
    once = plan.unit.is_row and plan.caps.max_rows == 1 and plan.caps.max_groups == 1
    alone = plan.caps.spread is Spread.NONE and (once or not finer)
    return additive and listed and linear and alone and plan.selection is None


def _groups(noisy: Noisy, texts: list[str], *, asked: list[str], picks: Picks) -> Groups | None:
    """The rows behind each group. A group that WHERE leaves out has none; a value outside the keys refuses all."""
    allowed: dict[int, set[tuple[type, object]]] = {}
    for name, values in picks:
        place = texts.index(name)
        allowed[place] = {(type(value), value) for value in values}
        known = {(type(key[place]), key[place]) for key in noisy.keys}
        if not values or not allowed[place] <= known:
            return None
    places = [texts.index(text) for text in asked]
    groups: Groups = {}
    for row, key in enumerate(noisy.keys):
        within = all((type(key[place]), key[place]) in values for place, values in allowed.items())
        rows = groups.setdefault(tuple(key[place] for place in places), [])
        rows.extend([row] if within else [])
    return groups


def _summed(column: NoisyColumn, groups: list[list[int]], cells: int) -> NoisyColumn:
    if column.numbers is None:  # a choice is never summed: each group is one row
        return column
    sums = [sum(column.numbers[rows].tolist()) for rows in groups]
    return replace(column, numbers=noisy_numbers(sums), cells=cells)


def swapped(measurement: Measurement, column: dict[str, str]) -> Measurement | None:
    """The measurement with the noise the kept answer has; None if that is more than was asked for."""
    noise = _noise(column)
    if noise is None:  # a choice: a higher rate is a sharper one
        asked = measurement.noise
        sharper = not isinstance(asked, (Laplace, Gaussian)) and Fraction(column["scale"]) >= asked.rate
        return measurement if sharper and column["noise"] == type(asked).__name__ else None
    if not isinstance(measurement.noise, (Laplace, Gaussian)):
        return None
    wanted, has = measurement.noise.error(Fraction(95, 100)), noise.error(Fraction(95, 100))
    return replace(measurement, noise=noise) if has <= wanted else None


def _noise(column: dict[str, str]) -> Laplace | Gaussian | None:
    if column["noise"] == "Laplace":
        return Laplace(Fraction(column["scale"]))
    return Gaussian(Fraction(column["scale"]), Fraction(column["delta"])) if column["noise"] == "Gaussian" else None


def _summed_noise(plan: Plan, measurement: Measurement, column: dict[str, str], cells: int) -> Measurement | None:
    """The measurement with the noise of each summed cell; None if their sum's is more than was asked for.

    The two laws differ in shape, so they are compared at every confidence that an error bar of this plan may need.
    """
    noise, step = _noise(column), Fraction(column["step"])
    if noise is None or not isinstance(measurement.noise, (Laplace, Gaussian)):
        return None
    for refs in range(1, len(plan.measurements) + 1):
        confidence = shared_confidence(plan.confidence, refs)
        has = sum_reach(noise, count=cells, confidence=confidence) * step
        if has > measurement.noise.error(confidence) * measurement.step:
            return None
    return replace(measurement, noise=noise, step=step)


def _said(plan: Plan, *, unpicked: set[str], picked: set[str], cells: int) -> tuple[str, list[str]]:
    """How the answer was got, and what it is not."""
    notes = []
    if unpicked:
        notes.append(f"rows outside the public domain of {', '.join(sorted(unpicked))} are not in it")
    if picked & set(key_texts(plan)):
        notes.append("groups that WHERE leaves out are 0")
    if cells > 1:
        notes.append(f"each number adds up {cells} noised ones")
    if unpicked:
        return "rolled up from a finer answer", notes
    return ("picked from an earlier answer" if picked else "some columns of an earlier answer"), notes


def kept_selection(plan: Plan, facts: Mapping[str, Any]) -> Selection | None:
    """By which threshold the keys of a kept answer were chosen: its own, which more epsilon has made a lower one."""
    if plan.selection is None or facts.get("threshold") is None:
        return plan.selection
    return replace(plan.selection, threshold=int(facts["threshold"]), delta=Fraction(facts["delta"]))


def key_texts(plan: Plan) -> list[str]:
    """The keys as kept answers name them."""
    return [key.signature for key in plan.keys]
