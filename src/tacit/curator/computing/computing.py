"""What is computed from answers: rehearsed before any charge, run when they are there, its errors simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.curator.answer import AnswerTable, answer, possible
from tacit.curator.computing.held import answer_table, drawn_table, made_up_table
from tacit.curator.computing.redrawing import can_be_redrawn, draws_for, has_noise, redrawn, values_in_draws
from tacit.curator.computing.simulated import Simulated, simulated
from tacit.curator.forms.shape import ColumnShape, computed_shape
from tacit.curator.grouping_rows import one_table, resolved
from tacit.curator.jobs.job import Asked, Job
from tacit.curator.jobs.members import Member
from tacit.engines.answers.process import AnswerEngine, Computed, ComputingFailed, HeldTable
from tacit.errors import QueryRefused
from tacit.noise.redrawing import RepeatableBits
from tacit.sql import BoundQuery, Output, PostProcessing
from tacit.sql.binding import post
from tacit.sql.postprocessing.drawing import DRAW, DRAWS, over_draws
from tacit.sql.postprocessing.tracing import Trace, traces_of

_SIMULATED = "± of what is computed from answers is approximate: the noise drawn again {draws} times around them"
_FAILED = "what is computed from the answers failed: {reason}"


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """Rows of an answer: all of them, or those of one grouping set; and their columns."""

    member: Member
    outputs: Sequence[Output]


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """One of the questions of a statement, with what answers it."""

    bound: BoundQuery
    table: AnswerTable
    parts: tuple[AnswerPart, ...]

    @property
    def member(self) -> Member:
        """The answer behind a question; of grouping sets, that of the first."""
        return self.parts[0].member


@dataclass(frozen=True, slots=True)
class Computing:
    """Computes from answers. `public` gives the rows of a public table."""

    engine: AnswerEngine
    public: Callable[[str], HeldTable]

    def rehearse(self, job: Job) -> None:
        """Refuse, before anything is charged, what could not be computed whatever the answers are."""
        for asked in job.statements:
            if asked.over is not None:
                self._rehearsed(job, asked, asked.over)

    def columns(self, job: Job) -> list[tuple[Trace, ...] | None]:
        """The columns of what each statement computes, and where they come from; None where it computes nothing."""
        return [
            None
            if asked.over is None
            else self._traces(
                asked.over, [bound for bound, _ in _bounds(job, asked)], self._rehearsed(job, asked, asked.over)
            )
            for asked in job.statements
        ]

    def _rehearsed(self, job: Job, asked: Asked, over: PostProcessing) -> Computed:
        tables = []
        for index, (bound, at) in enumerate(_bounds(job, asked)):
            plan = job.members[job.answering[at]].plan
            tables.append(made_up_table(index, bound, plan.measurements, plan.size))
        try:
            return self.engine.compute([over.text], [*tables, *self._public(over)])[0]
        except ComputingFailed as error:
            raise QueryRefused(
                _FAILED.format(reason=_readable(str(error))[:300]),
                hint="nothing was charged; the SELECT over the answers is DuckDB's SQL",
            ) from None

    def _traces(self, over: PostProcessing, bounds: Sequence[BoundQuery], computed: Computed) -> tuple[Trace, ...]:
        """Where each column comes from; where that is not known, from anywhere."""
        keys = [[out.key is not None for out in bound.outputs] for bound in bounds]
        named = {table.name: [name for name, _ in table.columns] for table in self._public(over)}
        traces = traces_of(over.tree, keys, named)
        if traces is None or len(traces) != len(computed.columns):
            traces = tuple(Trace(name) for name in computed.columns)
        described = zip(traces, computed.columns, computed.types, strict=True)
        return tuple(replace(trace, name=name, type=kind) for trace, name, kind in described)

    def computed(self, job: Job, asked: Asked, members: Sequence[Member]) -> tuple[AnswerTable, tuple[str, ...]]:
        """What is computed, and what must be said of it. Where that fails, the answers themselves."""
        questions = _questions(job, asked, members)
        over = asked.over
        if over is None:
            raise TypeError("nothing is computed from these answers")
        tables = [answer_table(i, q.bound, q.table, q.member.plan.measurements) for i, q in enumerate(questions)]
        public = self._public(over)
        try:
            (table,) = self.engine.compute([over.text], [*tables, *public])
        except (ComputingFailed, QueryRefused) as error:
            reason = "the limit of time or memory was reached" if "too long" in str(error) else "on these rows"
            return all_answers(questions), (
                f"{_FAILED.format(reason=reason)}; these are the answers themselves, which are paid for",
            )
        traces = self._traces(over, [question.bound for question in questions], table)
        simulation = self._simulated(over, questions, [*tables, *public], table, traces)
        return _table(table, traces, questions, simulation), simulation.notes

    def _public(self, over: PostProcessing) -> list[HeldTable]:
        return [self.public(name) for name in over.public]

    def _simulated(
        self,
        over: PostProcessing,
        questions: Sequence[AnsweredQuestion],
        tables: Sequence[HeldTable],
        computed: Computed,
        traces: Sequence[Trace],
    ) -> Simulated:
        """What the same computing gives when the noise is drawn again."""
        confidence = max(question.member.plan.confidence for question in questions)
        cells = max((len(q.table.rows) * len(q.bound.outputs) for q in questions), default=0)
        draws = draws_for(confidence, cells + len(computed.rows) * len(computed.columns))
        if not draws or all(trace.clean for trace in traces) or not all(map(_has_law, questions)):
            return Simulated.none(computed, traces)
        source = RepeatableBits(_about(over, questions))
        drawn = [_drawn(q, table, draws, source) for q, table in zip(questions, tables, strict=False)]
        numbers = HeldTable(DRAWS, (("draw", "INTEGER"),), (list(range(draws)),))
        text, order = over_draws(over.tree, len(questions))
        try:
            (rows,) = self.engine.compute([text], [*drawn, numbers, *tables[len(questions) :]], rows=4 * 10**5)
        except (ComputingFailed, QueryRefused):
            return Simulated.none(computed, traces)
        note = _SIMULATED.format(draws=draws)
        return simulated(computed, rows, traces=traces, draws=draws, hidden=order, confidence=confidence, note=note)


def _questions(job: Job, asked: Asked, members: Sequence[Member]) -> list[AnsweredQuestion]:
    """The questions of a statement with their whole answers. `members` answers each question of the job."""
    members = [Member(each.plan, possible(each.plan, each.noisy)) for each in members]
    if job.sets is not None:
        whole, known = job.sets.whole, {frozenset(keys): at for at, keys in enumerate(job.sets.sets)}
        table = one_table(whole, job.sets.sets, [(each.plan, each.noisy) for each in members])
        order = [(members[known[frozenset(keys)]], keys) for keys in whole.sets or ()]
        return [
            AnsweredQuestion(
                whole, table, tuple(AnswerPart(each, resolved(whole.outputs, keys)) for each, keys in order)
            )
        ]
    questions = []
    for bound, at in _bounds(job, asked):
        member = _as_asked(members[at], bound)
        questions.append(
            AnsweredQuestion(bound, answer(member.plan, member.noisy), (AnswerPart(member, bound.outputs),))
        )
    return questions


def _as_asked(member: Member, bound: BoundQuery) -> Member:
    """The member with the columns of this question: one with the same measurements may have been asked before it."""
    shown = replace(member.plan, outputs=bound.outputs, having=None, order=(), limit=None, offset=0)
    return Member(shown, member.noisy)


def _bounds(job: Job, asked: Asked) -> list[tuple[BoundQuery, int]]:
    """Each question of a statement, and its index among those of the job; grouping sets are one."""
    if job.sets is not None:
        return [(job.sets.whole, 0)]
    return [(job.bounds[index], index) for index in asked.questions]


def _has_law(question: AnsweredQuestion) -> bool:
    """Whether all its noise can be drawn again: that of choices depends on the data."""
    members = [part.member for part in question.parts]
    pairs = [pair for each in members for pair in zip(each.plan.measurements, each.noisy.columns, strict=True)]
    return all(can_be_redrawn(*pair) for pair in pairs)


def _drawn(question: AnsweredQuestion, table: HeldTable, draws: int, source: RepeatableBits) -> HeldTable:
    """An answer in every draw. A grouping set that is named twice is drawn once."""
    bands: dict[int, list[post.Band]] = {}
    for part in question.parts:
        if id(part.member.noisy) not in bands:
            bands[id(part.member.noisy)] = redrawn(part.member.plan, part.member.noisy, draws=draws, source=source)
    replaced: dict[int, Sequence[object]] = {}
    for index, (_, kind) in enumerate(table.columns):
        if kind not in {"BIGINT", "DOUBLE"} or not any(has_noise(part.outputs[index]) for part in question.parts):
            continue
        values, start = [], 0
        for part in question.parts:
            groups = len(part.member.noisy.keys)
            shown = table.cells[index][start : start + groups]
            values.append(_in_draws(part, index, bands[id(part.member.noisy)], shown=shown, draws=draws))
            start += groups
        cells = np.concatenate(values, axis=1).ravel()
        whole = kind == "BIGINT"
        numbers = np.rint(cells).tolist() if whole else cells.tolist()
        replaced[index] = [None if np.isnan(cell) else int(cell) if whole else cell for cell in numbers]
    return drawn_table(table, draws, replaced, DRAW)


def _in_draws(
    part: AnswerPart, index: int, bands: list[post.Band], *, shown: Sequence[object], draws: int
) -> NDArray[np.float64]:
    """One column of one part: a row for each draw."""
    if not has_noise(part.outputs[index]):
        return np.tile(np.array([np.nan if cell is None else cell for cell in shown], dtype=np.float64), (draws, 1))
    return values_in_draws(part.outputs[index], bands, draws * len(shown)).reshape(draws, len(shown))


def _about(over: PostProcessing, questions: Sequence[AnsweredQuestion]) -> bytes:
    """What the draws are about: the same computing over the same numbers is simulated alike."""
    digest = hashlib.sha256(over.text.encode())
    for question in questions:
        for part in question.parts:
            digest.update(part.member.noisy.to_bytes())
    return digest.digest()


def _table(
    computed: Computed, traces: Sequence[Trace], questions: Sequence[AnsweredQuestion], simulation: Simulated
) -> AnswerTable:
    """The rows, with errors that are exact where a column is an answer's own, and simulated elsewhere."""
    columns = []
    for index, trace in enumerate(traces):
        exact = _exact(index, trace, computed, traces, questions)
        columns.append(simulation.errors[index] if exact is None else exact)
    errors = tuple(zip(*columns, strict=True)) if columns and computed.rows else ()
    keys = tuple(index for index, trace in enumerate(traces) if trace.clean)
    return AnswerTable(apart(computed.columns), computed.rows, errors, keys, shapes_of(traces))


