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
from tacit.learn.conventions import ClassLearner, columns_of, labels_of, target_of
from tacit.learn.networks.network_plan import plan_network
from tacit.learn.networks.noisy_descent import clip_rows, descended
from tacit.learn.sums.moments import GRID, Scaled, design, scaled
from tacit.learn.sums.studies import spendable
from tacit.noise import SYSTEM, IntArray, Source

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
    same row and weights; a module that keeps statistics of batches is refused. It is slow: a thousand rows a second.

    Guarantee:    (ε, δ)-DP for one row added or removed, all rounds together (`NetworkPlan`).
    Sensitivity:  L2, 1 in a round: the length of one row's clipped gradient, whatever the row and the weights hold.
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
        source: Source | None = None,
    ) -> None:
        self.module, self.epsilon, self.delta, self.features = module, epsilon, delta, features
        self.classes, self.rounds, self.step, self.sampling, self.source = classes, rounds, step, sampling, source

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from rows and their classes. It costs (epsilon, delta), each time; the module given stays as it is."""
        columns = columns_of(X)
        classes, which = labels_of(target_of(y, rows=len(columns[0])), self.classes)
        features = scaled(self.features, self._take_names(X, columns))
        plan = plan_network(spendable(self.epsilon, self.delta), rounds=self.rounds, sampling=rational(self.sampling))
        gradients = RowGradients(checked(self.module, self.step), classes.size)
        rows = self._inputs(features, columns)

        def sums_at(flat: Floats, taken: IntArray) -> IntArray:
            return gradients.sums(flat, rows[taken], which[taken])

        source = self.source or SYSTEM
        flat = descended(plan, gradients.start, sums_at, rows=len(rows), step=self.step, source=source)
        self.scaled_, self.classes_, self.module_ = features, classes, gradients.module_at(flat)
        self.loss_, self.event_ = plan.loss, plan.event
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


def checked(module: Any, step: Any) -> Any:
    """The module, if what it makes of a row depends on that row alone, as far as can be seen."""
    if not isinstance(module, torch.nn.Module) or not any(each.requires_grad for each in module.parameters()):
        raise InvalidParameter("the model is a torch module with weights to learn", hint="torch.nn.Linear(64, 10)")
    if any(hasattr(each, "running_mean") for each in module.modules()):
        raise InvalidParameter(
            "a module keeps statistics of batches: what it makes of a row would depend on other rows",
            hint="use torch.nn.GroupNorm or LayerNorm",
        )
    if not isinstance(step, int | float) or not 0 < step < 1e6:
        raise InvalidParameter("the step is a number above zero")
    return module


class RowGradients:
    """The gradients of single rows, by torch; `start` are the module's own weights, in one row.

    One row at a time: what torch makes of a row in a batch depends, in its last digits, on the batch.
    """

    def __init__(self, module: Any, classes: int) -> None:
        self._module, self._classes = copy.deepcopy(module), classes
        self._learnt = [each for each in self._module.parameters() if each.requires_grad]
        parts = [each.detach().numpy().ravel() for each in self._learnt]
        self.start: Floats = np.concatenate(parts).astype(np.float64)

    def sums(self, flat: Floats, rows: NDArray[np.float32], which: IntArray) -> IntArray:
        """The sum of each row's own gradient, clipped to length 1 and rounded towards zero."""
        self._set(flat)
        total = np.zeros(flat.size)
        with _one_thread():
            for row, label in zip(torch.from_numpy(rows), torch.from_numpy(which), strict=True):
                total += clip_rows(self._gradient(row, label))[0]
        return total.astype(np.int64)

    def _gradient(self, row: Any, label: Any) -> Floats:
        scores = self._module(row.unsqueeze(0))
        if scores.shape != (1, self._classes):
            raise InvalidParameter(f"the module makes {tuple(scores.shape[1:])} of a row, not {self._classes} numbers")
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
