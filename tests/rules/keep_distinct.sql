-- case: a unit keeps max_values of its values
-- facts: {"unit": {"column": "id"}, "keys": ["k0"], "max_values": 5, "salt": "staff", "measures": [{"name": "m0", "counted": "DISTINCT", "value": "v0"}]}
-- before
SELECT "id" AS u, "dept" AS k0, "drug" AS v0 FROM "visits"
-- after
SELECT
  u,
  k0,
  v0
FROM (
  SELECT
    u,
    k0,
    v0,
    ROW_NUMBER() OVER (PARTITION BY u, k0 ORDER BY HASH(HASH('staff', u, k0, v0)), v0) AS r
  FROM (
    SELECT DISTINCT
      u,
      k0,
      v0
    FROM (
      SELECT
        "id" AS u,
        "dept" AS k0,
        "drug" AS v0
      FROM "visits"
    ) AS owned
    WHERE
      NOT v0 IS NULL
  ) AS each
) AS ranked
WHERE
  r <= 5

-- case: a row has one value
-- facts: {"measures": [{"name": "m0", "counted": "DISTINCT", "value": "v0"}]}
-- before
SELECT "drug" AS v0 FROM "visits"
-- after
SELECT
  v0
FROM (
  SELECT
    "drug" AS v0
  FROM "visits"
) AS owned
WHERE
  NOT v0 IS NULL

-- case: by the value that is asked for
-- facts: {"unit": {"column": "id"}, "max_values": 5, "salt": "staff", "measures": [{"name": "m1", "counted": "DISTINCT", "value": "v1"}]}
-- before
SELECT "id" AS u, "drug" AS v1 FROM "visits"
-- after
SELECT
  u,
  v1
FROM (
  SELECT
    u,
    v1,
    ROW_NUMBER() OVER (PARTITION BY u ORDER BY HASH(HASH('staff', u, v1)), v1) AS r
  FROM (
    SELECT DISTINCT
      u,
      v1
    FROM (
      SELECT
        "id" AS u,
        "drug" AS v1
      FROM "visits"
    ) AS owned
    WHERE
      NOT v1 IS NULL
  ) AS each
) AS ranked
WHERE
  r <= 5
