"""The lock: a question is one SELECT that writes nothing, and the instance it runs in has no way out."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from tacit.engines import columns, open_engine
from tacit.errors import EngineError
from tacit.policy import BudgetPolicy, Dataset, Policy, TablePolicy

TABLES = [TablePolicy("people", "id"), TablePolicy("towns", public=True)]
PEOPLE = "SELECT i AS id, 'name-' || i AS name, 'city-' || (i % 7) AS city, i AS pay FROM range(100) AS made(i)"


@pytest.fixture(scope="module", params=["database", "files"])
def policy(request, tmp_path_factory):
    base = tmp_path_factory.mktemp("house")
    with duckdb.connect(str(base / "house.duckdb")) as owner:
        owner.execute(f"CREATE TABLE people AS {PEOPLE}; CREATE TABLE towns AS SELECT 'Bern' AS town")
        owner.execute(f"COPY people TO '{base}/people.parquet'; COPY towns TO '{base}/towns.csv' (FORMAT csv, HEADER)")
    files = {"people": "people.parquet", "towns": "towns.csv"}
    source = "house.duckdb" if request.param == "database" else files
    return Policy(Dataset("house", source, base=base), BudgetPolicy(10), tables=TABLES)


@pytest.fixture(scope="module")
def engine(policy):
    opened = open_engine(policy)
    yield opened
    opened.close()


# Each works in an open DuckDB (`{dir}` holds a secret.csv and a stray.duckdb), or would with a network.
FILES = [
    "SELECT * FROM read_csv('{dir}/secret.csv')",
    "SELECT * FROM '{dir}/secret.csv'",
    "SELECT * FROM read_text('{dir}/secret.csv')",
    "SELECT size FROM read_blob('{dir}/secret.csv')",
    "SELECT * FROM glob('{dir}/*')",
    "SELECT Delimiter FROM sniff_csv('{dir}/secret.csv')",
    "SELECT * FROM read_json('{dir}/secret.json')",
    "SELECT * FROM read_parquet('{dir}/secret.parquet')",
    "SELECT file_name FROM parquet_metadata('{dir}/secret.parquet')",
    "COPY (SELECT 1) TO '{dir}/out.csv'",
    "COPY (SELECT 1) TO '{dir}/out.parquet' (FORMAT parquet)",
    "EXPORT DATABASE '{dir}/out'",
    "ATTACH '{dir}/stray.duckdb' AS stray",
    "ATTACH '{dir}/stray.duckdb' AS stray (READ_ONLY)",
    "ATTACH '{dir}/new.duckdb' AS new",
]
SETTINGS = [
    "SET threads = 1",
    "SET memory_limit = '1GB'",
    "SET TimeZone = 'America/New_York'",
    "SET default_collation = 'NOCASE'",
    "RESET TimeZone",
    "PRAGMA threads = 1",
    "PRAGMA enable_profiling",
    "SET max_execution_time = 0",
    "SET python_enable_replacements = true",
]
NEVER_WORK = [  # with or without a lock: once locked, nothing may open it again
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_directories = ['/']",
    "SET autoinstall_known_extensions = true; INSTALL httpfs",
    "SELECT * FROM 'https://127.0.0.1:9/a.csv'",
]
NOT_A_QUESTION = [  # a locked DuckDB does all of these; the engine runs one SELECT that writes nothing
    "CREATE TEMP TABLE copy AS SELECT * FROM people",
    "CREATE TABLE copy AS SELECT * FROM people",
    "CREATE VIEW other AS SELECT 1 AS n",
    "CREATE MACRO twice(x) AS 2 * x",
    "CREATE OR REPLACE VIEW people AS SELECT 1 AS n",
    "DROP VIEW people",
    "SET VARIABLE x = (SELECT max(name) FROM people)",
    "PREPARE x AS SELECT name FROM people",
    "EXECUTE x",
    "CHECKPOINT",
    "CALL pragma_version()",
    "PRAGMA version",
    "PRAGMA storage_info('people')",
    "EXPLAIN ANALYZE SELECT count(*) FROM people",
    "EXPLAIN SELECT count(*) FROM people",
    "BEGIN",
    "COMMIT",
    "USE memory",
    "VACUUM",
    "COMMENT ON VIEW people IS 'x'",
    "PIVOT people ON city USING count(*)",
    "DELETE FROM people",
    "UPDATE people SET pay = 0",
    "INSERT INTO people (id) VALUES (0)",
    "INSERT INTO towns VALUES ('Basel')",
    "COMMIT; CREATE TABLE copy AS SELECT 1 AS n",
    "WITH gone AS (DELETE FROM towns RETURNING town) SELECT town FROM gone",
    "WITH more AS (INSERT INTO towns VALUES ('Basel') RETURNING town) SELECT town FROM more",
]


@pytest.fixture
def stray(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text("a\n1\n2\n")
    (tmp_path / "secret.json").write_text('{"a": 1}\n')
    with duckdb.connect(str(tmp_path / "stray.duckdb")) as owner:
        owner.execute(f"CREATE TABLE t AS SELECT 1 AS a; COPY t TO '{tmp_path}/secret.parquet' (FORMAT parquet)")
    return tmp_path


@pytest.mark.parametrize("sql", FILES + SETTINGS + NEVER_WORK + NOT_A_QUESTION)
def test_only_a_question_runs(engine, stray, sql):
    before = engine.execute("SELECT CAST(count(*) AS BIGINT) AS n FROM towns").integers("n").tolist()
    with pytest.raises(EngineError):
        engine.execute(sql.format(dir=stray))
    assert engine.execute("SELECT CAST(count(*) AS BIGINT) AS n FROM towns").integers("n").tolist() == before == [1]


@pytest.mark.parametrize("sql", FILES + SETTINGS + NEVER_WORK)
def test_the_locked_instance_refuses_too(engine, stray, sql):
    raw = engine._connection.cursor()
    with pytest.raises(duckdb.Error):
        raw.execute(sql.format(dir=stray)).fetchall()


@pytest.mark.parametrize("sql", FILES + SETTINGS)
def test_an_open_instance_would_have_done_it(stray, sql):
    with duckdb.connect() as raw:
        raw.execute(sql.format(dir=stray))


@pytest.mark.parametrize("sql", NOT_A_QUESTION[:4])
def test_the_lock_alone_would_not_have_been_enough(policy, sql):
    opened = open_engine(policy)
    try:
        opened._connection.execute(sql)
    finally:
        opened.close()


def test_a_variable_of_the_process_is_no_table(engine, monkeypatch):
    monkeypatch.setattr(columns, "variable", {"a": np.array([1, 2])}, raising=False)  # where DuckDB would look for it
    with pytest.raises(EngineError):
        engine.execute("SELECT a FROM variable")
    variable = columns.variable
    with duckdb.connect() as open_instance:
        assert open_instance.execute("SELECT a FROM variable").fetchall() == [(1,), (2,)]
    del variable
