"""An answer that was given, shown again from what its entry in the ledger keeps. Reads no row, charges nothing."""

from __future__ import annotations

from tacit.core import NOTHING, Loss
from tacit.curator.answering import Answered, Given
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Member
from tacit.curator.measuring.noisy import Noisy
from tacit.errors import QueryRefused
from tacit.ledger import Entry, Keep, KeptAnswer, Ledger

LOOKED_THROUGH = 20_000  # the newest entries of an analyst, among which one is looked for
_HOW = "an entry of the ledger"
_NO_SHELF = Keep(key="-", family="-", data_version="-", audience=None, facts="{}")  # it is found by its entry alone


def settled_entries(ledger: Ledger, settled: str, *, dataset: str, analyst: str) -> tuple[Entry, Entry] | None:
    """The entry of that hash and the charge that it settled, both of this analyst; None where there is none."""
    entries = ledger.entries(limit=LOOKED_THROUGH, dataset=dataset, analyst=analyst)
    settlement = next((entry for entry in entries if entry.hash == settled and entry.act == "settle"), None)
    charged = next((entry for entry in entries if settlement is not None and entry.seq == settlement.charge), None)
    return None if settlement is None or charged is None or not charged.is_question else (charged, settlement)


def stored(job: Job, ledger: Ledger, *, charged: Entry, settled: Entry) -> Answered:
    """What answers each question of a job that was planned anew from its entry."""
    if job.hash != charged.plan_hash:
        raise QueryRefused(
            "the answer cannot be shown again: the policy or tacit itself has changed since it was given",
            hint="ask the question again: that may be a new charge",
        )
    loss = Loss(charged.epsilon or 0, charged.delta or 0)
    members = []
    for index, question in enumerate(job.members):
        kept = KeptAnswer(
            seq=charged.seq,
            member=index,
            hash=settled.hash,
            at=settled.at,
            analyst=charged.analyst or "",
            loss=loss,
            plan_hash=job.hash,
            keep=_NO_SHELF,
        )
        members.append(Given(Member(question.plan, Noisy.from_bytes(ledger.answer(kept))), settled.hash, _HOW))
    return Answered(tuple(members[index] for index in job.answering), settled.hash, NOTHING, _HOW)
