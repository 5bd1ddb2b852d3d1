"""Batches through the doors: the command line, Python, and the rehearsal on made-up rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import tacit
from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import policy_of, world
from e2e.cli_clinic import CANARY, build, here
from e2e.people_with_gaps import COLUMNS, PEOPLE
from tacit.curator import Curator, Session
from tacit.faces.cli.batch import questions
from tacit.ledger import SqliteLedger

AGES = [f"SELECT COUNT(*) AS n FROM visits WHERE age BETWEEN {low} AND 88" for low in range(18, 60, 6)]
FILE = """\
-- counts by age; "one" price
SELECT COUNT(*) AS young FROM visits WHERE age < 40;
SELECT COUNT(*) AS n FROM visits WHERE age >= 40; SELECT
dept, COUNT(*) AS n FROM visits WHERE dept <> ';' GROUP BY dept;
/* and one
   that stands alone; */ SELECT SUM(amount) AS total FROM visits
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    build(tmp_path)
    (tmp_path / "questions.sql").write_text(FILE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tacit.Database]:
    with tacit.open(build(tmp_path), analyst="ana") as database:
        yield database


def spent(directory: Path) -> str:
    found = here("budget", "--as", "ana", "--format", "json", cwd=directory)
    return str(found.json)


def test_a_file_of_questions_is_answered_for_one_price(clinic: Path) -> None:
    ran = here("query", "--as", "ana", "--batch", "questions.sql", "--eps", "2", cwd=clinic)
    assert ran.code == 0, ran.err
    for name in ("young", "total", "dept", "4 answers; cost ε = 2 in all; left ε = 2"):
        assert name in ran.out
    assert CANARY not in ran.out + ran.err


def test_json_has_every_answer_and_one_price(clinic: Path) -> None:
    ran = here("query", "--as", "ana", "--batch", "questions.sql", "--eps", "1/2", "--format", "json", cwd=clinic)
    assert ran.code == 0, ran.err
    assert [answer["columns"] for answer in ran.json["answers"]] == [["young"], ["n"], ["dept", "n"], ["total"]]
    assert ran.json["epsilon"] == "0.5"
    assert ran.json["left"]["epsilon"] == "3.5"
    log = here("ledger", "log", "--format", "json", cwd=clinic)
    assert log.out.count('"charge"') >= 1
    assert "a batch of 4 questions" in log.out


def test_the_least_price_of_an_accuracy_is_found_told_and_paid(clinic: Path) -> None:
    (clinic / "counts.sql").write_text(
        "SELECT COUNT(*) AS n FROM visits; SELECT dept, COUNT(*) AS n FROM visits GROUP BY dept", encoding="utf-8"
    )
    asked = ("--as", "ana", "--batch", "counts.sql", "--within", "90", "--format", "json")
    told = here("explain", *asked, cwd=clinic)
    ran = here("query", *asked, cwd=clinic)
    assert (told.code, ran.code) == (0, 0), ran.err
    assert told.json["epsilon"] == ran.json["epsilon"]
    assert all(row[-1] <= 90 for answer in ran.json["answers"] for row in answer["errors"])
    assert here("query", *asked, cwd=clinic).json["epsilon"] == "0"
    assert here("query", *asked, "--fresh", cwd=clinic).json["epsilon"] == ran.json["epsilon"]


