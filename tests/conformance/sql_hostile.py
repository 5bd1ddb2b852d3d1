"""Short texts that stand for much: what an analyst can write, for nothing, to keep a curator busy."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from conformance import sql_dates, sql_questions, sql_words
from conformance.sql_world import World, policy_of, world
from tacit.policy import ColumnPolicy, TablePolicy

WIDTH = 12  # columns of each kind


def wide_world() -> World:
    """A table with flags, small numbers and private texts."""
    numbers = [ColumnPolicy(f"n{i}", type="integer", lower=0, upper=3, domain="range") for i in range(WIDTH)]
    columns = [*(ColumnPolicy(f"b{i}") for i in range(WIDTH)), *(ColumnPolicy(f"s{i}") for i in range(WIDTH)), *numbers]
    table = TablePolicy("t", unit="id", max_rows=1, max_groups=1, columns=columns)
    kinds = {"b": "BOOLEAN", "s": "VARCHAR", "n": "INTEGER"}
    made = ", ".join(f"{column.name} {kinds[column.name[0]]}" for column in columns)
    return world(policy_of([table]), f"CREATE TABLE t (id INTEGER, {made})")


def hostile(rng: random.Random) -> str:
    """One statement of any shape, as large as its limits allow, or a little larger."""
    return f"{_with(rng)}DP-SELECT 1 DELTA 1e-6 {_selected(rng)} FROM {_read(rng)}{_where(rng)}{_grouped(rng)}"


def _many(rng: random.Random, most: int) -> int:
    return rng.choice([1, 2, rng.randint(1, most), most])


def _with(rng: random.Random) -> str:
    depth, step = _many(rng, 14), rng.choice(["u", "j", "e", "s", "n"])
    how = {
        "u": "SELECT id, n0, n1, b0 FROM {0} UNION ALL SELECT id, n0, n1, b0 FROM {0}",
        "j": "SELECT x.id, x.n0, x.n1, x.b0 FROM {0} x JOIN {0} y ON x.id = y.id",
        "e": "SELECT * FROM {0} WHERE EXISTS (SELECT 1 FROM {0} z WHERE z.id = {0}.id)",
        "s": "SELECT * FROM {0}",
        "n": "SELECT id, n0 + n0 AS n0, n1, b0 FROM {0}",
    }[step]
    named = [f"a{i} AS ({how.format(f'a{i - 1}' if i else 't')})" for i in range(depth)]
    return f"WITH {', '.join(named)}, a AS (SELECT * FROM a{depth - 1}) "


def _read(rng: random.Random) -> str:
    depth = _many(rng, 30)
    return rng.choice(["a", "t", "t", f"{'(SELECT * FROM ' * depth}t{')' * depth}"])


def _selected(rng: random.Random) -> str:
    count, shape = _many(rng, 100), rng.choice(["SUM(n0 + {0})", "MEDIAN(n0 + {0})", "STDDEV(n1 * {0})", "COUNT(*)"])
    return ", ".join(shape.format(i) for i in range(count if "{" in shape else 1))


def _where(rng: random.Random) -> str:
    return f" WHERE {rng.choice([' OR ', ' AND ']).join(f'n0 <> {i}' for i in range(_many(rng, 900)))}"


def _grouped(rng: random.Random) -> str:
    kind, count = rng.choice("bsn"), _many(rng, 9)
    keys = ", ".join(f"{kind}{i}" for i in range(count))
    shape = rng.choice(["", "{}", "CUBE ({})", "ROLLUP ({})", "CUBE ({}), ROLLUP (b10, b11)"]).format(keys)
    having = " OR ".join(f"SUM(n1 + {i}) > {i}" for i in range(_many(rng, 400)))
    return (f" GROUP BY {shape}" if shape else "") + rng.choice(["", f" HAVING {having}"])


def nested(rng: random.Random, *, most: int = 250) -> str:
    """Functions in each other, all in all no longer than `most` letters: each may write its argument out twice."""
    kind, leaf, forms = rng.choice([("#", "x", NUMBERS), ("@", "d", MOMENTS), ("s", "s", TEXTS)])
    one, written = rng.choice(forms), leaf
    while True:
        longer = _within(one if rng.random() < 0.7 else rng.choice(forms), kind, written, leaf)
        if len(longer) > most:
            return f"SUM({written})" if kind == "#" else f"COUNT(DISTINCT {written})"
        written = longer


NUMBERS = tuple(form for form in sql_questions.FORMS if "#" in form)
MOMENTS = tuple(form for form in sql_dates.MOMENTS if "@" in form)
TEXTS = tuple(form for form in sql_words.TEXTS if re.search(r"\bs\b", form))


def _within(form: str, kind: str, inner: str, leaf: str) -> str:
    """A form whose first place is taken by what is nested in it, and whose others by plain columns and constants."""
    signs = {"#": "n", "§": "n > 2", "¢": "3", "†": "1073741823", "@": "d"}
    first = re.search(r"\bs\b" if kind == "s" else kind, form)
    if first is None:
        return form
    before, after = form[: first.start()], form[first.end() :]
    plain = [re.sub("[#§¢†@]", lambda sign: signs[sign.group()], part) for part in (before, after)]
    return f"{plain[0]}{inner}{plain[1]}"


def nested_world() -> World:
    """A table with a number, a small one, a text and a date."""
    day = {"lower": "2020-01-01", "upper": "2020-03-31"}
    numbers = [ColumnPolicy("x", lower=0, upper=10, step="0.5"), ColumnPolicy("n", lower=0, upper=5, step=1)]
    columns = [
        *numbers,
        ColumnPolicy("s"),
        ColumnPolicy("g", domain=["CS", "Bio"]),
        ColumnPolicy("d", type="date", **day),
    ]
    table = TablePolicy("t", unit="id", max_rows=1, max_groups=1, columns=columns)
    return world(policy_of([table]), "CREATE TABLE t (id INTEGER, x DOUBLE, n INTEGER, s VARCHAR, g VARCHAR, d DATE)")


@contextmanager
def counted_nodes() -> Iterator[list[int]]:
    """How many nodes of SQL are made meanwhile: what planning spends its time and memory on, on any machine."""
    owner = next(kind for kind in exp.Expression.__mro__ if "__init__" in vars(kind))
    before, made = owner.__init__, [0]

    def counting(self, *arguments, **named):
        made[0] += 1
        before(self, *arguments, **named)

    owner.__init__ = counting
    try:
        yield made
    finally:
        owner.__init__ = before
