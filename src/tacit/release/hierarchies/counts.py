"""Hierarchical counts, as they leave: whole numbers that add up at every level, and how far off each may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.curator.forms.plotting import Picture, draw
from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.policy import ColumnType, Value, fold
from tacit.release.packing import not_whole, packed, unpacked
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.packed_columns import plain_attribute, plain_value, read_attribute, read_value
from tacit.release.synthesise.table import SyntheticTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMAT = 1
MOST_DRAWN = 120
_WHAT = "hierarchy"
_SIDES = 1.959963984540054  # standard deviations that 95 of 100 normal errors keep within
_WHERE = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HierarchicalCounts:
    """Counts of every level; `counts[i][node, cell]`. They add up from level to level, and none is negative."""

    table: str
    levels: tuple[str, ...]
    paths: tuple[tuple[tuple[object, ...], ...], ...]
    by: tuple[Attribute, ...]
    counts: tuple[IntArray, ...]
    total_variances: tuple[FloatArray, ...]
    cell_variances: tuple[FloatArray, ...]
    moved: tuple[FloatArray, ...]  # of each cell, how far its count is from the least-squares estimate, and where to
    loss: Loss
    rho: Fraction
    held: str | None = None  # the lowest level whose totals are exact, as the curator declared them public

    def level(self, name: str | None = None) -> int:
        """The index of a level by its name; the lowest where none is named."""
        if name is None:
            return len(self.levels) - 1
        indices = [index for index, each in enumerate(self.levels) if fold(each) == fold(name)]
        if not indices:
            raise InvalidParameter(f"there is no level {name[:60]!r}", hint=f"there are {', '.join(self.levels)}")
        return indices[0]

    def total(self, *path: object) -> int:
        """How many there are in a place, by the path that leads to it from the top; without one, in the whole."""
        if len(path) < len(self.levels) and path in self.paths[len(path)]:
            return int(self.counts[len(path)][self.paths[len(path)].index(path)].sum())
        raise InvalidParameter("there is no such place", hint=f"name one of each: {', '.join(self.levels[1:])}")

    def error(self, level: str | None = None, *, totals: bool = True) -> FloatArray:
        """How far each total of a level, or each cell of its places (nodes, cells), strays at most 95 times in 100.

        By the noise, and by how far the count was taken from its estimate to be whole, not negative and a part of what
        is above. What contribution bounds cut is not in it. Totals that are held have no error.
        """
        index = self.level(level)
        moved = self.moved[index].astype(np.float64)
        if totals:
            variances = self.total_variances[index]
            return np.where(variances > 0, _SIDES * np.sqrt(variances) + np.abs(moved.sum(axis=1)), 0.0)
        return _SIDES * np.sqrt(self.cell_variances[index])[:, None] + np.abs(moved)

    def rows(self, level: str | None = None, *, totals: bool = False) -> Iterator[tuple[Any, ...]]:
        """Path, cells, count and error of each cell of a level, or of its totals."""
        return iter(self._table(self.level(level), totals=totals))

    def to_pandas(self, level: str | None = None, *, totals: bool = False) -> Any:
        """The cells of a level as a pandas frame."""
        return self._table(self.level(level), totals=totals).to_pandas()

    def to_arrow(self, level: str | None = None, *, totals: bool = False) -> Any:
        """The cells of a level as an Arrow table."""
        return self._table(self.level(level), totals=totals).to_arrow()

    def write(self, path: Path | str, level: str | None = None, *, totals: bool = False) -> None:
        """Write the cells of a level to a file, Parquet or CSV by its name; one that is there is not overwritten."""
        self._table(self.level(level), totals=totals).write(path)

    def plot(self, level: str | None = None, *, ax: Axes | None = None) -> Figure:
        """The totals of a level, with their errors."""
        index = self.level(level)
        if len(self.paths[index]) > MOST_DRAWN:
            raise InvalidParameter(f"{self.levels[index]} has more than {MOST_DRAWN} places: draw a level above it")
        rows = tuple(
            (" / ".join(map(str, path)) or self.table, count)
            for path, count in zip(self.paths[index], self.counts[index].sum(axis=1).tolist(), strict=True)
        )
        errors = tuple((None, error) for error in self.error(level).tolist())
        caption = f"{self.table}: counts by {self.levels[index]}, {self.loss}; bars are 95% intervals"
        return draw(Picture((self.levels[index], "count"), rows, errors, (0,), caption), (), ax=ax)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(paths):,} {level}" for level, paths in zip(self.levels, self.paths, strict=True))
        return f"<hierarchical counts of {self.table}: {sizes}; {self.loss}>"

    # ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_bytes(self) -> bytes:
        """Arrays and what they mean, without pickle: the same for equal counts."""
        arrays: dict[str, Any] = {}
        for index, counts in enumerate(self.counts):
            arrays[f"counts{index}"] = counts
            arrays[f"totals{index}"] = self.total_variances[index]
            arrays[f"cells{index}"] = self.cell_variances[index]
            arrays[f"moved{index}"] = self.moved[index]
        about = {
            "format": FORMAT,
            "table": self.table,
            "levels": list(self.levels),
            "paths": [[[plain_value(part) for part in path] for path in paths] for paths in self.paths],
            "by": [plain_attribute(each) for each in self.by],
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "rho": decimal_text(self.rho),
            "held": self.held,
        }
        return packed(about, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> HierarchicalCounts:
        """The counts that were packed so."""
        about, arrays = unpacked(data, what=_WHAT, form=FORMAT)
        try:
            levels = range(len(about["levels"]))
            return cls(
                table=about["table"],
                levels=tuple(about["levels"]),
                paths=tuple(tuple(tuple(map(read_value, path)) for path in paths) for paths in about["paths"]),
                by=tuple(map(read_attribute, about["by"])),
                counts=tuple(arrays[f"counts{index}"] for index in levels),
                total_variances=tuple(arrays[f"totals{index}"] for index in levels),
                cell_variances=tuple(arrays[f"cells{index}"] for index in levels),
                moved=tuple(arrays[f"moved{index}"] for index in levels),
                loss=Loss(about["epsilon"], about["delta"]),
                rho=Fraction(about["rho"]),
                held=about["held"],
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise not_whole(_WHAT) from None

    def _table(self, index: int, *, totals: bool) -> SyntheticTable:
        """The cells of a level as a table to take away; it is not synthetic, but taken away alike."""
        counts = self.counts[index].sum(axis=1, keepdims=True) if totals else self.counts[index]
        by = () if totals else self.by
        shape: _WHERE = (len(counts), *(each.cells for each in by))
        indices = [each.ravel() for each in np.indices(shape, dtype=np.int64)]
        attributes, codes = [], []
        for depth, name in enumerate(self.levels[1 : index + 1]):
            attribute, code = _listed(name, [path[depth] for path in self.paths[index]])
            attributes.append(attribute)
            codes.append(code[indices[0]])
        errors = np.ceil(self.error(self.levels[index], totals=totals) * 10).astype(np.int64).ravel()
        zeros: IntArray = np.zeros(counts.size, dtype=np.int64)
        steps = [*(zeros,) * (len(codes) + len(by)), counts.ravel(), errors]
        attributes += [*by, _number("count", ColumnType.INTEGER), _number("error", ColumnType.NUMBER)]
        return SyntheticTable(self.table, tuple(attributes), (*codes, *indices[1:], zeros, zeros), tuple(steps))


def _listed(name: str, values: Sequence[object]) -> tuple[Attribute, IntArray]:
    """A column of these values, and the cell of each."""
    known: dict[Any, int] = {}
    code = np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
    first = next(iter(known))
    kinds = {bool: ColumnType.BOOLEAN, int: ColumnType.INTEGER, str: ColumnType.TEXT}
    kind = kinds.get(type(first), ColumnType.NUMBER if isinstance(first, Fraction) else ColumnType.TEXT)
    shown: tuple[Value, ...] = tuple(value if kind is not ColumnType.TEXT else str(value) for value in known)
    return Attribute(name, kind, ordered=False, nullable=False, values=shown), code


def _number(name: str, kind: ColumnType) -> Attribute:
    """A column of numbers, each of them its step."""
    step = Fraction(1) if kind is ColumnType.INTEGER else Fraction(1, 10)
    return Attribute(name, kind, ordered=True, nullable=False, lows=(0,), widths=(1,), step=step)
