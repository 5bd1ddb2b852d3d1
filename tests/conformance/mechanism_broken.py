"""Mechanisms that are wrong in ways others have been: the suite must tell each from the right one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.noise import Source, two_sided_geometric


@dataclass(frozen=True)
class SparseVector:
    """The sparse vector technique as published, right or wrong, for a threshold of 0 and a sensitivity of 1.

    The threshold's noise is drawn once. `hits` None never stops; `query_scale` None adds no noise to questions.
    """

    threshold_scale: Fraction
    query_scale: Fraction | None
    hits: int | None

    def run(self, values: tuple[int, ...], times: int, source: Source) -> NDArray[np.bool_]:
        """One row a run, one column a question."""
        thresholds = two_sided_geometric(self.threshold_scale, size=times, source=source)
        left = np.full(times, len(values) if self.hits is None else self.hits)
        columns = []
        for value in values:
            noise = 0 if self.query_scale is None else two_sided_geometric(self.query_scale, size=times, source=source)
            above = (left > 0) & (value + noise >= thresholds)
            left = left - above
            columns.append(above)
        return np.array(columns).T


def stopping_with_values(
    threshold_scale: Fraction, query_scale: Fraction, values: tuple[int, ...], *, times: int, source: Source
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """As above, but the noisy answer that passed the threshold is released as well: its noise has been used twice."""
    thresholds = two_sided_geometric(threshold_scale, size=times, source=source)
    noisy = [value + two_sided_geometric(query_scale, size=times, source=source) for value in values]
    return np.array([answer >= thresholds for answer in noisy]).T, noisy[-1]
