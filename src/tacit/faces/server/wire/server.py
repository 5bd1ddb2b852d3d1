"""The PostgreSQL wire's server: takes connections, lets them in, and lets one cancel what another is at."""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import re
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from tacit.curator import Session
from tacit.errors import EngineError, TacitError
from tacit.faces.catalogue import Catalogue
from tacit.faces.listening.waiting_room import WaitingRoom
from tacit.faces.log_file import log
from tacit.faces.server.attempts import Attempts
from tacit.faces.server.wire.catalog.doors import Catalogues
from tacit.faces.server.wire.catalog.twin import is_there
from tacit.faces.server.wire.commands import COMMANDS
from tacit.faces.server.wire.connection import Cancellation, WireConnection, report, run
from tacit.faces.server.wire.executor import Executor
from tacit.faces.server.wire.faults import WireFault, of_error, tell
from tacit.faces.server.wire.framing import CutOff, Inbox, Outbox
from tacit.faces.server.wire.questions import AsksCurator, Questions
from tacit.faces.server.wire.seats import Seat, Seats
from tacit.faces.server.wire.settings import REPORTED, Settings
from tacit.faces.server.wire.startup import Cancel, KnowsAccounts, Start, authenticate, first_packet
from tacit.noise import SYSTEM

_AT_ONCE = 200  # connections of people who are known
_IDLE = 8 * 3600.0  # seconds in which a connection must ask something
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 30, "TCP_KEEPCNT": 4}  # a machine that is gone is noticed in minutes
_PATIENCE = 30.0  # seconds in which it must be known who somebody is
_CAP = Fraction(1)
_LAST_WORDS = 2.0  # seconds
_TAKEN = {"user", "database", "options", "replication"}


class WireHub(AsksCurator, Protocol):
    """What the wire needs of the hub: the curator behind it, and who may come in."""

    @property
    def accounts(self) -> KnowsAccounts: ...  # noqa: D102
    def session(self, analyst: str) -> Session: ...  # noqa: D102
    def check_policy(self) -> None: ...  # noqa: D102
    async def look_for(self, analyst: str) -> None: ...  # noqa: D102


@dataclass(slots=True)
class Entrance:
    """How connections come in: where and how long they wait, how many there may be, and how long they may be idle."""

    patience: float = _PATIENCE
    at_once: int = _AT_ONCE
    room: WaitingRoom = field(default_factory=WaitingRoom)
    idle: float = _IDLE


