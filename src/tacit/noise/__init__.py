"""Exact noise: the source of random bits and samplers whose law owes nothing to floating point."""

from tacit.noise.bernoulli import bernoulli, bernoulli_exp
from tacit.noise.categorical import categorical, keep_each, one_of
from tacit.noise.gaussian import MAX_SIGMA, discrete_gaussian
from tacit.noise.geometric import MAX_SCALE, IntArray, geometric, two_sided_geometric
from tacit.noise.saturating import saturating_add, whole_numbers
from tacit.noise.source import SYSTEM, Source, SystemSource
from tacit.noise.uniform import uniform_integer

__all__ = [
    "MAX_SCALE",
    "MAX_SIGMA",
    "SYSTEM",
    "IntArray",
    "Source",
    "SystemSource",
    "bernoulli",
    "bernoulli_exp",
    "categorical",
    "discrete_gaussian",
    "geometric",
    "keep_each",
    "one_of",
    "saturating_add",
    "two_sided_geometric",
    "uniform_integer",
    "whole_numbers",
]
