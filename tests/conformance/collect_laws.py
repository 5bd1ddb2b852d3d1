"""The exact laws of local reports, body by body, worked out from what the protocols say they do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

from tacit.collect.texts.hashing import place

Law = dict[bytes, Fraction]
HALF = Fraction(1, 2)


def _sum(parts: Iterable[tuple[bytes, Fraction]]) -> Law:
    law: Law = defaultdict(Fraction)
    for body, chance in parts:
        law[body] += chance
    return dict(law)


def number(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little")


def bitmap(ones: Iterable[int], bits: int) -> bytes:
    return sum(1 << one for one in ones).to_bytes((bits + 7) // 8, "little")


def parity(value: int) -> int:
    return value.bit_count() % 2


def bit_rows(chances: list[Fraction]) -> Iterable[tuple[bytes, Fraction]]:
    """Every row of independent bits with these chances of a 1."""
    for row in product((0, 1), repeat=len(chances)):
        weight = Fraction(1)
        for bit, chance in zip(row, chances, strict=True):
            weight *= chance if bit else 1 - chance
        yield bitmap((i for i, bit in enumerate(row) if bit), len(chances)), weight


def direct(p: Any, value: int) -> Law:
    return {number(v, p.width): 1 - p.lie if v == value else p.lie / (p.domain - 1) for v in range(p.domain)}


def unary(p: Any, value: int) -> Law:
    return _sum(bit_rows([p.keep if v == value else p.stray for v in range(p.domain)]))


def field_product(a: int, b: int, size: int) -> int:
    if size & (size - 1):
        return a * b % size
    assert size in (2, 4)
    table = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]]  # x² = x + 1
    return table[a][b]


def local_hash(p: Any, value: int) -> Law:
    digits = 1
    while p.buckets**digits < p.domain:
        digits += 1
    law: Law = {}
    for function in range(p.buckets**digits):
        bucket = 0
        for i in range(digits):
            term = field_product(function // p.buckets**i % p.buckets, value // p.buckets**i % p.buckets, p.buckets)
            bucket = (bucket + term) % p.buckets if p.buckets & (p.buckets - 1) else bucket ^ term
        for told in range(p.buckets):
            chance = 1 - p.lie if told == bucket else p.lie / (p.buckets - 1)
            law[number(function * p.buckets + told, p.width)] = chance / p.buckets**digits
    return law


def hadamard(p: Any, value: int) -> Law:
    return {
        number(2 * row + bit, p.width): (p.flip if bit ^ parity(row & value) else 1 - p.flip) / p.rows
        for row in range(p.rows)
        for bit in (0, 1)
    }


def subset(p: Any, value: int) -> Law:
    sets = list(combinations(range(p.domain), p.size))
    holding = sum(value in one for one in sets)
    return {
        bitmap(one, p.domain): (1 - p.lie) / holding if value in one else p.lie / (len(sets) - holding) for one in sets
    }


def projective(p: Any, value: int) -> Law:
    points: list[tuple[int, ...]] = []
    for tail in range(p.dimensions):
        for rest in range(p.prime**tail):
            digits = [rest // p.prime**i % p.prime for i in range(tail)]
            points.append((0,) * (p.dimensions - 1 - tail) + (1, *reversed(digits)))
    on = [sum(a * b for a, b in zip(point, points[value], strict=True)) % p.prime == 0 for point in points]
    return {
        number(i, p.width): (1 - p.lie) / sum(on) if here else p.lie / (len(on) - sum(on)) for i, here in enumerate(on)
    }


def window_cells(p: Any, at: int) -> list[Fraction]:
    steps = p.scale.steps
    return [(1 - p.lie) / p.size if at <= cell < at + p.size else p.lie / steps for cell in range(steps + p.size)]


def window(p: Any, value: int) -> Law:
    return {number(cell, p.width): chance for cell, chance in enumerate(window_cells(p, value))}


def bit_chances(p: Any, at: int) -> list[Fraction]:
    up = Fraction(at, p.scale.steps)
    one = up * (1 - p.flip) + (1 - up) * p.flip
    return [1 - one, one]


def one_bit(p: Any, value: int) -> Law:
    return {bytes([bit]): chance for bit, chance in enumerate(bit_chances(p, value))}


def hybrid(p: Any, value: int) -> Law:
    cells = [p.mix * chance for chance in window_cells(p, value)]
    cells += [(1 - p.mix) * chance for chance in bit_chances(p, value)]
    return {number(cell, p.width): chance for cell, chance in enumerate(cells)}


def count_mean_sketch(p: Any, value: str) -> Law:
    parts = []
    for function in range(p.hashes):
        own = place(value, function, p.columns)
        chances = [1 - p.flip if column == own else p.flip for column in range(p.columns)]
        parts += [(bytes([function]) + row, chance / p.hashes) for row, chance in bit_rows(chances)]
    return _sum(parts)


def hadamard_sketch(p: Any, value: str) -> Law:
    law: Law = {}
    for function, column, bit in product(range(p.hashes), range(p.columns), (0, 1)):
        truth = parity(column & place(value, function, p.columns))
        code = number(2 * (function * p.columns + column) + bit, p.width)
        law[code] = (p.flip if bit ^ truth else 1 - p.flip) / (p.hashes * p.columns)
    return law


def rappor(p: Any, value: str) -> Law:
    """For a single report of a device in cohort 0."""
    ones = {place(value, function, p.filter_bits) for function in range(p.hashes)}
    chances = []
    for bit in range(p.filter_bits):
        kept = p.forget * HALF + (1 - p.forget) * (bit in ones)
        chances.append(kept * p.one + (1 - kept) * p.zero)
    return _sum((b"\0" + row, chance) for row, chance in bit_rows(chances))


LAWS: dict[str, Callable[[Any, Any], Law]] = {
    "direct": direct,
    "unary": unary,
    "local-hash": local_hash,
    "hadamard": hadamard,
    "subset": subset,
    "projective": projective,
    "one-bit": one_bit,
    "piecewise": window,
    "hybrid": hybrid,
    "square-wave": window,
    "count-mean-sketch": count_mean_sketch,
    "hadamard-sketch": hadamard_sketch,
    "rappor": rappor,
}


def every_attribute(p: Any, values: tuple[Any, ...]) -> Law:
    law: Law = {b"": Fraction(1)}
    for part, value in zip(p.parts, values, strict=True):
        law = {a + b: x * y for a, x in law.items() for b, y in law_of(part, value).items()}
    return law


def one_attribute(p: Any, values: tuple[Any, ...]) -> Law:
    law: Law = {}
    for place_, (part, value) in enumerate(zip(p.parts, values, strict=True)):
        for body, chance in law_of(part, value).items():
            law[bytes([place_]) + body.ljust(p.width - 1, b"\0")] = chance / len(p.parts)
    return law


LAWS |= {"every-attribute": every_attribute, "one-attribute": one_attribute}


def law_of(protocol: Any, value: Any) -> Law:
    from tacit.collect import describe

    return LAWS[describe(protocol)["protocol"]](protocol, value)
