"""What the chain says every account stands at: held against the accounts whenever one of them is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tacit.errors import LedgerError
from tacit.ledger.amounts import Spent
from tacit.ledger.entries.chain import Field, leaf, state
from tacit.ledger.entries.grain_totals import GrainTotals
from tacit.ledger.entries.links import ADVICE, Head
from tacit.ledger.entries.rows import Connection, Row

COLUMNS = ("dataset", "scope", "name", "span", "since", "epsilon", "delta", "rho", "slack", "grain", "grains")
Name = tuple[str, str, str]  # dataset, scope, name


@dataclass(frozen=True, slots=True)
class _Known:
    """The fields of an account, its hash, and what they say: two functions of the fields, whether they count or not."""

    fields: tuple[Field, ...]
    leaf: str
    spent: Spent


class Totals:
    """The hash of every account, as one entry sealed them. Remembered, so that a charge need not read them all.

    What is remembered belongs to the entry whose hash stands beside it: a transaction that is rolled back, or another
    process that charges meanwhile, leaves another entry at the end of the chain, and everything is read anew.
    """

    def __init__(self, leaves: Mapping[Name, str] | None = None) -> None:
        self._at: str | None = None  # the hash of the entry they belong to
        self.grains = GrainTotals()  # which remembers by itself what it belongs to
        self.leaves = dict(leaves or {})
        self._known: dict[Name, _Known] = {}

    def at(self, connection: Connection, head: Head) -> Totals:
        """These totals, as of `head`. Refused if the accounts are not those that it seals."""
        if self._at != head.hash:
            leaves = read_leaves(connection)
            if state(leaves.values()) != head.state:
                raise _changed()
            self._at, self.leaves = head.hash, leaves
        return self

    def check(self, name: Name, row: Row | None) -> Spent | None:
        """Refuse an account, or its absence, that is not the one that was sealed; what it says, if that is known."""
        fields = None if row is None else tuple(row[column] for column in COLUMNS)
        known = self._known.get(name)
        if known is not None and known.fields != fields:
            known = None
        said = known.leaf if known is not None else None if fields is None else leaf(fields)
        if said != self.leaves.get(name):
            raise _changed()
        return None if known is None else known.spent

    def after(self, changes: Mapping[Name, Sequence[Field]], spent: Mapping[Name, Spent]) -> Totals:
        """What they will be once these accounts have changed, by an entry that is still to be written."""
        leaves = {name: leaf(account) for name, account in changes.items()}
        for name, account in changes.items():
            self._known[name] = _Known(tuple(account), leaves[name], spent[name])
        return Totals(self.leaves | leaves)

    @property
    def state(self) -> str:
        """The hash of all accounts."""
        return state(self.leaves.values())

    def move(self, before: Head, after: Head, *, risen: Totals | None = None) -> None:
        """The entry `after` was written; if it was a charge, these have risen."""
        if self._at == before.hash:
            self._at = after.hash
            self.leaves = self.leaves if risen is None else risen.leaves


def read_leaves(connection: Connection) -> dict[Name, str]:
    """The hash of every account that is there."""
    rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM account")
    return {(row["dataset"], row["scope"], row["name"]): leaf([row[column] for column in COLUMNS]) for row in rows}


def _changed() -> LedgerError:
    return LedgerError(
        "the ledger cannot be trusted: what an account has spent is not what was sealed, or is malformed", hint=ADVICE
    )
