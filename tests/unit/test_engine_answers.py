"""The process that computes from answers: what it takes, what it refuses, and that nothing stays in it."""

from __future__ import annotations

import threading
from datetime import date, datetime
from fractions import Fraction

import pytest

from tacit.engines.answers import worker as answers_worker
from tacit.engines.answers.process import SHARED, AnswerEngine, ComputingFailed, HeldTable
from tacit.errors import QueryRefused

A = "_tacit_a0"
TABLE = HeldTable(
    A,
    (("ward", "VARCHAR"), ("n", "BIGINT"), ("d", "DATE"), ("at", "TIMESTAMP"), ("x", "DOUBLE"), ("yes", "BOOLEAN")),
    (
        ["Icu", "Ward 'A'", None],
        [3, -4, 2**62],
        [date(2024, 2, 29), None, date(1, 1, 1)],
        [datetime.fromisoformat("2024-01-01T02:03:04"), None, None],
        [Fraction(1, 3), 0.5, None],
        [True, False, None],
    ),
)


def rows(sql, *tables, engine=SHARED):
    return engine.compute([sql], tables or [TABLE])[0].rows


def test_cells_come_back_as_they_went():
    assert rows(f"SELECT * FROM {A}") == (
        ("Icu", 3, date(2024, 2, 29), datetime.fromisoformat("2024-01-01T02:03:04"), 1 / 3, True),
        ("Ward 'A'", -4, None, None, 0.5, False),
        (None, 2**62, date(1, 1, 1), None, None, None),
    )


