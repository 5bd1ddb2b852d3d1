"""One source, one ledger: a copied policy, a renamed account, a copied or deleted ledger is no fresh budget."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tacit.errors import LedgerError, PolicyError
from tacit.faces.cli.main import main
from tacit.faces.database import open_database
from tacit.faces.owner.examining import examine
from tacit.ledger import SqliteLedger, claims, verify_file
from tacit.policy import Severity, load_policy, parse_policy

POLICY = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 1
[analysts.ana]
epsilon = 1
[tables.visits]
unit = "row"
"""
QUESTION = "DP-SELECT 1 COUNT(*) FROM visits"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A policy whose budget is spent."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        for table in ("visits", "staff"):
            connection.execute(f"CREATE TABLE {table} AS SELECT i FROM range(50) AS t(i)")
    path = tmp_path / "good.toml"
    path.write_text(POLICY, encoding="utf-8")
    ask(path)
    return path


def ask(policy: Path) -> None:
    with open_database(policy, analyst="ana") as database:
        database.query(QUESTION)


def write(path: Path, *changes: tuple[str, str]) -> Path:
    text = POLICY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


ELSEWHERE = ('source = "clinic.duckdb"', 'source = "../clinic.duckdb"')
OTHERS: dict[str, Callable[[Path], Path]] = {
    "the policy copied into another directory": lambda p: write(p / "b" / "good.toml", ELSEWHERE),
    "a ledger of another name": lambda p: write(
        p / "copy.toml", ('name = "clinic"', 'name = "clinic"\nledger = "fresh.ledger"')
    ),
    "an account of another name": lambda p: write(p / "copy.toml", ('"clinic"', '"clinic2"')),
    "another name in the same ledger": lambda p: write(
        p / "copy.toml", ('name = "clinic"', 'name = "clinic2"\nledger = "clinic.ledger"')
    ),
    "a link to the data": lambda p: (
        os.symlink(p / "clinic.duckdb", p / "link.duckdb"),
        write(p / "copy.toml", ("clinic.duckdb", "link.duckdb"), ('name = "clinic"', 'name = "other"')),
    )[1],
    "a second name of the file": lambda p: (
        os.link(p / "clinic.duckdb", p / "hard.duckdb"),
        write(p / "copy.toml", ("clinic.duckdb", "hard.duckdb"), ('name = "clinic"', 'name = "other"')),
    )[1],
}


