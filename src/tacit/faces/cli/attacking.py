"""`tacit attack`: the adversary against one's own table, and two tables held against each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.cli.options import Analyst, PlainOption
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import console, print_lines, print_table, show_json

if TYPE_CHECKING:
    from tacit.attack import AttackResult, MembershipCurve, RiskReport
    from tacit.attack.suite import Progress

ABOVE = 1  # the exit code of a table that gives away more than --fail-above allows; errors have others


def attack(  # noqa: PLR0913 - the options of a command
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A Parquet, CSV or JSON file: a row for each person.")],
    *,
    qi: Annotated[str, typer.Option("--qi", metavar="COLUMNS", help="What the attacker knows of everybody.")],
    secret: Annotated[str, typer.Option("--secret", metavar="COLUMN", help="What the attacker is after.")],
    k: Annotated[int, typer.Option("-k", help="Of the k-anonymous table that is made and attacked.")] = 5,
    epsilon: Annotated[
        list[str] | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Of DP-SELECT; as often as you like.")
    ] = None,
    alike: Annotated[
        list[str] | None,
        typer.Option("--alike", metavar="SECRETS", help="Secrets that mean much the same: ulcer,gastritis."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Leave a page with pictures there.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="POLICY", help="Keep the results beside this policy, for the console's page Risk."
        ),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option("--fail-above", metavar="SHARE", help="Exit with 1 where an attack gains more than this: 0.05."),
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", metavar="NAME", help="With --fail-above: of what is called so alone.")
    ] = None,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Attack your own table: as it is, k-anonymous, diverse, through DP-SELECT, and synthetic; refused to analysts.

    A tenth of the rows is held out of all that is published, so that every attack is held against the same attack on
    people who are not there: what it gains on those who are is what the publication gives away.
    """
    from tacit.attack import attack_table
    from tacit.attack.suite import EPSILONS
    from tacit.core import positive
    from tacit.faces.owner import refuse_analyst

    refuse_analyst(analyst, "an attack on true rows")
    if keep is not None and not keep.is_file():
        raise InvalidParameter(f"there is no policy {keep.name!r}", hint="name its file: --keep tacit.toml")
    if report is not None and report.exists():
        raise InvalidParameter(f"{report.name} is there already: it is not overwritten", hint="write elsewhere")
    names = [name.strip() for name in qi.split(",") if name.strip()]
    prices = [positive(text, "epsilon") for text in epsilon] if epsilon else EPSILONS
    with _progress() as progress:
        groups = [[name.strip() for name in group.split(",")] for group in alike or ()]
        risks = attack_table(table, names, secret=secret, k=k, epsilons=prices, alike=groups, progress=progress)
    _show(risks, form)
    _left(risks, table.name, keep=keep, report=report)
    if fail_above is not None:
        _gate(risks.above(fail_above, against=against), fail_above)


def _left(risks: RiskReport, table: str, *, keep: Path | None, report: Path | None) -> None:
    """Leave what was found where it was asked for: beside the policy, and as a page."""
    if keep is not None:
        from tacit.faces.attack.kept import keep_report

        keep_report(keep.parent, risks, table=table)
    if report is not None:
        from tacit.faces.attack.page import page

        report.write_text(page(risks, title=table), encoding="utf-8")
        print_lines("", f"wrote {report}", dim=True)


def _gate(above: tuple[AttackResult, ...], most: float) -> None:
    for one in above:
        print_lines(f"above {most:g}: {one}")
    if above:
        raise typer.Exit(ABOVE)


