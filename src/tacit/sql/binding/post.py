"""What happens to noisy numbers before they leave: arithmetic that costs nothing and carries its error along."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ROUNDING = 2.0**-50  # of each term of a sum: above what it takes to make one from whole numbers
_NEGLIGIBLE = 1e-6  # of an interval, which noise makes far wider than rounding in all but extremes


@dataclass(frozen=True, slots=True)
class Band:
    """Values with the interval each lies in at the stated confidence; NaN stands for NULL."""

    value: Floats
    low: Floats
    high: Floats

    @property
    def error(self) -> Floats:
        """The half-width: the farther of the two ends."""
        return np.maximum(self.high - self.value, self.value - self.low)


@dataclass(frozen=True, slots=True)
class Ref:
    """A measured column, by its index in the plan."""

    measure: int


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Sum:
    """left + right."""

    left: Post
    right: Post


@dataclass(frozen=True, slots=True)
class Product:
    """left · right."""

    left: Post
    right: Post


@dataclass(frozen=True, slots=True)
class Quotient:
    """left / right: NULL (NaN in a band) where there is nothing to divide by.

    A divisor that might be zero makes the interval infinite, and one that is zero makes the value NULL. A divisor that
    is a number of rows is at least `least` wherever there is an answer: it is held there, unless its whole interval
    lies below, where there are no such rows.
    """

    left: Post
    right: Post
    least: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Clamped:
    """Held between two ends that are known in advance; None leaves an end open.

    The interval is held too, unless it covers values that were clamped (`loose`): the truth may lie beyond the ends.
    """

    inner: Post
    low: Fraction | None
    high: Fraction | None
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Root:
    """The square root of what is not negative."""

    inner: Post


@dataclass(frozen=True, slots=True)
class Exponent:
    """E to the power of a number."""

    inner: Post


@dataclass(frozen=True, slots=True)
class Absolute:
    """The distance from zero."""

    inner: Post


@dataclass(frozen=True, slots=True)
class Rounded:
    """Rounded to a number of decimal places, for display."""

    inner: Post
    places: int


@dataclass(frozen=True, slots=True)
class Grouping:
    """Which of these keys are rolled up, as bits, the first key's the highest: a number once its set is known."""

    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A number of days ("date") or seconds ("timestamp") since 1970, which is shown as what it is."""

    inner: Post
    kind: str


Post = Ref | Number | Grouping | Sum | Product | Quotient | Clamped | Root | Exponent | Absolute | Rounded | Moment

Bands = Sequence[Band] | Mapping[int, Band]  # of measurements, by their indices


def refs(post: Post) -> frozenset[int]:
    """The measurements an expression reads."""
    if isinstance(post, Ref):
        return frozenset([post.measure])
    if isinstance(post, (Number, Grouping)):
        return frozenset()
    if isinstance(post, (Sum, Product, Quotient)):
        return refs(post.left) | refs(post.right)
    return refs(post.inner)


def is_linear(post: Post) -> bool:
    """Whether the error is the same whatever is measured: sums of measurements times constants."""
    if isinstance(post, (Ref, Number, Grouping)):
        return True
    if isinstance(post, Sum):
        return is_linear(post.left) and is_linear(post.right)
    if isinstance(post, Product):
        return (not refs(post.left) and is_linear(post.right)) or (not refs(post.right) and is_linear(post.left))
    return isinstance(post, (Rounded, Moment)) and is_linear(post.inner)


def weights(post: Post) -> Mapping[int, Fraction] | None:
    """What each measurement counts for in a sum of measurements times constants; None where it is anything else."""
    match post:
        case Ref(measure):
            return {measure: Fraction(1)}
        case Number(_) | Grouping(_):
            return {}
        case Sum(left, right):
            one, two = weights(left), weights(right)
            if one is None or two is None:
                return None
            return {ref: one.get(ref, Fraction(0)) + two.get(ref, Fraction(0)) for ref in {**one, **two}}
        case Product(Number(value), inner) | Product(inner, Number(value)):
            inner_weights = weights(inner)
            return None if inner_weights is None else {ref: value * weight for ref, weight in inner_weights.items()}
    return None


def core(post: Post) -> Post:
    """What is left of an expression without the functions of one number around it, and without constants."""
    while True:
        match post:
            case Clamped() | Root() | Exponent() | Absolute() | Rounded() | Moment():
                post = post.inner
            case Sum(Number(), inner) | Sum(inner, Number()) | Product(Number(), inner) | Product(inner, Number()):
                post = inner
            case _:
                return post


def around_core(post: Post, band: Band) -> Band:
    """The expression, where its core has come out as `band`."""
    match post:
        case Clamped() | Root() | Exponent() | Absolute() | Rounded() | Moment():
            return _unary(post, around_core(post.inner, band))
        case Sum(Number() as constant, inner) | Sum(inner, Number() as constant):
            return _sum(around_core(inner, band), evaluate(constant, ()))
        case Product(Number() as constant, inner) | Product(inner, Number() as constant):
            return product(around_core(inner, band), evaluate(constant, ()))
    return band


def variance_parts(post: Post) -> tuple[int, int, int] | None:
    """The measurements of a variance, E[x²] − E[x]²: sum of squares, sum, and count. None of anything else."""
    match post:
        case Sum(
            Quotient(Ref(squares), Ref(count)),
            Product(Number(minus), Product(Quotient(Ref(total), Ref(of)), Quotient(Ref(again), Ref(of_again)))),
        ) if minus == -1 and total == again and count == of == of_again:
            return squares, total, count
    return None


def linear_band(post: Post, bands: Bands, width: float) -> Band:
    """A sum of measurements times constants that strays by `width`, and by what doubles lose of its terms."""
    value = evaluate(post, bands).value
    known = weights(post) or {}
    terms = [np.abs(bands[ref].value) * abs(float(weight)) for ref, weight in known.items()]
    wide = width + _lost(np.abs(value) + sum(terms, np.zeros(1)), width)
    return Band(value, value - wide, value + wide)


def substitute(post: Post, replacements: Mapping[int, Post]) -> Post:
    """The expression with measured columns replaced."""
    return _mapped(post, lambda leaf: replacements.get(leaf.measure, leaf) if isinstance(leaf, Ref) else leaf)


def loosened(post: Post) -> Post:
    """The expression whose intervals may reach beyond the ends that its values are held between."""
    if isinstance(post, (Ref, Number, Grouping)):
        return post
    if isinstance(post, (Sum, Product, Quotient)):
        return replace(post, left=loosened(post.left), right=loosened(post.right))
    inner = loosened(post.inner)
    return replace(post, inner=inner, loose=True) if isinstance(post, Clamped) else replace(post, inner=inner)


def grouped_by(post: Post, keys: Collection[int]) -> Post:
    """The expression in the rows of one grouping set, whose keys these are."""

    def bits(leaf: Ref | Number | Grouping) -> Post:
        if not isinstance(leaf, Grouping):
            return leaf
        return Number(Fraction(sum((key not in keys) << index for index, key in enumerate(reversed(leaf.keys)))))

    return _mapped(post, bits)


def _mapped(post: Post, act: Callable[[Ref | Number | Grouping], Post]) -> Post:
    """The expression with each of its leaves replaced."""
    if isinstance(post, (Ref, Number, Grouping)):
        return act(post)
    if isinstance(post, (Sum, Product, Quotient)):
        return replace(post, left=_mapped(post.left, act), right=_mapped(post.right, act))
    return replace(post, inner=_mapped(post.inner, act))


def evaluate(post: Post, bands: Bands) -> Band:
    """The expression over measured bands, by their indices, its interval carried through by interval arithmetic."""
    match post:
        case Ref(measure):
            return bands[measure]
        case Grouping():
            raise TypeError("the grouping set of these rows is not known")
        case Number(value):
            point = np.array([float(value)])
            return Band(point, point, point)
        case Sum(left, right):
            return _sum(evaluate(left, bands), evaluate(right, bands))
        case Product(left, right):
            return product(evaluate(left, bands), evaluate(right, bands))
        case Quotient():
            return _divided(post, bands)
        case _:
            return _unary(post, evaluate(post.inner, bands))


def _unary(post: Clamped | Root | Exponent | Absolute | Rounded | Moment, band: Band) -> Band:
    match post:
        case Moment(_, _):
            return band
        case Clamped():
            return _clamped(post, band)
        case Root(_):
            return Band(*(np.sqrt(np.maximum(part, 0.0)) for part in (band.value, band.low, band.high)))
        case Exponent(_):
            with np.errstate(over="ignore"):
                return Band(*(np.exp(part) for part in (band.value, band.low, band.high)))
        case Rounded(_, places):
            return Band(*(_rounded(part, places) for part in (band.value, band.low, band.high)))
        case Absolute(_):
            spans = (band.low <= 0) & (band.high >= 0)
            sizes = np.abs(np.stack([band.low, band.high]))
            return Band(np.abs(band.value), np.where(spans, 0.0, sizes.min(axis=0)), sizes.max(axis=0))


def _clamped(post: Clamped, band: Band) -> Band:
    ends = (-np.inf if post.low is None else float(post.low), np.inf if post.high is None else float(post.high))
    held = _within(band.value, ends)
    if post.loose:
        return Band(held, np.minimum(band.low, held), np.maximum(band.high, held))
    return Band(held, _within(band.low, ends), _within(band.high, ends))


def _within(values: Floats, ends: tuple[float, float]) -> Floats:
    return np.minimum(np.maximum(values, ends[0]), ends[1])


def around(value: Floats, width: float | Floats) -> Band:
    """A measured value and its interval; that of a very large one holds what a double loses of it as well."""
    wide = width + _lost(np.abs(value), width)
    return Band(value, value - wide, value + wide)


def _lost(size: Floats, width: float | Floats) -> Floats:
    """What doubles lose of terms of this size, where it matters beside an interval; an exact number has none."""
    lost = _ROUNDING * size
    if isinstance(width, float):
        return np.where(lost > _NEGLIGIBLE * width, lost, 0.0) if width > 0 else np.zeros_like(lost)
    return np.where((width > 0) & (lost > _NEGLIGIBLE * width), lost, 0.0)


def _sum(one: Band, two: Band) -> Band:
    """Where large terms cancel, what doubles have lost of them is a part of the error that is left."""
    low, high = one.low + two.low, one.high + two.high
    lost = _lost(np.abs(one.value) + np.abs(two.value), high - low)
    return Band(one.value + two.value, low - lost, high + lost)


def _rounded(values: Floats, places: int) -> Floats:
    """To so many places, halves away from zero, as SQL rounds; what is too large to have places stays as it is."""
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = values * 10.0**places
        whole = np.trunc(scaled)
        away = np.copysign(np.abs(scaled - whole) >= 0.5, scaled)
        return np.where(np.isfinite(scaled), (whole + away) / 10.0**places, values)


def product(one: Band, two: Band) -> Band:
    """The product of two bands, each of which may be anywhere in its interval."""
    with np.errstate(invalid="ignore", over="ignore"):
        corners = [a * b for a in (one.low, one.high) for b in (two.low, two.high)]
        return Band(one.value * two.value, *_extremes([np.where(np.isnan(each), 0.0, each) for each in corners]))


def _extremes(corners: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The least and the greatest of several numbers; NaN where one of them is."""
    return reduce(np.minimum, corners), reduce(np.maximum, corners)


