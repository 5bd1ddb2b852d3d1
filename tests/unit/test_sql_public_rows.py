"""Keys of a public table's rows: what is computed of them is listed too, and how many there are bounds a unit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import ANALYSTS, BUDGET, policy_of, world
from tacit.curator import Curator, Session
from tacit.curator.measuring import measure
from tacit.engines import open_engine
from tacit.errors import EngineError
from tacit.ledger import SqliteLedger
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.sql import Plan
from tacit.sql.expressions import public_rows
from tacit.sql.expressions.absent import Worth
from tacit.sql.rules import Spread

ANA = Session("ana")
NARROW = {"max_groups": 9, "max_rows": 2}
WIDE = {"max_groups": 200, "max_rows": 200}
VISITS = [ColumnPolicy("place"), ColumnPolicy("kind", domain=["x", "y"]), ColumnPolicy("day", type="date")]


def _policy(caps: dict[str, int]) -> Policy:
    tables = [TablePolicy("visits", "who", columns=VISITS, **caps)]
    public = [TablePolicy("towns", public=True), TablePolicy("days", public=True)]
    budget = BudgetPolicy(10**6, Fraction(1, 10), default_epsilon=1, default_delta=Fraction(1, 10**6))
    return policy_of([*tables, *public], budget=budget)


PUBLIC = """
CREATE TABLE towns AS SELECT * FROM (VALUES ('north', 12, 'cold'), ('south', 3, 'warm'), ('west', 7, 'cold'),
    ('East', 40, 'Cold'), ('up', 0, NULL), (NULL, 1, 'lost')) AS made(town, size, air);
CREATE TABLE days AS SELECT DATE '2023-12-30' + i::INT AS date FROM range(70) AS made(i);
"""
EVERYWHERE = "SELECT 0 AS who, town AS place, k AS kind, date AS day FROM towns, days, (VALUES ('x'), ('y')) AS v(k)"
OTHERS = """
    SELECT 1 + i % 30, ['north', 'south', 'nowhere', NULL][1 + i % 4], ['x', 'y'][1 + i % 2],
           DATE '2023-12-25' + (i % 90)::INT FROM range(300) AS made(i)"""
TOWNS = "FROM visits v JOIN towns t ON t.town = v.place"
DAYS = "FROM visits v JOIN days d ON d.date = v.day"


def _curator(folder: Path, caps: dict[str, int], *, everywhere: bool) -> Curator:
    folder.mkdir(exist_ok=True)
    rows = f"{EVERYWHERE} UNION ALL {OTHERS}" if everywhere else f"{EVERYWHERE} WHERE FALSE UNION ALL {OTHERS}"
    return world(_policy(caps), PUBLIC + f"CREATE TABLE visits AS {rows}").curator(folder)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        yield _curator(tmp_path_factory.mktemp("ledger"), WIDE, everywhere=False)


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(PUBLIC + f"CREATE TABLE visits AS {EVERYWHERE} WHERE FALSE UNION ALL {OTHERS}")
        yield connection


# ── what is listed ───────────────────────────────────────────────────────────────────────────────────────────────────

LISTED = [
    ("UPPER(t.air)", TOWNS, "towns t"),
    ("LEFT(t.town, 1)", TOWNS, "towns t"),
    ("t.air || '-' || t.town", TOWNS, "towns t"),
    ("REPLACE(t.air, 'o', '0')", TOWNS, "towns t"),
    ("COALESCE(t.air, t.town)", TOWNS, "towns t"),
    ("DATE_TRUNC('month', d.date)", DAYS, "days d"),
    ("STRFTIME(d.date, '%Y-%m')", DAYS, "days d"),
    ("EXTRACT(YEAR FROM d.date)", DAYS, "days d"),
    ("t.town, UPPER(t.air)", TOWNS, "towns t"),
    ("t.size, LEFT(t.air, 1), t.town", TOWNS, "towns t"),
    ("UPPER(t.air)", TOWNS.replace("JOIN", "LEFT JOIN"), "towns t"),
]


@pytest.mark.parametrize(("keys", "rows", "source"), LISTED)
def test_the_rows_of_a_public_table_list_what_is_computed_of_them(
    keys: str, rows: str, source: str, asked: Curator, plain: duckdb.DuckDBPyConnection
) -> None:
    answer = asked.ask(f"SELECT {keys}, COUNT(*) AS n {rows} GROUP BY ALL", session=ANA)
    there = {tuple(map(str, row)) for row in plain.execute(f"SELECT DISTINCT {keys} FROM {source}").fetchall()}
    listed = {tuple(str(cell)[:10] for cell in row[:-1]) for row in answer.rows}
    assert listed == {tuple(cell[:10] for cell in row) for row in there if "None" not in row}
    counted = plain.execute(f"SELECT {keys}, COUNT(*) AS n {rows} GROUP BY ALL").fetchall()
    numbers = {tuple(str(cell)[:10] for cell in row[:-1]): row[-1] for row in counted}
    assert {row[:-1]: int(row[-1]) for row in answer.rows if row[-1]} == {
        row[:-1]: numbers[tuple(str(cell)[:10] for cell in row[:-1])] for row in answer.rows if row[-1]
    }
    assert answer.cost.delta == 0
    assert not any("private" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        ("COALESCE(t.air, 'none')", TOWNS.replace("JOIN", "LEFT JOIN")),  # 'none' is no value of a row
        ("CONCAT(t.air, '!')", TOWNS.replace("JOIN", "LEFT JOIN")),
        ("t.air || s.air", f"{TOWNS} JOIN towns s ON s.size = t.size"),  # of two rows
        ("t.air || v.place", TOWNS),
        ("UPPER(v.place)", TOWNS),
    ],
)
def test_what_no_row_of_one_public_table_has_is_private(key: str, rows: str, asked: Curator) -> None:
    answer = asked.ask(f"SELECT {key} AS k, COUNT(*) AS n {rows} GROUP BY k", session=ANA)
    assert any("keys are private" in note for note in answer.notes)


def test_a_value_that_an_outer_join_makes_up_is_noticed(
    asked: Curator, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: as if COALESCE were NULL where there is no row."""
    monkeypatch.setattr(public_rows, "worth", lambda node, absent: Worth.NULL)
    text = f"SELECT COALESCE(t.air, 'none') AS k, COUNT(*) AS n {TOWNS.replace('JOIN', 'LEFT JOIN')} GROUP BY k"
    answer = asked.ask(text, session=ANA)
    assert dict(answer.rows).get("none", 0) != dict(plain.execute(text).fetchall())["none"]


