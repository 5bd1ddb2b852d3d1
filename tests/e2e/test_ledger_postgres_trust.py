"""What a ledger in PostgreSQL does not accept: a server that forgets, tables that were changed, an older backup."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from support.postgres import OWNER, server
from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import (
    Answer,
    BudgetLimits,
    Charge,
    Reservation,
    accept_ledger,
    has_ledger,
    open_ledger,
    verify_ledger,
)
from tacit.ledger.postgres.ledger import PostgresLedger
from tacit.ledger.postgres.schema import FIRST_LOCK, LOCK

CAPS = BudgetLimits(total=Budget(10), analyst=None, window=None, groups=())


def charge(epsilon: str = "0.5") -> Charge:
    return Charge(
        dataset="clinic", analyst="ana", groups=(), loss=Loss(epsilon), zcdp=None, plan_hash="plan",
        policy_version="1", kind="query",
    )  # fmt: skip


@pytest.fixture
def url() -> str:
    return server().database()


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "clinic.ledger.mark"


@pytest.fixture
def ledger(url: str, mark: Path) -> Iterator[PostgresLedger]:
    with PostgresLedger(url, create=True, mark=mark) as opened:
        for _ in range(3):
            made = opened.reserve(charge(), CAPS)
            assert isinstance(made, Reservation)
            opened.settle(made, [Answer(b"about 42")])
        yield opened


def behind_its_back(url: str, *statements: str) -> None:
    with psycopg.connect(url) as owner:
        owner.execute("SET search_path = tacit_ledger")
        for statement in statements:
            owner.execute(statement.encode())


# ── a server that forgets ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("row", ["fsync", "pages", "synced", "standby", "path"])
def test_a_server_that_may_forget_a_commit_is_refused(row: str) -> None:
    from tacit.ledger.postgres.desk import _PATH, _refuse_weak

    strong = {"fsync": "on", "pages": "on", "synced": "on", "standby": False, "encoding": "UTF8", "path": _PATH}
    _refuse_weak(strong)
    with pytest.raises(LedgerError, match="cannot be kept on this server"):
        _refuse_weak(strong | {row: True if row == "standby" else "off"})


def test_a_commit_waits_for_the_disk_whatever_the_server_is_set_to(url: str, mark: Path) -> None:
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
    with PostgresLedger(url, create=True, mark=mark) as ledger, ledger._desk._alone() as writing:  # type: ignore[union-attr]
        row = writing.execute("SELECT current_setting('synchronous_commit') AS synced").fetchone()
    assert row["synced"] == "on"


TRIGGER = """CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER t BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION f()"""


# ── tables that were changed ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE entry SET epsilon = '1/1000' WHERE seq = 1", "entry 1 was changed"),
        ("UPDATE entry SET note = 'x' WHERE seq = 2", "entry 2 was changed"),
        ("UPDATE account SET epsilon = '1/1000' WHERE scope = 'total'", "does not add up"),
        ("UPDATE answer SET body = 'about 43' WHERE charge = 1", "answer kept for charge 1 was changed"),
        ("DELETE FROM answer", "is missing"),
        ("DELETE FROM account WHERE scope = 'analyst'", "is missing"),
        (TRIGGER, "a rule was added"),
        ("ALTER TABLE account DISABLE TRIGGER ALL; ALTER TABLE entry DISABLE TRIGGER ALL", "a rule was added"),
        ("CREATE RULE r AS ON UPDATE TO account DO INSTEAD NOTHING", "a rule was added"),
        ("DROP INDEX outcome", "a rule was added"),
        ("ALTER TABLE entry DROP CONSTRAINT charged", "a rule was added"),
        ("ALTER TABLE account ENABLE ROW LEVEL SECURITY", "a rule was added"),
    ],
)  # fmt: skip
def test_a_change_behind_its_back_is_found(ledger: PostgresLedger, url: str, change: str, said: str) -> None:
    assert ledger.verify().problems == ()
    behind_its_back(url, change)
    assert any(said in problem for problem in ledger.verify().problems)


def test_a_ledger_with_another_rule_is_not_opened(ledger: PostgresLedger, url: str, mark: Path) -> None:
    behind_its_back(url, "DROP INDEX request")
    with pytest.raises(LedgerError, match="a rule was added or taken away"):
        PostgresLedger(url, create=False, mark=mark)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE account SET epsilon = '0/1'",
        "UPDATE account SET epsilon = '0/1' WHERE scope = 'total'",
        "DELETE FROM account",
        "UPDATE entry SET state = (SELECT state FROM entry WHERE seq = 0) WHERE seq = (SELECT max(seq) FROM entry)",
    ],
)
@pytest.mark.parametrize("opened", ["before", "after"])
def test_no_total_that_was_changed_is_charged_upon(
    ledger: PostgresLedger, url: str, mark: Path, change: str, opened: str
) -> None:
    behind_its_back(url, change)
    with PostgresLedger(url, create=False, mark=mark) if opened == "after" else ledger as asked:
        for ask in (lambda: asked.reserve(charge(), CAPS), lambda: asked.balance("clinic", CAPS, analyst="ana")):
            with pytest.raises(LedgerError, match="cannot be trusted"):
                ask()


# ── who else may write ───────────────────────────────────────────────────────────────────────────────────────────────

STRANGER = "stranger_of_the_ledger"


@pytest.fixture
def stranger(url: str) -> Iterator[str]:
    """A role that can connect, and nothing else."""
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"DROP ROLE IF EXISTS {STRANGER}".encode())
        owner.execute(f"CREATE ROLE {STRANGER} LOGIN".encode())
    yield url.replace(f"{OWNER}@", f"{STRANGER}@")
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"REASSIGN OWNED BY {STRANGER} TO {OWNER}".encode())
        owner.execute(f"DROP OWNED BY {STRANGER}".encode())
        owner.execute(f"DROP ROLE {STRANGER}".encode())


def test_nobody_who_can_merely_connect_can_stop_a_charge(ledger: PostgresLedger, stranger: str) -> None:
    """Not by the lock that writers once queued for, nor by any other they can name."""
    with psycopg.connect(stranger) as other:
        other.execute(f"SELECT pg_advisory_lock({FIRST_LOCK})".encode())
        for attempt in (LOCK, "LOCK TABLE tacit_ledger.entry", "SELECT 1 FROM tacit_ledger.turn FOR UPDATE"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                other.execute(attempt.encode())
            other.rollback()
        other.execute(f"SELECT pg_advisory_lock({FIRST_LOCK})".encode())
        ledger.reserve(charge(), CAPS)


@pytest.mark.parametrize(
    ("grant", "said"),
    [
        ("GRANT UPDATE ON account TO {role}", "granted UPDATE"),
        ("GRANT UPDATE (epsilon) ON account TO {role}", "granted UPDATE"),
        ("GRANT INSERT ON entry TO {role}", "granted INSERT"),
        ("GRANT TRIGGER ON entry TO {role}", "granted TRIGGER"),
        ("GRANT DELETE ON answer TO PUBLIC", "granted DELETE"),
        ("GRANT SELECT ON answer TO PUBLIC", "granted SELECT"),
        ("GRANT UPDATE ON turn TO {role}", "granted UPDATE"),
        ("GRANT CREATE ON SCHEMA tacit_ledger TO {role}", "granted CREATE"),
    ],
)
def test_a_ledger_that_others_may_write_is_not_opened(
    ledger: PostgresLedger, url: str, mark: Path, stranger: str, grant: str, said: str
) -> None:
    behind_its_back(url, grant.format(role=STRANGER))
    with pytest.raises(LedgerError, match=said):
        PostgresLedger(url, create=False, mark=mark)
    assert any(said in problem for problem in verify_ledger(url, mark=mark).problems)


def test_an_auditor_may_read(ledger: PostgresLedger, url: str, mark: Path, stranger: str) -> None:
    behind_its_back(
        url, f"GRANT USAGE ON SCHEMA tacit_ledger TO {STRANGER}; GRANT SELECT ON ALL TABLES IN SCHEMA tacit_ledger"
        f" TO {STRANGER}",
    )  # fmt: skip
    PostgresLedger(url, create=False, mark=mark).close()


def test_a_table_that_belongs_to_somebody_else_is_refused(url: str, mark: Path, stranger: str) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"GRANT CREATE ON DATABASE {conninfo_to_dict(url)['dbname']} TO {STRANGER}".encode())
    with PostgresLedger(stranger, create=True, mark=mark) as opened:
        opened.reserve(charge(), CAPS)
    behind_its_back(url, f"ALTER TABLE account OWNER TO {OWNER}; GRANT ALL ON account TO {STRANGER}")
    with pytest.raises(LedgerError, match="belongs to a role that the one who connects is no member of"):
        PostgresLedger(stranger, create=False, mark=mark)


def test_a_superuser_is_told_of_a_table_that_another_role_owns(
    ledger: PostgresLedger, url: str, mark: Path, stranger: str
) -> None:
    """Who owns a table can write it whenever they like; a superuser is a member of every role."""
    behind_its_back(url, f"ALTER TABLE account OWNER TO {STRANGER}")
    with pytest.raises(LedgerError, match="belong to several roles"):
        PostgresLedger(url, create=False, mark=mark)
    assert any("several roles" in problem for problem in verify_ledger(url, mark=mark).problems)


@pytest.mark.parametrize("change", [TRIGGER, "CREATE RULE r AS ON UPDATE TO account DO INSTEAD NOTHING",
                                    "ALTER TABLE account ENABLE ROW LEVEL SECURITY"])  # fmt: skip
def test_a_trigger_is_refused_though_the_seal_was_renewed(
    ledger: PostgresLedger, url: str, mark: Path, change: str
) -> None:
    from tacit.ledger.postgres import schema as postgres_schema

    behind_its_back(url, change)
    with psycopg.connect(url) as owner:
        row = owner.execute(f"{postgres_schema._SEAL}{postgres_schema._RULES}) AS rules".encode()).fetchone()
        owner.execute(f"COMMENT ON SCHEMA tacit_ledger IS 'tacit ledger 2 {row[0] if row else ''}'".encode())
    with pytest.raises(LedgerError, match="a rule was added"):
        PostgresLedger(url, create=False, mark=mark)


# ── an older backup ──────────────────────────────────────────────────────────────────────────────────────────────────

BACK_TO_THE_FIRST = ("DELETE FROM answer", "DELETE FROM account", "DELETE FROM entry WHERE seq > 0")


def test_an_older_backup_is_noticed_by_a_host_that_has_seen_more(ledger: PostgresLedger, url: str, mark: Path) -> None:
    behind_its_back(url, *BACK_TO_THE_FIRST)
    with pytest.raises(LedgerError, match="rolled back"):
        ledger.reserve(charge(), CAPS)
    with pytest.raises(LedgerError, match="rolled back"):
        PostgresLedger(url, create=True, mark=mark)
    assert any("rolled back" in problem for problem in verify_ledger(url, mark=mark).problems)
    assert verify_ledger(url).sound  # in itself: a host that never was there cannot know


def test_a_schema_that_is_gone_is_not_made_anew(ledger: PostgresLedger, url: str, mark: Path) -> None:
    ledger.close()
    behind_its_back(url, "DROP SCHEMA tacit_ledger CASCADE")
    with pytest.raises(LedgerError, match="its tables are gone"):
        PostgresLedger(url, create=True, mark=mark)


def test_an_older_backup_can_be_accepted_on_record(ledger: PostgresLedger, url: str, mark: Path) -> None:
    ledger.close()
    behind_its_back(url, *BACK_TO_THE_FIRST)
    accept_ledger(url, "the disk of June is lost", mark=mark)
    with open_ledger(url, create=False, mark=mark) as opened:
        (newest,) = opened.entries(limit=1)
        opened.reserve(charge(), CAPS)
    assert "the disk of June is lost: the mark stood at entry 6" in (newest.note or "")
    assert verify_ledger(url, mark=mark).sound


def test_another_chain_of_the_same_length_is_noticed(ledger: PostgresLedger, url: str, mark: Path) -> None:
    behind_its_back(url, *BACK_TO_THE_FIRST)
    with PostgresLedger(url, create=False) as other:  # a host without a mark charges on
        for _ in range(9):
            other.reserve(charge("0.1"), CAPS)
    with pytest.raises(LedgerError, match="not the one its mark was set by"):
        ledger.reserve(charge(), CAPS)


# ── a mark that cannot be read ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("damage", [b"\xff" * 1024, b"tacit mark 1 6 torn".ljust(1024, b"\0"), b"x"])
def test_a_damaged_mark_is_not_taken_for_a_host_that_joins(
    ledger: PostgresLedger, url: str, mark: Path, damage: bytes
) -> None:
    ledger.close()
    mark.write_bytes(damage)
    behind_its_back(url, *BACK_TO_THE_FIRST)
    with pytest.raises(LedgerError, match="mark is damaged") as caught:
        PostgresLedger(url, create=True, mark=mark)
    assert "tacit ledger accept" in (caught.value.hint or "")
    assert mark.read_bytes() == damage
    assert any("missing or damaged" in problem for problem in verify_ledger(url, mark=mark).problems)
    behind_its_back(url, "DROP SCHEMA tacit_ledger CASCADE")
    with pytest.raises(LedgerError, match="its tables are gone"):
        PostgresLedger(url, create=True, mark=mark)


@pytest.mark.parametrize("damage", [b"\xff" * 1024, b""])
def test_a_mark_that_is_damaged_or_emptied_while_in_use_stops_charges(
    ledger: PostgresLedger, mark: Path, damage: bytes
) -> None:
    mark.write_bytes(damage)
    with pytest.raises(LedgerError, match="mark is damaged"):
        ledger.reserve(charge(), CAPS)
    with pytest.raises(LedgerError, match="mark is damaged"):
        ledger.balance("clinic", CAPS, analyst="ana")


def test_a_damaged_mark_is_set_anew_by_accepting_on_record(ledger: PostgresLedger, url: str, mark: Path) -> None:
    ledger.close()
    mark.write_bytes(b"\xff" * 1024)
    accept_ledger(url, "the disk of this host is new", mark=mark)
    with open_ledger(url, create=False, mark=mark) as opened:
        opened.reserve(charge(), CAPS)
    assert verify_ledger(url, mark=mark).sound


def test_a_host_without_a_mark_joins_and_says_so(
    ledger: PostgresLedger, url: str, mark: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mark.rename(mark.with_name("elsewhere"))
    with caplog.at_level(logging.WARNING, logger="tacit.ledger"), PostgresLedger(url, create=False, mark=mark):
        assert ["joins the ledger at entry 6" in record.getMessage() for record in caplog.records] == [True]
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="tacit.ledger"), PostgresLedger(url, create=False, mark=mark):
        assert not caplog.records


# ── behind a pooler ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_ledger_relies_on_no_setting_that_a_pooler_could_lose(
    url: str, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in transaction mode: every transaction begins on a backend that knows nothing of the one before."""
    from tacit.ledger.postgres import desk as postgres_desk

    begun = postgres_desk._begun

    def on_another_backend(connection: postgres_desk.Server, *first: str) -> object:
        isolation, read_only = connection.isolation_level, connection.read_only
        connection.autocommit = True
        shown = b"SELECT count(*) AS n FROM pg_settings WHERE source = 'session'"
        assert connection.execute(shown).fetchone() == {"n": 0}  # nor was anything left for others
        connection.execute("DISCARD ALL")
        connection.autocommit = False
        connection.isolation_level, connection.read_only = isolation, read_only
        return begun(connection, *first)

    monkeypatch.setattr(postgres_desk, "_begun", on_another_backend)
    behind_its_back(url, "CREATE TABLE public.entry (seq INT); CREATE TABLE public.account (dataset TEXT)")
    with PostgresLedger(url, create=True, mark=mark) as ledger:
        for _ in range(3):
            ledger.reserve(charge(), CAPS)
        assert ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon == Loss("1.5").epsilon
        assert ledger.verify().sound
    with psycopg.connect(url) as owner:
        found = owner.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'answer'").fetchall()
        assert found == [("tacit_ledger",)]
        assert owner.execute("SELECT count(*) FROM public.entry").fetchone() == (0,)


