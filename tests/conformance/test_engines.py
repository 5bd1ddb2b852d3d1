"""What every engine owes the curator. A new engine joins by one line in `ENGINES`."""

from __future__ import annotations

import logging
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tacit.engines import Engine, Exact, Limits, open_engine, unreadable_tables
from tacit.errors import EngineError
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.policy.dataset import SourceLike

CANARY = "canary"
PEOPLE = f"""
    SELECT i AS id, '{CANARY}-name-' || i AS name, '{CANARY}-city-' || (i % 7) AS city,
           CAST(i * 7919 % 100003 AS BIGINT) AS pay,
           CASE WHEN i % 11 = 0 THEN CAST('nan' AS DOUBLE) ELSE i / 8.0 END AS score,
           DATE '2020-01-01' + CAST(i % 900 AS INTEGER) AS joined
    FROM range(20000) AS made(i)"""
TABLES = [
    TablePolicy("people", "id", columns=[ColumnPolicy("city"), ColumnPolicy("pay", lower=0, upper=100003, step=1)]),
    TablePolicy("towns", public=True),
]
TAKES_LONG = "SELECT CAST(count(*) AS BIGINT) AS n FROM range(400000000) AS made(i) WHERE i % 7 > 2"  # seconds


def _policy(source: SourceLike, base: Path) -> Policy:
    return Policy(Dataset("house", source, base=base), BudgetPolicy(10), tables=TABLES)


def over_a_database(base: Path) -> Policy:
    with duckdb.connect(str(base / "house.duckdb")) as owner:
        owner.execute(f"CREATE TABLE people AS {PEOPLE}; CREATE TABLE towns AS SELECT 'Bern' AS town")
        owner.execute(f"CREATE TABLE undeclared AS SELECT '{CANARY}-undeclared' AS secret")
    return _policy("house.duckdb", base)


def over_parquet(base: Path) -> Policy:
    with duckdb.connect() as owner:
        owner.execute(f"COPY ({PEOPLE}) TO '{base}/people.parquet' (FORMAT parquet)")
        owner.execute(f"COPY (SELECT 'Bern' AS town) TO '{base}/towns.csv' (FORMAT csv, HEADER)")
    return _policy({"people": "people.parquet", "towns": "towns.csv"}, base)


ENGINES: dict[str, Callable[[Path], Policy]] = {
    "duckdb-database": over_a_database,
    "duckdb-files": over_parquet,
}


@pytest.fixture(scope="module", params=ENGINES)
def policy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return ENGINES[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def engine(policy: Policy) -> Iterator[Engine]:
    opened = open_engine(policy)
    yield opened
    opened.close()


def failure(engine: Engine, sql: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        engine.execute(sql)
    return caught.value


def everything_said_by(error: BaseException) -> str:
    """All that a handler, a logger, a debugger or another process could print of an error."""
    assert error.__cause__ is None
    assert error.__context__ is None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [frame.f_locals for frame in frames if frame.f_globals["__name__"].startswith("tacit.")]
    assert ours
    printed = traceback.format_exception(error)
    return f"{error!r} {error} {error.args} {vars(error)} {pickle.dumps(error)!r} {printed} {ours}"


# ── what comes back ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_schema_names_the_policys_tables_and_nothing_else(engine):
    schema = engine.schema()
    assert (set(schema), schema["people"]["pay"]) == ({"people", "towns"}, "BIGINT")
    assert schema["towns"] == {"town": "VARCHAR"}


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 0])
def test_whole_numbers_come_back_exactly(engine, value):
    integers = engine.execute(f"SELECT CAST({value} AS BIGINT) AS n").integers("n")
    assert integers.dtype == np.int64
    assert integers.tolist() == [value]


def test_small_whole_numbers_are_widened(engine):
    assert engine.execute("SELECT CAST(-3 AS SMALLINT) AS n").integers("n").dtype == np.int64


def test_a_wide_sum_saturates_where_the_sql_says_so(engine):
    wide = "CAST(9223372036854775807 AS HUGEINT) * CAST(x AS HUGEINT)"
    sql = f"""SELECT CAST(CASE WHEN {wide} > 9223372036854775807 THEN 9223372036854775807
                               WHEN {wide} < -9223372036854775808 THEN -9223372036854775808
                               ELSE {wide} END AS BIGINT) AS n FROM (VALUES (1), (5), (-5)) AS v(x)"""
    assert sorted(engine.execute(sql).integers("n").tolist()) == [-(2**63), 2**63 - 1, 2**63 - 1]


