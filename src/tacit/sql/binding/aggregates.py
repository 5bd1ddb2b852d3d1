"""Aggregates into measurements and the arithmetic that turns those back into answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from tacit.core import decimal_text
from tacit.errors import QueryRefused
from tacit.policy import ColumnType, TableDomain
from tacit.sql.binding import post
from tacit.sql.expressions.arithmetic import integer
from tacit.sql.expressions.grid import Grid, add, constant, divide, floor, multiply, negate
from tacit.sql.expressions.keys import Key, key
from tacit.sql.expressions.measures import Additive, Counted, Histogram, Measure, Mode, Quantile
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.operands import operand
from tacit.sql.expressions.predicates import predicate
from tacit.sql.expressions.printing import text_of
from tacit.sql.expressions.scope import Scope, Value, name_of

MAX_CELLS = 2_000_000  # of a histogram behind a quantile
MAX_SHARE = 1_000_000  # ranks are counted in whole parts of this size: with 2^40 rows they still fit 64 bits
MAX_TOP = 100
MAX_SQUARED = 1 << 31  # steps from the midpoint: with their squares, those of a trillion rows fit 128 bits by far


@dataclass(slots=True)
class Measures:
    """The measurements a query needs, each once."""

    items: list[Measure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shared: dict[int, tuple[Measure, Measure, Fraction]] = field(default_factory=dict)  # Σx = Σ(x − m) + m · count
    places: dict[str, int] = field(default_factory=dict)  # by signature: to write one down takes time

    def ref(self, measure: Measure) -> post.Ref:
        """The place of `measure`; asked twice, it is measured once."""
        place = self.places.setdefault(measure.signature, len(self.items))
        if place == len(self.items):
            self.items.append(measure)
        return post.Ref(place)

    def settled(self, outputs: Sequence[post.Post]) -> list[post.Post]:
        """The outputs with each sum derived from its centred sum and count, where the count is measured anyway."""
        known = set(self.places)
        replaced: dict[int, post.Post] = {}
        for place, (centred, count, middle) in self.shared.items():
            if count.signature in known:
                shift = post.Product(post.Number(middle), self.ref(count))
                replaced[place] = post.Sum(self.ref(centred), shift)
        kept = [place for place in range(len(self.items)) if place not in replaced]
        renumbered = {place: post.Ref(new) for new, place in enumerate(kept)}
        moved = {place: post.substitute(derived, renumbered) for place, derived in replaced.items()}
        self.items = [self.items[place] for place in kept]
        self.places = {sign: kept.index(place) for sign, place in self.places.items() if place not in replaced}
        self.shared = {}
        return [post.substitute(output, renumbered | moved) for output in outputs]

    def note(self, text: str) -> None:
        """Something the reader of the answer must know."""
        if text not in self.notes:
            self.notes.append(text)


def aggregate(node: exp.Expression, scope: Scope, measures: Measures) -> post.Post:
    """The answer to one aggregate, as arithmetic over measurements."""
    condition: exp.Expression | None = None
    label = text_of(node, comments=False)
    if isinstance(node, exp.Filter):
        condition = predicate(node.expression.this, scope)
        node = node.this
    if isinstance(node, exp.WithinGroup):
        node = _within_group(node)
    build = _AGGREGATES.get(_called(node))
    if build is not None and any(value for name, value in node.args.items() if name not in _ARGUMENTS):
        raise QueryRefused(f"{name_of(node)} is refused with so many arguments", hint=_KNOWN)
    if build is None:
        raise QueryRefused(
            f"{name_of(node)} is refused: it is not an aggregate that can be answered privately", hint=_KNOWN
        )
    return build(_Call(node, scope, measures, condition, label))


def has_aggregate(tree: exp.Expression) -> bool:
    """Whether an aggregate stands anywhere in it."""
    return any(isinstance(node, exp.Expression) and is_aggregate(node) for node in tree.walk())


def is_aggregate(node: exp.Expression) -> bool:
    """Whether a node is a call that only an aggregate answers."""
    return isinstance(node, (exp.AggFunc, exp.Filter, exp.WithinGroup)) or _called(node) in _AGGREGATES


def _called(node: exp.Expression) -> str:
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
        return exp.Case(ifs=[exp.If(this=self.condition.copy(), true=integer(1) if sql is None else sql)])

    def grid(self) -> Grid:
        """The argument as numbers on a grid."""
        return number(self.argument(), self.scope, predicate=predicate)

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
        return sql.copy()
    present = exp.Not(this=exp.Is(this=exp.paren(sql.copy()), expression=exp.null()))
    return exp.Case(ifs=[exp.If(this=present, true=integer(1))])


def _count(call: _Call) -> post.Post:
    node = call.node
    if node.expressions:
        raise QueryRefused("COUNT takes one argument", hint="set contribution caps in the policy or with OPTIONS(…)")
    if isinstance(node.this, exp.Distinct):
        return _count_distinct(call, node.this)
    if isinstance(node.this, exp.Star) or call.scope.is_constant(node.this):
        return call.rows(None)
    if call.scope.is_unit(node.this):
        return call.rows(call.scope.unit_column(node.this))
    if call.scope.link(node.this) is not None:
        return call.rows(_link(node.this, call.scope))
    found = operand(node.this, call.scope)
    if found is not None and found.never_null:
        return call.rows(None)
    sql = found.sql if found is not None else call.grid().sql
    return call.rows(_counted(sql))


def _link(node: exp.Expression, scope: Scope) -> exp.Expression:
    """A key, which may be counted though its values are nobody's to see."""
    found = scope.key(node)
    assert found is not None  # noqa: S101 - it is a link
    return exp.column(exp.to_identifier(found[0], quoted=True))


