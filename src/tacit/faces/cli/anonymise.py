"""`tacit anonymise`: make a table publishable the classical way, or check what one is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.cli import anonymise_options as read
from tacit.faces.cli.options import Analyst, PlainOption
from tacit.faces.formats import Plain
from tacit.faces.terminal import console, print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.anonymise import Anonymised, Request

HELP = """Make a table publishable with respect to the columns somebody could know: k-anonymity and its family.

This is the owner's act, and not differential privacy: with --policy it is put on record in the ledger as a disclosure
of exact values. Columns without a role are left out; so name identifiers nowhere, or under --pseudonym.

With --policy the table may be one of its source, on any engine: the engine groups the rows, and only the different
ones travel, with how often each occurs.

k counts rows; it counts people only where each person has one row. So name the column that says whose a row is under
--unit (a table of a policy has one already, and so has one with one --pseudonym): a table in which somebody has several
rows is refused, unless --unit row says that rows are what you mean to count.

tacit anonymise check TABLE says which k, l and t a table has as it stands. With -k, -l or -t it is a verdict: exit
code 0 if the table has them, 1 if not.

\b
Examples:
  tacit anonymise staff.csv --qi age,postcode,sex --sensitive illness -k 5 -l 2 -o public.csv
  tacit anonymise staff.parquet --qi age,postcode -s illness -k 10 -t 0.3 -o public.parquet --report report.html
  tacit anonymise staff.csv --qi weight,postcode -k 2 --bands weight=60,80,+ --prefix postcode=1 -m optimal -o a.csv
  tacit anonymise visits --policy tacit.toml --qi age,city -k 5 --hierarchies levels.toml -o public.parquet
  tacit anonymise check public.csv --qi age,postcode,sex --sensitive illness -k 5 -l 2
"""
SHORT = "publish a table by k-anonymity and its family, or check one"


class Method(StrEnum):
    """How the classes are found."""

    GREEDY = "greedy"
    STRICT = "strict"
    RELAXED = "relaxed"
    OPTIMAL = "optimal"
    LOCAL = "local"
    MICROAGGREGATE = "microaggregate"


class Diversity(StrEnum):
    """What l counts."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


class Distance(StrEnum):
    """How far two sensitive values are apart."""

    EQUAL = "equal"
    ORDERED = "ordered"
    HIERARCHICAL = "hierarchical"


def anonymise(  # noqa: PLR0913 - the options of a command
    context: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[check] TABLE", help="A Parquet, CSV or JSON file; with --policy also a table of its source."
        ),
    ],
    *,
    qi: Annotated[
        list[str], typer.Option("--qi", metavar="COLUMNS", help="The quasi-identifiers: what others may know.")
    ],
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", "-s", metavar="COLUMNS", help="What nobody shall learn.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COLUMNS", help="Publish these as they are.")
    ] = None,
    pseudonym: Annotated[
        list[str] | None, typer.Option("--pseudonym", metavar="COLUMNS", help="Identifiers, as a keyed hash.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option("--unit", metavar="COLUMN", help="Whose a row is: one row each, or it is refused. row: any."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", help="The hash's key; else a random one, used once and forgotten."),
    ] = None,
    k: Annotated[
        int | None, typer.Option("-k", metavar="NUMBER", help="Rows that share their cells, at least.")
    ] = None,
    l: Annotated[  # noqa: E741 - the model's own name for it
        float | None, typer.Option("-l", metavar="NUMBER", help="Sensitive values in each class, at least.")
    ] = None,
    diversity: Annotated[Diversity, typer.Option("--diversity", help="How l counts them.")] = Diversity.DISTINCT,
    c: Annotated[float | None, typer.Option("-c", metavar="NUMBER", help="The c of recursive diversity.")] = None,
    t: Annotated[
        float | None, typer.Option("-t", metavar="NUMBER", help="How far a class may be from the table, 0 to 1.")
    ] = None,
    distance: Annotated[Distance, typer.Option("--distance", help="How t measures that.")] = Distance.EQUAL,
    alpha: Annotated[
        float | None, typer.Option("--alpha", metavar="SHARE", help="The most one value may be of a class.")
    ] = None,
    beta: Annotated[
        float | None, typer.Option("--beta", metavar="NUMBER", help="The most a value may gain in a class.")
    ] = None,
    k_map: Annotated[
        int | None, typer.Option("--k-map", metavar="NUMBER", help="People of the population each row fits, at least.")
    ] = None,
    presence: Annotated[
        str | None,
        typer.Option("--presence", metavar="LOW:HIGH", help="Of those people, the share that is in the table."),
    ] = None,
    population: Annotated[
        Path | None, typer.Option("--population", metavar="FILE", help="Everybody the table could have held.")
    ] = None,
    population_size: Annotated[
        int | None, typer.Option("--population-size", metavar="COUNT", help="How many that is, for an estimate.")
    ] = None,
    method: Annotated[Method, typer.Option("--method", "-m", help="How classes are found.")] = Method.GREEDY,
    hierarchies: Annotated[
        Path | None, typer.Option("--hierarchies", metavar="FILE", help="Levels of columns, in TOML.")
    ] = None,
    bands: Annotated[
        list[str] | None, typer.Option("--bands", metavar="COLUMN=10/20", help="Half-open bands; or edges, 60,80,+.")
    ] = None,
    prefix: Annotated[
        list[str] | None, typer.Option("--prefix", metavar="COLUMN=3,2,1", help="Leading characters that stay.")
    ] = None,
    top: Annotated[
        list[str] | None, typer.Option("--top", metavar="COLUMN=80", help="One cell, 80+, from there up; or a date.")
    ] = None,
    bottom: Annotated[
        list[str] | None,
        typer.Option("--bottom", metavar="COLUMN=20", help="One cell, <=20, from there down; or a date."),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="COLUMN=5", help="Where intervals may end: every 5; of dates month, year, …"),
    ] = None,
    suppress: Annotated[
        float, typer.Option("--suppress", metavar="SHARE", help="The share of rows that may be left out.")
    ] = 0.0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where the table goes: Parquet or CSV.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="A page with pictures, for the owner's eyes.")
    ] = None,
    true_rows: Annotated[
        bool, typer.Option("--true-rows", help="Show rows as they were on that page, beside published ones.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", metavar="FILE", help="Put it on record in this policy's ledger.")
    ] = None,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """See HELP."""
    from tacit.faces.owner import refuse_analyst

    refuse_analyst(analyst, "anonymising")
    quasi, secrets = read.names(qi), read.names(sensitive)
    if words[0] == "check" and len(words) <= 2:
        from tacit.faces.cli.anonymise_check import Asked, checked

        asked = Asked(
            k=k,
            l=l,
            t=t,
            diversity=diversity.value,
            distance=distance.value,
            unit=unit,
            hierarchies=read.hierarchies(hierarchies, bands or [], prefix or []),
        )
        code = checked(
            words[1:], quasi, context=context, sensitive=secrets, asked=asked,
            population_size=population_size, policy=policy, form=form,
        )  # fmt: skip
        raise typer.Exit(code)
    if len(words) != 1:
        raise InvalidParameter(f"one table at a time: got {len(words)} words", hint="tacit anonymise --help shows how")
    from tacit.release.anonymise import Request, Roles, Wanted

    request = Request(
        roles=Roles(
            quasi_identifiers=quasi, sensitive=secrets, pseudonyms=read.names(pseudonym), keep=read.names(keep)
        ),
        wanted=Wanted(
            k=k, k_map=k_map, presence=read.presence(presence), l=l, diversity=diversity.value, c=c, t=t,
            distance=distance.value, beta=beta, alpha=alpha,
        ),
        method=method.value,
        hierarchies=read.hierarchies(hierarchies, bands or [], prefix or []),
        top=read.ends(top, "--top"),
        bottom=read.ends(bottom, "--bottom"),
        grids=read.grids(grid),
        suppression=suppress,
        unit=unit,
    )  # fmt: skip
    _refuse_places(output, report)
    result = _run(
        words[0], request, key=read.key(key_file), population=population, population_size=population_size, policy=policy
    )
    if output is not None:
        result.write(output)
    if report is not None:
        _write_page(result, report, title=Path(words[0]).name, true_rows=true_rows)
    _show(result, form, output=output, report=report)


