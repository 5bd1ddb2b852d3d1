"""What an additive model will measure and cost: made without touching the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.core import Adjacency, ComposedEvent, Event, Loss, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn.sums.cells import FeatureCells
from tacit.learn.sums.residuals import CLIP
from tacit.mechanisms import Gaussian

ROUNDS = 60
_COUNTED = Fraction(1, 50)  # of rho, for the one histogram of counts
_MOST_ROUNDS = 1_000


@dataclass(frozen=True, slots=True)
class AdditivePlan:
    """One noisy histogram of counts, then `rounds` of residuals, each over all features at once.

    A row is in one cell of each of k features and adds at most `CLIP` steps to each, so its L2 norm is at most
    CLIP · √k, and √k in the histogram of counts; `rows` of one unit, so many times that, and twice as much where
    neighbours replace a unit. That the cells and the scores of a round are chosen in view of earlier rounds changes
    nothing: given what was released, each round is a histogram of such norms with fresh Gaussian noise, so the factors
    by which `gaussian_job` compares discrete noise with the continuous law multiply as they do there, and continuous
    Gaussian noise composes adaptively by the sum of its mu² (Dong, Roth & Su, J. R. Statist. Soc. B 84, 2022).
    """

    cells: tuple[FeatureCells, ...]
    loss: Loss
    rounds: int
    count_noise: Gaussian
    residual_noise: Gaussian
    count_moves: Fraction
    residual_moves: Fraction

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        counted = self.count_noise.event(self.count_moves)
        return ComposedEvent(((counted, 1), (self.residual_noise.event(self.residual_moves), self.rounds)))


def plan_additive(
    cells: Sequence[FeatureCells],
    loss: Loss,
    *,
    rounds: int = ROUNDS,
    rows: int = 1,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
) -> AdditivePlan:
    """The least noise for which the whole model costs no more than `loss`, by the joint law of all its histograms."""
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= _MOST_ROUNDS:
        raise InvalidParameter(f"the number of rounds is a whole number from 1 to {_MOST_ROUNDS}")
    if loss.epsilon <= 0 or not 0 < loss.delta < 1:
        raise InvalidParameter(
            "a model needs an epsilon and a delta, both greater than zero: its noise is Gaussian",
            hint="epsilon=1, delta=1e-6",
        )
    counted = rows * adjacency.steps * sqrt_above(Fraction(len(cells)))
    moved = CLIP * counted
    each = (1 - _COUNTED) / rounds
    noises = Gaussian.jointly(loss, [(counted, _COUNTED), *((moved, each) for _ in range(rounds))])
    return AdditivePlan(tuple(cells), loss, rounds, noises[0], noises[1], counted, moved)
