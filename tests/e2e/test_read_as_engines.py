"""TRY_CAST of texts: by one grammar, the same on every engine, whatever the cells hold."""

from __future__ import annotations

import random
import re
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import pytest
from sqlglot import exp

from conformance.engine_pairs import Script
from conformance.engine_sources import OTHERS
from conformance.sql_world import policy_of
from tacit.errors import EngineError
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql import bind, parse
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.text import read_as
from tacit.sql.expressions.text.spaces import SPACES

LETTERS = "0123456789" * 3 + "+-. eE,TZ:_x" + "\u00a0\u0661\uff15é'\\%"
ODD = (
    "", " ", ".", "-", "+", "-.", "+.5", "5.", "-0", "--5", "- 5", "5-", "1e3", "1E3", "inf", "NaN", "0x1F", "1_000",
    "1,5", "\uff11\uff12", "0" * 300 + "7", "9" * 300, "0." + "9" * 300, "127", "127.49", "127.5", "-128.5", "128",
    "32767.5", "2147483647", "2147483648", "-2147483647.5", "99999999999999999", "100000000000000000", "999.94",
    "999.95", "0.05", "0.049", "-0.05", " 12.5\u3000", "\t5", "5\n", "5\x00"[:1], "2020-02-29", "2021-02-29",
    "1900-02-29", "2000-02-29", "2020-2-9", "2020-13-01", "2020-00-10", "2020-04-31", "0000-01-01", "0001-01-01",
    "9999-12-31", "2020-01-32",
    "20-01-2001", "2020/01/01", "2020-01-01 ", "2020-01-01T23:59:59", "2020-01-01 24:00:00",
    "2020-01-01 23:59:60", "2020-01-01 23:59:59.5", "2020-01-01T23:59:59Z", "2020-02-30 10:00:00",
    "1969-12-31 23:59:59",
    "0001-01-01 00:00:00", "9999-12-31T23:59:59",
    "2020-01-01x10:00:00", "----------", "    -  -  ", "infinity", "today",
)  # fmt: skip
NUMBERS = {  # digits before the point, places, the largest
    "TINYINT": (3, 0, 127),
    "SMALLINT": (5, 0, 32767),
    "INTEGER": (10, 0, 2147483647),
    "BIGINT": (17, 0, None),
    "DECIMAL(4, 1)": (3, 1, None),
    "DECIMAL(17, 17)": (0, 17, None),
    "DOUBLE": (11, 6, None),
}


def texts() -> list[str | None]:
    rng = random.Random(5)
    drawn = ["".join(rng.choices(LETTERS, k=rng.randrange(1, 8))) for _ in range(400)]
    days = [f"{rng.randrange(1, 3000):04}-{rng.randrange(0, 14):02}-{rng.randrange(0, 33):02}" for _ in range(200)]
    times = [
        f"{day}{rng.choice(' T')}{rng.randrange(26):02}:{rng.randrange(62):02}:{rng.randrange(62):02}" for day in days
    ]
    return [*ODD, *drawn, *days, *times, None]


def script(cells: list[str | None]) -> Script:
    def quoted(text: str | None) -> str:
        return "NULL" if text is None else "'" + text.replace("'", "''") + "'"

    lines = ", ".join(f"({place % 5}, {place}, {quoted(text)})" for place, text in enumerate(cells))
    columns = [ColumnPolicy("rid", lower=0, upper=len(cells), step=1), ColumnPolicy("s")]
    policy = policy_of([TablePolicy("t", "uid", columns=columns, max_rows=len(cells), max_groups=len(cells))])
    made = "CREATE TABLE base (uid BIGINT, rid INTEGER, s VARCHAR)"
    return Script(policy, (made, f"INSERT INTO base VALUES {lines}", "CREATE VIEW t AS SELECT * FROM base"))


