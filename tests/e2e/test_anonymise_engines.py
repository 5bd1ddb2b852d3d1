"""Anonymise a table of PostgreSQL, Spark or SQLite: what is published is what DuckDB would publish of the same rows."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from e2e.cli_clinic import here
from support import sail
from support.postgres import server
from support.sqlite import copy_into
from tacit.engines import Exact
from tacit.errors import EngineError, InvalidParameter
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.release.anonymise import Bands, Prefix, anonymise, check
from tacit.release.anonymise.reading import remote

ROWS = 600
TOWNS = ("Oslo", "Moss", "Zürich", "o'Brien", "", "🏔", "e\u0301")
COLUMNS = (
    "id BIGINT, age INTEGER, height DECIMAL(5,1), weight DOUBLE PRECISION, born DATE, seen TIMESTAMP, town VARCHAR,"
    " member BOOLEAN, illness VARCHAR, note VARCHAR, visits SMALLINT"
)
KEY = b"a key that is long enough"


def rows() -> list[tuple[object, ...]]:
    rng = random.Random(5)

    def one(place: int) -> tuple[object, ...]:
        day = f"19{rng.randrange(60, 99)}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
        return (
            place // 2, rng.randrange(20, 80), f"{rng.randrange(1500, 2000) / 10}", rng.choice((0.1, 7.5, 1e300, -2)),
            day, f"{day} 0{rng.randrange(10)}:30:00", rng.choice(TOWNS), rng.random() < 0.5,
            rng.choice(("none", "none", "flu", "gout")), rng.choice((None, "a", "b")), rng.choice((None, 1, 2)),
        )  # fmt: skip

    return [one(place) for place in range(ROWS)]


def literal(cell: object) -> str:
    if cell is None:
        return "NULL"
    return "'" + cell.replace("'", "''") + "'" if isinstance(cell, str) else str(cell)


def statements() -> tuple[str, str]:
    lines = ", ".join(f"({', '.join(map(literal, row))})" for row in rows())
    return f"CREATE TABLE people ({COLUMNS})", f"INSERT INTO people VALUES {lines}"


def policy_of(source: str | dict[str, str], base: Path, engine: str) -> Policy:
    columns = [ColumnPolicy("age"), ColumnPolicy("town"), ColumnPolicy("illness")]
    return Policy(
        Dataset("people", source, engine=engine, base=base),
        BudgetPolicy(1),
        tables=[TablePolicy("people", "id", columns=columns)],
    )


def in_duckdb(base: Path) -> Policy:
    with duckdb.connect(str(base / "people.duckdb")) as owner:
        owner.execute(";".join(statements()))
    return policy_of("people.duckdb", base, "duckdb")


def in_postgres(base: Path) -> Policy:
    import psycopg

    url = server().database()
    with psycopg.connect(url) as owner:
        for statement in statements():
            owner.execute(statement.encode())
    return policy_of(url, base, "postgres")


def in_spark(base: Path) -> Policy:
    with duckdb.connect() as owner:
        owner.execute(";".join(statements()))
        owner.execute(f"COPY people TO '{base}/people.parquet' (FORMAT parquet)")
    os.environ["SPARK_REMOTE"] = sail.server()
    return policy_of({"people": "people.parquet"}, base, "spark")


def in_sqlite(base: Path) -> Policy:
    with duckdb.connect() as owner:
        owner.execute(";".join(statements()))
        copy_into(
            base / "people.sqlite", owner, people="SELECT * REPLACE (CAST(height AS DOUBLE) AS height) FROM people"
        )
    return policy_of("people.sqlite", base, "sqlite")


OTHERS: dict[str, Callable[[Path], Policy]] = {"postgres": in_postgres, "spark": in_spark, "sqlite": in_sqlite}


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Policy]:
    made: dict[str, Policy] = {}

    def policy(engine: str) -> Policy:
        if engine not in made:
            made[engine] = {"duckdb": in_duckdb, **OTHERS}[engine](tmp_path_factory.mktemp(engine))
        return made[engine]

    return policy


REQUESTS: dict[str, dict[str, Any]] = {
    "k": {"quasi_identifiers": ["age", "town"], "k": 5},
    "k, l and t": {"quasi_identifiers": ["age", "town", "member"], "k": 4, "sensitive": "illness", "l": 2, "t": 0.4},
    "numbers and dates": {"quasi_identifiers": ["height", "weight", "born", "seen"], "k": 3},
    "what is kept, with nulls": {"quasi_identifiers": ["age"], "k": 5, "keep": ["note", "visits"]},
    "pseudonyms": {"quasi_identifiers": ["age", "town"], "k": 5, "pseudonyms": ["id"], "key": KEY},
    "two secrets": {"quasi_identifiers": ["age"], "k": 5, "sensitive": ["illness", "height"], "l": 2},
    "rows left out": {"quasi_identifiers": ["age", "town", "weight"], "k": 6, "suppression": 0.1},
    "strict": {"quasi_identifiers": ["age", "height"], "k": 5, "method": "strict"},
    "hierarchies": {
        "quasi_identifiers": ["age", "town"],
        "k": 5,
        "method": "optimal",
        "hierarchies": {"age": Bands(((20, 40, 60, 80), (20, 80))), "town": Prefix((1,))},
    },
}


def plain(row: tuple[object, ...]) -> tuple[object, ...]:
    """SQLite has no decimals."""
    return tuple(float(cell) if isinstance(cell, Decimal) else cell for cell in row)


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("asked", REQUESTS)
def test_the_published_table_is_the_one_that_duckdb_would_publish(engine, asked, policies):
    here_, there = (
        anonymise("people", policy=policies(name), unit="row", **REQUESTS[asked]) for name in ("duckdb", engine)
    )
    names, published = there.rows(ROWS)
    assert (names, list(map(plain, published))) == (here_.rows()[0], list(map(plain, here_.rows(ROWS)[1])))
    assert published
    assert there.report.left_out == here_.report.left_out
    assert there.report.linkage == here_.report.linkage


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("method", ["relaxed", "microaggregate"])
def test_methods_that_part_rows_that_are_alike_keep_their_models(engine, method, policies, tmp_path):
    made = anonymise("people", ["age", "town"], k=5, method=method, unit="row", policy=policies(engine))
    audit = check(made.write(tmp_path / "public.csv"), ["age", "town"])
    assert (audit.rows, audit.k >= 5) == (ROWS, True)


@pytest.mark.parametrize("engine", OTHERS)
def test_the_engine_groups_and_only_different_rows_travel(engine, policies, monkeypatch):
    seen: list[tuple[int, tuple[str, ...]]] = []
    counted = remote._counted

    def watched(*words: Any) -> Exact:
        exact = counted(*words)
        seen.append((exact.rows, exact.names))
        return exact

    monkeypatch.setattr(remote, "_counted", watched)
    anonymise("people", ["member"], k=5, sensitive="illness", unit="row", policy=policies(engine))
    assert seen == [(6, ("member", "illness", "tacit_n"))], "two times three combinations, of columns that have a role"


@pytest.mark.parametrize("engine", OTHERS)
def test_a_table_that_breaks_its_models_is_not_published(engine, policies, monkeypatch):
    """The verification stands between any engine and the file: a count that is wrong on the way is not its excuse."""
    from tacit.errors import TacitError
    from tacit.release.anonymise import door

    real = door.publish

    def broken(prepared: Any, partition: Any, *, key: bytes | None) -> None:
        real(prepared, partition, key=key)
        prepared.source.connection.execute("DELETE FROM published WHERE rowid % 3 = 0")

    monkeypatch.setattr(door, "publish", broken)
    with pytest.raises(TacitError, match="nothing is published"):
        anonymise("people", ["age", "town", "height"], k=5, unit="row", policy=policies(engine))


@pytest.mark.parametrize("engine", OTHERS)
def test_a_table_is_checked_where_it_lies(engine, policies):
    audits = {
        name: check("people", ["town", "note"], sensitive="illness", unit="row", policy=policies(name))
        for name in (engine, "duckdb")
    }
    assert audits[engine] == audits["duckdb"]
    assert audits[engine].rows == ROWS


@pytest.mark.parametrize("engine", ["duckdb", *OTHERS])
def test_a_table_in_which_one_person_has_several_rows_is_refused_where_it_lies(engine, policies):
    """The policy names `id`, and each has two rows: what k would count are rows."""
    for act in (lambda **unit: anonymise("people", ["age"], k=5, policy=policies(engine), **unit),
                lambda **unit: check("people", ["age"], policy=policies(engine), **unit)):  # fmt: skip
        with pytest.raises(InvalidParameter, match="one person has several rows: id repeats") as caught:
            act()
        assert "GROUP BY" in caught.value.hint
        assert act(unit="row")


def test_kinds_and_names_are_refused_and_nulls_are_values_as_elsewhere(policies):
    policy = policies("postgres")
    assert "(missing)" in str(anonymise("people", ["note"], k=5, unit="row", policy=policy).rows(limit=10_000)[1])
    with pytest.raises(InvalidParameter, match="no column 'nose'"):
        anonymise("people", ["nose"], k=5, policy=policy)
    with pytest.raises(InvalidParameter, match="the policy has no table 'peple'"):
        anonymise("peple", ["age"], k=5, policy=policy)


def test_a_kind_of_column_that_no_row_may_have_is_refused_by_name(tmp_path):
    import psycopg

    url = server().database()
    with psycopg.connect(url) as owner:
        owner.execute("CREATE TABLE people (id BIGINT, age INTEGER, more JSONB, huge NUMERIC(5, 2))")
        owner.execute("INSERT INTO people SELECT i, 30 + i % 2, '{}', 'NaN' FROM generate_series(1, 20) AS made(i)")
    policy = policy_of(url, tmp_path, "postgres")
    with pytest.raises(InvalidParameter, match="more is of a kind that cannot be published: JSONB"):
        anonymise("people", ["age"], k=5, keep=["more"], policy=policy)
    with pytest.raises(EngineError, match="cannot be read as it is") as caught:
        anonymise("people", ["age"], k=5, keep=["huge"], policy=policy)
    assert caught.value.__context__ is None
    assert anonymise("people", ["age"], k=5, policy=policy).rows()[1]


def test_the_command_publishes_a_table_of_postgresql_and_enters_it_into_a_ledger_there(tmp_path):
    policy = in_postgres(tmp_path)
    source = policy.dataset.source.location  # type: ignore[union-attr]  # a database
    (tmp_path / "tacit.toml").write_text(
        f'[dataset]\nname = "people"\nengine = "postgres"\nsource = "{source}"\nledger = "{source}"\n'
        '[budget]\nepsilon = 1\n[tables.people]\nunit = "id"\n[tables.people.columns]\nage = {}\n'
    )
    words = (
        "anonymise",
        "people",
        "-p",
        "tacit.toml",
        "--qi",
        "age,town",
        "-k",
        "5",
        "-o",
        "public.parquet",
        "--unit",
        "row",
    )
    ran = here(*words, cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert check(tmp_path / "public.parquet", ["age", "town"]).k >= 5
    assert not (tmp_path / "people.ledger").exists()
    log = json.loads(here("ledger", "log", "-p", "tacit.toml", "--format", "json", cwd=tmp_path).out)
    assert any("anonymise people: k=5, unit=row" in json.dumps(line) for line in log)
