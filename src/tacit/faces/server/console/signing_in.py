"""Signing in and out."""

from __future__ import annotations

import asyncio
import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import AccessDenied, TacitError
from tacit.faces.server.console.guard import (
    Console,
    drop_cookies,
    guarded,
    moved,
    read_form,
    session_cookie,
    set_cookie,
    status_of,
)
from tacit.faces.server.console.visitors import random_text

_OUR_PATH = re.compile(r"(/[A-Za-z0-9_-]+){1,3}")
_LONGEST = 256  # characters of a name


def sign_in_routes(console: Console) -> tuple[Route, ...]:
    """The page, its form, and the way out."""

    async def show(request: Request) -> Response:
        if console.visitor(request) is not None:
            return moved("/")
        return _page(console, request, wanted=request.query_params.get("next", ""))

    async def enter(request: Request) -> Response:
        form = await read_form(request, console)
        name, password = form.get("name", "")[:_LONGEST], form.get("password", "")
        try:
            _count(console, request, name)
            who = await asyncio.to_thread(console.hub.accounts.check, name, password)
            if who is None:
                raise AccessDenied("name and password do not fit", hint="the curator can set another password")
        except TacitError as error:
            return _page(console, request, error=error, name=name, wanted=form.get("next", ""))
        console.sessions.end(session_cookie(request))
        reply = moved(_ours(form.get("next", "")) or "/")
        set_cookie(reply, request, console.sessions.begin(who, console.hub.accounts))
        return reply

    async def leave(request: Request) -> Response:
        await read_form(request, console)
        console.sessions.end(session_cookie(request))
        reply = moved("/signin")
        drop_cookies(reply)
        reply.headers["clear-site-data"] = '"cache"'
        return reply

    async def start(request: Request) -> Response:
        visitor = console.visitor(request)
        return moved("/signin" if visitor is None else "/budget" if visitor.is_curator else "/ask")

    return (
        Route("/", guarded(console, start), methods=["GET"]),
        Route("/signin", guarded(console, show), methods=["GET"]),
        Route("/signin", guarded(console, enter), methods=["POST"]),
        Route("/signout", guarded(console, leave), methods=["POST"]),
    )


def _page(
    console: Console, request: Request, *, wanted: str, error: TacitError | None = None, name: str = ""
) -> Response:
    """The form. Its cookie names nobody; it ties the form to this browser, so that no other page can send one."""
    cookie = session_cookie(request) or random_text()
    reply = console.page(
        "signin.html",
        status=200 if error is None else status_of(error),
        error=error,
        name=name,
        csrf=console.sessions.token(cookie),
        next=_ours(wanted),
    )
    set_cookie(reply, request, cookie)
    return reply


def _ours(path: str) -> str:
    """The path, if it is one of this console's pages; a link must not send a person who signs in elsewhere."""
    return path if _OUR_PATH.fullmatch(path) else ""


def _count(console: Console, request: Request, name: str) -> None:
    """Count an attempt, by address and by name, whether or not there is such an account."""
    console.attempts.count(request.client.host if request.client is not None else "", name)
