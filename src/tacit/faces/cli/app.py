"""The `tacit` command: its families of commands under one name, and help that teaches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.faces.cli import (
    analysts,
    asking,
    attacking,
    auditing,
    calibration,
    fitting,
    ledger_admin,
    models,
    owning,
    publishing,
    serving,
    survey,
    workloads,
)
from tacit.faces.cli.anonymising import checking as anonymise_check
from tacit.faces.cli.anonymising import making as anonymise
from tacit.faces.cli.registering import CommandGroup, family, register
from tacit.faces.commands import Command

ABOUT = """\
The trusted curator in front of a database: analysts ask in SQL, the people in the data stay private.

\b
A first hour:
  tacit init visits.parquet                                    draft a policy
  tacit check                                                  does it fit?
  tacit explain --as ana "DP-SELECT 0.5 COUNT(*) FROM visits"  the price
  tacit query --as ana "DP-SELECT 0.5 COUNT(*) FROM visits"    the answer
  tacit budget                                                 what is left

tacit demo shows it all on a million made-up rows.
"""
app = typer.Typer(
    name="tacit",
    cls=CommandGroup,
    help=ABOUT,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


def demo(
    directory: Annotated[
        Path | None, typer.Argument(metavar="[DIRECTORY]", help="Where to put it; a new temporary one if left out.")
    ] = None,
    *,
    rows: Annotated[int, typer.Option("--rows", metavar="COUNT", help="How many rows each database has.")] = 1_000_000,
) -> None:
    """Build two databases of a million rows, ask textbook questions, and leave a report with pictures."""
    from tacit.faces.demo.tour import run_demo

    run_demo(directory, rows=rows)


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Nothing of its own but help and version."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"tacit {installed('tacit')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


DEMO = Command(
    "demo",
    demo,
    "textbook questions on a million rows, with a report",
    examples="""
  tacit demo
  tacit demo ~/tacit-demo --rows 200000
""",
)
FAMILIES = (
    *(owning, calibration, asking, ledger_admin, serving, anonymise, anonymise_check, attacking, auditing, models),
    *(publishing, workloads, fitting),
)
for _family in FAMILIES:
    register(app, _family.COMMANDS)
register(app, (DEMO,))
app.add_typer(
    family(
        "ledger",
        "Look at the ledger, prove it, or accept it after a loss.",
        short="the entries, and the proof that they are whole",
        commands=ledger_admin.LEDGER,
    )
)
app.add_typer(
    family(
        "survey",
        survey.ABOUT,
        short="ask on a web page; browsers randomise, nobody is trusted",
        commands=survey.COMMANDS,
    )
)
app.add_typer(
    family(
        "analyst",
        analysts.ABOUT,
        short="who may come in through the doors of tacit serve",
        commands=analysts.COMMANDS,
    )
)
