"""Deep models: torch gives the gradient of each row, which is clipped by itself; the rest is the network's own.

They need torch, which has an environment of its own: `make test-deep`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="torch is not installed here: make test-deep has it")

from support.sources import Seeded  # noqa: E402
from tacit.accounting import numerical_delta  # noqa: E402
from tacit.core import SampledEvent  # noqa: E402
from tacit.errors import InvalidParameter  # noqa: E402
from tacit.learn import deep  # noqa: E402
from tacit.learn.deep import RowGradients, TorchClassifier  # noqa: E402
from tacit.learn.networks.network_plan import CLIP  # noqa: E402

pytestmark = [pytest.mark.deep, pytest.mark.filterwarnings("ignore")]
BOX = {"features": [(-1, 1), (0, 10)], "classes": [0, 1, 2]}
HOSTILE = st.sampled_from([math.nan, math.inf, -math.inf, 1e38, -1e38, 0.0]) | st.floats(width=32)


def module(seed: int = 0, size: float = 1.0, *, width: int = 2, classes: int = 3) -> Any:
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Linear(width, 5), torch.nn.Tanh(), torch.nn.Linear(5, classes))
    with torch.no_grad():
        for each in made.parameters():
            each.mul_(size)
    return made


@settings(max_examples=60, deadline=None)
@given(HOSTILE, HOSTILE, st.integers(0, 2), st.integers(0, 9), st.sampled_from([0.0, 1.0, 1e3, 1e30]))
def test_no_row_moves_the_sum_of_gradients_by_more_than_the_clip(x, y, which, seed, size):
    gradients = RowGradients(module(seed, size))
    moved = gradients.sums(gradients.start, np.array([[x, y]], dtype=np.float32), np.array([which]))
    assert moved.dtype == np.int64
    assert sum(int(step) ** 2 for step in moved) <= CLIP**2


def furthest(gradients: Any) -> float:
    """How far one more row moves the sum, in clips: rows of the class that the module thinks least of."""
    rows = np.ones((20, 2), dtype=np.float32) * 9
    scores = gradients.module_at(gradients.start)(torch.from_numpy(rows[:1]))
    which = np.full(20, int(scores.argmin()), dtype=np.int64)
    sums = [gradients.sums(gradients.start, rows[:count], which[:count]).astype(float) for count in (18, 19, 20)]
    return max(float(np.linalg.norm(sums[place + 1] - sums[place])) for place in (0, 1)) / CLIP


def test_gradients_are_clipped_row_by_row():
    gradients = RowGradients(module(3, 4.0))
    assert 0.5 < furthest(gradients) <= 1 + 1e-9


def test_gradients_that_are_not_clipped_row_by_row_are_noticed(monkeypatch):
    gradients = RowGradients(module(3, 4.0))
    monkeypatch.setattr(deep, "clip_rows", lambda found: np.trunc(found * CLIP))
    assert furthest(gradients) > 1


def test_a_rows_gradient_is_its_own_whoever_else_is_there():
    rng = np.random.default_rng(1)
    rows, which = rng.normal(size=(40, 2)).astype(np.float32), rng.integers(0, 3, 40)
    gradients = RowGradients(module(2))
    alone = sum(gradients.sums(gradients.start, rows[[i]], which[[i]]) for i in range(40))
    assert (alone == gradients.sums(gradients.start, rows, which)).all()
    assert (alone == gradients.sums(gradients.start, rows[::-1].copy(), which[::-1].copy())).all()


def furthest_unit(gradients: Any) -> float:
    """How far a unit of five rows moves the sum, in clips."""
    rows = np.ones((20, 2), dtype=np.float32) * 9
    scores = gradients.module_at(gradients.start)(torch.from_numpy(rows[:1]))
    which = np.full(20, int(scores.argmin()), dtype=np.int64)
    starts = np.arange(0, 20, 5)
    sums = [gradients.sums(gradients.start, rows[: 5 * each], which[: 5 * each], starts[:each]) for each in (3, 4)]
    return float(np.linalg.norm((sums[1] - sums[0]).astype(float))) / CLIP


def test_rows_of_a_unit_share_one_gradient():
    assert 0.5 < furthest_unit(RowGradients(module(3, 4.0))) <= 1


def test_rows_of_a_unit_that_share_none_are_noticed(monkeypatch):
    monkeypatch.setattr(deep, "shared", lambda steps, _: steps.sum(axis=0, keepdims=True))
    assert furthest_unit(RowGradients(module(3, 4.0))) > 1


def test_a_unit_of_many_rows_counts_as_one():
    rng = np.random.default_rng(2)
    rows, which, ids = rng.uniform(-1, 1, (40, 2)), rng.integers(0, 3, 40), np.arange(40) % 8
    model = TorchClassifier(module(), epsilon=1, rounds=2, max_rows=3, **BOX).fit(rows, which, units=ids)
    assert model.predict(rows).shape == (40,)
    with pytest.raises(InvalidParameter):
        TorchClassifier(module(), max_rows=3, **BOX).fit(rows, which)


def test_rounds_cost_what_was_asked_for():
    rng = np.random.default_rng(2)
    model = TorchClassifier(module(), **BOX, rounds=7, sampling="0.25")
    model.fit(rng.uniform(-1, 1, (60, 2)), rng.integers(0, 3, 60))
    assert isinstance(model.event_.parts[1][0], SampledEvent)
    assert Fraction("0.97e-6") < numerical_delta([model.event_], 1) <= Fraction("1e-6")


def test_it_reads_handwritten_digits_nearly_as_well_as_without_privacy():
    """Nine tenths of a logistic regression's .96 or so, at ε = 3, δ = 1e-5."""
    from sklearn.datasets import load_digits

    rows, which = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(which))
    train, test = order[:1437], order[1437:]
    small = torch.nn.Linear(64, 10)
    with torch.no_grad():
        small.weight.zero_()
        small.bias.zero_()
    model = TorchClassifier(
        small, epsilon=3, delta="1e-5", features=[(0, 16)] * 64, classes=list(range(10)), rounds=25, source=Seeded(5)
    )
    assert model.fit(rows[train], which[train]).score(rows[test], which[test]) >= 0.86
    assert float(small.weight.abs().max()) == 0  # what was given stays as it is


