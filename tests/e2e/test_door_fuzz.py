"""Damaged requests at every door that speaks HTTP: told what is wrong, never that we stumbled; nothing is charged."""

from __future__ import annotations

import json
import random
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from e2e.cli_clinic import CANARY, build
from support.browsing import Person, account, person
from support.server import Served, serving
from tacit.faces.server.serving import open_hub

ODD = [
    *(
        "",
        "\0",
        "x" * 5_000,
        "\u202e",
        "'; DROP TABLE visits; --",
        "{{7*7}}",
        "<script>",
        "-1",
        "1e999",
        "NaN",
        "0x1p4",
    ),
    *("\u00bd", "\uff11", "DP-SELECT", "DP-SELECT 1 COUNT(*) FROM nobody", "EXPLAIN", "../../etc/passwd", "%00"),
    "\r\nSet-Cookie: a=b",
]
VALUES = [*ODD, None, True, -1, 0, 1e308, 2**70, [], {}, [[]], [None], {"sql": 1}, ["SELECT 1"] * 3, "\ud800"]
SQL = ["DP-SELECT 0.1 secret FROM visits", "DP-SELECT 0.1 COUNT(* FROM visits", "SELECT COUNT(*) FROM visits", *ODD]
TOLD = range(400, 500)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    policy = build(tmp_path_factory.mktemp("fuzz"), people=20)
    policy.write_text(policy.read_text() + "\n[server]\nrate = 100000\n")
    with serving(open_hub(policy)) as made:
        account(made, "ana")
        yield made
        assert not made.hub.log("ana"), "nothing was charged, whatever was sent"
        assert made.hub.counts.failed == 0


def raw(served: Served, content: bytes, *, ends: bool = True, answers: int = 0) -> bytes:
    """All that the server says to these bytes, until it hangs up or, if they do not end there, falls silent.

    As many `answers` are waited for, however long they take.
    """
    found = urlsplit(served.url)
    with socket.create_connection((str(found.hostname), int(found.port or 0)), timeout=60) as client:
        client.sendall(content)
        if ends:
            client.shutdown(socket.SHUT_WR)
        said = b""
        try:
            while True:
                client.settimeout(60 if ends or len(statuses(said)) < answers else 1)
                if not (part := client.recv(65_536)):
                    break
                said += part
        except (ConnectionError, TimeoutError):  # it hung up on what it had not read, or waits for more
            pass
        return said


def statuses(said: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3}) ", said)]


HIDDEN = b"GET /v1/budget HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Content-Length: 4\r\nContent-Length: 900",
        b"Content-Length: +4",
        b"Content-Length: 0x4",
        b"Content-Length: 4, 900",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding : chunked",
        b"Transfer-Encoding:\x0bchunked",
        b" Content-Length: 4",
    ],
)
def test_no_request_is_smuggled_in_the_body_of_another(served: Served, headers: bytes) -> None:
    """Whoever stands in front may read lengths otherwise than we do: what is ambiguous is refused, and ends it."""
    token = served.token("ana").encode()
    first = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers + b"\r\n\r\n"
    for body in (b"0\r\n\r\n", b"4\r\nabcd\r\n0\r\n\r\n"):
        found = statuses(raw(served, first + body + HIDDEN % token, ends=False))
        assert found[:1] == [] or found[0] in TOLD, found
        assert 200 not in found, "the hidden request was answered"


def test_a_request_behind_a_sound_one_is_answered(served: Served) -> None:
    """The power of the test above."""
    first = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
    assert statuses(raw(served, first + HIDDEN % served.token("ana").encode(), ends=False, answers=2)) == [401, 200]


