"""`tacit attack` from the command line: the table, the page, the gate, two tables linked, and the price as odds."""

from __future__ import annotations

import json
import random

import pytest

from e2e.cli_clinic import build, here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("attacked")
    draws = random.Random(1)
    rows = [f"{draws.randrange(18, 88)},{draws.randrange(60)},{draws.choice(['<b>flu', 'gout'])}" for _ in range(600)]
    (where / "people.csv").write_text("\n".join(['age,town,"ill<i>""ness"', *rows]))
    (where / "few.csv").write_text("\n".join(['age,town,"ill<i>""ness"', *rows[:10]]))
    (where / "a.csv").write_text("id,born\n1,1990-01-01\n2,1991-02-02\n3,1992-03-03\n")
    (where / "b.csv").write_text("name,birthday\nAna,1992-03-03\nBen,1990-01-01\n")
    return where


def test_a_table_is_attacked_and_the_page_is_written_once(folder):
    words = ("attack", "people.csv", "--qi", "age,town", "--secret", 'ill<i>"ness', "-e", "1")
    ran = here(*words, "--report", "risk.html", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert "pseudonymised rows: 100.0% of its tables are right" in ran.out
    assert "gives people away" in ran.out
    assert "DP-SELECT at ε = 1" in ran.out
    page = (folder / "risk.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "<b>flu" not in page
    assert "<i>" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    again = here(*words, "--report", "risk.html", cwd=folder)
    assert (again.code, again.err.splitlines()[0]) == (
        2,
        "error: risk.html is there already: it is not overwritten",
    )


def test_the_gate_opens_for_what_is_private_and_not_for_rows(folder):
    words = ("attack", "people.csv", "--qi", "age,town", "--secret", 'ill<i>"ness', "-e", "0.01", "--fail-above", "0.3")
    assert here(*words, "--against", "DP-SELECT", cwd=folder).code == 0
    closed = here(*words, "--against", "pseudonymised", cwd=folder)
    assert closed.code == 1
    assert "above 0.3: linkage on pseudonymised rows" in closed.out


def test_json_has_every_result(folder):
    ran = here(
        "attack", "people.csv", "--qi", "age,town", "--secret", 'ill<i>"ness', "-e", "1", "--format", "json", cwd=folder
    )
    said = json.loads(ran.out)
    assert {one["attack"] for one in said["published"][0]["attacks"]} == {
        "linkage",
        "homogeneity",
        "skewness",
        "inference",
        "membership",
    }
    assert all(0 <= one["low"] <= one["success"] <= one["high"] <= 1 for one in said["asking"])


def test_two_tables_are_linked(folder):
    ran = here("attack", "link", "a.csv", "b.csv", "--on", "born = birthday", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert "2 of 3 rows are linked" in ran.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["people.csv", "--qi", "age,height", "--secret", 'ill<i>"ness'], 2, "the table lacks the column 'height'"),
        (["few.csv", "--qi", "age", "--secret", 'ill<i>"ness'], 2, "it has 10 rows, and 60 are needed"),
        (["none.csv", "--qi", "age", "--secret", 'ill<i>"ness'], 2, "there is no file 'none.csv'"),
        (["people.csv", "--qi", "age", "--secret", 'ill<i>"ness', "-e", "0"], 2, "epsilon"),
        (["people.csv", "--qi", "age", "--secret", 'ill<i>"ness', "--as", "ana"], 3, "is the owner's"),
        (["link", "a.csv", "b.csv", "--on", "born"], 2, "'born' is no key"),
        (["link", "a.csv", "b.csv", "--on", "nothing = birthday"], 2, "a key cannot be read"),
    ],
)
def test_what_cannot_be_attacked_is_said_in_two_lines(folder, words, code, said):
    ran = here("attack", *words, cwd=folder)
    assert ran.code == code
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_the_price_is_explained_as_odds(tmp_path):
    build(tmp_path, people=20)
    question = "DP-SELECT 0.5 COUNT(*) FROM visits"
    ran = here("explain", "--as", "ana", "--risk", question, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "is right at most 62.2% of times after this answer, and a suspicion of 1% becomes at most 1.64%" in ran.out
    refused = here("explain", "--as", "ana", "--risk", "--format", "json", question, cwd=tmp_path)
    assert refused.code == 2
