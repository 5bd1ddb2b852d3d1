"""Names that could be taken for others: our own aliases, SQL's words, quoted, long and Unicode ones. Seeded."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one

from tacit.policy import fold
from tacit.policy.reading.names import RESERVED

OURS = (  # what our builders call things before `qualified` does, and what they once did
    *("s", "t", "u", "w", "n", "g", "r", "x", "c", "k", "v", "a", "b", "l0", "t0", "t1", "k0", "v0", "m0", "c0", "u0"),
    *("joined", "owned", "pairs", "bounded", "ranked", "spread", "heavy", "weighed", "each", "united", "grouped"),
    *("one", "value", "outside", "touched", "result", "cells", "key 0", "column 0", "column 1", "having 1", "j0_0"),
    *("made", "base", "alive", "tacit", "_tacit", "tacit_1", "rows", "unit", "owner", "subquery", "key", "k id", "i"),
)
WORDS = (
    *("select", "from", "where", "group", "order", "by", "having", "union", "distinct", "case", "when", "end"),
    *(
        "null",
        "true",
        "false",
        "exists",
        "in",
        "is",
        "not",
        "and",
        "or",
        "count",
        "sum",
        "table",
        "row",
        "user",
        "date",
    ),
    *("struct", "lateral", "offset", "limit", "window", "partition", "current_date", "rowid", "main", "excluded", "*"),
    *("SELECT", "As", "COUNT(*)", "1", "0", "-1", "1e3", "x'41'", "?", "$1", ":a", "--", "/*", ";", "''", "`", "\\"),
)
SHAPES = (
    *("a b", "a.b", "t.x", "s.t", "main.t", "a  b", "o'clock", "u'", "[x]", "{x}", "(x)", "%", "#", "@v", "a,b", "a=b"),
    *("ünï", "naïve", "İ", "ı", "ſ", "ß", "\u212a", "\u212b", "é", "e\u0301x", "Ж", "日本", "𝒳", "🙂", "ﬁ", "µ", "Ω"),
    *("n" * 62, "n" * 63, "n" * 63 + "1", "n" * 63 + "2", "n" * 128, "é" * 40 + "1", "é" * 40 + "2"),
)
NAMES = tuple({fold(name): name for name in (*OURS, *WORDS, *SHAPES)}.values())
_PLAIN = re.compile(r"\b[a-z_][a-z0-9_]*\b")


@dataclass(frozen=True)
class Names:
    """Another name for every plain one. Questions write names in small letters, and SQL's words in capitals."""

    of: Mapping[str, str]
    shouted: frozenset[str] = frozenset()  # of those, what a question writes in the other case

    def sql(self, text: str) -> str:
        """A question under the other names; what stands between quotes stays as it is."""
        parts = re.split(r"('(?:[^']|'')*')", text)
        return "".join(part if place % 2 else _PLAIN.sub(self._quoted, part) for place, part in enumerate(parts))

    def _quoted(self, word: re.Match[str]) -> str:
        name = self.of.get(word.group())
        if name is None:
            return word.group()
        return quoted(name.swapcase() if word.group() in self.shouted and name.isascii() else name)


def quoted(name: str) -> str:
    """A name as SQL may hold it."""
    return '"' + name.replace('"', '""') + '"'


def names(rng: random.Random, plain: Iterable[str], *, tables: Iterable[str] = ()) -> Names:
    """Other names for the plain ones, no two alike; those of tables have no dot."""
    pool = rng.sample(NAMES, len(NAMES))
    given: dict[str, str] = {}
    for name in (*tables, *plain):
        fits = [each for each in pool if (name not in tables or "." not in each) and (name, each) != ("id", "row")]
        given[name] = fits[0] if fits else f"{name} {rng.choice(WORDS)}"
        pool = [each for each in pool if each != given[name]]
    return Names(given)


def confusing(rng: random.Random, plain: Sequence[str], *, never: Iterable[str] = ()) -> Names:
    """Other names for the plain ones: hostile ones, and names of other columns; some are asked for in the other case.

    The first is the unit's: another column may be called like it, and it like another.
    """
    pool = [name for name in (*NAMES, *plain) if fold(name) not in {*never, "row"} and "." not in name]
    given: dict[str, str] = {}
    for name in rng.sample(plain, len(plain)):
        taken = {fold(other) for other in given.values()}
        free = [each for each in rng.choice((pool, pool, OURS[:9], plain)) if fold(each) not in {*taken, *never}]
        given[name] = rng.choice(free or [each for each in pool if fold(each) not in taken])
    return Names(given, frozenset(name for name in plain if rng.random() < 0.2))


def misnamed(sql: str, dialect: str) -> Iterator[str]:
    """What in a generated query could be taken for something else: bare columns, and aliases that others can write."""
    tree = parse_one(sql, dialect=dialect)
    for column in tree.find_all(exp.Column):
        if not column.table.startswith(RESERVED):
            yield f"the column {column.sql()} is not qualified"
        if not column.this.quoted and not column.name.startswith(RESERVED):
            yield f"the column {column.sql()} is neither ours nor a table's"
    within = [
        alias.alias for alias in tree.find_all(exp.Alias) if alias.parent is not tree
    ]  # what leaves keeps its name
    for name in (*within, *(alias.name for alias in tree.find_all(exp.TableAlias))):
        if not name.startswith(RESERVED):
            yield f"the alias {name} is not ours"
    for table in tree.find_all(exp.Table):
        if not table.alias:
            yield f"the table {table.name} has no alias"
    if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)):
        yield "a star lists columns that nobody named"