def test_who_has_no_home_has_no_registry_in_the_folder_they_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user without a name in a container: `~` would be a folder of that name, another one in every folder."""
    for name in ("TACIT_REGISTRY", "XDG_STATE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert claims.registry() == Path("/var/lib/tacit/sources")


def test_a_copied_policy_has_the_same_ledger(good: Path) -> None:
    copy = good.with_name("copy.toml")
    shutil.copy(good, copy)
    assert (
        load_policy(copy).dataset.ledger_path == load_policy(good).dataset.ledger_path == good.parent / "clinic.ledger"
    )
    with open_database(copy, analyst="ana") as database:
        assert database.budget.left.epsilon == 0


@pytest.mark.parametrize("how", OTHERS)
def test_a_second_ledger_or_account_for_one_source_is_refused_and_told_everywhere(
    good: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = OTHERS[how](good.parent)
    before = sorted(path.name for path in good.parent.rglob("*.ledger"))
    for _ in range(2):
        with (
            caplog.at_level(logging.ERROR, logger="tacit.ledger"),
            pytest.raises(LedgerError, match="a ledger already"),
        ):
            ask(other)
        assert "a second ledger for one source was refused" in caplog.text
    assert sorted(path.name for path in good.parent.rglob("*.ledger")) == before  # none was made
    findings = examine(other).findings
    assert any("has a ledger already" in finding.message and str(finding.level) == "error" for finding in findings)
    findings = examine(good).findings
    assert not any("ledger" in finding.message for finding in findings)


def test_a_second_ledger_that_is_there_already_is_refused_too(good: Path) -> None:
    SqliteLedger(good.parent / "fresh.ledger", create=True).close()
    with pytest.raises(LedgerError, match=r"its ledger is .*clinic.ledger, with its account 'clinic'"):
        ask(OTHERS["a ledger of another name"](good.parent))


def test_a_copy_of_the_ledger_is_not_the_ledger(good: Path) -> None:
    for suffix in ("", ".mark"):
        shutil.copy(good.parent / f"clinic.ledger{suffix}", good.parent / f"fresh.ledger{suffix}")
    with pytest.raises(LedgerError, match="of which this is a copy"):
        ask(OTHERS["a ledger of another name"](good.parent))


def test_a_ledger_that_moves_is_followed(good: Path) -> None:
    for suffix in ("", ".mark"):
        os.rename(good.parent / f"clinic.ledger{suffix}", good.parent / f"fresh.ledger{suffix}")
    moved = OTHERS["a ledger of another name"](good.parent)
    with open_database(moved, analyst="ana") as database:
        assert database.budget.left.epsilon == 0
    with pytest.raises(LedgerError, match=r"fresh\.ledger"):
        ask(good)


def test_a_deleted_ledger_is_not_begun_anew_in_silence(good: Path) -> None:
    for suffix in ("", ".mark"):
        (good.parent / f"clinic.ledger{suffix}").unlink()
    with pytest.raises(LedgerError, match=r"its ledger, .*clinic.ledger, is gone"):
        ask(good)
    assert not (good.parent / "clinic.ledger").exists()


@pytest.mark.parametrize("damage", ["rolled back", "no ledger"])
def test_a_ledger_that_does_not_open_is_told_by_the_check(good: Path, damage: str) -> None:
    path = good.parent / "clinic.ledger"
    if damage == "rolled back":
        path.unlink()
    else:
        path.write_bytes(b"nothing of the kind" * 99)
    (told,) = [each for each in examine(good).findings if each.path == ("dataset", "ledger")]
    assert told.level is Severity.WARNING
    assert "no question can be asked now: the " in told.message
    assert told.hint


def test_other_data_under_the_same_name_may_have_a_new_ledger(good: Path) -> None:
    for name in ("clinic.ledger", "clinic.ledger.mark"):
        (good.parent / name).unlink()
    shutil.copy(good.parent / "clinic.duckdb", good.parent / "new.duckdb")  # while the old one is there: another file
    os.replace(good.parent / "new.duckdb", good.parent / "clinic.duckdb")
    ask(good)


def test_the_owner_can_take_a_source_over_on_record(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = OTHERS["a ledger of another name"](good.parent)
    assert main(["ledger", "adopt", "-p", str(other), "--note", "a new year's data", "--as", "ana"]) == 3
    assert main(["ledger", "adopt", "-p", str(other), "--note", "a new year's data"]) == 0
    assert "adopted" in capsys.readouterr().out
    ask(other)
    with SqliteLedger(good.parent / "fresh.ledger", create=False) as ledger:
        (entry,) = [one for one in ledger.entries(limit=9) if one.act == "adopt"]
    assert entry.note is not None
    assert entry.note.startswith("a new year's data: its ledger is ")
    assert verify_file(good.parent / "fresh.ledger").sound
    with pytest.raises(LedgerError, match=r"fresh\.ledger"):
        ask(good)


# --- the same people by another way


def test_data_that_were_moved_keep_their_ledger(good: Path) -> None:
    os.rename(good.parent / "clinic.duckdb", good.parent / "moved.duckdb")
    moved = ('source = "clinic.duckdb"', 'source = "moved.duckdb"')
    with pytest.raises(LedgerError, match="a ledger already"):
        ask(write(good.parent / "copy.toml", moved, ('name = "clinic"', 'name = "other"')))
    with open_database(write(good.parent / "copy.toml", moved), analyst="ana") as database:
        assert database.budget.left.epsilon == 0


def test_the_number_of_a_file_that_is_gone_claims_nothing(good: Path) -> None:
    """File systems give it to the next one: that one has another size or time, and lies elsewhere."""
    os.rename(good.parent / "clinic.duckdb", good.parent / "new.duckdb")
    os.utime(good.parent / "new.duckdb", ns=(0, 0))
    ask(write(good.parent / "new.toml", ("clinic.duckdb", "new.duckdb"), ('name = "clinic"', 'name = "other"')))


@pytest.mark.parametrize("first", ["visits.parquet", "*.parquet", "v?sits.parquet"])
@pytest.mark.parametrize("second", ["visits.parquet", "*.parquet", "link.parquet", "[uvw]isits.parquet"])
def test_a_file_is_one_source_by_whatever_pattern_it_is_found(tmp_path: Path, first: str, second: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT i FROM range(50) AS t(i)) TO '{tmp_path / 'visits.parquet'}'")
    before, after = ('source = "clinic.duckdb"', "source = {{ visits = {!r} }}"), ('name = "clinic"', 'name = "other"')
    ask(write(tmp_path / "good.toml", (before[0], before[1].format(first))))
    if second.startswith("link"):
        os.link(tmp_path / "visits.parquet", tmp_path / second)
    with pytest.raises(LedgerError, match="a ledger already"):
        ask(write(tmp_path / "copy.toml", (before[0], before[1].format(second)), after))


def test_another_table_of_the_database_with_a_ledger_of_its_own_is_warned_of(
    good: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A view, or a table that was renamed, may hold the same people: only the owner knows."""
    with duckdb.connect(str(good.parent / "clinic.duckdb")) as connection:
        connection.execute("ALTER TABLE visits RENAME TO stays")
    other = write(good.parent / "stays.toml", ('"clinic"', '"stays"'), ("tables.visits", "tables.stays"))
    warnings = [each.message for each in examine(other).findings if each.level is Severity.WARNING]
    assert any("'visits' of the same database has a ledger of its own" in each for each in warnings)
    for told in (1, 0):  # the first time it is opened
        with caplog.at_level(logging.WARNING, logger="tacit.ledger"), open_database(other, analyst="ana"):
            assert caplog.text.count("visits of the same database has a ledger of its own") == told
        caplog.clear()
    warnings = [each.message for each in examine(other).findings if each.level is Severity.WARNING]
    assert any("'visits' of the same database has a ledger of its own" in each for each in warnings)


