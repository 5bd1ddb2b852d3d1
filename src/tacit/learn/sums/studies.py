"""A fit in three steps that arrays and engines share: what is measured and paid, who adds the rows up, what is held."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import Adjacency, Event, Loss, Number
from tacit.errors import InvalidParameter
from tacit.learn.conventions import ClassLearner, Learner, column_names, columns_of, labels_of, source_of, target_of
from tacit.learn.sums.array_rows import ArrayCells, ArrayRows
from tacit.learn.sums.cells import FeatureCells
from tacit.learn.sums.moments import Scaled, design
from tacit.learn.sums.units import UnitRows, rows_of_units
from tacit.noise import IntArray, Source

NOTES = (
    "a number beyond its declared bounds counts as one at that bound",
    "NaN, NULL and a category that was not declared count as unknown: a cell of their own, or the middle of the bounds",
)
Learnt = Mapping[str, NDArray[np.float64]]
Columns = tuple[Any, ...]  # all FeatureCells, or all Scaled


class ModelPrice(Protocol):
    """What will be measured, with its price."""

    @property
    def loss(self) -> Loss:
        """What one fit costs."""

    @property
    def event(self) -> Event:
        """What an accountant needs to know of it."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What is known before a row is read: the columns, what they may hold, the classes, the price, and the unit."""

    names: tuple[str, ...]
    features: object
    loss: Loss
    classes: tuple[Any, ...] = ()
    rows: int = 1  # of one unit, at most
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    bounds: tuple[Number, Number] | None = None  # of a number that is predicted, where a policy knows them

    @property
    def times(self) -> int:
        """By how much more than one row two neighbours may differ."""
        return self.rows * self.adjacency.steps


@dataclass(frozen=True, slots=True)
class Study:
    """What a fit measures: of which columns, by which plan; `learn` makes of what is added up what may be told."""

    columns: Columns
    target: Any  # FeatureCells of the classes, a Scaled number, or nothing
    plan: ModelPrice
    learn: Callable[[Any, Source], Learnt]


class SumsLearner(Learner):
    """An estimator that needs nothing of the rows but sums of whole numbers: `_study` says which, `_hold` keeps."""

    epsilon: Number
    delta: Number
    features: object
    source: Source | None
    max_rows: int
    classes_: NDArray[Any]
    loss_: Loss
    event_: Event
    notes_: tuple[str, ...]

    def fit(self, X: Any, y: Any = None, units: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows. It costs (epsilon, delta), each time.

        `units` says whose each row is: then the price is for all rows of one, of which the first `max_rows` count.
        """
        columns = columns_of(X)
        count = len(columns[0])
        learns = self._kind in {"classifier", "regressor"}
        truth = target_of(y, rows=count) if learns else np.zeros(count)
        labelled, counted = self.labelled(truth), rows_of_units(units, count, self.max_rows)
        return self.fit_columns(X, columns, labelled=labelled, counted=counted)

    def fit_columns(
        self,
        rows: Any,
        columns: Sequence[NDArray[Any]],
        *,
        labelled: tuple[NDArray[Any], NDArray[Any]],
        counted: UnitRows,
    ) -> Self:
        """Learn from those of the rows that count, of which there may be none; `labelled` is what `labelled` says."""
        classes, coded = labelled
        price, kept = spendable(self.epsilon, self.delta), counted.kept
        names = tuple(column_names(rows, len(columns)))
        study = self.study(Declared(names, self.features, price, tuple(classes.tolist()), counted.most))
        data = in_arrays(study, [column[kept] for column in columns], coded[kept], classes=classes.size)
        self.hold(study, study.learn(data, source_of(self.source)), classes=classes)
        self._take_names(rows, columns)
        return self

    def labelled(self, truth: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The classes, and the number of each row's; of a model without classes, none, and what is predicted."""
        return self._labelled(truth) if self._kind == "classifier" else (np.zeros(0), truth)

    @property
    def kind(self) -> str:
        """What it is: a classifier, a regressor, a transformer or a clusterer."""
        return self._kind

    @property
    def many_classes(self) -> bool:
        """Whether it tells more than two classes apart."""
        return self._many_classes

    def study(self, declared: Declared) -> Study:
        """What a fit will measure and cost. Raises InvalidParameter for what cannot be learned."""
        raise NotImplementedError

    def hold(
        self,
        study: Study,
        learnt: Learnt,
        *,
        classes: Sequence[Any] | NDArray[Any] = (),
        names: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> Self:
        """Take what was learned; `names` where the columns of a table were, and what there is to say of them."""
        if names:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        if len(classes):
            self.classes_ = np.array(classes)
        self.loss_, self.event_, self.notes_ = study.plan.loss, study.plan.event, (*NOTES, *notes)
        self._keep(study, learnt)
        return self

    def _keep(self, study: Study, learnt: Learnt) -> None:
        raise NotImplementedError

    def _labelled(self, truth: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
        return labels_of(truth, getattr(self, "classes", None))


class SumsClassifier(ClassLearner, SumsLearner):
    """A classifier among them."""

    classes: Sequence[Any] | None

    def __init__(
        self,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        classes: Sequence[Any] | None = None,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.epsilon, self.delta, self.max_rows = epsilon, delta, max_rows
        self.features, self.classes, self.source = features, classes, source

    @property
    def can_count_right(self) -> bool:
        """Whether `right_in` knows how: of models whose classes are told apart by one sum."""
        return type(self).right_in is not SumsClassifier.right_in

    def right_in(self, data: Any) -> int:
        """Of how many rows a fitted model of two classes tells the class, added up by whoever adds up."""
        raise NotImplementedError


def in_arrays(study: Study, columns: Sequence[NDArray[Any]], truth: NDArray[Any], *, classes: int) -> Any:
    """The rows as what the study adds up: cells, or whole numbers between bounds."""
    if isinstance(study.columns[0], FeatureCells):
        pairs = zip(study.columns, columns, strict=True)
        return ArrayCells(study.columns, [cells.codes(column) for cells, column in pairs], truth, classes)
    goal = study.target.steps(truth)[:, 0] if isinstance(study.target, Scaled) else None
    return ArrayRows(design(study.columns, columns), goal, truth if classes else None, classes)


def classes_cells(classes: tuple[Any, ...]) -> FeatureCells:
    """The classes as cells, numbered in their order."""
    return FeatureCells("the target", values=classes)


def spendable(epsilon: Number, delta: Number) -> Loss:
    """A price that pays for Gaussian noise."""
    loss = Loss(epsilon, delta)
    if loss.epsilon <= 0 or not 0 < loss.delta < 1:
        raise InvalidParameter(
            "a model needs an epsilon and a delta, both greater than zero: its noise is Gaussian",
            hint="epsilon=1, delta=1e-6",
        )
    return loss
