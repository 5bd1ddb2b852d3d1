-- Large volume customer
-- refused: c_custkey
-- because: a group for each customer and order is what must not be released
DP-SELECT 1 c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) AS quantity
FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300)
    AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate
LIMIT 100
-- instead: grouped by year of the order, with how many customers there are
DP-SELECT 1 YEAR(o_orderdate) AS year, SUM(l_quantity) AS quantity, COUNT(DISTINCT c_custkey) AS customers
FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 300)
    AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY year
ORDER BY quantity DESC
