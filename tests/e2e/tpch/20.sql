-- Potential part promotion
-- refused: a subquery is refused here
-- because: an exact sum over everybody would decide which public rows are shown
DP-SELECT 1 s_name, s_address
FROM supplier, nation
WHERE s_suppkey IN (
        SELECT ps_suppkey FROM partsupp
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
            AND ps_availqty > (
                SELECT 0.5 * SUM(l_quantity) FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                    AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR))
    AND s_nationkey = n_nationkey AND n_name = 'CANADA'
ORDER BY s_name
-- instead: what each supplier shipped is asked; stocks are public, and compared with the answer afterwards
DP-SELECT 1 s_name, 0.5 * SUM(l_quantity) AS half_shipped
FROM lineitem, supplier, nation
WHERE l_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'CANADA'
    AND l_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%')
    AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
GROUP BY s_name
ORDER BY s_name
