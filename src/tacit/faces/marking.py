"""Answers on made-up rows say so, and say that nothing was paid; where there are none, that is said."""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from tacit.core import NOTHING, Budget
from tacit.curator import Release
from tacit.curator.forms.batch_release import BatchRelease
from tacit.errors import InvalidParameter


def marked(answer: Release, *, left: object) -> Release:
    """An answer on made-up rows says so, and says that nothing was paid."""
    note = f"dummy data: made up from the public policy, of nobody's rows; asked for real it costs {answer.cost}"
    receipt = replace(answer.receipt, entry="dummy data", guarantee="none needed: dummy data")
    return replace(
        answer,
        cost=NOTHING,
        left=left if isinstance(left, Budget) else None,
        notes=(note, *answer.notes),
        receipt=receipt,
    )


def all_marked(batch: BatchRelease, *, left: object) -> BatchRelease:
    """A batch on made-up rows, each answer of which says so."""
    receipt = replace(batch.receipt, entry="dummy data", guarantee="none needed: dummy data")
    return replace(
        batch,
        answers=tuple(marked(answer, left=left) for answer in batch.answers),
        cost=NOTHING,
        left=left if isinstance(left, Budget) else None,
        receipt=receipt,
    )


def no_rehearsal() -> NoReturn:
    """Raise InvalidParameter: a server has no made-up rows to rehearse on."""
    raise InvalidParameter("a server has no made-up rows", hint="db.explain(sql) is free")
