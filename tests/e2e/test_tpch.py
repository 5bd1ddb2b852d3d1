"""TPC-H with customers hidden: which queries run, which are refused and why, and that answers mean what SQL says."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import tacit
from conformance import sql_questions_relational as relational
from conformance.sql_forms_relational import FORMS, GROUPED, priced
from conformance.sql_noiseless import switch_off
from conformance.sql_world import World
from e2e.tpch_queries import QUERIES, RUNNING, Query, page
from support import tpch
from tacit.curator import Release, Session
from tacit.engines import Limits
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.policy import parse_policy
from tacit.sql import Output
from tacit.sql.binding import post
from tacit.sql.expressions import keys

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tpch.md"


def _name(query: Query) -> str:
    return f"q{query.number:02}"


running = pytest.mark.parametrize("query", RUNNING, ids=_name)


# ── which run ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tacit.Database]:
    folder = tmp_path_factory.mktemp("tpch")
    with duckdb.connect(str(folder / "tpch.duckdb")) as connection:
        tpch.fill(connection, tpch.scale(0.01))
    (folder / "tacit.toml").write_text(tpch.policy())
    with tacit.open(folder / "tacit.toml", analyst="ana") as opened:
        yield opened


@running
def test_a_query_that_runs_is_answered_at_its_price(query: Query, db: tacit.Database) -> None:
    assert query.runs is not None
    spent = db.budget.total.spent
    release = db.query(query.runs)
    assert isinstance(release, tacit.Release)
    assert release.cost.epsilon == 1
    assert isinstance(spent, tacit.Budget)
    assert db.budget.total.spent == tacit.Budget(spent.epsilon + 1, spent.delta + release.cost.delta)


@pytest.mark.parametrize("query", [query for query in QUERIES if query.refused], ids=_name)
def test_a_query_that_is_refused_says_why_at_no_charge(query: Query, db: tacit.Database) -> None:
    spent = db.budget.total.spent
    with pytest.raises(tacit.QueryRefused, match=re.escape(query.refused or "")):
        db.query(query.text)
    assert db.budget.total.spent == spent


@pytest.mark.parametrize("query", [query for query in RUNNING if "SELECT" in str(query.runs)[10:]], ids=_name)
def test_no_query_needs_more_room_than_its_tables(query: Query, wide: tuple[World, duckdb.DuckDBPyConnection]) -> None:
    """Every supplier and nation beside every item would be 17 GB: subqueries look at what the conditions leave."""
    world, raw = wide
    for statement in world.plan(str(query.runs)).statements:
        raw.execute(statement.sql("duckdb")).fetchall()


def test_a_product_of_all_tables_would_be_noticed(
    wide: tuple[World, duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["tacit.sql.relations.build"], "_before_subqueries", lambda conditions: [])
    monkeypatch.setattr(sys.modules["tacit.sql.binding.bind"], "read_together", lambda condition: condition)
    monkeypatch.setattr(keys, "_is_its_own", lambda found, scope: False)  # another subquery that DuckDB would wait for
    with pytest.raises(duckdb.OutOfMemoryException):
        test_no_query_needs_more_room_than_its_tables(QUERIES[20], wide)


@pytest.fixture(scope="module")
def wide() -> Iterator[tuple[World, duckdb.DuckDBPyConnection]]:
    """Plans, and sixty thousand items in a database that may use little memory and no disk."""

    def filled(connection: duckdb.DuckDBPyConnection) -> Exposed:
        tpch.fill(connection, tpch.Size(customers=3, orders=5, parts=3, suppliers=3))
        return Exposed(tuple(table.name for table in policy.tables))

    policy = parse_policy(tpch.policy())
    world = World(policy, build(filled, Limits(threads=1)))
    with duckdb.connect(config={"threads": 1, "memory_limit": "400MB", "temp_directory": ""}) as raw:
        tpch.fill(raw, tpch.scale(0.01))
        yield world, raw
    world.engine.close()


def test_fifteen_of_the_queries_or_more_run() -> None:
    assert [query.number for query in QUERIES] == list(range(1, 23))
    assert len(RUNNING) >= 15
    assert all(query.because for query in QUERIES if query.refused)
    assert {query.number for query in QUERIES if not query.runs} == {2, 11, 16}  # nobody is in them


def test_the_page_is_made_from_the_queries() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it anew: see tpch_queries.py"


# ── what they mean ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def roomy() -> Iterator[tuple[World, duckdb.DuckDBPyConnection]]:
    """A world whose caps nobody reaches, and the same tables in a database of its own."""
    yield from _worlds(tpch.policy(tpch.ROOMY, epsilon=1_000_000))


@pytest.fixture(scope="module")
def vast() -> Iterator[tuple[World, duckdb.DuckDBPyConnection]]:
    """The same where three tables may be joined on one customer."""
    text = tpch.policy(tpch.Caps(orders=(1_000_000, 100), lines=(1_000_000, 100)), epsilon=1_000_000)
    yield from _worlds(text.replace("max_rows = 1\nmax_groups = 1\n", "max_rows = 100\nmax_groups = 100\n"))


def _worlds(text: str) -> Iterator[tuple[World, duckdb.DuckDBPyConnection]]:
    def filled(connection: duckdb.DuckDBPyConnection) -> Exposed:
        tpch.fill(connection, tpch.TINY)
        return Exposed(tuple(table.name for table in policy.tables))

    policy = parse_policy(text)
    world = World(policy, build(filled, Limits(threads=1)))
    with duckdb.connect() as raw:
        tpch.fill(raw, tpch.TINY)
        yield world, raw
    world.engine.close()


@running
def test_without_noise_an_answer_is_that_of_plain_sql(
    query: Query,
    roomy: tuple[World, duckdb.DuckDBPyConnection],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    switch_off(monkeypatch)
    plain = re.sub(r"DP-SELECT 1 (DELTA \S+ )?", "SELECT ", str(query.runs))
    text = str(query.runs).replace("DP-SELECT 1 ", "DP-SELECT 1000 ")
    assert _agree(text, plain, roomy=roomy, folder=tmp_path) > 0


def _agree(text: str, plain: str, *, roomy: tuple[World, duckdb.DuckDBPyConnection], folder: Path) -> int:
    """How many numbers that are not zero are the same in an answer without noise and in plain SQL; all are."""
    world, raw = roomy
    made = world.plan(text)
    keys = [place for place, out in enumerate(made.outputs) if out.key is not None]
    measured = [place for place, out in enumerate(made.outputs) if out.key is None]
    asked = world.curator(folder).ask(text, session=Session("ana"))
    assert isinstance(asked, Release)
    answered = {tuple(str(row[place]) for place in keys): row for row in asked.rows}
    averages = [place for place in measured if "avg" in asked.columns[place]]  # the average of nothing is noise
    compared = 0
    for row in raw.execute(plain).fetchall():
        found = answered.pop(tuple(str(row[place]).removesuffix(" 00:00:00") for place in keys), None)
        if found is None:  # a private key below its threshold, or NULL, which is in no domain
            assert made.selection is not None or None in [row[place] for place in keys]
            continue
        for place in measured:
            if row[place] is None and place in averages:
                continue
            assert math.isclose(float(row[place] or 0), float(str(found[place])), rel_tol=1e-9, abs_tol=1e-9), text
            compared += bool(row[place])
    for row in answered.values():  # groups that plain SQL does not show, as there is nothing in them
        assert all(row[place] == _of_nothing(made.outputs[place]) for place in measured if place not in averages), text
    return compared


def _of_nothing(out: Output) -> int | None:
    """What is shown where there are no rows and no noise: a count or a sum is 0, a ratio has nothing to divide by."""
    assert out.value is not None
    return 0 if post.is_linear(out.value) else None


def _agree_at_random(seed: int, *, questions: int, roomy: tuple[World, duckdb.DuckDBPyConnection], folder: Path) -> int:
    agreed = 0
    for place in range(seed, seed + questions):
        asked = relational.question(relational.Rng(place))
        if "MEDIAN" in asked or "GROUP BY n, place" in asked:  # it is chosen; and of a million groups there is a test
            continue
        plain = re.sub(r"DP-SELECT 1 (DELTA \S+ )?", "SELECT ", asked)
        (folder / str(place)).mkdir()
        try:
            agreed += _agree(asked.replace(" 1 ", " 1000 ", 1), plain, roomy=roomy, folder=folder / str(place)) > 0
        except (tacit.QueryRefused, tacit.InvalidParameter):  # pairs of customers; more noise than whole numbers hold
            continue
    return agreed


def test_nor_do_questions_at_random_mean_anything_else(
    vast: tuple[World, duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    switch_off(monkeypatch)
    assert _agree_at_random(1, questions=60, roomy=vast, folder=tmp_path) > 15


@pytest.mark.heavy
def test_nor_do_many_questions_at_random(
    vast: tuple[World, duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    switch_off(monkeypatch)
    assert _agree_at_random(1_001, questions=300, roomy=vast, folder=tmp_path) > 75


@pytest.mark.parametrize("text", GROUPED, ids=range(len(GROUPED)))
def test_constants_and_public_subqueries_are_domains(
    text: str, roomy: tuple[World, duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    switch_off(monkeypatch)
    assert roomy[0].plan(priced(text)).selection is None  # no key is private
    assert _agree(priced(text, "1000"), text, roomy=roomy, folder=tmp_path) > 1


SHAPES = """
SELECT COUNT(DISTINCT c_custkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey;
SELECT COUNT(*), COUNT(o_totalprice) FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_totalprice > 200000;
SELECT COUNT(*) FROM customer FULL JOIN orders ON c_custkey = o_custkey AND o_totalprice > 200000;
SELECT COUNT(*) FROM orders RIGHT JOIN customer ON c_custkey = o_custkey AND o_totalprice > 200000;
SELECT COUNT(*) FROM customer c LEFT JOIN nation ON c_nationkey = n_nationkey AND n_regionkey = 1 WHERE n_name IS NULL;
SELECT COUNT(*) FROM orders a JOIN orders b USING (o_orderkey);
SELECT COUNT(*) FROM orders a NATURAL JOIN orders b;
SELECT COUNT(*) FROM (SELECT o_custkey FROM customer LEFT JOIN orders ON c_custkey = o_custkey) AS t
    JOIN customer ON t.o_custkey = c_custkey;
SELECT SUM(n) FROM (SELECT o_custkey, COUNT(DISTINCT l_suppkey) AS n
    FROM orders JOIN lineitem ON o_orderkey = l_orderkey GROUP BY o_custkey) AS t;
SELECT SUM(n) FROM (SELECT o_custkey, MIN(o_totalprice) AS n FROM orders GROUP BY o_custkey) AS t;
SELECT SUM(m) FROM (SELECT o_custkey, SUM(o_totalprice) AS m FROM orders GROUP BY o_custkey
    HAVING MAX(o_totalprice) > 100000 AND COUNT(*) >= 3) AS t;
SELECT COUNT(*) FROM (SELECT o_custkey, MIN(o_orderdate) AS d FROM orders GROUP BY o_custkey) AS t
    WHERE d < DATE '1993-01-01';
SELECT COUNT(*) FROM (SELECT DISTINCT o_custkey, o_orderpriority FROM orders) AS t;
SELECT COUNT(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders);
SELECT COUNT(*) FROM customer WHERE c_nationkey NOT IN (SELECT n_nationkey FROM nation WHERE n_regionkey = 3);
SELECT COUNT(*) FROM customer c
    WHERE c_acctbal > 0 OR EXISTS (SELECT 1 FROM orders WHERE o_custkey = c.c_custkey AND o_totalprice > 100000);
SELECT COUNT(*) FROM lineitem WHERE l_orderkey IN (
    SELECT o_orderkey FROM orders WHERE o_custkey IN (SELECT c_custkey FROM customer WHERE c_mktsegment = 'BUILDING'));
SELECT COUNT(*), SUM(p) FROM (SELECT o_totalprice AS p FROM orders UNION ALL SELECT c_acctbal AS p FROM customer) AS t;
SELECT COUNT(*) FROM orders, customer WHERE o_custkey = c_custkey AND o_totalprice > c_acctbal * 20
""".strip().split(";\n")


@pytest.mark.parametrize("text", [*SHAPES, *FORMS], ids=range(len(SHAPES) + len(FORMS)))
def test_joins_and_subqueries_mean_what_sql_says(
    text: str,
    roomy: tuple[World, duckdb.DuckDBPyConnection],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    switch_off(monkeypatch)
    asked = roomy[0].curator(tmp_path).ask(priced(text, "1000"), session=Session("ana"))
    assert isinstance(asked, Release)
    (wanted,) = roomy[1].execute(text).fetchall()
    assert all(wanted)
    assert [float(str(cell)) for cell in asked.rows[0]] == pytest.approx([float(cell) for cell in wanted], rel=1e-9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("COUNT(*) FROM orders a JOIN orders b ON a.o_totalprice < b.o_totalprice", "two units"),
        ("COUNT(*) FROM orders a, orders b WHERE a.o_orderkey = b.o_orderkey OR a.o_totalprice = 1", "two units"),
        ("COUNT(*) FROM customer c LEFT JOIN orders o ON c.c_acctbal = o.o_totalprice", "two units"),
        ("COUNT(*) FROM nation LEFT JOIN customer ON c_nationkey = n_nationkey", "depends on everybody"),
        ("COUNT(*) FROM customer FULL JOIN nation ON c_nationkey = n_nationkey", "depends on everybody"),
        ("COUNT(*) FROM (SELECT DISTINCT o_orderpriority FROM orders) AS t", "several units"),
        ("AVG(n) FROM (SELECT l_suppkey, COUNT(*) AS n FROM lineitem GROUP BY l_suppkey) AS t", "several units"),
        ("COUNT(*) FROM (SELECT * FROM orders LIMIT 5) AS t", "LIMIT"),
        ("COUNT(*) FROM customer WHERE c_nationkey IN (SELECT c_nationkey FROM customer)", "other people's rows"),
        ("COUNT(*) FROM orders WHERE EXISTS (SELECT 1 FROM customer WHERE c_acctbal > 1)", "EXISTS"),
        ("COUNT(*) FROM orders WHERE o_totalprice > (SELECT AVG(o_totalprice) FROM orders)", "subquery"),
        ("COUNT(*) FROM part, supplier", "public"),
    ],
)
def test_what_one_customer_could_move_without_limit_is_refused(
    text: str, words: str, roomy: tuple[World, duckdb.DuckDBPyConnection]
) -> None:
    with pytest.raises(tacit.QueryRefused, match=words):
        roomy[0].plan(f"DP-SELECT 1 {text}")


def test_not_like_is_the_opposite_of_like(roomy: tuple[World, duckdb.DuckDBPyConnection]) -> None:
    made = roomy[0].plan("DP-SELECT 1000 COUNT(*) FROM orders WHERE o_comment NOT LIKE '%special%requests%'")
    (row,) = roomy[1].execute("SELECT count(*) FROM orders WHERE o_comment NOT LIKE '%special%requests%'").fetchall()
    assert roomy[0].exact(made)[0].integers("m0").tolist() == list(row)
