"""The `tacit` command: its families of commands under one name, and help that teaches."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.faces.cli import anonymise, asking, books, calibration, owning, survey

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
SHORT = {
    "init": "draft a policy from names and types",
    "check": "hold the policy against its source",
    "calibrate": "measure what the policy does not say, at a price",
    "query": "ask one question",
    "explain": "the price and error of a question, free",
    "shell": "ask one question after another",
    "budget": "what is spent and left",
    "sql": "the owner's door: true rows",
    "demo": "the lectures' questions on a million rows, with a report",
}
EXAMPLES = {
    "init": """
  tacit init visits.parquet cities.csv
  tacit init clinic.duckdb -o clinic.toml --name clinic
""",
    "check": """
  tacit check -p clinic.toml
""",
    "calibrate": """
  tacit calibrate --epsilon 0.5 --explain
  tacit calibrate visits.max_rows visits.amount --epsilon 0.5 --write
  tacit calibrate visits.amount --epsilon 0.2 --grid visits.amount=0:2000:50
  tacit calibrate visits.city --epsilon 0.5 --delta 1e-7
""",
    "query": """
  tacit query --as ana "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits GROUP BY dept"
  tacit query --as ana "DP-SELECT 0.5 AVG(amount) FROM visits WHERE dept = ?" -v CS
  tacit query --as ana -f question.sql --format json
  tacit query --as ana --dummy "DP-SELECT 0.5 MEDIAN(age) FROM visits"
  tacit query --as ana --epsilon 0.1 "SELECT COUNT(*) FROM visits"
  tacit query --as ana --batch questions.sql --eps 1
""",
    "explain": """
  tacit explain --as ana "DP-SELECT 0.5 dept, AVG(amount) FROM visits GROUP BY dept"
  tacit explain --as ana --format json "DP-SELECT WITHIN 100 COUNT(*) FROM visits"
""",
    "shell": """
  tacit shell --as ana
  tacit shell --as ana < questions.sql
""",
    "budget": """
  tacit budget
  tacit budget --as ana --format json
""",
    "sql": """
  tacit sql "CREATE TABLE staff (id INTEGER, dep VARCHAR, salary INTEGER)"
  tacit sql "INSERT INTO staff VALUES (?, ?, ?)" -v 1 -v CS -v 35000
  tacit sql "SELECT * FROM staff WHERE dep = 'CS'"
  tacit sql -d new.duckdb "CREATE TABLE staff (id INTEGER)"
""",
    "demo": """
  tacit demo
  tacit demo ~/tacit-demo --rows 200000
""",
}

app = typer.Typer(
    name="tacit",
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
    """Build two databases of a million rows, ask the lectures' questions, and leave a report with pictures."""
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


def _register() -> None:
    commands = (
        owning.init,
        owning.check,
        calibration.calibrate,
        asking.query,
        asking.explain,
        asking.shell,
        books.budget,
        owning.sql,
        demo,
    )
    for command in commands:
        name = command.__name__
        help_text = f"{command.__doc__}\n\n\b\nExamples:{EXAMPLES[name]}"
        app.command(name, help=help_text, short_help=SHORT[name])(command)
    app.command("anonymise", help=anonymise.HELP, short_help=anonymise.SHORT)(anonymise.anonymise)
    app.add_typer(books.ledger, name="ledger")
    app.add_typer(survey.survey, name="survey")


_register()
