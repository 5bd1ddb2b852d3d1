"""`tacit query --batch`: the questions of a file, asked for one price."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import InvalidParameter
from tacit.faces.batches import questions
from tacit.faces.formats import OutputFormat

if TYPE_CHECKING:
    from tacit.curator.forms.batch_release import BatchRelease

BatchFile = Annotated[
    Path | None,
    typer.Option(
        "--batch", metavar="FILE", help="Ask the questions of a file, with ; between them, for the one price of --eps."
    ),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="BOUND",
        help="Of a batch, instead of --eps: the least price at which every ± is within this, or this %.",
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Of a batch: pay for new answers, whatever is kept.")]
_FORMS = {OutputFormat.TABLE, OutputFormat.JSON, OutputFormat.MARKDOWN}


@dataclass(frozen=True, slots=True)
class BatchAsked:
    """The questions of a file, their price or the accuracy it is found by, and how to print the answers."""

    questions: tuple[str, ...]
    epsilon: str | None
    within: str | None
    form: OutputFormat


def check_batch(
    file: Path, form: OutputFormat, *, epsilon: str | None, within: str | None, others: tuple[object, ...]
) -> BatchAsked:
    """Refuse what could not be asked or printed before anything is paid."""
    if any(others):
        raise InvalidParameter("a batch has its questions in a file", hint="leave the SQL, -f and -v out")
    if epsilon is None and within is None:
        raise InvalidParameter(
            "the batch has no price",
            hint="add --eps 1, what all of its questions cost together; or --within 100, and the price is found",
        )
    if form not in _FORMS:
        raise InvalidParameter(f"a batch has several tables: {form.value} holds one", hint="use --format json")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidParameter(f"{file.name} cannot be read: {why}") from None
    asked = questions(text)
    if not asked:
        raise InvalidParameter(f"{file.name} holds no question", hint="write a SELECT …; for each")
    return BatchAsked(asked, epsilon, within, form)


def refuse_without_batch(*, within: str | None, fresh: bool) -> None:
    """Refuse what is said of a batch where there is none."""
    if within is not None or fresh:
        option = "--fresh" if within is None else "--within"
        written = "DP-SELECT 1 FRESH …" if within is None else f"DP-SELECT WITHIN {within} …"
        raise InvalidParameter(f"{option} is of a batch", hint=f"write it into the question: {written}")


def show_batch(batch: BatchRelease, asked: BatchAsked, *, output: Path | None) -> None:
    """Print a table for each question, and what they cost together."""
    from tacit.faces.terminal import console, print_lines, print_table

    if output is None and asked.form is OutputFormat.TABLE:
        for number, (question, answer) in enumerate(zip(asked.questions, batch, strict=True), 1):
            print_lines(f"{number}  {' '.join(question.split())}", dim=True)
            print_table(answer.columns, answer.shown(), right=answer.numbers)
            print_lines("")
        print_lines(batch.footer(), *(f"note: {text}" for text in batch.strategies), dim=True)
        return
    text = (batch.to_json() if asked.form is OutputFormat.JSON else batch.to_markdown()) + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"{output.name} cannot be written: {error.strerror}") from None
    console(error=True).print(f"wrote {output}; {batch.footer()}", soft_wrap=True)
