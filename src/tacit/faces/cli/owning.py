"""`tacit init`, `tacit check` and `tacit sql`: the owner's commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import PolicyError
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
from tacit.faces.formats import Format, Plain
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
    from tacit.faces.owner import draft, write_new

    with working("reading names and types"):
        text = draft(data, policy=output, name=name)
    write_new(output, text)
    print_lines(
        f"wrote {output}", 'Fill in every "?", then: tacit check' + ("" if output == POLICY else f" -p {output}")
    )


def check(*, policy: PolicyFile = POLICY, analyst: Analyst = None, form: PlainOption = Plain.TABLE) -> None:
    """Hold the policy against its source, and say what does not fit."""
    from tacit.faces.owner import examine, refuse_analyst
    from tacit.faces.shown import show_json

    refuse_analyst(analyst, "a look at the source")
    with working("checking"):
        declared, found = examine(policy)
    errors = [finding for finding in found if str(finding.level) == "error"]
    if form is Plain.JSON:
        version = None if declared is None else declared.version
        show_json({"policy": version, "findings": [_plain(finding) for finding in found]})
    elif found:
        print_table(
            ("", "where and what", "what to do"),
            [(str(finding.level), finding.message, finding.hint) for finding in found],
        )
    if errors:
        first = errors[0]
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise PolicyError(f"the policy has {count}: {first.message}", hint=first.hint)
    if form is Plain.TABLE and declared is not None:
        print_lines(f"{policy.name} fits its source. Its version is {declared.version[:16]}.")


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
    form: FormatOption = Format.TABLE,
    file: QuestionFile = None,
    param: Values = None,
    output: Output = None,
) -> None:
    """Run the owner's SQL on the data themselves: true values, no privacy. Refused to analysts."""
    from tacit.faces.owner import direct, refuse_analyst
    from tacit.faces.shown import check_format, show_rows

    refuse_analyst(analyst, "direct look-up")
    check_format(form, output)
    typed = sql_text(text, file)
    with working("running"):
        columns, rows = direct(policy, database, sql=typed, parameters=_bound(param))
    show_rows(columns, rows, form, output=output)


def _bound(param: list[str] | None) -> list[object]:
    """Values as the engine binds them: a decimal by its digits."""
    from fractions import Fraction

    return [float(value) if isinstance(value, Fraction) else value for value in typed_values(param or [])]
