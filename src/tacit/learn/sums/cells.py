"""Public cells of a column: every value falls into one, whatever it is, and none is looked at to make them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import rational
from tacit.errors import InvalidParameter
from tacit.learn.conventions import is_hashable

Codes = NDArray[np.int32]
STANDARD = (-4, 4)  # of a column that nobody declared: a number that was scaled by public constants
_FINE = 20  # equal cells of a column, at most
_ROUND = (Fraction(1), Fraction(2), Fraction(5, 2), Fraction(5), Fraction(10))
_R5 = tuple(map(Fraction, ("1", "1.6", "2.5", "4", "6.3")))  # round numbers, five and twenty in a decade
_R20 = tuple(
    Fraction(hundredths, 100)
    for hundredths in (
        100,
        112,
        125,
        140,
        160,
        180,
        200,
        224,
        250,
        280,
        315,
        355,
        400,
        450,
        500,
        560,
        630,
        710,
        800,
        900,
    )
)
_LONG, _TAIL = 1_000, 100  # a column that reaches so high, and so many times its lower end, has a long tail
_DECADES = 2
_MOST_CELLS = 4_096
_MISSING = {"NAType", "NaTType"}  # of pandas, which need not be installed
_FAR = 10**150  # beyond which doubles run out of room


def numbers_of(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    """A column that was declared a number, as doubles; refused where a cell is none."""
    try:
        with np.errstate(over="ignore"):  # a long double beyond all doubles is infinite, and so beyond every bound
            return column.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        pass
    try:  # a whole number beyond all doubles is beyond every bound, and what a frame calls missing is not a number
        return np.array([_held(cell) for cell in column.tolist()], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"the column {name} is declared a number, and holds something else: a cell could not be converted to float",
            hint="declare its categories as a list",
        ) from None


def _held(cell: Any) -> float:
    if cell is None or type(cell).__name__ in _MISSING:
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class FeatureCells:
    """The cells of one column: between `edges`, or one for each of `values`; and a last one for whatever is missing.

    A number falls into the cell that counts the edges at or below it, so one beyond the bounds is in the cell at that
    end: it is clamped. NaN, NULL and a value that was never declared fall into the last cell.
    """

    name: str
    edges: tuple[Fraction, ...] = ()
    values: tuple[Hashable, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether neighbouring cells are alike: those of numbers are."""
        return not self.values

    @property
    def size(self) -> int:
        """How many cells there are."""
        return (len(self.values) if self.values else len(self.edges) + 1) + 1

    def codes(self, column: NDArray[Any]) -> Codes:
        """The cell of each value."""
        if self.values:
            index = {value: position for position, value in enumerate(self.values)}
            return np.array([code_of(index, value) for value in column.tolist()], dtype=np.int32)
        numbers = numbers_of(column, self.name)
        indices = np.searchsorted(np.array([float(edge) for edge in self.edges]), numbers, side="right")
        return np.where(np.isnan(numbers), len(self.edges) + 1, indices).astype(np.int32)


def cells_of(declared: object, names: Sequence[str]) -> tuple[FeatureCells, ...]:
    """The cells of these columns, from what was declared of them and from nothing else.

    `declared` is a mapping by name or a list in order: (lower, upper) for a number, a list of its categories for
    anything else, {"edges": […]} for cells of one's own. Nothing at all declares numbers between −4 and 4.
    """
    if declared is None:
        return tuple(_numbers(name, STANDARD) for name in names)
    if isinstance(declared, Mapping):
        missing = [name for name in names if name not in declared]
        unknown = [name for name in declared if name not in names]
        if missing or unknown:
            which = f"not declared: {', '.join(missing)}" if missing else f"no such column: {unknown[0]}"
            raise InvalidParameter(f"the features do not fit the columns: {which}", hint="name each column once")
        given = [declared[name] for name in names]
    elif isinstance(declared, Sequence) and not isinstance(declared, str):
        given = list(declared)
        if len(given) != len(names):
            raise InvalidParameter(f"the features do not fit the columns: {len(given)} for {len(names)} columns")
    else:
        raise InvalidParameter("features is a mapping or a list: one entry a column")
    return tuple(_cells(name, entry) for name, entry in zip(names, given, strict=True))


