"""EXPLAIN: price, noise, expected error, threshold, caps and SQL. Touches no data and costs nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.curator.forms.release import NOISE, covering, in_one_text
from tacit.curator.forms.shape import ColumnShape, plan_shapes
from tacit.curator.measuring.bias import LEFT_OUT
from tacit.curator.measuring.ranks import rank_error
from tacit.mechanisms.protocol import L2
from tacit.sql import Histogram, Measurement, Mode, Output, Plan, Quantile
from tacit.sql.binding import post
from tacit.sql.expressions.keys import MAX_KEYS
from tacit.sql.planning.errors_expected import MeasuredColumns, nominal
from tacit.sql.planning.output_laws import shared_confidence
from tacit.sql.rules import Spread


@dataclass(frozen=True, slots=True)
class Priced:
    """One of several questions that are paid for together: what it, or the workload it is in, costs and will give."""

    name: str
    how: str
    loss: Loss
    outputs: tuple[str, ...]
    errors: tuple[float | None, ...]
    alone: tuple[float | None, ...]  # the errors it would have one by one, by the best split of the same price
    confidence: Fraction

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        return {
            "name": self.name,
            "how": self.how,
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "columns": list(self.outputs),
            "errors": list(self.errors),
            "errors_alone": list(self.alone),
            "confidence": float(self.confidence),
        }

    def __str__(self) -> str:
        shown = [
            f"{name} ± {error:,.6g}" + (f" (alone ± {alone:,.6g})" if alone is not None and alone != error else "")
            for name, error, alone in zip(self.outputs, self.errors, self.alone, strict=True)
            if error is not None
        ]
        return f"{self.name}: {', '.join([*shown, self.how])}, for {self.loss}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A job, as a person or a program reads it: one statement with its columns, or a batch of `questions`."""

    loss: Loss
    unit: str
    bounding: str
    measurements: tuple[str, ...]
    notes: tuple[str, ...]
    sql: tuple[str, ...]
    pretty: tuple[str, ...]  # the same, laid out for a person
    plan: str
    confidence: Fraction
    outputs: tuple[str, ...] = ()  # of one statement
    errors: tuple[float | None, ...] = ()
    exact: tuple[bool, ...] = ()  # for each output whether no noise is in it: a key, or a number that was typed
    shapes: tuple[ColumnShape, ...] = ()  # what each output will hold, or each column of what is computed
    computed: tuple[str, ...] = ()  # the columns of what is computed from answers, where anything is
    selection: str | None = None
    test: str | None = None  # of rows with two owners: what must hold before anything is measured
    covers: str = NOISE
    sets: tuple[Priced, ...] = ()  # of ROLLUP, CUBE and GROUPING SETS
    questions: tuple[Priced, ...] = ()  # of a batch
    strategies: tuple[str, ...] = ()  # how they are answered, and what that gains
    piloted: bool = False  # whether `loss` is of a first look that finds the price: more is charged until it is found

    def __len__(self) -> int:
        return len(self.questions) or 1

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        priced = {"epsilon": decimal_text(self.loss.epsilon), "delta": decimal_text(self.loss.delta)}
        said = {
            "unit": self.unit,
            "measurements": list(self.measurements),
            "notes": list(self.notes),
            "sql": ";\n".join(self.sql),
            "plan": self.plan,
        }
        if self.questions:
            questions = [question.to_dict() for question in self.questions]
            errors = [list(question.errors) for question in self.questions]
            return {**priced, "questions": questions, "errors": errors, "strategies": list(self.strategies), **said}
        return {
            **priced,
            "columns": list(self.outputs),
            "errors": list(self.errors),
            "exact": list(self.exact),
            **({"sets": [each.to_dict() for each in self.sets]} if self.sets else {}),
            "confidence": float(self.confidence),
            "covers": self.covers,
            "selection": self.selection,
            **({} if self.test is None else {"test": self.test}),
            "bounding": self.bounding,
            **said,
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """One JSON object."""
        return in_one_text(json.dumps(self.to_dict(), indent=indent, ensure_ascii=False))

    def __str__(self) -> str:
        return self.text()

    def text(self, *, sql: bool = False) -> str:
        """The explanation as a person reads it: price and error first; the SQL where it is asked for."""
        several = f" for {len(self)} questions" if self.questions else ""
        lines = [f"price        {'from ' * self.piloted}{self.loss}{several}"]
        for name, error, exact in zip(self.outputs, self.errors, self.exact, strict=True):
            none = "exact" if exact else "noisy, and no ± can be stated beforehand: see the notes"
            lines.append(f"error        {name}: " + (none if error is None else f"± {error:,.6g}"))
        lines += [f"question     {question}" for question in self.questions]
        lines.append(f"             {covering(self.covers, self.confidence)}")
        lines += [f"set          {each}" for each in self.sets]
        lines += [f"keys         {self.selection}"] if self.selection else []
        lines += [f"test         {self.test}"] if self.test else []
        lines += [f"answers      {text}" for text in self.strategies]
        lines += [f"hides        {self.unit}", f"counts       {self.bounding}"]
        lines += [f"measures     {text}" for text in self.measurements]
        lines += [f"note         {note}" for note in self.notes]
        return "\n".join([*lines, *(running(self.pretty) if sql else ())])


def running(statements: Sequence[str]) -> list[str]:
    """The SQL that will run, each statement beside the word for it."""
    lines = []
    for text in statements:
        first, *rest = text.split("\n")
        lines += [f"runs         {first}", *(f"             {line}" for line in rest)]
    return lines


def expected_errors(outputs: Sequence[Output], measured: MeasuredColumns) -> tuple[float | None, ...]:
    """The half-width of each output, where the measurements might come out so; None where none is known."""
    errors: list[float | None] = []
    for out in outputs:
        has_noise = out.value is not None and post.refs(out.value)
        width = float(np.max(measured.band(out.value).error)) if out.value is not None and has_noise else np.inf
        errors.append(width if np.isfinite(width) else None)
    return tuple(errors)


def exact_outputs(outputs: Sequence[Output]) -> tuple[bool, ...]:
    """Which of the outputs have no noise in them."""
    return tuple(out.value is None or not post.refs(out.value) for out in outputs)


def nominal_notes(plans: Sequence[Plan]) -> tuple[str, ...]:
    """What must be said where an error depends on the answer."""
    sizes = [plan.size for plan in plans if any(out.value and not post.is_linear(out.value) for out in plan.outputs)]
    if not sizes:
        return ()
    least, most = (f"{size:,}" for size in (min(sizes), max(sizes)))
    size = least if least == most else f"{least} to {most}"
    return (f"errors of averages and ratios are stated for a group of {size} rows",)


def explain(plan: Plan, dialect: str) -> Explanation:
    """The explanation of what `plan` will do."""
    notes = [*plan.notes, *nominal_notes([plan]), *accuracy_notes(plan)]
    if plan.bias:
        beside = LEFT_OUT if plan.rows_left_out else ""
        notes.append(f"the ± of the answer will be wider: it covers what the bounds cut, measured with it{beside}")
    return Explanation(
        loss=plan.loss,
        outputs=tuple(out.name for out in plan.outputs),
        errors=expected_errors(plan.outputs, nominal(plan.measurements, plan.confidence, rows=plan.size)),
        confidence=plan.confidence,
        unit=str(plan.unit),
        measurements=tuple(describe(m) for m in plan.measurements),
        selection=selection_text(plan),
        test=test_text(plan),
        bounding=bounding_text(plan),
        notes=tuple(notes),
        sql=tuple(statement.sql(dialect) for statement in plan.runs),
        pretty=tuple(statement.sql(dialect, pretty=True) for statement in plan.runs),
        plan=plan.hash,
        exact=exact_outputs(plan.outputs),
        shapes=plan_shapes(plan),
    )


def describe(measurement: Measurement) -> str:
    """One measurement: what, how far a unit moves it, with which noise."""
    law, step = measurement.noise.law, measurement.step
    said = f"{measurement.measure.label}: {law.words}"
    if not law.is_added:
        return f"{said} {float(law.size):.6g}, one unit moves ranks by {measurement.in_group}"
    moved = measurement.l2 if law.norm == L2 else measurement.l1
    return f"{said} {float(law.size * step):,.6g}, sensitivity {float(moved * step):,.6g} (L{law.norm})"


def selection_text(plan: Plan) -> str | None:
    """The sentence that says how a private key qualifies."""
    if plan.selection is None:
        return None
    step = plan.measurements[plan.selection.measurement].step
    threshold = float(plan.selection.threshold * step)
    chance = f"δ = {decimal_text(plan.selection.delta)}"
    return f"private: a key is shown when its noisy number of units reaches {threshold:,.6g} ({chance})"


def test_text(plan: Plan) -> str | None:
    """The sentence that says what must hold before anything is measured, and what it costs."""
    test = plan.test
    if test is None:
        return None
    cost = f"ε = {decimal_text(test.epsilon)}, δ = {decimal_text(test.delta)}"
    return (
        f"few partners: noisy f ≤ {test.most:,} (Laplace of scale {float(test.noise.scale):,.6g}, {cost}), "
        f"else the answer is withheld, and charged; then one person moves at most {test.rows:,} rows"
    )


def _threshold_notes(plan: Plan) -> list[str]:
    """What must be said where the number that keys are shown for is itself an answer."""
    read = {ref for out in plan.outputs if out.value is not None for ref in post.refs(out.value)}
    if plan.selection is None or plan.selection.measurement not in read:
        return []
    label = plan.measurements[plan.selection.measurement].measure.label
    return [f"the ± of a {label} that noise may have carried over the threshold reaches down to 0"]


def bounding_text(plan: Plan) -> str:
    """The sentence that says how much of one unit counts."""
    if plan.unit.is_row:
        return "each row once"
    if plan.test is not None:
        kept = f"at most {plan.caps.max_rows} rows of two people over all groups, of the first {plan.test.partners:,}"
        return f"{kept} partners of both (sampled by keyed hash)"
    if plan.caps.spread is Spread.WEIGH_ROWS:
        return f"at most {plan.caps.max_rows} rows of a unit over all groups ({plan.caps.spread.value})"
    rows = f"at most {plan.caps.max_rows} rows of a unit in a group"
    if plan.caps.spread is Spread.NONE:
        return rows
    how = "sampled by keyed hash" if plan.caps.spread is Spread.SAMPLE else plan.caps.spread.value
    return f"{rows}, at most {plan.caps.max_groups} groups ({how})"


def accuracy_notes(plan: Plan) -> list[str]:
    """How accurate choices are: their errors are ranks or counts, not half-widths of the value itself."""
    notes = [note for m in plan.measurements if (note := _accuracy_note(m, plan)) is not None]
    return [*notes, *_threshold_notes(plan)]


def _accuracy_note(measurement: Measurement, plan: Plan) -> str | None:
    asked = measurement.measure
    often = f"{float(plan.confidence) * 100:.10g}% of the time"
    if isinstance(asked, Histogram) and measurement.added is not None:
        width = measurement.added.error(plan.confidence)
        return f"noise moves each count of {asked.label} by at most {width:,}, {often}"
    if isinstance(asked, Quantile) and measurement.choice is not None:
        ranks = rank_error(asked, measurement.choice, cells=asked.cells, confidence=plan.confidence)
        return f"noise moves {asked.label} by at most {ranks:,.0f} ranks, {often}"
    if isinstance(asked, Mode) and measurement.choice is not None:
        cells = len(asked.values) if isinstance(asked.values, tuple) else MAX_KEYS
        each = shared_confidence(plan.confidence, asked.count)
        rows = measurement.choice.error(each, candidates=cells)
        return f"noise lets {asked.label} choose a value that at most {rows:,} rows fewer have, {often}"
    return None
