"""What a survey's reports say, as rows, as JSON, and as a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.collect import Estimate, Tally
from tacit.core import Number, decimal_text, probability
from tacit.faces.survey.questionnaire import Survey

_CELLS = 40


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer's share of the population, or the mean of a number, with its interval."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Findings:
    """All of a survey: how sure, how many reports, how many dropped."""

    survey: Survey
    confidence: str
    findings: tuple[Finding, ...]
    reports: int
    dropped: int

    @property
    def is_mean(self) -> bool:
        """Whether a number was asked for."""
        return self.survey.bounds is not None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "survey": self.survey.name,
            "question": self.survey.question,
            "confidence": self.confidence,
            "reports": self.reports,
            "dropped": self.dropped,
            "epsilon": decimal_text(self.survey.protocol.loss().epsilon),
            "estimates": [
                {"answer": one.label, "value": one.value, "low": one.low, "high": one.high} for one in self.findings
            ],
        }


def findings(survey: Survey, tally: Tally, *, confidence: Number) -> Findings:
    """Estimates of the population that the respondents are a sample of, unbiased; ends are not cut off at 0 and 1."""
    estimate: Estimate = survey.protocol.estimate(tally)
    low, high = estimate.interval(confidence, population=True)
    labels = survey.answers or ("mean",)
    found = [
        Finding(*row) for row in zip(labels, *(_floats(part) for part in (estimate.values, low, high)), strict=True)
    ]
    level = decimal_text(probability(confidence, "the confidence"))
    return Findings(survey, level, tuple(found), tally.reports, tally.dropped)


def _floats(values: np.ndarray[Any, Any]) -> list[float]:
    return [float(value) for value in values]


def bar(one: Finding, *, lowest: float, highest: float) -> str:
    """A small picture in text: the interval as a line, the estimate as a dot."""

    def cell(value: float) -> int:
        inside = min(max(value, lowest), highest)
        return round((inside - lowest) / (highest - lowest) * (_CELLS - 1))

    marks = [" "] * _CELLS
    for place in range(cell(one.low), cell(one.high) + 1):
        marks[place] = "─"
    marks[cell(one.value)] = "●"
    return "│" + "".join(marks) + "│"
