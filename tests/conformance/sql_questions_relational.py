"""Random questions over the tables of TPC-H: joins of every kind, subqueries in FROM and in WHERE, unions. Seeded."""

from __future__ import annotations

import random
from dataclasses import dataclass

Rng = random.Random


@dataclass(frozen=True)
class Piece:
    """What may stand after FROM, and what may be said of it. No two pieces share the name of a column."""

    source: str
    customer: str | None  # the columns that hold its keys
    order: str | None
    numbers: tuple[str, ...]
    groups: tuple[str, ...]
    conditions: tuple[str, ...]

    @property
    def keys(self) -> tuple[str | None, str | None]:
        return self.customer, self.order


CUSTOMER = Piece(
    "customer",
    "c_custkey",
    None,
    numbers=("c_acctbal",),
    groups=("c_mktsegment",),
    conditions=("c_acctbal > 3000", "c_mktsegment = 'BUILDING'"),
)
ORDERS = Piece(
    "orders",
    "o_custkey",
    "o_orderkey",
    numbers=("o_totalprice", "o_totalprice - 1000"),
    groups=("o_orderpriority", "YEAR(o_orderdate)"),
    conditions=(
        "o_totalprice > 90000",
        "o_orderdate < DATE '1994-10-31' + INTERVAL '3' MONTH",
        "o_orderstatus IN ('F', 'P')",
    ),
)
LINEITEM = Piece(
    "lineitem",
    None,
    "l_orderkey",
    numbers=("l_quantity", "l_extendedprice * (1 - l_discount)"),
    groups=("l_returnflag", "l_shipdate < l_commitdate"),
    conditions=("l_quantity > 20", "l_discount IS NULL", "l_shipdate < l_commitdate"),
)
PER_CUSTOMER = Piece(
    "(SELECT o_custkey AS buyer, COUNT(*) AS n, SUM(o_totalprice) AS spent, MAX(o_orderdate) AS latest"
    " FROM orders GROUP BY o_custkey HAVING COUNT(*) > 1) AS per_customer",
    "buyer",
    None,
    numbers=("n", "spent"),
    groups=("latest > DATE '1997-01-01'", "n"),
    conditions=("n > 2", "spent < 400000"),
)
PER_ORDER = Piece(
    "(SELECT l_orderkey AS item_of, SUM(l_quantity) AS pieces, COUNT(DISTINCT l_suppkey) AS makers"
    " FROM lineitem WHERE l_tax < 0.07 GROUP BY l_orderkey) AS per_order",
    None,
    "item_of",
    numbers=("pieces",),
    groups=("makers",),
    conditions=("pieces > 60", "makers = 1"),
)
BOTH = Piece(
    "(SELECT c_custkey AS who, o_orderkey AS which, c_acctbal AS owed, o_totalprice AS price"
    " FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_totalprice > 50000) AS both_tables",
    "who",
    "which",
    numbers=("owed", "price"),
    groups=("price > 100000",),
    conditions=("price IS NULL", "owed > price"),
)
UNITED = Piece(
    "(SELECT o_orderkey AS row_of, o_totalprice AS worth FROM orders"
    " UNION ALL SELECT l_orderkey, l_extendedprice FROM lineitem WHERE l_quantity > 10) AS united",
    None,
    "row_of",
    numbers=("worth",),
    groups=("worth > 40000",),
    conditions=("worth < 90000",),
)
DISTINCT = Piece(
    "(SELECT DISTINCT l_orderkey AS kept, l_shipmode AS mode FROM lineitem) AS distinct_modes",
    None,
    "kept",
    numbers=(),
    groups=("mode",),
    conditions=("mode = 'AIR'",),
)
LABELLED = Piece(
    "(SELECT 'order' AS source, 1 AS weight, o_custkey AS whose FROM orders"
    " UNION ALL SELECT 'customer', 5, c_custkey FROM customer WHERE c_acctbal > 0) AS labelled",
    "whose",
    None,
    numbers=("weight",),
    groups=("source", "weight"),
    conditions=("source = 'order'", "weight > 1"),
)
EARLIER = Piece(
    "(SELECT z.o_custkey AS earlier_of, z.o_orderkey AS earlier_order, (SELECT SUM(y.o_totalprice) FROM orders y"
    " WHERE y.o_custkey = z.o_custkey AND y.o_orderdate < z.o_orderdate) AS so_far, l.price AS last_price FROM orders z"
    " LEFT JOIN LATERAL (SELECT y.o_totalprice AS price FROM orders y WHERE y.o_custkey = z.o_custkey"
    " AND y.o_totalprice < z.o_totalprice ORDER BY y.o_totalprice DESC LIMIT 1) l ON TRUE) AS earlier",
    "earlier_of",
    "earlier_order",
    numbers=("so_far", "last_price"),
    groups=("so_far IS NULL",),
    conditions=("so_far > 100000", "last_price IS NULL"),
)
RANKED = Piece(
    "(SELECT o_custkey AS ranked, o_orderpriority AS urgency, COUNT(*) AS of_it, NTILE(2) OVER (PARTITION BY o_custkey"
    " ORDER BY SUM(o_totalprice)) AS half, LAG(COUNT(*) > 1, 1, TRUE) OVER (PARTITION BY o_custkey ORDER BY"
    " o_orderpriority) AS often FROM orders GROUP BY o_custkey, o_orderpriority) AS ranked_groups",
    "ranked",
    None,
    numbers=("of_it",),
    groups=("half", "often"),
    conditions=("half = 1", "often", "urgency = '5-LOW'"),
)
PIECES = (CUSTOMER, ORDERS, LINEITEM, PER_CUSTOMER, PER_ORDER, BOTH, UNITED, DISTINCT, LABELLED, EARLIER, RANKED)
PUBLIC = {  # a join with a public table, and what to group by then
    CUSTOMER: (
        ("JOIN nation ON c_nationkey = n_nationkey", "n_name"),
        ("CROSS JOIN region", "r_name"),
        (
            (
                "JOIN (SELECT n_nationkey, r_name FROM nation, region WHERE n_regionkey = r_regionkey)"
                " AS home (h, place) ON c_nationkey = h"
            ),
            "place",
        ),
    ),
    LINEITEM: (
        ("JOIN supplier ON l_suppkey = s_suppkey", "s_name"),
        ("LEFT JOIN part ON l_partkey = p_partkey AND p_size > 5", "p_brand"),
    ),
}
OUTSIDE = {  # subqueries in conditions that look at the row outside, or at public tables
    CUSTOMER: (
        "EXISTS (SELECT 1 FROM nation, region WHERE n_regionkey = r_regionkey AND n_nationkey = c_nationkey)",
        "c_nationkey NOT IN (SELECT n_nationkey FROM nation JOIN region ON n_regionkey = r_regionkey AND r_name > 'B')",
        "c_acctbal < (SELECT MAX(z.o_totalprice) FROM orders z WHERE z.o_custkey = c_custkey)",
        "EXISTS (SELECT 1 FROM orders z WHERE z.o_custkey = c_custkey AND z.o_totalprice > c_acctbal * 20)",
    ),
    ORDERS: (
        "NOT EXISTS (SELECT 1 FROM orders z WHERE z.o_custkey = orders.o_custkey AND z.o_orderdate > o_orderdate)",
        "o_totalprice > (SELECT AVG(z.o_totalprice) FROM orders z WHERE z.o_custkey = orders.o_custkey)",
        "1 < (SELECT COUNT(*) FROM orders z WHERE z.o_custkey = orders.o_custkey AND o_orderdate > z.o_orderdate)",
        "2 > (SELECT COUNT(*) FROM lineitem z WHERE z.l_orderkey = o_orderkey AND z.l_quantity > 20)",
        "o_totalprice = (SELECT MAX(z.o_totalprice) FROM orders z WHERE z.o_custkey = orders.o_custkey)",
    ),
    LINEITEM: (
        "NOT EXISTS (SELECT 1 FROM partsupp WHERE ps_partkey = l_partkey AND ps_availqty > 5000)",
        "l_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey = l_partkey AND ps_supplycost < 500)",
        "EXISTS (SELECT 1 FROM lineitem z WHERE z.l_orderkey = lineitem.l_orderkey AND z.l_suppkey <> l_suppkey)",
        "l_quantity > (SELECT MIN(p_size) FROM part WHERE p_partkey = l_partkey)",
    ),
}
WITHIN_CUSTOMER = (
    "{} IN (SELECT o_custkey FROM orders WHERE o_totalprice > 150000)",
    "{} NOT IN (SELECT o_custkey FROM orders GROUP BY o_custkey HAVING COUNT(*) > 4)",
    "EXISTS (SELECT 1 FROM customer z WHERE z.c_custkey = {} AND z.c_acctbal > 2000)",
)
WITHIN_ORDER = (
    "{} IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 90)",
    "{} IN (SELECT o_orderkey FROM orders WHERE o_totalprice > 10)",
    "NOT EXISTS (SELECT 1 FROM lineitem z WHERE z.l_orderkey = {} AND z.l_quantity > 40)",
)


