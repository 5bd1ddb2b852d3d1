"""Runs one statement of a connection: by the curator, the catalogue, or the connection itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tacit.errors import QueryRefused, QuerySyntaxError
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.language.probes import is_probe
from tacit.faces.server.wire.language.routing import Route, relations, route
from tacit.faces.server.wire.language.texts import parameter_columns, parameter_types, unit_parameters
from tacit.faces.server.wire.outcome import NO_DATA, Outcome, row_description
from tacit.faces.server.wire.portals import (
    NOTHING_BOUND,
    Bound,
    Foreign,
    Portal,
    PortalShelf,
    PreparedStatement,
    samples,
)
from tacit.faces.server.wire.questions import Questions
from tacit.faces.server.wire.settings import Settings
from tacit.faces.server.wire.transactions import Transaction
from tacit.policy import ListDomain
from tacit.policy.reading.names import fold

_MOST_TEXTS, _LONGEST_TEXT = 16, 10_000  # messages whose words a connection remembers
QUESTIONS = {"select", "with", "values", "table", "explain", "dp", "("}

# fmt: off
_REFUSED = {
    "insert", "update", "delete", "merge", "create", "alter", "drop", "truncate", "grant", "revoke", "comment", "call",
    "do", "lock", "vacuum", "analyze", "cluster", "reindex", "checkpoint", "listen", "notify", "load", "import",
    "security", "refresh", "reassign",
}
# fmt: on


class AnswersCatalogue(Protocol):
    """Whoever answers statements that read no table of the policy."""

    async def query(self, statement: Lexed) -> Outcome:
        """Answer a statement as it stands."""

    async def prepare(self, statement: Lexed, types: tuple[int, ...]) -> Foreign:
        """Learn its parameters and columns."""

    async def execute(self, foreign: Foreign, bound: Bound) -> Outcome:
        """Answer a prepared statement."""

    async def put(self, name: str, value: str) -> None:
        """Take over a setting that changes how it answers."""


Command = Callable[["Executor", PreparedStatement, Bound], Awaitable[Outcome]]


@dataclass(slots=True)
class Executor:
    """All that one connection has: its settings, its transaction, its statements, and whom it may ask."""

    questions: Questions
    catalogue: AnswersCatalogue
    settings: Settings
    commands: Mapping[str, Command]
    shelf: PortalShelf = field(default_factory=PortalShelf)
    transaction: Transaction = field(default_factory=Transaction)
    _texts: OrderedDict[str, list[Lexed]] = field(default_factory=OrderedDict)

    def remembered(self, written: str, read: Callable[[str], list[Lexed]]) -> list[Lexed]:
        """The statements of a message, read once for each of the last few texts.

        By this connection alone: how fast a text is read tells nobody what others have asked.
        """
        statements = self._texts.pop(written, None)
        if statements is None:
            statements = read(written)
        if len(written) <= _LONGEST_TEXT:
            self._texts[written] = statements
            if len(self._texts) > _MOST_TEXTS:
                self._texts.popitem(last=False)
        return statements

    async def prepare(self, statement: Lexed, given: tuple[int, ...] = ()) -> PreparedStatement:
        """Find out who answers a statement, and the types of its parameters. Costs nothing."""
        first = _first(statement)
        if first in self.commands or not first:
            return PreparedStatement(statement, None, parameter_types(statement, given, self._columns(statement)))
        if first not in QUESTIONS:
            kind = QueryRefused if first in _REFUSED else QuerySyntaxError
            raise kind(
                f"{first.upper()[:40]} is refused: only questions are answered", hint="write DP-SELECT 0.5 … FROM …"
            )
        routed = route(statement, self._names)
        if routed is Route.MIXED:
            raise QueryRefused(
                "a question about the catalogue and the data at once is refused", hint="ask about each on its own"
            )
        if routed is Route.CURATOR:
            return PreparedStatement(statement, routed, parameter_types(statement, given, self._columns(statement)))
        return PreparedStatement(statement, routed, given)

    async def run(self, prepared: PreparedStatement, bound: Bound = NOTHING_BOUND) -> Outcome:
        """What the statement comes to. A question is asked, and charged, once."""
        first = _first(prepared.statement)
        self.transaction.check(first, prepared.statement)
        if prepared.route is None:
            return await self.commands[first](self, prepared, bound) if first else Outcome("")
        if prepared.route is Route.CURATOR:
            return await self._question(prepared, bound)
        if not prepared.foreign and not bound.values and not bound.results:
            return await self.catalogue.query(prepared.statement)
        return await self.catalogue.execute(await self.foreign(prepared), bound)

    async def _question(self, prepared: PreparedStatement, bound: Bound) -> Outcome:
        values = bound.decoded(prepared.types)
        if is_probe(prepared.statement, values):  # what can have no row is not asked, and costs nothing
            columns = await self.described(prepared)
            return Outcome("SELECT {}", prepared.columns, description=None if prepared.columns else columns, raw=None)
        return await self.questions.answer(prepared.statement, values, announced=prepared.columns)

    async def foreign(self, prepared: PreparedStatement) -> Foreign:
        """The statement as the catalogue knows it, prepared there when it is first needed."""
        if prepared.foreign is None:
            prepared.foreign = await self.catalogue.prepare(prepared.statement, prepared.types)
            prepared.types = prepared.foreign.types
        return prepared.foreign

    async def described(
        self, prepared: PreparedStatement, results: tuple[int, ...] = (), *, bound: Bound | None = None
    ) -> bytes:
        """RowDescription or NoData of a statement that has not run. Costs nothing, whoever answers it.

        Where no values are `bound` to its parameters yet, others of their types stand for them.
        """
        if prepared.route is Route.CATALOGUE:
            return (await self.foreign(prepared)).description
        if prepared.route is None:
            return await self._command_described(prepared, results)
        if prepared.columns is None:
            try:
                values = samples(prepared.types, self._public_texts(prepared.statement))
                values = values if bound is None else bound.decoded(prepared.types)
                prepared.columns = await self.questions.columns(prepared.statement, values)
            except QueryRefused:
                if not is_probe(prepared.statement):
                    raise
                return (await self.catalogue.prepare(prepared.statement, prepared.types)).description
        return row_description(prepared.columns, results)

    async def _command_described(self, prepared: PreparedStatement, results: tuple[int, ...]) -> bytes:
        first, statement = _first(prepared.statement), prepared.statement
        if first == "show":
            return (await self.run(prepared)).described(results)
        if first == "fetch" and statement.tokens[-1].value in self.shelf.portals:
            portal = self.shelf.portals[statement.tokens[-1].value]
            return NO_DATA if portal.outcome is None else portal.outcome.described(results)
        if first == "execute" and len(statement.tokens) > 1:
            return await self.described(self.shelf.statement(statement.tokens[1].value), results)
        return NO_DATA

    async def run_portal(self, portal: Portal) -> Outcome:
        """What the portal's statement came to: it runs once."""
        if portal.outcome is None:
            portal.outcome = await self.run(portal.prepared, portal.bound)
        else:
            self.transaction.check(_first(portal.prepared.statement), portal.prepared.statement)
        return portal.outcome

    @property
    def _names(self) -> set[str]:
        """The tables and views of the policy that is in force, folded."""
        policy = self.questions.hub.policy
        return {fold(table.name) for table in policy.tables} | {fold(view.name) for view in policy.views}

    def _columns(self, statement: Lexed) -> dict[str, str]:
        """The kinds of the columns of all tables that a statement with parameters names, by name."""
        if not any(token.kind is Lexeme.PARAMETER for token in statement.tokens):
            return {}
        named = {each.name for each in relations(statement)}
        tables = [table for table in self.questions.hub.catalogue if fold(table.name) in named]
        return {fold(column.name): column.type for table in tables for column in table.columns}

    def _public_texts(self, statement: Lexed) -> dict[int, str]:
        """A public value of the column that each parameter is held against, where it has a list of them; or a unit."""
        named = {each.name for each in relations(statement)}
        tables = [table for table in self.questions.hub.policy.tables if fold(table.name) in named]
        domains = {fold(column.name): column.domain for table in tables for column in table.columns}
        lists = {name: domain.values for name, domain in domains.items() if isinstance(domain, ListDomain)}
        columns = parameter_columns(statement)
        units = dict.fromkeys(unit_parameters(statement), "day")
        return {index: str(lists[name][0]) for index, name in columns.items() if lists.get(name)} | units


def _first(statement: Lexed) -> str:
    """The word that a statement begins with."""
    token: Token | None = statement.tokens[0] if statement.tokens else None
    return "" if token is None else token.value
