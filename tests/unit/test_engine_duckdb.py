"""DuckDB as an engine: what it holds while it is open, and what stays behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import tacit.engines.duckdb as adapter
from tacit.engines import Limits, open_engine
from tacit.engines.columns import Readable
from tacit.errors import EngineError, InvalidParameter, PolicyError
from tacit.policy import BudgetPolicy, Dataset, Policy, TablePolicy


def policy_over(source: str, base: Path) -> Policy:
    return Policy(Dataset("clinic", source, base=base), BudgetPolicy(1), tables=[TablePolicy("visits", "row")])


def run(path: Path, sql: str) -> None:
    with duckdb.connect(str(path)) as owner:
        owner.execute(sql)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.parametrize("end", ["close", "forget"])
def test_scratch_files_are_ours_alone_and_go_when_the_engine_goes(tmp_path, scratch, end):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    (made,) = scratch.iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    if end == "close":
        engine.close()
    del engine
    gc.collect()
    assert list(scratch.iterdir()) == []


def test_a_source_that_cannot_be_opened_leaves_nothing_behind(tmp_path, scratch):
    with pytest.raises(PolicyError):
        open_engine(policy_over("gone.duckdb", tmp_path))
    assert list(scratch.iterdir()) == []


def test_what_does_not_fit_into_memory_spills_and_is_answered(tmp_path, scratch):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT i AS x FROM range(3000000) AS made(i)")
    engine = open_engine(policy_over("c.duckdb", tmp_path), Limits(threads=1, memory="60MB"))
    assert Path(engine.execute("SELECT current_setting('temp_directory') AS k").keys("k")[0]).parent == scratch
    exact = engine.execute("SELECT CAST(count(*) AS BIGINT) AS n FROM (SELECT x, count(*) FROM visits GROUP BY x)")
    assert exact.integers("n").tolist() == [3_000_000]
    engine.close()


@pytest.mark.parametrize("limits", [{"threads": 0}, {"timeout": 0}, {"timeout": float("nan")}, {"timeout": -1}])
def test_limits_that_allow_nothing_are_refused(limits):
    with pytest.raises(InvalidParameter):
        Limits(**limits)


def test_a_memory_limit_that_is_none_is_refused_at_open(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    with pytest.raises(InvalidParameter, match="does not start with these limits"):
        open_engine(policy_over("c.duckdb", tmp_path), Limits(memory="much"))


def test_the_transaction_of_a_question_cannot_write(tmp_path, monkeypatch):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    engine.execute("SELECT 1 AS n")
    monkeypatch.setattr(Readable, "read", lambda _, cursor: cursor.execute("CREATE TABLE t AS SELECT 1").fetchall())
    for known_or_new in ("SELECT 1 AS n", "SELECT 2 AS n"):
        with pytest.raises(EngineError):
            engine.execute(known_or_new)
    engine.close()


def test_variables_are_no_tables_even_before_the_lock(tmp_path):
    callers_own = duckdb.connect().sql("SELECT 1 AS a")
    with (
        closing(adapter.instance(Limits(), scratch=str(tmp_path))) as connection,
        pytest.raises(duckdb.CatalogException),
    ):
        connection.execute("SELECT * FROM callers_own")
    del callers_own


def _ask_in_child(engine, said) -> None:
    try:
        engine.execute("SELECT 1 AS n")
        said.put("an answer")
    except EngineError as error:
        said.put(error.message)


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_an_engine_is_not_used_across_a_fork(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    fork = multiprocessing.get_context("fork")
    said = fork.SimpleQueue()
    child = fork.Process(target=_ask_in_child, args=(engine, said))
    child.start()
    child.join(60)
    child.kill()  # of one that hangs
    assert child.exitcode == 0
    assert said.get() == "the engine was opened in another process"
    assert engine.execute("SELECT 1 AS n").rows == 1
    engine.close()


def test_neither_pandas_nor_pyarrow_nor_pytz_is_needed_and_no_progress_is_shown(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 'a'::ENUM ('a') AS e, now() AS t, 1.5 AS d, uuid() AS u")
    script = f"""
import sys
for absent in ("pandas", "pyarrow", "pytz"):
    sys.modules[absent] = None
from tacit.engines import open_engine, run_owner_sql
from tacit.policy import BudgetPolicy, Dataset, Policy, TablePolicy
policy = Policy(Dataset("c", {str(tmp_path / "c.duckdb")!r}), BudgetPolicy(1), tables=[TablePolicy("visits", "row")])
engine = open_engine(policy)
assert engine.execute("SELECT * FROM visits").rows == 1
for shown in (engine._connection, engine._connection.cursor()):  # `python -c` counts as a prompt
    assert shown.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]
engine.close()
assert len(run_owner_sql(policy, "SELECT * FROM visits")[1]) == 1
"""
    subprocess.run(
        [sys.executable, "-c", script], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )


def test_what_was_learnt_of_a_statement_is_forgotten_when_the_files_change(tmp_path):
    def write(sql):
        with duckdb.connect() as owner:
            owner.execute(f"COPY ({sql}) TO '{tmp_path / 'new'}' (FORMAT parquet)")
        os.replace(tmp_path / "new", tmp_path / "visits.parquet")

    write("SELECT 1 AS x")
    sql = "SELECT x AS k0, COUNT(*) AS n FROM visits GROUP BY x"
    with closing(open_engine(policy_over({"visits": "visits.parquet"}, tmp_path))) as engine:
        for _ in range(3):
            assert engine.execute(sql).integers("n").tolist() == [1]
        assert list(engine._known) == [sql]
        write("SELECT 1 AS x UNION ALL SELECT 1")
        engine.mark()
        assert engine._known == {}
        assert engine.execute(sql).integers("n").tolist() == [2]
        for number in range(300):
            engine.execute(f"SELECT COUNT(*) + {number} AS n FROM visits")
        assert len(engine._known) <= 256, "it is bounded"
        with pytest.raises(EngineError):
            engine.execute("SELECT 1 AS n; SELECT 2 AS n")
