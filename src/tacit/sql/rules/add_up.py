"""Add up over units: one row for each group, each number a whole number."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.measures import Counted
from tacit.sql.expressions.numeric.arithmetic import as_wide, integer, saturated
from tacit.sql.rules.facts import Facts, MeasureFacts, Spread, called, name, nested, selected
from tacit.sql.rules.sample_groups import TIES


def add_up(tree: exp.Select, facts: Facts) -> exp.Select:
    """The exact columns: sums over all units, of 64 bits or, where bounds allow more, of 128; zero where nothing is.

    Before:   SELECT u, k0, m0 FROM … AS pairs
    After:    SELECT k0, CAST(GREATEST(LEAST(COALESCE(SUM(m0), 0), 9223372036854775807), -9223372036854775808) AS
              BIGINT) AS m0 FROM (…) AS bounded GROUP BY k0
    Ensures:  no overflow error and no NULL: either would tell something of the data. A sum that a trillion rows could
              bring near the ends of 64 bits is read as it is, of 128 (which planning has made sure of); any other is
              held at those ends, which moves it no farther than it would have moved. Units that are there are counted
              as rows, one of each in each of its groups. A private key whose every unit was left out is left out too.
    Refuses:  nothing.
    """
    totals = [called(_total(measure, facts), measure.name) for measure in facts.measures]
    if facts.hash_only and facts.spread is Spread.SAMPLE:
        totals.append(called(_held(TIES), TIES))
    result = selected([*(name(key) for key in facts.keys), *totals], nested(tree, "bounded"))
    if not facts.keys:
        return result
    result = result.group_by(*(name(key) for key in facts.keys), copy=False)
    if facts.weighs and facts.most_groups is not None:
        counted = next(measure.name for measure in facts.measures if measure.is_count)
        return result.having(exp.GT(this=exp.Sum(this=name(counted)), expression=integer(0)), copy=False)
    return result


def _total(measure: MeasureFacts, facts: Facts) -> exp.Expression:
    if facts.unit is None and measure.counted is not Counted.VALUES:  # rows as they are: a count is 64 bits wide
        return exp.Count(this=exp.Star() if measure.value is None else name(measure.value))
    if measure.is_presence and not facts.weighs and not measure.wide:  # each row is a unit in a group: a sum of ones
        return exp.Count(this=exp.Star())
    column = measure.name if facts.unit is not None else measure.value or measure.name
    return as_wide(exp.Sum(this=name(column))) if measure.wide else _held(column)


def _held(column: str) -> exp.Expression:
    return saturated(exp.Sum(this=name(column)))
