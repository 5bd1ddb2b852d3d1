"""Rows over the doors: `DP-SELECT ε *` gives synthetic ones, for one charge, over HTTP and the PostgreSQL wire."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg
import pytest

from e2e.cli_clinic import here
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


COUNTS = "SELECT town, COUNT(*) AS n FROM t SYNTHETIC GROUP BY town ORDER BY n DESC"


def test_a_released_model_is_asked_for_nothing_over_http(policy: Path) -> None:
    with serving_http(open_hub(policy)) as served, served.client("ana") as client:
        refused = client.post("/v1/query", json={"sql": COUNTS})
        assert refused.status_code in range(400, 500)
        hint = re.search(r"DP-SELECT .* LIMIT 1", refused.json()["error"]["hint"])
        assert hint is not None
        assert client.post("/v1/query", json={"sql": hint[0]}).status_code == 200
        assert client.post("/v1/explain", json={"sql": COUNTS}).json()["epsilon"] == "0"
        body = client.post("/v1/query", json={"sql": COUNTS}).json()
        assert (body["columns"], body["epsilon"]) == (["town", "n"], "0")
        assert any("is a model of 2 columns" in note for note in body["notes"])
        assert served.hub.balance("ana").total.spent.epsilon == Fraction(1)


def test_a_released_model_is_asked_for_nothing_over_the_wire(policy: Path) -> None:
    with serving_wire(policy) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        with pytest.raises(psycopg.Error, match="no model of t is released yet"):
            client.execute(COUNTS)
        client.execute("DP-SELECT 1 DELTA 1e-6 town FROM t LIMIT 1")
        for binary in (False, True):
            cursor = client.execute(COUNTS, binary=binary)
            assert [column.name for column in cursor.description or ()] == ["town", "n"]
            assert {town for town, _ in cursor.fetchall()} <= {"Oslo", "Rome", None}
        prepared = client.execute("SELECT COUNT(*) FROM t SYNTHETIC WHERE age > %s", [3]).fetchall()
        assert prepared[0][0] > 0
        assert client.execute("SELECT * FROM t SYNTHETIC LIMIT 0").fetchall() == []
        assert wire.spent == 1


def test_the_command_line_asks_a_released_model(policy: Path) -> None:
    asked = ("query", COUNTS, "--as", "ana", "--format", "json")
    refused = here(*asked, cwd=policy.parent)
    assert refused.code != 0
    assert "no model of t is released yet" in refused.err
    made = here("synthesise", "t", "--eps", "1", "--delta", "1e-6", "--as", "ana", "-o", "t.csv", cwd=policy.parent)
    assert made.code == 0, made.err
    answer = json.loads(here(*asked, cwd=policy.parent).out)
    assert (answer["epsilon"], answer["columns"]) == ("0", ["town", "n"])


def test_rows_told_with_coins_are_asked_over_the_wire(policy: Path) -> None:
    told = "DP-SELECT 3 DELTA 1e-6 town, COUNT(*) AS n FROM t WHERE age < 5 GROUP BY town USING RANDOMISED RESPONSE"
    with serving_wire(policy) as wire, psycopg.connect(wire.dsn(), autocommit=True) as client:
        for binary in (False, True):
            rows = client.execute(told, binary=binary).fetchall()
            assert [town for town, _ in rows] == ["Oslo", "Rome", None]
        listed = client.execute("DP-SELECT 3 DELTA 1e-6 age, town FROM t USING RANDOMISED RESPONSE LIMIT 3").fetchall()
        assert len(listed) == 3
        assert wire.spent == 3, "the same responses"
