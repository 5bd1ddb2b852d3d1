"""Zero-concentrated differential privacy: what each event costs in rho, which simply adds up."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tacit.accounting.event_loss import has_loss, loss_of
from tacit.core import (
    BoundedRangeEvent,
    ComposedEvent,
    Event,
    FineGaussianEvent,
    GaussianEvent,
    Loss,
    Number,
    SampledEvent,
    Zcdp,
    rational,
)
from tacit.core.enclosure import Enclosure
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter

FREE = Zcdp(0)


@lru_cache(maxsize=4096)
def zcdp_of(event: Event) -> Zcdp:
    """The zCDP of an event.

    Gaussian: its rho, exactly; discrete Gaussian noise on integers meets it too (Canonne, Kamath & Steinke, NeurIPS
    2020, Theorem 4). Bounded range: `range_rho(epsilon)`. (epsilon, delta): delta-approximate `pure_rho(epsilon)`.
    Poisson samples: amplified where the inside has an (epsilon, delta); otherwise the price of the inside, since
    sampling can only help and zCDP cannot say by how much: a `RenyiFilter` can.
    """
    match event:
        case GaussianEvent() | FineGaussianEvent():
            return Zcdp(event.rho)
        case BoundedRangeEvent():
            return Zcdp(range_rho(event.epsilon))
        case SampledEvent() if not has_loss(event):
            return zcdp_of(event.event)
        case ComposedEvent():
            return sum((zcdp_of(part) * count for part, count in event.parts), FREE)
        case _:
            return loss_to_zcdp(loss_of(event))


def loss_to_zcdp(loss: Loss) -> Zcdp:
    """(epsilon, delta)-DP as zCDP: all its delta, and the rho of its epsilon."""
    return Zcdp(pure_rho(loss.epsilon), loss.delta)


def pure_rho(epsilon: Number) -> Fraction:
    """The rho of an epsilon-DP mechanism: epsilon tanh(epsilon / 2), which is below the usual epsilon² / 2.

    Every epsilon-DP mechanism is randomised response, processed. Its order-a divergence is (h((a - 1/2)²) - h(1/4)) /
    (a - 1) with h(t) = ln cosh(epsilon sqrt t), which is concave, so it is at most a h'(1/4) = a epsilon tanh(epsilon /
    2); and at a = 1 that is met. Steinke, "Tight RDP & zCDP bounds from pure DP", differentialprivacy.org.
    """
    exact = rational(epsilon, "epsilon")
    if exact < 0:
        raise InvalidParameter(f"epsilon must not be negative: got {decimal_text(exact)}")
    falling = Enclosure.of(-exact).exp()
    tanh = (-falling + 1) / (falling + 1)
    return min(exact**2 / 2, (tanh * exact).above(), exact)


def range_rho(epsilon: Number) -> Fraction:
    """The rho of a mechanism of bounded range epsilon: epsilon² / 8, a quarter of what a pure one of it may cost.

    Let L = ln(P / Q), within an interval of length epsilon, and h(t) = ln E_Q[e^(t L)]. Then h(0) = h(1) = 0, and h''
    is the variance of L under a tilted law, at most (epsilon / 2)². So h(t) - epsilon² t (t - 1) / 8 is concave with
    zeros at 0 and 1, and not positive beyond: the order-a divergence h(a) / (a - 1) is at most a epsilon² / 8. Cesar &
    Rogers, ALT 2021, Lemma 3.4. For a large epsilon the price of a pure mechanism is less.
    """
    exact = rational(epsilon, "epsilon")
    return min(exact**2 / 8, pure_rho(exact))
