"""What may be completed as somebody types a question: words of the language, and names of the public schema."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.faces.catalogue import Catalogue

KEYWORDS = (
    *("DP-SELECT", "EXPLAIN", "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET", "AS"),
    *("DELTA", "WITHIN", "CONFIDENCE", "FRESH", "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS NULL", "FILTER"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "DESC", "ASC", "DISTINCT"),
    *("COUNT(*)", "COUNT(", "COUNT(DISTINCT ", "SUM(", "AVG(", "MEDIAN(", "QUANTILE(", "MIN(", "MAX(", "VARIANCE("),
    *("STDDEV(", "MODE(", "TOP_K(", "FLOOR(", "ROUND(", "ABS(", "DATE_TRUNC("),
)


def candidates(catalogue: Catalogue, *, first: str = "") -> Iterator[tuple[str, str]]:
    """Each word with what it is: the tables and their columns, those of the table `first` before the others."""
    seen: set[str] = set()
    for table in sorted(catalogue, key=lambda table: table.name != first):
        yield table.name, "table" if table.hides else "public table"
        for column in table.columns:
            if column.name not in seen:
                seen.add(column.name)
                yield column.name, f"{table.name}: {column.type}"
    yield from ((keyword, "") for keyword in KEYWORDS)
