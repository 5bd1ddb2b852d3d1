"""The doors opened, kept open until a signal comes, and closed without losing what runs."""

from __future__ import annotations

import asyncio
import errno
import importlib
import importlib.util
import ipaddress
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette

from tacit.errors import PolicyError
from tacit.faces.listening.http_server import HttpServer
from tacit.faces.server.certificates import fingerprint, tls_context, tls_files
from tacit.faces.server.console.routes import console_door
from tacit.faces.server.http.app import http_app
from tacit.faces.server.http.gate import RateLimit
from tacit.faces.server.serving import Hub

WIRE = "tacit.faces.server.wire.server"
_BACKLOG = 1024
_FLUSH = 0.1  # seconds
_LONGEST_HEADER = 64 * 1024


@dataclass(frozen=True, slots=True)
class Doors:
    """Where the doors are. A port of None leaves that door shut; 0 takes any that is free."""

    host: str
    http_port: int | None
    pg_port: int | None


async def serve(hub: Hub, doors: Doors, *, say: Callable[[str], None], stop: asyncio.Event | None = None) -> bool:
    """Keep the doors open until SIGTERM, SIGINT or `stop`; whether everything that ran was answered."""
    stopping = asyncio.Event() if stop is None else stop
    tls = _tls(hub, doors)
    with _listening(doors.host, doors.http_port) as http_socket:
        http = None if http_socket is None else _http_server(hub, http_socket, tls if _needs_tls(hub, doors) else None)
        wire = await _open_wire(hub, doors, tls)
        running = None
        if http is not None and http_socket is not None:
            running = asyncio.create_task(http.serve())
            say(f"HTTP        {_address('https' if _needs_tls(hub, doors) else 'http', http_socket)}")
        if wire is not None:
            say(f"PostgreSQL  {doors.host}:{wire.port}{wire.note and f' ({wire.note})'}")
        if tls is not None:
            say(f"certificate {fingerprint(tls_files(hub.policy)[0])}")
        with _signals(stopping, http):
            await _until(stopping, running)
        if http is not None:
            http.should_exit = True  # no new connections; what runs is answered first
        finished = await asyncio.to_thread(hub.close)
        if running is not None:
            await running
        if wire is not None:
            await asyncio.sleep((hub.policy.server.slot_ms or 0) / 1000 + _FLUSH)  # for answers on their way out
            await wire.stop()
    return finished


async def _until(stopping: asyncio.Event, running: asyncio.Task[None] | None) -> None:
    """Until somebody wants it to stop; or until a door has shut by itself."""
    waiting = asyncio.create_task(stopping.wait())
    await asyncio.wait({waiting} if running is None else {waiting, running}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


def _http_server(hub: Hub, listening: socket.socket, tls: ssl.SSLContext | None) -> HttpServer:
    server = hub.policy.server
    config = uvicorn.Config(
        _application(hub),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_keep_alive=max(1, int(server.idle.total_seconds())),
        timeout_graceful_shutdown=max(1, int(server.drain.total_seconds())),
        h11_max_incomplete_event_size=_LONGEST_HEADER,
        ws="none",
    )
    return HttpServer(config, listening, tls=tls, patience=server.patience.total_seconds())


def _application(hub: Hub) -> Starlette:
    """The API and the console; and the agents' door, where the package it needs is installed."""
    console = console_door(hub)
    if importlib.util.find_spec("mcp") is None:
        return http_app(hub, more=console.routes, lost=console.lost, beside=console.running)
    from tacit.faces.server.agents.http import AgentDoor

    rates = RateLimit()
    agents = AgentDoor(hub, rates)
    more = (*console.routes, agents.route)

    @asynccontextmanager
    async def beside() -> AsyncIterator[None]:
        async with console.running(), agents.running():
            yield

    return http_app(hub, more=more, lost=console.lost, beside=beside, rates=rates)


def _tls(hub: Hub, doors: Doors) -> ssl.SSLContext | None:
    """For the wire always, so that clients may ask for it; made before a port is taken."""
    if doors.pg_port is None and not _needs_tls(hub, doors):
        return None
    return tls_context(*tls_files(hub.policy))


def _needs_tls(hub: Hub, doors: Doors) -> bool:
    """Whether HTTP is encrypted: wherever a token could be overheard, and where the curator has a certificate."""
    return hub.policy.server.certificate is not None or not _is_local(doors.host)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _open_wire(hub: Hub, doors: Doors, tls: ssl.SSLContext | None) -> Any:
    """The PostgreSQL door, where it is part of this installation."""
    if doors.pg_port is None or importlib.util.find_spec(WIRE.rpartition(".")[0]) is None:
        return None
    cap = hub.policy.server.connection_epsilon
    limit = {} if cap is None else {"cap": cap}
    wire = importlib.import_module(WIRE)
    server = hub.policy.server
    entrance = wire.Entrance(server.patience.total_seconds(), idle=server.connection_idle.total_seconds())
    return await wire.serve_wire(hub, host=doors.host, port=doors.pg_port, tls=tls, entrance=entrance, **limit)


@contextmanager
def _listening(host: str, port: int | None) -> Iterator[socket.socket | None]:
    if port is None:
        yield None
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:  # or its connections wait for ACKs
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except (OSError, UnicodeError) as error:
            raise cannot_listen(host, port, error) from None
        yield listener


def cannot_listen(host: str, port: int, error: OSError | UnicodeError) -> PolicyError:
    """Why a door cannot be opened, in one line."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return PolicyError(f"port {port} of {host} is in use", hint="stop who uses it, or choose another in [server]")
    if isinstance(error, OSError) and error.errno in {errno.EACCES, errno.EPERM}:
        return PolicyError(f"port {port} may not be opened by this user", hint="choose one above 1023")
    return PolicyError(f"{host} is no address of this machine", hint="see host in [server]")


@contextmanager
def _signals(stopping: asyncio.Event, http: HttpServer | None) -> Iterator[None]:
    """SIGTERM and SIGINT stop; a second one does not wait for what runs."""
    loop = asyncio.get_running_loop()

    def told() -> None:
        if stopping.is_set() and http is not None:
            http.force_exit = True
        stopping.set()

    try:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, told)
    except (ValueError, RuntimeError):  # not the main thread: whoever runs it there stops it
        yield
        return
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _address(scheme: str, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
