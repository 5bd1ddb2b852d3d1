"""A job: what is charged at once. One question, several of a batch, or the grouping sets of one statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from tacit.core import ComposedEvent, Event, Loss, Zcdp
from tacit.core.digests import digest
from tacit.curator.jobs.members import Member, Served, served
from tacit.curator.jobs.pieces import Joint, Lone, Maker, Piece
from tacit.curator.jobs.pricing import concentrated
from tacit.ledger import Inquiry
from tacit.sql import BoundQuery, PostProcessing, Query, WithinError
from tacit.sql.workloads.sets import SetQuestions


@dataclass(frozen=True, slots=True)
class Asked:
    """One statement of a job: its questions, by their indices, and what is computed from their answers, if anything."""

    query: Query
    questions: tuple[int, ...]
    over: PostProcessing | None = None


@dataclass(frozen=True, slots=True)
class Tellings:
    """The rising prices at which one question may be told, and the job of each. `wanted` is a share of the answer."""

    prices: tuple[Fraction, ...]
    wanted: WithinError
    at: Callable[[Fraction], Job]


@dataclass(frozen=True)
class Job:
    """What will run and be paid, and for each question which member of which piece answers it.

    A question is a job of one piece. ROLLUP, CUBE and GROUPING SETS are a batch, each set a question of it, whose rows
    are merged when they are shown: `sets` says how.
    """

    bounds: tuple[BoundQuery, ...]
    pieces: tuple[Piece, ...]
    piece_of: tuple[tuple[int, int], ...]  # for each question its piece, and which member of it
    loss: Loss
    policy_version: str
    maker: Maker | None = None  # how the pieces were made, where several questions share a price
    sets: SetQuestions | None = None
    asked: tuple[Asked, ...] | None = None  # the statements, where something is computed from answers
    is_batch: bool = False  # whether several statements were asked, for a price that stands in none of them
    sharper: Callable[[Sequence[Member], Fraction], Job] | None = None  # of a pilot: from its answers and its cost
    tellings: Tellings | None = None  # of a question that is told until it is as accurate as wanted: at which prices
    narrower: Callable[[Sequence[int], Loss], Job] | None = None  # of a batch: some of its statements, at a price
    recorded: dict[str, Inquiry] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by policy version
    given: dict[object, object] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # the kept answers that served it last, and how they were shown: by the hashes of their entries

    @cached_property
    def statements(self) -> tuple[Asked, ...]:
        """What was asked: without any computing, each question is a statement."""
        if self.asked is not None:
            return self.asked
        if self.sets is not None:
            return (Asked(self.sets.whole.query, tuple(range(len(self.bounds)))),)
        return tuple(Asked(bound.query, (index,)) for index, bound in enumerate(self.bounds))

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The analyst's statements, as they were parsed."""
        return tuple(statement.query for statement in self.statements)

    @cached_property
    def fresh(self) -> bool:
        """Whether kept answers will not do."""
        return any(query.fresh for query in self.queries)

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it: what all its pieces do."""
        if len(self.pieces) == 1:
            return self.pieces[0].event
        return ComposedEvent(tuple((piece.event, 1) for piece in self.pieces))

    @cached_property
    def zcdp(self) -> Zcdp:
        """Its price in concentrated privacy."""
        return concentrated(self.event)

    @cached_property
    def members(self) -> tuple[Served, ...]:
        """Everything that is answered, piece by piece; questions that are the same share one."""
        return tuple(each for piece in self.pieces for each in _members(piece))

    @cached_property
    def answering(self) -> tuple[int, ...]:
        """For each question the index of the member that answers it."""
        starts, count = [], 0
        for piece in self.pieces:
            starts.append(count)
            count += len(piece.members) if isinstance(piece, Joint) else 1
        return tuple(starts[piece] + member for piece, member in self.piece_of)

    @cached_property
    def hash(self) -> str:
        """The same for jobs that run, charge and answer alike."""
        if self.asked is None:
            return self._questions_hash
        shown = [str([(out.name, out.key, out.value) for out in bound.outputs]) for bound in self.bounds]
        over = [f"{each.questions}|{each.over.text if each.over else ''}" for each in self.asked]
        return digest("computed", self._questions_hash, *shown, *over)

    @cached_property
    def _questions_hash(self) -> str:
        if self.maker is None:
            return self.pieces[0].plan.hash
        parts = ["batch", self.policy_version, str(self.loss), str(self.piece_of)]
        for piece in self.pieces:
            parts.append(piece.plan.hash)
            if isinstance(piece, Joint):
                parts += [str(piece.noises), *(member.hash for member in piece.members)]
        batch = digest(*parts)
        return batch if self.sets is None else digest(batch, *_shown(self.sets.whole))


def _members(piece: Piece) -> list[Served]:
    if isinstance(piece, Joint):
        return [served(piece, member) for member in range(len(piece.members))]
    return [Served(piece.plan, piece.plan)]


def _shown(bound: BoundQuery) -> list[str]:
    order = [(item.output.name, item.output.key, item.output.value, item.descending) for item in bound.order]
    outputs = [(out.name, out.key, out.value) for out in bound.outputs]
    return [str(part) for part in (bound.sets, outputs, bound.having, order, bound.limit, bound.offset)]


def alone(bound: BoundQuery, piece: Lone) -> Job:
    """The job of one question."""
    return Job((bound,), (piece,), ((0, 0),), piece.loss, piece.plan.policy_version)
