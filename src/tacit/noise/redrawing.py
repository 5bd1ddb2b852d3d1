"""Bits that anybody can work out: for drawing a public law again around numbers that were released. Never for noise."""

from __future__ import annotations

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from numpy.typing import NDArray


class RepeatableBits:
    """A `Source` that gives the same bits each time for what they are about: an error bar shown again is the same.

    What is drawn from it hides nothing. It serves to tell how far noise may have moved an answer that has left already.
    """

    __slots__ = ("_stream",)

    def __init__(self, about: bytes) -> None:
        digest = Hash(SHA256())
        digest.update(about)
        self._stream = Cipher(algorithms.AES(digest.finalize()), modes.CTR(bytes(16))).encryptor()

    def draw(self, count: int) -> NDArray[np.uint8]:
        """The next `count` of them."""
        return np.frombuffer(self._stream.update(bytes(count)), dtype=np.uint8)
