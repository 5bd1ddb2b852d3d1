"""Whatever is edited, removed, reordered or rolled back, with SQLite's own tools, is found."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.ledgers import forger
from tacit.core import Budget, Loss
from tacit.errors import LedgerError
from tacit.ledger import (
    Answer,
    BudgetLimits,
    Charge,
    Inquiry,
    Keep,
    Reservation,
    Shelf,
    SqliteLedger,
    accept_rollback,
    schema,
    verify_file,
)
from tacit.ledger.entries.chain import SEALED, seal
from tacit.ledger.entries.links import stretch

WIDE = Budget(10, "1e-6")
CAPS = BudgetLimits(total=WIDE, analyst=WIDE, window=86_400, groups=(("staff", WIDE),))
COLUMNS = [
    ("entry", column)
    for column in (
        "seq", "at", "act", "dataset", "analyst", "groups", "epsilon", "delta", "rho", "slack", "plan_hash",
        "policy_version", "request_id", "kind", "note", "charge", "digest", "asked", "state", "prev", "hash",
    )
] + [
    ("account", column)
    for column in ("dataset", "scope", "name", "span", "since", "epsilon", "delta", "rho", "slack")
] + [
    ("answer", column)
    for column in ("charge", "member", "dataset", "key", "family", "data_version", "audience", "facts", "body")
]  # fmt: skip


def ask(ledger: SqliteLedger, number: int) -> None:
    made = ledger.reserve(
        Charge(
            dataset="clinic", analyst="ana", groups=("staff",), loss=Loss("0.1", "1e-9"), zcdp=None,
            plan_hash=f"plan {number}", policy_version="1", kind="query", request_id=f"request {number}", note="n",
            asked=Inquiry(questions=("DP-SELECT 0.1 COUNT(*) FROM visits",), parameters=("{}",), tables=("visits",)),
        ),
        CAPS,
    )  # fmt: skip
    assert isinstance(made, Reservation)
    if number % 3 == 2:
        ledger.fail(made)
    else:
        keep = Keep(key=f"key {number}", family="f", data_version="1", audience="ana", facts="{}")
        ledger.settle(made, [Answer(b"about 42", keep)])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of thirteen entries, and beside it a copy of how it was after the seventh."""
    directory = tmp_path_factory.mktemp("sound")
    path = directory / "ledger.sqlite"
    with SqliteLedger(path, create=True) as ledger:
        for number in range(3):
            ask(ledger, number)
    shutil.copy(path, directory / "older.sqlite")
    shutil.copy(directory / "ledger.sqlite.mark", directory / "older.mark")
    with SqliteLedger(path, create=False) as ledger:
        for number in range(3, 6):
            ask(ledger, number)
        assert ledger.verify().sound
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    for name in ("ledger.sqlite", "ledger.sqlite.mark"):
        shutil.copy(sound.parent / name, tmp_path / name)
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def forge(path: Path) -> Callable[..., int]:
    return forger(path)


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        key = {"entry": "seq", "account": "dataset, scope, name", "answer": "charge"}[table]
        return connection.execute(f"SELECT * FROM {table} ORDER BY {key}").fetchall()
    finally:
        connection.close()


def changed(value: object) -> object:
    if isinstance(value, bytes):
        return value + b"!"
    if isinstance(value, int):
        return value + 1000
    if isinstance(value, str) and "/" in value:
        return "1/1000"
    return "x" if value is None else f"{value}x"


def test_an_untouched_copy_is_sound(path: Path) -> None:
    verdict = verify_file(path)
    assert verdict.sound
    assert verdict.entries == 13


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_an_edit_of_any_field_of_any_row_is_found(path: Path, table: str, column: str) -> None:
    untouched = path.read_bytes()
    connection = sqlite3.connect(path)
    names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    kinds = {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({table})")}
    connection.close()
    found = 0
    for row in rows(path, table):
        value = changed(row[names.index(column)])
        if kinds[column] == "INTEGER" and not isinstance(value, int):
            value = 1
        where = " AND ".join(f"{name} IS ?" for name in names)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        try:
            with connection:
                touched = connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value, *row)).rowcount
        except sqlite3.IntegrityError:
            touched = 0  # the table itself would not have it
        connection.close()
        if touched:
            found += 1
            assert not verify_file(path).sound, (column, row)
        path.write_bytes(untouched)
    assert found > 0 or (table, column) == ("account", "scope")


