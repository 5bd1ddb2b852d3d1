"""What accuracy first can be asked for: sums to tell, weights to make of them, and how far those are from the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.learn.sums.moments import GRID, symmetric
from tacit.noise import IntArray

Floats = NDArray[np.float64]
BALL = 4.0  # the length of a logistic model's weights, at most
_BEND = 0.11  # of ln(1 + e^−m) as ln 2 − m/2 + bend · m², for margins of a few units
_ENOUGH = 1 / 128  # of a row's loss, in the sum: so near to the least a search for it comes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem:
    """One table and one family of weights. Sums, losses and the least of them are exact: none of them is told.

    `moved` is how far one row moves the sums, in L1; `most_loss` what it adds to the loss of any weights, at most, and
    it adds nothing below zero.
    """

    sums: IntArray
    moved: int
    most_loss: float
    solved: Callable[[IntArray, float, float], Floats]  # the weights that noisy sums say, with a ridge; their noise
    loss: Callable[[Floats], float]  # over all rows
    least: float


def ridge_in_ball(rows: Floats, truth: Floats) -> Problem:
    """Least squares: rows and weights within the unit ball, and the target within [−1, 1]; all in steps.

    So (y − ŷ)² is at most 4.
    """
    width = rows.shape[1]
    return Problem(
        sums_of(rows, truth),
        sums_move(width),
        4.0,
        lambda sums, ridge, noise: shortened(solution(*unpacked(sums, width), ridge, noise=noise), 1.0),
        lambda weights: squared_loss(weights, rows, truth),
        least_squares(rows, truth),
    )


def logistic_in_ball(rows: Floats, truth: Floats) -> Problem:
    """Logistic regression: rows within the unit ball, in steps, weights within one of `BALL`, and truth −1 or 1.

    What is told are the same sums as for least squares: near zero the loss is nearly a parabola, whose minimum they
    give (Huggins, Adams & Broderick, NeurIPS 2017). How good the weights are is judged by the loss itself, which is at
    most ln(1 + e^BALL).
    """
    width = rows.shape[1]

    def solved(sums: IntArray, ridge: float, noise: float) -> Floats:
        products, cross = unpacked(sums, width)
        return shortened(solution(4 * _BEND * products, cross, 4 * _BEND * ridge, noise=4 * _BEND * noise), BALL)

    return Problem(
        sums_of(rows, truth * GRID),
        sums_move(width),
        math.log1p(math.exp(BALL)),
        solved,
        lambda weights: logistic_loss(weights, rows, truth)[0],
        least_logistic(rows, truth),
    )


def ridge_in_box(products: IntArray, *, width: int, features: int, times: int) -> Problem:
    """Least squares from sums alone, such as an engine gives: Σ xxᵀ, each pair once, Σ xy and Σ y².

    Columns lie within [−1, 1], the ones first, and `features` of them are not zero in a row; so a row has a product for
    each pair of these, and each of them times y. Weights no longer than 2 / √features predict between −2 and 2, so that
    (y − ŷ)² is at most 9. Neighbours differ in `times` rows.
    """
    reach = 2 / math.sqrt(features)
    exact, cross = unpacked(products[:-1], width)
    square = float(products[-1]) / GRID**2

    def loss(weights: Floats) -> float:
        return float(weights @ exact @ weights - 2 * weights @ cross + square)

    return Problem(
        products[:-1],
        times * GRID * GRID * (features * (features + 1) // 2 + features),
        9.0,
        lambda sums, ridge, noise: shortened(solution(*unpacked(sums, width), ridge, noise=noise), reach),
        loss,
        loss(constrained(exact, cross, reach)),
    )


def in_ball(rows: Floats) -> Floats:
    """Rows in steps, none longer than GRID: longer ones are shortened, and rounded towards zero."""
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    held: Floats = np.trunc(rows * np.minimum(1.0, GRID * (1 - 1e-9) / np.maximum(lengths, 1.0)))
    held[(held**2).sum(axis=1) > GRID**2] = 0.0  # cannot be; if it were, nothing would leave
    return held


def sums_move(width: int) -> int:
    """L1: |x|₂ ≤ 1 has |x|₁ ≤ √d, so its products, each pair once, add up to at most (d + 1)/2, and xy to √d."""
    return GRID * GRID * (width + 1) // 2 + 1 + math.isqrt(GRID**4 * width) + 1


def sums_of(rows: Floats, truth: Floats) -> IntArray:
    """Σ xxᵀ, each pair once, then Σ xy: whole numbers."""
    triangle = np.triu_indices(rows.shape[1])
    return np.concatenate([(rows.T @ rows)[triangle], rows.T @ truth]).astype(np.int64)


def unpacked(sums: IntArray, width: int) -> tuple[Floats, Floats]:
    """The matrix Σ xxᵀ and the row Σ xy, in units of one."""
    pairs = width * (width + 1) // 2
    return symmetric(sums[:pairs] / GRID**2, width), sums[pairs:] / GRID**2


def solution(products: Floats, cross: Floats, ridge: float, *, noise: float) -> Floats:
    """The weights of least squares with a ridge; what noise made of negative curvature counts as none."""
    values, vectors = np.linalg.eigh(evened(products, noise))
    result: Floats = vectors @ ((vectors.T @ cross) / (np.maximum(values, 0.0) + ridge))
    return result


def evened(products: Floats, noise: float) -> Floats:
    """The products, drawn towards the multiple of the identity that has their trace, as far as noise made the rest.

    Laplace noise of this scale, of variance 2 · noise² in each of width² places, is that share of the squares that are
    left beside the mean of the diagonal (Ledoit & Wolf, J. Multivariate Anal. 88, 2004, where the noise is known).
    """
    width = len(products)
    even = np.eye(width) * (float(np.trace(products)) / width)
    rest = products - even
    by_noise = 2 * noise**2 * (width**2 - 1)
    result: Floats = even + rest * max(0.0, 1 - by_noise / max(float((rest**2).sum()), by_noise, 1e-12))
    return result


def shortened(weights: Floats, most: float) -> Floats:
    """The weights, no longer than `most`."""
    length = float(np.linalg.norm(weights))
    return weights if length <= most else weights * (most / length)


def squared_loss(weights: Floats, rows: Floats, truth: Floats) -> float:
    """The sum of squared errors."""
    return float((((truth - rows @ weights) / GRID) ** 2).sum())


def least_squares(rows: Floats, truth: Floats) -> float:
    """The least of it within the unit ball."""
    best = constrained(rows.T @ rows / GRID**2, rows.T @ truth / GRID**2, 1.0)
    return squared_loss(best, rows, truth)


def constrained(products: Floats, cross: Floats, most: float) -> Floats:
    """The minimum of least squares among weights no longer than `most`, by halving the ridge that holds them there."""
    values, vectors = np.linalg.eigh(products)
    along = vectors.T @ cross

    def at(ridge: float) -> Floats:
        result: Floats = vectors @ (along / np.maximum(values + ridge, 1e-12))
        return result

    low, high = 0.0, float(np.linalg.norm(cross)) / most + 1.0
    if float(np.linalg.norm(at(0.0))) <= most:
        return at(0.0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.linalg.norm(at(middle))) > most else (low, middle)
    return shortened(at(high), most)


def logistic_loss(weights: Floats, rows: Floats, truth: Floats) -> tuple[float, Floats, Floats]:
    """The sum of ln(1 + e^−m), its gradient, and for each row how it bends."""
    margins = truth * (rows @ weights) / GRID
    wrong = 1 / (1 + np.exp(np.clip(margins, -500, 500)))
    slope = -(rows.T @ (truth * wrong)) / GRID
    return float(np.logaddexp(0.0, -margins).sum()), slope, wrong * (1 - wrong)


def least_logistic(rows: Floats, truth: Floats) -> float:
    """The least of it within the ball, or so much above that no comparison sees it.

    Newton's parabola is minimised within the ball, step by step. By convexity no weights v in the ball lose less than
    f(w) − max over v of ∇f·(w − v) = f(w) − ∇f·w − BALL |∇f|: when that is near f(w), so is the least.
    """
    weights = np.zeros(rows.shape[1])
    for _ in range(200):
        loss, slope, bends = logistic_loss(weights, rows, truth)
        if float(slope @ weights) + BALL * float(np.linalg.norm(slope)) <= _ENOUGH:
            break
        bent = (rows * bends[:, None]).T @ rows / GRID**2 + 1e-9 * np.eye(len(weights))
        aim = constrained(bent, bent @ weights - slope, BALL)
        share = 1.0
        while logistic_loss(weights + share * (aim - weights), rows, truth)[0] > loss and share > 1e-6:
            share /= 2
        weights = weights + share * (aim - weights)
    return logistic_loss(weights, rows, truth)[0]
