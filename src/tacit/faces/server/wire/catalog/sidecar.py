"""A connection's line to the twin: statements go there as they are, and replies come back byte for byte."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tacit.errors import EngineError
from tacit.faces.server.wire.faults import Passed, WireFault, limit_fault
from tacit.faces.server.wire.framing import CutOff, Inbox, Message, text
from tacit.faces.server.wire.language.lexer import Lexed
from tacit.faces.server.wire.outcome import NO_DATA, Outcome, message
from tacit.faces.server.wire.portals import Bound, Foreign

_PATIENCE = 10.0  # seconds for one statement
_MOST_BYTES = 32 << 20  # of one reply
_MOST_PREPARED = 500
_MESSAGE = 64 << 20


@dataclass(frozen=True, slots=True)
class RemoteStatement:
    """A statement that the twin has prepared, and what it said of it."""

    name: str
    types: tuple[int, ...]
    description: bytes


class Sidecar:
    """One connection to the twin, opened when it is first needed."""

    def __init__(self, socket: Path, database: str, user: str) -> None:
        self._socket, self._database, self._user = socket, database, user
        self._streams: tuple[Inbox, asyncio.StreamWriter] | None = None
        self._key = b""
        self._settings: dict[str, str] = {}
        self._prepared = self._before = 0  # statements so far, and when the line was last cut: no name is given twice

    async def query(self, statement: Lexed) -> Outcome:
        """Answer a statement by the simple protocol; positions in errors are those of the whole message."""
        return await self.run(" " * statement.start + statement.text)

    async def run(self, sql: str) -> Outcome:
        """Answer one text."""
        return await self._asked(message(b"Q", text(sql)))

    async def prepare(self, statement: Lexed, types: tuple[int, ...]) -> Foreign:
        """Parse and describe: types of parameters, names and types of columns. Runs nothing."""
        self._prepared += 1
        name = f"t{self._prepared}"
        if self._prepared - self._before > _MOST_PREPARED:
            await self.close()
            self._before = self._prepared
            raise WireFault("54000", "too many statements about the catalogue were prepared", hint="prepare it again")
        sql = " " * statement.start + statement.text
        parse = text(name) + text(sql) + struct.pack(f"!H{len(types)}i", len(types), *types)
        described = await self._replies(message(b"P", parse) + message(b"D", b"S" + text(name)) + message(b"S", b""))
        body_of = {each.kind: each.body for each in described}
        count = struct.unpack("!H", body_of[b"t"][:2])[0]
        known = struct.unpack(f"!{count}I", body_of[b"t"][2:])
        columns = message(b"T", body_of[b"T"]) if b"T" in body_of else NO_DATA
        return RemoteStatement(name, known, columns)

    async def execute(self, foreign: Foreign, bound: Bound) -> Outcome:
        """Bind, describe and execute at once: all rows, in the formats that are wanted."""
        if not isinstance(foreign, RemoteStatement):
            raise WireFault("26000", "prepared statement does not exist")
        values = b"".join(
            b"\xff\xff\xff\xff" if value is None else struct.pack("!i", len(value)) + value for value in bound.values
        )
        bind = (
            b"\0" + text(foreign.name) + _shorts(bound.formats) + struct.pack("!H", len(bound.values)) + values
        ) + _shorts(bound.results)
        asked = message(b"B", bind) + message(b"D", b"P\0") + message(b"E", b"\0" + struct.pack("!i", 0))
        return await self._asked(asked + message(b"S", b""))

    async def put(self, name: str, value: str) -> None:
        """Take over a setting."""
        self._settings[name] = value
        if self._streams is not None:
            await self._set(name, value)

    async def close(self) -> None:
        """End the connection."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with suppress(Exception):
                await streams[1].wait_closed()

    async def _set(self, name: str, value: str) -> None:
        parts = value.split(",") if name == "search_path" else [value]  # the one that is a list of names
        plain = (part.strip(' "').replace("'", "''").replace("\\", "") for part in parts)
        listed = ", ".join(f"'{part}'" for part in plain)
        await self._asked(message(b"Q", text(f"SET {name} = {listed}")))

    async def _asked(self, sent: bytes) -> Outcome:
        return _outcome(await self._replies(sent))

    async def _replies(self, sent: bytes) -> list[Message]:
        """Everything up to ReadyForQuery. Raises Passed for an error of the twin."""
        try:
            inbox, writer = self._streams or await self._open()
            async with asyncio.timeout(_PATIENCE):
                writer.write(sent)
                await writer.drain()
                replies = [each async for each in _until_ready(inbox)]
        except (CutOff, OSError, TimeoutError) as error:
            await self._give_up()
            if isinstance(error, TimeoutError):
                raise WireFault("57014", "canceling statement due to statement timeout") from None
            raise EngineError("the catalogue's server does not answer", hint="ask again") from None
        except (WireFault, asyncio.CancelledError):
            await self._give_up()
            raise
        error_body = next((each.body for each in replies if each.kind == b"E"), None)
        if error_body is not None:
            raise Passed(error_body)
        return replies

    async def _open(self) -> tuple[Inbox, asyncio.StreamWriter]:
        inbox, writer = await _connect(self._socket)
        said = b"".join(text(word) for word in ("user", self._user, "database", self._database)) + b"\0"
        writer.write(struct.pack("!II", len(said) + 8, 196_608) + said)
        try:
            async with asyncio.timeout(_PATIENCE):
                greeting = [each async for each in _until_ready(inbox)]
            self._key = next(each.body for each in greeting if each.kind == b"K")
        except BaseException as error:
            writer.close()
            raise CutOff if isinstance(error, StopIteration) else error from None
        self._streams = inbox, writer
        for name, value in self._settings.items():
            await self._set(name, value)
        return inbox, writer

    async def _give_up(self) -> None:
        """Leave a statement that takes too long, and have the twin leave it too."""
        with suppress(OSError):
            _, writer = await _connect(self._socket)
            writer.write(struct.pack("!II", 8 + len(self._key), 80_877_102) + self._key)
            await writer.drain()
            writer.close()
        await self.close()


