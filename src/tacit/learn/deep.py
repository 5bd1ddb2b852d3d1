"""Any torch module as a private classifier: torch computes the gradient of each row, and nothing that noise touches.

Not among the names of `tacit.learn`, for it loads torch: `from tacit.learn.deep import TorchClassifier`, with the extra
`deep` installed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.core import Event, Loss, Number, rational
from tacit.errors import InvalidParameter, TacitError
from tacit.learn.conventions import ClassLearner, column_names, columns_of, labels_of, source_of, target_of
from tacit.learn.networks.network_plan import plan_network
from tacit.learn.networks.noisy_descent import clip_rows, descended, shared
from tacit.learn.sums.moments import GRID, Scaled, design, scaled
from tacit.learn.sums.studies import spendable
from tacit.learn.sums.units import rows_of_units
from tacit.noise import IntArray, Source

try:
    import torch
except ImportError:
    raise TacitError("deep models need torch: it is not installed", hint="pip install 'tacit[deep]'") from None

Floats = NDArray[np.float64]


class TorchClassifier(ClassLearner):
    """Any number of classes, told apart by a module that makes as many numbers of a row; trained as the network is.

    Columns are scaled by their declared bounds into [−1, 1]; a list of categories becomes a column for each. Each round
    samples rows, has torch compute the gradient of each row alone, in a batch of one, clips it to length 1, and rounds
    it towards zero on a grid. From there on all is whole numbers: torch never sees a sum, a sample or noise. What its
    floats do moves the sum by no more than is charged for a row. What must hold is that torch makes the same of the
    same row and weights: modules are trained as they predict (dropout rests), and one that keeps statistics of batches,
    draws coins or remembers rows is refused, as far as a row of zeros shows it. It is slow: a thousand rows a second.

    Where `units` says whose each row is, the first `max_rows` of a unit count, and share one gradient: the mean of
    theirs, as those of `NetworkClassifier` do.

    Guarantee:    (ε, δ)-DP for one row added or removed, all rounds together (`NetworkPlan`); with `units`, for all
                  rows of one unit.
    Sensitivity:  L2, 1 in a round: the length of one row's clipped gradient, or of the mean of a unit's (`shared`),
                  whatever the rows and the weights hold.
    Exactness:    gradients are whole numbers of 2^-14; sums and noise are whole numbers of these.
    Reference:    Abadi and others, CCS 2016; Zhu, Dong & Wang, AISTATS 2022 (what samples lose).
    """

    _many_classes = True
    scaled_: tuple[Scaled, ...]
    module_: Any
    loss_: Loss
    event_: Event

    def __init__(  # noqa: PLR0913 - the parameters of a network
        self,
        module: Any,
        *,
        epsilon: Number = 1,
        delta: Number = "0.000001",
        features: object = None,
        classes: Sequence[Any] | None = None,
        rounds: int = 60,
        step: float = 2.0,
        sampling: Number = 1,
        max_rows: int = 1,
        source: Source | None = None,
    ) -> None:
        self.max_rows = max_rows
        self.module, self.epsilon, self.delta, self.features = module, epsilon, delta, features
        self.classes, self.rounds, self.step, self.sampling, self.source = classes, rounds, step, sampling, source

    def fit(self, X: Any, y: Any, units: Any = None) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their classes. It costs (epsilon, delta), each time; the module given stays as it is.

        `units` says whose each row is.
        """
        columns = columns_of(X)
        classes, which = labels_of(target_of(y, rows=len(columns[0])), self.classes)
        features = scaled(self.features, column_names(X, len(columns)))
        plan = plan_network(spendable(self.epsilon, self.delta), rounds=self.rounds, sampling=rational(self.sampling))
        width = sum(each.width for each in features)
        gradients = RowGradients(checked(self.module, self.step, width=width, classes=classes.size))
        counted = rows_of_units(units, len(which), self.max_rows)
        rows, labels = self._inputs(features, columns)[counted.kept], which[counted.kept]

        def sums_at(flat: Floats, taken: IntArray) -> IntArray:
            mine, starts = counted.of(taken)
            return gradients.sums(flat, rows[mine], labels[mine], starts)

        source = source_of(self.source)
        flat = descended(plan, gradients.start, sums_at, units=counted.units, step=self.step, source=source)
        self.scaled_, self.classes_, self.module_ = features, classes, gradients.module_at(flat)
        self.loss_, self.event_ = plan.loss, plan.event
        self._take_names(X, columns)
        return self

    @staticmethod
    def _inputs(features: Sequence[Scaled], columns: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        return (design(features, columns)[:, 1:] / GRID).astype(np.float32)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, for each row."""
        rows = torch.from_numpy(self._inputs(self.scaled_, self._columns(X)))
        with torch.no_grad():
            probabilities: NDArray[np.float64] = torch.softmax(self.module_(rows).double(), dim=1).numpy()
        return probabilities


def checked(module: Any, step: Any, *, width: int, classes: int) -> Any:
    """The module as it is when it only predicts, if what it makes of a row is that row's alone, as far as can be seen.

    It is tried on a row of zeros, twice: what draws coins, or remembers what it saw, differs. No row was read yet.
    """
    if not isinstance(module, torch.nn.Module) or not any(each.requires_grad for each in module.parameters()):
        raise InvalidParameter("the model is a torch module with weights to learn", hint="torch.nn.Linear(64, 10)")
    if any(hasattr(each, "running_mean") for each in module.modules()):
        raise InvalidParameter(
            "a module keeps statistics of batches: what it makes of a row would depend on other rows",
            hint="use torch.nn.GroupNorm or LayerNorm",
        )
    if not isinstance(step, int | float) or not 0 < step < 1e6:
        raise InvalidParameter("the step is a number above zero")
    steady = copy.deepcopy(module).eval()
    told = [_tried(steady, width) for _ in range(2)]
    if any(scores.shape != (1, classes) for scores, _ in told):
        shape = tuple(told[0][0].shape[1:])
        raise InvalidParameter(f"the module makes {shape} of a row, not {classes} numbers")
    if not all(torch.equal(one, other) for one, other in zip(*map(_flattened, told), strict=True)):
        raise InvalidParameter(
            "a module draws coins, or remembers rows: what it makes of one would depend on others",
            hint="leave out what is random, and what changes as it is used",
        )
    return steady


def _tried(module: Any, width: int) -> tuple[Any, list[Any]]:
    """What the module makes of a row of zeros, and what it holds then."""
    try:
        scores = module(torch.zeros((1, width)))
        return scores.detach().clone(), [each.detach().clone() for each in module.buffers()]
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
        raise InvalidParameter(f"the module makes nothing of rows of {width} numbers") from None


def _flattened(told: tuple[Any, list[Any]]) -> list[Any]:
    return [told[0], *told[1]]


class RowGradients:
    """The gradients of single rows, by torch; `start` are the module's own weights, in one row.

    One row at a time: what torch makes of a row in a batch depends, in its last digits, on the batch.
    """

    def __init__(self, module: Any) -> None:
        self._module = copy.deepcopy(module).eval()
        self._learnt = [each for each in self._module.parameters() if each.requires_grad]
        parts = [each.detach().numpy().ravel() for each in self._learnt]
        self.start: Floats = np.concatenate(parts).astype(np.float64)

    def sums(
        self, flat: Floats, rows: NDArray[np.float32], which: IntArray, starts: IntArray | None = None
    ) -> IntArray:
        """The sum of each unit's own gradient, no longer than 1, rounded towards zero; each row's where none is told.

        `starts` says where each unit's rows begin.
        """
        self._set(flat)
        total = np.zeros(flat.size)
        firsts = np.arange(len(rows)) if starts is None else starts
        inputs, labels = torch.from_numpy(rows), torch.from_numpy(which)
        with _one_thread():
            for first, end in zip(firsts, np.append(firsts[1:], len(rows)), strict=True):
                places = range(int(first), int(end))
                steps = np.vstack([clip_rows(self._gradient(inputs[place], labels[place])) for place in places])
                total += shared(steps, np.zeros(1, dtype=np.int64))[0]
        return total.astype(np.int64)

    def _gradient(self, row: Any, label: Any) -> Floats:
        scores = self._module(row.unsqueeze(0))
        loss = torch.nn.functional.cross_entropy(scores, label.unsqueeze(0))
        gradients = torch.autograd.grad(loss, self._learnt, allow_unused=True, materialize_grads=True)
        return np.concatenate([each.double().numpy().ravel() for each in gradients])[None, :]

    def module_at(self, flat: Floats) -> Any:
        """The module with these weights."""
        self._set(flat)
        return copy.deepcopy(self._module).eval()

    def _set(self, flat: Floats) -> None:
        parts = np.split(flat.astype(np.float32), np.cumsum([each.numel() for each in self._learnt])[:-1])
        with torch.no_grad():
            for each, part in zip(self._learnt, parts, strict=True):
                each.copy_(torch.from_numpy(part).reshape(each.shape))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums in one order: how torch divides a sum among threads is not ours to know."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