# ── how far one unit moves it ────────────────────────────────────────────────────────────────────────────────────────

COUNTED = [  # keys, rows, and how many groups there are
    ("t.town", TOWNS, 5),
    ("UPPER(t.air)", TOWNS, 3),
    ("t.town, t.air", TOWNS, 4),
    ("t.town, v.kind", TOWNS, 10),
    ("DATE_TRUNC('month', d.date)", DAYS, 4),
    ("d.date", DAYS, 70),
]


def _plan(curator: Curator, keys: str, rows: str) -> Plan:
    (piece,) = curator.prepare(f"DP-SELECT 1 {keys}, COUNT(*) {rows} GROUP BY ALL", session=ANA).pieces
    return piece.plan


def _exact(curator: Curator, plan: Plan) -> dict[object, int]:
    """The exact number of each group that is listed."""
    (statement,) = plan.runs
    exact = curator._engine.execute(statement.sql("duckdb"))
    found = measure._groups(plan, [exact], curator._public(plan))
    names = [f"k{index}" for index in range(len(plan.keys))]
    rows = zip(*(exact._columns[name] for name in names), exact._columns["m0"], strict=True)
    listed = {tuple(map(str, key)) for key in measure._listed_groups(plan.keys, curator._public(plan))}
    assert found is not None
    return {row[:-1]: int(row[-1]) for row in rows if tuple(map(str, row[:-1])) in listed}