async def _connect(socket: Path) -> tuple[Inbox, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    inbox = Inbox(loop=loop)
    protocol = asyncio.StreamReaderProtocol(inbox, loop=loop)
    transport, _ = await loop.create_unix_connection(lambda: protocol, str(socket))
    return inbox, asyncio.StreamWriter(transport, protocol, inbox, loop)


async def _until_ready(inbox: Inbox) -> AsyncIterator[Message]:
    """The messages of a reply, without the last."""
    size = 0
    while True:
        message = await inbox.message(_MESSAGE)
        if message.kind == b"Z":
            return
        size += len(message.body) + 5
        if size > _MOST_BYTES:
            raise limit_fault("a reply of the catalogue is too long", "ask for less of it")
        yield message


def _outcome(replies: list[Message]) -> Outcome:
    rows = tuple(message(each.kind, each.body) for each in replies if each.kind == b"D")
    copy = tuple(message(each.kind, each.body) for each in replies if each.kind in (b"H", b"d", b"c"))
    notices = tuple(message(each.kind, each.body) for each in replies if each.kind == b"N")
    tag = next((each.body[:-1].decode() for each in replies if each.kind == b"C"), "")
    described = next((message(b"T", each.body) for each in replies if each.kind == b"T"), None)
    outcome = Outcome(_counting(tag), description=described, notices=notices, copy=copy)
    return outcome if described is None else replace(outcome, raw=rows)


def _counting(tag: str) -> str:
    """The tag with {} for the number of rows, which a portal gives part by part."""
    return "SELECT {}" if tag.startswith("SELECT ") else tag.replace("{", "").replace("}", "")


def _shorts(numbers: tuple[int, ...]) -> bytes:
    return struct.pack(f"!H{len(numbers)}H", len(numbers), *numbers)
