"""The queries that will run: built from the plan alone, rule by rule."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

from sqlglot import exp

from tacit.policy import ColumnType, NullUnit, UnitForm
from tacit.sql.binding.bind import BoundQuery
from tacit.sql.expressions.keys import may_be_wide
from tacit.sql.expressions.measures import Additive, Counted, Measure, Quantile
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.arithmetic import integer
from tacit.sql.planning.bounding import MOST_GROUPS, is_wide, weight_of
from tacit.sql.planning.plan import ContributionBounds
from tacit.sql.planning.statement import Statement
from tacit.sql.relations.joining.two_owners import with_partners
from tacit.sql.rules import (
    DISTINCT_RULES,
    GRID_RULES,
    ROW_RULES,
    SUM_RULES,
    TALLY_RULES,
    Facts,
    MeasureFacts,
    Rule,
    Spread,
    UnitFacts,
    apply,
    grids_of,
)
from tacit.sql.rules.add_per_unit import add_per_unit
from tacit.sql.rules.facts import called, selected
from tacit.sql.rules.keep_public_keys import keep_public_keys

MOST_ROWS = (1 << 31) - 1  # of a unit in a group, where what it brings is looked at whole


def statements(
    bound: BoundQuery,
    caps: ContributionBounds,
    *,
    measures: Sequence[Measure],
    totals: Sequence[tuple[int, int] | None],
) -> tuple[Statement, ...]:
    """The queries, as `statement_indices` numbers them. All sums share one; a histogram has its own."""
    facts = _facts(bound, caps)
    listed: list[Statement] = []
    summed = [i for i, measure in enumerate(measures) if _is_summed(measure)]
    if summed:
        columns = [
            (_column(i, measures[i], totals[i], wide=is_wide(measures[i], caps)), _value(measures[i])) for i in summed
        ]
        settle = cache(partial(_statement, bound, SUM_RULES, columns, facts))
        if facts.spread is Spread.SAMPLE:
            listed.append(_statement(bound, SUM_RULES, columns, replace(facts, hash_only=True), settle=settle))
        else:
            listed.append(settle())
    for index, measure in enumerate(measures):
        if index not in summed:
            rules = DISTINCT_RULES if isinstance(measure, Additive) else TALLY_RULES
            tallied = replace(facts, sample_rows=bound.table.unit_column is not None)
            listed.append(_statement(bound, rules, [(_column(index, measure, None), _value(measure))], tallied))
    return tuple(listed)


def statement_indices(measures: Sequence[Measure]) -> list[int]:
    """For each measure which of the `statements` holds it."""
    following = itertools.count(1 if any(map(_is_summed, measures)) else 0)
    return [0 if _is_summed(measure) else next(following) for measure in measures]


def _is_summed(measure: Measure) -> bool:
    return isinstance(measure, Additive) and measure.counted is not Counted.DISTINCT


def counted_of_units(
    bound: BoundQuery,
    caps: ContributionBounds,
    *,
    measures: Sequence[Measure],
    totals: Sequence[tuple[int, int] | None],
) -> tuple[exp.Select, Facts]:
    """What is counted of each unit in each group: the rows that a statement of sums adds up."""
    facts = _facts(bound, caps)
    columns = [(_column(i, m, total), _value(m)) for i, (m, total) in enumerate(zip(measures, totals, strict=True))]
    return _tree(bound, SUM_RULES[:-1], columns, facts), facts


def brought_by_units(bound: BoundQuery, caps: ContributionBounds, *, measures: Sequence[Measure]) -> exp.Select:
    """What each unit brings to each group, however many rows and groups it has."""
    whole = replace(
        _facts(bound, caps), max_rows=MOST_ROWS, spread=Spread.NONE, sample_rows=False, weight=1, most_groups=None
    )
    columns = [(_column(i, m, None), _value(m)) for i, m in enumerate(measures)]
    return _tree(bound, (*ROW_RULES, add_per_unit), columns, whole)


def cells_of_rows(
    bound: BoundQuery, wider: BoundQuery, caps: ContributionBounds, *, index: int
) -> tuple[exp.Select, Facts]:
    """Of each row one value, clamped as it is counted (v0) and far more widely (v1), beside its keys."""
    facts = _facts(bound, caps)
    pairs = [(bound.measures[index], facts), (wider.measures[index], _facts(wider, caps))]
    cells: list[tuple[MeasureFacts, exp.Expression | None]] = []
    for number, (measure, grids) in enumerate(pairs):
        value = exp.select(integer(1) if measure.value is None else copied(measure.value))  # rules change it in place
        settled = apply(GRID_RULES, value, facts=grids)  # each on the grid of its own bounds
        cells.append((MeasureFacts(f"m{number}", Counted.VALUES, f"v{number}"), settled.expressions[0]))
    return _tree(bound, (keep_public_keys, *GRID_RULES), cells, facts), facts


def _value(measure: Measure) -> exp.Expression | None:
    return measure.value


def _column(index: int, measure: Measure, total: tuple[int, int] | None, *, wide: bool = False) -> MeasureFacts:
    counted = measure.counted if isinstance(measure, Additive) else Counted.VALUES
    bins = (measure.bins, measure.grid.width) if isinstance(measure, Quantile) and measure.bins is not None else None
    return MeasureFacts(f"m{index}", counted, None if measure.value is None else f"v{index}", total, wide, bins)


def _statement(
    bound: BoundQuery,
    rules: tuple[Rule, ...],
    columns: list[tuple[MeasureFacts, exp.Expression | None]],
    facts: Facts,
    *,
    settle: Callable[[], Statement] | None = None,
) -> Statement:
    tree = qualified(_tree(bound, rules, columns, facts))
    return Statement(tree, tuple(column.name for column, _ in columns), settle)


def _tree(
    bound: BoundQuery,
    rules: tuple[Rule, ...],
    columns: list[tuple[MeasureFacts, exp.Expression | None]],
    facts: Facts,
) -> exp.Select:
    """The rows of a question after every rule; its names are still those of the rules."""
    keys = [called(copied(key.sql), name) for key, name in zip(bound.keys, facts.keys, strict=True)]
    keeps = [
        exp.Anonymous(this="IN_DOMAIN", expressions=[copied(key.keep)]) for key in bound.keys if key.keep is not None
    ]
    values = [called(copied(value), column.value) for column, value in columns if value is not None and column.value]
    listed = [*keys, *values]
    if not listed and bound.table.unit_column is None:
        listed = [called(exp.Literal.number(1), "one")]
    rows = selected([*listed, *keeps], with_partners(copied(bound.relation.sql), facts.partners))
    if bound.where is not None:
        rows = rows.where(copied(bound.where), copy=False)
    return apply(rules, rows, facts=replace(facts, measures=tuple(column for column, _ in columns)))


def _facts(bound: BoundQuery, caps: ContributionBounds) -> Facts:
    table = bound.table
    raw = {name: kind.lower() for name, kind in bound.relation.sql_types.items()}
    private = any(not key.is_public for key in bound.keys)
    keys = tuple(f"k{i}" for i in range(len(bound.keys)))
    return Facts(
        grids=grids_of(table, raw),
        keys=keys,
        unit=_unit(bound, raw),
        max_rows=caps.max_rows,
        max_groups=caps.max_groups,
        max_values=caps.max_values,
        spread=caps.spread,
        sample_rows=caps.sampled_rows,
        most_groups=MOST_GROUPS * caps.max_groups if private and caps.spread is not Spread.SAMPLE else None,
        weight=weight_of(caps),
        salt=table.name.casefold(),
        partners=caps.partners,
        across_groups=bound.relation.pairs is not None,
        hashed_as_text=frozenset(name for name, key in zip(keys, bound.keys, strict=True) if may_be_wide(key, raw)),
    )


def _unit(bound: BoundQuery, raw: dict[str, str]) -> UnitFacts | None:
    table = bound.table
    if table.unit_column is None:
        return None
    kind = ColumnType.from_sql(raw.get(table.unit_column.casefold(), "varchar"))
    form = table.unit_form
    return UnitFacts(
        table.unit_column,
        trims=form in {UnitForm.TRIM, UnitForm.TRIM_LOWER},
        lowers=form in {UnitForm.LOWER, UnitForm.TRIM_LOWER},
        null_is_one=table.null_unit is NullUnit.ONE,
        is_text=kind is ColumnType.TEXT,
    )
