"""What is said to a ledger, and what it says: plain immutable values."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from tacit.core import NOTHING, AnyOf, Grains, Limit, Loss, Zcdp
from tacit.core.running_sum import bounded
from tacit.errors import InvalidParameter, QueryRefused
from tacit.ledger.amounts import Cap, Spent, storable

Kind = Literal["query", "telling", "calibrate", "disclosure", "policy", "synthesise", "publish", "fit", "kept"]
Act = Literal["open", "charge", "settle", "fail", "accept", "carry", "adopt"]
_NO_RHO = Zcdp(0, 0)
LONGEST_NAME = 200
LONGEST_INQUIRY = 1_000_000  # characters, as stored


@lru_cache(maxsize=64)
def dataset_key(name: str) -> str:
    """One account per dataset, whatever case or composition its name is written in."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", checked(name, "the dataset's name")).casefold())


def checked(text: str, what: str) -> str:
    """`text`, if it is short and printable."""
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
        raise InvalidParameter(f"{what} must be 1 to {LONGEST_NAME} printable characters")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What was asked, so that an auditor can plan and price it anew; in the log, and sealed with its charge."""

    questions: tuple[str, ...]  # canonical, with the price that was charged; several for a batch
    parameters: tuple[str, ...]  # of each question, the values it was given: JSON
    tables: tuple[str, ...]
    words: tuple[str, ...] = ()  # the analyst's own, where the policy keeps them
    _text: str = field(init=False, repr=False, compare=False)  # made once: a question is charged again and again

    def __post_init__(self) -> None:
        fields = {"questions": self.questions, "parameters": self.parameters, "tables": self.tables}
        object.__setattr__(self, "_text", json.dumps(fields | ({"words": self.words} if self.words else {})))
        if len(self.questions) != len(self.parameters):
            raise InvalidParameter("a question on record needs its parameters, be there none")
        if len(self._text) > LONGEST_INQUIRY:
            raise QueryRefused(
                f"the question is too long to be put on record: at most {LONGEST_INQUIRY:,} characters are",
                hint="ask in smaller parts",
            )

    def to_text(self) -> str:
        """The inquiry as the ledger stores it: JSON in ASCII."""
        return self._text

    @classmethod
    def from_text(cls, text: str) -> Inquiry:
        """The inquiry that `to_text` wrote."""
        return cls(**{name: tuple(values) for name, values in json.loads(text).items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one question costs, and to whom it is charged: the dataset, the analyst, and the analyst's groups."""

    dataset: str
    analyst: str
    groups: tuple[str, ...]
    loss: Loss
    zcdp: Zcdp | None  # None: a pure loss counts as ε²/2; any other cannot be paid from a zCDP budget
    plan_hash: str
    policy_version: str
    kind: Kind
    request_id: str | None = None
    note: str | None = None
    asked: Inquiry | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", dataset_key(self.dataset))
        object.__setattr__(self, "groups", tuple(sorted({checked(group, "a group's name") for group in self.groups})))
        checked(self.analyst, "the analyst's name")
        checked(self.plan_hash, "the plan hash")
        checked(self.policy_version, "the policy version")
        for text, what in ((self.request_id, "the request id"), (self.note, "the note")):
            if text is not None:
                checked(text, what)
        storable(self.loss.epsilon, "epsilon")
        storable(self.loss.delta, "delta")
        if self.zcdp is None and self.loss.is_pure:
            object.__setattr__(self, "zcdp", Zcdp(bounded(self.loss.epsilon**2 / 2), 0))
        if self.zcdp is not None:
            storable(self.zcdp.rho, "rho")
            storable(self.zcdp.delta, "delta")

    @property
    def is_free(self) -> bool:
        """Whether nothing is charged, as for an owner's disclosure that is only put on record."""
        return self.loss == NOTHING and self.zcdp == _NO_RHO


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """The limits a charge must keep, all of them. In (ε, δ), in (ρ, δ), in grains, or in any one of these."""

    total: Cap
    analyst: Cap | None  # None: only the total and the groups bind this analyst
    window: int | None  # seconds after which the analyst's budget renews; None: never. The total never renews
    groups: tuple[tuple[str, Cap], ...]

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise InvalidParameter(f"a refresh window must be at least one second: got {self.window}")
        for cap in (self.total, self.analyst, *(cap for _, cap in self.groups)):
            limits = cap.limits if isinstance(cap, AnyOf) else (cap,)
            if any(isinstance(limit, (Zcdp, Grains)) and limit.delta == 1 for limit in limits):
                raise InvalidParameter("a delta of 1 promises nothing: it must be below 1")


