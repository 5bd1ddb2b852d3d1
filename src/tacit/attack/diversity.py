"""Attacks on diverse classes: secrets that are skewed or alike, and what a class that was left whole tells by that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.attack.guessing import counted, fitting_rows
from tacit.attack.people import Codes, People
from tacit.attack.publications import PublishedRows
from tacit.attack.results import AttackResult, against_controls
from tacit.errors import InvalidParameter

SKEWED = 2.0  # times as frequent among the rows that fit as in the whole table
_MOST_BITS = 1 << 28  # people times classes, of those looked for at once
NEAR = 0.1  # of the range of a secret that is a number
Floats = NDArray[np.float64]


def skewness(publication: PublishedRows, people: People) -> AttackResult:
    """Believe of a person what is far more frequent among the rows that fit than in the whole table (Li et al. 2007).

    Many different secrets do not prevent it: where one in a hundred has an illness, a class of which half have it is as
    diverse as any. Counted is of whom a secret is believed at twice its usual share or more, and rightly.
    """
    overall = publication.secrets.sum(axis=0) / max(1.0, publication.secrets.sum())
    hits = []
    for members in (True, False):
        seen = fitting_rows(publication, people, members=members)
        share = seen / np.maximum(1, seen.sum(axis=1, keepdims=True))
        lift = share / np.maximum(overall, 1e-12)
        own = people.secret.codes[people.tried(members=members)]
        hits.append((lift.max(axis=1) >= SKEWED) & (lift.argmax(axis=1) == own))
    return against_controls(
        "skewness", publication.name, counted(hits[0]), counted(hits[1]), loss=publication.loss,
        note=f"a secret is {SKEWED:g} times as frequent among the rows that fit as in all, and it is right",
    )  # fmt: skip


def similarity(publication: PublishedRows, people: People, *, alike: Sequence[Sequence[str]] = ()) -> AttackResult:
    """Be certain of about what the secret is: all rows that fit have secrets that are alike (Li et al. 2007).

    Numbers are alike within a tenth of their range; other secrets where `alike` names them together, as in
    [["ulcer", "gastritis"]]. Raises InvalidParameter where a secret is neither.
    """
    numbers = people.secret.numbers
    if not alike and numbers is None:
        raise InvalidParameter(
            f"similarity lacks what is alike in {people.secret.name}: it has no numbers",
            hint="name secrets that mean much the same: --alike ulcer,gastritis",
        )
    hits = []
    for members in (True, False):
        seen = fitting_rows(publication, people, members=members) > 0
        own = people.secret.codes[people.tried(members=members)]
        near = _in_one_group(seen, own, people, alike) if alike else np.zeros(own.size, dtype=np.bool_)
        if numbers is not None:
            reach = NEAR * float(np.ptp(numbers))
            low = np.where(seen, numbers, np.inf).min(axis=1)
            high = np.where(seen, numbers, -np.inf).max(axis=1)
            near |= (high - low <= reach) & (numbers[own] >= low) & (numbers[own] <= high)
        hits.append(near)
    return against_controls(
        "similarity", publication.name, counted(hits[0]), counted(hits[1]), loss=publication.loss,
        note="all rows that fit have secrets that are alike, and the person's is",
    )  # fmt: skip


def _in_one_group(
    seen: NDArray[np.bool_], own: Codes, people: People, alike: Sequence[Sequence[str]]
) -> NDArray[np.bool_]:
    code_of = {value: code for code, value in enumerate(people.secret.values)}
    alike_all = np.zeros(own.size, dtype=np.bool_)
    for group in alike:
        strange = [value for value in group if value not in code_of]
        if strange:
            raise InvalidParameter(
                f"{people.secret.name} has no value {strange[0]!r}", hint="name secrets as they stand"
            )
        inside = np.zeros(len(code_of), dtype=np.bool_)
        inside[[code_of[value] for value in group]] = True
        alike_all |= seen.any(axis=1) & ~(seen & ~inside).any(axis=1) & inside[own]
    return alike_all


# ── minimality ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Cut:
    """A cut that would have left enough people on both sides: so on one of them a secret was too frequent."""

    column: int
    left: frozenset[int]  # values of the column
    sizes: tuple[int, int]


def minimality(publication: PublishedRows, people: People, *, k: int, share: float) -> AttackResult:
    """Believe more than any class shows, from what one that was left whole tells by that (Wong et al. 2007).

    Whoever makes classes as small as the rules allow cuts one at the median of a column wherever both sides keep k
    people and no secret exceeds its `share` there. The attacker has a register of who is in the data and makes the same
    cuts: one that would have left k on either side and was not made says that on one of its sides some secret was too
    frequent. Secrets are then likelier on one side than on the other, and by how much follows from counting.
    """
    register = np.stack([known.codes[people.members] for known in people.known])
    orders = [_order(known.numbers, len(known.values)) for known in people.known]
    beliefs = [
        _belief(publication.secrets[index], _cuts(register[:, own], orders, k=k), share=share)
        for index, own in enumerate(_inside(publication, register))
    ]
    hits = []
    for members in (True, False):
        tried = people.tried(members=members)
        belief = _believed(publication, np.stack([known.codes[tried] for known in people.known]), beliefs)
        own = people.secret.codes[tried]
        hits.append((belief.max(axis=1) > share + 1e-9) & (belief.argmax(axis=1) == own))
    told = sum(belief is not None for belief in beliefs)
    return against_controls(
        "minimality", publication.name, counted(hits[0]), counted(hits[1]), loss=publication.loss,
        note=(
            f"a secret is believed at more than {share:.0%}, which no class shows, and it is right: from cuts that were"
            f" not made in {told} of {len(beliefs)} classes"
        ),
    )  # fmt: skip


def _inside(publication: PublishedRows, register: Codes) -> list[Codes]:
    """Whom of the register each class holds: the first that fits."""
    first = _class_of(publication, register)
    order = np.argsort(first, kind="stable")
    ends = np.searchsorted(first[order], np.arange(publication.cells.shape[1] + 1))
    return [order[start:end] for start, end in pairwise(ends.tolist())]


def _class_of(publication: PublishedRows, codes: Codes) -> Codes:
    """The first class that fits each person, or −1; some at a time, for people times classes are many."""
    block = max(1, _MOST_BITS // publication.cells.shape[1])
    starts = range(0, codes.shape[1], block)
    return np.concatenate([publication.first(list(codes[:, start : start + block])) for start in starts])


def _cuts(codes: Codes, orders: Sequence[Codes], *, k: int) -> list[_Cut]:
    """Cuts at medians, one for each column, that leave at least k people on both sides."""
    if codes.shape[1] // 2 < k:
        return []
    cuts = []
    for column, order in enumerate(orders):
        ranks = order[codes[column]]
        values, counts = np.unique(ranks, return_counts=True)
        upto = np.cumsum(counts)
        if values.size < 2:
            continue
        at = int(np.searchsorted(upto, upto[-1] // 2))
        left, right = int(upto[at]), int(upto[-1] - upto[at])
        if min(left, right) >= k:
            below = frozenset(np.flatnonzero(order <= values[at]).tolist())
            cuts.append(_Cut(column, below, (left, right)))
    return cuts


def _order(numbers: Floats | None, size: int) -> Codes:
    """The rank of each code: of numbers by size."""
    if numbers is None:
        return np.arange(size)
    ranks = np.empty(size, dtype=np.int64)
    ranks[np.argsort(numbers, kind="stable")] = np.arange(size)
    return ranks


@dataclass(frozen=True, slots=True)
class _Belief:
    """Of one class: how likely each secret is on either side of the cut that tells the most."""

    cut: _Cut
    sides: tuple[Floats, Floats]


def _belief(secrets: Floats, cuts: Sequence[_Cut], *, share: float) -> _Belief | None:
    """The cut whose two sides differ most, given that it was not allowed; None where nothing is told."""
    best: tuple[float, _Belief] | None = None
    for cut in cuts:
        sides = _given_refused(secrets, cut.sizes, share)
        if sides is not None:
            apart = float(np.abs(sides[0] - sides[1]).sum())
            if best is None or apart > best[0]:
                best = (apart, _Belief(cut, sides))
    return None if best is None else best[1]


def _given_refused(secrets: Floats, sizes: tuple[int, int], share: float) -> tuple[Floats, Floats] | None:
    """The shares of secrets on both sides of a cut, over all ways to lay them out in which one side breaks the rule.

    A way that breaks it twice is counted twice: it is far rarer than one that does so once.
    """
    total = int(secrets.sum())
    if total != sum(sizes):  # rows were left out, or the register does not fit: nothing can be counted
        return None
    weight, expected = 0.0, [np.zeros(secrets.size), np.zeros(secrets.size)]
    for side in (0, 1):
        here, there = sizes[side], sizes[1 - side]
        for secret in np.flatnonzero(secrets):
            times = int(secrets[secret])
            chances = _laid_out(times, total, here)
            broken = {j: chance for j, chance in chances.items() if j > share * here + 1e-9}
            mass = math.fsum(broken.values())
            if not mass:
                continue
            mean = math.fsum(j * chance for j, chance in broken.items()) / mass
            others = secrets.copy()
            others[secret] = 0
            rest = others / max(1.0, others.sum())
            own = rest * (here - mean)
            own[secret] = mean
            weight += mass
            expected[side] += mass * own / here
            expected[1 - side] += mass * (secrets - own) / there
    return (expected[0] / weight, expected[1] / weight) if weight else None


def _laid_out(times: int, total: int, here: int) -> Mapping[int, float]:
    """How many of a secret's rows fall on a side of so many: the hypergeometric law."""

    def ways(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    span = range(max(0, times + here - total), min(times, here) + 1)
    return {j: math.exp(ways(times, j) + ways(total - times, here - j) - ways(total, here)) for j in span}


def _believed(publication: PublishedRows, codes: Codes, beliefs: Sequence[_Belief | None]) -> Floats:
    """(person, secret): how likely each secret is; nothing where the person's class tells nothing by being whole."""
    believed = np.zeros((codes.shape[1], publication.secrets.shape[1]))
    for person, own in enumerate(_class_of(publication, codes).tolist()):
        belief = beliefs[own] if own >= 0 else None
        if belief is not None:
            side = 0 if int(codes[belief.cut.column, person]) in belief.cut.left else 1
            believed[person] = belief.sides[side]
    return believed
