"""Rows as whole numbers between bounds, and sums of their products: for least squares, clusters and logits.

    coded rows  →  one number for each column of the design  →  a key, a weight  →  sums of products by key

Weights, centres and the table of probabilities are public constants, written out; all arithmetic is of whole numbers
whose ends are known, so that no row can fail and every engine adds up the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.arithmetic import (
    Whole,
    Width,
    add,
    constant,
    divide,
    held,
    integer,
    multiply,
    negate,
    saturated,
    shift,
    subtract,
)
from tacit.sql.rules.facts import called, name, nested, selected
from tacit.sql.workloads.binned import CodedRows, between

TARGET = "y"
Factor = int | str  # a column of the design by its place, 0 the ones; or the target
Term = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class LinkLines:
    """Shares of a whole, of scores: straight lines, each over `width` steps of a score, from −reach to reach.

    With u the score, held there and counted from −reach, the share is (start + slope · u) / width, cut off.
    """

    reach: int
    width: int
    whole: int
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ScaledRows:
    """The columns of a design, x1 and so on, made of coded columns; `of` says for each from which, and of which value.

    A number's own steps are its column; of a category it is `steps` where the code is that value, and 0 elsewhere.
    """

    coded: CodedRows
    of: tuple[tuple[int, int | None], ...]
    steps: int

    def products(self, terms: Sequence[Term]) -> str:
        """Sums of products, s0 and so on."""
        return self._summed(self._rows(), None, [self._product(term) for term in terms])

    def by_class(self, terms: Sequence[Term]) -> str:
        """Sums of products for each class: `c` is its number."""
        return self._summed(self._rows(), self._class, [self._product(term) for term in terms])

    def near(self, centres: Sequence[Sequence[int]], terms: Sequence[Term], *, by_class: bool = False) -> str:
        """Sums of products by nearest centre, the first of those as near: `c` is it, or classes · it + class."""
        rows, key = self._nearest(centres)
        if by_class:
            key = add(multiply(key, constant(self.coded.classes)), self._class)
        return self._summed(rows, key, [self._product(term) for term in terms])

    def residuals(self, weights: Sequence[int], link: LinkLines) -> str:
        """Sums of (truth − share) times each column, by what the link makes of each row's score."""
        share = Whole(name("p"), 0, link.whole, Width.INT)
        second = subtract(constant(link.whole), share)
        is_second = exp.EQ(this=name(TARGET), expression=integer(1))
        left = exp.Case(ifs=[exp.If(this=is_second, true=second.sql)], default=negate(share).sql)
        weight = Whole(left, -link.whole, link.whole, Width.INT)
        indices = range(len(self.of) + 1)
        measures = [multiply(weight, self._factor(index)) for index in indices]
        return self._summed(self._scored(weights, link), None, measures)

    def curvature(self, weights: Sequence[int], link: LinkLines, terms: Sequence[Term]) -> str:
        """Sums of products, each row's times share · (whole − share) / whole."""
        share = Whole(name("p"), 0, link.whole, Width.INT)
        curved = divide(multiply(share, subtract(constant(link.whole), share)), constant(link.whole))
        each = Whole(curved.sql, 0, link.whole // 4, curved.width)
        measures = [multiply(each, self._product(term)) for term in terms]
        return self._summed(self._scored(weights, link), None, measures)

    def right(self, weights: Sequence[int], link: LinkLines) -> str:
        """How many rows the link tells right: `s0`, those with more than half of the whole as the second class."""
        above = exp.GT(this=name("p"), expression=integer(link.whole // 2))
        is_second = exp.EQ(this=name(TARGET), expression=integer(1))
        cases = [exp.and_(above, is_second), exp.and_(exp.not_(copied(above)), exp.not_(copied(is_second)))]
        tells = exp.Case(ifs=[exp.If(this=each, true=integer(1)) for each in cases], default=integer(0))
        return self._summed(self._scored(weights, link), None, [Whole(tells, 0, 1, Width.INT)])

    @property
    def _class(self) -> Whole:
        return Whole(name(TARGET), 0, self.coded.classes, Width.INT)

    @property
    def _columns(self) -> list[str]:
        return [*(f"x{index}" for index in range(1, len(self.of) + 1)), *([TARGET] if self.coded.has_target else [])]

    def _factor(self, factor: Factor) -> Whole:
        if factor == 0:
            return constant(self.steps)
        column = factor if isinstance(factor, str) else f"x{factor}"
        return Whole(name(column), -self.steps, self.steps, Width.INT)

    def _product(self, term: Term) -> Whole:
        return reduce(multiply, map(self._factor, term)) if term else constant(1)

    def _rows(self) -> exp.Select:
        """One number for each column of the design."""
        columns = []
        for index, (source, value) in enumerate(self.of, start=1):
            cell: exp.Expression = name(f"v{source}")
            if value is not None:
                here = exp.EQ(this=cell, expression=integer(value))
                cell = exp.Case(ifs=[exp.If(this=here, true=integer(self.steps))], default=integer(0))
            columns.append(called(cell, f"x{index}"))
        if self.coded.has_target:
            columns.append(called(name(TARGET), TARGET))
        return selected(columns, nested(copied(self.coded.tree), "coded"))

    def _nearest(self, centres: Sequence[Sequence[int]]) -> tuple[exp.Select, Whole]:
        """The rows with their squared distance to each centre, less their own length; then the number of the least."""
        if len(centres) == 1:
            return self._rows(), constant(0)
        far = [self._distance(centre) for centre in centres]
        names = [f"d{index}" for index in range(len(far))]
        kept = [name(column) for column in self._columns]
        measured = selected(
            [*kept, *(called(each.sql, alias) for each, alias in zip(far, names, strict=True))],
            nested(self._rows(), "rows"),
        )
        least = exp.Anonymous(this="LEAST", expressions=[name(alias) for alias in names])
        compared = selected(
            [*(copied(each) for each in kept), *map(name, names), called(least, "m")], nested(measured, "measured")
        )
        ifs = [
            exp.If(this=exp.EQ(this=name(alias), expression=name("m")), true=integer(index))
            for index, alias in enumerate(names[:-1])
        ]
        key = exp.Case(ifs=ifs, default=integer(len(names) - 1))
        rows = selected([*(copied(each) for each in kept), called(key, "k")], nested(compared, "compared"))
        return rows, Whole(name("k"), 0, len(names), Width.INT)

    def _distance(self, centre: Sequence[int]) -> Whole:
        """|c|² − 2 x·c, which is |x − c|² less |x|²."""
        terms = [multiply(self._factor(index), constant(-2 * part)) for index, part in enumerate(centre, start=1)]
        return shift(reduce(add, terms), sum(part * part for part in centre))

    def _scored(self, weights: Sequence[int], link: LinkLines) -> exp.Select:
        """The rows with what the link makes of their score, `p`."""
        terms = [multiply(self._factor(index), constant(weight)) for index, weight in enumerate(weights)]
        kept = [name(column) for column in self._columns]
        score = shift(held(reduce(add, terms), -link.reach, link.reach), link.reach)
        scored = selected([*kept, called(score.sql, "w")], nested(self._rows(), "rows"))
        mine = Whole(name("w"), 0, 2 * link.reach, Width.INT)
        lines = [shift(multiply(mine, constant(slope)), start) for start, slope in link.lines]
        edges = [integer(index * link.width) for index in range(1, len(lines))]
        above = between(name("w"), edges, [line.sql for line in lines])
        rising = Whole(above, 0, link.whole * link.width, max(line.width for line in lines))
        share = divide(rising, constant(link.width))
        return selected([*(copied(each) for each in kept), called(share.sql, "p")], nested(scored, "scored"))

    def _summed(self, rows: exp.Select, key: Whole | None, measures: Sequence[Whole]) -> str:
        """The sum of each measure, for each value of the key where there is one."""
        inner = [called(measure.sql, f"m{index}") for index, measure in enumerate(measures)]
        inner += [called(key.sql, "c")] if key is not None else []
        sums = [called(saturated(exp.Sum(this=name(f"m{index}"))), f"s{index}") for index in range(len(measures))]
        shown = [called(name("c"), "c")] if key is not None else []
        tree = selected([*shown, *sums], nested(selected(inner, nested(rows, "rows")), "measured"))
        if key is not None:
            tree.set("group", exp.Group(expressions=[name("c")]))
        return emit(qualified(tree), self.coded.dialect)
