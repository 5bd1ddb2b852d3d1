"""A distribution, as it leaves: a histogram, ranges of it, and the share below each value, all of one piece."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.curator.forms.extras import needs
from tacit.curator.forms.plotting import Picture, draw
from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.policy import ColumnType
from tacit.release.packing import not_whole, packed, unpacked
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.packed_columns import plain_attribute, read_attribute

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMAT = 1
_WHAT = "histogram"
_SIDES = 1.959963984540054  # standard deviations that 95 of 100 normal errors keep within
_MIDNIGHT = datetime(1970, 1, 1)  # noqa: DTZ001 - columns have no zone
_BAR, _INK = "#3b6ea8", "#333333"


@dataclass(frozen=True, slots=True)
class Estimated:
    """A number, and how far off it may be 95 times in 100."""

    value: float
    error: float

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """How many rows each bin has: whole numbers, not negative, from which every range is a sum."""

    table: str
    attribute: Attribute
    counts: IntArray
    estimates: FloatArray  # by least squares, before they were made whole and not negative
    fans: tuple[int, ...]  # of the tree that was measured, from the bins up
    variances: tuple[float, ...]  # of the noise, from the top
    loss: Loss
    rho: Fraction

    @property
    def total(self) -> Estimated:
        """How many rows there are."""
        return self._sum(0, len(self.counts))

    @property
    def bins(self) -> list[Any]:
        """What each bin is: a value, or where it begins."""
        return list(self.attribute.values) or [self._shown(low) for low in self.attribute.lows]

    def errors(self) -> FloatArray:
        """How far each bin's count may be off, 95 times in 100: by noise, and by how far it is from its estimate."""
        return _SIDES * np.sqrt(np.diag(self._spread())) + np.abs(self.counts - self.estimates)

    def range(self, low: Any, high: Any) -> Estimated:
        """How many rows lie from `low` to below `high`: the number between the nearest edges of bins.

        Where an end lies within a bin, nobody knows which of its rows are in the range. There are no fewer than in the
        bins that lie in it whole, and no more than in those that it touches: the error reaches as far as either may.
        """
        edges = self._edges()
        start, end = (self._steps(value) for value in (low, high))
        if start > end:
            raise InvalidParameter("a range ends where it begins, or after that")
        if start == end:
            return Estimated(0, 0.0)
        last = len(self.counts)
        nearest = _nearest(edges, start), _nearest(edges, end)
        touched = max(0, bisect.bisect_right(edges, start) - 1), min(last, bisect.bisect_left(edges, end))
        whole = bisect.bisect_left(edges, start), bisect.bisect_right(edges, end) - 1
        shown = self._sum(*nearest)
        if nearest == touched == whole:
            return shown
        most, least = self._sum(*touched), self._sum(*whole) if whole[0] < whole[1] else Estimated(0, 0.0)
        below = shown.value - max(0.0, least.value - least.error)
        return Estimated(shown.value, max(most.value + most.error - shown.value, below))

    def cdf(self) -> list[tuple[Any, float, float]]:
        """At the end of each bin the share of rows that lie below it, and how far off that may be, 95 times in 100.

        It never falls, begins above nothing and ends at one.
        """
        rows = max(1, int(self.counts.sum()))
        below, edges = np.cumsum(self.counts) / rows, self._edges()[1:]
        spread = np.cumsum(np.cumsum(self._spread(), axis=0), axis=1)
        whole = spread[-1, -1]
        variances = np.diag(spread) - 2 * below * spread[:, -1] + below**2 * whole  # of a share of a noisy whole
        guessed = np.cumsum(self.estimates) / max(1.0, float(self.estimates.sum()))
        errors = _SIDES * np.sqrt(np.maximum(variances, 0)) / rows + np.abs(below - guessed)
        lines = zip(edges, below.tolist(), errors.tolist(), strict=True)
        return [(self._shown(edge), share, min(1.0, error)) for edge, share, error in lines]

    def quantile(self, share: float) -> tuple[Any, Any, Any]:
        """The value that this share of the rows lies below, and two between which it is, by the errors of shares."""
        if not 0 <= share <= 1:
            raise InvalidParameter("a quantile is that of a share between 0 and 1")
        shares = self.cdf()
        last = len(shares) - 1
        middle, low, high = (
            min(last, next((index for index, line in enumerate(shares) if line[1] + sign * line[2] >= share), last))
            for sign in (0, 1, -1)
        )
        return shares[middle][0], self._shown(self._edges()[low]), shares[high][0]

    def plot(self, kind: str = "histogram", *, ax: Axes | None = None) -> Figure:
        """A picture with its errors: bars with whiskers ("histogram"), or the share below with a band ("cdf")."""
        if kind not in {"histogram", "cdf"}:
            raise InvalidParameter(f"there is no picture {kind[:40]!r}", hint='"histogram" or "cdf"')
        if kind == "histogram" and self.attribute.values:
            return self._listed(ax)
        pyplot = needs("matplotlib.pyplot", extra="plot")
        figure = ax.figure if ax is not None else pyplot.figure(figsize=(7, 3.8), layout="constrained")
        axes = ax if ax is not None else figure.add_subplot()
        if kind == "cdf":
            self._curve(axes)
        else:
            self._bars(axes)
        name, table = (text.replace("$", r"\$") for text in (self.attribute.name, self.table))
        axes.set_xlabel(name)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(f"{table}: {self.loss}; errors are 95% intervals", fontsize="small", color=_INK)
        return cast("Figure", figure)

    def _listed(self, ax: Axes | None) -> Figure:
        """A bar for each listed value, with names that can be read however many there are."""
        names = [str(value) for value in self.attribute.values]
        rows = tuple(zip(names, self.counts.tolist(), strict=True))
        errors = tuple((None, error) for error in self.errors().tolist())
        caption = f"{self.table}: {self.loss}; bars are 95% intervals"
        return draw(Picture((self.attribute.name, "rows"), rows, errors, (0,), caption), (), ax=ax)

    def _curve(self, axes: Any) -> None:
        begins = (self._shown(self._edges()[0]), 0.0, 0.0)
        values, shares, errors = (list(column) for column in zip(begins, *self.cdf(), strict=True))
        low, high = ([min(1, max(0, s + sign * e)) for s, e in zip(shares, errors, strict=True)] for sign in (-1, 1))
        axes.step(values, shares, where="post", color=_BAR)
        axes.fill_between(values, low, high, step="post", color=_BAR, alpha=0.25, linewidth=0)
        axes.set_ylim(0, 1.02)
        axes.set_ylabel("share of rows below")

    def _bars(self, axes: Any) -> None:
        look: dict[str, Any] = {"color": _BAR, "ecolor": _INK, "capsize": 2 if len(self.counts) <= 40 else 0}
        edges = [self._shown(edge) for edge in self._edges()]
        widths = [b - a for a, b in itertools.pairwise(edges)]
        look |= {"width": widths, "align": "edge", "error_kw": {"elinewidth": 0.8}}
        axes.bar(edges[:-1], self.counts, yerr=self.errors(), **look)
        axes.set_ylim(bottom=0)
        axes.set_ylabel("rows")

    def __repr__(self) -> str:
        return f"<histogram of {self.table}.{self.attribute.name}: {len(self.counts):,} bins; {self.loss}>"

    def _sum(self, first: int, last: int) -> Estimated:
        variance = float(self._spread()[first:last, first:last].sum())
        count = int(self.counts[first:last].sum())
        moved = abs(count - float(self.estimates[first:last].sum()))
        return Estimated(count, _SIDES * math.sqrt(max(0.0, variance)) + moved)

    def _spread(self) -> FloatArray:
        return covariance(len(self.counts), self.fans, self.variances)

    def _edges(self) -> list[int]:
        if not self.attribute.lows:
            raise InvalidParameter(f"the values of {self.attribute.name} have no order: it has a histogram alone")
        return [*self.attribute.lows, self.attribute.lows[-1] + self.attribute.widths[-1]]

    def _steps(self, value: Any) -> Fraction:
        """A value in steps of the column, as its bins are."""
        try:
            if isinstance(value, datetime):
                value = (value - _MIDNIGHT).total_seconds()
            elif isinstance(value, date):
                days = (value - _MIDNIGHT.date()).days
                value = days if self.attribute.kind is ColumnType.DATE else days * 86_400
            return Fraction(str(value)) / self.attribute.step
        except (ValueError, TypeError):
            raise InvalidParameter(f"the end of a range is a value of {self.attribute.name}") from None

    def _shown(self, steps: int) -> Any:
        value = steps * self.attribute.step
        if self.attribute.kind is ColumnType.DATE:
            return _MIDNIGHT.date() + timedelta(days=int(value))
        if self.attribute.kind is ColumnType.TIMESTAMP:
            return _MIDNIGHT + timedelta(seconds=int(value))
        return int(value) if value.denominator == 1 else float(value)

    # ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def to_bytes(self) -> bytes:
        """Arrays and what they mean, without pickle."""
        about = {
            "format": FORMAT,
            "table": self.table,
            "column": plain_attribute(self.attribute),
            "fans": list(self.fans),
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "rho": decimal_text(self.rho),
        }
        return packed(
            about, {"counts": self.counts, "estimates": self.estimates, "variances": np.array(self.variances)}
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Distribution:
        """The distribution that was packed so."""
        about, arrays = unpacked(data, what=_WHAT, form=FORMAT)
        try:
            return cls(
                table=about["table"],
                attribute=read_attribute(about["column"]),
                counts=arrays["counts"],
                estimates=arrays["estimates"],
                fans=tuple(about["fans"]),
                variances=tuple(arrays["variances"].tolist()),
                loss=Loss(about["epsilon"], about["delta"]),
                rho=Fraction(about["rho"]),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise not_whole(_WHAT) from None


def fan_out(bins: int, fan: int) -> tuple[int, ...]:
    """The fan-outs of a tree over bins, from them up, until a level has no more than one fan of nodes."""
    fans = []
    while bins > fan:
        bins = -(-bins // fan)
        fans.append(fan)
    return tuple(fans)


def covariance(bins: int, fans: Sequence[int], variances: Sequence[float]) -> FloatArray:
    """That of the least-squares estimates of bins, where each level of a tree over them was measured once."""
    information = np.eye(bins) / variances[-1]
    group = np.arange(bins)
    for fan, variance in zip(fans, reversed(variances[:-1]), strict=True):
        group = group // fan
        information += (group[:, None] == group[None, :]) / variance
    out: FloatArray = np.linalg.inv(information).astype(np.float64)
    return out


def _nearest(edges: Sequence[int], value: Fraction) -> int:
    index = bisect.bisect_left(edges, value)
    if index == 0 or index == len(edges):
        return min(index, len(edges) - 1)
    return index if edges[index] - value <= value - edges[index - 1] else index - 1
