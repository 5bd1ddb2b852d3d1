"""Large collections: DuckDB, PostgreSQL and Spark add up reports to the very numbers that Python finds in lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from e2e.cli_clinic import here
from support import sail
from support.postgres import server
from support.sources import Seeded
from tacit import collect
from tacit.collect import Tally
from tacit.collect.surveys.questionnaire import Survey, load
from tacit.engines.reports import report_sql, tally
from tacit.errors import EngineError, InvalidParameter, PolicyError

PROTOCOLS = ("direct", "unary", "local-hash", "hadamard", "subset", "projective")
ANSWERS = 13  # so that a report of `unary` has three bits to spare


def survey_of(directory: Path, protocol: str, *, answers: int = ANSWERS) -> Survey:
    words = [word for number in range(answers) for word in ("-a", f"fruit {number}")]
    assert here("survey", "new", "fruit.toml", *words, "--epsilon", "1", cwd=directory).code == 0
    path = directory / "fruit.toml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(f'protocol = "{protocol}"\n' if line.startswith("protocol") else line for line in lines))
    return load(path)


def messages(survey: Survey, values: Any) -> list[bytes | None]:
    """Good reports, and nonsense of all kinds."""
    good = collect.messages(survey.protocol, survey.protocol.encode(values, Seeded(1)), topic=survey.topic)
    head, width = good[0][:5], survey.protocol.width
    return [
        *good,
        None,
        b"",
        b"\1",
        head,
        good[0][:-1],
        good[0] + b"\0",
        b"\2" + good[0][1:],
        b"\1\0\0\0\0" + good[0][5:],
        head + b"\xff" * width,  # out of range, or with bits to spare that are set
        b"\xff" * (5 + width),
        collect.messages(survey.protocol, survey.protocol.encode([0], Seeded(1)))[
            0
        ],  # the same coins, another question
    ]


def in_duckdb(reports: list[bytes | None], base: Path) -> dict[str, Any]:
    with duckdb.connect() as owner:
        owner.execute("CREATE TABLE r (report BLOB)")
        owner.executemany("INSERT INTO r VALUES (?)", [(report,) for report in reports])
        owner.execute(f"COPY r TO '{base}/part-1.parquet' (FORMAT parquet)")
    return {"reports": str(base / "*.parquet")}


def in_postgres(reports: list[bytes | None], base: Path) -> dict[str, Any]:
    import psycopg

    url = server().database()
    with psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE fruit (report BYTEA)")
        with owner.cursor() as cursor:
            cursor.executemany("INSERT INTO fruit VALUES (%s)", [(report,) for report in reports])
    return {"reports": url, "table": "fruit"}


def in_spark(reports: list[bytes | None], base: Path) -> dict[str, Any]:
    os.environ["SPARK_REMOTE"] = sail.server()
    return {**in_duckdb(reports, base), "engine": "spark"}


ENGINES: dict[str, Callable[[list[bytes | None], Path], dict[str, Any]]] = {
    "duckdb": in_duckdb,
    "postgres": in_postgres,
    "spark": in_spark,
}


def by_hand(survey: Survey, reports: list[bytes | None]) -> Tally:
    bodies, dropped = collect.open_messages(survey.protocol, [report or b"" for report in reports], topic=survey.topic)
    found: Tally = survey.protocol.tally(bodies)
    return found.with_dropped(dropped)


def numbers(found: Tally) -> tuple[list[int], int, int]:
    return found.counts.tolist(), found.reports, found.dropped


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_engine_adds_up_what_python_does_and_drops_what_python_drops(tmp_path, protocol, engine):
    survey = survey_of(tmp_path, protocol)
    reports = messages(survey, np.arange(400) % ANSWERS)
    expected = numbers(by_hand(survey, reports))
    assert expected[1:] == (400, 11)
    assert numbers(tally(survey, **ENGINES[engine](reports, tmp_path))) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_that_was_asked_for_is_added_up_as_well(tmp_path, engine):
    words = ("survey", "new", "age.toml", "-q", "How old are you?", "--number", "0:100:1", "--epsilon", "1")
    assert here(*words, cwd=tmp_path).code == 0
    survey = load(tmp_path / "age.toml")
    reports = messages(survey, np.arange(100))
    assert numbers(tally(survey, **ENGINES[engine](reports, tmp_path))) == numbers(by_hand(survey, reports))


@pytest.mark.parametrize("engine", ENGINES)
def test_more_bits_than_a_row_has_columns_are_summed_all_the_same(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(report_sql, "PART", 5)  # 13 bits in three rows, of which the last has two to spare
    survey = survey_of(tmp_path, "unary")
    reports = messages(survey, np.arange(200) % ANSWERS)
    found = tally(survey, **ENGINES[engine](reports, tmp_path))
    assert numbers(found) == numbers(by_hand(survey, reports))


@pytest.mark.parametrize("engine", ENGINES)
def test_two_thousand_answers_are_not_too_many(tmp_path, engine):
    protocol = collect.Unary.optimised(collect.Direct.two_coin().loss(), domain=2003)
    survey = Survey(tmp_path / "many.toml", "many", "Which one?", (), None, protocol)
    reports = messages(survey, np.arange(30))
    found = tally(survey, **ENGINES[engine](reports, tmp_path))
    assert numbers(found) == numbers(by_hand(survey, reports))
    assert found.reports == 30


@pytest.mark.parametrize("domain", range(9, 17))
def test_bits_that_stand_for_no_answer_must_be_zero(tmp_path, domain):
    protocol = collect.Unary.optimised(collect.Direct.two_coin().loss(), domain=domain)
    survey = Survey(tmp_path / "bits.toml", "bits", "Which one?", (), None, protocol)
    head = collect.messages(protocol, protocol.encode([0]), topic=survey.topic)[0][:5]
    reports: list[bytes | None] = [head + bytes([7, last]) for last in range(256)]
    found = tally(survey, **in_duckdb(reports, tmp_path))
    assert numbers(found) == numbers(by_hand(survey, reports))
    assert found.reports == 1 << (domain - 8)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("protocol", ["direct", "unary"])
def test_nothing_but_nonsense_is_counted_as_nonsense(tmp_path, protocol, engine):
    survey = survey_of(tmp_path, protocol)
    reports: list[bytes | None] = [b"\0", None]
    found = tally(survey, **ENGINES[engine](reports, tmp_path))
    assert numbers(found) == ([0] * found.counts.size, 0, 2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("protocol", ["direct", "unary"])
def test_a_bit_read_from_the_wrong_end_is_noticed(tmp_path, protocol, engine, monkeypatch):
    """The broken twin: reports that a wrong rule reads otherwise must not add up to the same."""
    survey = survey_of(tmp_path, protocol)
    reports = messages(survey, np.arange(200) % ANSWERS)
    place = ENGINES[engine](reports, tmp_path)
    words = report_sql.WORDS[engine]
    wrong = replace(words, digits=f"reverse({words.digits})" if protocol == "direct" else words.digits)
    wrong = replace(wrong, bit=lambda bit, width: words.bit(bit ^ 7, width))
    monkeypatch.setitem(report_sql.WORDS, engine, wrong)
    assert numbers(tally(survey, **place)) != numbers(by_hand(survey, reports))


def test_a_table_of_spark_is_added_up_as_well(tmp_path, monkeypatch):
    from tacit.engines.spark import engine as spark

    survey = survey_of(tmp_path, "direct")
    reports = messages(survey, np.arange(100) % ANSWERS)
    in_duckdb(reports, tmp_path)
    begun = spark._session

    def with_the_table(remote: str) -> Any:  # Sail's tables end with the session that made them
        session = begun(remote)
        session.sql(f"CREATE TABLE fruit USING parquet LOCATION '{tmp_path}/part-1.parquet'").toArrow()
        return session

    monkeypatch.setattr(spark, "_session", with_the_table)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    assert numbers(tally(survey, sail.server(), table="fruit")) == numbers(by_hand(survey, reports))


# ── from the shell ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_estimates_from_any_engine(tmp_path):
    survey = survey_of(tmp_path, "unary")
    reports = messages(survey, np.arange(400) % ANSWERS)
    lines = "".join(json.dumps({"report": (report or b"").hex()}) + "\n" for report in reports)
    survey.reports.write_text(lines)
    alone = here("survey", "estimate", "fruit.toml", "--format", "json", cwd=tmp_path).json
    assert (alone["reports"], alone["dropped"]) == (400, 11)
    for made in ENGINES.values():
        place = made(reports, tmp_path)
        words = [word for name, value in place.items() for word in (f"--{name}", value)]
        ran = here("survey", "estimate", "fruit.toml", "--format", "json", *words, cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert ran.json == alone


def test_a_database_file_of_duckdb_holds_reports_as_well(tmp_path):
    survey = survey_of(tmp_path, "direct")
    reports = messages(survey, np.arange(50) % ANSWERS)
    with duckdb.connect(str(tmp_path / "all.duckdb")) as owner:
        owner.execute("CREATE TABLE reports (report BLOB)")
        owner.executemany("INSERT INTO reports VALUES (?)", [(report,) for report in reports])
    assert numbers(tally(survey, tmp_path / "all.duckdb")) == numbers(by_hand(survey, reports))


def test_what_cannot_be_added_up_is_refused_by_name(tmp_path):
    survey = survey_of(tmp_path, "direct")
    with duckdb.connect() as owner:
        owner.execute(f"COPY (SELECT 'aa' AS report) TO '{tmp_path}/text.parquet' (FORMAT parquet)")
        owner.execute(f"COPY (SELECT 'aa' AS said) TO '{tmp_path}/other.parquet' (FORMAT parquet)")
    with pytest.raises(InvalidParameter, match="a column `report` of bytes: it is VARCHAR"):
        tally(survey, tmp_path / "text.parquet")
    with pytest.raises(InvalidParameter, match="a column `report` of bytes: there is none"):
        tally(survey, tmp_path / "other.parquet")
    with pytest.raises(PolicyError, match="not there: no such file"):
        tally(survey, tmp_path / "none.parquet")
    with pytest.raises(EngineError, match="could not be opened"):
        tally(survey, f"postgresql://nobody@/none?host={tmp_path}")
    ran = here("survey", "estimate", "fruit.toml", "-r", "postgresql://me:secret@h/d", cwd=tmp_path)
    assert (ran.code != 0, "holds a password" in ran.err, "secret" in ran.err) == (True, True, False)
