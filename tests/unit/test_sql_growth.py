"""No question makes rows without end of one person's row: how many it can make is known before anything is charged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot

from conformance.sql_names import misnamed
from conformance.sql_world import World, policy_of, world
from tacit.curator import Curator, Session
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.relations.joining import growth
from tacit.sql.relations.joining.growth import Fan

ANA = Session("ana")
BOUNDS = {"lower": 0, "upper": 9, "step": 1}
CAPS = {"max_rows": 3, "max_groups": 2}


def _world(cities: int = 2_000) -> World:
    people = [ColumnPolicy("name"), ColumnPolicy("city"), ColumnPolicy("pay", **BOUNDS)]
    visits = [ColumnPolicy("kind"), ColumnPolicy("cost", **BOUNDS)]
    tables = [
        TablePolicy("people", "id", columns=people, **CAPS),
        TablePolicy("visits", "id -> people.id", columns=visits, **CAPS),
        TablePolicy("cities", public=True),
        TablePolicy("streets", public=True),
    ]
    return world(
        policy_of(tables),
        "CREATE TABLE people AS SELECT i AS id, if(i = 1, 'Bob', 'Al') AS name, 'c' || i AS city, i AS pay "
        "FROM range(4) AS made(i)",
        "CREATE TABLE visits AS SELECT i // 2 AS id, 'x' AS kind, i AS cost FROM range(8) AS made(i)",
        f"CREATE TABLE cities AS SELECT 'c' || i AS city, i AS size FROM range({cities}) AS made(i)",
        "CREATE TABLE streets AS SELECT 'c' || (i // 40) AS city, i AS number FROM range(2000) AS made(i)",
    )


@pytest.fixture(scope="module")
def there() -> Iterator[World]:
    made = _world()
    yield made
    made.engine.close()


@pytest.fixture
def curator(there: World, tmp_path: Path) -> Curator:
    return there.curator(tmp_path)


WITHIN = """
COUNT(*) FROM people JOIN cities a ON people.name = 'Bob'
COUNT(*) FROM people JOIN cities a ON people.city = a.city JOIN cities b ON a.size = b.size
COUNT(*) FROM people, cities a, cities b WHERE b.size = a.size AND people.city = a.city
COUNT(*) FROM people, cities a, streets b, cities c WHERE b.city = a.city AND people.city = a.city AND c.size > pay
COUNT(*) FROM people LEFT JOIN cities a ON people.city = a.city CROSS JOIN streets b
COUNT(*) FROM people, cities a, cities b WHERE a.city = 'c1' AND b.size > a.size
COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities a, cities b WHERE a.size = b.size AND a.city = people.city)
COUNT(*) FROM people, cities b WHERE EXISTS (SELECT 1 FROM cities a WHERE a.city = b.city AND a.size > people.pay)
COUNT(*) FROM people, cities b WHERE people.city IN (SELECT city FROM streets)
COUNT(*) FROM people JOIN (SELECT a.city AS x FROM cities a, cities b WHERE a.size = b.size) q ON x = city, cities c
COUNT(*) FROM visits a JOIN visits b ON a.id = b.id JOIN visits c ON c.id = a.id JOIN people d ON d.id = a.id
COUNT(*) FROM people JOIN visits v ON v.id = people.id, cities
COUNT(*) FROM (SELECT p.id, p.pay FROM people p, streets s) q JOIN cities c ON c.size = q.pay
""".strip().splitlines()
BEYOND = (
    """