@pytest.mark.parametrize(
    "column",
    ["CAST(1 AS HUGEINT)", "1.5", "CAST(1 AS DOUBLE)", "'1'", "TRUE", "CAST(NULL AS BIGINT)", "DATE '2020-01-01'"],
)
def test_what_is_not_a_64_bit_whole_number_is_no_integer(engine, column):
    exact = engine.execute(f"SELECT {column} AS n")
    with pytest.raises(EngineError):
        exact.integers("n")


def test_one_null_among_integers_is_refused_not_filled(engine):
    exact = engine.execute("SELECT x AS n FROM (VALUES (1), (NULL)) AS v(x)")
    assert set(exact.keys("n")) == {1, None}
    with pytest.raises(EngineError):
        exact.integers("n")


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("NULL::VARCHAR", None),
        ("TRUE", True),
        ("42", 42),
        ("CAST(18446744073709551615 AS UBIGINT)", 2**64 - 1),
        ("CAST('-170141183460469231731687303715884105728' AS HUGEINT)", -(2**127)),
        ("CAST('0.10' AS DECIMAL(4, 2))", Fraction(1, 10)),
        ("CAST('3.00' AS DECIMAL(4, 2))", 3),
        (
            "CAST('12345678901234567890123456789012345.67' AS DECIMAL(38, 2))",
            Fraction(1234567890123456789012345678901234567, 100),
        ),
        ("CAST(1.1 AS FLOAT)", 1.1),
        ("CAST('inf' AS DOUBLE)", float("inf")),
        ("DATE '2026-01-31'", date(2026, 1, 31)),
        ("DATE '0044-03-15 (BC)'", "0044-03-15 (BC)"),
        ("DATE '294247-01-01'", "294247-01-01"),
        ("DATE '5877642-06-25 (BC)'", "5877642-06-25 (BC)"),
        ("CAST('infinity' AS DATE)", "infinity"),
        ("CAST('-infinity' AS TIMESTAMP)", "-infinity"),
        ("TIMESTAMP '2026-01-31 23:59:59.25'", datetime.fromisoformat("2026-01-31 23:59:59.250")),
        ("TIMESTAMP '0044-03-15 (BC) 01:02:03'", "0044-03-15 (BC) 01:02:03"),
        ("TIMESTAMP '294247-01-01 01:02:03'", "294247-01-01 01:02:03"),
        ("CAST('2026-01-31 23:59:59+02' AS TIMESTAMPTZ)", datetime.fromisoformat("2026-01-31 21:59:59")),
        ("CAST('2026-01-31 00:00:00.123456789' AS TIMESTAMP_NS)", "2026-01-31 00:00:00.123456789"),
        ("CAST('a' AS ENUM ('a', 'b'))", "a"),
        ("CAST('00000000-0000-0000-0000-000000000001' AS UUID)", "00000000-0000-0000-0000-000000000001"),
        ("'Zürich 🏔 e\u0301'", "Zürich 🏔 e\u0301"),
        ("'a' || chr(0) || 'b'", "a\0b"),
        ("''", ""),
        ("repeat('x', 1000000)", "x" * 1_000_000),
    ],
)
def test_a_key_comes_back_as_the_policys_kind_of_value(engine, sql, value):
    keys = engine.execute(f"SELECT {sql} AS k").keys("k")
    assert keys == [value]
    assert type(keys[0]) is type(value)


def test_keys_mix_with_null(engine):
    three = "(VALUES (DATE '2020-01-01'), (NULL), (NULL)) AS v(x)"
    sql = f"SELECT x AS k, CAST(count(*) AS BIGINT) AS n FROM {three} GROUP BY x"
    exact = engine.execute(sql)
    assert dict(zip(exact.keys("k"), exact.integers("n").tolist(), strict=True)) == {date(2020, 1, 1): 1, None: 2}


def test_nan_is_one_key(engine):
    exact = engine.execute(
        "SELECT score AS k, CAST(count(*) AS BIGINT) AS n FROM people WHERE isnan(score) GROUP BY score"
    )
    assert exact.rows == 1
    assert str(exact.keys("k")[0]) == "nan"
    assert exact.integers("n").tolist() == [1819]


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
def test_the_sign_of_zero_does_not_tell_whose_row_came_first(engine, kind):
    keys = engine.execute(f"SELECT CAST(-x AS {kind}) AS k FROM (VALUES (CAST(0 AS DOUBLE))) AS v(x)").keys("k")
    assert str(keys[0]) == "0.0"


