"""No name that a policy or an analyst chose is ever read as another one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from conformance import sql_questions_relational as relational
from conformance.sql_forms_relational import FORMS, GROUPED, priced
from conformance.sql_names import NAMES, Names, misnamed, names, quoted
from conformance.sql_world import World, policy_of, world
from support import tpch
from tacit.engines import Limits
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.errors import EngineError, PolicyError, QueryRefused, TacitError
from tacit.policy import ColumnPolicy, TableDomain, TablePolicy, parse_policy
from tacit.policy.reading.names import RESERVED
from tacit.sql import Plan, parse
from tacit.sql.emitting.dialects import values_of
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.unread import OUTSIDE
from tacit.sql.planning import statements

TABLES = ("people", "visits", "cities")
PLAIN = ("id", "name", "ill", "pay", "city", "who", "cost", "kind", "place", "size", "aa", "bb", "cc", "dd", "ee")
ASKED = (
    """
COUNT(*), SUM(pay) FROM people WHERE name = 'Bob' AND ill
ill, COUNT(*), AVG(pay) FROM people GROUP BY ill
COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits aa WHERE aa.who = people.id AND aa.cost > people.pay)
COUNT(*) FROM people aa WHERE EXISTS (SELECT 1 FROM visits bb WHERE bb.who = aa.id AND (aa.ill OR bb.kind = 'x'))
COUNT(*) FROM people WHERE id IN (SELECT who FROM visits WHERE cost > 3)
COUNT(*) FROM people WHERE NOT EXISTS (SELECT 1 FROM cities WHERE place = city AND size > pay)
COUNT(*) FROM people aa WHERE aa.city IN (SELECT place FROM cities bb WHERE bb.size > aa.pay)
COUNT(*) FROM people WHERE pay < (SELECT MAX(cost) FROM visits WHERE who = id)
kind, COUNT(*), SUM(cost) FROM people JOIN visits ON id = who WHERE ill GROUP BY kind
kind, COUNT(*) FROM people aa JOIN visits bb ON aa.id = bb.who LEFT JOIN cities ON place = aa.city GROUP BY kind
COUNT(aa.pay), SUM(bb.pay) FROM people aa JOIN people bb ON aa.id = bb.id AND aa.pay >= bb.pay
SUM(cc) FROM (SELECT who AS aa, SUM(cost) AS bb, COUNT(*) AS cc FROM visits GROUP BY who HAVING MAX(cost) > 2) AS dd
SUM(bb) FROM (SELECT id, pay AS bb FROM people UNION ALL SELECT who, cost FROM visits) AS cc (aa, bb) WHERE bb IS NULL
cc, COUNT(*) FROM (SELECT who, kind AS cc, ROW_NUMBER() OVER (PARTITION BY who ORDER BY cost) AS dd FROM visits) AS ee \
WHERE dd <= 2 AND cc IS NOT NULL GROUP BY cc
COUNT(DISTINCT kind), MEDIAN(cost) FROM visits
COUNT(*) FROM (SELECT id AS aa, city AS bb, ill AS cc FROM people) AS dd WHERE dd.cc AND dd.bb IS NOT NULL AND EXISTS \
(SELECT 1 FROM visits ee WHERE ee.who = dd.aa AND ee.kind <> dd.bb)
place, COUNT(*) FROM people, cities WHERE city = place AND EXISTS (SELECT 1 FROM visits WHERE who = id) GROUP BY place
""".strip()
    .replace("\\\n", "")
    .splitlines()
)


def over(called: Names) -> World:
    """People, their visits, and cities, under these names."""
    of = called.of

    def column(name: str, **more: object) -> ColumnPolicy:
        return ColumnPolicy(of[name], **more)

    caps = {"max_rows": 50, "max_groups": 50, "max_distinct": 50}
    bounds = {"lower": 0, "upper": 9, "step": 1}
    columns = [column("name"), column("ill"), column("pay", **bounds), column("city")]
    visits = [column("cost", **bounds), column("kind", domain=["x", "y"])]
    policy = policy_of(
        [
            TablePolicy(of["people"], of["id"], columns=columns, **caps),
            TablePolicy(of["visits"], f"{of['who']} -> {of['people']}.{of['id']}", columns=visits, **caps),
            TablePolicy(of["cities"], public=True),
        ]
    )
    people = "i AS id, if(i = 3, 'Bob', 'Al') AS name, i % 3 = 0 AS ill, i % 11 AS pay, 'c' || i % 4 AS city"
    visited = "i % 37 AS who, i * 7 % 12 AS cost, if(i % 2 = 0, 'x', 'y') AS kind"
    made = [
        f"CREATE TABLE people AS SELECT {people} FROM range(40) AS made(i)",
        f"CREATE TABLE visits AS SELECT {visited} FROM range(120) AS made(i)",
        "CREATE TABLE cities AS SELECT 'c' || i AS place, i * 3 AS size FROM range(3) AS made(i)",
    ]
    renamed = [
        f"ALTER TABLE {table} RENAME {name} TO {quoted(of[name])}"
        for table, inside in (
            ("people", ("id", "name", "ill", "pay", "city")),
            ("visits", ("who", "cost", "kind")),
            ("cities", ("place", "size")),
        )
        for name in inside
    ]
    tables = [f"ALTER TABLE {table} RENAME TO {quoted(of[table])}" for table in TABLES]
    return world(policy, *made, *renamed, *tables)


def _found(asked: str, there: World, called: Names) -> list[object]:
    made = there.plan(called.sql(f"DP-SELECT 1 DELTA 1e-6 {asked}"))
    return [sorted(map(repr, zip(*exact._columns.values(), strict=True))) for exact in there.exact(made)]


@pytest.fixture(scope="module")
def plain() -> Iterator[dict[str, list[object]]]:
    called = Names({name: name for name in (*TABLES, *PLAIN)})
    there = over(called)
    yield {asked: _found(asked, there, called) for asked in ASKED}
    there.engine.close()


@pytest.mark.parametrize("seed", range(12))
def test_an_answer_is_the_same_whatever_things_are_called(seed: int, plain: dict[str, list[object]]) -> None:
    called = names(random.Random(seed), PLAIN, tables=TABLES)
    there = over(called)
    for asked in ASKED:
        assert _found(asked, there, called) == plain[asked], called.sql(asked)
    there.engine.close()


def test_every_name_is_tried() -> None:
    drawn = {name for seed in range(12) for name in names(random.Random(seed), PLAIN, tables=TABLES).of.values()}
    assert len(drawn) > len(NAMES) * 3 / 5


# ── what is generated ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def shop() -> Iterator[World]:
    policy = parse_policy(tpch.policy())

    def fill(connection: Any) -> Exposed:
        tpch.fill(connection, tpch.Size(customers=3, orders=5, parts=3, suppliers=3))
        return Exposed(tuple(table.name for table in policy.tables))

    made = World(policy, build(fill, Limits(threads=1)))
    yield made
    made.engine.close()


def _questions() -> Iterator[str]:
    yield from (priced(text) for text in (*FORMS, *GROUPED))
    yield from (relational.question(random.Random(seed)) for seed in range(60))


def _plans(shop: World) -> Iterator[Plan]:
    for text in _questions():
        try:
            yield shop.plan(text)
        except TacitError:  # two customers in one row
            continue


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_every_alias_is_ours_and_every_column_says_whose_it_is(dialect: str, shop: World) -> None:
    seen = 0
    for made in _plans(shop):
        for statement in made.statements:
            for each in (statement, statement.settled):
                seen += each is not None
                assert each is None or not list(misnamed(each.sql(dialect), dialect))
    assert seen > 60
    assert not list(misnamed(values_of(TableDomain("nation", "n_name"), dialect=dialect), dialect))


def test_a_query_whose_names_are_left_as_they_are_is_noticed(shop: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "qualified", lambda tree: tree)
    found = [
        problem
        for made in _plans(shop)
        for each in made.statements
        for problem in misnamed(each.sql("duckdb"), "duckdb")
    ]
    assert any("not qualified" in problem for problem in found)
    assert any("not ours" in problem for problem in found)


def test_an_alias_that_captures_a_column_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: bare columns, and a subquery called s."""

    def as_it_was(tree: exp.Select) -> exp.Select:
        for column in tree.find_all(exp.Column):
            column.set("table", None if column.table == OUTSIDE else column.args.get("table"))
        return tree

    called = Names({name: name for name in (*TABLES, *PLAIN)} | {"city": "s"})
    asked = next(each for each in ASKED if "ee.kind <> dd.bb" in each).replace("AS bb", "AS s").replace("dd.bb", "dd.s")
    there = over(called)
    right = _found(asked, there, called)
    monkeypatch.setattr(statements, "qualified", as_it_was)
    with pytest.raises(EngineError):  # the whole row of s is compared with a text
        assert _found(asked, there, called) != right
    there.engine.close()


