"""Privacy profiles on a grid: at each epsilon an upper bound on delta, convex in e^epsilon as true profiles are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from tacit.accounting.renyi import RenyiCurve
from tacit.core import Loss

Profile = list[tuple[int, float]]  # (epsilon in grid steps, delta), epsilon rising
Sampled = tuple[Fraction, Loss]  # how likely a unit is kept, and what runs on the sample

_FINEST = -13  # steps of 2^-13 unless a small epsilon asks for finer or a long sum for coarser
_MOST_STEPS = 400_000
_DOTS = 2_000
_COARSE = 1e-6  # of a sample's loss: a gain that is smaller decides on no step
_FURTHEST = 500.0  # an epsilon beyond which all mass counts as lost


def grid_step(losses: Mapping[Loss, int], sampled: Mapping[Sampled, int] = MappingProxyType({})) -> float:
    """A power of two: fine against the smallest epsilon, yet coarse enough for the whole sum."""
    costs = [(float(min(loss.epsilon, Fraction(10**6))), times) for loss, times in losses.items()]
    for (q, loss), times in sampled.items():
        high, low = sampled_ends(loss, q)
        costs += [(max(end, high * _COARSE, _COARSE**2), times) for end in (high, low)]
    if not costs:
        return 2.0**_FINEST
    spread = math.sqrt(sum(times * epsilon**2 for epsilon, times in costs))
    drift = sum(times * epsilon * math.tanh(epsilon / 2) for epsilon, times in costs)
    span = min(sum(times * epsilon for epsilon, times in costs), drift + 10 * spread)
    wanted = min((epsilon / 8 for epsilon, _ in costs if epsilon > 0), default=1.0)
    return float(2.0 ** math.ceil(math.log2(max(min(wanted, 2.0**_FINEST), 2 * span / _MOST_STEPS))))


def response_profile(loss: Loss, step: float) -> Profile:
    """The profile of randomised response confessing with probability delta: the worst (epsilon, delta) mechanism."""
    units = loss.epsilon / Fraction(step)
    dots = sorted({sign * edge for sign in (-1, 1) for edge in (math.floor(units), math.ceil(units))})
    return [(dot, _response(loss, dot * step)) for dot in dots]


def sampled_profiles(loss: Loss, probability: Fraction, *, step: float) -> tuple[Profile, Profile]:
    """The profiles of `response_profile` on a Poisson sample: for a unit that is removed, and for one that is added.

    With (P, Q) its pair and q the chance to be kept, a removed unit has the pair (q P + (1 − q) Q, Q), and at a = e^t

        delta(a) = q · delta of (P, Q) at 1 + (a − 1) / q, or 1 − a if that is negative

    (Balle, Barthe & Gaboardi, NeurIPS 2018: "advanced joint convexity"). An added one has the pair turned round,
    delta'(a) = 1 − a + a delta(1/a). Both dominate the sample of whatever (P, Q) dominates, and so do their
    compositions, each direction by itself (Zhu, Dong & Wang, AISTATS 2022, Theorem 11). The rare large loss of a unit
    that is in the sample and the frequent small gain of one that is not are told apart: amplified to an epsilon, both
    would count as the larger.
    """
    q = float(probability)

    def removed(t: float) -> float:
        rise = math.expm1(min(t, 700.0)) / q
        return q * _response(loss, math.log1p(rise)) if rise > -1 else -math.expm1(t)

    def added(t: float) -> float:
        turned = removed(-t)
        return max(0.0, -math.expm1(t) + math.exp(t) * turned if t <= 0 else math.exp(t) * (turned + math.expm1(-t)))

    high, low = sampled_ends(loss, probability)
    dots = [{edge for end in ends for edge in _edges(end / step)} for ends in ((high, -low), (low, -high))]
    return (
        [(dot, min(1.0, removed(dot * step))) for dot in sorted(dots[0])],
        [(dot, min(1.0, added(dot * step))) for dot in sorted(dots[1])],
    )


def sampled_ends(loss: Loss, probability: Fraction) -> tuple[float, float]:
    """The most that a removed unit can lose, ln(1 + q (e^ε − 1)), and that it can gain, −ln(1 − q (1 − e^−ε))."""
    epsilon, q = float(min(loss.epsilon, Fraction(10**6))), float(probability)
    shrunk = math.expm1(-epsilon)  # −(1 − e^−ε)
    lost = math.log1p(q * math.expm1(epsilon)) if epsilon < 30 else epsilon + math.log(q + (1 - q) * (1 + shrunk))
    return lost, -math.log1p(q * shrunk)


def _edges(units: float) -> tuple[int, int]:
    return math.floor(units), math.ceil(units)


def _response(loss: Loss, target: float) -> float:
    """The delta at this epsilon of randomised response that confesses with the loss's own delta."""
    epsilon, delta = float(loss.epsilon), float(loss.delta)
    if target >= epsilon:
        return delta
    if target <= -epsilon:
        return delta + (1 - delta) * -math.expm1(target)
    return delta + (1 - delta) * -math.expm1(target - epsilon) / (1 + math.exp(-epsilon))


def curve_profile(curve: RenyiCurve, step: float) -> Profile:
    """What a Rényi curve implies: the least delta over its orders, made convex; below zero by reflection."""
    orders = [(float(a), float(r)) for a, r in zip(curve.orders, curve.values, strict=True)]
    offsets = [(a - 1, (a - 1) * (r + math.log1p(-1 / a)) - math.log(a)) for a, r in orders]

    def at(epsilon: float) -> float:
        return min(1.0, math.exp(min(offset - slope * epsilon for slope, offset in offsets)) * (1 + 1e-9))

    reach = min((offset + 40) / slope for slope, offset in offsets)  # where delta falls below e^-40
    stride = max(1, math.ceil(min(max(reach, step), _FURTHEST) / step / _DOTS))
    rising = [(dot * stride, at(dot * stride * step)) for dot in range(_DOTS + 1)]
    falling = [(-dot, 1 + math.exp(-dot * step) * (delta - 1)) for dot, delta in reversed(rising[1:])]
    return _convex(falling + rising, step)


def _convex(profile: Profile, step: float) -> Profile:
    """The greatest convex minorant of the dots over e^epsilon. A true profile is convex, so it stays below this too."""
    hull: list[tuple[int, float, float]] = []  # (dot, e^epsilon, delta)
    for dot, delta in profile:
        x = math.exp(dot * step)
        while hull and _bulges(hull[-2][1:] if len(hull) > 1 else (0.0, 1.0), hull[-1][1:], (x, delta)):
            hull.pop()
        hull.append((dot, x, delta))
    return [(dot, delta) for dot, _, delta in hull]


def _bulges(left: tuple[float, ...], middle: tuple[float, ...], right: tuple[float, ...]) -> bool:
    """Whether the middle dot lies on or above the line through the others."""
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (middle[0] - left[0])
