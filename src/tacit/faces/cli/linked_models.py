"""`tacit synthesise` of several tables: how they are asked for, shown and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidParameter
from tacit.faces.cli.anonymising.making import progress_bar
from tacit.faces.cli.publishing import PublishingOptions, payment, priced, print_paid, publishing
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.linked import LinkedModel, LinkedPlan, LinkedRequest
    from tacit.release.publishing import Publication

_SHOWN = 12  # pairs in the report


@dataclass(frozen=True, slots=True)
class LinkedOutput:
    """Where tables and model go, and how many rows the parent has."""

    output: Path | None
    model: Path | None
    rows: int | None


def by_table(named: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Columns written as TABLE.COLUMN, by their tables."""
    columns: dict[str, tuple[str, ...]] = {}
    for name in named:
        table, dot, column = name.partition(".")
        if not dot:
            hint = "write --columns patients.age,visits.ward"
            raise InvalidParameter(f"{name[:60]} is of no table: several are made", hint=hint)
        columns[table] = (*columns.get(table, ()), column)
    return tuple(columns.items())


def make_linked(wish: LinkedRequest, wanted: LinkedOutput, how: PublishingOptions) -> None:
    """Make the tables, write them, and report; or say what would be counted and paid."""
    from tacit.release.linked import file_of, plan_linked
    from tacit.release.synthesise import writable

    with publishing(how) as (publisher, who):
        if wanted.output is not None:
            for name in wish.tables:
                writable(file_of(wanted.output, publisher.policy.table(name).name))
        if how.explain:
            _show_plan(plan_linked(publisher.policy, publisher.engine, wish), how.form)
            return
        with progress_bar("synthesising") as progress:
            paid = publisher.publish(replace(wish, progress=progress), who)
    written = []
    if wanted.output is not None:
        for name, table in paid.value.sample(wanted.rows).items():
            written.append(file_of(wanted.output, name))
            table.write(written[-1])
    if wanted.model is not None:
        paid.value.save(wanted.model)
        written.append(wanted.model)
    _show(paid, how.form, written)


def _show_plan(plan: LinkedPlan, form: Plain) -> None:
    from tacit.faces.formatting import show_json

    if form is Plain.JSON:
        cells = {
            each.counted.table: {column.name: column.cells for column in each.counted.attributes[: each.own]}
            for each in plan.tables
        }
        show_json({"method": plan.method, "cells": cells, **priced(plan.loss), "rho": float(plan.rho)})
        return
    print_lines(f"would cost {plan.loss} (ρ = {float(plan.rho):.4g})", "")
    lines = [
        (
            each.counted.table,
            f"{float(each.rho / plan.rho):.0%}",
            f"{len(each.counted.plans):,}",
            f"{each.counted.sensitivity // each.counted.weight:,}",
        )
        for each in plan.tables
    ]
    print_table(("table", "part of ρ", "marginals", "rows of a unit"), lines, right=(1, 2, 3))


def _show(paid: Publication[LinkedModel], form: Plain, written: Sequence[Path]) -> None:
    from tacit.faces.formatting import show_json

    model = paid.value
    errors = {" × ".join(names): (len(names), error) for names, error in model.errors.items()}
    if form is Plain.JSON:
        rows = {model.parent.table: model.parent.rows, **{child.table: child.rows for child in model.children}}
        told = {name: error for name, (_, error) in errors.items()}
        about = {"method": model.parent.method, "rows": rows, **payment(paid)}
        show_json({**about, "errors": told, "notes": list(model.notes)})
        return
    rows_said = [f"about {model.parent.rows:,} rows of {model.parent.table}"]
    rows_said += [f"{child.rows:,} of {child.table}" for child in model.children]
    print_paid(paid, f"a model of linked tables: {', '.join(rows_said)}", again="the same tables")
    singles = [(name, f"{error:.1%}") for name, (ways, error) in errors.items() if ways == 1]
    print_table(("column", "expected distance"), singles, right=(1,))
    pairs = sorted(((error, name) for name, (ways, error) in errors.items() if ways == 2), reverse=True)
    print_lines("", f"of {len(pairs)} pairs that were measured, the worst:")
    print_table(("pair", "expected distance"), [(name, f"{error:.1%}") for error, name in pairs[:_SHOWN]], right=(1,))
    print_lines(
        "", "distances are total variation, by the noise and by what is seen to be missed", *model.notes, dim=True
    )
    for path in written:
        print_lines(f"wrote {path}")
    if not written:
        print_lines("nothing was written: add -o FILE, or --model FILE", dim=True)