@contextmanager
def _progress() -> Iterator[Progress]:
    """A bar on standard error, where a person is looking."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    with Bar(BarColumn(), TextColumn("{task.description}"), console=console(error=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)


def _show(risks: RiskReport, form: Plain) -> None:
    if form is Plain.JSON:
        show_json(_plain(risks))
        return
    for one in risks.published:
        print_lines("", f"{one.name}: {one.utility:.1%} of its tables are right")
        _table(one.results)
    if risks.curves:
        print_lines("", "by shadows", *map(str, risks.curves))
    print_lines("", "by asking")
    _table(risks.questions, named=True)
    print_lines("", "side channels", *risks.channels)
    (names, share), *_ = sorted(risks.unique.items(), key=lambda pair: -pair[1])
    print_lines("", f"{share:.1%} of the people are alone with their {', '.join(names)}")
    for line in risks.skipped:
        print_lines(f"not tried: {line}", dim=True)


def _table(results: tuple[AttackResult, ...], *, named: bool = False) -> None:
    rows = [
        (
            f"{one.attack}, {one.against}" if named else one.attack,
            f"{one.success:.1%}",
            f"[{one.low:.1%}, {one.high:.1%}]",
            f"{one.null:.1%}",
            "" if one.ceiling is None else f"{one.ceiling:.1%}",
            "gives people away" if one.alarms else "",
        )
        for one in results
    ]
    print_table(("attack", "right", "95 %", "by chance", "at most", ""), rows, right=(1, 2, 3, 4))


def _plain(risks: RiskReport) -> dict[str, object]:
    return {
        "rows": risks.rows,
        "known": list(risks.known),
        "secret": risks.secret,
        "published": [
            {"name": one.name, "utility": one.utility, "epsilon": one.epsilon, "attacks": list(map(_one, one.results))}
            for one in risks.published
        ],
        "asking": list(map(_one, risks.questions)),
        "shadows": [_curve(curve) for curve in risks.curves],
        "unique": [{"columns": list(names), "share": share} for names, share in risks.unique.items()],
        "side_channels": list(risks.channels),
        "skipped": list(risks.skipped),
    }


def _curve(curve: MembershipCurve) -> dict[str, object]:
    proved = curve.certificate
    area, low, high = curve.area
    return {**_one(curve.at()), "area": area, "area_low": low, "area_high": high, "certified": proved.epsilon}


def _one(result: AttackResult) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(result), "alarms": result.alarms}


def link(
    left: Annotated[Path, typer.Argument(metavar="TABLE", help="The table that was anonymised.")],
    right: Annotated[Path, typer.Argument(metavar="REGISTER", help="What everybody can read.")],
    *,
    on: Annotated[
        list[str], typer.Option("--on", metavar="KEY", help="'born = birthday': an expression of either table, in SQL.")
    ],
    typos: Annotated[int, typer.Option("--typos", metavar="COUNT", help="Letters of a key that may be wrong.")] = 0,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Hold a table against a register of the same people: who is who, and how many chance would link."""
    from tacit.attack import link as linked
    from tacit.faces.owner import refuse_analyst

    refuse_analyst(analyst, "an attack on true rows")
    links = linked(left, right, on, typos=typos)
    result = links.result(left.name)
    if form is Plain.JSON:
        show_json({**_one(result), "pairs": [list(pair) for pair in links.pairs]})
        return
    print_lines(f"{len(links.pairs):,} of {links.rows[0]:,} rows are linked; chance would link about {links.null:.1f}")
    shown = [(str(mine + 1), str(other + 1)) for mine, other in links.pairs[:20]]
    print_table((f"row of {left.name}", f"row of {right.name}"), shown, right=(0, 1))


COMMANDS = (
    Command(
        "attack",
        attack,
        "what an adversary finds out about the people in a table",
        examples="""
  tacit attack patients.parquet --qi age,postcode,sex --secret illness --report risk.html
  tacit attack patients.csv --qi age,sex --secret illness -e 0.5 -e 2 --alike ulcer,gastritis
  tacit attack patients.csv --qi age,sex --secret illness --fail-above 0.05 --against DP-SELECT
  tacit attack patients.csv --qi age,sex --secret illness --keep tacit.toml
""",
    ),
    Command(
        "attack link",
        link,
        "hold a table against a register of the same people",
        examples="""
  tacit attack link tax.csv dating.csv --on "id[5:6] || '/' || id[7:8] = birthday"
  tacit attack link patients.csv voters.csv --on "zip = zip" --on "born = birth_date" --typos 1
""",
    ),
)
