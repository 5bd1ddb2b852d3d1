-- case: counts are held, sums scaled
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_rows": 20, "measures": [{"name": "m0", "counted": "ROWS"}, {"name": "m1", "counted": "VALUES", "value": "v1"}]}
-- before
SELECT "id" AS u, "dept" AS k0, GRID("pay") AS v1 FROM "staff"
-- after
SELECT
  u,
  k0,
  CASE WHEN n > 20 THEN 20 ELSE n END AS m0,
  CASE WHEN n > 20 THEN (
    m1 * 20
  ) // n ELSE m1 END AS m1
FROM (
  SELECT
    u,
    k0,
    COUNT(*) AS n,
    SUM(v1) AS m1
  FROM (
    SELECT
      "id" AS u,
      "dept" AS k0,
      GRID("pay") AS v1
    FROM "staff"
  ) AS owned
  GROUP BY
    u,
    k0
) AS pairs

-- case: a count beside a sum shrinks like the sum
-- facts: {"unit": {"column": "id"}, "max_rows": 20, "measures": [{"name": "m0", "counted": "ROWS", "value": "v0"}, {"name": "m1", "counted": "VALUES", "value": "v1"}]}
-- before
SELECT "id" AS u, 1 AS v0, GRID("pay") AS v1 FROM "staff"
-- after
SELECT
  u,
  CASE WHEN n > 20 THEN (
    m0 * 20
  ) // n ELSE m0 END AS m0,
  CASE WHEN n > 20 THEN (
    m1 * 20
  ) // n ELSE m1 END AS m1
FROM (
  SELECT
    u,
    COUNT(*) AS n,
    COUNT(v0) AS m0,
    SUM(v1) AS m1
  FROM (
    SELECT
      "id" AS u,
      1 AS v0,
      GRID("pay") AS v1
    FROM "staff"
  ) AS owned
  GROUP BY
    u
) AS pairs

-- case: a unit counts once
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_rows": 20, "measures": [{"name": "m0", "counted": "UNITS"}, {"name": "m1", "counted": "ROWS", "value": "v1"}]}
-- before
SELECT "id" AS u, "dept" AS k0, 1 AS v1 FROM "staff"
-- after
SELECT
  u,
  k0,
  1 AS m0,
  CASE WHEN m1 > 20 THEN 20 ELSE m1 END AS m1
FROM (
  SELECT
    u,
    k0,
    COUNT(*) AS n,
    COUNT(v1) AS m1
  FROM (
    SELECT
      "id" AS u,
      "dept" AS k0,
      1 AS v1
    FROM "staff"
  ) AS owned
  GROUP BY
    u,
    k0
) AS pairs

-- case: a weighed unit's presence is its weight, and need not be carried
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_rows": 20, "spread": "WEIGH_L2", "measures": [{"name": "m0", "counted": "UNITS"}, {"name": "m1", "counted": "ROWS"}]}
-- before
SELECT "id" AS u, "dept" AS k0 FROM "staff"
-- after
SELECT
  u,
  k0,
  CAST(CASE WHEN n > 20 THEN 20 ELSE n END AS INT) AS m1
FROM (
  SELECT
    u,
    k0,
    COUNT(*) AS n
  FROM (
    SELECT
      "id" AS u,
      "dept" AS k0
    FROM "staff"
  ) AS owned
  GROUP BY
    u,
    k0
) AS pairs

-- case: rows that were sampled need no more
-- facts: {"unit": {"column": "id"}, "max_rows": 20, "sample_rows": true, "measures": [{"name": "m0", "counted": "VALUES", "value": "v0"}]}
-- before
SELECT u, v0 FROM "staff"
-- after
SELECT
  u,
  m0 AS m0
FROM (
  SELECT
    u,
    COUNT(*) AS n,
    SUM(v0) AS m0
  FROM (
    SELECT
      u,
      v0
    FROM "staff"
  ) AS owned
  GROUP BY
    u
) AS pairs

-- case: a unit's own total is held between its own bounds
-- facts: {"unit": {"column": "id"}, "max_rows": 20, "measures": [{"name": "m0", "counted": "VALUES", "value": "v0", "total": [-5, 900]}]}
-- before
SELECT "id" AS u, GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  u,
  CASE WHEN m0 < -5 THEN -5 WHEN m0 > 900 THEN 900 ELSE m0 END AS m0
FROM (
  SELECT
    u,
    COUNT(*) AS n,
    SUM(v0) AS m0
  FROM (
    SELECT
      "id" AS u,
      GRID("pay") AS v0
    FROM "staff"
  ) AS owned
  GROUP BY
    u
) AS pairs

-- case: where each row is a unit nothing changes
-- facts: {"measures": [{"name": "m0", "counted": "VALUES", "value": "v0"}]}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID("pay") AS v0
FROM "staff"

-- case: a count times a large cap has 128 bits
-- facts: {"unit": {"column": "id"}, "max_rows": 8000000, "measures": [{"name": "m0", "counted": "ROWS", "value": "v0"}, {"name": "m1", "counted": "VALUES", "value": "v1"}]}
-- before
SELECT "id" AS u, 1 AS v0, GRID("pay") AS v1 FROM "staff"
-- after
SELECT
  u,
  CASE WHEN n > 8000000 THEN (
    CAST(m0 AS INT128) * 8000000
  ) // n ELSE m0 END AS m0,
  CASE WHEN n > 8000000 THEN (
    m1 * 8000000
  ) // n ELSE m1 END AS m1
FROM (
  SELECT
    u,
    COUNT(*) AS n,
    COUNT(v0) AS m0,
    SUM(v1) AS m1
  FROM (
    SELECT
      "id" AS u,
      1 AS v0,
      GRID("pay") AS v1
    FROM "staff"
  ) AS owned
  GROUP BY
    u
) AS pairs

-- case: a unit of which any row counts is counted once
-- facts: {"unit": {"column": "id"}, "max_rows": 20, "measures": [{"name": "m0", "counted": "UNITS", "value": "v0"}]}
-- before
SELECT "id" AS u, CASE WHEN "ill" THEN 1 END AS v0 FROM "staff"
-- after
SELECT
  u,
  CASE WHEN m0 > 0 THEN 1 ELSE 0 END AS m0
FROM (
  SELECT
    u,
    COUNT(*) AS n,
    COUNT(v0) AS m0
  FROM (
    SELECT
      "id" AS u,
      CASE WHEN "ill" THEN 1 END AS v0
    FROM "staff"
  ) AS owned
  GROUP BY
    u
) AS pairs

-- case: a count that may leave 32 bits times its weight is kept in 64
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_rows": 3000000, "spread": "WEIGH_L1", "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT "id" AS u, "dept" AS k0 FROM "staff"
-- after
SELECT
  u,
  k0,
  CASE WHEN n > 3000000 THEN 3000000 ELSE n END AS m0
FROM (
  SELECT
    u,
    k0,
    COUNT(*) AS n
  FROM (
    SELECT
      "id" AS u,
      "dept" AS k0
    FROM "staff"
  ) AS owned
  GROUP BY
    u,
    k0
) AS pairs
