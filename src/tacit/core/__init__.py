"""The immutable vocabulary every other room speaks: no I/O, no third party."""

from tacit.core.adjacency import Adjacency
from tacit.core.any_of import AnyOf, Limit
from tacit.core.bounds import Bounds
from tacit.core.event import (
    ApproximateEvent,
    BoundedRangeEvent,
    ComposedEvent,
    Event,
    FineGaussianEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SampledEvent,
)
from tacit.core.grains import Grains
from tacit.core.loss import NOTHING, Budget, Loss
from tacit.core.rational import Number, decimal_text, positive, probability, rational, sqrt_above
from tacit.core.unit import PrivacyUnit
from tacit.core.zcdp import Zcdp

__all__ = [
    "NOTHING",
    "Adjacency",
    "AnyOf",
    "ApproximateEvent",
    "BoundedRangeEvent",
    "Bounds",
    "Budget",
    "ComposedEvent",
    "Event",
    "FineGaussianEvent",
    "GaussianEvent",
    "Grains",
    "LaplaceEvent",
    "Limit",
    "Loss",
    "Number",
    "PrivacyUnit",
    "PureEvent",
    "SampledEvent",
    "Zcdp",
    "decimal_text",
    "positive",
    "probability",
    "rational",
    "sqrt_above",
]
