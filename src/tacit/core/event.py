"""What an accountant needs to know of one release, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.loss import Loss
from tacit.core.rational import decimal_text
from tacit.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class PureEvent:
    """Any mechanism that is epsilon-DP, of whatever shape."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class LaplaceEvent:
    """Laplace or two-sided geometric noise whose scale is `1 / epsilon` sensitivities."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class BoundedRangeEvent:
    """A choice whose log-odds against a neighbour's, over all outcomes, lie in one interval of length `epsilon`.

    So it is epsilon-DP, and no outcome can gain epsilon while another loses as much: it costs less than other such
    mechanisms when composed. The exponential mechanism is one (Durfee & Rogers, NeurIPS 2019).
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.epsilon, "epsilon")


@dataclass(frozen=True, slots=True)
class GaussianEvent:
    """Discrete Gaussian noise of `rho` = (L2 sensitivity)² / (2 sigma²)."""

    rho: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.rho, "rho")


@dataclass(frozen=True, slots=True)
class FineGaussianEvent:
    """Gaussian noise of which it is also known how fine its grid is: a `variance` of so many steps².

    On a grid that is fine enough discrete noise is as good as continuous noise, of which more is known than a rho says:
    what it loses on a sample, round after round.
    """

    rho: Fraction
    variance: Fraction

    def __post_init__(self) -> None:
        _not_negative(self.rho, "rho")
        if self.variance <= 0:
            raise InvalidParameter("the variance of noise must be greater than zero")


@dataclass(frozen=True, slots=True)
class ApproximateEvent:
    """Any mechanism that is (epsilon, delta)-DP, of whatever shape."""

    loss: Loss


@dataclass(frozen=True, slots=True)
class SampledEvent:
    """`event` run on a Poisson sample: each unit is kept, independently, with this probability (add/remove)."""

    probability: Fraction
    event: Event

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise InvalidParameter(f"a sampling probability must lie in (0, 1]: got {decimal_text(self.probability)}")


@dataclass(frozen=True, slots=True)
class ComposedEvent:
    """Several events on the same data: pairs of (event, how many times)."""

    parts: tuple[tuple[Event, int], ...]

    def __post_init__(self) -> None:
        if any(count < 1 for _, count in self.parts):
            raise InvalidParameter("an event must happen at least once")


Event = (
    PureEvent
    | LaplaceEvent
    | BoundedRangeEvent
    | GaussianEvent
    | FineGaussianEvent
    | ApproximateEvent
    | SampledEvent
    | ComposedEvent
)


def _not_negative(value: Fraction, what: str) -> None:
    if value < 0:
        raise InvalidParameter(f"{what} must not be negative: got {decimal_text(value)}")
