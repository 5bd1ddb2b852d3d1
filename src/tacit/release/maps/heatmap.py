"""A heatmap, as it leaves: squares and their counts, pictures of them, and what noise does not hide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tacit.accounting import zcdp_to_dp
from tacit.core import Loss, decimal_text
from tacit.curator.forms.extras import needs
from tacit.errors import InvalidParameter
from tacit.release.maps.page import GROUPS, MapFacts, MapSquare, page, squares_csv
from tacit.release.maps.quadtree import Quadtree
from tacit.release.packing import not_whole, packed, unpacked
from tacit.release.synthesise.fitting.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMAT = 1
COLOURS = "magma_r"
MOST_PEOPLE = 1_000_000
_WHAT = "heatmap"
_SIDES = 1.959963984540054  # standard deviations that 95 of 100 normal errors keep within
_ARRAYS = ("levels", "rows", "columns", "counts", "variances", "moved")


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """Private counts on an adaptive grid. Everything one does with it is free."""

    table: str
    names: tuple[str, str]  # of the columns: across, up
    starts: tuple[Fraction, Fraction]
    widths: tuple[Fraction, Fraction]  # of the finest squares
    depth: int
    squares: Quadtree
    loss: Loss
    rho: Fraction
    unit: str

    def __iter__(self) -> Iterator[MapSquare]:
        """The squares, which together are the whole map."""
        squares = self.squares
        errors = _SIDES * np.sqrt(squares.variances) + squares.moved
        lines = zip(squares.levels, squares.rows, squares.columns, squares.counts, errors, strict=True)
        for level, row, column, count, error in lines:
            size = 2 ** (self.depth - int(level))
            width, height = float(self.widths[0] * size), float(self.widths[1] * size)
            x, y = float(self.starts[0]) + int(column) * width, float(self.starts[1]) + int(row) * height
            yield MapSquare(x, y, width, height, int(count), float(error))

    def __len__(self) -> int:
        return int(self.squares.counts.size)

    @property
    def total(self) -> int:
        """How many there are on the whole map."""
        return int(self.squares.counts.sum())

    def count(self, x: float, y: float) -> MapSquare:
        """The square that a point lies in."""
        for square in self:
            if square.x <= x < square.x + square.width and square.y <= y < square.y + square.height:
                return square
        raise InvalidParameter("the point is not on the map")

    def density(self, *, seen: bool = False) -> FloatArray:
        """About how many there are in each of the finest squares: a square's count is spread evenly over its own.

        `seen`: NaN where the count does not stand out from its noise.
        """
        side = 2**self.depth
        out: FloatArray = np.zeros((side, side))
        squares = self.squares
        for square, level, row, column in zip(self, squares.levels, squares.rows, squares.columns, strict=True):
            size = 2 ** (self.depth - int(level))
            value = math.nan if seen and not square.seen else square.count / size**2
            out[row * size : (row + 1) * size, column * size : (column + 1) * size] = value
        return out

    def group(self, people: int) -> Loss:
        """What is promised to a group who are in the data together or not at all: ρ grows with its square."""
        if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= MOST_PEOPLE:
            raise InvalidParameter(f"a group has 1 to {MOST_PEOPLE:,} people")
        return zcdp_to_dp(self.rho * people**2, self.loss.delta)

    @property
    def visible(self) -> int:
        """How many in a place where nobody else is show on the map: fewer are lost in the noise of a finest square."""
        finest = self.squares.variances[self.squares.levels == self.squares.levels.max()]
        return math.ceil(_SIDES * float(np.sqrt(finest.max())) + 1)

    def plot(self, *, ax: Axes | None = None) -> Figure:
        """The map as a picture; what does not stand out from its noise is white."""
        pyplot = needs("matplotlib.pyplot", extra="plot")
        colors = needs("matplotlib.colors", extra="plot")
        shown = self.density(seen=True)
        figure = ax.figure if ax is not None else pyplot.figure(figsize=(7, 6), layout="constrained")
        axes = ax if ax is not None else figure.add_subplot()
        side = 2**self.depth
        ends = [start + width * side for start, width in zip(self.starts, self.widths, strict=True)]
        extent = (float(self.starts[0]), float(ends[0]), float(self.starts[1]), float(ends[1]))
        there = shown[np.isfinite(shown)]
        scale = colors.LogNorm(*((there.min(), max(there.max(), 1.001 * there.min())) if there.size else (0.1, 1)))
        look: dict[str, Any] = {
            "origin": "lower",
            "extent": extent,
            "cmap": COLOURS,
            "interpolation": "nearest",
            "aspect": "auto",
        }
        image = axes.imshow(np.ma.masked_invalid(shown), norm=scale, **look)
        axes.set_xlabel(self.names[0].replace("$", r"\$"))
        axes.set_ylabel(self.names[1].replace("$", r"\$"))
        figure.colorbar(image, ax=axes, label="rows in a finest square; white: not told from noise")
        name = self.table.replace("$", r"\$")
        axes.set_title(f"{name}: about {self.total:,} rows in {len(self):,} squares, {self.loss}", fontsize="small")
        return cast("Figure", figure)

    def write(self, path: Path | str) -> None:
        """Write a picture (.png, .svg), a page (.html) or the squares (.csv), by its name; none is overwritten."""
        file = drawable(path)
        kind = file.suffix.lower()
        if kind in {".png", ".svg"}:
            self.plot().savefig(file, dpi=150)
            return
        file.write_text(page(self._facts()) if kind == ".html" else squares_csv(list(self)), encoding="utf-8")

    def _facts(self) -> MapFacts:
        ends = [start + width * 2**self.depth for start, width in zip(self.starts, self.widths, strict=True)]
        return MapFacts(
            table=self.table,
            names=self.names,
            starts=(float(self.starts[0]), float(self.starts[1])),
            ends=(float(ends[0]), float(ends[1])),
            squares=tuple(self),
            promised=f"{self.loss} for {self.unit}",
            visible=self.visible,
            groups=tuple((people, float(self.group(people).epsilon)) for people in GROUPS),
            delta=float(self.loss.delta),
        )

    def __repr__(self) -> str:
        return f"<heatmap of {self.table}: about {self.total:,} rows in {len(self):,} squares; {self.loss}>"

    # ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_bytes(self) -> bytes:
        """Arrays and what they mean, without pickle: the same for equal maps."""
        about = {
            "format": FORMAT,
            "table": self.table,
            "names": list(self.names),
            "starts": [decimal_text(start) for start in self.starts],
            "widths": [decimal_text(width) for width in self.widths],
            "depth": self.depth,
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "rho": decimal_text(self.rho),
            "unit": self.unit,
        }
        return packed(about, {name: getattr(self.squares, name) for name in _ARRAYS})

    @classmethod
    def from_bytes(cls, data: bytes) -> Heatmap:
        """The map that was packed so."""
        about, arrays = unpacked(data, what=_WHAT, form=FORMAT)
        try:
            starts, widths = ([Fraction(text) for text in about[key]] for key in ("starts", "widths"))
            return cls(
                table=about["table"],
                names=(about["names"][0], about["names"][1]),
                starts=(starts[0], starts[1]),
                widths=(widths[0], widths[1]),
                depth=about["depth"],
                squares=Quadtree(**{name: arrays[name] for name in _ARRAYS}),
                loss=Loss(about["epsilon"], about["delta"]),
                rho=Fraction(about["rho"]),
                unit=about["unit"],
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise not_whole(_WHAT) from None


def drawable(path: Path | str) -> Path:
    """Where a map may be written; refused before anything is paid for."""
    file = Path(path)
    if file.suffix.lower() not in {".png", ".svg", ".html", ".csv"}:
        raise InvalidParameter(f"{file.name} has no format that is written", hint="name it .png, .svg, .html or .csv")
    if file.exists():
        raise InvalidParameter(f"{file.name} is there already: it is not overwritten", hint="write elsewhere")
    if not file.absolute().parent.is_dir():
        raise InvalidParameter(f"{file.name} cannot be written", hint="check that its folder is there")
    if file.suffix.lower() in {".png", ".svg"}:
        needs("matplotlib", extra="plot")
    return file
