"""Delta tables: what their log has deleted does not count, and a new version is noticed though no file is new."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from support import sail
from tacit.curator import Curator, Release, Session
from tacit.engines import advice_on, mark_of, open_engine
from tacit.engines.delta import delta_tables, is_delta, version
from tacit.engines.spark import engine as spark
from tacit.engines.spark.client import connect, disconnect
from tacit.engines.spark.tables import files_under
from tacit.engines.watching import mark_of_files
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.policy.sources.dataset import SourceLike


def committed(table: Path, number: int, *actions: dict[str, object]) -> None:
    """One more version of a table."""
    (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    text = "\n".join(map(json.dumps, actions)) + "\n"
    (table / "_delta_log" / f"{number:020}.json").write_text(text)


FIELDS = [{"name": name, "type": "integer", "nullable": True, "metadata": {}} for name in ("id", "x")]
SCHEMA = {"type": "struct", "fields": FIELDS}
FIRST: list[dict[str, object]] = [
    {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    {
        "metaData": {
            "id": "1",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(SCHEMA),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": 0,
        }
    },
]


def written(table: Path, name: str, people: int) -> dict[str, object]:
    """A file of the table, and the words that add it."""
    table.mkdir(exist_ok=True)
    with duckdb.connect() as owner:
        sql = f"SELECT CAST(i AS INTEGER) AS id, CAST(5 AS INTEGER) AS x FROM range({people}) AS made(i)"
        owner.execute(f"COPY ({sql}) TO '{table / name}' (FORMAT parquet)")
    size = (table / name).stat().st_size
    return {"path": name, "partitionValues": {}, "size": size, "modificationTime": 0, "dataChange": True}


def removed(name: str) -> dict[str, object]:
    return {"remove": {"path": name, "deletionTimestamp": 1, "dataChange": True}}


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A thousand people in one file, ten in another."""
    table = tmp_path / "visits"
    adds = [written(table, "a.parquet", 1000), written(table, "b.parquet", 10)]
    committed(table, 0, *FIRST, *({"add": each} for each in adds))
    return table


def policy_over(source: SourceLike, engine: str, base: Path) -> Policy:
    columns = [ColumnPolicy("x", lower=0, upper=9, step=1)]
    table = TablePolicy("t", "id", columns=columns, max_rows=1, max_groups=1)
    dataset = Dataset("d", source, engine=engine, base=base)
    return Policy(dataset, BudgetPolicy(1000), tables=[table], analysts=[AnalystPolicy("ana", 1000)])


def ask(curator: Curator) -> Release:
    answer = curator.ask("DP-SELECT 20 COUNT(*) FROM t", session=Session("ana"))
    assert isinstance(answer, Release)
    return answer


def opened(policy: Policy, base: Path) -> Curator:
    os.environ["SPARK_REMOTE"] = sail.server()
    return Curator(policy, open_engine(policy), SqliteLedger(base / "d.ledger", create=True))


def by_directory(base: Path) -> Policy:
    return policy_over({"t": "visits/"}, "spark", base)


def test_what_a_later_version_deletes_is_noticed_and_counts_no_more(visits: Path, tmp_path: Path) -> None:
    with closing(opened(by_directory(tmp_path), tmp_path)) as curator:
        first = ask(curator)
        assert abs(first.rows[0][0] - 1000) < 20
        assert ask(curator).reused is not None
        committed(visits, 1, removed("a.parquet"))
        second = ask(curator)
        assert second.reused is None
        assert abs(second.rows[0][0] - 10) < 5


