"""What a survey will tell, before anyone is asked: of one person, and of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.collect.frequencies.direct import Direct
from tacit.collect.frequencies.supports import Support
from tacit.collect.posteriors import Learnt, learnt
from tacit.collect.surveys.questionnaire import Survey

HARDLY = 8  # the greatest ε that still protects a person, and that is generous
_OFTEN = 1.96  # standard deviations within which a normal law stays, 19 times out of 20


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an answer costs and tells, and how far off the estimate will be."""

    epsilon: Fraction
    lie: Fraction | None  # the chance of an answer that is not the true one, where two coins or the like decide
    posteriors: tuple[Learnt, ...]
    people: int
    within: float | None  # how far off a share of one half will be, 19 times out of 20; None where there are no shares

    @property
    def warning(self) -> str | None:
        """What to say of a price that protects next to nothing."""
        if self.epsilon <= HARDLY:
            return None
        return f"above ε = {HARDLY} hardly anything is protected: a report all but tells the truth"


def outlook(survey: Survey, *, people: int = 1000) -> Outlook:
    """What a report tells an observer of one person, and the error to expect of so many people."""
    protocol = survey.protocol
    support: Support | None = getattr(protocol, "support", None)
    return Outlook(
        epsilon=protocol.loss().epsilon,
        lie=protocol.lie if isinstance(protocol, Direct) else None,
        posteriors=tuple(learnt(protocol)),
        people=people,
        within=None if support is None else _OFTEN * _deviation(support, people),
    )


def _deviation(support: Support, people: int) -> float:
    """The deviation of an estimated share of one half, the people being a sample: coins and sampling together."""
    own, other = float(support.own), float(support.other)
    spoken = (own + other) / 2
    return float((spoken * (1 - spoken) / max(1, people)) ** 0.5 / (own - other))
