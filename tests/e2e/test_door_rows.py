"""Rows over the doors: `DP-SELECT ε *` gives synthetic ones, for one charge, over HTTP and the PostgreSQL wire."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg
import pytest

from support.server import serving as serving_http
from support.wire import serving as serving_wire
from tacit.faces.server.serving import open_hub

POLICY = """
[dataset]
name = "clinic"
source = { t = "t.parquet" }
[budget]
epsilon = 100
delta = 1e-4
[analysts.ana]
epsilon = 100
[analysts.ben]
epsilon = 100
[tables.t]
unit = "row"
rows = 400
[tables.t.columns]
age = { type = "integer", lower = 0, upper = 9 }
town = { type = "text", domain = ["Oslo", "Rome"] }
"""
ROWS = "DP-SELECT 2 DELTA 1e-6 * FROM t"


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    with duckdb.connect() as made:
        towns = "['Oslo', 'Rome'][i % 2 + 1]"
        made.execute(f"COPY (SELECT i % 10 AS age, {towns} AS town FROM range(400) x(i)) TO '{tmp_path}/t.parquet'")
    path = tmp_path / "tacit.toml"
    path.write_text(POLICY)
    return path


def test_rows_are_asked_over_http_and_charged_once(policy: Path) -> None:
    with serving_http(open_hub(policy)) as served, served.client("ana") as client:
        explained = client.post("/v1/explain", json={"sql": ROWS})
        assert explained.status_code == 200, explained.text
        first = client.post("/v1/query", json={"sql": ROWS})
        assert first.status_code == 200, first.text
        body = first.json()
        assert body["columns"] == ["age", "town"]
        assert {row[1] for row in body["rows"]} <= {"Oslo", "Rome", None}
        assert all(row[0] is None or 0 <= row[0] <= 9 for row in body["rows"])
        again = client.post("/v1/query", json={"sql": ROWS}).json()
        assert again["rows"] == body["rows"], "the same rows, free"
        assert served.hub.balance("ana").total.spent.epsilon == Fraction(2)
        shown = client.get(f"/v1/releases/{body['id']}")
        assert shown.status_code in {200, 404}
        assert client.post("/v1/query", json={"sql": "DP-SELECT 1 * FROM nobody"}).status_code in range(400, 500)


def test_rows_are_asked_over_the_wire_and_probes_for_them_are_free(policy: Path) -> None:
    with serving_wire(policy) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        for probe in ("SELECT * FROM t LIMIT 0", "SELECT * FROM t WHERE 1 = 0", f"{ROWS} LIMIT 0"):
            cursor = client.execute(probe)
            assert [column.name for column in cursor.description or ()] == ["age", "town"], probe
            assert cursor.fetchall() == []
        assert wire.spent == 0
        for binary in (False, True):
            cursor = client.execute(ROWS, binary=binary)
            assert [column.name for column in cursor.description or ()] == ["age", "town"]
            rows = cursor.fetchall()
            assert {town for _, town in rows} <= {"Oslo", "Rome", None}
            assert all(age is None or 0 <= age <= 9 for age, _ in rows)
            assert wire.spent == 2, "once, whatever form they are wanted in"
        with pytest.raises(psycopg.Error) as caught:
            client.execute("SELECT * FROM t")
        assert caught.value.sqlstate == "42501", "a plain SELECT has no price until one is set"
        assert wire.spent == 2
