"""`tacit calibrate`: what the policy does not say, measured privately at a price."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.core import decimal_text
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table, working

if TYPE_CHECKING:
    from tacit.curator.calibrate import Calibration, CalibrationPlan, CalibrationStep


def calibrate(  # noqa: PLR0913 - the options of a command
    quantities: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="QUANTITY",
            help="visits.max_rows, visits.max_groups, visits.cut, visits.amount …; without any, all that is missing.",
            show_default=False,
        ),
    ] = None,
    *,
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="NUMBER", help="The whole price.")],
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="NUMBER", help="For domains: the chance that a rare key is told.")
    ] = None,
    coverage: Annotated[
        str, typer.Option("--coverage", metavar="SHARE", help="The share of units that caps and bounds leave whole.")
    ] = "0.95",
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="COLUMN=LOWER:UPPER:STEP", help="Where to look for a column's bounds."),
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the results into the policy.")] = False,
    plan: Annotated[bool, typer.Option("--explain", help="Say what would be measured and paid, free.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure anew and pay again, even if it was done before.")
    ] = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Measure caps, bounds and domains privately, at a price that is on record; --write puts them into the policy."""
    from tacit.faces import owner
    from tacit.faces.owner.writing import write_over

    owner.refuse_analyst(analyst, "calibration")
    names, grids = quantities or [], _grids(grid or [])
    if plan:
        planned = owner.explain_calibration(
            policy, *names, epsilon=epsilon, delta=delta, coverage=coverage, grids=grids
        )
        _show_plan(planned, form)
        return
    with working("measuring"):
        calibrated = owner.calibrate(
            policy, *names, epsilon=epsilon, delta=delta, coverage=coverage, grids=grids, fresh=fresh
        )
    _show_result(calibrated.result, calibrated.diff.splitlines(), form)
    if write:  # what was paid for is shown before anything can fail
        write_over(policy, calibrated.text)
    if form is Plain.TABLE:
        print_lines(_next_step(policy, written=write))
        if any(item.target.quantity.value in {"max_rows", "max_groups"} for item in calibrated.result.measured):
            print_lines(
                "What these bounds cut can be measured next: tacit calibrate TABLE.cut, and answers will say so."
            )


def _next_step(policy: Path, *, written: bool) -> str:
    if written:
        return f"wrote {policy}. Its version is new: answers given under the old one are not reused."
    return "Nothing is written yet: the same command with --write writes it, free. --fresh would measure anew."


def _grids(texts: list[str]) -> dict[str, str]:
    return {name: rest for name, _, rest in (text.partition("=") for text in texts)}


def _show_plan(planned: CalibrationPlan, form: Plain) -> None:
    from tacit.faces.formatting import show_json

    if form is Plain.TABLE:
        rows = [(str(step.target), str(step.loss), _expected(step)) for step in planned.steps]
        print_table(("quantity", "price", "expected error of the noise, 95% of the time"), rows)
        print_lines("", f"the price is {planned.loss}, from the total budget")
        return
    steps = [
        {
            "quantity": str(step.target),
            "epsilon": decimal_text(step.loss.epsilon),
            "delta": decimal_text(step.loss.delta),
            "error": _expected(step),
        }
        for step in planned.steps
    ]
    price = {"epsilon": decimal_text(planned.loss.epsilon), "delta": decimal_text(planned.loss.delta)}
    show_json({**price, "quantities": steps, "sql": ";\n".join(text for step in planned.steps for text in step.sql)})


def _expected(step: CalibrationStep) -> str:
    """How far off a result may be, from public numbers alone."""
    if step.keys is not None and step.keys.selection is not None:
        return f"keys that fewer than about {step.keys.selection.threshold} units have are left out"
    if step.cut is not None:
        units = max(
            noise.error(Fraction(95, 100)) / move for noise, move in zip(step.cut.noises, step.cut.moves, strict=True)
        )
        return f"within what {math.ceil(units):,} units bring"
    if step.noise is None:
        return ""
    ranks = step.noise.error(Fraction(95, 100), candidates=len(step.target.edges) + 1) / step.share.denominator
    enough = ranks / min(step.share, 1 - step.share)  # so that it does not miss all that lies beyond the rank
    return f"within {math.ceil(ranks):,} units of the wanted rank: of use with {math.ceil(enough):,} units or more"


def _show_result(result: Calibration, diff: list[str], form: Plain) -> None:
    from tacit.faces.formatting import show_json

    rows = [(str(item.target), _value(item.value, at_end=item.at_end), str(item.loss)) for item in result.measured]
    if form is Plain.TABLE:
        print_table(("quantity", "value", "price"), rows)
        paid = "free: measured before" if result.reused else f"cost {result.loss}, from the total budget"
        print_lines("", f"{paid}; ledger entry {result.entry[:16]}", "", *diff, "")
        return
    show_json(
        {
            "epsilon": decimal_text(result.loss.epsilon),
            "delta": decimal_text(result.loss.delta),
            "reused": result.reused,
            "measured": [{"quantity": name, "value": value, "price": price} for name, value, price in rows],
            "diff": "\n".join(diff),
            "entry": result.entry,
        }
    )


def _value(value: object, *, at_end: bool) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], Fraction):
        rows, units = (f"{float(share):.1%}" for share in value)
        return f"{rows} of the rows, {units} of the units"
    if isinstance(value, tuple):
        return f"{len(value)} keys" if value else "no key is shared by enough units"
    text = decimal_text(Fraction(value)) if isinstance(value, int | Fraction) else str(value)
    return f"{text}, at the end of its grid" if at_end else text


COMMANDS = (
    Command(
        "calibrate",
        calibrate,
        "measure what the policy does not say, at a price",
        examples="""
  tacit calibrate --epsilon 0.5 --explain
  tacit calibrate visits.max_rows visits.amount --epsilon 0.5 --write
  tacit calibrate visits.amount --epsilon 0.2 --grid visits.amount=0:2000:50
  tacit calibrate visits.city --epsilon 0.5 --delta 1e-7
""",
    ),
)
