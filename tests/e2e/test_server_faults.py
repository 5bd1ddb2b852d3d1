"""A server in trouble: a full disk, a lost PostgreSQL, clients that never read. Nothing leaves that was not charged."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from e2e.cli_clinic import build
from support.postgres import discard, fresh_server
from support.server import serving
from support.wire import serving as serving_wire
from support.wire_client import RawClient, logged_in, message, query
from tacit.faces.server.serving import open_hub
from tacit.faces.server.wire import framing
from tacit.ledger.desk import SqliteStore

FRESH = {"sql": "DP-SELECT 0.1 FRESH COUNT(*) AS n FROM visits"}


class FullDisk(sqlite3.OperationalError):
    """What SQLite says when nothing more can be written."""

    sqlite_errorname = "SQLITE_FULL"


@pytest.mark.parametrize("written", [0, 1])
def test_with_a_full_disk_nothing_leaves_and_what_was_charged_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The disk is full before the charge, or after it and before the answer is on record."""
    real, done = SqliteStore.transaction, []

    @contextmanager
    def filling(self: SqliteStore) -> Iterator[sqlite3.Connection]:
        if len(done) >= written:
            raise FullDisk("database or disk is full")
        done.append(self)
        with real(self) as connection:
            yield connection

    with serving(open_hub(build(tmp_path, people=20))) as served, served.client("ana") as client:
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "transaction", filling)
            reply = client.post("/v1/query", json=FRESH)
        assert reply.status_code == 503
        assert "rows" not in reply.json()
        assert reply.json()["error"]["message"] == "the ledger cannot be used: the disk is full"
        assert float(served.hub.balance("ana").total.spent.epsilon) == pytest.approx(0.1 * written)
        assert client.post("/v1/query", json=FRESH).status_code == 200  # there is room again
        assert float(served.hub.balance("ana").total.spent.epsilon) == pytest.approx(0.1 * (written + 1))


def test_a_ledger_whose_postgresql_is_gone_refuses_and_serves_again_when_it_is_back(tmp_path: Path) -> None:
    server = fresh_server()
    try:
        policy = build(tmp_path, people=20)
        url = server.database()
        policy.write_text(policy.read_text().replace("[budget]", f'ledger = "{url}"\n[budget]', 1))
        with serving(open_hub(policy)) as served, served.client("ana") as client:
            assert client.post("/v1/query", json=FRESH).status_code == 200
            server.stop()
            for route, body in (("/v1/query", FRESH), ("/v1/query", FRESH)):
                reply = client.post(route, json=body)
                assert reply.status_code == 503
                assert "rows" not in reply.json()
                assert str(tmp_path) not in reply.text
            server.start()
            replies = [client.post("/v1/query", json=FRESH).status_code for _ in range(3)]
            assert replies[-1] == 200
            spent = float(served.hub.balance("ana").total.spent.epsilon)
        assert spent == pytest.approx(0.1 * (1 + replies.count(200)))
    finally:
        discard(server)


def test_a_client_that_never_reads_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flood(client: RawClient) -> None:
        for _ in range(100_000):  # nobody reads the answers
            client.send(query("SHOW ALL") * 100)

    with serving_wire(build(tmp_path, people=20)) as wire:
        before = wire.spent
        with logged_in(wire.port) as client:
            monkeypatch.setattr(framing, "PATIENCE", 0.3)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with pytest.raises((BrokenPipeError, ConnectionResetError)):
                flood(client)
        monkeypatch.setattr(framing, "PATIENCE", 60.0)
        assert wire.spent == before
        with closing(psycopg.connect(wire.dsn(), autocommit=True)) as other:
            assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_never_ends_its_message_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_wire(build(tmp_path, people=20)) as wire, logged_in(wire.port) as client:
        monkeypatch.setitem(framing.Inbox.take.__kwdefaults__, "patience", 0.3)
        client.send(message(b"Q", b"SELECT 1\0")[:-3])
        assert client.rest() == []


def test_settings_come_with_the_start_of_a_connection(tmp_path: Path) -> None:
    with serving_wire(build(tmp_path, people=20)) as wire:
        options = r"-c tacit.epsilon=0.02 --tacit.errors=on -c nobody.knows=1 -c application_name=a\ b"
        with closing(
            psycopg.connect(wire.dsn(options=f"'{options}'".replace("\\", "\\\\")), autocommit=True)
        ) as client:
            assert client.execute("SHOW tacit.epsilon").fetchone() == ("0.02",)
            assert client.execute("SHOW application_name").fetchone() == ("a b",)
            found = client.execute("SELECT COUNT(*) AS n FROM visits")
            assert [column.name for column in found.description or ()] == ["n", "n_low", "n_high"]
        assert wire.spent == pytest.approx(0.02)
