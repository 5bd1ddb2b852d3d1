"""EXISTS with an inequality: the same rows as ever, and no work that grows with the square of one person's rows."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator

import pytest
import sqlglot
from sqlglot import exp

from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import World, policy_of
from tacit.engines import Engine
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.relations.correlating import correlated, together
from tacit.sql.relations.joining import extremes

TYPES = {
    "a": ("SMALLINT", ["-2", "-1", "0", "1", "2"]),
    "b": ("BIGINT", ["0", "1", "9223372036854775807", "-9223372036854775808"]),
    "c": ("DECIMAL(8,2)", ["0.01", "-0.01", "1.00", "99.99"]),
    "d": ("VARCHAR", ["''", "'a'", "'B'", "'b'", "'é'"]),
    "e": ("DATE", ["'1970-01-01'", "'1969-12-31'", "'2026-02-28'"]),
    "f": ("DOUBLE", ["0", "-1.5", "1e300"]),
    "g at most": ("BOOLEAN", ["TRUE", "FALSE"]),
    "greatest a": ("BIGINT", ["0", "1", "2"]),
}


def script(rows: int = 300, people: int = 40) -> Script:
    """A table in which every other cell is empty or one of a few values, so that ties and NULLs are everywhere."""
    rng = random.Random(7)
    columns = tuple(ColumnPolicy(name) for name in TYPES)
    tables = [TablePolicy("t", "id", columns=columns, max_rows=50, max_groups=5)]
    cells = [
        ", ".join(["NULL" if rng.random() < 0.2 else rng.choice(values) for _, values in TYPES.values()])
        for _ in range(rows)
    ]
    listed = ", ".join(f"({rng.randrange(people)}, {row})" for row in cells)
    names = ", ".join(f'"{name}" {kind}' for name, (kind, _) in TYPES.items())
    return Script(policy_of(tables), (f"CREATE TABLE t (id INTEGER, {names})", f"INSERT INTO t VALUES {listed}"))


FOLDED = """
x.a > t.a
t.a > x.a
x.a <> t.a
x.a <= t.a AND x.d = t.d
x.b < t.b
x.b <> t.b AND x.e = t.e AND x."greatest a" = t.a
x.c >= t.c
x.d <> t.d AND x.a = t.a
x.d < t.d
x.e > t.e AND (x.a = t.a OR t.a IS NULL)
x.a <> t.a AND x."greatest a" <> t."greatest a"
x.a > 0 AND x.a < t.a
x.c <> t.c AND x.b > t.b AND x.a = t.a
""".strip().splitlines()
AS_THEY_ARE = """
x.a = t.a
x.f > t.f
x.a > t.a AND x.a < t.b
x.a > t.a OR x.b > t.b
x.a + 1 > t.a
""".strip().splitlines()


@pytest.fixture(scope="module", params=["duckdb", *OTHERS])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    made = script()
    opened = (
        made.world().engine
        if request.param == "duckdb"
        else OTHERS[request.param].opened(OTHERS[request.param].fitted(made))
    )
    yield opened
    opened.close()


def statement(engine: Engine, condition: str, form: str):
    columns = (ColumnPolicy("a", lower=-2, upper=2, step=1), *(ColumnPolicy(name) for name in [*TYPES][1:]))
    policy = policy_of([TablePolicy("t", "id", columns=columns, max_rows=50, max_groups=5)])
    asked = f"DP-SELECT 1 COUNT(*) FROM t WHERE {form.format(condition)}"
    (made,) = World(policy, engine).plan(asked).statements
    return made


def counted(engine: Engine, condition: str, form: str) -> int:
    made = statement(engine, condition, form)
    return int(engine.execute(made.sql(engine.dialect)).integers("m0")[0])


FORMS = (
    "EXISTS (SELECT 1 FROM t x WHERE x.id = t.id AND ({}))",
    "NOT EXISTS (SELECT 1 FROM t x WHERE x.id = t.id AND ({}))",
    "id IN (SELECT id FROM t x WHERE ({}))",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("condition", [*FOLDED, *AS_THEY_ARE])
def test_the_same_rows_have_one_as_without_folding(engine, condition, form, monkeypatch) -> None:
    quick = counted(engine, condition, form)
    monkeypatch.setattr(correlated, "folded", lambda *args, **named: None)
    assert counted(engine, condition, form) == quick


@pytest.mark.parametrize("condition", FOLDED)
def test_a_unit_has_one_row_for_what_else_is_compared(condition) -> None:
    """Without the inequality's column: so many rows are looked at for each row outside, and no more."""
    engine = script().world().engine
    exists = statement(engine, condition, FORMS[0]).tree.find(exp.Exists)
    (inner,) = [select for select in exists.find_all(exp.Select) if select.args.get("group")]
    groups = inner.args["group"].expressions
    assert len(groups) == len({group.sql() for group in groups})
    kept = [column for column in inner.expressions if not column.find(exp.Min, exp.Max)]
    assert {column.unalias().sql() for column in kept} == {group.sql() for group in groups}


