"""What the conformance suite says to each engine: the same demands in the words of its SQL."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import duckdb

from support import sail, spark
from support.postgres import server
from support.sqlite import copy_into
from tacit.engines import Limits
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.policy.sources.dataset import SourceLike

CANARY = "canary"
Values = tuple[tuple[str, object], ...]
TABLES = [
    TablePolicy("people", "id", columns=[ColumnPolicy("city"), ColumnPolicy("pay", lower=0, upper=100003, step=1)]),
    TablePolicy("towns", public=True),
]


@dataclass(frozen=True)
class Words:
    """One engine's SQL."""

    series: str  # {0}: how many whole numbers from 0 on, as a table with the column i
    wide: str  # a type wider than 64 bits
    double: str
    nan: str  # holds where {0} is NaN
    takes_long: str
    over_limits: dict[str, Limits]
    not_integers: tuple[str, ...]
    values: Values
    no_keys: tuple[str, ...]
    signless: tuple[str, ...]  # minus zero
    failing: dict[str, str]
    writes: tuple[str, ...]
    utc: tuple[str, str]
    timeout: float = 1.5  # seconds: far less than what takes long, far more than the smallest question
    nan_key: str = "nan"  # the one key that NaN is

    def people(self) -> str:
        return f"""
            SELECT CAST(i AS BIGINT) AS id, CONCAT('{CANARY}-name-', i) AS name,
                CONCAT('{CANARY}-city-', i % 7) AS city,
                CAST(i * 7919 % 100003 AS BIGINT) AS pay,
                CASE WHEN i % 11 = 0 THEN CAST('NaN' AS {self.double}) ELSE i / CAST(8 AS {self.double}) END AS score,
                DATE '2020-01-01' + CAST(i % 900 AS INTEGER) AS joined
            FROM {self.series.format(20000)}"""


EVERYWHERE: Values = (
    ("TRUE", True),
    ("42", 42),
    ("CAST('0.10' AS DECIMAL(4, 2))", Fraction(1, 10)),
    ("CAST('3.00' AS DECIMAL(4, 2))", 3),
    (
        "CAST('12345678901234567890123456789012345.67' AS DECIMAL(38, 2))",
        Fraction(1234567890123456789012345678901234567, 100),
    ),
    ("DATE '2026-01-31'", date(2026, 1, 31)),
    ("'Zürich 🏔 e\u0301'", "Zürich 🏔 e\u0301"),
    ("''", ""),
    ("repeat('x', 1000000)", "x" * 1_000_000),
)
FAILING = {
    "an overflow": "SELECT CAST(9223372036854775000 AS BIGINT) + pay AS n FROM people",
    "a subquery of two rows": "SELECT (SELECT name FROM people) AS n",
    "a column that is not there": "SELECT nam AS n FROM people",
    "a table that is not there": "SELECT 1 AS n FROM peopel",
    "a function that is not there": "SELECT canaries(name) AS n FROM people",
    "no SQL at all": "SELEC name FROM people",
    "nothing": "",
    "two statements": "SELECT 1 AS n; SELECT 2 AS n",
    "a NUL in the text": "SELECT 1 AS n \0 FROM people",
    "a cast to a number": "SELECT CAST(name AS INTEGER) AS n FROM people",
    "a cast to a date": "SELECT CAST(name AS DATE) AS n FROM people",
    "a cast to a decimal": "SELECT CAST(name AS DECIMAL(5, 2)) AS n FROM people",
    "a cast to a truth value": "SELECT CAST(city AS BOOLEAN) AS n FROM people",
}
WRITES = (
    "CREATE TABLE copy AS SELECT * FROM people",
    "DELETE FROM people",
    "UPDATE people SET pay = 0",
    "INSERT INTO towns VALUES ('Basel')",
    "COMMIT; CREATE TABLE copy AS SELECT 1 AS n",
    "WITH gone AS (DELETE FROM towns RETURNING town) SELECT town FROM gone",
)
NOT_INTEGERS = ("1.5", "'1'", "TRUE", "CAST(NULL AS BIGINT)", "DATE '2020-01-01'")

