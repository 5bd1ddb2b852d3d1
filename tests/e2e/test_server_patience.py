"""Clients that are slow on purpose, over real sockets: each is cut off, and none of them keeps anybody else out."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import httpx
import psycopg
import pytest

from e2e.cli_clinic import build
from support.server import Served, serving
from support.wire import serving as serving_wire
from support.wire_client import RawClient, logged_in, message, start_packet
from tacit.faces.listening import http_server as listening
from tacit.faces.listening.patience import PatientProtocol
from tacit.faces.listening.waiting_room import WaitingRoom
from tacit.faces.server.certificates import tls_files
from tacit.faces.server.serving import open_hub
from tacit.faces.server.wire.server import Entrance
from tacit.policy import load_policy

TLS_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"
LONG = 3600.0  # seconds: what ends within this test is not ended by a deadline
POST = b"POST /v1/query HTTP/1.1\r\nhost: localhost\r\ncontent-length: 500\r\n"


def ended(client: socket.socket) -> bool:
    """Whether the server hangs up; waits for it."""
    with suppress(ConnectionResetError):
        while client.recv(65_536):
            pass
    return True


def is_open(client: socket.socket) -> bool:
    """Whether the server has not hung up yet."""
    client.setblocking(False)
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


# -- the PostgreSQL wire


@pytest.mark.parametrize("sent", [b"", b"\0", start_packet()[:-1], start_packet(), TLS_REQUEST, TLS_REQUEST * 2])
def test_the_wire_waits_so_long_for_a_proof_and_no_longer(tmp_path: Path, sent: bytes) -> None:
    with serving_wire(build(tmp_path, people=20), entrance=Entrance(0.3)) as wire, RawClient(wire.port) as client:
        client.send(sent)
        assert ended(client.socket)


def test_the_deadline_is_one_for_all_steps_and_ends_with_the_proof(
    tmp_path: Path,
) -> None:
    """Whoever is known has no deadline: the connection outlives a stranger that came after it."""
    entrance = Entrance(LONG)
    with serving_wire(build(tmp_path, people=20), entrance=entrance) as wire, logged_in(wire.port) as known:
        entrance.patience = 0.5
        with RawClient(wire.port) as stranger:
            stranger.send(start_packet())
            assert stranger.read() is not None  # one step further, and no more time for the next
            stranger.send(message(b"p", b"half")[:-1])
            assert ended(stranger.socket)
        assert known.ask(message(b"S"))[-1].kind == "Z"


def test_strangers_do_not_use_up_the_connections_of_those_who_are_known(tmp_path: Path) -> None:
    room, policy = WaitingRoom(in_all=8, of_one_address=6), build(tmp_path, people=20)
    with ExitStack() as held, serving_wire(policy, entrance=Entrance(LONG, 4, room)) as wire:
        strangers = [held.enter_context(RawClient(wire.port)) for _ in range(40)]
        for number, stranger in enumerate(strangers[:34]):  # six are left at most: those before have made room
            if number % 2:
                with suppress(OSError):
                    stranger.send(start_packet())
        assert all(ended(stranger.socket) for stranger in strangers[:34])
        for _ in range(3):
            with closing(psycopg.connect(wire.dsn(), autocommit=True)) as other:
                assert other.execute("DP-SELECT 0.1 COUNT(*) FROM visits").fetchone()


def test_the_connections_of_one_analyst_leave_room_for_others(tmp_path: Path) -> None:
    with ExitStack() as held, serving_wire(build(tmp_path, people=20), entrance=Entrance(LONG, 4)) as wire:
        for _ in range(2):
            held.enter_context(logged_in(wire.port))
        with pytest.raises(psycopg.OperationalError, match="too many connections of ana: 2 are the most"):
            psycopg.connect(wire.dsn())
        for _ in range(2):
            held.enter_context(logged_in(wire.port, "ben"))
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            psycopg.connect(wire.dsn("ben"))


def test_a_connection_that_ends_gives_its_place_back(tmp_path: Path) -> None:
    with serving_wire(build(tmp_path, people=20), entrance=Entrance(LONG, 2)) as wire:
        for _ in range(3):
            with logged_in(wire.port) as client:
                assert client.greeting[-1].kind == "Z"
                client.send(message(b"X"))
                assert ended(client.socket)


# -- HTTP


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    policy = build(tmp_path, people=20)
    policy.write_text(f'{policy.read_text()}[server]\npatience = "1s"\nidle = "1s"\n')
    with serving(open_hub(policy)) as made:
        yield made


def connected(served: Served) -> socket.socket:
    url = httpx.URL(served.url)
    return socket.create_connection((url.host, url.port), timeout=60)


def token_header(served: Served) -> bytes:
    return f"authorization: Bearer {served.token('ana')}\r\n".encode()


def _drip(client: socket.socket) -> None:
    """Lines of a header without end."""
    for _ in range(100_000):
        client.sendall(b"x: y\r\n")
        with suppress(TimeoutError):
            client.recv(100)


def _flood(client: socket.socket, over: threading.Event) -> None:
    """Requests whose answers nobody reads, until the server hangs up."""
    client.setblocking(False)
    requests = b"GET /v1/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 100
    sent = 0
    for _ in range(60_000):
        if over.wait(0.001):
            return
        with suppress(BlockingIOError):
            sent += client.send(requests[sent % len(requests) :])


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n", POST])
def test_a_header_has_a_deadline(served: Served, sent: bytes) -> None:
    with connected(served) as client:
        client.sendall(sent)
        assert ended(client)


def test_a_header_that_comes_octet_by_octet_is_no_better(served: Served) -> None:
    """The deadline is not put off by what comes: a client that never ends a header is cut off while it sends."""
    with connected(served) as client:
        client.settimeout(0.05)
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            _drip(client)


@pytest.mark.parametrize("known", [True, False])
def test_a_body_has_a_deadline_also_when_it_is_refused_before(
    served: Served, caplog: pytest.LogCaptureFixture, known: bool
) -> None:
    before = served.hub.balance("ana").total.spent.epsilon
    with caplog.at_level(logging.ERROR), connected(served) as client:
        client.sendall(POST + (token_header(served) if known else b"") + b'\r\n{"sql": "DP-SELECT 0.1 COUNT(*)')
        assert ended(client)
    assert not caplog.records  # nobody fills a log with this
    assert served.hub.balance("ana").total.spent.epsilon == before


def test_the_next_request_of_a_connection_has_a_deadline_too(served: Served) -> None:
    with connected(served) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"200 OK" in client.recv(65_536)
        client.sendall(b"GET /healthz HT")
        assert ended(client)


def test_an_idle_connection_is_closed(served: Served) -> None:
    with connected(served) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert ended(client)


def test_a_client_that_does_not_take_its_answers_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by the server: the client's own system may learn of it much later, for it has closed its window."""
    lost = threading.Event()
    at_the_end = PatientProtocol.connection_lost
    monkeypatch.setattr(PatientProtocol, "connection_lost", lambda self, exc: (at_the_end(self, exc), lost.set()))
    with connected(served) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with suppress(BrokenPipeError, ConnectionResetError):
            _flood(client, lost)
        assert lost.wait(10)  # while the client is still there


@pytest.mark.parametrize("encrypted", [False, True])
def test_strangers_make_room_for_each_other_and_for_everybody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encrypted: bool
) -> None:
    """Also before TLS: nobody has said anything there."""
    monkeypatch.setattr(listening, "WaitingRoom", lambda: WaitingRoom(in_all=8, of_one_address=6))
    policy = build(tmp_path, people=20)
    certificate, key = tls_files(load_policy(policy))
    tls = f'certificate = "{certificate.name}"\nkey = "{key.name}"\n' if encrypted else ""
    policy.write_text(f'{policy.read_text()}[server]\npatience = "1h"\n{tls}')
    with ExitStack() as held, serving(open_hub(policy)) as served:
        strangers = [held.enter_context(connected(served)) for _ in range(30)]
        assert all(ended(stranger) for stranger in strangers[:24])
        assert httpx.get(f"{served.url}/healthz", verify=False).status_code == 200
        assert sum(is_open(stranger) for stranger in strangers) <= 6
        for stranger in strangers:
            stranger.close()
