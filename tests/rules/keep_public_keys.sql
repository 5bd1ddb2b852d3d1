-- case: rows outside the domain are left out
-- facts: {"keys": ["k0"]}
-- before
SELECT "dept" AS k0, IN_DOMAIN("dept" IN ('CS', 'Econ')) FROM "staff"
-- after
SELECT
  "dept" AS k0
FROM "staff"
WHERE
  (
    "dept" IN ('CS', 'Econ')
  ) IS TRUE

-- case: every mark adds to the condition that is there
-- facts: {"keys": ["k0", "k1"]}
-- before
SELECT "dept" AS k0, "age" AS k1, IN_DOMAIN("dept" IN ('CS')), IN_DOMAIN("age" BETWEEN 18 AND 90) FROM "staff" WHERE "pay" > 3
-- after
SELECT
  "dept" AS k0,
  "age" AS k1
FROM "staff"
WHERE
  (
    "pay" > 3 AND (
      "dept" IN ('CS')
    ) IS TRUE
  ) AND "age" BETWEEN 18 AND 90

-- case: without a mark nothing changes
-- facts: {"keys": ["k0"]}
-- before
SELECT "city" AS k0 FROM "staff"
-- after
SELECT
  "city" AS k0
FROM "staff"
