"""`tacit workload`: counts of a table for one price, those of a file or one by one as they are typed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter, TacitError
from tacit.faces.cli.options import POLICY, Analyst, PlainOption, PolicyFile
from tacit.faces.cli.publishing import PublishingOptions, Table, listed, priced, publishing
from tacit.faces.commands import Command
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.policy import Policy
    from tacit.release.general.workload import OnlineWorkload, WorkloadAnswer, WorkloadPlan

ABOUT = """Count rows under many conditions for one price: a public hypothesis answers, or the data where it is far off.

FILE has a condition on the columns in each line, such as age < 40 AND ill = 'yes'; empty lines and those that begin
with # are left out. All of them are looked at before anything is paid. Without FILE conditions are read from standard
input and answered one by one, each in view of the last: --questions says for how many the error is stated.

The whole price is paid at once, by the analyst named with --as, or else from the dataset's total. Nothing of it is kept
for another time: a run ends with the command.
"""
_NONE = "no error is stated: corrections are used up"


def workload(  # noqa: PLR0913 - the options of a command
    table: Table,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="The conditions; standard input if left out.")
    ] = None,
    *,
    columns: Annotated[str, typer.Option("--columns", metavar="A,B,…", help="What conditions may speak of.")],
    epsilon: Annotated[str, typer.Option("--epsilon", "--eps", "-e", metavar="NUMBER", help="The whole price.")],
    questions: Annotated[
        int | None, typer.Option("--questions", metavar="COUNT", help="For how many the error holds; else the file's.")
    ] = None,
    corrections: Annotated[
        int, typer.Option("--corrections", metavar="COUNT", help="How often the data may be measured.")
    ] = 100,
    threshold: Annotated[
        int | None, typer.Option("--threshold", metavar="ROWS", help="How far off the hypothesis may be, about.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say what it would cost and promise, free.")] = False,
    policy: PolicyFile = POLICY,
    analyst: Analyst = None,
    form: PlainOption = Plain.TABLE,
) -> None:
    """Count rows under many conditions for one price: see ABOUT."""
    from tacit.release.general import WorkloadRequest
    from tacit.release.general.workload import open_workload

    conditions = None if file is None else conditions_of(file)
    number = questions or (1_000 if conditions is None else len(conditions))
    wish = WorkloadRequest(table, listed(columns), epsilon, number, corrections, threshold)
    with publishing(PublishingOptions(explain, False, policy, analyst, form)) as (publisher, who):
        plan = wish.plan(publisher.policy, publisher.engine)
        if conditions is not None:
            _refuse_unreadable(plan, conditions)
        if explain:
            _show_plan(plan, form)
            return
        run = open_workload(publisher, wish, who)
        if conditions is None:
            _converse(run, sys.stdin, form)
        else:
            _show(run, conditions, form, publisher.policy)


def conditions_of(file: Path) -> tuple[str, ...]:
    """The conditions of a file, one in each line."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidParameter(f"{file.name} cannot be read: {why}") from None
    found = tuple(_conditions(text.splitlines()))
    if not found:
        raise InvalidParameter(f"{file.name} holds no condition", hint="write one in each line: age < 40 AND ill")
    return found


def _conditions(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        condition = line.strip()
        if condition and not condition.startswith("#"):
            yield condition


def _refuse_unreadable(plan: WorkloadPlan, conditions: Iterable[str]) -> None:
    """Refuse what could not be counted, before anything is paid."""
    from tacit.release.general.workload import universe_meeting

    for number, condition in enumerate(conditions, start=1):
        try:
            universe_meeting(condition, plan.counted.table, plan.counted.attributes)
        except TacitError as error:
            raise type(error)(f"condition {number}, {condition[:60]}: {error.message}", hint=error.hint) from None


def _show_plan(plan: WorkloadPlan, form: Plain) -> None:
    from tacit.faces.formatting import show_json

    cells = {each.name: each.cells for each in plan.counted.attributes}
    if form is Plain.JSON:
        promised = {"questions": plan.questions, "corrections": plan.weights.sparse.hits, "error": plan.error}
        show_json({"table": plan.counted.table, "cells": cells, **priced(plan.loss), **promised})
        return
    print_lines(f"would cost {plan.loss}", "")
    print_table(("column", "cells"), [(name, f"{number:,}") for name, number in cells.items()], right=(1,))
    print_lines("", f"{_promise(plan.questions, plan.error)}, while corrections are left", dim=True)


def _promise(questions: int, error: float) -> str:
    return f"of {questions:,} answers none is off by more than {error:,.0f} rows, 95 times in 100"


def _show(run: OnlineWorkload, conditions: Iterable[str], form: Plain, policy: Policy) -> None:
    from tacit.faces.formatting import show_json

    answers = [(condition, run.count(condition)) for condition in conditions]
    if form is Plain.JSON:
        lines = [{"condition": condition, **_plain(answer)} for condition, answer in answers]
        show_json({"dataset": policy.dataset.name, "answers": lines, "left": run.left, "entry": run.entry})
        return
    print_lines(f"{run}", "")
    rows = [(condition, *_figures(answer)) for condition, answer in answers]
    print_table(("condition", "count", "error", "by"), rows, right=(1, 2))
    promised = _promise(len(answers), run.error) if run.left else _NONE
    print_lines("", promised, dim=True)


def _converse(run: OnlineWorkload, lines: Iterable[str], form: Plain) -> None:
    """Answer each condition as it comes; one that makes no sense is told of, and costs nothing."""
    from tacit.faces.formatting import show_json

    if form is Plain.TABLE:
        print_lines(f"{run}: a condition in each line", dim=True)
    for condition in _conditions(lines):
        try:
            answer = run.count(condition)
        except TacitError as error:
            told = {"condition": condition, "error": error.message, "hint": error.hint}
            if form is Plain.JSON:
                show_json(told)
            else:
                print_lines(f"refused: {error.message}", *([f"hint: {error.hint}"] if error.hint else []))
            continue
        if form is Plain.JSON:
            show_json({"condition": condition, **_plain(answer)})
        else:
            count, error_shown, source = _figures(answer)
            print_lines(f"{count} {error_shown} ({source}; {answer.left} corrections left)")
        sys.stdout.flush()


def _plain(answer: WorkloadAnswer) -> dict[str, object]:
    count = round(answer.value, 2)
    return {"count": count, "error": answer.error, "measured": answer.measured, "left": answer.left}


def _figures(answer: WorkloadAnswer) -> tuple[str, str, str]:
    error = "±?" if answer.error is None else f"±{answer.error:,.0f}"
    return f"{answer.value:,.0f}", error, "the data" if answer.measured else "hypothesis"


COMMANDS = (
    Command(
        "workload",
        workload,
        "many counts for one price, of a file or one by one",
        about=ABOUT,
        examples="""
  tacit workload people conditions.txt --columns age,town,ill --eps 1 --as ana
  tacit workload people --columns age,ill --eps 2 --questions 500 --corrections 50 --as ana
  tacit workload people conditions.txt --columns age,town,ill --eps 1 --explain
""",
    ),
)