def _tree(sql: str) -> exp.Select:
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(tree, exp.Select)
    return tree


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM x AS t, y AS s",  # a bare name, and two tables it may be of
        "SELECT q.a FROM x AS t",
        f"SELECT {OUTSIDE}.a FROM x AS t",
        "SELECT s.b FROM (SELECT t.a FROM x AS t) AS s",
        "SELECT t.a FROM x AS t, y AS t",
        "WITH c AS (SELECT t.a FROM x AS t) SELECT c.b FROM c",
    ],
)
def test_a_name_that_is_not_certain_is_refused_rather_than_guessed(sql: str) -> None:
    with pytest.raises(QueryRefused):
        qualified(_tree(sql))


def test_what_leaves_a_query_keeps_its_name_and_nothing_else_does() -> None:
    made = qualified(
        _tree('WITH c AS (SELECT "a", "a" AS b FROM "c") SELECT b, "a" FROM c WHERE EXISTS(SELECT 1 FROM c)')
    )
    assert made.sql(dialect="duckdb") == (
        'WITH _tacit_2 AS (SELECT _tacit_1."a" AS _tacit_c0, _tacit_1."a" AS _tacit_b FROM "c" AS _tacit_1) '
        'SELECT _tacit_3._tacit_b AS b, _tacit_3._tacit_c0 AS "a" FROM _tacit_2 AS _tacit_3 '
        "WHERE EXISTS(SELECT 1 FROM _tacit_2 AS _tacit_4)"
    )


