"""How many grains each account has been charged, counted from the sealed entries: for accounts that do not say so yet.

A price in grains depends on nothing but a charge's (ε, δ) and the size of the grain. So what was charged by an older
ledger, under another cap or in grains of another size, counts like everything else: it is counted once, and from then
on the account says it. What was counted is remembered with the entry it was counted up to, and read on from there;
every link is checked on the way, so that the newest entry vouches for all that was counted.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction

from tacit.accounting import grains_for
from tacit.core import Loss
from tacit.errors import LedgerError
from tacit.ledger.amounts import from_text
from tacit.ledger.entries.chain import BEFORE_THE_FIRST
from tacit.ledger.entries.links import ADVICE, Head, stretch
from tacit.ledger.entries.rows import Connection, Row

Name = tuple[str, str, str]  # dataset, scope, name


class GrainTotals:
    """The grains of every account, for each size of grain that was asked for."""

    def __init__(self) -> None:
        self._counts: dict[Fraction, _Count] = {}

    def spent(self, connection: Connection, head: Head, name: Name, *, grain: Fraction, since: int) -> int:
        """What an account was charged from `since` on, up to `head`, which must be the newest entry there."""
        count = self._counts.get(grain)
        if count is None or not count.leads_to(connection, head):
            count = self._counts[grain] = _Count(grain)
        count.read_on(connection, head)
        return count.spent(name, since)


class _Count:
    """The charges of a chain up to one entry: of each account when, and how much in all until then."""

    def __init__(self, grain: Fraction) -> None:
        self._grain = grain
        self._seq, self._hash = -1, BEFORE_THE_FIRST
        self._times: dict[Name, list[int]] = {}
        self._sums: dict[Name, list[int]] = {}

    def leads_to(self, connection: Connection, head: Head) -> bool:
        """Whether the entry that was counted last is still there: a charge that is rolled back leaves another."""
        if self._seq < 0 or (self._seq, self._hash) == (head.seq, head.hash):
            return True
        row = connection.execute("SELECT hash FROM entry WHERE seq = ?", (self._seq,)).fetchone()
        return row is not None and self._seq < head.seq and row["hash"] == self._hash

    def read_on(self, connection: Connection, head: Head) -> None:
        """Count what came after. The newest entry that is read must be `head`, and nothing before it be missing."""
        if (self._seq, self._hash) == (head.seq, head.hash):
            return
        for row in stretch(connection, since=max(0, self._seq)):
            if row["seq"] == self._seq:
                continue  # counted before, and its hash is the one that was: `leads_to`
            if row["seq"] != self._seq + 1 or row["prev"] != self._hash:
                raise _broken()
            if row["act"] == "charge":
                self._add(row)
            self._seq, self._hash = row["seq"], row["hash"]  # with every entry, so that none is counted twice
        if (self._seq, self._hash) != (head.seq, head.hash):
            raise _broken()

    def _add(self, row: Row) -> None:
        loss = Loss(from_text(row["epsilon"]), from_text(row["delta"]))
        rho = None if row["rho"] is None else from_text(row["rho"])
        count = grains_for(loss, self._grain, rho=rho).count
        for name in _accounts(row):
            sums = self._sums.setdefault(name, [0])
            sums.append(sums[-1] + count)
            self._times.setdefault(name, []).append(row["at"])

    def spent(self, name: Name, since: int) -> int:
        """What the account was charged from `since` on: times never run backwards."""
        sums = self._sums.get(name, [0])
        return sums[-1] - sums[bisect_left(self._times.get(name, []), since)]


def _accounts(row: Row) -> Iterator[Name]:
    yield row["dataset"], "total", ""
    yield row["dataset"], "analyst", row["analyst"]
    for group in json.loads(row["groups"]):
        yield row["dataset"], "group", group


def _broken() -> LedgerError:
    return LedgerError("the ledger cannot be trusted: its chain is broken", hint=ADVICE)