def read(kind: str, made: Script, engine) -> list[object]:
    """What TRY_CAST says of every text, in an engine; that the promised bounds hold, too."""
    text = f"DP-SELECT 1 COUNT(*) FROM (SELECT uid, rid, TRY_CAST(s AS {kind}) AS e FROM t) AS q"
    bound = bind(parse(text), made.policy, schema=engine.schema())
    listed = [exp.column(exp.to_identifier(name, quoted=True)) for name in ("rid", "e")]
    tree = exp.select(*(exp.alias_(column, f"c{place}") for place, column in enumerate(listed)))
    exact = engine.execute(emit(qualified(tree.from_(bound.relation.sql.copy())), engine.dialect))
    column = bound.table.column("e")
    found = dict(zip(exact.keys("c0"), exact.keys("c1"), strict=True))
    values = [found[place] for place in range(len(found))]
    if column.type is not None and column.type.is_numeric:
        assert column.bounds is not None
        values = [None if value is None else int(str(value)) * column.bounds.step for value in values]
    assert all(value is None or column.lower <= value <= column.upper for value in values)
    return values


def number(text: str | None, before: int, places: int, largest: int | None) -> Fraction | None:
    found = re.fullmatch(r"([+-]?)([0-9]*)(?:\.([0-9]*))?", "" if text is None else text.strip(SPACES))
    if found is None or not (found[2] or found[3]):
        return None
    whole = found[2].lstrip("0")
    if len(whole) > before or (largest is not None and int(whole or 0) > largest):
        return None
    size = Decimal(f"0{whole}.{found[3] or 0}").quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    return Fraction(size) * (-1 if found[1] == "-" else 1)


def day(text: str | None) -> date | None:
    stripped = "" if text is None else text.strip(SPACES)
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", stripped):
        return None
    try:
        return date.fromisoformat(stripped)
    except ValueError:
        return None


def moment(text: str | None) -> datetime | None:
    stripped = "" if text is None else text.strip(SPACES)
    midnight = day(stripped[:10])
    if midnight is None or not re.fullmatch(r".{10}([ T][0-9]{2}:[0-9]{2}:[0-9]{2})?", stripped):
        return None
    try:
        return datetime.fromisoformat(stripped)
    except ValueError:
        return None


EXPECTED = {
    **{kind: lambda text, form=form: number(text, *form) for kind, form in NUMBERS.items()},
    "DATE": day,
    "TIMESTAMP": moment,
}


@pytest.fixture(scope="module")
def here():
    made = script(texts())
    engine = made.world().engine
    yield made, engine
    engine.close()


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_text_is_the_number_or_the_date_that_it_writes(kind, here):
    found = read(kind, *here)
    expected = [EXPECTED[kind](text) for text in texts()]
    wrong = [each for each in zip(texts(), found, expected, strict=True) if each[1] != each[2]]
    assert not wrong
    assert sum(value is not None for value in expected) > 10


@pytest.mark.parametrize("name", OTHERS)
def test_every_engine_reads_the_same(name):
    other = OTHERS[name]
    made = script(texts())
    engine = other.opened(other.fitted(made))
    try:
        for kind, expected in EXPECTED.items():
            wrong = [
                each
                for each in zip(texts(), read(kind, made, engine), map(expected, texts()), strict=True)
                if each[1] != each[2]
            ]
            assert not wrong, kind
    finally:
        engine.close()


def test_a_cast_that_meets_what_is_no_number_is_noticed(here, monkeypatch):
    """The planted bug: every text passes for a number, and reaches the cast."""
    monkeypatch.setattr(read_as, "_all", lambda *conditions: exp.true())
    with pytest.raises(EngineError):
        read("DECIMAL(4, 1)", *here)


def test_a_number_that_is_not_held_to_its_type_is_noticed(here, monkeypatch):
    """The planted bug: digits are not counted, so that the bounds do not hold."""
    monkeypatch.setattr(read_as, "_is_short", lambda front, read: exp.true())
    with pytest.raises((AssertionError, EngineError)):
        read("DECIMAL(4, 1)", *here)
