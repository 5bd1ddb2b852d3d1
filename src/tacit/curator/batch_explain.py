"""EXPLAIN of a batch: the strategy, what it gains, each question's price and expected error, the SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.curator.batch_pieces import Joint, Maker
from tacit.curator.batch_plan import BatchPlan, Question, made_batch
from tacit.curator.batch_shown import mechanisms, notes_of, served, strategies, units
from tacit.curator.explain import Priced, expected_errors, nominal_notes, running
from tacit.curator.release import in_one_text
from tacit.mechanisms.strategy import half_width
from tacit.sql import Output, Plan, post
from tacit.sql.errors_expected import nominal, nominal_value, shared_confidence


@dataclass(frozen=True, slots=True)
class BatchExplanation:
    """What a batch would cost and give. Touches no data and costs nothing."""

    loss: Loss
    unit: str
    strategies: tuple[str, ...]
    questions: tuple[Priced, ...]
    confidences: tuple[Fraction, ...]
    measurements: tuple[str, ...]
    notes: tuple[str, ...]
    sql: tuple[str, ...]
    pretty: tuple[str, ...]  # the same, laid out for a person
    plan: str

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def errors(self) -> tuple[tuple[float | None, ...], ...]:
        """For each question the half-widths of its columns, None where a value is exact."""
        return tuple(question.errors for question in self.questions)

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        return {
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "questions": [
                {**question.to_dict(), "confidence": float(confidence)}
                for question, confidence in zip(self.questions, self.confidences, strict=True)
            ],
            "errors": [list(errors) for errors in self.errors],
            "strategies": list(self.strategies),
            "unit": self.unit,
            "measurements": list(self.measurements),
            "notes": list(self.notes),
            "sql": ";\n".join(self.sql),
            "plan": self.plan,
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """One JSON object."""
        return in_one_text(json.dumps(self.to_dict(), indent=indent, ensure_ascii=False))

    def __str__(self) -> str:
        lines = [f"price        {self.loss} for {len(self)} questions", f"hides        {self.unit}"]
        lines += [f"answers      {text}" for text in self.strategies]
        lines += [f"measures     {text}" for text in self.measurements]
        lines += [f"question     {question}" for question in self.questions]
        lines += [f"note         {note}" for note in self.notes]
        return "\n".join([*lines, *running(self.pretty)])


def explain_batch(maker: Maker, questions: Sequence[Question], *, dialect: str) -> BatchExplanation:
    """What the batch that `maker` makes will do."""
    made = made_batch(maker)
    texts = [question if isinstance(question, str) else question[0] for question in questions]
    outputs = [bound.outputs for bound in maker.bounds]
    statements = [statement for piece in made.pieces for statement in piece.plan.statements]
    noted = [note for place, _ in made.places for note in notes_of(made.pieces[place])]
    return BatchExplanation(
        loss=made.loss,
        unit=units(made),
        strategies=(*strategies(made), *gains(made)),
        questions=priced(maker, made, [" ".join(text.split()) for text in texts], outputs=outputs),
        confidences=tuple(made.confidence for made in maker.whole),
        measurements=tuple(text for piece in made.pieces for text in mechanisms(piece)),
        notes=tuple(dict.fromkeys([*noted, *(note for made in maker.whole for note in nominal_notes([made]))])),
        sql=tuple(statement.sql(dialect) for statement in statements),
        pretty=tuple(statement.sql(dialect, pretty=True) for statement in statements),
        plan=made.hash,
    )


def gains(made: BatchPlan) -> tuple[str, ...]:
    """What each workload gains beside the best split among its questions one by one."""
    found = [piece.gain for piece in made.pieces if isinstance(piece, Joint)]
    return tuple(
        f"the mean squared error is {gain:,.{0 if gain > 10 else 1}f} times lower than one by one, at the best split"
        for gain in found
    )


def priced(
    maker: Maker, made: BatchPlan, names: Sequence[str], *, outputs: Sequence[Sequence[Output]]
) -> tuple[Priced, ...]:
    """Each question with its share of the price, the errors to expect, and those it would have one by one."""
    shares = _lone_shares(maker, made)
    found: dict[int, tuple[Plan, Sequence[post.Band]]] = {}
    lines = []
    for place, (name, columns) in enumerate(zip(names, outputs, strict=True)):
        piece = made.pieces[made.places[place][0]]
        first = maker.first[place]
        if first not in found:
            single = maker.planners[first].at(made.loss * shares[first])
            found[first] = single, nominal(single.measurements, single.confidence, rows=single.size)
        single, bands = found[first]
        alone = expected_errors(columns, bands)
        errors = alone
        how = "alone"
        if isinstance(piece, Joint):
            errors = expected_errors(columns, _bands(piece, made.places[place][1]))
            others = len(piece.members) - 1
            how = f"together with {others} other{'s' if others > 1 else ''} by {piece.strategy.name}"
        lines.append(Priced(name, how, piece.loss, tuple(out.name for out in columns), errors, alone))
    return tuple(lines)


def _lone_shares(maker: Maker, made: BatchPlan) -> dict[int, Fraction]:
    """Of each question the share it would have, were the questions of its piece asked one by one."""
    members: dict[int, list[int]] = {}
    for place in maker.given:
        members.setdefault(made.places[place][0], []).append(place)
    shares: dict[int, Fraction] = {}
    for piece, places in members.items():
        joint = isinstance(made.pieces[piece], Joint)
        given = maker.shares(places) if joint else [made.pieces[piece].loss.epsilon / made.loss.epsilon]
        shares.update(zip(places, given, strict=True))
    return shares


def _bands(joint: Joint, member: int) -> list[post.Band]:
    """The measurements of one question as they might come out, the widest of each."""
    made, variances = served(joint, member)
    confidence = shared_confidence(made.confidence, len(variances))
    bands = []
    for asked, noise, spread in zip(joint.members[member].measurements, joint.noises, variances, strict=True):
        value = np.full(1, nominal_value(asked.measure, made.size))
        width = half_width(np.max(spread, initial=0.0, keepdims=True), noise=noise.noises[0], confidence=confidence)
        bands.append(post.Band(value, value - width, value + width))
    return bands
