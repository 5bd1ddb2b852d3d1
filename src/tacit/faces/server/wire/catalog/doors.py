"""Gives each connection a catalogue of the policy in force: a line to the twin, or the fixed answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from tacit.errors import EngineError
from tacit.faces.catalogue import Catalogue
from tacit.faces.log_file import log
from tacit.faces.server.wire.catalog.fixed import FixedCatalogue
from tacit.faces.server.wire.catalog.sidecar import Sidecar
from tacit.faces.server.wire.catalog.twin import Twin
from tacit.faces.server.wire.executor import AnswersCatalogue
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.language.lexer import Lexed
from tacit.faces.server.wire.outcome import Outcome
from tacit.faces.server.wire.portals import Bound, Foreign
from tacit.faces.server.wire.settings import FORWARDED, Settings

T = TypeVar("T")
InForce = Callable[[], Awaitable[Catalogue]]


class Catalogues:
    """The catalogue of the policy in force. Without a twin few questions about it are answered."""

    def __init__(self, *, twin: bool = False) -> None:
        self._wanted = twin
        self._lock = asyncio.Lock()
        self._held: tuple[Catalogue, Twin] | None = None

    async def prepare(self, catalogue: Catalogue, *, beside: Twin | None = None) -> Twin | None:
        """The twin that holds this schema; one that holds another, or is the one `beside`, is replaced.

        Raises EngineError where none can be started.
        """
        if not self._wanted:
            return None
        if self._fits(catalogue, beside):
            return self._held[1] if self._held is not None else None
        async with self._lock:
            before = self._held
            if before is None or not self._fits(catalogue, beside):
                self._held = catalogue, await Twin.start(catalogue)
                if before is not None:
                    await before[1].stop()
            return self._held[1] if self._held is not None else None

    def forgo(self) -> None:
        """Go on without a twin."""
        self._wanted = False

    def _fits(self, catalogue: Catalogue, beside: Twin | None) -> bool:
        return self._held is not None and self._held[0] == catalogue and self._held[1] is not beside

    @asynccontextmanager
    async def door(self, in_force: InForce, analyst: str, settings: Settings) -> AsyncIterator[AnswersCatalogue]:
        """The catalogue for one connection, for as long as it lasts and whatever policy comes into force meanwhile."""
        live = LiveCatalogue(self, in_force, analyst, settings)
        try:
            yield live
        finally:
            await live.close()

    async def close(self) -> None:
        """Stop the twin."""
        if self._held is not None:
            await self._held[1].stop()


@dataclass(frozen=True, slots=True)
class LiveStatement:
    """A statement about the catalogue, and where it was prepared: elsewhere its name would be another's."""

    statement: Lexed
    foreign: Foreign
    door: AnswersCatalogue

    @property
    def types(self) -> tuple[int, ...]:
        """The types of its parameters."""
        return self.foreign.types

    @property
    def description(self) -> bytes:
        """Its columns, as a client is told of them."""
        return self.foreign.description


class LiveCatalogue:
    """One connection's catalogue. Each statement is answered by the policy that is in force when it comes.

    Where that has changed, or where the twin has died, the connection goes on with another one.
    """

    def __init__(self, catalogues: Catalogues, in_force: InForce, analyst: str, settings: Settings) -> None:
        self._catalogues, self._in_force = catalogues, in_force
        self._analyst, self._settings = analyst, settings
        self._catalogue: Catalogue | None = None
        self._twin: Twin | None = None
        self._door: AnswersCatalogue | None = None

    async def query(self, statement: Lexed) -> Outcome:
        """Answer a statement as it stands."""
        return await self._asked(lambda door: door.query(statement))

    async def prepare(self, statement: Lexed, types: tuple[int, ...]) -> Foreign:
        """Learn its parameters and columns."""

        async def prepared(door: AnswersCatalogue) -> Foreign:
            return LiveStatement(statement, await door.prepare(statement, types), door)

        return await self._asked(prepared)

    async def execute(self, foreign: Foreign, bound: Bound) -> Outcome:
        """Answer a prepared statement; one that was prepared for another policy is prepared anew, if it is the same."""

        async def executed(door: AnswersCatalogue) -> Outcome:
            if not isinstance(foreign, LiveStatement):
                raise WireFault("26000", "prepared statement does not exist")
            if foreign.door is door:
                return await door.execute(foreign.foreign, bound)
            anew = await door.prepare(foreign.statement, foreign.types)
            if (anew.types, anew.description) != (foreign.types, foreign.description):
                raise WireFault("0A000", "cached plan must not change result type", hint="prepare it again")
            return await door.execute(anew, bound)

        return await self._asked(executed)

    async def put(self, name: str, value: str) -> None:
        """Take over a setting; a door that is opened later takes it from the connection's own."""
        if self._door is not None:
            await self._asked(lambda door: door.put(name, value))

    async def close(self) -> None:
        """End the line to the twin."""
        door, self._door = self._door, None
        if isinstance(door, Sidecar):
            await door.close()

    async def _asked(self, ask: Callable[[AnswersCatalogue], Awaitable[T]]) -> T:
        door = await self._current()
        try:
            return await ask(door)
        except EngineError:
            if self._twin is None or await self._twin.answers():
                raise
            log.error("the catalogue's server has ended: another is started")
            return await ask(await self._current(beside=self._twin))

    async def _current(self, *, beside: Twin | None = None) -> AnswersCatalogue:
        catalogue = await self._in_force()
        if self._door is not None and self._catalogue is catalogue and beside is None:
            return self._door
        await self.close()
        try:
            twin = await self._catalogues.prepare(catalogue, beside=beside)
        except EngineError as error:  # questions are answered without it
            log.error("%s", error.message)
            twin = None
        door = FixedCatalogue(catalogue, self._analyst, self._settings) if twin is None else twin.sidecar()
        for name in FORWARDED:
            await door.put(name, self._settings.get(name))
        self._catalogue, self._twin, self._door = catalogue, twin, door
        return door
