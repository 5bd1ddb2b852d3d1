"""Reports added up from lines of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tacit.collect.messages import HEAD, head, open_messages
from tacit.collect.reports import Tally
from tacit.collect.surveys.questionnaire import Survey
from tacit.collect.surveys.store import read_lines
from tacit.errors import InvalidParameter


def tally_lines(survey: Survey, reports: Path | None = None) -> Tally:
    """All reports of a survey added up, those that were kept beside it unless others are named.

    Reports that do not fit are dropped and counted.
    """
    if reports is not None and not reports.is_file():
        raise InvalidParameter(f"{reports}: there is no such file of reports", hint="look at what --reports names")
    kept, unreadable = read_lines(reports or survey.reports)
    return _weighted(survey, kept).with_dropped(unreadable)


def _weighted(survey: Survey, kept: Mapping[bytes, int]) -> Tally:
    """A tally of messages, each counted as often as it came."""
    protocol = survey.protocol
    start, length = head(protocol, survey.topic), HEAD + protocol.width
    good = {message: times for message, times in kept.items() if len(message) == length and message.startswith(start)}
    bodies, _ = open_messages(protocol, good, topic=survey.topic)
    counted: Tally = protocol.tally(bodies, np.fromiter(good.values(), np.int64, len(good)))
    return counted.with_dropped(sum(kept.values()) - sum(good.values()))
