"""Dates are numbers with bounds, and the same numbers row for row: in Python's calendar, in DuckDB's own functions, and
as tacit writes them for every engine."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache

import duckdb
import pytest
from sqlglot import exp

from conformance.date_oracle import FIRST, LAST, LOWER, MOMENTS, NUMBERS, UPPER, Asked, Row, clamped
from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import policy_of
from tacit.engines import Engine
from tacit.errors import EngineError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import bind, parse
from tacit.sql.emitting import dialects
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.dates import instant_numbers, instants
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.numeric import grid

ROWS = 250
TRICKY = [
    date(*day) for day in ((1999, 1, 1), (2000, 2, 29), (2004, 2, 28), (2004, 2, 29), (2019, 12, 30), (2020, 1, 31),
                           (2020, 2, 29), (2021, 1, 3), (2021, 2, 28), (2021, 3, 31), (2021, 4, 30), (2031, 12, 31))
]  # fmt: skip
TIMES = [  # round the changes of a clock, and the end of a leap day
    datetime.fromisoformat(text)
    for text in ("2020-03-29 00:59:59", "2020-03-29 01:00:00", "2020-10-25 01:00:00", "2004-02-29 23:59:59")
]
ODD = ("'infinity'", "'-infinity'", "'0044-03-15 (BC)'", "'12345-06-07'", "'9999-12-31'", "'0001-01-01'")
FAR = {"'infinity'": date.max, "'-infinity'": date.min, "'0044-03-15 (BC)'": date.min, "'12345-06-07'": date.max,
       "'9999-12-31'": date.max, "'0001-01-01'": date.min}  # fmt: skip


def table(*, tame: bool) -> tuple[Script, list[Row]]:
    """The statements that make it, and its rows as the bounds leave them."""
    rng = random.Random(12)
    lines, rows = [], []
    for place in range(ROWS):
        cells: list[str] = []
        row: Row = {}
        for name in "ab":
            shown, value = _day(rng, tame=tame)
            cells.append(shown)
            row[name] = value
        for name in "st":
            shown, value = _time(rng, tame=tame)
            cells.append(shown)
            row[name] = value
        count = None if rng.random() < 0.05 else rng.randrange(-3, 45)
        cells.append("NULL" if count is None else str(count))
        row["n"] = count
        lines.append(f"({place % 7}, {place}, {', '.join(cells)})")
        rows.append(clamped(row))
    days = {"type": "date", "lower": LOWER, "upper": UPPER}
    times = {"type": "timestamp", "lower": FIRST, "upper": LAST}
    columns = [
        ColumnPolicy("rid", lower=0, upper=ROWS, step=1),
        *(ColumnPolicy(name, **days) for name in "ab"),
        *(ColumnPolicy(name, **times) for name in "st"),
        ColumnPolicy("n", lower=0, upper=40, step=1),
    ]
    policy = policy_of([TablePolicy("t", "uid", columns=columns, max_rows=ROWS, max_groups=ROWS)])
    made = "CREATE TABLE base (uid BIGINT, rid INTEGER, a DATE, b DATE, s TIMESTAMP, t TIMESTAMP, n INTEGER)"
    inserted = f"INSERT INTO base VALUES {', '.join(lines)}"
    return Script(policy, (made, inserted, "CREATE VIEW t AS SELECT * FROM base")), rows


def _day(rng: random.Random, *, tame: bool) -> tuple[str, date | None]:
    chance = rng.random()
    if chance < 0.05:
        return "NULL", None
    if chance < 0.15:
        odd = rng.choice(ODD[4:] if tame else ODD)
        return odd, FAR[odd]
    day = rng.choice(TRICKY) if chance < 0.6 else LOWER + timedelta(days=rng.randrange(-50, 12_200))
    return f"'{day}'", day


def _time(rng: random.Random, *, tame: bool) -> tuple[str, datetime | None]:
    shown, day = _day(rng, tame=tame)
    if day is None or shown in FAR:
        return shown, None if day is None else datetime.combine(day, datetime.min.time())
    moment = datetime.combine(day, datetime.min.time()) + timedelta(seconds=rng.randrange(86_400))
    moment = rng.choice((moment, moment, datetime.combine(day, datetime.min.time()), *TIMES))
    fraction = rng.choice(("", "", ".999999"))
    return f"'{moment}{fraction}'", moment


def computed(asked: Asked, script: Script, engine: Engine) -> list[object]:
    """The expression in each row, as tacit computes it in an engine."""
    text = f"DP-SELECT 1 COUNT(*) FROM (SELECT uid, rid, {asked.text} AS e FROM t) AS q"
    bound = bind(parse(text), script.policy, schema=engine.schema())
    listed = [exp.column(exp.to_identifier(name, quoted=True)) for name in ("rid", "e")]
    tree = exp.select(*(exp.alias_(column, f"c{place}") for place, column in enumerate(listed)))
    exact = engine.execute(emit(qualified(tree.from_(bound.relation.sql.copy())), engine.dialect))
    column = bound.table.column("e")
    assert column.bounds is not None
    found = dict(zip(exact.keys("c0"), exact.keys("c1"), strict=True))
    step = column.bounds.step if column.type is not None and column.type.is_numeric else None
    values = [found[place] for place in range(ROWS)]
    plain = [value if step is None or value is None else _exact(value, step) for value in values]
    for value in plain:  # what the bounds promise is what there is
        assert value is None or column.lower is None or column.lower <= value <= column.upper, asked.text
    return plain


def _exact(value: object, step: Fraction) -> object:
    exact = int(str(value)) * step
    return int(exact) if exact.denominator == 1 else exact


@lru_cache(maxsize=1)
def plain_table() -> duckdb.DuckDBPyConnection:
    """The rows as the bounds leave them, in a DuckDB of its own."""
    _, rows = table(tame=False)
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (rid INTEGER, a DATE, b DATE, s TIMESTAMP, t TIMESTAMP, n INTEGER)")
    lines = [
        ", ".join("NULL" if cell is None else f"'{cell}'" for cell in (place, *row.values()))
        for place, row in enumerate(rows)
    ]
    connection.execute(f"INSERT INTO t VALUES {', '.join(f'({line})' for line in lines)}")
    return connection


def own(asked: Asked) -> list[object]:
    """The expression in each row, as DuckDB's own functions have it."""
    found = plain_table().execute(f"SELECT {asked.duckdb} FROM t ORDER BY rid").fetchall()
    return [_whole(value) for (value,) in found]


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) else value


