"""Answers as text: each format in one place."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tacit.curator import Explanation, Release
from tacit.curator.forms.cells import in_one_text, plain, visible
from tacit.curator.forms.extras import needs
from tacit.errors import InvalidParameter
from tacit.faces.formats import OutputFormat
from tacit.faces.terminal import console, print_lines, print_table, show_json

__all__ = ["check_format", "show", "show_json"]

Shown = Release | Explanation


def show(answer: Shown, form: OutputFormat, *, output: Path | None = None, sql: bool = False) -> None:
    """Print the answer, or write it to a file and say what it cost; `sql` shows what would run with an explanation."""
    if form is OutputFormat.PARQUET:
        _write_parquet(answer, output)
    elif output is not None:
        _write(output, _text(answer, form, sql=sql))
    elif form is OutputFormat.TABLE:
        _print(answer, sql=sql)
        return
    else:
        sys.stdout.write(_text(answer, form, sql=sql))
        return
    if isinstance(answer, Release):
        console(error=True).print(f"wrote {output}; {answer.footer()}", soft_wrap=True)


def show_rows(
    columns: Sequence[str], rows: Sequence[Sequence[object]], form: OutputFormat, *, output: Path | None
) -> None:
    """True rows, at the owner's door."""
    values = [[plain(cell) for cell in row] for row in rows]
    if form is OutputFormat.TABLE and output is None:
        if columns:
            print_table(columns, [["NULL" if cell is None else str(cell) for cell in row] for row in values])
        return
    if form is OutputFormat.JSON:
        text = (
            in_one_text(json.dumps({"columns": list(columns), "rows": values}, ensure_ascii=False, default=str)) + "\n"
        )
    elif form is OutputFormat.CSV:
        text = _csv(columns, values)
    else:
        raise InvalidParameter(f"true rows are not printed as {form.value}", hint="use --format table, json or csv")
    if output is None:
        sys.stdout.write(visible(text))  # a cell must not move the cursor; in a file it is what it is
    else:
        _write(output, text)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([list(columns), *rows])
    return out.getvalue()


def _print(answer: Shown, *, sql: bool) -> None:
    if isinstance(answer, Explanation):
        print_lines(*answer.text(sql=sql).split("\n"))
        return
    print_table(answer.columns, answer.shown(), right=answer.numbers)
    print_lines("", answer.footer(), *(f"note: {note}" for note in answer.notes), dim=True)


def _text(answer: Shown, form: OutputFormat, *, sql: bool = False) -> str:
    if isinstance(answer, Explanation):
        if form is OutputFormat.JSON:
            return answer.to_json() + "\n"
        if form is OutputFormat.TABLE:
            return f"{answer.text(sql=sql)}\n"
        raise InvalidParameter(f"an explanation has no {form.value} form", hint="use --format table or json")
    forms: dict[OutputFormat, Callable[[], str]] = {
        OutputFormat.JSON: lambda: answer.to_json() + "\n",
        OutputFormat.CSV: answer.to_csv,
        OutputFormat.MARKDOWN: lambda: answer.to_markdown() + "\n",
        OutputFormat.TABLE: lambda: answer.to_markdown() + "\n",
    }
    return forms[form]()


def check_format(form: OutputFormat, output: Path | None) -> None:
    """Refuse what could not be printed before anything is paid."""
    if form is OutputFormat.PARQUET:
        if output is None:
            raise InvalidParameter("parquet is not printed: it is written", hint="name a file with -o answer.parquet")
        needs("pyarrow.parquet")
    if output is not None and not output.absolute().parent.is_dir():
        raise InvalidParameter(f"{output.name} cannot be written: there is no such directory")


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidParameter(f"{output.name} cannot be written: {error.strerror}") from None


def _write_parquet(answer: Shown, output: Path | None) -> None:
    if not isinstance(answer, Release) or output is None:
        raise InvalidParameter("an explanation has no parquet form", hint="use --format table or json")
    try:
        needs("pyarrow.parquet").write_table(answer.to_arrow(), str(output))
    except OSError as error:
        raise InvalidParameter(f"{output.name} cannot be written: {error.strerror}") from None