def test_markdown_goes_into_a_file(clinic: Path) -> None:
    printed = ("--format", "markdown", "-o", "a.md")
    ran = here("query", "--as", "ana", "--batch", "questions.sql", "--eps", "1", *printed, cwd=clinic)
    assert (ran.code, ran.out) == (0, "")
    assert "wrote a.md; 4 answers" in " ".join(ran.err.split())
    assert (clinic / "a.md").read_text(encoding="utf-8").count("| --- |") == 4


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--batch", "questions.sql"], 2, "the batch has no price"),
        (["--batch", "absent.sql", "--eps", "1"], 2, "absent.sql cannot be read"),
        (["--batch", "empty.sql", "--eps", "1"], 2, "empty.sql holds no question"),
        (["--batch", "questions.sql", "--eps", "1", "SELECT 1"], 2, "its questions in a file"),
        (["--batch", "questions.sql", "--eps", "1", "--format", "csv"], 2, "several tables"),
        (["--batch", "questions.sql", "--eps", "nothing"], 2, "not a number"),
        (["--batch", "questions.sql", "--eps", "4.5"], 4, "does not cover"),
        (["--batch", "wrong.sql", "--eps", "1"], 3, "question 2: "),
        (["--batch", "priced.sql", "--eps", "1"], 3, "no price of its own"),
        (["--batch", "questions.sql", "--eps", "1", "--within", "5"], 2, "one price"),
        (["--batch", "questions.sql", "--within", "nothing"], 2, "not a number"),
        (["--batch", "questions.sql", "--within", "1e-9"], 3, "no epsilon that may be spent"),
        (["--within", "5", "SELECT COUNT(*) FROM visits"], 2, "--within is of a batch"),
        (["--fresh", "SELECT COUNT(*) FROM visits"], 2, "--fresh is of a batch"),
    ],
)
def test_what_cannot_be_asked_is_said_and_costs_nothing(
    clinic: Path, arguments: list[str], code: int, says: str
) -> None:
    (clinic / "empty.sql").write_text("-- nothing;\n", encoding="utf-8")
    (clinic / "wrong.sql").write_text("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM nowhere", encoding="utf-8")
    (clinic / "priced.sql").write_text("DP-SELECT 1 COUNT(*) FROM visits", encoding="utf-8")
    before = spent(clinic)
    ran = here("query", "--as", "ana", *arguments, cwd=clinic)
    assert ran.code == code
    assert says in ran.err
    assert ran.err.startswith("error: ")
    assert ran.out == ""
    assert spent(clinic) == before


def test_semicolons_in_quotes_and_comments_part_nothing() -> None:
    assert questions("SELECT ';' AS \"a;b\" -- c;d\n; SELECT 'it''s;' /* ; */ ;;") == (
        "SELECT ';' AS \"a;b\"",
        "SELECT 'it''s;'",
    )


def test_python_gets_a_release_for_each_question(db: tacit.Database) -> None:
    batch = db.batch([*AGES, ("SELECT COUNT(*) FROM visits WHERE dept = ?", ["CS"])], epsilon="0.5")
    assert len(batch) == len(AGES) + 1
    assert all(isinstance(answer, tacit.Release) for answer in batch)
    assert batch.cost.epsilon == Fraction(1, 2)
    assert batch.left is not None
    assert batch.left.epsilon == Fraction(7, 2)
    again = db.batch([*AGES, ("SELECT COUNT(*) FROM visits WHERE dept = ?", ["CS"])], epsilon="0.5")
    assert again.reused == "the same questions"
    assert [a.rows for a in again] == [a.rows for a in batch]


def test_a_batch_is_a_list(db: tacit.Database) -> None:
    with pytest.raises(tacit.InvalidParameter):
        db.batch("SELECT COUNT(*) FROM visits", epsilon=1)


def test_a_rehearsal_costs_nothing_and_says_so(db: tacit.Database) -> None:
    batch = db.dummy().batch(AGES, epsilon=3)
    assert batch.cost.epsilon == 0
    assert "dummy data" in batch[0].notes[0]
    assert batch.receipt.entry == "dummy data"
    assert db.log == ()


def test_an_answer_holds_no_cell(db: tacit.Database) -> None:
    batch = db.batch(["SELECT dept, COUNT(*) FROM visits GROUP BY dept", *AGES], epsilon=1)
    assert CANARY not in batch.to_json() + batch.to_markdown() + repr(batch)


CONDITIONS = (
    "age < 30", "age >= 18 AND dept = 'CS'", "NOT dept = 'CS'", "insured IS NOT TRUE", "seen < DATE '2024-01-09'",
    "dept IS NULL AND seen >= DATE '2024-01-02'", "age IN (18, 24, 31) OR age > 40", "dept IN ('other', 'Econ')",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_every_engine_finds_the_same_cells(name: str, tmp_path: Path) -> None:
    policy = policy_of([tacit.TablePolicy("t", "row", columns=COLUMNS)])
    asked = [f"SELECT COUNT(*) FROM t WHERE {condition}" for condition in CONDITIONS]
    found = []
    for engine in (world(policy, *PEOPLE).engine, OTHERS[name].opened(Script(policy, PEOPLE))):
        place = tmp_path / str(len(found))
        place.mkdir()
        curator = Curator(policy, engine, SqliteLedger(place / "t.ledger", create=True))
        batch = curator.batch(asked, session=Session("ana"), epsilon=900)
        assert batch.strategies[0].startswith(f"{len(asked)} questions together")
        found.append([round(float(str(answer.rows[0][0]))) for answer in batch])
        curator.close()
    assert found[0] == found[1]
    assert 0 < min(found[0]) < max(found[0]) < 120
