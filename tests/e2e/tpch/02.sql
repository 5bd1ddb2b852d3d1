-- Minimum cost supplier
-- refused: public
-- because: nobody is in it: parts, suppliers and their prices are public
DP-SELECT 1 s_acctbal, s_name, n_name, p_partkey, p_mfgr
FROM part, supplier, partsupp, nation, region, (
    SELECT ps_partkey AS partkey, MIN(ps_supplycost) AS cheapest
    FROM partsupp, supplier, nation, region
    WHERE s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
    GROUP BY ps_partkey) AS least
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS'
    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE'
    AND partkey = p_partkey AND ps_supplycost = cheapest
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100
