"""`tacit synthesise`: rows that nobody is behind, drawn from a model that paid for noisy marginals once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.core import decimal_text
from tacit.faces.cli.anonymising.making import progress_bar
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.synthesise import ExactDistances, Synthesised, SynthesisPlan

ABOUT = """Make synthetic rows of a table: a model is fitted to noisy marginals, and rows are drawn from it.

The price is paid once, by the analyst named with --as, or else from the dataset's total: that is the owner's act. The
same table at no higher a price is then free, unless --fresh. Each column needs a public domain in the policy: listed
values, a range, or bounds. The report says how far each column is expected from the truth by its noise alone.
"""
_SHOWN = 12  # pairs in the report


def synthesise(  # noqa: PLR0913 - the options of a command
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table of the policy.")],
    *,
    epsilon: Annotated[str, typer.Option("--epsilon", "--eps", "-e", metavar="NUMBER", help="The whole price.")],
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="NUMBER", help="The delta; else the policy's default_delta.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="A,B,…", help="Only these columns.", show_default=False)
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
    plan: Annotated[bool, typer.Option("--explain", help="Say what would be counted and paid, free.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Pay again, even if a model is kept.")] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="The owner's: how far the rows are from the truth. Not private.")
    ] = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Make synthetic rows of a table: see ABOUT."""
    from tacit.faces.opening import open_policy
    from tacit.faces.owner import compare, refuse_analyst
    from tacit.policy import load_policy
    from tacit.release.synthesise import SynthesisRequest, owner_of, writable

    if exact:
        refuse_analyst(analyst, "the exact report")
    if output is not None:
        writable(output)
    _refuse_to_overwrite(model)
    declared = load_policy(policy)
    who = owner_of(declared) if analyst is None else declared.analyst(analyst)
    named = tuple(part.strip() for part in (columns or "").split(",") if part.strip())
    request = SynthesisRequest(table, epsilon, delta, named, method, fresh)
    opened = open_policy(declared)
    with closing(opened.curator):
        if plan:
            _show_plan(opened.synthesise().plan(request), form)
            return
        with progress_bar("synthesising") as progress:
            synthesised = opened.synthesise().synthesise(request, who, progress=progress)
    if model is not None:
        synthesised.model.save(model)
    if output is not None:
        synthesised.model.sample(rows).write(output)
    distances = compare(declared, synthesised.model) if exact else None
    _show(synthesised, form, written=[path for path in (output, model) if path is not None], distances=distances)


def _refuse_to_overwrite(model: Path | None) -> None:
    from tacit.errors import InvalidParameter

    if model is not None and model.exists():
        raise InvalidParameter(f"{model.name} is there already: it is not overwritten", hint="write elsewhere")


def _show_plan(plan: SynthesisPlan, form: Plain) -> None:
    from tacit.faces.formatting import show_json

    counted = plan.counted
    if form is Plain.JSON:
        cells = {each.name: each.cells for each in counted.attributes}
        price = {"epsilon": decimal_text(plan.loss.epsilon), "delta": decimal_text(plan.loss.delta)}
        show_json({"table": counted.table, "method": plan.method, "cells": cells, **price, "rho": float(plan.rho)})
        return
    print_lines(f"would cost {plan.loss} (ρ = {float(plan.rho):.4g}), by {plan.method}", "")
    lines = [(each.name, str(each.kind), f"{each.cells:,}") for each in counted.attributes]
    print_table(("column", "type", "cells"), lines, right=(2,))
    bounded = counted.sensitivity // counted.weight
    print_lines("", f"counted: {len(counted.plans)} marginals, at most {bounded} rows of a unit in each", dim=True)


def _show(synthesised: Synthesised, form: Plain, *, written: list[Path], distances: ExactDistances | None) -> None:
    from tacit.faces.formatting import show_json

    model = synthesised.model
    names = [each.name for each in model.attributes]
    if form is Plain.JSON:
        errors = {",".join(names[axis] for axis in axes): error for axes, error in model.errors}
        price = {"epsilon": decimal_text(synthesised.cost.epsilon), "delta": decimal_text(synthesised.cost.delta)}
        about = {"table": model.table, "method": model.method, "rows": model.rows}
        truth = {} if distances is None else {"exact": {str(ways): distances.mean(ways) for ways in (1, 2, 3)}}
        show_json({**about, **price, "reused": synthesised.reused, "entry": model.entry, "errors": errors, **truth})
        return
    paid = "reused: the same table, free" if synthesised.reused else f"cost {synthesised.cost}"
    print_lines(
        f"a model of {model.table}: {len(names)} columns, about {model.rows:,} rows, by {model.method}; {paid}", ""
    )
    singles = [(names[axes[0]], f"{error:.1%}") for axes, error in model.errors if len(axes) == 1]
    print_table(("column", "expected distance"), singles, right=(1,))
    pairs = sorted(((error, axes) for axes, error in model.errors if len(axes) == 2), reverse=True)
    if pairs:
        print_lines("", f"of {len(pairs)} pairs that were measured, the worst:")
        lines = [(" × ".join(names[axis] for axis in axes), f"{error:.1%}") for error, axes in pairs[:_SHOWN]]
        print_table(("pair", "expected distance"), lines, right=(1,))
    print_lines(
        "", "distances are total variation, by the noise alone; what contribution bounds cut is not in them", dim=True
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
""",
    ),
)