def _count_distinct(call: _Call, distinct: exp.Distinct) -> post.Post:
    if len(distinct.expressions) != 1:
        raise QueryRefused("COUNT(DISTINCT …) takes one column")
    inner = distinct.expressions[0]
    if call.scope.is_unit(inner):
        return call.measures.ref(Additive(call.label, Counted.UNITS, call.only(call.scope.unit_column(inner))))
    if call.scope.link(inner) is not None:
        sql = _link(inner, call.scope)
    else:
        found = operand(inner, call.scope)
        sql = found.sql if found is not None else number(inner, call.scope, predicate=predicate).sql
    call.measures.note(f"{call.label} counts at most max_distinct values of each unit, so it may be low")
    return call.measures.ref(Additive(call.label, Counted.DISTINCT, call.only(sql)))


def _sum(call: _Call) -> post.Post:
    grid = call.grid()
    argument = call.argument()
    column = call.scope.known_as(argument) if isinstance(argument, exp.Column) else None
    total = call.total(grid, column=column)
    if not isinstance(total, post.Ref) or not grid.low + grid.high:
        return total
    centred, middle = _centred(grid)
    parts = _Call(call.node, call.scope, Measures(), call.condition, call.label)
    parts.total(centred, label=call.named("SUM({} − midpoint)"))
    parts.present(grid)
    call.measures.shared[total.measure] = (parts.measures.items[0], parts.measures.items[1], middle)
    return total


def _centred(grid: Grid) -> tuple[Grid, Fraction]:
    """Grid − midpoint, and the midpoint: half the sensitivity of the raw values."""
    middle = Fraction(grid.low + grid.high, 2) * grid.step
    return add(grid, negate(constant(middle))) if middle else grid, middle


def _mean(call: _Call, grid: Grid) -> tuple[post.Post, post.Post, Fraction]:
    """(mean of the centred values, how many there are, the midpoint)."""
    centred, middle = _centred(grid)
    count = call.present(grid)
    total = call.total(centred, label=call.named("SUM({} − midpoint)"))
    return post.Quotient(total, count, least=Fraction(1)), count, middle


def _average(call: _Call) -> post.Post:
    grid = call.grid()
    if grid.low == grid.high:
        return post.Number(grid.value)
    mean, _, middle = _mean(call, grid)
    return post.Clamped(post.Sum(mean, post.Number(middle)), grid.low * grid.step, grid.high * grid.step)


def _variance(call: _Call, *, sample: bool) -> post.Post:
    grid = call.grid()
    if grid.low == grid.high:
        return post.Number(Fraction(0))
    grid = _coarse(call, grid)
    mean, count, _ = _mean(call, grid)
    centred, _ = _centred(grid)
    square = multiply(centred, centred)
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


