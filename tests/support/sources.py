"""Sources of bits that a test controls. They live here, and not in the package, so that no user can reach one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class Seeded:
    """The same bytes in every run."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def draw(self, count: int) -> NDArray[np.uint8]:
        return np.frombuffer(self._generator.bytes(count), dtype=np.uint8)


class Constant:
    """One byte, for ever: 0 makes every uniform as small as can be, 255 as large."""

    def __init__(self, byte: int) -> None:
        self._byte = byte

    def draw(self, count: int) -> NDArray[np.uint8]:
        return np.full(count, self._byte, dtype=np.uint8)


class Scripted:
    """The answers given, in order; an unexpected question is an error."""

    def __init__(self, answers: Iterable[bytes]) -> None:
        self._answers = list(answers)

    def draw(self, count: int) -> NDArray[np.uint8]:
        answer = self._answers.pop(0)
        assert len(answer) == count, f"{count} bytes were asked for, {len(answer)} are next in the script"
        return np.frombuffer(answer, dtype=np.uint8)

    @property
    def left(self) -> int:
        return len(self._answers)


class Then:
    """One answer first, and then another source."""

    def __init__(self, first: bytes, source: object) -> None:
        self._first, self._source = first, source

    def draw(self, count: int) -> NDArray[np.uint8]:
        first, self._first = self._first, b""
        if not first:
            return self._source.draw(count)  # type: ignore[attr-defined, no-any-return]
        assert len(first) == count, f"{count} bytes were asked for, {len(first)} are next in the script"
        return np.frombuffer(first, dtype=np.uint8)


class Counted:
    """Another source, with a record of how many bytes each call asked for."""

    def __init__(self, source: object) -> None:
        self._source = source
        self.asked: list[int] = []

    def draw(self, count: int) -> NDArray[np.uint8]:
        self.asked.append(count)
        return self._source.draw(count)  # type: ignore[attr-defined, no-any-return]


def words16(*words: int) -> bytes:
    """16-bit words as a source would give them."""
    return np.array(words, dtype=np.uint16).tobytes()


def words64(*words: int) -> bytes:
    """64-bit words as a source would give them."""
    return np.array(words, dtype=np.uint64).tobytes()