def _divided(post: Quotient, bands: Bands) -> Band:
    match post:
        case Quotient(Ref(count), Sum(Ref(same), Number(fewer)), least) if count == same and least and fewer < 0:
            return _beside_fewer(bands[count], float(fewer), float(least))
    return _quotient(evaluate(post.left, bands), evaluate(post.right, bands), post.least)


def _beside_fewer(count: Band, fewer: float, least: float) -> Band:
    """A count over itself less something: largest where the divisor is `least`, and falling on either side."""
    divisor = Band(*(part + fewer for part in (count.value, count.low, count.high)))
    values = [part / np.maximum(part + fewer, least) for part in (count.low, count.high)]
    peak = (least - fewer) / least
    spans = (divisor.low <= least) & (divisor.high >= least)
    value = _quotient(count, divisor, Fraction(least)).value
    return Band(value, np.minimum(*values), np.where(spans, peak, np.maximum(*values)))


def _quotient(one: Band, two: Band, least: Fraction | None) -> Band:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        nothing = two.value == 0
        if least is not None:
            floor = float(least)
            nothing = two.high < floor
            two = Band(np.maximum(two.value, floor), np.maximum(two.low, floor), np.maximum(two.high, floor))
        lowest, highest = _extremes([a / b for a in (one.low, one.high) for b in (two.low, two.high)])
        value = np.where(nothing, np.nan, one.value / np.where(nothing, 1.0, two.value))
        unsure = ((two.low <= 0) & (two.high >= 0)) | np.isnan(lowest)  # ∞ / ∞ may be anything
        low = np.where(unsure, -np.inf, lowest)
        high = np.where(unsure, np.inf, highest)
        return Band(value, low, high)
