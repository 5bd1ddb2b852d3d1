-- case: in each group
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "measures": [{"name": "m0", "counted": "DISTINCT", "value": "v0"}]}
-- before
SELECT u, k0, v0 FROM ranked
-- after
SELECT
  k0,
  COUNT(DISTINCT v0) AS m0
FROM (
  SELECT
    u,
    k0,
    v0
  FROM ranked
) AS bounded
GROUP BY
  k0

-- case: over the whole table
-- facts: {"unit": {"column": "id"}, "measures": [{"name": "m0", "counted": "DISTINCT", "value": "v0"}]}
-- before
SELECT u, v0 FROM ranked
-- after
SELECT
  COUNT(DISTINCT v0) AS m0
FROM (
  SELECT
    u,
    v0
  FROM ranked
) AS bounded

-- case: by the value that is asked for
-- facts: {"unit": {"column": "id"}, "measures": [{"name": "m1", "counted": "DISTINCT", "value": "v1"}]}
-- before
SELECT u, v1 FROM "visits"
-- after
SELECT
  COUNT(DISTINCT v1) AS m1
FROM (
  SELECT
    u,
    v1
  FROM "visits"
) AS bounded
