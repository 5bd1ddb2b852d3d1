"""An event that tells two neighbours apart, learnt from draws that are then not counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.attack.auditing.outcomes import Coding, Column, coding_of, columns_of

MOST_JOINT = 20_000  # different outcomes, taken whole, of which each has a likelihood of its own
_CUTS = 512  # thresholds that are tried
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LearntEvent:
    """Outcomes whose likelihood ratio, as far as the learning draws tell, is at least `cut`.

    `columns` says which columns count. `tables` has one logarithm of a ratio for each of their codes, to be added up;
    where `joint` is given, the outcome as a whole has one, by the number of its codes taken together.
    """

    columns: tuple[int, ...]
    codings: tuple[Coding, ...]
    tables: tuple[Floats, ...]
    joint: NDArray[np.int64] | None
    cut: float
    side: int  # where it is likelier
    by_shape: bool = False  # whether what counts is how many columns an outcome has

    def __call__(self, outcomes: object) -> NDArray[np.bool_]:
        """For each outcome whether it is in the event."""
        columns = columns_of(outcomes)
        return self.scores(_shape_of(columns) if self.by_shape else columns) >= self.cut

    def scores(self, columns: Sequence[Column]) -> Floats:
        """How much each outcome speaks for the side where the event is likelier."""
        size = columns[0].size if columns else 0
        if max(self.columns) >= len(columns):  # an outcome of another shape than any that was seen
            return np.zeros(size)
        codes = [coding.codes(columns[index]) for index, coding in zip(self.columns, self.codings, strict=True)]
        if self.joint is None:
            return np.asarray(
                sum(table[code] for table, code in zip(self.tables, codes, strict=True)), dtype=np.float64
            )
        whole = _together(codes, self.codings)
        index = np.minimum(np.searchsorted(self.joint, whole), self.joint.size - 1)
        return np.where(self.joint[index] == whole, self.tables[0][index], 0.0)

    def __str__(self) -> str:
        if self.by_shape:
            return "how many numbers the outcome has"
        if self.joint is None and len(self.columns) > 1:
            return f"a likelihood ratio of {np.exp(self.cut):.3g} or more over {len(self.columns):,} numbers"
        inside = np.flatnonzero(self.tables[0] >= self.cut)
        coding = self.codings[0]
        if self.joint is not None or coding.words is not None:
            seen = self.tables[0].size if self.joint is not None else coding.size - 1
            return f"{inside.size:,} of the {seen:,} outcomes that were seen"
        name = f"number {self.columns[0] + 1}" if self.columns[0] else "the outcome"
        return _range_in_words(name, coding, inside - 1)


def _range_in_words(name: str, coding: Coding, inside: NDArray[np.int64]) -> str:
    """Which values or bins of one column are in an event; −1 stands for what was not seen."""
    ends, last = coding.values, coding.size - 2
    if not inside.size or inside[0] < 0:
        return f"{name} is none that is usual"
    if not coding.atoms:
        low, high = ends[max(0, inside[0] - 1)], ends[min(ends.size - 1, inside[-1])]
    else:
        low, high = ends[inside[0]], ends[inside[-1]]
    gaps = "" if inside.size == inside[-1] - inside[0] + 1 else ", with gaps"
    if inside[0] == 0 and inside[-1] < last:
        return f"{name} is at most {high:g}{gaps}"
    if inside[-1] == last:
        return f"{name} is at least {low:g}{gaps}"
    return f"{name} is from {low:g} to {high:g}{gaps}"


def _together(codes: Sequence[NDArray[np.int64]], codings: Sequence[Coding]) -> NDArray[np.int64]:
    whole = np.zeros(codes[0].size, dtype=np.int64)
    for code, coding in zip(codes, codings, strict=True):
        whole = whole * coding.size + code
    return whole


def learn_event(
    outcomes: tuple[object, object], *, counted: int, delta: float = 0.0, level: float = 1e-6
) -> LearntEvent:
    """The event, of those tried, of which `counted` further draws a side would certify the most at this `level`.

    Tried are: each column alone; all columns, as if they were independent; whole outcomes, where they are few. Of each
    the outcomes are taken in the order of their likelihood ratios, from either side. Ratios are learnt on the first
    half, and where to cut on the second: cut where they were learnt, an outcome seen once by chance looks like a proof.
    """
    columns = (columns_of(outcomes[0]), columns_of(outcomes[1]))
    by_shape = len(columns[0]) != len(columns[1])  # which tells them apart by itself
    if by_shape:
        columns = (_shape_of(columns[0]), _shape_of(columns[1]))
    _same_kinds(columns)
    ratios = tuple([column[: column.size // 2] for column in side] for side in columns)
    cuts = tuple([column[column.size // 2 :] for column in side] for side in columns)
    codings = [coding_of(np.concatenate([a, b])) for a, b in zip(*ratios, strict=True)]
    codes = [[coding.codes(column) for coding, column in zip(codings, side, strict=True)] for side in ratios]
    tables = [_log_ratios(codes[0][i], codes[1][i], coding.size) for i, coding in enumerate(codings)]
    several = len(codings) > 1
    tried = [LearntEvent((i,), (codings[i],), (tables[i],), None, 0.0, 0) for i in range(len(codings))]
    if several:
        tried.append(LearntEvent(tuple(range(len(codings))), tuple(codings), tuple(tables), None, 0.0, 0))
        tried += _whole(codings, codes)
    best: tuple[float, LearntEvent] | None = None
    for event in tried:
        scores = (event.scores(cuts[0]), event.scores(cuts[1]))
        for side in (0, 1):
            worth, cut = _best_cut(scores, side, counted=counted, delta=delta, level=level)
            if best is None or worth > best[0]:
                sign = 1 if side == 0 else -1
                best = (
                    worth,
                    LearntEvent(
                        event.columns,
                        event.codings,
                        tuple(sign * t for t in event.tables),
                        event.joint,
                        cut,
                        side,
                        by_shape,
                    ),
                )
    assert best is not None  # noqa: S101 - there is at least one column
    return best[1]


def _shape_of(columns: Sequence[Column]) -> list[Column]:
    """One column: how many there are."""
    return [np.full(columns[0].size if columns else 0, len(columns))]


def _same_kinds(columns: tuple[list[Any], list[Any]]) -> None:
    """Where a column is of words on one side only, it is of words on both."""
    for index, (a, b) in enumerate(zip(*columns, strict=True)):
        if (a.dtype == object) != (b.dtype == object):
            columns[0][index], columns[1][index] = a.astype(object), b.astype(object)


def _log_ratios(here: NDArray[np.int64], there: NDArray[np.int64], size: int) -> Floats:
    """For each code the logarithm of how much likelier it is here, drawn towards none where it was seen rarely."""
    counts = [np.bincount(codes, minlength=size) for codes in (here, there)]
    shares = [(count + 0.5) / (codes.size + 0.5 * size) for count, codes in zip(counts, (here, there), strict=True)]
    return np.where(counts[0] + counts[1] == 0, 0.0, np.log(shares[0] / shares[1]))


def _whole(codings: Sequence[Coding], codes: Sequence[Sequence[NDArray[np.int64]]]) -> list[LearntEvent]:
    """The event over outcomes taken whole; none where there are too many different ones to learn of each."""
    if float(np.prod([float(coding.size) for coding in codings])) >= 2.0**62:
        return []
    whole = [_together(side, codings) for side in codes]
    known, inverse = np.unique(np.concatenate(whole), return_inverse=True)
    if known.size > MOST_JOINT or known.size > sum(side.size for side in whole) / 4:
        return []
    table = _log_ratios(inverse[: whole[0].size], inverse[whole[0].size :], known.size)
    return [LearntEvent(tuple(range(len(codings))), tuple(codings), (table,), known, 0.0, 0)]


def _best_cut(
    scores: tuple[Floats, Floats], side: int, *, counted: int, delta: float, level: float
) -> tuple[float, float]:
    """The threshold from which on an event would certify the most, and about how much that is."""
    likely, rare = (scores[0], scores[1]) if side == 0 else (-scores[1], -scores[0])
    likely, rare = np.sort(likely), np.sort(rare)
    cuts = np.unique(np.concatenate([likely, rare]))
    if cuts.size > _CUTS:
        cuts = np.unique(np.quantile(cuts, np.linspace(0, 1, _CUTS), method="lower"))
    z = -NormalDist().inv_cdf(level / 2)
    p = 1 - np.searchsorted(likely, cuts) / likely.size
    q = 1 - np.searchsorted(rare, cuts) / rare.size
    low, high = _wilson(p, counted, -z) - delta, _wilson(q, counted, z)
    worth = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    best = int(np.argmax(worth))
    return float(worth[best]), float(cuts[best])


def _wilson(share: Floats, draws: int, z: float) -> Floats:
    """A bound on a probability in one formula (Wilson 1927): close enough to choose by, and not what is certified."""
    middle = (share + z * z / (2 * draws)) / (1 + z * z / draws)
    reach = z / (1 + z * z / draws) * np.sqrt(share * (1 - share) / draws + z * z / (4 * draws * draws))
    return np.clip(middle + reach, 1e-300, 1.0)
