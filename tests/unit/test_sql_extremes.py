"""EXISTS with an inequality: the same rows as ever, and no work that grows with the square of one person's rows."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from sqlglot import exp

from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import World, policy_of
from tacit.engines import Engine
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.relations.correlating import correlated
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
