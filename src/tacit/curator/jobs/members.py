"""The questions of a piece: the noise each really has, and its numbers from what the piece measured."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.curator.jobs.pieces import Joint
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.mechanisms.strategy import EstimateSpread, apply, estimate_spread
from tacit.mechanisms.strategy.picks import Floats
from tacit.sql import Additive, Counted, Measurement, Plan


@dataclass(frozen=True, slots=True)
class Served:
    """A question as it is answered: `asked`, by which it is known and kept; `plan`, with the noise it really has.

    Where its numbers are estimated from several noisy ones, `estimates` says of each measurement how these err.
    """

    asked: Plan
    plan: Plan
    estimates: tuple[EstimateSpread, ...] | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A question's noisy numbers, and the plan that says what they are and how far off they may be."""

    plan: Plan
    noisy: Noisy


def served(joint: Joint, member: int) -> Served:
    """One question of a workload. It is bounded as the cells are, and is kept as the question so bounded."""
    asked, block, order = joint.members[member], joint.cells.workload.blocks[member], _order(joint, member)
    measurements, estimates = [], []
    for alone, measured, noise in zip(asked.measurements, joint.plan.measurements, joint.noises, strict=True):
        estimates.append(estimate_spread(block, noise, step=measured.step, order=order))
        measurements.append(replace(as_estimate(alone), noise=noise.noises[0]))
    return Served(
        asked=replace(asked, caps=joint.plan.caps),
        plan=replace(asked, measurements=tuple(measurements)),
        estimates=tuple(estimates),
    )


def as_estimate(measurement: Measurement) -> Measurement:
    """A count with decimals: rounded, answers would no longer add up."""
    asked = measurement.measure
    if not isinstance(asked, Additive) or asked.counted is Counted.VALUES:
        return measurement
    return replace(measurement, measure=Additive(asked.label, Counted.VALUES))


def estimated(joint: Joint, member: int, cells: Sequence[Floats], known: Served) -> Member:
    """One question's numbers from the estimates of the cells, one array for each measurement."""
    block, order = joint.cells.workload.blocks[member], _order(joint, member)
    columns = []
    for index, (measured, values) in enumerate(zip(joint.plan.measurements, cells, strict=True)):
        answers = apply(block, values).transpose(order).ravel() * float(measured.step)
        spread = None if known.estimates is None else known.estimates[index]
        columns.append(NoisyColumn(measured.measure.signature, Fraction(1), values=answers, estimates=spread))
    keys = itertools.product(*(key.values for key in known.plan.keys if isinstance(key.values, tuple)))
    return Member(known.plan, Noisy(tuple(keys), tuple(columns), private_keys=False))


def _order(joint: Joint, member: int) -> tuple[int, ...]:
    """The axes of the cells as one question has its keys, and then those that it adds up."""
    axes = joint.cells.keys[member]
    return (*axes, *(axis for axis in range(len(joint.cells.classes)) if axis not in axes))
