"""k-means from noisy counts and sums."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, sqrt_above
from tacit.errors import InvalidParameter
from tacit.learn.sums.array_rows import nearest
from tacit.learn.sums.moments import GRID, Scaled, composed, design, scaled
from tacit.learn.sums.studies import Declared, Learnt, Study, SumsLearner
from tacit.mechanisms import Gaussian
from tacit.noise import IntArray, Source, uniform_integer

_TRIED = 30  # places that a new centre is chosen among
_MORE = 4  # so many times as many places as clusters in the first round
_STARTS, _STEPS = 20, 12  # of the search among what was released
_UNIFORM = 1 << 53
Floats = NDArray[np.float64]


class AddsNear(Protocol):
    """Whoever can add the rows up: arrays, or an engine."""

    def near(self, centres: IntArray) -> IntArray:
        """For each centre the number of rows that are nearest to it, in steps, and their sum."""


@dataclass(frozen=True, slots=True)
class ClustersPlan:
    """As many noisy rounds as there are noises, each of one count and one sum for each centre."""

    loss: Loss
    noises: tuple[Gaussian, ...]
    moved: Fraction

    @property
    def event(self) -> Event:
        """What an accountant needs to know of all of it."""
        return composed(self.noises, [self.moved] * len(self.noises))


class KMeansClusters(SumsLearner):
    """Centres that rows are close to, of columns scaled by their declared bounds into [−1, 1].

    It begins at places that lie far apart in the declared box, which no row has a say in, four times as many as there
    are clusters. The first of `rounds` measures how many rows are nearest to each, and their sum: what was released is
    then a small weighted set of points, and the clusters of that are searched for from many starts, for free. Each
    further round measures the same around the centres so found. One that almost nobody is near starts anew elsewhere.

    Guarantee:    (ε, δ)-DP for one row added or removed, all rounds together.
    Sensitivity:  L2, √(1 + d) in a round for d columns: one count, and one point of the box.
    Exactness:    rows are rounded to 2^-10 of half their bounds; sums and noise are whole numbers.
    Reference:    Su, Cao, Li, Bertino & Jin, CODASPY 2016.
    """

    _kind = "clusterer"
    scaled_: tuple[Scaled, ...]
    centres_: NDArray[np.float64]
    sizes_: NDArray[np.float64]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        rounds: int = 6,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.n_clusters, self.epsilon, self.delta = n_clusters, epsilon, delta
        self.features, self.rounds, self.max_rows, self.source = features, rounds, max_rows, source

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost."""
        for number, name in ((self.n_clusters, "clusters"), (self.rounds, "rounds")):
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 1_000:
                raise InvalidParameter(f"the number of {name} is a whole number from 1 to 1000")
        features = scaled(declared.features, declared.names)
        moved = declared.times * GRID * sqrt_above(Fraction(len(features) + 1))
        noises = Gaussian.jointly(declared.loss, [(moved, Fraction(1, self.rounds))] * self.rounds)
        plan = ClustersPlan(declared.loss, noises, moved)
        width = sum(each.width for each in features)
        return Study(
            features, None, plan, lambda data, source: found_centres(plan, data, source, self.n_clusters, width)
        )

    def _keep(self, study: Study, learnt: Learnt) -> None:
        self.scaled_, self.centres_, self.sizes_ = study.columns, learnt["centres"], learnt["sizes"]

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """The number of the centre that each row is nearest to."""
        columns = self._columns(X)
        return nearest(design(self.scaled_, columns)[:, 1:], in_steps(self.centres_))

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:  # noqa: N803
        """Both. Which centre a row is nearest to is exact, and so not private."""
        return self.fit(X, y).predict(X)


def found_centres(plan: ClustersPlan, data: AddsNear, source: Source, count: int, width: int) -> Learnt:
    """Round by round: places all over the box, the clusters of what was released of them, then the means around those.

    It sees what was released, and nothing else.
    """
    first = len(plan.noises) > 1
    centres = apart(np.zeros((0, width)), _MORE * count if first else count, source)
    sizes = np.zeros(len(centres))
    for noise in plan.noises:
        noisy = noise.release(data.near(in_steps(centres)), source).astype(np.float64) / GRID
        sizes = np.maximum(noisy[:, 0], 0.0)
        peopled = sizes > 2 * float(noise.sigma) / GRID
        kept, sizes = np.clip(noisy[peopled, 1:] / sizes[peopled, None], -1.0, 1.0), sizes[peopled]
        if first and len(kept) > count:
            kept, sizes = _gathered(kept, sizes, count, source)
        first = False
        centres = np.vstack([kept, apart(kept, count - len(kept), source)])
        sizes = np.concatenate([sizes, np.zeros(count - len(kept))])
    return {"centres": centres, "sizes": sizes}


def in_steps(centres: Floats) -> IntArray:
    """Centres as whole numbers, so that every engine finds the same one the nearest."""
    return np.rint(centres * GRID).astype(np.int64)


def apart(taken: Floats, count: int, source: Source) -> Floats:
    """So many further points of the box, each the furthest from all others among some."""
    width = taken.shape[1]
    for _ in range(count):
        tried = uniform_integer(2 * GRID + 1, _TRIED * width, source=source).reshape(_TRIED, width) / GRID - 1.0
        gaps = ((tried[:, None, :] - taken[None]) ** 2).sum(axis=2)
        best = gaps.min(axis=1).argmax() if len(taken) else 0
        taken = np.vstack([taken, tried[best]])
    return taken[len(taken) - count :]


def _gathered(points: Floats, weights: Floats, count: int, source: Source) -> tuple[Floats, Floats]:
    """The best of many searches for the clusters of a few weighted points."""
    best, centres, sizes = np.inf, points[:count], weights[:count].astype(np.float64)
    for _ in range(_STARTS):
        tried = _spread(points, weights, count, source)
        for _ in range(_STEPS):
            which = ((points[:, None] - tried[None]) ** 2).sum(axis=2).argmin(axis=1)
            held = np.bincount(which, weights=weights, minlength=count).astype(np.float64)
            sums = np.stack([np.bincount(which, weights=weights * part, minlength=count) for part in points.T], axis=1)
            tried = np.where(held[:, None] > 0, sums / np.maximum(held, 1e-9)[:, None], tried)
        off = float((weights * ((points - tried[which]) ** 2).sum(axis=1)).sum())
        if off < best:
            best, centres, sizes = off, tried, held
    return centres, sizes


def _spread(points: Floats, weights: Floats, count: int, source: Source) -> Floats:
    """Some of the points, each likelier the more weight it has and the further it is from those taken before."""
    coins = (uniform_integer(_UNIFORM, count, source=source) + 0.5) / _UNIFORM
    taken: list[int] = []
    for coin in coins:
        gaps = ((points[:, None] - points[taken][None]) ** 2).sum(axis=2).min(axis=1) if taken else 1.0
        odds = np.cumsum(weights * gaps)
        taken.append(int(np.searchsorted(odds, coin * odds[-1]).clip(0, len(points) - 1)))
    return points[taken]
