"""What was counted in public tables, and the plans that rest on it, belong to one state of the data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of
from tacit.curator import Curator, Session
from tacit.engines import open_engine
from tacit.errors import QueryRefused
from tacit.ledger import SqliteLedger
from tacit.policy import ColumnPolicy, Dataset, Policy, TablePolicy

ANA = Session("ana")
PEOPLE = TablePolicy("people", "id", columns=[ColumnPolicy("zone")], max_rows=1, max_groups=9)
POLICY = policy_of([PEOPLE, TablePolicy("zones", public=True)])
SUM = "DP-SELECT 100 FRESH SUM(rate) FROM people JOIN zones ON zone_id = zone"
ONE = "DP-SELECT 100 FRESH COUNT(*) FROM people WHERE zone = (SELECT zone_id FROM zones WHERE rate = 10)"
MANY = "DP-SELECT 100 FRESH COUNT(*) FROM people, zones a, zones b, zones c"


def written(base: Path, zones: str, *, day: int = 2) -> None:
    """The files anew, the public one of another day."""
    with duckdb.connect() as owner:
        owner.execute(
            f"COPY (SELECT i AS id, i % 4 AS zone FROM range(20) t(i)) TO '{base}/people.parquet' (FORMAT parquet)"
        )
        owner.execute(f"COPY ({zones}) TO '{base}/zones.parquet' (FORMAT parquet)")
    os.utime(base / "zones.parquet", (86_400 * day, 86_400 * day))


@pytest.fixture
def curator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Curator]:
    switch_off(monkeypatch)
    written(tmp_path, "SELECT i AS zone_id, i * 10 AS rate FROM range(4) t(i)", day=1)
    files = {"people": "people.parquet", "zones": "zones.parquet"}
    policy = Policy(Dataset("d", files, base=tmp_path), POLICY.budget, tables=POLICY.tables, analysts=POLICY.analysts)
    curator = Curator(policy, open_engine(policy), SqliteLedger(tmp_path / "d.ledger", create=True))
    yield curator
    curator.close()


def test_numbers_of_a_public_table_that_changed_are_not_held_to_its_old_ends(curator, tmp_path):
    assert curator.ask(SUM, session=ANA).rows == ((300,),)
    written(tmp_path, "SELECT i AS zone_id, i * 10000 AS rate FROM range(4) t(i)")
    assert curator.ask(SUM, session=ANA).rows == ((300_000,),)
    assert [
        answer.rows
        for answer in curator.batch([SUM.replace("DP-SELECT 100 FRESH", "SELECT")], session=ANA, epsilon=100).answers
    ] == [((300_000,),)]


def test_one_value_that_has_become_several_is_refused(curator, tmp_path):
    assert curator.ask(ONE, session=ANA).rows == ((5,),)
    written(tmp_path, "SELECT i AS zone_id, i - i + 10 AS rate FROM range(900) t(i)")
    for _ in range(2):
        with pytest.raises(QueryRefused, match="up to 900 rows"):
            curator.ask(ONE, session=ANA)


def test_a_public_table_that_grew_does_not_multiply_rows_beyond_what_was_counted(curator, tmp_path):
    assert curator.ask(MANY, session=ANA).rows == ((20,),)  # one of each unit's rows
    written(tmp_path, "SELECT i AS zone_id, i AS rate FROM range(150) t(i)")
    with pytest.raises(QueryRefused, match="rows"):
        curator.ask(MANY, session=ANA)


def test_plans_are_kept_while_the_data_stay_and_nothing_is_asked_where_nothing_was_counted(curator, monkeypatch):
    plain = "DP-SELECT 1 COUNT(*) FROM people"
    first = curator.prepare(plain, session=ANA)
    with monkeypatch.context() as patch:
        patch.setattr(type(curator._engine), "mark", lambda self: pytest.fail("the state of the data was asked for"))
        assert curator.prepare(plain, session=ANA) is first
    curator.prepare(SUM, session=ANA)
    kept = curator.prepare(SUM, session=ANA)
    assert curator.prepare(SUM, session=ANA) is kept