# ── nobody else can write them ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [f"{RESERVED}1", f"{RESERVED.upper()}u", RESERVED, f"{RESERVED}é"])
def test_a_policy_cannot_use_our_names(name: str) -> None:
    for wrong in (
        lambda: ColumnPolicy(name),
        lambda: TablePolicy(name, "id"),
        lambda: TablePolicy("t", name),
        lambda: TablePolicy("t", f"{name} -> people.id"),
        lambda: TablePolicy("t", f"id -> people.{name}"),
    ):
        with pytest.raises(PolicyError, match=RESERVED):
            wrong()


@pytest.mark.parametrize(
    "text",
    [
        "DP-SELECT 1 COUNT(*) AS {} FROM people",
        "DP-SELECT 1 COUNT(*) FROM people AS {}",
        'DP-SELECT 1 SUM("{}") FROM people',
        "DP-SELECT 1 COUNT(*) FROM (SELECT id, pay AS {} FROM people) AS t",
        "WITH {} AS (SELECT id FROM people) DP-SELECT 1 COUNT(*) FROM {}",
        "DP-SELECT 1 COUNT(*) FROM (SELECT id FROM people) AS t ({})",
    ],
)
@pytest.mark.parametrize("name", [f"{RESERVED}1", f"{RESERVED.upper()}C0"])
def test_nor_can_an_analyst(text: str, name: str) -> None:
    with pytest.raises(QueryRefused, match=RESERVED):
        parse(text.replace("{}", name))


def test_text_may_say_what_it_likes() -> None:
    assert parse(f"DP-SELECT 1 COUNT(*) FROM people WHERE name = '{RESERVED}1'").select is not None
