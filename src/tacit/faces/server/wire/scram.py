"""The server's side of SCRAM-SHA-256 (RFC 5802 and 7677), as PostgreSQL speaks it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Protocol

from tacit.noise import SYSTEM

MECHANISM = b"SCRAM-SHA-256"
_NONCE_BYTES = 18


class Verifier(Protocol):
    """What is kept of a password: enough to check a proof, not enough to make one."""

    @property
    def salt(self) -> bytes: ...  # noqa: D102
    @property
    def iterations(self) -> int: ...  # noqa: D102
    @property
    def stored_key(self) -> bytes: ...  # noqa: D102
    @property
    def server_key(self) -> bytes: ...  # noqa: D102


class ScramFailed(Exception):
    """The exchange is not one, or the proof does not fit."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The server's first message, and what it takes to check the answer to it."""

    verifier: Verifier
    binding: str  # what the client said of channel binding, in base64
    nonce: str
    said: str  # the client's first message without its header, and the server's first


def challenge(first: bytes, verifier: Verifier, *, mechanism: str) -> tuple[Challenge, bytes]:
    """Answer the client's first message."""
    text = _text(first)
    flag, _, rest = text.partition(",")
    authzid, _, bare = rest.partition(",")
    if (
        mechanism.encode() != MECHANISM or flag not in {"n", "y"} or authzid
    ):  # p=…: channel binding, which was not offered
        raise ScramFailed
    name, _, offered = bare.partition(",")
    client_nonce = offered.partition(",")[0]
    if not name.startswith("n=") or not client_nonce.startswith("r=") or len(client_nonce) < 3:
        raise ScramFailed
    nonce = client_nonce[2:] + base64.b64encode(SYSTEM.draw(_NONCE_BYTES).tobytes()).decode()
    reply = f"r={nonce},s={base64.b64encode(verifier.salt).decode()},i={verifier.iterations}"
    binding = base64.b64encode(f"{flag},,".encode()).decode()
    return Challenge(verifier, binding, nonce, f"{bare},{reply}"), reply.encode()


def finish(asked: Challenge, last: bytes) -> bytes:
    """Check the proof; what proves to the client that we know its verifier. Raises ScramFailed."""
    text = _text(last)
    unproved, _, proof_text = text.rpartition(",p=")
    if unproved != f"c={asked.binding},r={asked.nonce}":
        raise ScramFailed
    try:
        proof = base64.b64decode(proof_text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramFailed from None
    message = f"{asked.said},{unproved}".encode()
    signature = hmac.digest(asked.verifier.stored_key, message, "sha256")
    if len(proof) != len(signature):
        raise ScramFailed
    key = bytes(one ^ other for one, other in zip(proof, signature, strict=True))
    if not hmac.compare_digest(hashlib.sha256(key).digest(), asked.verifier.stored_key):
        raise ScramFailed
    return b"v=" + base64.b64encode(hmac.digest(asked.verifier.server_key, message, "sha256"))


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise ScramFailed from None
