"""A wish for the distribution of one column: its bins, and the tree over them that ranges are added up from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.core import Number
from tacit.core.digests import digest
from tacit.engines import Engine, State
from tacit.errors import InvalidParameter
from tacit.noise import IntArray, Source
from tacit.policy import Policy, resolve_types
from tacit.release.distributions.distribution import Distribution, covariance, fan_out
from tacit.release.hierarchies.least_squares import fitted_levels
from tacit.release.hierarchies.whole import whole_levels
from tacit.release.noisy_counts import NoisyCounts, noisy_counts
from tacit.release.publishing import PricedPlan, gaussian_price
from tacit.release.synthesise.columns import MOST_CELLS, chosen_columns, grid_key, key_of, refuse_empty
from tacit.release.synthesise.counting import MarginalCounter, plan_counts
from tacit.release.synthesise.fitting.arrays import FloatArray

MOST_BINS = 1_024
_FANS = (2, 3, 4, 6, 8, 16)


@dataclass(frozen=True, slots=True)
class DistributionRequest:
    """How many rows each bin of a column has, so that ranges and the share below any value are known as well."""

    table: str
    column: str
    epsilon: Number
    delta: Number | None = None
    bins: int | None = None  # of numbers: at most so many, of one width; else those of a synthetic table
    fresh: bool = False
    request_id: str | None = None

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[Distribution]:
        """Bind the column to public bins, choose the tree over them, and price it. Reads nobody's rows."""
        wanted = self.bins
        if wanted is not None and (type(wanted) is not int or not 2 <= wanted <= MOST_BINS):
            raise InvalidParameter(f"a histogram has 2 to {MOST_BINS:,} bins")
        loss = gaussian_price(policy, self.epsilon, self.delta, what="histograms")
        typed = resolve_types(policy, engine.schema())
        declared = typed.table(self.table)
        (column,) = chosen_columns(declared, (self.column,))
        key = key_of(declared, column) if wanted is None else grid_key(declared, column, most=wanted)
        most = MOST_CELLS if wanted is None else MOST_BINS
        counted = plan_counts(typed, engine, declared, keys=[key], axes=[(0,)], most=most)
        attribute = counted.attributes[0]
        refuse_empty(declared.name, attribute)
        bins = len(attribute.values or attribute.lows)
        fans = best_fans(bins) if attribute.ordered else ()
        noisy = noisy_counts(counted, policy, loss, least=Fraction(1, len(fans) + 1))
        return PricedPlan(
            what="the histogram",
            table=declared.name,
            said=f'HISTOGRAM "{column.name}" BINS {bins} FROM "{declared.name}"',
            shape=digest(counted.plans[(0,)].key, str(noisy.l2), str(fans)),
            loss=loss,
            rho=noisy.rho,
            read=lambda state, source: _read(noisy, state, source, fans=fans),
            pack=Distribution.to_bytes,
            unpack=Distribution.from_bytes,
        )


@lru_cache(maxsize=64)
def best_fans(bins: int) -> tuple[int, ...]:
    """How many children the nodes of each level have, from the bins up: the tree whose shares below a value err least.

    Chosen among trees of one fan-out and none at all, by the mean variance of the number of rows below each bin, at one
    rho shared equally by the levels. It depends on the number of bins alone.
    """
    if bins < 8:
        return ()
    options = [(), *(fan_out(bins, fan) for fan in _FANS)]
    return min(options, key=lambda fans: _below(covariance(bins, fans, (len(fans) + 1.0,) * (len(fans) + 1))))


def _below(spread: FloatArray) -> float:
    """The mean variance of sums of the first few."""
    sums = np.cumsum(np.cumsum(spread, axis=0), axis=1)
    return float(np.mean(np.diag(sums)))


def _read(plan: NoisyCounts, state: State, source: Source, *, fans: tuple[int, ...]) -> Distribution:
    """The only place where exact counts are. Levels are sums of the same bins: each is moved as far as they are."""
    counted = plan.counted
    attribute = counted.attributes[0]
    bins = len(attribute.values or attribute.lows)
    exact = [MarginalCounter(counted, state)((0,))[:bins]]  # what is NULL is in no bin
    parents: list[IntArray] = []
    for fan in fans:
        parents.insert(0, np.arange(len(exact[0])) // fan)
        exact.insert(0, np.bincount(parents[0], exact[0]).astype(np.int64))
    tables: dict[tuple[int, ...], IntArray] = {(level,): counts for level, counts in enumerate(exact)}
    meter = plan.meter(tables.__getitem__, source)
    seen = [meter.measure((level,), Fraction(1, len(exact))) for level in range(len(exact))]
    variances = [each.sigma**2 for each in seen]
    top: IntArray = np.zeros(len(exact[0]), dtype=np.int64)  # one root above all, which was not measured
    measured = [np.zeros((1, 1)), *(each.counts[:, None] for each in seen)]
    fitted = fitted_levels([top, *parents], measured, [np.inf, *variances])
    counts = whole_levels(fitted.values, [top, *parents], totals=[None] * len(measured))
    return Distribution(
        table=counted.table,
        attribute=attribute,
        counts=counts[-1][:, 0],
        estimates=fitted.values[-1][:, 0],
        fans=fans,
        variances=tuple(variances),
        loss=plan.loss,
        rho=plan.rho,
    )
