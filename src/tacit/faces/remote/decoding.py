"""What a server tells, as the values that the Python door gives out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from tacit.core import Budget, Grains, Limit, Loss, Zcdp
from tacit.curator import Explanation, Receipt, Release
from tacit.curator.explaining.explain import Priced
from tacit.curator.forms.batch_release import BatchRelease
from tacit.curator.forms.shape import ColumnShape
from tacit.faces.budget_status import Account, BudgetStatus
from tacit.faces.catalogue import Catalogue, CatalogueColumn, CatalogueTable

Told = Mapping[str, Any]


def release_of(told: Told) -> Release:
    """The answer that a server sent, as a release."""
    shapes = _shapes(told["shapes"])
    endless = {tuple(cell) for cell in told["endless"]}
    errors = tuple(
        tuple(math.inf if (row, column) in endless else error for column, error in enumerate(widths))
        for row, widths in enumerate(told["errors"])
    )
    kinds = [shape.kind for shape in shapes] or [""] * len(told["columns"])
    return Release(
        columns=tuple(told["columns"]),
        rows=tuple(tuple(map(_cell, row, kinds)) for row in told["rows"]),
        errors=errors,
        confidence=_fraction(told["confidence"]),
        cost=_loss(told),
        left=_left(told),
        reused=told["reused"],
        notes=tuple(told["notes"]),
        receipt=_receipt(told["receipt"]),
        covers=told["covers"],
        shapes=shapes,
        keys=None if told["keys"] is None else tuple(told["keys"]),
    )


def batch_of(told: Told) -> BatchRelease:
    """The answers of a batch that a server sent, with their one price."""
    return BatchRelease(
        answers=tuple(map(release_of, told["answers"])),
        cost=_loss(told),
        left=_left(told),
        reused=told["reused"],
        strategies=tuple(told["strategies"]),
        receipt=_receipt(told["receipt"]),
    )


def explanation_of(told: Told) -> Explanation:
    """What a question, or a batch, would cost."""
    questions = tuple(map(_priced, told.get("questions", ())))
    return Explanation(
        loss=_loss(told),
        unit=told["unit"],
        bounding=told["bounding"],
        measurements=tuple(told["measurements"]),
        notes=tuple(told["notes"]),
        sql=tuple(told["statements"]),
        pretty=tuple(told["pretty"]),
        plan=told["plan"],
        confidence=_fraction(told["confidence"]),
        outputs=() if questions else tuple(told["columns"]),
        errors=() if questions else tuple(told["errors"]),
        exact=() if questions else tuple(told["exact"]),
        shapes=_shapes(told["shapes"]),
        selection=told.get("selection"),
        test=told.get("test"),
        covers=told["covers"],
        sets=tuple(map(_priced, told.get("sets", ()))),
        questions=questions,
        strategies=tuple(told.get("strategies", ())),
        computed=tuple(told["computed"]),
        piloted=told["piloted"],
    )


def catalogue_of(told: Told) -> Catalogue:
    """The tables that may be asked about, as a server told them."""
    return Catalogue(
        told["dataset"],
        tuple(
            CatalogueTable(
                table["name"],
                table["hides"] or "",
                table["bounds"],
                tuple(
                    CatalogueColumn(column["name"], column["type"], column["known"], column["description"])
                    for column in table["columns"]
                ),
                table["description"],
            )
            for table in told["tables"]
        ),
    )


def status_of(told: Told) -> BudgetStatus:
    """What a server says is spent and left."""
    return BudgetStatus(
        told["dataset"],
        _account("total", "total", told["total"]),
        tuple(_account(name, "analyst", line) for name, line in told["analysts"].items()),
        tuple(_account(name, "group", line) for name, line in told["groups"].items()),
    )


def _account(name: str, kind: str, told: Told) -> Account:
    spent, left, cap = (None if told[key] is None else _amount(told[key]) for key in ("spent", "left", "cap"))
    return Account(name, kind, spent if spent is not None else Budget(0), cap, left)


def _amount(told: Told) -> Limit:
    if "grains" in told:
        return Grains(Fraction(told["grain"]), int(told["grains"]), Fraction(told["delta"]))
    if "rho" in told:
        return Zcdp(Fraction(told["rho"]), Fraction(told["delta"]))
    return Budget(Fraction(told["epsilon"]), Fraction(told["delta"]))


def _cell(value: Any, kind: str) -> Any:
    """A cell in its column's type: JSON has no dates, and no word for numbers that are none."""
    if not isinstance(value, str):
        return float(value) if kind == "number" and isinstance(value, int) and not isinstance(value, bool) else value
    if kind == "date":
        return date.fromisoformat(value)
    if kind == "timestamp":
        return datetime.fromisoformat(value)
    return float(value) if kind == "number" else value


def _shapes(told: Sequence[Told]) -> tuple[ColumnShape, ...]:
    return tuple(
        ColumnShape(each["kind"], noisy=each["noisy"], wide=each["wide"], stated=each["stated"]) for each in told
    )


def _priced(told: Told) -> Priced:
    return Priced(
        name=told["name"],
        how=told["how"],
        loss=_loss(told),
        outputs=tuple(told["columns"]),
        errors=tuple(told["errors"]),
        alone=tuple(told["errors_alone"]),
        confidence=_fraction(told["confidence"]),
    )


def _receipt(told: Told) -> Receipt:
    return Receipt(
        plan=told["plan"],
        policy=told["policy"],
        entry=told["entry"],
        guarantee=told.get("guarantee", ""),
        unit=told.get("unit", ""),
        mechanisms=tuple(told.get("mechanisms", ())),
    )


def _loss(told: Told) -> Loss:
    return Loss(Fraction(told["epsilon"]), Fraction(told["delta"]))


def _left(told: Told) -> Budget | None:
    left = told["left"]
    return None if left is None else Budget(Fraction(left["epsilon"]), Fraction(left["delta"]))


def _fraction(number: float) -> Fraction:
    """A confidence as it was typed: 0.95, not the binary fraction beside it."""
    return Fraction(repr(number))
