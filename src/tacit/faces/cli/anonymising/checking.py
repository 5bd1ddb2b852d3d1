"""`tacit anonymise check`: which k, l and t a table has, and whether that is enough."""

from __future__ import annotations

from pathlib import Path

import typer

from tacit.faces.cli.anonymising import flags as flag
from tacit.faces.cli.anonymising import options as read
from tacit.faces.cli.anonymising.flags import CountedDiversity, Distance
from tacit.faces.cli.options import Analyst, PlainOption
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

FAILS = 1  # the exit code of a table that has not what was asked; errors have others


def check(  # noqa: PLR0913 - the options of a command
    table: flag.Table,
    *,
    qi: flag.QuasiIdentifiers,
    sensitive: flag.Sensitive = None,
    unit: flag.Unit = None,
    k: flag.K = None,
    l: flag.L = None,  # noqa: E741 - the model's own name for it
    diversity: flag.HowDiverseThere = CountedDiversity.DISTINCT,
    t: flag.T = None,
    distance: flag.HowFar = Distance.EQUAL,
    hierarchies: flag.Hierarchies = None,
    bands: flag.BandsOf = None,
    prefix: flag.PrefixOf = None,
    population_size: flag.PopulationSize = None,
    policy: flag.SourcePolicy = None,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Say which k, l and t a table has as it stands; nothing is changed or written.

    With -k, -l or -t it is a verdict: exit code 0 if the table has them, 1 if not.
    """
    from tacit.faces.anonymise.findings import audit_rows, counted_words, plain_audit
    from tacit.faces.formatting import show_json
    from tacit.faces.owner import refuse_analyst
    from tacit.policy import load_policy
    from tacit.release.anonymise import check as audit_of

    refuse_analyst(analyst, "a check of true rows")
    audit = audit_of(
        table, read.names(qi), sensitive=read.names(sensitive), distance=distance.value,
        hierarchies=read.hierarchies(hierarchies, bands or [], prefix or []), population_size=population_size,
        unit=unit, policy=None if policy is None else load_policy(policy),
    )  # fmt: skip
    failures = audit.failures(k=k, l=l, t=t, diversity=diversity.value)
    asked = (k, l, t) != (None, None, None)
    if form is Plain.JSON:
        verdict = {"holds": not failures, "failures": list(failures)} if asked else {}
        show_json({**plain_audit(audit), **verdict})
    else:
        print_table(("", Path(table).name), audit_rows(audit), right=(1,))
        print_lines("", counted_words(audit.unit), dim=True)
        if asked:
            print_lines("", f"it does not hold: {'; '.join(failures)}" if failures else "it holds")
    if failures:
        raise typer.Exit(FAILS)


COMMANDS = (
    Command(
        "anonymise check",
        check,
        "which k, l and t a table has as it stands",
        examples="""
  tacit anonymise check public.csv --qi age,postcode,sex
  tacit anonymise check public.csv --qi age,postcode,sex --sensitive illness -k 5 -l 2
""",
    ),
)
