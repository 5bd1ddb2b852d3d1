"""The examination: recompute every hash, total and answer, and say what does not fit."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from typing import Any

from tacit.errors import TacitError
from tacit.ledger import schema
from tacit.ledger.amounts import Spent
from tacit.ledger.entries import accounts
from tacit.ledger.entries.accounts import Key
from tacit.ledger.entries.book import answers_digest
from tacit.ledger.entries.chain import BEFORE_THE_FIRST, seal, state
from tacit.ledger.entries.links import head
from tacit.ledger.entries.rows import Connection, Row
from tacit.ledger.entries.totals import read_leaves
from tacit.ledger.mark import Point
from tacit.ledger.values import Verdict

MOST = 20  # problems told; one broken link is news enough


def examine(connection: sqlite3.Connection, mark: Point | None) -> Verdict:
    """Read a whole ledger in SQLite. The mark must have been read before: the ledger may have moved on."""
    connection.execute("BEGIN")
    try:
        return examine_all(connection, mark, rules=lambda: _rules(connection), failures=(sqlite3.Error,))
    finally:
        connection.execute("ROLLBACK")


def examine_rows(connection: sqlite3.Connection) -> Verdict:
    """Read a whole ledger in SQLite, in the caller's transaction, and take its newest entry for the mark."""
    newest = head(connection)
    return examine_all(
        connection,
        Point(newest.seq, newest.hash),
        rules=lambda: _rules(connection),
        failures=(sqlite3.Error,),
    )


def _rules(connection: sqlite3.Connection) -> Iterator[str]:
    if not schema.is_ours(connection) and not schema.is_first_format(connection):
        yield "the tables are not those of a ledger: a rule was added or taken away"
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        yield "the file is damaged, or holds a value that the ledger's own rules forbid"


def examine_all(
    connection: Connection,
    mark: Point | None,
    *,
    rules: Callable[[], Iterable[str]],
    failures: tuple[type[Exception], ...],
) -> Verdict:
    """Read the whole ledger in one snapshot, on any database. `rules` says what is wrong with its tables."""
    examiner = _Examiner(connection, mark, rules)
    steps: tuple[Callable[[], None], ...] = (
        examiner.tables,
        examiner.entries,
        examiner.high_water,
        examiner.totals,
        examiner.answers,
    )
    expected: tuple[type[Exception], ...] = (TacitError, *failures, ValueError, TypeError, LookupError)
    for step in steps:
        try:
            step()
        except expected:
            examiner.say(f"the ledger cannot be read: it is damaged at or after entry {examiner.seq}")
    return Verdict(examiner.seq + 1, examiner.hash, tuple(examiner.problems))


