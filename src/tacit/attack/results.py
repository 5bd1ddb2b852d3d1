"""What an attack found: its success, what it would be without the person's data, and what no attack can exceed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.attack.auditing.binomial import at_least, at_most
from tacit.core import Loss
from tacit.errors import InvalidParameter

ALARM = 0.05  # how often an attack may alarm where there is nothing to find
FEWEST = 20  # trials below which no verdict is given


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """One attack on one publication.

    `success` is how often it was right about people who are in the data, with its 95 % interval; `null` how often it
    was about people who are not, or how often a guess is that never saw the publication. `p_value` is the probability
    of so large a difference where there is none. `ceiling` is what no attack exceeds, e^epsilon · null + delta, where
    the publication is differentially private.
    """

    attack: str
    against: str
    success: float
    low: float
    high: float
    null: float
    trials: int
    p_value: float
    ceiling: float | None = None
    note: str = ""

    @property
    def alarms(self) -> bool:
        """Whether the publication gives people away: more than chance explains."""
        return self.p_value <= ALARM and self.success > self.null

    @property
    def advantage(self) -> float:
        """How much more often it is right than without the person's data."""
        return max(0.0, self.success - self.null)

    def __str__(self) -> str:
        ceiling = "" if self.ceiling is None else f", at most {self.ceiling:.1%} by the guarantee"
        verdict = "alarms" if self.alarms else "finds nothing"
        return (
            f"{self.attack} on {self.against}: {self.success:.1%} [{self.low:.1%}, {self.high:.1%}],"
            f" {self.null:.1%} without the data{ceiling}; {verdict}"
        )


def against_chance(
    attack: str, against: str, hits: int, trials: int, *, chance: float, loss: Loss | None = None, note: str = ""
) -> AttackResult:
    """The result of guesses that are right with probability `chance` where nothing is known."""
    enough(trials, attack)
    return AttackResult(
        attack=attack, against=against, success=hits / trials, low=at_least(hits, trials, level=0.025),
        high=at_most(hits, trials, level=0.025), null=chance, trials=trials,
        p_value=_binomial_tail(hits, trials, chance), ceiling=ceiling(chance, loss), note=note,
    )  # fmt: skip


def against_controls(
    attack: str,
    against: str,
    members: tuple[int, int],
    controls: tuple[int, int],
    *,
    loss: Loss | None = None,
    note: str = "",
) -> AttackResult:
    """The result of an attack on people in the data, (hits, trials), held against the same on people who are not.

    The p-value is Fisher's exact one, so an attack on independent data alarms no more often than it says. The ceiling
    is that of the upper end of the controls' interval.
    """
    (hits, trials), (others, compared) = members, controls
    enough(min(trials, compared), attack)
    return AttackResult(
        attack=attack, against=against, success=hits / trials, low=at_least(hits, trials, level=0.025),
        high=at_most(hits, trials, level=0.025), null=others / compared, trials=trials,
        p_value=fisher(hits, trials, others, compared), note=note,
        ceiling=ceiling(at_most(others, compared, level=0.025), loss),
    )  # fmt: skip


def ceiling(null: float, loss: Loss | None) -> float | None:
    """The most any attack on an (epsilon, delta)-DP publication attains, by how often it errs: both ways round."""
    if loss is None:
        return None
    grown = math.exp(min(60.0, float(loss.epsilon)))
    delta = float(loss.delta)
    return min(1.0, grown * null + delta, 1 - (1 - delta - null) / grown)


def enough(trials: int, attack: str) -> None:
    """Refuse a verdict from too little."""
    if trials < FEWEST:
        raise InvalidParameter(
            f"too few people for {attack}: {trials} can be tried, a verdict needs {FEWEST}",
            hint="attack a larger table",
        )


def fisher(hits: int, trials: int, others: int, compared: int) -> float:
    """The probability of so many of all the hits, or more, among the first, if both are as likely to be hit."""
    total, people = hits + others, trials + compared

    def log_ways(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    everything = log_ways(people, total)
    terms = range(hits, min(total, trials) + 1)
    ways = [log_ways(trials, k) + log_ways(compared, total - k) - everything for k in terms if total - k <= compared]
    return min(1.0, math.fsum(map(math.exp, ways)))


def _binomial_tail(hits: int, trials: int, chance: float) -> float:
    from tacit.attack.auditing.binomial import tail

    return tail(hits, trials, chance)
