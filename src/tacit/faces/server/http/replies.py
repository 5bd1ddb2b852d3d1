"""What the HTTP API says: answers as JSON, and every error in one shape."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from tacit.errors import (
    AccessDenied,
    AnswerWithheld,
    BudgetExceeded,
    EngineError,
    InvalidParameter,
    LedgerError,
    NoiseUnavailable,
    Overloaded,
    PolicyError,
    QueryRefused,
    QuerySyntaxError,
    RequestConflict,
    ServerUnreachable,
    TacitError,
)
from tacit.faces.catalogue import Catalogue

STATUSES: tuple[tuple[type[TacitError], int], ...] = (  # the first that fits
    (RequestConflict, 409),
    (QuerySyntaxError, 400),
    (QueryRefused, 422),
    (InvalidParameter, 400),
    (BudgetExceeded, 402),
    (AnswerWithheld, 422),
    (PolicyError, 503),
    (EngineError, 500),
    (LedgerError, 503),
    (NoiseUnavailable, 503),
    (Overloaded, 429),
    (AccessDenied, 401),
    (ServerUnreachable, 503),
)
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_WORDS = re.compile(r"(?<!^)(?=[A-Z])")


def answer(value: object, *, status: int = 200) -> Response:
    """A JSON answer. It is not to be kept by anybody on its way."""
    text = json.dumps(finite(value), allow_nan=False)
    return Response(text, status_code=status, media_type="application/json", headers=HEADERS)


def refusal(error: TacitError, *, status: int | None = None, code: str | None = None) -> Response:
    """`{"error": {"code", "message", "hint", "sqlstate"}}`, whatever went wrong."""
    http_status = (
        next((number for kind, number in STATUSES if isinstance(error, kind)), 500) if status is None else status
    )
    return problem(http_status, code or code_of(error), error.message, hint=error.hint, sqlstate=error.sqlstate)


def problem(status: int, code: str, message: str, *, hint: str = "", sqlstate: str = "") -> Response:
    """The reply for what has no error of its own, such as a path that is not there."""
    reply = answer({"error": {"code": code, "message": message, "hint": hint, "sqlstate": sqlstate}}, status=status)
    if status == 401:
        reply.headers["www-authenticate"] = "Bearer"
    if status in {429, 503}:
        reply.headers["retry-after"] = "1"
    return reply


def code_of(error: TacitError) -> str:
    """`query_refused` for QueryRefused."""
    return _WORDS.sub("_", type(error).__name__).lower().strip("_")


def schema_body(known: Catalogue) -> dict[str, object]:
    """The public schema as what becomes JSON: tables, what they hide, and their columns."""
    return {
        "dataset": known.dataset,
        "tables": [
            {
                "name": table.name,
                "hides": table.hides or None,
                "bounds": table.caps,
                "description": table.description,
                "columns": [
                    {"name": column.name, "type": column.type, "known": column.known, "description": column.description}
                    for column in table.columns
                ],
            }
            for table in known.tables
        ],
    }


def finite(value: object) -> Any:
    """JSON has no infinity: an error bar without end is null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return value
