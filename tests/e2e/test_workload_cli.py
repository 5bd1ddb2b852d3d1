"""`tacit workload`: conditions of a file or of standard input, one price, and what is refused before it is paid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from e2e.cli_clinic import here

POLICY = """
[dataset]
name = "land"
source = { people = "people.csv" }

[budget]
epsilon = 100

[analysts.ana]
epsilon = 50

[tables.people]
unit = "row"
columns.town = { type = "text", domain = ["a", "b", "c"], null = "a" }
columns.age = { type = "integer", lower = 0, upper = 49, null = 0 }
columns.free = { type = "text" }
"""
CONDITIONS = """
# who lives where
town = 'a'
town = 'b' AND age < 25

age >= 10
"""
ASKED = ("workload", "people", "--columns", "town,age", "--eps", "20", "--as", "ana")


@pytest.fixture
def land(tmp_path: Path) -> Path:
    (tmp_path / "tacit.toml").write_text(POLICY)
    (tmp_path / "people.csv").write_text(
        "town,age,free\n" + "".join(f"{'abc'[i % 3]},{i % 50},CANARY\n" for i in range(3_000))
    )
    (tmp_path / "conditions.txt").write_text(CONDITIONS)
    return tmp_path


def spent(land: Path) -> str:
    return str(json.loads(here("budget", "--format", "json", cwd=land).out))


def test_the_conditions_of_a_file_are_counted_for_one_price(land: Path) -> None:
    told = here(*ASKED, "conditions.txt", "--explain", cwd=land)
    assert told.code == 0
    assert "of 3 answers none is off by more than" in told.out
    before = spent(land)
    found = here(*ASKED, "conditions.txt", "--format", "json", cwd=land)
    assert (found.code, spent(land) != before) == (0, True)
    answers = json.loads(found.out)["answers"]
    assert [each["condition"] for each in answers] == ["town = 'a'", "town = 'b' AND age < 25", "age >= 10"]
    for answer, true in zip(answers, (1_000, 500, 2_400), strict=True):
        assert abs(answer["count"] - true) <= answer["error"] < 1_000
    shown = here(*ASKED, "conditions.txt", cwd=land)
    assert "town = 'b' AND age < 25" in shown.out
    assert "CANARY" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("free = 'x'", "condition 2, free = 'x': the workload does not know free"),
        ("age >", "condition 2, age >:"),
        ("COUNT(*) > 1", "condition 2"),
    ],
)
def test_one_bad_condition_is_told_of_before_anything_is_paid(land: Path, line: str, what: str) -> None:
    (land / "bad.txt").write_text(f"town = 'a'\n{line}\n")
    before = spent(land)
    found = here(*ASKED, "bad.txt", cwd=land)
    assert found.code != 0
    assert what in found.err
    assert spent(land) == before


@pytest.mark.parametrize(("name", "text"), [("none.txt", None), ("empty.txt", "# nothing\n"), ("binary.txt", b"\xff")])
def test_a_file_without_conditions_is_refused(land: Path, name: str, text: str | bytes | None) -> None:
    if text is not None:
        (land / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    before = spent(land)
    found = here(*ASKED, name, cwd=land)
    assert found.code != 0
    assert name in found.err
    assert spent(land) == before


def test_conditions_are_answered_as_they_come_and_nonsense_costs_nothing(land: Path) -> None:
    found = here(*ASKED, "--questions", "10", cwd=land, stdin="town = 'a'\nfree = 'x'\n\nage < 25\n")
    assert found.code == 0
    lines = found.out.splitlines()
    assert "100 corrections left" in lines[0]
    assert "corrections left)" in lines[1]
    assert any("refused: the workload does not know free" in line for line in lines)
    assert "corrections left)" in lines[-1]
