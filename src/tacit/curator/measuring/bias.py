"""WITH BIAS: how much the bounds changed an answer, measured privately, so that ± can cover it.

Contribution bounds and clamping make an answer differ from what the same question says of all rows. For each unit u and
group k let e(u, k) be what the unit would bring, less what is counted of it; the bias of group k is Σ e(u, k) over all
units. It has no finite sensitivity, and no private number can say how much one unit may have been cut by. What can be
said is how much the bounds cut from everybody, up to a level T each, and that few units lie above T:

1. Level. Each unit has one norm, Σ |e(u, k)| over all groups, and so is in one cell of a public ladder T₀, 2T₀, 4T₀ …
   The exponential mechanism chooses a level by how many units lie above it, less for each step up. One more unit moves
   every score the same way, by at most one, so that ε = rate; `most_above` says how many units may lie above. Steps up
   cost less beyond the first few: a table without a tail rarely gets a high level, one with a tail soon does.
2. Sums. A unit in cell c brings its excesses whole if Tc ≤ T, and divided by Tc / T, a power of two, if that is at most
   2^SHARES; beyond, nothing. So it moves the sums of all groups by at most T in L1, whatever its rows hold, and Laplace
   noise of scale T / ε makes them ε-private. Parts are counted as whole numbers: shares of a step are exact.
3. Interval. Truth − bounded answer lies in ê ± w with probability 1 − β where w is the reach of that noise, but for the
   excess of units above T that is not in the sums; a public multiple of T / rate is added to w for it. Where units
   thin out as 1/x above T, the level that is chosen leaves a few over the rate of them, the k-th of which has T K / k:
   they lose about K (ln K − 1) T more than the sums have, which the multiple covers together with what noise seldom
   takes of w. Fewer units than K that lost far more than anybody else are not seen, by nobody who is private: whether
   the interval holds them depends on them alone. The interval is added to that of the answer, which holds with 1 − β
   of its own; where no unit can be counted for more than it brings (counts) the lower end stays.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.curator.forms.release import NOISE
from tacit.curator.measuring.noisy import Cut, Noisy
from tacit.engines import Exact
from tacit.mechanisms import Exponential, Laplace
from tacit.noise import IntArray, Source, WideArray
from tacit.sql import Plan
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS
from tacit.sql.planning.excess import CELL, COUNT, SHARES, SUM
from tacit.sql.planning.plan import Excess

COVERED = "the noise and what the bounds cut"
LEFT_OUT = ", but no rows that a join left out"
_NEAR = 4  # levels: up to about what the answer itself allows a unit, where most tables lie
_STEP, _FAR_STEP = Fraction(6, 5), Fraction(3, 5)  # near, each level above everybody is a third as likely as the last
_SPARE = 6  # units above the level, over the rate at which they are missed: what a tail like 1/x has there
_INT64 = 1 << 62
Floats = NDArray[np.float64]


def measure_cut(
    plan: Plan, excess: Excess, exact: tuple[Exact, Exact], *, indexes: IntArray, groups: int, source: Source
) -> Cut:
    """Choose a level, then add noise to what the bounds took from each group.

    `exact` counts units and adds up excesses; `places` has the index of the group of each of these sums, −1 for none.
    """
    cells, sums = exact
    level = excess.choice.release(level_scores(cell_counts(cells, len(excess.ladder)), excess.choice), source)
    totals = excess_totals(sums, indexes, groups=groups, level=level)
    narrow = excess.ladder[level] * MOST_ROWS << SHARES < _INT64  # public: then what a trillion units lose fits 64 bits
    noisy = level_noise(excess, level).release(totals.astype(np.int64) if narrow else totals, source)
    return cut_at(level, noisy, excess=excess, step=plan.measurements[excess.measurement].step)


def level_noise(excess: Excess, level: int) -> Laplace:
    """The noise of the sums once a level is chosen: a unit moves them by its end, counted in parts."""
    return Laplace(Fraction(excess.ladder[level] << SHARES) / excess.epsilon)


def cut_at(level: int, numbers: IntArray | WideArray, *, excess: Excess, step: Fraction) -> Cut:
    """What the bounds took, from the noisy sums at a level."""
    end = excess.ladder[level] * step
    spare = _SPARE * end / excess.choice.rate
    return Cut(numbers, step / (1 << SHARES), level_noise(excess, level).scale, end, spare)


def cell_counts(cells: Exact, levels: int) -> IntArray:
    """How many units are in each cell of a ladder with so many ends; the last cell lies beyond them."""
    counts = np.zeros(levels + 1, dtype=np.int64)
    for cell, count in zip(cells.integers(CELL).tolist(), cells.integers(COUNT).tolist(), strict=True):
        counts[cell] += count
    return counts


def handicap(choice: Exponential, level: int) -> int:
    """How many units a level must leave fewer above it than the first one does, to be preferred to it."""
    return math.ceil((_STEP * min(level, _NEAR) + _FAR_STEP * max(0, level - _NEAR)) / choice.rate)


def level_scores(counts: IntArray, choice: Exponential) -> IntArray:
    """Less for each unit above a level, and for each level below it; one unit moves them all down, by at most one."""
    above = int(counts.sum()) - np.cumsum(counts)[:-1]
    scores: IntArray = -above - np.array([handicap(choice, level) for level in range(above.size)])
    return scores


def most_above(excess: Excess, level: int, confidence: Fraction) -> int:
    """How many units at most, with this confidence, lie between the level that was chosen, j, and the last one, i.

    Were there more than h · (i − j) + t of them, where h is the handicap and t the error of the choice, then i would
    have scored better than j by more than t.
    """
    levels = len(excess.ladder)
    return (
        handicap(excess.choice, levels - 1)
        - handicap(excess.choice, level)
        + excess.choice.error(confidence, candidates=levels)
    )


def excess_totals(sums: Exact, indices: IntArray, *, groups: int, level: int) -> WideArray:
    """The excess of each group in parts of a step, a unit above the level counted in part."""
    totals = [0] * groups
    cells, numbers = sums.integers(CELL).tolist(), sums.wide(SUM).tolist()
    for index, cell, number in zip(indices.tolist(), cells, numbers, strict=True):
        beyond = max(0, cell - level)
        if index >= 0 and beyond <= SHARES:
            totals[index] += number << (SHARES - beyond)
    by_group = np.empty(groups, dtype=object)
    by_group[:] = totals
    return by_group


def taken_by_bounds(cut: Cut, confidence: Fraction, *, one_sided: bool) -> tuple[Floats, Floats]:
    """How far below and above the bounded answer the whole one may lie, but for the noise of the answer itself."""
    reach = Laplace(cut.scale).error(confidence)
    part = float(cut.part)
    spare = float(cut.spare)
    low, high = ((cut.numbers.astype(np.float64) + way * reach) * part + way * spare for way in (-1, 1))
    return np.zeros_like(low) if one_sided else np.minimum(low, 0.0), np.maximum(high, 0.0)


def covered(plan: Plan) -> str:
    """What the error bars of its answer cover."""
    return (COVERED if plan.bias else NOISE) + (LEFT_OUT if plan.rows_left_out and plan.bias else "")


def bias_notes(plan: Plan, noisy: Noisy) -> list[str]:
    """What the error bars cover, and for whom they do not."""
    notes = []
    often = f"{float(plan.confidence) * 100:.10g}% of the time"
    for excess in plan.bias:
        cut = noisy.columns[excess.measurement].cut
        if cut is None:
            continue
        measurement = plan.measurements[excess.measurement]
        label = measurement.measure.label
        few = most_above(excess, excess.ladder.index(int(cut.level / measurement.step)), plan.confidence)
        notes.append(
            f"± of {label} covers what the bounds cut, up to {float(cut.level):,.6g} of each unit and "
            f"{float(cut.spare):,.6g} more in a group; at most {few:,} units lose more, {often}"
        )
    return notes