# ── many hosts, forks, lost connections ──────────────────────────────────────────────────────────────────────────────


def test_two_hosts_spend_one_budget_and_each_keeps_its_own_mark(url: str, tmp_path: Path) -> None:
    marks = [tmp_path / "a.mark", tmp_path / "b.mark"]
    assert not has_ledger(url, mark=marks[0])
    with open_ledger(url, create=True, mark=marks[0]) as one, open_ledger(url, create=True, mark=marks[1]) as two:
        for _ in range(5):
            one.reserve(charge(), CAPS)
            two.reserve(charge(), CAPS)
        assert one.balance("clinic", CAPS, analyst="ana").total.spent.epsilon == 5
    assert has_ledger(url, mark=marks[0])
    assert [verify_ledger(url, mark=mark).problems for mark in marks] == [(), ()]


def test_a_lost_connection_costs_one_charge_at_most(ledger: PostgresLedger, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                      " WHERE application_name = 'tacit ledger' AND datname = current_database()")  # fmt: skip
    with pytest.raises(LedgerError, match="its server failed"):
        ledger.reserve(charge(), CAPS)
    ledger.reserve(charge(), CAPS)
    assert ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon == 2


def test_parent_and_child_may_both_go_on_after_a_fork(ledger: PostgresLedger) -> None:
    child = os.fork()
    if child == 0:
        ledger.reserve(charge(), CAPS)
        ledger.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.reserve(charge(), CAPS)
    assert ledger.balance("clinic", CAPS, analyst="ana").total.spent.epsilon == Loss("2.5").epsilon


def test_no_word_of_the_server_leaves(url: str, caplog: pytest.LogCaptureFixture) -> None:
    nobody = url.replace(f"{OWNER}@", "canary_role@")
    with caplog.at_level(logging.DEBUG), pytest.raises(LedgerError) as caught:
        PostgresLedger(nobody, create=True)
    assert "canary" not in f"{caught.value!r} {caught.value.hint} {caplog.text}"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_time_is_the_servers(url: str) -> None:
    with PostgresLedger(url, create=True) as ledger, psycopg.connect(url) as owner:
        ledger.reserve(charge(), CAPS)
        (now,) = owner.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())::float8").fetchone() or (0,)
        assert abs(ledger.entries(limit=1)[0].at - now) < 60
