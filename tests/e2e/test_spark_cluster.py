"""Spark itself, on a standalone master with two workers: whole numbers as on DuckDB, and answers through both doors.

What every engine owes the curator is in conformance/test_engines.py, which runs on this cluster too; what happens when
parts of it die is in test_spark_faults.py. A thousand questions are compared on Sail; here, where a plan takes most of
a second to make, as many as fit into two minutes.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from sqlglot import exp

import tacit
from conformance.engine_pairs import Script, questions, random_script
from e2e import spark_clinic
from e2e.cli_clinic import tacit as command
from e2e.test_engine_agreement import ASKED_OF_LETTERS, ASKED_OF_NUMBERS, disagreement, letters, numbers, planned
from support.spark import cluster
from tacit.engines import UNLIMITED
from tacit.engines.spark.engine import Spark, open_spark
from tacit.errors import QueryRefused
from tacit.policy import Dataset, Schema
from tacit.sql import Plan
from tacit.sql.emitting import dialects

pytestmark = pytest.mark.cluster
QUESTIONS = 20  # of each table
LONGEST = 20_000  # characters: Spark's optimizer takes minutes for a query of twice as many, whatever the rows are
# Compiling each of these small plans to Java takes longer than running it. Most are interpreted; some run as anywhere.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
# Of a scale of sensitivity / ε, noise is more than this many with probability e^-21: less than once in 10⁹ answers.
FAR = 21


@pytest.fixture(autouse=True)
def remote(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SPARK_REMOTE", cluster().address)
    return cluster().address


def opened(script: Script, *, tables: bool, interpreted: bool) -> Spark:
    """The script's table `t` on the cluster: as files, or as a table of its catalogue."""
    directory = Path(tempfile.mkdtemp(prefix="tacit-spark-"))
    with duckdb.connect() as owner:
        for statement in script.statements:
            owner.execute(statement)
        texts = "REPLACE (CAST(id AS VARCHAR) AS id)" if "id UUID" in script.statements[0] else ""  # no type of Spark's
        spark_clinic.cut(f"SELECT * {texts} FROM t", directory / "t.parquet", owner=owner)
    source: str | dict[str, str] = {"t": f"{directory}/t.parquet"}
    if tables:
        source = cluster().address
        spark_clinic.declare("t", directory / "t.parquet", address=cluster().address)
    engine = open_spark(Dataset("d", source, engine="spark"), script.policy.tables, limits=UNLIMITED)
    for name, value in INTERPRETED.items() if interpreted else ():
        engine._session.conf.set(name, value)
    return engine


def differences(script: Script, asked: Callable[[Schema], list[tuple[str, Plan]]], *, engine: Spark) -> list[str]:
    """Where the cluster differs from DuckDB. Two questions at a time, for plans are made on one core each."""
    first = script.world().engine
    try:
        with ThreadPoolExecutor(2) as pool:
            found = pool.map(lambda one: disagreement(*one, first=first, second=engine), asked(first.schema()))
            return [problem for problem in found if problem]
    finally:
        first.close()
        engine.close()


def is_short(plan: Plan) -> bool:
    """Whether Spark reads it in seconds, or refuses it."""
    try:
        return all(len(statement.sql("spark")) <= LONGEST for statement in plan.statements)
    except QueryRefused:  # which is looked at where engines are compared
        return True


@pytest.mark.parametrize(
    ("seed", "tables", "interpreted"),
    [(0, False, False), (1, True, True), (2, False, True), (3, True, True)],
)
def test_questions_have_equal_whole_numbers_before_noise(seed, tables, interpreted):
    rng = random.Random(seed)
    script = random_script(rng, rows=60, units=7, tame=True)
    engine = opened(script, tables=tables, interpreted=interpreted)

    def asked(schema: Schema) -> list[tuple[str, Plan]]:
        drawn = questions(rng, script, schema=schema, count=QUESTIONS)
        return [(text, plan) for text, plan in drawn if is_short(plan)]

    assert differences(script, asked, engine=engine) == []


def odd_cells_differ(script: Script, asked: Sequence[str]) -> list[str]:
    def plans(schema: Schema) -> list[tuple[str, Plan]]:
        return [(text, planned(text, script.policy, schema=schema)) for text in asked]

    return differences(script, plans, engine=opened(script, tables=False, interpreted=True))


@pytest.mark.parametrize(("made", "asked"), [(letters, ASKED_OF_LETTERS), (numbers, ASKED_OF_NUMBERS)])
def test_odd_cells_have_equal_whole_numbers_before_noise(made, asked):
    assert odd_cells_differ(made(tame=True), asked) == []


def test_a_rewrite_that_is_forgotten_is_noticed(monkeypatch):
    for forgotten in (exp.Trim, exp.Upper):
        monkeypatch.delitem(dialects._SPARK, forgotten)
    asked = [text for text in ASKED_OF_LETTERS if "TRIM(s)," in text or "UPPER(s)," in text]
    assert len(odd_cells_differ(letters(tame=True), asked)) >= 2


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("as_tables", [False, True], ids=["files", "tables"])
def test_questions_are_answered_near_the_truth_and_paid_once(as_tables, tmp_path, remote):
    """3,000 patients in three towns, one visit of each to each of three departments."""
    path = spark_clinic.build(tmp_path, address=remote if as_tables else None)
    with tacit.open(path, analyst="ana") as db:
        by_dept = dict(db.query("DP-SELECT 2 dept, COUNT(*) FROM visits GROUP BY dept").rows)
        assert by_dept == pytest.approx(dict.fromkeys(("CS", "Econ", "Bio"), 3000), abs=FAR * 3 * 4 / 2)
        towns = dict(db.query("DP-SELECT 2 DELTA 1e-6 city, COUNT(*) FROM patients GROUP BY city").rows)
        assert towns == pytest.approx(dict.fromkeys(("Bern", "Basel", "Chur"), 1000), abs=FAR / 2 + 20)
        joined = "patients JOIN visits ON patients.id = visits.patient_id JOIN towns ON patients.city = towns.town"
        ((bern,),) = db.query(f"DP-SELECT 2 COUNT(*) FROM {joined} WHERE canton = 'BE'").rows
        assert bern == pytest.approx(3000, abs=FAR * 4 / 2)
        ((middle,),) = db.query("DP-SELECT 2 MEDIAN(amount) FROM visits").rows
        assert 0 <= middle <= 500
        assert db.budget.total.spent == tacit.Budget(8, "1e-6")
        assert [entry.act for entry in db.log] == ["settle", "charge"] * 4


def test_the_command_line_asks_the_cluster(tmp_path, remote):
    spark_clinic.build(tmp_path)
    ran = command("query", "--as", "ana", "DP-SELECT 1 COUNT(*) AS n FROM patients", "--format", "json", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["rows"][0][0] == pytest.approx(3000, abs=FAR)


# ── questions stay what they are ─────────────────────────────────────────────────────────────────────────────────────

WRITTEN = "SELECT CHAR_LENGTH('${env:PATH}') AS n, CHAR_LENGTH('a\\\\b') AS m"


def test_a_text_that_names_a_variable_of_the_server_stays_that_text():
    engine = opened(letters(tame=True), tables=False, interpreted=True)
    found = engine.execute(WRITTEN)
    assert (found.integers("n")[0], found.integers("m")[0]) == (len("${env:PATH}"), len("a|b"))
    engine._session.conf.set("spark.sql.variable.substitute", "true")  # as it is where nobody says otherwise
    assert engine.execute(WRITTEN).integers("n")[0] != len("${env:PATH}")
