"""WITH BIAS: the SQL and the mechanisms that measure how much the bounds change an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import Adjacency, Loss
from tacit.errors import QueryRefused
from tacit.mechanisms import Exponential
from tacit.sql.binding import post
from tacit.sql.binding.bind import BoundQuery
from tacit.sql.expressions.measures import Additive, Counted, Measure
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import MOST_ROWS, Whole, Width, integer
from tacit.sql.planning.bounding import unit_total, weight_of
from tacit.sql.planning.plan import Excess, Measurement, Plan
from tacit.sql.planning.statement import Statement
from tacit.sql.planning.statements import brought_by_units, cells_of_rows, counted_of_units
from tacit.sql.rules import Facts, MeasureFacts, Spread, UnitFacts
from tacit.sql.rules.add_up import add_up
from tacit.sql.rules.facts import name, nested
from tacit.sql.rules.own_rows import OWNER

SLIVER = Fraction(1, 4)  # of a question's epsilon, for its bias
LEVELS = 20  # ends of the ladder
FINEST = 32  # the first of them is this part of what the answer itself allows a unit
SHARES = 6  # a unit up to 2^SHARES times above the end that is chosen still brings a share of its excess
MOST_MEASURES = 6  # whose bias is measured: each has two queries that hold all of them, and a share of the sliver
CELL, COUNT, SUM = "x", "c", "m0"
_CHOICE = Fraction(7, 10)  # of a measurement's share: a level that misses fewer units is worth more than less noise
_LARGEST = 1 << 52  # end of a ladder, counted in shares: noise a thousand times as large still fits 64 bits
_E, _NORM = "e", "n"


def refuse_bias(bound: BoundQuery) -> None:
    """Refuse what has no bias that could be measured as a sum over units."""
    if not bound.query.bias:
        return
    if bound.sets is not None:
        raise QueryRefused("WITH BIAS is refused with ROLLUP, CUBE and GROUPING SETS", hint="ask for one set at a time")
    if len(bound.measures) > MOST_MEASURES:
        raise QueryRefused(
            f"WITH BIAS is refused for so many numbers: they take {len(bound.measures)} measurements",
            hint=f"at most {MOST_MEASURES} share its part of the price; ask for fewer at once",
        )
    for measure in bound.measures:
        if not isinstance(measure, Additive) or measure.counted is Counted.DISTINCT:
            raise QueryRefused(
                f"WITH BIAS is refused for {measure.label}: what bounds do to it is no sum over units",
                hint="COUNT, SUM, AVG, VARIANCE, STDDEV and COUNT(DISTINCT unit) can have one",
            )


def can_be_biased(bound: BoundQuery, measure: Measure) -> bool:
    """Whether bounds can change it at all: of a row that is a unit, only the values that are clamped."""
    counted = measure.counted if isinstance(measure, Additive) else None
    if bound.table.unit_column is not None:
        return counted is not Counted.UNITS or bool(bound.keys)  # without groups each unit counts once, and does
    return bound.wider is not None and counted is Counted.VALUES


def with_bias(plan: Plan, bound: BoundQuery, *, whole: Loss) -> Plan:
    """The plan of an answer, and the measurements of its bias for the rest of the whole price.

    Each of k measurements that outputs are made of has an equal share of what is left, seven tenths of it for the
    choice of a level and three for the sums: the events add up to exactly what was typed.
    """
    refs = {ref for out in plan.outputs if out.value is not None for ref in post.refs(out.value)}
    biased = sorted(ref for ref in refs if can_be_biased(bound, plan.measurements[ref].measure))
    steps = plan.unit.adjacency.steps
    each = (whole.epsilon - plan.loss.epsilon) / steps / max(1, len(biased))
    bias = tuple(_excess(plan, bound, index, epsilon=each) for index in biased)
    outputs = plan.outputs
    if bound.wider is not None:  # the truth may lie outside the bounds that values are clamped to
        outputs = tuple(out if out.value is None else replace(out, value=post.loosened(out.value)) for out in outputs)
    return replace(plan, loss=whole, bias=bias, outputs=outputs, notes=(*plan.notes, *_notes(bound)))


def _notes(bound: BoundQuery) -> list[str]:
    """The notes that say up to where ± covers what clamping does."""
    if bound.wider is None:
        return ["± does not cover what clamping does"] if _clamps(bound) else []
    columns = {column.name: column for column in bound.table.columns}
    changed = [c for c in bound.wider.table.columns if columns[c.name].bounds != c.bounds]
    return [f"± covers values of {c.name} within {c.bounds}" for c in changed]


def _clamps(bound: BoundQuery) -> bool:
    return any(isinstance(m, Additive) and m.counted is Counted.VALUES for m in bound.measures)


def _excess(plan: Plan, bound: BoundQuery, index: int, *, epsilon: Fraction) -> Excess:
    measurement = plan.measurements[index]
    ladder = _ladder(measurement)
    if bound.table.unit_column is None:
        tree, facts = _of_rows(bound, plan, index)
    else:
        tree, facts = _of_units(bound, plan, index)
    measure = measurement.measure
    return Excess(
        measurement=index,
        ladder=ladder,
        cells=Statement(qualified(_cells(tree, facts, ladder)), (CELL, COUNT)),
        sums=Statement(qualified(_sums(tree, facts, ladder)), (SUM,)),
        choice=Exponential.costing(Loss(epsilon * _CHOICE), 1, adjacency=Adjacency.ADD_REMOVE, monotone=True),
        epsilon=epsilon * (1 - _CHOICE),
        one_sided=isinstance(measure, Additive) and measure.counted is not Counted.VALUES,
    )


def _ladder(measurement: Measurement) -> tuple[int, ...]:
    """Ends that double, from a part of what a unit may move the answer by to many times that."""
    first = max(1, measurement.l1 // FINEST)
    ends = [first << level for level in range(LEVELS) if first << (level + SHARES) <= _LARGEST]
    if len(ends) < 2:
        raise QueryRefused(
            f"WITH BIAS is refused for {measurement.measure.label}: its bounds allow too much",
            hint="tighten the bounds or coarsen the step",
        )
    return tuple(ends)


# ── what each unit brings, less what is counted ──────────────────────────────────────────────────────────────────────


def _of_units(bound: BoundQuery, plan: Plan, index: int) -> tuple[exp.Select, Facts]:
    """One row for each unit and group, with its excess `e`."""
    measures = [m.measure for m in plan.measurements]
    totals = [unit_total(measure, bound) for measure in measures]
    counted, facts = counted_of_units(bound, plan.caps, measures=measures, totals=totals)
    source = bound.wider or bound
    wide = [*source.measures, *measures[len(source.measures) :]]
    brought = brought_by_units(source, plan.caps, measures=wide)
    column, most = name(f"m{index}"), MOST_ROWS * _magnitude(wide[index])
    whole = Whole(column, -most, most, Width.BIGINT)  # a sum or a count of rows
    plus = arithmetic.multiply(whole, arithmetic.constant(weight_of(plan.caps)))
    held = plan.measurements[index].in_group
    minus = arithmetic.negate(Whole(column, -held, held))
    groups = [name(OWNER), *(name(key) for key in facts.keys)]
    sides = [
        exp.select(*(copied(g) for g in groups), exp.alias_(side.sql, _E)).from_(nested(tree, "side"))
        for side, tree in ((plus, brought), (minus, counted))
    ]
    both = exp.union(*sides, distinct=False)
    total = arithmetic.as_wide(exp.Sum(this=name(_E)))
    joined = exp.select(*(copied(g) for g in groups), exp.alias_(total, _E))
    both_named = exp.Subquery(this=both, alias=exp.TableAlias(this=exp.to_identifier("sides")))
    return joined.from_(both_named).group_by(*(copied(g) for g in groups)), facts


def _of_rows(bound: BoundQuery, plan: Plan, index: int) -> tuple[exp.Select, Facts]:
    """One row for each row, which is a unit, with its excess `e`: what clamping took from its value."""
    wider = bound.wider
    if wider is None:
        raise ArithmeticError("nothing is cut from a row that is not clamped")
    tree, facts = cells_of_rows(bound, wider, plan.caps, index=index)
    most = [_magnitude(measure.measures[index]) for measure in (bound, wider)]
    counted, whole = (Whole(name(f"v{i}"), -end, end) for i, end in enumerate(most))
    left = arithmetic.as_wide(arithmetic.subtract(whole, counted).sql)
    keys = [name(key) for key in facts.keys]
    return exp.select(*keys, exp.alias_(left, _E)).from_(nested(tree, "rows")), facts


def _magnitude(measure: Measure) -> int:
    return max(1, measure.magnitude) if isinstance(measure, Additive) else 1


# ── cells of the ladder ──────────────────────────────────────────────────────────────────────────────────────────────


def _cells(tree: exp.Select, facts: Facts, ladder: Sequence[int]) -> exp.Select:
    """How many units have a norm in each cell."""
    size = _size()
    if facts.unit is None:
        norms = exp.select(exp.alias_(size, _NORM)).from_(nested(copied(tree), "excess"))
    else:
        total = exp.Sum(this=size)
        norms = exp.select(exp.alias_(total, _NORM)).from_(nested(copied(tree), "excess")).group_by(name(OWNER))
    placed = exp.select(exp.alias_(_cell(ladder), CELL)).from_(nested(norms, "norms"))
    counted = exp.select(name(CELL), exp.alias_(exp.Count(this=exp.Star()), COUNT))
    return counted.from_(nested(placed, "placed")).group_by(name(CELL))


def _sums(tree: exp.Select, facts: Facts, ladder: Sequence[int]) -> exp.Select:
    """The sum of the excesses of the units in each cell, in each group; beyond the ladder there is none."""
    size = _size()
    if facts.unit is not None:
        size = exp.Window(this=exp.Sum(this=size), partition_by=[name(OWNER)])
    keys = [name(key) for key in facts.keys]
    normed = exp.select(*keys, name(_E), exp.alias_(size, _NORM)).from_(nested(copied(tree), "excess"))
    placed = exp.select(*(copied(k) for k in keys), exp.alias_(name(_E), SUM), exp.alias_(_cell(ladder), CELL))
    placed = placed.from_(nested(normed, "normed")).where(exp.NEQ(this=name(_E), expression=integer(0)))
    kept = exp.select(*(copied(k) for k in keys), name(CELL), name(SUM)).from_(nested(placed, "placed"))
    kept = kept.where(exp.LT(this=name(CELL), expression=integer(len(ladder))))
    summed = Facts(
        grids={},
        keys=(*facts.keys, CELL),
        measures=(MeasureFacts(SUM, Counted.VALUES, SUM, wide=True),),
        unit=facts.unit or UnitFacts(OWNER),
        spread=Spread.NONE,
    )
    return add_up(kept, summed)


def _size() -> exp.Expression:
    """How large an excess is: of 128 bits, which hold a unit's trillion rows, weighed, in all of its groups."""
    return arithmetic.absolute(arithmetic.total(name(_E))).sql


def _cell(ladder: Sequence[int]) -> exp.Expression:
    ifs = [
        exp.If(this=exp.LTE(this=name(_NORM), expression=integer(end)), true=integer(cell))
        for cell, end in enumerate(ladder)
    ]
    cell = Whole(exp.Case(ifs=ifs, default=integer(len(ladder))), 0, len(ladder))
    return arithmetic.narrowed(cell, Width.BIGINT)
