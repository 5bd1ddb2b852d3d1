"""Who comes in: the Host header, the size of a body, the token, and how often."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.errors import AccessDenied, InvalidParameter, Overloaded, PolicyError
from tacit.faces.server.accounts import Principal
from tacit.faces.server.http.bodies import MOST_BYTES
from tacit.faces.server.http.replies import refusal
from tacit.faces.server.serving import Hub

_ONCE = {
    b"authorization": "its token",
    b"idempotency-key": "its key",
    b"mcp-session-id": "its session",
    b"host": "its host",
    b"content-type": "its type",
}


class TooLarge(InvalidParameter):
    """A body that is longer than any question."""


class Forbidden(AccessDenied):
    """Somebody who is known and may not do this."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """So many requests a minute for each analyst, in a burst or one by one. One event loop uses it."""

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}

    def check(self, analyst: str, per_minute: int) -> None:
        """Count one request; raises Overloaded where it is one too many."""
        now = time.monotonic()
        bucket = self._buckets.setdefault(analyst, _Bucket(per_minute, now))
        bucket.tokens = min(per_minute, bucket.tokens + (now - bucket.at) * per_minute / 60)
        bucket.at = now
        if bucket.tokens < 1:
            raise Overloaded(
                f"more than {per_minute:,} requests in a minute: nothing was charged", hint="wait a little"
            )
        bucket.tokens -= 1


def check_host(request: Request, hub: Hub) -> None:
    """Refuse a name that is not this server's: a page elsewhere may have made a browser take us for its own host."""
    name = (request.headers.get("host") or "").lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    server = hub.policy.server
    if name in {"localhost", server.host, *server.names}:
        return
    try:
        ipaddress.ip_address(name)  # no name, so nobody's
    except ValueError:
        hint = "add the name that clients use to names in [server]"
        raise InvalidParameter("the Host header names another server", hint=hint) from None


class SaidOnce:
    """Refuses a request that says twice how long it is, who sends it or which request it is, and ends its connection.

    Whoever stands in front of us may believe the other statement. Of two lengths: it takes for a part of this request
    what we would take for the next one, somebody else's, sent in their name. Of two tokens or two keys: it lets through
    or writes down one, and another is charged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        names = [name.lower() for name, _ in scope.get("headers", ())]
        if what := _said_twice(names):
            reply = refusal(InvalidParameter(f"the request states {what} twice", hint="send one of the two headers"))
            reply.headers["connection"] = "close"
            await reply(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _said_twice(names: Sequence[bytes]) -> str | None:
    """What the headers of these names, in small letters, say twice; None where they do not."""
    if b"transfer-encoding" in names and b"content-length" in names:
        return "its length"
    return next((what for name, what in _ONCE.items() if names.count(name) > 1), None)


async def read_body(request: Request) -> bytes:
    """The body, if it is not too long; a longer one is not read to its end."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise TooLarge(f"the body is longer than {MOST_BYTES:,} bytes")
        parts.append(part)
    whole = b"".join(parts)
    request._body = whole  # noqa: SLF001 - where starlette keeps a body that was read
    return whole


def known(request: Request, hub: Hub) -> Principal:
    """Whose token the request bears. Raises AccessDenied, in the same words whatever is wrong with it."""
    scheme, _, token = (request.headers.get("authorization") or "").partition(" ")
    account = hub.accounts.by_token(token.strip()) if scheme.lower() == "bearer" else None
    if account is None:
        raise AccessDenied(
            "no token that is known here",
            hint="send Authorization: Bearer TOKEN; the curator makes one by tacit analyst token NAME",
        )
    return account


async def analyst(request: Request, hub: Hub) -> str:
    """The analyst of the policy whose token it is."""
    who = known(request, hub)
    if who.role != "analyst":
        raise Forbidden("the curator's account asks no questions", hint="use an analyst's token")
    return await named(hub, who.name)


async def named(hub: Hub, name: str) -> str:
    """The name of an analyst whom the policy names; Forbidden where it does not."""
    await hub.look_for(name)
    try:
        return hub.policy.analyst(name).name
    except PolicyError:
        raise Forbidden("the policy no longer names this analyst", hint="ask the curator") from None


def curator(request: Request, hub: Hub) -> Principal:
    """The curator, or a refusal."""
    who = known(request, hub)
    if who.role != "curator":
        raise Forbidden("this is the curator's", hint="tacit analyst add NAME --curator makes such an account")
    return who
