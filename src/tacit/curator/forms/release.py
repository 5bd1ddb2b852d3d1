"""What leaves: rows, error bars, cost, what is left, and a receipt."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.core import Budget, Loss, decimal_text
from tacit.curator.forms.cells import in_csv, in_json, in_one_line, in_one_text, plain, visible, with_error
from tacit.curator.forms.chart import chart
from tacit.curator.forms.columns import AnswerColumn, noisy_columns, with_half_widths
from tacit.curator.forms.shape import ColumnShape
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]  # an extra, and without types
    import polars
    import pyarrow  # type: ignore[import-untyped]  # an extra, and without types
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NOISE", "Receipt", "Release", "covering", "in_one_text", "left_fields", "plain", "visible"]

NOISE = "the noise alone"  # what ± covers, unless more was paid for
_SHOWN = 20  # rows in a repr


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was asked, guaranteed and charged, and where the ledger says so."""

    plan: str
    policy: str
    entry: str
    guarantee: str
    unit: str
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """One private answer. `errors` has the shape of `rows`: half-widths at `confidence`, None where there is none.

    `covers` says what a half-width is of: of the noise alone, unless the question paid for more. What contribution
    bounds, clamping and the rows that are left out do to an answer is not noise.

    `print` shows the table as the command line does, `len` counts its rows, and a loop goes over them, as tuples.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    errors: tuple[tuple[float | None, ...], ...]
    confidence: Fraction
    cost: Loss
    left: Budget | None
    reused: str | None
    notes: tuple[str, ...]
    receipt: Receipt
    covers: str = NOISE
    shapes: tuple[ColumnShape, ...] = ()  # what each column holds; known before it was asked
    keys: tuple[int, ...] | None = None  # the indices of the columns it is grouped by; None: those without error bars

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def scalar(self) -> Any:
        """The number, where the answer is one: a single row of a single column."""
        if len(self.rows) != 1 or len(self.columns) != 1:
            shape = f"{_counted(len(self.rows), 'row')} and {_counted(len(self.columns), 'column')}"
            raise InvalidParameter(
                f"the answer is not one number: it has {shape}", hint="go over its rows, or take to_pandas()"
            )
        return self.rows[0][0]

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        return {
            "columns": list(self.columns),
            "rows": [[in_json(plain(value)) for value in row] for row in self.rows],
            "errors": [list(row) for row in self.errors],
            "confidence": float(self.confidence),
            "covers": self.covers,
            "epsilon": decimal_text(self.cost.epsilon),
            "delta": decimal_text(self.cost.delta),
            "left": left_fields(self.left),
            "reused": self.reused,
            "notes": list(self.notes),
            "receipt": {
                "plan": self.receipt.plan,
                "policy": self.receipt.policy,
                "entry": self.receipt.entry,
                "guarantee": self.receipt.guarantee,
                "unit": self.receipt.unit,
                "mechanisms": list(self.receipt.mechanisms),
            },
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """One JSON object."""
        return in_one_text(json.dumps(self.to_dict(), indent=indent, ensure_ascii=False))

    def to_csv(self) -> str:
        """Rows with a header; each noisy column is followed by its half-width."""
        columns = self._columns()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([in_csv(column.name) for column in columns])
        for index in range(len(self.rows)):
            writer.writerow([in_csv(plain(column.values[index])) for column in columns])
        return out.getvalue()

    def to_markdown(self) -> str:
        """A table with ± error bars, and the notes below it."""
        cells = [[_escape(text) for text in row] for row in self.shown()]
        lines = ["| " + " | ".join(map(_escape, self.columns)) + " |", "|" + " --- |" * len(self.columns)]
        lines += ["| " + " | ".join(row) + " |" for row in cells]
        return "\n".join([*lines, "", self.footer()])

    def shown(self) -> list[list[str]]:
        """Every cell as a person reads it, with its error bar."""
        return [
            [with_error(value, error) for value, error in zip(row, errors, strict=True)]
            for row, errors in zip(self.rows, self.errors, strict=True)
        ]

    def footer(self) -> str:
        """What it cost and what is left, in one line."""
        paid = f"reused: {self.reused}, free" if self.reused else f"cost {self.cost}"
        left = "" if self.left is None else f"; left {self.left}"
        return f"{paid}{left}; {covering(self.covers, self.confidence)}; hides {self.receipt.unit}"

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame: each noisy column is followed by its half-width, dates are dates; `.attrs` has the cost."""
        from tacit.curator.forms.frames import pandas_frame

        frame = pandas_frame(self._columns())
        frame.attrs = {"cost": str(self.cost), "covers": self.covers, "notes": list(self.notes)}
        return frame

    def to_polars(self) -> polars.DataFrame:
        """A polars frame with the columns that `to_pandas` has."""
        from tacit.curator.forms.frames import polars_frame

        frame: polars.DataFrame = polars_frame(self._columns())
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with the columns that `to_pandas` has."""
        from tacit.curator.forms.frames import arrow_table

        return arrow_table(self._columns())

    def _columns(self) -> list[AnswerColumn]:
        return with_half_widths(self.columns, self.rows, self.errors, shapes=self.shapes)

    def plot(self, *columns: str, ax: Axes | None = None) -> Figure:
        """A figure of every aggregate, or of those named: lines over time where a key is a date, else bars.

        `ax` is drawn into where there is one aggregate.
        """
        from tacit.curator.forms.plotting import Picture, draw

        keys = self.keys
        if keys is None:
            keys = tuple(index for index in range(len(self.columns)) if index not in self.numbers)
        caption = f"{self.cost}; {covering(self.covers, self.confidence)}"
        known = self.shapes if len(self.shapes) == len(self.columns) else ()
        exact = tuple(index for index, shape in enumerate(known) if not shape.noisy and index not in keys)
        return draw(Picture(self.columns, self.rows, self.errors, keys, caption, exact), columns, ax=ax)

    @property
    def numbers(self) -> list[int]:
        """The indices of the noisy columns, which tables align to the right."""
        return [index for index, noisy in enumerate(noisy_columns(len(self.columns), self.errors)) if noisy]

    def text_table(self, *, most: int | None = None) -> str:
        """The table alone, as the command line prints it; of more than `most` rows the first."""
        from tacit.curator.forms.table import text_table

        left_out = 0 if most is None else max(0, len(self) - most)
        table = text_table(self.columns, self.shown()[:most], right=self.numbers)
        return table + (f"… and {_counted(left_out, 'row')} more\n" if left_out else "")

    def __str__(self) -> str:
        return f"{self.text_table()}\n{self._below()}"

    def __repr__(self) -> str:
        return f"{self.text_table(most=_SHOWN)}\n{self._below()}"

    def _below(self) -> str:
        """The lines below the table: the cost, and the notes."""
        return "\n".join(map(in_one_line, [self.footer(), *(f"note: {note}" for note in self.notes)]))

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        picture = chart(self.columns, self.rows, self.errors, self.numbers)
        return f"{self.html_table()}{picture}<p>{html.escape(self.footer())}</p><ul>{notes}</ul>"

    def html_table(self) -> str:
        """The table alone, as HTML."""
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.shown())
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def left_fields(left: Budget | None) -> dict[str, str] | None:
    """The budget that is left, as exact text."""
    return None if left is None else {"epsilon": decimal_text(left.epsilon), "delta": decimal_text(left.delta)}


def covering(what: str, *confidences: Fraction) -> str:
    """The words for what the error bars cover, and how often."""
    levels = " or ".join(dict.fromkeys(f"{float(level) * 100:.10g}%" for level in confidences))
    return f"± covers {what}, {levels} of the time"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _escape(text: str) -> str:
    """A key is a stranger's text: in Markdown it must be neither the end of a cell nor a tag."""
    return re.sub(r"([\\|`\[\]])", r"\\\1", html.escape(visible(" ".join(text.split())), quote=False))
