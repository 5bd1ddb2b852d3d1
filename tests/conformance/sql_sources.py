"""What may stand in the place of the table `t` in a question: windows within a unit, unions, patterns, pivots."""

from __future__ import annotations

import random

SOURCES = (
    "(SELECT * FROM t WHERE REGEXP_MATCHES(s, '^(B|C).*$'))",
    "(SELECT * FROM t WHERE s ~ '[aeiou]+' OR REGEXP_MATCHES(g, '(?i)^cs|o$'))",
    "(SELECT * FROM t WHERE NOT REGEXP_MATCHES(s, '(a|aa)*b|é|\\.') OR s IS NULL)",
    "(SELECT * FROM t WHERE s SIMILAR TO '(Bio|CS|%s)')",
    "(SELECT * FROM t WHERE REGEXP_REPLACE(s, '([a-z])([^i]*?)', '\\2-\\1', 'gi') <> s)",
    "(SELECT * FROM t WHERE REGEXP_EXTRACT(s, '^(.)(i|$)', 1) IN ('B', 'é', ''))",
    "(SELECT * FROM t UNION ALL SELECT * FROM t)",
    "(SELECT * FROM t WHERE m > 2 UNION ALL SELECT * FROM t WHERE flag)",
)
WITHIN = (  # of a table that says whose its rows are
    "(SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY x, m) <= 2)",
    "(SELECT * FROM t QUALIFY RANK() OVER (PARTITION BY uid ORDER BY m DESC) = 1)",
    "(SELECT * FROM t QUALIFY COUNT(*) OVER (PARTITION BY uid) > 1)",
    "(SELECT * FROM t QUALIFY LAG(m) OVER (PARTITION BY uid ORDER BY e) < m)",
    "(SELECT uid, g, flag, SUM(m) OVER (PARTITION BY uid) AS m FROM t)",
    "(SELECT * FROM t WHERE uid IN (SELECT uid FROM t WHERE flag))",
    "(SELECT * FROM t WHERE uid NOT IN (SELECT uid FROM t WHERE m > 3))",
    "(SELECT uid, g, m, x FROM t UNION SELECT uid, g, m, y FROM t)",
    "(SELECT uid, g, m, x FROM t EXCEPT SELECT uid, g, m, x FROM t WHERE flag)",
    "(SELECT uid, g, m, x FROM t INTERSECT SELECT uid, g, m, y FROM t)",
    "(SELECT DISTINCT uid, g, m, flag FROM t)",
)


def over_another_source(rng: random.Random, text: str, *, by_row: bool) -> str:
    """The same question of another source."""
    return text.replace(" FROM t", f" FROM {rng.choice(SOURCES if by_row else SOURCES + WITHIN)} AS t", 1)


PIVOTED = (  # columns, what is added up of them, and the values that become columns
    ("uid, g, m", "SUM(m)", "g IN ('CS' AS aa, 'Bio' AS bb)"),
    ("uid, g, x, flag", "MAX(x)", "g IN ('CS' AS aa, 'Art' AS bb)"),
    ("uid, flag, m, n", "COUNT(n)", "m IN (1 AS aa, 7 AS bb)"),
    ("uid, s, y, flag", "AVG(y)", "s IN ('Bio' AS aa, 'ß' AS bb)"),
    ("uid, g, s", "COUNT(*)", "g IN ('Econ' AS aa, 'CS' AS bb)"),
)
OF_PIVOTS = (
    "SUM(aa), COUNT(bb) FROM {}",
    "AVG(aa), COUNT(*) FROM {} WHERE bb > 1 OR aa IS NULL",
    "COUNT(DISTINCT uid) FROM {} WHERE aa >= bb",
    "SUM(aa - COALESCE(bb, 2)), MEDIAN(aa) FROM {}",
    "bb IS NULL, COUNT(*), SUM(aa) FROM {} GROUP BY bb IS NULL",
)


def pivoted(rng: random.Random) -> str:
    """A question of the columns that a PIVOT makes of each unit's values."""
    columns, call, values = rng.choice(PIVOTED)
    source = f"(SELECT {columns} FROM t) PIVOT ({call} FOR {values}) AS p"
    return f"DP-SELECT {rng.choice(('1', '1/3'))} DELTA 1e-6 {rng.choice(OF_PIVOTS).format(source)}"
