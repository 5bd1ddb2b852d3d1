"""Distributions of one column: histograms, ranges and shares below a value that agree with each other."""

from tacit.release.distributions.distribution import Distribution, Estimated
from tacit.release.distributions.request import DistributionRequest

__all__ = ["Distribution", "DistributionRequest", "Estimated"]
