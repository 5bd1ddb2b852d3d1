"""What a survey's reports say: estimates with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.collect.estimates import Estimate
from tacit.collect.reports import Tally
from tacit.collect.surveys.questionnaire import Survey
from tacit.core import Number, decimal_text, probability
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class EstimatedShare:
    """One answer's share of the population, or the mean of a number, with its interval."""

    label: str
    value: float
    low: float
    high: float
    consistent: float | None = None  # the share that makes all of them add up, where asked for: biased


@dataclass(frozen=True, slots=True)
class Findings:
    """All of a survey: how sure, how many reports, how many dropped."""

    survey: Survey
    confidence: str
    findings: tuple[EstimatedShare, ...]
    reports: int
    dropped: int

    @property
    def is_mean(self) -> bool:
        """Whether a number was asked for."""
        return self.survey.bounds is not None

    @property
    def is_consistent(self) -> bool:
        """Whether shares that add up were asked for beside the unbiased ones."""
        return self.findings[0].consistent is not None

    def __str__(self) -> str:
        wide = max(len(one.label) for one in self.findings)
        style = "{:,.4g}" if self.is_mean else "{:.1%}"
        rows = [
            f"{one.label:<{wide}}  {style.format(one.value)}, from {style.format(one.low)} to {style.format(one.high)}"
            for one in self.findings
        ]
        return "\n".join((self.survey.question, *rows, self.footing))

    @property
    def footing(self) -> str:
        """How many reports are behind it, and how sure it is."""
        dropped = f", {self.dropped:,} dropped" if self.dropped else ""
        return f"{self.reports:,} reports{dropped}; intervals hold with confidence {self.confidence}"

    def to_dict(self) -> dict[str, Any]:
        """The findings as one object, ready for JSON."""
        more = {"consistent_is_biased": True} if self.is_consistent else {}
        return {
            "survey": self.survey.name,
            "question": self.survey.question,
            "confidence": self.confidence,
            "reports": self.reports,
            "dropped": self.dropped,
            "epsilon": decimal_text(self.survey.protocol.loss().epsilon),
            "estimates": [_row(one) for one in self.findings],
            **more,
        }


def _row(one: EstimatedShare) -> dict[str, Any]:
    row = {"answer": one.label, "value": one.value, "low": one.low, "high": one.high}
    return row if one.consistent is None else {**row, "consistent": one.consistent}


def findings(survey: Survey, tally: Tally, *, confidence: Number, consistent: bool = False) -> Findings:
    """Estimates of the population that the respondents are a sample of, unbiased; ends are not cut off at 0 and 1.

    With `consistent` the nearest shares that are not negative and add up to one stand beside them: biased, and without
    an interval of their own.
    """
    if consistent and survey.bounds is not None:
        raise InvalidParameter(
            "there are no shares that could add up: a number was asked for", hint="leave out --consistent"
        )
    if not tally.reports and tally.dropped:
        raise InvalidParameter(
            f"there is nothing to estimate: all {tally.dropped:,} reports were dropped",
            hint="were they collected for this survey? Name, question, answers and privacy must be the same",
        )
    estimate: Estimate = survey.protocol.estimate(tally)
    low, high = estimate.interval(confidence, population=True)
    labels = survey.answers or ("mean",)
    nearest = _floats(estimate.on_simplex().values) if consistent else [None] * len(labels)
    columns = (_floats(part) for part in (estimate.values, low, high))
    shares = [EstimatedShare(*row) for row in zip(labels, *columns, nearest, strict=True)]
    level = decimal_text(probability(confidence, "the confidence"))
    return Findings(survey, level, tuple(shares), tally.reports, tally.dropped)


def _floats(values: np.ndarray[Any, Any]) -> list[float]:
    return [float(value) for value in values]
