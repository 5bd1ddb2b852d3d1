"""An answer by columns: the half-widths of a noisy one stand beside it, and no two have the same name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tacit.curator.forms.shape import ColumnShape

Rows = Sequence[Sequence[object]]
Errors = Sequence[Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column of the answer, or the half-widths of one."""

    name: str
    values: tuple[object, ...]
    kind: str | None = None  # a type of the policy, where no value tells


def noisy_columns(count: int, errors: Errors) -> list[bool]:
    """Which of the columns have a half-width in some row."""
    return [any(row[index] is not None for row in errors) for index in range(count)]


def with_half_widths(
    names: Sequence[str], rows: Rows, errors: Errors, *, shapes: Sequence[ColumnShape] = ()
) -> list[AnswerColumn]:
    """The columns in their order, each noisy one followed by `NAME_error`. What has no rows, its `shapes` tell."""
    known = list(shapes) if len(shapes) == len(names) and not rows else []
    noisy = [shape.has_error for shape in known] or noisy_columns(len(names), errors)
    kinds: list[str | None] = [shape.kind for shape in known] if known else [None] * len(names)
    taken = set(names)  # a column keeps its name, the half-widths beside another give way
    seen: set[str] = set()
    columns = []
    for index, name in enumerate(names):
        columns.append(AnswerColumn(_free(name, seen), tuple(row[index] for row in rows), kinds[index]))
        seen.add(columns[-1].name)
        if noisy[index]:
            widths = tuple(row[index] for row in errors)
            columns.append(AnswerColumn(_free(f"{name}_error", seen | taken), widths, "number" if known else None))
            seen.add(columns[-1].name)
    return columns


def _free(name: str, taken: set[str]) -> str:
    """The name, or the first of `name_2`, `name_3`, … that nobody has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free