def question(rng: Rng) -> str:
    """A question that most often has an answer."""
    text, joined = _joined(rng, rng.sample(PIECES, rng.choice((1, 2, 2, 3, 3))))
    groups = [group for piece in joined for group in piece.groups]
    for piece in joined:
        if piece in PUBLIC and rng.random() < 0.4:
            join, group = rng.choice(PUBLIC[piece])
            text += f" {join}"
            groups.append(group)
    by = rng.sample(groups, rng.choice((0, 0, 1, 1, 2)) if len(groups) > 1 else 0)
    measures = _measures(rng, joined)
    listed = ", ".join([*by, *rng.sample(measures, min(len(measures), rng.choice((1, 1, 2))))])
    grouped = f" GROUP BY {', '.join(by)}" if by else ""
    delta = rng.choice(("", "", "DELTA 1e-7 "))
    return f"DP-SELECT 1 {delta}{listed} FROM {text}{_where(rng, joined)}{grouped}"


def _joined(rng: Rng, pieces: list[Piece]) -> tuple[str, list[Piece]]:
    """The pieces, each joined to those before it by keys that both have; one that has none is left out.

    A CROSS JOIN is refused unless something later makes its rows one customer's.
    """
    text, joined = pieces[0].source, pieces[:1]
    for piece in pieces[1:]:
        pairs = [
            (theirs, ours)
            for other in joined
            for theirs, ours in zip(other.keys, piece.keys, strict=True)
            if theirs and ours
        ]
        if pairs:
            kind = rng.choice(
                ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "CROSS JOIN")
            )
            ties = [f"{theirs} = {ours}" for theirs, ours in rng.sample(pairs, rng.choice((1, len(pairs))))]
            more = [rng.choice(piece.conditions)] if rng.random() < 0.3 else []
            on = "" if kind == "CROSS JOIN" else f" ON {' AND '.join([*ties, *more])}"
            text += f" {kind} {piece.source}{on}"
            joined.append(piece)
    return text, joined


def _where(rng: Rng, joined: list[Piece]) -> str:
    conditions = []
    for piece in joined:
        if rng.random() < 0.4:
            conditions.append(rng.choice(piece.conditions))
        if rng.random() < 0.3:
            within, key = (WITHIN_ORDER, piece.order) if piece.order else (WITHIN_CUSTOMER, piece.customer)
            conditions.append(rng.choice(within).format(key))
        if piece in OUTSIDE and rng.random() < 0.3:
            conditions.append(rng.choice(OUTSIDE[piece]))
    return f" WHERE {rng.choice((' AND ', ' OR ')).join(conditions)}" if conditions else ""


def _measures(rng: Rng, joined: list[Piece]) -> list[str]:
    numbers = [number for piece in joined for number in piece.numbers]
    found = ["COUNT(*)", *(f"COUNT({number})" for number in numbers[:1])]
    found += [f"{rng.choice(('SUM', 'AVG'))}({number})" for number in numbers]
    found += [f"COUNT(DISTINCT {piece.customer})" for piece in joined if piece.customer]
    return [*found, "MEDIAN(l_quantity)"] if LINEITEM in joined else found
