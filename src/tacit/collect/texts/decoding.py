"""Which texts RAPPOR's reports speak of: a regression on candidates, with false discoveries held down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.collect.estimates import Floats, nothing_to_estimate
from tacit.collect.reports import Tally
from tacit.collect.texts.hashing import distinct
from tacit.collect.texts.rappor import Rappor
from tacit.core import Number, probability

_SWEEPS = 500
_SETTLED = 1e-9


@dataclass(frozen=True, slots=True)
class DecodedTexts:
    """One text that the reports speak of: its share of the people, the error, and its p-value."""

    text: str
    share: float
    error: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Decoded:
    """What was found among the candidates, commonest first. `explained` is how much of the people they are together."""

    found: tuple[DecodedTexts, ...]
    candidates: int
    level: float
    explained: float
    reports: int
    dropped: int

    def share(self, text: str) -> float:
        """The estimated share of a text; zero if it was not found."""
        return next((one.share for one in self.found if one.text == text), 0.0)


def decode(protocol: Rappor, tally: Tally, candidates: Sequence[str], *, level: Number = "0.05") -> Decoded:
    """The candidates that the reports speak of, at a false-discovery rate of at most `level` (Benjamini & Hochberg).

    First a non-negative regression keeps few enough candidates to tell apart; a weighted least-squares fit of those
    gives shares and standard errors. Texts that nobody listed are met by a column that is the same for every bit.
    """
    words = distinct(candidates)
    limit = float(probability(level, "the false-discovery rate"))
    if tally.reports < 1:
        raise nothing_to_estimate()
    seen, weights, used = _observed(protocol, tally)
    design = _design(protocol, words, used)
    kept = _screen(design, seen, weights=weights)
    shares, errors = _fit(design[:, kept], seen, weights=weights, hidden=protocol.hashes / protocol.filter_bits)
    surprises = [1 - NormalDist().cdf(share / error) for share, error in zip(shares, errors, strict=True)]
    passed = discoveries(surprises, level=limit, tests=len(words))
    decoded = [
        DecodedTexts(words[kept[number]], float(shares[number]), float(errors[number]), surprises[number])
        for number in passed
    ]
    decoded.sort(key=lambda one: -one.share)
    explained = float(sum(one.share for one in decoded))
    return Decoded(tuple(decoded), len(words), limit, explained, tally.reports, tally.dropped)


def discoveries(p_values: Sequence[float], *, level: float, tests: int | None = None) -> list[int]:
    """Which hypotheses fall when at most `level` of those that do may be true, on average (Benjamini & Hochberg 1995).

    `tests` counts those that were given up before a p-value was taken, too.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    total = len(p_values) if tests is None else tests
    last = max((rank for rank, index in enumerate(order, 1) if p_values[index] <= level * rank / total), default=0)
    return sorted(order[:last])


def _observed(protocol: Rappor, tally: Tally) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """For every cohort with reports and every bit: the share of filters that have it, and its precision."""
    used = np.flatnonzero(tally.counts[:, -1] > 0)
    people = tally.counts[used, -1:].astype(np.float64)
    zero, one = (float(chance) for chance in protocol.chances)
    ones = tally.counts[used, :-1] / people
    shares = (ones - zero) / (one - zero)
    chance = (ones * people + 0.5) / (people + 1)  # never quite 0 or 1
    precision = people * (one - zero) ** 2 / (chance * (1 - chance))
    return shares.ravel(), precision.ravel(), used


def _design(protocol: Rappor, words: list[str], cohorts: NDArray[np.int64]) -> Floats:
    """Rows: bits of every cohort; columns: candidates; a 1 where the candidate's filter has the bit."""
    texts = [word for _ in cohorts for word in words]
    filters = protocol.filters(texts, np.repeat(cohorts, len(words)))
    table = filters.reshape(cohorts.size, len(words), protocol.filter_bits)
    return np.ascontiguousarray(table.transpose(0, 2, 1).reshape(-1, len(words)), dtype=np.float64)


def _screen(design: Floats, seen: Floats, *, weights: Floats) -> NDArray[np.int64]:
    """At most half as many candidates as there are bits, those that a non-negative fit gives the most."""
    room = max(1, design.shape[0] // 2)
    unique = np.unique(design, axis=1, return_index=True)[1]  # of texts with equal filters only one can be told
    shares = non_negative(design[:, unique], seen, weights=weights)
    order = unique[np.argsort(-shares, kind="stable")]
    positive = int(np.count_nonzero(shares > 0))
    enough = unique.size if unique.size <= room else min(room, positive)
    return np.sort(order[: max(1, enough)])


def non_negative(design: Floats, seen: Floats, *, weights: Floats) -> Floats:
    """The shares ≥ 0 that fit best by weighted least squares, one coordinate after another."""
    scaled = design * weights[:, np.newaxis]
    gram, aim = design.T @ scaled, scaled.T @ seen
    shares = np.zeros(design.shape[1])
    diagonal = np.maximum(np.diag(gram), 1e-300)
    for _ in range(_SWEEPS):
        moved = 0.0
        for index in range(shares.size):
            better = max(0.0, shares[index] + (aim[index] - gram[index] @ shares) / diagonal[index])
            moved = max(moved, abs(better - shares[index]))
            shares[index] = better
        if moved < _SETTLED:
            break
    return shares


def _fit(design: Floats, seen: Floats, *, weights: Floats, hidden: float) -> tuple[Floats, Floats]:
    """Weighted least squares with a column for unlisted texts; errors are widened where the fit is poor."""
    columns = np.column_stack((design, np.full(seen.size, hidden)))
    root = np.sqrt(weights)
    target, table = seen * root, columns * root[:, np.newaxis]
    inverse = np.linalg.pinv(table.T @ table)
    shares = inverse @ (table.T @ target)
    left = seen.size - min(columns.shape)
    misfit = float(((target - table @ shares) ** 2).sum()) / left if left > 0 else 1.0
    errors = np.sqrt(np.maximum(np.diag(inverse), 1e-300) * max(1.0, misfit))
    return shares[:-1], errors[:-1]
