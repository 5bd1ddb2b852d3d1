"""Columns and rows as a table of text: the same on the command line and in Python."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tacit.curator.forms.cells import in_one_line

if TYPE_CHECKING:
    from rich.table import Table

UNBOUNDED = 10_000  # columns of something that is not a screen: nothing is wrapped or cut


def rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Table:
    """The table for a screen; the columns whose indices are in `right` are numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for index, name in enumerate(columns):
        table.add_column(Text(in_one_line(name)), justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(in_one_line(cell)) for cell in row))
    return table


def text_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """The same as text, however wide; it ends in a newline, as printed."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=UNBOUNDED, color_system=None, markup=False, highlight=False, emoji=False)
    console.print(rich_table(columns, rows, right=right))
    return out.getvalue()
