"""The one source of random bits: the operating system's, stretched by a cipher where many are needed."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from tacit.errors import NoiseUnavailable

KEY_BYTES = 32
STRETCH_FROM = 1024  # below this a system call is faster than setting up a cipher
_SPARE = 15  # older releases of the cipher insist on room for one more block


class Source(Protocol):
    """Where random bits come from."""

    def draw(self, count: int) -> NDArray[np.uint8]:
        """`count` fresh random bytes; raises NoiseUnavailable rather than return fewer."""


class SystemSource:
    """The operating system's CSPRNG, or AES-256-CTR under a key it gave for this one call.

    It keeps no state, so there is nothing that a fork, a thread or a restored snapshot could repeat.
    """

    __slots__ = ()

    def draw(self, count: int) -> NDArray[np.uint8]:
        """`count` fresh random bytes; raises NoiseUnavailable rather than return fewer."""
        if count < STRETCH_FROM:
            return np.frombuffer(_from_system(count), dtype=np.uint8)
        cipher = Cipher(algorithms.AES(_from_system(KEY_BYTES)), modes.CTR(bytes(16)))
        stream = bytearray(count + _SPARE)
        if cipher.encryptor().update_into(memoryview(stream)[:count], stream) != count:
            raise _unavailable()  # what was not written is still zero, and zeros are not noise
        return np.frombuffer(stream, dtype=np.uint8, count=count)


def _from_system(count: int) -> bytes:
    try:
        data = os.getrandom(count) if hasattr(os, "getrandom") else os.urandom(count)
        while len(data) < count:  # getrandom may stop early when a signal arrives
            more = os.getrandom(count - len(data))
            if not more:
                break
            data += more
    except (OSError, NotImplementedError):
        data = b""
    if len(data) != count:
        raise _unavailable()
    return data


def _unavailable() -> NoiseUnavailable:
    return NoiseUnavailable(
        "no random bits: the operating system's source failed",
        hint="nothing was released; check that the system's getrandom call works, then ask again",
    )


SYSTEM = SystemSource()
