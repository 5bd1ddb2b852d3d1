"""What is computed from answers, through the rooms: its rows, its one charge, its errors, and what is kept."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import date

import duckdb
import pytest

from conformance.sql_hospital import BY_SEX, COUNTS, OVER_COUNTS, WARDS, hospital
from conformance.sql_world import policy_of
from conformance.sql_world import world as small
from support.sources import Seeded
from tacit.core import Loss
from tacit.curator import Explanation, Session
from tacit.curator.computing import computing
from tacit.engines.answers.process import SHARED, AnswerEngine, ComputingFailed
from tacit.errors import BudgetExceeded, QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy

ANA = Session("ana")
OLD = COUNTS.replace("stays", "old")


@pytest.fixture(scope="module")
def world():
    return hospital()


@pytest.fixture
def curator(world, tmp_path):
    return world.curator(tmp_path)


def ask(curator, text, **more):
    return curator.ask(text, session=ANA, **more)


def spent(curator):
    return curator.balance("ana").total.spent.epsilon


def as_doubles(rows):
    return [tuple(float(c) if isinstance(c, (int, float)) and not isinstance(c, bool) else c for c in r) for r in rows]


SHAPED = (
    "WITH a AS ({}) DP-SELECT 1 ward, n, RANK() OVER (ORDER BY n) AS r, 'x' AS t, n > 5 AS b, n / 2.0 AS h FROM a",
    "WITH a AS ({}) DP-SELECT 1 SUM(n) AS s, LIST(ward) AS l, DATE '2024-01-01' AS d FROM a",
    "WITH a AS ({0}), b AS ({1}) DP-SELECT 1 a.ward, a.n - b.n AS d FROM a JOIN b USING (ward)",
)


@pytest.mark.parametrize("text", SHAPED)
def test_the_columns_that_are_announced_are_those_that_come(curator, text):
    asked = text.format(COUNTS, OLD)
    told, found = curator.explain(asked, session=ANA), ask(curator, asked)
    assert told.computed == found.columns
    assert told.shapes == found.shapes
    kinds = {"text": str, "integer": int, "number": (int, float), "boolean": bool, "list": list, "date": date}
    for row in found.rows:
        assert all(
            cell is None or isinstance(cell, kinds[shape.kind]) for cell, shape in zip(row, found.shapes, strict=True)
        )


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("over", OVER_COUNTS)
def test_what_is_computed_is_what_duckdb_makes_of_the_released_rows(curator, world, over):
    released = ask(curator, f"DP-SELECT 1 {COUNTS.removeprefix('SELECT ')}")
    found = ask(curator, f"WITH a AS ({COUNTS}) DP-SELECT 1 {over.removeprefix('SELECT ')}")
    assert found.reused  # the same private question: free
    assert spent(curator) == 1
    with duckdb.connect(":memory:") as by_hand:
        by_hand.execute("CREATE TABLE a (ward VARCHAR, n BIGINT)")
        by_hand.executemany("INSERT INTO a VALUES (?, ?)", [list(row) for row in released.rows])
        by_hand.execute("CREATE TABLE wards (ward VARCHAR, beds BIGINT, region VARCHAR)")
        wards = world.engine.execute("SELECT ward, beds, region FROM wards")
        by_hand.executemany(
            "INSERT INTO wards VALUES (?, ?, ?)",
            [list(row) for row in zip(*(wards.keys(name) for name in ("ward", "beds", "region")), strict=True)],
        )
        expected = by_hand.execute(over).fetchall()
    assert as_doubles(found.rows) == as_doubles(expected)
    assert [len(row) for row in found.errors] == [len(row) for row in found.rows]


def test_a_window_beside_the_aggregates_is_computed_over_the_groups(curator):
    text = "DP-SELECT 1 ward, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct, n + 1 AS more"
    found = ask(curator, f"{text} FROM stays GROUP BY ward HAVING COUNT(*) > 0 QUALIFY pct > 1 ORDER BY pct DESC")
    total = sum(row[1] for row in found.rows)
    assert found.columns == ("ward", "n", "pct", "more")
    assert [row[0] for row in found.rows] == [row[0] for row in sorted(found.rows, key=lambda row: -row[2])]
    assert all(row[2] == pytest.approx(100 * row[1] / total) and row[3] == row[1] + 1 for row in found.rows)


def test_columns_that_nobody_named_are_called_as_they_were_written(curator):
    found = ask(curator, f"DP-SELECT 1 COUNT(*), MAX(n) FROM ({COUNTS})")
    assert found.columns == ("count(*)", "max(n)")
    assert ask(curator, "DP-SELECT 1 UPPER(ward), COUNT(*), COUNT(*) FROM stays GROUP BY ward").columns == (
        *("upper(ward)", "count(*)", "count(*)_2"),
    )


def test_parameters_stand_in_what_is_computed_too(curator):
    text = f"WITH a AS ({COUNTS}) DP-SELECT 1 ward, n * :times AS m FROM a WHERE ward <> :other AND n > :least"
    found = ask(curator, text, parameters={"times": 0, "other": "Icu' OR true", "least": -1e9})
    assert [row[1] for row in found.rows] == [0] * len(WARDS)
    with pytest.raises(QueryRefused, match="the parameter least has no value"):
        ask(curator, text, parameters={"times": 0, "other": "Icu"})


def test_a_view_and_per_person_subqueries_stay_private(curator):
    found = ask(
        curator,
        "DP-SELECT 1 o.ward, RANK() OVER (ORDER BY o.n) FROM (SELECT ward, COUNT(*) AS n FROM old GROUP BY ward) o",
    )
    assert len(found.rows) == len(WARDS)
    people = "WITH p AS (SELECT patient, COUNT(*) AS k FROM stays GROUP BY patient)"
    job = curator.prepare(f"{people} DP-SELECT 1 AVG(k) AS mean FROM p", session=ANA)
    assert job.asked is None  # one question, as ever
    job = curator.prepare(f"{people}, m AS (SELECT AVG(k) AS mean FROM p) DP-SELECT 1 ROUND(mean) FROM m", session=ANA)
    assert len(job.bounds) == 1
    assert job.asked is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DP-SELECT 1 patient, RANK() OVER (ORDER BY days) FROM stays", "window function is refused"),
        (
            "DP-SELECT 1 AVG(days) FROM stays WHERE days > (SELECT AVG(days) FROM stays)",
            "other people's rows would decide",
        ),
        (f"DP-SELECT 1 AVG(days) FROM stays JOIN ({COUNTS}) a ON a.ward = stays.ward", "mix the rows of several units"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 s.patient, a.n FROM a JOIN stays s ON s.ward = a.ward", "mix the rows"),
        (
            f"WITH a AS ({COUNTS}) DP-SELECT 1 a.n FROM a WHERE EXISTS (SELECT patient FROM stays)",
            "rows of people are refused",
        ),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 (SELECT MAX(patient) FROM stays) FROM a", "patient is refused here"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 nope FROM a", "nope"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 FROBNICATE(n) FROM a", "there is no function FROBNICATE"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n FROM a, read_csv('/etc/passwd')", "READ_CSV is refused after FROM"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n FROM a, other", "other"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n, RANDOM() FROM a", "RANDOM is refused"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n, CLOCK_TIMESTAMP() FROM a", "no function CLOCK_TIMESTAMP"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n FROM a TABLESAMPLE 50%", "sample is refused"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 CAST(ward AS INTEGER) FROM a", "failed"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 CAST(n AS DATE) FROM a", "failed"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n FROM a, information_schema.tables", "there is no table"),
        (f"WITH a AS ({COUNTS}) DP-SELECT 1 n FROM a, temp.main.stays", "there is no table"),
        (f"WITH RECURSIVE a AS ({COUNTS} UNION ALL SELECT ward, n FROM a) DP-SELECT 1 MAX(n) FROM a", "RECURSIVE is"),
        (
            f"WITH RECURSIVE a AS ({COUNTS}), b AS (SELECT 1 AS k UNION ALL SELECT k FROM b) DP-SELECT 1 n FROM a",
            "RECURSIVE is refused",
        ),
        (f"DP-SELECT 1 WITH BIAS ward, RANK() OVER (ORDER BY n) FROM ({COUNTS})", "WITH BIAS is refused"),
        ("DP-SELECT 1 town, RANK() OVER (ORDER BY COUNT(*)) FROM stays GROUP BY ward", "town is neither grouped"),
        (
            "DP-SELECT 1 ward, COUNT(*) FROM stays GROUP BY ward UNION ALL SELECT ward, beds FROM wards, stays",
            "rows of people",
        ),
        ("DP-SELECT 1 ward FROM wards UNION ALL SELECT region FROM wards", "UNION is refused"),
    ],
)
def test_what_is_refused_is_refused_before_any_charge(curator, text, said):
    with pytest.raises(QueryRefused, match=said):
        ask(curator, text)
    assert spent(curator) == 0
    assert not curator.log("ana")


def test_an_answer_is_shown_itself_where_computing_from_it_fails(curator, monkeypatch):
    """A text that is no number: among private keys nobody knows it beforehand."""
    towns = "SELECT town, COUNT(*) AS n FROM stays GROUP BY town"
    found = ask(curator, f"WITH a AS ({towns}) DP-SELECT 2 CAST(town AS INTEGER) AS t, n FROM a")
    assert found.columns == ("town", "n")
    assert {row[0] for row in found.rows} == {"town0", "town1", "town2", "town3"}
    assert "what is computed from the answers failed: on these rows" in found.notes[0]
    two = ask(
        curator,
        f"WITH a AS ({towns}), b AS (SELECT COUNT(*) AS m FROM bookings) DP-SELECT 2 town::INTEGER AS t FROM a, b",
    )
    assert two.columns == ("answer", "town", "n", "m")
    assert [row[0] for row in two.rows] == [1, 1, 1, 1, 2]


def test_the_process_sees_released_rows_and_public_tables_alone(curator, monkeypatch):
    seen = []
    compute = AnswerEngine.compute

    def watched(self, statements, tables, **more):
        seen.append(tables)
        return compute(self, statements, tables, **more)

    monkeypatch.setattr(AnswerEngine, "compute", watched)
    released = ask(curator, f"DP-SELECT 1 {COUNTS.removeprefix('SELECT ')}")
    ask(curator, f"WITH a AS ({COUNTS}) DP-SELECT 1 a.ward, n / beds AS r FROM a JOIN wards w ON w.ward = a.ward")
    rehearsed, shown, drawn = seen
    assert {table.name for tables in seen for table in tables} == {"_tacit_a0", "wards", "_tacit_draws"}
    assert [list(cells) for cells in shown[0].cells] == [list(cells) for cells in zip(*released.rows, strict=True)]
    assert len(set(rehearsed[0].cells[1])) == 1  # made up
    assert set(drawn[0].cells[1]) == set(WARDS)


# ── charges, kept answers, doors ─────────────────────────────────────────────────────────────────────────────────────

TWO = f"WITH f AS ({COUNTS}), b AS (SELECT ward, COUNT(*) AS n FROM bookings GROUP BY ward)"


def test_several_questions_are_one_job_with_one_price(curator):
    found = ask(curator, f"{TWO} DP-SELECT 1/3 ward, f.n * 1.0 / b.n AS ratio FROM f JOIN b USING (ward)")
    assert found.cost == Loss("1/3")
    (entry,) = [entry for entry in curator.log("ana") if entry.act == "charge"]
    assert entry.note == "2 questions of one statement"
    assert set(entry.asked.tables) == {"stays", "bookings"}
    assert curator.replay(entry).agrees
    assert any("computed from 2 private questions" in note for note in found.notes)


def test_the_same_rows_asked_twice_are_one_question(curator):
    text = f"DP-SELECT 1 ward, COUNT(*) * 100.0 / (SELECT SUM(n) FROM ({COUNTS})) AS pct FROM stays GROUP BY ward"
    assert len(curator.prepare(text, session=ANA).bounds) == 1


def test_another_query_over_the_same_answers_is_free(curator):
    first = ask(curator, f"{TWO} DP-SELECT 1 ward, f.n - b.n AS gap FROM f JOIN b USING (ward)")
    again = ask(curator, f"{TWO} DP-SELECT 1 SUM(f.n) AS f, SUM(b.n) AS b FROM f JOIN b USING (ward)")
    assert again.reused
    assert again.cost == Loss(0)
    assert again.rows[0][0] - again.rows[0][1] == sum(row[1] for row in first.rows)
    assert spent(curator) == 1


def test_a_repeated_request_gives_the_same_rows_and_error_bars(curator):
    text = f"{TWO} DP-SELECT 1 FRESH f.n * 1.0 / b.n AS q, RANK() OVER (ORDER BY f.n) AS r FROM f JOIN b USING (ward)"
    one, two = (ask(curator, text, request_id="once") for _ in range(2))
    assert (one.rows, one.errors) == (two.rows, two.errors)
    assert two.cost == Loss(0)
    with pytest.raises(QueryRefused, match="stands for another question"):
        ask(curator, text.replace("f.n * 1.0", "f.n * 2.0"), request_id="once")


def test_what_no_budget_covers_is_not_read(tmp_path):
    poor = hospital(max_epsilon=1).curator(tmp_path)
    with pytest.raises(BudgetExceeded, match="at most ε = 1"):
        ask(poor, f"{TWO} DP-SELECT 2 SUM(f.n + b.n) FROM f JOIN b USING (ward)")
    poor.close()


def test_statements_of_a_batch_compute_too(curator):
    questions = [
        COUNTS,
        f"SELECT ward, n, RANK() OVER (ORDER BY n DESC) AS r FROM ({COUNTS})",
        f"{TWO} SELECT SUM(f.n) AS s, SUM(b.n) AS t FROM f, b",
    ]
    found = curator.batch(questions, session=ANA, epsilon=1)
    assert [answer.columns for answer in found] == [("ward", "n"), ("ward", "n", "r"), ("s", "t")]
    assert found[0].rows == tuple(sorted((row[:2] for row in found[1].rows), key=lambda row: WARDS.index(row[0])))
    assert spent(curator) == 1
    explained = curator.explain_batch(questions, session=ANA, epsilon=1)
    assert len(explained.questions) == 4
    (entry,) = [entry for entry in curator.log("ana") if entry.act == "charge"]
    assert curator.replay(entry).agrees


def test_explain_names_the_columns_and_what_is_computed(curator):
    text = "EXPLAIN DP-SELECT 1 ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM stays GROUP BY ward"
    found = ask(curator, text)
    assert isinstance(found, Explanation)
    assert found.outputs == ("ward", "n", "r")
    assert found.exact == (True, False, False)
    assert found.errors[1] is not None
    assert "RANK() OVER (ORDER BY answer_1" in str(found)
    several = ask(curator, f"EXPLAIN {TWO} DP-SELECT 1 ward, f.n - b.n AS gap FROM f JOIN b USING (ward)")
    assert len(several.questions) == 2
    assert several.loss == Loss(1)
    assert spent(curator) == 0


def test_within_holds_for_the_answers_that_it_is_computed_from(world, tmp_path):
    curator = world.curator(tmp_path, source=Seeded(1))  # of some draws, the pilot finds no ward with a hundred stays
    found = ask(
        curator,
        "DP-SELECT WITHIN 30 ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*)) AS r FROM stays GROUP BY ward",
    )
    assert max(row[1] for row in found.errors) <= 30
    share = ask(
        curator,
        f"DP-SELECT WITHIN 20% MAX(b.n) AS most FROM ({COUNTS} HAVING COUNT(*) > 100) b, ({OLD}) c",
    )
    assert share.cost.epsilon > 0


def test_every_form_of_an_answer_has_what_is_computed(curator):
    found = ask(
        curator, f"WITH a AS ({COUNTS}) DP-SELECT 1 ward, n, n * 2.5 AS m, ward || '!' AS loud FROM a ORDER BY ward"
    )
    assert len(found.to_pandas()) == len(WARDS)
    assert found.to_arrow().num_rows == len(WARDS)
    header = next(csv.reader(io.StringIO(found.to_csv())))
    assert [name for name in header if "±" not in name and "error" not in name][:2] == ["ward", "n"]
    assert json.loads(found.to_json())["columns"] == ["ward", "n", "m", "loud"]
    assert "loud" in found.to_markdown()
    assert "loud" in found._repr_html_()


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_column_that_is_the_answers_own_keeps_its_exact_error(curator):
    plain = ask(curator, f"DP-SELECT 1 {COUNTS.removeprefix('SELECT ')}")
    found = ask(curator, f"WITH a AS ({COUNTS}) DP-SELECT 1 a.n, a.ward, a.n * 2 AS twice FROM a ORDER BY n")
    assert {row[0] for row in found.errors} == {row[1] for row in plain.errors}
    assert all(1.2 < twice / once < 2.8 for once, _, twice in found.errors)


def test_averages_keep_the_error_of_their_own_row(curator):
    averages = "SELECT ward, AVG(days) AS mean FROM stays GROUP BY ward"
    plain = ask(curator, f"DP-SELECT 1 {averages.removeprefix('SELECT ')}")
    found = ask(curator, f"WITH a AS ({averages}) DP-SELECT 1 ward, mean, mean + 1 AS more FROM a ORDER BY mean")
    own = {row[0]: error[1] for row, error in zip(plain.rows, plain.errors, strict=True)}
    assert [error[1] for error in found.errors] == [own[row[0]] for row in found.rows]


def test_ranks_and_top_n_say_how_sure_they_are(curator):
    found = ask(
        curator,
        f"WITH a AS ({COUNTS}) DP-SELECT 0.01 ward, RANK() OVER (ORDER BY n DESC) AS r FROM a ORDER BY r LIMIT 3",
    )
    said = " ".join(found.notes)
    assert "r is the true one with probability about" in said
    assert "noise decides which rows are shown: they are the true ones with probability about" in said
    assert "the order of these 3 rows is the true one with probability about" in said
    sure = ask(curator, f"WITH a AS ({BY_SEX}) DP-SELECT 500 sex, SUM(n) AS n FROM a GROUP BY sex ORDER BY sex")
    assert "probability" not in " ".join(sure.notes)


def test_what_comes_from_a_choice_has_no_error_bar_and_says_so(curator):
    found = ask(
        curator,
        "DP-SELECT 1 ward, MEDIAN(days) + 0.5 AS m, RANK() OVER (ORDER BY MEDIAN(days)) AS r FROM stays GROUP BY ward",
    )
    assert {error for row in found.errors for error in row} == {None}
    assert any(note.startswith("no ± can be stated for") for note in found.notes)


def test_no_error_bar_is_better_than_none_at_all_where_simulating_fails(curator, monkeypatch):
    compute = AnswerEngine.compute

    def failing(self, statements, tables, **more):
        if any(table.name == "_tacit_draws" for table in tables):
            raise ComputingFailed("too long")
        return compute(self, statements, tables, **more)

    monkeypatch.setattr(AnswerEngine, "compute", failing)
    found = ask(curator, f"WITH a AS ({COUNTS}) DP-SELECT 1 ward, n, n / 2 AS half FROM a")
    assert [error[2] for error in found.errors] == [None] * len(WARDS)
    assert all(error[1] for error in found.errors)
    assert any("no ± can be stated for half" in note for note in found.notes)


def test_rollup_is_computed_from_as_well(curator):
    found = ask(
        curator,
        "DP-SELECT 1 COALESCE(ward, 'all') AS ward, COUNT(*) AS n FROM stays GROUP BY ROLLUP (ward) ORDER BY n DESC",
    )
    assert found.rows[0][0] == "all"
    assert all(error[1] for error in found.errors)


def test_public_tables_are_read_once_while_the_data_stay(curator, world, monkeypatch):
    read = []
    execute = type(world.engine).execute
    monkeypatch.setattr(type(world.engine), "execute", lambda self, sql: read.append(sql) or execute(self, sql))
    for _ in range(2):
        ask(curator, f"WITH a AS ({COUNTS}) DP-SELECT 1 a.n FROM a JOIN wards w ON w.ward = a.ward")
    assert sum('FROM "wards"' in sql and "COUNT" not in sql for sql in read) == 1


def test_the_shared_process_is_the_one_that_curators_use(curator):
    assert curator._computing.engine is SHARED
    assert computing.Computing.__slots__
    assert replace(curator._computing) == curator._computing


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM cities",
        "SELECT secret FROM cities",
        "SELECT MAX(secret) FROM cities",
        'SELECT c."SECRET" FROM cities AS c',
        (
            "SELECT c.secret, a.n FROM (DP-SELECT 1 place, COUNT(*) AS n FROM people WHERE place = 'a' GROUP BY 1) a"
            " JOIN cities c ON c.name = a.place"
        ),
        "SELECT * FROM (DP-SELECT 1 place, COUNT(*) AS n FROM people WHERE place = 'a' GROUP BY 1) a, cities",
        "DP-SELECT 1 c.secret, COUNT(*) FROM people p JOIN cities c ON c.name = p.place GROUP BY 1",
        "DP-SELECT 1 COUNT(*) FROM people p WHERE place = (SELECT MIN(secret) FROM cities)",
    ],
)
def test_a_hidden_column_of_a_public_table_is_nobodys_to_see(text, tmp_path):
    cities = [ColumnPolicy("Secret", hidden=True), ColumnPolicy("name")]
    people = TablePolicy("people", "id", columns=[ColumnPolicy("place")], max_groups=3, max_rows=2)
    policy = policy_of([people, TablePolicy("cities", public=True, columns=cities)])
    made = "CREATE TABLE people AS SELECT i AS id, 'a' AS place FROM range(9) AS made(i)"
    there = small(policy, made, "CREATE TABLE cities AS SELECT 'a' AS name, 'hush' AS \"Secret\"")
    try:
        shown = repr(there.curator(tmp_path).ask(text, session=ANA))
    except QueryRefused as refusal:
        shown = f"{refusal} {refusal.hint}"
    assert "hush" not in shown
    assert "Secret" not in shown or '"Secret"' in text
