"""`tacit synthesise`: rows that nobody is behind, drawn from a model that paid for noisy marginals once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.cli.anonymising.making import progress_bar
from tacit.faces.cli.linked_models import LinkedOutput, by_table, make_linked
from tacit.faces.cli.publishing import (
    PriceOptions,
    PublishingOptions,
    listed,
    payment,
    priced,
    print_paid,
    publishing,
)
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.publishing import Publication
    from tacit.release.synthesise import ExactDistances, SynthesisPlan, SyntheticModel

ABOUT = """Make synthetic rows of a table: a model is fitted to noisy marginals, and rows are drawn from it.

The price is paid once, by the analyst named with --as, or else from the dataset's total: that is the owner's act. The
same table at no higher a price is then free, unless --fresh. Each column needs a public domain in the policy: listed
values, a range, or bounds. The report says how far each column is expected from the truth.

Of several tables one is the parent, to which the policy links the others (unit = "patient_id -> patients.id"): its rows
are made first, then those of the others, each given the row it belongs to, for one price. FILE is then one for each
table, with its name: clinic.csv becomes clinic-patients.csv and clinic-visits.csv.
"""
_SHOWN = 12  # pairs in the report


def synthesise(  # noqa: PLR0913 - the options of a command
    tables: Annotated[
        list[str], typer.Argument(metavar="TABLE…", help="A table of the policy; or one, and those linked to it.")
    ],
    *,
    price: PriceOptions,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", metavar="A,B,…", help="Only these columns; of several tables, TABLE.A.", show_default=False
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="auto, hybrid, tree, aim or mst.")
    ] = "auto",
    rows: Annotated[
        int | None,
        typer.Option("--rows", metavar="COUNT", help="How many rows; about as many as there are if not said."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the rows go: .parquet or .csv.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="FILE", help="Where the model goes, to draw from later.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="The owner's: how far the rows are from the truth. Not private.")
    ] = False,
    how: PublishingOptions,
) -> None:
    """Make synthetic rows of a table: see ABOUT."""
    from tacit.faces.owner import compare, refuse_analyst
    from tacit.release.linked import LinkedRequest
    from tacit.release.synthesise import SynthesisRequest, plan_synthesis, writable

    if exact:
        refuse_analyst(how.analyst, "the exact report")
        _refuse_several(tables)
    _refuse_to_overwrite(model)
    if len(tables) > 1:
        named = by_table(listed(columns))
        linked = LinkedRequest(tuple(tables), price.epsilon, price.delta, named, method, how.fresh)
        make_linked(linked, LinkedOutput(output, model, rows), how)
        return
    if output is not None:
        writable(output)
    request = SynthesisRequest(tables[0], price.epsilon, price.delta, listed(columns), method, how.fresh)
    with publishing(how) as (publisher, who):
        if how.explain:
            _show_plan(plan_synthesis(publisher.policy, publisher.engine, request), how.form)
            return
        with progress_bar("synthesising") as progress:
            paid = publisher.publish(replace(request, progress=progress), who)
    _write(paid.value, LinkedOutput(output, model, rows))
    distances = compare(publisher.policy, paid.value) if exact else None
    _show(paid, how.form, written=[path for path in (output, model) if path is not None], distances=distances)
    if output is not None and rows is None and how.form is Plain.TABLE:
        _say_where_drawing_ended(paid.value.rows)


def _write(made: SyntheticModel, wanted: LinkedOutput) -> None:
    """The model and the rows, where they are wanted."""
    if wanted.model is not None:
        made.save(wanted.model)
    if wanted.output is not None:
        made.sample(wanted.rows).write(wanted.output)


def _say_where_drawing_ended(rows: int) -> None:
    """As many rows as a machine holds are drawn at once; there may be more in the table."""
    from tacit.release.synthesise.model import MOST_ROWS

    if rows > MOST_ROWS:
        print_lines(f"{MOST_ROWS:,} rows were drawn of about {rows:,}: counts on them are too small")


def _refuse_several(tables: list[str]) -> None:
    if len(tables) > 1:
        raise InvalidParameter("the exact report is of one table", hint="leave out --exact, or name one table")


def _refuse_to_overwrite(model: Path | None) -> None:
    if model is not None and model.exists():
        raise InvalidParameter(f"{model.name} is there already: it is not overwritten", hint="write elsewhere")


def _show_plan(plan: SynthesisPlan, form: Plain) -> None:
    from tacit.faces.formatting import show_json

    counted = plan.counted
    if form is Plain.JSON:
        cells = {each.name: each.cells for each in counted.attributes}
        about = {"table": counted.table, "method": plan.method, "cells": cells}
        show_json({**about, **priced(plan.loss), "rho": float(plan.rho)})
        return
    print_lines(f"would cost {plan.loss} (ρ = {float(plan.rho):.4g}), by {plan.method}", "")
    lines = [(each.name, str(each.kind), f"{each.cells:,}") for each in counted.attributes]
    print_table(("column", "type", "cells"), lines, right=(2,))
    bounded = counted.sensitivity // counted.weight
    print_lines("", f"counted: {len(counted.plans)} marginals, at most {bounded} rows of a unit in each", dim=True)


def _show(
    paid: Publication[SyntheticModel], form: Plain, *, written: list[Path], distances: ExactDistances | None
) -> None:
    from tacit.faces.formatting import show_json

    model = paid.value
    names = [each.name for each in model.attributes]
    if form is Plain.JSON:
        errors = {",".join(names[axis] for axis in axes): error for axes, error in model.errors}
        about = {"table": model.table, "method": model.method, "rows": model.rows}
        truth = {} if distances is None else {"exact": {str(ways): distances.mean(ways) for ways in (1, 2, 3)}}
        show_json({**about, **payment(paid), "errors": errors, **truth})
        return
    summary = f"a model of {model.table}: {len(names)} columns, about {model.rows:,} rows, by {model.method}"
    print_paid(paid, summary, again="the same table")
    singles = [(names[axes[0]], f"{error:.1%}") for axes, error in model.errors if len(axes) == 1]
    print_table(("column", "expected distance"), singles, right=(1,))
    pairs = sorted(((error, axes) for axes, error in model.errors if len(axes) == 2), reverse=True)
    if pairs:
        print_lines("", f"of {len(pairs)} pairs that were measured, the worst:")
        lines = [(" × ".join(names[axis] for axis in axes), f"{error:.1%}") for error, axes in pairs[:_SHOWN]]
        print_table(("pair", "expected distance"), lines, right=(1,))
    print_lines(
        "",
        "distances are total variation, by the noise and by what the model is seen to miss; what lies within bins, and",
        "what contribution bounds cut, is not in them",
        dim=True,
    )
    if distances is not None:
        _show_exact(distances)
    for path in written:
        print_lines(f"wrote {path}")
    if not written:
        print_lines("nothing was written: add -o FILE, or --model FILE", dim=True)


def _show_exact(distances: ExactDistances) -> None:
    print_lines("", "exact distances from the table, for the curator alone: they are not private", "")
    lines = []
    for ways in (1, 2, 3):
        mean, worst = distances.mean(ways), distances.worst(ways, 1)
        if mean is not None:
            names, distance = worst[0]
            lines.append((str(ways), f"{mean:.2%}", f"{distance:.2%}", " × ".join(names)))
    print_table(("columns", "mean", "worst", "which"), lines, right=(0, 1, 2))


COMMANDS = (
    Command(
        "synthesise",
        synthesise,
        "synthetic rows of a table, paid for once",
        about=ABOUT,
        examples="""
  tacit synthesise visits --eps 1 --delta 1e-9 -o visits.parquet
  tacit synthesise visits --eps 1 --columns age,ward --as ana -o visits.csv --model visits.model
  tacit synthesise visits --eps 1 --explain
  tacit synthesise patients visits --eps 1 --delta 1e-9 -o clinic.parquet
""",
    ),
)
