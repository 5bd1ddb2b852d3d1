"""Totals are sealed: whatever becomes of an account behind the ledger's back, no charge and no balance believes it."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from support.ledgers import forger
from tacit.core import Budget, Loss
from tacit.errors import BudgetExceeded, LedgerError
from tacit.ledger import Answer, BudgetLimits, Charge, Reservation, SqliteLedger, verify_file
from tacit.ledger.amounts import Spent
from tacit.ledger.entries import accounts, totals
from tacit.ledger.entries.chain import seal
from tacit.ledger.entries.totals import COLUMNS

ONE = BudgetLimits(total=Budget(1), analyst=Budget(1), window=3600, groups=(("staff", Budget(1)),))
FLIPS = 400  # bits turned over, each in a fresh copy


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def charge(epsilon: str = "0.1", **fields: object) -> Charge:
    asked = {
        "dataset": "clinic", "analyst": "ana", "groups": ("staff",), "loss": Loss(epsilon), "zcdp": None,
        "plan_hash": "plan", "policy_version": "1", "kind": "query",
    }  # fmt: skip
    return Charge(**(asked | fields))


@pytest.fixture(scope="module")
def spent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger whose budget of 1 is spent, by ten charges."""
    path = tmp_path_factory.mktemp("spent") / "ledger.sqlite"
    with SqliteLedger(path, create=True, clock=Clock()) as ledger:
        for _ in range(10):
            made = ledger.reserve(charge(), ONE)
            assert isinstance(made, Reservation)
            ledger.settle(made, [Answer(b"about 42")])
    return path


@pytest.fixture
def path(spent: Path, tmp_path: Path) -> Path:
    return fresh(spent, tmp_path)


def fresh(spent: Path, directory: Path) -> Path:
    for file in directory.glob("ledger.sqlite*"):
        file.unlink()
    for name in ("ledger.sqlite", "ledger.sqlite.mark"):
        shutil.copy(spent.with_name(name), directory / name)
    return directory / "ledger.sqlite"


@pytest.fixture
def forge(path: Path) -> Callable[..., int]:
    return forger(path)


@pytest.fixture(params=["closed meanwhile", "open all the time"])
def ledger(request: pytest.FixtureRequest, path: Path) -> Iterator[Callable[[], SqliteLedger]]:
    """A way to the ledger after it was forged: opened anew, or open before, so that it remembers its totals."""
    opened: list[SqliteLedger] = []
    if request.param == "open all the time":
        opened.append(SqliteLedger(path, create=False, clock=Clock()))
        opened[0].balance("clinic", ONE, analyst="ana")

    def get() -> SqliteLedger:
        if not opened:
            opened.append(SqliteLedger(path, create=False, clock=Clock()))
        return opened[0]

    yield get
    for one in opened:
        with suppress(LedgerError):
            one.close()


