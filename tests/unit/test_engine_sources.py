"""Opening a source: what is read, what is refused, and in which words."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tacit.engines import advice_on, files, open_engine, read_schema, unreadable_tables
from tacit.errors import EngineError, PolicyError
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy, parse_policy
from tacit.policy.sources.dataset import SourceLike

CANARY = "canary"


def policy_over(source: SourceLike, base: Path, *columns: ColumnPolicy, tables: tuple[TablePolicy, ...] = ()) -> Policy:
    table = TablePolicy("visits", "row", columns=columns)
    return Policy(Dataset("clinic", source, base=base), BudgetPolicy(1), tables=tables or (table,))


def run(path: Path | str, sql: str) -> None:
    with duckdb.connect(str(path)) as owner:
        owner.execute(sql)


def count(policy: Policy, table: str = "visits") -> int:
    engine = open_engine(policy)
    try:
        return int(engine.execute(f'SELECT CAST(count(*) AS BIGINT) AS n FROM "{table}"').integers("n")[0])
    finally:
        engine.close()


def column(policy: Policy, name: str) -> list[object]:
    engine = open_engine(policy)
    try:
        return sorted(engine.execute(f'SELECT "{name}" AS k FROM visits').keys("k"), key=str)
    finally:
        engine.close()


# ── databases ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_tables_are_found_whatever_their_case_and_schema(tmp_path):
    run(
        tmp_path / "c.duckdb",
        "CREATE TABLE Visits AS SELECT 1 AS Id; CREATE SCHEMA s; CREATE TABLE s.Other AS SELECT 1 AS a",
    )
    tables = (TablePolicy("visits", "row"), TablePolicy("other", "row"))
    policy = policy_over("c.duckdb", tmp_path, tables=tables)
    engine = open_engine(policy)
    assert engine.schema() == {"visits": {"Id": "INTEGER"}, "other": {"a": "INTEGER"}}
    engine.close()
    assert count(policy, "other") == 1


def test_a_table_in_two_schemas_is_no_table_unless_one_is_main(tmp_path):
    run(
        tmp_path / "c.duckdb",
        "CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.visits (x INT); CREATE TABLE b.visits (x INT)",
    )
    with pytest.raises(PolicyError, match="several schemas"):
        open_engine(policy_over("c.duckdb", tmp_path))
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    assert count(policy_over("c.duckdb", tmp_path)) == 1


def test_odd_names_are_quoted(tmp_path):
    run(tmp_path / 'it\'s a "base".duckdb', 'CREATE TABLE "vi sits" AS SELECT 1 AS "a ""b"" c", 2 AS "select"')
    policy = policy_over('it\'s a "base".duckdb', tmp_path, tables=(TablePolicy("vi sits", "row"),))
    engine = open_engine(policy)
    assert engine.schema() == {"vi sits": {'a "b" c': "INTEGER", "select": "INTEGER"}}
    assert unreadable_tables(engine) == ()
    engine.close()


def test_the_values_of_an_enumeration_are_not_in_the_schema(tmp_path):
    run(tmp_path / "c.duckdb", f"CREATE TABLE visits (e ENUM ('{CANARY}', 'it''s)'), s STRUCT(a ENUM ('{CANARY}')[]))")
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    assert engine.schema()["visits"] == {"e": "ENUM", "s": "STRUCT(a ENUM[])"}
    engine.close()


def test_a_collation_does_not_choose_whose_spelling_stands_for_a_group(tmp_path):
    run(
        tmp_path / "c.duckdb",
        "CREATE TABLE visits (city VARCHAR COLLATE NOCASE); INSERT INTO visits VALUES ('Bern'), ('BERN'), ('bern')",
    )
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    grouped = engine.execute("SELECT city AS k, CAST(count(*) AS BIGINT) AS n FROM visits GROUP BY city")
    assert sorted(grouped.keys("k")) == ["BERN", "Bern", "bern"]
    engine.close()


def test_the_databases_own_macros_do_not_replace_functions(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT -5 AS x; CREATE MACRO abs(x) AS 42")
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    assert engine.execute("SELECT abs(x) AS n FROM visits").integers("n").tolist() == [5]
    engine.close()


def test_a_view_that_stays_inside_its_database_is_a_table(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE raw AS SELECT 1 AS x; CREATE VIEW visits AS SELECT x FROM raw")
    assert count(policy_over("c.duckdb", tmp_path)) == 1


def test_the_curator_is_warned_of_a_view_before_a_row_fails_in_it(tmp_path):
    run(
        tmp_path / "c.duckdb",
        "CREATE TABLE other AS SELECT 'x' AS x; CREATE VIEW visits AS SELECT x::INT AS x FROM other",
    )
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    assert ["'visits' is computed when it is read" in why for why, _ in advice_on(engine)] == [True]
    engine.close()
    run(tmp_path / "c.duckdb", "DROP VIEW visits; CREATE TABLE visits AS SELECT 1 AS x")
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    assert advice_on(engine) == ()
    engine.close()


def test_a_view_that_reads_a_file_is_refused_at_open(tmp_path):
    (tmp_path / "f.csv").write_text("a\n1\n")
    run(tmp_path / "c.duckdb", f"CREATE VIEW visits AS SELECT * FROM read_csv('{tmp_path}/f.csv')")
    with pytest.raises(PolicyError, match="table 'visits' cannot be read"):
        open_engine(policy_over("c.duckdb", tmp_path))


def test_the_database_is_not_changed_by_asking(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    before = (tmp_path / "c.duckdb").read_bytes()
    engine = open_engine(policy_over("c.duckdb", tmp_path))
    with pytest.raises(duckdb.Error, match="read-only"):
        engine._connection.execute("INSERT INTO tacit_source.main.visits VALUES (2)")
    engine.close()
    assert (tmp_path / "c.duckdb").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["c.duckdb"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("gone.duckdb", "the source 'gone.duckdb' is not there: no such file"),
        ("notes.txt", "the source 'notes.txt' is not a DuckDB database"),
        ("empty.duckdb", "the source 'empty.duckdb' is not a DuckDB database"),
        (".", "the source '.' is a directory"),
        ("other.duckdb", "table 'visits' is not in the database"),
        ({"visits": "gone.parquet"}, "table 'visits': source 'gone.parquet' is not there: no such file"),
        ({"visits": "gone/*.parquet"}, "table 'visits': source 'gone/*.parquet' is not there: no such file"),
        ({"visits": "notes.txt"}, "table 'visits': source 'notes.txt' is of no kind tacit reads"),
        ({"visits": "folder.parquet"}, "table 'visits': source 'folder.parquet' is a directory"),
        ({"visits": "od[d].parquet"}, "has * ? or [ in the name of a file itself"),
        ({"visits": "fake.parquet"}, "'fake.parquet' is not Parquet that fits its columns"),
        ({"visits": "fake.json"}, "'fake.json' is not JSON that is one list of objects"),
    ],
)
def test_what_cannot_be_opened_is_named_as_the_policy_names_it(tmp_path, source, message):
    for name in ("notes.txt", "fake.parquet", "fake.json", "od[d].parquet"):
        (tmp_path / name).write_text(f"{CANARY} is no database, nor anything else {{")
    (tmp_path / "empty.duckdb").touch()
    (tmp_path / "folder.parquet").mkdir()
    run(tmp_path / "other.duckdb", "CREATE TABLE other (x INT)")
    with pytest.raises(PolicyError) as caught:
        open_engine(policy_over(source, tmp_path))
    assert message in caught.value.message
    assert str(tmp_path) not in caught.value.explain()
    assert CANARY not in caught.value.explain()
    assert caught.value.__cause__ is None


def test_a_policy_from_a_file_says_which_line_is_wrong(tmp_path):
    text = '[dataset]\nname = "clinic"\nsource = "gone.duckdb"\n[budget]\nepsilon = 1\n[tables.visits]\nunit = "row"\n'
    with pytest.raises(PolicyError, match=r"tacit\.toml:3: the source 'gone\.duckdb' is not there"):
        open_engine(parse_policy(text, name="tacit.toml", base=tmp_path))


def test_a_file_without_permission_is_said_to_be_so(tmp_path, monkeypatch):
    def denied(*_: object) -> None:
        raise PermissionError

    (tmp_path / "a.parquet").touch()
    monkeypatch.setattr(files, "open", denied, raising=False)
    with pytest.raises(PolicyError, match="may not be read: permission denied"):
        open_engine(policy_over({"visits": "a.parquet"}, tmp_path))


def test_a_database_that_is_being_written_is_said_to_be_busy(tmp_path):
    with duckdb.connect(str(tmp_path / "c.duckdb")) as owner:
        owner.execute("CREATE TABLE visits AS SELECT 1 AS x")
        with pytest.raises(EngineError, match=r"the source 'c\.duckdb' is open for writing elsewhere"):
            open_engine(policy_over("c.duckdb", tmp_path))
    assert count(policy_over("c.duckdb", tmp_path)) == 1


def test_a_database_that_another_process_writes_is_said_to_be_busy(tmp_path):
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(tmp_path / "c.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(EngineError, match="is open for writing elsewhere"):
            open_engine(policy_over("c.duckdb", tmp_path))
        other.communicate("")


def test_a_damaged_database_is_said_to_be_one(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x")
    whole = (tmp_path / "c.duckdb").read_bytes()
    (tmp_path / "c.duckdb").write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(EngineError, match="damaged"):
        open_engine(policy_over("c.duckdb", tmp_path))


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pattern_reads_all_its_files(tmp_path):
    (tmp_path / "v").mkdir()
    for part in range(3):
        run(":memory:", f"COPY (SELECT {part} AS x) TO '{tmp_path}/v/{part}.parquet'")
    assert column(policy_over({"visits": "v/*.parquet"}, tmp_path), "x") == [0, 1, 2]


def test_partitions_in_paths_are_columns(tmp_path):
    for year in ("2025", "2026"):
        (tmp_path / f"year={year}").mkdir()
        run(":memory:", f"COPY (SELECT 1 AS x) TO '{tmp_path}/year={year}/a.parquet'")
    assert column(policy_over({"visits": "**/*.parquet"}, tmp_path), "year") == ["2025", "2026"]
    typed = policy_over({"visits": "**/*.parquet"}, tmp_path, ColumnPolicy("year", type="integer"))
    assert column(typed, "year") == [2025, 2026]


def test_one_more_partition_changes_no_other(tmp_path):
    for year in ("2025", "2026", "somewhen"):
        (tmp_path / f"year={year}").mkdir()
        run(":memory:", f"COPY (SELECT 1 AS x) TO '{tmp_path}/year={year}/a.parquet'")
    typed = policy_over({"visits": "**/*.parquet"}, tmp_path, ColumnPolicy("year", type="integer"))
    assert column(typed, "year") == [2025, 2026, None]


def test_files_of_one_table_that_differ_in_type_are_refused_at_open(tmp_path):
    run(
        ":memory:",
        f"COPY (SELECT 1 AS x) TO '{tmp_path}/1.parquet'; COPY (SELECT '{CANARY}' AS x) TO '{tmp_path}/2.parquet'",
    )
    with pytest.raises(PolicyError, match="differ in their columns or types"):
        open_engine(policy_over({"visits": "*.parquet"}, tmp_path))


def test_a_link_to_a_file_is_that_file(tmp_path):
    (tmp_path / "there").mkdir()
    run(":memory:", f"COPY (SELECT 1 AS x) TO '{tmp_path}/there/v.parquet'")
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert count(policy_over({"visits": "link/v.parquet"}, tmp_path)) == 1


def test_relative_paths_start_from_the_policy_not_from_where_one_stands(tmp_path, monkeypatch):
    run(":memory:", f"COPY (SELECT 1 AS x) TO '{tmp_path}/v.parquet'")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert count(policy_over({"visits": "v.parquet"}, tmp_path)) == 1
    assert count(policy_over({"visits": "v.parquet"}, Path(".."))) == 1


def test_a_csv_file_whose_types_are_not_declared_is_text(tmp_path):
    (tmp_path / "v.csv").write_text("a,b\n1,7\n")
    engine = open_engine(policy_over({"visits": "v.csv"}, tmp_path))
    assert engine.schema() == {"visits": {"a": "VARCHAR", "b": "VARCHAR"}}
    engine.close()


def test_the_policys_types_come_before_what_a_csv_file_looks_like(tmp_path):
    (tmp_path / "v.csv").write_text("Zip,n,day\n007,1,2020-01-01\n008,,2020-01-02\n")
    declared = [ColumnPolicy("zip", type="text"), ColumnPolicy("n", type="number"), ColumnPolicy("day", type="text")]
    policy = policy_over({"visits": "v.csv"}, tmp_path, *declared)
    engine = open_engine(policy)
    assert engine.schema() == {"visits": {"Zip": "VARCHAR", "n": "DOUBLE", "day": "VARCHAR"}}
    assert read_schema(policy.dataset, policy.tables) == engine.schema()
    engine.close()
    assert column(policy, "Zip") == ["007", "008"]


def test_the_policys_types_come_before_what_a_json_file_looks_like(tmp_path):
    (tmp_path / "v.jsonl").write_text('{"a": 1, "day": "2020-01-01"}\n{"a": null, "day": "2020-01-02"}\n')
    policy = policy_over(
        {"visits": "v.jsonl"}, tmp_path, ColumnPolicy("a", type="number"), ColumnPolicy("day", type="text")
    )
    engine = open_engine(policy)
    assert engine.schema() == {"visits": {"a": "DOUBLE", "day": "VARCHAR"}}
    engine.close()


def test_a_csv_file_of_texts_keeps_its_first_row_as_names(tmp_path):
    (tmp_path / "v.csv").write_text("name\nAnn\nBob\n")
    assert column(policy_over({"visits": "v.csv"}, tmp_path), "name") == ["Ann", "Bob"]


def test_quotes_in_a_csv_file_mean_what_they_mean_everywhere(tmp_path):
    (tmp_path / "v.csv").write_text('name,n\n\'Ann\',1\n"Bob, ""Bobby""",2\nO\'Neil,3\n')
    assert column(policy_over({"visits": "v.csv"}, tmp_path), "name") == ["'Ann'", 'Bob, "Bobby"', "O'Neil"]


