"""A client of bytes: sends any messages, and tells what comes back."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import struct
from dataclasses import dataclass
from types import TracebackType

from support.wire import PASSWORD


@dataclass(frozen=True)
class Reply:
    """One message of the server."""

    kind: str
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        """What an error or a notice says."""
        parts = self.body.split(b"\0")
        return {part[:1].decode(): part[1:].decode() for part in parts if part}


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


def query(sql: str) -> bytes:
    return message(b"Q", sql.encode() + b"\0")


def parse(sql: str, name: str = "", types: tuple[int, ...] = ()) -> bytes:
    kinds = struct.pack(f"!H{len(types)}I", len(types), *types)
    return message(b"P", name.encode() + b"\0" + sql.encode() + b"\0" + kinds)


def bind(
    portal: str = "", name: str = "", values: tuple[bytes | None, ...] = (), results: tuple[int, ...] = ()
) -> bytes:
    cells = b"".join(b"\xff" * 4 if value is None else struct.pack("!i", len(value)) + value for value in values)
    formats = struct.pack(f"!H{len(results)}H", len(results), *results)
    body = portal.encode() + b"\0" + name.encode() + b"\0\0\0" + struct.pack("!H", len(values)) + cells + formats
    return message(b"B", body)


def describe(what: str, name: str = "") -> bytes:
    return message(b"D", what.encode() + name.encode() + b"\0")


def execute(portal: str = "", most: int = 0) -> bytes:
    return message(b"E", portal.encode() + b"\0" + struct.pack("!i", most))


SYNC, FLUSH = message(b"S"), message(b"H")


class RawClient:
    """A connection after its start; `logged_in` does that."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self.socket.close()

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def read(self) -> Reply | None:
        """The next message; None at the end."""
        head = self._file.read(5)
        if len(head) < 5:
            return None
        return Reply(head[:1].decode("latin-1"), self._file.read(struct.unpack("!I", head[1:])[0] - 4))

    def until(self, kind: str = "Z") -> list[Reply]:
        """All messages up to one of this kind, or the end."""
        found = []
        while (reply := self.read()) is not None:
            found.append(reply)
            if reply.kind == kind:
                break
        return found

    def ask(self, content: bytes) -> list[Reply]:
        """Send, and read until the server is ready."""
        self.send(content)
        return self.until()

    def rest(self) -> list[Reply]:
        """Everything until the server hangs up."""
        return self.until("")


def start_packet(user: str = "ana", version: int = 196_608, **more: str) -> bytes:
    said = {"user": user, "database": "clinic", **more}
    body = b"".join(name.encode() + b"\0" + value.encode() + b"\0" for name, value in said.items()) + b"\0"
    return struct.pack("!II", len(body) + 8, version) + body


def logged_in(port: int, user: str = "ana", password: str = PASSWORD, **more: str) -> RawClient:
    """A client that has proved who it is, by SCRAM-SHA-256 spelled out."""
    client = RawClient(port)
    client.send(start_packet(user, **more))
    first = client.read()
    assert first is not None
    assert first.body[4:] == b"SCRAM-SHA-256\0\0"
    bare = "n=,r=abcdefghijkl"
    hello = f"n,,{bare}".encode()
    client.send(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(hello)) + hello))
    challenge = client.read()
    assert challenge is not None
    said = challenge.body[4:].decode()
    parts = dict(part.split("=", 1) for part in said.split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(parts["s"]), int(parts["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    unproved = f"c=biws,r={parts['r']}"
    signature = hmac.digest(hashlib.sha256(key).digest(), f"{bare},{said},{unproved}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    client.send(message(b"p", f"{unproved},p={proof}".encode()))
    client.greeting = client.until()  # type: ignore[attr-defined]
    return client
