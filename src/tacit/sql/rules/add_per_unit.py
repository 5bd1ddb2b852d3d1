"""Add up what one unit brings to one group, and hold it to its cap."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.measures import Counted
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.rules.facts import Facts, MeasureFacts, called, name, nested, selected
from tacit.sql.rules.own_rows import OWNER

ROWS = "n"


def add_per_unit(tree: exp.Select, facts: Facts) -> exp.Select:
    """One row for each unit and group, each number within what a unit may contribute.

    Before:   SELECT "id" AS u, "dept" AS k0, … AS v0 FROM "staff"
    After:    SELECT u, k0, CASE WHEN n > 20 THEN m0 * 20 // n ELSE m0 END AS m0 FROM (SELECT u, k0, COUNT(*) AS n,
              SUM(v0) AS m0 FROM (…) AS owned GROUP BY u, k0) AS pairs
    Ensures:  a count is at most max_rows, and a sum at most max_rows times the largest value of a row. Where rows were
              not sampled before, a unit with n > max_rows rows counts its own average max_rows times over, and the
              counts beside its sums shrink alike, so that averages stay averages.
    Refuses:  nothing.
    """
    if facts.unit is None:
        return tree
    groups = [name(OWNER), *(name(key) for key in facts.keys)]
    totals = [called(_total(m), m.name) for m in facts.measures if m.value is not None]  # the others are n, or one
    rows = called(exp.Count(this=exp.Star()), ROWS)
    pairs = selected([*groups, rows, *totals], nested(tree, "owned"))
    pairs = pairs.group_by(*(copied(g) for g in groups), copy=False)
    carried = [m for m in facts.measures if not (m.is_presence and facts.weighs)]  # a weighed presence is the weight
    capped = [called(_capped(measure, facts), measure.name) for measure in carried]
    return selected([*(copied(g) for g in groups), *capped], nested(pairs, "pairs"))


def _total(measure: MeasureFacts) -> exp.Expression:
    if measure.counted is Counted.VALUES:
        return exp.Sum(this=name(measure.value or ROWS))
    return exp.Count(this=name(measure.value or ROWS))


def _capped(measure: MeasureFacts, facts: Facts) -> exp.Expression:
    column, rows = name(ROWS if measure.value is None else measure.name), name(ROWS)
    cap = integer(facts.max_rows)
    if measure.is_presence:
        return integer(1)
    if measure.counted is Counted.UNITS:
        return exp.Case(
            ifs=[exp.If(this=exp.GT(this=column, expression=integer(0)), true=integer(1))], default=integer(0)
        )
    if measure.total is not None:
        return _held(column, *measure.total)
    if facts.sample_rows:
        return column
    averaged = any(other.counted is Counted.VALUES for other in facts.measures)
    if measure.counted is Counted.ROWS and (measure.value is None or not averaged):
        over = exp.GT(this=column, expression=cap)
        held = exp.Case(ifs=[exp.If(this=over, true=copied(cap))], default=copied(column))
        small = _counted_in(facts) is Width.INT
        return arithmetic.narrowed(Whole(held, 0, facts.max_rows, Width.BIGINT), Width.INT) if small else held
    whole = arithmetic.total(column, times=facts.max_rows)
    if measure.counted is not Counted.VALUES:
        whole = Whole(column, 0, MOST_ROWS, Width.BIGINT)
    scaled = arithmetic.scale(whole, facts.max_rows, over=Whole(rows, 1, MOST_ROWS, Width.BIGINT)).sql
    return exp.Case(
        ifs=[exp.If(this=exp.GT(this=copied(rows), expression=copied(cap)), true=scaled)], default=copied(column)
    )


def contribution(measure: MeasureFacts, facts: Facts) -> Whole:
    """What one unit brings to one group: the column that this rule makes, with its ends."""
    column = name(measure.name)
    if measure.counted is Counted.VALUES:
        return arithmetic.total(column, times=facts.weight)
    if measure.counted is Counted.UNITS:
        return Whole(column, 0, 1)
    return Whole(column, 0, facts.max_rows, _counted_in(facts))


def _counted_in(facts: Facts) -> Width:
    """The type of a count of rows that is kept beside its weight: fewer bytes where it is still small times that."""
    small = facts.weighs and arithmetic.width_of(facts.max_rows * facts.weight) is Width.INT
    return Width.INT if small else Width.BIGINT


def _held(column: exp.Expression, low: int, high: int) -> exp.Expression:
    ifs = [
        exp.If(this=exp.LT(this=copied(column), expression=integer(low)), true=integer(low)),
        exp.If(this=exp.GT(this=copied(column), expression=integer(high)), true=integer(high)),
    ]
    return exp.Case(ifs=ifs, default=copied(column))