@pytest.mark.parametrize("condition", AS_THEY_ARE)
def test_what_cannot_be_folded_is_left_as_it_is(condition) -> None:
    engine = script().world().engine
    assert statement(engine, condition, FORMS[0]).tree.find(exp.Exists).find(exp.Group) is None


@pytest.mark.parametrize("planted", ["the wrong end", "one end of two"])
def test_a_wrong_fold_is_noticed(planted, monkeypatch) -> None:
    engine = script().world().engine
    right = [counted(engine, condition, FORMS[0]) for condition in FOLDED]
    if planted == "the wrong end":
        monkeypatch.setattr(extremes, "_ABOVE", {exp.LT, exp.LTE})
    else:
        monkeypatch.setattr(extremes, "_either", lambda ends, value: exp.NEQ(this=ends[0].copy(), expression=value))
    assert [counted(engine, condition, FORMS[0]) for condition in FOLDED] != right


# ── two of them over the same rows ───────────────────────────────────────────────────────────────────────────────────

_BASE = "EXISTS (SELECT 1 FROM t x WHERE x.id = t.id AND {})"
PAIRS = """
x.a <> t.a | x.a <> t.a AND x.b > 0
x.a <> t.a AND x.d = 'a' | x.a <> t.a
x.a <> t.a AND x.d = t.d | x.b > t.b AND x.d = t.d AND x.a > 0
x.a > t.a | x.a < t.a
x.c > t.c | x.c > t.c AND x.c > 99
x.d <> t.d | x.e > t.e AND x.f > 0
x.a <> t.a AND x."greatest a" = t."greatest a" | x.a <> t.a AND x."greatest a" = t."greatest a" AND x.a IS NULL
x.e > t.e AND x.a = 5 | x.e > t.e
x.b <> t.b AND x.a = t.a AND x.a = t."greatest a" | x.b <> t.b AND x.a = t.a AND x.a = t."greatest a" AND x.c > 0
x.b <> t.b AND x.a = t.a | x.b <> t.b AND x.a = t.a AND x.a = t."greatest a"
""".strip().splitlines()
APART = """
x.d < t.d AND t.a > 0 | x.d > t.d AND x.a = 2 AND t.a < 2
x.a > t.a AND x.b > 0 | x.a > t.a AND x.b < 0
x.a > t.a AND x.d = t.d | x.a > t.a AND x.e = t.e
x.b > t.b AND x.a + 1 = t.a | x.b <> t.b AND x.a + 1 = t.a
x.d > t.d AND x.a * 0 = t.a | x.d < t.d AND x.a * 0 = t.a
x.a = t.a | x.a > t.a
x.b <> t.b AND x.d = COALESCE(t.d, x.d) | x.b > t.b AND x.d = COALESCE(t.d, x.d)
x.b <> t.b AND x.a = t."greatest a" | x.b <> t.b AND x.a = t.a AND x.a = t."greatest a"
""".strip().splitlines()
SIGNS = ("{} AND {}", "{} AND NOT {}", "NOT {} AND {}", "NOT {} AND NOT {}")


def both(pair: str, signs: str) -> str:
    return signs.format(*(_BASE.format(condition.strip()) for condition in pair.split("|")))


def separately(monkeypatch) -> None:
    for place in ("tacit.sql.binding.bind", "tacit.sql.relations.deriving.derived"):
        monkeypatch.setattr(sys.modules[place], "read_together", lambda condition: condition)


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("pair", [*PAIRS, *APART])
def test_two_that_are_read_together_find_the_same_rows(engine, pair, signs, monkeypatch) -> None:
    forms = ("{}", "a IS NOT NULL AND ({}) AND b >= 0", "id IN (SELECT id FROM t WHERE {})")
    found = [counted(engine, both(pair, signs), form) for form in forms]
    separately(monkeypatch)
    assert [counted(engine, both(pair, signs), form) for form in forms] == found


def test_what_is_asked_of_pairs_is_not_asked_of_nobody() -> None:
    """Some rows are found and others are not, or the test above compared nothing with nothing."""
    engine = script().world().engine
    found = [counted(engine, both(pair, signs), "{}") for pair in PAIRS for signs in SIGNS]
    assert sum(0 < count < 300 for count in found) > len(found) / 2