def test_a_cell_that_does_not_fit_is_null_and_said_to_nobody(tmp_path, capfd):
    (tmp_path / "v.csv").write_text(f"a\n1\n{CANARY}\n")
    heard: list[str] = []
    listener = logging.Handler()
    listener.addFilter(lambda record: bool(heard.append(record.getMessage())))
    policy = policy_over({"visits": "v.csv"}, tmp_path, ColumnPolicy("a", type="integer"))
    logging.getLogger("tacit.engine").addHandler(listener)
    try:
        assert column(policy, "a") == [1, None]
    finally:
        logging.getLogger("tacit.engine").removeHandler(listener)
    assert CANARY not in "".join(capfd.readouterr())
    assert heard == []


def test_a_csv_file_may_change_after_it_was_opened(tmp_path):
    (tmp_path / "v.csv").write_text("a\n1\n2\n")
    engine = open_engine(policy_over({"visits": "v.csv"}, tmp_path, ColumnPolicy("a", type="integer")))
    (tmp_path / "v.csv").write_text(f"a\n{CANARY}\n")
    assert engine.execute("SELECT CAST(sum(a) AS BIGINT) AS n FROM visits").integers("n").tolist() == [3]
    engine.close()


def test_text_that_is_not_unicode_is_found_before_a_question_trips_over_it(tmp_path):
    text = "zz-readable-zz"
    run(":memory:", f"COPY (SELECT '{text}' AS name, 1 AS x) TO '{tmp_path}/v.parquet' (COMPRESSION uncompressed)")
    policy = policy_over({"visits": "v.parquet"}, tmp_path)
    engine = open_engine(policy)
    assert unreadable_tables(engine) == ()
    engine.close()
    whole = (tmp_path / "v.parquet").read_bytes()
    assert text.encode() in whole
    (tmp_path / "v.parquet").write_bytes(whole.replace(text.encode(), b"\xff" * len(text)))
    engine = open_engine(policy)
    assert unreadable_tables(engine) == ("visits",)
    with pytest.raises(EngineError) as caught:
        engine.execute("SELECT name AS k FROM visits")
    assert str(tmp_path) not in caught.value.explain()
    engine.close()


def test_the_schema_of_a_source_is_read_without_a_policy(tmp_path):
    run(tmp_path / "c.duckdb", "CREATE TABLE visits AS SELECT 1 AS x; CREATE TABLE other AS SELECT 'a' AS y")
    assert read_schema(Dataset("c", "c.duckdb", base=tmp_path)) == {
        "visits": {"x": "INTEGER"},
        "other": {"y": "VARCHAR"},
    }
    run(":memory:", f"COPY (SELECT 1.5 AS x) TO '{tmp_path}/v.parquet'")
    assert read_schema(Dataset("c", {"v": "v.parquet"}, base=tmp_path)) == {"v": {"x": "DECIMAL(2,1)"}}
