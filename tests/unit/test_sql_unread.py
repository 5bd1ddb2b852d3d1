"""A generated subquery lists what is read of it and no more, and its rows are the same as if it listed everything."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from conformance import sql_questions_relational as relational
from conformance.sql_forms_relational import FORMS, GROUPED, priced
from conformance.sql_world import World
from support import tpch
from tacit.engines import Limits
from tacit.engines.duckdb import build
from tacit.engines.sources import Exposed
from tacit.errors import TacitError
from tacit.policy import parse_policy
from tacit.sql.expressions.names import aliases, unread
from tacit.sql.expressions.names.aliases import qualified

ROWS = "(0, 0, 'a'), (0, 1, 'a'), (1, 1, 'b'), (1, 1, 'b'), (2, NULL, NULL), (NULL, 3, 'b'), (NULL, NULL, 'a')"


@pytest.fixture(scope="module")
def tables() -> Iterator[duckdb.DuckDBPyConnection]:
    made = duckdb.connect()
    made.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {ROWS}) AS made(a, b, c)")
    yield made
    made.close()


@pytest.fixture
def everything_listed(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Call it with True, and subqueries list all that they did; with False, what is read."""
    as_it_is = aliases.leave_out_unread

    def switch(listed: bool) -> None:
        monkeypatch.setattr(aliases, "leave_out_unread", (lambda node, own: None) if listed else as_it_is)

    return switch


def _made(sql: str) -> str:
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(tree, exp.Select)
    return qualified(tree).sql(dialect="duckdb")


def _rows(tables: duckdb.DuckDBPyConnection, sql: str) -> Counter[str]:
    return Counter(map(repr, tables.execute(sql).fetchall()))


# ── what is left out, and what is not ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("inner", "stays"),
    [
        ("SELECT a, b AS x, c FROM t", 1),
        ("SELECT a, b AS x, a + 1 AS y FROM t WHERE c = 'a'", 1),
        ("SELECT c AS y, a, COUNT(b) AS x FROM t GROUP BY c, a", 1),
        ("SELECT a AS x, SUM(b) AS y FROM t GROUP BY a HAVING COUNT(*) > 0", 1),
        ("SELECT a AS x, b FROM t UNION ALL SELECT b, a FROM t", 2),
        ("SELECT a AS x, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS y FROM t GROUP BY a, b", 1),
        # rows are compared
        ("SELECT DISTINCT a AS x, b FROM t", 2),
        ("SELECT a AS x, b FROM t UNION SELECT b, a FROM t", 4),
        ("SELECT a AS x, b FROM t EXCEPT SELECT b, a FROM t", 4),
        ("SELECT a AS x, b FROM t INTERSECT ALL SELECT b, a FROM t", 4),
        ("SELECT a AS x, b FROM t UNION ALL SELECT DISTINCT b, a FROM t", 4),
        ("SELECT a AS x, b FROM t UNION ALL (SELECT b, a FROM t UNION SELECT a, b FROM t)", 6),
        # one row for all
        ("SELECT 1 AS x, COUNT(*) AS y FROM t", 2),
        ("SELECT 1 AS x, GREATEST(SUM(b), 0) AS y FROM t", 2),
        ("SELECT 1 AS x, BIT_XOR(b) AS y, MAD(b) AS z FROM t", 3),
        ("SELECT a AS x, b AS y FROM t UNION ALL SELECT 1, COUNT(*) FROM t", 4),
        # the list says what is grouped, in which order, and how many rows there are
        ("SELECT b AS y, a AS x FROM t GROUP BY 1, 2", 2),
        ("SELECT b AS y, a AS x FROM t GROUP BY ALL", 2),
        ("SELECT b AS y, a AS x FROM t ORDER BY 1, 2 LIMIT 3", 2),
        ("SELECT a AS x, UNNEST([1, 2]) AS y FROM t", 2),
        ("SELECT a AS x, UNNEST([1, COUNT(*)]) AS y FROM t GROUP BY a", 2),
    ],
)
def test_what_a_subquery_lists(
    inner: str, stays: int, tables: duckdb.DuckDBPyConnection, everything_listed: Callable[[bool], None]
) -> None:
    text = f"SELECT x, COUNT(*) AS n FROM ({inner}) AS s GROUP BY x"
    everything_listed(False)
    few = sqlglot.parse_one(_made(text), dialect="duckdb")
    source = few.args["from_"].this
    listed = sum(len(each.expressions) for each in source.find_all(exp.Select) if not _inside(each, source))
    assert listed == stays
    everything_listed(True)
    assert _rows(tables, few.sql(dialect="duckdb")) == _rows(tables, _made(text))