COUNT(*) FROM people JOIN cities a ON people.name = 'Bob' CROSS JOIN cities b
COUNT(*) FROM people JOIN cities a ON people.name = 'Bob', cities b
COUNT(*) FROM people LEFT JOIN cities a ON people.pay > a.size LEFT JOIN cities b ON b.size > a.size
COUNT(*) FROM people LEFT JOIN cities a ON people.name = 'Bob' LEFT JOIN cities b ON a.size > 3 WHERE a.city = b.city
COUNT(*) FROM people, cities a, cities b WHERE a.size + 1 = b.size + 1
COUNT(*) FROM people, cities a, cities b WHERE a.size = b.size OR people.name = 'Bob'
COUNT(*) FROM people JOIN streets a ON people.city = a.city JOIN streets b ON b.city = a.city, cities c
COUNT(*) FROM people, cities b WHERE EXISTS (SELECT 1 FROM cities a WHERE a.size > people.pay)
COUNT(*) FROM people, cities b WHERE b.city IN (SELECT a.city FROM cities a WHERE a.size > people.pay)
COUNT(*) FROM people JOIN (SELECT a.city FROM cities a, cities b) q ON people.name = 'Bob'
COUNT(*) FROM people JOIN (SELECT a.city FROM cities a, cities b, cities c) q ON people.city = q.city
COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM cities a, cities b, cities c WHERE a.city = people.city)
COUNT(*) FROM people WHERE pay IN (SELECT a.size FROM cities a, cities b, cities c)
COUNT(*) FROM visits a JOIN visits b ON a.id = b.id JOIN visits c ON c.id = a.id JOIN visits d ON d.id = a.id \
JOIN visits e ON e.id = a.id
COUNT(*) FROM (SELECT people.id, people.name FROM people, cities a) q, cities b
COUNT(*) FROM (SELECT id FROM people, cities a UNION ALL SELECT id FROM people, cities b) q, streets s
COUNT(*) FROM (SELECT x.id FROM (SELECT id FROM people, cities a) x) y, (SELECT a.city FROM cities a) b
COUNT(*) FROM (SELECT a.id FROM visits a JOIN visits b ON a.id = b.id JOIN visits c ON a.id = c.id) q \
JOIN (SELECT id FROM visits) r ON r.id = q.id JOIN visits d ON d.id = q.id
COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits a JOIN visits b ON a.id = b.id JOIN visits c ON c.id = a.id \
JOIN visits d ON d.id = a.id JOIN visits e ON e.id = a.id WHERE a.id = people.id)
""".strip()
    .replace("\\\n", "")
    .splitlines()
)


@pytest.mark.parametrize("asked", WITHIN)
def test_a_join_that_makes_few_rows_of_one_is_answered(asked: str, curator: Curator) -> None:
    curator.prepare(f"DP-SELECT 1 {asked}", session=ANA)


@pytest.mark.parametrize("asked", BEYOND)
def test_a_join_that_could_make_rows_without_end_is_refused(asked: str, curator: Curator) -> None:
    with pytest.raises(QueryRefused, match=r"one row could become [\d,]+ rows"):
        curator.prepare(f"DP-SELECT 1 {asked}", session=ANA)
    with pytest.raises(QueryRefused, match=r"one row could become [\d,]+ rows"):
        curator.batch([f"SELECT {asked}"], session=ANA, epsilon=1)


def test_who_is_in_the_data_has_no_say(tmp_path: Path) -> None:
    """The same words with and without Bob: they come from public tables alone."""
    said = []
    for place, change in enumerate(
        ("SELECT 1", "DELETE FROM people", "INSERT INTO visits SELECT 1, 'x', 1 FROM range(99)")
    ):
        over = _world()
        over.engine._connection.execute(change)
        (tmp_path / str(place)).mkdir()
        with pytest.raises(QueryRefused) as refused:
            over.curator(tmp_path / str(place)).ask(f"DP-SELECT 1 {BEYOND[0]}", session=ANA)
        said.append((refused.value.message, refused.value.hint))
        over.engine.close()
    assert len(set(said)) == 1
    assert said[0][0] == "one row could become 4,000,000 rows: b multiplies it by 2,000, and 1,000,000 are the most"


def test_a_small_public_table_may_be_crossed_as_often_as_it_is_small(tmp_path: Path) -> None:
    over = _world(cities=100)
    over.curator(tmp_path).prepare(f"DP-SELECT 1 {BEYOND[0]}, cities c", session=ANA)
    with pytest.raises(QueryRefused):
        over.curator(tmp_path).prepare(f"DP-SELECT 1 {BEYOND[0]}, cities c, cities d", session=ANA)
    over.engine.close()


def test_what_is_counted_is_the_most_rows_that_agree(there: World) -> None:
    table = sqlglot.exp.Table(this=sqlglot.exp.to_identifier("streets", quoted=True))
    cursor = there.engine._connection.cursor()
    for columns, most in (((), 2_000), (("city",), 40), (("city", "number"), 1), (("number",), 1)):
        sql = Fan(table, columns).query().sql(dialect="duckdb")
        assert cursor.execute(sql).fetchone() == (most,)
        assert not list(misnamed(sql, "duckdb"))


def test_a_public_table_is_counted_once(there: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    execute = type(there.engine).execute
    monkeypatch.setattr(type(there.engine), "execute", lambda engine, sql: (ran.append(sql), execute(engine, sql))[1])
    curator = there.curator(tmp_path)
    for _ in range(3):
        curator.prepare(f"DP-SELECT 1 {WITHIN[0]}", session=ANA)
    assert len(ran) == 1
    assert "people" not in ran[0]
    assert "visits" not in ran[0]


def test_a_bound_that_nobody_heeds_is_noticed(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "_tied", lambda named, equal, known: {column for _, column, _ in equal})
    let_through = []
    for asked in BEYOND:
        try:
            curator.prepare(f"DP-SELECT 1 {asked}", session=ANA)
        except QueryRefused:
            continue
        let_through.append(asked)
    assert let_through
