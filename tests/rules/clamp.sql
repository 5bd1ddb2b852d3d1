-- case: a double is held between its bounds, NaN is its own case
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "0.01", "kind": "number", "is_float": true, "sql_type": "double"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN "pay" < 0
      THEN 0
      WHEN "pay" > 9
      THEN CASE WHEN ISNAN("pay") THEN 0 ELSE 9 END
      ELSE "pay"
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: a whole number has no NaN
-- facts: {"grids": {"pay": {"lower": "-5", "upper": "9", "step": "1", "kind": "integer", "sql_type": "integer"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(CASE WHEN "pay" < -5 THEN -5 WHEN "pay" > 9 THEN 9 ELSE "pay" END, "pay") AS v0
FROM "staff"

-- case: NULL counts as what the policy says
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "1", "kind": "integer", "null": "3", "sql_type": "bigint"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN "pay" IS NULL
      THEN 3
      WHEN "pay" < 0
      THEN 0
      WHEN "pay" > 9
      THEN 9
      ELSE "pay"
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: a decimal is read as a double, which every bound fits
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "0.5", "kind": "number", "sql_type": "decimal(4,3)"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN CAST("pay" AS DOUBLE) < 0
      THEN 0
      WHEN CAST("pay" AS DOUBLE) > 9
      THEN 9
      ELSE CAST("pay" AS DOUBLE)
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: dates are held between dates
-- facts: {"grids": {"born": {"lower": "0", "upper": "31", "step": "1", "kind": "date", "sql_type": "date"}}}
-- before
SELECT GRID("born") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN "born" < CAST('1970-01-01' AS DATE)
      THEN CAST('1970-01-01' AS DATE)
      WHEN "born" > CAST('1970-02-01' AS DATE)
      THEN CAST('1970-02-01' AS DATE)
      ELSE "born"
    END,
    "born"
  ) AS v0
FROM "staff"

-- case: every mark is replaced, also in conditions
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "1", "kind": "integer", "sql_type": "integer"}}}
-- before
SELECT GRID("pay") * GRID("pay") AS v0 FROM "staff" WHERE GRID("pay") > 3
-- after
SELECT
  GRID(CASE WHEN "pay" < 0 THEN 0 WHEN "pay" > 9 THEN 9 ELSE "pay" END, "pay") * GRID(CASE WHEN "pay" < 0 THEN 0 WHEN "pay" > 9 THEN 9 ELSE "pay" END, "pay") AS v0
FROM "staff"
WHERE
  GRID(CASE WHEN "pay" < 0 THEN 0 WHEN "pay" > 9 THEN 9 ELSE "pay" END, "pay") > 3

-- case: a decimal whose cells are whole steps is clamped in its own type
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "0.01", "kind": "number", "sql_type": "decimal(15,2)"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN "pay" < CAST('0.00' AS DECIMAL(15, 2))
      THEN CAST('0.00' AS DECIMAL(15, 2))
      WHEN "pay" > CAST('9.00' AS DECIMAL(15, 2))
      THEN CAST('9.00' AS DECIMAL(15, 2))
      ELSE "pay"
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: a moment stays one, between its bounds
-- facts: {"grids": {"born": {"lower": "0", "upper": "31", "step": "1", "kind": "date", "sql_type": "date"}}}
-- before
SELECT MOMENT("born") AS v0 FROM "staff"
-- after
SELECT
  CASE
    WHEN "born" < CAST('1970-01-01' AS DATE)
    THEN CAST('1970-01-01' AS DATE)
    WHEN "born" > CAST('1970-02-01' AS DATE)
    THEN CAST('1970-02-01' AS DATE)
    ELSE "born"
  END AS v0
FROM "staff"

-- case: whole steps are held between whole steps
-- facts: {"grids": {"pay": {"lower": "-1", "upper": "9", "step": "0.01", "kind": "number", "sql_type": "steps(1/100)"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(CASE WHEN "pay" < -100 THEN -100 WHEN "pay" > 900 THEN 900 ELSE "pay" END, "pay") AS v0
FROM "staff"

-- case: 128 bits beside bounds that are not whole are a double
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9.5", "step": "0.5", "kind": "number", "sql_type": "hugeint"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN CAST("pay" AS DOUBLE) < 0
      THEN 0
      WHEN CAST("pay" AS DOUBLE) > 9.5
      THEN 9.5
      ELSE CAST("pay" AS DOUBLE)
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: 128 bits beside whole bounds are themselves
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "1", "kind": "number", "sql_type": "hugeint"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(CASE WHEN "pay" < 0 THEN 0 WHEN "pay" > 9 THEN 9 ELSE "pay" END, "pay") AS v0
FROM "staff"

-- case: a decimal that does not hold its own bounds is read as a double
-- facts: {"grids": {"pay": {"lower": "0", "upper": "100", "step": "0.01", "kind": "number", "sql_type": "decimal(4,2)"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN CAST("pay" AS DOUBLE) < 0
      THEN 0
      WHEN CAST("pay" AS DOUBLE) > 100
      THEN 100
      ELSE CAST("pay" AS DOUBLE)
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: a numeric that does not hold what NaN counts as is read as a double
-- facts: {"grids": {"pay": {"lower": "0", "upper": "9", "step": "0.01", "kind": "number", "is_float": true, "nan": "4.505", "sql_type": "numeric(15,2)"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN CAST("pay" AS DOUBLE) < 0
      THEN 0
      WHEN CAST("pay" AS DOUBLE) > 9
      THEN CASE WHEN ISNAN(CAST("pay" AS DOUBLE)) THEN 4.505 ELSE 9 END
      ELSE CAST("pay" AS DOUBLE)
    END,
    "pay"
  ) AS v0
FROM "staff"

-- case: beside doubles an end beyond 64 bits is one
-- facts: {"grids": {"pay": {"lower": "0", "upper": "18446744073709551616", "step": "1", "kind": "number", "sql_type": "decimal(38,3)"}}}
-- before
SELECT GRID("pay") AS v0 FROM "staff"
-- after
SELECT
  GRID(
    CASE
      WHEN CAST("pay" AS DOUBLE) < 0
      THEN 0
      WHEN CAST("pay" AS DOUBLE) > CAST(1.8446744073709552e+19 AS DOUBLE)
      THEN CAST(1.8446744073709552e+19 AS DOUBLE)
      ELSE CAST("pay" AS DOUBLE)
    END,
    "pay"
  ) AS v0
FROM "staff"
