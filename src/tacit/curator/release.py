"""What leaves: rows, error bars, cost, what is left, and a receipt."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tacit.core import Budget, Loss, decimal_text
from tacit.curator.extras import needs

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]  # an extra, and without types
    import pyarrow  # type: ignore[import-untyped]  # an extra, and without types
    from matplotlib.axes import Axes


NOISE = "the noise alone"  # what ± covers, unless more was paid for
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was asked, guaranteed and charged, and where the ledger says so."""

    plan: str
    policy: str
    entry: str
    guarantee: str
    unit: str
    mechanisms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """One private answer. `errors` has the shape of `rows`: half-widths at `confidence`, None where there is none.

    `covers` says what a half-width is of: of the noise alone, unless the question paid for more. What contribution
    bounds, clamping and the rows that are left out do to an answer is not noise.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    errors: tuple[tuple[float | None, ...], ...]
    confidence: Fraction
    cost: Loss
    left: Budget | None
    reused: str | None
    notes: tuple[str, ...]
    receipt: Receipt
    covers: str = NOISE

    def to_dict(self) -> dict[str, object]:
        """Plain values, as the command line prints them."""
        return {
            "columns": list(self.columns),
            "rows": [[_in_json(plain(value)) for value in row] for row in self.rows],
            "errors": [list(row) for row in self.errors],
            "confidence": float(self.confidence),
            "covers": self.covers,
            "epsilon": decimal_text(self.cost.epsilon),
            "delta": decimal_text(self.cost.delta),
            "left": None
            if self.left is None
            else {"epsilon": decimal_text(self.left.epsilon), "delta": decimal_text(self.left.delta)},
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
        """Rows with a header; each noised column is followed by its half-width."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        noised = self._noised()
        writer.writerow(
            [
                visible(name)
                for i, column in enumerate(self.columns)
                for name in ([column, f"{column}_error"] if noised[i] else [column])
            ]
        )
        for row, errors in zip(self.rows, self.errors, strict=True):
            cells = [[plain(value), errors[i]] if noised[i] else [plain(value)] for i, value in enumerate(row)]
            writer.writerow([_safe(cell) for pair in cells for cell in pair])
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
            [_with_error(value, error) for value, error in zip(row, errors, strict=True)]
            for row, errors in zip(self.rows, self.errors, strict=True)
        ]

    def footer(self) -> str:
        """What it cost and what is left, in one line."""
        paid = f"reused: {self.reused}, free" if self.reused else f"cost {self.cost}"
        left = "" if self.left is None else f"; left {self.left}"
        return f"{paid}{left}; {covering(self.covers, self.confidence)}; hides {self.receipt.unit}"

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame; the half-widths are in `.attrs["errors"]`."""
        frames = needs("pandas")
        frame = frames.DataFrame([[plain(v) for v in row] for row in self.rows], columns=list(self.columns))
        frame.attrs["errors"] = [list(row) for row in self.errors]
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with a half-width column beside each noised one."""
        arrow = needs("pyarrow")
        noised = self._noised()
        data: dict[str, list[object]] = {}
        for i, column in enumerate(self.columns):
            data[column] = [plain(row[i]) for row in self.rows]
            if noised[i]:
                data[f"{column}_error"] = [errors[i] for errors in self.errors]
        return arrow.table(data)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Bars with error bars: the first noised column over the keys."""
        pyplot = needs("matplotlib.pyplot", extra="plot")
        axes = ax if ax is not None else pyplot.subplots(figsize=(7, 4), layout="constrained")[1]
        noised = self._noised()
        place = noised.index(True) if True in noised else len(self.columns) - 1
        labels = [
            " · ".join(_label(v) for i, v in enumerate(row) if not noised[i] and i != place) or "all"
            for row in self.rows
        ]
        heights = [math.nan if row[place] is None else float(str(row[place])) for row in self.rows]
        axes.bar(
            range(len(labels)),
            heights,
            color="#3b6ea8",
            yerr=[errors[place] or 0 for errors in self.errors],
            capsize=3,
            ecolor="#333333",
        )
        axes.set_xticks(
            range(len(labels)),
            labels,
            rotation=45 if len(labels) > 8 else 0,
            ha="right" if len(labels) > 8 else "center",
        )
        axes.set_ylabel(self.columns[place])
        axes.set_title(f"{self.columns[place]}, private ({self.cost})")
        axes.spines[["top", "right"]].set_visible(False)
        return axes

    def _noised(self) -> list[bool]:
        return [any(errors[i] is not None for errors in self.errors) for i in range(len(self.columns))]

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.shown()
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<p>{html.escape(self.footer())}</p><ul>{notes}</ul>"


def covering(what: str, *confidences: Fraction) -> str:
    """What the error bars cover, and how often."""
    levels = " or ".join(dict.fromkeys(f"{float(level) * 100:.10g}%" for level in confidences))
    return f"± covers {what}, {levels} of the time"


def plain(value: object) -> Any:
    """A value that JSON, CSV and data frames know."""
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(plain(name)): plain(item) for name, item in value.items()}
    return value


def _label(key: object) -> str:
    """A key below its bar; that of a total has none."""
    return "–" if key is None else str(plain(key))


def _in_json(value: object) -> object:
    """JSON has no word for a key that is NaN or infinite."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _with_error(value: object, error: float | None) -> str:
    if isinstance(value, float) and not error:
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    if isinstance(value, float) and error is not None:
        places = max(0, min(6, 2 - len(str(int(abs(error))).lstrip("0"))))
        return f"{value:,.{places}f} ± {error:,.{places}f}"
    if isinstance(value, int) and not isinstance(value, bool) and error is not None:
        return f"{value:,} ± {error:,.0f}"
    return "NULL" if value is None else str(plain(value))


def _escape(text: str) -> str:
    """A key is a stranger's text: in Markdown it must be neither the end of a cell nor a tag."""
    return re.sub(r"([\\|`\[\]])", r"\\\1", html.escape(visible(" ".join(text.split())), quote=False))


def visible(text: str) -> str:
    """A text whose control characters, which a terminal would obey, are spelled out; line ends and tabs stay."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def in_one_text(written: str) -> str:
    """JSON without the control characters that JSON lets pass: spelled as JSON spells the others."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _safe(cell: object) -> object:
    """A text that a spreadsheet would run as a formula is quoted, and one that a terminal would obey spelled out."""
    if not isinstance(cell, str):
        return cell
    return visible(f"'{cell}" if cell[:1] in {"=", "+", "-", "@", "\t", "\r"} else cell)
