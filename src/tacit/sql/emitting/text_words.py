"""Functions of text in the words of engines that have other words for them than DuckDB, or none."""

from __future__ import annotations

import re

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.expressions.text.spaces import SPACES

_INSTEAD = {
    "REGEXP_MATCHES": "say what stands at fixed places, as in '^J4[0-7]', or use LIKE",
    "REGEXP_REPLACE": "cut it with SPLIT_PART(name, '.', 1), or put REPLACE(name, '-', '') or TRANSLATE in its place",
    "REGEXP_EXTRACT": "take it out with SPLIT_PART(name, '/', 2), LEFT or RIGHT",
}
_MOST_GAPS = 2  # '%special%requests%' has two


def other_words(node: exp.Expression) -> exp.Expression:
    """Where DuckDB puts a text together from its characters, last first, others have a word for it.

    For its automaton they have none: their regular expressions backtrack, and some texts take them very long.
    """
    hint = _INSTEAD.get(str(node.this))
    if hint is not None:
        raise QueryRefused(
            "this regular expression is refused on this engine: it backtracks, and how long it takes tells of a row",
            hint=hint,
        )
    if node.this != "ARRAY_TO_STRING":
        return node
    letters = node.expressions[0].expressions[0]
    return exp.Anonymous(this="REVERSE", expressions=[letters.expressions[0]])


def without_many_gaps(pattern: str) -> str:
    """A pattern of LIKE for Spark, which looks for it by Java's regular expressions: they backtrack into every gap.

    A text of n letters takes them up to n to the power of the gaps, but for one at the end.
    """
    gaps = len(re.findall("%+", pattern)) - pattern.endswith("%")
    if gaps > _MOST_GAPS:
        raise QueryRefused(
            f"LIKE with more than {_MOST_GAPS} gaps is refused on this engine: it backtracks, and how long it takes"
            " tells of a row",
            hint="write several conditions with AND: name LIKE '%a%b%' AND name LIKE '%c%'",
        )
    return pattern


def postgres_trim(node: exp.Expression) -> exp.Expression:
    """TRIM of both ends or one, of spaces as DuckDB knows them or of a constant's characters."""
    name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(str(node.args.get("position")), "BTRIM")
    taken = node.expression if node.args.get("expression") else exp.Literal.string(SPACES)
    return exp.Anonymous(this=name, expressions=[node.this, taken])


def spark_trim(node: exp.Expression) -> exp.Expression:
    """The same in the words of Spark."""
    taken = node.expression if node.args.get("expression") else exp.Literal.string(SPACES)
    return exp.Trim(this=node.this, expression=taken, position=str(node.args.get("position") or "BOTH"))
