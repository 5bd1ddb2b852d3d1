"""Gives each connection a catalogue of its own: a line to the twin, or the fixed answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tacit.errors import EngineError
from tacit.faces.catalogue import Catalogue
from tacit.faces.log_file import log
from tacit.faces.server.wire.catalog.fixed import FixedCatalogue
from tacit.faces.server.wire.catalog.twin import Twin
from tacit.faces.server.wire.executor import AnswersCatalogue
from tacit.faces.server.wire.settings import FORWARDED, Settings


class Catalogues:
    """The catalogue of the policy in force. Without a twin few questions about it are answered."""

    def __init__(self, *, twin: bool = False) -> None:
        self._wanted = twin
        self._lock = asyncio.Lock()
        self._held: tuple[Catalogue, Twin] | None = None

    async def prepare(self, catalogue: Catalogue) -> None:
        """Have the twin hold this schema: one that holds another is replaced. Raises EngineError."""
        if not self._wanted or (self._held is not None and self._held[0] == catalogue):
            return
        async with self._lock:
            before = self._held
            if before is None or before[0] != catalogue:
                self._held = catalogue, await Twin.start(catalogue)
                if before is not None:
                    await before[1].stop()

    @asynccontextmanager
    async def door(self, catalogue: Catalogue, analyst: str, settings: Settings) -> AsyncIterator[AnswersCatalogue]:
        """The catalogue for one connection."""
        try:
            await self.prepare(catalogue)
        except EngineError as error:  # questions are answered without it
            log.error("%s", error.message)
        if self._held is None or self._held[0] != catalogue:
            yield FixedCatalogue(catalogue, analyst, settings)
            return
        sidecar = self._held[1].sidecar()
        try:
            for name in FORWARDED:
                await sidecar.put(name, settings.get(name))
            yield sidecar
        finally:
            await sidecar.close()

    async def close(self) -> None:
        """Stop the twin."""
        if self._held is not None:
            await self._held[1].stop()
