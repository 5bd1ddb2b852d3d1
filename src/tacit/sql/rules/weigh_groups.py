"""Scale down a unit that touches more than max_groups groups, or has more than max_rows rows in all of them."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.measures import Counted
from tacit.sql.expressions.names.nodes import joined
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic, doubles
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.rules.add_per_unit import contribution
from tacit.sql.rules.facts import Facts, MeasureFacts, Spread, called, name, nested, selected
from tacit.sql.rules.own_rows import OWNER

PAIRS, SHARES, WEIGHT = "spread", "shares", "w"
_ADDED_UP = (1 << 62) // MOST_ROWS  # what stays below this may be added up in 64 bits, however many rows there are


def weigh_groups(tree: exp.Select, facts: Facts) -> exp.Select:
    """Multiply what a unit brings to each of its groups by a whole number that fits its norm.

    Before:   SELECT u, k0, m0 FROM … AS pairs
    After:    SELECT u, k0, m0 * w AS m0 FROM (WITH spread AS MATERIALIZED (SELECT u, k0, m0 FROM …
              AS pairs) SELECT spread.u, spread.k0, spread.m0, shares.w FROM spread JOIN (SELECT u,
              CAST(FLOOR(1024 * SQRT(CAST(10 AS DOUBLE) / GREATEST(COUNT(*), 10))) AS INT) AS w FROM spread GROUP BY u)
              AS shares ON spread.u = shares.u) AS weighed
    Ensures:  the weights of a unit add up to at most weight · max_groups (L1), or their squares to at most
              weight² · max_groups (L2); or, where rows are weighed, what it brings to all its groups adds up to at most
              weight · max_rows: ⌊weight · max_rows / rows⌋ · rows is no more than that. Nothing is dropped, but for
              units in more than most_groups groups where keys are private: they weigh nothing, and `add_up` leaves out
              a key that only such units have. Without that end, one unit could try its luck at the threshold with any
              number of keys.
    Refuses:  nothing.
    """
    if not facts.weighs:
        return tree
    carried = [item.alias_or_name for item in tree.expressions]
    columns = [*(_of(PAIRS, column) for column in carried), _of(SHARES, WEIGHT)]
    rows = joined(selected(columns, _pairs()), nested(_shares(facts), SHARES), on=_same_unit(facts))
    rows = rows.with_(PAIRS, as_=tree, materialized=True, copy=False)
    weighed = [called(_weighed(measure, facts), measure.name) for measure in facts.measures]
    return selected([*map(name, (OWNER, *facts.keys)), *weighed], nested(rows, "weighed"))


def _weighed(measure: MeasureFacts, facts: Facts) -> exp.Expression:
    weight = Whole(name(WEIGHT), 0, facts.weight)
    if measure.is_presence:
        return weight.sql
    brought = contribution(measure, facts)
    if max(abs(brought.low), abs(brought.high)) * facts.weight > _ADDED_UP:
        brought = arithmetic.widened(brought, Width.BIGINT)  # engines add up 32 bits in 64
    return arithmetic.multiply(brought, weight).sql


def _same_unit(facts: Facts) -> exp.Expression:
    """Equality will do where no unit is NULL."""
    same = exp.NullSafeEQ if facts.unit is not None and facts.unit.null_is_one else exp.EQ
    return same(this=_of(PAIRS, OWNER), expression=_of(SHARES, OWNER))


def _shares(facts: Facts) -> exp.Select:
    """What each contribution of a unit counts: in full where it has no more groups, or rows, than it may have."""
    touched: exp.Expression = exp.Count(this=exp.Star())
    most, root = facts.max_groups, facts.spread is Spread.WEIGH_L2
    if facts.spread is Spread.WEIGH_ROWS:
        touched, most = exp.Sum(this=name(_counted_rows(facts).name)), facts.max_rows
    least = exp.Anonymous(this="GREATEST", expressions=[copied(touched), integer(most)])
    weight = doubles.share_of(facts.weight, most, of=least, root=root)
    if facts.most_groups is not None:
        many = exp.GT(this=touched, expression=integer(facts.most_groups))
        weight = exp.Case(ifs=[exp.If(this=many, true=integer(0))], default=weight)
    units = selected([name(OWNER), called(weight, WEIGHT)], _pairs())
    return units.group_by(name(OWNER), copy=False)


def _pairs() -> exp.Table:
    return exp.Table(this=exp.to_identifier(PAIRS))


def _counted_rows(facts: Facts) -> MeasureFacts:
    """The one measure that rows are weighed by: how many a unit has in a group."""
    (measure,) = facts.measures
    if measure.counted is not Counted.ROWS or measure.value is not None:
        raise ArithmeticError("rows are weighed where rows are counted")
    return measure


def _of(table: str, column: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(column), table=exp.to_identifier(table))