@pytest.mark.parametrize("column", ["[1, 2]", "{'a': 1}", "CAST('a' AS BLOB)", "INTERVAL 1 MONTH", "NULL"])
def test_a_type_that_is_no_key_is_refused_before_any_row_is_read(engine, column):
    failure(engine, f"SELECT {column} AS k FROM people WHERE id = 5")


@pytest.mark.parametrize("twin", ["n", "N"])
def test_two_columns_of_one_name_are_refused(engine, twin):
    failure(engine, f"SELECT 1 AS n, 2 AS {twin}")


def test_an_empty_result_keeps_its_columns(engine):
    exact = engine.execute(
        "SELECT city AS k, joined AS d, CAST(count(*) AS BIGINT) AS n FROM people WHERE id < 0 GROUP BY ALL"
    )
    assert exact.rows == 0
    assert (exact.integers("n").tolist(), exact.integers("n").dtype) == ([], np.int64)
    assert exact.keys("k") == exact.keys("d") == []


def test_a_million_groups_come_back(engine):
    exact = engine.execute("SELECT 'key-' || i AS k, CAST(i AS BIGINT) AS n FROM range(1000000) AS made(i)")
    assert exact.rows == len(exact.keys("k")) == 1_000_000
    assert int(exact.integers("n").sum()) == 499_999_500_000


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────────────────────────

FAILING = {
    "a cast to a number": "SELECT CAST(name AS INTEGER) AS n FROM people",
    "a cast to a date": "SELECT CAST(name AS DATE) AS n FROM people",
    "a cast to a decimal": "SELECT CAST(name AS DECIMAL(5, 2)) AS n FROM people",
    "a cast to a truth value": "SELECT CAST(city AS BOOLEAN) AS n FROM people",
    "a date by a format": "SELECT strptime(name, '%Y') AS n FROM people",
    "an error on demand": "SELECT error(name) AS n FROM people",
    "an error in one row": "SELECT CASE WHEN id = 77 THEN error(name) END AS n FROM people",
    "an overflow": "SELECT CAST(9223372036854775000 AS BIGINT) + pay AS n FROM people",
    "a subquery of two rows": "SELECT (SELECT name FROM people) AS n",
    "a column that is not there": "SELECT nam AS n FROM people",
    "a table that is not there": "SELECT 1 AS n FROM peopel",
    "a function that is not there": "SELECT canaries(name) AS n FROM people",
    "no SQL at all": "SELEC name FROM people",
    "nothing": "",
    "two statements": "SELECT 1 AS n; SELECT 2 AS n",
    "a NUL in the text": "SELECT 1 AS n \0 FROM people",
}


def test_every_failure_has_the_same_words(engine):
    errors = [failure(engine, sql) for sql in FAILING.values()]
    assert len({(type(error), error.args, error.hint, str(vars(error))) for error in errors}) == 1


@pytest.mark.parametrize("what", FAILING)
def test_no_cell_is_in_anything_a_failure_carries(engine, what):
    assert CANARY not in everything_said_by(failure(engine, FAILING[what]))


def test_a_limit_that_is_hit_fails_like_anything_else(policy):
    limits = {
        TAKES_LONG: Limits(timeout=0.2),
        "SELECT len(list(i)) AS n FROM range(20000000) AS made(i)": Limits(threads=1, memory="40MB"),
    }
    for sql, limit in limits.items():
        tight = open_engine(policy, limit)
        hit, other = failure(tight, sql), failure(tight, FAILING["a cast to a number"])
        assert (hit.args, hit.hint) == (other.args, other.hint)
        assert tight.execute("SELECT 1 AS n").integers("n").tolist() == [1]
        tight.close()


class Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


def test_what_the_engine_said_reaches_nobody_unless_the_curator_listens(engine, capfd, monkeypatch):
    everyone = Listener()
    log = logging.getLogger("tacit.engine")
    monkeypatch.setattr(log, "handlers", [ours for ours in log.handlers if type(ours) is logging.NullHandler])
    monkeypatch.setattr(logging, "lastResort", everyone)
    logging.getLogger().addHandler(everyone)
    try:
        failure(engine, FAILING["a cast to a number"])
    finally:
        logging.getLogger().removeHandler(everyone)
    assert everyone.heard == []
    assert CANARY not in "".join(capfd.readouterr())


