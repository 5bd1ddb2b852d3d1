"""One person's rows joined with each other make so many rows and no more, and are cut by themselves alone."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from sqlglot import exp

from conformance.sql_sensitivity import Violation
from conformance.sql_sensitivity_relational import Database, check_others, database
from conformance.sql_world import World, policy_of
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.relations.correlating import correlated
from tacit.sql.relations.joining import own_joins

MANY = 30_000
BOB = 7
TEN = {"lower": 0, "upper": 9, "step": 1}
CAPS = {"max_rows": 20, "max_groups": 3}
TABLES = (
    TablePolicy("people", "id", columns=[ColumnPolicy("age", lower=0, upper=99, step=1)], **CAPS),
    TablePolicy("visits", "person -> people.id", columns=[ColumnPolicy("kind"), ColumnPolicy("day", **TEN)], **CAPS),
    TablePolicy("bills", "visit -> visits.id", columns=[ColumnPolicy("cost", **TEN)], **CAPS),
    TablePolicy("notes", "person -> people.id", columns=[ColumnPolicy("mood", **TEN)], max_rows=300, max_groups=3),
)


def _filled(connection: duckdb.DuckDBPyConnection, *, many: int) -> None:
    """Ten people with a few rows each, in no order; Bob has many more of everything."""
    mixed = "ORDER BY hash(i, 'mixed')"
    everybody, bob = "SELECT i % 10 AS person, i FROM range(60) AS made(i)", f"SELECT {BOB}, i + 60 FROM range({many})"
    rows = f"{everybody} UNION ALL {bob} AS made(i)"
    connection.execute("CREATE TABLE people AS SELECT i AS id, 20 + i AS age FROM range(10) AS made(i)")
    connection.execute(
        "CREATE TABLE visits AS SELECT i AS id, person, 'abc'[1 + i % 3] AS kind, (hash(i) % 10)::INTEGER AS day "
        f"FROM ({rows}) {mixed}"
    )
    connection.execute(f"CREATE TABLE bills AS SELECT i // 2 AS visit, (i % 10)::INTEGER AS cost FROM ({rows}) {mixed}")
    connection.execute(f"CREATE TABLE notes AS SELECT person, (hash(i, 1) % 10)::INTEGER AS mood FROM ({rows}) {mixed}")


def _database(many: int) -> Database:
    visits = "visit IN (SELECT id FROM every_visits WHERE person IS DISTINCT FROM gone.unit)"
    owned = dict.fromkeys(("visits", "notes"), "person IS DISTINCT FROM gone.unit")
    owned |= {"people": "id IS DISTINCT FROM gone.unit", "bills": visits}
    return database(policy_of(TABLES), lambda connection: _filled(connection, many=many), owned=owned)


@pytest.fixture(scope="module")
def crowded() -> Iterator[Database]:
    made = _database(MANY)
    yield made
    made.world.engine.close()


@pytest.fixture(scope="module")
def small() -> Iterator[Database]:
    made = _database(30)
    yield made
    made.world.engine.close()


def _pairs(there: Database, body: str) -> int:
    """How many rows a question's joins make."""
    relation = there.world.bound(f"DP-SELECT 1 {body}").relation
    counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(relation.sql.copy())
    found = there.connection.execute(emit(qualified(counted), "duckdb")).fetchone()
    assert found is not None
    return int(found[0])


def _notes(world: World, body: str) -> list[str]:
    return [note for note in world.plan(f"DP-SELECT 1 {body}").notes if "meets" in note]


SELF = "COUNT(*) FROM visits a JOIN visits b ON a.person = b.person"
JOINED = (  # a question, and how many of Bob's rows may meet one of his
    (SELF, 100),
    (f"{SELF} AND a.day < b.day", 100),
    (f"{SELF} AND a.kind = b.kind", 100),
    ("COUNT(*) FROM visits a, visits b WHERE a.person = b.person AND b.day > 3", 100),
    ("COUNT(*) FROM visits a LEFT JOIN visits b ON a.person = b.person AND b.day > a.day", 101),
    ("COUNT(*) FROM visits a RIGHT JOIN visits b ON a.person = b.person AND b.day > a.day", 101),
    ("COUNT(*) FROM visits a FULL JOIN notes b ON a.person = b.person", 301),
    ("COUNT(*) FROM visits a JOIN notes b ON a.person = b.person", 300),
    ("COUNT(*) FROM notes a JOIN visits b ON a.person = b.person", 100),
    ("COUNT(*) FROM people p JOIN visits a ON a.person = p.id JOIN visits b ON b.person = p.id", 100),
    ("COUNT(*) FROM (SELECT person, day FROM visits) a JOIN (SELECT person, kind FROM visits) b USING (person)", 100),
    (
        (
            "COUNT(*) FROM (SELECT person, day FROM visits UNION ALL SELECT person, mood FROM notes) a"
            " JOIN notes b USING (person)"
        ),
        600,
    ),
    ("COUNT(*) FROM bills a JOIN visits v ON v.id = a.visit JOIN notes n ON n.person = v.person", 300),
)
ONCE = (  # each row meets one: nothing is cut, whatever anybody has
    ("COUNT(*) FROM people p JOIN visits v ON v.person = p.id", 1),
    ("COUNT(*) FROM visits v JOIN bills b ON b.visit = v.id JOIN people p ON p.id = v.person", 1),
    ("COUNT(*) FROM visits v JOIN (SELECT person, MAX(mood) AS m FROM notes GROUP BY person) q USING (person)", 1),
    ("COUNT(*) FROM visits v JOIN (SELECT visit, SUM(cost) AS c FROM bills GROUP BY visit) q ON q.visit = v.id", 1),
    ("COUNT(*) FROM visits a JOIN visits b ON a.id = b.id", 1),
)


