"""Aggregates of two columns (CORR, COVAR, REGR, weighted means) and of powers (SKEWNESS, KURTOSIS, GEOMEAN).

Each is arithmetic over sums of whole numbers, measured with noise of their own: of centred values, their products and
powers. Error bars are carried through by interval arithmetic, and so cover, if widely: a mean that stands in several
places of a formula is taken to be anywhere in its interval in each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.binding import post
from tacit.sql.binding.coarse import MAX_CUBED, MAX_FOURTH, MAX_SQUARED, centred, coarse
from tacit.sql.expressions.names.printing import copied, text_of
from tacit.sql.expressions.names.scope import Scope, name_of
from tacit.sql.expressions.numbers import number
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.functions import logarithm
from tacit.sql.expressions.numeric.grid import Grid, choose, multiply
from tacit.sql.expressions.predicates import predicate

_ONE, _MINUS = post.Number(Fraction(1)), post.Number(Fraction(-1))


class Call(Protocol):
    """A call of an aggregate, as `aggregates` knows it."""

    @property
    def facts(self) -> tuple[exp.Expression, Scope, str]:
        """The call itself, the names in it, and what it is called."""

    def noted(self, grid: Grid) -> Grid:
        """The same numbers; what was rounded to compute them is said."""

    def total(self, grid: Grid, *, label: str | None = None) -> post.Post:
        """Σ of the values."""

    def rows(self, sql: exp.Expression | None, *, label: str | None = None) -> post.Post:
        """How many rows have a value."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the columns, where both are there: centred, its midpoint, its ends, and what it is called."""

    grid: Grid
    middle: Fraction
    ends: tuple[Fraction, Fraction]
    label: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two columns, and how many rows have both."""

    call: Call
    first: _Side
    second: _Side
    count: post.Post

    def mean(self, side: _Side) -> post.Post:
        """The average of the centred values."""
        total = self.call.total(side.grid, label=f"SUM({side.label} − midpoint)")
        return post.Quotient(total, self.count, least=Fraction(1))

    def average(self, side: _Side) -> post.Post:
        """The average of the values themselves."""
        return post.Clamped(post.Sum(self.mean(side), post.Number(side.middle)), *side.ends)

    def moment(self, one: _Side, other: _Side) -> post.Post:
        """The mean of the product, less the product of the means."""
        product = multiply(one.grid, other.grid)
        if one is other:
            product = replace(product, low=max(product.low, 0))
        total = self.call.total(product, label=f"SUM(({one.label} − midpoint)({other.label} − midpoint))")
        mean = post.Quotient(total, self.count, least=Fraction(1))
        estimate = post.Sum(mean, _times(_MINUS, self.mean(one), self.mean(other)))
        if one is not other:
            return estimate
        return post.Clamped(estimate, Fraction(0), ((one.ends[1] - one.ends[0]) / 2) ** 2)


def _times(*parts: post.Post) -> post.Post:
    whole = parts[0]
    for part in parts[1:]:
        whole = post.Product(whole, part)
    return whole


def _arguments(call: Call, count: int) -> list[exp.Expression]:
    node = call.facts[0]
    estimate = node.expressions if isinstance(node, exp.Anonymous) else [node.this, node.args.get("expression")]
    given = [each for each in estimate if isinstance(each, exp.Expression)]
    if len(given) != count or any(isinstance(each, (exp.Distinct, exp.Star)) for each in given):
        raise QueryRefused(f"{name_of(node)} takes {'one column' if count == 1 else 'two columns'}")
    return given


def _pair(call: Call, *, coarsely: bool = True) -> _Pair:
    """The two columns of a call, in its order."""
    _, scope, label = call.facts
    nodes = _arguments(call, 2)
    grids = [call.noted(number(node, scope, predicate=predicate)) for node in nodes]
    if coarsely:
        grids = [coarse(grid, most=MAX_SQUARED, note=_noting(call), label=label) for grid in grids]
    there = [exp.Not(this=exp.Is(this=arithmetic.operand(g.sql), expression=exp.null())) for g in grids if g.nullable]
    both = there[0] if len(there) == 1 else exp.And(this=there[0], expression=there[1]) if there else None
    names = [text_of(node, comments=False) for node in nodes]
    if both is None:
        count = call.rows(None, label="COUNT(*)")
    else:
        counted = exp.Case(ifs=[exp.If(this=copied(both), true=arithmetic.integer(1))])
        count = call.rows(counted, label=f"COUNT({' and '.join(names)})")
    sides = []
    for grid, name in zip(grids, names, strict=True):
        held = grid if both is None else choose([(both, grid)], None)
        middle, at = centred(held)
        sides.append(_Side(middle, at, (grid.low * grid.step, grid.high * grid.step), name))
    return _Pair(call, sides[0], sides[1], count)


def _noting(call: Call) -> Callable[[str], None]:
    def note(text: str) -> None:
        call.noted(Grid(exp.null(), Fraction(1), 0, 0, notes=(text,)))

    return note


def _sample(pair: _Pair, value: post.Post) -> post.Post:
    fewer = post.Sum(pair.count, _MINUS)
    return post.Product(value, post.Quotient(pair.count, fewer, least=Fraction(1)))


def _correlation(call: Call) -> post.Post:
    pair = _pair(call)
    x, y = pair.second, pair.first
    spread = post.Product(post.Root(pair.moment(x, x)), post.Root(pair.moment(y, y)))
    return post.Clamped(post.Quotient(pair.moment(x, y), spread), Fraction(-1), Fraction(1))


def _slope(pair: _Pair) -> post.Post:
    x, y = pair.second, pair.first
    return post.Quotient(pair.moment(x, y), pair.moment(x, x))


def _intercept(call: Call) -> post.Post:
    pair = _pair(call)
    return post.Sum(pair.average(pair.first), _times(_MINUS, _slope(pair), pair.average(pair.second)))


def _determination(call: Call) -> post.Post:
    estimate = _correlation(call)
    return post.Clamped(post.Product(estimate, estimate), Fraction(0), Fraction(1))


def _covariance(call: Call, *, sample: bool) -> post.Post:
    pair = _pair(call)
    estimate = pair.moment(pair.second, pair.first)
    return _sample(pair, estimate) if sample else estimate


def _squares(call: Call, *, which: str) -> post.Post:
    """REGR_SXX, REGR_SYY, REGR_SXY: what the moment is the mean of."""
    pair = _pair(call)
    sides = {"X": pair.second, "Y": pair.first}
    return post.Product(pair.count, pair.moment(sides[which[0]], sides[which[1]]))


def _weighted(call: Call) -> post.Post:
    """Σ wx / Σ w: where no weight is negative it lies within the bounds of x."""
    pair = _pair(call, coarsely=False)
    value, weight = pair.first, pair.second
    _, scope, _ = call.facts
    plain = number(_arguments(call, 2)[1], scope, predicate=predicate)
    there = exp.Not(this=exp.Is(this=arithmetic.operand(value.grid.sql), expression=exp.null()))
    of_both = choose([(there, plain)], None) if value.grid.nullable else plain
    above = call.total(multiply(value.grid, of_both), label=f"SUM(({value.label} − midpoint) · {weight.label})")
    below = call.total(of_both, label=f"SUM({weight.label})")
    estimate = post.Sum(post.Quotient(above, below), post.Number(value.middle))
    return post.Clamped(estimate, *value.ends) if plain.low >= 0 else estimate


def _counted(call: Call, grid: Grid, name: str) -> post.Post:
    """How many values there are."""
    if not grid.nullable:
        return call.rows(None, label="COUNT(*)")
    there = exp.Not(this=exp.Is(this=arithmetic.operand(grid.sql), expression=exp.null()))
    return call.rows(exp.Case(ifs=[exp.If(this=there, true=arithmetic.integer(1))]), label=f"COUNT({name})")


def _geometric_mean(call: Call) -> post.Post:
    """EXP(AVG(LN(x))): of what is above zero."""
    node = _arguments(call, 1)[0]
    name = f"LN({text_of(node, comments=False)})"
    grid = call.noted(logarithm(number(node, call.facts[1], predicate=predicate), None))
    middle, at = centred(grid)
    total = call.total(middle, label=f"SUM({name} − midpoint)")
    mean = post.Sum(post.Quotient(total, _counted(call, grid, name), least=Fraction(1)), post.Number(at))
    return post.Exponent(post.Clamped(mean, grid.low * grid.step, grid.high * grid.step))


def _powers(call: Call, *, most: int, highest: int) -> tuple[post.Post, list[post.Post]]:
    """How many values there are, and the means of their centred powers, the first of them first."""
    node = _arguments(call, 1)[0]
    _, scope, label = call.facts
    grid = call.noted(number(node, scope, predicate=predicate))
    grid = coarse(grid, most=most, note=_noting(call), label=label, why="finer powers")
    middle, _ = centred(grid)
    name = text_of(node, comments=False)
    count = _counted(call, grid, name)
    means: list[post.Post] = []
    whole = middle
    for power in range(1, highest + 1):
        total = call.total(whole, label=f"SUM(({name} − midpoint)^{power})")
        means.append(post.Quotient(total, count, least=Fraction(1)))
        whole = multiply(whole, middle)
        whole = replace(whole, low=max(whole.low, 0)) if power % 2 else whole
    return count, means


def _less(value: post.Post, *, times: int, of: tuple[post.Post, ...]) -> post.Post:
    return post.Sum(value, _times(post.Number(Fraction(times)), *of))


def _skewness(call: Call) -> post.Post:
    """The third moment over that of the deviation, for a sample: √(n(n − 1)) / (n − 2) times that of the rows."""
    count, (one, two, three) = _powers(call, most=MAX_CUBED, highest=3)
    spread = post.Clamped(_less(two, times=-1, of=(one, one)), Fraction(0), None)
    third = _less(_less(three, times=-3, of=(one, two)), times=2, of=(one, one, one))
    estimate = post.Quotient(third, post.Product(spread, post.Root(spread)))
    fewer = post.Sum(count, _MINUS)
    scale = post.Quotient(post.Root(post.Product(count, fewer)), post.Sum(fewer, _MINUS), least=Fraction(1))
    return post.Product(estimate, scale)


def _kurtosis(call: Call, *, sample: bool) -> post.Post:
    """The fourth moment over the square of the variance, less that of a normal law, which is 3."""
    count, (one, two, three, four) = _powers(call, most=MAX_FOURTH, highest=4)
    spread = post.Clamped(_less(two, times=-1, of=(one, one)), Fraction(0), None)
    fourth = _less(_less(four, times=-4, of=(one, three)), times=6, of=(one, one, two))
    fourth = _less(fourth, times=-3, of=(one, one, one, one))
    estimate = post.Sum(post.Quotient(fourth, post.Product(spread, spread)), post.Number(Fraction(-3)))
    if not sample:
        return estimate
    fewer = [post.Sum(count, post.Number(Fraction(-less))) for less in (1, 2, 3)]
    scale = post.Quotient(fewer[0], post.Product(fewer[1], fewer[2]), least=Fraction(1))
    more = post.Product(post.Sum(count, _ONE), estimate)
    return post.Product(scale, post.Sum(more, post.Number(Fraction(6))))


def _side_average(call: Call, *, second: bool) -> post.Post:
    pair = _pair(call)
    return pair.average(pair.second if second else pair.first)


MOMENTS: dict[str, Callable[[Call], post.Post]] = {
    "CORR": _correlation,
    "COVARPOP": lambda call: _covariance(call, sample=False),
    "COVARSAMP": lambda call: _covariance(call, sample=True),
    "REGRSLOPE": lambda call: _slope(_pair(call)),
    "REGRINTERCEPT": _intercept,
    "REGRR2": _determination,
    "REGRCOUNT": lambda call: _pair(call).count,
    "REGRAVGX": lambda call: _side_average(call, second=True),
    "REGRAVGY": lambda call: _side_average(call, second=False),
    "REGRSXX": lambda call: _squares(call, which="XX"),
    "REGRSYY": lambda call: _squares(call, which="YY"),
    "REGRSXY": lambda call: _squares(call, which="XY"),
    "WEIGHTED_AVG": _weighted,
    "WAVG": _weighted,
    "GEOMEAN": _geometric_mean,
    "GEOMETRIC_MEAN": _geometric_mean,
    "SKEWNESS": _skewness,
    "KURTOSIS": lambda call: _kurtosis(call, sample=True),
    "KURTOSIS_POP": lambda call: _kurtosis(call, sample=False),
}
