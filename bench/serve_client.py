"""Connections to the PostgreSQL wire that ask one question again and again, and cost next to nothing themselves."""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Callable

from scramp import ScramClient


class WireAsker:
    """One connection: it logs in, and sends one statement at a time by the simple protocol."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def login(cls, port: int, user: str, password: str) -> WireAsker:
        made = cls(*await asyncio.open_connection("127.0.0.1", port))
        said = {"user": user, "database": "load", "client_min_messages": "notice"}
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in said.items()) + b"\0"
        made._writer.write(struct.pack("!II", len(body) + 8, 196_608) + body)
        scram = ScramClient(["SCRAM-SHA-256"], user, password)
        await made._read()
        first = scram.get_client_first().encode()
        made._send(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first)
        scram.set_server_first((await made._read())[1][4:].decode())
        made._send(b"p", scram.get_client_final().encode())
        while (await made._read())[0] != b"Z":
            pass
        return made

    async def ask(self, sql: str) -> str:
        """The first cell of the answer. Raises RuntimeError where there is none."""
        self._send(b"Q", sql.encode() + b"\0")
        cell, fault = None, ""
        while True:
            kind, body = await self._read()
            if kind == b"D":
                cell = body[6:].decode()
            elif kind == b"E":
                fault = body.decode(errors="replace")
            elif kind == b"Z":
                break
        if cell is None:
            raise RuntimeError(fault.replace("\0", " "))
        return cell

    def close(self) -> None:
        self._writer.close()

    def _send(self, kind: bytes, body: bytes) -> None:
        self._writer.write(kind + struct.pack("!I", len(body) + 4) + body)

    async def _read(self) -> tuple[bytes, bytes]:
        head = await self._reader.readexactly(5)
        return head[:1], await self._reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


async def hammer(
    port: int, login: tuple[str, str], sql: str, *, clients: int, until: Callable[[int], bool]
) -> tuple[list[float], float]:
    """Seconds that each answer took, from all connections at once, until `until(answers so far)`; and when it began."""
    connections = [await WireAsker.login(port, *login) for _ in range(clients)]
    took: list[float] = []
    began = time.perf_counter()

    async def repeat(connection: WireAsker) -> None:
        while not until(len(took)):
            start = time.perf_counter()
            await connection.ask(sql)
            took.append(time.perf_counter() - start)

    try:
        await asyncio.gather(*(repeat(connection) for connection in connections))
    finally:
        for connection in connections:
            connection.close()
    return took, began
