"""The meaning of a question, worked out in Python over rows: exact fractions, three-valued logic, no SQL and no engine.

Written from the language's description alone, so that it can disagree with the planner. Every expression knows how it
is written and what it is worth in a row.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Rng = random.Random
Row = dict[str, object]
Number = Fraction | None
Truth = bool | None


@dataclass(frozen=True)
class Column:
    """A bounded column: clamped, then rounded to the nearest step."""

    name: str
    lower: Fraction
    upper: Fraction
    step: Fraction
    null: Fraction | None = None

    @property
    def sql(self) -> str:
        return self.name

    def of(self, row: Row) -> Number:
        cell = row[self.name]
        if cell is None:
            return self.null
        assert isinstance(cell, (int, float, Fraction))
        if isinstance(cell, float) and math.isnan(cell):
            return min(max(Fraction(0), self.lower), self.upper)
        if isinstance(cell, float) and math.isinf(cell):
            return self.upper if cell > 0 else self.lower
        held = min(max(Fraction(cell), self.lower), self.upper)
        return math.floor(held / self.step + Fraction(1, 2)) * self.step


@dataclass(frozen=True)
class Made:
    """A computed number."""

    sql: str
    of: Callable[[Row], Number]


@dataclass(frozen=True)
class Condition:
    """A condition: true, false, or neither."""

    sql: str
    of: Callable[[Row], Truth]


Expression = Column | Made


def constant(text: str) -> Made:
    return Made(text, lambda row: Fraction(text))


def _strict(operation: Callable[..., Fraction], *parts: Expression) -> Callable[[Row], Number]:
    """NULL if any part is."""

    def of(row: Row) -> Number:
        values = [part.of(row) for part in parts]
        return None if None in values else operation(*values)

    return of


def _round(value: Fraction, places: int) -> Fraction:
    unit = Fraction(10) ** -places
    size = math.floor(abs(value) / unit + Fraction(1, 2)) * unit
    return size if value >= 0 else -size


def _bucket(value: Fraction, low: Fraction, high: Fraction, count: int) -> Fraction:
    return Fraction(min(max(math.floor((value - low) / (high - low) * count), -1), count) + 1)


def _quotient(above: Expression, below: Expression) -> Callable[[Row], Number]:
    """Of what is held between −9 and 9: cut off twelve digits below the largest that it may be, then rounded."""

    def of(row: Row) -> Number:
        one, other = above.of(row), below.of(row)
        return (
            _round(min(max(Fraction(-9) if one is None else one, Fraction(-9)), Fraction(9)) / other, 2)
            if other
            else None
        )

    return of


def _present_of(pick: Callable[..., Fraction], *parts: Expression) -> Callable[[Row], Number]:
    """Of those that are not NULL."""
    return lambda row: pick(values) if (values := [v for part in parts if (v := part.of(row)) is not None]) else None


def number(rng: Rng, columns: Sequence[Column], depth: int) -> Expression:
    """A random numeric expression."""
    if not depth or rng.random() < 0.2:
        return rng.choice(columns)
    a = number(rng, columns, depth - 1)
    b = number(rng, columns, depth - 1)
    kind = rng.randrange(25)
    text = rng.choice(("2", "0.5", "3", "10", "0.25"))
    exact = Fraction(text)
    forms: dict[int, tuple[str, Callable[[Row], Number]]] = {
        0: (f"({a.sql} + {b.sql})", _strict(lambda x, y: x + y, a, b)),
        1: (f"({a.sql} - {b.sql})", _strict(lambda x, y: x - y, a, b)),
        2: (f"({a.sql} * {b.sql})", _strict(lambda x, y: x * y, a, b)),
        3: (f"({a.sql} * {text})", _strict(lambda x: x * exact, a)),
        4: (f"({text} - {a.sql})", _strict(lambda x: exact - x, a)),
        5: (f"({a.sql} / {text})", _strict(lambda x: x / exact, a)),
        6: (f"(-{a.sql})", _strict(lambda x: -x, a)),
        7: (f"ABS({a.sql})", _strict(abs, a)),
        8: (f"FLOOR({a.sql} / {text})", _strict(lambda x: Fraction(math.floor(x / exact)), a)),
        9: (f"CEIL({a.sql} * {text})", _strict(lambda x: Fraction(math.ceil(x * exact)), a)),
        10: (f"ROUND({a.sql}, {depth - 1})", _strict(lambda x: _round(x, depth - 1), a)),
        11: (f"(ABS({a.sql}) % {text})", _strict(lambda x: abs(x) % exact, a)),
        12: (f"(ABS({a.sql}) // {text})", _strict(lambda x: Fraction(abs(x) // exact), a)),
        13: (f"COALESCE({a.sql}, {text})", lambda row: exact if (x := a.of(row)) is None else x),
        14: (f"CAST({a.sql} AS DOUBLE)", a.of),
        15: (f"({a.sql} % {text})", _strict(lambda x: x - exact * int(x / exact), a)),
        16: (f"({a.sql} // {text})", _strict(lambda x: Fraction(int(x / exact)), a)),
        17: (f"TRUNC({a.sql})", _strict(lambda x: Fraction(int(x)), a)),
        18: (f"SIGN({a.sql})", _strict(lambda x: Fraction((x > 0) - (x < 0)), a)),
        19: (f"NULLIF({a.sql}, 0)", lambda row: a.of(row) or None),
        20: (f"GREATEST({a.sql}, {b.sql})", _present_of(max, a, b)),
        21: (f"LEAST({a.sql}, {text})", lambda row: exact if (x := a.of(row)) is None else min(x, exact)),
        22: (f"WIDTH_BUCKET({a.sql}, -3, {text}, 4)", _strict(lambda x: _bucket(x, Fraction(-3), exact, 4), a)),
        23: (f"ROUND(LEAST(GREATEST({a.sql}, -9), 9) / NULLIF({b.sql}, 0), 2)", _quotient(a, b)),
        24: ("", lambda row: None),
    }
    if kind < 24:
        return Made(*forms[kind])
    when = condition(rng, columns, 1)
    chosen = f"CASE WHEN {when.sql} THEN {a.sql} ELSE {b.sql} END"
    return Made(chosen, lambda row: a.of(row) if when.of(row) is True else b.of(row))


COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def condition(rng: Rng, columns: Sequence[Column], depth: int) -> Condition:
    """A random condition."""
    if depth and rng.random() < 0.4:
        left, right = condition(rng, columns, depth - 1), condition(rng, columns, depth - 1)
        kind = rng.choice(("AND", "OR", "NOT"))
        if kind == "NOT":
            return Condition(f"NOT ({left.sql})", lambda row: None if (x := left.of(row)) is None else not x)
        decisive = kind == "OR"

        def joined(row: Row) -> Truth:
            sides = left.of(row), right.of(row)
            return decisive if decisive in sides else None if None in sides else not decisive

        return Condition(f"({left.sql}) {kind} ({right.sql})", joined)
    return rng.choice((_computed, _listed_text, _truth, _is_null, _between))(rng, columns)


def _computed(rng: Rng, columns: Sequence[Column]) -> Condition:
    """Computed numbers are compared as they would be summed: clamped and on the grid."""
    a, b = number(rng, columns, 1), constant(rng.choice(("0", "1", "2.5", "-3")))
    sum_of_both = Made(f"({a.sql} + {b.sql})", _strict(lambda x, y: x + y, a, b))
    sign = rng.choice(list(COMPARE))
    limit = Fraction(rng.randrange(-4, 9), 2)

    def of(row: Row) -> Truth:
        value = sum_of_both.of(row)
        return None if value is None else COMPARE[sign](value, limit)

    return Condition(f"{sum_of_both.sql} {sign} {float(limit)}", of)


def _between(rng: Rng, columns: Sequence[Column]) -> Condition:
    """A bare column is compared as it stands in the table, but for what an empty cell counts as."""
    column = rng.choice(columns)
    low = Fraction(rng.randrange(-8, 4), 2)
    high = low + rng.randrange(0, 9)

    def of(row: Row) -> Truth:
        cell = column.null if row[column.name] is None else row[column.name]
        if cell is None:
            return None
        assert isinstance(cell, (int, float, Fraction))
        value = math.inf if isinstance(cell, float) and math.isnan(cell) else cell  # NaN is above every number
        return low <= value <= high

    return Condition(f"{column.name} BETWEEN {float(low)} AND {float(high)}", of)


def _listed_text(rng: Rng, columns: Sequence[Column]) -> Condition:
    values = rng.sample(("CS", "Econ", "Bio", "Art"), 2)

    def of(row: Row) -> Truth:
        return None if row["g"] is None else row["g"] in values

    return Condition(f"g IN ({', '.join(map(repr, values))})", of)


def _truth(rng: Rng, columns: Sequence[Column]) -> Condition:
    return Condition("flag", lambda row: None if row["flag"] is None else bool(row["flag"]))


def _is_null(rng: Rng, columns: Sequence[Column]) -> Condition:
    filled = {column.name: column.null for column in columns} | {"g": None, "flag": None}
    name = rng.choice(list(filled))
    return Condition(f"{name} IS NULL", lambda row: row[name] is None and filled[name] is None)


def present(expression: Expression, rows: Iterable[Row]) -> list[Fraction]:
    """The values that are not NULL."""
    return [value for row in rows if (value := expression.of(row)) is not None]
