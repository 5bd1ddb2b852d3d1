"""New answers from kept ones: some of their columns, some of their public keys, sums over finer keys."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.curator.answer import estimate_width
from tacit.curator.jobs.members import Member, Served, as_estimate
from tacit.curator.measuring.noisy import KeyTuple, Noisy, NoisyColumn, noisy_numbers
from tacit.ledger import KeptAnswer, Ledger
from tacit.mechanisms.kept import kept_noise
from tacit.mechanisms.protocol import AddedNoise
from tacit.mechanisms.strategy import EstimateSpread
from tacit.mechanisms.sums import sum_reach
from tacit.sql import Additive, Counted, Measurement, Plan
from tacit.sql.binding import post
from tacit.sql.planning.output_laws import shared_confidence
from tacit.sql.planning.picking import Pick
from tacit.sql.planning.plan import Selection
from tacit.sql.rules import Spread

COLUMNS = "some columns of an earlier answer"
_SAME = 1 + 1e-9  # what the arithmetic of estimates may differ by
_READ = 8  # kept answers that are not read anew for the next question of a batch

Picks = Sequence[Pick]
Groups = dict[KeyTuple, list[int]]  # a group asked for, and the rows of the kept answer that make it up


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """A kept answer that serves a new question, with the noise it really has, and how it was got."""

    member: Member
    how: str
    entry: str
    at: float  # when it was given


class AnswerReader:
    """The kept answers of a ledger, the last few as they were read; `rows` counts all that were looked through.

    `given` remembers, of a job that is asked again and again, what served it: an entry's hash names all that it holds.
    """

    def __init__(self, ledger: Ledger, given: dict[object, object] | None = None) -> None:
        self.ledger, self.rows = ledger, 0
        self.given = {} if given is None else given
        self._read: dict[tuple[int, int], Noisy] = {}

    def noisy(self, kept: KeptAnswer) -> Noisy:
        """The noisy numbers of one member."""
        name = kept.seq, kept.member
        if name not in self._read:
            self._read = dict([*self._read.items()][-_READ:])
            self._read[name] = Noisy.from_bytes(self.ledger.answer(kept))
        self.rows += len(self._read[name].keys)
        return self._read[name]


def derived(question: Served, kept: KeptAnswer, answers: AnswerReader, *, picks: Picks = ()) -> ServedAnswer | None:
    """The answer to a question from a kept one over more keys, of which `picks` says the values that count."""
    plan = question.asked
    facts = json.loads(kept.keep.facts)
    texts: list[str] = facts["keys"]
    columns = {column["signature"]: (position, column) for position, column in enumerate(facts["columns"])}
    asked = key_texts(plan)
    chosen = {text: pick for pick in picks for text, column in _columns(facts) if column == pick.column}
    picked = set(chosen)
    finer = set(texts) - set(asked)
    measured = all(m.measure.signature in columns for m in plan.measurements)
    if not measured or not set(asked) <= set(texts) or len(chosen) < len(picks):
        return None
    if (finer or picks) and not _same_quantity(plan, finer=bool(finer), picks=bool(picks)):
        return None
    noisy = answers.noisy(kept)
    if (finer or picks) and noisy.private_keys:
        return None
    groups = _groups(noisy, texts, asked=asked, picks=chosen)
    if groups is None:
        return None
    cells = max((len(rows) for rows in groups.values()), default=1)
    measurements: list[Measurement] = []
    derived_columns: list[NoisyColumn] = []
    for index, measurement in enumerate(plan.measurements):
        position, column = columns[measurement.measure.signature]
        kept_column = noisy.columns[position]
        if cells == 1:
            served = serving(question, index, column, kept_column)
        else:
            served = _summed_noise(question, index, column, kept_column, cells=cells)
        if served is None:
            return None
        measurements.append(served)
        derived_columns.append(_summed(kept_column, list(groups.values()), cells))
    outside = finer - picked | {text for text, pick in chosen.items() if pick.outside}
    how, notes = _said(unpicked=finer - picked, picked=picked, outside=outside, cells=cells)
    shown = replace(
        plan,
        measurements=tuple(measurements),
        notes=(*plan.notes, *notes),
        loss=kept.loss,
        selection=kept_selection(plan, facts),
    )
    return ServedAnswer(
        Member(shown, Noisy(tuple(groups), tuple(derived_columns), noisy.private_keys)), how, kept.hash, kept.at
    )


def _columns(facts: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """The keys of a kept answer, each with the column whose own values it has."""
    return zip(facts["keys"], facts.get("plain", [None] * len(facts["keys"])), strict=True)


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


def _groups(noisy: Noisy, texts: list[str], *, asked: list[str], picks: Mapping[str, Pick]) -> Groups | None:
    """The rows behind each group. A group that WHERE leaves out has none; a value outside the keys refuses all."""
    allowed: dict[int, set[tuple[type, object]]] = {}
    for name, pick in picks.items():
        index = texts.index(name)
        allowed[index] = {(type(value), value) for value in pick.values}
        known = {(type(key[index]), key[index]) for key in noisy.keys}
        if not pick.values or known != {(type(value), value) for value in pick.domain}:  # its keys are other values
            return None
    indices = [texts.index(text) for text in asked]
    groups: Groups = {}
    for row, key in enumerate(noisy.keys):
        within = all((type(key[index]), key[index]) in values for index, values in allowed.items())
        rows = groups.setdefault(tuple(key[index] for index in indices), [])
        rows.extend([row] if within else [])
    return groups


def _summed(column: NoisyColumn, groups: list[list[int]], cells: int) -> NoisyColumn:
    if column.estimates is not None and column.values is not None:  # an estimate is picked, never summed
        values = np.array([column.values[rows].sum() for rows in groups], dtype=np.float64)
        return replace(column, values=values, estimates=column.estimates.picked(groups))
    if column.numbers is None:  # a choice is never summed: each group is one row
        return column
    sums = [sum(column.numbers[rows].tolist()) for rows in groups]
    return replace(column, numbers=noisy_numbers(sums), cells=cells)


def serving(question: Served, index: int, column: Mapping[str, str], kept: NoisyColumn) -> Measurement | None:
    """The measurement with the noise the kept answer has; None if that is more than was asked for."""
    asked = question.asked.measurements[index]
    wanted = question.plan.measurements[index]
    noise = _noise(column)
    if noise is None:  # a choice: a higher rate is a sharper one
        law = wanted.noise.law
        return asked if column["noise"] == law.name and Fraction(column["scale"]) >= law.size else None
    if wanted.added is None:
        return None
    measurement = replace(as_estimate(asked) if kept.estimates is not None else asked, noise=noise)
    if question.estimates is None and kept.estimates is None:
        served = _no_wider(noise, wanted.added, question.plan)
    else:
        served = all(
            _width(measurement, kept.estimates, level) <= _width(wanted, _estimates(question, index), level) * _SAME
            for level in levels(question.plan)
        )
    return measurement if served else None


def _no_wider(noise: AddedNoise, wanted: AddedNoise, plan: Plan) -> bool:
    """Whether one noise is nowhere wider than another: of one law by its size, of two at every level that is shown."""
    if noise.law.name == wanted.law.name:
        return noise.law.size <= wanted.law.size
    return all(noise.error(level) <= wanted.error(level) for level in levels(plan))


def levels(plan: Plan) -> list[Fraction]:
    """Every confidence that an error bar of this plan may need."""
    return [shared_confidence(plan.confidence, refs) for refs in range(1, len(plan.measurements) + 1)]


def _estimates(question: Served, index: int) -> EstimateSpread | None:
    return None if question.estimates is None else question.estimates[index]


def _width(measurement: Measurement, spread: EstimateSpread | None, confidence: Fraction) -> float:
    """The widest error bar of one measurement."""
    if measurement.added is None:
        return float("inf")
    if spread is None:
        return float(measurement.added.error(confidence) * measurement.step)
    return float(np.max(estimate_width(measurement, spread, confidence), initial=0.0))


def _noise(column: Mapping[str, str]) -> AddedNoise | None:
    return kept_noise(column["noise"], Fraction(column["scale"]), delta=Fraction(column["delta"]))


def _summed_noise(
    question: Served, index: int, column: Mapping[str, str], kept: NoisyColumn, *, cells: int
) -> Measurement | None:
    """The measurement with the noise of each summed cell; None if their sum's is more than was asked for.

    The two laws differ in shape, so they are compared at every confidence that an error bar of this plan may need.
    Estimates err together, in ways that are not kept: they are never added up.
    """
    measurement, wanted = question.asked.measurements[index], question.plan.measurements[index]
    noise, step = _noise(column), Fraction(column["step"])
    if noise is None or kept.estimates is not None or wanted.added is None:
        return None
    for confidence in levels(question.plan):
        has = sum_reach(noise, count=cells, confidence=confidence) * step
        if has > _width(wanted, _estimates(question, index), confidence):
            return None
    return replace(measurement, noise=noise, step=step)


def _said(*, unpicked: set[str], picked: set[str], outside: set[str], cells: int) -> tuple[str, list[str]]:
    """How the answer was got, and what it is not."""
    notes = []
    if outside:
        notes.append(f"rows outside the public domain of {', '.join(sorted(outside))} are not in it")
    if cells > 1:
        notes.append(f"each number adds up {cells} noisy ones")
    if unpicked:
        return "rolled up from a finer answer", notes
    return ("picked from an earlier answer" if picked else COLUMNS), notes


def kept_selection(plan: Plan, facts: Mapping[str, Any]) -> Selection | None:
    """By which threshold the keys of a kept answer were chosen: its own, which more epsilon has made a lower one."""
    if plan.selection is None or facts.get("threshold") is None:
        return plan.selection
    return replace(plan.selection, threshold=int(facts["threshold"]), delta=Fraction(facts["delta"]))


def key_texts(plan: Plan) -> list[str]:
    """The keys as kept answers name them."""
    return [key.signature for key in plan.keys]
