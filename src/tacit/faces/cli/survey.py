"""`tacit survey`: ask people who need trust nobody."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.faces.cli.options import PlainOption
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import console, print_lines, print_table, working

if TYPE_CHECKING:
    from tacit.collect.surveys import Findings, Outlook, Survey

ABOUT = """\
Ask a question of people who trust nobody: every browser randomises its answer before it leaves.

\b
A first survey:
  tacit survey new doping.toml       draft the question and its price
  tacit survey explain doping.toml   what an observer could learn, and the error to expect
  tacit survey serve doping.toml     a page on http://127.0.0.1:8765
  tacit survey estimate doping.toml  the rate, with its interval
"""


class AddsUp(StrEnum):
    """Engines that add up reports."""

    DUCKDB = "duckdb"
    POSTGRES = "postgres"
    SPARK = "spark"


NewFile = Annotated[Path, typer.Argument(metavar="SURVEY", help="The survey's file, such as doping.toml.")]
SurveyFile = Annotated[
    Path | None,
    typer.Argument(metavar="[SURVEY]", help="The survey's file; the only one here if left out.", show_default=False),
]
Confidence = Annotated[str, typer.Option("--confidence", "-c", metavar="SHARE", help="How sure the interval is.")]
Plot = Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw it as SVG, too.")]
PORT = 8765


def new(
    path: NewFile,
    *,
    question: Annotated[
        str, typer.Option("--question", "-q", metavar="TEXT", help="What is asked.")
    ] = "Have you ever used a banned substance?",
    answer: Annotated[
        list[str] | None, typer.Option("--answer", "-a", metavar="TEXT", help="An answer; one option for each.")
    ] = None,
    number: Annotated[
        str | None,
        typer.Option("--number", metavar="LOWER:UPPER:STEP", help="Ask for a number instead of an answer."),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon", "-e", metavar="NUMBER", help="The price of an answer; two fair coins (ln 3) if left out."
        ),
    ] = None,
) -> None:
    """Write a survey's file, and say what an answer will cost."""
    from tacit.faces import survey as surveys

    survey = surveys.new(path, question, answers=answer, number=number, epsilon=epsilon)
    print_lines(f"wrote {path}: {survey.question}")
    _say_price(surveys.explain(survey))
    print_lines(f"next: tacit survey serve {path}")


