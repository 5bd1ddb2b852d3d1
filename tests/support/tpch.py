"""A small database of the shape of TPC-H, made by hashing: customers, what they ordered, and who could deliver it.

Sizes, keys, ranges of values and the ties between dates are those of the specification, so that its queries select
something; the texts are our own. Nothing is random: the same size gives the same rows under one version of DuckDB.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

NATIONS = (  # by region
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3),
    ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2),
    ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
)  # fmt: skip
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
SEGMENTS = ("BUILDING", "AUTOMOBILE", "MACHINERY", "HOUSEHOLD", "FURNITURE")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
MODES = ("AIR", "MAIL", "SHIP", "REG AIR", "TRUCK", "RAIL", "FOB")
INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
# Of every list the values that the queries name come first: a database of little variety has those alone.
_HOME = (6, 7, 8, 20, 3, 2, 13, 21, 19, 24, 12, 0, 1, 4, 5, 9, 10, 11, 14, 15, 16, 17, 18, 22, 23)
_COLOURS = (
    "green",
    "forest",
    "almond",
    "azure",
    "blue",
    "coral",
    "cream",
    "gold",
    "ivory",
    "navy",
    "olive",
    "plum",
    "red",
)
_BRANDS = ("Brand#12", "Brand#23", "Brand#34", *(f"Brand#{m}{n}" for m in range(1, 6) for n in range(1, 6)))
_SIZES, _KINDS = ("SM", "MED", "LG", "JUMBO", "WRAP"), ("CASE", "BOX", "BAG", "PACK", "PKG", "JAR", "CAN", "DRUM")
_TYPES = (
    ("PROMO", "ECONOMY", "STANDARD", "SMALL", "MEDIUM", "LARGE"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("STEEL", "BRASS", "TIN", "NICKEL", "COPPER"),
)


@dataclass(frozen=True)
class Size:
    """How many of each there are. `variety` limits the values of every list.

    Where there are `heavy` customers, they place half of all orders, and every eighth order is a large one.
    """

    customers: int
    orders: int
    parts: int
    suppliers: int
    variety: int = 100
    heavy: int = 0


def scale(factor: float) -> Size:
    """The sizes of the specification; at 0.01 some sixty thousand line items."""
    return Size(*(round(count * factor) for count in (150_000, 1_500_000, 200_000, 10_000)))


TINY = Size(customers=60, orders=600, parts=40, suppliers=12, variety=2, heavy=4)  # every predicate still selects some


def fill(connection: duckdb.DuckDBPyConnection, size: Size) -> None:
    """Create the eight tables and fill them."""
    for statement in (*_public(size), *_private(size)):
        connection.execute(statement)


ODD = (  # what no generator makes and every database has: keys that are none, rows of nobody, cells beyond all bounds
    "INSERT INTO orders SELECT * REPLACE (o_custkey % 7 + 1 AS o_custkey, 9 AS o_totalprice) FROM orders LIMIT 120",
    "INSERT INTO orders SELECT * REPLACE (1000 + o_orderkey % 3 AS o_custkey) FROM orders WHERE o_orderkey % 32 = 3",
    "INSERT INTO orders SELECT * REPLACE (NULL AS o_custkey, o_orderkey + 16 AS o_orderkey) FROM orders LIMIT 20",
    "INSERT INTO customer SELECT * REPLACE ('BUILDING' AS c_mktsegment) FROM customer WHERE c_custkey < 20",
    "INSERT INTO customer SELECT * REPLACE (NULL AS c_custkey) FROM customer LIMIT 5",
    "INSERT INTO lineitem SELECT * REPLACE (l_orderkey + 24 AS l_orderkey) FROM lineitem LIMIT 40",
    "INSERT INTO lineitem SELECT * REPLACE (NULL AS l_orderkey) FROM lineitem LIMIT 10",
    "UPDATE lineitem SET l_quantity = 1e6 WHERE l_linenumber = 7",
    "UPDATE lineitem SET l_extendedprice = -1e9, l_discount = NULL WHERE l_linenumber = 6",
    "UPDATE orders SET o_orderdate = DATE '9999-12-31' WHERE o_orderkey % 64 = 2",
    "UPDATE customer SET c_acctbal = 1e9 WHERE c_custkey % 8 = 3",
)


SPELLED = tuple(  # customers by names that are typed by hand: c7, " C7", "C7 "
    f"CREATE OR REPLACE TABLE {table} AS SELECT * REPLACE (['c', ' C', 'C', '  c'][1 + rowid % 4] || {key} ||"
    f" ['', ' '][1 + rowid // 4 % 2] AS {key}) FROM {table}"
    for table, key in (("customer", "c_custkey"), ("orders", "o_custkey"))
)


def owned(number: str = "{}") -> dict[str, str]:
    """Which rows of a table are there without the customer `unit`; an item that two orders share goes with the last.

    `number` makes a customer's number of a cell.
    """
    buyer = number.format("o_custkey")
    return {
        "customer": f"unit IS NULL OR {number.format('c_custkey')} IS DISTINCT FROM unit",
        "orders": f"unit IS NULL OR {buyer} IS DISTINCT FROM unit",
        "lineitem": "unit IS NULL OR l_orderkey IS NULL OR l_orderkey NOT IN "
        f"(SELECT o_orderkey FROM every_orders GROUP BY o_orderkey HAVING count(*) = count_if({buyer} = unit))",
    }


def _some(salt: str, *of: str) -> str:
    """A whole number that looks random."""
    return f"(hash('{salt}', {', '.join(of)}) % 1000003)::BIGINT"


def _among(salt: str, low: int, high: int, *of: str) -> str:
    return f"({low} + {_some(salt, *of)} % {high - low + 1})"


def _pick(salt: str, values: tuple[str, ...], variety: int, of: str) -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return f"([{listed}])[1 + {_some(salt, of)} % {min(len(values), variety)}]"


def _home(size: Size, of: str) -> str:
    """Every nation in turn: so that each has a supplier, also where there are few."""
    return f"([{', '.join(map(str, _HOME))}])[1 + {of} % {min(len(_HOME), 3 * size.variety)}]"


def _public(size: Size) -> list[str]:
    nations = ", ".join(f"({key}, '{name}', {region}, 'a nation')" for key, (name, region) in enumerate(NATIONS))
    regions = ", ".join(f"({key}, '{name}', 'a region')" for key, name in enumerate(REGIONS))
    comment = f"CASE WHEN {_some('complaint', 'i')} % 20 = 0 THEN 'Customer had Complaints' ELSE 'as agreed' END"
    colours = " || ' ' || ".join(_pick(f"colour{place}", _COLOURS, size.variety, "i") for place in range(5))
    kinds = " || ' ' || ".join(_pick(f"type{place}", kinds, size.variety, "i") for place, kinds in enumerate(_TYPES))
    container = " || ' ' || ".join(
        _pick(salt, values, size.variety, "i") for salt, values in (("size", _SIZES), ("kind", _KINDS))
    )
    return [
        f"CREATE TABLE region AS SELECT * FROM (VALUES {regions}) AS r(r_regionkey, r_name, r_comment)",
        f"""CREATE TABLE nation AS
            SELECT * FROM (VALUES {nations}) AS n(n_nationkey, n_name, n_regionkey, n_comment)""",
        f"""CREATE TABLE supplier AS
            SELECT i AS s_suppkey, 'Supplier#' || lpad(i::VARCHAR, 9, '0') AS s_name, 'street ' || i AS s_address,
                   {_home(size, "i")} AS s_nationkey, (10 + s_nationkey) || '-555-' || i AS s_phone,
                   ({_among("balance", -99_999, 999_999, "i")} / 100)::DECIMAL(15, 2) AS s_acctbal,
                   {comment} AS s_comment
            FROM range(1, {size.suppliers + 1}) AS made(i)""",
        f"""CREATE TABLE part AS
            SELECT i AS p_partkey, {colours} AS p_name, 'Manufacturer#' || (1 + i % 5) AS p_mfgr,
                   {_pick("brand", _BRANDS, size.variety, "i")} AS p_brand, {kinds} AS p_type,
                   {_among("size", 1, min(50, 5 * size.variety), "i")} AS p_size, {container} AS p_container,
                   ((90_000 + i // 10 % 20_001 + 100 * (i % 1_000)) / 100)::DECIMAL(15, 2) AS p_retailprice,
                   'a part' AS p_comment
            FROM range(1, {size.parts + 1}) AS made(i)""",
        f"""CREATE TABLE partsupp AS
            SELECT p_partkey AS ps_partkey, 1 + (p_partkey + j * {_apart(size)}) % {size.suppliers} AS ps_suppkey,
                   {_among("stock", 1, 9_999, "p_partkey", "j")} AS ps_availqty,
                   ({_among("cost", 100, 100_000, "p_partkey", "j")} / 100)::DECIMAL(15, 2) AS ps_supplycost,
                   'in stock' AS ps_comment
            FROM part, range(4) AS made(j)""",
    ]


def _apart(size: Size) -> int:
    """How far apart the four suppliers of a part are, so that no two are the same."""
    return max(1, size.suppliers // 4)


def _private(size: Size) -> list[str]:
    ordinary = f"3 * {_some('buyer', 'i')} % {size.customers} // 3 * 3 + {_among('kept', 1, 2, 'i')}"
    buyer = f"least({size.customers}, {ordinary})"  # as in the specification, every third customer has never bought
    if size.heavy:
        buyer = f"CASE WHEN {_some('half', 'i')} % 2 = 0 THEN {_among('few', 1, size.heavy, 'i')} ELSE {buyer} END"
    wish = f"CASE WHEN {_some('wish', 'i')} % 10 = 0 THEN 'with special care as requests go' ELSE 'as usual' END"
    due = f"DATE '1992-01-01' + {_among('day', 0, 2_405, 'i')}::INTEGER"
    supplier = f"1 + (partkey + {_among('from', 0, 3, 'k', 'n')} * {_apart(size)}) % {size.suppliers}"
    large = f"{_some('large', 'k')} % 8 = 0" if size.heavy else "false"
    pieces = f"CASE WHEN {large} THEN 45 ELSE {_among('pieces', 1, 50, 'k', 'n')} END"
    value = "sum(l_extendedprice * (1 + l_tax) * (1 - l_discount))"
    return [
        f"""CREATE TABLE customer AS
            SELECT i AS c_custkey, 'Customer#' || lpad(i::VARCHAR, 9, '0') AS c_name, 'road ' || i AS c_address,
                   {_home(size, "(i + i // 3)")} AS c_nationkey, (10 + c_nationkey) || '-555-' || i AS c_phone,
                   ({_among("owed", -99_999, 999_999, "i")} / 100)::DECIMAL(15, 2) AS c_acctbal,
                   {_pick("segment", SEGMENTS, size.variety, "i")} AS c_mktsegment, 'a customer' AS c_comment
            FROM range(1, {size.customers + 1}) AS made(i)""",
        f"""CREATE TEMP TABLE made_orders AS
            SELECT i // 8 * 32 + i % 8 + 1 AS k, {buyer} AS buyer, {due} AS day, i FROM range({size.orders}) AS made(i)
        """,
        f"""CREATE TABLE lineitem AS
            SELECT k AS l_orderkey, partkey AS l_partkey, {supplier} AS l_suppkey, n AS l_linenumber,
                   ({pieces})::DECIMAL(15, 2) AS l_quantity,
                   (l_quantity * p_retailprice)::DECIMAL(15, 2) AS l_extendedprice,
                   ({_among("discount", 0, 10, "k", "n")} / 100)::DECIMAL(15, 2) AS l_discount,
                   ({_among("tax", 0, 8, "k", "n")} / 100)::DECIMAL(15, 2) AS l_tax,
                   day + {_among("ship", 1, 121, "k", "n")}::INTEGER AS l_shipdate,
                   day + {_among("commit", 30, 90, "k", "n")}::INTEGER AS l_commitdate,
                   l_shipdate + {_among("receipt", 1, 30, "k", "n")}::INTEGER AS l_receiptdate,
                   CASE WHEN l_receiptdate > DATE '1995-06-17' THEN 'N'
                        ELSE {_pick("flag", ("R", "A"), 2, "(k, n)")} END AS l_returnflag,
                   CASE WHEN l_shipdate > DATE '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus,
                   {_pick("instruct", INSTRUCTIONS, size.variety, "(k, n)")} AS l_shipinstruct,
                   {_pick("mode", MODES, size.variety, "(k, n)")} AS l_shipmode, 'an item' AS l_comment
            FROM (SELECT *, {_among("part", 1, size.parts, "k", "n")} AS partkey
                  FROM made_orders, range(1, 8) AS lines(n) WHERE {large} OR n <= {_among("lines", 1, 7, "k")}) AS l
            JOIN part ON p_partkey = partkey""",
        f"""CREATE TABLE orders AS
            SELECT k AS o_orderkey, buyer AS o_custkey,
                   CASE min(l_linestatus) || max(l_linestatus) WHEN 'FF' THEN 'F' WHEN 'OO' THEN 'O' ELSE 'P' END
                       AS o_orderstatus, {value}::DECIMAL(15, 2) AS o_totalprice, day AS o_orderdate,
                   {_pick("priority", PRIORITIES, 5, "i")} AS o_orderpriority,
                   'Clerk#' || {_among("clerk", 1, 1_000, "i")} AS o_clerk, 0 AS o_shippriority, {wish} AS o_comment
            FROM made_orders JOIN lineitem ON l_orderkey = k GROUP BY ALL""",
        "DROP TABLE made_orders",
    ]


POLICY = """\
[dataset]
name = "tpch"
source = "{source}"
[budget]
epsilon = {epsilon}
delta = 1e-3
[analysts.ana]
epsilon = {epsilon}

[tables.customer]
unit = "c_custkey"
max_rows = 1
max_groups = 1
[tables.customer.columns]
c_nationkey = {{}}
c_phone = {{}}
c_acctbal = {{ lower = -1000, upper = 10000, step = 0.01 }}
c_mktsegment = {{ domain = {segments} }}

[tables.orders]
unit = "o_custkey -> customer.c_custkey"
max_rows = {orders_rows}
max_groups = {orders_groups}
[tables.orders.columns]
o_orderstatus = {{ domain = ["F", "O", "P"] }}
o_totalprice = {{ lower = 0, upper = 500000, step = 0.01 }}
o_orderdate = {{ lower = 1992-01-01, upper = 1998-12-31, domain = "range" }}
o_orderpriority = {{ domain = {priorities} }}
o_shippriority = {{ lower = 0, upper = 1, step = 1, domain = "range" }}
o_comment = {{}}

[tables.lineitem]
unit = "l_orderkey -> orders.o_orderkey"
max_rows = {lines_rows}
max_groups = {lines_groups}
[tables.lineitem.columns]
l_partkey = {{}}
l_suppkey = {{}}
l_quantity = {{ lower = 0, upper = 50, step = 1 }}
l_extendedprice = {{ lower = 0, upper = 105000, step = 0.01 }}
l_discount = {{ lower = 0, upper = 0.10, step = 0.01 }}
l_tax = {{ lower = 0, upper = 0.08, step = 0.01 }}
l_returnflag = {{ domain = ["A", "N", "R"] }}
l_linestatus = {{ domain = ["F", "O"] }}
l_shipdate = {{ lower = 1992-01-01, upper = 1998-12-31, domain = "range" }}
l_commitdate = {{ lower = 1992-01-01, upper = 1998-12-31, domain = "range" }}
l_receiptdate = {{ lower = 1992-01-01, upper = 1998-12-31, domain = "range" }}
l_shipinstruct = {{ domain = {instructions} }}
l_shipmode = {{ domain = {modes} }}

[tables.part]
public = true
[tables.supplier]
public = true
[tables.partsupp]
public = true
[tables.partsupp.columns]
ps_supplycost = {{ lower = 0, upper = 1000, step = 0.01 }}
ps_availqty = {{ lower = 0, upper = 10000, step = 1 }}
[tables.nation]
public = true
[tables.region]
public = true
"""


@dataclass(frozen=True)
class Caps:
    """How much of one customer counts: (rows in a group, groups) of orders and of line items."""

    orders: tuple[int, int] = (20, 5)
    lines: tuple[int, int] = (50, 10)


ROOMY = Caps(orders=(200, 100), lines=(1_000, 1_000))  # nobody in the databases here has as much


def policy(caps: Caps = Caps(), *, source: str = "tpch.duckdb", epsilon: int = 1_000) -> str:
    """The policy: customers are hidden; parts, suppliers, nations and regions are nobody's."""
    lists = {"segments": SEGMENTS, "priorities": PRIORITIES, "instructions": INSTRUCTIONS, "modes": MODES}
    return POLICY.format(
        source=source,
        epsilon=epsilon,
        orders_rows=caps.orders[0],
        orders_groups=caps.orders[1],
        lines_rows=caps.lines[0],
        lines_groups=caps.lines[1],
        **{name: list(values) for name, values in lists.items()},
    )
