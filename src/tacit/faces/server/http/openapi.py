"""The OpenAPI document, made from the table of routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from tacit.faces.server.http.idempotency import LONGEST

Schema = Mapping[str, object]
_TEXT: Schema = {"type": "string"}
_AMOUNT: Schema = {"type": "string", "description": "an exact amount, such as 0.5 or 1/3"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_VALUE: Schema = {
    "anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "object", "properties": {"date": _TEXT}, "required": ["date"], "additionalProperties": False},
        {
            "type": "object",
            "properties": {"timestamp": _TEXT},
            "required": ["timestamp"],
            "additionalProperties": False,
        },
    ]
}
_PRICE: Schema = {
    "anyOf": [{"type": "number"}, {"type": "string"}, {"type": "null"}],
    "description": "a number above 0, or one in quotes such as 1/3",
}


def _object(required: Sequence[str], **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


def _closed(required: Sequence[str], **properties: Schema) -> Schema:
    return {**_object(required, **properties), "additionalProperties": False}


_LEFT: Schema = {"anyOf": [_object(("epsilon", "delta"), epsilon=_AMOUNT, delta=_AMOUNT), {"type": "null"}]}
_VALUES: Schema = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE}]}
_PARAMETERS: Schema = {
    "anyOf": [
        {"type": "array", "items": _VALUES},
        {"type": "object", "additionalProperties": _VALUES},
        {"type": "null"},
    ]
}
_ANSWER: Mapping[str, Schema] = {
    "columns": _TEXTS,
    "rows": {"type": "array", "items": {"type": "array"}},
    "errors": {"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}},
    "confidence": {"type": "number"},
    "covers": _TEXT,
    "epsilon": _AMOUNT,
    "delta": _AMOUNT,
    "left": _LEFT,
    "reused": _MAYBE_TEXT,
    "notes": _TEXTS,
    "receipt": _object(("plan", "policy", "entry")),
}
_ACCOUNT: Schema = _object(("spent", "left", "cap"))
_QUESTION: Schema = _closed(("sql",), sql=_TEXT, parameters=_PARAMETERS)
_BATCH: Mapping[str, Schema] = {
    "questions": {"type": "array", "minItems": 1, "items": {"anyOf": [_TEXT, _QUESTION]}},
    "epsilon": _PRICE,
    "within": _PRICE,
    "delta": _PRICE,
    "fresh": {"type": "boolean"},
}
_WHOLE_BATCH = {"answers": {"type": "array", "items": _object(tuple(_ANSWER), **_ANSWER)}, "id": _TEXT}
SCHEMAS: Mapping[str, Schema] = {
    "Question": _closed(("sql",), sql=_TEXT, parameters=_PARAMETERS, epsilon=_PRICE, delta=_PRICE),
    "Batch": _closed(("questions",), **_BATCH),
    "Release": _object(("id", *_ANSWER), id=_TEXT, **_ANSWER),
    "BatchRelease": _object(("id", "answers", "epsilon", "delta", "receipt"), **_WHOLE_BATCH),
    "Explanation": _object(("epsilon", "delta", "sql", "plan"), epsilon=_AMOUNT, delta=_AMOUNT, sql=_TEXT, plan=_TEXT),
    "Budget": _object(("dataset", "total", "analysts", "groups"), dataset=_TEXT, total=_ACCOUNT),
    "Log": _object(("entries",), entries={"type": "array", "items": _object(("seq", "act", "at", "hash"))}),
    "Schema": _object(
        ("dataset", "tables"), dataset=_TEXT, tables={"type": "array", "items": _object(("name", "columns"))}
    ),
    "Health": _object(("status",), status=_TEXT),
    "Error": _closed(
        ("error",),
        error=_closed(("code", "message", "hint", "sqlstate"), code=_TEXT, message=_TEXT, hint=_TEXT, sqlstate=_TEXT),
    ),
}
_REASONS = {
    400: "what was sent cannot be read",
    401: "no token that is known here",
    402: "the budget does not cover it; nothing was charged",
    403: "the token is known, and does not allow it",
    404: "there is no such answer of yours",
    409: "the Idempotency-Key stands for another request, or for one without an answer",
    413: "the body is too long",
    422: "the question is refused; nothing was charged",
    429: "too many requests at once; nothing was charged",
    500: "the database failed; what was charged stays charged",
    503: "the server is stopping, or its policy or ledger cannot be used",
}


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """One route: its method and path, what it does, what it takes and gives (names of SCHEMAS), and how it refuses."""

    method: str
    path: str
    name: str
    does: str
    takes: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    refuses: tuple[int, ...] = ()
    is_open: bool = False  # without a token
    repeats: bool = False  # takes an Idempotency-Key
    limited: bool = False  # takes a limit


_ASKS = (400, 401, 402, 403, 409, 413, 422, 429, 500, 503)
_READS = (400, 401, 403, 429, 500, 503)
ROUTES = (
    ApiRoute(
        "POST",
        "/v1/query",
        "query",
        "Answer one question; it is charged.",
        ("Question",),
        ("Release",),
        _ASKS,
        repeats=True,
    ),
    ApiRoute(
        "POST",
        "/v1/explain",
        "explain",
        "Say what a question or a batch would cost, how far off its answer would be, and what would run. Free.",
        ("Question", "Batch"),
        ("Explanation",),
        (400, 401, 402, 403, 413, 422, 429, 500, 503),
    ),
    ApiRoute(
        "POST",
        "/v1/batch",
        "batch",
        "Answer several questions for one price; it is charged once.",
        ("Batch",),
        ("BatchRelease",),
        _ASKS,
        repeats=True,
    ),
    ApiRoute("GET", "/v1/budget", "budget", "What is spent and left.", gives=("Budget",), refuses=_READS),
    ApiRoute(
        "GET", "/v1/log", "log", "Your newest entries in the ledger.", gives=("Log",), refuses=_READS, limited=True
    ),
    ApiRoute(
        "GET",
        "/v1/schema",
        "schema",
        "The tables and columns that may be asked about.",
        gives=("Schema",),
        refuses=_READS,
    ),
    ApiRoute(
        "GET",
        "/v1/releases/{id}",
        "release",
        "An answer of yours, given again. Free.",
        gives=("Release", "BatchRelease"),
        refuses=(*_READS, 404, 422),
    ),
    ApiRoute(
        "GET", "/healthz", "health", "Whether questions are taken.", gives=("Health",), refuses=(400, 503), is_open=True
    ),
)


def document() -> dict[str, object]:
    """The description of the HTTP door as OpenAPI 3.1, ready for JSON."""
    paths: dict[str, dict[str, object]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tacit", "version": version("tacit"), "description": "Private answers to questions in SQL."},
        "paths": paths,
        "components": {
            "schemas": dict(SCHEMAS),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: ApiRoute) -> dict[str, object]:
    replies = {"200": _reply(route.does, *route.gives)}
    replies |= {str(status): _reply(_REASONS[status], "Error") for status in route.refuses}
    operation: dict[str, object] = {"operationId": route.name, "summary": route.does, "responses": replies}
    if route.takes:
        operation["requestBody"] = {"required": True, "content": _content(*route.takes)}
    parameters = _parameters(route)
    if parameters:
        operation["parameters"] = parameters
    if route.is_open:
        operation["security"] = []
    return operation


def _parameters(route: ApiRoute) -> list[object]:
    parameters: list[object] = []
    if "{id}" in route.path:
        parameters.append({"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}})
    if route.limited:
        limit = {"type": "integer", "minimum": 1, "maximum": 1000, "default": 50}
        parameters.append({"name": "limit", "in": "query", "schema": limit})
    if route.repeats:
        key = {"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": "^[!-~]+$"}
        parameters.append({"name": "Idempotency-Key", "in": "header", "schema": key})
    return parameters


def _reply(description: str, *schemas: str) -> dict[str, object]:
    return {"description": description, "content": _content(*schemas)}


def _content(*names: str) -> dict[str, object]:
    references = [{"$ref": f"#/components/schemas/{name}"} for name in names]
    return {"application/json": {"schema": references[0] if len(references) == 1 else {"anyOf": references}}}
