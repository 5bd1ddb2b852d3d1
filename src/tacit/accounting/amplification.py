"""Privacy amplification: a release from a secret sample costs less than one from everybody."""

from __future__ import annotations

from tacit.core import Loss, Number, rational
from tacit.core.enclosure import Enclosure
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter


def amplify(loss: Loss, probability: Number) -> Loss:
    """The loss when each unit is first kept, independently and in secret, with this probability (Poisson sampling).

    (ln(1 + q(e^epsilon - 1)), q delta), for neighbours that differ by adding or removing one unit. It is not true of
    samples of a fixed size under add/remove, nor where the sample itself becomes known.
    Balle, Barthe & Gaboardi, NeurIPS 2018, Theorem 8; Li, Qardaji & Su, AsiaCCS 2012.
    """
    q = rational(probability, "the sampling probability")
    if not 0 < q <= 1:
        raise InvalidParameter(f"a sampling probability must lie in (0, 1]: got {decimal_text(q)}")
    if q == 1 or loss.epsilon == 0:
        return Loss(loss.epsilon, q * loss.delta)
    # ln(1 + q(e^ε - 1)) = ε + ln(q + (1 - q) e^-ε): no overflow, whatever ε
    shrunk = (Enclosure.of(-loss.epsilon).exp() * (1 - q) + q).log() + loss.epsilon
    return Loss(min(loss.epsilon, shrunk.above()), q * loss.delta)
