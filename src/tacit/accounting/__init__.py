"""Composition: from events to losses, filters that stop, odometers that report.

Not here, for it loads numpy: `tacit.accounting.shuffle_numerical`.
"""

from tacit.accounting.adversary import (
    Belief,
    answers_to_average,
    answers_to_believe,
    best_guess,
    odds_factor,
    posterior,
    randomised_response_posterior,
)
from tacit.accounting.amplification import amplify
from tacit.accounting.composition import compose_advanced, compose_basic, compose_parallel
from tacit.accounting.event_loss import loss_of
from tacit.accounting.filters.alternatives import AnyFilter, best_limits
from tacit.accounting.filters.grains import GrainFilter
from tacit.accounting.filters.renyi import RenyiFilter
from tacit.accounting.filters.sums import ApproximateFilter, PureFilter, ZcdpFilter
from tacit.accounting.grains import epsilon_within, grains_for, grains_within
from tacit.accounting.groups import group_loss, group_rho, replace_loss
from tacit.accounting.loss_distribution import compose_numerically, numerical_delta
from tacit.accounting.odometers import BasicOdometer, NumericalOdometer, ZcdpOdometer
from tacit.accounting.optimal import compose_optimal, optimal_delta
from tacit.accounting.refining import refined_charge
from tacit.accounting.renyi import ORDERS, RenyiCurve, curve_of
from tacit.accounting.renyi_conversion import renyi_delta, renyi_to_dp
from tacit.accounting.shuffle import shuffle
from tacit.accounting.zcdp import loss_to_zcdp, pure_rho, range_rho, zcdp_of
from tacit.accounting.zcdp_conversion import rho_for, zcdp_delta, zcdp_to_dp
from tacit.core import Zcdp as Zcdp  # its home; here for those who know it from here

__all__ = [
    "ORDERS",
    "AnyFilter",
    "ApproximateFilter",
    "BasicOdometer",
    "Belief",
    "GrainFilter",
    "NumericalOdometer",
    "PureFilter",
    "RenyiCurve",
    "RenyiFilter",
    "ZcdpFilter",
    "ZcdpOdometer",
    "amplify",
    "answers_to_average",
    "answers_to_believe",
    "best_guess",
    "best_limits",
    "compose_advanced",
    "compose_basic",
    "compose_numerically",
    "compose_optimal",
    "compose_parallel",
    "curve_of",
    "epsilon_within",
    "grains_for",
    "grains_within",
    "group_loss",
    "group_rho",
    "loss_of",
    "loss_to_zcdp",
    "numerical_delta",
    "odds_factor",
    "optimal_delta",
    "posterior",
    "pure_rho",
    "randomised_response_posterior",
    "range_rho",
    "refined_charge",
    "renyi_delta",
    "renyi_to_dp",
    "replace_loss",
    "rho_for",
    "shuffle",
    "zcdp_delta",
    "zcdp_of",
    "zcdp_to_dp",
]
