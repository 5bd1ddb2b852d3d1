"""`tacit query`, `tacit explain` and `tacit shell`: the analysts' commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.cli.batch import BatchFile, Fresh, Within, check_batch, refuse_without_batch, show_batch
from tacit.faces.cli.options import (
    POLICY,
    Analyst,
    Delta,
    Dummy,
    Epsilon,
    FormatOption,
    Output,
    PolicyFile,
    Question,
    QuestionFile,
    Timeout,
    Values,
    needs_analyst,
)
from tacit.faces.cli.values import sql_text, typed_values
from tacit.faces.commands import Command
from tacit.faces.formats import OutputFormat
from tacit.faces.terminal import print_lines, working

if TYPE_CHECKING:
    from tacit.curator import Explanation
    from tacit.faces.database import Database


@contextmanager
def door(
    policy: Path,
    analyst: str | None,
    *,
    epsilon: str | None,
    delta: str | None,
    dummy: bool,
    timeout: float | None = None,
) -> Iterator[Database]:
    """The analyst's door, open for one command."""
    from tacit.faces.database import open_database

    who = needs_analyst(analyst)
    with working("opening the data"):
        database = open_database(policy, analyst=who, default_epsilon=epsilon, default_delta=delta, timeout=timeout)
    with database:
        yield database.dummy() if dummy else database


def query(  # noqa: PLR0913 - the options of a command
    sql: Question = None,
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: FormatOption = OutputFormat.TABLE,
    file: QuestionFile = None,
    param: Values = None,
    dummy: Dummy = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    output: Output = None,
    request_id: Annotated[
        str | None,
        typer.Option("--request-id", metavar="ID", help="Ask once: the same id gives the answer already paid for."),
    ] = None,
    batch: BatchFile = None,
    within: Within = None,
    fresh: Fresh = False,
    timeout: Timeout = None,
) -> None:
    """Ask one question, and pay for it; or, with --batch, all the questions of a file for one price."""
    from tacit.faces.answering import ask_or_explain
    from tacit.faces.formatting import check_format, show

    check_format(form, output)
    if batch is not None:
        asked = check_batch(batch, form, epsilon=epsilon, within=within, others=(sql, file, param))
        with door(policy, analyst, epsilon=epsilon, delta=delta, dummy=dummy, timeout=timeout) as database:
            with working("asking"):
                answers = database.batch(
                    asked.questions,
                    epsilon=asked.epsilon,
                    within=asked.within,
                    delta=delta,
                    request_id=request_id,
                    fresh=fresh,
                )
            show_batch(answers, asked, output=output)
        return
    refuse_without_batch(within=within, fresh=fresh)
    text = sql_text(sql, file)
    with door(policy, analyst, epsilon=epsilon, delta=delta, dummy=dummy, timeout=timeout) as database:
        with working("asking"):
            answer = ask_or_explain(database, text, typed_values(param or []), request_id=request_id)
        show(answer, form, output=output)


def explain(  # noqa: PLR0913 - the options of a command
    sql: Question = None,
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: FormatOption = OutputFormat.TABLE,
    file: QuestionFile = None,
    param: Values = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    output: Output = None,
    batch: BatchFile = None,
    within: Within = None,
    show_sql: Annotated[bool, typer.Option("--sql", help="Show the SQL that would run as well.")] = False,
    risk: Annotated[bool, typer.Option("--risk", help="Say what the price means for the person most exposed.")] = False,
) -> None:
    """See what a question costs and how far off it will be: free, and without touching the data.

    With --batch, the same of all the questions of a file: how they share one price, and what that gains.
    """
    from tacit.faces.formatting import check_format, show

    check_format(form, output)
    if risk and (form is not OutputFormat.TABLE or output is not None):
        raise InvalidParameter("--risk is a sentence for people: it is printed below the table, and nowhere else")
    if batch is not None:
        asked = check_batch(batch, form, epsilon=epsilon, within=within, others=(sql, file, param))
        with door(policy, analyst, epsilon=epsilon, delta=delta, dummy=False) as database:
            with working("planning"):
                shown = database.explain_batch(asked.questions, epsilon=asked.epsilon, within=asked.within, delta=delta)
            show(shown, form, output=output, sql=show_sql)
        _show_risk(shown, asked=risk)
        return
    refuse_without_batch(within=within, fresh=False)
    text = sql_text(sql, file)
    with door(policy, analyst, epsilon=epsilon, delta=delta, dummy=False) as database:
        explained = database.explain(text, typed_values(param or []))
        show(explained, form, output=output, sql=show_sql)
    _show_risk(explained, asked=risk)


def _show_risk(explained: Explanation, *, asked: bool) -> None:
    if asked:
        from tacit.attack.odds import risk_in_words

        print_lines(f"risk         {risk_in_words(explained.loss)}")


def shell(
    *,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    dummy: Dummy = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    timeout: Timeout = None,
) -> None:
    """Ask one question after another, with history and completion."""
    from tacit.faces.shell.loop import run_shell

    with door(policy, analyst, epsilon=epsilon, delta=delta, dummy=dummy, timeout=timeout) as database:
        code = run_shell(database)
    if code:
        raise typer.Exit(code)


COMMANDS = (
    Command(
        "query",
        query,
        "ask one question",
        examples="""
  tacit query --as ana "DP-SELECT 0.5 dept, COUNT(*) AS n FROM visits GROUP BY dept"
  tacit query --as ana "DP-SELECT 0.5 AVG(amount) FROM visits WHERE dept = ?" -v CS
  tacit query --as ana -f question.sql --format json
  tacit query --as ana --dummy "DP-SELECT 0.5 MEDIAN(age) FROM visits"
  tacit query --as ana --epsilon 0.1 "SELECT COUNT(*) FROM visits"
  tacit query --as ana --batch questions.sql --eps 1
""",
    ),
    Command(
        "explain",
        explain,
        "the price and error of a question, free",
        examples="""
  tacit explain --as ana "DP-SELECT 0.5 dept, AVG(amount) FROM visits GROUP BY dept"
  tacit explain --as ana --sql "DP-SELECT 0.5 MEDIAN(age) FROM visits"
  tacit explain --as ana --format json "DP-SELECT WITHIN 100 COUNT(*) FROM visits"
""",
    ),
    Command(
        "shell",
        shell,
        "ask one question after another",
        examples="""
  tacit shell --as ana
  tacit shell --as ana < questions.sql
""",
    ),
)