@pytest.mark.parametrize("seq", range(13))
def test_an_edit_with_a_hash_to_fit_is_found(path: Path, forge: Callable[..., int], seq: int) -> None:
    row = dict(zip((*SEALED, "hash"), rows(path, "entry")[seq], strict=True)) | {"note": "never happened"}
    assert forge("UPDATE entry SET note = ?, hash = ? WHERE seq = ?", row["note"], seal(row), seq) == 1
    problems = verify_file(path).problems
    assert any(f"entry {seq + 1} does not follow" in p or f"the mark: entry {seq} is another" in p for p in problems)


@pytest.mark.parametrize("seq", range(13))
def test_a_removed_entry_is_found(path: Path, forge: Callable[..., int], seq: int) -> None:
    assert forge("DELETE FROM entry WHERE seq = ?", seq) == 1
    assert not verify_file(path).sound


@pytest.mark.parametrize("first", range(12))
def test_two_entries_swapped_are_found(path: Path, forge: Callable[..., int], first: int) -> None:
    for old, new in ((first, -1), (first + 1, first), (-1, first + 1)):
        forge("UPDATE entry SET seq = ? WHERE seq = ?", new, old)
    assert not verify_file(path).sound


@pytest.mark.parametrize("kept", range(1, 13))
def test_a_tail_cut_off_is_a_rollback(path: Path, forge: Callable[..., int], kept: int) -> None:
    forge("DELETE FROM entry WHERE seq >= ?", kept)
    assert any("rolled back" in problem for problem in verify_file(path).problems)
    with pytest.raises(LedgerError, match=f"rolled back: it ends at entry {kept - 1}, the mark stands at 12"):
        SqliteLedger(path, create=True)


@pytest.mark.parametrize("table", ["account", "answer"])
def test_a_removed_account_or_answer_is_found(path: Path, forge: Callable[..., int], table: str) -> None:
    untouched = path.read_bytes()
    for place in range(len(rows(path, table))):
        key = "charge" if table == "answer" else "scope"
        forge(f"DELETE FROM {table} WHERE {key} = (SELECT {key} FROM {table} LIMIT 1 OFFSET ?)", place)
        assert any("missing" in problem for problem in verify_file(path).problems)
        path.write_bytes(untouched)


def test_an_added_entry_account_or_answer_is_found(path: Path, forge: Callable[..., int]) -> None:
    untouched = path.read_bytes()
    for table in ("entry", "account", "answer"):
        row = list(rows(path, table)[-1])
        row[0] = 99 if isinstance(row[0], int) else "another"
        if table == "entry":
            row[12] = row[15] = None
            row[-1] = "f" * 64
        forge(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)
        assert not verify_file(path).sound, table
        path.write_bytes(untouched)


