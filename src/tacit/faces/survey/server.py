"""The survey's door: a page that randomises in the browser, and a place to post the noisy answer to."""

from __future__ import annotations

import errno
import json
import socket
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from tacit.collect import describe
from tacit.collect.messages import HEAD
from tacit.core import decimal_text
from tacit.errors import EngineError
from tacit.faces.log_file import log
from tacit.faces.survey.questionnaire import Survey
from tacit.faces.survey.senders import PER_HOUR, Senders
from tacit.faces.survey.store import ReportStore

_PATIENCE = 10  # seconds that a client may keep us waiting
_AT_ONCE = 64  # connections served at the same time; further ones wait
_IN_A_ROW = 100  # requests of one connection, which is then closed, so that others come in
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1"}
OCTETS = "application/octet-stream"


class SurveyServer(ThreadingHTTPServer):
    """Serves one survey. It keeps no log of who asked: an address beside a report would undo it.

    From one address it takes `per_hour` reports an hour, or any number where that is 0.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, survey: Survey, *, host: str, port: int, names: tuple[str, ...] = (), per_hour: int = PER_HOUR
    ) -> None:
        self.survey = survey
        self.senders = Senders(per_hour)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.names = {name.lower() for name in (*names, host)} | (_LOCAL if host in _LOCAL else set())
        self.open_to_any_name = host in {"0.0.0.0", "::"} and not names  # noqa: S104 - compared, not bound to
        self.pages = _pages(survey)
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._connections: set[socket.socket] = set()
        self.store = ReportStore(survey)
        try:
            super().__init__((host, port), _Handler)
        except (OSError, UnicodeError) as error:
            self.store.close()
            why = getattr(error, "strerror", None) or "that is no name of a host"
            raise EngineError(f"the survey cannot be served at {host}:{port}: {why}", hint=_advice(error)) from None

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of one connection, when there is room."""
        with self._room:
            self._connections.add(request)
            try:
                super().process_request_thread(request, client_address)
            finally:
                self._connections.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that breaks off is no news, and nobody's address is written down."""
        log.debug("a request to the survey broke off")

    def server_close(self) -> None:
        """Stop listening, end the connections that are kept open, and let go of the reports."""
        super().server_close()
        for connection in list(self._connections):  # or a browser would go on asking a survey that is over
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.store.close()


def _advice(error: OSError | UnicodeError) -> str:
    nowhere = isinstance(error, (socket.gaierror, UnicodeError))
    if nowhere or getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
        return "choose a --host that is an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them"
    return "choose another --port"


class _Handler(BaseHTTPRequestHandler):
    server: SurveyServer
    timeout = _PATIENCE
    protocol_version = "HTTP/1.1"
    server_version = "tacit"
    sys_version = ""
    _answered = 0  # requests of this connection
    _unread = False  # some of the request's body is still on its way

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Write nothing down."""

    def do_GET(self) -> None:
        self._begin()
        page = self.server.pages.get(self.path.partition("?")[0])
        if not self._is_for_us():
            self._answer(HTTPStatus.MISDIRECTED_REQUEST)
        elif page is None:
            self._answer(HTTPStatus.NOT_FOUND)
        else:
            self._answer(HTTPStatus.OK, page[1], kind=page[0])

    def do_POST(self) -> None:
        self._begin()
        length = self._length()
        if not self._is_for_us():
            self._answer(HTTPStatus.MISDIRECTED_REQUEST)
        elif self.path != "/report":
            self._answer(HTTPStatus.NOT_FOUND)
        elif wait := self.server.senders.wait(str(self.client_address[0])):
            self._answer(HTTPStatus.TOO_MANY_REQUESTS, wait=wait)
        elif self.headers.get("Content-Type") != OCTETS:  # a form on another site cannot send this type
            self._keep(b"", otherwise=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif length is None:
            self._keep(b"", otherwise=HTTPStatus.LENGTH_REQUIRED)
        elif length > HEAD + self.server.survey.protocol.width:
            self._keep(b"", otherwise=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            message = self.rfile.read(length)
            self._unread = len(message) < length
            self._keep(message, otherwise=HTTPStatus.UNPROCESSABLE_ENTITY)

    def _begin(self) -> None:
        """Whether a body comes with the request: until it has been read the next request cannot be."""
        self._answered += 1
        self._unread = "Transfer-Encoding" in self.headers or self.headers.get("Content-Length", "0") != "0"

    def _length(self) -> int | None:
        """How long the body is; None where that is not said in a way that can be believed."""
        said = self.headers.get_all("Content-Length", [])
        if len(said) != 1 or "Transfer-Encoding" in self.headers:
            return None
        return int(said[0]) if said[0].isascii() and said[0].isdecimal() and len(said[0]) < 8 else None

    def _keep(self, message: bytes, *, otherwise: HTTPStatus) -> None:
        """Write a report down, or that there was one that does not fit; then say so."""
        try:
            fits = self.server.store.add(message)
        except OSError as error:
            log.error("a report could not be written: %s", error.strerror)
            self._answer(HTTPStatus.INSUFFICIENT_STORAGE)
        else:
            self._answer(HTTPStatus.NO_CONTENT if fits else otherwise)

    def _is_for_us(self) -> bool:
        """Whether the request names this host: a page elsewhere could make its own name point here."""
        host = self.headers.get("Host", "").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return self.server.open_to_any_name or name in self.server.names

    def _answer(self, status: HTTPStatus, body: bytes = b"", *, kind: str = "text/plain", wait: int = 0) -> None:
        """Send it, and say so if the connection ends with it: who would send more on it must know."""
        self.send_response(status)
        if self._unread or self.close_connection or self._answered >= _IN_A_ROW:
            self.send_header("Connection", "close")  # which also closes it
        if wait:
            self.send_header("Retry-After", str(wait))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _pages(survey: Survey) -> dict[str, tuple[str, bytes]]:
    """Everything that can be got, ready to be sent."""
    page = files("tacit.faces.survey") / "page"
    module = files("tacit.collect") / "js" / "tacit-collect.mjs"
    return {
        "/": ("text/html", (page / "index.html").read_bytes()),
        "/page.css": ("text/css", (page / "page.css").read_bytes()),
        "/page.mjs": ("text/javascript", (page / "page.mjs").read_bytes()),
        "/tacit-collect.mjs": ("text/javascript", module.read_bytes()),
        "/survey.json": ("application/json", json.dumps(public(survey), ensure_ascii=False).encode()),
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
