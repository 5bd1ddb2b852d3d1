-- Small-quantity-order revenue
-- refused: a subquery is refused here
-- because: the average of a part is over everybody's orders, and would decide whose rows count
DP-SELECT 1 SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX'
    AND l_quantity < (SELECT 0.2 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)
-- instead: a constant: a fifth of AVG(l_quantity), which is asked first
DP-SELECT 1 SUM(l_extendedprice) / 7.0 AS avg_yearly
FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container = 'MED BOX' AND l_quantity < 5.1
