"""How far noise may have moved what was computed: rows of many draws beside the rows that are shown."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit.engines.answers.process import Computed
from tacit.sql.postprocessing.tracing import Trace

Row = tuple[object, ...]
_UNSTATED = "no ± can be stated for {names}: it is computed from answers in a way that noise was not drawn again for"


@dataclass(frozen=True, slots=True)
class Simulated:
    """For each column the half-width of each row, None where none is known; and what is said of them."""

    errors: tuple[list[float | None], ...]
    notes: tuple[str, ...]

    @classmethod
    def none(cls, computed: Computed, traces: Sequence[Trace]) -> Simulated:
        """A result in which nothing was simulated."""
        noisy = [trace.name for trace in traces if not trace.clean and trace.cell is None]
        notes = (_UNSTATED.format(names=", ".join(noisy)),) if noisy else ()
        return cls(tuple([None] * len(computed.rows) for _ in computed.columns), notes)


def simulated(
    computed: Computed,
    drawn: Computed,
    *,
    traces: Sequence[Trace],
    draws: int,
    hidden: int,
    confidence: Fraction,
    note: str,
) -> Simulated:
    """The widths that hold so often in the draws. A row is known again by its columns without noise, else by its place.

    Of m draws the ⌈(m + 1) · confidence⌉-th smallest distance is taken: a further draw stays within it at least so
    often. With noise that is as likely to either side, that is how often the truth lies as near, if any true number
    was as likely beforehand as any other.
    """
    clean = [index for index, trace in enumerate(traces) if trace.clean]
    width = len(traces)
    tables: list[list[Row]] = [[] for _ in range(draws)]
    for row in drawn.rows:
        tables[int(str(row[0]))].append(row[1 : 1 + width])
    shown = _named(computed.rows, clean)
    matched = [_named(table, clean) for table in tables]
    errors: list[list[float | None]] = []
    notes: list[str] = []
    for index, trace in enumerate(traces):
        column: list[float | None] = [None] * len(computed.rows)
        if not trace.clean:
            cells = [[table[name][index] for table in matched if name in table] for name in shown]
            values = [row[index] for row in shown.values()]
            column = [_width(*pair, draws=draws, confidence=confidence) for pair in zip(values, cells, strict=True)]
            notes += _sureness(trace, values, cells, column)
        errors.append(column)
    notes += _order(list(shown), [list(table) for table in matched], ordered=hidden > 0) if clean else []
    approximate = any(
        width is not None
        for column, trace in zip(errors, traces, strict=True)
        if trace.cell is None
        for width in column
    )
    return Simulated(tuple(errors), (*((note,) if approximate else ()), *notes))


def _named(rows: Sequence[Row], clean: Sequence[int]) -> dict[Hashable, Row]:
    """Rows by what they are known by; those that share it are told apart by how many there were before."""
    named: dict[Hashable, Row] = {}
    seen: dict[Hashable, int] = {}
    for row in rows:
        name = tuple(str(row[index]) for index in clean)
        seen[name] = seen.get(name, 0) + 1
        named[name, seen[name]] = row
    return named


def _width(value: object, cells: Sequence[object], *, draws: int, confidence: Fraction) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    numbers = [float(cell) for cell in cells if isinstance(cell, (int, float)) and not isinstance(cell, bool)]
    rank = math.ceil((len(numbers) + 1) * confidence)
    if 2 * len(numbers) < draws or rank > len(numbers):
        return None
    return sorted(abs(number - value) for number in numbers)[rank - 1]


def _sureness(
    trace: Trace, values: Sequence[object], cells: Sequence[Sequence[object]], widths: Sequence[float | None]
) -> list[str]:
    """How sure a text or a rank is: in the row where it is the least."""
    if not values or (not trace.ranks and any(width is not None for width in widths)):
        return []
    shares = [sum(cell == value for cell in row) / len(row) for value, row in zip(values, cells, strict=True) if row]
    if not shares or (not trace.ranks and all(isinstance(value, (int, float, type(None))) for value in values)):
        return []
    if min(shares) == 1:
        return []
    if not trace.ranks and min(shares) < _HARDLY_EVER:
        return [f"{trace.name} is made of noisy numbers, and has no ± as a text"]
    return [f"{trace.name} is the true one with probability about {_rounded(min(shares))} or more in each row{_NOISE}"]


_NOISE = ", as far as noise goes"
_HARDLY_EVER = 0.05


def _order(shown: list[Hashable], drawn: list[list[Hashable]], *, ordered: bool) -> list[str]:
    """How sure it is which rows are there, and in which order."""
    if not shown:
        return []
    rows = set(shown)
    same = sum(set(table) == rows for table in drawn) / len(drawn)
    notes = []
    if same < 1:
        notes.append(
            f"noise decides which rows are shown: they are the true ones with probability about {_rounded(same)}"
        )
    if ordered and len(shown) > 1:
        alike = sum(table == shown for table in drawn) / len(drawn)
        if alike < 1 or same < 1:
            count = f"the order of these {len(shown)} rows"
            notes.append(f"{count} is the true one with probability about {_rounded(alike)}{_NOISE}")
    return notes


def _rounded(share: float) -> str:
    return f"{share:.2f}"
