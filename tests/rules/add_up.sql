-- case: over units, in each group
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  k0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m0), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m0
FROM (
  SELECT
    u,
    k0,
    m0
  FROM pairs
) AS bounded
GROUP BY
  k0

-- case: ties are added up beside
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "SAMPLE", "hash_only": true, "measures": [{"name": "m0", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0, t FROM ranked
-- after
SELECT
  k0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m0), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m0,
  CAST(GREATEST(LEAST(COALESCE(SUM(t), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS t
FROM (
  SELECT
    u,
    k0,
    m0,
    t
  FROM ranked
) AS bounded
GROUP BY
  k0

-- case: units that are there are rows, and a value's are not
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "SAMPLE", "measures": [{"name": "m0", "counted": "UNITS"}, {"name": "m1", "counted": "UNITS", "value": "v1"}]}
-- before
SELECT u, k0, m0, m1 FROM ranked
-- after
SELECT
  k0,
  COUNT(*) AS m0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m1), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m1
FROM (
  SELECT
    u,
    k0,
    m0,
    m1
  FROM ranked
) AS bounded
GROUP BY
  k0

-- case: a private key of units that weigh nothing is left out
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "most_groups": 1000, "measures": [{"name": "m0", "counted": "VALUES", "value": "v0"}, {"name": "m1", "counted": "UNITS"}]}
-- before
SELECT u, k0, m0, m1 FROM weighed
-- after
SELECT
  k0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m0), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m1), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m1
FROM (
  SELECT
    u,
    k0,
    m0,
    m1
  FROM weighed
) AS bounded
GROUP BY
  k0
HAVING
  SUM(m1) > 0

-- case: rows as they are, where each is a unit
-- facts: {"measures": [{"name": "m0", "counted": "ROWS"}, {"name": "m1", "counted": "ROWS", "value": "v1"}, {"name": "m2", "counted": "VALUES", "value": "v2"}]}
-- before
SELECT v1, v2 FROM "staff"
-- after
SELECT
  COUNT(*) AS m0,
  COUNT(v1) AS m1,
  CAST(GREATEST(LEAST(COALESCE(SUM(v2), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m2
FROM (
  SELECT
    v1,
    v2
  FROM "staff"
) AS bounded

-- case: a sum that may need more than 64 bits has 128
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "measures": [{"name": "m0", "counted": "VALUES", "value": "v0", "wide": true}, {"name": "m1", "counted": "ROWS"}]}
-- before
SELECT u, k0, m0, m1 FROM pairs
-- after
SELECT
  k0,
  CAST(COALESCE(SUM(m0), 0) AS INT128) AS m0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m1), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m1
FROM (
  SELECT
    u,
    k0,
    m0,
    m1
  FROM pairs
) AS bounded
GROUP BY
  k0

-- case: a public key of units that are weighed stays
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "measures": [{"name": "m0", "counted": "UNITS"}]}
-- before
SELECT u, k0, m0 FROM "pairs"
-- after
SELECT
  k0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m0), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m0
FROM (
  SELECT
    u,
    k0,
    m0
  FROM "pairs"
) AS bounded
GROUP BY
  k0

-- case: a private key is left out by those who are in it, whatever their rows hold
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "most_groups": 1000, "measures": [{"name": "m0", "counted": "ROWS", "value": "v0"}, {"name": "m1", "counted": "UNITS"}]}
-- before
SELECT u, k0, m0, m1 FROM "pairs"
-- after
SELECT
  k0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m0), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m0,
  CAST(GREATEST(LEAST(COALESCE(SUM(m1), 0), 9223372036854775807), -9223372036854775808) AS BIGINT) AS m1
FROM (
  SELECT
    u,
    k0,
    m0,
    m1
  FROM "pairs"
) AS bounded
GROUP BY
  k0
HAVING
  SUM(m1) > 0