@pytest.mark.parametrize(
    "rule",
    [
        "CREATE TRIGGER refund AFTER INSERT ON entry BEGIN UPDATE account SET epsilon = '0/1'; END",
        "DROP INDEX outcome",
        "CREATE VIEW harmless AS SELECT 1",
        "PRAGMA application_id = 1",
    ],
)
def test_a_changed_rule_is_found_at_once(path: Path, rule: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(rule)
    connection.close()
    assert not verify_file(path).sound
    with pytest.raises(LedgerError, match="not a ledger"):
        SqliteLedger(path, create=False)


def test_an_edited_answer_is_not_served(path: Path, forge: Callable[..., int]) -> None:
    with SqliteLedger(path, create=False) as ledger:
        shelf = Shelf(dataset="clinic", policy_version="1", data_version="1", analyst="ana")
        kept = ledger.kept(shelf, key="key 0")
        assert ledger.answer(kept[0]) == b"about 42"
    forge("UPDATE answer SET body = ?", b"about 43")
    with SqliteLedger(path, create=False) as ledger, pytest.raises(LedgerError, match="was changed"):
        ledger.answer(kept[0])


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM answer WHERE charge = {0} AND member = 2",
        "DELETE FROM answer WHERE charge = {0} AND member = 0",
        "UPDATE answer SET member = member + 1 WHERE charge = {0} AND member = 2",
        "UPDATE answer SET member = 9 - member WHERE charge = {0}",
        "UPDATE answer SET key = 'part 1' WHERE charge = {0} AND member = 0",
        "UPDATE answer SET body = X'78' WHERE charge = {0} AND member = 1",
        """INSERT INTO answer SELECT charge, 3, dataset, key, family, data_version, audience, facts, body
        FROM answer WHERE charge = {0} AND member = 0""",
        "UPDATE answer SET charge = 1, member = 1 WHERE charge = {0} AND member = 2",
    ],
)
def test_no_answer_of_several_can_be_taken_put_or_moved(path: Path, edit: str) -> None:
    with SqliteLedger(path, create=False) as ledger:
        made = ledger.reserve(
            Charge(
                dataset="clinic", analyst="ana", groups=(), loss=Loss("0.1"), zcdp=None, plan_hash="several",
                policy_version="1", kind="query",
            ),
            CAPS,
        )  # fmt: skip
        assert isinstance(made, Reservation)
        keeps = [Keep(key=f"part {i}", family="f", data_version="1", audience=None, facts="{}") for i in range(3)]
        ledger.settle(made, [Answer(f"answer {i}".encode(), keep) for i, keep in enumerate(keeps)])
        assert ledger.verify().sound
    connection = sqlite3.connect(path)
    connection.execute(edit.format(made.seq))
    connection.commit()
    connection.close()
    assert not verify_file(path).sound
    shelf = Shelf(dataset="clinic", policy_version="1", data_version="1", analyst="ana")
    with SqliteLedger(path, create=False) as ledger:
        for kept in [kept for kept in ledger.kept(shelf, family="f") if kept.seq == made.seq]:
            with pytest.raises(LedgerError):
                ledger.answer(kept)


def test_a_malformed_total_stops_charges(path: Path, forge: Callable[..., int]) -> None:
    forge("UPDATE account SET epsilon = '-5/1'")
    with SqliteLedger(path, create=False) as ledger, pytest.raises(LedgerError, match="malformed"):
        ask(ledger, 9)


@pytest.mark.parametrize("value", ["-1/2", "0.5", "1/0", "", "1/2/3", "1", "abc", "1/-2", "1 /2"])
def test_the_tables_themselves_refuse_a_negative_or_malformed_amount(path: Path, value: str) -> None:
    connection = sqlite3.connect(path)
    for statement in ("UPDATE account SET epsilon = ?", "UPDATE entry SET delta = ? WHERE act = 'charge'"):
        with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
            connection.execute(statement, (value,))
    connection.close()


# --- rollback


def test_an_older_copy_in_its_place_is_refused(path: Path, sound: Path) -> None:
    shutil.copy(sound.parent / "older.sqlite", path)
    with pytest.raises(LedgerError, match="rolled back: it ends at entry 6, the mark stands at 12") as refused:
        SqliteLedger(path, create=True)
    assert "accept" in refused.value.hint
    assert any("rolled back" in problem for problem in verify_file(path).problems)


def test_an_older_copy_that_was_written_on_is_refused(path: Path, sound: Path) -> None:
    other = path.parent / "other"
    other.mkdir()
    shutil.copy(sound.parent / "older.sqlite", other / "ledger.sqlite")
    shutil.copy(sound.parent / "older.mark", other / "ledger.sqlite.mark")
    with SqliteLedger(other / "ledger.sqlite", create=False) as ledger:
        for number in range(20, 30):
            ask(ledger, number)
    shutil.copy(other / "ledger.sqlite", path)
    with pytest.raises(LedgerError, match="not the one its mark was set by"):
        SqliteLedger(path, create=True)
    assert not verify_file(path).sound


