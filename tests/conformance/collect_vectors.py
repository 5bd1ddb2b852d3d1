"""Test vectors of the message formats: random bytes and a value in, the bytes of a report out.

They are kept in `collect_vectors.json`, so that neither encoder can change a format unnoticed. To write them anew, with
a new VERSION: `python tests/conformance/collect_vectors.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from tacit import collect
from tacit.core import Bounds, Loss

FILE = Path(__file__).with_name("collect_vectors.json")
EPSILON = Loss("0.7")
SALARY = Bounds(-20, 100, step="0.5")


class Tape:
    """Random bytes from a tape, one after the other; a tape that ends is a test that failed."""

    def __init__(self, tape: bytes) -> None:
        self._tape = tape
        self.at = 0

    def draw(self, count: int) -> Any:
        part = self._tape[self.at : self.at + count]
        assert len(part) == count, "the tape has ended"
        self.at += count
        return np.frombuffer(part, dtype=np.uint8)


def protocols() -> list[tuple[Any, list[Any]]]:
    """Every protocol that a web page can use, with values for it."""
    texts = ["", "tacit", "Ελλάδα", "a\ud800b", "x" * 200]
    numbers = [-20.0, 100.0, 12.25, 12.75, 1e9, -1e9, 33.3]
    two = (collect.Direct.costing(EPSILON, domain=3), collect.Piecewise.costing(EPSILON, bounds=SALARY))
    wide = collect.SubsetSelection.costing(EPSILON, domain=80)
    sketch = collect.CountMeanSketch.costing(EPSILON, hashes=300, columns=16)
    return [
        (collect.Direct.two_coin(), [0, 1]),
        (collect.Direct.costing(EPSILON, domain=7), [0, 6]),
        (collect.Direct.costing(EPSILON, domain=1000), [0, 999]),
        (collect.Unary.optimised(EPSILON, domain=21), [0, 20]),
        (collect.Unary.symmetric(EPSILON, domain=8), [7]),
        (collect.LocalHash.costing(EPSILON, domain=100), [0, 57, 99]),
        (collect.LocalHash(1000, 16, Fraction(1, 3)), [0, 999]),
        (collect.LocalHash(1000, 7, Fraction(1, 3)), [5, 999]),
        (collect.Hadamard.costing(EPSILON, domain=1000), [0, 999]),
        (collect.SubsetSelection.costing(EPSILON, domain=11), [0, 10]),
        (collect.Projective.costing(EPSILON, domain=50), [0, 1, 49]),
        (collect.Projective(20, 5, Fraction(1, 3)), [0, 7, 19]),
        (collect.OneBit.costing(EPSILON, bounds=SALARY), numbers),
        (collect.Piecewise.costing(EPSILON, bounds=SALARY), numbers),
        (collect.Hybrid.costing(EPSILON, bounds=SALARY), numbers),
        (collect.SquareWave.costing(EPSILON, bounds=SALARY), numbers),
        (collect.CountMeanSketch.costing(EPSILON, hashes=300, columns=16), texts),
        (collect.HadamardSketch.costing(EPSILON, hashes=300, columns=64), texts),
        (collect.EveryAttribute(two), [[2, 50.0]]),
        (collect.OneAttribute(two), [[2, 50.0], [0, -20.0]]),
        (collect.Rappor(16, 2, 300, forget="1/2", zero="1/4", one="3/4"), texts),
        (collect.Rappor(16, 2, 300, forget="1/3", zero="1/2", one="3/4"), texts[:2]),
        (collect.OneAttribute((wide, two[0])), [[0, 2], [79, 0]]),
        (collect.EveryAttribute((two[0], wide, sketch)), [[1, 40, "tacit"]]),
        (collect.OneAttribute((two[1], sketch)), [[7.5, "tacit"]]),
    ]


def tapes(numbers: np.random.Generator, length: int) -> Iterator[bytes]:
    """Ordinary bytes; the ends of their range, which make ties and words that are drawn again; and a mixture."""
    yield numbers.bytes(length)
    yield bytes(8) + b"\xff" * 16 + numbers.bytes(length)
    yield b"\xff" * 24 + numbers.bytes(length)
    yield b"".join(bytes([255]) * 8 if bit else numbers.bytes(8) for bit in numbers.integers(0, 2, length // 8))


def ties(protocol: Any) -> Iterator[tuple[bytes, bytes]]:
    """First words that equal the first digits of a chance: only further digits can settle them."""
    for name in ("lie", "flip", "keep", "forget"):
        chance = getattr(protocol, name, None)
        if chance is not None:
            first = min(65535, int(chance * 65536)).to_bytes(2, "little")
            rest = int(chance * 2**80) % 2**64
            for follow in (0, rest, rest + 1, 2**64 - 1):  # a tie, and another after 80 digits
                yield first, follow.to_bytes(8)


def encode(protocol: Any, value: Any, tape: Tape) -> bytes:
    if isinstance(protocol, collect.Rappor):
        body = protocol.encode([value], tape, cohorts=np.array([7]))
    elif isinstance(protocol, (collect.EveryAttribute, collect.OneAttribute)):
        body = protocol.encode([[one] for one in value], tape)
    else:
        body = protocol.encode([value], tape)
    return collect.messages(protocol, body)[0]


def vectors() -> list[dict[str, Any]]:
    """All vectors, from scratch: for each protocol its description, and triples of value, random bytes and report."""
    numbers = np.random.default_rng(20261116)
    made = []
    for protocol, values in protocols():
        cases = []
        for value in values:
            filled = list(tapes(numbers, 1200))
            filled += [first + follow + numbers.bytes(1200) for first, follow in ties(protocol)]
            for tape in filled:
                reel = Tape(tape)
                report = encode(protocol, value, reel)
                cases.append([value, tape[: reel.at].hex(), report.hex()])
        made.append({"description": collect.describe(protocol), "cases": cases})
    return made


def kept() -> list[dict[str, Any]]:
    """The vectors that were written down."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), separators=(",", ":")).replace('},{"desc', '},\n{"desc') + "\n")
    sys.stdout.write(f"{FILE.name}: {sum(len(one['cases']) for one in vectors())} vectors\n")
