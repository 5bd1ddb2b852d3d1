"""Questions over TPC-H in forms that need care: what looks outside, what is public, what is constant. In plain SQL."""

from __future__ import annotations

FORMS = """
SELECT COUNT(*) FROM customer WHERE EXISTS (
    SELECT 1 FROM nation, region WHERE n_regionkey = r_regionkey AND r_name = 'ASIA' AND n_nationkey = c_nationkey);
SELECT COUNT(*) FROM lineitem l WHERE NOT EXISTS (
    SELECT * FROM partsupp WHERE ps_partkey = l.l_partkey AND ps_suppkey = l.l_suppkey AND ps_availqty > 5000);
SELECT COUNT(*) FROM lineitem WHERE NOT EXISTS (
    SELECT 1 FROM partsupp WHERE ps_partkey = l_partkey AND ps_supplycost * 40 > l_extendedprice);
SELECT COUNT(*) FROM customer WHERE c_nationkey NOT IN (
    SELECT n_nationkey FROM nation JOIN region ON n_regionkey = r_regionkey WHERE r_name <> 'ASIA');
SELECT COUNT(*) FROM lineitem WHERE l_suppkey IN (
    SELECT ps_suppkey FROM partsupp JOIN supplier ON ps_suppkey = s_suppkey WHERE ps_partkey = l_partkey);
SELECT COUNT(*) FROM lineitem WHERE l_suppkey NOT IN (
    SELECT ps_suppkey FROM partsupp WHERE ps_partkey = l_partkey AND ps_availqty > 4000);
WITH asian (nation) AS (
    SELECT n_nationkey FROM nation WHERE n_regionkey IN (SELECT r_regionkey FROM region WHERE r_name = 'ASIA'))
SELECT COUNT(*), SUM(c_acctbal) FROM customer JOIN asian ON c_nationkey = nation;
SELECT COUNT(*) FROM orders o WHERE EXISTS (
    SELECT 1 FROM orders z WHERE z.o_custkey = o.o_custkey AND z.o_totalprice > o.o_totalprice * 2);
SELECT COUNT(*) FROM lineitem a WHERE NOT EXISTS (
    SELECT 1 FROM lineitem b WHERE b.l_orderkey = a.l_orderkey AND b.l_quantity + 1 > a.l_quantity
        AND b.l_suppkey <> a.l_suppkey);
SELECT COUNT(*) FROM orders o WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_shipdate < o.o_orderdate)
    OR o_orderdate > DATE '1996-02-29' + INTERVAL '1' YEAR;
SELECT COUNT(*), SUM(o_totalprice) FROM orders o
    WHERE o_totalprice = (SELECT MAX(o_totalprice) FROM orders z WHERE z.o_custkey = o.o_custkey);
SELECT COUNT(*) FROM customer WHERE 0 = (
    SELECT COUNT(*) FROM orders WHERE o_custkey = c_custkey AND o_totalprice > 150000);
SELECT COUNT(*), COUNT(o_orderkey), COUNT(DISTINCT o_orderkey) FROM customer LEFT JOIN orders ON c_custkey = o_custkey;
SELECT COUNT(*) FROM customer WHERE 3 <= (SELECT COUNT(*) FROM orders WHERE o_custkey = c_custkey);
SELECT COUNT(*) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
    WHERE ps_supplycost = (SELECT MIN(ps_supplycost) FROM partsupp p WHERE p.ps_partkey = l_partkey);
SELECT COUNT(*) FROM lineitem WHERE l_quantity < (SELECT MIN(p_size) FROM part WHERE p_size > 3);
SELECT COUNT(*) FROM customer JOIN (SELECT n_regionkey, COUNT(*) AS nations, MIN(n_nationkey) AS least FROM nation
    GROUP BY n_regionkey) AS g ON c_nationkey = least;
SELECT COUNT(*) FROM nation a LEFT JOIN region b ON a.n_regionkey = b.r_regionkey AND b.r_name = 'ASIA'
    JOIN customer ON c_nationkey = a.n_nationkey WHERE b.r_name IS NULL;
SELECT COUNT(*), SUM(one), SUM(half) FROM (SELECT o_custkey, 1 AS one, 0.5 AS half FROM orders
    UNION ALL SELECT c_custkey, 3, 0.25 FROM customer) AS t WHERE one <> 2;
SELECT COUNT(*) FROM (SELECT 'o' AS source, o_custkey FROM orders UNION ALL SELECT 'c', c_custkey FROM customer) AS t
    WHERE source = 'c' OR source > 'm';
SELECT COUNT(*), SUM(c_acctbal) FROM (customer JOIN orders ON c_custkey = o_custkey) JOIN nation
    ON n_nationkey = c_nationkey WHERE n_name LIKE 'I%';
SELECT COUNT(*) FROM customer c JOIN (orders o JOIN lineitem l ON l.l_orderkey = o.o_orderkey)
    ON c.c_custkey = o.o_custkey AND l.l_quantity > 30;
SELECT COUNT(*), COUNT(o.o_totalprice) FROM customer c LEFT JOIN (orders o JOIN lineitem l
    ON l.l_orderkey = o.o_orderkey) ON c.c_custkey = o.o_custkey;
SELECT COUNT(*), SUM(weight) FROM orders JOIN (VALUES ('O', 1), ('F', 3)) AS v(status, weight)
    ON v.status = o_orderstatus;
SELECT COUNT(*) FROM orders LEFT JOIN (VALUES ('O', 1), ('F', 3)) AS v(status, weight)
    ON v.status = o_orderstatus WHERE weight IS NULL OR weight > 2;
SELECT COUNT(*) FROM (SELECT l_suppkey, LAG(l_suppkey) OVER (PARTITION BY l_orderkey ORDER BY l_shipdate) AS before
    FROM lineitem) AS t WHERE l_suppkey > before;
SELECT SUM(l_extendedprice / l_quantity) FROM lineitem WHERE l_quantity > 0 AND l_shipdate < DATE '1995-01-01';
SELECT COUNT(DISTINCT (o_orderstatus, o_orderdate)) FROM orders;
SELECT COUNT(*), SUM(l.price) FROM orders o CROSS JOIN LATERAL (SELECT z.o_totalprice AS price FROM orders z
    WHERE z.o_custkey = o.o_custkey AND z.o_orderdate < o.o_orderdate
    ORDER BY z.o_orderdate DESC, z.o_orderkey LIMIT 1) l;
SELECT SUM(l.n), COUNT(l.most) FROM orders o LEFT JOIN LATERAL (SELECT COUNT(*) AS n, MAX(z.o_totalprice) AS most
    FROM orders z WHERE z.o_custkey = o.o_custkey AND z.o_totalprice < o.o_totalprice) l ON TRUE;
SELECT SUM((SELECT COUNT(*) FROM orders z WHERE z.o_custkey = o.o_custkey AND z.o_orderdate < o.o_orderdate))
    FROM orders o;
SELECT COUNT(*) FROM orders o WHERE 2 <= (SELECT COUNT(*) FROM orders z
    WHERE z.o_custkey = o.o_custkey AND z.o_orderdate < o.o_orderdate);
SELECT COUNT(*) FROM orders o WHERE o.o_totalprice > (SELECT AVG(z.o_totalprice) FROM orders z
    WHERE z.o_custkey = o.o_custkey);
SELECT COUNT(*), COUNT(l.l_quantity) FROM customer c JOIN nation n ON n.n_nationkey = c.c_nationkey
    LEFT JOIN (orders o JOIN lineitem l ON l.l_orderkey = o.o_orderkey AND l.l_quantity > 30)
    ON o.o_custkey = c.c_custkey;
SELECT COUNT(*) FROM customer LEFT JOIN orders ON c_custkey = o_custkey
    WHERE EXISTS (SELECT 1 FROM customer z WHERE z.c_custkey = o_custkey);
SELECT COUNT(*) FROM orders RIGHT JOIN customer ON c_custkey = o_custkey WHERE NOT EXISTS (
    SELECT 1 FROM orders z WHERE z.o_custkey = orders.o_custkey AND z.o_totalprice > 1000);
SELECT COUNT(*) FROM customer LEFT JOIN orders ON c_custkey = o_custkey
    WHERE 1 = (SELECT COUNT(*) FROM customer z WHERE z.c_custkey = o_custkey);
SELECT COUNT(*) FROM customer c JOIN orders o ON (o.o_custkey, 1) = (c.c_custkey, 1);
SELECT COUNT(*), SUM(part) FROM (SELECT o_custkey, o_orderpriority, SUM(SUM(o_totalprice)) OVER (PARTITION BY o_custkey)
    AS whole, RANK() OVER (PARTITION BY o_custkey ORDER BY COUNT(*) DESC) AS part FROM orders
    GROUP BY o_custkey, o_orderpriority) AS t WHERE whole > 100000;
SELECT COUNT(*) FROM (SELECT LAG(o_totalprice > 90000) OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS dear,
    LAG(o_orderstatus, 1, 'none') OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS was, NTILE(3) OVER (PARTITION BY
    o_custkey ORDER BY o_orderdate) AS third FROM orders) AS t WHERE (dear OR was = 'none') AND third < 3;
WITH months AS (SELECT m, m + INTERVAL '1' MONTH AS later FROM GENERATE_SERIES(DATE '1995-01-01', DATE '1995-06-01',
    INTERVAL '1 month') AS s(m))
SELECT COUNT(*) FROM orders JOIN months ON o_orderdate >= m AND o_orderdate < later;
SELECT COUNT(*) FROM orders WHERE o_orderdate BETWEEN DATE '1994-01-31' + INTERVAL '1' MONTH
    AND DATE '1998-12-01' - INTERVAL '90' DAY
""".strip().split(";\n")
GROUPED = """
SELECT source, COUNT(*) AS n FROM (
    SELECT 'orders' AS source, o_custkey FROM orders UNION ALL SELECT 'customers', c_custkey FROM customer) AS t
GROUP BY source;
SELECT place, COUNT(*) AS n FROM (
    SELECT 7 AS place, o_custkey FROM orders UNION ALL SELECT 2, c_custkey FROM customer) AS t
GROUP BY place;
SELECT r_name, COUNT(*) AS n FROM customer
    JOIN (SELECT n_nationkey, r_name FROM nation JOIN region ON n_regionkey = r_regionkey) AS home (nation, r_name)
    ON c_nationkey = nation
GROUP BY r_name
""".strip().split(";\n")


def priced(text: str, epsilon: str = "1") -> str:
    """The same as a private question."""
    before, select, after = text.rpartition("\nSELECT ") if text.startswith("WITH") else ("", "SELECT ", text[7:])
    return f"{before}{select.replace('SELECT', f'DP-SELECT {epsilon}')}{after}"
