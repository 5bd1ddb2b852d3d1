"""An adaptive quadtree: a square is counted with noise, and split in four where there is enough in it to be worth it.

Sensitivity. The finest grid is one marginal: what one unit brings to all its cells adds up to at most `sensitivity`;
so does what it brings to any squares that do not overlap. Those of one level are such, and so are the last ones of all
levels together. Each of these is one release, and rho adds up over them, though which squares are looked at next
depends on what was released before (Bun & Steinke, TCC 2016, Lemma 1.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.noise import IntArray
from tacit.release.hierarchies.least_squares import fitted_levels
from tacit.release.hierarchies.whole import whole_levels
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.measuring import Meter, shares_of

_LAST = Fraction(3, 10)  # of rho, for the squares that are not split; with it goes what deeper levels would have had
_GROWTH = 2 ** (1 / 3)  # of the shares, from level to level (Cormode et al., ICDE 2012)
_WORTH = 6.0  # a square is split if it holds as many times the noise of one of its parts
AGAIN = -1  # the name of the last measurement


@dataclass(frozen=True, slots=True, eq=False)
class Quadtree:
    """The squares that are not split: level, row and column in the grid of that level, and their counts.

    `variances` are those of the least-squares estimates, and `moved` how far each count was taken from its estimate, to
    be whole, not negative, and one of four that add up.
    """

    levels: IntArray
    rows: IntArray
    columns: IntArray
    counts: IntArray
    variances: FloatArray
    moved: FloatArray


def grown(meter: Meter, grid: IntArray, tables: dict[tuple[int, ...], IntArray], *, depth: int) -> Quadtree:
    """Measure from the top, split where it is worth it, and make all levels agree.

    `grid` has 2^depth rows and columns; `tables` is where the meter reads what it is to measure.
    """
    sums = [grid]
    for _ in range(depth):
        size = len(sums[0]) // 2
        sums.insert(0, sums[0].reshape(size, 2, size, 2).sum(axis=(1, 3)))
    shares = shares_of([_GROWTH**level for level in range(depth + 1)], 1 - _LAST)
    rows, columns = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    parents: list[IntArray] = []
    measured: list[FloatArray] = []
    sigmas: list[float] = []
    for level in range(depth + 1):
        tables[(level,)] = sums[level][rows[level], columns[level]]
        seen = meter.measure((level,), shares[level])
        measured.append(seen.counts[:, None])
        sigmas.append(seen.sigma)
        if level == depth:
            break
        worth = seen.counts >= _WORTH * meter.sigma(shares[level + 1])
        split = np.flatnonzero(worth)
        if not split.size:
            break
        parents.append(np.repeat(split, 4))
        rows.append((2 * rows[level][split][:, None] + np.array([0, 0, 1, 1])).ravel())
        columns.append((2 * columns[level][split][:, None] + np.array([0, 1, 0, 1])).ravel())
    left = 1 - sum(shares[: len(measured)], Fraction(0))
    return _agreed(meter, sums, tables, _Squares(rows, columns, parents), measured, sigmas, left)


@dataclass(frozen=True, slots=True, eq=False)
class _Squares:
    rows: list[IntArray]
    columns: list[IntArray]
    parents: list[IntArray]

    def last(self, level: int) -> IntArray:
        """The indices of those that are not split."""
        whole = np.arange(len(self.rows[level]))
        return whole if level == len(self.parents) else np.setdiff1d(whole, self.parents[level])


def _agreed(
    meter: Meter,
    sums: list[IntArray],
    tables: dict[tuple[int, ...], IntArray],
    squares: _Squares,
    measured: list[FloatArray],
    sigmas: list[float],
    left: Fraction,
) -> Quadtree:
    """The last squares measured again with what is left, and all that was measured made to agree."""
    levels = range(len(measured))
    last = [squares.last(level) for level in levels]
    tables[(AGAIN,)] = np.concatenate(
        [sums[level][squares.rows[level], squares.columns[level]][last[level]] for level in levels]
    )
    again = meter.measure((AGAIN,), left)
    starts = np.cumsum([0, *map(len, last)])
    variances: list[float | FloatArray] = []
    for level in levels:
        own, variance = sigmas[level] ** 2, again.sigma**2
        weight = own / (own + variance)
        part = again.counts[starts[level] : starts[level + 1], None]
        measured[level][last[level]] = (1 - weight) * measured[level][last[level]] + weight * part
        spread: FloatArray = np.full(len(measured[level]), own)
        spread[last[level]] = own * variance / (own + variance)
        variances.append(spread)
    fitted = fitted_levels(squares.parents, measured, variances)
    counts = whole_levels(fitted.values, squares.parents, totals=[None] * len(measured))
    return Quadtree(
        levels=np.repeat(np.array(levels), [len(each) for each in last]),
        rows=np.concatenate([squares.rows[level][last[level]] for level in levels]),
        columns=np.concatenate([squares.columns[level][last[level]] for level in levels]),
        counts=np.concatenate([counts[level][last[level], 0] for level in levels]),
        variances=np.concatenate([fitted.variances[level][last[level]] for level in levels]),
        moved=np.concatenate([np.abs(counts[level] - fitted.values[level])[last[level], 0] for level in levels]),
    )