def test_a_ledger_without_its_database_is_refused_and_not_begun_anew(path: Path) -> None:
    path.unlink()
    with pytest.raises(LedgerError, match="its database is gone"):
        SqliteLedger(path, create=True)
    assert not path.exists()
    assert not verify_file(path).sound


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("damage", ["deleted", "emptied", "garbled"])
def test_a_ledger_without_its_mark_is_refused(path: Path, create: bool, damage: str) -> None:
    mark = path.with_name("ledger.sqlite.mark")
    mark.unlink()
    if damage != "deleted":
        mark.write_bytes(b"" if damage == "emptied" else b"garbage" * 99)
    with pytest.raises(LedgerError, match="mark is missing"):
        SqliteLedger(path, create=create)
    assert any("mark is missing" in problem for problem in verify_file(path).problems)


def test_a_garbled_mark_is_not_taken_for_a_blank_one(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite.mark").write_bytes(b"garbage")
    with pytest.raises(LedgerError, match="gone"):
        SqliteLedger(tmp_path / "ledger.sqlite", create=True)


def test_a_mark_that_fell_behind_is_moved_up(path: Path, sound: Path) -> None:
    shutil.copy(sound.parent / "older.mark", path.with_name("ledger.sqlite.mark"))
    with SqliteLedger(path, create=False):
        pass
    shutil.copy(sound.parent / "older.sqlite", path)
    with pytest.raises(LedgerError, match="the mark stands at 12"):
        SqliteLedger(path, create=False)


def test_a_mark_is_not_moved_over_a_broken_link(path: Path, sound: Path, forge: Callable[..., int]) -> None:
    shutil.copy(sound.parent / "older.mark", path.with_name("ledger.sqlite.mark"))
    forge("UPDATE entry SET epsilon = '0/1' WHERE seq = 9")
    with pytest.raises(LedgerError, match="its chain is broken"):
        SqliteLedger(path, create=False)


def test_the_owner_can_accept_a_rollback_and_that_is_on_record(path: Path, sound: Path) -> None:
    shutil.copy(sound.parent / "older.sqlite", path)
    accepted = accept_rollback(path, "restored from the backup of Sunday")
    with SqliteLedger(path, create=False) as ledger:
        newest = ledger.entries(limit=1)[0]
        assert (newest.act, newest.seq, newest.hash) == ("accept", 7, accepted)
        assert newest.note is not None
        assert newest.note.startswith("restored from the backup of Sunday: the mark stood at entry 12")
        assert ledger.verify().sound
        ask(ledger, 9)


@pytest.mark.parametrize("lost", ["ledger.sqlite", "ledger.sqlite.mark"])
def test_the_owner_can_go_on_after_a_loss(path: Path, lost: str) -> None:
    path.with_name(lost).unlink()
    accept_rollback(path, "the disk broke")
    with SqliteLedger(path, create=False) as ledger:
        assert ledger.verify().sound
        ask(ledger, 9)


def test_an_edited_ledger_is_not_accepted(path: Path, forge: Callable[..., int]) -> None:
    forge("UPDATE account SET epsilon = '0/1'")
    with pytest.raises(LedgerError, match="cannot be accepted: the account"):
        accept_rollback(path, "please")


def entry(path: Path, seq: int) -> dict[str, object]:
    return dict(zip((column for table, column in COLUMNS if table == "entry"), rows(path, "entry")[seq], strict=True))


@pytest.mark.parametrize("how", ["one was exchanged", "one is missing"])
def test_a_stretch_is_refused_whose_every_entry_has_a_right_seal(
    path: Path, forge: Callable[..., int], how: str
) -> None:
    """The next entry does not follow on the one that was exchanged; the last does follow, but by two."""
    if how == "one was exchanged":
        changed = entry(path, 5) | {"epsilon": "0/1"}
        forge("UPDATE entry SET epsilon = '0/1', hash = ? WHERE seq = 5", seal(changed))  # type: ignore[arg-type]
    else:
        changed = entry(path, 12) | {"prev": entry(path, 10)["hash"]}
        forge("DELETE FROM entry WHERE seq = 11")
        forge("UPDATE entry SET prev = ?, hash = ? WHERE seq = 12", changed["prev"], seal(changed))  # type: ignore[arg-type]
    with closing(schema.connect(path)) as connection, pytest.raises(LedgerError, match="its chain is broken"):
        list(stretch(connection, since=0))
