"""Messages on a stream of bytes: whole ones, of bounded length, in bounded time."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Mapping
from dataclasses import dataclass

FIRST_MESSAGE = 10_000  # bytes of a start-up packet or a password, from somebody we do not know yet
MESSAGE = 1 << 20  # bytes of a message, from an analyst
PATIENCE = 60.0  # seconds in which a message that has begun must end, and a client must take what it is sent
_FLUSH_AT = 1 << 16


class CutOff(Exception):
    """The connection is over: the client left, or sent what is no message."""

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its letter and its content."""

    kind: bytes
    body: bytes


class Inbox(asyncio.StreamReader):
    """What a client sends."""

    @property
    def pending(self) -> bool:
        """Whether bytes have come that nobody has read."""
        return len(vars(self)["_buffer"]) > 0

    async def take(self, count: int, *, patience: float | None = PATIENCE) -> bytes:
        """So many bytes. Raises Cut where they do not come."""
        try:
            if patience is None or len(vars(self)["_buffer"]) >= count:  # what is there is not waited for
                return await self.readexactly(count)
            async with asyncio.timeout(patience):
                return await self.readexactly(count)
        except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, OSError):
            raise CutOff from None

    async def packet(self, most: int = FIRST_MESSAGE, *, patience: float = PATIENCE) -> bytes:
        """A start-up packet: a length, and the rest."""
        (length,) = struct.unpack("!I", await self.take(4, patience=patience))
        if not 8 <= length <= most:
            raise CutOff("invalid length of startup packet")
        return await self.take(length - 4, patience=patience)

    async def message(self, most: int = MESSAGE, *, patience: float | None = None) -> Message:
        """The next message; it may begin at any time, or within `patience`."""
        kind = await self.take(1, patience=patience)
        (length,) = struct.unpack("!I", await self.take(4))
        if not 4 <= length <= most + 4:
            raise CutOff(f"a message of {length:,} bytes is refused: at most {most:,} are read")
        return Message(kind, await self.take(length - 4))


class Outbox:
    """What a client is sent: gathered, and written when it is asked for or when there is much of it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._parts: list[bytes] = []
        self._size = 0

    def put(self, kind: bytes, body: bytes = b"") -> None:
        """Add one message, by its letter and content."""
        self.raw(kind + struct.pack("!I", len(body) + 4) + body)

    def raw(self, content: bytes) -> None:
        """Add whole messages as they are."""
        self._parts.append(content)
        self._size += len(content)

    @property
    def is_full(self) -> bool:
        """Whether so much waits that it should be flushed before more is made."""
        return self._size >= _FLUSH_AT

    async def flush(self) -> None:
        """Write what was gathered. A client that does not take it is cut off."""
        content, self._parts, self._size = b"".join(self._parts), [], 0
        transport = self._writer.transport
        try:
            self._writer.write(content)
            if transport.get_write_buffer_size() == 0 and not transport.is_closing():
                return  # all of it has been taken
            async with asyncio.timeout(PATIENCE):
                await self._writer.drain()
        except (ConnectionError, TimeoutError, OSError):
            transport.abort()  # closed, it would wait for the client to take what is left
            raise CutOff from None


class Fields:
    """Reads the content of a message from left to right. Raises Cut where it is shorter than it says."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def _number(self, form: str, size: int) -> int:
        return int(struct.unpack(form, self.octets(size))[0])

    def int16(self) -> int:
        """Two octets, without a sign: they are counts."""
        return self._number("!H", 2)

    def int32(self) -> int:
        """Four octets, with a sign."""
        return self._number("!i", 4)

    def octets(self, count: int) -> bytes:
        """The next `count` octets."""
        if count < 0 or self._at + count > len(self._body):
            raise CutOff("insufficient data left in message")
        self._at += count
        return self._body[self._at - count : self._at]

    def text(self) -> str:
        """A text that ends with a NUL."""
        end = self._body.find(b"\0", self._at)
        if end < 0:
            raise CutOff("invalid string in message")
        content, self._at = self._body[self._at : end], end + 1
        try:
            return content.decode()
        except UnicodeDecodeError:
            raise CutOff("invalid byte sequence for encoding UTF8") from None

    def ends(self) -> None:
        """Check that nothing is left."""
        if self._at != len(self._body):
            raise CutOff("invalid message format")


def text(value: str) -> bytes:
    """A text as messages carry it; what would end it early, or is half a character, is made visible."""
    return value.replace("\0", "\\0").encode("utf-8", "backslashreplace") + b"\0"


def error_body(fields: Mapping[str, str]) -> bytes:
    """The content of an ErrorResponse or NoticeResponse: the fields that say something."""
    said = (name.encode() + text(value) for name, value in fields.items() if value)
    return b"".join(said) + b"\0"
