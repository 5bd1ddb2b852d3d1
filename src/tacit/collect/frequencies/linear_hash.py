"""Hash functions that send any two values to the same bucket exactly once in g times: lines over a finite field."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacit.errors import InvalidParameter
from tacit.noise import IntArray

MOST_BUCKETS = 256
_IRREDUCIBLE = {2: 0b111, 3: 0b1011, 4: 0b10011, 5: 0b100101, 6: 0b1000011, 7: 0b10000011, 8: 0b100011011}


def is_field_size(buckets: int) -> bool:
    """Whether there is a field of so many elements that we know how to reckon in: primes and powers of two."""
    if not 2 <= buckets <= MOST_BUCKETS:
        return False
    return buckets & (buckets - 1) == 0 or all(buckets % divisor for divisor in range(2, int(buckets**0.5) + 1))


@lru_cache(maxsize=64)
def _tables(size: int) -> tuple[IntArray, IntArray]:
    """Sums and products of the field's elements."""
    first, second = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
    if size & (size - 1):
        return (first + second) % size, (first * second) % size
    products = np.zeros_like(first)
    degree = size.bit_length() - 1
    for bit in range(degree):
        products ^= np.where(second >> bit & 1, first << bit, 0)
    for bit in range(2 * degree - 2, degree - 1, -1):
        products ^= np.where(products >> bit & 1, _IRREDUCIBLE[degree] << (bit - degree), 0)
    return first ^ second, products


@dataclass(frozen=True, slots=True)
class LinearHash:
    """The functions x ↦ a₀x₀ + a₁x₁ + …, over the digits of x in base `buckets`, one for each a.

    For x ≠ y the difference of their digits is not zero, and a · (x − y) = 0 for exactly one a in `buckets`.
    """

    domain: int
    buckets: int

    def __post_init__(self) -> None:
        if not is_field_size(self.buckets):
            raise InvalidParameter(
                f"there is no field of {self.buckets} elements here: buckets must be a prime or a power of two",
                hint=f"choose one from 2 to {MOST_BUCKETS}",
            )

    @property
    def digits(self) -> int:
        """How many digits a value has."""
        count, reach = 1, self.buckets
        while reach < self.domain:
            count, reach = count + 1, reach * self.buckets
        return count

    @property
    def functions(self) -> int:
        """How many functions there are."""
        return int(self.buckets**self.digits)

    def __call__(self, functions: IntArray, values: IntArray) -> IntArray:
        """The bucket of each value under its function."""
        sums, products = _tables(self.buckets)
        total = np.zeros(np.broadcast_shapes(functions.shape, values.shape), dtype=np.int64)
        for _ in range(self.digits):
            functions, a = np.divmod(functions, self.buckets)
            values, x = np.divmod(values, self.buckets)
            total = sums[total, products[a, x]]
        return total

    @property
    def work(self) -> int:
        """About how many additions `agreeing` takes."""
        return min(self.digits * self.buckets**2, self.domain) * self.functions

    def agreeing(self, seen: IntArray) -> IntArray:
        """For every value the sum of seen[function, bucket] over the functions that send it to that bucket."""
        if self.digits * self.buckets**2 < self.domain:
            return self._transformed(seen)
        functions = np.arange(self.functions)
        return np.array([int(seen[functions, self(functions, np.array(value))].sum()) for value in range(self.domain)])

    def _transformed(self, seen: IntArray) -> IntArray:
        """Digit by digit, as a fast Fourier transform: a's digit is summed out, x's takes its place."""
        sums, products = _tables(self.buckets)
        table = seen.reshape((self.buckets,) * (self.digits + 1))  # axes: a's digits from the highest down, bucket
        for axis in range(self.digits):
            table = np.moveaxis(table, axis, 0)
            table = np.stack(
                [sum(table[a][..., sums[:, products[a, x]]] for a in range(self.buckets)) for x in range(self.buckets)]
            )
            table = np.moveaxis(table, 0, axis)
        answer: IntArray = np.ascontiguousarray(table[..., 0]).reshape(-1)[: self.domain]
        return answer
