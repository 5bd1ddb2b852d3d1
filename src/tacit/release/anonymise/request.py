"""What the owner asks for: which column is what, and how the models that are wanted are to be reached."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.distance import HIERARCHICAL
from tacit.release.anonymise.models.wanted import Wanted
from tacit.release.anonymise.values.hierarchy import Hierarchy

METHODS = ("greedy", "strict", "relaxed", "optimal", "local", "microaggregate")
BY_ROW = frozenset({"relaxed", "microaggregate"})  # these may part rows that are alike
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
        there = {name.casefold() for name in self.hierarchies}
        for column, distance in self.wanted.distances(self.roles.sensitive).items():
            if distance == HIERARCHICAL and column.casefold() not in there:
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


def _said(role: str) -> str:
    return {"quasi_identifiers": "quasi-identifier", "pseudonyms": "identifier", "keep": "kept as it is"}.get(
        role, role
    )
