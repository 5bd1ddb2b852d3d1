"""Exact noise: the source of random bits and samplers whose law owes nothing to floating point."""

from tacit.noise.bernoulli import bernoulli, bernoulli_exp
from tacit.noise.categorical import categorical, keep_each, one_of
from tacit.noise.gaussian import discrete_gaussian
from tacit.noise.geometric import IntArray, WideArray, geometric, two_sided_geometric
from tacit.noise.saturating import saturating_add, whole_numbers
from tacit.noise.scales import MAX_SCALE, MAX_SIGMA, MAX_WIDE_SCALE, fitting_scale
from tacit.noise.source import SYSTEM, Source, SystemSource
from tacit.noise.uniform import uniform_integer
from tacit.noise.wide import (
    is_wide,
    wide_discrete_gaussian,
    wide_numbers,
    wide_two_sided_geometric,
)

__all__ = [
    "MAX_SCALE",
    "MAX_SIGMA",
    "MAX_WIDE_SCALE",
    "SYSTEM",
    "IntArray",
    "Source",
    "SystemSource",
    "WideArray",
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "discrete_gaussian",
    "fitting_scale",
    "geometric",
    "is_wide",
    "keep_each",
    "one_of",
    "saturating_add",
    "two_sided_geometric",
    "uniform_integer",
    "whole_numbers",
    "wide_discrete_gaussian",
    "wide_numbers",
    "wide_two_sided_geometric",
]
