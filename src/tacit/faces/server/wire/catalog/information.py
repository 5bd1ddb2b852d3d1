"""information_schema.tables and columns, and pg_tables, without a twin: plain columns, plain conditions, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tacit.faces.catalogue import Catalogue
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.outcome import Outcome
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.oids import WireColumn

TYPES = {
    "integer": "bigint",
    "number": "double precision",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp without time zone",
}
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Condition:
    """A column that is, or is not, one of some values; a pattern where it is LIKE."""

    column: str
    values: tuple[object, ...]
    negated: bool = False
    pattern: bool = False

    def holds(self, row: Row) -> bool:
        value = str(row[self.column])
        if self.pattern:
            fits = any(re.fullmatch(_pattern(str(each)), value, re.DOTALL) for each in self.values)
        else:
            fits = value in map(str, self.values)
        return fits != self.negated


class _Unknown(Exception):
    """A statement that is more than this reads."""


def answered(statement: Lexed, catalogue: Catalogue, values: Sequence[object]) -> Outcome | None:
    """The answer; None for a statement that is about something else, or is more than this reads."""
    try:
        return _answer(statement.tokens, catalogue, values)
    except (_Unknown, IndexError):
        return None


def _answer(tokens: Sequence[Token], catalogue: Catalogue, values: Sequence[object]) -> Outcome:
    words = [token.value if token.kind is Lexeme.WORD else "" for token in tokens]
    if words[0] != "select" or "from" not in words:
        raise _Unknown
    start = words.index("from")
    where = words.index("where") if "where" in words else len(tokens)
    order = words.index("order") if "order" in words else len(tokens)
    table = [token.value for token in tokens[start + 1 : min(where, order)]]
    rows = _rows(table, catalogue)
    names = list(rows[0] if rows else {})
    columns = list(_columns(tokens[1:start], names))
    conditions = list(_conditions(tokens[where + 1 : order], names, values))
    kept = [row for row in rows if all(condition.holds(row) for condition in conditions)]
    for name in reversed(list(_order(tokens[order:], [column for column, _ in columns], names))):
        kept.sort(key=lambda row: (str(type(row[name])), row[name]))
    described = tuple(WireColumn(label, _oid(rows[0][column])) for column, label in columns)
    return Outcome("SELECT {}", described, [[row[column] for column, _ in columns] for row in kept])


def _oid(value: object) -> int:
    return oids.INT4 if isinstance(value, int) else oids.TEXT


def _rows(table: Sequence[str], catalogue: Catalogue) -> list[dict[str, object]]:
    """The rows of the view that FROM names, and an alias at most."""
    path = tuple(word for word in table[:3] if word != ".")
    extra = [word for word in table[len(path) * 2 - 1 :] if word != "as"]
    known = {
        ("information_schema", "tables"): _tables,
        ("information_schema", "columns"): _all_columns,
        ("pg_catalog", "pg_tables"): _pg_tables,
        ("pg_tables",): _pg_tables,
    }
    path = path if path in known else path[:1]
    if path not in known or len(extra) > 1:
        raise _Unknown
    return list(known[path](catalogue))


def _tables(catalogue: Catalogue) -> Iterator[dict[str, object]]:
    for table in catalogue:
        yield {
            "table_catalog": catalogue.dataset,
            "table_schema": "public",
            "table_name": table.name,
            "table_type": "BASE TABLE",
            "is_insertable_into": "NO",
        }


def _pg_tables(catalogue: Catalogue) -> Iterator[dict[str, object]]:
    for table in catalogue:
        yield {"schemaname": "public", "tablename": table.name, "tableowner": "curator"}


def _all_columns(catalogue: Catalogue) -> Iterator[dict[str, object]]:
    for table in catalogue:
        for position, column in enumerate(table.columns, start=1):
            yield {
                "table_catalog": catalogue.dataset,
                "table_schema": "public",
                "table_name": table.name,
                "column_name": column.name,
                "ordinal_position": position,
                "column_default": None,
                "is_nullable": "YES",
                "data_type": TYPES.get(column.type, "text"),
            }


def _columns(tokens: Sequence[Token], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each column that is selected, and what it is called."""
    if [token.value for token in tokens] == ["*"]:
        yield from ((name, name) for name in names)
        return
    for part in _split(tokens, ","):
        words = _unqualified(part)
        if not words or words[0].value not in names:
            raise _Unknown
        rest = [word for word in words[1:] if not word.says("as")]
        if len(rest) > 1 or any(not word.is_name for word in rest):
            raise _Unknown
        yield words[0].value, rest[0].value if rest else words[0].value


def _conditions(tokens: Sequence[Token], names: Sequence[str], values: Sequence[object]) -> Iterator[_Condition]:
    """Conditions with AND between them: column = value, <>, LIKE, [NOT] IN (…)."""
    for part in _split(tokens, "and") if tokens else ():
        words = _unqualified(part)
        negated = any(word.says("not", "<>", "!=") for word in words[1:])
        signs = [word.value for word in words[1:] if not word.is_name or word.says("in", "like")]
        constants = tuple(_value(word, values) for word in words[1:] if word.kind in _CONSTANTS)
        one = next((sign for sign in signs if sign in {"=", "<>", "!=", "like", "in"}), None)
        if words[0].value not in names or one is None or not constants or (one != "in" and len(constants) > 1):
            raise _Unknown
        if any(word.is_name and not word.says("in", "like", "not") for word in words[1:]):
            raise _Unknown
        yield _Condition(words[0].value, constants, negated, one == "like")


_CONSTANTS = {Lexeme.STRING, Lexeme.NUMBER, Lexeme.PARAMETER}


def _value(token: Token, values: Sequence[object]) -> object:
    return values[int(token.value) - 1] if token.kind is Lexeme.PARAMETER else token.value


def _order(tokens: Sequence[Token], selected: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    if not tokens:
        return
    if len(tokens) < 3 or not tokens[1].says("by"):
        raise _Unknown
    for part in _split(tokens[2:], ","):
        words = [word for word in _unqualified(part) if not word.says("asc")]
        if len(words) != 1:
            raise _Unknown
        name = selected[int(words[0].value) - 1] if words[0].kind is Lexeme.NUMBER else words[0].value
        if name not in names:
            raise _Unknown
        yield name


def _split(tokens: Sequence[Token], sign: str) -> Iterator[list[Token]]:
    """The parts between commas or ANDs that stand in no parentheses."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += 1 if token.says("(") else (-1 if token.says(")") else 0)
        if token.says(sign) and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _unqualified(tokens: Sequence[Token]) -> list[Token]:
    """A part without the alias before its column."""
    has_alias = len(tokens) > 2 and tokens[1].says(".")
    return list(tokens[2:] if has_alias else tokens)


def _pattern(like: str) -> str:
    return "".join(".*" if mark == "%" else ("." if mark == "_" else re.escape(mark)) for mark in like)
