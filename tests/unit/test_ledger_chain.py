"""The chain: one hash for one entry."""

from __future__ import annotations

import pytest

from tacit.ledger.chain import SEALED, Field, canonical, digest, seal
from tacit.ledger.schema import TABLES

ENTRY: dict[str, Field] = {name: f"value of {name}" for name in SEALED} | {"seq": 4, "at": 5, "charge": None}


@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("value", ["other", 0, 1, None, ""])
def test_every_field_is_sealed(name: str, value: Field) -> None:
    assert seal(ENTRY | {name: value}) != seal(ENTRY) or ENTRY[name] == value


def test_the_hash_of_an_entry_never_changes_its_meaning() -> None:
    # A ledger outlives its program: if this value has to change, so has the format's number, and a migration is due.
    assert seal(ENTRY) == "08137733b5f0fd71a7abffd57b0c73fdc09b267dac74a4ff3d617d5c4c2ea098"


def test_the_encoding_is_ascii_and_sorted() -> None:
    assert canonical({"b": "é", "a": None}) == b'{"a":null,"b":"\\u00e9"}'


def test_every_column_of_an_entry_is_sealed() -> None:
    entry = next(table for table in TABLES if table.startswith("CREATE TABLE entry"))
    for name in SEALED:
        assert f" {name} " in entry.replace("\n", " ")


def test_a_digest_tells_keys_from_answers() -> None:
    assert len({digest(("a", "b"), b"c"), digest(("ab",), b"c"), digest(("a",), b"bc"), digest(("b", "a"), b"c")}) == 4