def _inside(select: exp.Select, source: exp.Expression) -> bool:
    """Whether it is read by a member of a source, and is none itself."""
    above = select.parent
    while above is not source:
        if isinstance(above, (exp.From, exp.Select)):
            return True
        assert above is not None
        above = above.parent
    return False


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM (SELECT a, b FROM t) AS s",  # none is read: one is listed, for there are rows
        "SELECT COUNT(*) AS n FROM (SELECT a, b FROM t UNION ALL SELECT b, a FROM t) AS s",
        "SELECT s.a FROM (SELECT a, b, c FROM t) AS s JOIN (SELECT a, b, c FROM t) AS r ON s.b = r.a",
        "SELECT r.c FROM t AS r LEFT JOIN (SELECT a, b, c FROM t) AS s ON r.b = s.a",
        "SELECT a FROM (SELECT a, b, c FROM t) AS s WHERE EXISTS (SELECT 1 FROM t AS r WHERE r.a = outside.b)",
        "SELECT a FROM (SELECT a, b, c FROM t) AS s WHERE EXISTS (SELECT 1 FROM t AS r WHERE r.c = s.c)",
        "SELECT a FROM (SELECT a, b, c FROM t) AS s WHERE s.b IN (SELECT r.b FROM (SELECT a, b FROM t) AS r)",
        (
            "SELECT a FROM (SELECT b, c, a FROM t) AS s WHERE 1 < "
            "(SELECT COUNT(*) FROM (SELECT b, c FROM t) AS r WHERE r.c = s.c)"
        ),
        "SELECT a, ROW_NUMBER() OVER (PARTITION BY c ORDER BY b, a) AS i FROM (SELECT a, b, c, a AS d FROM t) AS s",
        "SELECT COUNT(*) AS n FROM (SELECT a, b, c FROM t) AS s GROUP BY s.b HAVING COUNT(s.a) > 0",
        "WITH w AS (SELECT a, b, c FROM t) SELECT p.a FROM w AS p JOIN w AS q ON p.a = q.b",
        "SELECT a FROM (SELECT a, b FROM (SELECT a, b, c FROM t WHERE c = 'a') AS r WHERE b = 1) AS s",
    ],
)
def test_whoever_reads_a_column_keeps_it(
    text: str, tables: duckdb.DuckDBPyConnection, everything_listed: Callable[[bool], None]
) -> None:
    everything_listed(False)
    few = _made(text)
    everything_listed(True)
    all_listed = _made(text)
    assert _rows(tables, few) == _rows(tables, all_listed)
    assert len(few) < len(all_listed) or "WITH" in text


# ── drawn queries ────────────────────────────────────────────────────────────────────────────────────────────────────


def _drawn(chance: random.Random, depth: int) -> tuple[str, list[str]]:
    """A query of columns x0, x1, … that compares, groups, numbers and joins rows; hardly any column is read further."""
    if depth == 0:
        return "SELECT a AS x0, b AS x1, c AS x2 FROM t AS r", ["x0", "x1", "x2"]
    below, names = _drawn(chance, depth - 1)
    one, two = chance.choice(names), chance.choice(names)
    source = f"({below}) AS r"
    kind = chance.randrange(9)
    if kind == 0:
        return f"SELECT DISTINCT r.{one} AS x0, r.{two} AS x1 FROM {source}", ["x0", "x1"]
    if kind == 1:
        return f"SELECT COUNT(*) AS x0, r.{one} AS x1, MIN(r.{two}) AS x2 FROM {source} GROUP BY r.{one}", [
            "x0",
            "x1",
            "x2",
        ]
    if kind == 2:
        return f"SELECT 'k' AS x0, COUNT(r.{one}) AS x1, MAX(r.{two}) AS x2 FROM {source}", ["x0", "x1", "x2"]
    if kind == 3:
        number = f"ROW_NUMBER() OVER (PARTITION BY r.{one} ORDER BY r.{', r.'.join(names)})"
        return f"SELECT r.{one} AS x0, {number} AS x1, r.{two} AS x2 FROM {source}", ["x0", "x1", "x2"]
    if kind == 4:
        other, also = _drawn(chance, depth - 1)
        how = chance.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT", "UNION ALL"])
        left = f"SELECT CAST(r.{one} AS TEXT) AS x0, CAST(r.{two} AS TEXT) AS x1 FROM {source}"
        right = f"SELECT CAST(r.{also[0]} AS TEXT), CAST(r.{chance.choice(also)} AS TEXT) FROM ({other}) AS r"
        return f"{left} {how} {right}", ["x0", "x1"]
    if kind == 5:
        other, also = _drawn(chance, depth - 1)
        on = f"CAST(r.{one} AS TEXT) = CAST(q.{chance.choice(also)} AS TEXT)"
        how = chance.choice(["JOIN", "LEFT JOIN"])
        return f"SELECT r.{two} AS x0, q.{also[-1]} AS x1, 1 AS x2 FROM {source} {how} ({other}) AS q ON {on}", [
            "x0",
            "x1",
            "x2",
        ]
    if kind == 6:
        other, also = _drawn(chance, depth - 1)
        whose = chance.choice(["r", "outside"])
        match = f"CAST(q.{chance.choice(also)} AS TEXT) = CAST({whose}.{one} AS TEXT)"
        where = f"{chance.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM ({other}) AS q WHERE {match})"
        return f"SELECT r.{two} AS x0, r.{one} AS x1 FROM {source} WHERE {where}", ["x0", "x1"]
    if kind == 7:
        return f"SELECT r.{one} AS x0, r.{two} AS x1, 1 AS x2 FROM {source} WHERE r.{two} IS NOT NULL", ["x0", "x1"]
    return f"SELECT r.{one} AS x0, COUNT(*) OVER (PARTITION BY r.{two}) AS x1, r.{two} AS x2 FROM {source}", ["x0"]


