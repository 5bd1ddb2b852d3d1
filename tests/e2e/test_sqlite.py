"""SQLite from the shell: draft, check, ask; and the page about it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from e2e.cli_clinic import here
from e2e.test_cli_docs import follow
from support.documents import blocks
from tacit.policy import load_policy
from tacit.release.anonymise import anonymise, check

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "sqlite.md"


def clinic(directory: Path, name: str = "clinic.sqlite") -> Path:
    """The file of the page."""
    (script,) = (block.body for block in blocks(PAGE.read_text(encoding="utf-8")) if block.label == "sql")
    with closing(sqlite3.connect(directory / name)) as owner:
        owner.executescript(script)
    return directory / name


def policy(directory: Path) -> Path:
    (text,) = (block.body for block in blocks(PAGE.read_text(encoding="utf-8")) if block.label == "toml")
    (directory / "tacit.toml").write_text(text, encoding="utf-8")
    return directory / "tacit.toml"


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    clinic(tmp_path)
    assert follow(PAGE, tmp_path) == 2


@pytest.mark.parametrize("name", ["clinic.sqlite", "clinic.db", "clinic.sqlite3", "clinic.data"])
def test_a_draft_is_made_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    clinic(tmp_path, name)
    ran = here("init", name, cwd=tmp_path)
    assert ran.code == 0, ran.err
    text = (tmp_path / "tacit.toml").read_text(encoding="utf-8")
    assert 'engine = "sqlite"' in text
    assert f'source = "{name}"' in text
    assert "amount = {}" in text
    filled = text.replace('epsilon = "?"', "epsilon = 1").replace('unit = "?"', 'unit = "patient"')
    (tmp_path / "tacit.toml").write_text(filled, encoding="utf-8")
    assert here("check", cwd=tmp_path).code == 0


def test_an_owner_is_sent_to_sqlites_own_tools(tmp_path: Path) -> None:
    clinic(tmp_path)
    policy(tmp_path)
    ran = here("sql", "SELECT 1", cwd=tmp_path)
    assert ran.code != 0
    assert "sqlite3" in ran.err


def test_a_dummy_answers_without_the_rows(tmp_path: Path) -> None:
    clinic(tmp_path)
    policy(tmp_path)
    ran = here("query", "--dummy", "--as", "ana", "DP-SELECT 0.5 COUNT(*) FROM visits", cwd=tmp_path)
    assert ran.code == 0, ran.err


def test_a_table_of_sqlite_is_anonymised(tmp_path: Path) -> None:
    clinic(tmp_path)
    declared = load_policy(policy(tmp_path))
    made = anonymise("visits", ["amount", "dept"], k=5, unit="row", policy=declared)
    assert check(made.write(tmp_path / "public.csv"), ["amount", "dept"]).k >= 5
