"""Answers and explanations as the API sends them: all that it takes to have them again at the other end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit.curator import Explanation, Release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.forms.shape import ColumnShape


def release_body(answer: Release | BatchRelease | Explanation) -> dict[str, object]:
    """An answer as JSON; `id` finds it again."""
    if isinstance(answer, Explanation):
        return explanation_body(answer)
    if isinstance(answer, BatchRelease):
        receipt = {**_part(answer, "receipt"), "unit": answer.receipt.unit, "guarantee": answer.receipt.guarantee}
        answers = [_answer(each) for each in answer.answers]
        return {"id": answer.receipt.entry, **answer.to_dict(), "answers": answers, "receipt": receipt}
    return {"id": answer.receipt.entry, **_answer(answer)}


def explanation_body(explanation: Explanation) -> dict[str, object]:
    """An explanation as what becomes JSON."""
    return {
        "bounding": explanation.bounding,
        "confidence": float(explanation.confidence),
        "covers": explanation.covers,
        **explanation.to_dict(),
        "statements": list(explanation.sql),
        "pretty": list(explanation.pretty),
        "shapes": _shapes(explanation.shapes),
        "computed": list(explanation.computed),
        "piloted": explanation.piloted,
    }


def _answer(release: Release) -> dict[str, object]:
    """With the columns' types, and where an error bar has no end: JSON has no infinity."""
    endless = [
        [row, column]
        for row, widths in enumerate(release.errors)
        for column, width in enumerate(widths)
        if width is not None and math.isinf(width)
    ]
    keys = None if release.keys is None else list(release.keys)
    return {**release.to_dict(), "shapes": _shapes(release.shapes), "keys": keys, "endless": endless}


def _part(batch: BatchRelease, name: str) -> dict[str, object]:
    part = batch.to_dict()[name]
    return dict(part) if isinstance(part, dict) else {}


def _shapes(shapes: Sequence[ColumnShape]) -> list[dict[str, object]]:
    return [{"kind": shape.kind, "noisy": shape.noisy, "wide": shape.wide, "stated": shape.stated} for shape in shapes]
