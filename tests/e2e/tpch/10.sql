-- Returned item reporting
-- refused: c_custkey
-- because: a group for each customer is what must not be released
DP-SELECT 1 c_custkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_phone
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
    AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_acctbal, c_phone, n_name
ORDER BY revenue DESC
LIMIT 20
-- instead: grouped by nation, with how many customers returned something
DP-SELECT 1 n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, COUNT(DISTINCT c_custkey) AS customers
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
    AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY n_name
ORDER BY revenue DESC
LIMIT 20
