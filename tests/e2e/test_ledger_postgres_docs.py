"""The page about PostgreSQL can be followed, on a real server; and no cell is in anything it says when it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from e2e.cli_clinic import here
from e2e.test_cli_docs import commands, like
from support.documents import SAMPLE, blocks
from support.postgres import OWNER, server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "postgresql.md"
ROLES = ("tacit_reader", "tacit_books")


@pytest.fixture
def clinic() -> Iterator[str]:
    """The address of a new database for which the roles of the page do not exist yet."""
    url = server().database()
    yield url
    with psycopg.connect(url, autocommit=True) as owner:
        for role in ROLES:
            if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                owner.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}".encode())


def here_instead(text: str, url: str) -> str:
    """The page's addresses and names, as those of the test's own server."""
    name = str(conninfo_to_dict(url)["dbname"])
    text = re.sub(
        r"postgresql://(\w+)@db\.example/clinic", lambda found: url.replace(f"{OWNER}@", f"{found[1]}@"), text
    )
    return text.replace("ON DATABASE clinic", f"ON DATABASE {name}")


def test_the_page_can_be_followed(clinic: str, tmp_path: Path) -> None:
    printed, ran = "", 0
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        body = here_instead(block.body, clinic)
        if block.label == "sql":
            with psycopg.connect(clinic) as owner:
                owner.execute(body.encode())
        elif block.label == "toml":
            (tmp_path / "tacit.toml").write_text(body, encoding="utf-8")
        elif block.label == "sh":
            results = [here(*words[1:], cwd=tmp_path) for words in commands(body)]
            assert [result.code for result in results] == [0] * len(results), results
            printed, ran = "".join(result.out + result.err for result in results), ran + len(results)
        elif block.label.startswith("text"):
            sample = block.label == SAMPLE
            assert like(printed, sample=sample) == like(block.body, sample=sample), f"{PAGE.name}:{block.line}"
    assert ran == 5


def test_no_cell_is_in_what_a_failing_question_says(clinic: str, tmp_path: Path) -> None:
    with psycopg.connect(clinic) as owner:
        owner.execute("CREATE TABLE raw AS SELECT 1 AS patient, 'canary-name' AS name")
        owner.execute("CREATE VIEW visits AS SELECT patient, CAST(name AS INTEGER) AS age FROM raw")
    (tmp_path / "tacit.toml").write_text(
        f"""[dataset]
name = "clinic"
engine = "postgres"
source = "{clinic}"
ledger = "{clinic}"
[budget]
epsilon = 10
[analysts.ana]
epsilon = 4
[tables.visits]
unit = "patient"
max_groups = 3
max_rows = 10
[tables.visits.columns]
age = {{ lower = 0, upper = 99, step = 1 }}
""",
        encoding="utf-8",
    )
    failed = here("query", "--as", "ana", "DP-SELECT 1 SUM(age) FROM visits", cwd=tmp_path)
    assert failed.code == 6
    assert "the database could not answer" in failed.err
    assert "canary" not in failed.out + failed.err
    left = here("budget", "--as", "ana", cwd=tmp_path)
    assert "ε = 3" in left.out  # it stays charged
    assert here("ledger", "verify", cwd=tmp_path).code == 0
