"""`tacit synthesise patients visits`: files whose keys fit, with a canary in every cell that could hold one."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb

from e2e.cli_clinic import CANARY, NUMBERS, here

POLICY = """\
[dataset]
name = "clinic"
source = { patients = "patients.csv", visits = "visits.csv" }
[budget]
epsilon = 10
delta = 1e-6
[analysts.ana]
epsilon = 4
[tables.patients]
unit = "id"
max_rows = 1
max_groups = 1
[tables.patients.columns]
age = { type = "integer", lower = 18, upper = 90, step = 1 }
sex = { domain = ["f", "m"] }
[tables.visits]
unit = "patient -> patients.id"
max_rows = 4
max_groups = 3
[tables.visits.columns]
dept = { domain = ["CS", "Econ", "Bio"] }
city = {}
"""
NAMED = ("synthesise", "patients", "visits", "--eps", "1", "--delta", "1e-7")
FEW = ("--columns", "patients.age, patients.sex, visits.dept")


def build(directory: Path, *, people: int = 150) -> None:
    """The policy, and the data beside it."""
    (directory / "tacit.toml").write_text(POLICY, encoding="utf-8")
    patients = [f"{CANARY}-{i},{NUMBERS[0] if i % 9 == 0 else 18 + i % 70},{'fm'[i % 2]}" for i in range(people)]
    depts = ("CS", "Econ", "Bio", f"{CANARY}-dept")
    visits = [f"{CANARY}-{i % (people + 5)},{depts[i % 4]},{CANARY}-city" for i in range(3 * people)]
    (directory / "patients.csv").write_text("\n".join(["id,age,sex", *patients]) + "\n", encoding="utf-8")
    (directory / "visits.csv").write_text("\n".join(["patient,dept,city", *visits]) + "\n", encoding="utf-8")


def test_linked_tables_are_written_beside_each_other_and_then_free(tmp_path: Path) -> None:
    build(tmp_path)
    ran = here(*NAMED, *FEW, "-o", "out.csv", "--model", "out.model", "--as", "ana", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "cost ε = 1" in ran.out
    assert "at most 4 rows of a unit count in visits" in " ".join(ran.out.split())
    files = [tmp_path / name for name in ("out-patients.csv", "out-visits.csv", "out.model")]
    whole = ran.out.encode() + b"".join(path.read_bytes() for path in files)
    assert not any(word.encode() in whole for word in (CANARY, *NUMBERS))
    with duckdb.connect() as reader:
        strays = f"SELECT COUNT(*) FROM '{files[1]}' WHERE patient NOT IN (SELECT id FROM '{files[0]}')"
        assert reader.execute(strays).fetchall() == [(0,)]
    again = here(*NAMED, *FEW, "-o", "more.parquet", "--rows", "7", "--format", "json", cwd=tmp_path)
    told = json.loads(again.out)
    assert (again.code, told["reused"], set(told["rows"])) == (0, True, {"patients", "visits"})
    assert 0 < told["errors"]["visits.dept × patients.sex"] <= 1
    with duckdb.connect() as reader:
        assert reader.execute(f"SELECT COUNT(*) FROM '{tmp_path}/more-patients.parquet'").fetchall() == [(7,)]


def test_what_cannot_be_written_or_made_is_refused_free_of_charge(tmp_path: Path) -> None:
    build(tmp_path, people=20)
    (tmp_path / "out-visits.csv").write_text("mine\n")
    refused = {
        "it is not overwritten": (*FEW, "-o", "out.csv"),
        "city has no public domain": (),
        "dept is of no table": ("--columns", "dept"),
        "the exact report is of one table": (*FEW, "--exact"),
    }
    for message, more in refused.items():
        ran = here(*NAMED, *more, cwd=tmp_path)
        assert ran.code != 0
        assert message in " ".join(ran.err.split())
    told = here(*NAMED, *FEW, "--explain", "--format", "json", cwd=tmp_path)
    assert json.loads(told.out)["cells"] == {"patients": {"age": 74, "sex": 3}, "visits": {"dept": 4}}
    assert "75%" in here(*NAMED, *FEW, "--explain", cwd=tmp_path).out
    spent = json.loads(here("budget", "--format", "json", cwd=tmp_path).out)["total"]["spent"]
    assert spent == {"epsilon": "0", "delta": "0"}
