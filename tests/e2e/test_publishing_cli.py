"""`tacit hierarchy` and its siblings: what is printed and written, what is free, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from e2e.cli_clinic import here

POLICY = """
[dataset]
name = "land"
source = { people = "people.csv", places = "places.csv" }

[budget]
epsilon = 10
delta = 1e-3

[analysts.ana]
epsilon = 5

[tables.places]
public = true
columns.town = { type = "text" }
columns.region = { type = "text" }

[tables.people]
unit = "row"
columns.town = { type = "text", domain = { table = "places", column = "town" } }
columns.sex = { type = "text", domain = ["f", "m"], null = "f" }
columns.free = { type = "text" }
"""
ASKED = ("hierarchy", "people", "town", "--levels", "region", "--by", "sex", "--eps", "2", "--delta", "1e-7")


@pytest.fixture
def land(tmp_path: Path) -> Path:
    (tmp_path / "tacit.toml").write_text(POLICY)
    people = [f"t{i % 4},{'fm'[i % 2]},CANARY" for i in range(200)]
    (tmp_path / "people.csv").write_text("\n".join(["town,sex,free", *people]) + "\n")
    (tmp_path / "places.csv").write_text("town,region\n" + "".join(f"t{i},r{i // 2}\n" for i in range(6)))
    return tmp_path


def test_a_hierarchy_is_counted_written_drawn_and_then_free(land: Path) -> None:
    told = here(*ASKED, "--explain", "--format", "json", cwd=land)
    assert (told.code, json.loads(told.out)["epsilon"]) == (0, "2")
    assert not (land / "tacit.ledger").exists() or "0 entries" in here("ledger", "verify", cwd=land).out
    ran = here(*ASKED, "-o", "towns.parquet", "--plot", "towns.png", "--as", "ana", cwd=land)
    assert (ran.code, ran.err) == (0, "")
    assert "cost ε = 2" in ran.out
    assert (land / "towns.png").read_bytes().startswith(b"\x89PNG")
    with duckdb.connect() as reader:
        rows = reader.execute(f"SELECT region, town, sex, count FROM '{land}/towns.parquet'").fetchall()
    assert len(rows) == 12
    again = here(*ASKED, "--level", "region", "--format", "json", "--as", "ana", cwd=land)
    shown = json.loads(again.out)
    assert (again.code, shown["reused"]) == (0, True)
    assert {line["path"][0]: line["count"] for line in shown["totals"]} == {
        region: sum(row[3] for row in rows if row[0] == region) for region in ("r0", "r1", "r2")
    }
    whole = ran.out.encode() + ran.err.encode() + (land / "towns.parquet").read_bytes()
    assert b"CANARY" not in whole


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (("--level", "planet"), "there is no level"),
        (("--shares", "1"), "1 shares for 3 levels"),
        (("--by", "free"), 'add free = { domain = ["…"] }'),
        (("-o", "towns.xlsx"), "no format"),
        (("--plot", "towns.gif"), "cannot be written"),
        (("--levels", "planet"), "no column planet"),
        (("--as", "zoe"), "zoe"),
    ],
)
def test_what_makes_no_sense_is_refused_before_it_is_paid(land: Path, more: tuple[str, str], what: str) -> None:
    refused = here(*ASKED, *more, cwd=land)
    assert refused.code != 0
    assert what in refused.err
    assert "CANARY" not in refused.err
    assert not (land / "tacit.ledger").exists() or "0 entries" in here("ledger", "verify", cwd=land).out


def test_a_histogram_and_a_map_are_drawn_and_then_free(land: Path) -> None:
    (land / "runs.csv").write_text("x,y\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(300)))
    text = POLICY.replace("places = ", 'runs = "runs.csv", places = ')
    (land / "tacit.toml").write_text(
        text + '[tables.runs]\nunit = "row"\ncolumns.x = { type = "integer", lower = 0, upper = 7 }\n'
        'columns.y = { type = "integer", lower = 0, upper = 7 }\n'
    )
    bars = here("histogram", "runs", "x", "--eps", "1", "--delta", "1e-7", "--plot", "x.png", "--as", "ana", cwd=land)
    assert (bars.code, bars.err) == (0, "")
    assert (land / "x.png").read_bytes().startswith(b"\x89PNG")
    told = here("histogram", "runs", "x", "--eps", "1", "--delta", "1e-7", "--format", "json", cwd=land)
    assert (told.code, json.loads(told.out)["reused"], len(json.loads(told.out)["bins"])) == (0, True, 8)
    drawn = ("heatmap", "runs", "x", "y", "--eps", "1", "--delta", "1e-7", "--depth", "3")
    assert "would cost ε = 1" in here(*drawn, "--explain", cwd=land).out
    page = here(*drawn, "-o", "map.html", "--as", "ana", cwd=land)
    assert (page.code, page.err) == (0, "")
    assert "not hidden" in (land / "map.html").read_text()
    assert "stand out" in page.out
    again = json.loads(here(*drawn, "--format", "json", cwd=land).out)
    assert again["reused"]
    assert again["groups"]["100"] > again["groups"]["10"] > again["groups"]["1"]
    for wrong in (("-o", "map.html"), ("-o", "map.gif"), ("--depth", "99")):
        assert here(*drawn, *wrong, cwd=land).code != 0
    assert here("histogram", "runs", "x", "--eps", "1", "--kind", "pie", cwd=land).code != 0
