"""Rows as the cells they fall into, and whole numbers added up over groups of cells: what a model is learned from.

    every row  →  its cells  →  at most max_rows of a unit  →  its score  →  what is left to learn  →  sums by group

All of it is one SELECT. A row's score and what is left of it are looked up in public tables of whole numbers, written
out as nested CASEs, or as lists where the engine has them (DuckDB finds a number in one in a fifth of the time), so no
engine's arithmetic on doubles has a say in a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from tacit.errors import EngineError
from tacit.policy import Value
from tacit.sql.emitting.dialects import emit
from tacit.sql.expressions.cells import comparable
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.arithmetic import (
    Whole,
    Width,
    add,
    held,
    integer,
    multiply,
    negate,
    saturated,
    shift,
)
from tacit.sql.expressions.numeric.arithmetic import constant as whole
from tacit.sql.expressions.numeric.doubles import beside_double, double, steps_between
from tacit.sql.expressions.operands import constant
from tacit.sql.rules.facts import Facts, called, name, nested, selected
from tacit.sql.rules.own_rows import OWNER
from tacit.sql.rules.sample_rows import sample_rows

_TARGET = "y"
Question = tuple[int, Sequence[int]]  # a feature, and for each of its cells a 1 if it goes right
_GROUPING_SETS = {"duckdb", "postgres", "spark"}
_LISTS = {"duckdb"}
_FEW = 4  # numbers of a table that is written as CASE all the same


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """How the cells of a column are numbered: by how many edges lie at or below it, or by its value.

    What is neither, NULL and NaN among it, has the last number. Where there are `steps`, the number is not of a cell:
    it is that of steps between the bounds, from −steps to steps, and 0, the middle, of what is missing.
    """

    sql_type: str
    edges: tuple[Fraction, ...] = ()
    values: tuple[Value, ...] = ()
    bounds: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    steps: int = 0

    @property
    def last(self) -> int:
        """The number of whatever is missing; of a target in steps, one more than any."""
        if self.steps:
            return self.steps + 1
        return len(self.values) if self.values else len(self.edges) + 1


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The rows of a table as numbers of cells, v0 and so on, beside the class of each, y, where there is one."""

    tree: exp.Select
    columns: int
    dialect: str
    classes: int = 2
    has_target: bool = True

    def text(self) -> str:
        """The query for the rows themselves, which never runs: what tells one set of rows from another."""
        return emit(qualified(copied(self.tree)), self.dialect)

    def counts(self, groups: Sequence[Sequence[int]]) -> str:
        """How many rows there are in each group of cells: `c` is the group, `s` the number."""
        return self._added(copied(self.tree), groups, integer(1))

    def sums(
        self, scores: Sequence[Sequence[int]], intercept: int, *, left: Sequence[int], groups: Sequence[Sequence[int]]
    ) -> str:
        """The sum over each group of what is left to learn of its rows, `left[u]` for a score of u in their favour."""
        kept, agreed = self._agreed(scores, intercept)
        rest = selected([*_again(kept), called(self._held(left), "q")], nested(agreed, "agreed"))
        each = Whole(name("q"), 0, max(left), Width.BIGINT)
        signed = exp.Case(ifs=[exp.If(this=_is_second(), true=each.sql)], default=negate(each).sql)
        return self._added(selected([*_again(kept), called(signed, "r")], nested(rest, "rest")), groups, name("r"))

    def right(self, scores: Sequence[Sequence[int]], intercept: int) -> str:
        """How many rows the sum of scores tells right: `s`, those whose score is above zero as the second class."""
        _, agreed = self._agreed(scores, intercept)
        second = exp.and_(_is_second(), exp.GT(this=name("a"), expression=integer(0)))
        first = exp.and_(exp.not_(_is_second()), exp.GTE(this=name("a"), expression=integer(0)))
        tells = exp.Case(
            ifs=[exp.If(this=second, true=integer(1)), exp.If(this=first, true=integer(1))], default=integer(0)
        )
        each = selected([called(tells, "r")], nested(agreed, "agreed"))
        tree = selected(
            [called(integer(0), "c"), called(saturated(exp.Sum(this=name("r"))), "s")], nested(each, "told")
        )
        return emit(qualified(tree), self.dialect)

    def _agreed(self, scores: Sequence[Sequence[int]], intercept: int) -> tuple[list[exp.Column], exp.Select]:
        """The cells and the class of each row, and with `a` its score in favour of that class."""
        cells = [f"v{index}" for index in range(self.columns)]
        kept = [*map(name, cells), name(_TARGET)]
        looked = [self._looked_up(name(cell), table) for cell, table in zip(cells, scores, strict=True)]
        score = shift(reduce(add, looked), intercept)
        scored = selected([*kept, called(score.sql, "w")], nested(copied(self.tree), "coded"))
        mine = Whole(name("w"), score.low, score.high, score.width)
        agrees = exp.Case(ifs=[exp.If(this=_is_second(), true=mine.sql)], default=negate(mine).sql)
        agreed = selected([*_again(kept), called(agrees, "a")], nested(scored, "scored"))
        return kept, agreed

    def class_counts(self, size: int, starts: Sequence[int]) -> str:
        """How many rows of each class there are in each cell: `c` is class · size + start of the feature + cell."""
        keys = [f"g{index}" for index in range(self.columns)]
        grouped = []
        for index, (key, start) in enumerate(zip(keys, starts, strict=True)):
            within = shift(Whole(name(f"v{index}"), 0, size, Width.INT), start)
            before = multiply(Whole(name(_TARGET), 0, self.classes, Width.INT), whole(size))
            grouped.append(called(add(before, within).sql, key))
        return self._by_key(selected([*grouped, called(integer(1), "r")], nested(copied(self.tree), "coded")))

    def node_counts(self, levels: Sequence[Sequence[Question]], groups: Sequence[Sequence[int]], size: int) -> str:
        """How many rows each node, class and group of cells has: `c` is (node · classes + class) · size + group."""
        before = multiply(self._reached(levels), whole(size))
        grouped = [
            called(add(before, self._looked_up(name(f"v{index}"), table)).sql, f"g{index}")
            for index, table in enumerate(groups)
        ]
        return self._by_key(selected([*grouped, called(integer(1), "r")], nested(self._nodes(levels), "reached")))

    def leaf_counts(self, levels: Sequence[Sequence[Question]]) -> str:
        """How many rows of each class reach each node of a tree: `c` is node · classes + class."""
        keyed = selected([called(self._reached(levels).sql, "c")], nested(self._nodes(levels), "reached"))
        tree = selected([name("c"), called(saturated(exp.Sum(this=integer(1))), "s")], nested(keyed, "grouped"))
        tree.set("group", exp.Group(expressions=[name("c")]))
        return emit(qualified(tree), self.dialect)

    def _reached(self, levels: Sequence[Sequence[Question]]) -> Whole:
        node = Whole(name("n"), 0, (1 << len(levels)) - 1, Width.BIGINT)
        return add(multiply(node, whole(self.classes)), Whole(name(_TARGET), 0, self.classes, Width.INT))

    def _nodes(self, levels: Sequence[Sequence[Question]]) -> exp.Select:
        """The rows with the node that each reaches, `n`, level by level: 2 n, and one more for those that go right."""
        kept = [*(name(f"v{index}") for index in range(self.columns)), name(_TARGET)]
        tree = selected([*kept, called(integer(0), "n")], nested(copied(self.tree), "coded"))
        for depth, level in enumerate(levels):
            answers = [self._looked_up(name(f"v{feature}"), right).sql for feature, right in level]
            right = Whole(
                between(name("n"), [integer(node) for node in range(1, len(level))], answers), 0, 1, Width.INT
            )
            node = Whole(name("n"), 0, (1 << depth) - 1, Width.BIGINT)
            below = add(multiply(node, whole(2)), right)
            tree = selected([*_again(kept), called(below.sql, "n")], nested(tree, f"level{depth}"))
        return tree

    def _added(self, rows: exp.Select, groups: Sequence[Sequence[int]], value: exp.Expression) -> str:
        """One sum for each group, all features in one reading of the rows."""
        keys = [f"g{index}" for index in range(self.columns)]
        grouped = [
            called(self._looked_up(name(f"v{index}"), table).sql, key)
            for index, (key, table) in enumerate(zip(keys, groups, strict=True))
        ]
        return self._by_key(selected([*grouped, called(value, "r")], nested(rows, "rows")))

    def _by_key(self, inner: exp.Select) -> str:
        """The sum of `r` for each value of g0, of g1, and so on."""
        if self.dialect not in _GROUPING_SETS:
            raise EngineError("this engine cannot add up over several columns in one reading")
        keys = [f"g{index}" for index in range(self.columns)]
        shown = exp.Coalesce(this=name(keys[0]), expressions=[name(key) for key in keys[1:]])
        total = saturated(exp.Sum(this=name("r")))
        tree = selected([called(shown, "c"), called(total, "s")], nested(inner, "grouped"))
        sets = [exp.Tuple(expressions=[name(key)]) for key in keys]
        tree.set("group", exp.Group(grouping_sets=[exp.GroupingSets(expressions=sets)]))
        return emit(qualified(tree), self.dialect)

    def _looked_up(self, column: exp.Expression, table: Sequence[int]) -> Whole:
        """The number that a table has for 0, 1, 2, …; a column holds no other."""
        if self.dialect in _LISTS and len(table) > _FEW:
            return _in_list(Whole(column, 0, len(table) - 1, Width.INT), table)
        starts = [index for index in range(1, len(table)) if table[index] != table[index - 1]]
        values = [table[0], *(table[index] for index in starts)]
        number = between(column, [integer(start) for start in starts], values)
        return Whole(number, min(values), max(values), Width.BIGINT)

    def _held(self, left: Sequence[int]) -> exp.Expression:
        """The same of a score that may lie beyond either end of the table."""
        if self.dialect in _LISTS:
            last = len(left) - 1
            ends = [exp.If(this=exp.LT(this=name("a"), expression=integer(0)), true=integer(0))]
            ends.append(exp.If(this=exp.GT(this=name("a"), expression=integer(last)), true=integer(last)))
            held_there = exp.Case(ifs=ends, default=name("a"))
            return _in_list(Whole(held_there, 0, last, Width.BIGINT), left).sql
        return self._looked_up(name("a"), left).sql


