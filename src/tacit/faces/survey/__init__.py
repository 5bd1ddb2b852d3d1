"""Surveys in Python, as `tacit.surveys`: ask people who need trust nobody, keep their reports, estimate from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.collect.surveys import EstimatedShare, Findings, Outlook, ReportStore, Survey, draft, outlook, write_draft
from tacit.collect.surveys import findings as _findings
from tacit.collect.surveys import load as _load
from tacit.core import Number, decimal_text, positive
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.faces.survey.server import SurveyServer

__all__ = [
    "EstimatedShare",
    "Findings",
    "Outlook",
    "ReportStore",
    "Survey",
    "estimate",
    "explain",
    "load",
    "new",
    "pack",
    "serve",
]

YES_OR_NO = ("no", "yes")


def new(
    path: Path | str,
    question: str,
    *,
    answers: Sequence[str] | None = None,
    number: str | None = None,
    epsilon: Number | None = None,
) -> Survey:
    """Write a survey's file, and give back the survey.

    It asks for one of `answers` (no or yes, if left out) or for a `number`, whose bounds are written LOWER:UPPER:STEP.
    An answer costs `epsilon`; of two answers, two fair coins if left out.
    """
    if number is not None and answers:
        raise InvalidParameter("a question asks for a number or for an answer: not both", hint="leave out one of them")
    file = Path(path)
    price = None if epsilon is None else decimal_text(positive(epsilon, "epsilon"))
    return write_draft(file, draft(file.stem, question, list(answers or YES_OR_NO), number=number, epsilon=price))


def load(path: Path | str) -> Survey:
    """The survey in a file. Raises PolicyError, which says what to mend."""
    return _load(Path(path))


def explain(survey: Survey, *, people: int = 1000) -> Outlook:
    """What a report tells an observer of one person, and the error to expect of so many people. Nobody is asked."""
    return outlook(survey, people=people)


def serve(
    survey: Survey, *, host: str = "127.0.0.1", port: int = 8765, names: Sequence[str] = (), per_hour: int = 60
) -> SurveyServer:
    """A server of the survey's page, to be entered with `with` and run by its `serve_forever`.

    It keeps the reports beside the survey's file, at most `per_hour` of one address (0: any number), and answers to
    `names` as well where a proxy stands in front. It needs the extra `server`.
    """
    from tacit.curator.forms.extras import needs

    for module in ("starlette", "uvicorn"):
        needs(module, extra="server")
    from tacit.faces.survey.server import SurveyServer

    return SurveyServer(survey, host=host, port=port, names=tuple(names), per_hour=per_hour)


def estimate(
    survey: Survey,
    reports: Path | str | None = None,
    *,
    table: str = "reports",
    engine: str | None = None,
    confidence: Number = "0.95",
    consistent: bool = False,
) -> Findings:
    """What share of the population would truly give each answer, or the mean of the number, with intervals.

    From the reports kept beside the survey's file; or from `reports` elsewhere: lines of JSON, Parquet, or a database
    with a `table` of them, where an engine adds them up. With `consistent`, shares that add up stand beside: biased.
    """
    from tacit.engines.reports import tally

    counted = tally(survey, reports, table=table, engine=engine)
    return _findings(survey, counted, confidence=confidence, consistent=consistent)


def pack(survey: Survey, target: Path | str) -> int:
    """Write the reports to Parquet, for collections too large to read line by line; how many bytes it has."""
    from tacit.engines.reports import pack as pack_reports

    return pack_reports(survey, Path(target))