def test_damaged_requests_are_told_so_and_the_server_lives_on(served: Served) -> None:
    source = random.Random(13)
    token = served.token("ana").encode()
    good = (
        b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token
        + b"\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n" + b'{"sql": "SELECT 1;"}'
    )  # fmt: skip
    for _ in range(150):
        content = bytearray(good)
        for _ in range(source.randrange(1, 4)):
            place = source.randrange(len(content))
            act = source.randrange(4)
            if act == 0:
                content[place] = source.randrange(256)
            elif act == 1:
                del content[place : place + source.randrange(1, 30)]
            elif act == 2:
                content[place:place] = source.randbytes(source.randrange(1, 30))
            else:
                content[place:place] = source.choice([b"\r\n", b"\0", b": ", b"\n ", b"%0d%0a", b"\xff" * 9])
        assert all(status < 500 for status in statuses(raw(served, bytes(content)))), bytes(content)
    with served.client("ana") as client:
        assert client.get("/healthz").status_code == 200


def _body(source: random.Random) -> Any:
    if source.random() < 0.1:
        return source.choice(VALUES)
    names = ["sql", "epsilon", "delta", "parameters", "questions", "within", "fresh", "", "sql\0", *ODD[:3]]
    made = {source.choice(names): source.choice(VALUES) for _ in range(source.randrange(4))}
    if source.random() < 0.6:
        made["sql"] = source.choice(SQL)
    return made


def test_no_body_makes_the_api_stumble(served: Served) -> None:
    source = random.Random(17)
    with served.client("ana") as client:
        for index in range(150):
            route = ("/v1/query", "/v1/batch", "/v1/explain")[index % 3]
            text = json.dumps(_body(source))
            if source.random() < 0.2:
                text = text[: source.randrange(len(text) + 1)] + source.choice(["", "]", "NaN", "\ufeff", "[" * 3_000])
            reply = client.post(route, content=text.encode("utf-8", "surrogatepass"))
            explained = route == "/v1/explain" and reply.status_code == 200
            assert explained or reply.status_code in TOLD, (route, text[:200], reply.text)
            assert explained or set(reply.json()["error"]) >= {"code", "message"}, reply.text
            assert CANARY not in reply.text


def test_no_form_makes_the_console_stumble(served: Served) -> None:
    source = random.Random(19)
    with person(served, "ana") as ana, person(served, "carla", role="curator") as carla:
        for index in range(120):
            who: Person = (ana, carla)[index % 2]
            path = source.choice(
                ["/ask", "/ask/price", "/log", "/policy", "/signin", "/answers/x", "/budget", "/surveys"]
            )
            names = [
                "sql",
                "epsilon",
                "delta",
                "parameters",
                "key",
                "text",
                "note",
                "name",
                "password",
                "next",
                "act",
                "",
            ]
            fields = {source.choice(names): source.choice(ODD + SQL) for _ in range(source.randrange(6))}
            if path == "/policy":
                fields.pop("text", None)  # what is in force stays so
            who.get("/data")
            reply = who.post(path, fields) if index % 3 else who.get(f"{path}?{urlencode(fields)}")
            assert reply.status_code < 500, (path, fields, reply.text[:500])
            assert CANARY not in reply.text


def test_no_message_makes_the_door_of_agents_stumble(served: Served) -> None:
    source = random.Random(23)
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    methods = [
        "initialize",
        "tools/call",
        "tools/list",
        "prompts/get",
        "resources/read",
        "ping",
        "notifications/x",
        "",
        "\0",
    ]
    with served.client("ana") as client:
        for _ in range(80):
            called = {"name": source.choice(["ask", "explain", *ODD[:4]]), "arguments": _body(source)}
            message: Any = {
                "jsonrpc": source.choice(["2.0", "2.0", "1.0", None]),
                "id": source.choice([1, "a", None, {}, 2**70]),
                "method": source.choice(methods),
                "params": source.choice([called, called, *VALUES[:24]]),
            }
            text = json.dumps([message, message] if source.random() < 0.1 else message)
            text = text[: source.randrange(len(text))] if source.random() < 0.2 else text
            reply = client.post("/mcp", content=text.encode("utf-8", "surrogatepass"), headers=headers)
            assert reply.status_code < 500, (text[:300], reply.text)
            assert CANARY not in reply.text
