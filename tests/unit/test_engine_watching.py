"""Data that change under answers: what is kept of the old is not given again, and other columns are noticed in time."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg
import pytest

from support import sail
from support.postgres import server
from tacit.core import Loss
from tacit.curator import Curator, Release, Session
from tacit.curator.calibrate import Calibration, Quantity, Target, calibrate, plan_calibration
from tacit.engines import Engine, mark_of, open_engine
from tacit.errors import EngineError, TacitError
from tacit.faces.owner.examining import examine
from tacit.learn import KMeansClusters
from tacit.learn.curated.fitting import TableLearner
from tacit.learn.curated.plans import FitRequest
from tacit.ledger import SqliteLedger
from tacit.policy import (
    AnalystPolicy,
    BudgetPolicy,
    ColumnPolicy,
    Dataset,
    Policy,
    TablePolicy,
    load_policy,
    policy_text,
)
from tacit.policy.sources.dataset import SourceLike
from tacit.release.distributions import DistributionRequest
from tacit.release.general import WorkloadRequest
from tacit.release.general.workload import open_workload
from tacit.release.publishing import Publisher

QUESTION = "DP-SELECT 1 COUNT(*) FROM t"
Change = Callable[[], None]
Made = tuple[SourceLike, str, Change, Change]  # a source, its engine, a row more, and another type of a column


def _duckdb(base: Path) -> Made:
    def run(sql: str) -> Change:
        def act() -> None:
            with duckdb.connect(str(base / "t.duckdb")) as owner:
                owner.execute(sql)

        return act

    run("CREATE TABLE t AS SELECT 1 AS id, 5 AS x")()
    return "t.duckdb", "duckdb", run("INSERT INTO t VALUES (2, 6)"), run("ALTER TABLE t ALTER x TYPE VARCHAR")


def _files(base: Path, name: str, form: str) -> Made:
    def write(sql: str) -> Change:
        def act() -> None:
            with duckdb.connect() as owner:
                owner.execute(f"COPY ({sql}) TO '{base / 'new'}' (FORMAT {form})")
            os.replace(base / "new", base / name)

        return act

    write("SELECT 1 AS id, 5 AS x")()
    more = write("SELECT CAST(i AS INTEGER) AS id, 5 AS x FROM range(1, 3) AS made(i)")
    return {"t": name}, "duckdb", more, write("SELECT 1 AS id, 'y' AS x, 2 AS z")


def _sqlite(base: Path) -> Made:
    def run(*statements: str) -> Change:
        def act() -> None:
            with closing(sqlite3.connect(base / "t.sqlite")) as owner:
                for sql in statements:
                    owner.execute(sql)
                owner.commit()

        return act

    run("PRAGMA journal_mode = WAL", "CREATE TABLE t (id INTEGER, x INTEGER)", "INSERT INTO t VALUES (1, 5)")()
    other = run("DROP TABLE t", "CREATE TABLE t (id INTEGER, x TEXT)")
    return "t.sqlite", "sqlite", run("INSERT INTO t VALUES (2, 6)"), other


def _written(url: str, *statements: str) -> None:
    """Run SQL on a server, and have it count what was written before it answers, not seconds later."""
    with psycopg.connect(url) as owner:
        for sql in (*statements, "SELECT pg_stat_force_next_flush()"):
            owner.execute(sql.encode())


def _postgres(base: Path) -> Made:
    url = server().database()

    def run(*statements: str) -> Change:
        def act() -> None:
            _written(url, *statements)

        return act

    run("CREATE TABLE base (id INT, x INT)", "INSERT INTO base VALUES (1, 5)", "CREATE TABLE t () INHERITS (base)")()
    return url, "postgres", run("INSERT INTO t VALUES (2, 6)"), run("ALTER TABLE base ALTER x TYPE TEXT")


def _spark(base: Path) -> Made:
    os.environ["SPARK_REMOTE"] = sail.server()
    source, _, more, other = _files(base, "t.parquet", "parquet")
    return source, "spark", more, other


KINDS: dict[str, Callable[[Path], Made]] = {
    "duckdb": _duckdb,
    "parquet": lambda base: _files(base, "t.parquet", "parquet"),
    "csv": lambda base: _files(base, "t.csv", "csv"),
    "jsonl": lambda base: _files(base, "t.jsonl", "json"),
    "sqlite": _sqlite,
    "postgres": _postgres,
    "sail": _spark,
}
OPEN_WHILE_WRITTEN = {"parquet", "sqlite", "postgres", "sail"}  # DuckDB locks its file; text is read once, at opening


def policy_over(source: SourceLike, engine: str, base: Path) -> Policy:
    columns = [ColumnPolicy("x", lower=0, upper=9, step=1)]
    table = TablePolicy("t", "id", columns=columns, max_rows=1, max_groups=1)
    dataset = Dataset("d", source, engine=engine, base=base)
    return Policy(dataset, BudgetPolicy(100, "1e-3"), tables=[table], analysts=[AnalystPolicy("ana", 100)])


def ask(curator: Curator) -> Release:
    answer = curator.ask(QUESTION, session=Session("ana"))
    assert isinstance(answer, Release)
    return answer


def opened(policy: Policy, base: Path) -> Curator:
    return Curator(policy, open_engine(policy), SqliteLedger(base / "d.ledger", create=True))


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_given_again_until_the_data_change(kind, tmp_path):
    source, engine, more, _ = KINDS[kind](tmp_path)
    policy = policy_over(source, engine, tmp_path)
    for turn in range(2):
        with closing(opened(policy, tmp_path)) as curator:
            first = ask(curator)
            assert first.reused is None
            again = ask(curator)
            assert again.reused == "the same question"
            assert again.rows == first.rows
            assert any("ago; the data have not changed since" in note for note in again.notes)
        with closing(opened(policy, tmp_path)) as curator:
            assert ask(curator).reused is not None  # another process asks of the same data
        more() if turn == 0 else None


@pytest.mark.parametrize("kind", sorted(OPEN_WHILE_WRITTEN))
def test_a_change_under_an_open_engine_is_noticed(kind, tmp_path):
    source, engine, more, _ = KINDS[kind](tmp_path)
    with closing(opened(policy_over(source, engine, tmp_path), tmp_path)) as curator:
        assert ask(curator).reused is None
        more()
        assert ask(curator).reused is None
        assert ask(curator).reused is not None


@pytest.mark.parametrize("kind", sorted(OPEN_WHILE_WRITTEN))
def test_other_columns_are_noticed_before_anything_is_charged(kind, tmp_path):
    source, engine, _, other = KINDS[kind](tmp_path)
    with closing(opened(policy_over(source, engine, tmp_path), tmp_path)) as curator:
        ask(curator)
        before = curator.balance("ana").total.spent
        other()
        for question in (QUESTION, "DP-SELECT 1 SUM(x) FROM t", "DP-SELECT 1 FRESH COUNT(*) FROM t"):
            with pytest.raises(TacitError, match="has other columns than when it was opened"):
                curator.ask(question, session=Session("ana"))
        with pytest.raises(EngineError, match="has other columns"):
            curator.batch(["SELECT COUNT(*) FROM t"], session=Session("ana"), epsilon=1)
        assert curator.balance("ana").total.spent == before


def calibrated(policy: Policy, engine: Engine, ledger: SqliteLedger) -> Calibration:
    target = Target("t", Quantity.UPPER, ("x",), edges=(3, 6, 9))
    plan = plan_calibration(
        policy, [target], schema=engine.schema(), price=Loss(1), coverage=Fraction(1, 2), dialect=engine.dialect
    )
    return calibrate(plan, policy, engine=engine, ledger=ledger, fresh=False)


PAYING: dict[str, Callable[[Policy, Engine, SqliteLedger], object]] = {  # whoever pays, beside questions and batches
    "a histogram": lambda policy, engine, ledger: Publisher(policy, engine, ledger).publish(
        DistributionRequest("t", "x", 1, "1e-6"), policy.analyst("ana")
    ),
    "a workload": lambda policy, engine, ledger: open_workload(
        Publisher(policy, engine, ledger), WorkloadRequest("t", ("x",), 1), policy.analyst("ana")
    ),
    "a model": lambda policy, engine, ledger: TableLearner(policy, engine, ledger).fit(
        KMeansClusters(2), FitRequest("t", None, ("x",), 1, "1e-6"), "ana"
    ),
    "a calibration": calibrated,
}


@pytest.mark.parametrize("name", PAYING)
@pytest.mark.parametrize("kind", sorted(OPEN_WHILE_WRITTEN))
def test_nobody_else_is_charged_for_other_columns_either(kind, name, tmp_path):
    source, engine, _, other = KINDS[kind](tmp_path)
    policy = policy_over(source, engine, tmp_path)
    with closing(opened(policy, tmp_path)) as curator:
        PAYING[name](policy, curator._engine, curator._ledger)
        before = curator.balance("ana").total.spent
        assert before.epsilon == 1
        other()
        with pytest.raises(EngineError, match="has other columns than when it was opened"):
            PAYING[name](policy, curator._engine, curator._ledger)
        assert curator.balance("ana").total.spent == before


@pytest.mark.parametrize("kind", sorted(OPEN_WHILE_WRITTEN))
def test_what_was_measured_of_older_data_is_measured_anew(kind, tmp_path):
    source, engine, more, _ = KINDS[kind](tmp_path)
    policy = policy_over(source, engine, tmp_path)
    with closing(opened(policy, tmp_path)) as curator:
        reused = [calibrated(policy, curator._engine, curator._ledger).reused for _ in range(2)]
        more()
        reused += [calibrated(policy, curator._engine, curator._ledger).reused for _ in range(2)]
    assert reused == [False, True, False, True]


def test_a_source_that_cannot_tell_says_so(tmp_path, monkeypatch):
    source, engine, *_ = _duckdb(tmp_path)
    monkeypatch.setattr("tacit.curator.reusing.reuse.mark_of", lambda _: None)
    with closing(opened(policy_over(source, engine, tmp_path), tmp_path)) as curator:
        ask(curator)
        assert any("whether the data changed since is not known" in note for note in ask(curator).notes)


def test_a_mark_holds_nothing_of_the_data(tmp_path):
    source, engine, *_ = _duckdb(tmp_path)
    opened_engine = open_engine(policy_over(source, engine, tmp_path))
    mark = mark_of(opened_engine)
    assert mark is not None
    assert len(mark.text) == 24
    assert mark.at is not None
    assert abs(mark.at - time.time()) < 3600
    opened_engine.close()


def test_views_and_partitions_are_watched_through(tmp_path):
    url = server().database()
    _written(
        url,
        "CREATE TABLE base (id INT, x INT) PARTITION BY RANGE (id)",
        "CREATE TABLE part PARTITION OF base FOR VALUES FROM (0) TO (100)",
        "CREATE VIEW inner_view AS SELECT * FROM base",
        "CREATE VIEW t AS SELECT * FROM inner_view",
        "CREATE TABLE other (id INT)",
    )
    engine = open_engine(policy_over(url, "postgres", tmp_path))
    marks = [mark_of(engine)]
    for sql in ("INSERT INTO other VALUES (1)", "INSERT INTO part VALUES (1, 5)", "TRUNCATE base"):
        _written(url, sql)
        marks.append(mark_of(engine))
    assert marks[0] == marks[1]
    assert len({mark.text for mark in marks[1:] if mark is not None}) == 3
    engine.close()


def test_check_holds_kept_answers_against_the_data(tmp_path):
    source, engine, more, _ = _duckdb(tmp_path)
    policy = policy_over(source, engine, tmp_path)
    path = tmp_path / "tacit.toml"
    path.write_text(policy_text(policy))
    with closing(opened(load_policy(path), tmp_path)) as curator:
        ask(curator)
    told = [finding.reason for finding in examine(path).findings if finding.path == ("dataset", "data_version")]
    assert told == []
    more()
    told = [finding.reason for finding in examine(path).findings if finding.path == ("dataset", "data_version")]
    assert len(told) == 1
    assert "the data have changed since" in told[0]
    assert "1 answers that are kept" in told[0]