def _run(
    table: str,
    request: Request,
    *,
    key: bytes | None,
    population: Path | None,
    population_size: int | None,
    policy: Path | None,
) -> Anonymised:
    from tacit.policy import load_policy
    from tacit.release.anonymise import anonymise_source, open_named

    declared = None if policy is None else load_policy(policy)

    with _progress("anonymising") as progress:
        result = anonymise_source(
            lambda: open_named(table, declared), request, name=Path(table).name, key=key, population=population,
            population_size=population_size, policy=declared, progress=progress,
        )  # fmt: skip
        _ = result.report
    return result


def _show(result: Anonymised, form: Plain, *, output: Path | None, report: Path | None) -> None:
    from tacit.faces.anonymise.findings import (
        NOT_DP,
        cost_rows,
        counted_words,
        earlier_words,
        kept_words,
        plain_report,
        recorded_words,
        risk_rows,
    )
    from tacit.faces.shown import show_json

    made = result.report
    if form is Plain.JSON:
        show_json(plain_report(made))
        return
    print_lines(f"every class satisfies {', '.join(made.models)}: recomputed from the published table", "")
    print_lines(counted_words(made.unit), "", dim=True)
    print_table(("what it costs", ""), cost_rows(made), right=(1,))
    columns = [
        (c.name, f"{c.ncp:.2%}", f"{c.entropy_loss:.1%}", f"{c.values:,}", f"{c.cells:,}") for c in made.utility.columns
    ]
    print_lines("")
    print_table(("column", "loss", "entropy lost", "values", "cells"), columns, right=(1, 2, 3, 4))
    print_lines("")
    print_table(("what can be found out", "before", "after"), risk_rows(made), right=(1, 2))
    print_lines("")
    if made.left_out:
        print_lines(f"left out, having no role: {', '.join(made.left_out)}", dim=True)
    for said in (*kept_words(made), recorded_words(made)):
        print_lines(said, dim=True)
    for said in earlier_words(made):
        print_lines(f"warning: {said}")
    for path in (output, report):
        if path is not None:
            print_lines(f"wrote {path}")
    if output is None:
        print_lines("nothing was written: add -o FILE", dim=True)
    print_lines(f"note: {NOT_DP}; tables like this one can be intersected, and homogeneous classes tell", dim=True)


def _write_page(result: Anonymised, path: Path, *, title: str, true_rows: bool) -> None:
    from tacit.faces.anonymise.page import page
    from tacit.faces.owner.writing import write_new

    write_new(path, page(result, title=title, true_rows=true_rows))


def _refuse_places(output: Path | None, report: Path | None) -> None:
    """Before a row is read, and before the act is on record."""
    from tacit.release.anonymise import writable

    if output is not None:
        writable(output)
    if report is None:
        return
    if report.exists():
        raise InvalidParameter(f"{report.name} is there already: it is not overwritten", hint="write elsewhere")
    if not report.absolute().parent.is_dir():
        raise InvalidParameter(f"{report.name} cannot be written", hint="check that its folder is there")


@contextmanager
def _progress(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error, if a person is looking."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    shown = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*shown, console=console(error=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)
