"""Two tables of the same people held against each other, by keys that may have typing errors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import duckdb
import numpy as np

from tacit.attack.auditing.binomial import at_least, at_most
from tacit.attack.people import People, read_relation
from tacit.attack.results import AttackResult
from tacit.errors import InvalidParameter
from tacit.noise import SYSTEM, Source, uniform_integer

_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")
_NULLS = 19  # how often one table is shuffled: with the true pairing, one in twenty
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """Who is who: pairs of row numbers, each the only one that fits on either side; and what chance would link."""

    pairs: tuple[tuple[int, int], ...]
    rows: tuple[int, int]
    null: float  # links that shuffled keys make, on average
    p_value: float

    def result(self, against: str) -> AttackResult:
        """The links as the result of an attack: how many rows of the smaller table were linked."""
        hits, trials = len(self.pairs), min(self.rows)
        return AttackResult(
            attack="linkage", against=against, success=hits / trials, low=at_least(hits, trials, level=0.025),
            high=at_most(hits, trials, level=0.025), null=self.null / trials, trials=trials, p_value=self.p_value,
            note="a row of one table fits one row alone of the other",
        )  # fmt: skip


def link(left: object, right: object, on: Sequence[str], *, typos: int = 0, source: Source = SYSTEM) -> Links:
    """Link the rows of two tables by keys, each written `expression = expression` in SQL: of the left and the right.

    With `typos`, up to so many letters of all keys together may be missing, added or changed; candidates are found by
    what is left of a key with letters taken out, so that not everybody is compared with everybody. What chance would
    link is measured with cells drawn at random from both tables, column by column, in place of the right one's.
    """
    if not 0 <= typos <= 2:
        raise InvalidParameter(f"a key may have up to 2 typing errors: got {typos}")
    sides = [_split(key) for key in on]
    if not sides:
        raise InvalidParameter("nothing is said to be alike in both tables", hint="name a key: 'born = birthday'")
    keys = [_keys(table, [pair[side] for pair in sides]) for side, table in enumerate((left, right))]
    links = _linked(keys[0], keys[1], typos)
    mixed = [len(_linked(keys[0], _mixed(keys, source), typos)) for _ in range(_NULLS)]
    p_value = (1 + sum(count >= len(links) for count in mixed)) / (1 + _NULLS)
    return Links(tuple(links), (len(keys[0]), len(keys[1])), float(np.mean(mixed)), p_value)


def _split(key: str) -> tuple[str, str]:
    parts = _EQUALS.split(key)
    if len(parts) != 2 or not all(part.strip() for part in parts):
        raise InvalidParameter(f"{key!r} is no key", hint="write one expression of either table: 'id[5:8] = birthday'")
    return parts[0].strip(), parts[1].strip()


def _keys(table: object, expressions: Sequence[str]) -> list[Key]:
    with duckdb.connect() as connection:
        relation = read_relation(table, connection)
        listed = ", ".join(
            f"lower(trim(CAST({text} AS VARCHAR))) AS k{index}" for index, text in enumerate(expressions)
        )
        try:
            rows = relation.project(listed).fetchall()
        except duckdb.Error:
            raise InvalidParameter(
                f"a key cannot be read: {', '.join(expressions)}", hint=f"the table has {', '.join(relation.columns)}"
            ) from None
    if not rows:
        raise InvalidParameter("a table is empty: there is nobody to link")
    return [tuple(str(cell or "") for cell in row) for row in rows]


def _linked(left: Sequence[Key], right: Sequence[Key], typos: int) -> list[tuple[int, int]]:
    """Pairs that fit nobody else, on either side. An empty key fits nothing."""
    blocks: dict[str, set[int]] = defaultdict(set)
    for index, key in enumerate(right):
        for block in _blocks(key, typos):
            blocks[block].add(index)
    fits: dict[int, list[int]] = {}
    taken: dict[int, int] = defaultdict(int)
    for index, key in enumerate(left):
        there = set().union(*(blocks.get(block, set()) for block in _blocks(key, typos))) if any(key) else set()
        apart = {other: _distance(key, right[other], typos) for other in there if any(right[other])}
        nearest = min(apart.values(), default=typos + 1)
        near = [other for other, distance in apart.items() if distance == nearest <= typos]
        fits[index] = near
        for other in near:
            taken[other] += 1
    return [(index, near[0]) for index, near in fits.items() if len(near) == 1 and taken[near[0]] == 1]


def _blocks(key: Key, typos: int) -> set[str]:
    """What is left of a key with up to so many letters taken out: two that are `typos` apart share one of these."""
    whole = "\x1f".join(key)
    blocks = {whole}
    for size in range(1, typos + 1):
        for left_out in combinations(range(len(whole)), size):
            blocks.add("".join(letter for index, letter in enumerate(whole) if index not in left_out))
    return blocks


def _distance(first: Key, second: Key, most: int) -> int:
    """How many letters differ, over all keys (Levenshtein), or more than `most`."""
    return sum(_edits(a, b, most) for a, b in zip(first, second, strict=True))


def _edits(first: str, second: str, most: int) -> int:
    if first == second:
        return 0
    if abs(len(first) - len(second)) > most:
        return most + 1
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, 1):
        previous, row[0] = row[0], i
        for j, other in enumerate(second, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (letter != other))
    return row[-1]


def _mixed(keys: Sequence[Sequence[Key]], source: Source) -> list[Key]:
    """A right table of other people: every cell is drawn from all that stand in its column on either side."""
    both = [*keys[0], *keys[1]]
    size = len(keys[1])
    columns = [
        [both[index][column] for index in uniform_integer(len(both), size, source=source).tolist()]
        for column in range(len(both[0]))
    ]
    return list(zip(*columns, strict=True))


def uniqueness(people: People, *, most: int = 3) -> Mapping[tuple[str, ...], float]:
    """For each set of up to `most` known columns, and for all: the share of members whom it tells from all others."""
    sizes = {*range(1, min(most, len(people.known)) + 1), len(people.known)}
    shares = {}
    for size in sorted(sizes):
        for chosen in combinations(people.known, size):
            codes = np.stack([attribute.codes[people.members] for attribute in chosen])
            _, counts = np.unique(codes, axis=1, return_counts=True)
            shares[tuple(attribute.name for attribute in chosen)] = float(np.count_nonzero(counts == 1) / people.rows)
    return shares
