"""The HTTP API against its own OpenAPI document, by requests that schemathesis makes up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from e2e.cli_clinic import build
from support.server import Served, serving
from tacit.faces.server.serving import open_hub


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(open_hub(build(tmp_path_factory.mktemp("openapi"), people=20))) as found:
        yield found


@pytest.fixture(scope="module")
def api(served: Served) -> object:
    return schemathesis.openapi.from_url(f"{served.url}/v1/openapi.json")


def test_every_operation_answers_as_the_document_says(served: Served, api: object) -> None:
    headers = {"authorization": f"Bearer {served.token('ana')}"}
    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    names: list[str] = []
    tried: list[str] = []
    for result in api.get_all_operations():  # type: ignore[attr-defined]
        operation = result.ok()
        names.append(operation.path)
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @settings(
                max_examples=12,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def conforms(case: object) -> None:
                tried.append(case.operation.path)  # type: ignore[attr-defined]
                case.call_and_validate(headers=headers, checks=checks)  # type: ignore[attr-defined]

            with suppress(Unsatisfiable):  # what takes nothing cannot be given anything wrong
                conforms()
    assert len(names) >= 8
    assert set(tried) == set(names)
