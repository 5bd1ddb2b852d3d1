"""Nothing but noise tells of one person: all that leaves is the same without them, byte for byte, whatever is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from conformance.engine_pairs import Script
from conformance.engine_sources import in_postgres
from conformance.sql_analysts import analysts_hospital
from conformance.sql_county import county
from conformance.sql_neighbours import Forgetful, Rng, pair, recorded, told
from conformance.sql_questions import question
from conformance.sql_world import policy_of
from tacit.curator import Curator
from tacit.curator.measuring import measure
from tacit.engines import Engine
from tacit.engines.duckdb import DuckDB
from tacit.errors import EngineError
from tacit.ledger import SqliteLedger
from tacit.policy import ColumnPolicy, TablePolicy
from unit.test_sql_analysts import CASES
from unit.test_sql_county import CASES as TYPED_BLIND

QUESTIONS = 30  # of each pair of tables
PRICE = re.compile(r"^(DP-SELECT \S+)")
Curators = tuple[Curator, Curator]


def differences(curators: Curators, texts: Iterable[str]) -> tuple[list[object], int]:
    """What the two curators have said differently, with the question; and how many were answered."""
    noise, found, answered = Forgetful(), [], 0
    with pytest.MonkeyPatch.context() as patch:
        noise.plant(patch)
        for index, text in enumerate(texts):
            noise.sign = (1, 1, -1)[index % 3]
            said = [told(curator, text) for curator in curators]
            found += [] if said[0] == said[1] else [(text, said)]
            answered += "answer" in said[0]
    logs = [recorded(curator) for curator in curators]
    return [*found, *(() if logs[0] == logs[1] else [("the log", logs)])], answered


def in_duckdb(script: Script) -> Engine:
    return script.world().engine


def of_tables(
    seed: int, directory: Path, *, questions: int, opened: Callable[[Script], Engine] = in_duckdb
) -> tuple[list[object], int]:
    """The same of a random table, with and without somebody of odd cells."""
    rng = Rng(seed)
    scripts = pair(rng)
    ledgers = [SqliteLedger(directory / f"{name}.ledger", create=True) for name in ("few", "more")]
    engines = [opened(script) for script in scripts]
    assert engines[0].schema() == engines[1].schema()
    made = [Curator(scripts[0].policy, engine, ledger) for engine, ledger in zip(engines, ledgers, strict=True)]
    by_row = scripts[0].policy.tables[0].unit_column is None
    texts = [PRICE.sub(r"\1 FRESH", question(rng, by_row=by_row)) for _ in range(questions)]
    found = differences((made[0], made[1]), texts)
    for curator in made:
        curator.close()
    return found


@pytest.mark.parametrize("seed", [1, 3])
def test_what_leaves_is_the_same_with_and_without_somebody_of_odd_cells(seed, tmp_path):
    found, answered = of_tables(seed, tmp_path, questions=QUESTIONS)
    assert found == []
    assert answered >= QUESTIONS / 2


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100, 102))
def test_what_leaves_of_many_tables_is_the_same_without_somebody(seed, tmp_path):
    assert of_tables(seed, tmp_path, questions=60)[0] == []


def test_what_leaves_is_the_same_without_somebody_on_postgresql(tmp_path):
    found, answered = of_tables(5, tmp_path, questions=12, opened=in_postgres)
    assert found == []
    assert answered >= 5


LONG = 11_000_000  # letters of one cell: a hundred times as many are more than PostgreSQL's longest text
GROWING = (
    f"DP-SELECT 1 COUNT(*) AS n FROM t WHERE REPLACE(s, 'a', '{'b' * 100}') = 'q'",
    f"DP-SELECT 1 COUNT(*) AS n FROM t WHERE UPPER(REPLACE(s, 'a', '{'ä' * 49}')) = s",
    f"DP-SELECT 1 COUNT(*) AS n FROM t WHERE {' || '.join(['s'] * 100)} = 'q'",
)


def test_no_text_is_so_long_that_a_question_which_makes_it_longer_fails_on_postgresql(tmp_path):
    policy = policy_of([TablePolicy("t", "row", columns=[ColumnPolicy("s")])])
    made = "CREATE TABLE t (s VARCHAR)"
    rows = ("INSERT INTO t VALUES ('x')", f"INSERT INTO t VALUES ('x'), (repeat('a', {LONG}))")
    curators = [
        Curator(policy, in_postgres(Script(policy, (made, each))), SqliteLedger(tmp_path / f"{index}", create=True))
        for index, each in enumerate(rows)
    ]
    found, answered = differences((curators[0], curators[1]), GROWING)
    assert found == []
    assert answered == len(GROWING)


# ── the questions of analysts ────────────────────────────────────────────────────────────────────────────────────────

TIGHT = {"max_groups": 2, "max_rows": 2, "max_distinct": 2}
SOMEBODY = 137
NEW_WORDS = (
    "PIVOT stays ON ward IN ('ICU', 'Surgery') USING SUM(cost), COUNT(*) GROUP BY emergency",
    "SELECT REGEXP_REPLACE(icd, '\\..*$', '') AS code, COUNT(*) AS n FROM stays GROUP BY 1",
    "SELECT AVG(LEAST(LENGTH(purpose), 9)) AS mean, COUNT(*) AS n FROM trips WHERE started_at::TIME < '06:30'",
    "SELECT CAST(given + dose * INTERVAL 1 MONTH AS VARCHAR) AS next, COUNT(*) AS n FROM vaccinations GROUP BY 1",
    "SELECT s.ward, SUM(s.cost) / ANY_VALUE(w.beds) AS per_bed FROM stays s JOIN wards w USING (ward) GROUP BY s.ward",
    "SELECT COUNT(*) AS n FROM trips t WHERE (SELECT district FROM zones WHERE zone_id = t.origin) = 'North'",
    "SELECT YEAR(given) AS y, DATE_TRUNC('month', given) AS m, COUNT(*) AS n FROM vaccinations GROUP BY 1, 2",
)
EVERY = 5  # of the analysts' questions one in so many, unless there is time


@pytest.fixture(scope="module")
def hospitals(tmp_path_factory):
    """The hospital as it is, and without a patient."""
    places = [tmp_path_factory.mktemp(name) for name in ("whole", "fewer")]
    worlds = [analysts_hospital(caps=TIGHT), analysts_hospital(caps=TIGHT, without=SOMEBODY)]
    return tuple(world.curator(place) for world, place in zip(worlds, places, strict=True))


def test_what_analysts_are_told_is_the_same_without_a_patient(hospitals):
    texts = [case.text for case in CASES][::EVERY]
    found, answered = differences(hospitals, texts)
    assert found == []
    assert answered >= len(texts) * 0.8


@pytest.mark.heavy
def test_what_analysts_are_told_is_the_same_without_a_patient_whatever_they_ask(hospitals):
    assert differences(hospitals, [case.text for case in CASES])[0] == []


@pytest.fixture(scope="module")
def counties(tmp_path_factory):
    """The county as it is, and without a person."""
    places = [tmp_path_factory.mktemp(name) for name in ("all", "but_one")]
    worlds = [county(caps=TIGHT), county(caps=TIGHT, without=SOMEBODY)]
    return tuple(world.curator(place) for world, place in zip(worlds, places, strict=True))


def test_what_five_analysts_are_told_is_the_same_without_a_person(counties):
    texts = [case.text for case in TYPED_BLIND][:: 2 * EVERY]
    found, answered = differences(counties, [*texts, *NEW_WORDS])
    assert found == []
    assert answered >= (len(texts) + len(NEW_WORDS)) * 0.8


@pytest.mark.heavy
def test_what_five_analysts_are_told_is_the_same_without_a_person_whatever_they_ask(counties):
    assert differences(counties, [case.text for case in TYPED_BLIND])[0] == []


# ── it is heard ──────────────────────────────────────────────────────────────────────────────────────────────────────


THERE = "SELECT COUNT(*) FROM base WHERE rid = 777"


def an_engine_that_fails_on_a_cell(patch):
    whole = DuckDB.execute

    def failing(self, sql, *given, **named):
        (there,) = self._connection.cursor().execute(THERE).fetchone()
        if there:
            raise EngineError("the question could not be answered")
        return whole(self, sql, *given, **named)

    patch.setattr(DuckDB, "execute", failing)


def groups_that_somebody_is_in(patch):
    """Of the public keys only those that have rows are shown."""
    whole = measure._groups

    def found(plan, exact, public):
        groups = whole(plan, exact, public)
        there = sorted({place for each in exact for place in groups.indices(each).tolist() if place >= 0})
        return measure._Groups([groups.keys[place] for place in there], groups.names)

    patch.setattr(measure, "_groups", found)


def test_an_engine_that_fails_on_somebodys_cell_is_noticed(tmp_path, monkeypatch):
    an_engine_that_fails_on_a_cell(monkeypatch)
    assert any(of_tables(seed, place(tmp_path, seed), questions=8)[0] for seed in (1, 3, 4))


def test_a_group_that_is_shown_for_somebody_alone_is_noticed(hospitals, monkeypatch):
    """By days, on some of which only one patient came."""
    by_day = "DP-SELECT 1 FRESH admitted, COUNT(*) AS n FROM admissions GROUP BY admitted"
    assert differences(hospitals, [by_day])[0] == []
    groups_that_somebody_is_in(monkeypatch)
    assert differences(hospitals, [by_day])[0]


def place(directory: Path, seed: int) -> Path:
    (directory / str(seed)).mkdir()
    return directory / str(seed)
