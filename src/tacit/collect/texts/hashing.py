"""Public hash functions of texts: a value's place in a table, the same on every device."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from tacit.errors import InvalidParameter
from tacit.noise import IntArray


def place(text: str, function: int, size: int) -> int:
    """Where function number `function` puts a text among `size` places, a power of two up to 2^32.

    The first four bytes, lowest first, of SHA-256 over the function's number (four bytes, lowest first) and the text
    in UTF-8.
    """
    digest = hashlib.sha256(function.to_bytes(4, "little") + utf8(text)).digest()
    return int.from_bytes(digest[:4], "little") & (size - 1)


def utf8(text: str) -> bytes:
    """UTF-8 as browsers write it: half of a surrogate pair becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def places(texts: Sequence[str], functions: IntArray, *, size: int) -> IntArray:
    """Where each text's own function puts it. Every pair is hashed once, however often it occurs."""
    words = list(dict.fromkeys(texts))
    numbers = {word: number for number, word in enumerate(words)}
    which = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
    most = int(functions.max(initial=0)) + 1
    pairs, back = _distinct(which * most + functions, below=len(words) * most)
    hashed = [place(words[pair // most], pair % most, size) for pair in pairs.tolist()]
    return np.array(hashed, dtype=np.int64)[back]


def _distinct(keys: IntArray, *, below: int) -> tuple[IntArray, IntArray]:
    """The different keys, and for each key its place among them; by marking where that is cheaper than sorting."""
    if below > 4 * keys.size:
        values, back = np.unique(keys, return_inverse=True)
        return values, back
    seen = np.zeros(below, dtype=np.bool_)
    seen[keys] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[keys]


def power_of_two(number: int, what: str) -> int:
    """A power of two from 2 to 2^20."""
    if isinstance(number, bool) or not isinstance(number, int) or not 2 <= number <= 1 << 20 or number & (number - 1):
        raise InvalidParameter(f"{what} must be a power of two from 2 to 2^20: got {number!r}")
    return number


def distinct(candidates: Sequence[str]) -> list[str]:
    """The candidates as a list without repeats, in the order given."""
    if isinstance(candidates, str) or not all(isinstance(text, str) for text in candidates):
        raise InvalidParameter("the candidates are not texts", hint="give a list of the values to look for")
    texts = list(dict.fromkeys(candidates))
    if not texts:
        raise InvalidParameter("there is nothing to look for: no candidate is given")
    return texts
