-- Important stock identification
-- refused: public
-- because: nobody is in it: the stocks of suppliers are public
WITH stock AS (
    SELECT SUM(ps_supplycost * ps_availqty) AS worth FROM partsupp, supplier, nation
    WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY')
DP-SELECT 1 ps_partkey, SUM(ps_supplycost * ps_availqty) AS value
FROM partsupp, supplier, nation, stock
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY'
GROUP BY ps_partkey
HAVING SUM(ps_supplycost * ps_availqty) > MAX(worth) * 0.0001
ORDER BY value DESC