class Coins(torch.nn.Linear):
    """What it makes of a row hangs on coins, and so on how many rows came before."""

    def forward(self, rows: Any) -> Any:
        return super().forward(rows) + torch.rand(1)


class Remembers(torch.nn.Linear):
    """It counts the rows that it saw."""

    def __init__(self) -> None:
        super().__init__(2, 3)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, rows: Any) -> Any:
        self.seen += 1
        return super().forward(rows)


def moved_with_dropout() -> float:
    """How far one row moves the sum, in clips, where dropout stands in the module."""
    plain = module(2, 4.0)
    dropping = torch.nn.Sequential(plain[0], torch.nn.Dropout(0.5), *plain[1:])
    rng = np.random.default_rng(1)
    rows, which = rng.normal(size=(30, 2)).astype(np.float32), rng.integers(0, 3, 30)
    whole, rest = (RowGradients(dropping) for _ in range(2))
    torch.manual_seed(1)
    exact = whole.sums(whole.start, rows, which)
    torch.manual_seed(1)
    gone = exact - rest.sums(rest.start, rows[1:], which[1:])
    return float(np.linalg.norm(gone.astype(float))) / CLIP


def test_dropout_rests_so_that_no_row_has_coins_of_others():
    assert moved_with_dropout() <= 1


def test_dropout_that_does_not_rest_is_noticed(monkeypatch):
    monkeypatch.setattr(torch.nn.Module, "eval", lambda self: self)
    assert moved_with_dropout() > 1


BAD = {
    "coins": (Coins(2, 3), {}),
    "a memory": (Remembers(), {}),
    "other rows": (torch.nn.Linear(5, 3), {}),
    "no module": (3, {}),
    "nothing to learn": (torch.nn.Tanh(), {}),
    "statistics of batches": (torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)), {}),
    "too few numbers": (torch.nn.Linear(2, 2), {}),
    "a step": (torch.nn.Linear(2, 3), {"step": 0}),
    "an epsilon": (torch.nn.Linear(2, 3), {"epsilon": 0}),
}


@pytest.mark.parametrize("case", BAD, ids=BAD)
def test_bad_input_is_refused_in_our_own_words(case):
    given_module, options = BAD[case]
    with pytest.raises(InvalidParameter):
        TorchClassifier(given_module, **BOX | {"rounds": 2} | options).fit(np.zeros((4, 2)), [0, 1, 2, 0])
