"""A job, answered: from the shelf where kept answers serve it, else charged, read, and kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tacit.accounting import refined_charge
from tacit.core import NOTHING, Budget, Loss, Zcdp
from tacit.curator.jobs.caps import caps, least_left
from tacit.curator.jobs.inquiry import inquiry
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Member
from tacit.curator.measuring.measure import PublicTables
from tacit.curator.measuring.noisy import Noisy
from tacit.curator.payment import Payment, pay
from tacit.curator.reading import read_job
from tacit.curator.reusing import reuse
from tacit.curator.reusing.derive import ServedAnswer
from tacit.curator.reusing.rest import Rest, rest_of
from tacit.engines import Engine
from tacit.errors import QueryRefused, RequestConflict
from tacit.ledger import Answer, Balance, Charge, Ledger
from tacit.noise import Source
from tacit.policy import AnalystPolicy, Policy
from tacit.sql import Plan

_MOST_STATES = 8  # of the data, the newest, in which a request is looked for that was paid in part
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
    balance: Balance | None = None  # of the analyst, once that was charged
    notes: tuple[str, ...] = ()  # how the answer was got
    rest: RestAnswered | None = None  # where kept answers served some statements: what was asked, and what it gave

    @property
    def members(self) -> tuple[Member, ...]:
        """The noisy numbers of each question."""
        return tuple(each.member for each in self.given)

    @property
    def ages(self) -> tuple[str, ...]:
        """How old the answers are that are given again."""
        return tuple(dict.fromkeys(each.age for each in self.given if each.age is not None))


@dataclass(frozen=True, slots=True)
class RestAnswered:
    """The statements of a batch that were charged, as a job of their own, and what answers that."""

    asked: Rest
    answered: Answered


@dataclass(frozen=True, slots=True)
class TellingPayment:
    """One of several tellings of a question: what those before it cost, how it is read, and whether it is the last."""

    paid: Loss
    note: str
    data_version: str
    read: Callable[[], tuple[Member, ...]]
    is_last: Callable[[Sequence[Member]], bool]


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
        try:
            return self._answered(job, wish, version)
        except RequestConflict:
            earlier = self._earlier(job, wish)
            if earlier is None:
                raise
            return earlier

    def _answered(self, job: Job, wish: Requester, version: str) -> Answered:
        kept = self._kept(job, wish, version)
        again = [None if each is None else self._again(each, version) for each in kept]
        if all(again):
            given = tuple(known for index in job.answering if (known := again[index]) is not None)
            self.record(job, wish, given[0].entry)
            return Answered(given, given[0].entry, NOTHING, reuse.said([each for each in kept if each], job))
        rest = rest_of(job, kept)
        return self._paid(job, wish, version) if rest is None else self._partly(job, rest, again, wish, version)

    def _earlier(self, job: Job, wish: Requester) -> Answered | None:
        """What this very request was answered with while other answers were kept than now, if it was.

        It was paid for as a whole, or but for what was kept then, of some state of the data. An id that is on record is
        never charged again: the ledger gives what it stands for, or refuses.
        """
        with suppress(RequestConflict):
            return self._paid(job, wish, "")
        states = () if job.narrower is None else self.ledger.states(self.policy.dataset.name)
        for state in states[:_MOST_STATES]:
            kept = self._kept(job, wish, state.data_version)
            for entry in dict.fromkeys(each.entry for each in kept if each is not None):
                before = [None if each is None or each.entry == entry else each for each in kept]
                rest = rest_of(job, before)
                if rest is not None:
                    again = [None if each is None else self._again(each, state.data_version) for each in before]
                    with suppress(RequestConflict):
                        return self._partly(job, rest, again, wish, state.data_version)
        return None

    def record(self, job: Job, wish: Requester, entry: str) -> None:
        """Put on record, free of charge, that the request's id stands for this question, which another entry answers.

        Raises RequestConflict where it stands for another one, or for this one at a price.
        """
        if wish.request_id is not None:
            free = replace(self._charge(job, wish), loss=NOTHING, zcdp=Zcdp(0, 0), kind="kept")
            payment = Payment(
                charge=free,
                caps=caps(self.policy, wish.analyst),
                what="the answer",
                read=lambda: entry,
                kept=lambda text: [Answer(text.encode())],
                restored=lambda bodies: bodies[0].decode(),
            )
            pay(self.ledger, payment)

    def serves(self, job: Job, wish: Requester) -> bool:
        """Whether kept answers serve all of a job."""
        return all(self._kept(job, wish, reuse.data_version(self.policy, self.engine)))

    def left(self, analyst: AnalystPolicy) -> Budget | None:
        """What the analyst can still spend; None where nothing caps it."""
        balance = self.ledger.balance(self.policy.dataset.name, caps(self.policy, analyst), analyst=analyst.name)
        return least_left(balance, self.policy)

    def tell(self, job: Job, wish: Requester, telling: TellingPayment) -> Answered:
        """One telling of a question: it is charged what it adds to those before, and kept if it is the last."""
        payment = self._payment(job, wish, telling.data_version)
        charge = replace(payment.charge, note=telling.note)
        if telling.paid != NOTHING:
            loss, zcdp = refined_charge(telling.paid, job.loss)
            charge = replace(charge, loss=loss, zcdp=zcdp, kind="telling")

        def kept(members: tuple[Member, ...]) -> Sequence[Answer]:
            answers = payment.kept(members)
            return answers if telling.is_last(members) else [replace(each, keep=None) for each in answers]

        paid = pay(self.ledger, replace(payment, charge=charge, read=telling.read, kept=kept))
        how = "the same request" if paid.replayed else None
        given = tuple(Given(paid.value[index], paid.entry, how) for index in job.answering)
        return Answered(given, paid.entry, NOTHING if paid.replayed else charge.loss, how, paid.balance)

    def known(self, job: Job, analyst: AnalystPolicy) -> tuple[int, Job | None]:
        """How many statements kept answers serve now, and the job of the others; None where there is none such."""
        kept = self._kept(job, Requester(analyst, ()), reuse.data_version(self.policy, self.engine))
        if all(kept):
            return len(job.statements), None
        rest = rest_of(job, kept)
        return (0, job) if rest is None else (len(job.statements) - len(rest.statements), rest.job)

    def _kept(self, job: Job, wish: Requester, version: str) -> Sequence[ServedAnswer | None]:
        """For each member of the job what is kept of it, if that will do."""
        if not self.policy.budget.reuse or job.fresh or wish.fresh:
            return [None] * len(job.members)
        return reuse.find_members(job, self.ledger, reuse.shelf_of(self.policy, wish.analyst.name, version))

    def _again(self, kept: ServedAnswer, version: str) -> Given:
        watched = version != self.policy.dataset.data_version
        return Given(kept.member, kept.entry, kept.how, reuse.age_note(kept.at, watched=watched))

    def _partly(self, job: Job, rest: Rest, again: Sequence[Given | None], wish: Requester, version: str) -> Answered:
        """Kept answers to some statements, and new ones to the rest, which alone is charged."""
        words = [wish.words[index] for index in rest.statements]
        paid = self._paid(rest.job, replace(wish, words=words), version)
        fresh = iter(paid.given)
        given: dict[int, Given] = {}
        for index, asked in enumerate(job.statements):
            for question in asked.questions:
                kept = again[job.answering[question]]
                given[question] = next(fresh) if index in rest.statements or kept is None else kept
        everything = tuple(given[question] for question in range(len(job.bounds)))
        return replace(paid, given=everything, rest=RestAnswered(rest, paid))

    def _paid(self, job: Job, wish: Requester, version: str) -> Answered:
        paid = pay(self.ledger, self._payment(job, wish, version))
        how = "the same request" if paid.replayed else None
        given = tuple(Given(paid.value[index], paid.entry, how) for index in job.answering)
        return Answered(given, paid.entry, NOTHING if paid.replayed else job.loss, how, paid.balance)

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
        asked = job.recorded.get(self.policy.version)
        if asked is None:  # once for a plan: it is asked again more often than it is made
            asked = inquiry(job.queries, self.policy, loss=None if job.is_batch else job.loss, words=())
            job.recorded[self.policy.version] = asked
        if self.policy.dataset.keep_words:
            asked = replace(asked, words=tuple(wish.words))
        return Charge(
            dataset=self.policy.dataset.name,
            analyst=wish.analyst.name,
            groups=wish.analyst.groups,
            loss=job.loss,
            zcdp=job.zcdp,
            plan_hash=job.hash,
            policy_version=self.policy.version,
            kind="query",
            request_id=wish.request_id,
            note=_note(job),
            asked=asked,
        )


def _note(job: Job) -> str | None:
    if job.sets is not None:
        return f"{len(job.sets.sets)} grouping sets"
    if job.is_batch:
        return f"a batch of {len(job.statements)} questions"
    return f"{len(job.piece_of)} questions of one statement" if len(job.piece_of) > 1 else None


def _restored(job: Job, bodies: tuple[bytes, ...]) -> tuple[Member, ...]:
    """The answers that an earlier charge of the same request paid for."""
    if len(bodies) != len(job.members):
        raise QueryRefused(
            "the request was answered by an older version of tacit, which kept its answers in another way",
            hint="ask under a new id: that is a new charge",
        )
    pairs = zip(job.members, bodies, strict=True)
    return tuple(Member(question.plan, Noisy.from_bytes(body)) for question, body in pairs)
