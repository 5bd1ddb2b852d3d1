-- case: a double is rounded to its step
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "0.01", "kind": "number", "is_float": true, "sql_type": "double"}}}
-- before
SELECT GRID(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CAST(FLOOR((
    CAST(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END AS DOUBLE)
  ) * 100 + 0.5) AS BIGINT) AS v0
FROM "staff"

-- case: a whole number is its own step
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "1", "kind": "integer", "sql_type": "integer"}}}
-- before
SELECT GRID(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CAST(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END AS BIGINT) AS v0
FROM "staff"

-- case: a step wider than one divides
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "3", "kind": "number", "sql_type": "double"}}}
-- before
SELECT GRID(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CAST(FLOOR((
    CAST(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END AS DOUBLE)
  ) / 3 + 0.5) AS BIGINT) AS v0
FROM "staff"

-- case: a date is a number of days
-- facts: {"grids": {"born": {"lower": "0", "upper": "31", "step": "1", "kind": "date", "sql_type": "date"}}}
-- before
SELECT GRID(CASE WHEN "born" IS NULL THEN NULL ELSE "born" END, "born") AS v0 FROM "staff"
-- after
SELECT
  CAST((
    CASE WHEN "born" IS NULL THEN NULL ELSE "born" END
  ) - CAST('1970-01-01' AS DATE) AS BIGINT) AS v0
FROM "staff"

-- case: a timestamp is a number of seconds
-- facts: {"grids": {"seen": {"lower": "0", "upper": "86400", "step": "60", "kind": "timestamp", "sql_type": "timestamp"}}}
-- before
SELECT GRID(CASE WHEN "seen" IS NULL THEN NULL ELSE "seen" END, "seen") AS v0 FROM "staff"
-- after
SELECT
  CAST(FLOOR(
    (
      FLOOR(EXTRACT(EPOCH FROM CASE WHEN "seen" IS NULL THEN NULL ELSE "seen" END))
    ) / 60 + 0.5
  ) AS BIGINT) AS v0
FROM "staff"

-- case: where doubles are coarser than steps the steps are held too
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9007199254740993", "step": "1", "kind": "number", "sql_type": "double"}}}
-- before
SELECT GRID(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CASE
    WHEN CAST(FLOOR((
      CAST(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END AS DOUBLE)
    ) + 0.5) AS BIGINT) < 0
    THEN 0
    WHEN CAST(FLOOR((
      CAST(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END AS DOUBLE)
    ) + 0.5) AS BIGINT) > 9007199254740993
    THEN 9007199254740993
    ELSE CAST(FLOOR((
      CAST(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END AS DOUBLE)
    ) + 0.5) AS BIGINT)
  END AS v0
FROM "staff"

-- case: a decimal whose cells are whole steps becomes no double
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "0.01", "kind": "number", "sql_type": "decimal(15,2)"}}}
-- before
SELECT GRID(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CAST((
    CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END
  ) * 100 AS BIGINT) AS v0
FROM "staff"

-- case: a decimal finer than steps of one is rounded as a decimal
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "1", "kind": "number", "sql_type": "decimal(15,2)"}}}
-- before
SELECT GRID(CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CAST(FLOOR((
    CASE WHEN "pay" < 0 THEN 0 ELSE "pay" END
  ) + 0.5) AS BIGINT) AS v0
FROM "staff"

-- case: what is whole steps already stays as it is
-- facts: {"grids": {"pay": {"lower": "-1", "upper": "9", "step": "0.01", "kind": "number", "sql_type": "steps(1/100)"}}}
-- before
SELECT GRID(CASE WHEN "pay" < -100 THEN -100 ELSE "pay" END, "pay") AS v0 FROM "staff"
-- after
SELECT
  CAST(CASE WHEN "pay" < -100 THEN -100 ELSE "pay" END AS BIGINT) AS v0
FROM "staff"
