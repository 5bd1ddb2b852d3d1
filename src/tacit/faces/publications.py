"""What the Python door publishes of a table: a model, or counts of one kind or another, paid for once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

from tacit.core import Number
from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.policy import AnalystPolicy
    from tacit.release.distributions import Distribution
    from tacit.release.general import OnlineWorkload
    from tacit.release.hierarchies import HierarchicalCounts
    from tacit.release.linked import LinkedModel
    from tacit.release.maps import Heatmap
    from tacit.release.publishing import Publishable, Publisher
    from tacit.release.responses import PerturbedTable
    from tacit.release.synthesise import SyntheticModel

T = TypeVar("T")


class Publications(ABC):
    """The releases of a table. Whoever has them knows what they cost and how they are paid for."""

    __slots__ = ()

    @abstractmethod
    def _priced(self, epsilon: Number | None, delta: Number | None) -> tuple[Number, Number | None]:
        """What a release costs: what was given, else what the session says."""

    @abstractmethod
    def _publishing(self) -> tuple[Publisher, AnalystPolicy]:
        """Who publishes, and for whom."""

    @abstractmethod
    def _published(self, wish: Publishable[T]) -> T:
        """What was wished for, paid for or kept."""

    @overload
    def synthesise(
        self,
        table: str,
        *,
        epsilon: Number | None = ...,
        delta: Number | None = ...,
        columns: Sequence[str] = ...,
        method: str = ...,
        fresh: bool = ...,
        progress: Callable[[float], None] | None = ...,
    ) -> SyntheticModel: ...

    @overload
    def synthesise(
        self,
        table: list[str] | tuple[str, ...],
        *,
        epsilon: Number | None = ...,
        delta: Number | None = ...,
        columns: Mapping[str, Sequence[str]] | Sequence[str] = ...,
        method: str = ...,
        fresh: bool = ...,
        progress: Callable[[float], None] | None = ...,
    ) -> LinkedModel: ...

    def synthesise(
        self,
        table: str | list[str] | tuple[str, ...],
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        columns: Sequence[str] | Mapping[str, Sequence[str]] = (),
        method: str = "auto",
        fresh: bool = False,
        progress: Callable[[float], None] | None = None,
    ) -> SyntheticModel | LinkedModel:
        """A model of a table, or of some of its columns: paid for once, then free to draw rows from and to ask.

        A list of tables, one of which all the others are linked to, gives a model of them all: rows whose keys fit. Its
        `columns` are those of each table, by its name.
        `method` is "auto", "hybrid", "tree", "aim" or "mst". A model of the same columns that is kept, and no noisier,
        is given again, free, unless it must be `fresh`. Raises QueryRefused and BudgetExceeded, at no charge.
        """
        from tacit.release.linked import LinkedRequest
        from tacit.release.synthesise import SynthesisRequest

        price = self._priced(epsilon, delta)
        if not isinstance(table, str):
            each = _columns_of_each(columns)
            return self._published(LinkedRequest(tuple(table), *price, each, method, fresh, progress=progress))
        if isinstance(columns, (str, Mapping)):
            raise InvalidParameter("the columns are a list of names", hint='columns=["age", "town"]')
        return self._published(SynthesisRequest(table, *price, tuple(columns), method, fresh, progress=progress))

    def hierarchy(
        self,
        table: str,
        place: str,
        *,
        levels: Sequence[str] = (),
        by: Sequence[str] = (),
        epsilon: Number | None = None,
        delta: Number | None = None,
        shares: Sequence[Number] = (),
        fresh: bool = False,
    ) -> HierarchicalCounts:
        """Counts at every level of a public tree, which add up: of the whole, of `levels` from the top, of each place.

        The domain of the column `place` is a column of a public table, and `levels` are others of that table. In each
        place rows are counted by the cells of the columns `by`. `shares` divide the price among the levels, from the
        whole down, in proportion. Raises QueryRefused and BudgetExceeded, at no charge.
        """
        from tacit.release.hierarchies import HierarchyRequest

        price = self._priced(epsilon, delta)
        wish = HierarchyRequest(table, place, *price, tuple(levels), tuple(by), tuple(shares), fresh)
        return self._published(wish)

    def heatmap(
        self,
        table: str,
        x: str,
        y: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        depth: int = 6,
        fresh: bool = False,
    ) -> Heatmap:
        """Private counts on a map: two columns with bounds, in squares that are finer where there is more.

        The finest are a 2^depth-th of each column's range. Raises QueryRefused and BudgetExceeded, at no charge.
        """
        from tacit.release.maps import HeatmapRequest

        return self._published(HeatmapRequest(table, x, y, *self._priced(epsilon, delta), depth, fresh))

    def histogram(
        self,
        table: str,
        column: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        bins: int | None = None,
        fresh: bool = False,
    ) -> Distribution:
        """How many rows each bin of a column has; ranges, shares below a value and quantiles follow from it, free."""
        from tacit.release.distributions import DistributionRequest

        return self._published(DistributionRequest(table, column, *self._priced(epsilon, delta), bins, fresh))

    def responses(
        self,
        table: str,
        columns: Sequence[str] = (),
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        fresh: bool = False,
    ) -> PerturbedTable:
        """Randomised response to every row of a table whose unit is the row, in these columns or in all of them.

        Its `rows` are the responses; `count(town={0, 2})` estimates without bias how many rows truly have these cells.
        """
        from tacit.release.responses import ResponseRequest

        wish = ResponseRequest(table, tuple(columns), *self._priced(epsilon, delta), fresh)
        return self._published(wish).refuse_untold()

    def workload(
        self,
        table: str,
        columns: Sequence[str],
        *,
        epsilon: Number | None = None,
        questions: int = 1_000,
        corrections: int = 100,
        threshold: int | None = None,
    ) -> OnlineWorkload:
        """Counts of a table, asked one by one and each in view of the last, for one price that is paid now.

        `workload.count("age < 40 AND ill")` is free. `questions` is for how many its error is stated, `corrections` how
        often the data may be measured. Raises QueryRefused and BudgetExceeded, at no charge.
        """
        from tacit.release.general import WorkloadRequest
        from tacit.release.general.workload import open_workload

        price, _ = self._priced(epsilon, None)
        wish = WorkloadRequest(table, tuple(columns), price, questions, corrections, threshold)
        publisher, who = self._publishing()
        return open_workload(publisher, wish, who)


def _columns_of_each(
    columns: Sequence[str] | Mapping[str, Sequence[str]],
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Of several tables, the columns of each by its name; refused where they are of no table."""
    if columns and not isinstance(columns, Mapping):
        hint = 'columns={"patients": ["age"], "visits": ["ward"]}'
        raise InvalidParameter("the columns of several tables are those of each, by its name", hint=hint)
    named = columns.items() if isinstance(columns, Mapping) else ()
    return tuple((table, tuple(names)) for table, names in named)
