"""Spark in particular: addresses, files and names. What every engine owes is in conformance/, on Sail."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import date
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from support import sail
from tacit.core import Loss
from tacit.engines import UNLIMITED, Limits, read_schema
from tacit.engines.spark.engine import Spark, open_spark
from tacit.engines.spark.tables import SparkTables
from tacit.errors import EngineError, PolicyError, QueryRefused
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.sql import bind, parse, plan
from tacit.sql.emitting.dialects import emit

ODD = """SELECT 1::SMALLINT AS "Id", 1.5::DECIMAL(8, 2) AS amount, 1.5::FLOAT AS rough, 'x' AS s, TRUE AS b,
DATE '2020-01-01' AS d, TIMESTAMP '2020-01-01 00:00:00' AS ts, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS tz"""


@pytest.fixture(autouse=True)
def remote(monkeypatch):
    monkeypatch.setenv("SPARK_REMOTE", sail.server())


def parquet(where: Path, sql: str, name: str = "t.parquet") -> None:
    with duckdb.connect() as owner:
        owner.execute(f"COPY ({sql}) TO '{where / name}' (FORMAT parquet)")


def dataset(where: Path) -> Dataset:
    return Dataset("d", {"t": "t.parquet"}, engine="spark", base=where)


def test_the_schema_speaks_of_types_as_every_engine_does_and_of_names_as_the_policy_does(tmp_path):
    parquet(tmp_path, ODD)
    engine = open_spark(dataset(tmp_path), [TablePolicy("t", "id", columns=[ColumnPolicy("AMOUNT")])])
    assert engine.schema() == {
        "t": {
            "id": "BIGINT", "AMOUNT": "DECIMAL(8,2)", "rough": "FLOAT", "s": "VARCHAR", "b": "BOOLEAN", "d": "DATE",
            "ts": "TIMESTAMP", "tz": "TIMESTAMP WITH TIME ZONE",
        }
    }  # fmt: skip
    engine.close()


WILD = f"""SELECT CAST(i AS INTEGER) AS id, CAST(d AS DATE) AS d, CAST(ts AS TIMESTAMP) AS ts, CAST(u AS UBIGINT) AS u
FROM (VALUES (1, '2020-01-01', '2020-01-01 10:20:30', '5'), (2, '294247-01-01', '294247-01-01 00:00:00', '{2**64 - 1}'),
    (3, '0044-03-15 (BC)', '0044-03-15 (BC) 01:02:03', NULL), (4, 'infinity', '-infinity', '9223372036854775808'),
    (5, '-infinity', 'infinity', '0'), (6, '0001-01-01', '0001-01-01 00:00:00', '1'),
    (7, '9999-12-31', '9999-12-31 23:59:59.999999', '9223372036854775807'), (8, NULL, '1500-06-07 08:09:10', NULL)
) AS v(i, d, ts, u)"""
PARTS = (
    *(
        f"EXTRACT({part} FROM {column})"
        for column in ("d", "ts")
        for part in ("YEAR", "QUARTER", "MONTH", "DAY", "DOW")
    ),
    *(f"EXTRACT({part} FROM ts)" for part in ("HOUR", "MINUTE")),
    *(f"DATE_TRUNC('{unit}', {column})" for column in ("d", "ts") for unit in ("YEAR", "QUARTER", "WEEK", "MONTH")),
    *(f"DATE_TRUNC('{unit}', ts)" for unit in ("DAY", "HOUR", "MINUTE")),
)
ASKED = (
    "d, COUNT(*) AS n FROM t GROUP BY d",
    "ts, COUNT(*) AS n FROM t GROUP BY ts",
    "u, COUNT(*) AS n FROM t GROUP BY u",
    "COUNT(*) AS n FROM t WHERE d > DATE '2020-01-01' AND ts < TIMESTAMP '2020-01-01 00:00:00' AND u > 3",
    "SUM(u) AS n FROM t",
    "COUNT(DISTINCT d) AS n FROM t",
    *(f"{part} AS k, COUNT(*) AS n FROM t GROUP BY k" for part in PARTS),
)


def test_no_question_fails_for_what_a_cell_holds(tmp_path):
    parquet(tmp_path, WILD)
    columns = [
        ColumnPolicy("d", lower=date(2000, 1, 1), upper=date(2029, 12, 31)),
        ColumnPolicy("ts", type="timestamp", lower="2000-01-01T00:00:00", upper="2029-12-31T00:00:00", step=86400),
        ColumnPolicy("u", lower=0, upper=10, step=1),
    ]
    table = TablePolicy("t", "id", columns=columns, max_groups=1, max_rows=1)
    policy = Policy(dataset(tmp_path), BudgetPolicy(10, "1/10"), tables=[table])
    engine = open_spark(policy.dataset, policy.tables)
    for asked in ASKED:
        bound = bind(parse(f"DP-SELECT 1 DELTA 1e-3 {asked}"), policy, schema=engine.schema())
        made = plan(bound, policy, price=Loss(1, Fraction(1, 1000)))
        for statement in made.statements:
            assert engine.execute(statement.sql("spark")).rows >= 0, asked
    days = engine.execute("SELECT d AS k FROM t").keys("k")
    assert sorted(map(str, days)) == ["0001-01-01", "2020-01-01", "9999-12-31", *["None"] * 5]
    engine.close()


def test_a_draft_is_made_from_the_files_that_are_named(tmp_path):
    parquet(tmp_path, "SELECT 1 AS x")
    assert read_schema(dataset(tmp_path), [TablePolicy("t", public=True)]) == {"t": {"x": "BIGINT"}}


def test_a_file_that_is_not_parquet_is_refused(tmp_path):
    with pytest.raises(PolicyError, match=r"does not end in \.parquet"):
        open_spark(Dataset("d", {"t": "t.csv"}, engine="spark", base=tmp_path), [TablePolicy("t", public=True)])


def test_a_file_that_is_not_there_is_told_in_our_words(tmp_path):
    with pytest.raises(PolicyError, match="cannot be read by Spark") as caught:
        open_spark(dataset(tmp_path), [TablePolicy("t", public=True)])
    assert caught.value.__context__ is None


def test_files_need_somebody_who_reads_them(tmp_path, monkeypatch):
    monkeypatch.delenv("SPARK_REMOTE")
    with pytest.raises(PolicyError, match="no Spark is named"):
        open_spark(dataset(tmp_path), [])


def test_a_server_that_is_not_there_is_told_in_our_words(monkeypatch):
    monkeypatch.setenv("SPARK_REMOTE", "not an address")
    with pytest.raises(EngineError, match="could not be reached") as caught:
        open_spark(Dataset("d", "sc://nowhere", engine="spark"), [])
    assert caught.value.__context__ is None


@pytest.mark.parametrize("where", ["sc://host/;token=secret", "sc://host:15002/;use_ssl=true;token=secret"])
def test_a_token_in_a_policy_is_refused(where):
    with pytest.raises(PolicyError, match="holds a password") as caught:
        Dataset("d", where, engine="spark")
    assert "secret" not in str(caught.value)


def test_engine_and_source_must_fit_each_other():
    with pytest.raises(PolicyError, match="address of a server"):
        Dataset("d", "sc://host")
    with pytest.raises(PolicyError, match="Spark Connect server"):
        Dataset("d", "clinic.duckdb", engine="spark")


class Planning:
    """A session that takes its time: it stops at the third request, for it has not begun before."""

    def __init__(self) -> None:
        self.begun, self.stopped, self.asked = threading.Event(), threading.Event(), 0

    def sql(self, text: str) -> Planning:
        return self

    def toArrow(self) -> object:
        self.begun.set()
        assert not self.stopped.wait(60), "stopped"
        raise AssertionError("nobody stopped it")

    def interruptTag(self, tag: str) -> None:
        self.asked += 1
        if self.asked == 3:
            self.stopped.set()

    def addTag(self, tag: str) -> None:
        pass

    def removeTag(self, tag: str) -> None:
        pass


@pytest.mark.parametrize("by", ["the clock", "interrupt"])
def test_a_question_is_told_to_stop_until_it_stops(by):
    session = Planning()
    engine = Spark(
        session, lambda: SparkTables({}, ""), limits=Limits(timeout=0.05) if by == "the clock" else UNLIMITED
    )  # type: ignore[arg-type]
    hurry = threading.Thread(target=lambda: session.begun.wait(60) and engine.interrupt())
    if by == "interrupt":
        hurry.start()
    with pytest.raises(EngineError):
        engine.execute("SELECT 1 AS n")
    assert session.asked == 3


def test_a_wide_division_that_would_be_written_out_too_often_is_refused():
    tree = parse('SELECT CAST(a AS INT128) // b AS x FROM "t"').select
    assert "%" in emit(tree, "spark")
    long = "CAST(a AS INT128)" + " + a" * 500
    with pytest.raises(QueryRefused, match="too long for Spark"):
        emit(parse(f'SELECT ({long}) // b AS x FROM "t"').select, "spark")


def test_the_client_loads_where_python_runs_a_text():
    """As in `python -c` and in workers, where it would end the process."""
    loaded = subprocess.run(
        [sys.executable, "-c", "import tacit.engines.spark.engine; print('loaded')"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert loaded.stdout == "loaded\n"
