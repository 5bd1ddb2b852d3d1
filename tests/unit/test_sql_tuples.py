"""Several values as one text: the same for the same values alone, whatever letters they are made of."""

from __future__ import annotations

import itertools

import duckdb
import pytest
from sqlglot import exp

from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.text.tuples import together

ODD = ["", "1", ":", "1:", ":1", "11", "1:1", "a", "ab", "b", "a1:b", "🏔", "0:"]


@pytest.mark.parametrize("count", [2, 3])
def test_different_values_never_have_one_text(count):
    rows = list(itertools.product(ODD, repeat=count))
    names = [f"c{place}" for place in range(count)]
    one = emit(together([exp.column(name) for name in names]), "duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(f'{name} VARCHAR' for name in names)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * count)})", rows[:2000])
        (found,) = connection.execute(f"SELECT COUNT(DISTINCT {one}) FROM t").fetchone()
    assert found == min(len(rows), 2000)


def test_a_row_without_one_of_the_values_is_not_counted():
    one = emit(together([exp.column("a"), exp.column("b")]), "duckdb")
    with duckdb.connect() as connection:
        rows = "(VALUES (1, NULL), (NULL, 2), (1, 2), (1, 2), (12, 2), (1, 22)) AS t(a, b)"
        assert connection.execute(f"SELECT COUNT(DISTINCT {one}) FROM {rows}").fetchone() == (3,)
