"""Hold every number that is added up between its declared bounds."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from tacit.policy import ColumnType
from tacit.sql.expressions.cells import clampable
from tacit.sql.expressions.dates.moments import moment
from tacit.sql.expressions.names.printing import calls, copied
from tacit.sql.expressions.numeric import numerics
from tacit.sql.expressions.numeric.arithmetic import integer
from tacit.sql.expressions.numeric.doubles import beside_double
from tacit.sql.expressions.operands import literal
from tacit.sql.rules.facts import Facts, GridFacts


def clamp(tree: exp.Select, facts: Facts) -> exp.Select:
    """Rewrite GRID(x) so that x lies within its bounds in every row.

    Before:   SELECT GRID("pay") AS v0 FROM "staff"
    After:    SELECT GRID(CASE WHEN "pay" < 0 THEN 0 WHEN "pay" > 9 THEN CASE WHEN ISNAN("pay") THEN 0 ELSE 9 END
              ELSE "pay" END) AS v0 FROM "staff"
    Ensures:  finite sensitivity. NULL stays NULL, unless the policy says what it counts as; NaN becomes the policy's
              value (every engine we know holds NaN above all numbers, so it is looked for there alone); ±∞ becomes a
              bound. LEAST and GREATEST would not do: in DuckDB they turn NULL into a bound. MOMENT(x), of a date or a
              timestamp, is clamped likewise and stays one.
    Refuses:  nothing: a column without bounds never becomes a GRID.
    """
    for mark in calls(tree):
        if mark.this == "GRID":
            column = mark.expressions[0]
            mark.set("expressions", [_clamped(column, facts.grids[column.name.casefold()]), copied(column)])
        elif mark.this == "MOMENT":
            column = mark.expressions[0]
            mark.replace(_clamped(column, facts.grids[column.name.casefold()]))
    return tree


def _clamped(column: exp.Expression, grid: GridFacts) -> exp.Expression:
    if grid.in_steps:
        return _clamped_steps(column, grid)
    ends = grid.bounds.lower, grid.bounds.upper
    if grid.exact is None:
        column = clampable(copied(column), grid.sql_type, whole=all(end.denominator == 1 for end in ends))
    lower, upper = (_end(end, grid) for end in ends)
    above: exp.Expression = copied(upper)
    if grid.is_float:
        not_a_number = exp.If(this=exp.IsNan(this=copied(column)), true=_end(grid.nan, grid))
        above = exp.Case(ifs=[not_a_number], default=above)
    ifs = [
        exp.If(this=exp.LT(this=copied(column), expression=lower), true=copied(lower)),
        exp.If(this=exp.GT(this=copied(column), expression=upper), true=above),
    ]
    if grid.null is not None:
        empty = exp.Is(this=copied(column), expression=exp.null())
        ifs.insert(0, exp.If(this=empty, true=_end(grid.null, grid)))
    return exp.Case(ifs=ifs, default=copied(column))


def _clamped_steps(column: exp.Expression, grid: GridFacts) -> exp.Expression:
    low, high = integer(grid.bounds.lower_units), integer(grid.bounds.upper_units)
    ifs = [
        exp.If(this=exp.LT(this=copied(column), expression=low), true=copied(low)),
        exp.If(this=exp.GT(this=copied(column), expression=high), true=copied(high)),
    ]
    return exp.Case(ifs=ifs, default=copied(column))


def _end(value: Fraction, grid: GridFacts) -> exp.Expression:
    exact = grid.exact
    if exact is not None:
        return numerics.constant(value, exact)
    among_doubles = grid.is_float or grid.kind is ColumnType.NUMBER
    return beside_double(value) if among_doubles else literal(moment(value, grid.kind))