@pytest.mark.parametrize(("body", "most"), [*JOINED, *ONCE])
def test_thirty_thousand_rows_of_one_person_make_no_square_of_rows(body: str, most: int, crowded: Database) -> None:
    assert _pairs(crowded, body) <= most * (MANY + 100)


@pytest.mark.parametrize("body", [body for body, _ in JOINED])
def test_an_answer_says_that_rows_may_be_left_out(body: str, small: Database) -> None:
    (note,) = _notes(small.world, body)
    assert note.startswith("of a unit's rows in ")
    assert note.endswith("00 at the most: others are left out, and not in ±")


@pytest.mark.parametrize(("body", "most"), ONCE)
def test_what_meets_one_row_is_not_cut(body: str, most: int, small: Database) -> None:
    assert not _notes(small.world, body)
    assert "ROW_NUMBER" not in small.world.plan(f"DP-SELECT 1 {body}").statements[0].sql("duckdb")


@pytest.mark.parametrize(("body", "most"), [*JOINED, *ONCE])
def test_where_nobody_has_too_many_rows_the_join_is_what_sql_says(body: str, most: int, small: Database) -> None:
    plain = small.connection.execute(f"SELECT {body}").fetchone()
    relation = small.world.bound(f"DP-SELECT 1 {body}")
    where = relation.where
    counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(relation.relation.sql.copy())
    counted = counted if where is None else counted.where(where.copy())
    assert small.connection.execute(emit(qualified(counted), "duckdb")).fetchone() == plain


@pytest.mark.parametrize("body", [body for body, _ in JOINED])
def test_what_is_cut_of_one_person_changes_nobody_elses_rows(body: str, small: Database, monkeypatch) -> None:
    """Two rows may meet one, so that everybody's are cut; and each person is taken out in turn."""
    monkeypatch.setattr(own_joins, "OWN", 2)
    monkeypatch.setattr(own_joins, "MOST_OWN", 2)
    bound = small.world.bound(f"DP-SELECT 1 {body}")
    check_others(bound, small, units=range(10))
    assert _pairs(small, body) < _uncut(small, body)


def _uncut(there: Database, body: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_joins, "OWN", 1_000)
        return _pairs(there, body)


def test_a_cut_that_looks_at_everybody_is_caught(small: Database, monkeypatch) -> None:
    monkeypatch.setattr(own_joins, "OWN", 2)
    monkeypatch.setattr(own_joins, "MOST_OWN", 2)
    monkeypatch.setattr(own_joins, "_keys", lambda named, joins, known: [named.of("kind")])
    bound = small.world.bound("DP-SELECT 1 COUNT(*) FROM notes a JOIN visits b ON a.person = b.person")
    with pytest.raises(Violation):
        check_others(bound, small, units=range(10))


def test_the_order_of_storage_has_no_say(small: Database, monkeypatch) -> None:
    """Rows that are cut by an engine's own order would differ between two copies of a table."""
    monkeypatch.setattr(own_joins, "OWN", 2)
    world = small.world
    (statement,) = world.plan(
        "DP-SELECT 1 SUM(a.day * b.day) FROM visits a JOIN visits b ON a.person = b.person"
    ).statements
    sql = statement.sql("duckdb")
    found = set()
    for order in ("hash(id)", "id", "-id", "day, id"):
        small.connection.execute(f"CREATE OR REPLACE TABLE turned AS SELECT * FROM every_visits ORDER BY {order}")
        found.add(small.connection.execute(sql.replace('"visits"', '"turned"')).fetchall()[0])
    assert len(found) == 1


EXISTS = "COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM visits x WHERE x.person = v.person AND {})"
COMPARED = (
    "x.day > v.day AND x.kind < v.kind",
    "(x.day > v.day OR x.kind < v.kind)",
    "x.day + 1 > v.day AND x.id <> v.id",
)
FOLDED = ("x.day > v.day", "x.day = v.day", "x.day < v.day AND x.kind = v.kind")


@pytest.mark.parametrize("condition", COMPARED)
def test_exists_looks_at_few_of_a_persons_rows(condition: str, small: Database, monkeypatch) -> None:
    body = f"DP-SELECT 1 {EXISTS.format(condition)}"
    whole = small.world.exact(small.world.plan(body))[0].integers("m0")[0]
    monkeypatch.setattr(correlated, "MOST_OWN", 2)
    made = small.world.plan(body)
    check_others(small.world.bound(body), small, units=range(10))
    assert made.statements[0].tree.find(exp.RowNumber) is not None
    assert [note for note in made.notes if "each row meets 2 at the most" in note]
    assert 0 < small.world.exact(made)[0].integers("m0")[0] <= whole


@pytest.mark.parametrize("condition", FOLDED)
def test_exists_that_is_folded_or_looked_up_is_not_cut(condition: str, small: Database) -> None:
    made = small.world.plan(f"DP-SELECT 1 {EXISTS.format(condition)}")
    assert made.statements[0].tree.find(exp.RowNumber) is None
    assert not _notes(small.world, EXISTS.format(condition))


def test_a_subquery_that_is_cut_over_everybody_is_caught(small: Database, monkeypatch) -> None:
    monkeypatch.setattr(correlated, "MOST_OWN", 2)
    cut = correlated.first_rows
    monkeypatch.setattr(correlated, "first_rows", lambda *rows, within, **rest: cut(*rows, within=within[1:], **rest))
    with pytest.raises(Violation):
        check_others(small.world.bound(f"DP-SELECT 1 {EXISTS.format(COMPARED[0])}"), small, units=range(10))
