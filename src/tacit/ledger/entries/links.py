"""The chain as it is read: its end, or a stretch of it, with every link checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tacit.errors import LedgerError
from tacit.ledger.entries.chain import BEFORE_THE_FIRST, seal, state
from tacit.ledger.entries.rows import Connection, Row

ADVICE = "run `tacit ledger verify`"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry; `state` seals what every account stands at."""

    seq: int
    hash: str
    at: int
    state: str


BLANK = Head(-1, BEFORE_THE_FIRST, 0, state(()))


def head(connection: Connection) -> Head:
    """Where the chain ends. Its own seal is checked: what it says of the accounts is taken for the truth."""
    row = connection.execute("SELECT * FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    if row is None:
        return BLANK
    fields = checked(row)
    return Head(fields["seq"], fields["hash"], fields["at"], fields.get("state") or "")


def newest(connection: Connection) -> tuple[int, str]:
    """The number and the hash of the newest entry, as they stand there: for those who hold them against a mark."""
    row = connection.execute("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1").fetchone()
    return (BLANK.seq, BLANK.hash) if row is None else (row["seq"], row["hash"])


def checked(row: Row) -> dict[str, Any]:
    """The fields of an entry, if its hash fits them."""
    fields = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a row of SQLite iterates over its values
    if seal(fields) != fields["hash"]:
        raise LedgerError("the ledger cannot be trusted: an entry was changed", hint=ADVICE)
    return fields


def stretch(connection: Connection, *, since: int) -> Iterator[Row]:
    """The entries from `since` to the newest. Refuses a broken link, so that the newest vouches for all of them."""
    before: Row | None = None
    for row in connection.execute("SELECT * FROM entry WHERE seq >= ? ORDER BY seq", (since,)):
        follows = before is None or (row["seq"] == before["seq"] + 1 and row["prev"] == before["hash"])
        if not follows or seal(dict(row)) != row["hash"]:
            raise LedgerError("the ledger cannot be trusted: its chain is broken", hint=ADVICE)
        yield row
        before = row


def first_at(connection: Connection, at: int, *, end: int) -> int:
    """The first entry, of those up to `end`, that is not before `at`: times never run backwards. Unchecked."""
    low, high = 0, end + 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute("SELECT at FROM entry WHERE seq = ?", (middle,)).fetchone()
        if row is None or row["at"] >= at:
            high = middle
        else:
            low = middle + 1
    return low
