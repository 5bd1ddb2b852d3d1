"""What contribution bounds cut from a table: four noisy sums over its units, and the shares they make."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.core import ComposedEvent, Event, Loss
from tacit.engines import Exact
from tacit.errors import PolicyError
from tacit.mechanisms import Laplace
from tacit.noise import IntArray, Source
from tacit.policy import TablePolicy

COLUMNS = ("c0", "c1", "c2", "c3")
MANY = 10  # times max_rows: of a unit with more rows, no more are said to be cut
_DIGITS = 10_000


@dataclass(frozen=True, slots=True)
class CutNoise:
    """Laplace noise on four sums over units: all of them, those that a bound touches, rows that count, rows cut.

    One unit moves them by 1, 1, max_rows and (MANY − 1) · max_rows: it is one row of the table that is summed, and each
    of its numbers is held there. Each sum has a quarter of epsilon, so that all of them cost what was given.
    """

    noises: tuple[Laplace, ...]
    moves: tuple[int, ...]

    @classmethod
    def costing(cls, loss: Loss, max_rows: int) -> CutNoise:
        """The least noise that costs no more than `loss`, where one unit is added or removed."""
        moves = (1, 1, max_rows, (MANY - 1) * max_rows)
        return cls(tuple(Laplace.costing(Loss(loss.epsilon / len(moves)), move) for move in moves), moves)

    def event(self, steps: int) -> Event:
        """What an accountant needs to know of it, between neighbours this many additions or removals apart."""
        pairs = zip(self.noises, self.moves, strict=True)
        return ComposedEvent(tuple((noise.event(steps * move), 1) for noise, move in pairs))

    def release(self, exact: Exact, source: Source) -> list[int]:
        """The four sums, each with its noise."""
        columns: list[IntArray] = [exact.integers(name) for name in COLUMNS]
        pairs = zip(self.noises, columns, strict=True)
        return [int(noise.release(column, source)[0]) for noise, column in pairs]


def shares(numbers: list[int]) -> tuple[Fraction, Fraction]:
    """(share of rows that are cut, share of units that a bound touches), as far as noise lets them be known."""
    units, touched, counted, cut = (max(0, number) for number in numbers)
    return _share(cut, counted + cut), _share(touched, units)


def _share(part: int, whole: int) -> Fraction:
    return Fraction(round(_DIGITS * min(Fraction(1), Fraction(part, whole))), _DIGITS) if whole else Fraction(0)


def cuts_sql(table: TablePolicy, owned: str, *, columns: int) -> str:
    """The four sums over units; `owned` has the rows with their owner, and the keys they may be grouped by."""
    rows = table.max_rows
    if rows is None:
        raise PolicyError(
            f"{table.name} has no max_rows: nothing is cut yet", hint=f"tacit calibrate {table.name}.max_rows first"
        )
    counts = ", ".join(["1", *(f"COUNT(DISTINCT v{index})" for index in range(columns))])
    each = f"SELECT u, COUNT(*) AS n, GREATEST({counts}) AS g FROM ({owned}) AS owned GROUP BY u"
    many = "" if table.max_groups is None else f" OR g > {table.max_groups}"
    sums = (
        "COUNT(*)",
        f"SUM(CASE WHEN n > {rows}{many} THEN 1 ELSE 0 END)",
        f"SUM(CASE WHEN n > {rows} THEN {rows} ELSE n END)",
        f"SUM(CASE WHEN n > {MANY * rows} THEN {(MANY - 1) * rows} WHEN n > {rows} THEN n - {rows} ELSE 0 END)",
    )
    listed = (
        f"CAST(COALESCE({each_sum}, 0) AS BIGINT) AS {name}" for each_sum, name in zip(sums, COLUMNS, strict=True)
    )
    return f"SELECT {', '.join(listed)} FROM ({each}) AS each"
