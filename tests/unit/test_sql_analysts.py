"""Questions as epidemiologists, controllers, labour statisticians and product analysts write them.

All are answered as written, and with the noise switched off the answer is that of plain DuckDB; or they are refused for
privacy, and say so.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from conformance.sql_analysts import FILLED, analysts_hospital
from conformance.sql_noiseless import switch_off
from conformance.sql_sensitivity import Violation, compare
from tacit.core import Loss
from tacit.curator import Session
from tacit.curator.computing import computing
from tacit.errors import QueryRefused
from tacit.sql import parse, plan
from tacit.sql.postprocessing.binding import bind_statement
from tacit.sql.relations.deriving import windows
from tacit.sql.rules.sample_groups import TIES

TABLE = Path(__file__).parent / "data" / "sql_analysts.sql"
ANA = Session("ana")
PARSER_WORDS = re.compile(
    r"\b(?:DPIPE|TIMETOSTR|TIME_TO_STR|NULLSAFE\w*|TSORDS\w*|ANONYMOUS|TIMESTAMPTRUNC|STRPOSITION)\b"
)


@dataclass(frozen=True)
class Case:
    """One question: what it is about, what is asked, the same in plain DuckDB, and what is to be expected."""

    name: str
    text: str
    plain: str
    about: float = 1e-6
    refused: str | None = None


def cases(table: Path) -> list[Case]:
    found = []
    for block in re.split(r"\n\s*\n", table.read_text("utf-8").strip()):
        lines = block.splitlines()
        said = dict(line[3:].split(": ", 1) for line in lines[1:] if line.startswith("-- ") and ": " in line)
        said |= {"refused": ""} if "-- refused: " in lines else {}
        text = "\n".join(line for line in lines if not line.startswith("--"))
        about = float(said.get("about", 1e-6))
        found.append(Case(lines[0][3:], text, said.get("plain", text), about, said.get("refused")))
    return found


CASES = cases(TABLE)
ANSWERED = [case for case in CASES if case.refused is None]


@pytest.fixture(scope="module")
def curator(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        patch.setattr(computing, "draws_for", lambda *given: 0)  # errors are simulated elsewhere
        yield analysts_hospital().curator(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="module")
def by_hand():
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for statement in FILLED:
            connection.execute(statement)
        yield connection


def cell(value):
    """A cell as it may be compared: numbers as doubles, a day as its midnight."""
    if isinstance(value, (int, float, Decimal, Fraction)):
        return float(value)
    if isinstance(value, datetime):
        return value
    return datetime.combine(value, datetime.min.time()) if isinstance(value, date) else value


def alike(one, other, about):
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=about, abs_tol=about)
    return one == other or {one, other} <= {None, 0.0}


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case.name)
def test_a_question_is_answered_as_it_is_written(case, curator, by_hand):
    expected = [tuple(map(cell, row)) for row in by_hand.execute(case.plain).fetchall()]
    answer = curator.ask(case.text, session=ANA)
    left = [tuple(map(cell, row)) for row in answer.rows]
    for row in expected:
        same = next((each for each in left if all(map(alike, each, row, [case.about] * len(row)))), None)
        assert same is not None, f"{row} is not among {left[:5]}"
        left.remove(same)
    listed = len(answer.columns) > 1  # every group of a public domain is in the answer, those without rows too
    assert not left or listed
    assert not PARSER_WORDS.search(" ".join(answer.notes))


@pytest.mark.parametrize("case", [case for case in CASES if case.refused is not None], ids=lambda case: case.name)
def test_what_is_refused_says_so_in_the_words_of_the_question_and_before_any_charge(case, curator):
    spent = curator.balance("ana").total.spent
    with pytest.raises(QueryRefused) as refusal:
        curator.ask(case.text, session=ANA)
    assert case.refused in str(refusal.value)
    assert refusal.value.hint
    assert not PARSER_WORDS.search(f"{refusal.value} {refusal.value.hint}")
    assert curator.balance("ana").total.spent == spent


def test_nine_in_ten_are_answered():
    assert len(ANSWERED) >= 0.9 * len(CASES) >= 200


def test_two_columns_of_one_public_row_list_the_pairs_that_occur(curator):
    joined = "admissions a JOIN wards w ON w.ward = a.ward JOIN wards x ON x.ward = a.ward"
    pairs = curator.ask(f"SELECT w.region, a.kind, w.ward, COUNT(*) FROM {joined} GROUP BY 1, 2, 3", session=ANA)
    assert len(pairs.rows) == 12
    apart = curator.ask(f"SELECT w.region, x.ward, COUNT(*) FROM {joined} GROUP BY 1, 2", session=ANA)
    assert len(apart.rows) == 18  # of two rows, which the question alone holds together


def test_a_wrong_answer_is_noticed(curator, by_hand):
    case = next(case for case in ANSWERED if case.name.endswith("mean BMI"))
    wrong = Case(case.name, case.text, case.plain.replace("100.0", "101.0"))
    with pytest.raises(AssertionError):
        test_a_question_is_answered_as_it_is_written(wrong, curator, by_hand)


# ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────────

TIGHT = {"max_groups": 2, "max_rows": 2, "max_distinct": 2}  # nearly everybody has more
LEFT_OUT = (137, 300)


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    """The hospital as it is, and without a patient; and the schema by which public tables are counted."""
    whole = analysts_hospital(caps=TIGHT)
    counted = whole.curator(tmp_path_factory.mktemp("tight"))._schema
    return whole, [analysts_hospital(caps=TIGHT, without=who) for who in LEFT_OUT], counted


def exact(world, made):
    """What the engine returns for every statement, with ties settled where there are any."""
    found = []
    for statement in made.runs:
        read = world.engine.execute(statement.sql("duckdb"))
        if statement.settled is not None and read.integers(TIES).any():
            read = world.engine.execute(statement.settled.sql("duckdb"))
        found.append(read)
    return found


def moved(text, neighbours):
    """How many of a statement's questions were compared. Raises Violation where one patient moves too much."""
    whole, others, schema = neighbours
    questions = [q for q in bind_statement(parse(text), whole.policy, schema=schema).questions if q.sets is None]
    for bound in questions:
        made = plan(bound, whole.policy, price=Loss(1, Fraction(1, 10**6)))
        everybody = exact(whole, made)
        for other in others:
            compare(made, everybody, exact(other, made))
    return len(questions)


def beside(name, of, without, folder):
    """One world as it is, and without each of two of its units; and the schema by which public tables are counted."""
    whole = of(name, caps=TIGHT)
    others = [of(name, caps=TIGHT, left_out=without(name, who)) for who in (137, 301)]
    return whole, others, whole.curator(folder)._schema


def all_moved(questions, neighbours):
    """How many questions about one world were compared."""
    return sum(moved(case.text, neighbours) for case in questions)


def test_no_patient_moves_an_exact_number_farther_than_its_plan_says(neighbours):
    assert sum(moved(case.text, neighbours) for case in ANSWERED) > len(ANSWERED)


def test_a_sensitivity_that_is_understated_is_noticed(neighbours, monkeypatch):
    monkeypatch.setattr(windows, "_frame", without_partition(windows._frame))
    rows = "SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id) AS s FROM admissions"
    with pytest.raises(Violation):
        moved(f"SELECT COUNT(*) AS n FROM ({rows}) t WHERE s > 14830000", neighbours)


def without_partition(frame):
    """The same frame over everybody's rows."""

    def build(*given):
        made = frame(*given)
        return type(made)([], made.order, made.spec)

    return build
