-- case: rows of each value in each group
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "measures": [{"name": "m0", "counted": "VALUES", "value": "v0"}]}
-- before
SELECT u, k0, v0 FROM ranked
-- after
SELECT
  k0,
  v0 AS x,
  COUNT(*) AS c
FROM (
  SELECT
    u,
    k0,
    v0
  FROM ranked
) AS bounded
WHERE
  NOT v0 IS NULL
GROUP BY
  k0,
  v0

-- case: over the whole table
-- facts: {"measures": [{"name": "m3", "counted": "VALUES", "value": "v3"}]}
-- before
SELECT v3 FROM "staff"
-- after
SELECT
  v3 AS x,
  COUNT(*) AS c
FROM (
  SELECT
    v3
  FROM "staff"
) AS bounded
WHERE
  NOT v3 IS NULL
GROUP BY
  v3
