"""A wish for a heatmap: two columns that say where, and how fine the finest square may be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import Number
from tacit.core.digests import digest
from tacit.engines import Engine, State
from tacit.errors import InvalidParameter
from tacit.noise import IntArray, Source
from tacit.policy import Policy, resolve_types
from tacit.release.maps.heatmap import Heatmap
from tacit.release.maps.quadtree import grown
from tacit.release.noisy_counts import NoisyCounts, noisy_counts
from tacit.release.publishing import PricedPlan, gaussian_price
from tacit.release.synthesise.columns import Attribute, chosen_columns, grid_key
from tacit.release.synthesise.counting import MarginalCounter, plan_counts

MOST_DEPTH = 10
_LEAST_SHARE = Fraction(1, 100)  # of rho: no level has less


@dataclass(frozen=True, slots=True)
class HeatmapRequest:
    """Counts of a table on a map: columns `x` and `y`, in squares that are finer where there is more."""

    table: str
    x: str
    y: str
    epsilon: Number
    delta: Number | None = None
    depth: int = 6  # the finest squares: 2^depth in each direction
    fresh: bool = False
    request_id: str | None = None

    def plan(self, policy: Policy, engine: Engine) -> PricedPlan[Heatmap]:
        """Bind both columns to a public grid, and price it. Reads nobody's rows."""
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or not 1 <= self.depth <= MOST_DEPTH:
            raise InvalidParameter(f"the depth of a map is 1 to {MOST_DEPTH}", hint="6 is 64 squares in each direction")
        loss = gaussian_price(policy, self.epsilon, self.delta, what="heatmaps")
        typed = resolve_types(policy, engine.schema())
        declared = typed.table(self.table)
        columns = chosen_columns(declared, (self.x, self.y))
        keys = [grid_key(declared, column, most=2**self.depth) for column in columns]
        counted = plan_counts(typed, engine, declared, keys=keys, axes=[(0, 1)], most=2**self.depth)
        noisy = noisy_counts(counted, policy, loss, least=_LEAST_SHARE)
        unit = str(typed.unit_of(declared.name))
        x, y = (f'"{column.name}"' for column in columns)
        return PricedPlan(
            what="the heatmap",
            table=declared.name,
            said=f'HEATMAP {x}, {y} DEPTH {self.depth} FROM "{declared.name}"',
            shape=digest(counted.plans[0, 1].key, str(noisy.l2)),
            loss=loss,
            rho=noisy.rho,
            read=lambda state, source: _read(noisy, state, source, depth=self.depth, unit=unit),
            pack=Heatmap.to_bytes,
            unpack=Heatmap.from_bytes,
        )


def _read(plan: NoisyCounts, state: State, source: Source, *, depth: int, unit: str) -> Heatmap:
    """The only place where exact counts are: each level has noise before the next is looked at."""
    counted = plan.counted
    exact = MarginalCounter(counted, state)((0, 1))
    across, up = counted.attributes
    grid: IntArray = np.zeros((2**depth, 2**depth), dtype=np.int64)
    grid[: len(up.lows), : len(across.lows)] = exact[: len(across.lows), : len(up.lows)].T  # what is NULL is nowhere
    tables: dict[tuple[int, ...], IntArray] = {}
    meter = plan.meter(tables.__getitem__, source)
    squares = grown(meter, grid, tables, depth=depth)
    return Heatmap(
        table=counted.table,
        names=(across.name, up.name),
        starts=(_value(across, 0), _value(up, 0)),
        widths=(_width(across), _width(up)),
        depth=depth,
        squares=squares,
        loss=plan.loss,
        rho=plan.rho,
        unit=unit,
    )


def _value(attribute: Attribute, index: int) -> Fraction:
    """Where a bin begins: the first one may be cut off by the lower bound, but is as wide as the others."""
    end = attribute.lows[index] + attribute.widths[index]
    return (end * attribute.step) - _width(attribute)


def _width(attribute: Attribute) -> Fraction:
    """How wide the bins are: the distance of two that follow each other."""
    if len(attribute.lows) < 3:
        return max(attribute.widths) * attribute.step
    return (attribute.lows[2] - attribute.lows[1]) * attribute.step
