-- case: rows without an owner are dropped
-- facts: {"unit": {"column": "id"}, "keys": ["k0"]}
-- before
SELECT "dept" AS k0, GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  "id" AS u,
  "dept" AS k0,
  GRID("pay") AS v0
FROM "staff"
WHERE
  NOT "id" IS NULL

-- case: spellings that are one unit become one
-- facts: {"unit": {"column": "id", "trims": true, "lowers": true}}
-- before
SELECT GRID("pay") AS v0 FROM "staff" WHERE "pay" > 3
-- after
SELECT
  LOWER(TRIM("id")) AS u,
  GRID("pay") AS v0
FROM "staff"
WHERE
  "pay" > 3 AND NOT "id" IS NULL

-- case: a number is not spelled
-- facts: {"unit": {"column": "id", "trims": true, "lowers": true, "is_text": false}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  "id" AS u,
  GRID("pay") AS v0
FROM "staff"
WHERE
  NOT "id" IS NULL

-- case: all rows without an owner may be one unit
-- facts: {"unit": {"column": "id", "null_is_one": true}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  "id" AS u,
  GRID("pay") AS v0
FROM "staff"

-- case: where each row is a unit nothing changes
-- facts: {}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID("pay") AS v0
FROM "staff"
