"""What noise alone made of weights is taken back: by shrinking, and of numbers by smoothing, as far as it explains."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.learn.classifiers import additive_shrinking as shrinking
from tacit.learn.classifiers.additive_shrinking import drawn_back

CELL = np.arange(31)
HELD = np.append(np.full(30, 50.0), 0.0)  # nobody is missing
CURVES = {"smooth": np.sin(CELL / 6), "a jump": np.where(CELL < 20, -0.5, 1.0), "nothing": np.zeros(31)}


def off_by(curve: np.ndarray, *, ordered: bool) -> float:
    """The mean squared distance from a curve, of what is kept of it with noise of one half in each cell."""
    found = []
    for seed in range(40):
        noise = np.random.default_rng(seed).normal(0, 0.5, (5, 31))
        noisy = np.vstack([curve - curve[:30].mean() + noise[0], noise[1:]])
        kept = drawn_back(noisy, HELD, np.zeros(31, dtype=np.int64), ordered=[ordered])
        found.append(np.mean((kept - curve + curve[:30].mean())[:30] ** 2))
    return float(np.mean(found))


def test_neighbouring_cells_of_numbers_are_smoothed_as_far_as_noise_made_them_differ():
    """Noise alone is off by a quarter; shrinking takes little of that back from a curve, and smoothing most of it."""
    alone = {name: off_by(curve, ordered=False) for name, curve in CURVES.items()}
    smoothed = {name: off_by(curve, ordered=True) for name, curve in CURVES.items()}
    assert all(0.12 < alone[name] < 0.25 for name in ("smooth", "a jump"))
    assert smoothed["smooth"] < 0.06
    assert smoothed["a jump"] < 0.1
    assert smoothed["nothing"] < 0.03


def test_clear_weights_are_kept_and_smoothing_is_what_it_minimises():
    rng = np.random.default_rng(1)
    held, clear = np.append(rng.uniform(1, 90, 30), 4.0), rng.normal(0, 3, 31)
    noise = 1e-6 * rng.normal(size=(4, 31))
    kept = drawn_back(np.vstack([clear, noise]), held, np.zeros(31, dtype=np.int64), ordered=[True])
    assert kept == pytest.approx(clear, abs=1e-3)
    smooths = np.array([0.0, 0.5, 4.0])
    found = shrinking._smoothed(clear[None], held, smooths)[:, 0]
    thick = held + 1e-4 * held.sum()
    steps = np.diff(np.eye(31)[:30], axis=0)
    for smooth, values in zip(smooths, found, strict=True):
        system = np.diag(thick) + smooth * thick.sum() / 30 * steps.T @ steps
        assert values == pytest.approx(np.linalg.solve(system, thick * clear))