def explain(
    path: SurveyFile = None,
    *,
    people: Annotated[int, typer.Option("--people", "-n", metavar="COUNT", min=1, help="How many may answer.")] = 1000,
    plot: Plot = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Say, before anything is collected, what a report tells of one person and how far off the estimate will be."""
    from tacit.faces import survey as surveys
    from tacit.faces.formatting import show_json

    survey = _named(path)
    outlook = surveys.explain(survey, people=people)
    if plot is not None:
        _draw_beliefs(plot, survey)
    if form is Plain.JSON:
        rows = [[float(row.prior), float(row.lowest), float(row.highest)] for row in outlook.posteriors]
        show_json({"epsilon": float(outlook.epsilon), "posteriors": rows})
        return
    _say_price(outlook)
    print_table(
        ("believed before", "at least, afterwards", "at most"),
        [tuple(f"{float(share):.2%}" for share in (row.prior, row.lowest, row.highest)) for row in outlook.posteriors],
        right=(0, 1, 2),
    )
    if outlook.within is not None:
        off = f"{outlook.within:.1%}, 19 times out of 20"
        print_lines(f"from {people:,} people a share of one half is estimated to within {off}")


def serve(
    path: SurveyFile = None,
    *,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="NUMBER", help="On which port.", min=0, max=65535)] = PORT,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST", help="A name that the page is reached by, behind a proxy."),
    ] = None,
    per_hour: Annotated[
        int,
        typer.Option("--per-hour", metavar="REPORTS", help="The most from one address; 0: any number.", min=0),
    ] = 60,
) -> None:
    """Serve a page that randomises in the browser and posts only the noisy answer, until interrupted.

    Reports are appended to a file beside the survey's, without names, addresses or times. Put a proxy with TLS in front
    of it before people outside this machine use it, or the page can be changed on its way.

    From one address come at most --per-hour reports an hour, so that one sender cannot outvote the others. Behind a
    proxy all come from the proxy's: set 0 here, and limit them there.
    """
    from tacit.faces import survey as surveys

    survey = _named(path)
    with surveys.serve(survey, host=host, port=port, names=name or (), per_hour=per_hour) as server:
        print_lines(f"{survey.question}", f"http://{host}:{server.server_address[1]}/  (Ctrl-C stops)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            kept, rejected = server.store.counts["kept"], server.store.counts["rejected"]
            print_lines(
                f"stopped: {kept:,} reports kept, {rejected:,} rejected", f"next: tacit survey estimate {survey.path}"
            )
            raise typer.Exit from None


def estimate(
    path: SurveyFile = None,
    *,
    reports: Annotated[
        str | None,
        typer.Option(
            "--reports",
            "-r",
            metavar="PLACE",
            help="Reports elsewhere: lines of JSON, Parquet (also *.parquet), postgresql://… or sc://….",
        ),
    ] = None,
    table: Annotated[
        str, typer.Option("--table", "-t", metavar="NAME", help="The table of a database that holds them.")
    ] = "reports",
    engine: Annotated[
        AddsUp | None, typer.Option("--engine", help="Who adds up; told by the place of the reports if left out.")
    ] = None,
    confidence: Confidence = "0.95",
    consistent: Annotated[
        bool,
        typer.Option("--consistent", help="Beside them, shares that are not negative and add up to one: biased."),
    ] = False,
    plot: Plot = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Estimate from the reports what share of the population would truly give each answer.

    Unbiased: a rate may come out below 0 or above 1, and its interval says by how much that is luck. Large collections
    are added up where they lie: Parquet by DuckDB or Spark, a table (one column `report` of bytes) by its database.
    """
    from tacit.faces import survey as surveys
    from tacit.faces.formatting import show_json
    from tacit.faces.survey.pictures import estimates

    asked = _named(path)
    with working("adding up"):
        findings = surveys.estimate(
            asked,
            reports,
            table=table,
            engine=engine and engine.value,
            confidence=confidence,
            consistent=consistent,
        )
    if plot is not None:
        _write(plot, estimates(findings))
    if form is Plain.JSON:
        show_json(findings.to_dict())
        return
    _show(findings)


def _show(findings: Findings) -> None:
    from tacit.faces.survey.bars import bar

    asked = findings.survey
    print_lines(asked.question)
    ends = (float(asked.bounds.lower), float(asked.bounds.upper)) if asked.bounds else (0.0, 1.0)
    style = "{:,.4g}" if findings.is_mean else "{:.1%}"
    more = ("consistent (biased)",) if findings.is_consistent else ()
    print_table(
        ("answer", "estimate", "from", "to", *more, f"{ends[0]:g} … {ends[1]:g}"),
        [
            (
                one.label,
                *(style.format(value) for value in (one.value, one.low, one.high)),
                *(f"{one.consistent:.1%}" for _ in more),
                bar(one, lowest=ends[0], highest=ends[1]),
            )
            for one in findings.findings
        ],
        right=(1, 2, 3, *(4 for _ in more)),
    )
    print_lines(findings.footing, dim=True)
    if more:
        print_lines("consistent shares add up to one; the intervals are not theirs", dim=True)


def pack(path: NewFile, target: Annotated[Path, typer.Argument(metavar="PARQUET", help="The file to write.")]) -> None:
    """Write the reports to Parquet, for collections too large to read line by line."""
    from tacit.faces import survey as surveys

    with working("packing"):
        size = surveys.pack(surveys.load(path), target)
    print_lines(f"wrote {target}: {size:,} bytes")


def _named(path: Path | None) -> Survey:
    """The survey in a file, or the only one here."""
    from tacit.collect.surveys import load, only_one

    return load(path or only_one())


def _say_price(outlook: Outlook) -> None:
    print_lines(f"one answer costs ε = {float(outlook.epsilon):.4g}, whoever collects it")
    if outlook.warning is not None:
        print_lines(f"warning: {outlook.warning}")
    if outlook.lie is not None:
        print_lines(f"a browser sends an answer that is not the true one with probability {float(outlook.lie):.4g}")


def _draw_beliefs(plot: Path, survey: Survey) -> None:
    from fractions import Fraction

    from tacit.collect import learnt
    from tacit.faces.survey.pictures import beliefs

    rows = learnt(survey.protocol, [Fraction(hundredth, 100) for hundredth in range(1, 100)])
    _write(plot, beliefs(rows, title="One report"))


def _write(path: Path, text: str) -> None:
    from tacit.errors import InvalidParameter

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"{path.name} cannot be written: {error.strerror}") from None
    console(error=True).print(f"drew {path}", soft_wrap=True)  # not among what a program may be reading


COMMANDS = (
    Command(
        "new",
        new,
        "draft a survey",
        examples="""
  tacit survey new doping.toml
  tacit survey new vote.toml -q "Whom would you vote for?" -a left -a right -a none --epsilon 1
  tacit survey new age.toml -q "How old are you?" --number 0:100:1 --epsilon 1
""",
    ),
    Command(
        "explain",
        explain,
        "what an observer could learn, and the error to expect",
        examples="""
  tacit survey explain doping.toml --people 500 --plot posterior.svg
""",
    ),
    Command(
        "serve",
        serve,
        "serve the page, keep the reports",
        examples="""
  tacit survey serve doping.toml
  tacit survey serve doping.toml --port 8080 --name survey.example.org
""",
    ),
    Command(
        "estimate",
        estimate,
        "the rate, with its interval",
        examples="""
  tacit survey estimate doping.toml
  tacit survey estimate vote.toml --consistent
  tacit survey estimate doping.toml --reports 'reports/*.parquet' --plot rates.svg
  tacit survey estimate doping.toml --reports postgresql://reader@db.example/surveys --table doping
  tacit survey estimate doping.toml --reports 's3a://bucket/*.parquet' --engine spark
""",
    ),
    Command(
        "pack",
        pack,
        "write the reports to Parquet",
        examples="""
  tacit survey pack doping.toml doping.parquet
""",
    ),
)
