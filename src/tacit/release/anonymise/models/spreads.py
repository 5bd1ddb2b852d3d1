"""What the models measure of a sensitive column in each class, whether its values are few or as many as its rows."""

from __future__ import annotations

import numpy as np

from tacit.release.anonymise.models.distance import EQUAL, ORDERED, Ground, distance
from tacit.release.anonymise.values.tuples import Counts, Floats, Ints, Prior, SecretSpread


def different(counts: Counts) -> Ints:
    """How many different values each class has."""
    if isinstance(counts, SecretSpread):
        return np.diff(counts.start)
    return np.asarray(np.count_nonzero(counts, axis=0), dtype=np.int64)


def evenness(counts: Counts) -> Floats:
    """The exponential of each class's entropy: as many equally frequent values would have it."""
    share = _shares(counts)
    terms = share * np.log(share, out=np.zeros_like(share), where=share > 0)
    total = _added(counts, terms) if isinstance(counts, SecretSpread) else terms.sum(axis=0)
    return np.asarray(np.exp(-total), dtype=np.float64)


def dominance(counts: Counts, *, l: int) -> Floats:  # noqa: E741 - the model's own name for it
    """The most frequent value of each class over all from its l-th on; infinite where there are fewer than l."""
    if isinstance(counts, SecretSpread):
        order = np.lexsort((-counts.count, counts.owner))
        rank = np.arange(order.size) - counts.start[counts.owner]
        height = counts.count[order]
        first = _added(counts, np.where(rank == 0, height, 0))
        tail = _added(counts, np.where(rank >= l - 1, height, 0))
    else:
        falling = -np.sort(-counts, axis=0)
        first, tail = falling[0].astype(np.float64), falling[l - 1 :].sum(axis=0).astype(np.float64)
    return np.asarray(np.where(tail > 0, first / np.maximum(tail, 1), np.inf), dtype=np.float64)


def largest_share(counts: Counts) -> Floats:
    """The share of each class's most frequent value."""
    return _most(counts, _shares(counts))


def largest_gain(counts: Counts, prior: Prior, *, beyond: Floats) -> Floats:
    """By how much any value's share exceeds that of the table, relative to it, `beyond` what it may; the most."""
    before = prior.share
    safe = np.where(before > 0, before, 1)
    share = _shares(counts)
    if isinstance(counts, SecretSpread):
        gain = (share - before[counts.value]) / safe[counts.value] - beyond[counts.value]
    else:
        gain = (share - _beside(before, share)) / _beside(safe, share) - _beside(beyond, share)
    return _most(counts, gain)


def apart(counts: Counts, prior: Prior, *, ground: Ground) -> Floats:
    """The earth mover's distance of each class from the table."""
    if not isinstance(counts, SecretSpread):
        share = _shares(counts)
        return distance(share, _beside(prior.share, share), ground=ground)
    if ground.name == ORDERED:
        return _along_order(counts, prior)
    levels = ((0,) * counts.cardinality,) if ground.name == EQUAL else ground.levels
    return _along_tree(counts, prior.share, levels)


def _along_order(counts: SecretSpread, prior: Prior) -> Floats:
    """Sum |class's share up to v − table's share up to v| over all v, in time of the values the class has.

    Between two values of a class its share stands still while the table's rises, so that the two cross once at most;
    on either side of the crossing the sum is that of a stretch of the table's shares, which was added up before.
    """
    area, most = prior.area, prior.share.size - 1
    owner, first = counts.owner, counts.start[:-1]
    held = np.diff(counts.start) > 0
    sums = np.cumsum(counts.count)
    size = np.maximum(_added(counts, counts.count), 1)
    base = np.concatenate([[0], sums])[first]
    level = (sums - base[owner]) / size[owner]
    begin = counts.value.astype(np.int64)
    end = np.append(begin[1:], 0)
    end[counts.start[1:][held] - 1] = most
    rows = np.ceil(level * prior.ranked.size).astype(np.int64)  # of the table, up to the crossing
    cross = np.clip(prior.ranked[np.clip(rows - 1, 0, prior.ranked.size - 1)], begin, end)
    below = level * (cross - begin) - (area[cross] - area[begin])
    above = area[end] - area[cross] - level * (end - cross)
    total = _added(counts, below + above)
    total[held] += area[begin[first[held]]]  # before its first value the class has nothing
    return np.asarray(total / max(most, 1), dtype=np.float64)


def _along_tree(counts: SecretSpread, prior: Floats, levels: tuple[tuple[int, ...], ...]) -> Floats:
    """As `distance`: what a group has too much and cannot pass on within itself moves one height up.

    Only groups that the class has values in have too much of anything; the others are never looked at.
    """
    total = np.zeros(counts.start.size - 1)
    share, owner, value = _shares(counts), counts.owner, counts.value.astype(np.int64)
    before = np.maximum(share - prior[value], 0)
    surplus = np.bincount(owner, weights=before, minlength=total.size)
    for height, names in enumerate(levels, 1):
        group = np.asarray(names, dtype=np.int64)
        expected = np.bincount(group, weights=prior)
        key, index = np.unique(owner * expected.size + group[value], return_inverse=True)
        whose, which = np.divmod(key, expected.size)
        more = np.maximum(np.bincount(index, weights=share) - expected[which], 0)
        above = np.bincount(whose, weights=more, minlength=total.size)
        total += (surplus - above) * height / len(levels)
        surplus = above
    return total


def _shares(counts: Counts) -> Floats:
    if isinstance(counts, SecretSpread):
        return np.asarray(counts.count / np.maximum(_added(counts, counts.count), 1)[counts.owner], dtype=np.float64)
    return np.asarray(counts / np.maximum(counts.sum(axis=0), 1), dtype=np.float64)


def _added(counts: SecretSpread, what: Floats | Ints) -> Floats:
    return np.bincount(counts.owner, weights=what, minlength=counts.start.size - 1).astype(np.float64)


def _most(counts: Counts, what: Floats) -> Floats:
    if not isinstance(counts, SecretSpread):
        return np.asarray(what.max(axis=0), dtype=np.float64)
    largest = np.zeros(counts.start.size - 1)
    held = np.diff(counts.start) > 0
    if held.any():
        largest[held] = np.maximum.reduceat(what, counts.start[:-1][held])
    return largest


def _beside(prior: Floats, shares: Floats) -> Floats:
    """The table's shares, shaped to stand beside those of many classes."""
    return prior.reshape(prior.shape[0], *(1,) * (shares.ndim - 1))
