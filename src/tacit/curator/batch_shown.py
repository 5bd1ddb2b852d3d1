"""What leaves of the pieces of a batch: each question's numbers, and how they were got."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.core import Loss
from tacit.curator.batch_pieces import Joint, Lone, Piece
from tacit.curator.batch_plan import BatchPlan
from tacit.curator.explain import accuracy_notes, bounding_text, describe, selection_text
from tacit.curator.noisy import Noisy, NoisyColumn
from tacit.errors import EngineError
from tacit.mechanisms import Laplace
from tacit.mechanisms.strategy import StrategyNoise, apply, row_variances
from tacit.mechanisms.strategy.picks import Floats
from tacit.noise import IntArray, WideArray
from tacit.sql import Additive, Counted, Measurement, Plan

Bars = tuple[IntArray | WideArray, ...]  # of a strategy
Noised = Noisy | tuple[Bars, ...]  # of a lone question; or for each measurement its strategy's bars


@dataclass(frozen=True, slots=True)
class Answered:
    """What was noised, piece by piece, and where the ledger says so."""

    noised: tuple[Noised, ...]
    entry: str
    reused: str | None
    age: str | None = None  # how old they are, if they are given again

    @property
    def ages(self) -> tuple[str, ...]:
        """The note that says so, if there is one."""
        return () if self.age is None else (self.age,)


def answers_of(made: BatchPlan, answered: Answered) -> Iterator[tuple[Plan, Noisy]]:
    """For each question what to show of it, and its noised columns."""
    estimates: dict[int, list[Floats]] = {}
    for place, member in made.places:
        piece, noised = made.pieces[place], answered.noised[place]
        if isinstance(piece, Joint) and not isinstance(noised, Noisy):
            if place not in estimates:
                pairs = zip(piece.noises, noised, strict=True)
                estimates[place] = [noise.cells(parts) for noise, parts in pairs]
            yield _derived(piece, member, estimates[place])
        elif isinstance(piece, Lone) and isinstance(noised, Noisy):
            yield piece.plan, noised
        else:
            raise EngineError("an answer does not fit its plan")


def strategies(made: BatchPlan, *, noun: str = "question") -> tuple[str, ...]:
    """How the questions are answered, a line for each workload and one for all the others."""
    lines = [
        f"{len(piece.members)} {noun}s together, by {piece.strategy}, for {piece.loss}"
        for piece in made.pieces
        if isinstance(piece, Joint)
    ]
    alone = [piece.plan.loss for piece in made.pieces if isinstance(piece, Lone)]
    if alone:
        count = f"{len(alone)} {noun}{'s' if len(alone) > 1 else ''} alone"
        lines.append(f"{count}, for {sum(alone, Loss(0))}")
    return tuple(lines)


def _derived(joint: Joint, member: int, estimates: Sequence[Floats]) -> tuple[Plan, Noisy]:
    """One question's plan, with the noise it really has, and its numbers from the estimates of the cells."""
    made, variances = served(joint, member)
    block, order = joint.cells.workload.blocks[member], _order(joint, member)
    columns = []
    for measured, cells, spread in zip(joint.plan.measurements, estimates, variances, strict=True):
        values = apply(block, cells).transpose(order).ravel() * float(measured.step)
        columns.append(NoisyColumn(measured.measure.signature, Fraction(1), values=values, variances=spread))
    keys = itertools.product(*(key.values for key in made.keys if isinstance(key.values, tuple)))
    return made, Noisy(tuple(keys), tuple(columns), private_keys=False)


def served(joint: Joint, member: int) -> tuple[Plan, list[Floats]]:
    """One question's plan, with the noise it really has, and of each measurement the variances of its answers."""
    made, block, order = joint.members[member], joint.cells.workload.blocks[member], _order(joint, member)
    measurements, variances = [], []
    for asked, measured, noise in zip(made.measurements, joint.plan.measurements, joint.noises, strict=True):
        spread = row_variances(block, noise.strategy, noise.variances).transpose(order).ravel()
        variances.append(spread * float(measured.step) ** 2)
        # a count with decimals: rounded, answers would no longer add up
        number = Additive(asked.measure.label, Counted.VALUES) if _counts(asked) else asked.measure
        measurements.append(replace(asked, measure=number, noise=noise.noises[0]))
    return replace(made, measurements=tuple(measurements)), variances


def _order(joint: Joint, member: int) -> tuple[int, ...]:
    """The axes of the cells as one question has its keys, and then those that it adds up."""
    axes = joint.cells.keys[member]
    return (*axes, *(axis for axis in range(len(joint.cells.classes)) if axis not in axes))


def _counts(measurement: Measurement) -> bool:
    return isinstance(measurement.measure, Additive) and measurement.measure.counted is not Counted.VALUES


def notes_of(piece: Piece) -> tuple[str, ...]:
    """What the reader of an answer must know of how it was got."""
    if isinstance(piece, Joint):
        together = f"answered with {len(piece.members) - 1} other questions, by {piece.strategy}"
        consistent = "made consistent by least squares: answers that should add up do"
        return together, consistent, f"counts {bounding_text(piece.plan)}, a cell being a group"
    made = piece.plan
    notes = [*made.notes, *accuracy_notes(made), f"counts {bounding_text(made)}"]
    chosen = selection_text(made)
    return (*notes, f"keys are {chosen}; keys below it are left out") if chosen is not None else tuple(notes)


def mechanisms(piece: Piece) -> list[str]:
    """The measurements behind a piece."""
    if isinstance(piece, Lone):
        return [describe(measurement) for measurement in piece.plan.measurements]
    return [_described(m, noise) for m, noise in zip(piece.plan.measurements, piece.noises, strict=True)]


def _described(measured: Measurement, noise: StrategyNoise) -> str:
    step = float(measured.step)
    sizes = [float(n.scale if isinstance(n, Laplace) else n.sigma) * step for n in noise.noises]
    law = "Laplace of scale" if isinstance(noise.noises[0], Laplace) else "Gaussian of sigma"
    span = f"{min(sizes):,.6g}" if min(sizes) == max(sizes) else f"{min(sizes):,.6g} to {max(sizes):,.6g}"
    return f"{measured.measure.label}, {noise.strategy}: {law} {span}, sensitivity {measured.l1 * step:,.6g} each"


def units(made: BatchPlan) -> str:
    """Whose presence the answers hide."""
    return "; ".join(dict.fromkeys(str(piece.plan.unit) for piece in made.pieces))
