"""Hostile questions with several EXISTS over the rows of a unit, and hostile tables for them, of few units.

Many cells are empty or at the ends of their type, columns have names that generated SQL might use for itself, and the
conditions are drawn so that two of them often ask of the same rows: with one condition more or less, of another
type, twice of one column, nested, denied, or in a subquery.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from conformance.engine_pairs import Script
from conformance.sql_world import policy_of
from tacit.policy import ColumnPolicy, TablePolicy

Rng = random.Random
UNITS = 5
_BIG = ("9223372036854775807", "-9223372036854775808", "9007199254740993", "9007199254740992")
_MOST = "9999999999999999999999999999.9999999999"
CELLS = {  # what a column is called, its type, and its cells
    "a": ("SMALLINT", ("-2", "-1", "0", "1", "2", "32767", "-32768")),
    "b": ("BIGINT", ("0", "1", *_BIG)),
    "c": ("DECIMAL(8,2)", ("0.01", "-0.01", "1.00", "999999.99")),
    "n": ("DECIMAL(38,10)", ("0", "1", "0.0000000001", _MOST, f"-{_MOST}")),
    "d": ("VARCHAR", ("''", "'a'", "'A'", "'B'", "'b'", "'é'", "'a '", "'ß'")),
    "h": ("VARCHAR", ("''", "'a'", "'A'", "'ss'", "'a '")),
    "e": ("DATE", ("'1970-01-01'", "'1969-12-31'", "'0001-01-01'", "'9999-12-31'", "'2000-02-29'")),
    "w": ("TIMESTAMP", ("'1970-01-01 00:00:00'", "'1969-12-31 23:59:59'", "'2000-02-29 00:00:00'")),
    "f": ("DOUBLE", ("0.0", "-0.0", "1", "'nan'", "9007199254740992", "1e308", "-1e308")),
    "g": ("BOOLEAN", ("TRUE", "FALSE")),
    "group 0": ("BIGINT", ("0", "1", "2")),
    "greatest a": ("SMALLINT", ("0", "1", "-2")),
    "s": ("VARCHAR", ("'a'", "'b'")),
    "outside": ("INTEGER", ("0", "1", "2")),
}
BOUNDS = {
    "a": {"lower": -40_000, "upper": 40_000, "step": 1},
    "c": {"lower": -1_000_000, "upper": 1_000_000, "step": "0.01"},
    "e": {"type": "date", "lower": "0001-01-01", "upper": "9999-12-31"},
    "w": {"type": "timestamp", "lower": "1900-01-01 00:00:00", "upper": "2100-01-01 00:00:00"},
}
NUMBERS = ("a", "b", "c", "n", "f", "group 0", "greatest a", "outside")
COMPARABLE = (NUMBERS, ("d", "h", "s"), ("e",), ("w",), ("e", "w"))
FILTERS = """
x.a > 0
x.a < 2
x.d = 'a'
x.d = 'A'
x.h LIKE 'a%'
x.b IS NULL
x.e > DATE '1969-12-31'
x.w IS NOT NULL
x.g
NOT x.g
x."s" IN ('a', 'c')
x.a > 0 OR x.b < 0
x.c + 1 > 0
x.id IN (SELECT id FROM u WHERE a > 0)
EXISTS (SELECT 1 FROM u z WHERE z.id = x.id AND z.a <> x.a)
NOT EXISTS (SELECT 1 FROM u z WHERE z.id = x.id AND z.a > x.a AND z.d = x.d)
x.outside IN (SELECT k FROM p)
""".strip().splitlines()
ALL = frozenset({*CELLS, "id"})
INNER = {  # what is looked at, and its columns
    "t x": ALL,
    "u x": ALL,
    "(SELECT id, a, b, c, d, e FROM t WHERE a >= 0) x": frozenset({"id", "a", "b", "c", "d", "e"}),
    "(SELECT id, a, c, e, d FROM t UNION ALL SELECT id, a, c, e, h FROM u) x": frozenset({"id", "a", "c", "e", "d"}),
    "(SELECT id, d, a, MAX(e) AS e FROM t GROUP BY id, d, a) x": frozenset({"id", "d", "a", "e"}),
}
FORMS = (
    "SELECT rid FROM t WHERE {}",
    "SELECT rid FROM t WHERE {}",
    "SELECT rid FROM t WHERE {} AND (a > 0 OR b IS NULL)",
    "SELECT rid FROM t WHERE ({}) OR a IS NULL",
    "SELECT rid FROM t WHERE NOT ({})",
    "SELECT rid FROM (SELECT id, rid, a FROM t WHERE {}) AS t WHERE a > -5",
    "SELECT rid FROM t WHERE id IN (SELECT id FROM t WHERE {} GROUP BY id HAVING COUNT(*) > 1)",
    "WITH w AS (SELECT id, rid FROM t WHERE {}) SELECT rid FROM w",
    "SELECT r.rid FROM t AS r WHERE EXISTS (SELECT 1 FROM t WHERE t.id = r.id AND t.a > r.a AND {})",
)


@dataclass(frozen=True)
class Question:
    """As an analyst would ask it, with `rid` listed; and the same as plain SQL would have it."""

    text: str

    @property
    def private(self) -> str:
        """A count of the same rows."""
        listed = "SELECT r.rid " if "SELECT r.rid " in self.text else "SELECT rid "
        return "DP-SELECT 1 COUNT(*) ".join(self.text.rsplit(listed, 1))


def hostile(rng: Rng, *, rows: int = 24) -> Script:
    """Three tables: `t` and `u` have people's rows, and `p` is public."""
    columns = tuple(ColumnPolicy(name, **BOUNDS.get(name, {})) for name in CELLS)
    caps = {"max_rows": 50, "max_groups": 5}
    tables = [
        TablePolicy("t", "id", columns=(*columns, ColumnPolicy("rid")), **caps),
        TablePolicy("u", "id -> t.id", columns=columns, **caps),
        TablePolicy("p", public=True),
    ]
    made = ["CREATE TABLE p (k INTEGER)", "INSERT INTO p VALUES (0), (1), (1), (NULL)"]
    names = ", ".join(f'"{name}" {kind}' for name, (kind, _) in CELLS.items())
    for table, more in (("t", ", rid INTEGER"), ("u", "")):
        made.append(f"CREATE TABLE {table} (id INTEGER, {names}{more})")
        listed = [_row(rng, *((str(rid),) if more else ())) for rid in range(rows if more else rows // 2)]
        made.append(f"INSERT INTO {table} VALUES {', '.join(listed)}")
    return Script(policy_of(tables), tuple(made))


def _row(rng: Rng, *more: str) -> str:
    owner = "NULL" if rng.random() < 0.1 else str(rng.randrange(UNITS))
    few = rng.random() < 0.6
    cells = [_cell(rng, cells[:3] if few else cells) for _, cells in CELLS.values()]
    return f"({', '.join([owner, *cells, *more])})"


def _cell(rng: Rng, cells: tuple[str, ...]) -> str:
    return "NULL" if rng.random() < 0.2 else rng.choice(cells)


def question(rng: Rng) -> Question:
    """Two to four EXISTS, most of them over the same rows."""
    inner = rng.choice(("t x", "u x", *INNER))
    known = INNER[inner]
    possible = [each for each in FILTERS if set(re.findall(r'\bx\."?(\w+)', each)) <= known]
    ties = ["x.id = t.id", *(_compared(rng, "=", known) for _ in range(rng.choice((0, 0, 1, 1, 2))))]
    filters = rng.sample(possible, rng.choice((0, 0, 1, 2)))
    parts = []
    for place in range(rng.choice((2, 2, 2, 3, 4))):
        own = [*ties, *filters]
        if place and rng.random() < 0.7:
            own += rng.sample(possible, rng.choice((1, 1, 2)))
        if rng.random() < 0.1:
            own.append(_compared(rng, "=", known))
        if rng.random() < 0.1:
            own.append("t.a > 0")
        own.append(_compared(rng, rng.choice(("<>", "<>", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM")), known))
        if rng.random() < 0.1:
            own.append(_compared(rng, "<>", known))
        if rng.random() < 0.3:
            rng.shuffle(own)
        whole = " AND ".join(f"({each})" if " OR " in each else each for each in own)
        parts.append(f"{rng.choice(('', 'NOT '))}EXISTS (SELECT 1 FROM {inner} WHERE {whole})")
    if rng.random() < 0.2:
        parts.insert(rng.randrange(len(parts)), "t.a IS NOT NULL")
    return Question(rng.choice(FORMS).format(" AND ".join(parts)))


def _compared(rng: Rng, operator: str, known: AbstractSet[str]) -> str:
    """A column inside against one outside, in either order, of a type that it may be compared with."""
    usual = [each for each in ("a", "b", "c", "d", "e") if each in known]
    one = rng.choice(usual) if rng.random() < 0.6 else rng.choice(sorted(known - {"id"}))
    among = rng.choice([group for group in (*COMPARABLE, (one,)) if one in group])
    inside, outside = f'x."{one}"', f't."{rng.choice(among) if rng.random() < 0.3 else one}"'
    if rng.random() < 0.1 and one == "c":
        outside = 't."c" + 1'
    if rng.random() < 0.7:
        return f"{inside} {operator} {outside}"
    mirrored: Mapping[str, str] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
    return f"{outside} {mirrored.get(operator, operator)} {inside}"
