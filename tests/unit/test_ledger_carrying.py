"""A ledger of the first format is carried over: every entry, every total, every kept answer; and that is on record."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from support.postgres import server
from tacit.accounting import grains_for
from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import (
    BudgetLimits,
    Charge,
    Grains,
    Ledger,
    Replay,
    Reservation,
    Shelf,
    SqliteLedger,
    accept_ledger,
    accept_rollback,
    schema,
    verify_file,
    verify_ledger,
)  # fmt: skip
from tacit.ledger.postgres import schema as postgres_schema
from tacit.ledger.postgres.ledger import PostgresLedger

FIRST = Path(__file__).with_name("data") / "ledger_format_1.sql"
WIDE = Budget(10, "1e-5")
CAPS = BudgetLimits(total=WIDE, analyst=WIDE, window=86_400, groups=(("staff", WIDE),))
ENTRIES = 17


def write_first(path: Path) -> Path:
    """The ledger that the first format left behind, as a file and its mark."""
    text = FIRST.read_text(encoding="utf-8")
    connection = sqlite3.connect(path)
    connection.executescript(text)
    connection.close()
    record = re.search(r"^-- (tacit mark 1 .*)$", text, re.MULTILINE)
    assert record is not None
    path.with_name(path.name + ".mark").write_bytes(f"{record[1]}\n".encode().ljust(512, b"\0") + bytes(512))
    return path


def load_first(url: str, mark: Path) -> None:
    """The same in PostgreSQL, in the tables that the first format had there."""
    tables = [statement for statement in postgres_schema.TABLES if "turn" not in statement.split("(")[0]]
    tables[0] = (
        tables[0].replace(" asked TEXT,\n    state TEXT NOT NULL CONSTRAINT sealed CHECK (LENGTH(state) = 64"
                          " OR state = ''),", "").replace(", 'carry', 'adopt'", "")
    )  # fmt: skip
    assert "state" not in tables[0]
    (answers,) = (place for place, statement in enumerate(tables) if statement.startswith("CREATE TABLE answer"))
    tables[answers] = """CREATE TABLE answer (
        charge BIGINT PRIMARY KEY REFERENCES entry (seq), dataset TEXT NOT NULL, key TEXT, family TEXT,
        data_version TEXT, audience TEXT, facts TEXT, body BYTEA NOT NULL)"""
    (spent,) = (place for place, statement in enumerate(tables) if statement.startswith("CREATE TABLE account"))
    tables[spent] = re.sub(
        r" grain TEXT .*?CONSTRAINT counted CHECK .*?\), PRIMARY", " PRIMARY", tables[spent], flags=re.S
    )
    assert "grain" not in tables[spent]
    rows = [line for line in FIRST.read_text(encoding="utf-8").splitlines() if line.startswith("INSERT")]
    with psycopg.connect(url) as owner:
        owner.execute("CREATE SCHEMA tacit_ledger")
        owner.execute("SET search_path = tacit_ledger")
        for statement in tables:
            owner.execute(statement.encode())
        for row in sorted(rows, key=lambda line: '"entry"' not in line):
            owner.execute(re.sub(r"X'([0-9A-F]*)'", r"'\\x\1'", row).encode())
        seal = owner.execute(f"{postgres_schema._SEAL}{postgres_schema._RULES}) AS rules".encode()).fetchone()
        assert seal is not None
        owner.execute(f"COMMENT ON SCHEMA tacit_ledger IS 'tacit ledger 1 {seal[0]}'".encode())
    record = write_first(mark.with_name("first.sqlite")).with_name("first.sqlite.mark")
    mark.write_bytes(record.read_bytes())


@pytest.fixture(params=["sqlite", "postgres"])
def reopen(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Ledger]:
    if request.param == "sqlite":
        path = write_first(tmp_path / "ledger.sqlite")
        return lambda: SqliteLedger(path, create=False)
    url, mark = server().database(), tmp_path / "ledger.mark"
    load_first(url, mark)
    return lambda: PostgresLedger(url, create=False, mark=mark)


def test_the_fixture_is_a_ledger_of_the_first_format(tmp_path: Path) -> None:
    path = write_first(tmp_path / "ledger.sqlite")
    connection = schema.connect(path)
    assert schema.is_first_format(connection)
    assert not schema.is_ours(connection)
    connection.close()
    assert (verify_file(path).problems, verify_file(path).entries) == ((), ENTRIES)


def test_everything_is_carried_over_and_that_is_on_record(reopen: Callable[[], Ledger]) -> None:
    ledger = reopen()
    newest, *old = ledger.entries(limit=99)
    assert (newest.act, newest.seq, len(newest.state)) == ("carry", ENTRIES, 64)
    assert newest.note == "carried over after entry 16: totals are sealed from here on"
    assert [entry.seq for entry in old] == list(range(ENTRIES))[::-1]
    assert {(entry.state, entry.asked) for entry in old} == {("", None)}
    balance = ledger.balance("clinic", CAPS, analyst="ana")
    assert balance.total.spent.epsilon == Fraction(59, 60)
    assert balance.groups[0][1].spent.epsilon == Fraction(2, 5)
    assert ledger.verify().problems == ()
    ledger.close()
    with reopen() as again:
        assert again.entries(limit=1)[0].hash == newest.hash  # once


def test_what_the_first_format_charged_is_counted_in_grains(reopen: Callable[[], Ledger]) -> None:
    with reopen() as ledger:
        charged = [entry for entry in ledger.entries(limit=99, dataset="clinic") if entry.act == "charge"]
        grain = Fraction(1, 10)
        caps = BudgetLimits(total=Grains(grain, 10**5, "1e-3"), analyst=None, window=None, groups=(("staff", WIDE),))
        found = ledger.balance("clinic", caps, analyst="ana").total.spent.grains
        assert found == sum(grains_for(Loss(entry.epsilon), grain).count for entry in charged) > 0
        assert ledger.verify().problems == ()


def test_kept_answers_stay_valid_and_requests_stay_answered(reopen: Callable[[], Ledger]) -> None:
    with reopen() as ledger:
        shelf = Shelf(dataset="clinic", policy_version="v1", data_version="1", analyst="ana")
        assert [ledger.answer(kept) for kept in ledger.kept(shelf, key="key 1")] == [b"about 41"]
        assert {ledger.answer(kept) for kept in ledger.kept(shelf, family="f")} == {
            b"about 40",
            b"about 41",
            b"about 43",
        }
        again = ledger.reserve(charge(1), CAPS)
        assert isinstance(again, Replay)
        assert again.answers == (b"about 41",)
        assert isinstance(ledger.reserve(charge(99), CAPS), Reservation)
        assert ledger.verify().problems == ()


def charge(number: int) -> Charge:
    return Charge(
        dataset="clinic", analyst="ana", groups=("staff",), loss=Loss("0.1", "1e-9"), zcdp=None,
        plan_hash=f"plan {number}", policy_version="v1", kind="query", request_id=f"request {number}",
    )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE account SET epsilon = '0/1' WHERE scope = 'total'",
        "DELETE FROM account WHERE scope = 'group'",
        "UPDATE entry SET epsilon = '1/1000' WHERE seq = 3",
        "UPDATE answer SET body = '' WHERE charge = 3",
    ],
)
def test_what_was_changed_before_is_not_made_true_by_carrying_it_over(tmp_path: Path, change: str) -> None:
    path = write_first(tmp_path / "ledger.sqlite")
    connection = sqlite3.connect(path)
    connection.execute(change.replace("body = ''", "body = X'00'"))
    connection.commit()
    connection.close()
    for _ in range(2):
        with pytest.raises(LedgerError, match="cannot be carried over"):
            SqliteLedger(path, create=False)
    connection = schema.connect(path)
    assert schema.is_first_format(connection)  # left as it was
    connection.close()
    url, mark = server().database(), tmp_path / "ledger.mark"
    load_first(url, mark)
    with psycopg.connect(url) as owner:
        owner.execute(f"SET search_path = tacit_ledger; {change}".encode())
    with pytest.raises(LedgerError, match="cannot be carried over"):
        PostgresLedger(url, create=False, mark=mark)


def test_an_older_copy_is_refused_before_it_is_carried_over_and_can_be_accepted(tmp_path: Path) -> None:
    path = write_first(tmp_path / "ledger.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM entry WHERE seq = 16")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="rolled back: it ends at entry 15, the mark stands at 16"):
        SqliteLedger(path, create=False)
    accept_rollback(path, "a drill")
    with SqliteLedger(path, create=False) as ledger:
        assert [entry.act for entry in ledger.entries(limit=2)] == ["accept", "carry"]
        assert ledger.verify().sound


def test_accepting_a_database_of_the_first_format_carries_it_over(tmp_path: Path) -> None:
    url, mark = server().database(), tmp_path / "ledger.mark"
    load_first(url, mark)
    assert verify_ledger(url, mark=mark).problems == ()
    mark.write_bytes(b"\xff" * 1024)
    accept_ledger(url, "a new disk", mark=mark)
    assert verify_ledger(url, mark=mark).problems == ()
    with PostgresLedger(url, create=False, mark=mark) as ledger:
        assert [entry.act for entry in ledger.entries(limit=2)] == ["accept", "carry"]


def test_an_entry_without_a_seal_of_the_totals_is_found_after_those_that_have_one(tmp_path: Path) -> None:
    path = write_first(tmp_path / "ledger.sqlite")
    SqliteLedger(path, create=False).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entry SET state = '' WHERE seq = 17")
    connection.commit()
    connection.close()
    assert not verify_file(path).sound
    with pytest.raises(LedgerError):
        SqliteLedger(path, create=False).reserve(charge(50), CAPS)
