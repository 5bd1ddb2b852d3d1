"""A survey's pages, and the place that reports are posted to: in a server of its own, or among other doors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tacit.collect import describe
from tacit.collect.messages import HEAD
from tacit.collect.surveys.questionnaire import Survey
from tacit.collect.surveys.store import ReportStore
from tacit.core import decimal_text
from tacit.faces.log_file import log
from tacit.faces.survey.senders import Senders

OCTETS = "application/octet-stream"
_PATIENCE = 10  # seconds that a client may keep us waiting for its report
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True, eq=False)
class SurveySite:
    """One survey on the web. It keeps no log of who asked: an address beside a report would undo it."""

    survey: Survey
    store: ReportStore
    senders: Senders
    is_for_us: Callable[[Request], bool]  # a page elsewhere could make its own name point here
    pages: Mapping[str, tuple[str, bytes]]

    @classmethod
    def of(cls, survey: Survey, *, senders: Senders, is_for_us: Callable[[Request], bool]) -> SurveySite:
        """With its file of reports opened. Raises LedgerError where that cannot be written."""
        return cls(survey, ReportStore(survey), senders, is_for_us, _pages(survey))

    async def answer(self, request: Request, path: str) -> Response:
        """The reply to any request under the survey's own address."""
        if not self.is_for_us(request):
            return _reply(request, 421)
        if request.method == "GET":
            kind, body = self.pages.get(path, ("", b""))
            return _reply(request, 200, body, kind=kind) if body else _reply(request, 404)
        if request.method != "POST" or path != "report":
            return _reply(request, 404)
        wait = self.senders.wait(request.client.host if request.client is not None else "")
        if wait:
            return _reply(request, 429, wait=wait)
        message, otherwise = await self._message(request)
        return await self._keep(request, message, otherwise=otherwise)

    async def _message(self, request: Request) -> tuple[bytes, int]:
        """The report, and what is said if it does not fit; what cannot be one is not read."""
        if request.headers.get("content-type") != OCTETS:  # a form on another site cannot send this type
            return b"", 415
        said = request.headers.get("content-length", "")
        if "transfer-encoding" in request.headers or not (said.isascii() and said.isdecimal() and len(said) < 8):
            return b"", 411
        if int(said) > HEAD + self.survey.protocol.width:
            return b"", 413
        try:
            async with asyncio.timeout(_PATIENCE):
                return await request.body(), 422
        except (TimeoutError, ClientDisconnect):
            return b"", 408

    async def _keep(self, request: Request, message: bytes, *, otherwise: int) -> Response:
        """Write a report down, or that there was one that does not fit; then say so."""
        try:
            fits = await asyncio.to_thread(self.store.add, message)
        except OSError as error:
            log.error("a report could not be written: %s", error.strerror)
            return _reply(request, 507)
        return _reply(request, 204 if fits else otherwise)


def _reply(request: Request, status: int, body: bytes = b"", *, kind: str = "", wait: int = 0) -> Response:
    """A reply. One that leaves a body unread ends the connection: nothing of it is taken for the next request."""
    headers = dict(_HEADERS)
    unread = "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0"
    if unread and status not in {204, 422}:
        headers["Connection"] = "close"
    if wait:
        headers["Retry-After"] = str(wait)
    return Response(body, status_code=status, headers=headers, media_type=kind or None)


def _pages(survey: Survey) -> dict[str, tuple[str, bytes]]:
    """Everything that can be got, ready to be sent."""
    page = files("tacit.faces.survey") / "page"
    module = files("tacit.collect") / "js" / "tacit-collect.mjs"
    return {
        "": ("text/html", (page / "index.html").read_bytes()),
        "page.css": ("text/css", (page / "page.css").read_bytes()),
        "page.mjs": ("text/javascript", (page / "page.mjs").read_bytes()),
        "tacit-collect.mjs": ("text/javascript", module.read_bytes()),
        "survey.json": ("application/json", json.dumps(public(survey), ensure_ascii=False).encode()),
    }


def public(survey: Survey) -> dict[str, Any]:
    """What a browser needs to know of a survey: the question, and how to answer it privately.

    What an answer costs it works out of the description itself: nobody's word is taken for that.
    """
    bounds = survey.bounds
    return {
        "name": survey.name,
        "question": survey.question,
        "answers": list(survey.answers),
        "bounds": bounds and {key: decimal_text(getattr(bounds, key)) for key in ("lower", "upper", "step")},
        "description": describe(survey.protocol, survey.topic),
    }