def offsets(cells: Sequence[FeatureCells]) -> NDArray[np.int64]:
    """Where the cells of each feature begin when all stand in one row; at the end, how many there are."""
    return np.concatenate([[0], np.cumsum([each.size for each in cells])]).astype(np.int64)


def code_of(index: Mapping[Hashable, int], value: Any) -> int:
    """The place of a value among those that were declared; of any other, the one after the last."""
    return index.get(value, len(index)) if is_hashable(value) else len(index)


def _cells(name: str, entry: object) -> FeatureCells:
    if isinstance(entry, FeatureCells):
        return entry
    if isinstance(entry, Mapping) and set(entry) == {"edges"} and isinstance(entry["edges"], Sequence | np.ndarray):
        return _checked(
            FeatureCells(name, edges=tuple(rational(edge, f"an edge of {name}") for edge in entry["edges"]))
        )
    if isinstance(entry, tuple) and len(entry) == 2 and all(_is_number(end) for end in entry):
        return _numbers(name, entry)
    if isinstance(entry, Sequence) and not isinstance(entry, str | tuple) and entry:
        return _checked(FeatureCells(name, values=tuple(entry)))
    raise InvalidParameter(
        f"nobody said what the column {name} may hold",
        hint="(lower, upper) for a number, a list of its categories, or {'edges': […]}",
    )


def _is_number(end: object) -> bool:
    return isinstance(end, int | float | Fraction | Decimal | np.number) and not isinstance(end, bool)


def _checked(cells: FeatureCells) -> FeatureCells:
    if not all(map(is_hashable, cells.values)) or len(set(cells.values)) < len(cells.values):
        raise InvalidParameter(f"a category of {cells.name} is named twice, or is none")
    if list(cells.edges) != sorted(set(cells.edges)):
        raise InvalidParameter(f"the edges of {cells.name} do not rise")
    if not 2 <= cells.size <= _MOST_CELLS:
        raise InvalidParameter(f"the column {cells.name} has no cells, or more than {_MOST_CELLS}")
    return cells


def _numbers(name: str, bounds: Sequence[Any]) -> FeatureCells:
    lower, upper = (rational(end, f"a bound of {name}") for end in bounds)
    if not -_FAR < lower < upper < _FAR:
        raise InvalidParameter(f"the lower bound of {name} is not below the upper one, or one of them is too large")
    edges = set(_equal(lower, upper, most=_FINE))
    if upper >= _LONG and upper >= _TAIL * lower >= 0:
        edges |= set(_rising(upper, _R20, decades=(0, _DECADES)))
        edges |= set(_rising(upper, _R5, decades=(_DECADES, 2 * _DECADES)))
    return _checked(FeatureCells(name, edges=tuple(sorted(edge for edge in edges if lower < edge < upper))))


def _equal(lower: Fraction, upper: Fraction, *, most: int) -> list[Fraction]:
    """Edges at whole multiples of a round width, at most so many cells."""
    least = (upper - lower) / most
    power = Fraction(10) ** math.floor(math.log10(float(least)))
    width = next(power * factor for factor in (*_ROUND, Fraction(20)) if power * factor >= least)
    first, last = math.floor(lower / width) + 1, math.ceil(upper / width) - 1
    return [index * width for index in range(first, last + 1)]


def _rising(upper: Fraction, series: Sequence[Fraction], *, decades: tuple[int, int]) -> list[Fraction]:
    """Round numbers that grow by a ratio, so many decades below the upper bound."""
    high, low = (upper / 10**decade for decade in decades)
    top = math.floor(math.log10(float(upper))) + 1
    edges = [Fraction(10) ** power * factor for power in range(top - decades[1] - 1, top + 1) for factor in series]
    return [edge for edge in edges if low <= edge < high]