def test_tables_that_are_not_shared_may_have_a_budget_of_their_own(good: Path) -> None:
    staff = write(good.parent / "staff.toml", ('"clinic"', '"staff"'), ("tables.visits", "tables.staff"))
    with open_database(staff, analyst="ana") as database:
        database.query("DP-SELECT 1 COUNT(*) FROM staff")


def test_a_public_table_belongs_to_everybody(tmp_path: Path) -> None:
    shared = "\n[tables.staff]\npublic = true\n"
    first, second = (parse_policy(POLICY.replace('"clinic"', f'"{name}"') + shared, tmp_path) for name in "ab")
    assert [claim.source for claim in claims.claims_of(first, "")] == [f"{tmp_path}/clinic.duckdb#visits"]
    assert [claim.source for claim in claims.claims_of(second, "")] == [f"{tmp_path}/clinic.duckdb#visits"]


def test_a_servers_address_is_one_place_however_it_is_written() -> None:
    assert _claimed(
        "postgresql://a@DB.example/clinic",
        "postgres://b@db.example:5432/clinic?sslmode=require",
        "postgresql://db.example/?dbname=clinic",
        "postgresql:///clinic?host=db.example&port=5432",
        "postgresql://db.example:5432/%63linic",
    ) == {"postgresql://db.example:5432/clinic#visits"}
    loopback = ("localhost", "127.0.0.1", "127.1.2.3", "[::1]", "[::1]:5432", "LOCALHOST:5432")
    assert _claimed(
        *(f"postgresql://{host}/clinic" for host in loopback), "postgresql:///clinic?hostaddr=127.0.0.1&host=db"
    ) == {"postgresql://localhost:5432/clinic#visits"}
    several = ("postgresql://a:5433/c", "postgresql://a/c", "postgresql://a/C", "postgresql:///c?host=/run/a")
    assert len(_claimed(*several)) == 4


def _claimed(*addresses: str) -> set[str]:
    texts = [
        POLICY.replace('source = "clinic.duckdb"', f'source = "{each}"\nengine = "postgres"') for each in addresses
    ]
    return {claim.source for text in texts for claim in claims.claims_of(parse_policy(text), "")}


def test_a_registry_that_cannot_be_written_is_told_to_the_log(
    good: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TACIT_REGISTRY", str(good))  # a file
    with caplog.at_level(logging.WARNING, logger="tacit.ledger"), open_database(good, analyst="ana"):
        assert "would not be noticed" in caplog.text


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"source": 1}'])
def test_a_claim_that_cannot_be_read_is_written_anew(good: Path, registry: Path, damage: str) -> None:
    for claim in registry.glob("*.json"):
        claim.write_text(damage, encoding="utf-8")
    with open_database(good, analyst="ana"):
        assert claims.read(f"{good.parent}/clinic.duckdb#visits") is not None


# --- ledgers that were named after the policy's file


def test_a_ledger_named_after_the_policys_file_is_kept(good: Path) -> None:
    for suffix in ("", ".mark"):
        os.rename(good.parent / f"clinic.ledger{suffix}", good.parent / f"good.ledger{suffix}")
    assert load_policy(good).dataset.ledger_path == good.parent / "good.ledger"
    with open_database(good, analyst="ana") as database:
        assert database.budget.left.epsilon == 0


def test_two_ledgers_beside_a_policy_that_names_neither_are_refused(good: Path) -> None:
    SqliteLedger(good.parent / "good.ledger", create=True).close()
    with pytest.raises(PolicyError, match=r"there are two: clinic.ledger and good.ledger"):
        load_policy(good)