def _asked(seed: int) -> str:
    chance = random.Random(seed)
    below, names = _drawn(chance, chance.randint(1, 4))
    read = chance.choice([f"r.{chance.choice(names)} AS x0, COUNT(*) AS n", "COUNT(*) AS n"])
    group = f" GROUP BY r.{read.split()[0][2:]}" if "x0" in read else ""
    return f"SELECT {read} FROM ({below}) AS r{group}"


def _differ(tables: duckdb.DuckDBPyConnection, listed: Callable[[bool], None], seeds: range) -> list[str]:
    """Drawn queries whose rows are others, or that fail, when they list what is read."""
    differ = []
    for seed in seeds:
        text = _asked(seed)
        listed(True)
        right = _rows(tables, _made(text))
        listed(False)
        try:
            same = _rows(tables, _made(text)) == right
        except (TacitError, duckdb.Error, ValueError):
            same = False
        if not same:
            differ.append(text)
    return differ


def test_drawn_queries_have_the_same_rows(
    tables: duckdb.DuckDBPyConnection, everything_listed: Callable[[bool], None]
) -> None:
    assert not _differ(tables, everything_listed, range(600))


def _compares_nothing(node: exp.Expression) -> list[exp.Select]:
    """As if DISTINCT and UNION did not look at the columns."""
    if isinstance(node, exp.Subquery):
        return _compares_nothing(node.this)
    if isinstance(node, exp.SetOperation):
        return [*_compares_nothing(node.this), *_compares_nothing(node.expression)]
    assert isinstance(node, exp.Select)
    return [node]


def _reads_nothing_inside(own: Sequence[exp.Expression]) -> set[tuple[str | None, str]]:
    """As if no query in an expression read from around it."""
    return {(part.table or None, part.name) for part in own if isinstance(part, exp.Column)}


@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("_members", _compares_nothing),
        ("_is_cell", lambda node, place: True),
        ("_names_read", _reads_nothing_inside),
        ("_names_read", lambda own: set()),
        ("_places_unread", lambda members, read: set(range(1, len(members[0].expressions)))),
    ],
)
def test_a_column_that_is_left_out_wrongly_is_noticed(
    name: str,
    planted: object,
    tables: duckdb.DuckDBPyConnection,
    everything_listed: Callable[[bool], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unread, name, planted)
    assert _differ(tables, everything_listed, range(200))


# ── what is generated for questions ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def shop() -> Iterator[World]:
    policy = parse_policy(tpch.policy())

    def fill(connection: duckdb.DuckDBPyConnection) -> Exposed:
        tpch.fill(connection, tpch.Size(customers=12, orders=40, parts=8, suppliers=5))
        return Exposed(tuple(table.name for table in policy.tables))

    made = World(policy, build(fill, Limits(threads=1)))
    yield made
    made.engine.close()


def _statements(shop: World) -> Iterator[tuple[str, list[str]]]:
    drawn = (relational.question(random.Random(seed)) for seed in range(40))
    for text in (*map(priced, (*FORMS, *GROUPED)), *drawn):
        try:
            yield text, [statement.sql("duckdb") for statement in shop.plan(text).statements]
        except TacitError:  # two customers in one row
            continue


def _unread(sql: str) -> Iterator[str]:
    """Columns of subqueries that nobody reads, where nothing compares rows: read off the text, by itself."""
    for select in sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.Select):
        for holder in (select.args.get("from_"), *(select.args.get("joins") or ())):
            source = holder.this if holder is not None else None
            if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select):
                continue
            inner = source.this
            is_one = not inner.args.get("group") and any(item.find(exp.AggFunc) for item in inner.expressions)
            if inner.args.get("distinct") or is_one or len(inner.expressions) == 1:
                continue
            read = {column.name for column in select.find_all(exp.Column) if column.table == source.alias}
            yield from (
                f"{item.alias_or_name} of {source.alias}"
                for item in inner.expressions
                if item.alias_or_name not in read
            )


def test_generated_queries_list_what_is_read(shop: World, everything_listed: Callable[[bool], None]) -> None:
    everything_listed(False)
    few = dict(_statements(shop))
    assert not [(text, left) for text, made in few.items() for sql in made for left in _unread(sql)]
    everything_listed(True)
    long = dict(_statements(shop))
    assert any(left for made in long.values() for sql in made for left in _unread(sql))
    assert sum(len("".join(made)) for made in few.values()) < 0.95 * sum(len("".join(made)) for made in long.values())
    for text, made in few.items():
        for short, full in zip(made, long[text], strict=True):
            assert _columns(shop, short) == _columns(shop, full), text


def _columns(shop: World, sql: str) -> list[str]:
    found = shop.engine.execute(sql)._columns
    return [*found, *sorted(map(repr, zip(*found.values(), strict=True)))]
