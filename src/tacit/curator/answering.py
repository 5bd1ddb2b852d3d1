"""A job, answered: from the shelf where kept answers serve it, else charged, read, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.core import NOTHING, Loss
from tacit.curator import reuse
from tacit.curator.caps import caps
from tacit.curator.derive import ServedAnswer
from tacit.curator.inquiry import inquiry
from tacit.curator.job import Job
from tacit.curator.measure import PublicTables
from tacit.curator.members import Member
from tacit.curator.noisy import Noisy
from tacit.curator.payment import Payment, pay
from tacit.curator.pricing import concentrated
from tacit.curator.reading import read_job
from tacit.engines import Engine
from tacit.errors import QueryRefused
from tacit.ledger import Answer, Charge, Ledger, Shelf
from tacit.noise import Source
from tacit.policy import AnalystPolicy, Policy
from tacit.sql import Plan

PublicOf = Callable[[Plan], PublicTables]


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks, in which words, and under which id."""

    analyst: AnalystPolicy
    words: Sequence[str]
    request_id: str | None = None
    fresh: bool = False  # kept answers will not do


@dataclass(frozen=True, slots=True)
class Given:
    """What answers one question of a job, the entry that settled it, and, if it was given before, how it was got."""

    member: Member
    entry: str
    reused: str | None = None
    age: str | None = None  # how old it is, if it is given again


@dataclass(frozen=True, slots=True)
class Answered:
    """What answers each question of a job; `reused` says how all of it was got, where nothing was charged."""

    given: tuple[Given, ...]
    entry: str
    cost: Loss
    reused: str | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """The noisy numbers of each question."""
        return tuple(each.member for each in self.given)

    @property
    def ages(self) -> tuple[str, ...]:
        """How old the answers are that are given again."""
        return tuple(dict.fromkeys(each.age for each in self.given if each.age is not None))


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Where jobs are answered: one dataset, its engine and its ledger."""

    policy: Policy
    engine: Engine
    ledger: Ledger
    source: Source
    public: PublicOf

    def answer(self, job: Job, wish: Requester) -> Answered:
        """Kept answers at no charge, or new ones: charged, read and given noise, in this order."""
        version = reuse.data_version(self.policy, self.engine)
        if self.policy.budget.reuse and not job.fresh and not wish.fresh:
            found = reuse.find_job(job, self.ledger, self._shelf(wish.analyst, version))
            if found is not None:
                return self._again(job, found, watched=version != self.policy.dataset.data_version)
        paid = pay(self.ledger, self._payment(job, wish, version))
        how = "the same request" if paid.replayed else None
        given = tuple(Given(paid.value[index], paid.entry, how) for index in job.answering)
        return Answered(given, paid.entry, NOTHING if paid.replayed else job.loss, how)

    def _again(self, job: Job, found: Sequence[ServedAnswer], *, watched: bool) -> Answered:
        members = [Given(each.member, each.entry, each.how, reuse.age_note(each.at, watched=watched)) for each in found]
        given = tuple(members[index] for index in job.answering)
        return Answered(given, given[0].entry, NOTHING, reuse.said(found, job))

    def _payment(self, job: Job, wish: Requester, version: str) -> Payment[tuple[Member, ...]]:
        audience = None if self.policy.budget.share_answers else wish.analyst.name

        def kept(members: tuple[Member, ...]) -> list[Answer]:
            bodies = [member.noisy.to_bytes() for member in members]
            if not self.policy.budget.reuse:
                return [Answer(body) for body in bodies]
            pairs = zip(job.members, members, strict=True)
            keeps = [reuse.keep(*pair, data_version=version, audience=audience) for pair in pairs]
            return [Answer(body, keep) for body, keep in zip(bodies, keeps, strict=True)]

        return Payment(
            charge=self._charge(job, wish),
            caps=caps(self.policy, wish.analyst),
            what="the batch" if job.is_batch else "the answer",
            read=lambda: read_job(job, self.engine, public=self.public, source=self.source),
            kept=kept,
            restored=lambda bodies: _restored(job, bodies),
        )

    def _charge(self, job: Job, wish: Requester) -> Charge:
        asked = inquiry(job.queries, self.policy, loss=None if job.is_batch else job.loss, words=wish.words)
        return Charge(
            dataset=self.policy.dataset.name,
            analyst=wish.analyst.name,
            groups=wish.analyst.groups,
            loss=job.loss,
            zcdp=concentrated(job.event),
            plan_hash=job.hash,
            policy_version=self.policy.version,
            kind="query",
            request_id=wish.request_id,
            note=_note(job),
            asked=asked,
        )

    def _shelf(self, analyst: AnalystPolicy, version: str) -> Shelf:
        return Shelf(
            dataset=self.policy.dataset.name,
            policy_version=self.policy.version,
            data_version=version,
            analyst=analyst.name,
        )


def _note(job: Job) -> str | None:
    if job.sets is not None:
        return f"{len(job.sets.sets)} grouping sets"
    return f"a batch of {len(job.places)} questions" if job.is_batch else None


def _restored(job: Job, bodies: tuple[bytes, ...]) -> tuple[Member, ...]:
    """The answers that an earlier charge of the same request paid for."""
    if len(bodies) != len(job.members):
        raise QueryRefused(
            "the request was answered by an older version of tacit, which kept its answers in another way",
            hint="ask under a new id: that is a new charge",
        )
    pairs = zip(job.members, bodies, strict=True)
    return tuple(Member(question.plan, Noisy.from_bytes(body)) for question, body in pairs)
