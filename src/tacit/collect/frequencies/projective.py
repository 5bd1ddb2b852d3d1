"""A point of a projective space, probably on the value's own hyperplane."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.frequencies.supports import Support
from tacit.collect.integers import bits_for, bytes_for, from_rows, to_rows
from tacit.collect.ratios import price, ratio_costing
from tacit.collect.reports import Bodies, Tally, Values, checked_rows, checked_weights
from tacit.core import Loss, Number, probability
from tacit.errors import InvalidParameter
from tacit.mechanisms.limits import at_least
from tacit.mechanisms.response import answers
from tacit.noise import SYSTEM, IntArray, Source, bernoulli, uniform_integer

MOST_POINTS = 1 << 20
_MOST_WORK = 1 << 29  # additions for one tally: about a second
PRIMES = tuple(p for p in range(2, 257) if all(p % q for q in range(2, int(p**0.5) + 1)))


@dataclass(frozen=True, slots=True)
class Projective:
    """Report a point of the projective space over `prime`: one orthogonal to the value's with probability 1 − `lie`.

    Guarantee:    pure ε-DP with ε = ln((1 − lie) / lie · (points − plane) / plane) for neighbours that replace a
                  person's value: `plane` points are orthogonal to it, whatever it is, and all of them are as likely.
    Sensitivity:  one report a person.
    Error:        any two hyperplanes share equally many points, so the estimate is unbiased; near the optimum when the
                  prime is near e^ε + 1, in as many bits as name a point. A space of such a prime may have more points
                  than can be tallied: of 10,000 values the variance is 1.07 times the optimum at ε = 3, 3.6 at ε = 5.
    Exactness:    rational lie, exact coins; ε rounded up in the 24th digit.
    Reference:    Feldman, Nelson, Nguyen & Talwar, ICML 2022.
    """

    domain: int
    prime: int
    lie: Fraction

    def __init__(self, domain: int, prime: int, lie: Number) -> None:
        object.__setattr__(self, "domain", at_least(domain, 2, what="the number of values"))
        if prime not in PRIMES:
            raise InvalidParameter(f"there is no such projective space here: {prime} is not a prime below 256")
        object.__setattr__(self, "prime", prime)
        object.__setattr__(self, "lie", probability(lie, "the chance of a lie"))
        if self.points > MOST_POINTS:
            raise InvalidParameter(
                "the domain is too large: its space has too many points", hint="use Hadamard or LocalHash"
            )
        if self.ratio <= 1:
            raise InvalidParameter("the chance of a lie is too large: the points would say nothing of the truth")

    @classmethod
    def costing(cls, loss: Loss, *, domain: int) -> Projective:
        """The prime of least variance, and the least lying that costs no more than `loss`."""
        ratio = ratio_costing(loss)
        protocols = []
        for prime in PRIMES:
            dimensions = _dimensions(at_least(domain, 2, what="the number of values"), prime)
            points, plane = _points(dimensions, prime), _points(dimensions - 1, prime)
            if points <= MOST_POINTS and dimensions * prime ** (dimensions + 2) <= _MOST_WORK:
                protocols.append(cls(domain, prime, (points - plane) / (points - plane + plane * ratio)))
        if not protocols:
            raise InvalidParameter("the domain is too large: its space has too many points", hint="use Hadamard")
        return min(protocols, key=lambda one: one.support.variance(0, 1))

    @property
    def dimensions(self) -> int:
        """Coordinates of a point: at least two, so that hyperplanes have points."""
        return _dimensions(self.domain, self.prime)

    @property
    def points(self) -> int:
        """How many points there are, one for each value and perhaps some more."""
        return _points(self.dimensions, self.prime)

    @property
    def plane(self) -> int:
        """How many points a hyperplane has."""
        return _points(self.dimensions - 1, self.prime)

    @property
    def ratio(self) -> Fraction:
        """How much likelier a point on the value's hyperplane is than one off it."""
        return (1 - self.lie) / self.lie * Fraction(self.points - self.plane, self.plane)

    @property
    def width(self) -> int:
        """Bytes of a report."""
        return bytes_for(self.points)

    @property
    def bits(self) -> int:
        """Bits that a report needs."""
        return bits_for(self.points)

    @property
    def support(self) -> Support:
        """A report speaks for the values to which it is orthogonal."""
        shared = _points(self.dimensions - 2, self.prime)  # points on two hyperplanes at once
        on = (1 - self.lie) * Fraction(shared, self.plane)
        off = self.lie * Fraction(self.plane - shared, self.points - self.plane)
        return Support(1 - self.lie, on + off)

    def loss(self) -> Loss:
        """What one report costs."""
        return Loss(price(self.ratio))

    def encode(self, values: Values, source: Source = SYSTEM) -> Bodies:
        """One report for each value: the number of a point. A point on the plane and one off it are drawn."""
        truth = answers(values, categories=self.domain).ravel()
        lies = bernoulli(self.lie, truth.size, source=source)
        normal = self._coordinates(truth)  # rows: the value's own point, its first coordinate that is not 0 being 1
        lead = np.argmax(normal != 0, axis=1)
        on = self._on_plane(normal, lead, source)
        off = self._off_plane(normal, lead, source)
        return to_rows(self._numbers(np.where(lies[:, np.newaxis], off, on)), self.width)

    def _on_plane(self, normal: IntArray, lead: IntArray, source: Source) -> IntArray:
        """Even over the plane: any vector but zero for the other coordinates; the leading one then follows."""
        rows = np.arange(lead.size)
        free = 1 + uniform_integer(self.prime ** (self.dimensions - 1) - 1, lead.size, source=source)
        vector = self._placed(free, lead)
        vector[rows, lead] = (-(normal * vector).sum(axis=1)) % self.prime
        return vector

    def _off_plane(self, normal: IntArray, lead: IntArray, source: Source) -> IntArray:
        """Even over the rest: any vector for the other coordinates, and the leading one such that the product is 1."""
        rows = np.arange(lead.size)
        free = uniform_integer(self.prime ** (self.dimensions - 1), lead.size, source=source)
        vector = self._placed(free, lead)
        vector[rows, lead] = (1 - (normal * vector).sum(axis=1)) % self.prime
        return vector

    def _placed(self, free: IntArray, lead: IntArray) -> IntArray:
        """The digits of `free` in all places but the leading one, where a zero stands."""
        coordinates = np.arange(self.dimensions)[np.newaxis]
        vector = np.zeros((lead.size, self.dimensions), dtype=np.int64)
        rest = free
        for index in range(self.dimensions - 1):
            rest, digit = np.divmod(rest, self.prime)
            here = coordinates == (index + (index >= lead))[:, np.newaxis]
            vector += here * digit[:, np.newaxis]
        return vector

    def _coordinates(self, numbers: IntArray) -> IntArray:
        """Point number i: 0…0 1 and then digits. Those with a 1 in the last place come first, then one earlier, …"""
        vectors = np.zeros((numbers.size, self.dimensions), dtype=np.int64)
        for tail in range(self.dimensions):
            start, end = _points(tail, self.prime), _points(tail + 1, self.prime)
            mine = (numbers >= start) & (numbers < end)
            vectors[mine, self.dimensions - 1 - tail] = 1
            for index in range(tail):
                vectors[mine, self.dimensions - 1 - index] = (numbers[mine] - start) // self.prime**index % self.prime
        return vectors

    def _numbers(self, vectors: IntArray) -> IntArray:
        """The number of the point that each vector stands for, whatever its length."""
        lead = np.argmax(vectors != 0, axis=1)
        inverse = np.array([pow(element, -1, self.prime) if element else 0 for element in range(self.prime)])
        unit = vectors * inverse[vectors[np.arange(lead.size), lead]][:, np.newaxis] % self.prime
        tail = self.dimensions - 1 - lead
        start = np.array([_points(t, self.prime) for t in range(self.dimensions)])[tail]
        powers = self.prime ** np.arange(self.dimensions - 1, -1, -1)
        numbers: IntArray = start + unit @ powers - powers[lead]
        return numbers

    def tally(self, bodies: Bodies, weights: IntArray | None = None) -> Tally:
        """How many reports are orthogonal to each value, all at once by a transform over the field."""
        numbers = from_rows(checked_rows(bodies, self.width))
        times = checked_weights(weights, numbers.size)
        good = numbers < self.points
        seen = np.bincount(numbers[good], weights=times[good], minlength=self.points).astype(np.int64)
        agreeing = self._orthogonal(seen)
        return Tally(agreeing, int(seen.sum()), int(times[~good].sum()))

    def _orthogonal(self, seen: IntArray) -> IntArray:
        """Σ of seen over the points orthogonal to each value's: a coordinate at a time, as in `LinearHash`."""
        p, n = self.prime, self.dimensions
        points = self._coordinates(np.arange(self.points))
        flat = points @ p ** np.arange(n - 1, -1, -1)
        table = np.zeros((p**n, p), dtype=np.int64)
        table[flat, 0] = seen
        table = table.reshape((p,) * (n + 1))
        shift = np.arange(p)
        for axis in range(n):
            table = np.moveaxis(table, axis, 0)
            table = np.stack([sum(table[a][..., (shift + a * x) % p] for a in range(p)) for x in range(p)])
            table = np.moveaxis(table, 0, axis)
        answer: IntArray = table.reshape(-1, p)[flat[: self.domain], 0]
        return answer

    def estimate(self, tally: Tally) -> Estimate:
        """Unbiased shares of each value."""
        return self.support.estimate(tally)


def _points(dimensions: int, prime: int) -> int:
    """Points of the projective space with so many coordinates: (p^t − 1) / (p − 1)."""
    return int((prime**dimensions - 1) // (prime - 1)) if dimensions > 0 else 0


def _dimensions(domain: int, prime: int) -> int:
    dimensions = 2
    while _points(dimensions, prime) < domain:
        dimensions += 1
    return dimensions
