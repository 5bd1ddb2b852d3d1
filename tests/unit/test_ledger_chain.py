"""The chain: one hash for one entry."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest

from tacit.errors import LedgerError
from tacit.ledger.entries.book import append
from tacit.ledger.entries.chain import SEALED, Field, canonical, digest, leaf, seal, state
from tacit.ledger.entries.links import Head
from tacit.ledger.entries.totals import COLUMNS
from tacit.ledger.schema import TABLES

ENTRY: dict[str, Field] = {name: f"value of {name}" for name in SEALED} | {"seq": 4, "at": 5, "charge": None}
FIRST: dict[str, Field] = ENTRY | {"asked": None, "state": ""}  # as the first format wrote it


@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("value", ["other", 0, 1, None, ""])
def test_every_field_is_sealed(name: str, value: Field) -> None:
    assert seal(ENTRY | {name: value}) != seal(ENTRY) or ENTRY[name] == value


def test_the_hash_of_an_entry_never_changes_its_meaning() -> None:
    # A ledger outlives its program: if a value has to change, so has the format's number, and a migration is due.
    assert seal(ENTRY) == "995a5aa75abac1873dcfe11c60aff1dc75bf86c7be4f56a73a355538c9b6be5f"
    assert seal(FIRST) == "08137733b5f0fd71a7abffd57b0c73fdc09b267dac74a4ff3d617d5c4c2ea098"


@pytest.mark.parametrize("name", SEALED)
def test_no_field_of_an_entry_of_the_first_format_can_be_changed_or_added(name: str) -> None:
    assert seal(FIRST | {name: "other"}) != seal(FIRST)


def test_the_encoding_is_ascii_and_sorted() -> None:
    assert canonical({"b": "é", "a": None}) == b'{"a":null,"b":"\\u00e9"}'


def test_every_column_of_an_entry_is_sealed() -> None:
    assert _unsealed(TABLES) == {"hash"}  # which is the seal


def test_a_column_that_nobody_seals_would_be_noticed() -> None:
    planted = [statement.replace("note TEXT,", "note TEXT, refund TEXT,") for statement in TABLES]
    assert _unsealed(planted) == {"hash", "refund"}


def _unsealed(tables: Sequence[str]) -> set[str]:
    """The columns of an entry, as the database itself lists them, that can be changed without changing its hash."""
    connection = sqlite3.connect(":memory:")
    for statement in tables:
        connection.execute(statement)
    columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(entry)")}
    connection.close()
    return {name for name in columns if seal(ENTRY | {name: "another"}) == seal(ENTRY)}


def test_every_column_of_an_account_is_sealed() -> None:
    connection = sqlite3.connect(":memory:")
    for statement in TABLES:
        connection.execute(statement)
    columns = [str(row[1]) for row in connection.execute("PRAGMA table_info(account)")]
    connection.close()
    assert columns == list(COLUMNS)
    account = [f"value of {name}" for name in COLUMNS]
    for place in range(len(columns)):
        assert leaf([*account[:place], "other", *account[place + 1 :]]) != leaf(account)


def test_the_state_seals_every_account_and_no_order() -> None:
    one, two = leaf(["a"]), leaf(["b"])
    assert state([one, two]) == state([two, one])
    assert len({state([]), state([one]), state([two]), state([one, two]), state([one, one])}) == 5


def test_a_digest_tells_keys_from_answers() -> None:
    assert len({digest(("a", "b"), b"c"), digest(("ab",), b"c"), digest(("a",), b"bc"), digest(("b", "a"), b"c")}) == 4


def test_values_that_are_equal_and_of_other_types_have_other_seals() -> None:
    one, true, float_one = (seal(ENTRY | {"seq": value}) for value in (1, True, 1.0))
    assert len({one, true, float_one}) == 3  # asked one after another: what is remembered of one is not the others'
    assert seal(ENTRY | {"seq": 1}) == one


def test_nothing_is_written_after_an_entry_of_the_first_format_that_would_seal_no_totals() -> None:
    with pytest.raises(LedgerError, match="written by an older version"):
        append(sqlite3.connect(":memory:"), "open", now=0, last=Head(0, seal(FIRST), 0, ""))
