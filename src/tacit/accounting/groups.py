"""Neighbours further apart: several units at once, or one unit replaced by another."""

from __future__ import annotations

from fractions import Fraction

from tacit.core import Loss, Number, rational
from tacit.core.enclosure import Enclosure
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter


def group_loss(loss: Loss, size: int) -> Loss:
    """What a group of `size` units can lose: (k epsilon, delta (e^(k epsilon) - 1) / (e^epsilon - 1)).

    From k steps of P <= e^epsilon Q + delta: delta is worth 1 + e^epsilon + ... + e^((k-1) epsilon) of itself.
    """
    return Loss(loss.epsilon * _members(size), _grown(loss, size))


def replace_loss(loss: Loss) -> Loss:
    """The loss under replacement of a mechanism whose loss is stated under addition and removal.

    To replace a unit is to remove one and to add one: (2 epsilon, (1 + e^epsilon) delta).
    """
    return group_loss(loss, 2)


def group_rho(rho: Number, size: int) -> Fraction:
    """What a group of `size` units can lose of zCDP: k² rho (Bun & Steinke, TCC 2016, Proposition 1.9)."""
    exact = rational(rho, "rho")
    if exact < 0:
        raise InvalidParameter(f"rho must not be negative: got {decimal_text(exact)}")
    return exact * _members(size) ** 2


def _members(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InvalidParameter(f"a group has at least one unit: got {size!r}")
    return size


def _grown(loss: Loss, size: int) -> Fraction:
    if loss.delta == 0 or size == 1:
        return loss.delta
    if loss.epsilon == 0:
        return min(Fraction(1), loss.delta * size)
    # e^((k-1)ε) (1 - e^-kε) / (1 - e^-ε), as a logarithm first: a huge one means a delta of 1
    top = Enclosure.of(-loss.epsilon * size).exp()
    bottom = Enclosure.of(-loss.epsilon).exp()
    if bottom.high >= 1:  # an epsilon below the working precision: each of the k terms is at most e^(kε)
        factor = Enclosure.of(loss.epsilon * size).exp() * size
    elif loss.epsilon * (size - 1) > 1000:  # 1 is always true, and no delta that can be typed gives less
        return Fraction(1)
    else:
        factor = Enclosure.of(loss.epsilon * (size - 1)).exp() * (-top + 1) / (-bottom + 1)
    return min(Fraction(1), (factor * loss.delta).above())
