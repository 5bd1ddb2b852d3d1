"""What BI tools and analysts ask of four firms is answered alike, row for row, by DuckDB and by PostgreSQL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.sql_firms import FILLED, PRIVATE, PUBLIC, firm
from conformance.sql_lists import filled, noiseless
from conformance.sql_world import World
from support.copied import copied_to_postgres
from tacit.curator import Session
from tacit.engines import UNLIMITED
from tacit.engines.postgres.engine import open_postgres
from tacit.errors import QueryRefused
from tacit.policy import Dataset
from unit import test_sql_analysts as analysts
from unit import test_sql_bureaus as bureaus
from unit import test_sql_firms as firms

ANA = Session("ana")
BACKTRACKS = {"grocer: analyst, SIMILAR TO"}  # which PostgreSQL would take longer for on some cells than on others


@pytest.fixture(scope="module")
def in_duckdb(tmp_path_factory):
    yield from noiseless(list(FILLED), firm, tmp_path_factory.mktemp)


@pytest.fixture(scope="module")
def tables():
    yield from filled(FILLED)


@pytest.fixture(scope="module")
def in_postgres(tables, tmp_path_factory):
    def copied(name: str) -> World:
        url = copied_to_postgres(tables[name], (*PRIVATE[name], *PUBLIC[name]))
        policy = replace(firm(name).policy, dataset=Dataset("d", url, engine="postgres"))
        return World(policy, open_postgres(policy.dataset, policy.tables, limits=UNLIMITED))

    yield from noiseless(list(FILLED), copied, tmp_path_factory.mktemp)


def rows(answer):
    return sorted(([analysts.cell(value) for value in row] for row in answer.rows), key=repr)


@pytest.mark.parametrize("case", firms.ANSWERED, ids=lambda case: case.name)
def test_engines_agree_row_for_row(case, in_duckdb, in_postgres):
    name = bureaus.where(case)
    if case.name in BACKTRACKS:
        with pytest.raises(QueryRefused, match="regular expression is refused on this engine"):
            in_postgres[name].ask(case.text, session=ANA)
        return
    first, second = (each[name].ask(case.text, session=ANA) for each in (in_duckdb, in_postgres))
    assert rows(first) == rows(second)
    assert first.columns == second.columns