@dataclass(slots=True)
class WireServer:
    """Serves one hub."""

    hub: WireHub
    tls: ssl.SSLContext | None = None
    cap: Fraction = _CAP
    catalogues: Catalogues = field(default_factory=Catalogues)
    attempts: Attempts = field(default_factory=Attempts)
    entrance: Entrance = field(default_factory=Entrance)
    _open: dict[int, tuple[int, Cancellation]] = field(default_factory=dict)
    _seats: Seats = field(default_factory=Seats)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._seats = Seats(self.entrance.at_once)

    async def accept(self, inbox: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        if not isinstance(inbox, Inbox):
            raise TypeError("a connection is read through an Inbox")
        task = asyncio.current_task()
        self._tasks |= {task} if task is not None else set()
        outbox = Outbox(writer)
        _keep_alive(writer)
        try:
            await self._serve(inbox, writer, outbox)
        except (CutOff, asyncio.CancelledError):  # the client left, or the server ends
            pass
        except WireFault as fault:
            fault.fatal = True
            tell(outbox, fault)
            with suppress(CutOff):
                await outbox.flush()
        finally:
            self._tasks.discard(task)
            await _close(writer)

    async def _serve(self, inbox: Inbox, writer: asyncio.StreamWriter, outbox: Outbox) -> None:
        met = await self._meet(inbox, writer, outbox)
        if met is None:
            return
        start, analyst = met
        task = asyncio.current_task()
        seat = self._seats.take(analyst, lambda: _end(task))
        key = int.from_bytes(SYSTEM.draw(4).tobytes()) >> 1 or 1, int.from_bytes(SYSTEM.draw(4).tobytes())
        cancellation = Cancellation()
        while key[0] in self._open:
            key = key[0] + 1, key[1]
        self._open[key[0]] = key[1], cancellation
        try:
            await self._let_in(inbox, outbox, start, seat=seat, cancellation=cancellation, key=key)
        except asyncio.CancelledError:
            if not seat.ended:
                raise
            raise WireFault("57P05", "terminating connection: it was idle, and others needed its place") from None
        finally:
            del self._open[key[0]]
            self._seats.leave(seat)

    async def _meet(self, inbox: Inbox, writer: asyncio.StreamWriter, outbox: Outbox) -> tuple[Start, str] | None:
        """Who it is and what they said; None where they wanted something cancelled. All of it has one deadline."""
        task, address = asyncio.current_task(), _address(writer)
        with self.entrance.room.waiting(address, lambda: _end(task)):
            try:
                async with asyncio.timeout(self.entrance.patience):
                    start = await first_packet(inbox, writer, tls=self.tls)
                    if isinstance(start, Cancel):
                        self._cancel(start)
                        return None
                    if self.tls is not None and not start.encrypted and not _is_near(writer):
                        why = "a connection from another machine must be encrypted"
                        raise WireFault("28000", why, hint="set sslmode=require")
                    return start, await self._known(inbox, outbox, start, address=address)
            except TimeoutError:
                raise CutOff from None

    async def _known(self, inbox: Inbox, outbox: Outbox, start: Start, *, address: str) -> str:
        """The analyst who it is. Whoever fails too often is not listened to for a while."""
        try:
            self.attempts.check(address, start.user)
            name = await authenticate(inbox, outbox, start, self.hub.accounts)
            await self.hub.look_for(name)
            return self.hub.session(name).analyst
        except TacitError as error:
            fault = of_error(error)
            raise WireFault("28000", fault.message, hint=fault.hint, fatal=True) from None
        except WireFault:
            self.attempts.failed(address, start.user)
            raise

    async def _let_in(
        self,
        inbox: Inbox,
        outbox: Outbox,
        start: Start,
        *,
        seat: Seat,
        cancellation: Cancellation,
        key: tuple[int, int],
    ) -> None:
        analyst, before = seat.analyst, self.hub.accounts.scram(seat.analyst).stored_key

        def check_account() -> None:
            if self.hub.accounts.scram(analyst).stored_key != before:
                why = "terminating connection: the account, or its password, is not what it was"
                raise WireFault("28000", why, hint="connect again", fatal=True)

        settings = Settings(self.cap, analyst, idle=self.entrance.idle)
        _take_settings(settings, start)

        async def in_force() -> Catalogue:
            """The public schema, now. Raises PolicyError where it cannot be read, or is not theirs any more."""
            await asyncio.to_thread(self.hub.check_policy)
            self.hub.session(analyst)
            return self.hub.catalogue

        async with self.catalogues.door(in_force, analyst, settings) as catalogue:
            questions = Questions(self.hub, analyst, settings, cancellation.waits)
            executor = Executor(questions, catalogue, settings, COMMANDS)
            for name in REPORTED:
                report(outbox, name, settings.get(name))
            outbox.put(b"K", struct.pack("!II", *key))
            await run(WireConnection(inbox, outbox, executor, seat, check_account))

    def _cancel(self, wish: Cancel) -> None:
        """Cancel what a connection is at, if its secret is known."""
        connection = self._open.get(wish.process)
        secret = (wish.secret & 0xFFFFFFFF).to_bytes(4)
        if connection is not None and hmac.compare_digest(connection[0].to_bytes(4), secret):
            connection[1].cancel()

    async def stop(self) -> None:
        """End every connection."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _end(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    """Have the operating system ask now and then whether the client's machine is there."""
    connection = writer.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _address(writer: asyncio.StreamWriter) -> str:
    peer = writer.get_extra_info("peername")
    return str(peer[0]) if isinstance(peer, tuple) else ""


async def _close(writer: asyncio.StreamWriter) -> None:
    """Close a connection; a client that does not take what it was sent is not waited for."""
    writer.close()
    try:
        async with asyncio.timeout(_LAST_WORDS):
            await writer.wait_closed()
    except (OSError, TimeoutError, asyncio.CancelledError):
        writer.transport.abort()


def _is_near(writer: asyncio.StreamWriter) -> bool:
    """Whether the client is on this machine."""
    peer = writer.get_extra_info("peername")
    try:
        return isinstance(peer, tuple) and ipaddress.ip_address(peer[0]).is_loopback
    except ValueError:
        return False


def _take_settings(settings: Settings, start: Start) -> None:
    """The settings of a start-up packet; those that nobody knows are passed over, as poolers send them."""
    said = {**_options(start.parameters.get("options", "")), **start.parameters}
    for name, value in said.items():
        if name in _TAKEN or name.startswith("_pq_."):
            continue
        try:
            known = settings.set(name, value)
        except WireFault as fault:
            if fault.sqlstate != "42704":
                raise
            continue
        settings.started[known] = settings.values.pop(known)


def _options(written: str) -> dict[str, str]:
    """The settings of libpq's `options`: `-c name=value` or `--name=value`, with backslashes before spaces."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r"(?:\\.|[^\\\s])+", written)]
    options: dict[str, str] = {}
    for before, word in zip(["", *words], words, strict=False):
        text = word if before == "-c" else word[2:] if word.startswith(("--", "-c")) else ""
        name, equals, value = text.partition("=")
        if equals:
            options[name.replace("-", "_")] = value
    return options


Stop = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that listens: where, how to end it, and what the curator should know of it."""

    port: int
    stop: Stop
    note: str = ""


async def _prepared(catalogues: Catalogues, catalogue: Catalogue, *, needed: bool) -> str:
    """What the curator should know of the catalogue: questions are answered without its server, too."""
    try:
        await catalogues.prepare(catalogue)
    except EngineError as error:
        if needed:
            raise
        log.error("%s", error.message)
        catalogues.forgo()
        return f"{error.message}: tables and columns are told, and little else"
    return ""


async def serve_wire(
    hub: WireHub,
    *,
    host: str = "127.0.0.1",
    port: int = 5433,
    tls: ssl.SSLContext | None = None,
    cap: Fraction = _CAP,
    twin: bool | None = None,
    entrance: Entrance | None = None,
) -> Serving:
    """Listen for PostgreSQL clients. Port 0 takes any that is free. Raises EngineError where it cannot listen.

    Plain SELECTs of one connection may cost `cap` together. `twin` says whether a PostgreSQL of our own answers for
    the catalogue; None: where one can be started, and the note says so where not. Who comes waits at the `entrance`
    until they have proved who they are; half of the connections of those who did may be one analyst's.
    """
    catalogues = Catalogues(twin=is_there() if twin is None else twin)
    wire = WireServer(hub, tls, cap, catalogues, entrance=entrance or Entrance())
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(Inbox(loop=loop), wire.accept, loop=loop)

    try:
        listening = await loop.create_server(protocol, host, port, backlog=256)
    except (OSError, UnicodeError) as error:
        used = getattr(error, "errno", None) == errno.EADDRINUSE
        why = "it is in use" if used else (getattr(error, "strerror", None) or "that is no name of a host")
        hint = "choose another port" if used else "choose an address of this machine"
        raise EngineError(f"the PostgreSQL wire cannot be served at {host}:{port}: {why}", hint=hint) from None
    try:
        note = await _prepared(catalogues, hub.catalogue, needed=bool(twin))
    except BaseException:
        listening.close()
        raise
    listener: socket.socket = listening.sockets[0]
    bound = int(listener.getsockname()[1])
    log.debug("the PostgreSQL wire listens at port %s", bound)

    async def stop() -> None:
        listening.close()
        await wire.stop()
        await listening.wait_closed()
        await wire.catalogues.close()

    return Serving(bound, stop, note)
