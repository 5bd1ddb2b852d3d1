"""The HTTP server's own ear: connections are counted from the moment they come, before TLS and before any header."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn

from tacit.faces.listening.patience import PatientProtocol
from tacit.faces.listening.waiting_room import Place, WaitingRoom
from tacit.faces.log_file import log

_PAUSE = 1.0  # seconds without taking connections, where the system has no file descriptor left

Begin = Callable[[Place], asyncio.Protocol]


class Acceptor:
    """Takes connections from a socket that listens, each with a place in the waiting room."""

    def __init__(
        self, listening: socket.socket, begin: Begin, *, room: WaitingRoom, tls: ssl.SSLContext | None, patience: float
    ) -> None:
        listening.setblocking(False)
        self._listening, self._begin, self._room, self._tls = listening, begin, room, tls
        self._patience = patience
        self._starting: set[asyncio.Task[None]] = set()
        self._task = asyncio.create_task(self._accept())

    def close(self) -> None:
        """Accept no more connections, and drop those that are still starting."""
        self._task.cancel()
        for task in self._starting:
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until nothing is accepted or starting any more."""
        await asyncio.gather(self._task, *self._starting, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        with self._listening:
            while True:
                try:
                    taken, peer = await loop.sock_accept(self._listening)
                except OSError as error:
                    log.error("no connection can be taken: %s", error.strerror)
                    await asyncio.sleep(_PAUSE)
                    continue
                task = asyncio.create_task(self._start(taken, peer))
                self._starting.add(task)
                task.add_done_callback(self._starting.discard)

    async def _start(self, taken: socket.socket, peer: Any) -> None:
        """TLS, where it is spoken, and then the protocol, which gives the place back."""
        task = asyncio.current_task()
        address = str(peer[0]) if isinstance(peer, tuple) else ""

        def cut() -> None:
            if task is not None:
                task.cancel()

        place = self._room.enter(address, cut)
        patience = None if self._tls is None else self._patience
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self._begin(place), taken, ssl=self._tls, ssl_handshake_timeout=patience
            )
        except (OSError, asyncio.CancelledError):  # no TLS, or cut off
            self._room.leave(place)
            with suppress(OSError):
                taken.close()


class HttpServer(uvicorn.Server):
    """uvicorn, with our own ear, and with signals that are ours to handle."""

    def __init__(
        self,
        config: uvicorn.Config,
        listening: socket.socket,
        *,
        tls: ssl.SSLContext | None,
        patience: float,
        room: WaitingRoom | None = None,
    ) -> None:
        super().__init__(config)
        self._listening, self._tls, self._patience = listening, tls, patience
        self._room = WaitingRoom() if room is None else room

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured here."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, and listen."""
        await self.lifespan.startup()
        self.servers: list[Any] = []
        self.started = not self.lifespan.should_exit
        if self.started:
            self.servers.append(
                Acceptor(self._listening, self._begun, room=self._room, tls=self._tls, patience=self._patience)
            )
        else:
            self.should_exit = True

    def _begun(self, place: Place) -> asyncio.Protocol:
        return PatientProtocol(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            room=self._room,
            place=place,
            patience=self._patience,
        )
