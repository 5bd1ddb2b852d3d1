"""Grains are counted from what is sealed: across openings, beside other writers, and never from what was changed."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from tacit.core import Budget, Loss
from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Caps, Charge, Grains, SqliteLedger, book, grain_totals
from tacit.ledger.links import head
from tacit.ledger.totals import Totals

GRAIN = Fraction(1, 10)


def charge(epsilon: object = "0.1") -> Charge:
    return Charge(
        dataset="clinic", analyst="ana", groups=(), loss=Loss(epsilon), zcdp=None, plan_hash="p", policy_version="v",
        kind="query",
    )  # fmt: skip


def caps(count: int) -> Caps:
    return Caps(total=Grains(GRAIN, count), analyst=None, window=None, groups=())


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
    totals, key = Totals(), ("clinic", "total", "")

    def counted(at):
        return totals.grains.spent(at, head(at), key, grain=GRAIN, since=0)

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


def test_an_entry_that_was_made_cheaper_is_noticed(path):
    with SqliteLedger(path, create=True) as ledger:
        for epsilon in ("0.5", "0.1", "0.1"):
            ledger.reserve(charge(epsilon), caps(100))
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE entry SET epsilon = '1/10' WHERE seq = 1")
    raw.close()
    with SqliteLedger(path, create=False) as ledger, pytest.raises(LedgerError, match="chain is broken"):
        ledger.reserve(charge(), caps(100))


def test_an_entry_that_was_taken_out_is_noticed(path):
    with SqliteLedger(path, create=True) as ledger:
        for _ in range(3):
            ledger.reserve(charge(), caps(100))
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM entry WHERE seq = 1")
    raw.close()
    with SqliteLedger(path, create=False) as ledger, pytest.raises(LedgerError):
        ledger.reserve(charge(), caps(100))


def test_a_later_charge_reads_only_what_came_after(path, monkeypatch):
    read = []
    whole = grain_totals.stretch

    def watched(connection, *, since):
        for row in whole(connection, since=since):
            read.append(row["seq"])
            yield row

    monkeypatch.setattr(grain_totals, "stretch", watched)
    with SqliteLedger(path, create=True) as ledger:
        for _ in range(30):
            ledger.reserve(charge(), caps(100))
        assert len(read) <= 2 * 30 + 2
        spent(ledger)
        read.clear()
        spent(ledger)
        assert read == []


def test_a_planted_memory_that_forgets_is_caught(path, monkeypatch):
    """Were a count begun anew from where it stands, what came before would be free."""
    monkeypatch.setattr(grain_totals._Count, "_add", lambda self, row: None)
    with SqliteLedger(path, create=True) as ledger:
        ledger.reserve(charge(), Caps(total=Budget(1), analyst=None, window=None, groups=()))
        with pytest.raises(AssertionError):
            assert spent(ledger) == 1
