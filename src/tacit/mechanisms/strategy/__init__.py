"""Many counting questions answered together: measure a few histograms, and derive every answer from them."""

from tacit.mechanisms.strategy.chain import Chain, chains, flat
from tacit.mechanisms.strategy.choose import GAUSSIAN, LAPLACE, Choice, choose
from tacit.mechanisms.strategy.measure import StrategyNoise, half_width
from tacit.mechanisms.strategy.picks import Picks, Ranges, Sets, all_ranges, each, everything, picked
from tacit.mechanisms.strategy.plan import Part, Strategy, row_variances
from tacit.mechanisms.strategy.shares import whole_grains
from tacit.mechanisms.strategy.workload import Block, Workload, apply

__all__ = [
    "GAUSSIAN",
    "LAPLACE",
    "Block",
    "Chain",
    "Choice",
    "Part",
    "Picks",
    "Ranges",
    "Sets",
    "Strategy",
    "StrategyNoise",
    "Workload",
    "all_ranges",
    "apply",
    "chains",
    "choose",
    "each",
    "everything",
    "flat",
    "half_width",
    "picked",
    "row_variances",
    "whole_grains",
]
