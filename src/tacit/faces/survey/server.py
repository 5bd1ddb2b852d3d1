"""A server of one survey alone: for those who collect, and have no data to be asked about."""

from __future__ import annotations

import asyncio
import errno
import socket
from types import TracebackType
from typing import Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.collect.surveys.questionnaire import Survey
from tacit.collect.surveys.store import ReportStore
from tacit.errors import EngineError
from tacit.faces.listening.http_server import HttpServer
from tacit.faces.survey.senders import PER_HOUR, Senders
from tacit.faces.survey.site import SurveySite

_KEPT_OPEN = 10  # seconds that a connection may say nothing
_PATIENCE = 30.0  # seconds in which a request must be sent, and its answer taken
_AT_ONCE = 1_000  # connections; further ones are told to come again
_BACKLOG = 128
_LONGEST_HEADER = 16 * 1024
_LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1"}


class SurveyServer:
    """Serves one survey, to be entered with `with`.

    From one address it takes `per_hour` reports an hour, or any number where that is 0.
    """

    def __init__(
        self, survey: Survey, *, host: str, port: int, names: tuple[str, ...] = (), per_hour: int = PER_HOUR
    ) -> None:
        self._names = {name.lower() for name in (*names, host)} | (_LOCAL if host in _LOCAL else set())
        self._open_to_any_name = host in {"0.0.0.0", "::"} and not names  # noqa: S104 - compared, not bound to
        self._socket = _listening(host, port)
        try:
            self._site = SurveySite.of(survey, senders=Senders(per_hour), is_for_us=self._is_for_us)
        except Exception:
            self._socket.close()
            raise
        config = uvicorn.Config(
            Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])]),
            http="h11",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEPT_OPEN,
            timeout_graceful_shutdown=1,
            limit_concurrency=_AT_ONCE,
            h11_max_incomplete_event_size=_LONGEST_HEADER,
        )
        self._server = _PatientServer(config, self._socket, tls=None, patience=_PATIENCE)

    @property
    def store(self) -> ReportStore:
        """Where the reports go."""
        return self._site.store

    @property
    def server_address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._socket.getsockname()[:2]
        return str(host), int(port)

    def serve_forever(self) -> None:
        """Answer until `shutdown`, or until interrupted."""
        asyncio.run(self._server.serve())

    def shutdown(self) -> None:
        """Stop answering; from another thread."""
        self._server.should_exit = True

    def server_close(self) -> None:
        """Stop listening, and let go of the reports."""
        self._socket.close()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server_close()

    async def _answer(self, request: Request) -> Response:
        reply = await self._site.answer(request, request.path_params["path"])
        if reply.headers.get("connection") != "close":
            reply.headers["Keep-Alive"] = f"timeout={_KEPT_OPEN}"  # so that no report is sent into a closed connection
        return reply

    def _is_for_us(self, request: Request) -> bool:
        host = request.headers.get("host", "").lower()
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return self._open_to_any_name or name in self._names


class _PatientServer(HttpServer):
    """The server of the doors, which ends by itself when a signal comes: nobody else runs here."""

    capture_signals = uvicorn.Server.capture_signals


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or "that is no name of a host"
        raise EngineError(f"the survey cannot be served at {host}:{port}: {why}", hint=_advice(error)) from None
    return listener


def _advice(error: OSError | UnicodeError) -> str:
    nowhere = isinstance(error, (socket.gaierror, UnicodeError))
    if nowhere or getattr(error, "errno", None) == errno.EADDRNOTAVAIL:
        return "choose a --host that is an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them"
    return "choose another --port"
