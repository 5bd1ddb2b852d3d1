"""`tacit synthesise` on a clinic with a canary in every cell that could hold one."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from e2e.cli_clinic import CANARY, NUMBERS, build, here

NAMED = ("synthesise", "visits", "--eps", "1", "--delta", "1e-7", "--columns", "dept,age")


def test_a_table_is_synthesised_written_and_then_free(tmp_path: Path) -> None:
    build(tmp_path, people=200)
    ran = here(*NAMED, "-o", "out.parquet", "--model", "out.model", "--as", "ana", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "cost ε = 1" in ran.out
    with duckdb.connect() as reader:
        found = reader.execute(f"SELECT DISTINCT dept FROM '{tmp_path}/out.parquet' WHERE dept IS NOT NULL").fetchall()
    assert {dept for (dept,) in found} <= {"CS", "Econ", "Bio"}
    whole = ran.out.encode() + (tmp_path / "out.parquet").read_bytes() + (tmp_path / "out.model").read_bytes()
    assert not any(word.encode() in whole for word in (CANARY, *NUMBERS))
    again = here(*NAMED, "-o", "more.csv", "--rows", "7", "--format", "json", "--as", "ben", cwd=tmp_path)
    assert (again.code, json.loads(again.out)["reused"]) == (0, True)
    assert len((tmp_path / "more.csv").read_text().splitlines()) == 8
    assert here(*NAMED, "-o", "more.csv", cwd=tmp_path).code == 2


def test_the_exact_report_is_the_owners(tmp_path: Path) -> None:
    build(tmp_path, people=100)
    refused = here(*NAMED, "--exact", "--as", "ana", cwd=tmp_path)
    assert refused.code != 0
    assert "the exact report is the owner's" in refused.err
    ran = here(*NAMED, "--exact", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "they are not private" in ran.out
    told = json.loads(here(*NAMED, "--exact", "--format", "json", cwd=tmp_path).out)
    assert 0 <= told["exact"]["2"] <= 1
    assert told["exact"]["3"] is None


def test_an_explanation_is_free_and_a_missing_domain_is_told(tmp_path: Path) -> None:
    build(tmp_path, people=50)
    told = here(*NAMED, "--explain", "--format", "json", cwd=tmp_path)
    assert (told.code, json.loads(told.out)["cells"]["dept"]) == (0, 4)
    assert "dept" in here(*NAMED, "--explain", cwd=tmp_path).out
    refused = here("synthesise", "visits", "--eps", "1", "--delta", "1e-7", cwd=tmp_path)
    assert refused.code != 0
    assert "city has no public domain" in refused.err
    assert 'add city = { domain = ["…"] }' in refused.err
    assert "0 entries" in here("ledger", "verify", cwd=tmp_path).out or not (tmp_path / "tacit.ledger").exists()
