-- Top supplier
-- refused: the group keys are private and need a delta
-- because: suppliers' numbers are private keys in lineitem: with a delta it runs as it stands, and shows the common ones
WITH revenue AS (
    SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue
    FROM lineitem
    WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
    GROUP BY l_suppkey)
DP-SELECT 1 s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier, revenue
WHERE s_suppkey = supplier_no AND total_revenue = (SELECT MAX(total_revenue) FROM revenue)
ORDER BY s_suppkey
-- instead: grouped by supplier, and the largest noisy sum taken
DP-SELECT 1 s_name, SUM(l_extendedprice * (1 - l_discount)) AS total_revenue
FROM supplier, lineitem
WHERE s_suppkey = l_suppkey AND l_shipdate >= DATE '1996-01-01'
    AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
GROUP BY s_name
ORDER BY total_revenue DESC
LIMIT 1
