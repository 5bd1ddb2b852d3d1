"""Exact noise: how fast, beside OpenDP and beside numpy, which is not private; and what the clock gives away."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import opendp.prelude as dp

from bench.report import Report, at_least, below
from bench.timing import cpu_seconds, time_and_size
from tacit.noise import discrete_gaussian, two_sided_geometric

SCALES = (1, 10, 1000)
CLOCKED_SCALES = (1, 10, 100)
SIZE = 10**6
CLOCKED, CLOCKED_PEER = 10**5, 10**4


def run(report: Report) -> None:
    dp.enable_features("contrib")
    _speed(
        report, "two_sided_geometric", ours=two_sided_geometric, peer=_opendp_laplace, plain=_numpy_laplace, times=50
    )
    _speed(report, "discrete_gaussian", ours=discrete_gaussian, peer=_opendp_gaussian, plain=_numpy_gaussian, times=20)
    _clock(report, "two_sided_geometric", ours=two_sided_geometric, peer=_opendp_laplace)
    _clock(report, "discrete_gaussian", ours=discrete_gaussian, peer=_opendp_gaussian)


def _speed(
    report: Report,
    name: str,
    *,
    ours: Callable[..., object],
    peer: Callable[..., Callable[[object], object]],
    plain: Callable[[int, int], object],
    times: float,
) -> None:
    size = report.share(SIZE)
    zeros = np.zeros(size, dtype=np.int64)
    report.section(f"Speed of {name}", f"{size:,} numbers, CPU seconds, medians of alternating repeats")
    for scale in SCALES:
        measure = peer(scale, vector=True)
        took = cpu_seconds(
            {
                "tacit": lambda scale=scale: ours(scale, size=size),
                "OpenDP": lambda measure=measure: measure(zeros),
                "numpy": lambda scale=scale: plain(scale, size),
            }
        )
        for who, seconds in took.items():
            note = " (floating point, not private)" if who == "numpy" else ""
            report.add(f"scale {scale}: {who}, millions a second{note}", size / seconds / 1e6)
        report.add(f"scale {scale}: faster than OpenDP", took["OpenDP"] / took["tacit"], unit="×", bar=at_least(times))


def _clock(
    report: Report,
    name: str,
    *,
    ours: Callable[..., int],
    peer: Callable[..., Callable[[object], int]],
) -> None:
    draws, peer_draws = report.share(CLOCKED), report.share(CLOCKED_PEER)
    report.section(
        f"What the clock says about {name}",
        f"|Spearman(|noise|, time)|, {draws:,} single draws (OpenDP: {peer_draws:,})",
    )
    for scale in CLOCKED_SCALES:
        measure = peer(scale, vector=False)
        leak = abs(time_and_size(lambda scale=scale: ours(scale), draws=draws))
        report.add(f"scale {scale}: tacit", leak, bar=below(0.05))
        theirs = abs(time_and_size(lambda measure=measure: measure(0), draws=peer_draws))
        report.add(f"scale {scale}: OpenDP", theirs)


def _opendp_laplace(scale: int, *, vector: bool) -> Callable[[object], object]:
    atom = dp.atom_domain(T=dp.i64)
    if vector:
        return dp.m.make_laplace(dp.vector_domain(atom), dp.l1_distance(T=dp.i64), float(scale))
    return dp.m.make_laplace(atom, dp.absolute_distance(T=dp.i64), float(scale))


def _opendp_gaussian(sigma: int, *, vector: bool) -> Callable[[object], object]:
    atom = dp.atom_domain(T=dp.i64)
    if vector:
        return dp.m.make_gaussian(dp.vector_domain(atom), dp.l2_distance(T=float), float(sigma))
    return dp.m.make_gaussian(atom, dp.absolute_distance(T=float), float(sigma))


def _numpy_laplace(scale: int, size: int) -> object:
    return np.rint(np.random.default_rng().laplace(0, scale, size)).astype(np.int64)


def _numpy_gaussian(sigma: int, size: int) -> object:
    return np.rint(np.random.default_rng().normal(0, sigma, size)).astype(np.int64)
