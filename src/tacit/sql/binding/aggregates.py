"""Aggregates into measurements and the arithmetic that turns those back into answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType, TableDomain
from tacit.sql.binding import dated, post
from tacit.sql.binding.coarse import MAX_SQUARED, centred, coarse
from tacit.sql.binding.distinct import distinct_value, is_in_every_row, link_value
from tacit.sql.binding.moments import MOMENTS
from tacit.sql.expressions.dates.instant_reading import is_instant
from tacit.sql.expressions.keys import Key, listed_key
from tacit.sql.expressions.measures import Additive, Counted, Histogram, Measure, Mode, Quantile
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, Value, name_of
from tacit.sql.expressions.names.spoken import call_as_typed
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric.arithmetic import integer
from tacit.sql.expressions.numeric.bins import MAX_CELLS, bins_of, found_within
from tacit.sql.expressions.numeric.grid import Grid, multiply
from tacit.sql.expressions.operands import operand
from tacit.sql.expressions.predicates import moment_of, predicate
from tacit.sql.expressions.text.read_as import refuse_unheld
from tacit.sql.relations.rewriting.forms import counted_row, counted_together, counted_where

MAX_BINNED = 1 << 61  # steps: of a quantile, with room to spare in 64 bits
MAX_SHARE = 1_000_000  # ranks are counted in whole parts of this size: with 2^40 rows they still fit 64 bits
MAX_TOP = 100


@dataclass(slots=True)
class Measures:
    """The measurements a query needs, each once."""

    items: list[Measure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shared: dict[int, tuple[Measure, Measure, Fraction]] = field(default_factory=dict)  # Σx = Σ(x − m) + m · count
    indices: dict[str, int] = field(default_factory=dict)  # by signature: to write one down takes time

    def ref(self, measure: Measure) -> post.Ref:
        """The place of `measure`; asked twice, it is measured once."""
        index = self.indices.setdefault(measure.signature, len(self.items))
        if index == len(self.items):
            self.items.append(measure)
        return post.Ref(index)

    def settled(self, outputs: Sequence[post.Post]) -> list[post.Post]:
        """The outputs with each sum derived from its centred sum and count, where the count is measured anyway."""
        known = set(self.indices)
        replaced: dict[int, post.Post] = {}
        for index, (moved_sum, count, middle) in self.shared.items():
            if count.signature in known:
                shift = post.Product(post.Number(middle), self.ref(count))
                replaced[index] = post.Sum(self.ref(moved_sum), shift)
        kept = [index for index in range(len(self.items)) if index not in replaced]
        renumbered = {index: post.Ref(new) for new, index in enumerate(kept)}
        moved = {index: post.substitute(derived, renumbered) for index, derived in replaced.items()}
        self.items = [self.items[index] for index in kept]
        self.indices = {sign: kept.index(index) for sign, index in self.indices.items() if index not in replaced}
        self.shared = {}
        return [post.substitute(output, renumbered | moved) for output in outputs]

    def note(self, text: str) -> None:
        """Remember something that the reader of the answer must know."""
        if text not in self.notes:
            self.notes.append(text)


def aggregate(node: exp.Expression, scope: Scope, measures: Measures) -> post.Post:
    """The answer to one aggregate, as arithmetic over measurements."""
    condition: exp.Expression | None = None
    label = call_as_typed(node)
    if isinstance(node, exp.Filter):
        condition = predicate(node.expression.this, scope)
        node = node.this
    if isinstance(node, exp.WithinGroup):
        node = _within_group(node)
    if isinstance(node, exp.IgnoreNulls):
        node = node.this
    build = _AGGREGATES.get(_called(node))
    if build is not None and any(value for name, value in node.args.items() if name not in _ARGUMENTS):
        raise QueryRefused(f"{name_of(node)} is refused with so many arguments", hint=_KNOWN)
    if isinstance(node, (exp.AnyValue, exp.First, exp.Last)):
        raise QueryRefused(
            f"{name_of(node)} is refused: what one row holds is somebody's own",
            hint="MODE(x) is the most frequent value of a public domain, MEDIAN(x) one in the middle",
        )
    if isinstance(node, (exp.LogicalOr, exp.LogicalAnd)):
        raise QueryRefused(
            f"{name_of(node)} is refused: one row alone can decide it, and that row is somebody's own",
            hint="count them: COUNT(*) FILTER (WHERE …); of one unit's own rows, in a subquery grouped by the unit",
        )
    if build is None:
        raise QueryRefused(
            f"{name_of(node)} is refused: it is not an aggregate that can be answered privately", hint=_KNOWN
        )
    return build(_Call(node, scope, measures, condition, label))


def has_aggregate(tree: exp.Expression) -> bool:
    """Whether an aggregate stands anywhere in it."""
    return any(isinstance(node, exp.Expression) and is_aggregate(node) for node in tree.walk())


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a call that only an aggregate answers."""
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup, exp.IgnoreNulls)) or _called(node) in _AGGREGATES