def _coarse(call: _Call, grid: Grid) -> Grid:
    """The values on a grid whose squares add up within 128 bits: the next power of two, where theirs is too fine.

    Of mean and squares alike: so the deviation is that of the rounded values, within half of the coarser step.
    """
    factor = 1
    while grid.high - grid.low > factor * MAX_SQUARED:
        factor *= 2
    if factor == 1:
        return grid
    step = constant(grid.step * factor)
    call.measures.note(f"{call.label} is of values rounded to {decimal_text(step.value)}: finer squares would overflow")
    return multiply(floor(add(divide(grid, step), constant(Fraction(1, 2)))), step)


def _quantile(call: _Call, share: Fraction | None, *, from_top: bool = False) -> post.Post:
    grid = call.grid()
    if share is not None and not 0 <= share <= 1:
        raise QueryRefused("a quantile lies between 0 and 1")
    if share is not None and share.denominator > MAX_SHARE:
        raise QueryRefused("a quantile is named too finely", hint="six decimal places are enough")
    if share in (Fraction(0), Fraction(1)):
        share, from_top = None, share == 1
    if grid.high - grid.low + 1 > MAX_CELLS:
        raise QueryRefused(
            f"{call.label} has too fine a grid: {grid.high - grid.low + 1:,} cells", hint="use ROUND(x) or a wider step"
        )
    value = call.only(grid.sql)
    if share is None:
        end = "largest" if from_top else "smallest"
        call.measures.note(f"{call.label} is an extreme quantile: a value near the {end}, never the {end} itself")
    assert value is not None  # noqa: S101 - only(None) alone gives None
    return call.measures.ref(Quantile(call.label, value, grid, share, from_top))


def _share(call: _Call) -> Fraction:
    node = call.node.args.get("quantile") or call.node.args.get("expression")
    value = call.scope.value(node) if isinstance(node, exp.Expression) else None
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise QueryRefused(f"{name_of(call.node)} needs a share between 0 and 1", hint="write QUANTILE(x, 0.9)")
    return Fraction(value)


def _within_group(node: exp.WithinGroup) -> exp.Expression:
    """PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) is QUANTILE(x, 0.5)."""
    inner, order = node.this, node.expression
    ordered = order.expressions[0] if isinstance(order, exp.Order) and len(order.expressions) == 1 else None
    if not isinstance(inner, (exp.PercentileCont, exp.PercentileDisc)) or ordered is None or ordered.args.get("desc"):
        raise QueryRefused("WITHIN GROUP is refused here", hint="write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)")
    return exp.Quantile(this=ordered.this, quantile=inner.this)


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
    made, values, value = _listed(call, arguments[0])
    if isinstance(values, tuple) and len(values) < count:
        raise QueryRefused(f"{call.label} asks for more values than the domain has")
    return call.measures.ref(Mode(call.label, value, values, made.kind or ColumnType.TEXT, made.step, count))


def _histogram(call: _Call) -> post.Post:
    made, values, value = _listed(call, call.argument())
    return call.measures.ref(Histogram(call.label, value, values, made.step))


def _listed(call: _Call, node: exp.Expression) -> tuple[Key, tuple[Value, ...] | TableDomain, exp.Expression]:
    """The argument as a key with a public domain, its values, and its SQL where the row is in the domain."""
    made = key(node, call.scope)
    if made.values is None:
        raise QueryRefused(
            f"{call.label} needs a public domain: without one its values are private",
            hint="declare a domain in the policy, or GROUP BY it and ORDER BY COUNT(*)",
        )
    # what is not in a public table is left out when its values are counted: some engines look up in WHERE alone
    kept = None if isinstance(made.values, TableDomain) else made.keep
    value = made.sql if kept is None else exp.Case(ifs=[exp.If(this=kept.copy(), true=made.sql)])
    return made, made.values, call.only(value) or value


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
}
_ARGUMENTS = {"this", "expression", "expressions", "quantile", "big_int"}
_KNOWN = "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE, MIN, MAX, MODE, TOP_K and HISTOGRAM are answered"
