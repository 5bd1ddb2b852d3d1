"""What a fit to a table is: what is asked for, what will be added up and paid, and who plans it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from tacit.core import Loss, Number
from tacit.core.digests import digest
from tacit.engines import Engine, Exact
from tacit.errors import InvalidParameter
from tacit.learn.sums.cells import FeatureCells
from tacit.learn.sums.engine_rows import EngineCells, EngineRows
from tacit.learn.sums.moments import Scaled
from tacit.learn.sums.studies import ModelPrice, Study, SumsLearner
from tacit.noise import Source
from tacit.sql.workloads.binned import CodedRows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What is to be learned from: a table, the column to predict, if any, and those to predict it from."""

    table: str
    target: str | None = None
    features: Sequence[str] = ()  # none: every column with bounds or a domain
    epsilon: Number | None = None  # None: the estimator's own
    delta: Number | None = None
    fresh: bool = False  # the model of the same request will not do

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            raise InvalidParameter("the features are a list of names", hint='features=["age", "town"]')


@dataclass(frozen=True, slots=True)
class FitPlan:
    """What will be added up and paid. Made without reading a row."""

    study: Study
    classes: tuple[Any, ...]
    coded: CodedRows
    table: str
    target: str
    kind: str  # the estimator and what it was told
    notes: tuple[str, ...]
    policy_version: str
    times: int  # rows by which neighbours may differ

    @property
    def model(self) -> ModelPrice:
        """What the model measures, and its price."""
        return self.study.plan

    @property
    def names(self) -> tuple[str, ...]:
        """The features, by their names."""
        return tuple(each.name for each in self.study.columns)

    @property
    def hash(self) -> str:
        """A hash that is the same for plans that add up, charge and learn alike."""
        study = (str(self.study.columns), str(self.study.target), str(self.model), str(self.classes))
        return digest("fit", self.policy_version, self.kind, *study, self.coded.text())

    def rows(self, execute: Callable[[str], Exact]) -> Any:
        """The rows of the table as the study adds them up, in the engine."""
        cells = [each for each in self.study.columns if isinstance(each, FeatureCells)]
        if cells:
            return EngineCells(self.coded, cells, execute, len(self.classes))
        features = [each for each in self.study.columns if isinstance(each, Scaled)]
        return EngineRows(self.coded, features, execute, len(self.classes))


@dataclass(frozen=True, slots=True)
class TableJob(Generic[T]):
    """What is charged at once: a fit, a search or accuracy first; how it is read, kept, and given to whom it is for."""

    plan: FitPlan
    price: ModelPrice
    hash: str
    read: Callable[[], T]
    to_bytes: Callable[[T], bytes]
    from_bytes: Callable[[bytes], T]
    give: Callable[[T], object]


class PlansFits(Protocol):
    """Whoever plans fits to the tables of an engine."""

    @property
    def engine(self) -> Engine:
        """Where the rows are."""

    @property
    def source(self) -> Source:
        """Where noise comes from."""

    def planned(self, estimator: SumsLearner, request: FitRequest, loss: Loss) -> FitPlan:
        """What a fit would add up for this price."""
