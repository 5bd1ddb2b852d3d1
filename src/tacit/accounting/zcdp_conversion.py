"""From the zCDP of events to (epsilon, delta) and back: what they themselves have of delta is paid for first."""

from __future__ import annotations

from fractions import Fraction

from tacit.core import NOTHING, Budget, Loss, Number, Zcdp, probability
from tacit.core.concentrated import delta_of_rho, epsilon_of_rho, rho_within
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter


def zcdp_to_dp(cost: Number | Zcdp, delta: Number) -> Loss:
    """The least epsilon at this delta, rounded up. An approximate zCDP's own delta is paid out of it first."""
    zcdp = cost if isinstance(cost, Zcdp) else Zcdp(cost)
    asked = probability(delta, "delta")
    if zcdp == Zcdp(0):
        return NOTHING
    if zcdp.delta >= asked:
        raise InvalidParameter(
            f"a delta of {decimal_text(asked)} is not enough: the events themselves have {decimal_text(zcdp.delta)}",
            hint="ask at a larger delta",
        )
    return Loss(epsilon_of_rho(zcdp.rho, (asked - zcdp.delta) / (1 - zcdp.delta)), asked)


def zcdp_delta(cost: Number | Zcdp, epsilon: Number) -> Fraction:
    """The least delta at this epsilon, rounded up."""
    zcdp = cost if isinstance(cost, Zcdp) else Zcdp(cost)
    target = Loss(epsilon).epsilon
    if zcdp.rho == 0:
        return zcdp.delta
    return min(Fraction(1), zcdp.delta + (1 - zcdp.delta) * delta_of_rho(zcdp.rho, target))


def rho_for(limit: Loss | Budget) -> Fraction:
    """The largest rho, to twelve digits, whose conversion fits within `limit`."""
    if limit.delta == 0:
        raise InvalidParameter(
            "a limit without delta covers no zCDP: Gaussian noise is never purely private",
            hint="give the limit a delta, such as 1e-9",
        )
    return Fraction(0) if limit.epsilon == 0 else rho_within(limit.epsilon, limit.delta)
