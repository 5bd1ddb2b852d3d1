"""`tacit anonymise`: make a table publishable the classical way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidParameter
from tacit.faces.cli.anonymising import flags as flag
from tacit.faces.cli.anonymising import options as read
from tacit.faces.cli.anonymising.flags import Distance, Diversity, Method
from tacit.faces.cli.options import Analyst, PlainOption
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import console, print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.anonymise import Anonymised, Request

ABOUT = """Make a table publishable with respect to the columns somebody could know: k-anonymity and its family.

This is the owner's act, and not differential privacy: with --policy it is put on record in the ledger as a disclosure
of exact values. Columns without a role are left out; so name identifiers nowhere, or under --pseudonym.

With --policy the table may be one of its source, on any engine: the engine groups the rows, and only the different
ones travel, with how often each occurs.

k counts rows; it counts people only where each person has one row. So name the column that says whose a row is under
--unit (a table of a policy has one already, and so has one with one --pseudonym): a table in which somebody has several
rows is refused, unless --unit row says that rows are what you mean to count.

tacit anonymise check TABLE says which k, l and t a table has as it stands.
"""


def anonymise(  # noqa: PLR0913 - the options of a command
    table: flag.Table,
    *,
    qi: flag.QuasiIdentifiers,
    sensitive: flag.Sensitive = None,
    keep: flag.Keep = None,
    pseudonym: flag.Pseudonym = None,
    unit: flag.Unit = None,
    key_file: flag.KeyFile = None,
    k: flag.K = None,
    l: flag.L = None,  # noqa: E741 - the model's own name for it
    diversity: flag.HowDiverse = Diversity.DISTINCT,
    c: flag.C = None,
    t: flag.T = None,
    distance: flag.HowFar = Distance.EQUAL,
    alpha: flag.Alpha = None,
    beta: flag.Beta = None,
    k_map: flag.PopulationK = None,
    presence: flag.Presence = None,
    population: flag.Population = None,
    population_size: flag.PopulationSize = None,
    method: flag.HowMade = Method.GREEDY,
    hierarchies: flag.Hierarchies = None,
    bands: flag.BandsOf = None,
    prefix: flag.PrefixOf = None,
    top: flag.Top = None,
    bottom: flag.Bottom = None,
    grid: flag.GridOf = None,
    suppress: flag.Suppress = 0.0,
    output: flag.TableOutput = None,
    report: flag.ReportFile = None,
    true_rows: flag.TrueRows = False,
    policy: flag.RecordPolicy = None,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Make a table publishable: see ABOUT."""
    from tacit.faces.owner import refuse_analyst
    from tacit.release.anonymise import Request, Roles, wanted_of

    refuse_analyst(analyst, "anonymising")
    request = Request(
        roles=Roles(**read.roles(qi=qi, sensitive=sensitive, pseudonym=pseudonym, keep=keep)),
        wanted=wanted_of(
            (), k=k, k_map=k_map, presence=read.presence(presence), l=l, diversity=diversity.value, c=c, t=t,
            distance=distance.value, beta=beta, alpha=alpha,
        ),
        method=method.value, hierarchies=read.hierarchies(hierarchies, bands or [], prefix or []),
        top=read.ends(top, "--top"), bottom=read.ends(bottom, "--bottom"), grids=read.grids(grid),
        suppression=suppress, unit=unit,
    )  # fmt: skip
    _refuse_places(output, report)
    key = read.key(key_file)
    result = _run(table, request, key=key, population=population, population_size=population_size, policy=policy)
    _hand_over(result, output, report, title=Path(table).name, true_rows=true_rows)
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

    with progress_bar("anonymising") as progress:
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
    from tacit.faces.formatting import show_json

    measured = result.report
    if form is Plain.JSON:
        show_json(plain_report(measured))
        return
    print_lines(f"every class satisfies {', '.join(measured.models)}: recomputed from the published table", "")
    print_lines(counted_words(measured.unit), "", dim=True)
    print_table(("what it costs", ""), cost_rows(measured), right=(1,))
    columns = [
        (c.name, f"{c.ncp:.2%}", f"{c.entropy_loss:.1%}", f"{c.values:,}", f"{c.cells:,}")
        for c in measured.utility.columns
    ]
    print_lines("")
    print_table(("column", "loss", "entropy lost", "values", "cells"), columns, right=(1, 2, 3, 4))
    print_lines("")
    print_table(("what can be found out", "before", "after"), risk_rows(measured), right=(1, 2))
    print_lines("")
    if measured.left_out:
        print_lines(f"left out, having no role: {', '.join(measured.left_out)}", dim=True)
    for said in (*kept_words(measured), recorded_words(measured)):
        print_lines(said, dim=True)
    for said in earlier_words(measured):
        print_lines(f"warning: {said}")
    for path in (output, report):
        if path is not None:
            print_lines(f"wrote {path}")
    if output is None:
        print_lines("nothing was written: add -o FILE", dim=True)
    print_lines(f"note: {NOT_DP}; tables like this one can be intersected, and homogeneous classes tell", dim=True)


def _hand_over(result: Anonymised, output: Path | None, report: Path | None, *, title: str, true_rows: bool) -> None:
    """Write the table and the page about it, where they are asked for."""
    from tacit.faces.anonymise.page import page
    from tacit.faces.owner.writing import write_new

    if output is not None:
        result.write(output)
    if report is not None:
        write_new(report, page(result, title=title, true_rows=true_rows))


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
def progress_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A bar on standard error, if a person is looking."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    shown = (TextColumn(what), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*shown, console=console(error=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda done: bar.update(task, completed=done)


COMMANDS = (
    Command(
        "anonymise",
        anonymise,
        "publish a table by k-anonymity and its family",
        about=ABOUT,
        examples="""
  tacit anonymise staff.csv --qi age,postcode,sex --sensitive illness -k 5 -l 2 -o public.csv
  tacit anonymise staff.parquet --qi age,postcode -s illness -k 10 -t 0.3 -o public.parquet --report report.html
  tacit anonymise staff.csv --qi weight,postcode -k 2 --bands weight=60,80,+ --prefix postcode=1 -m optimal -o a.csv
  tacit anonymise visits --policy tacit.toml --qi age,city -k 5 --hierarchies levels.toml -o public.parquet
""",
    ),
)
