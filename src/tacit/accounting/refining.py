"""What a finer telling of the same answer adds to the price of the tellings before it."""

from __future__ import annotations

from tacit.core import Loss, Zcdp
from tacit.core.running_sum import bounded
from tacit.errors import InvalidParameter


def refined_charge(before: Loss, after: Loss) -> tuple[Loss, Zcdp]:
    """What is charged for a telling of price `after`, where the one before it cost `before`: as a loss, and in zCDP.

    The tellings are those of a gradual release: each is the next one with further noise, which is drawn without the
    data. Write ε₁ < ε₂ < … for their prices, T₁, T₂, … for what is told, and L(·) for a privacy loss, the logarithm of
    the ratio of its probabilities for two neighbours.

    Theorem (plain sums). Let an adversary choose, in view of all answers, which mechanism is asked next, and after each
    telling of any chain whether it goes on. If chains went on to prices ε^(c), and all else costs Σ ε_i, the privacy
    loss of everything that was seen is at most Σ ε_i + Σ ε^(c): of each chain its last price alone.

    Proof. The probability of what is seen is a product, a factor for each answer in view of those before it; choices of
    the adversary cancel. The factors of one chain multiply to P(T₁, …, T_J), for its noise is its own. Given T_J the
    others are drawn without the data, so L(T₁, …, T_J) = L(T_J), which lies between −ε_J and ε_J. ∎

    So ε_J − ε_(J−1) is what one more telling adds to a plain sum. It is *not* what that telling costs by itself: its
    factor is P(T_J) P(T_(J−1) | T_J) / P(T_(J−1)), whose loss L(T_J) − L(T_(J−1)) reaches ε_J + ε_(J−1). As a mechanism
    of its own, in view of what was told before, it is pure (ε_J + ε_(J−1))-DP; that is its price wherever losses are
    not simply added up: in zCDP, where it is ε²/2 (Bun & Steinke, TCC 2016), and by that in grains (`grains_for`).
    """
    if not (before.is_pure and after.is_pure and before.epsilon < after.epsilon):
        raise InvalidParameter("a finer telling costs more than the one before it, and both are pure")
    alone = after.epsilon + before.epsilon
    return Loss(after.epsilon - before.epsilon), Zcdp(bounded(alone**2 / 2), 0)