def coded_rows(
    owned: exp.Select, columns: Sequence[CodedColumn], target: CodedColumn | None, *, facts: Facts, dialect: str
) -> CodedRows:
    """Number the cells of every row, leave out rows without a target, and keep at most max_rows rows of a unit.

    `owned` has the cells as v0, v1, …, the target after the features, and the owner `u` where a unit is not a row.
    """
    codes = [called(_code(name(f"v{index}"), column), f"v{index}") for index, column in enumerate(columns)]
    if target is not None:
        codes.append(called(_code(name(f"v{len(columns)}"), target, missing=target.last), _TARGET))
    owner = [name(OWNER)] if facts.unit is not None else []
    coded = selected([*owner, *codes], nested(owned, "source"))
    names = [*(OWNER for _ in owner), *(each.alias for each in codes)]
    tree = selected([called(name(each), each) for each in names], nested(coded, "each"))
    if target is not None:
        tree = tree.where(exp.LT(this=name(_TARGET), expression=integer(target.last)))
    classes = 0 if target is None else len(target.values)
    return CodedRows(sample_rows(tree, facts), len(columns), dialect, classes, target is not None)


def _code(column: exp.Expression, coded: CodedColumn, *, missing: int = 0) -> exp.Expression:
    """The number of a cell. Every branch compares values of one type, so that no row can fail."""
    cell = comparable(column, coded.sql_type)
    if coded.values:
        ifs = [
            exp.If(this=exp.EQ(this=copied(cell), expression=constant(value, coded.sql_type)), true=integer(index))
            for index, value in enumerate(coded.values)
        ]
        return exp.Case(ifs=ifs, default=integer(coded.last))
    number = double(cell)
    absent = [exp.Is(this=copied(number), expression=exp.null()), exp.IsNan(this=copied(number))]
    if coded.steps:
        ends = -8 * coded.steps, 8 * coded.steps
        inside = steps_between(number, *coded.bounds, steps=coded.steps)
        code = held(Whole(inside, *ends, Width.BIGINT), -coded.steps, coded.steps).sql
    else:
        missing = coded.last
        code = between(number, [beside_double(edge) for edge in coded.edges], list(range(len(coded.edges) + 1)))
    return exp.Case(ifs=[exp.If(this=each, true=integer(missing)) for each in absent], default=code)


