"""Grains are counted from what is sealed: across openings, beside other writers, and never from what was changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.core import Budget, Loss
from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import BudgetLimits, Charge, Grains, SqliteLedger, schema
from tacit.ledger.entries import book, grain_totals
from tacit.ledger.entries.chain import BEFORE_THE_FIRST, seal
from tacit.ledger.entries.links import head
from tacit.ledger.entries.totals import Totals

GRAIN = Fraction(1, 10)
KEY = ("clinic", "total", "")


def charge(epsilon: object = "0.1") -> Charge:
    return Charge(
        dataset="clinic", analyst="ana", groups=(), loss=Loss(epsilon), zcdp=None, plan_hash="p", policy_version="v",
        kind="query",
    )  # fmt: skip


def caps(count: int) -> BudgetLimits:
    return BudgetLimits(total=Grains(GRAIN, count), analyst=None, window=None, groups=())


def spent(ledger: SqliteLedger) -> int:
    return ledger.balance("clinic", caps(100), analyst="ana").total.spent.grains


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d.ledger"


def test_a_ledger_that_is_opened_again_has_spent_as_much(path):
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge(), caps(3))
        ledger.reserve(charge(), caps(3))
    with SqliteLedger(path, create=False) as ledger:
        assert spent(ledger) == 2
        ledger.reserve(charge(), caps(3))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(charge(), caps(3))


def test_two_who_charge_in_turn_see_each_other_s_grains(path):
    with SqliteLedger(path, create=True) as first, SqliteLedger(path, create=False) as second:
        for turn in range(6):
            (first, second)[turn % 2].reserve(charge(), caps(6))
        for ledger in (first, second):
            assert spent(ledger) == 6
            with pytest.raises(BudgetExceeded):
                ledger.reserve(charge(), caps(6))


def test_a_charge_that_was_rolled_back_is_not_remembered(path):
    """Several charges may be made in one transaction: the second counts the first, which may yet come to nothing."""
    totals = Totals()

    def counted(at):
        return totals.grains.spent(at, head(at), KEY, grain=GRAIN, since=0)

    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge(), caps(9))
        with (  # noqa: PT012 - the block is one transaction
            pytest.raises(LedgerError, match="the disk is full"),
            ledger._desk.transaction() as at,
        ):
            book.reserve(at, charge("0.2"), caps=caps(99), now=0, totals=totals)
            assert counted(at) > 2
            raise LedgerError("the disk is full")
        with ledger._desk.transaction() as at:
            book.reserve(at, charge(), caps=caps(9), now=0, totals=totals)
            assert counted(at) == 2
        assert spent(ledger) == 2


PLAIN = BudgetLimits(total=Budget(100), analyst=None, window=None, groups=())  # under which no account counts grains


def test_an_entry_that_was_made_cheaper_is_noticed(path):
    with SqliteLedger(path, create=True) as ledger:
        for epsilon in ("0.5", "0.1", "0.1"):
            ledger.reserve(charge(epsilon), PLAIN)
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE entry SET epsilon = '1/10' WHERE seq = 1")
    raw.close()
    with SqliteLedger(path, create=False) as ledger, pytest.raises(LedgerError, match="chain is broken"):
        ledger.reserve(charge(), caps(100))


def test_an_entry_that_was_taken_out_is_noticed(path):
    with SqliteLedger(path, create=True) as ledger:
        for _ in range(3):
            ledger.reserve(charge(), PLAIN)
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM entry WHERE seq = 1")
    raw.close()
    with SqliteLedger(path, create=False) as ledger, pytest.raises(LedgerError):
        ledger.reserve(charge(), caps(100))


@pytest.mark.parametrize("change", [{"seq": 1, "prev": BEFORE_THE_FIRST}, {"seq": 0, "prev": "f" * 64}])
def test_a_chain_that_begins_elsewhere_is_not_counted(path, change):
    """The first entry has none before it, whom it could name: its own seal says nothing of those that are missing."""
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge(), PLAIN)
    with closing(schema.connect(path)) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute("DELETE FROM entry WHERE seq = 0")
        changed = dict(raw.execute("SELECT * FROM entry").fetchone()) | change
        raw.execute("UPDATE entry SET seq = ?, prev = ?, hash = ?", (changed["seq"], changed["prev"], seal(changed)))
        with pytest.raises(LedgerError, match="cannot be trusted"):
            Totals().grains.spent(raw, head(raw), KEY, grain=GRAIN, since=0)


@pytest.mark.parametrize("other", [{"seq": 1}, {"seq": 3}, {"hash": "f" * 64}])
def test_what_is_counted_ends_with_the_entry_that_it_is_asked_for(path, other):
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge(), PLAIN)
        ledger.reserve(charge(), PLAIN)
    with closing(schema.connect(path)) as raw:
        assert Totals().grains.spent(raw, head(raw), KEY, grain=GRAIN, since=0) == 2
        with pytest.raises(LedgerError, match="cannot be trusted"):
            Totals().grains.spent(raw, replace(head(raw), **other), KEY, grain=GRAIN, since=0)


def watched(monkeypatch) -> list[int]:
    """The entries that are read to count grains."""
    read: list[int] = []
    whole = grain_totals.stretch

    def stretch(connection, *, since):
        for row in whole(connection, since=since):
            read.append(row["seq"])
            yield row

    monkeypatch.setattr(grain_totals, "stretch", stretch)
    return read


def test_an_account_says_its_grains_however_many_charges_there_were(path, monkeypatch):
    read = watched(monkeypatch)
    with SqliteLedger(path, create=True) as ledger:
        for _ in range(30):
            ledger.reserve(charge(), caps(100))
    with SqliteLedger(path, create=False) as ledger:
        ledger.reserve(charge(), caps(100))
        assert spent(ledger) == 31
        assert ledger.verify().sound
    assert read == []


def test_what_was_charged_in_another_currency_is_counted_once(path, monkeypatch):
    with SqliteLedger(path, create=True) as ledger:
        for _ in range(10):
            ledger.reserve(charge(), PLAIN)
        read = watched(monkeypatch)
        ledger.reserve(charge(), caps(100))
        assert len(read) == 11
        ledger.reserve(charge(), caps(100))
        assert spent(ledger) == 12
        assert len(read) == 11
        ledger.reserve(charge(), PLAIN)  # and is forgotten where nothing counts it
        assert spent(ledger) == 13
        assert ledger.verify().sound


@pytest.mark.parametrize("change", ["grains = 0", "grain = '1/5'", "grain = NULL, grains = NULL"])
def test_an_account_whose_grains_were_changed_is_refused(path, change):
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge("0.5"), caps(100))
    with sqlite3.connect(path) as raw:
        raw.execute(f"UPDATE account SET {change} WHERE scope = 'total'")
    raw.close()
    with SqliteLedger(path, create=False) as ledger:
        assert not ledger.verify().sound
        with pytest.raises(LedgerError, match="not what was sealed"):
            ledger.reserve(charge(), caps(100))


def test_a_planted_memory_that_forgets_is_caught(path, monkeypatch):
    """Were a count begun anew from where it stands, what came before would be free."""
    monkeypatch.setattr(grain_totals._Count, "_add", lambda self, row: None)
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge(), PLAIN)
        with pytest.raises(AssertionError):
            assert spent(ledger) == 1


def test_every_account_is_counted_from_the_entries_where_no_cap_counted_grains_before(path):
    """Of a group all that was charged to it; of an analyst whose budget renews what falls into the window."""
    now = [1_000_000.0]
    staff = replace(charge(), groups=("staff",))
    plain = replace(PLAIN, analyst=Budget(100), window=3600, groups=(("staff", Budget(100)),))
    with SqliteLedger(path, create=True, clock=lambda: now[0]) as ledger:
        for one in (staff, charge(), staff):
            ledger.reserve(one, plain)
            now[0] += 3600
        ledger.reserve(staff, plain)
        counting = Grains(GRAIN, 100)
        wanted = replace(plain, total=counting, analyst=counting, groups=(("staff", counting),))
        balance = ledger.balance("clinic", wanted, analyst="ana")
    ((_, group),) = balance.groups
    assert (balance.total.spent.grains, group.spent.grains, balance.analyst.spent.grains) == (4, 3, 1)
