"""What a price means for the person most exposed: the best odds of anybody who guesses, before and after."""

from __future__ import annotations

from fractions import Fraction

from tacit.accounting import best_guess, posterior
from tacit.core import Loss, decimal_text

SUSPICION = Fraction(1, 100)


def risk_in_words(loss: Loss) -> str:
    """One sentence: how sure anybody can become of whether one unit is in the data, whatever else they know."""
    tossed = float(best_guess(Loss(loss.epsilon)))
    suspected = float(posterior(SUSPICION, loss.epsilon).high)
    but = f", but for an event of probability {decimal_text(loss.delta)}" if loss.delta else ""
    return (
        f"whoever could only toss a coin over whether one unit is in the data is right at most {tossed:.1%} of times"
        f" after this answer, and a suspicion of {float(SUSPICION):.0%} becomes at most {suspected:.2%}{but}"
    )
