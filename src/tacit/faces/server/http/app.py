"""The HTTP application: every request through the same gate, every error in the same shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from tacit.errors import TacitError
from tacit.faces.log_file import log
from tacit.faces.server.http import gate
from tacit.faces.server.http.api import Api
from tacit.faces.server.http.openapi import ROUTES, ApiRoute, document
from tacit.faces.server.http.replies import answer, problem, refusal
from tacit.faces.server.serving import Hub

Handler = Callable[[Request], Awaitable[Response]]
_PLAIN = {404: ("not_found", "there is no such path"), 405: ("method_not_allowed", "this path has other methods")}


def http_app(
    hub: Hub,
    *,
    more: tuple[BaseRoute, ...] = (),
    lost: Callable[[], Response] | None = None,
    beside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    rates: gate.RateLimit | None = None,
) -> Starlette:
    """The application over one hub; `more` are routes of other doors that share the port, and `rates`.

    `lost` is what a browser is shown in the place of a page that is not there. What `beside` gives is entered while the
    application runs.
    """
    api, rates = Api(hub), rates or gate.RateLimit()
    routes: list[BaseRoute] = [_route(route, api, rates) for route in ROUTES]
    whole = document()

    async def shown(request: Request) -> Response:
        return answer(whole)

    routes.append(Route("/metrics", _guarded("/metrics", api.metrics_text, api), methods=["GET"]))
    routes.append(Route("/v1/openapi.json", _guarded("/v1/openapi.json", shown, api), methods=["GET"]))

    async def not_there(request: Request, error: Exception) -> Response:
        is_lost = request.method == "GET" and getattr(error, "status_code", 0) == 404
        wants_page = is_lost and "text/html" in request.headers.get("accept", "")
        return lost() if lost is not None and wants_page else _not_there(error)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with beside():
            yield

    return Starlette(
        routes=[*routes, *more],
        exception_handlers={HTTPException: not_there, ClientDisconnect: _cut_short, Exception: _unforeseen_reply},
        lifespan=lifespan,
        middleware=[Middleware(gate.SaidOnce)],
    )


def _route(route: ApiRoute, api: Api, rates: gate.RateLimit) -> Route:
    act: Callable[..., Awaitable[Response]] = getattr(api, route.name)

    async def handle(request: Request) -> Response:
        if route.is_open:
            return await act(request)
        analyst = await gate.analyst(request, api.hub)
        rates.check(analyst, api.hub.policy.server.rate)
        return await act(request, analyst)

    return Route(route.path, _guarded(route.path, handle, api), methods=[route.method])


def _guarded(path: str, handle: Handler, api: Api) -> Handler:
    """The handler behind the Host check, with its errors told and its requests counted."""

    async def guarded(request: Request) -> Response:
        try:
            gate.check_host(request, api.hub)
            reply = await handle(request)
        except gate.TooLarge as error:
            reply = refusal(error, status=413)
        except gate.Forbidden as error:
            reply = refusal(error, status=403)
        except TacitError as error:
            reply = refusal(error)
        except (HTTPException, ClientDisconnect):
            raise
        except Exception as error:  # whatever it is, it may hold cells
            reply = _unforeseen(error)
        api.metrics.note(path, reply.status_code)
        return reply

    return guarded


def _unforeseen(error: Exception) -> Response:
    log.error("%s: %s", type(error).__name__, error, exc_info=error)
    return problem(500, "internal", "something went wrong inside tacit", hint="the curator's log says what")


async def _unforeseen_reply(request: Request, error: Exception) -> Response:
    return _unforeseen(error)


async def _cut_short(request: Request, error: Exception) -> Response:
    """A request that did not come to its end: there is nobody to tell, and nothing for the log."""
    return problem(408, "cut_short", "the request did not come to its end", hint="send it again")


def _not_there(error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    code, message = _PLAIN.get(status, ("http_error", "the request cannot be served"))
    reply = problem(status, code, message, hint="/v1/openapi.json lists them")
    for name, value in (getattr(error, "headers", None) or {}).items():
        reply.headers[name] = value
    return reply
