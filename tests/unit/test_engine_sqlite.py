"""SQLite in particular: cells of any kind in any column, a file that changes, and a door that only reads."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import pytest

from tacit.engines import Limits, advice_on, one_state, open_engine, read_schema
from tacit.engines.sqlite import engine as sqlite
from tacit.engines.sqlite import programs as sqlite_programs
from tacit.engines.sqlite import tables as sqlite_tables
from tacit.engines.sqlite.engine import SQLite, open_sqlite
from tacit.errors import EngineError, InvalidParameter, PolicyError
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy

COUNT = "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM t"
TABLE = TablePolicy("t", "id", columns=[ColumnPolicy("id")])
Opened = Callable[..., SQLite]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "house.sqlite"


@pytest.fixture
def opened(path: Path) -> Iterator[Opened]:
    """An engine over a file that these statements make."""
    made: list[SQLite] = []

    def engine(*statements: str, table: TablePolicy = TABLE, limits: Limits = Limits()) -> SQLite:
        write(path, *statements)
        made.append(open_sqlite(Dataset("d", str(path), engine="sqlite"), [table], limits=limits))
        return made[-1]

    yield engine
    for one in made:
        one.close()


def write(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as owner:
        for statement in statements:
            owner.execute(statement)
        owner.commit()


def number(engine: SQLite, sql: str = COUNT) -> int:
    return int(engine.execute(sql).integers("n")[0])


# ── cells ────────────────────────────────────────────────────────────────────────────────────────────────────────────

STORED = (
    "NULL", "7", "-1", "1.5", "1e400", "'7x'", "'x'", "''", "x'00ff'", "CAST(x'ff' AS TEXT)", "'2024-02-29'",
    "'2024-02-30'", "'24-1-1'", "'2024-02-29 10:20'", "9223372036854775807", "1", "0", "CAST(x'610062' AS TEXT)",
)  # fmt: skip
HOUR = "2024-02-29 10:20"
KEPT: dict[str, list[object]] = {
    "INTEGER": [7, -1, 9223372036854775807, 1, 0],
    "BOOLEAN": [True, False],
    "REAL": [7.0, -1.0, 1.5, float("inf"), 9223372036854775807.0, 1.0, 0.0],
    "DECIMAL(10, 2)": [7.0, -1.0, 1.5, float("inf"), 9223372036854775807.0, 1.0, 0.0],
    "DATE": [date(2024, 2, 29)],
    "DATETIME": [datetime(2024, 2, 29), datetime.fromisoformat(HOUR)],  # noqa: DTZ001 - zoneless, as columns are
    "BLOB": [],
    "": [],
}


@pytest.mark.parametrize("declared", KEPT)
def test_a_cell_is_of_its_columns_type_or_null(opened, declared):
    rows = ", ".join(f"({place}, {stored})" for place, stored in enumerate(STORED))
    engine = opened(f"CREATE TABLE t (id INTEGER, x {declared})", f"INSERT INTO t VALUES {rows}")
    assert number(engine) == len(STORED)
    if not KEPT[declared]:
        assert engine.schema()["t"]["x"] == "BLOB"
        assert number(engine, "SELECT COUNT(x) AS n FROM t") == 0
        return
    found = engine.execute("SELECT x AS k FROM t WHERE x IS NOT NULL").keys("k")
    assert sorted(map(repr, found)) == sorted(map(repr, KEPT[declared]))


def test_text_is_what_is_utf8_with_whatever_is_in_it(opened):
    rows = ", ".join(f"({place}, {stored})" for place, stored in enumerate(STORED))
    engine = opened("CREATE TABLE t (id INTEGER, x TEXT)", f"INSERT INTO t VALUES {rows}, (99, 'Zürich 🏔')")
    found = engine.execute("SELECT x AS k FROM t WHERE x IS NOT NULL").keys("k")
    numbers = ["7", "-1", "1.5", "Inf", "9223372036854775807", "1", "0"]  # which a column of texts has made texts
    texts = ["7x", "x", "", "2024-02-29", "2024-02-30", "24-1-1", HOUR, "a\0b", "Zürich 🏔"]
    assert sorted(map(str, found)) == sorted([*numbers, *texts])


@pytest.mark.parametrize("odd", ["NULL", "x'00'", "'x'", "CAST(x'ff' AS TEXT)"])
@pytest.mark.parametrize("declared", ["INTEGER", "TEXT", "DATE", "REAL", "BOOLEAN", "TIMESTAMP"])
def test_no_cell_makes_a_question_fail_wherever_it_stands(opened, declared, odd, monkeypatch):
    """DuckDB guesses what an array of objects holds from its first cells: none may be of another kind."""
    monkeypatch.setattr(sqlite_tables, "BATCH", 2000)
    good = {"INTEGER": "5", "REAL": "0.5", "BOOLEAN": "1", "DATE": "'2024-01-01'", "TIMESTAMP": f"'{HOUR}'"}
    series = "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 4999) "
    chosen = f"CASE WHEN i < 1500 OR i = 4321 THEN {odd} ELSE {good.get(declared, chr(39) + 'a' + chr(39))} END"
    engine = opened(f"CREATE TABLE t (id INTEGER, x {declared})", f"INSERT INTO t {series} SELECT i, {chosen} FROM s")
    assert number(engine) == 5000
    text = declared == "TEXT" and odd == "'x'"
    assert number(engine, "SELECT COUNT(x) AS n FROM t") == (5000 if text else 3499)


def test_a_moment_with_a_zone_is_that_moment_in_utc(opened):
    engine = opened(
        "CREATE TABLE t (id INTEGER, x TIMESTAMP)",
        "INSERT INTO t VALUES (1, '2024-07-01 10:00:00+02:00'), (2, '2024-07-01T08:00:00Z'), (3, '2024-07-01 08:00')",
    )
    assert set(engine.execute("SELECT x AS k FROM t").keys("k")) == {datetime.fromisoformat("2024-07-01 08:00:00")}


def test_what_the_policy_states_goes_before_what_the_file_says(opened):
    columns = [ColumnPolicy("day", type="date"), ColumnPolicy("free", type="integer"), ColumnPolicy("n", type="number")]
    engine = opened(
        "CREATE TABLE t (id INTEGER, day TEXT, free, n INTEGER)",
        "INSERT INTO t VALUES (1, '2024-01-01', 5, 3), (2, 'soon', 'five', 4)",
        table=TablePolicy("t", "id", columns=columns),
    )
    assert engine.schema()["t"] == {"id": "BIGINT", "day": "DATE", "free": "BIGINT", "n": "BIGINT"}
    assert number(engine, "SELECT COUNT(day) + COUNT(free) AS n FROM t") == 2


@pytest.mark.parametrize("declared", ["NUMERIC", "DECIMAL(20,0)"])
def test_identifiers_that_no_double_can_hold_stay_apart(opened, declared):
    engine = opened(
        f"CREATE TABLE t (id {declared})",
        "INSERT INTO t VALUES (9007199254740992), (9007199254740993), (0.1), (0.10000000000000002), ('x'), (7.0)",
    )
    assert len(set(engine.execute("SELECT id AS k FROM t").keys("k"))) == 6
    assert "7" in engine.execute("SELECT id AS k FROM t").keys("k")


def test_text_is_compared_by_its_bytes_whatever_the_collation(opened):
    engine = opened(
        "CREATE TABLE t (id INTEGER, x TEXT COLLATE NOCASE)", "INSERT INTO t VALUES (1, 'a'), (2, 'A'), (3, 'a ')"
    )
    assert engine.execute("SELECT x AS k, COUNT(*) AS n FROM t GROUP BY x").rows == 3


def test_sums_are_wider_than_sqlites_own(opened):
    engine = opened("CREATE TABLE t (id INTEGER, x INTEGER)", f"INSERT INTO t VALUES (1, {2**62}), (2, {2**62})")
    with closing(sqlite3.connect(":memory:")) as other, pytest.raises(sqlite3.OperationalError, match="overflow"):
        other.execute(f"SELECT SUM(x) FROM (SELECT {2**62} AS x UNION ALL SELECT {2**62})").fetchone()
    assert engine.execute("SELECT SUM(x) AS k FROM t").keys("k") == [2**63]


def test_views_odd_names_and_tables_of_every_kind_are_read(opened):
    engine = opened(
        'CREATE TABLE base (id INTEGER PRIMARY KEY, "a""b" TEXT, "sel ect" INTEGER,'
        ' twice INTEGER GENERATED ALWAYS AS ("sel ect" * 2) VIRTUAL) WITHOUT ROWID',
        """INSERT INTO base VALUES (1, 'it''s', 21)""",
        "CREATE VIEW t AS SELECT *, id + 1 AS made FROM base",
        table=TablePolicy("t", "id", columns=[ColumnPolicy("made", type="integer")]),
    )
    row = engine.execute('SELECT "a""b" AS k, twice AS n, made AS m FROM t')
    assert (row.keys("k"), row.keys("n"), row.keys("m")) == (["it's"], [42], [2])


FAILING = (
    "abs(x)", "replace(j, 'a', 'aa')", "printf('%s', j)", "zeroblob(x)",
    "(SELECT sum(x) FROM base)", "j LIKE j", "(SELECT count(*) FROM json_each(j))",
)  # fmt: skip
SOUND = ("x + 1", "upper(j)", "CAST(j AS INTEGER)", "coalesce(x, 0)", "date(j)", "j LIKE 'a%'", "x / 0", "round(x, 1)")


@pytest.mark.parametrize("expression", FAILING)
@pytest.mark.parametrize("by", ["view", "virtual column"])
def test_what_one_row_could_make_fail_is_refused_before_the_row_is_there(opened, path, expression, by):
    if by == "virtual column" and "SELECT" in expression:
        return  # which SQLite refuses
    base = "CREATE TABLE base (id INTEGER, x INTEGER, j TEXT)"
    made = [base, f"CREATE VIEW t AS SELECT id, {expression} AS v, x FROM base"]
    if by == "virtual column":
        made = [f"CREATE TABLE t (id INTEGER, x INTEGER, j TEXT, v GENERATED ALWAYS AS ({expression}) VIRTUAL)"]
    with pytest.raises(PolicyError, match=r"column 'v' of table 't' cannot be used: .* can fail on a row"):
        opened(*made, table=TablePolicy("t", "id", columns=[ColumnPolicy("v", type="integer")]))
    path.unlink()
    engine = opened(*made)  # it is not asked for, and so is not read
    assert "v" not in engine.schema()["t"]


@pytest.mark.parametrize("expression", ["json_extract(j, '$.a')", "j ->> 'a'"])
def test_a_schema_that_computes_with_json_is_refused(opened, path, expression):
    virtual = f"CREATE TABLE t (id INTEGER, x INTEGER, j TEXT, v GENERATED ALWAYS AS ({expression}) VIRTUAL)"
    with pytest.raises((PolicyError, EngineError)):
        opened(virtual, table=TablePolicy("t", "id", columns=[ColumnPolicy("v", type="integer")]))
    path.unlink()
    with pytest.raises((PolicyError, EngineError)):
        opened("CREATE TABLE base (id INTEGER, j TEXT)", f"CREATE VIEW t AS SELECT id, {expression} AS v FROM base")


@pytest.mark.parametrize("expression", SOUND)
def test_what_no_row_can_make_fail_is_read(opened, expression):
    engine = opened(
        "CREATE TABLE base (id INTEGER, x INTEGER, j TEXT)",
        "INSERT INTO base VALUES (1, -9223372036854775808, '{'), (2, NULL, NULL), (3, 'x', x'ff')",
        f"CREATE VIEW t AS SELECT id, {expression} AS v FROM base WHERE x IS NULL OR x <> 7",
        table=TablePolicy("t", "id", columns=[ColumnPolicy("v", type="integer")]),
    )
    assert number(engine) == 3


def test_a_view_that_fails_all_the_same_stops_no_question_about_others(path, monkeypatch):
    monkeypatch.setattr(sqlite_programs, "_SAFE", sqlite_programs._SAFE | {"abs"})
    write(path, "CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (-9223372036854775808)")
    write(path, "CREATE VIEW v AS SELECT id, abs(id) AS a FROM t")
    tables = [TABLE, TablePolicy("v", "id", columns=[ColumnPolicy("a", type="integer")])]
    engine = open_sqlite(Dataset("d", str(path), engine="sqlite"), tables)
    assert number(engine) == 1
    with pytest.raises(EngineError):
        number(engine, "SELECT CAST(COUNT(*) AS BIGINT) AS n FROM v")
    engine.close()


def test_check_tells_the_curator_which_columns_hold_something_else(opened):
    engine = opened(
        "CREATE TABLE t (id INTEGER, good TEXT, day DATE, raw BLOB)",
        "INSERT INTO t VALUES (1, 'a', '2024-01-01', x'00'), (2, NULL, NULL, NULL), (3, 'b', 'CANARY', x'01')",
    )
    (advice,) = advice_on(engine)
    told = "t.day holds 1 of 2 cells that are not of its type (row 3 has 'CANARY'), date: they are read as NULL"
    assert advice[0] == told


def test_the_example_is_the_first_of_its_column(opened, monkeypatch):
    monkeypatch.setattr(sqlite_tables, "BATCH", 2)
    engine = opened(
        "CREATE TABLE t (id INTEGER, n INTEGER, at DATETIME)",
        "INSERT INTO t VALUES (1, 1, '2024-01-01 10:00'), (2, NULL, NULL), (3, 2, NULL), (4, 'x', 7), (5, 'y', 'z')",
    )
    told = [why for why, _ in advice_on(engine)]
    assert ["2 of 4 cells" in told[0], "row 4 has 'x'" in told[0]] == [True, True]
    assert ["2 of 3 cells" in told[1], "row 4 has '7'" in told[1]] == [True, True]


# ── a file that changes ──────────────────────────────────────────────────────────────────────────────────────────────

ONE = ("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1)")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_question_sees_the_newest_state(opened, path, mode):
    engine = opened(f"PRAGMA journal_mode = {mode}", *ONE)
    assert number(engine) == 1
    write(path, "INSERT INTO t VALUES (2), (3)")
    assert number(engine) == 3
    write(path, "DELETE FROM t")
    assert number(engine) == 0


def test_all_statements_of_a_question_see_one_state(opened, path):
    engine = opened("CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1)")
    with one_state(engine) as state:
        assert state.execute(COUNT).integers("n").tolist() == [1]
        write(path, "INSERT INTO t VALUES (2)")
        assert state.execute(COUNT).integers("n").tolist() == [1]
    assert number(engine) == 2


def test_a_file_that_takes_its_place_is_seen(opened, path):
    engine = opened(*ONE)
    assert number(engine) == 1
    other = path.with_name("new.sqlite")
    write(other, "CREATE TABLE t (id INTEGER)", "INSERT INTO t VALUES (1), (2)")
    os.replace(other, path)
    assert number(engine) == 2


def test_what_did_not_change_is_not_copied_again(opened, monkeypatch):
    engine = opened(*ONE)
    assert number(engine) == 1
    monkeypatch.setattr(sqlite, "load", lambda *_, **__: pytest.fail("copied again"))
    assert number(engine) == 1


def test_all_tables_of_a_question_are_of_one_state(path, monkeypatch):
    """The broken twin of a snapshot: somebody commits to both tables between the copying of one and the other."""
    write(path, "PRAGMA journal_mode = WAL", "CREATE TABLE a (id INTEGER)", "CREATE TABLE b (id INTEGER)")
    real, turns = sqlite.load, iter([True])

    def interrupted(*words, **named):
        real(*words, **named)
        if next(turns, False):
            write(path, "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)")

    monkeypatch.setattr(sqlite, "load", interrupted)
    tables = [
        TablePolicy("a", "id", columns=[ColumnPolicy("id")]),
        TablePolicy("b", "id", columns=[ColumnPolicy("id")]),
    ]
    with closing(open_sqlite(Dataset("d", str(path), engine="sqlite"), tables)) as engine:
        both = "SELECT CAST(10 * (SELECT COUNT(*) FROM a) + (SELECT COUNT(*) FROM b) AS BIGINT) AS n"
        assert number(engine, both) == 0, "before the change, or after it, and never in between"
        assert number(engine, both) == 11


def test_an_older_copy_answers_until_it_has_answered(opened, path):
    engine = opened(*ONE)
    older = engine._newest()
    write(path, "INSERT INTO t VALUES (2)")
    assert number(engine) == 2
    assert int(older.execute(COUNT).integers("n")[0]) == 1


@pytest.mark.parametrize(
    "change", ["DROP TABLE t", "ALTER TABLE t ADD COLUMN more TEXT", "ALTER TABLE t RENAME COLUMN id TO other"]
)
def test_tables_that_are_no_longer_what_was_planned_for_answer_nothing(opened, path, change):
    engine = opened(*ONE)
    assert number(engine) == 1
    write(path, change)
    with pytest.raises(EngineError) as caught:
        engine.execute(COUNT)
    assert (str(caught.value), caught.value.__context__) == ("the database could not answer", None)


def test_many_threads_and_a_writer_see_whole_states(opened, path):
    engine = opened("PRAGMA journal_mode = WAL", "CREATE TABLE t (id INTEGER)")
    seen: list[int] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            seen.append(number(engine))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        write(path, "INSERT INTO t VALUES (1), (2), (3)")
    done.set()
    for thread in threads:
        thread.join()
    assert {count % 3 for count in seen} <= {0}
    assert number(engine) == 15


# ── a door that only reads ───────────────────────────────────────────────────────────────────────────────────────────


def test_no_row_is_touched_before_the_first_question(opened, path, monkeypatch):
    monkeypatch.setattr(sqlite, "load", lambda *_, **__: pytest.fail("a row was read"))
    engine = opened(*ONE)
    assert engine.schema() == {"t": {"id": "BIGINT"}}
    assert read_schema(Dataset("d", str(path), engine="sqlite")) == {"t": {"id": "BIGINT"}}


def test_the_file_is_only_read(opened, path):
    engine = opened(*ONE)
    before = path.read_bytes()
    reader = engine._readers[0].connection
    for statement in ("INSERT INTO t VALUES (2)", "CREATE TABLE u (a)", f"ATTACH '{path}' AS other", "VACUUM"):
        with pytest.raises(sqlite3.Error):
            reader.execute(statement)
    assert number(engine) == 1
    engine.close()
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_being_written_is_waited_for_and_then_not_answered(opened, path, monkeypatch):
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.05)
    engine = opened(*ONE)
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN EXCLUSIVE")
        with pytest.raises(EngineError, match="could not answer"):
            engine.execute(COUNT)
        with pytest.raises(EngineError, match="could not be opened: it is damaged, encrypted or locked") as caught:
            open_sqlite(Dataset("d", str(path), engine="sqlite"), [TABLE])
        assert caught.value.__context__ is None
        owner.execute("ROLLBACK")
    assert number(engine) == 1


def test_a_damaged_file_tells_nothing(opened, path):
    series = "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 999) "
    engine = opened("CREATE TABLE t (id INTEGER, x TEXT)", f"INSERT INTO t {series} SELECT i, 'CANARY' || i FROM s")
    content = bytearray(path.read_bytes())
    content[2 * 4096 : 3 * 4096] = b"\xff" * 4096
    path.write_bytes(bytes(content))
    with pytest.raises(EngineError) as caught:
        engine.execute(COUNT)
    assert str(caught.value) == "the database could not answer"


def test_what_is_no_sqlite_is_refused_by_name(tmp_path):
    (tmp_path / "text.sqlite").write_text("not a database at all")
    write(tmp_path / "good.sqlite", *ONE)
    for source, said in (("none.sqlite", "no such file"), ("text.sqlite", "is not a SQLite database")):
        with pytest.raises(PolicyError, match=said):
            open_sqlite(Dataset("d", source, engine="sqlite", base=tmp_path), [TABLE])
    with pytest.raises(PolicyError, match="table 'people' is not in the database"):
        open_sqlite(Dataset("d", "good.sqlite", engine="sqlite", base=tmp_path), [TablePolicy("people", public=True)])
    with pytest.raises(PolicyError, match="must be one SQLite database"):
        Dataset("d", {"t": "good.sqlite"}, engine="sqlite")
    with pytest.raises(PolicyError, match="is a SQLite database") as caught:
        open_engine(Policy(Dataset("d", "good.sqlite", base=tmp_path), BudgetPolicy(1), tables=[TABLE]))
    assert caught.value.hint == 'write engine = "sqlite" beside it'


def test_a_view_of_something_that_is_gone_stops_nobody_else(path):
    write(path, *ONE, "CREATE TABLE base (a INTEGER)", "CREATE VIEW broken AS SELECT a FROM base", "DROP TABLE base")
    dataset = Dataset("d", str(path), engine="sqlite")
    assert read_schema(dataset) == {"t": {"id": "BIGINT"}}
    with pytest.raises(PolicyError, match="table 'broken' cannot be read"):
        open_sqlite(dataset, [TablePolicy("broken", public=True)])


def test_limits_that_cannot_be_are_refused_when_the_file_is_opened(opened):
    with pytest.raises(InvalidParameter, match="does not start with these limits"):
        opened(*ONE, limits=Limits(memory="much"))


def test_a_child_process_is_told_to_open_its_own(opened, monkeypatch):
    engine = opened(*ONE)
    monkeypatch.setattr(engine, "_pid", -1)
    with pytest.raises(EngineError, match="in another process"):
        engine.execute(COUNT)
