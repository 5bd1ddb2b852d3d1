"""What several answers cost together, from the (epsilon, delta) of each.

Post-processing has no function here because it has no price: whatever is computed from a private output alone, by any
rule however random, has the loss of that output. So a release may be rounded, clamped, joined with public tables and
read as often as one likes; only a new look at the data is a new event.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from tacit.core import NOTHING, Adjacency, Loss, Number, probability
from tacit.core.enclosure import Enclosure
from tacit.errors import InvalidParameter


def compose_basic(losses: Iterable[Loss]) -> Loss:
    """The sum, exactly. True of mechanisms chosen one after another, each in view of all earlier answers.

    Dwork, Kenthapadi, McSherry, Mironov & Naor, EUROCRYPT 2006; Dwork & Roth 2014, Theorem 3.16.
    """
    return sum(losses, NOTHING)


def compose_advanced(loss: Loss, times: int, *, slack: Number) -> Loss:
    """The same loss paid `times` over, for a further delta of `slack`; the plain sum where that is smaller.

    (epsilon sqrt(2 k ln(1/slack)) + k epsilon (e^epsilon - 1), k delta + slack). There is no such saving without a
    slack: pure losses add up. Dwork, Rothblum & Vadhan, FOCS 2010; Dwork & Roth 2014, Theorem 3.20.
    """
    k = repetitions(times)
    extra = probability(slack, "the slack")
    plain = loss * k
    root = (Enclosure.of(1 / extra).log() * (2 * k)).sqrt()
    drift = Enclosure.of(loss.epsilon).exp() - 1
    advanced = (root + drift * k) * loss.epsilon
    if advanced.high >= Enclosure.of(plain.epsilon).low:
        return plain
    return Loss(advanced.above(), min(Fraction(1), loss.delta * k + extra))


def compose_parallel(losses: Iterable[Loss], adjacency: Adjacency) -> Loss:
    """The loss of one mechanism in each part of a partition that is fixed without looking at the data.

    Under add/remove a unit touches one part: the largest epsilon and the largest delta. Under replacement it may leave
    one part and enter another: the sum of the two largest. There each loss must hold for a unit that enters its part,
    leaves it or changes inside it; where losses are stated for add/remove only, take that maximum through
    `replace_loss`. A unit that can be in several groups, as in most GROUP BYs, is in no partition at all: add up.
    McSherry, SIGMOD 2009, Theorem 4, is the case of add/remove.
    """
    costs = list(losses)
    reach = adjacency.steps
    epsilons = sorted((loss.epsilon for loss in costs), reverse=True)
    deltas = sorted((loss.delta for loss in costs), reverse=True)
    return Loss(sum(epsilons[:reach], Fraction(0)), min(Fraction(1), sum(deltas[:reach], Fraction(0))))


def repetitions(times: int) -> int:
    """`times`, if it counts something: a whole number of at least one."""
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise InvalidParameter(f"a composition counts whole answers, at least one: got {times!r}")
    return times