CHANGES = [
    *(f"UPDATE account SET {column} = {value} WHERE scope = '{scope}'"
      for scope in ("total", "analyst", "group")
      for column, value in {"dataset": "'other'", "name": "'other'", "since": "since + 3600000", "epsilon": "'0/1'",
                            "delta": "'1/1000'", "rho": "NULL", "slack": "'1/1000'"}.items()),
    "UPDATE account SET span = NULL WHERE scope = 'analyst'",
    "UPDATE account SET span = 1000 WHERE scope = 'analyst'",
    "UPDATE account SET scope = 'group' WHERE scope = 'total'",
    *(f"DELETE FROM account WHERE scope = '{scope}'" for scope in ("total", "analyst", "group")),
    "DELETE FROM account",
    ("INSERT INTO account SELECT 'clinic', 'group', 'others', span, since, epsilon, delta, rho, slack, grain, grains"
    " FROM account WHERE scope = 'group'"),
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_of_an_account_is_charged_upon(
    ledger: Callable[[], SqliteLedger], forge: Callable[..., int], change: str, path: Path
) -> None:
    assert forge(change) >= 1
    for window in (3600, None):  # also when the policy's window changes
        caps = BudgetLimits(total=Budget(1), analyst=Budget(1), window=window, groups=(("staff", Budget(1)),))
        with pytest.raises((LedgerError, BudgetExceeded)) as refused:
            ledger().reserve(charge(), caps)
        assert "not what was sealed" in refused.value.message or isinstance(refused.value, BudgetExceeded)
    assert not verify_file(path).sound


def test_a_total_set_to_nothing_grants_nothing(ledger: Callable[[], SqliteLedger], forge: Callable[..., int]) -> None:
    assert forge("UPDATE account SET epsilon = '0/1'") == 3
    with pytest.raises(LedgerError, match="not what was sealed"):
        ledger().reserve(charge(), ONE)
    with pytest.raises(LedgerError, match="not what was sealed"):
        ledger().balance("clinic", ONE, analyst="ana")


def test_totals_of_an_earlier_moment_are_not_those_of_now(path: Path, forge: Callable[..., int]) -> None:
    with SqliteLedger(path, create=False, clock=Clock()) as ledger:
        earlier = rows(path)
        more = BudgetLimits(total=Budget(2), analyst=Budget(2), window=3600, groups=(("staff", Budget(2)),))
        ledger.reserve(charge(), more)
    forge("DELETE FROM account")
    for row in earlier:
        forge(f"INSERT INTO account VALUES ({', '.join('?' * len(COLUMNS))})", *row)
    with SqliteLedger(path, create=False, clock=Clock()) as again, pytest.raises(LedgerError, match="sealed"):
        again.reserve(charge(), more)


def rows(path: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT * FROM account").fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("column", ["state", "hash", "prev", "seq", "epsilon"])
def test_the_newest_entry_is_believed_only_as_its_own_hash_and_the_mark_have_it(
    ledger: Callable[[], SqliteLedger], forge: Callable[..., int], column: str, path: Path
) -> None:
    """Set the accounts to nothing, and the newest entry to say so."""
    nothing = totals.state([])
    forge("DELETE FROM account")
    newest = "seq = (SELECT MAX(seq) FROM entry)"
    if column == "hash":  # with a hash to fit
        connection = sqlite3.connect(path)
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute(f"SELECT * FROM entry WHERE {newest}").fetchone()) | {"state": nothing}
        connection.close()
        forge(f"UPDATE entry SET state = ?, hash = ? WHERE {newest}", nothing, seal(row))
    else:
        forge(f"UPDATE entry SET state = ? WHERE {newest}", nothing)
        if column != "state":
            forge(f"UPDATE entry SET {column} = {column} || '1' WHERE {newest}")
    with pytest.raises(LedgerError):
        ledger().reserve(charge(), ONE)


def test_charges_hidden_from_a_new_window_are_missed(path: Path, forge: Callable[..., int]) -> None:
    """A changed window is counted from the entries: each of them is checked, up to the newest."""
    more = BudgetLimits(total=Budget(9), analyst=Budget(1), window=7200, groups=(("staff", Budget(9)),))
    with SqliteLedger(path, create=False, clock=Clock()) as ledger, pytest.raises(BudgetExceeded):
        ledger.reserve(charge(), more)
    for change in (
        "UPDATE entry SET epsilon = '0/1' WHERE seq = 5",
        "UPDATE entry SET analyst = 'bob' WHERE act = 'charge' AND seq > 3",
        "UPDATE entry SET at = 1 WHERE seq < 15",
        "DELETE FROM entry WHERE seq = 7",
    ):
        before = path.read_bytes()
        assert forge(change) >= 1
        with SqliteLedger(path, create=False, clock=Clock()) as ledger, pytest.raises(LedgerError):
            ledger.reserve(charge(), more)
        path.write_bytes(before)


def test_a_long_log_is_recounted_from_its_window_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    wide = BudgetLimits(total=Budget(99), analyst=Budget(99), window=None, groups=(("staff", Budget(99)),))
    with SqliteLedger(tmp_path / "ledger.sqlite", create=True, clock=clock) as ledger:
        for _ in range(5):
            ledger.reserve(charge("0.5"), wide)
        clock.now += 10 * 3600
        for _ in range(3):
            ledger.reserve(charge("0.25"), wide)
            ledger.reserve(charge("0.125", analyst="bob"), wide)
        hourly = BudgetLimits(total=Budget(99), analyst=Budget(99), window=3600, groups=(("staff", Budget(99)),))
        read: list[int] = []
        whole = accounts.stretch

        def watched(connection: sqlite3.Connection, *, since: int) -> Iterator[sqlite3.Row]:
            for row in whole(connection, since=since):
                read.append(row["seq"])
                yield row

        monkeypatch.setattr(accounts, "stretch", watched)
        assert ledger.balance("clinic", hourly, analyst="ana").analyst.spent.epsilon == Fraction(3, 4)
    assert read == [*range(5, 12)]  # one before the window, and those in it


def test_a_charge_at_the_very_beginning_of_a_new_window_falls_into_it(tmp_path: Path) -> None:
    now = 10_799.999  # the last moment of a window; then the first and the last of the next
    wide = BudgetLimits(total=Budget(99), analyst=Budget(99), window=None, groups=())
    with SqliteLedger(tmp_path / "ledger.sqlite", create=True, clock=lambda: now) as ledger:
        ledger.reserve(charge("0.5", groups=()), wide)
        now = 10_800.0
        ledger.reserve(charge("0.25", groups=()), wide)
        now = 14_399.999
        balance = ledger.balance("clinic", replace(wide, window=3600), analyst="ana")
    assert balance.analyst.spent.epsilon == Fraction(1, 4)


def test_a_recount_that_begins_too_late_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a window begins is looked up unchecked: the seal of the entry before it has to agree."""
    wide = BudgetLimits(total=Budget(99), analyst=Budget(99), window=None, groups=())
    with SqliteLedger(tmp_path / "ledger.sqlite", create=True, clock=lambda: 10_800.0) as ledger:
        for _ in range(3):
            ledger.reserve(charge("0.5", groups=()), wide)
        monkeypatch.setattr(accounts, "first_at", lambda connection, at, *, end: 2)
        with pytest.raises(LedgerError, match="out of order"):
            ledger.balance("clinic", replace(wide, window=3600), analyst="ana")


# --- bits


def test_no_bit_that_turns_over_in_the_file_gives_budget_back(spent: Path, tmp_path: Path) -> None:
    """Budget that is spent stays spent, whichever bit of the database rots: it is refused, or the ledger is."""
    rng, size, answered, noticed = random.Random(11), spent.stat().st_size, [], 0
    for _ in range(FLIPS):
        path, bit = fresh(spent, tmp_path), rng.randrange(size * 8)
        with open(path, "r+b") as file:
            file.seek(bit // 8)
            byte = file.read(1)[0]
            file.seek(bit // 8)
            file.write(bytes([byte ^ (1 << bit % 8)]))
        try:
            with SqliteLedger(path, create=False, clock=Clock()) as ledger:
                ledger.reserve(charge(), ONE)
                answered.append(bit)
        except LedgerError:
            noticed += 1
        except BudgetExceeded:
            pass
    assert answered == []
    assert noticed > 0


def test_bits_of_the_accounts_themselves_are_all_noticed(spent: Path, tmp_path: Path) -> None:
    content = spent.read_bytes()
    for text in (b"clinictotal", b"clinicanalystana", b"clinicgroupstaff"):
        start = content.index(text)
        for bit in range(8 * start, 8 * (start + len(text) + 12), 3):
            path = fresh(spent, tmp_path)
            damaged = bytearray(content)
            damaged[bit // 8] ^= 1 << bit % 8
            path.write_bytes(damaged)
            with pytest.raises((LedgerError, BudgetExceeded)), SqliteLedger(path, create=False, clock=Clock()) as one:
                one.reserve(charge(), ONE)


def test_the_forger_catches_a_ledger_that_does_not_look(
    path: Path, forge: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: totals that are believed as they stand give the whole budget again."""
    monkeypatch.setattr(totals.Totals, "check", lambda *_: None)
    monkeypatch.setattr(totals.Totals, "at", lambda self, *_: self)
    forge("UPDATE account SET epsilon = '0/1', rho = '0/1'")
    with SqliteLedger(path, create=False, clock=Clock()) as ledger:
        assert isinstance(ledger.reserve(charge(), ONE), Reservation)


# --- what is remembered


def test_two_processes_worth_of_ledgers_see_each_others_charges(path: Path) -> None:
    more = BudgetLimits(total=Budget("1.6"), analyst=None, window=None, groups=(("staff", Budget(9)),))
    with SqliteLedger(path, create=False) as one, SqliteLedger(path, create=False) as two:
        for ledger in (one, two, two, one, one, two):
            ledger.reserve(charge(), more)
        for ledger in (one, two):
            with pytest.raises(BudgetExceeded):
                ledger.reserve(charge(), more)


def test_a_charge_reads_only_the_accounts_it_touches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many accounts and entries there are: all of them are read once, when the ledger is opened."""
    reads = []
    read = totals.read_leaves
    monkeypatch.setattr(totals, "read_leaves", lambda connection: reads.append(1) or read(connection))
    more = BudgetLimits(total=Budget(9), analyst=None, window=None, groups=(("staff", Budget(9)),))
    with SqliteLedger(path, create=False) as ledger:
        for number in range(20):
            made = ledger.reserve(charge("0.01", analyst=f"analyst {number}"), more)
            assert isinstance(made, Reservation)
            ledger.settle(made, [Answer(b"about 42")]) if number % 2 else ledger.fail(made)
        ledger.balance("clinic", ONE, analyst="ana")
    assert len(reads) == 1


def test_a_charge_costs_the_database_the_same_however_long_the_log_is(tmp_path: Path) -> None:
    """Counted in steps of its machine, not in seconds."""
    wide = BudgetLimits(total=Budget(99), analyst=Budget(99), window=None, groups=(("staff", Budget(99)),))
    costs = []
    with SqliteLedger(tmp_path / "ledger.sqlite", create=True) as ledger:
        ledger.reserve(charge("0.001"), wide)
        connection = ledger._desk.connection
        for more in (10, 1500):
            connection.execute("PRAGMA synchronous = OFF")
            for _ in range(more):
                ledger.reserve(charge("0.001"), wide)
            steps = [0]

            def step(steps: list[int] = steps) -> None:
                steps[0] += 1

            connection.set_progress_handler(step, 1)
            ledger.reserve(charge("0.001"), wide)
            connection.set_progress_handler(None, 0)
            costs.append(steps[0])
    assert costs[1] <= costs[0] * 1.1


def test_an_account_that_was_worked_out_and_never_sealed_is_not_believed() -> None:
    """As after a charge that was rolled back: what is known of its fields says nothing of whether they count."""
    name = ("clinic", "total", "")
    fields = (*name, None, 0, "1/10", "0/1", "1/200", "0/1", None, None)
    row = dict(zip(COLUMNS, fields, strict=True))
    before = totals.Totals()
    risen = before.after({name: fields}, {name: Spent(Fraction(1, 10))})
    with pytest.raises(LedgerError, match="not what was sealed"):
        before.check(name, row)
    before.leaves = risen.leaves
    assert before.check(name, row) == Spent(Fraction(1, 10))
    assert before.check(name, row | {"delta": "0/1"}) is not None
    with pytest.raises(LedgerError, match="not what was sealed"):
        before.check(name, row | {"epsilon": "0/1"})
