"""How a connection begins: TLS if it is asked for, who it is, and a proof of that."""

from __future__ import annotations

import asyncio
import ssl
import struct
from dataclasses import dataclass
from typing import Protocol

from tacit.faces.server.wire import scram
from tacit.faces.server.wire.faults import WireFault, protocol_fault, tell
from tacit.faces.server.wire.framing import FIRST_MESSAGE, CutOff, Fields, Inbox, Outbox
from tacit.faces.server.wire.scram import ScramFailed, Verifier

_CANCEL, _TLS, _GSS = 80_877_102, 80_877_103, 80_877_104
_MOST_PARAMETERS = 64


class KnowsAccounts(Protocol):
    """The accounts: what a proof is checked against. For a name without one, something that no proof fits."""

    def scram(self, name: str) -> Verifier:
        """What a proof in this name is checked against."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """A wish to cancel what another connection is at."""

    process: int
    secret: int


@dataclass(frozen=True, slots=True)
class Start:
    """A connection's start-up packet."""

    user: str
    parameters: dict[str, str]
    encrypted: bool


async def first_packet(inbox: Inbox, writer: asyncio.StreamWriter, *, tls: ssl.SSLContext | None) -> Start | Cancel:
    """What a new connection wants, after TLS where it asks for that. Raises Cut for what is no start."""
    encrypted = False
    for _ in range(3):  # a client may try GSS, then TLS, then start
        packet = Fields(await inbox.packet())
        code = packet.int32()
        if code == _CANCEL:
            return Cancel(packet.int32(), packet.int32())
        if code == _TLS and tls is not None and not encrypted:
            if inbox.pending:  # sent before TLS by nobody knows whom: it must not be taken for the client's
                raise CutOff("bytes before TLS are refused")
            writer.write(b"S")
            try:
                await writer.drain()
                await writer.start_tls(tls)
            except (ssl.SSLError, OSError):
                raise CutOff from None
            encrypted = True
        elif code in (_TLS, _GSS):
            writer.write(b"N")
        else:
            return _start(code, packet, encrypted=encrypted)
    raise CutOff("too many requests before the start")


def _start(code: int, packet: Fields, *, encrypted: bool) -> Start:
    if code >> 16 != 3:
        raise protocol_fault(f"unsupported frontend protocol {code >> 16 & 0xFFFF}.{code & 0xFFFF}: 3.0 is spoken here")
    parameters: dict[str, str] = {}
    while name := packet.text():
        if len(parameters) >= _MOST_PARAMETERS:
            raise CutOff("too many start-up parameters")
        parameters[name] = packet.text()
    user = parameters.get("user", "")
    if not user:
        raise WireFault("28000", "no PostgreSQL user name specified in startup packet", fatal=True)
    return Start(user, parameters, encrypted)


async def authenticate(inbox: Inbox, outbox: Outbox, start: Start, accounts: KnowsAccounts) -> str:
    """Who it is, by SCRAM-SHA-256. A wrong name and a wrong password look, and last, the same."""
    outbox.put(b"R", struct.pack("!i", 10) + scram.MECHANISM + b"\0\0")
    await outbox.flush()
    try:
        first = Fields(await _secret(inbox))
        mechanism, length = first.text(), first.int32()
        asked, reply = scram.challenge(first.octets(length), accounts.scram(start.user), mechanism=mechanism)
        outbox.put(b"R", struct.pack("!i", 11) + reply)
        await outbox.flush()
        proof = scram.finish(asked, await _secret(inbox))
    except ScramFailed:
        raise WireFault("28P01", f'password authentication failed for user "{start.user[:60]}"', fatal=True) from None
    outbox.put(b"R", struct.pack("!i", 12) + proof)
    outbox.put(b"R", struct.pack("!i", 0))
    return start.user


async def _secret(inbox: Inbox) -> bytes:
    message = await inbox.message(FIRST_MESSAGE)
    if message.kind != b"p":
        raise CutOff("a password message was expected")
    return message.body


async def refuse(outbox: Outbox, fault: WireFault) -> None:
    """Tell why, and end."""
    fault.fatal = True
    tell(outbox, fault)
    await outbox.flush()
