"""`tacit init`, `tacit check` and `tacit sql`: the owner's commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.faces.cli.options import (
    POLICY,
    Analyst,
    FormatOption,
    Output,
    PlainOption,
    PolicyFile,
    Question,
    QuestionFile,
    Values,
)
from tacit.faces.cli.values import sql_text, typed_values
from tacit.faces.commands import Command
from tacit.faces.formats import OutputFormat, Plain
from tacit.faces.terminal import print_lines, print_table, working

if TYPE_CHECKING:
    from tacit.policy import Finding


def init(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...", help="A .duckdb or .sqlite file; Parquet, CSV and JSON files; or postgresql://host/db."
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where the policy goes.")] = POLICY,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The dataset's name, which its ledger account goes by.")
    ] = None,
) -> None:
    """Draft a policy from the names and types of columns; what you must decide is left blank.

    No row is looked at, but for CSV and JSON files, which have no types: there all of them are, and the draft says so.
    """
    from tacit.faces import owner

    with working("reading names and types"):
        owner.draft(*data, output=output, name=name)
    print_lines(
        f"wrote {output}", 'Fill in every "?", then: tacit check' + ("" if output == POLICY else f" -p {output}")
    )


def check(*, policy: PolicyFile = POLICY, analyst: Analyst = None, form: PlainOption = Plain.TABLE) -> None:
    """Hold the policy against its source, and say what does not fit."""
    from tacit.faces import owner
    from tacit.faces.formatting import show_json

    owner.refuse_analyst(analyst, "a look at the source")
    with working("checking"):
        checked = owner.check(policy)
    version = None if checked.policy is None else checked.policy.version
    if form is Plain.JSON:
        show_json({"policy": version, "findings": [_plain(finding) for finding in checked.findings]})
    elif checked.findings:
        print_table(
            ("", "where and what", "what to do"),
            [(str(finding.level), finding.message, finding.hint) for finding in checked.findings],
        )
    checked.refuse()
    if form is Plain.TABLE and version is not None:
        print_lines(f"{policy.name} fits its source. Its version is {version[:16]}.")


def _plain(finding: Finding) -> dict[str, str]:
    return {"level": str(finding.level), "message": finding.message, "hint": finding.hint}


def sql(
    text: Question = None,
    *,
    policy: PolicyFile = POLICY,
    database: Annotated[
        Path | None, typer.Option("--database", "-d", metavar="FILE", help="A DuckDB file that has no policy yet.")
    ] = None,
    analyst: Analyst = None,
    form: FormatOption = OutputFormat.TABLE,
    file: QuestionFile = None,
    param: Values = None,
    output: Output = None,
) -> None:
    """Run the owner's SQL on the data themselves: true values, no privacy. Refused to analysts."""
    from tacit.faces.formatting import check_format, show_rows
    from tacit.faces.owner import refuse_analyst
    from tacit.faces.owner.direct import direct
    from tacit.policy import load_policy

    refuse_analyst(analyst, "direct look-up")
    check_format(form, output)
    typed = sql_text(text, file)
    with working("running"):
        columns, rows = direct(database or load_policy(policy), typed, _bound(param))
    show_rows(columns, rows, form, output=output)


def _bound(param: list[str] | None) -> list[object]:
    """Values as the engine binds them: a decimal by its digits."""
    from fractions import Fraction

    return [float(value) if isinstance(value, Fraction) else value for value in typed_values(param or [])]


COMMANDS = (
    Command(
        "init",
        init,
        "draft a policy from names and types",
        examples="""
  tacit init visits.parquet cities.csv
  tacit init clinic.duckdb -o clinic.toml --name clinic
""",
    ),
    Command(
        "check",
        check,
        "hold the policy against its source",
        examples="""
  tacit check -p clinic.toml
""",
    ),
    Command(
        "sql",
        sql,
        "the owner's door: true rows",
        examples="""
  tacit sql "CREATE TABLE staff (id INTEGER, dep VARCHAR, salary INTEGER)"
  tacit sql "INSERT INTO staff VALUES (?, ?, ?)" -v 1 -v CS -v 35000
  tacit sql "SELECT * FROM staff WHERE dep = 'CS'"
  tacit sql -d new.duckdb "CREATE TABLE staff (id INTEGER)"
""",
    ),
)
