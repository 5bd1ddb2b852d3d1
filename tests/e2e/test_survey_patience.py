"""A survey's own server, and clients that are slow on purpose: each is cut off, and none keeps anybody else out."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.survey_box import ask, make, served
from e2e.test_server_patience import ended
from tacit.faces.listening.waiting_room import WaitingRoom


@pytest.mark.parametrize(
    "sent", [b"", b"GET /", b"POST /report HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n"]
)
def test_half_a_request_is_waited_for_so_long_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("tacit.faces.survey.server._PATIENCE", 0.5)
    with served(make(tmp_path)) as server, socket.create_connection(server.server_address, timeout=60) as client:
        client.sendall(sent)
        assert ended(client)


def test_silent_connections_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = WaitingRoom(in_all=8, of_one_address=6)
    monkeypatch.setattr("tacit.faces.listening.http_server.WaitingRoom", lambda: room)
    with ExitStack() as held, served(make(tmp_path)) as server:
        silent = [held.enter_context(socket.create_connection(server.server_address, timeout=60)) for _ in range(40)]
        assert all(ended(each) for each in silent[:34])
        assert ask(server, "GET", "/")[0] == 200
