-- case: a unit keeps max_groups of its groups
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "SAMPLE", "max_groups": 10, "salt": "staff"}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0
FROM (
  SELECT
    u,
    k0,
    m0,
    DENSE_RANK() OVER (PARTITION BY u ORDER BY HASH(HASH('staff', u, k0)), k0) AS g
  FROM (
    SELECT
      u,
      k0,
      m0
    FROM pairs
  ) AS spread
) AS ranked
WHERE
  g <= 10

-- case: a group is all of its keys
-- facts: {"unit": {"column": "id"}, "keys": ["k0", "k1"], "spread": "SAMPLE", "max_groups": 3, "salt": "staff"}
-- before
SELECT u, k0, k1, v0 FROM pairs
-- after
SELECT
  u,
  k0,
  k1,
  v0
FROM (
  SELECT
    u,
    k0,
    k1,
    v0,
    DENSE_RANK() OVER (PARTITION BY u ORDER BY HASH(HASH('staff', u, k0, k1)), k0, k1) AS g
  FROM (
    SELECT
      u,
      k0,
      k1,
      v0
    FROM pairs
  ) AS spread
) AS ranked
WHERE
  g <= 3

-- case: by the hash alone, ties are counted
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "SAMPLE", "max_groups": 10, "salt": "staff", "hash_only": true}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0,
  r - g AS t
FROM (
  SELECT
    u,
    k0,
    m0,
    DENSE_RANK() OVER (PARTITION BY u ORDER BY HASH(HASH('staff', u, k0))) AS g,
    ROW_NUMBER() OVER (PARTITION BY u ORDER BY HASH(HASH('staff', u, k0))) AS r
  FROM (
    SELECT
      u,
      k0,
      m0
    FROM pairs
  ) AS spread
) AS ranked
WHERE
  g <= 10

-- case: weighed units keep all
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "spread": "WEIGH_L1", "max_groups": 10}
-- before
SELECT u, k0, m0 FROM pairs
-- after
SELECT
  u,
  k0,
  m0
FROM pairs