DUCKDB = Words(
    series="range({0}) AS made(i)",
    wide="HUGEINT",
    double="DOUBLE",
    nan="isnan({0})",
    takes_long="SELECT CAST(count(*) AS BIGINT) AS n FROM range(400000000000) AS made(i) WHERE i % 7 > 2",  # minutes
    over_limits={"SELECT len(list(i)) AS n FROM range(20000000) AS made(i)": Limits(threads=1, memory="40MB")},
    not_integers=(*NOT_INTEGERS, "CAST(1 AS HUGEINT)", "CAST(1 AS DOUBLE)"),
    values=(
        *EVERYWHERE,
        ("NULL::VARCHAR", None),
        ("CAST(18446744073709551615 AS UBIGINT)", 2**64 - 1),
        ("CAST('-170141183460469231731687303715884105728' AS HUGEINT)", -(2**127)),
        ("CAST(1.1 AS FLOAT)", 1.1),
        ("CAST('inf' AS DOUBLE)", float("inf")),
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
        ("'a' || chr(0) || 'b'", "a\0b"),
    ),
    no_keys=("[1, 2]", "{'a': 1}", "CAST('a' AS BLOB)", "INTERVAL 1 MONTH", "NULL"),
    signless=("CAST(-x AS DOUBLE)", "CAST(-x AS FLOAT)"),
    failing={
        **FAILING,
        "a date by a format": "SELECT strptime(name, '%Y') AS n FROM people",
        "an error on demand": "SELECT error(name) AS n FROM people",
        "an error in one row": "SELECT CASE WHEN id = 77 THEN error(name) END AS n FROM people",
    },
    writes=WRITES,
    utc=("CAST(TIMESTAMPTZ '2020-07-01 00:00:00+00' AS VARCHAR)", "2020-07-01 00:00:00+00"),
)
POSTGRES = Words(
    series="generate_series(CAST(0 AS BIGINT), {0} - 1) AS made(i)",
    wide="NUMERIC",
    double="DOUBLE PRECISION",
    nan="{0} = 'NaN'",
    takes_long="SELECT count(*) AS n FROM generate_series(1, 20000) AS a(i), generate_series(1, 20000) AS b(j)"
    " WHERE (i + j) % 7 > 2",
    over_limits={},  # what does not fit into memory goes to the disk
    not_integers=(*NOT_INTEGERS, "CAST(1 AS NUMERIC)", "CAST(1 AS DOUBLE PRECISION)"),
    values=(
        *EVERYWHERE,
        ("NULL::VARCHAR", None),
        ("CAST(18446744073709551615 AS NUMERIC)", 2**64 - 1),
        ("CAST('-170141183460469231731687303715884105728' AS NUMERIC)", -(2**127)),
        ("CAST('1e400' AS NUMERIC)", 10**400),
        ("CAST('-Infinity' AS NUMERIC)", float("-inf")),
        ("CAST(1.1 AS REAL)", 1.1),
        ("CAST('inf' AS DOUBLE PRECISION)", float("inf")),
        ("DATE '0044-03-15 BC'", "0044-03-15 (BC)"),
        ("DATE '294247-01-01'", "294247-01-01"),
        ("CAST('infinity' AS DATE)", "infinity"),
        ("CAST('-infinity' AS TIMESTAMP)", "-infinity"),
        ("TIMESTAMP '2026-01-31 23:59:59.25'", datetime.fromisoformat("2026-01-31 23:59:59.250")),
        ("TIMESTAMP '0044-03-15 01:02:03 BC'", "0044-03-15 (BC) 01:02:03"),
        ("CAST('2026-01-31 23:59:59+02' AS TIMESTAMPTZ)", datetime.fromisoformat("2026-01-31 21:59:59")),
        ("CAST('00000000-0000-0000-0000-000000000001' AS UUID)", "00000000-0000-0000-0000-000000000001"),
        ("CAST('pad  ' AS CHAR(5))", "pad  "),
    ),
    no_keys=("ARRAY[1, 2]", "ROW(1, 2)", "CAST('a' AS BYTEA)", "INTERVAL '1 month'", "CAST('{}' AS JSONB)"),
    signless=("CAST(-x AS DOUBLE PRECISION)", "CAST(-x AS REAL)"),
    failing={
        **FAILING,
        "a date by a format": "SELECT to_date(name, 'YYYY') AS n FROM people",
        "an error in one row": "SELECT CASE WHEN id = 77 THEN CAST(name AS INTEGER) END AS n FROM people",
        "a whole row": "SELECT CAST(CAST(people AS TEXT) AS INTEGER) AS n FROM people",
    },
    writes=(*WRITES, "SELECT nextval('public.counter') AS n", "SELECT lo_creat(-1) AS n"),
    utc=("CAST(TIMESTAMPTZ '2020-07-01 00:00:00+00' AS TEXT)", "2020-07-01 00:00:00+00"),
)
SPARK = Words(
    series="(SELECT id AS i FROM range({0})) AS made",
    wide="DECIMAL(38, 0)",
    double="DOUBLE",
    nan="isnan({0})",
    takes_long="SELECT count(*) AS n FROM range(1000000) AS a, range(100000) AS b WHERE (a.id + b.id) % 7 > 2",
    over_limits={},
    not_integers=(*NOT_INTEGERS, "CAST(1 AS DECIMAL(38, 0))", "CAST(1 AS DOUBLE)"),
    values=(
        *EVERYWHERE,
        ("CAST(NULL AS STRING)", None),
        ("CAST('-99999999999999999999999999999999999999' AS DECIMAL(38, 0))", 1 - 10**38),
        ("CAST(1.1 AS FLOAT)", 1.1),
        ("CAST('inf' AS DOUBLE)", float("inf")),
        ("DATE '0001-01-01'", date(1, 1, 1)),
        ("DATE '9999-12-31'", date(9999, 12, 31)),
        ("DATE_ADD(DATE '9999-12-31', 1)", "10000-01-01"),
        ("DATE_SUB(DATE '0001-01-01', 1)", "0001-12-31 (BC)"),
        ("TIMESTAMP_NTZ '2026-01-31 23:59:59.25'", datetime.fromisoformat("2026-01-31 23:59:59.250")),
        ("CAST('2026-01-31 23:59:59+02:00' AS TIMESTAMP)", datetime.fromisoformat("2026-01-31 21:59:59")),
    ),
    no_keys=("array(1, 2)", "named_struct('a', 1)", "CAST('a' AS BINARY)", "map('a', 1)"),
    signless=("CAST(-x AS DOUBLE)", "CAST(-x AS FLOAT)"),
    failing={
        **{what: sql for what, sql in FAILING.items() if what != "an overflow"},  # see SPARK_ITSELF
        "an error on demand": "SELECT raise_error(name) AS n FROM people",
        "an error in one row": "SELECT CASE WHEN id = 77 THEN CAST(name AS INTEGER) END AS n FROM people",
    },
    writes=(*WRITES, "INSERT OVERWRITE DIRECTORY '/tmp/tacit-copy' USING parquet SELECT * FROM people"),
    utc=("CAST(CAST('2020-07-01 00:00:00+00:00' AS TIMESTAMP) AS STRING)", "2020-07-01 00:00:00"),
)

