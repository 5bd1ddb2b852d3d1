"""A survey to put to the test: its file, reports as browsers send them, and a server in a thread."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from e2e.cli_clinic import here
from support.sources import Seeded
from tacit import collect
from tacit.collect.surveys.questionnaire import Survey, load
from tacit.faces.survey.server import SurveyServer


def make(directory: Path, *arguments: str, name: str = "doping.toml") -> Survey:
    ran = here("survey", "new", name, *arguments, cwd=directory)
    assert ran.code == 0, ran.err
    return load(directory / name)


def reports_of(survey: Survey, values: Any) -> list[bytes]:
    """Messages, as browsers would send them."""
    return collect.messages(survey.protocol, survey.protocol.encode(values, Seeded(1)), topic=survey.topic)


def collected(survey: Survey, values: Any, *, rejected: int = 0) -> None:
    """Reports in the survey's file, as its server would have written them."""
    messages = reports_of(survey, values)
    lines = [json.dumps({"report": message.hex()}) for message in messages] + [json.dumps({"rejected": 1})] * rejected
    survey.reports.write_text("".join(f"{line}\n" for line in lines))


@contextmanager
def served(survey: Survey, **options: Any) -> Iterator[SurveyServer]:
    with SurveyServer(survey, **{"host": "127.0.0.1", "port": 0, **options}) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server: SurveyServer, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body=body, headers=sent)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found
