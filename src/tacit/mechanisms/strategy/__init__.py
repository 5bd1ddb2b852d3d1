"""Many counting questions answered together: measure a few histograms, and derive every answer from them."""

from tacit.mechanisms.strategy.chain import Chain, chains, flat
from tacit.mechanisms.strategy.choose import StrategyChoice, choose, error_of
from tacit.mechanisms.strategy.estimates import EstimateSpread, estimate_spread
from tacit.mechanisms.strategy.law import GAUSSIAN, LAPLACE, Law, least_split
from tacit.mechanisms.strategy.matrix import Matrix
from tacit.mechanisms.strategy.measure import StrategyNoise
from tacit.mechanisms.strategy.picks import Picks, Ranges, Sets, all_ranges, each, everything, picked
from tacit.mechanisms.strategy.plan import Part, Strategy, row_variances
from tacit.mechanisms.strategy.shares import whole_grains
from tacit.mechanisms.strategy.spread import drawn_half_width, half_width
from tacit.mechanisms.strategy.workload import Block, Workload, apply

__all__ = [
    "GAUSSIAN",
    "LAPLACE",
    "Block",
    "Chain",
    "EstimateSpread",
    "Law",
    "Matrix",
    "Part",
    "Picks",
    "Ranges",
    "Sets",
    "Strategy",
    "StrategyChoice",
    "StrategyNoise",
    "Workload",
    "all_ranges",
    "apply",
    "chains",
    "choose",
    "drawn_half_width",
    "each",
    "error_of",
    "estimate_spread",
    "everything",
    "flat",
    "half_width",
    "least_split",
    "picked",
    "row_variances",
    "whole_grains",
]
