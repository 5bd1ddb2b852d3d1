"""Privacy amplification by shuffling: local reports that cannot be told apart by sender cost less."""

from __future__ import annotations

from fractions import Fraction

from tacit.core import Loss, Number, probability, rational
from tacit.core.enclosure import Enclosure
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter


def shuffle(epsilon: Number, *, reports: int, delta: Number) -> Loss:
    """The loss of n shuffled reports, each from an epsilon-DP protocol, for neighbours that replace one person's value.

    ln(1 + (1 − e^−ε₀) / (1 + e^(−ε₀ − a)) · s) with s = 8 √(e^ε₀ ln(4/δ) / n) + 8 e^ε₀ / n and a = ln(1 + s), for
    ε₀ ≤ ln(n / (16 ln(4/δ))); beyond that nothing is gained, and (epsilon, 0) is the answer. It holds if a shuffler
    that is trusted for this and nothing else removes who sent what, and everybody sends one report.
    Feldman, McMillan & Talwar, FOCS 2021 ("Hiding among the clones"), the closed form of their main theorem.
    """
    local, n, slack = checked(epsilon, reports, delta)
    alone = Loss(local)
    logs = Enclosure.of(4 / slack).log()
    if local == 0 or Enclosure.of(local).exp().above() * 16 * logs.above() > n:
        return alone
    rise = Enclosure.of(local).exp()
    s = (rise * logs / n).sqrt() * 8 + rise * Fraction(8, n)
    fall = Enclosure.of(-local).exp()
    factor = (-fall + 1) / (fall / (s + 1) + 1)
    shuffled = (factor * s + 1).log().above()
    return Loss(shuffled, slack) if shuffled < local else alone


def checked(epsilon: Number, reports: int, delta: Number) -> tuple[Fraction, int, Fraction]:
    """A local price, a number of reports and a delta, or a refusal."""
    local = rational(epsilon, "epsilon")
    if local < 0:
        raise InvalidParameter(f"epsilon must not be negative: got {decimal_text(local)}")
    if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
        raise InvalidParameter("the number of reports must be a whole number, at least 1")
    return local, reports, probability(delta, "delta")
