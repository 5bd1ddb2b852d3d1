"""A question on the wire: priced or refused, asked once, and its answer with what it cost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from tacit.core import decimal_text
from tacit.curator import Explanation, Release, Session
from tacit.curator.forms.shape import ColumnShape
from tacit.errors import BudgetExceeded, EngineError, QueryRefused, TacitError
from tacit.faces.catalogue import Catalogue
from tacit.faces.server.wire.faults import UNCHARGED, WireFault
from tacit.faces.server.wire.framing import error_body
from tacit.faces.server.wire.language.lexer import Lexed
from tacit.faces.server.wire.language.routing import says_its_price
from tacit.faces.server.wire.language.texts import question_of
from tacit.faces.server.wire.outcome import Outcome, message
from tacit.faces.server.wire.settings import Settings
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.oids import WireColumn, oid_of
from tacit.policy import Policy
from tacit.sql import DefaultPrice, Parameters, Query, parse, says_explain
from tacit.sql.postprocessing.public_only import names_public_alone
from tacit.sql.postprocessing.synthetic import names_synthetic

PLAN_COLUMN = (WireColumn("QUERY PLAN", oids.TEXT),)
_NUMBERS = {"integer", "number"}


class AsksCurator(Protocol):
    """Whoever passes questions on to the curator: the hub of all doors."""

    @property
    def policy(self) -> Policy: ...  # noqa: D102
    @property
    def catalogue(self) -> Catalogue: ...  # noqa: D102

    async def ask(  # noqa: D102
        self, session: Session, sql: str, parameters: Parameters = (), *, request_id: str | None = None
    ) -> Release | Explanation: ...

    async def explain(self, session: Session, sql: str, parameters: Parameters = ()) -> Explanation: ...  # noqa: D102


Waits = Callable[[Awaitable[Release | Explanation]], Awaitable[Release | Explanation]]


@dataclass(slots=True)
class Questions:
    """The questions of one connection, in one analyst's name."""

    hub: AsksCurator
    analyst: str
    settings: Settings
    waits: Waits  # lets a question be cancelled
    spent: Fraction = field(default=Fraction(0))  # on plain SELECTs: no rollback gives it back

    async def columns(self, statement: Lexed, values: Parameters) -> tuple[WireColumn, ...]:
        """The columns of its answer: free, and without looking at a row."""
        text = question_of(statement, database=self.hub.catalogue.dataset)
        if says_explain(text):
            return PLAN_COLUMN
        explained = await self.hub.explain(self._nominal(), text, values)
        return self._columns(explained.computed or explained.outputs, explained.shapes)

    async def answer(
        self, statement: Lexed, values: Parameters, *, announced: tuple[WireColumn, ...] | None = None
    ) -> Outcome:
        """Its answer, in the types that were announced."""
        text = question_of(statement, database=self.hub.catalogue.dataset)
        if says_explain(text):
            explained = await self.hub.explain(self._session(), text, values)
            return Outcome("EXPLAIN", PLAN_COLUMN, [[line] for line in str(explained).splitlines()])
        release = await self._asked(statement, text, values)
        columns = self._columns(release.columns, release.shapes)
        if announced is not None and len(announced) != len(columns):
            raise EngineError(
                "what is computed from the answers failed on them, and other columns were announced",
                hint="it stays charged, and the answers are kept: ask for them without computing from them",
            )
        columns = announced or columns
        notices = (notice(release.footer(), detail="\n".join(release.notes)),) if self.settings.notices else ()
        return Outcome("SELECT {}", columns, self._cells(release), notices=notices)

    async def _asked(self, statement: Lexed, text: str, values: Parameters) -> Release:
        plain = not says_its_price(statement) and _is_plain(statement, text, values)
        plain = plain and not names_public_alone(parse(text, values), self.hub.policy)  # which nothing is charged for
        epsilon = self._reserve() if plain else Fraction(0)
        try:
            async with asyncio.timeout(self.settings.statement_timeout):
                answer = await self.waits(self.hub.ask(self._session(), text, values))
        except TimeoutError:
            raise WireFault(
                "57014",
                "canceling statement due to statement timeout",
                hint="a question that was begun stays charged; SET statement_timeout to more",
            ) from None
        except TacitError as error:
            if isinstance(error, UNCHARGED):
                self.spent -= epsilon
            raise
        if not isinstance(answer, Release):
            raise QueryRefused("the question has no answer but an explanation", hint="write EXPLAIN first")
        self.spent += answer.cost.epsilon - epsilon if plain else 0
        return answer

    def _reserve(self) -> Fraction:
        """The price of a plain SELECT, under the connection's cap."""
        epsilon = self.settings.epsilon
        if epsilon is None:
            raise QueryRefused(
                "a plain SELECT is refused: it has no price on this connection",
                hint="SET tacit.epsilon = 0.5, or write DP-SELECT 0.5 …",
            )
        if self.spent + epsilon > self.settings.most:
            left = decimal_text(max(self.settings.most - self.spent, Fraction(0)))
            raise BudgetExceeded(
                f"plain SELECTs of this connection may cost ε = {decimal_text(self.settings.most)}: {left} is left",
                hint="SET tacit.cap to more, or write DP-SELECT 0.5 …",
            )
        self.spent += epsilon
        return epsilon

    def _nominal(self) -> Session:
        """A session with some price: columns are the same at every one."""
        most = self.hub.policy.budget.max_epsilon
        return Session(self.analyst, self.settings.epsilon or min(most or Fraction(1), Fraction(1)))

    def _session(self) -> Session:
        return Session(self.analyst, self.settings.epsilon)

    def _columns(self, names: Sequence[str], shapes: Sequence[ColumnShape]) -> tuple[WireColumn, ...]:
        columns = []
        for name, shape in zip(names, shapes, strict=True):
            columns.append(WireColumn(name, oid_of(shape)))
            if self._has_ends(shape):
                columns += [WireColumn(f"{name}_{end}", oids.FLOAT8) for end in ("low", "high")]
        return tuple(columns)

    def _has_ends(self, shape: ColumnShape) -> bool:
        return self.settings.errors and shape.noisy and shape.kind in _NUMBERS

    def _cells(self, release: Release) -> list[list[object]]:
        """The rows; where ends are wanted, each noisy number is followed by those of its interval."""
        rows = []
        for row, errors in zip(release.rows, release.errors, strict=True):
            cells: list[object] = []
            for value, width, shape in zip(row, errors, release.shapes, strict=True):
                cells.append(_announced(value, shape))
                if self._has_ends(shape):
                    cells += [None, None] if value is None or width is None else [value - width, value + width]
            rows.append(cells)
        return rows


def _is_plain(statement: Lexed, text: str, values: Parameters) -> bool:
    """Whether it leaves its price to the connection. Without parameters its words alone say so."""

    def read() -> bool:
        return _takes_default(parse(text, values))

    return read() if values else statement.once("plain", read)


def _announced(value: object, shape: ColumnShape) -> object:
    """A cell of the kind that was announced: of an estimated count, which has decimals, the nearest whole number."""
    return round(value) if shape.kind == "integer" and isinstance(value, float) else value


def notice(said: str, *, detail: str = "") -> bytes:
    """A NoticeResponse, whole."""
    fields = {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": said, "D": detail}
    return message(b"N", error_body(fields))


def warning(sqlstate: str, said: str) -> bytes:
    """The same, of something that has no effect."""
    return message(b"N", error_body({"S": "WARNING", "V": "WARNING", "C": sqlstate, "M": said}))


def _takes_default(query: Query) -> bool:
    """Whether a statement costs what the connection says: what is asked of a released model costs nothing."""
    return isinstance(query.price, DefaultPrice) and not names_synthetic(query)
