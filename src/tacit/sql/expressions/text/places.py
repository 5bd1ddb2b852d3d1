"""Patterns that say what stands at fixed places of a text: their ways, which any engine can compare."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacit.sql.expressions.text.regular import EVERY, Anchor, Either, Group, Letters, Node, Pattern, Repeat

MAX_WAYS = 60


@dataclass(frozen=True, slots=True)
class Places:
    """One way to match: these characters side by side, at the start of the text, at its end, both, or anywhere."""

    letters: tuple[Letters, ...]
    start: bool
    end: bool


def places(pattern: Pattern) -> list[Places] | None:
    """The ways of a pattern that says what stands at fixed places; None for any other."""
    ways = list(itertools.islice(_ways(pattern.node), MAX_WAYS + 1))
    if len(ways) > MAX_WAYS or any(way is None for way in ways):
        return None
    placed = [_placed(way) for way in ways if way is not None]
    return None if any(each is None for each in placed) else [each for each in placed if each is not None]


def _placed(way: Sequence[Letters | Anchor | Repeat]) -> Places | None:
    parts = list(way)
    start, end = bool(parts) and parts[0] == Anchor(True), bool(parts) and parts[-1] == Anchor(False)
    inner = parts[start : len(parts) - end]
    while inner and isinstance(inner[0], Repeat) and (not start or inner[0].part == EVERY):
        inner, start = inner[1:], False  # before it any text at all, or what need not be there
    while inner and isinstance(inner[-1], Repeat) and (not end or inner[-1].part == EVERY):
        inner, end = inner[:-1], False
    letters = [part for part in inner if isinstance(part, Letters)]
    if len(letters) < len(inner) or len(letters) > MAX_WAYS:
        return None
    free = not start and not end
    if any(each.listed() is None for each in letters) or (free and not all(map(_is_one, letters))):
        return None
    return Places(tuple(letters), start, end)


def _is_one(letters: Letters) -> bool:
    return not letters.but and letters.listed() is not None and len(letters.listed() or ()) == 1


Way = tuple[Letters | Anchor | Repeat, ...]


def _ways(node: Node) -> Iterator[Way | None]:
    """Every way of a node as characters in a row; None among them where one has no end that is known."""
    if isinstance(node, (Letters, Anchor)):
        yield (node,)
    elif isinstance(node, Either):
        for way in node.ways:
            yield from _ways(way)
    elif isinstance(node, Repeat):
        yield from _repeated(node)
    elif isinstance(node, Group):
        yield from _ways(node.part)
    else:
        yield from _in_a_row([list(itertools.islice(_ways(part), MAX_WAYS + 1)) for part in node.parts])


def _repeated(node: Repeat) -> Iterator[Way | None]:
    ways = list(itertools.islice(_ways(node.part), MAX_WAYS + 1))
    if max(node.least, node.most or 0) > MAX_WAYS:
        yield None
    elif node.most is None:  # so many, and then what need not be there
        yield from _in_a_row([*([ways] * node.least), [(Repeat(node.part, 0, None),)]])
    else:
        for times in range(node.least, node.most + 1):
            yield from _in_a_row([ways] * times)


def _in_a_row(parts: Sequence[Sequence[Way | None]]) -> Iterator[Way | None]:
    for chosen in itertools.islice(itertools.product(*parts), MAX_WAYS + 1):
        known = [way for way in chosen if way is not None]
        yield None if len(known) < len(chosen) else tuple(itertools.chain.from_iterable(known))