class _Examiner:
    """What is known of the chain up to the entry at hand. Its memory grows with the accounts, not with the log."""

    def __init__(self, connection: Connection, mark: Point | None, rules: Callable[[], Iterable[str]]) -> None:
        self.connection = connection
        self.rules = rules
        self.mark = mark
        self.problems: list[str] = []
        self.seq, self.hash, self.at = -1, BEFORE_THE_FIRST, 0
        self.state: str | None = None  # what the newest entry seals; empty in the first format
        self.open: dict[int, tuple[str, str]] = {}  # charges without an outcome: whose they are
        self.spans: dict[Key, int | None] = {}  # of renewing accounts: the length of their window
        self.grains: dict[Key, Fraction | None] = {}  # of accounts that are counted in grains: of which size
        self.expected: dict[Key, tuple[int, Spent]] = {}  # since when, how much

    def say(self, problem: str) -> None:
        if len(self.problems) < MOST:
            self.problems.append(problem)

    def tables(self) -> None:
        for problem in self.rules():
            self.say(problem)
        for row in self.connection.execute("SELECT * FROM account"):
            key = (row["dataset"], row["scope"], row["name"])
            self.spans[key], self.grains[key] = row["span"], accounts.grain_of(row)

    def entries(self) -> None:
        for row in self.connection.execute("SELECT * FROM entry ORDER BY seq"):
            self._link(row)
            self._sealed(dict(row))
            if row["act"] == "charge":
                self._charge(row)
            elif row["act"] in ("settle", "fail"):
                self._outcome(row)

    def _link(self, row: Row) -> None:
        seq = row["seq"]
        if seq != self.seq + 1:
            self.say(f"entry {self.seq + 1} is missing: {seq} comes next")
        if row["prev"] != self.hash:
            self.say(f"entry {seq} does not follow from the one before it")
        if seal(dict(row)) != row["hash"]:
            self.say(f"entry {seq} was changed: its hash does not fit")
        if row["at"] < self.at:
            self.say(f"entry {seq} is earlier than the one before it")
        if (row["act"] == "open") != (seq == 0):
            self.say(f"entry {seq} is out of place: a ledger is opened once, by its first entry")
        if self.mark is not None and seq == self.mark.seq and row["hash"] != self.mark.hash:
            self.say(f"the chain does not run through the mark: entry {seq} is another")
        self.seq, self.hash, self.at = seq, row["hash"], row["at"]

    def _sealed(self, row: Mapping[str, Any]) -> None:
        """Check that totals are sealed by every entry, or by every one since they were carried over, and change with
        charges only.
        """
        state, act = str(row.get("state") or ""), row["act"]
        begins = act == "carry" if self.state == "" else act == "open"
        if self.state is not None and bool(state) != bool(self.state) and not begins:
            self.say(f"entry {row['seq']} is out of place: it does not seal what the accounts stand at")
        if self.state and state != self.state and act != "charge":
            self.say(f"entry {row['seq']} changes what the accounts stand at, and is no charge")
        self.state = state

    def _charge(self, row: Row) -> None:
        dataset, analyst = row["dataset"], row["analyst"]
        self.open[row["seq"]] = (dataset, analyst)
        keys: list[Key] = [(dataset, "total", ""), (dataset, "analyst", analyst)]
        keys += [(dataset, "group", group) for group in json.loads(row["groups"])]
        loss, zcdp = accounts.price(row)
        for key in keys:
            since = accounts.window_start(row["at"], self.spans.get(key))
            none = Spent(grain=self.grains.get(key))
            began, spent = self.expected.get(key, (since, none))
            spent = spent if began == since else none
            self.expected[key] = since, spent.plus(loss, zcdp)

    def _outcome(self, row: Row) -> None:
        if self.open.pop(row["charge"], None) != (row["dataset"], row["analyst"]):
            self.say(f"entry {row['seq']} concludes a charge that is not there, not theirs, or concluded before")

    def high_water(self) -> None:
        if self.mark is None:
            self.say("the mark is missing or damaged: nothing tells whether the ledger was rolled back")
        elif self.mark.seq > self.seq:
            self.say(f"the ledger was rolled back: it ends at entry {self.seq}, the mark stands at {self.mark.seq}")

    def totals(self) -> None:
        if self.state and state(read_leaves(self.connection).values()) != self.state:
            self.say("the accounts are not those that the newest entry seals")
        for row in self.connection.execute("SELECT * FROM account"):
            key: Key = (row["dataset"], row["scope"], row["name"])
            if self.expected.pop(key, None) != (row["since"], accounts.from_columns(row)):
                self.say(f"the account of {_whose(key)} does not add up")
        for key in self.expected:
            self.say(f"the account of {_whose(key)} is missing")

    def answers(self) -> None:
        kept = (
            "SELECT answer.*, entry.digest AS sealed FROM answer LEFT JOIN entry ON entry.charge = answer.charge"
            f" ORDER BY answer.charge{', answer.member' if self.state else ''}"
        )
        for charge, kept_rows in groupby(self.connection.execute(kept), key=lambda row: row["charge"]):
            rows = list(kept_rows)
            if answers_digest(rows) != rows[0]["sealed"]:
                self.say(f"the answer kept for charge {charge} was changed")
        lost = "SELECT charge FROM entry WHERE act = 'settle' AND charge NOT IN (SELECT charge FROM answer)"
        for row in self.connection.execute(lost):
            self.say(f"the answer kept for charge {row['charge']} is missing")


def _whose(key: Key) -> str:
    dataset, scope, name = key
    return f"{dataset!r}" if scope == "total" else f"the {scope} {name!r} for {dataset!r}"
