"""DP-SELECT WITHIN a share of the answer: told with ever less noise, until it is as accurate as wanted.

The tellings are those of a gradual release: each is the next one with further noise, so that all of them cost what the
last one does (`tacit.accounting.refined_charge` has the proof). Which price comes next depends on what was told alone;
it is charged before it is told. Two pilots and an answer of their own noise would cost their sum.

What is told decides when it is enough, and so leans, by as much as noise can move the decision, towards too early. So
whoever stops near a line goes on from below it in small steps, by nearly the same noise, which errs as it did before;
every look with noise of its own may err anew. Where an answer is large, ± keeps its confidence to within a point, and
everywhere to within half of what may fail at that confidence (`tests/statistical/test_tellings.py`).
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tacit.core import NOTHING, decimal_text
from tacit.curator.answer import measured_columns, possible
from tacit.curator.answering import Answered, JobRunner, Requester, TellingPayment
from tacit.curator.explaining.expected import outputs_of
from tacit.curator.jobs.job import Job, Tellings
from tacit.curator.jobs.members import Member
from tacit.curator.measuring.noisy import Noisy
from tacit.curator.reading import read_tellings
from tacit.curator.reusing.reuse import data_version
from tacit.curator.unexpected import bare_error, noted, planning
from tacit.curator.within import CLEAR, PILOT, UNKNOWN, least_price, shortfall
from tacit.errors import EngineError, InvalidParameter, QueryRefused, TacitError
from tacit.ledger.values import LONGEST_NAME
from tacit.sql import WithinError
from tacit.sql.binding import post

_BACK = 0.9  # of the price that a clear answer asks for: the next telling knows better, and may be enough
_NEARLY = Fraction(
    21, 20
)  # of what may be spent: by so much what is needed may be misjudged, and the last price is tried
_BEYOND = 2  # of its own errors, by so much an answer that is not clear may be larger than it looks
_LEAP = 3  # from where pilots would have ended, by how much the price of an answer that is not clear rises at a time
_END = 27  # and by how much in all: of an answer that is 0 nothing is ever clear
_SURE = Fraction(3, 10)  # of an answer, the error down to which one that is not clear is told on
_WIDE = Fraction(2, 5)  # of an answer: a bound beyond it is not told on for, as noise alone would meet it now and then
_MOST_ENTRIES = 1_000_000  # of a log that is looked through for a request that is sent again
_LONGEST_ID = LONGEST_NAME - len(" (telling 1000)")
_WHOLE = WithinError(Fraction(1), relative=True)


@dataclass(frozen=True, slots=True)
class TellingStep:
    """Which price is told, and the most that may be paid."""

    index: int = 0
    most: Fraction | None = None


def told(office: JobRunner, job: Job, wish: Requester) -> tuple[Job, Answered]:
    """The telling that is as accurate as wanted, and the job that it answers.

    Raises QueryRefused where no price that may be paid reaches that; what was told until then stays charged.
    """
    prices = _tellings(job).prices
    if wish.request_id is not None and len(wish.request_id) > _LONGEST_ID:  # seen here, and not at the tenth telling
        raise InvalidParameter(
            "the request id is too long for an answer that is told in steps",
            hint=f"at most {_LONGEST_ID} characters: each telling is charged under it and its number",
        )
    chain = _Chain(lambda: read_tellings(job, office.engine, prices=prices, public=office.public, source=office.source))
    try:
        return _kept(office, job, wish) or _told(office, job, wish, chain)
    except BaseException as error:  # the steps that it passed through hold on to the chain
        if isinstance(error, Exception) and not isinstance(error, TacitError):
            noted(error)
        bare = bare_error(error, "the answer")
    finally:
        chain.forget()
    raise bare


def _kept(office: JobRunner, job: Job, wish: Requester) -> tuple[Job, Answered] | None:
    """A kept answer that is as accurate as wanted, if there is one."""
    if not office.serves(job, wish):
        return None
    answered = office.answer(job, replace(wish, request_id=None))
    if worst_share(job, answered.members) > _enough(_tellings(job)):
        return None
    office.record(job, wish, answered.entry)
    return job, answered


def _told(office: JobRunner, job: Job, wish: Requester, chain: _Chain) -> tuple[Job, Answered]:
    tellings = _tellings(job)
    version, step, paid, cost = data_version(office.policy, office.engine), _first(office, wish), NOTHING, NOTHING
    for number in itertools.count(1):
        with planning():
            now = tellings.at(tellings.prices[step.index])
        its_id = None if wish.request_id is None else f"{wish.request_id} (telling {number})"
        answered = office.tell(
            now,
            replace(wish, request_id=its_id),
            TellingPayment(
                paid, f"telling {number} of an answer", version, chain.reader(now, step), _last(now, tellings, step)
            ),
        )
        cost += answered.cost
        after = following(tellings, step, share=worst_share(now, answered.members))
        if after is None:
            office.record(job, wish, answered.entry)
            return now, replace(answered, cost=cost, notes=_notes(number, now, tellings, answered.members))
        step, paid = after, now.loss
        if not chain.is_drawn and f"{wish.request_id} (telling {number + 1})" not in _on_record(office, wish):
            return _finished(office, job, wish, answered.members)
    raise AssertionError("prices end")


def _first(office: JobRunner, wish: Requester) -> TellingStep:
    """Where tellings begin. One that is sent again takes the way that it took, whatever was left then."""
    left = None if wish.request_id is not None else office.left(wish.analyst)
    return TellingStep(most=None if left is None else left.epsilon)


def _finished(office: JobRunner, job: Job, wish: Requester, members: Sequence[Member]) -> tuple[Job, Answered]:
    """The rest of a request that broke off: its finer tellings are lost, so that an answer of its own noise is paid."""
    tellings = _tellings(job)
    with planning():
        sharper = least_price(office.policy, wanted=tellings.wanted, priced=tellings.at, pilot=members)
    answered = office.answer(sharper, replace(wish, request_id=f"{wish.request_id} (finished)"))
    office.record(job, wish, answered.entry)
    return sharper, answered


def _on_record(office: JobRunner, wish: Requester) -> set[str | None]:
    entries = office.ledger.entries(limit=_MOST_ENTRIES, dataset=office.policy.dataset.name, analyst=wish.analyst.name)
    return {entry.request_id for entry in entries}


def _tellings(job: Job) -> Tellings:
    if job.tellings is None:
        raise TypeError("the question is not told in steps")
    return job.tellings


def _enough(tellings: Tellings) -> Fraction:
    """At which share of the answer its error is small enough: that wanted, and small enough to be sure of its size."""
    return min(tellings.wanted.bound, CLEAR)


def worst_share(job: Job, members: Sequence[Member]) -> float:
    """The largest error of a telling, as a share of its answer; infinite where that is NULL, or no error is known."""
    (member,) = members
    measured = measured_columns(member.plan, possible(member.plan, member.noisy))
    asked = [out for out in outputs_of(job, 0) if out.value is not None and post.refs(out.value)]
    return max(
        (shortfall(measured.band(out.value), _WHOLE, missing=UNKNOWN) for out in asked if out.value is not None),
        default=0.0,
    )


def following(tellings: Tellings, step: TellingStep, *, share: float) -> TellingStep | None:
    """The telling that comes next; None if this one will do, or none is worth its price. It looks at no data.

    `share` is the largest error of this telling, as a share of its answer. Errors fall as prices rise. While it is not
    clear how large an answer is, it may be as large as it looks and twice its error: that says at least how much more
    is needed. From what a pilot would cost on, what is not clear is told until its error looks small enough, or its
    price has risen as far as it may; where the bound is wide, not at all.

    Raises QueryRefused: no price that may be paid reaches the accuracy.
    """
    price, last, bound = tellings.prices[step.index], tellings.prices[-1], tellings.wanted.bound
    most, is_clear = min(PILOT, last / 5), share <= CLEAR
    aim = _aim(tellings, step, most=most)
    if share <= aim or (not is_clear and price >= most and _goes_no_further(tellings, step, most=most)):
        return None
    needed = float(price / bound) * share if is_clear else float(price / bound) / (1 / share + _BEYOND)
    if is_clear:
        wanted = needed * _BACK
    elif price < most:
        wanted = min(float(price / aim) / (1 / share + _BEYOND), float(most))
    else:
        wanted = min(float(price) * min(_LEAP, share / float(aim)), float(most * _END))
    spendable = last if step.most is None else min(last, step.most)
    index = max(step.index + 1, bisect_right(tellings.prices, min(wanted, float(spendable))) - 1)
    if needed > spendable * _NEARLY or index == len(tellings.prices) or tellings.prices[index] > spendable:
        raise _refused(price)
    return TellingStep(index, step.most)


def _aim(tellings: Tellings, step: TellingStep, *, most: Fraction) -> Fraction:
    """At which share of the answer the error of a telling is small enough, where pilots would have ended at `most`."""
    if tellings.prices[step.index] < most:
        return _enough(tellings)
    is_first = step.index == 0 or tellings.prices[step.index - 1] < most
    return tellings.wanted.bound if is_first else min(tellings.wanted.bound, _SURE)


def _goes_no_further(tellings: Tellings, step: TellingStep, *, most: Fraction) -> bool:
    """Whether an answer that is not clear for what a pilot would have cost is told no finer."""
    dearer = tellings.prices[step.index + 1 : step.index + 2]
    return tellings.wanted.bound > _WIDE or any(price > most * _END for price in dearer)


def _refused(price: Fraction) -> QueryRefused:
    return QueryRefused(
        "no epsilon that may be spent reaches this accuracy",
        hint=f"ask for a wider bound; what was told for ε = {decimal_text(price)} is kept, and free at that price",
    )


def _last(job: Job, tellings: Tellings, step: TellingStep) -> Callable[[Sequence[Member]], bool]:
    """Whether nothing follows what was told: then it is kept."""

    def holds(members: Sequence[Member]) -> bool:
        try:
            return following(tellings, step, share=worst_share(job, members)) is None
        except QueryRefused:
            return True

    return holds


def _notes(number: int, job: Job, tellings: Tellings, members: Sequence[Member]) -> tuple[str, ...]:
    said = []
    if number > 1:
        said.append(f"told {number} times, with less noise each time: all of it costs what the last telling does")
    if worst_share(job, members) > tellings.wanted.bound:
        said.append("the accuracy that was asked for is not reached: the answer is too small for it")
    return tuple(said)


class _Chain:
    """Tellings that wait to be revealed. It holds secrets, so it shows none of them."""

    __slots__ = ("_draw", "_drawn")

    def __init__(self, draw: Callable[[], list[Noisy]]) -> None:
        self._draw = draw
        self._drawn: list[Noisy] | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether the data were read; not where an earlier charge of the same request was."""
        return self._drawn is not None

    def forget(self) -> None:
        """Let go of what was not told: whoever still holds the chain holds nothing."""
        self._drawn = None

    def reader(self, job: Job, step: TellingStep) -> Callable[[], tuple[Member, ...]]:
        """How the telling of one price is read."""

        def read() -> tuple[Member, ...]:
            if self._drawn is None:
                if step.index:  # it would be paid as a finer telling of noise that it does not have
                    raise EngineError("the tellings before this one are lost")
                self._drawn = self._draw()
            (served,) = job.members
            return (Member(served.plan, self._drawn[step.index]),)

        return read

    def __repr__(self) -> str:
        return "<tellings>"
