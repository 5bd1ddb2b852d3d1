"""What HTTP and MCP show of two databases that differ in one person: the same bytes, but for noisy values."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from e2e.cli_clinic import build
from e2e.test_agents import agent, run, said
from e2e.test_wire_neighbours import _ASKED, _REFUSED, SOMEBODY, without
from support.server import Served, serving
from support.sources import Seeded
from tacit.faces.server.serving import open_hub

REQUESTS = 200
_HASHES = re.compile(r"[0-9a-f]{64}")
_AGE = re.compile(r"\d+ (second|minute)s? ago")  # of the clock, not of the data
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*")
_NUMBERS = re.compile(r"-?\d[\d,]*(\.\d+)?")


def questions(count: int) -> Iterator[dict[str, Any]]:
    """Bodies of questions, the same in every run: answered, refused, and no questions at all."""
    source = random.Random(11)
    for _ in range(count):
        body = source.choice(_ASKED * 2 + _REFUSED).format(age=source.randrange(18, 60), dept="CS")
        price = f"0.00{source.randrange(1, 9)}"
        if source.random() < 0.2:
            yield {"sql": f"SELECT {body}", "epsilon": price}
        elif source.random() < 0.1:
            yield {"sql": f"DP-SELECT {price} {body}", "parameters": [source.randrange(9)]}
        else:
            yield {"sql": f"DP-SELECT {price} FRESH {body}"}


def bare(body: Any) -> Any:
    """A reply without what noise decides: numbers of noisy columns, and the hashes of entries that hold them."""
    if isinstance(body, dict) and "answers" in body:
        return {**body, "answers": [bare(each) for each in body["answers"]], "id": "", "receipt": ""}
    if isinstance(body, dict) and "rows" in body:
        noisy = [shape["noisy"] for shape in body["shapes"]]
        rows = [[type(c).__name__ if n else c for c, n in zip(row, noisy, strict=True)] for row in body["rows"]]
        errors = [[type(e).__name__ for e in row] for row in body["errors"]]  # of an average: made of noisy numbers
        notes = [_AGE.sub("some time ago", note) for note in body["notes"]]
        body = {
            **body,
            "rows": rows,
            "errors": errors,
            "notes": notes,
            "id": "",
            "receipt": {**body["receipt"], "entry": ""},
        }
    return body


def over_http(path: Path) -> list[tuple[int, Any, dict[str, str]]]:
    hub = open_hub(path)
    hub._house.curator._source = Seeded(1)
    found = []
    with serving(hub) as served, served.client("ana") as client:
        for index, body in enumerate(questions(REQUESTS)):
            route = ("/v1/query", "/v1/batch", "/v1/query", "/v1/explain")[index % 4]
            sent = {"questions": [body["sql"]], "epsilon": "0.01"} if route == "/v1/batch" else body
            found.append(told(client.post(route, json=sent)))
        for route in ("/v1/budget", "/v1/schema", "/v1/releases/nothing", "/healthz", "/nowhere", "/v1/log?limit=500"):
            reply = client.get(route)
            found.append((reply.status_code, _TIMES.sub("", _HASHES.sub("", reply.text)), {}))
        with served.client("carla", role="curator") as curator:
            found.append((0, curator.get("/metrics").text, {}))
    return found


def told(reply: httpx.Response) -> tuple[int, Any, dict[str, str]]:
    """All of a reply but what noise decides: of an answer also how long it is."""
    body = reply.json()
    noisy = reply.status_code == 200 and ("rows" in body or "answers" in body)
    unsaid = {"date", "content-length"} if noisy else {"date"}
    return reply.status_code, bare(body), {name: text for name, text in reply.headers.items() if name not in unsaid}


def over_mcp(path: Path) -> list[tuple[bool, str]]:
    hub = open_hub(path)
    hub._house.curator._source = Seeded(1)

    async def talk(served: Served) -> list[tuple[bool, str]]:
        found = []
        async with agent(served, served.token("ana"), "legacy") as client:
            for index, body in enumerate(questions(REQUESTS)):
                result = await client.call_tool(("ask", "explain")[index % 4 == 3], body)
                text = _AGE.sub("some time ago", said(result))
                if index % 4 != 3 and not result.is_error:  # an answer: the words must agree, its numbers are noise
                    text = re.sub(r"[ ─]+", " ", _NUMBERS.sub("#", text))
                found.append((result.is_error, _HASHES.sub("", text)))
        return found

    with serving(hub) as served:
        return run(talk, served)


@pytest.mark.parametrize("over", [over_http, over_mcp])
def test_what_a_client_is_told_is_the_same_with_and_without_somebody(over: Any, tmp_path: Path) -> None:
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    whole = over(build(tmp_path / "with"))
    fewer = over(without(build(tmp_path / "without"), SOMEBODY))
    assert len(whole) >= REQUESTS
    assert json.dumps(whole, default=str) == json.dumps(fewer, default=str)
    statuses = {str(each[0]) for each in whole}
    assert len(statuses) > 1  # answers and refusals


def test_a_reply_that_tells_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.curator.forms.release import Release

    real = Release.to_dict

    def telling(self: Release) -> dict[str, object]:
        found = real(self)
        return {**found, "notes": [*self.notes, f"{len(str(self.rows))} letters"]}  # what noise decides, out of place

    monkeypatch.setattr(Release, "to_dict", telling)
    monkeypatch.setattr("e2e.test_door_neighbours.REQUESTS", 12)
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    whole = over_http(build(tmp_path / "with"))
    fewer = over_http(without(build(tmp_path / "without"), SOMEBODY))
    assert json.dumps(whole, default=str) != json.dumps(fewer, default=str)
