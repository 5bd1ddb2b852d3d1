"""HTTP with a deadline for everything that a client may be slow at: its header, its body, and what it is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.faces.listening.waiting_room import Place, WaitingRoom

_LAST_WORDS = 2.0  # seconds in which a client takes the end of what it was sent
_Phase = tuple[str, int]


class PatientProtocol(H11Protocol):
    """A connection of which no phase lasts for ever.

    It waits in the room with the others until the whole of a request is there, and again after its answer: idle
    connections are the first to make room. The header of a request has `patience` from its first octet (that of the
    first request from the beginning), its body as long again, and an answer is to be taken as fast; between requests
    uvicorn's own limit holds.
    """

    def __init__(self, *, room: WaitingRoom, place: Place, patience: float, **given: Any) -> None:
        super().__init__(**given)
        self._room, self._place, self._patience = room, place, patience
        self._requests = 0
        self._phase: _Phase = "", 0
        self._deadline: asyncio.TimerHandle | None = None
        self._taking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The connection is there; its first header is due."""
        super().connection_made(transport)
        self._place.cut = transport.abort
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over: nothing is due any more."""
        self._room.leave(self._place)
        for timer in (self._deadline, self._taking):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Some octets more."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """An answer is written; the next request may begin."""
        self._requests += 1
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client is slow to take what it is sent."""
        super().pause_writing()
        if self._taking is None:
            self._taking = self.loop.call_later(self._patience, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has taken most of it."""
        super().resume_writing()
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def timeout_keep_alive_handler(self) -> None:
        """No request for long: the connection is closed, and not kept by a client that does not take what is left."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(_LAST_WORDS, self.transport.abort)

    def _look(self) -> None:
        """Set the deadline of the phase that the connection is in, if it is another than before."""
        if self.transport.is_closing():
            return
        phase = self._awaited(), self._requests
        if phase == self._phase:
            return
        self._room.leave(self._place)
        if phase[0]:
            self._place = self._room.enter(self._place.source, self.transport.abort)
        if self._deadline is not None:
            self._deadline.cancel()
        self._phase, self._deadline = phase, None
        if phase[0] in {"header", "body"}:
            self._deadline = self.loop.call_later(self._patience, self.transport.abort)

    def _awaited(self) -> str:
        """What the client owes: a header, a body, a request some time, or nothing while it is being answered."""
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        if self.cycle is not None and not self.cycle.response_complete:
            return ""
        return "header" if self.timeout_keep_alive_task is None else "request"
