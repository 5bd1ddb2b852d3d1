"""Kill a server on purpose, at the system calls that it makes while it answers.

usage: server_crash.py (server|answer-first) [--every N] [--first K]

The tracer sees one thread: the application runs in it, with its turns and the ledger's work, and is sent its requests
without a socket. One line of JSON tells how many moments were tried, and at which of them an answer had left that is
not on record, or its request was charged twice, or did not get the same answer again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import duckdb
from ledger_tracer import KILL, Call, run

from tacit.faces.server import turns
from tacit.faces.server.http.app import http_app
from tacit.faces.server.serving import Hub, open_hub
from tacit.ledger import group_commit

KEYS = ("first", "second")
BEGIN, RELEASED = "begin", "released"
POLICY = """
[dataset]
name = "clinic"
source = { visits = "visits.parquet" }
[budget]
epsilon = 10
[analysts.ana]
epsilon = 10
[tables.visits]
unit = "row"
[tables.visits.columns]
age = { type = "integer", lower = 0, upper = 9 }
"""
BODY = json.dumps({"sql": "DP-SELECT 1 FRESH COUNT(*) AS n FROM visits"}).encode()


def build(directory: Path) -> str:
    """The data, the policy, an account with its token, and a ledger."""
    with duckdb.connect() as made:
        made.execute(
            f"COPY (SELECT i % 10 AS age FROM range(50) t(i)) TO '{directory}/visits.parquet' (FORMAT parquet)"
        )
    (directory / "tacit.toml").write_text(POLICY)
    hub = open_hub(directory / "tacit.toml")
    hub.accounts.add("ana", None, policy=hub.policy)
    token = hub.accounts.new_token("ana")
    hub.close(0)
    return token


def in_one_thread() -> None:
    """Have everything done by whoever asks for it."""

    def at_once(_: turns.Turns, __: str, act: Any) -> Future[Any]:
        future: Future[Any] = Future()
        turns._run(future, act)
        return future

    group_commit._begin, group_commit.STAY = (lambda work: work()), 0
    turns.Turns.submit = at_once  # type: ignore[method-assign]
    turns.Turns.__init__ = lambda self, *_, **__: None  # type: ignore[method-assign,assignment]
    turns.Turns.stop = lambda self, _: True  # type: ignore[method-assign]


async def post(hub: Hub, token: str, key: str) -> tuple[int, bytes]:
    """What the application says to a question with this key."""
    headers = {"host": "localhost", "authorization": f"Bearer {token}", "idempotency-key": key}
    scope = {
        "type": "http", "method": "POST", "path": "/v1/query", "raw_path": b"/v1/query", "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "http_version": "1.1", "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    said: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": BODY, "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    await http_app(hub)(scope, receive, send)
    return int(said[0]["status"]), b"".join(part.get("body", b"") for part in said[1:])


def serve(directory: Path, token: str, twin: str) -> None:
    """Answer each request; a line in `released` is an answer that has left."""
    in_one_thread()
    if twin == "answer-first":  # a server that says what it will say, and then makes it true
        os.close(os.open(directory / BEGIN, os.O_CREAT))
        answer = b'{"id": "0", "rows": [[1]]}'
        (directory / RELEASED).write_bytes(answer + b"\n")
    hub = open_hub(directory / "tacit.toml")
    if twin != "answer-first":
        os.close(os.open(directory / BEGIN, os.O_CREAT))
    released = os.open(directory / RELEASED, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for key in KEYS:
        status, body = asyncio.run(post(hub, token, key))
        if status == 200:
            os.write(released, body + b"\n")


def judge(directory: Path, token: str) -> str | None:
    """What is wrong after a death: in the ledger, or with what the same requests are told now."""
    path = directory / RELEASED
    answers = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    hub = open_hub(directory / "tacit.toml")
    try:
        entries = hub.log("ana", limit=100)
        settled = {entry.hash for entry in entries if entry.act == "settle"}
        if any(answer["id"] not in settled for answer in answers):
            return "an answer left that is not on record"
        charged = [entry.request_id for entry in entries if entry.act == "charge"]
        done = {entry.charge for entry in entries if entry.act == "settle"}
        kept = {entry.request_id for entry in entries if entry.act == "charge" and entry.seq in done}
        for place, key in enumerate(KEYS):
            status, body = asyncio.run(post(hub, token, key))
            if (key in kept or key not in charged) != (status == 200):
                return f"the request is told {status} after the death"
            if place < len(answers) and json.loads(body)["rows"] != answers[place]["rows"]:
                return "the same request got another answer"
        now = [entry.request_id for entry in hub.log("ana", limit=100) if entry.act == "charge"]
        if sorted(now) != sorted(set(now)):
            return "a request was charged twice"
        if hub.balance("ana").total.spent.epsilon != len(now):
            return "what is spent is not what was charged"
    finally:
        hub.close(0)
    return None


def killed(base: Path, twin: str, moments: slice) -> Iterator[tuple[str, str | None]]:
    template = base / "template"
    template.mkdir(parents=True)
    token = build(template)
    in_one_thread()
    judge(_fresh(template), token)  # what is imported when it is first used is not imported again at each moment
    count = _calls(_fresh(template), token, twin, moment=0)[0]
    for moment in range(1, count + 1)[moments]:
        directory = _fresh(template)
        _, name = _calls(directory, token, twin, moment=moment)
        if name:
            in_one_thread()
            yield f"{moment} {name}", judge(directory, token)


def _calls(directory: Path, token: str, twin: str, *, moment: int) -> tuple[int, str]:
    """How many calls it made since it began to answer, and at which of them it died, if at any."""
    begun, name = 0, ""

    def visit(call: Call) -> str | None:
        nonlocal begun, name
        if call.result is not None:
            return None
        if begun:
            begun += 1
        elif call.name in {"openat", "open"} and call.text(call.args[call.name == "openat"]).endswith(f"/{BEGIN}"):
            begun = 1
        if moment and begun == moment + 1:
            name = call.name
            return KILL
        return None

    run(lambda: serve(directory, token, twin), visit)
    return begun - 1, name


def _fresh(template: Path) -> Path:
    directory = template.with_name("directory")
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(template, directory)
    return directory


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("twin", choices=("server", "answer-first"))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    chosen = parser.parse_args()
    shelf = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    base = Path(tempfile.mkdtemp(dir=shelf))
    os.environ["XDG_STATE_HOME"] = str(base / "state")
    try:
        outcomes = list(killed(base, chosen.twin, slice(chosen.first - 1, None, chosen.every)))
    except OSError as error:
        print(json.dumps({"unable": error.strerror}))
        return
    finally:
        shutil.rmtree(base, ignore_errors=True)
    problems = [f"{moment}: {problem}" for moment, problem in outcomes if problem]
    print(json.dumps({"moments": len(outcomes), "problems": problems}))


if __name__ == "__main__":
    main()
