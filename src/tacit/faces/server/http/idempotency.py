"""Idempotency keys: the same key and the same request are answered once, however often they are sent."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from tacit.errors import InvalidParameter, RequestConflict

MOST_KEYS = 512  # of one analyst; what an older one paid for is still in the ledger, and given again from there
LONGEST = 128
_Kept = tuple[str, "asyncio.Future[Response]"]


class RequestKeys:
    """The answers of one analyst's newest keys. One event loop uses it.

    The ledger knows the keys of what was charged for ever. This remembers, beside it, those of answers that cost
    nothing, and requests that still run: the second of two at once waits for the first.
    """

    def __init__(self) -> None:
        self._known: dict[str, OrderedDict[str, _Kept]] = {}

    async def once(self, request: Request, analyst: str, act: Callable[[str | None], Awaitable[Response]]) -> Response:
        """The reply of `act`, which is given the key; or the reply that was given to the same request."""
        key = key_of(request)
        if key is None:
            return await act(None)
        digest = hashlib.sha256(request.url.path.encode() + b"\n" + await request.body()).hexdigest()
        known = self._known.setdefault(analyst, OrderedDict())
        if key in known:
            before, reply = known[key]
            if before != digest:
                raise RequestConflict(
                    f"the key {key!r} stands for another request", hint="give each question a key of its own"
                )
            return copied(await asyncio.shield(reply))
        return await self._first(known, key, digest, act)

    async def _first(
        self, known: OrderedDict[str, _Kept], key: str, digest: str, act: Callable[[str | None], Awaitable[Response]]
    ) -> Response:
        reply: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        known[key] = digest, reply
        try:
            first = await act(key)
        except BaseException as error:
            known.pop(key, None)
            reply.set_exception(error)
            reply.exception()  # whoever waits is told; that nobody does is no mistake
            raise
        reply.set_result(first)
        while len(known) > MOST_KEYS:
            oldest = next(iter(known))
            if not known[oldest][1].done():
                break
            del known[oldest]
        return copied(first)


def key_of(request: Request) -> str | None:
    """The request's key; None where it has none."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST or not key.isascii() or not key.isprintable():
        raise InvalidParameter(f"Idempotency-Key must be 1 to {LONGEST} printable characters")
    return str(key)


def copied(reply: Response) -> Response:
    """The same reply, to be sent once more."""
    return Response(reply.body, status_code=reply.status_code, headers=dict(reply.headers))
