r"""What psql asks for \dt and \d without a twin: three statements, known by their words, and many that have no row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacit.faces.catalogue import Catalogue, CatalogueTable
from tacit.faces.server.wire.catalog.information import TYPES
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme
from tacit.faces.server.wire.language.routing import relations
from tacit.faces.server.wire.outcome import Outcome, table
from tacit.faces.server.wire.values import oids
from tacit.faces.server.wire.values.oids import WireColumn

_FIRST_OID = 16_384
# of what a public schema has none: an inner join with one of them has no row
_EMPTY = {
    "pg_constraint", "pg_index", "pg_inherits", "pg_policy", "pg_publication", "pg_publication_rel", "pg_rewrite",
    "pg_statistic_ext", "pg_trigger", "pg_foreign_table", "pg_publication_namespace", "pg_partitioned_table",
}  # fmt: skip
_LISTED = re.compile(r"c\.relkind IN \('r','p'")
_FOUND = re.compile(r"SELECT c\.oid,\s+n\.nspname,\s+c\.relname\s+FROM pg_catalog\.pg_class c")
_ABOUT = re.compile(r"SELECT c\.relchecks, c\.relkind.*WHERE c\.oid = '(\d+)'", re.DOTALL)
_COLUMNS = re.compile(r"SELECT a\.attname,\s+pg_catalog\.format_type.*WHERE a\.attrelid = '(\d+)'", re.DOTALL)


def answered(statement: Lexed, catalogue: Catalogue) -> Outcome | None:
    """The answer; None for a statement that is none of psql's."""
    written = statement.text
    if _LISTED.search(written) and '"Owner"' in written:
        rows = [("public", each.name, "table", "curator") for each in _sorted(catalogue, _pattern(statement))]
        return table("SELECT {}", ("Schema", "Name", "Type", "Owner"), rows)
    if _FOUND.search(written):
        tables = _sorted(catalogue, _pattern(statement))
        names = [each.name for each in catalogue]
        listed = [(names.index(each.name) + _FIRST_OID, "public", each.name) for each in tables]
        columns = (WireColumn("oid", oids.INT8), WireColumn("nspname", oids.TEXT), WireColumn("relname", oids.TEXT))
        return Outcome("SELECT {}", columns, listed)
    return _described(statement, catalogue)


def _described(statement: Lexed, catalogue: Catalogue) -> Outcome | None:
    r"""The statements of \d about one table, by the number that it was given."""
    labels = _labels(statement)
    about, columns = _ABOUT.search(statement.text), _COLUMNS.search(statement.text)
    if about is not None and _table(catalogue, about[1]) is not None:
        known = {"relchecks": "0", "relkind": "r", "relpersistence": "p", "relreplident": "d", "amname": "heap"}
        known |= {"reltablespace": "0"} | dict.fromkeys(labels[11:12], "")
        return table("SELECT {}", labels, [[known.get(label, "f") for label in labels]])
    described = None if columns is None else _table(catalogue, columns[1])
    if described is not None:
        cells = [
            {"attname": c.name, "format_type": TYPES.get(c.type, "text"), "attnotnull": "f"} for c in described.columns
        ]
        ends = {"attidentity": "", "attgenerated": ""}
        return table("SELECT {}", labels, [[(cell | ends).get(label) for label in labels] for cell in cells])
    named = {each.name for each in relations(statement)}
    if named & _EMPTY and not any(token.says("left", "count") for token in statement.tokens):
        return table("SELECT {}", labels, [])
    return None


def _sorted(catalogue: Catalogue, pattern: str | None) -> list[CatalogueTable]:
    tables = [each for each in catalogue if pattern is None or each.name == pattern]
    return sorted(tables, key=lambda each: each.name)


def _pattern(statement: Lexed) -> str | None:
    r"""The name in ^(visits)$, as \d writes it; None where all are meant."""
    texts = [token.value for token in statement.tokens if token.kind is Lexeme.STRING]
    return next((text[2:-2] for text in texts if text.startswith("^(") and text.endswith(")$")), None)


def _table(catalogue: Catalogue, number: str) -> CatalogueTable | None:
    index = int(number[:9]) - _FIRST_OID
    return catalogue.tables[index] if 0 <= index < len(catalogue.tables) else None


def _labels(statement: Lexed) -> Sequence[str]:
    """What the selected columns are called: the last name of each, or of the function it is."""
    labels, depth, name = [], 0, ""
    for token in statement.tokens[1:]:
        depth += 1 if token.says("(") else 0
        if depth == 0 and token.says(",", "from"):
            labels.append(name or "?column?")
            name = ""
            if token.says("from"):
                break
        elif depth == 0 and token.is_name:
            name = token.value
        depth -= 1 if token.says(")") else 0
    return labels
