"""Every address of the console, and who may open it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tacit.errors import QueryRefused
from tacit.faces.server.console import asking, ledger_pages, policy_page, risk_page, schema_page, survey_pages
from tacit.faces.server.console.guard import Console, guarded, page_route, trouble
from tacit.faces.server.console.pages import HEADERS, StaticFile, static_files
from tacit.faces.server.console.signing_in import sign_in_routes
from tacit.faces.server.console.survey_pages import survey_routes
from tacit.faces.server.serving import Hub

_A_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class ConsoleDoor:
    """The console over one hub: its routes, and what is shown where there is no page."""

    routes: tuple[BaseRoute, ...]
    lost: Callable[[], Response]
    running: Callable[[], AbstractAsyncContextManager[None]]  # entered while the server runs


def console_door(hub: Hub) -> ConsoleDoor:
    """The pages over one hub; they share a port with the API. Raises PolicyError where a survey cannot be read."""
    console = Console(hub)
    console.surveys.of(hub.policy)
    missing = QueryRefused("there is no such page", hint="start from the top")

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        try:
            yield
        finally:
            console.surveys.close()

    return ConsoleDoor(
        _routes(console),
        lost=lambda: console.page("error.html", status=404, code=404, error=missing),
        running=running,
    )


def _routes(console: Console) -> tuple[BaseRoute, ...]:
    return (
        *sign_in_routes(console),
        page_route("/ask", console, asking.show, role="analyst"),
        page_route("/ask", console, asking.ask, post=True, role="analyst"),
        page_route("/ask/price", console, asking.price, post=True, role="analyst"),
        page_route("/ask/words", console, asking.words, role="analyst"),
        page_route("/answers/{id}", console, asking.answer, role="analyst"),
        page_route("/answers/{id}/answer.csv", console, asking.as_csv, role="analyst"),
        page_route("/answers/{id}/answer.json", console, asking.as_json, role="analyst"),
        page_route("/budget", console, ledger_pages.budget),
        page_route("/data", console, schema_page.data),
        page_route("/log", console, ledger_pages.log),
        page_route("/log", console, ledger_pages.verify, post=True),
        page_route("/policy", console, policy_page.show, role="curator"),
        page_route("/policy", console, policy_page.check, post=True, role="curator"),
        page_route("/risk", console, risk_page.show, role="curator"),
        page_route("/risk", console, risk_page.price, post=True, role="curator"),
        page_route("/surveys", console, survey_pages.surveys),
        *survey_routes(console),
        _static(console),
    )


def _static(console: Console) -> Route:
    known = static_files()

    async def send(request: Request) -> Response:
        file: StaticFile | None = known.get(request.path_params["name"])
        if file is None:
            return trouble(console, request, QueryRefused("there is no such file"), status=404)
        kept = _A_YEAR if request.query_params.get("v") == file.mark else "no-cache"
        return Response(file.content, media_type=file.kind, headers={**HEADERS, "cache-control": kept})

    return Route("/static/{name}", guarded(console, send), methods=["GET"])
