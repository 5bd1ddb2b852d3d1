"""A holdout that can be asked as often as one likes: it answers only where the training data mislead.

What is chosen after looking at a holdout fits it by chance, and scores better there than on anybody else. Thresholdout
hides the holdout behind differential privacy: where training set and holdout agree, it repeats what the training set
says, which tells nothing of the holdout but that; where they do not, it answers from the holdout, with noise, and a
budget pays for that.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.core import Adjacency, Loss, Number, rational
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.learn.conventions import array_of
from tacit.learn.holdout.rows import steps_of_one, sums_in_steps, values_of
from tacit.mechanisms import Thresholdout
from tacit.noise import SYSTEM, Source

_NEARLY = 10  # of the budget this part is left when a warning is given


class HoldoutWarning(UserWarning):
    """The budget of a holdout is nearly spent."""


class Predicts(Protocol):
    """A model: a scikit-learn estimator, or whatever predicts rows."""

    def predict(self, rows: Any, /) -> Any:
        """One prediction for each row."""


@dataclass(frozen=True, slots=True)
class HoldoutAnswer:
    """What the holdout says of one statistic.

    `value` is the training set's where both agree, else the holdout's with noise; `misled` tells which. `left` is how
    many more times the holdout may contradict.
    """

    value: float
    misled: bool
    left: int

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class HoldoutEntry:
    """One question that was put to a holdout."""

    number: int
    label: str
    checked: HoldoutAnswer


class HoldoutSession(Protocol):
    """Questions one after another, until as many hits as there may be."""

    @property
    def hits_left(self) -> int:
        """How many more times the holdout may answer itself."""

    def ask(self, guess: int, *, holdout: int) -> int:
        """The guess, or what the holdout says, with noise."""


class ReusableHoldout:
    """Thresholdout: means of statistics over a training set, corrected by a holdout that stays fresh.

    A statistic gives each row a value within `bounds`; what is asked for is its mean. Where the means of training set
    and holdout differ by more than about `threshold`, the answer is the holdout's with noise of scale `noise`, and one
    of `budget` such answers is spent. Then the holdout stops, for good.

    Guarantee:    ε-DP for one row of the holdout replaced by another, ε = 2 · budget / (noise · n), however many
                  questions are asked and however they depend on earlier answers: it is one run of the mechanism
                  `Thresholdout`. What is private generalises: no statistic that an ε-private analysis chooses differs
                  on the holdout from the population by more than τ but with probability β, if ε ≤ τ/2 and
                  n ≥ 12 ln(4/β) / τ² (`generalises`).
    Sensitivity:  a row moves the mean by at most one part in n of the bounds' width; n is public.
    Error:        an answer from the training set may be off by the threshold and its noise.
    Exactness:    values are rounded to 2^-20 of the bounds' width; sums and noise are whole numbers of such steps.
    Reference:    Dwork, Feldman, Hardt, Pitassi, Reingold & Roth, "Generalization in adaptive data analysis and holdout
                  reuse", NeurIPS 2015; the theorem of generalisation: the same, STOC 2015.
    """

    def __init__(
        self,
        train: Any,
        holdout: Any,
        *,
        threshold: Number = Fraction(1, 25),
        noise: Number = Fraction(1, 100),
        budget: int | None = None,
        bounds: tuple[Number, Number] = (0, 1),
        source: Source = SYSTEM,
    ) -> None:
        low, high = (rational(end, "a bound") for end in bounds)
        if low >= high:
            raise InvalidParameter("the bounds of a statistic have a width: the lower is not below the upper")
        self._train, self._holdout, self._bounds = train, holdout, (low, high)
        self.rows = _counted(holdout, "the holdout")
        _counted(train, "the training set")
        width = high - low
        relative = [_part(number, name) / width for number, name in ((threshold, "threshold"), (noise, "noise"))]
        unit = self.rows * steps_of_one()  # of a mean, in steps of a sum
        self.budget = self._budget(budget, noise=relative[1])
        self._mechanism = Thresholdout.of_scale(
            relative[1] * unit,
            threshold=math.ceil(relative[0] * unit),
            hits=self.budget,
            adjacency=Adjacency.REPLACE,
        )
        self._run: HoldoutSession = self._mechanism.start(source)
        self._entries: list[HoldoutEntry] = []
        self._warned = False

    def _budget(self, budget: int | None, *, noise: Fraction) -> int:
        """As many answers as an ε of one pays for, where no number is given."""
        if budget is None:
            return max(1, math.floor(noise * self.rows / 2))
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
            raise InvalidParameter("the budget is the number of times that the holdout may contradict: at least 1")
        return budget

    @property
    def loss(self) -> Loss:
        """What the whole life of the holdout costs one of its rows, however it is used."""
        return self._mechanism.loss(steps_of_one())

    @property
    def left(self) -> int:
        """How many more times the holdout may contradict the training set."""
        return self._run.hits_left

    @property
    def log(self) -> tuple[HoldoutEntry, ...]:
        """Every question so far, with its answer."""
        return tuple(self._entries)

    def generalises(self, tolerance: Number, *, confidence: Number = Fraction(19, 20)) -> bool:
        """Whether theory promises that answers are within so much of the population, with this confidence.

        It is a promise for the worst case, and asks for many rows: practice is kinder (see the example).
        """
        within = _part(tolerance, "tolerance") / (self._bounds[1] - self._bounds[0])
        beta = 1 - _part(confidence, "confidence")
        enough = self.rows >= 12 * math.log(4 / float(beta)) / float(within) ** 2
        return self.loss.epsilon <= within / 2 and enough

    def check(self, statistic: Callable[[Any], ArrayLike], *, label: str = "") -> HoldoutAnswer:
        """The mean of a statistic: a function that gives every row of a table a value within the bounds."""
        return self.check_values(statistic(self._train), statistic(self._holdout), label=label)

    def check_values(self, train: ArrayLike, holdout: ArrayLike, *, label: str = "") -> HoldoutAnswer:
        """The mean of a statistic whose values for both sets are at hand."""
        return self.check_many(_column(train), _column(holdout), labels=[label])[0]

    def check_many(
        self, train: ArrayLike, holdout: ArrayLike, *, labels: Sequence[str] = ()
    ) -> tuple[HoldoutAnswer, ...]:
        """The means of many statistics, one in each column, asked from left to right.

        Raises BudgetExceeded at the first that finds the budget spent; the answers before it are in `log`.
        """
        told, hidden = self._sums(train, of=self._train), self._sums(holdout, of=self._holdout)
        if len(told) != len(hidden):
            raise InvalidParameter("training set and holdout have different numbers of statistics")
        rows = _counted(self._train, "the training set")
        expected = [round(Fraction(total * self.rows, rows)) for total in told]
        first = len(self._entries)
        for index, (guess, total) in enumerate(zip(expected, hidden, strict=True)):
            label = labels[index] if index < len(labels) else ""
            self._entries.append(HoldoutEntry(len(self._entries) + 1, label, self._checked(guess, total)))
        return tuple(entry.checked for entry in self._entries[first:])

    def _checked(self, guess: int, total: int) -> HoldoutAnswer:
        if not self.left:
            raise BudgetExceeded(
                "the holdout is used up: it has contradicted the training set as often as its budget allows",
                hint="take a fresh holdout; what was found so far stands",
            )
        before = self.left
        steps = self._run.ask(guess, holdout=total)
        misled = self.left < before
        if misled and not self._warned and self.left * _NEARLY <= self.budget:
            self._warned = True
            warnings.warn(f"the holdout can contradict {self.left} more times", HoldoutWarning, stacklevel=4)
        return HoldoutAnswer(self._value(steps), misled, self.left)

    def _value(self, steps: int) -> float:
        low, high = self._bounds
        share = Fraction(steps, self.rows * steps_of_one())
        return float(low + (high - low) * min(max(share, Fraction(0)), Fraction(1)))

    def _sums(self, values: ArrayLike, *, of: Any) -> list[int]:
        return sums_in_steps(values_of(values, rows=_counted(of, "the data")), self._bounds)

    # ── with scikit-learn ────────────────────────────────────────────────────────────────────────────────────────────

    def accuracy(self, model: Predicts, *, label: str = "") -> HoldoutAnswer:
        """How often a model is right, where both sets are pairs of rows and of what is to be predicted."""
        return self.check(lambda data: np.asarray(model.predict(data[0])) == array_of(data[1], "labels"), label=label)

    def scorer(self, model: Predicts, _rows: Any = None, _truth: Any = None) -> float:
        """`scoring=` of scikit-learn: the accuracy by this holdout, whatever rows are given."""
        return self.accuracy(model, label=type(model).__name__).value

    def split(self, rows: Any = None, _truth: Any = None, _groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """`cv=` of scikit-learn: one split, with all rows to fit to; `scorer` needs none to test with."""
        everything = np.arange(len(rows))
        yield everything, everything[:1]

    def get_n_splits(self, *_: object) -> int:
        """How many splits there are: one."""
        return 1

    def __repr__(self) -> str:
        return f"<reusable holdout of {self.rows} rows, {self.left} of {self.budget} contradictions left>"


def _part(number: Number, name: str) -> Fraction:
    exact = rational(number, f"the {name}")
    if exact <= 0:
        raise InvalidParameter(f"the {name} must be greater than zero")
    return exact


def _counted(data: Any, name: str) -> int:
    """How many rows: of a pair of rows and truths, of the rows."""
    held = data[0] if isinstance(data, tuple) else data
    try:
        rows = int(held.shape[0]) if hasattr(held, "shape") else len(held)
    except (TypeError, IndexError):
        raise InvalidParameter(f"{name} has no rows: give an array, a frame, a list, or a pair of them") from None
    if rows < 1:
        raise InvalidParameter(f"{name} is empty")
    return rows


def _column(values: ArrayLike) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise InvalidParameter("a statistic gives one value for each row")
    return array[:, None]
