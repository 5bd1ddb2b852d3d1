"""Synthetic tables: a model that paid for noisy marginals once, and rows drawn from it for nothing."""

from tacit.release.publishing import owner_of
from tacit.release.synthesise.asking.row_answers import RowAnswers
from tacit.release.synthesise.asking.synthetic_answers import SyntheticAnswers
from tacit.release.synthesise.fitting.choosing import METHODS
from tacit.release.synthesise.model import SyntheticModel
from tacit.release.synthesise.request import SynthesisPlan, SynthesisRequest, plan_synthesis
from tacit.release.synthesise.table import SyntheticTable, writable
from tacit.release.synthesise.truth import ExactDistances, exact_distances

__all__ = [
    "METHODS",
    "ExactDistances",
    "RowAnswers",
    "SynthesisPlan",
    "SynthesisRequest",
    "SyntheticAnswers",
    "SyntheticModel",
    "SyntheticTable",
    "exact_distances",
    "owner_of",
    "plan_synthesis",
    "writable",
]
