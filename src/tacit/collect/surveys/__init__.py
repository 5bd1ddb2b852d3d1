"""Surveys in the local model: a question and its price, reports kept in a file, and what they say."""

from tacit.collect.surveys.findings import EstimatedShare, Findings, findings
from tacit.collect.surveys.lines import tally_lines
from tacit.collect.surveys.outlook import Outlook, outlook
from tacit.collect.surveys.questionnaire import Survey, draft, load, only_one, write_draft
from tacit.collect.surveys.store import ReportStore, read_lines

__all__ = [
    "EstimatedShare",
    "Findings",
    "Outlook",
    "ReportStore",
    "Survey",
    "draft",
    "findings",
    "load",
    "only_one",
    "outlook",
    "read_lines",
    "tally_lines",
    "write_draft",
]
