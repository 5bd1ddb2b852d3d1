"""What public tables are good for beside a join: domains, of groups and of choices, and columns that nobody is in."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sqlglot import exp

from conformance.sql_noiseless import switch_off
from conformance.sql_world import World, policy_of, world
from tacit.curator import Release, Session
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.numeric import numerics
from tacit.sql.relations.correlating import correlated

POLICY = policy_of(
    [
        TablePolicy("patients", "id", columns=[ColumnPolicy("city_id")], max_rows=5, max_groups=3),
        TablePolicy(
            "visits",
            "patient_id -> patients.id",
            columns=[
                ColumnPolicy("cost", lower=0, upper=100, step=1, null=50),
                ColumnPolicy("cents", lower=0, upper=1, step="0.1"),
            ],
            max_rows=20,
            max_groups=5,
        ),
        TablePolicy(
            "cities",
            public=True,
            columns=[
                ColumnPolicy("people", lower=0, upper=9, step=1, null=3),
                ColumnPolicy("houses", lower=0, upper=9, step=1),  # the same cells: an empty one counts as nothing else
            ],
        ),
        TablePolicy("none", public=True),
    ]
)


@pytest.fixture(scope="module")
def clinic() -> World:
    return world(
        POLICY,
        "CREATE TABLE patients AS SELECT i AS id, [0, 1, 1, 2, 7, NULL][1 + i % 6] AS city_id FROM range(60) t(i)",
        "CREATE TABLE visits AS SELECT i // 2 AS patient_id, [10, NULL, 30][1 + i % 3] AS cost, 0.1 AS cents"
        " FROM range(40) t(i)",
        "CREATE TABLE cities AS SELECT i AS city_id, ['Rome', 'Pisa', 'Bari', 'Como'][1 + i] AS city,"
        " [0.1, 0.25, 0.5, 0.1][1 + i]::DOUBLE AS share, [NULL, 2, 4, 6][1 + i] AS people, people AS houses"
        " FROM range(4) t(i)",
        "CREATE TABLE none AS SELECT * FROM cities LIMIT 0",
    )


def answer(clinic, tmp_path, monkeypatch, text):
    switch_off(monkeypatch)
    release = clinic.curator(tmp_path).ask(f"DP-SELECT 100 {text}", session=Session("ana"))
    assert isinstance(release, Release)
    return release.rows


JOINED = "FROM patients JOIN cities USING (city_id)"


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("MODE(city)", ["Pisa"]),
        ("TOP_K(city, 2)", [["Pisa", "Bari"], ["Pisa", "Rome"]]),
        ("MODE(share)", [Fraction(1, 4)]),
        ("HISTOGRAM(city)", [{"Bari": 10, "Como": 0, "Pisa": 20, "Rome": 10}]),
    ],
)
def test_a_public_tables_column_is_a_domain_to_choose_from(clinic, tmp_path, monkeypatch, asked, wanted):
    ((found,),) = answer(clinic, tmp_path, monkeypatch, f"{asked} {JOINED}")
    assert (list(found) if isinstance(found, tuple) else found) in wanted


def test_no_more_values_are_chosen_than_there_are(clinic, tmp_path, monkeypatch):
    ((found,),) = answer(clinic, tmp_path, monkeypatch, f"TOP_K(city, 99) {JOINED}")
    assert sorted(found) == ["Bari", "Como", "Pisa", "Rome"]


def test_groups_of_a_public_double_are_found_again(clinic, tmp_path, monkeypatch):
    """0.1 in the public table and 0.1 in a row are one key, though neither is one tenth."""
    rows = answer(clinic, tmp_path, monkeypatch, f"share, COUNT(*) {JOINED} GROUP BY share")
    assert sorted((float(share), count) for share, count in rows) == [(0.1, 10), (0.25, 20), (0.5, 10)]


def test_a_mode_of_a_public_column_moves_with_a_unit_no_farther_than_its_plan_says(clinic):
    made = clinic.plan(f"DP-SELECT 1 MODE(city) {JOINED}")
    (measurement,) = made.measurements
    tally = dict(clinic.engine._connection.execute(made.statements[0].sql("duckdb")).fetchall())
    assert set(tally) == {"Rome", "Pisa", "Bari"}  # what is in no city is in no cell
    assert measurement.l1 == 5


# ── membership ───────────────────────────────────────────────────────────────────────────────────────────────────────

MEMBERS = (
    "city_id NOT IN (SELECT houses FROM cities)",  # which has a NULL: it holds for nobody
    "city_id NOT IN (SELECT houses FROM cities WHERE houses IS NOT NULL)",
    "NOT city_id IN (SELECT a.houses FROM cities a JOIN cities b ON a.city_id = b.city_id)",
    "city_id IN (SELECT houses FROM cities)",
    "city_id NOT IN (SELECT houses FROM cities WHERE cities.city_id < patients.city_id)",
    "city_id NOT IN (SELECT houses FROM none)",  # an empty list: it holds for all, also where there is no city
    "CASE WHEN city_id IN (SELECT houses FROM cities) THEN 1 ELSE 2 END = 2",
    "NOT EXISTS (SELECT 1 FROM cities WHERE houses = patients.city_id)",
    "NOT EXISTS (SELECT 1 FROM none)",
    "EXISTS (SELECT 1 FROM cities a LEFT JOIN none b ON a.city_id = b.city_id WHERE b.city IS NULL)",
    "city_id < (SELECT MAX(houses) FROM none)",
    "city_id > (SELECT COUNT(*) FROM cities WHERE cities.city_id = patients.city_id)",
    "city_id NOT IN (SELECT houses FROM cities WHERE houses < 1000)",  # all numbers are, NULL is not
    "city_id NOT IN (SELECT houses FROM cities WHERE NOT houses > 1000)",
    "city_id NOT IN (SELECT houses FROM cities WHERE (NOT houses < 1000) IS NOT FALSE)",
    "NOT (city_id < 10000000000000000000000)",
    "CASE WHEN city_id < 9999999999999999999999 THEN 1 WHEN NOT city_id < 9999999999999999999999 THEN 2 ELSE 3 END = 3",
    "NOT (city_id > 10000000000000000000000 OR city_id = 0.5)",
    "(city_id NOT IN (0.5, 10000000000000000000000)) IS NOT TRUE",
    "city_id NOT IN (SELECT b.houses FROM cities a LEFT JOIN none b ON a.city_id = b.city_id)",
    "city_id < (SELECT MAX(houses) FROM cities WHERE cities.city_id = patients.city_id)",
)


@pytest.mark.parametrize("condition", MEMBERS)
def test_conditions_over_public_tables_are_three_valued_as_sqls_are(clinic, tmp_path, monkeypatch, condition):
    ((found,),) = answer(clinic, tmp_path, monkeypatch, f"COUNT(*) FROM patients WHERE {condition}")
    (wanted,) = clinic.engine._connection.execute(f"SELECT COUNT(*) FROM patients WHERE {condition}").fetchone()
    assert found == wanted


def test_not_in_without_its_nulls_would_be_noticed(clinic, tmp_path, monkeypatch):
    right = correlated.Correlated.over

    def without_nulls(inner, part, *, listed, names):
        made = right(inner, part, listed=listed, names=names)
        return made.where(exp.Not(this=exp.Is(this=listed[0].copy(), expression=exp.null())))

    monkeypatch.setattr(correlated.Correlated, "over", without_nulls)
    with pytest.raises(AssertionError):
        test_conditions_over_public_tables_are_three_valued_as_sqls_are(clinic, tmp_path, monkeypatch, MEMBERS[0])


def test_a_condition_that_forgets_its_nulls_would_be_noticed(clinic, tmp_path, monkeypatch):
    monkeypatch.setattr(numerics, "_all_or_none", lambda column, *, all_of_them: exp.convert(all_of_them))
    with pytest.raises(AssertionError):
        test_conditions_over_public_tables_are_three_valued_as_sqls_are(
            clinic, tmp_path, monkeypatch, "NOT (city_id > 10000000000000000000000 OR city_id = 0.5)"
        )


# ── rows that an outer join leaves empty ─────────────────────────────────────────────────────────────────────────────

LEFT = "FROM patients p LEFT JOIN visits v ON v.patient_id = p.id"
WITH = "COALESCE(cost, CASE WHEN v.patient_id IS NOT NULL THEN 50 END)"


@pytest.mark.parametrize(
    ("asked", "plain"),
    [
        (f"SUM(cost), COUNT(*) {LEFT}", f"SELECT SUM({WITH}), COUNT(*) {LEFT}"),
        (f"AVG(cost) {LEFT}", f"SELECT AVG({WITH}) {LEFT}"),
        (f"COUNT(cost) {LEFT}", f"SELECT COUNT({WITH}) {LEFT}"),
        (f"SUM(c) FROM (SELECT p.id, cost AS c {LEFT}) q", f"SELECT SUM({WITH}) {LEFT}"),
        (f"SUM(c) FROM (SELECT p.id, SUM(cost) AS c {LEFT} GROUP BY p.id) q", f"SELECT SUM({WITH}) {LEFT}"),
        ("SUM(cost) FROM visits", "SELECT SUM(COALESCE(cost, 50)) FROM visits"),
        (
            "SUM(people) FROM patients LEFT JOIN cities ON cities.city_id = patients.city_id",
            (
                "SELECT SUM(CASE WHEN city IS NOT NULL THEN COALESCE(people, 3) END)"
                " FROM patients LEFT JOIN cities ON cities.city_id = patients.city_id"
            ),
        ),
        (
            "SUM(cost) FROM patients p LEFT JOIN (SELECT patient_id, cost FROM visits) v ON v.patient_id = p.id",
            f"SELECT SUM({WITH}) {LEFT}",
        ),
    ],
)
def test_what_the_policy_says_of_empty_cells_is_not_about_rows_without_a_match(
    clinic, tmp_path, monkeypatch, asked, plain
):
    (row,) = answer(clinic, tmp_path, monkeypatch, asked)
    (wanted,) = clinic.engine._connection.execute(plain).fetchall()
    assert [float(cell) for cell in row] == pytest.approx([float(cell) for cell in wanted])


# The tables with what an empty cell counts as in its place: the same text over them is what must be found.
FILLED = (
    "WITH cities AS (SELECT * REPLACE (COALESCE(people, 3) AS people) FROM main.cities),"
    " visits AS (SELECT * REPLACE (COALESCE(cost, 50) AS cost) FROM main.visits) SELECT"
)
NEXT = "FROM cities a LEFT JOIN cities b ON a.city_id < b.city_id"
NEARBY = "FROM patients p LEFT JOIN cities c ON c.city_id = p.city_id"


@pytest.mark.parametrize(
    "asked",
    [
        *(f"COUNT(*) FROM patients WHERE {each.replace('houses', 'people')}" for each in MEMBERS),
        *(
            f"COUNT(*), COUNT({each}), SUM({each}) {joined} WHERE {condition}"
            for each, joined in (("cost", LEFT), ("people", NEARBY))
            for condition in (
                f"{each} > 2",
                f"NOT {each} > 2",
                f"{each} IS NULL",
                f"{each} IS NOT NULL",
                f"{each} IN (3, 50)",
                f"{each} NOT IN (3, 50)",
                f"{each} < 10000000000000000000000",
                f"NOT {each} > 10000000000000000000000",
                f"({each} < 10000000000000000000000) IS NOT TRUE",
                f"COALESCE({each}, 1) = 1",
                f"CASE WHEN {each} > 2 THEN 1 ELSE 2 END = 2",
                f"NOT EXISTS (SELECT 1 FROM cities a WHERE a.people = {each})",
                f"{each} NOT IN (SELECT people FROM cities)",
            )
        ),
        f"COUNT(c), COUNT(*) FROM (SELECT p.id, cost AS c {LEFT}) q",
        f"COUNT(*) FROM (SELECT p.id, cost AS c {LEFT}) q WHERE c IS NULL",
        f"COUNT(c), SUM(c) FROM (SELECT p.id, MIN(cost) AS c {LEFT} GROUP BY p.id) q WHERE NOT c = 50",
        f"COUNT(*) FROM patients WHERE city_id NOT IN (SELECT b.people {NEXT})",
        f"COUNT(*) FROM patients WHERE city_id NOT IN (SELECT b.people {NEXT} WHERE b.people < 1000)",
        f"COUNT(*) FROM patients WHERE city_id NOT IN (SELECT q.n FROM (SELECT b.people AS n {NEXT}) q)",
        "COUNT(people), COUNT(*) FROM patients p LEFT JOIN cities c ON c.people = p.city_id",
    ],
)
def test_what_the_policy_says_of_empty_cells_holds_in_every_condition(clinic, tmp_path, monkeypatch, asked):
    (row,) = answer(clinic, tmp_path, monkeypatch, asked)
    (wanted,) = clinic.engine._connection.execute(f"{FILLED} {asked}").fetchall()
    assert [float(cell) for cell in row] == [float(cell or 0) for cell in wanted]


def test_counting_rows_without_a_match_as_that_value_would_be_noticed(clinic, tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.sql.expressions.names.scope.Scope.matched", lambda scope, name: None)
    ((total,),) = answer(clinic, tmp_path, monkeypatch, f"SUM(cost) {LEFT}")
    (wanted,) = clinic.engine._connection.execute(f"SELECT SUM({WITH}) {LEFT}").fetchone()
    assert float(total) > wanted


# ── one value of a public table ──────────────────────────────────────────────────────────────────────────────────────

ONE_ROW = (
    "city_id < (SELECT houses FROM cities WHERE cities.city_id = patients.city_id)",
    "city_id < (SELECT houses FROM cities WHERE cities.city_id = patients.city_id AND people > 2)",
    "city_id = (SELECT city_id FROM cities WHERE city = 'Pisa')",
    "city_id = (SELECT city_id FROM cities WHERE city = 'Rome' AND houses = 6)",  # no row: NULL
    "city_id < (SELECT houses FROM none)",
    "city_id < (SELECT houses FROM (SELECT * FROM cities WHERE people > 2) c WHERE c.city_id = patients.city_id)",
    "city_id < (SELECT houses FROM cities WHERE houses = patients.city_id)",  # NULL is equal to nothing
)
SEVERAL_ROWS = (  # (the condition, how many rows can be found)
    ("city_id = (SELECT city_id FROM cities)", 4),
    ("city_id = (SELECT city_id FROM cities WHERE share = 0.1)", 2),
    ("city_id = (SELECT city_id FROM cities WHERE people > 3)", 2),
    ("city_id = (SELECT houses FROM streets WHERE streets.city_id = patients.city_id)", 3),
    ("city_id = (SELECT houses FROM streets WHERE streets.city_id = patients.city_id AND street <> 'b')", 2),
    ("city_id = (SELECT a.city_id FROM cities a JOIN streets b ON a.city_id = b.city_id WHERE a.city = 'Como')", 3),
    ("NOT EXISTS (SELECT 1 FROM cities c WHERE c.city_id = (SELECT city_id FROM streets))", 4),
)
STREETS = "CREATE TABLE streets AS SELECT * FROM (VALUES (1, 'a', 4), (3, 'a', 1), (3, 'b', 2), (3, 'c', 3))"


def streets(*more: str) -> World:
    """Patients of whom none lives in the one city that has several streets."""
    policy = policy_of([*POLICY.tables, TablePolicy("streets", public=True)])
    return world(
        policy,
        "CREATE TABLE patients AS SELECT i AS id, [0, 1, 1, 2, 7, NULL][1 + i % 6] AS city_id FROM range(60) t(i)",
        "CREATE TABLE visits AS SELECT 1 AS patient_id, 1 AS cost, 0.1 AS cents",
        "CREATE TABLE cities AS SELECT i AS city_id, ['Rome', 'Pisa', 'Bari', 'Como'][1 + i] AS city,"
        " [0.1, 0.25, 0.5, 0.1][1 + i]::DOUBLE AS share, [NULL, 2, 4, 6][1 + i] AS people, people AS houses"
        " FROM range(4) t(i)",
        "CREATE TABLE none AS SELECT * FROM cities LIMIT 0",
        f"{STREETS} AS t(city_id, street, houses)",
        *more,
    )


@pytest.mark.parametrize("condition", ONE_ROW)
def test_a_subquery_that_finds_one_row_is_its_value_and_needs_no_note(clinic, tmp_path, monkeypatch, condition):
    switch_off(monkeypatch)
    asked = f"COUNT(*) FROM patients WHERE {condition}"
    release = clinic.curator(tmp_path).ask(f"DP-SELECT 100 {asked}", session=Session("ana"))
    assert release.rows == tuple(clinic.engine._connection.execute(f"SELECT {asked}").fetchall())
    assert not any("subquery" in note for note in release.notes)


@pytest.mark.parametrize(("condition", "rows"), SEVERAL_ROWS)
def test_a_subquery_that_could_find_several_rows_is_refused_whoever_is_there(tmp_path, condition, rows):
    """SQL fails where a row meets several: it would tell that there is such a person."""
    told = set()
    for name, row in (("few", ()), ("more", ("INSERT INTO patients VALUES (777, 3)",))):
        (tmp_path / name).mkdir()
        curator = streets(*row).curator(tmp_path / name)
        with pytest.raises(QueryRefused) as caught:
            curator.ask(f"DP-SELECT 1 COUNT(*) FROM patients WHERE {condition}", session=Session("ana"))
        told.add((caught.value.message, caught.value.hint))
        assert curator.balance("ana").analyst.spent.epsilon == 0
    ((message, hint),) = told
    assert f"up to {rows} rows" in message
    assert "MIN(" in hint


def test_where_nobody_counts_the_public_rows_the_least_counts_and_a_note_says_so():
    over = streets("INSERT INTO patients VALUES (777, 3)")
    condition = "city_id > (SELECT houses FROM streets WHERE streets.city_id = patients.city_id)"
    plan = over.plan(f"DP-SELECT 1 COUNT(*) FROM patients WHERE {condition}")
    assert "of several rows that a subquery finds, the least houses counts" in plan.notes
    assert over.exact(plan)[0].integers("m0").tolist() == [1]


def test_a_public_table_that_grows_after_the_count_fails_for_nobody(tmp_path, monkeypatch):
    """The plan is kept; what runs asks for the least, and an engine that found two rows would fail for some alone."""
    switch_off(monkeypatch)
    over = streets("DELETE FROM streets WHERE street <> 'a'")
    curator = over.curator(tmp_path)
    asked = "DP-SELECT 100 FRESH COUNT(*) FROM patients WHERE city_id < (SELECT houses FROM streets"
    asked += " WHERE streets.city_id = patients.city_id)"
    assert curator.ask(asked, session=Session("ana")).rows == ((20,),)
    over.engine._connection.execute("INSERT INTO streets VALUES (1, 'b', 9), (1, 'c', 0)")
    assert curator.ask(asked, session=Session("ana")).rows == ((0,),)
