"""`tacit audit` from the command line: questions, functions and servers, and what is said when it cannot be done."""

from __future__ import annotations

import json

import pytest

from e2e.cli_clinic import build, here

LIBRARY = """
import os

def fair(value, times):
    return [1 - value if os.urandom(1)[0] < 69 else value for _ in range(times)]  # epsilon = ln(187 / 69), below 1

def leaky(value):
    return value
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    build(tmp_path, people=20)
    (tmp_path / "audited_library.py").write_text(LIBRARY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_question_is_audited_and_nothing_is_charged(folder):
    ran = here("audit", "DP-SELECT 1 COUNT(*) FROM visits", "--draws", "40000", cwd=folder)
    assert (ran.code, ran.err) == (0, "")
    assert "COUNT(*): one unit moved it by 4 of 4 (L1); holds" in ran.out
    assert "the plan: epsilon is at least 0." in ran.out
    assert "none of yours was read, nothing was charged" in ran.out
    assert not list(folder.glob("*.ledger*"))


def test_json_has_all_of_it(folder):
    ran = here("audit", "DP-SELECT 1 COUNT(*) FROM visits", "--draws", "4000", "--format", "json", cwd=folder)
    said = json.loads(ran.out)
    assert said["violates"] is False
    assert said["sensitivity"][0]["holds"] is True
    assert said["plan"]["claimed"] == 1


def test_a_function_that_keeps_its_word_passes_and_one_that_does_not_fails(folder):
    two = ("-i", "0", "-i", "1", "--claimed", "1", "--draws", "20000")
    fair = here("audit", "audited_library:fair", *two, cwd=folder)
    assert (fair.code, fair.err) == (0, "")
    assert "no more than the claimed 1" in fair.out
    leaky = here("audit", "audited_library:leaky", *two, "--early", cwd=folder)
    assert leaky.code == 1
    assert "more than the claimed 1" in leaky.out
    assert "error:" not in leaky.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["audited_library:fair", "-i", "0"], 2, "two neighbouring inputs: 1 are given"),
        (["nowhere:f", "-i", "0", "-i", "1"], 2, "there is no module 'nowhere'"),
        (["audited_library:fair", "-i", "0", "-i", "1", "--early"], 2, "to stop early"),
        (["DP-SELECT 1 SUM(height) FROM visits"], 3, "unknown column 'height'"),
        (["DP-SELECT 1 SUM(secret) FROM visits"], 3, "unknown column 'secret'"),
        (["SELECT 1", "--endpoint", "postgresql://127.0.0.1:1/x"], 2, "an endpoint has two neighbours"),
        (["SELECT 1", "--endpoint", "postgresql://127.0.0.1:1/x", "--neighbour", "SELECT 2"], 6, "cannot be reached"),
        (["DP-SELECT 1 COUNT(*) FROM visits", "--draws", "3"], 2, "certify nothing"),
        (["DP-SELECT 1 COUNT(*) FROM visits", "-p", "none.toml"], 5, "none.toml"),
    ],
)
def test_what_cannot_be_audited_is_said_in_two_lines(folder, words, code, said):
    ran = here("audit", *words, cwd=folder)
    assert ran.code == code
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert "Traceback" not in ran.err
