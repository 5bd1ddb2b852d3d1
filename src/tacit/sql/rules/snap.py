"""Turn clamped numbers into whole steps of their grid."""

from __future__ import annotations

from sqlglot import exp

from tacit.policy import ColumnType
from tacit.sql.expressions.names.printing import calls, copied
from tacit.sql.expressions.numeric import arithmetic, doubles
from tacit.sql.expressions.numeric.arithmetic import Whole, Width, integer
from tacit.sql.rules.facts import Facts, GridFacts

_EXACT = 1 << 50  # steps; beyond, a double of so many steps may stand for more of them than there are


def snap(tree: exp.Select, facts: Facts) -> exp.Select:
    """Rewrite GRID(clamped x) into the whole number of steps nearest to x.

    Before:   SELECT GRID(CASE WHEN "pay" < 0 THEN 0 WHEN "pay" > 9 THEN 9 ELSE "pay" END, "pay") AS v0 FROM "staff"
    After:    SELECT CAST(FLOOR((CASE … END) * 100 + 0.5) AS BIGINT) AS v0 FROM "staff"
    Ensures:  sums of whole numbers, the same in whatever order rows come; each within the bounds counted in steps,
              because it was clamped before it was rounded (and again after, where doubles are coarser than steps).
    Refuses:  nothing.
    """
    for mark in calls(tree):
        if mark.this == "GRID":
            inner, column = mark.expressions
            mark.replace(_snapped(inner, facts.grids[column.name.casefold()]))
    return tree


def _snapped(inner: exp.Expression, grid: GridFacts) -> exp.Expression:
    if grid.in_steps:
        return _as_steps(inner, grid)
    ends = grid.bounds.lower_units, grid.bounds.upper_units
    exact = grid.exact
    if exact is not None:
        return doubles.decimal_steps(inner, grid.bounds.step, ends=ends, finer=exact.step < grid.bounds.step)
    steps = _steps(inner, grid)
    if grid.bounds.magnitude < _EXACT or grid.kind.is_temporal:
        return steps
    lowest, highest = integer(grid.bounds.lower_units), integer(grid.bounds.upper_units)
    ifs = [
        exp.If(this=exp.LT(this=copied(steps), expression=lowest), true=copied(lowest)),
        exp.If(this=exp.GT(this=copied(steps), expression=highest), true=copied(highest)),
    ]
    return exp.Case(ifs=ifs, default=steps)


def _steps(inner: exp.Expression, grid: GridFacts) -> exp.Expression:
    if grid.kind is ColumnType.INTEGER and grid.bounds.step == 1:
        return _as_steps(inner, grid)
    number = _as_number(inner, grid.kind)
    if grid.kind.is_temporal and grid.bounds.step == 1:
        return _as_steps(number, grid)
    ends = grid.bounds.lower_units, grid.bounds.upper_units
    return doubles.nearest_step(number, grid.bounds.step, ends=ends)


def _as_steps(inner: exp.Expression, grid: GridFacts) -> exp.Expression:
    """What is clamped to whole steps already, in the one type that steps have."""
    return arithmetic.narrowed(Whole(inner, grid.bounds.lower_units, grid.bounds.upper_units), Width.BIGINT)


def _as_number(inner: exp.Expression, kind: ColumnType) -> exp.Expression:
    """Days or seconds since 1970 for dates and timestamps; a double for every number, so that engines agree."""
    if kind is ColumnType.DATE:
        return arithmetic.days_since(inner, "1970-01-01")
    if kind is ColumnType.TIMESTAMP:
        return exp.Floor(this=exp.Extract(this=exp.var("EPOCH"), expression=inner))
    return doubles.double(inner)
