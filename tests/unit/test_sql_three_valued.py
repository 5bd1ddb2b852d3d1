"""IN over a subquery has three values on every engine, wherever it stands in a condition."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

from support import sail
from tacit.engines.spark.client import connect, disconnect
from tacit.sql.emitting.dialects import emit

_CELLS = (None, 1, 2)
_ASKED = [(x, k) for x in _CELLS for k in (*_CELLS, 3)]
_PUBLIC = [(1, 1), (2, 1), (1, 2), (None, 2), (None, None)]
_TIED = "o.x IN (SELECT p.x FROM ({public}) AS p WHERE p.k = o.k)"
_FREE = "o.x IN (SELECT p.x FROM ({public}) AS p WHERE NOT p.x IS NULL)"
_WITH_NULL = "o.x IN (SELECT p.x FROM ({public}) AS p)"
_NONE = "o.x IN (SELECT p.x FROM ({public}) AS p WHERE p.k = 9)"
_CONDITIONS = (
    "{}",
    "NOT {}",
    "NOT ({} AND o.k = 1)",
    "NOT {} OR o.k = 3",
    "({}) IS NULL",
    "NOT NOT {}",
    "CASE WHEN {} THEN FALSE ELSE TRUE END",
    "o.k = 1 AND NOT ({})",
)


def _rows(cells: list[tuple[int | None, int | None]]) -> str:
    texts = [["CAST(NULL AS INT)" if cell is None else str(cell) for cell in row] for row in cells]
    return " UNION ALL ".join(f"SELECT {x} AS x, {k} AS k" for x, k in texts)


def _text(condition: str, member: str) -> str:
    listed = condition.format(member.format(public=_rows(_PUBLIC)))
    return f"SELECT o.x AS x, o.k AS k FROM ({_rows(_ASKED)}) AS o WHERE {listed}"


@pytest.mark.parametrize("member", [_TIED, _FREE, _WITH_NULL, _NONE])
def test_in_has_three_values_wherever_it_stands(member):
    session = connect(sail.server())
    try:
        for condition in _CONDITIONS:
            text = _text(condition, member)
            spoken = emit(sqlglot.parse_one(text, dialect="duckdb"), "spark")
            found = [(row["x"], row["k"]) for row in session.sql(spoken).toArrow().to_pylist()]
            assert sorted(found, key=repr) == sorted(duckdb.connect().execute(text).fetchall(), key=repr), condition
    finally:
        disconnect(session)


@pytest.mark.parametrize("condition", ["{}", "{} OR o.k = 3", "(({})) AND o.k = 3"])
def test_a_join_stays_one_where_null_is_as_good_as_false(condition):
    tree = sqlglot.parse_one(_text(condition, _TIED), dialect="duckdb")
    assert "EXISTS" not in emit(tree, "spark")
    assert "EXISTS" not in emit(sqlglot.parse_one(_text("NOT {}", _FREE), dialect="duckdb"), "spark")