@pytest.mark.parametrize(("keys", "rows", "groups"), COUNTED)
def test_a_unit_that_is_in_every_group_moves_what_is_paid_for(
    keys: str, rows: str, groups: int, tmp_path: Path
) -> None:
    there, without = (_curator(tmp_path / str(which), NARROW, everywhere=which) for which in (True, False))
    plan = _plan(there, keys, rows)
    assert plan.caps.max_groups == min(groups, NARROW["max_groups"])
    assert (plan.caps.spread is Spread.NONE) == (groups <= NARROW["max_groups"])
    one, other = _exact(there, plan), _exact(without, _plan(without, keys, rows))
    moved = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in {*one, *other})
    (measurement,) = plan.measurements
    assert moved <= measurement.l1
    if plan.caps.spread is Spread.NONE:
        assert moved >= measurement.l1 - 2 == 2 * (groups - 1), "the unit has more rows than count in each"


def test_fewer_groups_mean_less_noise(tmp_path: Path) -> None:
    """Five towns, and not the nine groups that a unit may be in."""
    curator = _curator(tmp_path, NARROW, everywhere=False)
    few, many = (
        _plan(curator, keys, rows).measurements[0].l1 for keys, rows in (("t.town", TOWNS), ("v.place", TOWNS))
    )
    assert few * 9 == many * 5


# ── a public table that grows ────────────────────────────────────────────────────────────────────────────────────────


def _written(base: Path, towns: int, *, day: int) -> None:
    with duckdb.connect() as owner:
        owner.execute(
            f"COPY (SELECT i AS who, i % 4 AS place FROM range(20) t(i)) TO '{base}/visits.parquet' (FORMAT parquet)"
        )
        owner.execute(f"COPY (SELECT i AS town FROM range({towns}) t(i)) TO '{base}/towns.parquet' (FORMAT parquet)")
    os.utime(base / "towns.parquet", (86_400 * day, 86_400 * day))


@pytest.fixture
def growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Curator]:
    switch_off(monkeypatch)
    _written(tmp_path, 4, day=1)
    files = {"visits": "visits.parquet", "towns": "towns.parquet"}
    tables = [
        TablePolicy("visits", "who", columns=[ColumnPolicy("place")], **NARROW),
        TablePolicy("towns", public=True),
    ]
    policy = Policy(Dataset("d", files, base=tmp_path), BUDGET, tables=tables, analysts=ANALYSTS)
    curator = Curator(policy, open_engine(policy), SqliteLedger(tmp_path / "d.ledger", create=True))
    yield curator
    curator.close()


BY_TOWN = "DP-SELECT 100 FRESH town, COUNT(*) FROM visits JOIN towns ON town = place GROUP BY town"


def test_a_public_table_that_grew_is_counted_anew(growing: Curator, tmp_path: Path) -> None:
    assert len(growing.ask(BY_TOWN, session=ANA).rows) == 4
    assert growing.prepare(BY_TOWN, session=ANA).pieces[0].plan.caps.max_groups == 4
    _written(tmp_path, 30, day=2)
    assert len(growing.ask(BY_TOWN, session=ANA).rows) == 30
    assert growing.prepare(BY_TOWN, session=ANA).pieces[0].plan.caps.max_groups == NARROW["max_groups"]


def test_more_groups_than_were_counted_never_leave(
    growing: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It grows after the question was planned, in the very moment before it is read."""
    state, mark = type(growing._engine).mark, growing._engine.mark()
    monkeypatch.setattr(type(growing._engine), "mark", lambda self: mark)
    growing.prepare(BY_TOWN, session=ANA)
    _written(tmp_path, 30, day=2)
    with pytest.raises(EngineError, match="more rows than when the question was planned"):
        growing.ask(BY_TOWN, session=ANA)
    assert len(growing.ask(BY_TOWN, session=ANA).rows) == 30  # whoever has not told of it: it is counted anew
    monkeypatch.setattr(type(growing._engine), "mark", state)
    assert len(growing.ask(BY_TOWN, session=ANA).rows) == 30


def test_nor_where_nobody_looks_before_they_are_measured(
    growing: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = growing._engine.mark()
    monkeypatch.setattr(type(growing._engine), "mark", lambda self: mark)
    monkeypatch.setattr("tacit.curator.curator.listed_groups", lambda keys, public: 0)
    growing.prepare(BY_TOWN, session=ANA)
    _written(tmp_path, 30, day=2)
    for _ in range(2):
        with pytest.raises(EngineError, match="more rows than when the question was planned"):
            growing.ask(BY_TOWN, session=ANA)
