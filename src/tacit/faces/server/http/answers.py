"""Answers and explanations as the API sends them: all that it takes to have them again at the other end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit.curator import Explanation, Release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.forms.shape import ColumnShape


def release_body(found: Release | BatchRelease | Explanation) -> dict[str, object]:
    """An answer as JSON; `id` finds it again."""
    if isinstance(found, Explanation):
        return explanation_body(found)
    if isinstance(found, BatchRelease):
        receipt = {**_part(found, "receipt"), "unit": found.receipt.unit, "guarantee": found.receipt.guarantee}
        answers = [_answer(each) for each in found.answers]
        return {"id": found.receipt.entry, **found.to_dict(), "answers": answers, "receipt": receipt}
    return {"id": found.receipt.entry, **_answer(found)}


def explanation_body(found: Explanation) -> dict[str, object]:
    """An explanation as JSON."""
    return {
        "bounding": found.bounding,
        "confidence": float(found.confidence),
        "covers": found.covers,
        **found.to_dict(),
        "statements": list(found.sql),
        "pretty": list(found.pretty),
        "shapes": _shapes(found.shapes),
        "computed": list(found.computed),
        "piloted": found.piloted,
    }


def _answer(found: Release) -> dict[str, object]:
    """With the columns' types, and where an error bar has no end: JSON has no infinity."""
    endless = [
        [row, column]
        for row, widths in enumerate(found.errors)
        for column, width in enumerate(widths)
        if width is not None and math.isinf(width)
    ]
    keys = None if found.keys is None else list(found.keys)
    return {**found.to_dict(), "shapes": _shapes(found.shapes), "keys": keys, "endless": endless}


def _part(found: BatchRelease, name: str) -> dict[str, object]:
    part = found.to_dict()[name]
    return dict(part) if isinstance(part, dict) else {}


def _shapes(shapes: Sequence[ColumnShape]) -> list[dict[str, object]]:
    return [{"kind": shape.kind, "noisy": shape.noisy, "wide": shape.wide, "stated": shape.stated} for shape in shapes]
