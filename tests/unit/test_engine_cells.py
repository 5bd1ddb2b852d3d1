"""Cells on their way out: none fails, and one that Python cannot hold is spelled as DuckDB spells it."""

from __future__ import annotations

import duckdb
import pytest

from tacit.engines.cells import day, day_after_epoch, moment, moment_after_epoch

DAYS = (
    0,
    -1,
    18_262,
    2_932_896,
    2_932_897,
    -719_162,
    -719_163,
    -719_528,
    -735_160,
    106_751_982,
    -2_147_483_000,
    2_147_483_000,
)
MICROS = (0, -1, 1, 253_402_300_799_999_999, 253_402_300_800_000_000, -62_135_596_800_000_000, -62_135_596_800_000_001,
          -63_517_820_277_000_000, 9_223_371_244_800_000_000, -9_223_372_022_400_000_000 + 500_000)  # fmt: skip


@pytest.mark.parametrize("days", DAYS)
def test_a_day_is_what_duckdb_says_it_is(days):
    (said,) = (
        duckdb.connect().execute("SELECT CAST(DATE '1970-01-01' + CAST(? AS INTEGER) AS VARCHAR)", [days]).fetchone()
    )
    assert day_after_epoch(days) == day(said)


@pytest.mark.parametrize("micros", MICROS)
def test_a_moment_is_what_duckdb_says_it_is(micros):
    (said,) = duckdb.connect().execute("SELECT CAST(make_timestamp(CAST(? AS BIGINT)) AS VARCHAR)", [micros]).fetchone()
    assert moment_after_epoch(micros) == moment(said)
