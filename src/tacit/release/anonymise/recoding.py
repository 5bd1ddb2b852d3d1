"""Local recoding: each class goes down the hierarchies for as long as it can, on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.release.anonymise.columns import Cells, Column, Level
from tacit.release.anonymise.halving import Progress
from tacit.release.anonymise.models import Rules
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.tuples import Bools, Ints, Tuples, tally


@dataclass(frozen=True, slots=True, eq=False)
class _Class:
    """Tuples that are published alike, and at which level of each column."""

    ids: Ints
    level: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One column of a class, one level down: the group each tuple falls into, and which groups leave the class."""

    gain: float
    column: int
    group: Ints
    leaves: Bools


def local(tuples: Tuples, columns: Sequence[Column], *, rules: Rules, progress: Progress) -> Partition:
    """Start with `*` everywhere; take the step down that saves most, again and again.

    Groups that cannot stand alone stay behind at the coarser level, together, if they keep to the models there.
    """
    ladders = [column.ladder() for column in columns]
    top = _Class(np.arange(tuples.size.size), tuple(len(ladder) - 1 for ladder in ladders))
    waiting, done, settled = [top], [], 0
    while waiting:
        here = waiting.pop()
        steps = [_step(tuples, ladders, here, column, rules) for column in range(len(columns))]
        best = max((step for step in steps if step is not None), key=lambda step: step.gain, default=None)
        if best is None:
            done.append(here)
            settled += here.ids.size
            progress(settled / tuples.size.size)
        else:
            waiting.extend(_taken(here, best))
    return _published(tuples, ladders, done)


def _step(tuples: Tuples, ladders: list[list[Level]], here: _Class, column: int, rules: Rules) -> _Step | None:
    height = here.level[column]
    if height == 0:
        return None
    above, below = ladders[column][height], ladders[column][height - 1]
    codes = tuples.codes[column, here.ids]
    names, group = np.unique(below.group[codes], return_inverse=True)
    loss = above.loss[above.group[codes[0]]] - below.loss[names]
    found = tally(tuples, group, number=names.size, of=here.ids)
    leaves = rules.hold(found)
    for place in np.argsort(np.where(leaves, found.size, np.iinfo(np.int64).max)):
        behind = here.ids[~leaves[group]]
        together = tally(tuples, np.zeros(behind.size, dtype=np.int64), number=1, of=behind)
        if not behind.size or rules.hold(together)[0]:
            break
        leaves[place] = False  # the smallest of those that could leave stays with those that cannot
    gain = float((found.size * loss)[leaves].sum())
    return _Step(gain, column, group, leaves) if gain > 0 else None


def _taken(here: _Class, step: _Step) -> list[_Class]:
    lower = tuple(height - (place == step.column) for place, height in enumerate(here.level))
    made = [_Class(here.ids[step.group == group], lower) for group in np.flatnonzero(step.leaves)]
    behind = here.ids[~step.leaves[step.group]]
    return [*made, _Class(behind, here.level)] if behind.size else made


def _published(tuples: Tuples, ladders: list[list[Level]], done: list[_Class]) -> Partition:
    classes = np.empty(tuples.size.size, dtype=np.int64)
    for number, made in enumerate(done):
        classes[made.ids] = number
    member = np.array([made.ids[0] for made in done])
    cells = []
    for place, ladder in enumerate(ladders):
        steps = [ladder[made.level[place]] for made in done]
        group = [int(step.group[code]) for step, code in zip(steps, tuples.codes[place, member], strict=True)]
        pairs = list(zip(steps, group, strict=True))
        cells.append(
            Cells.of(
                [step.label[code] for step, code in pairs],
                loss=np.array([step.loss[code] for step, code in pairs]),
                low=np.array([step.first[code] for step, code in pairs]),
                high=np.array([step.last[code] for step, code in pairs]),
            )
        )
    return Partition(classes, tuple(cells))
