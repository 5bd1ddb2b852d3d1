"""Keys that WHERE lists are public: nothing is lost of them, no others are shown, and no unit moves more than is paid.

The cells are as near to the listed texts as texts can be without being one of them.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from conformance.sql_noiseless import switch_off
from conformance.sql_world import World, policy_of, world
from tacit.curator import Curator, Session
from tacit.errors import TacitError
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy
from tacit.sql.binding import told_keys

ANA = Session("ana")
TOWNS = ("north", "North", "north ", " north", "NORTH", "nörth", "no\u0308rth", "", "\\", "nor'th", "_tacit_k0", None)
MOST = 3  # rows of a unit in a group
_CAPS = {"max_groups": 4, "max_rows": MOST}


def _rows(seed: int) -> list[tuple[int, str | None, int | None]]:
    """People with their towns and numbers of rooms; the first of them is everywhere."""
    chance = random.Random(seed)
    everywhere = [(0, town, rooms) for town in TOWNS for rooms in (None, 1, 2, -1) for _ in range(2)]
    return everywhere + [(i, chance.choice(TOWNS), chance.choice((None, 0, 1, 2, 3, -1))) for i in range(1, 60)]


def _world(rows: list[tuple[int, str | None, int | None]]) -> World:
    columns = [ColumnPolicy("town"), ColumnPolicy("rooms"), ColumnPolicy("size"), ColumnPolicy("yes")]
    policy = policy_of(
        [TablePolicy("homes", "who", columns=columns, **_CAPS)],
        budget=BudgetPolicy(10**6, "1/10", default_epsilon=1, default_delta="1/1000000"),
        analysts=[AnalystPolicy("ana", 10**6)],
    )
    made = world(policy, "CREATE TABLE homes (who INTEGER, town TEXT, rooms INTEGER, size DOUBLE, yes BOOLEAN)")
    connection = made.engine._connection
    connection.executemany(
        "INSERT INTO homes VALUES (?, ?, ?, ? / 3.0, ? > 1)", [(*row, row[2], row[2]) for row in rows]
    )
    return made


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    with pytest.MonkeyPatch.context() as patch:
        switch_off(patch)
        yield _world([row for row in _rows(1) if row[0]]).curator(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE homes (who INTEGER, town TEXT, rooms INTEGER)")
        connection.executemany("INSERT INTO homes VALUES (?, ?, ?)", [row for row in _rows(1) if row[0]])
        yield connection


LISTED = [
    ("town IN ('north', 'nowhere')", "town", ["north", "nowhere"]),
    ("town IN ('north', 'north', NULL)", "town", ["north"]),
    ("town IN ('North', 'north ', ' north', '')", "town", ["North", "north ", " north", ""]),
    ("town IN ('nörth', 'no\u0308rth')", "town", ["nörth", "no\u0308rth"]),
    ("town IN ('\\', 'nor''th', '_tacit_k0')", "town", ["\\", "nor'th", "_tacit_k0"]),
    ("town = 'north'", "town", ["north"]),
    ("'north' = town AND rooms > 0", "town", ["north"]),
    ("rooms IN (1, 2, 77)", "rooms", [1, 2, 77]),
    ("rooms = -1", "rooms", [-1]),
    ("UPPER(town) IN ('NORTH', 'SOUTH')", "UPPER(town)", ["NORTH", "SOUTH"]),
    ("town IN ('north', 'North', 'x')", "UPPER(town)", ["NORTH", "X"]),
    ("town IN ('north', 'x') AND town <> 'x'", "town", ["north"]),
]


@pytest.mark.parametrize(("where", "key", "groups"), LISTED)
def test_listed_groups_are_answered_and_no_others(
    where: str, key: str, groups: list[object], homes: Curator, plain: duckdb.DuckDBPyConnection
) -> None:
    text = f"SELECT {key} AS k, COUNT(*) AS n FROM homes WHERE {where} GROUP BY k"
    answer = homes.ask(text, session=ANA)
    counted = dict(plain.execute(text).fetchall())
    assert {k: int(n) for k, n in answer.rows} == {group: counted.get(group, 0) for group in groups}
    assert not any("private" in note for note in answer.notes)
    assert key != where.split(maxsplit=1)[0] or not any("public values" in note for note in answer.notes)
    assert answer.cost.delta == 0
    explained = str(homes.explain(f"DP-SELECT 1 {text.removeprefix('SELECT ')}", session=ANA))
    assert "threshold" not in explained


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("town NOT IN ('north')", "town"),
        ("town IN ('north') OR rooms = 1", "town"),
        ("NOT town IN ('north')", "town"),
        ("town > 'north'", "town"),
        ("town LIKE 'north'", "town"),
        ("town IN (SELECT town FROM homes h WHERE h.who = homes.who)", "town"),
        ("LOWER(town) IN ('north')", "town"),
        ("town IN ('north')", "rooms"),
        ("size IN (1, 2)", "size"),  # what is no whole number is not the same to all
        ("rooms = town", "town"),
        ("town IN ('north', UPPER(town))", "town"),
        ("size IN (1, 2)", "CAST(size AS VARCHAR)"),
        ("TRUE", "town"),
    ],
)
def test_what_where_does_not_list_is_private(where: str, key: str, homes: Curator) -> None:
    try:
        answer = homes.ask(f"SELECT {key} AS k, COUNT(*) AS n FROM homes WHERE {where} GROUP BY k", session=ANA)
    except TacitError:
        return
    assert any("keys are private" in note for note in answer.notes)


def test_which_of_some_there_are_is_told_of_rows_and_not_of_the_list(homes: Curator) -> None:
    answer = homes.ask("DP-SELECT 900 DISTINCT town FROM homes WHERE town IN ('north', 'nowhere')", session=ANA)
    assert not any("public value" in note for note in answer.notes)
    entry = next(entry for entry in homes.log("ana") if entry.act == "charge")
    assert homes.replay(entry).agrees
    assert ("nowhere",) not in set(answer.rows)


@pytest.mark.parametrize("other", ["DISTINCT town FROM homes {}", "town FROM homes {} GROUP BY town"])
def test_neither_is_kept_for_the_other(other: str, tmp_path: Path) -> None:
    """The same rows, keys and count, at the same price: of one the list is public, of the other it is what is asked."""
    where = "WHERE town IN ('north', 'nowhere')"
    numbers, names = (f"town, COUNT(*) AS n FROM homes {where} GROUP BY town", other.format(where))
    for place, (first, second) in enumerate(((numbers, names), (names, numbers))):
        folder = tmp_path / str(place)
        folder.mkdir()
        curator = _world(_rows(1)).curator(folder)
        curator.ask(f"DP-SELECT 5 {first}", session=ANA)
        answer = curator.ask(f"DP-SELECT 5 {second}", session=ANA)
        assert answer.reused is None
        assert (answer.cost.delta == 0) == (second is numbers)


def _released(there: World, text: str) -> tuple[Counter[tuple[object, ...]], int]:
    """The exact number of each group that leaves with noise, and what one unit is said to move."""
    made = there.plan(text)
    (exact,) = there.exact(made)
    assert all(key.is_public and isinstance(key.values, tuple) for key in made.keys)
    listed = [set(key.values) for key in made.keys]
    columns = exact._columns
    groups = zip(*(columns[f"k{index}"] for index in range(len(made.keys))), columns["m0"], strict=True)
    kept = {
        row[:-1]: int(row[-1]) for row in groups if all(k in values for k, values in zip(row, listed, strict=False))
    }
    (measurement,) = made.measurements
    assert made.caps.max_groups == min(_CAPS["max_groups"], math.prod(map(len, listed)))
    return Counter(kept), measurement.l1


NEIGHBOURS = [
    f"DP-SELECT 1 {key} AS k, COUNT(*) AS n FROM homes WHERE {where} GROUP BY k" for where, key, _ in LISTED
] + [
    "DP-SELECT 1 town, rooms, COUNT(*) FROM homes WHERE town IN ('north', 'North') AND rooms IN (1, 2) GROUP BY 1, 2",
    "DP-SELECT 1 town, COUNT(*) FROM homes WHERE town IN ('north', 'North', '', 'NORTH', 'nörth', '\\') GROUP BY 1",
]


@pytest.mark.parametrize("text", NEIGHBOURS)
def test_one_unit_moves_what_is_paid_for_and_no_more(text: str) -> None:
    """The unit that is everywhere, with twice as many rows as count."""
    moved = 0
    for seed in range(3):
        rows = _rows(seed)
        there, without = (_world(each) for each in (rows, [row for row in rows if row[0]]))
        (one, paid), (other, _) = _released(there, text), _released(without, text)
        moved = sum(abs(one[group] - other[group]) for group in {*one, *other})
        assert moved <= paid
        for each in (there, without):
            each.engine.close()
    assert moved, "the unit is in the answer"


def test_a_list_that_does_not_hold_for_every_row_is_noticed(
    homes: Curator, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: what one side of OR lists."""
    conjuncts = told_keys.conjuncts

    def of_or(where: object) -> list[object]:
        return [part.this if isinstance(part, told_keys.exp.Or) else part for part in conjuncts(where)]

    monkeypatch.setattr(told_keys, "conjuncts", of_or)
    text = "SELECT town AS k, COUNT(*) AS n FROM homes WHERE town IN ('north') OR rooms = 1 GROUP BY k"
    answer = homes.ask(text.replace("COUNT", "count"), session=ANA)
    assert {k: int(n) for k, n in answer.rows} != dict(plain.execute(text).fetchall())
