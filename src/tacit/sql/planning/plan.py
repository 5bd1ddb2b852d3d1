"""What will run and be paid: a value that can be printed, hashed and compared, made without touching the data."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar, cast

from tacit.core import ApproximateEvent, ComposedEvent, Event, LaplaceEvent, Loss, PrivacyUnit
from tacit.core.digests import digest
from tacit.mechanisms import Exponential
from tacit.mechanisms.protocol import L2, AddedNoise, Noise, NoisyChoice, is_added, is_choice
from tacit.sql.binding.bind import Ordering, Output
from tacit.sql.binding.conditions import Condition
from tacit.sql.expressions.keys import Key
from tacit.sql.expressions.measures import Measure, Mode, Quantile
from tacit.sql.planning.picking import Where
from tacit.sql.planning.stability import StabilityTest
from tacit.sql.planning.statement import Statement
from tacit.sql.rules import Spread

T = TypeVar("T")
NOMINAL_ROWS = 1_000  # of a group, where the policy says nothing of the table's size


@dataclass(frozen=True, slots=True)
class Measurement:
    """A mechanism, an aggregate and a sensitivity."""

    column: str
    measure: Measure
    statement: int
    step: Fraction  # what one whole number of the exact column stands for
    l1: int  # how far one unit moves the column over all groups, in steps
    l2: Fraction
    in_group: int  # how far one unit moves it in one group
    noise: Noise
    share: Fraction
    wide: bool = False  # whether it may need more than 64 bits: then its numbers are Python's own
    added: AddedNoise | None = field(init=False, repr=False, compare=False)  # its noise; None where a value is chosen

    def __post_init__(self) -> None:
        object.__setattr__(self, "added", self.noise if is_added(self.noise) else None)

    def event(self, steps: int) -> Event:
        """What an accountant needs to know of it, between neighbours this many additions or removals apart.

        So far apart, a measurement moves at most `steps` times as far, in L1 as in L2: the triangle inequality.
        """
        if self.noise.law.norm == L2:
            return self.noise.event(steps * self.l2)
        if isinstance(self.measure, Quantile):
            return self.noise.event(steps * self.l1 * self.measure.weight)
        one = self.noise.event(steps * self.l1)
        return ComposedEvent(((one, self.measure.count),)) if isinstance(self.measure, Mode) else one

    @property
    def choice(self) -> NoisyChoice | None:
        """How its values are chosen; None where noise is added."""
        return self.noise if is_choice(self.noise) else None


@dataclass(frozen=True, slots=True)
class Selection:
    """When a private key may be shown: its noisy count of units must reach the threshold."""

    measurement: int
    threshold: int
    delta: Fraction


@dataclass(frozen=True, slots=True)
class ContributionBounds:
    """How much of one unit counts."""

    max_rows: int
    max_groups: int
    max_values: int
    spread: Spread
    sampled_rows: bool
    partners: int | None = field(default=None, repr=False)  # of a person, where rows have two owners: `Plan.test`


@dataclass(frozen=True, slots=True)
class Excess:
    """How much the bounds change one measurement: what each unit would bring, less what is counted of it.

    Each unit has one norm: the sum, over all groups, of the sizes of its excesses. `cells` counts the units between the
    ends of `ladder`, each end twice the one before; `sums` adds up, group by group, the excesses of the units in each
    cell. `choice` picks an end T by how many units lie above it, and Laplace noise of scale T / `epsilon` is added to
    the sums, of which a unit above T brings only so much that its norm is T (see tacit.curator.measuring.bias).
    """

    measurement: int
    ladder: tuple[int, ...]
    cells: Statement
    sums: Statement
    choice: Exponential
    epsilon: Fraction  # of the sums, between neighbours that differ by adding or removing a unit
    one_sided: bool  # whether no unit can bring less than is counted of it

    def events(self, steps: int) -> tuple[Event, ...]:
        """What an accountant needs to know: one unit is in one cell, and moves the sums by T."""
        return self.choice.event(steps), LaplaceEvent(steps * self.epsilon)


@dataclass(frozen=True, slots=True)
class Plan:
    """One question, ready to be paid for."""

    table: str
    where: Where
    unit: PrivacyUnit
    keys: tuple[Key, ...]
    statements: tuple[Statement, ...]
    measurements: tuple[Measurement, ...]
    selection: Selection | None
    outputs: tuple[Output, ...]
    having: Condition | None
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    loss: Loss
    caps: ContributionBounds
    confidence: Fraction
    notes: tuple[str, ...]
    policy_version: str
    size: int = NOMINAL_ROWS  # about how many rows a group has: what stated errors are stated for
    bias: tuple[Excess, ...] = ()  # WITH BIAS: for each measurement that bounds can change, by how much they do
    rows_left_out: bool = False  # whether a join meets only some of a unit's rows, which no error bar covers
    groups: int | None = None  # how many there are at most, where rows of public tables were counted to know
    test: StabilityTest | None = None  # what must hold before anything is measured, where rows have two owners
    _digests: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # each made once
    _derived: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False, compare=False)  # by `once`

    def once(self, name: Hashable, derive: Callable[[], T]) -> T:
        """What `derive` gives, worked out once: it follows from the plan and the name alone, never from an answer."""
        if name not in self._derived:
            self._derived[name] = derive()
        return cast("T", self._derived[name])

    @property
    def event(self) -> Event:
        """What an accountant needs to know of the answer: every measurement, and the choice of private keys.

        Let x be a unit. A key that only x holds is shown with probability at most δ over all of them (`Selection`), and
        whether it is depends on the noise of its own count alone. Given that none is, what is left is noise on the keys
        of others, moved by no more than the measurements say: the answer is δ-approximately as private as they are.
        With x replaced by y the same holds of both sides, each with its own keys, so δ does not grow; the measurements
        move twice as far. (Bun & Steinke, TCC 2016, Definition 8.1; for pure noise, (ε, δ)-DP.)
        Where rows have two owners, the test before the answer is a measurement too, with a δ of its own: `stability`.
        """
        steps = self.unit.adjacency.steps
        parts: list[Event] = [measurement.event(steps) for measurement in self.measurements]
        parts += [event for excess in self.bias for event in excess.events(steps)]
        parts += [] if self.test is None else self.test.events()
        if self.selection is not None:
            parts.append(ApproximateEvent(Loss(0, self.selection.delta)))
        return ComposedEvent(tuple((part, 1) for part in parts))

    @property
    def runs(self) -> tuple[Statement, ...]:
        """Every query that is run: those of the answer, two for each measurement of its bias, and the test's."""
        bias = (statement for excess in self.bias for statement in (excess.cells, excess.sums))
        return (*self.statements, *bias, *(() if self.test is None else (self.test.statement,)))

    @property
    def family(self) -> str:
        """The same for questions about the same rows, bounded alike: their answers may serve each other."""
        if "family" not in self._digests:
            parts = ("family", self.table, self.policy_version, str(self.caps), self.where.text, *self._biased())
            self._digests["family"] = digest(*parts)
        return self._digests["family"]

    @property
    def key(self) -> str:
        """The same for questions with the same measurements, whatever was made of them and whatever they cost."""
        if "key" not in self._digests:
            self._digests["key"] = self._key()
        return self._digests["key"]

    def _key(self) -> str:
        trees = [statement.canonical for statement in self.statements]
        signatures = [key.signature for key in self.keys] + [m.measure.signature for m in self.measurements]
        return digest("key", self.table, self.policy_version, str(self.caps), *trees, *signatures, *self._biased())

    def _biased(self) -> list[str]:
        """What tells answers with a measured bias, or with a test, from others, and from those of another price."""
        tested = [] if self.test is None else [f"{self.loss}|{self.test}|{self.test.statement.canonical}"]
        return tested + [
            f"{self.loss}|{e.measurement}|{e.ladder}|{e.cells.canonical}|{e.sums.canonical}" for e in self.bias
        ]

    @property
    def hash(self) -> str:
        """The same for plans that run, charge and answer alike."""
        if "hash" not in self._digests:
            self._digests["hash"] = self._hash()
        return self._digests["hash"]

    def _hash(self) -> str:
        noises = [f"{m.column}:{m.noise}" for m in self.measurements]
        shown = [str((out.name, out.key, out.value)) for out in self.outputs]
        tail = (self.having, self.limit, self.offset, self.selection)
        order = [str((item.output.name, item.output.key, item.output.value, item.descending)) for item in self.order]
        return digest(self.key, str(self.loss), *noises, *shown, *order, *map(str, tail))