SPARK_ITSELF = replace(
    SPARK,
    # What is stopped while it is still planned runs on, on the server, and is in the way until it is done.
    takes_long="SELECT count(*) AS n FROM range(6000000000) WHERE id % 7 > 2",
    timeout=3,
    failing={**SPARK.failing, "an overflow": FAILING["an overflow"]},  # where Sail wraps round
)


SQLITE = replace(DUCKDB, nan="{0} IS NULL", nan_key="None")  # SQLite knows no NaN: it keeps NULL instead


def policy_over(source: SourceLike, base: Path, *, engine: str = "duckdb") -> Policy:
    return Policy(Dataset("house", source, base=base, engine=engine), BudgetPolicy(10), tables=TABLES)


def over_a_database(base: Path) -> Policy:
    with duckdb.connect(str(base / "house.duckdb")) as owner:
        owner.execute(f"CREATE TABLE people AS {DUCKDB.people()}; CREATE TABLE towns AS SELECT 'Bern' AS town")
        owner.execute(f"CREATE TABLE undeclared AS SELECT '{CANARY}-undeclared' AS secret")
    return policy_over("house.duckdb", base)


def over_parquet(base: Path) -> Policy:
    with duckdb.connect() as owner:
        owner.execute(f"COPY ({DUCKDB.people()}) TO '{base}/people.parquet' (FORMAT parquet)")
        owner.execute(f"COPY (SELECT 'Bern' AS town) TO '{base}/towns.csv' (FORMAT csv, HEADER)")
    return policy_over({"people": "people.parquet", "towns": "towns.csv"}, base)


def over_postgres(base: Path) -> Policy:
    import psycopg

    url = server().database()
    with psycopg.connect(url) as owner:
        owner.execute(f"CREATE TABLE people AS {POSTGRES.people()}")
        owner.execute("CREATE TABLE towns AS SELECT CAST('Bern' AS VARCHAR) AS town")
        owner.execute(f"CREATE TABLE undeclared AS SELECT '{CANARY}-undeclared' AS secret")
        owner.execute("CREATE SEQUENCE counter")
    return policy_over(url, base, engine="postgres")


def over_sail(base: Path) -> Policy:
    return _over_spark(base, sail.server())


def over_spark(base: Path) -> Policy:
    return _over_spark(base, spark.cluster().address)


def _over_spark(base: Path, address: str) -> Policy:
    with duckdb.connect() as owner:
        owner.execute(f"COPY ({DUCKDB.people()}) TO '{base}/people.parquet' (FORMAT parquet)")
        owner.execute(f"COPY (SELECT 'Bern' AS town) TO '{base}/towns.parquet' (FORMAT parquet)")
    os.environ["SPARK_REMOTE"] = address
    return policy_over({"people": "people.parquet", "towns": "towns.parquet"}, base, engine="spark")


def over_sqlite(base: Path) -> Policy:
    with duckdb.connect() as owner:
        copy_into(
            base / "house.sqlite",
            owner,
            people=DUCKDB.people(),
            towns="SELECT 'Bern' AS town",
            undeclared=f"SELECT '{CANARY}-undeclared' AS secret",
        )
    return policy_over("house.sqlite", base, engine="sqlite")


# A new engine joins by one line here, and its words above.
ENGINES: dict[str, tuple[Callable[[Path], Policy], Words]] = {
    "duckdb-database": (over_a_database, DUCKDB),
    "duckdb-files": (over_parquet, DUCKDB),
    "postgres": (over_postgres, POSTGRES),
    "sail": (over_sail, SPARK),
    "sqlite": (over_sqlite, SQLITE),
    "spark": (over_spark, SPARK_ITSELF),
}
ON_A_CLUSTER = {"spark"}  # these run where there is one: make test-spark
