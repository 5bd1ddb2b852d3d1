"""What the owner asks for: which column is what, what every class must satisfy, and how it is to be reached."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import SupportsFloat, SupportsIndex

from tacit.errors import InvalidParameter
from tacit.release.anonymise.distance import EQUAL, HIERARCHICAL, Ground
from tacit.release.anonymise.hierarchy import Hierarchy
from tacit.release.anonymise.models import (
    AlphaAnonymity,
    BetaLikeness,
    DeltaPresence,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    KMap,
    Model,
    RecursiveDiversity,
    TCloseness,
)

METHODS = ("greedy", "strict", "relaxed", "optimal", "local", "microaggregate")
BY_ROW = frozenset({"relaxed", "microaggregate"})  # these may part rows that are alike
DIVERSITIES = ("distinct", "entropy", "recursive")
BY_ROWS = "row"  # a unit that says: count rows, whoever they are of


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column is what. One that has no role is left out of what is published."""

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    pseudonyms: tuple[str, ...] = ()  # identifiers replaced by a keyed hash; other identifiers just have no role
    keep: tuple[str, ...] = ()  # published as they are

    def __post_init__(self) -> None:
        if not self.quasi_identifiers:
            raise InvalidParameter(
                "no quasi-identifiers: which columns could somebody know of a person from elsewhere?",
                hint="name them, such as age, postcode and sex",
            )
        seen: dict[str, str] = {}
        for role in ("quasi_identifiers", "sensitive", "pseudonyms", "keep"):
            for column in getattr(self, role):
                other = seen.setdefault(column.casefold(), role)
                if other != role:
                    raise InvalidParameter(f"{column!r} has two roles: {_said(other)} and {_said(role)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The privacy models and their numbers; None where a model is not asked for.

    Those of secrets guard every sensitive column.
    """

    k: int | None = None
    k_map: int | None = None
    presence: tuple[float, float] | None = None
    l: float | None = None  # noqa: E741 - the model's own name for it
    diversity: str = "distinct"
    c: float | None = None  # of recursive diversity
    t: float | None = None
    distance: str = EQUAL
    beta: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.k is None and self.k_map is None:
            raise InvalidParameter("no k: how many rows shall share their quasi-identifiers?", hint="give k, such as 5")
        _refuse_parts("k", self.k)
        _refuse_parts("k of k-map", self.k_map)
        for name in ("l", "c", "t", "beta", "alpha"):
            _refuse_words(name, getattr(self, name))
        if self.diversity not in DIVERSITIES:
            raise InvalidParameter(
                f"there is no diversity {self.diversity!r}", hint=f"there are {', '.join(DIVERSITIES)}"
            )
        if (self.diversity == "recursive") != (self.c is not None):
            raise InvalidParameter("recursive diversity goes with a c, and nothing else does", hint="give c, such as 3")
        if self.diversity != "distinct" and self.l is None:
            raise InvalidParameter(f"{self.diversity} diversity needs an l", hint="give l, such as 2")
        if self.diversity == "recursive":  # it counts places: from the 2.9th value on means nothing
            l = self.l  # noqa: E741 - the model's own name for it
            _refuse_parts("l of recursive diversity", int(l) if isinstance(l, float) and l.is_integer() else l)

    @property
    def guards(self) -> bool:
        """Whether a model looks at sensitive columns."""
        return any(number is not None for number in (self.l, self.t, self.beta, self.alpha))

    @property
    def needs_population(self) -> bool:
        """Whether a model compares with a population."""
        return self.k_map is not None or self.presence is not None

    def models(self, sensitive: Sequence[str], grounds: Mapping[str, Ground]) -> tuple[Model, ...]:
        """All of them, for these sensitive columns."""
        if self.guards and not sensitive:
            raise InvalidParameter(
                "l, t, beta and alpha guard sensitive columns, and none is named", hint="name the sensitive column"
            )
        found: list[Model] = []
        if self.k is not None:
            found.append(KAnonymity(self.k))
        if self.k_map is not None:
            found.append(KMap(self.k_map))
        if self.presence is not None:
            found.append(DeltaPresence(*self.presence))
        for column in sensitive:
            found.extend(self._guarding(column, grounds[column]))
        return tuple(found)

    def _guarding(self, column: str, ground: Ground) -> list[Model]:
        found: list[Model] = []
        if self.l is not None and self.diversity == "recursive":
            found.append(RecursiveDiversity(int(self.l), float(self.c or 0), column))
        elif self.l is not None:
            found.append((EntropyDiversity if self.diversity == "entropy" else DistinctDiversity)(self.l, column))
        if self.t is not None:
            found.append(TCloseness(self.t, column, ground))
        if self.beta is not None:
            found.append(BetaLikeness(self.beta, column))
        if self.alpha is not None:
            found.append(AlphaAnonymity(self.alpha, column))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All that is asked for."""

    roles: Roles
    wanted: Wanted
    method: str = "greedy"
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    top: Mapping[str, object] = field(default_factory=dict)
    bottom: Mapping[str, object] = field(default_factory=dict)
    grids: Mapping[str, object] = field(default_factory=dict)  # where intervals may end: a step, or "month" of dates
    suppression: float = 0.0  # the share of rows that may be left out
    unit: str | None = None  # the column that says whose a row is; "row" counts rows, whoever they are of

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidParameter(f"there is no method {self.method!r}", hint=f"there are {', '.join(METHODS)}")
        if not 0 <= self.suppression < 1:
            raise InvalidParameter(f"the share of rows that may be left out lies from 0 to 1: got {self.suppression}")
        self._refuse_populations()
        known = {column.casefold() for column in (*self.roles.quasi_identifiers, *self.roles.sensitive)}
        for what in ("hierarchies", "top", "bottom", "grids"):
            for column in getattr(self, what):
                if column.casefold() not in known:
                    raise InvalidParameter(f"{what}: {column!r} is not a quasi-identifier")
        if self.wanted.t is not None and self.wanted.distance == HIERARCHICAL:
            for column in self.roles.sensitive:
                if column.casefold() not in {name.casefold() for name in self.hierarchies}:
                    raise InvalidParameter(f"{column}: a hierarchical distance needs its hierarchy")

    def _refuse_populations(self) -> None:
        """A population is compared with where its people fall into one cell, by what they are."""
        if self.wanted.needs_population and self.method in BY_ROW:
            raise InvalidParameter(f"{self.method} parts rows that are alike: it cannot compare them with a population")
        overlap = self.method == "local" or (self.hierarchies and self.method != "optimal")
        if self.wanted.presence is not None and overlap:
            raise InvalidParameter(
                "delta-presence needs cells that lie apart, and these may overlap",
                hint="leave out the hierarchies, or use the optimal method",
            )

    @property
    def cells_apart(self) -> bool:
        """Whether no two cells of a column may overlap: the people of a population are counted in one each."""
        return self.wanted.needs_population

    @property
    def digest(self) -> str:
        """A hash of everything above, for the ledger."""
        return hashlib.sha256(repr(self).encode()).hexdigest()


def _refuse_parts(what: str, number: object) -> None:
    """A count is a whole number: neither 1.5, nor a word, nor a truth."""
    if number is not None and (isinstance(number, bool) or not isinstance(number, SupportsIndex)):
        raise InvalidParameter(f"{what} is a whole number: got {number!r}")


def _refuse_words(what: str, number: object) -> None:
    if number is None or (isinstance(number, SupportsFloat) and not isinstance(number, bool)):
        return
    raise InvalidParameter(f"{what} is a number: got {number!r}")


def _said(role: str) -> str:
    return {"quasi_identifiers": "quasi-identifier", "pseudonyms": "identifier", "keep": "kept as it is"}.get(
        role, role
    )