def _like(value: object, other: object) -> object:
    """DuckDB makes timestamps of dates that are moved or cut."""
    if isinstance(value, datetime) and isinstance(other, date) and not isinstance(other, datetime):
        return value.date()
    return value


ASKED = (*NUMBERS, *MOMENTS)


@pytest.fixture(scope="module")
def here():
    script, rows = table(tame=False)
    engine = script.world().engine
    yield script, rows, engine
    engine.close()


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.text)
def test_a_date_is_the_number_that_python_and_duckdb_say(asked, here):
    script, rows, engine = here
    found = computed(asked, script, engine)
    if asked.needs:
        assert found == [asked.of(row) for row in rows]
    if asked.duckdb is not None:
        assert found == [_like(value, other) for value, other in zip(own(asked), found, strict=True)]


@pytest.mark.parametrize("name", OTHERS)
def test_every_engine_has_the_same_dates_row_for_row(name):
    other = OTHERS[name]
    script, rows = table(tame=other.tame)
    first, second = script.world().engine, other.opened(other.fitted(script))
    try:
        for asked in ASKED:
            found = computed(asked, script, second)
            assert found == computed(asked, script, first), asked.text
            if asked.needs:
                assert found == [asked.of(row) for row in rows], asked.text
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(("forgotten", "name"), [(exp.Add, "sail"), (exp.Anonymous, "postgres")])
def test_a_rewrite_that_is_forgotten_is_noticed(forgotten, name, monkeypatch):
    script, _ = table(tame=OTHERS[name].tame)
    monkeypatch.delitem(dialects._SPARK if name == "sail" else dialects._POSTGRES, forgotten)
    engine = OTHERS[name].opened(script)
    try:
        with pytest.raises(EngineError):  # noqa: PT012 - some of them need it
            for asked in MOMENTS:
                computed(asked, script, engine)
    finally:
        engine.close()


def _ended_early(months: int, earlier: instants.Instant, later: instants.Instant) -> grid.Grid:
    return instant_numbers.towards_zero(instant_numbers._whole_months(earlier, later), months)


@pytest.mark.parametrize(
    ("name", "planted"), [("_periods_of_age", _ended_early), ("_LONGEST", 30)], ids=["early", "months of thirty days"]
)
def test_a_month_that_ends_early_is_noticed(here, monkeypatch, name, planted):
    """The planted bugs: AGE that lets the last day of a short month complete a month, or takes the 31st for the 1st."""
    script, rows, engine = here
    asked = next(each for each in NUMBERS if each.text.startswith("DATE_PART('month', AGE(a"))
    monkeypatch.setattr(instant_numbers, name, planted)
    assert computed(asked, script, engine) != [asked.of(row) for row in rows]