def test_the_folder_that_it_was_started_from_may_go(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    engine = AnswerEngine()
    first = rows("SELECT 1", engine=engine)
    monkeypatch.chdir(tmp_path)
    folder.rmdir()
    assert rows("SELECT 1", engine=engine) == first == ((1,),)
    engine.close()


def test_lists_maps_and_structs_are_values_and_what_is_not_a_number_is_null():
    sql = f"SELECT [n, 1], MAP {{'a': n}}, {{'p': d}}, n / 0, 'nan'::DOUBLE, INTERVAL 1 DAY FROM {A} LIMIT 1"
    assert rows(sql) == (([3, 1], {"a": 3}, {"p": date(2024, 2, 29)}, None, None, "1 day, 0:00:00"),)


def test_an_empty_table_has_its_columns():
    empty = HeldTable(A, (("n", "BIGINT"),), ([],))
    assert SHARED.compute([f"SELECT n, n + 1 AS m FROM {A}"], [empty])[0].columns == ("n", "m")


REFUSED = [
    *("SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "SELECT * FROM glob('*')"),
    *("SELECT content FROM read_text('/etc/passwd')", "SELECT * FROM duckdb_settings()", "SELECT * FROM glob('*')"),
    *("SELECT * FROM information_schema.tables", "SELECT * FROM pg_catalog.pg_class", "SELECT * FROM duckdb_tables"),
    *("SELECT * FROM sqlite_master", "SELECT * FROM query('SELECT 1')", f"SELECT * FROM query_table('{A}')"),
    *("SELECT getenv('HOME')", "SELECT current_setting('threads')", "SELECT getvariable('x')", "SELECT nextval('s')"),
    *("SELECT random()", "SELECT uuid()", "SELECT gen_random_uuid()", "SELECT now()", "SELECT today()"),
    *("SELECT current_date", "SELECT CURRENT_TIMESTAMP", "SELECT localtimestamp", "SELECT get_current_timestamp()"),
    *("SELECT ago(INTERVAL 1 DAY)", "SELECT pg_sleep(9)", "SELECT sleep_ms(9)", "SELECT write_log('x')"),
    *("SELECT age(DATE '2000-01-01')", f"SELECT reservoir_quantile(n, 0.5) FROM {A}"),
    *("SELECT current_query()", "SELECT txid_current()", "SELECT setseed(0.5)", "SELECT error('x')"),
    *("SELECT main.random()", "SELECT system.main.now()", f"SELECT * FROM main.{A}", f"SELECT * FROM memory.main.{A}"),
    *("PRAGMA version", "ATTACH 'x.db'", "INSTALL httpfs", "LOAD httpfs", "SET threads = 2", "CHECKPOINT"),
    *("COPY (SELECT 1) TO '/tmp/x'", "CREATE TABLE x AS SELECT 1", "CREATE MACRO f() AS 1", "DROP TABLE _tacit_a0"),
    *("SELECT 1; SELECT 2", f"INSERT INTO {A} (n) VALUES (1)", f"DELETE FROM {A}", "EXPORT DATABASE 'x'", "CALL f()"),
    *("SHOW TABLES", f"DESCRIBE {A}", "SELECT * FROM (SHOW TABLES)", f"SUMMARIZE {A}", f"EXPLAIN SELECT * FROM {A}"),
    *(f"SELECT * FROM {A} TABLESAMPLE 50%", f"SELECT * FROM {A} USING SAMPLE 1", "", "SELECT", "nonsense"),
    "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t) SELECT COUNT(*) FROM t",
    "WITH x AS (INSERT INTO _tacit_a0 (n) VALUES (1) RETURNING n) SELECT * FROM x",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_no_select_over_the_tables_alone_is_refused(sql):
    with pytest.raises((QueryRefused, ComputingFailed)):
        rows(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT length(repeat('x', 3000000000))",
        "SELECT len(range(500000000))",
        "SELECT SUM(a.i * b.i) FROM (SELECT unnest(range(1000000)) AS i) a, (SELECT unnest(range(1000000)) AS i) b",
        "SELECT x0 + x0 AS x1" + "".join(f", x{i} + x{i} AS x{i + 1}" for i in range(1, 24)) + " FROM (SELECT 1 AS x0)",
    ],
)
def test_what_takes_too_much_is_ended_and_the_next_statement_is_answered(sql):
    engine = AnswerEngine(seconds=1)
    with pytest.raises(ComputingFailed, match="too long or too much"):
        rows(sql, engine=engine)
    engine._seconds = 60  # the next may need a new process, which takes a while to start on a busy machine
    assert rows("SELECT 1", engine=engine) == ((1,),)
    engine.close()


def test_too_many_rows_are_refused():
    with pytest.raises(QueryRefused, match="too many rows: at most 10"):
        SHARED.compute(["SELECT unnest(range(11))"], [TABLE], rows=10)


def test_nothing_of_a_statement_stays_for_the_next():
    other = HeldTable("_tacit_a1", (("k", "VARCHAR"),), (["left behind"],))
    rows("SELECT * FROM _tacit_a1", other)
    with pytest.raises(QueryRefused, match="there is no table _tacit_a1"):
        rows("SELECT * FROM _tacit_a1")


# ── one DuckDB for request after request ─────────────────────────────────────────────────────────────────────────────


def asked(sql, table, cells):
    """A request as it is sent; cells are the columns of a table, or the values and the places of one column."""
    made = {"name": table, "columns": [["x", "VARCHAR"]], **cells}
    return {"milliseconds": 5000, "rows": 100, "sql": [sql], "tables": [made]}


CELLS = {"cells": [["mine", "yours"]]}
CODED = {"values": [["mine", "yours"]], "codes": ["AQAAAAAAAAA="]}
LEFT = """
    SELECT (SELECT count(*) FROM duckdb_tables()) + (SELECT count(*) FROM duckdb_views() WHERE NOT internal)
        + (SELECT count(*) FROM duckdb_sequences()) + (SELECT count(*) FROM duckdb_types() WHERE NOT internal)
        + (SELECT count(*) FROM duckdb_functions() WHERE NOT internal) + (SELECT count(*) FROM duckdb_secrets())
        + (SELECT count(*) FROM duckdb_prepared_statements()) + (SELECT count(*) FROM duckdb_variables())
"""


def kept(scratch):
    return scratch._connection


def left(scratch):
    """What a request left behind in the DuckDB that answers the next one."""
    return kept(scratch).execute(LEFT).fetchall()[0][0] if kept(scratch) is not None else 0


@pytest.mark.parametrize("cells", [CELLS, CODED], ids=["cells", "coded"])
def test_a_request_leaves_nothing_in_the_duckdb_of_the_next(cells):
    scratch = answers_worker.Scratch()
    for sql in (f"SELECT x FROM {A} ORDER BY x", f"WITH w AS MATERIALIZED (SELECT x FROM {A}) FROM w ORDER BY x"):
        assert scratch.answered(asked(sql, A, cells))["results"][0]["rows"] == [["mine"], ["yours"]]
        assert left(scratch) == 0
    first = kept(scratch)
    assert scratch.answered(asked(f"SELECT x FROM {A}", A, {"cells": [["z"]]}))["results"][0]["rows"] == [["z"]]
    assert kept(scratch) is first, "the same DuckDB has answered all"
    for forbidden in ("SET threads = 2", "SET enable_external_access = true", "SET TimeZone = 'Asia/Tokyo'"):
        with pytest.raises(answers_worker.duckdb.Error, match="lock"):
            first.execute(forbidden)


@pytest.mark.parametrize("cells", [CELLS, CODED], ids=["cells", "coded"])
def test_a_request_that_stays_is_noticed(cells, monkeypatch):
    """Planted: its transaction is committed."""

    class Committing:
        def __init__(self, connection):
            self._inner = connection

        def rollback(self):
            self._inner.commit()

        def __getattr__(self, name):
            return getattr(self._inner, name)

    connect = answers_worker.duckdb.connect
    monkeypatch.setattr(answers_worker.duckdb, "connect", lambda *at, **how: Committing(connect(*at, **how)))
    scratch = answers_worker.Scratch()
    scratch.answered(asked(f"SELECT x FROM {A}", A, cells))
    assert left(scratch) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        asked("SELECT random()", A, CELLS),  # refused
        asked("SELECT x FROM nowhere", A, CELLS),
        asked(f"SELECT CAST(x AS INTEGER) FROM {A}", A, CELLS),  # failed
        asked(f"SELECT a.x FROM {A} AS a, {A} AS b, {A} AS c, {A} AS d, {A} AS e, {A} AS f, {A} AS g", A, CELLS),
        asked("SELECT 1", A, {"cells": [["one"], ["two"]]}),  # never loaded
        asked("SELECT 1", A, {"values": [["mine"]], "codes": ["AQ"]}),
    ],
)
def test_after_a_request_that_went_wrong_duckdb_is_a_new_one(wrong):
    scratch = answers_worker.Scratch()
    scratch.answered(asked("SELECT 1", A, CELLS))
    before = kept(scratch)
    with pytest.raises(Exception):  # noqa: B017, PT011  # whatever it is
        scratch.answered(wrong)
    assert kept(scratch) is None
    with pytest.raises(answers_worker.duckdb.ConnectionException):
        before.execute("SELECT 1")
    assert scratch.answered(asked(f"SELECT x FROM {A}", A, {"cells": [["z"]]}))["results"][0]["rows"] == [["z"]]
    assert left(scratch) == 0


