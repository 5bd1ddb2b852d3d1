"""Randomised response to every row of a table: each column told with a coin in hand."""

from tacit.release.responses.answers import ResponseAnswers
from tacit.release.responses.perturbed import Count, PerturbedTable
from tacit.release.responses.request import ResponseRequest

__all__ = ["Count", "PerturbedTable", "ResponseAnswers", "ResponseRequest"]
