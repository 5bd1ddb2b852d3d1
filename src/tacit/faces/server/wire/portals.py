"""Prepared statements and portals: what Parse and Bind leave behind, and cursors, which are portals by another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Protocol

from tacit.faces.server.wire.faults import WireFault, limit_fault
from tacit.faces.server.wire.language.lexer import Lexed
from tacit.faces.server.wire.language.routing import Route
from tacit.faces.server.wire.outcome import Outcome
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.oids import WireColumn
from tacit.faces.server.wire.values.parameters import decode

MOST = 1_000  # prepared statements, and portals, of one connection


@dataclass(frozen=True, slots=True)
class Bound:
    """The values of parameters as they came, and the formats in which results are wanted."""

    values: tuple[bytes | None, ...] = ()
    formats: tuple[int, ...] = ()
    results: tuple[int, ...] = ()

    def decoded(self, types: Sequence[int]) -> list[object]:
        """The values themselves. Raises WireFault where there are too few or too many, or one is not of its type."""
        if len(self.values) != len(types):
            raise WireFault(
                "08P01", f"bind message supplies {len(self.values)} parameters, but the statement has {len(types)}"
            )
        forms = self.formats if len(self.formats) > 1 else tuple(self.formats[:1] or (0,)) * len(types)
        if len(forms) != len(types):
            raise WireFault("08P01", "bind message has another number of formats than of parameters")
        return [
            decode(value, oid, binary=bool(form)) for value, oid, form in zip(self.values, types, forms, strict=True)
        ]


NOTHING_BOUND = Bound()


class Foreign(Protocol):
    """A statement that the catalogue has prepared."""

    @property
    def types(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def description(self) -> bytes: ...  # noqa: D102


@dataclass(slots=True)
class PreparedStatement:
    """A statement that was parsed: who answers it, and the types of its parameters."""

    statement: Lexed
    route: Route | None = None  # None: the connection itself
    types: tuple[int, ...] = ()
    foreign: Foreign | None = None
    columns: tuple[WireColumn, ...] | None = None  # once they were announced, values are written in these types


@dataclass(slots=True)
class Portal:
    """A statement with its values. Once it has run it keeps its rows: run again, it gives the same ones."""

    prepared: PreparedStatement
    bound: Bound = NOTHING_BOUND
    outcome: Outcome | None = None
    at: int = 0  # rows that were given so far
    holds: bool = False  # whether it outlives its transaction
    is_cursor: bool = False

    def part(self, most: int) -> tuple[list[bytes], bool]:
        """The next rows, at most so many where that is not 0; and whether more are left. After the last the first."""
        if self.outcome is None:
            raise TypeError("a portal gives rows once it has run")
        if self.at >= len(self.outcome):
            self.at = 0
        end = min(len(self.outcome), self.at + most) if most > 0 else len(self.outcome)
        rows = self.outcome.rows(self.bound.results, self.at, end)
        self.at = end
        return rows, end < len(self.outcome)


@dataclass(slots=True)
class PortalShelf:
    """The prepared statements and portals of a connection, by name; the empty name may be given anew."""

    statements: dict[str, PreparedStatement] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def statement(self, name: str) -> PreparedStatement:
        """The prepared statement of that name."""
        if name not in self.statements:
            shown = f'"{name[:60]}"' if name else "without a name"
            raise WireFault("26000", f"prepared statement {shown} does not exist")
        return self.statements[name]

    def portal(self, name: str) -> Portal:
        """The portal, or cursor, of that name."""
        if name not in self.portals:
            raise WireFault("34000", f'portal "{name[:60]}" does not exist')
        return self.portals[name]

    def keep_statement(self, name: str, prepared: PreparedStatement) -> None:
        """Give a name to a statement."""
        if name and name in self.statements:
            raise WireFault("42P05", f'prepared statement "{name[:60]}" already exists')
        if len(self.statements) >= MOST:
            raise limit_fault(f"a connection keeps at most {MOST:,} prepared statements", "DEALLOCATE some")
        self.statements[name] = prepared

    def keep_portal(self, name: str, portal: Portal) -> None:
        """Give a name to a portal."""
        if name and name in self.portals:
            raise WireFault("42P03", f'cursor "{name[:60]}" already exists')
        if len(self.portals) >= MOST:
            raise limit_fault(f"a connection keeps at most {MOST:,} cursors", "CLOSE some")
        self.portals[name] = portal

    def end_transaction(self) -> None:
        """Portals end with their transaction, but for cursors that were declared WITH HOLD."""
        self.portals = {name: portal for name, portal in self.portals.items() if portal.holds}


_SAMPLES: dict[int, object] = {
    oids.BOOL: True,
    oids.DATE: date(2000, 1, 1),
    oids.TIMESTAMP: datetime(2000, 1, 1),  # noqa: DTZ001 - zoneless, as columns are
    oids.TIMESTAMPTZ: datetime(2000, 1, 1),  # noqa: DTZ001
}
_WHOLE = {oids.INT2, oids.INT4, oids.INT8, oids.OID}
_FRACTIONS = {oids.FLOAT4, oids.FLOAT8, oids.NUMERIC}


def samples(types: Sequence[int], texts: Mapping[int, str]) -> list[object]:
    """A value of each type: what stands in for parameters when columns are asked for before values are known.

    `texts` has, by index, a value of the public domain of the column that a parameter is held against: a text of no
    domain would be refused there. No two numbers are the same, for ends between which nothing lies are refused; and
    a fraction may be a share.
    """
    return [
        [_sample(oids.ELEMENTS[oid], index, texts.get(index, ""))]
        if oid in oids.ELEMENTS
        else _sample(oid, index, texts.get(index, ""))
        for index, oid in enumerate(types)
    ]


def _sample(oid: int, index: int, text: str) -> object:
    if oid in _WHOLE:
        return index + 1
    return 1 / (index + 1) if oid in _FRACTIONS else _SAMPLES.get(oid, text)


def with_statement(prepared: PreparedStatement, statement: Lexed) -> PreparedStatement:
    """A prepared statement of which only a part is left, such as the question of a cursor."""
    return replace(prepared, statement=statement, foreign=None, columns=None)