def test_a_table_of_the_catalogue_is_found_where_it_lies_and_no_other_is(visits: Path, tmp_path: Path) -> None:
    session = connect(sail.server())
    session.sql(f"CREATE TABLE delta_one USING delta LOCATION '{visits}'").toArrow()
    session.sql(f"CREATE TABLE plain_one USING parquet LOCATION '{visits}'").toArrow()
    assert spark._delta_here(session, "delta_one") == str(visits)
    assert spark._delta_here(session, "plain_one") is None
    assert spark._delta_here(session, "no such table") is None
    (visits / "_delta_log").rename(tmp_path / "elsewhere")
    assert spark._delta_here(session, "delta_one") is None  # on another machine, perhaps
    session.sql("DROP TABLE delta_one").toArrow()
    session.sql("DROP TABLE plain_one").toArrow()
    disconnect(session)


def test_only_a_server_on_this_machine_sees_the_files_that_we_see() -> None:
    for remote in ("sc://localhost:15002", "sc://127.0.0.1:1/;token=x", "sc://[::1]:15002"):
        assert spark._HERE.match(remote)
    for remote in ("sc://localhost.example.org:15002", "sc://db:15002/;host=localhost", "sc://127.0.0.10:1"):
        assert not spark._HERE.match(remote)


def test_files_of_a_delta_table_that_are_read_as_they_are_are_warned_of(visits: Path, tmp_path: Path) -> None:
    os.environ["SPARK_REMOTE"] = sail.server()
    for engine in ("duckdb", "spark"):
        with closing(open_engine(policy_over({"t": "visits/*.parquet"}, engine, tmp_path))) as plain:
            assert ["is a Delta table" in why for why, _ in advice_on(plain)] == [True]
            before = mark_of(plain)
            committed(visits, 1 if engine == "duckdb" else 2, removed("a.parquet"))
            assert mark_of(plain) != before
    with closing(open_engine(by_directory(tmp_path))) as delta:
        assert advice_on(delta) == ()


def test_a_version_is_the_last_commit_of_the_log_and_of_nothing_else(visits: Path) -> None:
    assert version(str(visits))[0] == 0
    for name in ("00000000000000000009.checkpoint.parquet", "9.json", "x.json", "00000000000000000007.crc", "_last"):
        (visits / "_delta_log" / name).write_text("")
    assert version(str(visits))[0] == 0
    committed(visits, 12)
    assert version(str(visits))[0] == 12
    assert version(str(visits.parent)) == (-1, 0.0)


def test_a_checkpoint_is_no_change_of_the_data(visits: Path) -> None:
    before = mark_of_files(files_under([str(visits)]), directories=[str(visits)])
    (visits / "_delta_log" / f"{0:020}.checkpoint.parquet").write_text("x")
    (visits / "_delta_log" / "_last_checkpoint").write_text("{}")
    assert mark_of_files(files_under([str(visits)]), directories=[str(visits)]) == before
    committed(visits, 1)
    assert mark_of_files(files_under([str(visits)]), directories=[str(visits)]) != before


def test_a_table_without_any_file_has_a_version_too(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    committed(empty, 0, *FIRST)
    before = mark_of_files([], directories=[str(empty)])
    committed(empty, 1)
    assert mark_of_files([], directories=[str(empty)]) != before


def test_the_files_of_a_partition_belong_to_the_table_above(tmp_path: Path) -> None:
    inside = tmp_path / "t" / "year=2026" / "month=1"
    inside.mkdir(parents=True)
    (inside / "a.parquet").write_text("")
    assert delta_tables([str(inside / "a.parquet")]) == []
    committed(tmp_path / "t", 0)
    assert delta_tables([str(inside / "a.parquet")]) == [str(tmp_path / "t")]
    assert is_delta(str(tmp_path / "t"))
    other = tmp_path / "t" / "plain"
    other.mkdir()
    assert delta_tables([str(other / "a.parquet")]) == []


def test_without_a_log_a_mark_is_what_it_was(tmp_path: Path) -> None:
    """Answers that are kept of plain files stay."""
    (tmp_path / "a.parquet").write_text("x")
    paths = [str(tmp_path / "a.parquet")]
    assert mark_of_files(paths) == mark_of_files(paths, directories=[str(tmp_path)])