def test_another_limit_of_time_is_another_duckdb():
    scratch = answers_worker.Scratch()
    scratch.answered(asked("SELECT 1", A, CELLS))
    first = kept(scratch)
    scratch.answered({**asked("SELECT 1", A, CELLS), "milliseconds": 700})
    assert kept(scratch) is not first
    assert kept(scratch).execute("SELECT current_setting('max_execution_time')").fetchall() == [(700,)]


def test_many_threads_have_each_their_own_answer():
    found = {}

    def ask(number):
        table = HeldTable(A, (("n", "BIGINT"),), ([number],))
        found[number] = [rows(f"SELECT n FROM {A}", table) for _ in range(3)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: [((number,),)] * 3 for number in range(6)}


def test_a_process_that_died_is_replaced():
    engine = AnswerEngine()
    assert rows("SELECT 1", engine=engine) == ((1,),)
    (process,) = engine._idle
    process.kill()
    process.wait()
    assert rows("SELECT 2", engine=engine) == ((2,),)
    engine.close()


def test_every_function_that_duckdb_calls_volatile_is_refused_and_none_it_calls_steady():
    """Read off DuckDB's own catalogue: what a later version adds is judged by what that says of it."""
    steady = {name: found for name, (found, macro) in answers_worker.functions().items() if macro is None}
    assert not any(steady[name] for name in ("random", "uuid", "now", "nextval", "current_setting", "setseed"))
    assert all(steady[name] for name in ("upper", "sum", "strftime", "regexp_replace", "quantile_cont", "round"))


def test_the_worker_imports_nothing_of_ours():
    with open(answers_worker.__file__) as file:
        assert "tacit." not in file.read()