@dataclass(frozen=True, slots=True)
class Reservation:
    """A durable charge: the licence to read the data once. It must be settled or failed."""

    seq: int
    hash: str  # of the entry that charges it
    charge: Charge
    balance: Balance | None = None  # of the analyst, with this charge; None where it was not worked out


@dataclass(frozen=True, slots=True)
class Replay:
    """The answers already given to this request id: to be returned as it is, without reading the data."""

    seq: int
    hash: str  # of the entry that settled it, as in the first receipt
    charge: Charge
    answers: tuple[bytes, ...]  # one for each question that the charge paid for


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Under which keys an answer is kept for reuse, and for whom."""

    key: str  # of the canonical plan
    family: str  # a coarser key: the questions from which others may be derived
    data_version: str
    audience: str | None  # the one analyst who may see it again; None: every analyst of the dataset
    facts: str  # JSON, for the planner that looks for derivations

    def __post_init__(self) -> None:
        checked(self.key, "the key")
        checked(self.family, "the family")
        checked(self.data_version, "the data version")
        if not self.facts.isascii():
            raise InvalidParameter("the facts of a kept answer must be JSON in ASCII")
        if self.audience is not None:
            checked(self.audience, "the audience")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a charge paid for, or one of the things it paid for; `keep` is None where it is not to be used again."""

    body: bytes
    keep: Keep | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """Which kept answers may be looked at: one dataset, policy and state of the data, by one analyst."""

    dataset: str
    policy_version: str
    data_version: str
    analyst: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", dataset_key(self.dataset))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer on the shelf; its bytes are fetched with `answer`."""

    seq: int  # of the charge that paid for it
    member: int  # which of the answers that it paid for
    hash: str  # of the entry that settled it
    at: float
    analyst: str
    loss: Loss
    plan_hash: str
    keep: Keep


@dataclass(frozen=True, slots=True)
class KeptState:
    """How many answers are kept of one state of the data, and when the newest of them was given."""

    data_version: str
    count: int
    newest: float


@dataclass(frozen=True, slots=True)
class AccountLine:
    """One account: what is spent (of a renewing budget: in this window) and what is left of the cap."""

    spent: Spent
    cap: Cap | None

    @property
    def limit(self) -> Limit | None:
        """The cap in one currency: of alternatives, the one of which most is left. None where there is no cap."""
        return None if self.cap is None else self.spent.roomiest(self.cap)

    @property
    def left(self) -> Limit | None:
        """What that limit still allows."""
        return None if self.limit is None else self.spent.left(self.limit)

    @property
    def lefts(self) -> tuple[Limit, ...]:
        """What the cap still allows; of alternatives, what each does that is not exceeded."""
        if not isinstance(self.cap, AnyOf):
            return () if self.left is None else (self.left,)
        kept = [limit for limit in self.cap.limits if self.spent.within(limit)]
        return tuple(self.spent.left(limit) for limit in kept or self.cap.limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """What is spent and left of a dataset, for one analyst."""

    total: AccountLine
    analyst: AccountLine
    groups: tuple[tuple[str, AccountLine], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log."""

    seq: int
    at: float  # seconds since 1970; never runs backwards
    act: Act
    dataset: str | None
    analyst: str | None
    groups: tuple[str, ...]
    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    slack: Fraction | None
    plan_hash: str | None
    policy_version: str | None
    request_id: str | None
    kind: str | None
    note: str | None
    charge: int | None  # of an outcome: the charge it belongs to
    digest: str | None  # of a settled answer
    asked: Inquiry | None  # of a charge: the question
    state: str  # the hash of all accounts once the entry was made; empty before they were sealed
    hash: str
    outcome: Act | None  # of a charge: how it ended, None while it is open

    @property
    def is_question(self) -> bool:
        """Whether a question was charged, or one more telling of it: its answer can be shown again."""
        return self.act == "charge" and self.kind in {"query", "telling"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an examination of the whole ledger found."""

    entries: int
    head: str
    problems: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found."""
        return not self.problems
