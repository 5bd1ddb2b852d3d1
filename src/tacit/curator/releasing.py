"""What leaves of a job: rows with their error bars, what it cost, what is left, and a receipt."""

from __future__ import annotations

from dataclasses import replace

from tacit.core import NOTHING, Budget, Loss
from tacit.curator.answer import AnswerTable, answer
from tacit.curator.answering import Answered, Given
from tacit.curator.batch_release import BatchRelease
from tacit.curator.bias import bias_notes, covered
from tacit.curator.explain import describe
from tacit.curator.grouping_rows import one_table
from tacit.curator.job import Job
from tacit.curator.job_notes import (
    counted,
    measured,
    mechanisms,
    plan_notes,
    sets_notes,
    strategies,
    units,
    workload_notes,
)
from tacit.curator.members import Member
from tacit.curator.pieces import Joint
from tacit.curator.release import NOISE, Receipt, Release


def release(job: Job, answered: Answered, *, left: Budget | None, pilot: Loss = NOTHING) -> Release:
    """The answer to one statement. `pilot` is what finding its price cost."""
    shown = _question(answered.given[0], answered) if job.sets is None else _sets(job, answered)
    notes = (f"the cost includes a pilot of {pilot} that found the price",) if pilot != NOTHING else ()
    return replace(shown, cost=shown.cost + pilot, left=left, notes=(*shown.notes, *answered.ages, *notes))


def release_batch(job: Job, answered: Answered, *, left: Budget | None, pilot: Loss = NOTHING) -> BatchRelease:
    """The answers to several questions, in the order they were asked in."""
    answers = tuple(
        replace(_of_batch(job, place, answered), left=left, cost=answered.cost + pilot)
        for place in range(len(job.places))
    )
    whole = Receipt(
        plan=job.hash,
        policy=job.policy_version,
        entry=answered.entry,
        guarantee=f"{job.loss} for {units(job)}, for the whole batch",
        unit=units(job),
        mechanisms=mechanisms(job),
    )
    said = strategies(job)
    if pilot != NOTHING:
        said = (*said, f"the cost includes a pilot of {pilot} that found the price")
    return BatchRelease(answers, answered.cost + pilot, left, answered.reused, said, whole)


def _question(given: Given, answered: Answered) -> Release:
    plan, noisy = given.member.plan, given.member.noisy
    receipt = Receipt(
        plan=plan.hash,
        policy=plan.policy_version,
        entry=given.entry,
        guarantee=f"{plan.loss} for {plan.unit}",
        unit=str(plan.unit),
        mechanisms=tuple(_mechanisms(given.member)),
    )
    notes = (*plan_notes(plan), *bias_notes(plan, noisy))
    shown = _shown(answer(plan, noisy), given.member, answered=answered, notes=notes, receipt=receipt)
    return replace(shown, reused=given.reused, covers=covered(plan))


def _of_batch(job: Job, place: int, answered: Answered) -> Release:
    """One answer of a batch: charged for with the others, or found among those that were given before."""
    given, piece = answered.given[place], job.pieces[job.places[place][0]]
    shown = _question(given, answered)
    if given.age is not None:  # from the shelf, whoever paid for it; a repeated request is said as it was at first
        return replace(shown, notes=(*shown.notes, given.age))
    notes = (*given.member.plan.notes, *workload_notes(piece)) if isinstance(piece, Joint) else shown.notes
    shared = f"one of {len(job.places)} questions of a batch, which is charged once"
    receipt = Receipt(
        plan=job.hash,
        policy=job.policy_version,
        entry=answered.entry,
        guarantee=f"{job.loss} for {piece.plan.unit}, for the whole batch",
        unit=str(piece.plan.unit),
        mechanisms=tuple(measured(piece)),
    )
    return replace(shown, notes=(*notes, shared), receipt=receipt)


def _sets(job: Job, answered: Answered) -> Release:
    """The rows of all grouping sets of a statement."""
    if job.sets is None:
        raise TypeError("the statement has no grouping sets")
    table = one_table(job.sets.whole, job.sets.sets, [(each.plan, each.noisy) for each in answered.members])
    receipt = Receipt(
        plan=job.hash,
        policy=job.policy_version,
        entry=answered.entry,
        guarantee=f"{job.loss} for {units(job)}",
        unit=units(job),
        mechanisms=mechanisms(job),
    )
    notes = (*sets_notes(job), f"counts {counted(job)}")
    return _shown(table, answered.members[0], answered=answered, notes=notes, receipt=receipt)


def _shown(
    table: AnswerTable, member: Member, *, answered: Answered, notes: tuple[str, ...], receipt: Receipt
) -> Release:
    return Release(
        columns=table.columns,
        rows=table.rows,
        errors=table.errors,
        confidence=member.plan.confidence,
        cost=answered.cost,
        left=None,
        reused=answered.reused,
        notes=notes,
        receipt=receipt,
        covers=NOISE,
        keys=table.keys,
    )


def _mechanisms(member: Member) -> list[str]:
    """The measurements behind one answer; one that others were measured with has no noise of its own."""
    pairs = zip(member.plan.measurements, member.noisy.columns, strict=True)
    return [
        describe(m) if column.variances is None else f"{m.measure.label}: estimated from several noisy numbers"
        for m, column in pairs
    ]