def test_the_curators_log_has_the_engines_own_words(engine):
    curator = Listener()
    logging.getLogger("tacit.engine").addHandler(curator)
    try:
        failure(engine, FAILING["a cast to a number"])
    finally:
        logging.getLogger("tacit.engine").removeHandler(curator)
    assert any(f"{CANARY}-name-" in line for line in curator.heard)


# ── ways out (what DuckDB in particular must refuse is in unit/test_engine_lock.py) ──────────────────────────────────

WRITES = [
    "CREATE TABLE copy AS SELECT * FROM people",
    "DELETE FROM people",
    "UPDATE people SET pay = 0",
    "INSERT INTO towns VALUES ('Basel')",
    "COMMIT; CREATE TABLE copy AS SELECT 1 AS n",
    "WITH gone AS (DELETE FROM towns RETURNING town) SELECT town FROM gone",
]


@pytest.mark.parametrize("sql", WRITES)
def test_nothing_is_written(engine, sql):
    failure(engine, sql)
    assert engine.execute("SELECT CAST(count(*) AS BIGINT) AS n FROM towns").integers("n").tolist() == [1]
    failure(engine, "SELECT 1 AS n FROM copy")


def test_times_are_in_utc_wherever_the_machine_stands(policy, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    opened = open_engine(policy)
    sql = "SELECT CAST(TIMESTAMPTZ '2020-07-01 00:00:00+00' AS VARCHAR) AS k"
    assert opened.execute(sql).keys("k") == ["2020-07-01 00:00:00+00"]
    opened.close()


def test_what_the_policy_does_not_declare_has_no_name(engine):
    failure(engine, "SELECT secret FROM undeclared")


# ── many at once ─────────────────────────────────────────────────────────────────────────────────────────────────────

BY_CITY = "SELECT city AS k, CAST(count(*) AS BIGINT) AS n, CAST(sum(pay) AS BIGINT) AS s FROM people GROUP BY city"


def groups(exact: Exact) -> dict[object, tuple[int, int]]:
    return dict(zip(exact.keys("k"), zip(exact.integers("n"), exact.integers("s"), strict=True), strict=True))


def test_eight_threads_get_the_answers_of_one(engine):
    alone = groups(engine.execute(BY_CITY))
    start = threading.Barrier(8)

    def ask(number: int) -> list[dict[object, tuple[int, int]]]:
        start.wait()
        answers = []
        for turn in range(10):
            if (number + turn) % 3 == 0:
                failure(engine, FAILING["a cast to a number"])
            answers.append(groups(engine.execute(BY_CITY)))
        return answers

    with ThreadPoolExecutor(8) as pool:
        for answers in pool.map(ask, range(8)):
            assert answers == [alone] * 10


def test_one_thread_and_two_give_the_same_whole_numbers(policy):
    seen = []
    for threads in (1, 2):
        opened = open_engine(policy, Limits(threads=threads))
        seen.append(groups(opened.execute(BY_CITY)))
        opened.close()
    assert seen[0] == seen[1]
    assert sum(n for n, _ in seen[0].values()) == 20_000


def test_a_policy_opens_twice_in_one_process(policy, engine):
    second = open_engine(policy, Limits(threads=1))
    try:
        assert groups(second.execute(BY_CITY)) == groups(engine.execute(BY_CITY))
    finally:
        second.close()
    assert engine.execute("SELECT 1 AS n").rows == 1


def test_a_question_is_interrupted_from_another_thread(policy):
    opened = open_engine(policy)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(failure, opened, TAKES_LONG)
        while not asking.done():  # an interrupt before the question has begun is lost, so: again
            opened.interrupt()
            wait([asking], timeout=0.05)
    assert asking.result().args == failure(opened, FAILING["nothing"]).args
    assert opened.execute("SELECT 1 AS n").rows == 1
    opened.close()


def test_a_closed_engine_answers_nothing_and_closes_again(policy):
    opened = open_engine(policy)
    for _ in range(2):
        opened.close()
    failure(opened, "SELECT 1 AS n")
    opened.interrupt()


def test_every_cell_is_readable(engine):
    assert unreadable_tables(engine) == ()
