"""The law of the noise in an output: what follows from the expression and the noise of its parts, before any value."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.mechanisms.weighted import Term, WeightedNoise
from tacit.sql.binding import post
from tacit.sql.expressions.measures import Additive
from tacit.sql.planning.plan import Measurement
from tacit.sql.planning.ratio_laws import Ends, RatioNoise, SpreadNoise

_BOXED = Fraction(1, 50)  # of what may fail: that a quotient is not in the box of its parts


@dataclass(frozen=True, slots=True)
class RatioOutput:
    """A quotient of sums of measurements, none of which is on both sides."""

    left: post.Post
    right: post.Post
    noise: RatioNoise

    def ends(self, boxed: post.Bands, confidence: Fraction) -> Ends:
        """The ends by the law, for measurements that are in their boxes."""
        top, bottom = (post.evaluate(side, boxed).value for side in (self.left, self.right))
        return self.noise.ends(top, bottom, confidence=confidence)


@dataclass(frozen=True, slots=True)
class SpreadOutput:
    """A variance, perhaps times a quotient of some of its parts."""

    variance: post.Post
    parts: tuple[int, int, int]
    noise: SpreadNoise
    factor: post.Post | None = None

    def ends(self, boxed: post.Bands, confidence: Fraction) -> Ends:
        """The ends by the law, for measurements that are in their boxes."""
        box = post.evaluate(self.variance, boxed)
        values = [boxed[ref].value for ref in self.parts]
        low, high = self.noise.ends(values, (box.low, box.high), confidence=confidence)
        if self.factor is None:
            return low, high
        spread = post.product(post.Band(low, low, high), post.evaluate(self.factor, boxed))
        return spread.low, spread.high


QuotientLaw = RatioOutput | SpreadOutput


@dataclass(frozen=True, slots=True)
class OutputLaw:
    """What is known of an output's noise: `width` of a sum, `quotient` of a quotient or a variance, of others neither.

    `shared` is what each measurement must hold with for all of them to hold together; `boxed` the same for the box of a
    quotient, whose law then holds with `confidence`.
    """

    core: post.Post
    shared: Fraction
    width: float | None = None
    quotient: QuotientLaw | None = None
    boxed: Fraction = Fraction(1)
    confidence: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True)
class ColumnNoise:
    """The noise in each measurement, where it is that of one draw whatever the group; and the confidence of outputs."""

    terms: tuple[Term | None, ...]
    confidence: Fraction
    _laws: dict[post.Post, OutputLaw] = field(default_factory=dict, init=False, repr=False, compare=False)

    def law(self, value: post.Post) -> OutputLaw:
        """The law of an output, worked out once."""
        known = self._laws.get(value)
        if known is None:
            known = self._laws[value] = self._law(value)
        return known

    def _law(self, value: post.Post) -> OutputLaw:
        parts, core = len(post.refs(value)), post.core(value)
        shared = shared_confidence(self.confidence, parts)
        if parts < 2:
            return OutputLaw(core, shared)
        terms = self._terms(core)
        if terms is not None:
            return OutputLaw(core, shared, WeightedNoise.of(terms).reach(self.confidence) if terms else None)
        fails = 1 - self.confidence
        boxed = shared_confidence(1 - fails * _BOXED, len(post.refs(core)))
        return OutputLaw(core, shared, None, self._quotient(core), boxed, 1 - fails * (1 - _BOXED))

    def _quotient(self, core: post.Post) -> QuotientLaw | None:
        match core:
            case post.Quotient(left, right, _):
                return self._ratio(left, right)
            case post.Product(post.Sum() as variance, post.Quotient() as factor) if post.refs(factor) < post.refs(core):
                return self._spread(variance, factor)
        return self._spread(core)

    def _ratio(self, left: post.Post, right: post.Post) -> RatioOutput | None:
        top, bottom = self._terms(left), self._terms(right)
        if top is None or len(top) != 1 or not bottom or post.refs(left) & post.refs(right):
            return None
        return RatioOutput(left, right, RatioNoise(top[0], tuple(bottom)))

    def _spread(self, variance: post.Post, factor: post.Post | None = None) -> SpreadOutput | None:
        parts = post.variance_parts(variance)
        known = [term for ref in parts or () if (term := self.terms[ref]) is not None]
        if parts is None or len(known) < len(parts):
            return None
        return SpreadOutput(variance, parts, SpreadNoise(*known), factor)

    def _terms(self, value: post.Post) -> list[Term] | None:
        """The noise of a sum of measurements times constants; None where it is no sum, or nobody knows."""
        weights = post.weights(value)
        if weights is None:
            return None
        terms = []
        for ref, weight in weights.items():
            term = self.terms[ref]
            if term is None:
                return None
            size = _representable(Fraction(term.weight) * weight)
            if size is None or _representable(weight) is None:
                return None
            terms.append(Term(size, term.noise))
        return terms


def shared_confidence(confidence: Fraction, count: int) -> Fraction:
    """What each of `count` measurements must hold with, for all of them to hold together (union bound)."""
    return 1 - (1 - confidence) / max(1, count)


def single_term(measurement: Measurement) -> Term | None:
    """The noise of a measurement that has one draw of it; None of a choice."""
    if not isinstance(measurement.measure, Additive) or measurement.added is None:
        return None
    step = _representable(measurement.step)
    return None if step is None else Term(step, measurement.added)


def _representable(weight: Fraction) -> float | None:
    """A weight as a double; None where it overflows, or would be taken for none."""
    try:
        size = float(weight)
    except OverflowError:
        return None
    return size if abs(size) >= sys.float_info.min or not weight else None