def _in_list(place: Whole, table: Sequence[int]) -> Whole:
    """The number at a place of a list, counted from 0: a constant, read once, that no place lies beyond."""
    listed = exp.cast(exp.Literal.string(str(list(table))), exp.DataType.build("BIGINT[]", dialect="duckdb"))
    found = exp.Anonymous(this="list_extract", expressions=[listed, shift(place, 1).sql])
    return Whole(found, min(table), max(table), Width.BIGINT)


def between(
    value: exp.Expression, edges: Sequence[exp.Expression], results: Sequence[int | exp.Expression]
) -> exp.Expression:
    """The result between whose edges the value lies, by halving: as deep as the logarithm of their number."""
    if not edges:
        return integer(results[0]) if isinstance(results[0], int) else copied(results[0])
    middle = len(edges) // 2
    below = exp.LT(this=copied(value), expression=copied(edges[middle]))
    lower = between(value, edges[:middle], results[: middle + 1])
    upper = between(value, edges[middle + 1 :], results[middle + 1 :])
    return exp.Case(ifs=[exp.If(this=below, true=lower)], default=upper)


def _is_second() -> exp.Expression:
    return exp.EQ(this=name(_TARGET), expression=integer(1))


def _again(columns: Sequence[exp.Expression]) -> list[exp.Expression]:
    return [copied(column) for column in columns]
