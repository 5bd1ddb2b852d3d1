-- case: a unit keeps max_rows rows of a group
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_rows": 20, "sample_rows": true, "salt": "staff"}
-- before
SELECT "id" AS u, "dept" AS k0, GRID("pay") AS v0, 1 AS v1 FROM "staff"
-- after
SELECT
  u,
  k0,
  v0,
  v1
FROM (
  SELECT
    u,
    k0,
    v0,
    v1,
    ROW_NUMBER() OVER (PARTITION BY u, k0 ORDER BY HASH(HASH('staff', u, k0, v0, v1)), v0, v1) AS r
  FROM (
    SELECT
      "id" AS u,
      "dept" AS k0,
      GRID("pay") AS v0,
      1 AS v1
    FROM "staff"
  ) AS owned
) AS ranked
WHERE
  r <= 20

-- case: unless rows are not sampled
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_rows": 20}
-- before
SELECT "id" AS u, "dept" AS k0, GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  "id" AS u,
  "dept" AS k0,
  GRID("pay") AS v0
FROM "staff"
