"""One tree, many engines: the text of a generated query in the words of the engine that runs it.

The tree means what it means in DuckDB, whose text needs no rewriting. Elsewhere a function of the same name may fail,
round or compare otherwise; each such place is rewritten into words that give the same whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tacit.errors import EngineError
from tacit.policy import TableDomain
from tacit.sql.emitting.engine_nodes import Order, Rewrite, call
from tacit.sql.emitting.postgres_words import POSTGRES as _POSTGRES
from tacit.sql.emitting.postgres_words import postgres_order
from tacit.sql.emitting.spark_words import SPARK as _SPARK
from tacit.sql.emitting.spark_words import spark_order
from tacit.sql.expressions.names.aliases import qualified
from tacit.sql.expressions.names.nodes import quoted_column
from tacit.sql.expressions.names.printing import CANONICAL, copied, text_of
from tacit.sql.expressions.public_rows import values_query


def emit(tree: exp.Expression, dialect: str, *, pretty: bool = False, order: Order | None = None) -> str:
    """The text of `tree` for an engine. `order` replaces the engine's own keyed hash, so that two engines agree."""
    if dialect == CANONICAL and order is None:
        return text_of(tree, pretty=pretty)
    if dialect not in _REWRITES:
        raise EngineError(f"tacit writes no SQL for {dialect!r}")
    rewrites, hashed = _REWRITES[dialect]
    return _rewritten(copied(tree), rewrites, order or hashed).sql(dialect=dialect, pretty=pretty, copy=False)


def values_of(domain: TableDomain, *, dialect: str) -> str:
    """The query for the values of a public column, or of what is computed of some, as `k`."""
    return emit(qualified(values_query([domain], ["k"])), dialect)


def combinations_of(domains: Sequence[TableDomain], *, dialect: str) -> str:
    """The query for the combinations of values that the rows of one public table have, as `k0`, `k1`, …"""
    return emit(qualified(values_query(domains, [f"k{index}" for index in range(len(domains))])), dialect)


def count_of(table: str, *, dialect: str) -> str:
    """The query for the number of rows of a public table, as `n`."""
    source = exp.Table(this=exp.to_identifier(table, quoted=True))
    return emit(qualified(exp.select(exp.alias_(exp.Count(this=exp.Star()), "n")).from_(source)), dialect)


def rows_of(table: str, columns: Sequence[str], *, dialect: str) -> str:
    """The query for the rows of a public table."""
    listed = [quoted_column(column) for column in columns]
    source = exp.Table(this=exp.to_identifier(table, quoted=True))
    return emit(qualified(exp.select(*listed).from_(source)), dialect)


def _rewritten(tree: exp.Expression, rewrites: Mapping[type, Rewrite], order: Order) -> exp.Expression:
    """The tree with its nodes rewritten, each after its children."""
    nodes = [node for node in tree.walk() if isinstance(node, exp.Expression)]
    for node in reversed(nodes):
        rewritten: exp.Expression | None = None
        if isinstance(node, exp.Anonymous) and node.this == "HASH":
            inner = node.expressions[0]
            if isinstance(inner, exp.Anonymous) and inner.this == "HASH":  # hashed twice for DuckDB's sake
                rewritten = order(inner.expressions)
        elif type(node) in rewrites:
            rewritten = rewrites[type(node)](node)
        if rewritten is not None and rewritten is not node:
            node.replace(rewritten)
    return tree


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────────────────

_DUCKDB: dict[type, Rewrite] = {}  # its own words; only the order of a unit's rows can be replaced


def _duckdb_order(parts: Sequence[exp.Expression]) -> exp.Expression:
    return call("HASH", call("HASH", *(copied(part) for part in parts)))


_REWRITES: dict[str, tuple[Mapping[type, Rewrite], Order]] = {
    "duckdb": (_DUCKDB, _duckdb_order),
    "postgres": (_POSTGRES, postgres_order),
    "spark": (_SPARK, spark_order),
}