def _called(node: exp.Expr) -> str:
    return str(node.this).upper() if isinstance(node, exp.Anonymous) else node.key.upper()


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of an aggregate function."""

    node: exp.Expression
    scope: Scope
    measures: Measures
    condition: exp.Expression | None
    label: str

    def argument(self) -> exp.Expression:
        """Its one argument, without DISTINCT."""
        node = (
            self.node.expressions[0]
            if isinstance(self.node, exp.Anonymous) and self.node.expressions
            else self.node.this
        )
        if isinstance(node, exp.Distinct):
            raise QueryRefused(f"DISTINCT is refused in {name_of(self.node)}", hint="COUNT(DISTINCT x) is allowed")
        if not isinstance(node, exp.Expression) or isinstance(node, exp.Star):
            raise QueryRefused(f"{name_of(self.node)} needs a column")
        return node

    def only(self, sql: exp.Expression | None) -> exp.Expression | None:
        """The value where the filter holds, else NULL."""
        if self.condition is None:
            return sql
        return exp.Case(ifs=[exp.If(this=copied(self.condition), true=integer(1) if sql is None else sql)])

    def grid(self) -> Grid:
        """The argument as numbers on a grid."""
        grid = number(self.argument(), self.scope, predicate=predicate)
        refuse_unheld(self.argument(), grid)
        return self.noted(grid)

    @property
    def facts(self) -> tuple[exp.Expression, Scope, str]:
        """The call itself, the names in it, and what it is called."""
        return self.node, self.scope, self.label

    def noted(self, grid: Grid) -> Grid:
        """The same numbers; what was rounded to compute them is said."""
        for note in grid.notes:
            self.measures.note(note)
        return grid

    def moments(self) -> tuple[Grid, str | None]:
        """The argument as numbers on a grid; where it is a date or a timestamp, also which."""
        if not is_instant(self.argument(), self.scope):
            return self.grid(), None
        moment = moment_of(self.argument(), self.scope).bounded()
        return moment.steps, moment.kind.value

    def named(self, form: str) -> str:
        """What to call one of several measurements behind this call, as in "COUNT({})"."""
        return form.format(text_of(self.argument(), comments=False))

    def rows(self, sql: exp.Expression | None, *, label: str | None = None) -> post.Post:
        """How many rows have a value."""
        return self.measures.ref(Additive(label or self.label, Counted.ROWS, self.only(sql)))

    def total(self, grid: Grid, *, column: str | None = None, label: str | None = None) -> post.Post:
        """Σ of the values."""
        ends = min(grid.low, 0), max(grid.high, 0)
        measure = Additive(label or self.label, Counted.VALUES, self.only(grid.sql), grid.step, *ends, column=column)
        return self.measures.ref(measure)

    def present(self, grid: Grid) -> post.Post:
        """How many values there are to average."""
        if not grid.nullable:
            return self.rows(None, label="COUNT(*)")
        return self.rows(_counted(grid.sql), label=self.named("COUNT({})"))


def _counted(sql: exp.Expression) -> exp.Expression:
    """What is NULL just where `sql` is: a column is counted as it stands, without a look at each cell."""
    if isinstance(sql, exp.Anonymous) and sql.this == "GRID":  # on its grid or not: one count serves COUNT and AVG
        sql = sql.expressions[0]
    if isinstance(sql, exp.Column):
        return copied(sql)
    present = exp.Not(this=exp.Is(this=paren(copied(sql)), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=present, true=integer(1))])


def _count(call: _Call) -> post.Post:
    node = call.node
    if node.expressions:
        raise QueryRefused("COUNT takes one argument", hint="write COUNT(*) or COUNT(x)")
    if isinstance(node.this, exp.Distinct):
        return _count_distinct(call, node.this)
    if isinstance(node.this, exp.Star) or is_in_every_row(node.this, call.scope, label=call.label):
        return call.rows(None)
    if call.scope.is_unit(node.this):
        return call.rows(call.scope.unit_column(node.this))
    if call.scope.link(node.this) is not None:
        return call.rows(link_value(node.this, call.scope))
    value = operand(node.this, call.scope)
    if value is not None and value.never_null:
        return call.rows(None)
    sql = value.sql if value is not None else number(call.argument(), call.scope, predicate=predicate).sql
    return call.rows(_counted(sql))


def _count_distinct(call: _Call, distinct: exp.Distinct) -> post.Post:
    inner, where = counted_where(distinct)
    if where is not None:
        holds = predicate(where, call.scope)
        both = holds if call.condition is None else exp.And(this=paren(call.condition), expression=paren(holds))
        call = replace(call, condition=both)
    parts, row = counted_together(distinct), counted_row(distinct) is not None
    several = row or len(parts) > 1
    if call.scope.is_unit(inner) and not several:
        return call.measures.ref(Additive(call.label, Counted.UNITS, call.only(call.scope.unit_column(inner))))
    sql = distinct_value(parts if several else [inner], call.scope, row=row)
    call.measures.note(f"{call.label} counts at most max_distinct values of each unit, so it may be low")
    return call.measures.ref(Additive(call.label, Counted.DISTINCT, call.only(sql)))


def _sum(call: _Call) -> post.Post:
    grid = call.grid()
    argument = call.argument()
    column = call.scope.known_as(argument) if isinstance(argument, exp.Column) else None
    total = call.total(grid, column=column)
    if not isinstance(total, post.Ref) or not grid.low + grid.high:
        return total
    moved, middle = centred(grid)
    parts = _Call(call.node, call.scope, Measures(), call.condition, call.label)
    parts.total(moved, label=call.named("SUM({} − midpoint)"))
    parts.present(grid)
    call.measures.shared[total.measure] = (parts.measures.items[0], parts.measures.items[1], middle)
    return total


def _mean(call: _Call, grid: Grid) -> tuple[post.Post, post.Post, Fraction]:
    """(mean of the centred values, how many there are, the midpoint)."""
    moved, middle = centred(grid)
    count = call.present(grid)
    total = call.total(moved, label=call.named("SUM({} − midpoint)"))
    return post.Quotient(total, count, least=Fraction(1)), count, middle


def _average(call: _Call) -> post.Post:
    grid, moment = call.moments()
    if grid.low == grid.high:
        return dated.as_moment(post.Number(grid.value), moment)
    mean, _, middle = _mean(call, grid)
    held = post.Clamped(post.Sum(mean, post.Number(middle)), grid.low * grid.step, grid.high * grid.step)
    return dated.as_moment(held, moment)


def _variance(call: _Call, *, sample: bool) -> post.Post:
    grid = call.grid()
    if grid.low == grid.high:
        return post.Number(Fraction(0))
    grid = coarse(grid, most=MAX_SQUARED, note=call.measures.note, label=call.label)
    mean, count, _ = _mean(call, grid)
    moved, _ = centred(grid)
    square = multiply(moved, moved)
    square = replace(square, low=0)
    squares = call.total(square, label=call.named("SUM(({} − midpoint)²)"))
    moment = post.Quotient(squares, count, least=Fraction(1))
    spread: post.Post = post.Sum(moment, post.Product(post.Number(Fraction(-1)), post.Product(mean, mean)))
    if sample:
        fewer = post.Sum(count, post.Number(Fraction(-1)))
        spread = post.Product(spread, post.Quotient(count, fewer, least=Fraction(1)))
    call.measures.note(f"{call.label} is held between 0 and the largest variance its bounds allow")
    widest = (Fraction(grid.high - grid.low) * grid.step / 2) ** 2 * (2 if sample else 1)
    return post.Clamped(spread, Fraction(0), widest)


def _quantile(call: _Call, share: Fraction | None, *, from_top: bool = False) -> post.Post:
    grid, moment = call.moments()
    if share is not None and not 0 <= share <= 1:
        raise QueryRefused("a quantile lies between 0 and 1")
    if share is not None and share.denominator > MAX_SHARE:
        raise QueryRefused("a quantile is named too finely", hint="six decimal places are enough")
    if share in (Fraction(0), Fraction(1)):
        share, from_top = None, share == 1
    if moment is not None:
        grid, rounded = dated.coarse(grid, most=MAX_CELLS)
        if rounded:
            call.measures.note(
                f"{call.label} is of moments rounded to {rounded}: finer ones are too many to be searched"
            )
    grid = coarse(grid, most=MAX_BINNED, note=call.measures.note, label=call.label, why="64 bits")
    bins = None
    if grid.high - grid.low + 1 > MAX_CELLS:
        bins = bins_of(grid.low, grid.high)
        within = found_within(bins, grid.step)
        call.measures.note(f"{call.label} is found to within {within}: its grid is too fine to be searched")
    value = call.only(grid.sql)
    if share is None:
        end = "largest" if from_top else "smallest"
        call.measures.note(f"{call.label} is an extreme quantile: a value near the {end}, never the {end} itself")
    assert value is not None  # noqa: S101 - only(None) alone gives None
    return dated.as_moment(call.measures.ref(Quantile(call.label, value, grid, share, from_top, bins)), moment)


def _share(call: _Call) -> Fraction:
    node = call.node.args.get("quantile") or call.node.args.get("expression")
    value = call.scope.value(node) if isinstance(node, exp.Expression) else None
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise QueryRefused(f"{name_of(call.node)} needs a share between 0 and 1", hint="write QUANTILE(x, 0.9)")
    return 1 - Fraction(value) if call.node.args.get("desc") else Fraction(value)


def _within_group(node: exp.WithinGroup) -> exp.Expression:
    """PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) is QUANTILE(x, 0.5)."""
    inner, order = node.this, node.expression
    ordered = order.expressions[0] if isinstance(order, exp.Order) and len(order.expressions) == 1 else None
    if isinstance(inner, exp.Mode) and ordered is not None:
        return exp.Mode(this=ordered.this)
    if not isinstance(inner, (exp.PercentileCont, exp.PercentileDisc)) or ordered is None:
        raise QueryRefused("WITHIN GROUP is refused here", hint="write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)")
    return exp.Quantile(this=ordered.this, quantile=inner.this, desc=bool(ordered.args.get("desc")))


def _mode(call: _Call) -> post.Post:
    arguments = call.node.expressions if isinstance(call.node, exp.Anonymous) else [call.node.this]
    count = 1
    if _called(call.node) == "TOP_K":
        wanted = call.scope.value(arguments[1]) if len(arguments) == 2 else None
        if not isinstance(wanted, int) or isinstance(wanted, bool) or not 1 <= wanted <= MAX_TOP:
            raise QueryRefused(
                f"TOP_K needs a column and a whole number from 1 to {MAX_TOP}", hint="write TOP_K(dept, 3)"
            )
        count = wanted
    key, values, value = _listed(call, arguments[0])
    if isinstance(values, tuple) and len(values) < count:
        raise QueryRefused(f"{call.label} asks for more values than the domain has")
    return call.measures.ref(Mode(call.label, value, values, key.kind or ColumnType.TEXT, key.step, count))


def _histogram(call: _Call) -> post.Post:
    key, values, value = _listed(call, call.argument())
    return call.measures.ref(Histogram(call.label, value, values, key.step))


def _listed(call: _Call, node: exp.Expression) -> tuple[Key, tuple[Value, ...] | TableDomain, exp.Expression]:
    """The argument as a key with a public domain, its values, and its SQL where the row is in the domain."""
    group_key = listed_key(node, call.scope)
    if group_key.values is None:
        raise QueryRefused(
            f"{call.label} needs a public domain: without one its values are private",
            hint="declare a domain in the policy, or GROUP BY it and ORDER BY COUNT(*)",
        )
    # what is not in a public table is left out when its values are counted: some engines look up in WHERE alone
    kept = None if isinstance(group_key.values, TableDomain) else group_key.keep
    value = group_key.sql if kept is None else exp.Case(ifs=[exp.If(this=copied(kept), true=group_key.sql)])
    return group_key, group_key.values, call.only(value) or value


_AGGREGATES: dict[str, Callable[[_Call], post.Post]] = {
    "COUNT": _count,
    "COUNTIF": lambda call: _Call(
        exp.Count(this=exp.Star()), call.scope, call.measures, predicate(call.argument(), call.scope), call.label
    ).rows(None),
    "SUM": _sum,
    "AVG": _average,
    "VARIANCE": lambda call: _variance(call, sample=True),
    "VARIANCEPOP": lambda call: _variance(call, sample=False),
    "STDDEV": lambda call: post.Root(_variance(call, sample=True)),
    "STDDEVSAMP": lambda call: post.Root(_variance(call, sample=True)),
    "STDDEVPOP": lambda call: post.Root(_variance(call, sample=False)),
    "MEDIAN": lambda call: _quantile(call, Fraction(1, 2)),
    "QUANTILE": lambda call: _quantile(call, _share(call)),
    "PERCENTILECONT": lambda call: _quantile(call, _share(call)),
    "PERCENTILEDISC": lambda call: _quantile(call, _share(call)),
    "MIN": lambda call: _quantile(call, None),
    "MAX": lambda call: _quantile(call, None, from_top=True),
    "MODE": _mode,
    "TOP_K": _mode,
    "HISTOGRAM": _histogram,
    "APPROXQUANTILE": lambda call: _quantile(call, _share(call)),
    "APPROXDISTINCT": lambda call: _count_distinct(call, exp.Distinct(expressions=[call.argument()])),
    **MOMENTS,
}
_ARGUMENTS = {"this", "expression", "expressions", "quantile", "big_int", "desc"}
_KNOWN = "COUNT, SUM, AVG, VARIANCE, STDDEV, CORR, MEDIAN, QUANTILE, MIN, MAX, MODE, TOP_K, HISTOGRAM are answered"
