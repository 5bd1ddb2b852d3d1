"""What a person sees: tables on standard output, two lines for an error, a sign of life for what takes long."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from tacit.curator.forms.cells import in_one_line, in_one_text
from tacit.curator.forms.table import UNBOUNDED, rich_table
from tacit.errors import TacitError

PATIENCE = 1.0  # seconds before a sign of life


def console(*, error: bool = False) -> Console:
    """Standard output or standard error, as it is now. Nothing printed is read as markup."""
    file = sys.stderr if error else sys.stdout
    width = None if file.isatty() else UNBOUNDED
    return Console(file=file, width=width, markup=False, highlight=False, emoji=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """A table; the columns whose indices are in `right` are numbers."""
    console().print(rich_table(columns, rows, right=right))


def print_lines(*lines: str, dim: bool = False) -> None:
    """Lines of text, wrapped by the screen alone."""
    screen = console()
    for line in lines:
        screen.print(Text(in_one_line(line), style="dim" if dim else ""), soft_wrap=True)


def show_json(value: object) -> None:
    """One JSON object on a line of its own."""
    sys.stdout.write(in_one_text(json.dumps(value, ensure_ascii=False)) + "\n")


def print_error(error: TacitError) -> None:
    """`error: …` and, where there is one, `hint: …`: one line each, whatever was typed."""
    screen = console(error=True)
    for word, text, style in (("error", error.message, "bold red"), ("hint", error.hint, "bold cyan")):
        if text:
            screen.print(Text.assemble((f"{word}:", style), f" {in_one_line(text)}"), soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life on standard error, if this takes more than a second and a person is looking."""
    if not sys.stderr.isatty():
        yield
        return
    status = console(error=True).status(Text(f"{what} …"))
    timer = threading.Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # or it might start the sign after it was stopped
        status.stop()
