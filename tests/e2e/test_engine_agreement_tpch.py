"""The queries of TPC-H, over eight tables, have equal whole numbers before noise on every engine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from conformance.engine_pairs import cells, samples
from conformance.sql_forms_relational import FORMS, GROUPED, priced
from e2e.tpch_queries import RUNNING, Query
from support import sail, tpch
from support.copied import copied_to_postgres
from tacit.core import Loss
from tacit.engines import Engine, open_engine
from tacit.policy import Policy, parse_policy
from tacit.sql import bind, parse, plan

TABLES = ("customer", "orders", "lineitem", "part", "partsupp", "supplier", "nation", "region")
BITING = tpch.Caps(orders=(3, 2), lines=(6, 3))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("tpch")
    with duckdb.connect(str(made / "tpch.duckdb")) as owner:
        tpch.fill(owner, tpch.TINY)
        for table in TABLES:
            owner.execute(f"COPY {table} TO '{made}/{table}.parquet' (FORMAT parquet)")
    return made


def policy_of(source: str, *, engine: str, base: Path) -> Policy:
    text = tpch.policy(BITING, source="SOURCE")
    return parse_policy(text.replace('"SOURCE"', source).replace("[dataset]", f'[dataset]\nengine = "{engine}"'), base)


@pytest.fixture(scope="module")
def first(folder: Path) -> Iterator[tuple[Policy, Engine]]:
    policy = policy_of('"tpch.duckdb"', engine="duckdb", base=folder)
    engine = open_engine(policy)
    yield policy, engine
    engine.close()


def in_postgres(folder: Path) -> Policy:
    with duckdb.connect(str(folder / "tpch.duckdb"), read_only=True) as source:
        url = copied_to_postgres(source, TABLES)
    return policy_of(f'"{url}"', engine="postgres", base=folder)


def in_spark(folder: Path) -> Policy:
    os.environ["SPARK_REMOTE"] = sail.server()
    files = ", ".join(f'{table} = "{table}.parquet"' for table in TABLES)
    return policy_of(f"{{ {files} }}", engine="spark", base=folder)


ENGINES = [pytest.param(in_postgres, id="postgres"), pytest.param(in_spark, id="sail", marks=pytest.mark.heavy)]


@pytest.fixture(scope="module", params=ENGINES)
def second(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[Policy, Engine]]:
    policy = request.param(folder)
    engine = open_engine(policy)
    yield policy, engine
    engine.close()


@pytest.mark.parametrize("query", RUNNING, ids=lambda query: f"q{query.number:02}")
def test_a_query_has_equal_whole_numbers_before_noise(
    query: Query, first: tuple[Policy, Engine], second: tuple[Policy, Engine]
) -> None:
    _compare(query.runs or "", first, second)


CHOSEN = (
    "SELECT MODE(n_name), COUNT(*) FROM customer JOIN nation ON c_nationkey = n_nationkey",
    "SELECT c_mktsegment, TOP_K(n_name, 2) FROM customer, nation WHERE c_nationkey = n_nationkey GROUP BY c_mktsegment",
)
LOOKING = (*FORMS, *GROUPED, *CHOSEN)


@pytest.mark.parametrize("text", LOOKING, ids=range(len(LOOKING)))
def test_so_has_one_that_looks_outside_or_into_public_tables(
    text: str, first: tuple[Policy, Engine], second: tuple[Policy, Engine]
) -> None:
    _compare(priced(text), first, second)


def _compare(text: str, first: tuple[Policy, Engine], second: tuple[Policy, Engine]) -> None:
    made = []
    for policy, engine in (first, second):
        bound = bind(parse(text), policy, schema=engine.schema())
        delta = 0 if all(key.is_public for key in bound.keys) else "1e-6"
        made.append(plan(bound, policy, price=Loss(1, delta)))
    for left, right in zip(made[0].statements, made[1].statements, strict=True):
        assert cells(first[1], left, shared=True) == cells(second[1], right, shared=True)
        if samples(right):
            cells(second[1], right, shared=False)
