"""Answers used again: the same question, or one that follows from answers already given, costs nothing."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from tacit.core import decimal_text
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Member, Served
from tacit.curator.reusing.derive import (
    COLUMNS,
    AnswerReader,
    ServedAnswer,
    derived,
    kept_selection,
    key_texts,
    serving,
)
from tacit.engines import mark_of
from tacit.ledger import Keep, KeptAnswer, Ledger, Shelf
from tacit.policy import Policy
from tacit.sql import Plan
from tacit.sql.planning.picking import restrictions
from tacit.sql.workloads.workload import key_column

SAME = "the same question"
_MOST_REMEMBERED = 500  # groups of an answer that is remembered beside its plan
_MOST_ROWS = 2_000_000  # of kept answers that are looked through for one job


def keep(question: Served, member: Member, *, data_version: str, audience: str | None) -> Keep:
    """Under which keys the answer to a question goes on the shelf."""
    plan, measured = question.asked, member.plan
    facts = plan.once("facts", lambda: _facts(plan, plan)) if measured is plan else _facts(plan, measured)
    return Keep(key=plan.key, family=plan.family, data_version=data_version, audience=audience, facts=facts)


def _facts(plan: Plan, measured: Plan) -> str:
    """What a planner must know of a kept answer: its keys, and of each number the noise that it was measured with."""
    facts = {
        "keys": key_texts(plan),
        "plain": [key_column(key) for key in plan.keys],  # the column whose own values a key is
        "threshold": None if plan.selection is None else plan.selection.threshold,
        "delta": None if plan.selection is None else decimal_text(plan.selection.delta),
        "columns": [
            {
                "signature": asked.measure.signature,
                "noise": m.noise.law.name,
                "scale": decimal_text(m.noise.law.size),
                "delta": decimal_text(m.noise.law.delta),
                "step": decimal_text(m.step),
            }
            for asked, m in zip(plan.measurements, measured.measurements, strict=True)
        ],
    }
    return json.dumps(facts)


def find_members(job: Job, ledger: Ledger, shelf: Shelf) -> Sequence[ServedAnswer | None]:
    """For each member of a job a kept answer that serves it at least as well as a fresh one would, or None.

    Grouping sets are consistent with each other and count the same rows, so theirs must have been given together, for
    the same keys; and what is computed from several questions of one statement is asked as a whole.
    """
    answers = AnswerReader(ledger, job.given)
    if job.sets is not None:
        return _together(job, answers, shelf) or [None] * len(job.members)
    answered: list[ServedAnswer | None] = []
    for question in job.members:
        answered.append(next(candidates(question, answers, shelf), None) if answers.rows < _MOST_ROWS else None)
        if answered[-1] is None and not job.is_batch:
            return [None] * len(job.members)
    return answered


def _together(job: Job, answers: AnswerReader, shelf: Shelf) -> tuple[ServedAnswer, ...] | None:
    first, *others = job.members
    for kept in candidates(first, answers, shelf):
        answered = [kept, *(_beside(kept, question, answers, shelf) for question in others)]
        given = tuple(each for each in answered if each is not None and each.how in {SAME, COLUMNS})
        if len(given) == len(job.members):
            return given
    return None


def _beside(first: ServedAnswer, question: Served, answers: AnswerReader, shelf: Shelf) -> ServedAnswer | None:
    """What serves a question among the answers that were given together with another."""
    return next((each for each in candidates(question, answers, shelf) if each.entry == first.entry), None)


def candidates(question: Served, answers: AnswerReader, shelf: Shelf) -> Iterator[ServedAnswer]:
    """Kept answers that serve the question at least as well as a fresh one would, the best first."""
    plan = question.asked
    for kept in answers.ledger.kept(shelf, key=plan.key):
        candidate = _same(question, kept, answers)
        if candidate is not None:
            yield candidate
    if plan.bias:  # what bounds cut from a part is not told by what they cut from the whole
        return
    for kept in answers.ledger.kept(shelf, family=plan.family):
        candidate = derived(question, kept, answers)
        if candidate is not None:
            yield candidate
    for restriction in restrictions(plan.where):
        wider = replace(plan, where=restriction.rest)
        for kept in answers.ledger.kept(shelf, family=wider.family):
            candidate = derived(question, kept, answers, picks=restriction.picks)
            if candidate is not None:
                yield candidate


def _same(question: Served, kept: KeptAnswer, answers: AnswerReader) -> ServedAnswer | None:
    """The same measurements, none of them noisier than asked."""
    name = (id(question), kept.hash, kept.member)  # a job keeps its questions as long as it remembers
    known = answers.given.get("served")
    if isinstance(known, tuple) and known[0] == name:
        answers.rows += len(known[1].member.noisy.keys)
        return cast("ServedAnswer", known[1])
    matching = _matching(question, kept, answers)
    if matching is not None and len(matching.member.noisy.keys) <= _MOST_REMEMBERED:
        answers.given["served"] = name, matching
    return matching


def _matching(question: Served, kept: KeptAnswer, answers: AnswerReader) -> ServedAnswer | None:
    facts = json.loads(kept.keep.facts)
    plan, columns = question.asked, facts["columns"]
    noisy = answers.noisy(kept)
    measurements = []
    for index, (column, numbers) in enumerate(zip(columns, noisy.columns, strict=True)):
        served = serving(question, index, column, numbers)
        if served is None:
            return None
        measurements.append(served)
    shown = replace(plan, measurements=tuple(measurements), loss=kept.loss, selection=kept_selection(plan, facts))
    return ServedAnswer(Member(shown, noisy), SAME, kept.hash, kept.at)


def said(served: Sequence[ServedAnswer], job: Job) -> str:
    """The words for how a job's answers were got."""
    hows = list(dict.fromkeys(each.how for each in served))
    if job.is_batch:
        return "the same questions" if hows == [SAME] else "earlier answers"
    return hows[0] if len(hows) == 1 else "earlier answers"


def data_version(policy: Policy, engine: object) -> str:
    """The state of the data that answers are kept under: what the policy says, and what the engine can tell.

    Raises EngineError where the tables are no longer those that were opened; nothing is charged yet.
    """
    mark = mark_of(engine)
    stated = policy.dataset.data_version
    return stated if mark is None else f"{stated[:150]} {mark.text}"


def shelf_of(policy: Policy, analyst: str, version: str) -> Shelf:
    """The kept answers that an analyst may have of one state of the data."""
    return Shelf(
        dataset=policy.dataset.name, policy_version=policy.version, data_version=version, analyst=analyst
    )  # fmt: skip


def age_note(at: float, *, watched: bool) -> str:
    """The note that says how old an answer is that is given again."""
    seconds = max(0, round(time.time() - at))
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size or size == 1:
            count = seconds // size
            age = f"{count} {name}{'' if count == 1 else 's'}"
            break
    known = "the data have not changed since" if watched else "whether the data changed since is not known"
    return f"this answer was given {age} ago; {known}"
