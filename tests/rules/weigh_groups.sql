-- case: by the square root, for Gaussian noise
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L2", "max_groups": 10, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0 * w AS m0
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0
    FROM pairs
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CAST(FLOOR(1024 * (
        SQRT(CAST(10 AS DOUBLE) / CAST(GREATEST(COUNT(*), 10) AS DOUBLE))
      )) AS INT) AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u = shares.u
) AS weighed

-- case: in proportion, for Laplace noise
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "max_groups": 10, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}, {"name": "m1", "counted": "VALUES", "value": "v1"}]}
-- before
SELECT u, k0, m0, m1 FROM pairs
-- after
SELECT
  u,
  k0,
  m0 * w AS m0,
  m1 * w AS m1
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0,
      m1
    FROM pairs
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    spread.m1,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CAST(FLOOR(1024 * (
        CAST(10 AS DOUBLE) / CAST(GREATEST(COUNT(*), 10) AS DOUBLE)
      )) AS INT) AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u = shares.u
) AS weighed

-- case: where keys are private a unit in too many groups is left out
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "max_groups": 10, "most_groups": 1000, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}, {"name": "m1", "counted": "UNITS"}]}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0 * w AS m0,
  w AS m1
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0
    FROM pairs
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CASE
        WHEN COUNT(*) > 1000
        THEN 0
        ELSE CAST(FLOOR(1024 * (
          CAST(10 AS DOUBLE) / CAST(GREATEST(COUNT(*), 10) AS DOUBLE)
        )) AS INT)
      END AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u = shares.u
) AS weighed

-- case: the unit of all rows without one is a unit like any other
-- facts: {"unit": {"column": "id", "null_is_one": true}, "keys": ["k0"], "spread": "WEIGH_L1", "max_groups": 10, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0 * w AS m0
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0
    FROM pairs
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CAST(FLOOR(1024 * (
        CAST(10 AS DOUBLE) / CAST(GREATEST(COUNT(*), 10) AS DOUBLE)
      )) AS INT) AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u IS NOT DISTINCT FROM shares.u
) AS weighed

-- case: sampled units are not weighed
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "SAMPLE", "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0
FROM pairs

-- case: by rows over all groups
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_ROWS", "max_rows": 7, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0 * w AS m0
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0
    FROM pairs
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CAST(FLOOR(1024 * (
        CAST(7 AS DOUBLE) / CAST(GREATEST(SUM(m0), 7) AS DOUBLE)
      )) AS INT) AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u = shares.u
) AS weighed

-- case: what could leave 64 bits added up is widened before
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "max_groups": 10, "max_rows": 5000, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}, {"name": "m1", "counted": "VALUES", "value": "v1"}]}
-- before
SELECT u, k0, m0, m1 FROM pairs
-- after
SELECT
  u,
  k0,
  CAST(m0 AS BIGINT) * w AS m0,
  m1 * w AS m1
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0,
      m1
    FROM pairs
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    spread.m1,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CAST(FLOOR(1024 * (
        CAST(10 AS DOUBLE) / CAST(GREATEST(COUNT(*), 10) AS DOUBLE)
      )) AS INT) AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u = shares.u
) AS weighed

-- case: a count times its weight has the bits that its cap asks for
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "max_rows": 100000000000000000, "max_groups": 10, "weight": 1024, "measures": [{"name": "m0", "counted": "ROWS"}, {"name": "m1", "counted": "UNITS", "value": "v1"}]}
-- before
SELECT u, k0, m0, m1 FROM "pairs"
-- after
SELECT
  u,
  k0,
  CAST(m0 AS INT128) * w AS m0,
  m1 * w AS m1
FROM (
  WITH spread AS MATERIALIZED (
    SELECT
      u,
      k0,
      m0,
      m1
    FROM "pairs"
  )
  SELECT
    spread.u,
    spread.k0,
    spread.m0,
    spread.m1,
    shares.w
  FROM spread
  JOIN (
    SELECT
      u,
      CAST(FLOOR(1024 * (
        CAST(10 AS DOUBLE) / CAST(GREATEST(COUNT(*), 10) AS DOUBLE)
      )) AS INT) AS w
    FROM spread
    GROUP BY
      u
      ) AS shares
    ON spread.u = shares.u
) AS weighed