@pytest.mark.parametrize(("pair", "times"), [*((pair, 1) for pair in PAIRS), *((pair, 2) for pair in APART)])
def test_a_table_is_read_once_for_two_that_look_at_the_same_rows(pair, times) -> None:
    engine = script().world().engine
    for signs in SIGNS:
        tree = statement(engine, both(pair, signs), "{}").tree
        assert sum(table.name == "t" for table in tree.find_all(exp.Table)) == 1 + times, tree.sql(pretty=True)


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize(
    "more", ["EXISTS (SELECT 1 FROM t z WHERE z.id = x.id AND z.b < x.b)", "x.id IN (SELECT id FROM t)"]
)
def test_a_subquery_stays_where_engines_join_it(more, signs) -> None:
    """In a CASE it would be computed row by row: PostgreSQL took twenty seconds for twenty thousand rows."""
    engine = script().world().engine
    tree = statement(engine, both(f"x.a <> t.a | x.a <> t.a AND {more}", signs), "{}").tree
    assert tree.find(exp.Exists)
    assert not any(case.find(exp.Select) for case in tree.find_all(exp.Case))
    tree = statement(engine, both(f"x.a <> t.a AND {more} | x.a <> t.a AND {more} AND x.b > 0", signs), "{}").tree
    assert sum(table.name == "t" for table in tree.find_all(exp.Table)) == 3  # outside, read once, and in the subquery


_ROWS = "SELECT t.k AS k, t.x AS x FROM t"
_FEW = "SELECT s.k, MIN(s.x) AS x FROM ({}) AS s GROUP BY s.k"
_ONE = "EXISTS (SELECT 1 FROM ({}) AS s WHERE s.k = outside.k AND s.x < outside.x)"


@pytest.mark.parametrize(
    ("one", "other", "is_one"),
    [
        (_FEW.format(_ROWS), _FEW.format(_ROWS), True),
        (_FEW.format(_ROWS), _FEW.format(f"{_ROWS} WHERE t.y > 0"), True),
        (_FEW.format(_ROWS), _FEW.format(f"{_ROWS} JOIN u ON u.k = t.k"), False),
        (_FEW.format(_ROWS), _FEW.format(f"{_ROWS} LIMIT 3"), False),
        (_FEW.format(_ROWS), _FEW.format(_ROWS.replace("SELECT", "SELECT DISTINCT")), False),
        (_FEW.format(_ROWS), _FEW.format(_ROWS) + " HAVING COUNT(*) > 1", False),
        (_FEW.format(_ROWS), _FEW.format(_ROWS).replace("AS x FROM (", "AS x, COUNT(*) AS n FROM ("), False),
        (_FEW.format(_ROWS), _FEW.format(_ROWS.replace("FROM t", "FROM u AS t")), False),
        (_FEW.format(_ROWS), _FEW.format(_ROWS).replace(" GROUP BY s.k", ""), False),
    ],
)
def test_two_are_read_together_where_no_clause_says_more(one, other, is_one) -> None:
    """Each as the builder would write it, so that a clause that it does not write today is not read over tomorrow."""
    condition = sqlglot.parse_one(f"{_ONE.format(one)} AND NOT {_ONE.format(other)}", dialect="duckdb")
    assert (together.read_together(condition).sql().count("EXISTS") == 1) == is_one
    turned = sqlglot.parse_one(f"{_ONE.format(other)} AND {_ONE.format(one)}", dialect="duckdb")
    assert (together.read_together(turned).sql().count("EXISTS") == 1) == is_one


@pytest.mark.parametrize(
    "planted", ["NULL refutes nothing", "any rows of the unit", "whatever the filter", "or for and"]
)
def test_a_wrong_way_to_read_two_together_is_noticed(planted, monkeypatch) -> None:
    engine = script().world().engine
    asked = [both(pair, signs) for pair in [*PAIRS, *APART] for signs in SIGNS]
    right = [counted(engine, condition, "{}") for condition in asked]
    if planted == "NULL refutes nothing":
        monkeypatch.setattr(together, "_refuted", lambda condition: exp.Not(this=exp.paren(condition)))
    elif planted == "any rows of the unit":
        monkeypatch.setattr(together, "_is_one_row", lambda ties, groups: True)
    elif planted == "whatever the filter":
        monkeypatch.setattr(together._Looked, "filters", property(lambda looked: []))
    else:
        monkeypatch.setattr(together, "_both", lambda wide, narrow, denied: exp.paren(exp.and_(wide, narrow)))
    assert [counted(engine, condition, "{}") for condition in asked] != right
