"""What an audit certifies: so much, at least, is given away."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.attack.auditing.binomial import at_least, at_most

FALSE_ALARM = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A lower bound on epsilon, and how it came about.

    With probability at least 1 − `false_alarm`, over all the bounds that went into it, the true epsilon at this delta
    is no smaller. It is never an upper bound: what an audit does not find may be there.
    """

    epsilon: float
    delta: float
    false_alarm: float
    draws: int  # of each side, those among them by which the event was learnt
    counted: int  # of each side, those on which it was counted
    likely: int  # how often it happened where it is likelier
    rare: int  # and on the neighbour
    event: str  # in words
    looks: int = 1  # how often the audit might have stopped so far
    claimed: float | None = None

    @property
    def violates(self) -> bool:
        """Whether more is given away than was claimed."""
        return self.claimed is not None and self.epsilon > self.claimed

    def __str__(self) -> str:
        delta = f" at delta = {self.delta:g}" if self.delta else ""
        held = ""
        if self.claimed is not None:
            said = "more than" if self.violates else "no more than"
            held = f", {said} the claimed {self.claimed:g}"
        return f"epsilon is at least {self.epsilon:.4g}{delta}{held} (wrong with probability {self.false_alarm:g})"


def certified(likely: int, rare: int, *, draws: int, delta: float = 0.0, false_alarm: float = FALSE_ALARM) -> float:
    """A lower bound on epsilon from how often one event, fixed beforehand, happened on either side.

    P(event) ≤ e^epsilon P′(event) + delta, so ln((p − delta) / p′) ≤ epsilon, with p bounded from below and p′ from
    above by Clopper and Pearson, each wrong with probability at most half of `false_alarm`.
    """
    if likely == 0:
        return 0.0
    low = at_least(likely, draws, level=false_alarm / 2) - delta
    high = at_most(rare, draws, level=false_alarm / 2)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0