def shapes_of(traces: Sequence[Trace]) -> tuple[ColumnShape, ...]:
    """The kind of value that each computed column will hold."""
    return tuple(computed_shape(trace.type, noisy=not trace.clean) for trace in traces)


def _exact(
    position: int, trace: Trace, computed: Computed, traces: Sequence[Trace], questions: Sequence[AnsweredQuestion]
) -> list[float | None] | None:
    """The errors of a column that is an answer's own, row by row; None where they are not known."""
    if trace.clean:
        return [None] * len(computed.rows)
    if trace.cell is None:
        return None
    answered, column = trace.cell
    question = questions[answered]
    errors = [row[column] for row in question.table.errors]
    if len(set(errors)) <= 1:
        one = errors[0] if errors else None
        return [None if row[position] is None else one for row in computed.rows]
    wanted = [index for index, out in enumerate(question.bound.outputs) if out.key is not None]
    shown = {each.cell: index for index, each in enumerate(traces) if each.cell is not None}
    if not all((answered, index) in shown for index in wanted):
        return None
    by_key = {
        tuple(map(_same, (row[index] for index in wanted))): error
        for row, error in zip(question.table.rows, errors, strict=True)
    }
    keys = [tuple(_same(row[shown[answered, index]]) for index in wanted) for row in computed.rows]
    return [None if row[position] is None else by_key.get(key) for row, key in zip(computed.rows, keys, strict=True)]


def _same(value: object) -> object:
    """A key as it comes back: a fraction is a double there."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def all_answers(questions: Sequence[AnsweredQuestion]) -> AnswerTable:
    """The answers themselves: one as it is, several below each other, numbered."""
    if len(questions) == 1:
        return questions[0].table
    names = tuple(dict.fromkeys(name for question in questions for name in question.table.columns))
    rows, errors = [], []
    for number, question in enumerate(questions, 1):
        table = question.table
        for cells, widths in zip(table.rows, table.errors, strict=True):
            shown, wide = dict(zip(table.columns, cells, strict=True)), dict(zip(table.columns, widths, strict=True))
            rows.append((number, *(shown.get(name) for name in names)))
            errors.append((None, *(wide.get(name) for name in names)))
    return AnswerTable(("answer", *names), tuple(rows), tuple(errors), (0,))


def apart(names: Sequence[str]) -> tuple[str, ...]:
    """The names of columns, made different from each other."""
    seen: dict[str, int] = {}
    parts = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        parts.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(parts)


def _readable(text: str) -> str:
    """DuckDB's words about made-up rows and public tables, without the names that only we know."""
    return text.replace('"', "").replace("_tacit_a", "answer ").replace("_tacit_c", "column ")
