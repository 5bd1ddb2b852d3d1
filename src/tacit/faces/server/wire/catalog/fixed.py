"""The catalogue without a twin: what clients ask when they connect, the tables, and their columns. Nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.errors import QueryRefused
from tacit.faces.catalogue import Catalogue
from tacit.faces.server.wire.catalog import psql_queries
from tacit.faces.server.wire.catalog.information import answered
from tacit.faces.server.wire.catalog.schema import VERSION_TEXT
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.language.probes import is_probe, table_of
from tacit.faces.server.wire.language.routing import unknown_table
from tacit.faces.server.wire.outcome import Outcome
from tacit.faces.server.wire.portals import NOTHING_BOUND, Bound, Foreign, samples
from tacit.faces.server.wire.settings import Settings
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.oids import WireColumn
from tacit.policy.reading.names import fold

_OIDS = {
    "integer": oids.INT8,
    "number": oids.FLOAT8,
    "boolean": oids.BOOL,
    "date": oids.DATE,
    "timestamp": oids.TIMESTAMP,
}
HINT = "the curator can have all of them answered: pip install 'tacit[twin]' where the server runs"


@dataclass(frozen=True, slots=True)
class FixedStatement:
    """A statement that can be answered, and its columns."""

    statement: Lexed
    types: tuple[int, ...]
    description: bytes


@dataclass(frozen=True, slots=True)
class FixedCatalogue:
    """Answers a few statements by their words."""

    catalogue: Catalogue
    analyst: str
    settings: Settings

    async def query(self, statement: Lexed) -> Outcome:
        """The answer, or a refusal that says what is missing."""
        return self._answer(statement, ())

    async def prepare(self, statement: Lexed, types: tuple[int, ...]) -> Foreign:
        """The columns of an answer, whatever its parameters, which are texts."""
        numbers = [int(token.value) for token in statement.tokens if token.kind is Lexeme.PARAMETER]
        known = tuple(types[:1000]) + (oids.TEXT,) * (min(max(numbers, default=0), 1000) - len(types))
        known = tuple(oid or oids.TEXT for oid in known)
        return FixedStatement(statement, known, self._answer(statement, samples(known, {})).described(()))

    async def execute(self, foreign: Foreign, bound: Bound) -> Outcome:
        """The answer, with the values of its parameters."""
        if not isinstance(foreign, FixedStatement):
            raise WireFault("26000", "prepared statement does not exist")
        return self._answer(foreign.statement, (bound or NOTHING_BOUND).decoded(foreign.types))

    async def put(self, name: str, value: str) -> None:
        """Settings change nothing here."""

    def _answer(self, statement: Lexed, values: Sequence[object]) -> Outcome:
        answer = (
            self._constants(statement)
            or answered(statement, self.catalogue, values)
            or psql_queries.answered(statement, self.catalogue)
            or _no_such_types(statement)
            or self._empty_table(statement)
        )
        if answer is None:
            unknown = unknown_table(statement)
            if unknown is not None and not any(fold(table.name) == unknown for table in self.catalogue):
                known = ", ".join(table.name for table in self.catalogue)
                raise WireFault("42P01", f'relation "{unknown[:60]}" does not exist', hint=f"there is {known[:500]}")
            raise QueryRefused("this server answers few questions about its catalogue", hint=HINT)
        return answer

    def _empty_table(self, statement: Lexed) -> Outcome | None:
        """The columns of a table, where no row of it is wanted."""
        probed = table_of(statement) if is_probe(statement) else None
        table = None if probed is None else next((t for t in self.catalogue if fold(t.name) == fold(probed[0])), None)
        if probed is None or table is None:
            return None
        known = {fold(column.name): column for column in table.columns}
        wanted = tuple(known) if probed[1] is None else tuple(map(fold, probed[1]))
        if not set(wanted) <= known.keys():
            return None
        columns = [WireColumn(known[name].name, _OIDS.get(known[name].type, oids.TEXT)) for name in wanted]
        return Outcome("SELECT {}", tuple(columns))

    def _constants(self, statement: Lexed) -> Outcome | None:
        """SELECT of constants, and of what describes the session."""
        if statement.word(0) != "select":
            return None
        found = [self._constant(tokens) for tokens in _listed(statement.tokens[1:])]
        known = [each for each in found if each is not None]
        if len(known) != len(found):
            return None
        return Outcome("SELECT {}", tuple(column for column, _ in known), [[value for _, value in known]])

    def _constant(self, tokens: Sequence[Token]) -> tuple[WireColumn, int | str | None] | None:
        """One constant with its column, whatever that is called; None where it is none."""
        if len(tokens) > 2 and tokens[-2].says("as") and tokens[-1].is_name:
            named = self._constant(tokens[:-2])
            return None if named is None else (WireColumn(tokens[-1].value, named[0].oid), named[1])
        if len(tokens) == 1 and tokens[0].kind is Lexeme.NUMBER and tokens[0].value.isdigit():
            return WireColumn("?column?", oids.INT4), int(tokens[0].value[:9])
        return self._session_function(tokens)

    def _session_function(self, tokens: Sequence[Token]) -> tuple[WireColumn, str | None] | None:
        known: dict[str, Callable[[], str | None]] = {
            "version": lambda: VERSION_TEXT,
            "current_schema": lambda: "public",
            "current_database": lambda: self.catalogue.dataset,
            "current_catalog": lambda: self.catalogue.dataset,
            "current_user": lambda: self.analyst,
            "session_user": lambda: self.analyst,
            "user": lambda: self.analyst,
            "pg_advisory_unlock_all": lambda: None,
        }
        name = tokens[0].value if tokens else ""
        if name == "current_setting" and len(tokens) == 4 and tokens[2].kind is Lexeme.STRING:
            return WireColumn(name, oids.TEXT), self.settings.get(tokens[2].value)
        if name not in known or any(not token.says("(", ")") for token in tokens[1:]):
            return None
        return WireColumn(name, oids.TEXT), known[name]()


def _listed(tokens: Sequence[Token]) -> list[list[Token]]:
    """What is selected, one by one; the schema of PostgreSQL's own functions is left out."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.says(","):
            parts.append([])
        elif not token.says("pg_catalog", "."):
            parts[-1].append(token)
    return parts


_LOOKED_UP = ({"to_regtype"}, {"typname", "hstore"}, {"typcategory", "typelem", "A"})
_TEXTS = {"name", "regtype", "delimiter", "typname"}


def _no_such_types(statement: Lexed) -> Outcome | None:
    """What drivers ask when they connect: a type by its name, or the arrays there are; of extensions there are none."""
    words = [token.value for token in statement.tokens]
    is_one = statement.word(0) == "select" and words.count("select") == 1 and "pg_type" in words
    if not is_one or not any(wanted <= set(words) for wanted in _LOOKED_UP):
        return None
    columns, last = [], ""
    for token in statement.tokens[1:]:
        if token.says(",", "from"):
            columns.append(WireColumn(last, oids.TEXT if last in _TEXTS else oids.OID))
        if token.says("from"):
            return Outcome("SELECT {}", tuple(columns))
        last = token.value
    return None
