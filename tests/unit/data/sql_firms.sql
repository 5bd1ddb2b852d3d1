-- grocer: analyst, monthly revenue with EXTRACT
SELECT EXTRACT(YEAR FROM bought_at) AS yr, EXTRACT(MONTH FROM bought_at) AS mo, SUM(total) AS revenue, COUNT(*) AS receipts
FROM receipts GROUP BY EXTRACT(YEAR FROM bought_at), EXTRACT(MONTH FROM bought_at) ORDER BY yr, mo

-- grocer: analyst, year over year growth by month
WITH m AS (SELECT DATE_TRUNC('month', bought_at)::date AS month, SUM(total) AS revenue FROM receipts GROUP BY 1)
SELECT cur.month, cur.revenue, ROUND(100.0 * (cur.revenue - prev.revenue) / prev.revenue, 1) AS yoy_pct
FROM m cur JOIN m prev ON prev.month = (cur.month - INTERVAL '1 year')::date ORDER BY cur.month

-- grocer: analyst, moving 7-day average
SELECT d, n, AVG(n) OVER (ORDER BY d ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma7
FROM (SELECT bought_at::date AS d, COUNT(*) AS n FROM receipts WHERE bought_at >= '2024-01-01' AND bought_at < '2024-03-01' GROUP BY bought_at::date) x
ORDER BY d

-- grocer: analyst, calendar left join
-- plain: WITH cal AS (SELECT generate_series::date AS d FROM generate_series(DATE '2024-02-01', DATE '2024-02-29', INTERVAL '1 day')), daily AS (SELECT bought_at::date AS d, SUM(total) AS revenue FROM receipts GROUP BY 1) SELECT cal.d, COALESCE(daily.revenue, 0) AS revenue FROM cal LEFT JOIN daily ON daily.d = cal.d ORDER BY cal.d
WITH cal AS (SELECT generate_series::date AS d FROM generate_series('2024-02-01'::date, '2024-02-29'::date, '1 day'::interval)),
daily AS (SELECT bought_at::date AS d, SUM(total) AS revenue FROM receipts GROUP BY 1)
SELECT cal.d, COALESCE(daily.revenue, 0) AS revenue FROM cal LEFT JOIN daily ON daily.d = cal.d ORDER BY cal.d

-- grocer: analyst, calendar of months with gs alias
-- plain: SELECT gs.m::date AS month, COALESCE(j.new_members, 0) AS new_members FROM generate_series(TIMESTAMP '2023-01-01', TIMESTAMP '2023-12-01', INTERVAL '1 month') AS gs(m) LEFT JOIN (SELECT date_trunc('month', joined_on) AS m, COUNT(*) AS new_members FROM members GROUP BY 1) j ON j.m = gs.m ORDER BY 1
SELECT gs.m::date AS month, COALESCE(j.new_members, 0) AS new_members
FROM generate_series(timestamp '2023-01-01', timestamp '2023-12-01', interval '1 month') AS gs(m)
LEFT JOIN (SELECT date_trunc('month', joined_on) AS m, COUNT(*) AS new_members FROM members GROUP BY 1) j ON j.m = gs.m ORDER BY 1

-- grocer: analyst, cohort retention by month of joining
WITH cohort AS (SELECT member_id, DATE_TRUNC('month', joined_on) AS cohort_month FROM members WHERE joined_on >= DATE '2023-01-01' AND joined_on < DATE '2023-07-01'),
activity AS (SELECT DISTINCT r.member_id, DATE_TRUNC('month', r.bought_at) AS active_month FROM receipts r)
SELECT c.cohort_month, DATE_DIFF('month', c.cohort_month, a.active_month) AS month_no, COUNT(DISTINCT c.member_id) AS members
FROM cohort c JOIN activity a ON a.member_id = c.member_id
WHERE a.active_month >= c.cohort_month GROUP BY 1, 2 ORDER BY 1, 2

-- grocer: analyst, cohort retention in Postgres arithmetic
-- plain: SELECT date_trunc('quarter', m.joined_on) AS cohort, (EXTRACT(YEAR FROM r.bought_at) - EXTRACT(YEAR FROM m.joined_on)) * 4 + EXTRACT(QUARTER FROM r.bought_at) - EXTRACT(QUARTER FROM m.joined_on) AS q_no, COUNT(DISTINCT m.member_id) AS active FROM members m JOIN receipts r ON r.member_id = m.member_id WHERE r.bought_at >= m.joined_on GROUP BY 1, 2
SELECT date_trunc('quarter', m.joined_on) AS cohort,
       (date_part('year', r.bought_at) - date_part('year', m.joined_on)) * 4 + date_part('quarter', r.bought_at) - date_part('quarter', m.joined_on) AS q_no,
       COUNT(DISTINCT m.member_id) AS active
FROM members m JOIN receipts r USING (member_id) WHERE r.bought_at >= m.joined_on GROUP BY 1, 2 ORDER BY 1, 2

-- grocer: analyst, repeat purchase gap with LAG
SELECT AVG(gap) AS avg_days_between FROM (
  SELECT member_id, bought_at::date - LAG(bought_at::date) OVER (PARTITION BY member_id ORDER BY bought_at) AS gap FROM receipts) g
WHERE gap IS NOT NULL

-- grocer: analyst, gap buckets with width_bucket
-- plain: SELECT CASE WHEN gap < 0 THEN 0 WHEN gap >= 100 THEN 11 ELSE CAST(FLOOR(gap / 10.0) AS INT) + 1 END AS bucket, COUNT(*) AS n FROM (SELECT bought_at::date - LAG(bought_at::date) OVER (PARTITION BY member_id ORDER BY bought_at) AS gap FROM receipts) g WHERE gap IS NOT NULL GROUP BY 1
SELECT width_bucket(gap, 0, 100, 10) AS bucket, COUNT(*) AS n FROM (
  SELECT bought_at::date - LAG(bought_at::date) OVER (PARTITION BY member_id ORDER BY bought_at) AS gap FROM receipts) g
WHERE gap IS NOT NULL GROUP BY bucket ORDER BY bucket

-- grocer: analyst, basket sizes
SELECT basket_size, COUNT(*) AS baskets FROM (SELECT r.receipt_id, SUM(i.qty) AS basket_size FROM receipts r JOIN items i ON i.receipt_id = r.receipt_id GROUP BY r.receipt_id) b
GROUP BY basket_size ORDER BY basket_size

-- grocer: analyst, average basket by tier
SELECT m.tier, AVG(b.lines) AS avg_lines, AVG(b.value) AS avg_value
FROM members m JOIN receipts r ON m.member_id = r.member_id
JOIN (SELECT receipt_id, COUNT(*) AS lines, SUM(qty * price * (1 - discount)) AS value FROM items GROUP BY receipt_id) b ON b.receipt_id = r.receipt_id
GROUP BY m.tier ORDER BY m.tier

-- grocer: analyst, RFM segments with NTILE
-- refused: it would look at the rows of several units
SELECT segment, COUNT(*) FROM (
  SELECT member_id, NTILE(5) OVER (ORDER BY MAX(bought_at)) || '-' || NTILE(5) OVER (ORDER BY SUM(total)) AS segment FROM receipts GROUP BY member_id) s GROUP BY segment

-- grocer: analyst, RFM segments with thresholds
WITH rfm AS (SELECT member_id, MAX(bought_at)::date AS last_day, COUNT(*) AS f, SUM(total) AS m FROM receipts GROUP BY member_id)
SELECT CASE WHEN last_day >= DATE '2024-10-01' AND f >= 9 THEN 'champion' WHEN last_day >= DATE '2024-10-01' THEN 'recent' WHEN f >= 9 THEN 'at risk' ELSE 'lost' END AS segment,
       COUNT(*) AS members, ROUND(AVG(m), 2) AS avg_spend, SUM(m) AS spend
FROM rfm GROUP BY 1 ORDER BY members DESC

-- grocer: analyst, churned members
SELECT m.tier, COUNT(*) AS members, COUNT(*) FILTER (WHERE l.last_at IS NULL OR l.last_at < timestamp '2024-07-01') AS churned
FROM members m LEFT JOIN (SELECT member_id, MAX(bought_at) AS last_at FROM receipts GROUP BY member_id) l ON l.member_id = m.member_id
GROUP BY m.tier

-- grocer: analyst, Pareto share of products
WITH sales AS (SELECT p.title, SUM(i.qty * i.price) AS revenue FROM items i JOIN products p ON p.sku = i.sku GROUP BY p.title)
SELECT title, revenue, SUM(revenue) OVER (ORDER BY revenue DESC) / SUM(revenue) OVER () AS cum_share FROM sales ORDER BY revenue DESC

-- grocer: analyst, NTILE of answers
SELECT name, revenue, NTILE(3) OVER (ORDER BY revenue DESC) AS tercile FROM (
  SELECT s.name, SUM(r.total) AS revenue FROM receipts r JOIN shops s ON s.shop_id = r.shop_id GROUP BY s.name) t

-- grocer: analyst, pivot with CASE
SELECT s.region,
       SUM(CASE WHEN r.payment = 'card' THEN r.total ELSE 0 END) AS card,
       SUM(CASE WHEN r.payment = 'cash' THEN r.total ELSE 0 END) AS cash,
       SUM(CASE WHEN r.payment = 'app' THEN r.total END) AS app
FROM receipts r JOIN shops s USING (shop_id) GROUP BY s.region

-- grocer: analyst, string_agg on answers
-- plain: SELECT city, string_agg(name, ', ' ORDER BY name) AS shops FROM (SELECT s.city, s.name, COUNT(*) AS n FROM receipts r JOIN shops s ON s.shop_id = r.shop_id GROUP BY s.city, s.name HAVING COUNT(*) > 100) t GROUP BY city
SELECT city, string_agg(name, ', ' ORDER BY name) AS shops FROM (
  SELECT s.city, s.name, COUNT(*) AS n FROM receipts r JOIN shops s ON s.shop_id = r.shop_id GROUP BY s.city, s.name HAVING COUNT(*) > 100) t
GROUP BY city

-- grocer: analyst, DISTINCT ON best shop of a region
SELECT DISTINCT ON (region) region, name, revenue FROM (
  SELECT s.region, s.name, SUM(r.total) AS revenue FROM receipts r JOIN shops s ON s.shop_id = r.shop_id GROUP BY s.region, s.name) t
ORDER BY region, revenue DESC

-- grocer: analyst, rollup with grouping labels
SELECT CASE WHEN GROUPING(m.tier) = 1 THEN 'All tiers' ELSE m.tier END AS tier, CASE WHEN GROUPING(r.payment) = 1 THEN 'All' ELSE r.payment END AS payment,
       COUNT(*) AS n, SUM(r.total) AS revenue
FROM receipts r JOIN members m ON m.member_id = r.member_id GROUP BY ROLLUP (m.tier, r.payment) ORDER BY 1, 2

-- grocer: analyst, coupons case-insensitively
SELECT COUNT(*) AS redemptions FROM receipts WHERE coupon ILIKE 'spring%'

-- grocer: analyst, SIMILAR TO
SELECT COUNT(*) AS n FROM receipts WHERE coupon SIMILAR TO '(WELCOME|spring)[0-9]+'

-- grocer: analyst, coupon spelled one way
SELECT UPPER(coupon) AS code, COUNT(*) AS used, SUM(total) AS revenue FROM receipts WHERE coupon IS NOT NULL GROUP BY UPPER(coupon) HAVING COUNT(*) >= 10 ORDER BY used DESC

-- grocer: analyst, median basket per payment
-- about: 0.01
SELECT payment, percentile_cont(0.5) WITHIN GROUP (ORDER BY total) AS median_total, percentile_disc(0.9) WITHIN GROUP (ORDER BY total) AS p90 FROM receipts GROUP BY payment

-- grocer: analyst, age bands with birth year
SELECT CASE WHEN 2024 - birth_year < 30 THEN '<30' WHEN 2024 - birth_year BETWEEN 30 AND 49 THEN '30-49' WHEN 2024 - birth_year BETWEEN 50 AND 64 THEN '50-64' ELSE '65+' END AS age_band,
       newsletter, COUNT(*) AS members FROM members GROUP BY 1, 2 ORDER BY 1, 2

-- grocer: analyst, first purchase within 30 days of joining
SELECT m.tier, AVG(CASE WHEN f.first_at < m.joined_on + INTERVAL '30 days' THEN 1.0 ELSE 0 END) AS activated_30d
FROM members m JOIN (SELECT member_id, MIN(bought_at) AS first_at FROM receipts GROUP BY member_id) f ON f.member_id = m.member_id
WHERE m.joined_on >= '2023-01-01' GROUP BY m.tier

-- grocer: analyst, sales around holidays
SELECT h.label, h.day, COUNT(*) AS receipts, SUM(r.total) AS revenue FROM receipts r JOIN holidays h ON r.bought_at::date BETWEEN h.day - 3 AND h.day + 3
GROUP BY h.label, h.day ORDER BY h.day

-- grocer: analyst, discount against list price
SELECT p.brand, AVG(p.list_price - i.price) AS avg_below_list, SUM(i.qty) AS units FROM items i INNER JOIN products p ON i.sku = p.sku GROUP BY p.brand ORDER BY p.brand

-- grocer: analyst, customers with two categories in one basket
SELECT COUNT(*) AS baskets FROM (
  SELECT i.receipt_id FROM items i JOIN products p ON p.sku = i.sku GROUP BY i.receipt_id HAVING COUNT(DISTINCT p.category) >= 2) b

-- grocer: analyst, bread and cheese together
SELECT COUNT(DISTINCT a.receipt_id) AS together FROM items a JOIN items b ON a.receipt_id = b.receipt_id AND a.sku = 'B-100' AND b.sku = 'C-300'

-- grocer: analyst, attach rate
SELECT COUNT(DISTINCT CASE WHEN p.category = 'bakery' THEN i.receipt_id END)::numeric / COUNT(DISTINCT i.receipt_id) AS attach FROM items i JOIN products p ON p.sku = i.sku

-- grocer: BigQuery, SAFE_DIVIDE and backticks
-- plain: SELECT payment, COUNT(CASE WHEN coupon IS NOT NULL THEN 1 END) / NULLIF(COUNT(*), 0) AS coupon_rate, COUNT(CASE WHEN total > 100 THEN 1 END) AS big FROM receipts GROUP BY payment
SELECT `payment`, SAFE_DIVIDE(COUNTIF(coupon IS NOT NULL), COUNT(*)) AS coupon_rate, COUNTIF(total > 100) AS big FROM `receipts` GROUP BY `payment`

-- grocer: BigQuery, DATE and FORMAT_DATE
-- plain: SELECT STRFTIME(bought_at::date, '%Y-%m') AS ym, COUNT(*) AS n FROM receipts WHERE bought_at::date BETWEEN '2024-01-01' AND '2024-06-30' GROUP BY 1
SELECT FORMAT_DATE('%Y-%m', DATE(bought_at)) AS ym, COUNT(*) AS n FROM receipts WHERE DATE(bought_at) BETWEEN '2024-01-01' AND '2024-06-30' GROUP BY 1 ORDER BY 1

-- grocer: BigQuery, TIMESTAMP_TRUNC and APPROX_COUNT_DISTINCT
-- plain: SELECT DATE_TRUNC('month', bought_at) AS month, COUNT(DISTINCT member_id) AS actives FROM receipts GROUP BY 1
SELECT TIMESTAMP_TRUNC(bought_at, MONTH) AS month, APPROX_COUNT_DISTINCT(member_id) AS actives FROM receipts GROUP BY month ORDER BY month

-- grocer: Snowflake, IFF DATEADD and DATEDIFF
-- plain: SELECT CASE WHEN total >= 100 THEN 'large' ELSE 'small' END AS size, COUNT(*) AS n, AVG(DATE_DIFF('day', m.joined_on, r.bought_at)) AS tenure FROM receipts r JOIN members m ON m.member_id = r.member_id WHERE r.bought_at >= TIMESTAMP '2024-10-02' GROUP BY 1
SELECT IFF(r.total >= 100, 'large', 'small') AS size, COUNT(*) AS n, AVG(DATEDIFF(day, m.joined_on, r.bought_at)) AS tenure
FROM receipts r JOIN members m ON m.member_id = r.member_id WHERE r.bought_at >= DATEADD(day, -90, '2024-12-31'::date) GROUP BY 1

-- grocer: Snowflake, QUALIFY over answers
SELECT s.region, s.name, SUM(r.total) AS revenue FROM receipts r JOIN shops s ON s.shop_id = r.shop_id
GROUP BY s.region, s.name QUALIFY ROW_NUMBER() OVER (PARTITION BY s.region ORDER BY SUM(r.total) DESC) = 1

-- grocer: Snowflake, first receipt of each member
SELECT payment, COUNT(*) AS first_buys FROM (SELECT member_id, payment FROM receipts QUALIFY ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY bought_at) = 1) f GROUP BY payment

-- grocer: Snowflake, NVL and TO_CHAR and DIV0
-- plain: SELECT COALESCE(coupon, 'none') AS coupon, COUNT(*) AS n, SUM(total) / NULLIF(COUNT(*), 0) AS aov FROM receipts GROUP BY 1
SELECT NVL(coupon, 'none') AS coupon, COUNT(*) AS n, DIV0(SUM(total), COUNT(*)) AS aov FROM receipts GROUP BY 1

-- grocer: Metabase, nested source with limit
SELECT "source"."payment" AS "payment", COUNT(*) AS "count", SUM("source"."total") AS "sum"
FROM (SELECT "receipts"."receipt_id" AS "receipt_id", "receipts"."payment" AS "payment", "receipts"."total" AS "total" FROM "receipts" WHERE "receipts"."total" > 0) "source"
GROUP BY "source"."payment" ORDER BY "source"."payment" ASC LIMIT 1001

-- grocer: Metabase, SELECT star source
SELECT * FROM (SELECT "source"."tier" AS "tier", COUNT(*) AS "count" FROM (SELECT * FROM "members") "source" GROUP BY "source"."tier") "source" WHERE "source"."count" > 50 ORDER BY "source"."count" DESC LIMIT 1048575

-- grocer: Metabase, date trunc cast with relative window
-- plain: SELECT DATE_TRUNC('week', bought_at) AS w, COUNT(*) AS c FROM receipts WHERE bought_at >= TIMESTAMP '2024-06-01' AND bought_at < TIMESTAMP '2024-09-01' GROUP BY 1
SELECT CAST(DATE_TRUNC('week', "receipts"."bought_at") AS date) AS "bought_at", COUNT(*) AS "count" FROM "receipts"
WHERE ("receipts"."bought_at" >= timestamp with time zone '2024-06-01 00:00:00.000Z') AND ("receipts"."bought_at" < timestamp with time zone '2024-09-01 00:00:00.000Z')
GROUP BY CAST(DATE_TRUNC('week', "receipts"."bought_at") AS date) ORDER BY CAST(DATE_TRUNC('week', "receipts"."bought_at") AS date) ASC

-- grocer: Metabase, join with aliased tables and binning
-- plain: SELECT FLOOR(total / 20.0) * 20.0 AS total, COUNT(*) AS count FROM receipts GROUP BY 1
SELECT (FLOOR(("public"."receipts"."total" / 20.0)) * 20.0) AS "total", COUNT(*) AS "count" FROM "public"."receipts"
GROUP BY FLOOR(("public"."receipts"."total" / 20.0)) * 20.0 ORDER BY FLOOR(("public"."receipts"."total" / 20.0)) * 20.0 ASC

-- grocer: Metabase, left join products with qualified star alias
SELECT "Products"."category" AS "Products__category", SUM("items"."qty") AS "sum", AVG("items"."price") AS "avg"
FROM "items" LEFT JOIN "products" AS "Products" ON "items"."sku" = "Products"."sku"
GROUP BY "Products"."category" ORDER BY "sum" DESC, "Products"."category" ASC

-- grocer: Tableau, sum as sum ok with HAVING
SELECT "shops"."region" AS "region", SUM("receipts"."total") AS "sum:total:ok", COUNT(DISTINCT "receipts"."member_id") AS "ctd:member_id:ok"
FROM "receipts" INNER JOIN "shops" ON ("receipts"."shop_id" = "shops"."shop_id") GROUP BY 1 HAVING (COUNT(1) > 0)

-- grocer: Tableau, custom SQL wrapper
-- plain: SELECT payment AS p, CAST(EXTRACT(YEAR FROM bought_at) AS INT) AS y, SUM(total) AS s FROM receipts WHERE total >= 1.0 AND total <= 179.99 GROUP BY 1, 2
SELECT "Custom SQL Query"."payment" AS "payment", CAST(EXTRACT(YEAR FROM "Custom SQL Query"."bought_at") AS INTEGER) AS "yr:bought_at:ok", SUM("Custom SQL Query"."total") AS "sum:total:ok"
FROM (SELECT * FROM receipts) "Custom SQL Query"
WHERE (("Custom SQL Query"."total" >= 1.0) AND ("Custom SQL Query"."total" <= 179.99)) GROUP BY 1, 2

-- grocer: Tableau, fixed level of detail
-- plain: SELECT COUNT(*) AS members, AVG(spend) AS avg_spend FROM (SELECT member_id, SUM(total) AS spend FROM receipts GROUP BY member_id) t
SELECT COUNT(DISTINCT "t0"."member_id") AS "members", AVG("t0"."spend") AS "avg_spend" FROM (SELECT "receipts"."member_id" AS "member_id", SUM("receipts"."total") AS "spend" FROM "receipts" GROUP BY 1) "t0"

-- grocer: Power BI, folded query
-- plain: SELECT payment, SUM(total) AS a0, COUNT(*) AS c1 FROM receipts GROUP BY payment
select "rows"."payment" as "payment", sum("rows"."total") as "a0", count(1) as "c1"
from (select "_"."receipt_id", "_"."payment", "_"."total" from "public"."receipts" "_") "rows" group by "payment" order by "payment" limit 1000001

-- grocer: Power BI, TOP over answers with IS NOT NULL
-- plain: SELECT tier, COUNT(*) AS a0 FROM members GROUP BY tier
SELECT TOP (501) "t0"."tier", "t0"."a0" FROM (SELECT "members"."tier", COUNT("members"."member_id") AS "a0" FROM "members" GROUP BY "members"."tier") AS "t0" WHERE NOT ("t0"."a0" IS NULL) ORDER BY "t0"."tier"

-- grocer: Looker, COALESCE sum and TO_CHAR
-- plain: SELECT STRFTIME(bought_at, '%Y-%m') AS ym, COALESCE(SUM(total), 0) AS t, COUNT(*) AS n FROM receipts WHERE bought_at >= '2023-01-01' AND bought_at < '2024-01-01' GROUP BY 1
SELECT (TO_CHAR(DATE_TRUNC('month', receipts.bought_at ), 'YYYY-MM')) AS "receipts.bought_month",
       COALESCE(SUM(receipts.total ), 0) AS "receipts.total_revenue", COUNT(*) AS "receipts.count"
FROM receipts AS receipts
WHERE ((( receipts.bought_at ) >= ((TIMESTAMP '2023-01-01')) AND ( receipts.bought_at ) < ((TIMESTAMP '2024-01-01'))))
GROUP BY (DATE_TRUNC('month', receipts.bought_at )) ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY

-- grocer: Looker, yesno and tiers
-- plain: SELECT CASE WHEN newsletter THEN 'Yes' ELSE 'No' END AS n, CASE WHEN birth_year < 1960 THEN 'Below 1960' WHEN birth_year >= 1960 AND birth_year < 1980 THEN '1960 to 1979' WHEN birth_year >= 1980 THEN '1980 or Above' ELSE 'Undefined' END AS t, COUNT(*) AS c FROM members GROUP BY 1, 2
SELECT CASE WHEN members.newsletter THEN 'Yes' ELSE 'No' END AS "members.newsletter",
  CASE WHEN members.birth_year < 1960 THEN 'Below 1960' WHEN members.birth_year >= 1960 AND members.birth_year < 1980 THEN '1960 to 1979'
       WHEN members.birth_year >= 1980 THEN '1980 or Above' ELSE 'Undefined' END AS "members.birth_tier",
  COUNT(DISTINCT members.member_id ) AS "members.count"
FROM members GROUP BY 1, 2 ORDER BY 3 DESC NULLS LAST LIMIT 500

-- grocer: dbt, CTE chain
with source as (select * from receipts), renamed as (select receipt_id, member_id as customer_id, bought_at as ordered_at, total as amount, payment as payment_method from source),
final as (select payment_method, count(*) as order_count, sum(amount) as total_amount, min(ordered_at) as first_order from renamed where 1=1 and amount is not null group by 1)
select payment_method, order_count, total_amount from final order by order_count desc

-- grocer: dbt, not_null test
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from ( select tier from members where tier is null ) dbt_internal_test

-- grocer: dbt, accepted values test
with all_values as ( select payment as value_field, count(*) as n_records from receipts group by payment )
select * from all_values where value_field not in ( 'card','cash','app' )

-- metro: analyst, peak share by line
SELECT line, AVG(CASE WHEN EXTRACT(HOUR FROM tap_in) BETWEEN 7 AND 9 OR EXTRACT(HOUR FROM tap_in) BETWEEN 16 AND 18 THEN 1 ELSE 0 END) AS peak_share, COUNT(*) AS rides FROM rides GROUP BY line ORDER BY line

-- metro: analyst, weekday profile with DOW
SELECT EXTRACT(DOW FROM tap_in) AS dow, EXTRACT(HOUR FROM tap_in) AS h, COUNT(*) AS n FROM rides GROUP BY 1, 2 ORDER BY 1, 2

-- metro: analyst, ISO weekday names with TO_CHAR
-- plain: SELECT RPAD(DAYNAME(tap_in), 9, ' ') AS weekday, COUNT(*) AS n FROM rides GROUP BY 1
SELECT TO_CHAR(tap_in, 'Day') AS weekday, COUNT(*) AS n FROM rides GROUP BY TO_CHAR(tap_in, 'Day')

-- metro: analyst, ride minutes with EPOCH
SELECT line, ROUND(AVG(EXTRACT(EPOCH FROM (tap_out - tap_in)) / 60), 2) AS avg_minutes FROM rides WHERE tap_out IS NOT NULL GROUP BY line ORDER BY avg_minutes DESC

-- metro: analyst, ride minutes with TIMESTAMPDIFF
-- plain: SELECT line, AVG(DATE_SUB('minute', tap_in, tap_out)) AS mins FROM rides GROUP BY line
SELECT line, AVG(TIMESTAMPDIFF(MINUTE, tap_in, tap_out)) AS mins FROM rides GROUP BY line

-- metro: analyst, missing tap outs
SELECT c.kind, COUNT(*) AS rides, COUNT(*) - COUNT(r.tap_out) AS no_tap_out, ROUND(100.0 * (COUNT(*) - COUNT(r.tap_out)) / COUNT(*), 2) AS pct
FROM rides r JOIN cards c ON c.card_id = r.card_id GROUP BY c.kind

-- metro: analyst, transfers within 30 minutes
SELECT COUNT(*) AS transfers FROM (SELECT tap_in, LAG(tap_out) OVER (PARTITION BY card_id ORDER BY tap_in) AS prev_out FROM rides) t
WHERE tap_in - prev_out BETWEEN INTERVAL '0 minutes' AND INTERVAL '30 minutes'

-- metro: analyst, origin destination pairs between zones
SELECT o.zone AS from_zone, d.zone AS to_zone, COUNT(*) AS trips FROM rides r JOIN stations o ON o.station_id = r.origin JOIN stations d ON d.station_id = r.destination
GROUP BY o.zone, d.zone ORDER BY trips DESC LIMIT 10

-- metro: analyst, busiest stations with rank
SELECT s.name, COUNT(*) AS boardings, RANK() OVER (ORDER BY COUNT(*) DESC) AS rnk FROM rides r JOIN stations s ON s.station_id = r.origin GROUP BY s.name

-- metro: analyst, on-time performance
SELECT line, COUNT(*) FILTER (WHERE delay_s <= 180) * 100.0 / NULLIF(COUNT(delay_s), 0) AS otp FROM rides GROUP BY line

-- metro: analyst, delay percentiles per line
-- about: 0.01
SELECT line, percentile_cont(0.5) WITHIN GROUP (ORDER BY delay_s) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY delay_s) AS p95 FROM rides GROUP BY line

-- metro: analyst, delay histogram by FLOOR
SELECT FLOOR(delay_s / 120) * 120 AS bin, COUNT(*) AS n FROM rides WHERE delay_s IS NOT NULL GROUP BY 1 ORDER BY 1

-- metro: analyst, fare evasion against the tariff of the day
SELECT c.kind, COUNT(*) AS n, SUM(CASE WHEN r.fare < t.price THEN 1 ELSE 0 END) AS below FROM rides r JOIN cards c ON c.card_id = r.card_id
JOIN tariffs t ON t.kind = c.kind AND r.tap_in::date BETWEEN t.valid_from AND t.valid_to GROUP BY c.kind ORDER BY c.kind

-- metro: analyst, fare revenue lost as-of
-- refused: what ties it to the row outside is no key
SELECT c.kind, AVG((SELECT t.price FROM tariffs t WHERE t.kind = c.kind AND t.valid_from <= r.tap_in ORDER BY t.valid_from DESC LIMIT 1) - r.fare) AS gap
FROM rides r JOIN cards c ON c.card_id = r.card_id GROUP BY c.kind

-- metro: analyst, active cards per month with growth
SELECT month, active, active - LAG(active) OVER (ORDER BY month) AS delta, ROUND((active::numeric / LAG(active, 12) OVER (ORDER BY month) - 1) * 100, 1) AS yoy
FROM (SELECT date_trunc('month', tap_in) AS month, COUNT(DISTINCT card_id) AS active FROM rides GROUP BY 1) a ORDER BY month

-- metro: analyst, AGE of cards in years
-- plain: SELECT DATE_SUB('year', issued_on, DATE '2024-12-31') AS years, COUNT(*) AS n FROM cards GROUP BY 1
SELECT DATE_PART('year', AGE(DATE '2024-12-31', issued_on)) AS years, COUNT(*) AS n FROM cards GROUP BY 1 ORDER BY 1

-- metro: analyst, cards that stopped riding
SELECT COUNT(*) AS dormant FROM cards c WHERE NOT EXISTS (SELECT 1 FROM rides r WHERE r.card_id = c.card_id AND r.tap_in >= DATE '2024-12-31' - INTERVAL '30 days')

-- metro: analyst, topup then ride funnel
SELECT COUNT(DISTINCT c.card_id) AS cards, COUNT(DISTINCT t.card_id) AS topped, COUNT(DISTINCT CASE WHEN r.card_id IS NOT NULL AND t.card_id IS NOT NULL THEN c.card_id END) AS both
FROM cards c LEFT JOIN (SELECT DISTINCT card_id FROM topups WHERE paid_at >= '2024-01-01') t ON t.card_id = c.card_id
LEFT JOIN (SELECT DISTINCT card_id FROM rides WHERE tap_in >= '2024-01-01') r ON r.card_id = c.card_id

-- metro: analyst, spend against fares by kind
WITH t AS (SELECT card_id, SUM(amount) AS paid FROM topups GROUP BY card_id), f AS (SELECT card_id, SUM(fare) AS used FROM rides GROUP BY card_id)
SELECT c.kind, SUM(COALESCE(t.paid, 0)) AS paid, SUM(COALESCE(f.used, 0)) AS used FROM cards c LEFT JOIN t ON t.card_id = c.card_id LEFT JOIN f ON f.card_id = c.card_id GROUP BY c.kind

-- metro: analyst, quarter-hour bins
-- plain: SELECT TIME_BUCKET(INTERVAL '15 minutes', tap_in) AS t, COUNT(*) AS n FROM rides WHERE tap_in >= '2024-05-06' AND tap_in < '2024-05-07' GROUP BY 1
SELECT date_bin('15 minutes', tap_in, TIMESTAMP '2001-01-01') AS t, COUNT(*) AS n FROM rides WHERE tap_in >= '2024-05-06' AND tap_in < '2024-05-07' GROUP BY 1

-- metro: analyst, first and last ride of the day
-- refused: the column tap_in is timestamp
SELECT line, MIN(tap_in::time) AS first_tap, MAX(tap_in::time) AS last_tap FROM rides GROUP BY line

-- metro: analyst, share of operator
SELECT l.operator, SUM(r.fare) AS fares, SUM(r.fare) / SUM(SUM(r.fare)) OVER () AS share FROM rides r JOIN metro_lines l ON l.line = r.line GROUP BY l.operator

-- metro: Grafana, timeGroup expanded
-- plain: SELECT FLOOR(EPOCH(tap_in) / 3600) * 3600 AS time, COUNT(*) AS rides FROM rides WHERE tap_in BETWEEN '2024-03-04' AND '2024-03-05' GROUP BY 1
SELECT floor(extract(epoch from tap_in)/3600)*3600 AS "time", count(*) AS rides FROM rides WHERE tap_in BETWEEN '2024-03-04T00:00:00Z' AND '2024-03-05T00:00:00Z' GROUP BY 1 ORDER BY 1

-- metro: Grafana, timeGroupAlias with metric
-- plain: SELECT FLOOR(EPOCH(tap_in) / 86400) * 86400 AS time, line AS metric, AVG(delay_s) AS value FROM rides WHERE tap_in BETWEEN '2024-03-01' AND '2024-03-31' AND delay_s IS NOT NULL GROUP BY 1, 2
SELECT floor(extract(epoch from tap_in)/86400)*86400 AS "time", line AS metric, avg(delay_s) AS value FROM rides
WHERE tap_in BETWEEN '2024-03-01T00:00:00Z' AND '2024-03-31T00:00:00Z' GROUP BY 1, line ORDER BY 1, line

-- metro: Grafana, to_timestamp buckets
-- plain: SELECT DATE_TRUNC('hour', tap_in) AS t, COUNT(*) AS n FROM rides WHERE tap_in >= '2024-03-04' AND tap_in < '2024-03-06' GROUP BY 1
SELECT to_timestamp(floor(extract(epoch from tap_in)/3600)*3600) AS t, count(*) AS n FROM rides WHERE tap_in >= '2024-03-04' AND tap_in < '2024-03-06' GROUP BY 1 ORDER BY 1

-- metro: Superset, time grain with row limit
-- plain: SELECT DATE_TRUNC('day', tap_in), line, COUNT(*) AS count FROM rides WHERE tap_in >= '2024-01-01' AND tap_in < '2024-02-01' GROUP BY 1, 2
SELECT DATE_TRUNC('day', tap_in) AS __timestamp, line AS line, COUNT(*) AS count FROM rides
WHERE tap_in >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND tap_in < TO_TIMESTAMP('2024-02-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')
GROUP BY DATE_TRUNC('day', tap_in), line ORDER BY count DESC LIMIT 10000

-- metro: Superset, series limit inner join
-- refused: LIMIT is refused in a subquery
SELECT DATE_TRUNC('month', tap_in) AS __timestamp, line AS line, SUM(fare) AS "SUM(fare)" FROM rides
INNER JOIN (SELECT line AS line__, SUM(fare) AS mme_inner__ FROM rides GROUP BY line ORDER BY mme_inner__ DESC LIMIT 2) AS series_limit ON line = line__
GROUP BY DATE_TRUNC('month', tap_in), line ORDER BY "SUM(fare)" DESC LIMIT 1000

-- metro: Superset, virtual table
-- plain: SELECT kind, COUNT(*) AS count FROM cards GROUP BY kind
SELECT kind AS kind, COUNT(*) AS count FROM (SELECT c.kind, c.zone, c.issued_on FROM cards c) AS virtual_table GROUP BY kind ORDER BY count DESC LIMIT 100

-- metro: Superset, filter values
SELECT line AS line FROM rides GROUP BY line ORDER BY line ASC LIMIT 1000

-- metro: Metabase, distinct values of a field
SELECT DISTINCT "rides"."line" AS "line" FROM "rides" ORDER BY "rides"."line" ASC LIMIT 1000

-- metro: Metabase, average of a count by week
SELECT AVG("source"."count") AS "avg" FROM (SELECT DATE_TRUNC('week', "rides"."tap_in") AS "tap_in", COUNT(*) AS "count" FROM "rides" GROUP BY DATE_TRUNC('week', "rides"."tap_in")) "source"

-- metro: Metabase, top five stations then share
SELECT * FROM (SELECT s.name AS station, COUNT(*) AS n FROM rides r JOIN stations s ON s.station_id = r.origin GROUP BY s.name ORDER BY n DESC, s.name LIMIT 5) top ORDER BY station

-- metro: Metabase, field literal with cumulative count
SELECT DATE_TRUNC('month', "cards"."issued_on") AS "issued_on", SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "cards"."issued_on") ASC ROWS UNBOUNDED PRECEDING) AS "count" FROM "cards" GROUP BY DATE_TRUNC('month', "cards"."issued_on") ORDER BY 1

-- metro: Tableau, null checks and CAST as text
-- plain: SELECT CAST(zone AS TEXT) AS z, COUNT(*) AS n FROM cards GROUP BY 1
SELECT CAST("cards"."zone" AS TEXT) AS "zone", SUM(1) AS "cnt:cards:ok" FROM "cards" GROUP BY 1

-- metro: Tableau, COALESCE null text
SELECT COALESCE(CAST(r.destination AS TEXT), 'null') AS destination, COUNT(*) AS n FROM rides r GROUP BY 1

-- metro: public tables grouped
SELECT s.zone, COUNT(*) AS stations, SUM(CASE WHEN s.lift THEN 1 ELSE 0 END) AS with_lift FROM stations s GROUP BY s.zone ORDER BY s.zone

-- metro: public table listed
SELECT line, colour, operator FROM metro_lines ORDER BY line

-- metro: analyst, FETCH FIRST of answers
SELECT origin, COUNT(*) AS n FROM rides GROUP BY origin ORDER BY n DESC, origin FETCH FIRST 3 ROWS ONLY

-- metro: analyst, share of the top two lines in total
SELECT (SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM rides GROUP BY line ORDER BY n DESC LIMIT 2) t) * 100.0 / (SELECT COUNT(*) FROM rides) AS top2_pct

-- campus: analyst, pass rate by faculty
SELECT c.faculty, COUNT(*) AS exams, SUM(CASE WHEN e.grade >= 4 THEN 1 ELSE 0 END)::float / COUNT(*) AS pass_rate FROM exams e JOIN courses c ON c.code = e.course GROUP BY c.faculty ORDER BY pass_rate DESC

-- campus: analyst, grades per semester
SELECT s.semester, c.title, AVG(e.grade) AS avg_grade, COUNT(e.grade) AS graded FROM exams e JOIN semesters s ON e.taken_on >= s.starts AND e.taken_on <= s.ends JOIN courses c ON c.code = e.course
GROUP BY s.semester, c.title ORDER BY 1, 2

-- campus: analyst, credits collected per student
SELECT bucket, COUNT(*) AS students FROM (
  SELECT student_id, CASE WHEN SUM(c.ects) < 20 THEN 'a <20' WHEN SUM(c.ects) < 40 THEN 'b 20-39' ELSE 'c 40+' END AS bucket
  FROM exams e JOIN courses c ON c.code = e.course WHERE e.grade >= 4 GROUP BY student_id) t GROUP BY bucket ORDER BY bucket

-- campus: analyst, age at enrolment with AGE
-- plain: SELECT degree, AVG(DATE_SUB('year', born, enrolled_on)) AS age FROM students GROUP BY degree
SELECT degree, AVG(EXTRACT(YEAR FROM AGE(enrolled_on, born))) AS age FROM students GROUP BY degree

-- campus: analyst, whole months until the first exam
-- plain: SELECT degree, AVG(DATE_SUB('month', s.enrolled_on, f.first_exam)) AS months FROM students s JOIN (SELECT student_id, MIN(taken_on) AS first_exam FROM exams GROUP BY student_id) f ON f.student_id = s.student_id WHERE f.first_exam >= s.enrolled_on GROUP BY degree
SELECT degree, AVG(TIMESTAMPDIFF(MONTH, s.enrolled_on, f.first_exam)) AS months
FROM students s JOIN (SELECT student_id, MIN(taken_on) AS first_exam FROM exams GROUP BY student_id) f ON f.student_id = s.student_id
WHERE f.first_exam >= s.enrolled_on GROUP BY degree

-- campus: analyst, sessions split by 30 minutes of silence
-- plain: SELECT COUNT(*) FROM (SELECT "at", LAG("at") OVER (PARTITION BY student_id ORDER BY "at") AS b FROM logins) l WHERE b IS NULL OR "at" - b > INTERVAL '30 minutes'
SELECT COUNT(*) AS sessions FROM (
  SELECT at, LAG(at) OVER (PARTITION BY student_id ORDER BY at) AS before_at FROM logins) l
WHERE before_at IS NULL OR at - before_at > INTERVAL '30 minutes'

-- campus: analyst, days between logins per device
-- plain: SELECT device, AVG(EPOCH("at" - prev) / 86400.0) AS days FROM (SELECT device, "at", LAG("at") OVER (PARTITION BY student_id ORDER BY "at") AS prev FROM logins) x WHERE prev IS NOT NULL GROUP BY device
SELECT device, AVG(EXTRACT(EPOCH FROM at - prev) / 86400.0) AS days FROM (SELECT device, at, LAG(at) OVER (PARTITION BY student_id ORDER BY at) AS prev FROM logins) x WHERE prev IS NOT NULL GROUP BY device

-- campus: analyst, country cleaned
SELECT COALESCE(NULLIF(UPPER(TRIM(country)), ''), 'UNKNOWN') AS country, COUNT(*) AS students FROM students GROUP BY 1 ORDER BY 2 DESC

-- campus: analyst, retakes
SELECT course, COUNT(*) FILTER (WHERE attempt = 1) AS first_try, COUNT(*) FILTER (WHERE attempt > 1) AS retakes, AVG(grade) FILTER (WHERE attempt = 1) - AVG(grade) FILTER (WHERE attempt > 1) AS diff FROM exams GROUP BY course

-- campus: analyst, best grade of each student per course averaged
SELECT c.title, AVG(b.best) AS mean_best FROM (SELECT student_id, course, MAX(grade) AS best FROM exams GROUP BY student_id, course) b JOIN courses c ON c.code = b.course GROUP BY c.title

-- campus: analyst, correlation of pages and grade
-- about: 1e-4
SELECT CORR(l.pages, e.avg_grade) AS r FROM (SELECT student_id, SUM(pages) AS pages FROM logins GROUP BY student_id) l JOIN (SELECT student_id, AVG(grade) AS avg_grade FROM exams GROUP BY student_id) e ON e.student_id = l.student_id

-- campus: analyst, academic year with CASE on months
SELECT CASE WHEN EXTRACT(MONTH FROM taken_on) >= 9 THEN EXTRACT(YEAR FROM taken_on) ELSE EXTRACT(YEAR FROM taken_on) - 1 END AS academic_year, COUNT(*) AS n FROM exams GROUP BY 1 ORDER BY 1

-- campus: analyst, grouping sets with COALESCE
SELECT COALESCE(degree, 'total') AS degree, COALESCE(device, 'total') AS device, COUNT(*) AS n FROM logins JOIN students USING (student_id) GROUP BY GROUPING SETS ((degree, device), (degree), ()) ORDER BY 1, 2

-- campus: analyst, quarter label in text
-- plain: SELECT 'Q' || QUARTER(taken_on) || ' ' || YEAR(taken_on) AS q, COUNT(*) AS n FROM exams GROUP BY 1
SELECT 'Q' || EXTRACT(QUARTER FROM taken_on) || ' ' || EXTRACT(YEAR FROM taken_on) AS q, COUNT(*) AS n FROM exams GROUP BY 1

-- campus: analyst, TO_CHAR quarter
-- plain: SELECT YEAR(taken_on) || '-Q' || QUARTER(taken_on) AS q, AVG(grade) AS g FROM exams GROUP BY 1
SELECT TO_CHAR(taken_on, 'YYYY-"Q"Q') AS q, AVG(grade) AS g FROM exams GROUP BY 1 ORDER BY 1

-- campus: analyst, students who never failed
SELECT s.degree, COUNT(*) AS clean FROM students s WHERE s.student_id NOT IN (SELECT student_id FROM exams WHERE grade < 4) GROUP BY s.degree

-- campus: analyst, dropouts by silence of a year
SELECT degree, COUNT(*) AS dropouts FROM students s LEFT JOIN LATERAL (SELECT MAX(taken_on) AS last_exam FROM exams e WHERE e.student_id = s.student_id) x ON TRUE
WHERE x.last_exam < DATE '2024-01-01' GROUP BY degree

-- campus: analyst, night owls
-- plain: SELECT COUNT(DISTINCT student_id), COUNT(*) FROM logins WHERE "at"::time >= '22:00' OR "at"::time < '05:00'
SELECT COUNT(DISTINCT student_id) AS owls, COUNT(*) AS night_logins FROM logins WHERE at::time >= '22:00' OR at::time < '05:00'

-- campus: analyst, distribution of logins per student
-- about: 0.05
SELECT MIN(n) AS least, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS median, MAX(n) AS most FROM (SELECT student_id, COUNT(*) AS n FROM logins GROUP BY student_id) t

-- campus: Looker, symmetric count
SELECT students.degree AS "students.degree", COUNT(DISTINCT students.student_id ) AS "students.count", COUNT(DISTINCT CASE WHEN (exams.grade >= 5) THEN students.student_id ELSE NULL END) AS "students.count_good"
FROM students LEFT JOIN exams ON students.student_id = exams.student_id GROUP BY 1 ORDER BY 2 DESC

-- campus: Superset, count star with having
-- plain: SELECT device, COUNT(*), SUM(pages), AVG(pages) FROM logins WHERE "at" >= '2024-01-01' AND "at" < '2025-01-01' GROUP BY device
SELECT device AS device, COUNT(*) AS count, SUM(pages) AS "SUM(pages)", AVG(pages) AS "AVG(pages)" FROM logins WHERE at >= '2024-01-01 00:00:00.000000' AND at < '2025-01-01 00:00:00.000000' GROUP BY device HAVING COUNT(*) > 10 ORDER BY "SUM(pages)" DESC LIMIT 50

-- utility: analyst, consumption by year and contract
SELECT DATE_PART('year', b.issued_on) AS yr, c.contract, SUM(b.kwh) AS kwh, SUM(b.amount) / SUM(b.kwh) AS chf_per_kwh FROM bills b JOIN customers c ON c.customer_id = b.customer_id GROUP BY 1, 2 ORDER BY 1, 2

-- utility: analyst, cost at public prices
SELECT p.contract, SUM(b.kwh * p.cents) / 100.0 AS at_tariff, SUM(b.amount) AS billed FROM bills b JOIN customers c ON c.customer_id = b.customer_id
JOIN tariff_prices p ON p.contract = c.contract AND p.year = EXTRACT(YEAR FROM b.issued_on) GROUP BY p.contract

-- utility: analyst, days to pay by method
SELECT LOWER(method) AS method, AVG(paid_on - issued_on) AS days_to_pay, COUNT(*) FILTER (WHERE paid_on > issued_on + 30) AS late, COUNT(*) FILTER (WHERE paid_on IS NULL) AS unpaid FROM bills GROUP BY LOWER(method)

-- utility: analyst, ageing buckets of unpaid bills
SELECT CASE WHEN DATE '2024-12-31' - issued_on <= 90 THEN '0-90' WHEN DATE '2024-12-31' - issued_on <= 365 THEN '91-365' ELSE '>365' END AS ageing, COUNT(*) AS bills, SUM(amount) AS outstanding
FROM bills WHERE paid_on IS NULL GROUP BY 1

-- utility: analyst, customers in force per month
-- plain: WITH months AS (SELECT UNNEST(generate_series(DATE '2023-01-01', DATE '2023-12-01', INTERVAL '1 month'))::date AS m) SELECT m, COUNT(*) AS in_force FROM months JOIN customers c ON c.since <= m AND (c.ended IS NULL OR c.ended > m) GROUP BY m
WITH months AS (SELECT generate_series('2023-01-01'::date, '2023-12-01'::date, '1 month')::date AS m)
SELECT m, COUNT(*) AS in_force FROM months JOIN customers c ON c.since <= m AND (c.ended IS NULL OR c.ended > m) GROUP BY m ORDER BY m

-- utility: analyst, churn rate by contract and year
SELECT contract, COUNT(*) FILTER (WHERE ended BETWEEN '2023-01-01' AND '2023-12-31') * 1.0 / NULLIF(COUNT(*) FILTER (WHERE since < '2023-01-01' AND (ended IS NULL OR ended >= '2023-01-01')), 0) AS churn_2023 FROM customers GROUP BY contract

-- utility: analyst, consumption against the year before per customer
SELECT c.heat_pump, AVG(b.kwh - a.kwh) AS diff FROM (SELECT customer_id, SUM(kwh) AS kwh FROM bills WHERE issued_on BETWEEN '2023-01-01' AND '2023-12-31' GROUP BY customer_id) a
JOIN (SELECT customer_id, SUM(kwh) AS kwh FROM bills WHERE issued_on BETWEEN '2024-01-01' AND '2024-12-31' GROUP BY customer_id) b ON a.customer_id = b.customer_id
JOIN customers c ON c.customer_id = a.customer_id GROUP BY c.heat_pump

-- utility: analyst, first call resolution
SELECT reason, AVG(solved::int) AS fcr, AVG(minutes) AS aht FROM calls GROUP BY reason ORDER BY fcr DESC NULLS LAST

-- utility: analyst, repeated calls within a week
SELECT COUNT(*) AS repeats FROM calls a WHERE EXISTS (SELECT 1 FROM calls b WHERE b.customer_id = a.customer_id AND b.called_at > a.called_at AND b.called_at <= a.called_at + INTERVAL '7 days')

-- utility: analyst, cantons with customers and calls
SELECT r.canton, COUNT(DISTINCT c.customer_id) AS customers, COUNT(k.called_at) AS calls FROM customers c JOIN regions r ON r.postcode = c.postcode LEFT JOIN calls k ON k.customer_id = c.customer_id GROUP BY r.canton ORDER BY r.canton

-- utility: analyst, unknown postcodes
SELECT COALESCE(r.town, 'elsewhere') AS town, COUNT(*) AS n FROM customers c LEFT JOIN regions r ON r.postcode = c.postcode GROUP BY COALESCE(r.town, 'elsewhere')

-- utility: analyst, tenure in whole years with DATEDIFF
-- plain: SELECT DATE_DIFF('year', since, DATE '2024-12-31') AS tenure, COUNT(*) AS n FROM customers WHERE ended IS NULL GROUP BY 1
SELECT DATEDIFF('year', since, '2024-12-31'::date) AS tenure, COUNT(*) AS n FROM customers WHERE ended IS NULL GROUP BY 1 ORDER BY 1

-- utility: analyst, three-bill moving average per customer
SELECT contract, AVG(ma) AS smooth FROM (SELECT customer_id, issued_on, AVG(kwh) OVER (PARTITION BY customer_id ORDER BY issued_on ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma FROM bills) m
JOIN customers c ON c.customer_id = m.customer_id WHERE m.issued_on >= '2023-01-01' GROUP BY contract

-- utility: analyst, quartiles of consumption as one row
-- about: 0.01
SELECT APPROX_QUANTILE(kwh, 0.25) AS q1, MEDIAN(kwh) AS q2, APPROX_QUANTILE(kwh, 0.75) AS q3 FROM bills

-- utility: analyst, month-end bills with LAST_DAY and EOMONTH
-- plain: SELECT LAST_DAY(paid_on) AS month_end, SUM(amount) AS paid FROM bills WHERE paid_on IS NOT NULL GROUP BY 1
SELECT EOMONTH(paid_on) AS month_end, SUM(amount) AS paid FROM bills WHERE paid_on IS NOT NULL GROUP BY EOMONTH(paid_on)

-- utility: analyst, month end in Postgres style
-- plain: SELECT LAST_DAY(paid_on) AS month_end, SUM(amount) AS paid FROM bills WHERE paid_on IS NOT NULL GROUP BY 1
SELECT (date_trunc('month', paid_on) + interval '1 month - 1 day')::date AS month_end, SUM(amount) AS paid FROM bills WHERE paid_on IS NOT NULL GROUP BY 1

-- utility: analyst, seasonal index
WITH q AS (SELECT EXTRACT(QUARTER FROM issued_on) AS qtr, AVG(kwh) AS mean_kwh FROM bills GROUP BY 1)
SELECT qtr, mean_kwh, mean_kwh / (SELECT AVG(mean_kwh) FROM q) AS seasonal_index FROM q ORDER BY qtr

-- utility: analyst, KPI union
SELECT 'customers' AS kpi, COUNT(*)::numeric AS value FROM customers WHERE ended IS NULL
UNION ALL SELECT 'revenue 2024', SUM(amount) FROM bills WHERE issued_on >= '2024-01-01'
UNION ALL SELECT 'calls per 100 customers', 100.0 * (SELECT COUNT(*) FROM calls) / (SELECT COUNT(*) FROM customers)

-- utility: analyst, list of late payers
-- refused: a group for each person
SELECT customer_id, SUM(amount) AS owed FROM bills WHERE paid_on IS NULL GROUP BY customer_id ORDER BY owed DESC LIMIT 20

-- utility: analyst, biggest bill of each contract
-- about: 0.12
SELECT c.contract, MAX(b.amount) AS largest FROM bills b JOIN customers c USING (customer_id) GROUP BY c.contract

-- utility: analyst, average of the ten largest bills
-- refused: LIMIT is refused in a subquery: which rows stay would depend on everybody
SELECT AVG(amount) FROM (SELECT amount FROM bills ORDER BY amount DESC LIMIT 10) t

-- utility: analyst, log of consumption
-- about: 1e-4
SELECT contract, AVG(LN(NULLIF(kwh, 0))) AS mean_log FROM bills JOIN customers USING (customer_id) GROUP BY contract

-- utility: dbt, incremental watermark
-- about: 0.01
select max(issued_on) as watermark from bills

-- utility: dbt, surrogate date spine
-- plain: WITH spine AS (SELECT DATE '2022-01-01' + i::INT AS d FROM range(1096) t(i)) SELECT YEAR(s.d) AS y, COUNT(b.customer_id) AS bills FROM spine s LEFT JOIN bills b ON b.issued_on = s.d GROUP BY 1
with bills_by_day as (select issued_on, count(*) as n from bills group by issued_on),
spine as (select cast(d as date) as d from generate_series(date '2022-01-01', date '2024-12-31', interval '1 day') as t(d))
select extract(year from spine.d) as y, sum(coalesce(bills_by_day.n, 0)) as bills from spine left join bills_by_day on bills_by_day.issued_on = spine.d group by 1 order by 1

-- utility: Power BI, date table relation
-- plain: SELECT contract, CAST(YEAR(issued_on) AS INT) AS y, SUM(amount) AS a0 FROM bills b LEFT JOIN customers c ON b.customer_id = c.customer_id WHERE c.contract IN ('green', 'flex') GROUP BY 1, 2
select "$Outer"."contract", YEAR("$Outer"."issued_on") as "y", sum("$Outer"."amount") as "a0"
from (select "b"."issued_on", "b"."amount", "c"."contract" from "bills" "b" left outer join "customers" "c" on ("b"."customer_id" = "c"."customer_id")) "$Outer"
where "$Outer"."contract" in ('green', 'flex') group by "$Outer"."contract", YEAR("$Outer"."issued_on")

-- utility: Tableau, quick filter domain
SELECT "customers"."contract" AS "contract" FROM "customers" GROUP BY 1 ORDER BY 1 ASC NULLS FIRST

-- utility: Tableau, moving table calc on yearly sum
SELECT CAST(DATE_TRUNC('QUARTER', CAST("bills"."issued_on" AS DATE)) AS DATE) AS "tqr:issued_on:ok", SUM("bills"."kwh") AS "sum:kwh:ok" FROM "bills" GROUP BY 1

-- utility: Metabase, count by paid within
SELECT CASE WHEN "bills"."paid_on" <= "bills"."issued_on" + INTERVAL '14 day' THEN 'early' WHEN "bills"."paid_on" <= "bills"."issued_on" + INTERVAL '30 day' THEN 'on time' WHEN "bills"."paid_on" IS NULL THEN 'open' ELSE 'late' END AS "state", COUNT(*) AS "count" FROM "bills" GROUP BY 1 ORDER BY 2 DESC

-- grocer: further, week over week with LAG in percent
SELECT wk, revenue, (revenue / LAG(revenue) OVER (ORDER BY wk) - 1)::numeric(10,4) AS wow FROM (SELECT date_trunc('week', bought_at)::date AS wk, SUM(total) AS revenue FROM receipts WHERE bought_at BETWEEN '2024-01-01' AND '2024-06-30 23:59:59' GROUP BY 1) w ORDER BY wk

-- grocer: further, quarter to date running total
SELECT month, revenue, SUM(revenue) OVER (PARTITION BY EXTRACT(YEAR FROM month), EXTRACT(QUARTER FROM month) ORDER BY month) AS qtd FROM (SELECT date_trunc('month', bought_at) AS month, SUM(total) AS revenue FROM receipts GROUP BY 1) m

-- grocer: further, members by number of purchases capped
SELECT LEAST(n, 10) AS purchases, COUNT(*) AS members FROM (SELECT m.member_id, COUNT(r.receipt_id) AS n FROM members m LEFT JOIN receipts r ON r.member_id = m.member_id GROUP BY m.member_id) t GROUP BY LEAST(n, 10) ORDER BY 1

-- grocer: further, one-time buyers share
SELECT AVG(CASE WHEN n = 1 THEN 1.0 ELSE 0.0 END) AS one_timers FROM (SELECT member_id, COUNT(*) AS n FROM receipts GROUP BY member_id) t

-- grocer: further, days since last purchase histogram
-- plain: SELECT FLOOR(date_diff('day', last_at::date, DATE '2024-12-31') / 30.0) AS months_silent, COUNT(*) AS members FROM (SELECT member_id, MAX(bought_at) AS last_at FROM receipts GROUP BY member_id) t GROUP BY 1
SELECT FLOOR(('2024-12-31'::date - last_at::date) / 30.0) AS months_silent, COUNT(*) AS members FROM (SELECT member_id, MAX(bought_at) AS last_at FROM receipts GROUP BY member_id) t GROUP BY 1 ORDER BY 1

-- grocer: further, lapsed then reactivated
SELECT COUNT(*) AS reactivations FROM (SELECT member_id, bought_at, LAG(bought_at) OVER (PARTITION BY member_id ORDER BY bought_at) AS prev FROM receipts) t WHERE bought_at > prev + INTERVAL '180 days'

-- grocer: further, second purchase conversion per cohort
WITH numbered AS (SELECT member_id, bought_at, ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY bought_at) AS rn FROM receipts)
SELECT date_trunc('quarter', a.bought_at) AS cohort, COUNT(*) AS first_buyers, COUNT(b.member_id) AS second_within_60
FROM numbered a LEFT JOIN numbered b ON b.member_id = a.member_id AND b.rn = 2 AND b.bought_at <= a.bought_at + INTERVAL '60 days' WHERE a.rn = 1 GROUP BY 1 ORDER BY 1

-- grocer: further, payment mix over time in percent
SELECT DATE_TRUNC('quarter', bought_at) AS q, payment, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY DATE_TRUNC('quarter', bought_at)) AS pct FROM receipts GROUP BY 1, 2 ORDER BY 1, 2

-- grocer: further, shops never selling a brand
SELECT s.name FROM shops s LEFT JOIN (SELECT r.shop_id, COUNT(*) AS n FROM receipts r JOIN items i ON i.receipt_id = r.receipt_id WHERE i.sku = 'C-300' GROUP BY r.shop_id) x ON x.shop_id = s.shop_id WHERE COALESCE(x.n, 0) < 1000

-- grocer: further, sales per square metre
SELECT s.name, SUM(r.total) / MAX(s.area) AS sales_per_m2 FROM receipts r JOIN shops s ON s.shop_id = r.shop_id GROUP BY s.name, s.area ORDER BY 2 DESC

-- grocer: further, cross join of regions and payments
SELECT s.region, r.payment, COALESCE(SUM(r.total), 0) FROM shops s JOIN receipts r ON r.shop_id = s.shop_id AND EXTRACT(YEAR FROM r.bought_at) = 2024 GROUP BY CUBE (s.region, r.payment)

-- grocer: further, crosstab with FILTER by year
SELECT payment, SUM(total) FILTER (WHERE EXTRACT(YEAR FROM bought_at) = 2023) AS y2023, SUM(total) FILTER (WHERE EXTRACT(YEAR FROM bought_at) = 2024) AS y2024,
       ROUND((SUM(total) FILTER (WHERE EXTRACT(YEAR FROM bought_at) = 2024) / SUM(total) FILTER (WHERE EXTRACT(YEAR FROM bought_at) = 2023) - 1) * 100, 2) AS growth FROM receipts GROUP BY payment

-- grocer: further, ends of day by hour text
-- plain: SELECT LPAD(CAST(HOUR(bought_at) AS VARCHAR), 2, '0') || ':00' AS hr, COUNT(*) AS n FROM receipts GROUP BY 1
SELECT TO_CHAR(bought_at, 'HH24') || ':00' AS hr, COUNT(*) AS n FROM receipts GROUP BY TO_CHAR(bought_at, 'HH24') ORDER BY 1

-- grocer: further, month name short with year
-- plain: SELECT STRFTIME(bought_at, '%b %Y') AS mon, SUM(total) AS rev FROM receipts GROUP BY 1
SELECT TO_CHAR(bought_at, 'Mon YYYY') AS mon, SUM(total) AS rev FROM receipts GROUP BY 1

-- grocer: further, SELECT TO_CHAR of answer number
-- plain: SELECT payment, COUNT(*) AS n FROM receipts GROUP BY payment
SELECT payment, CAST(COUNT(*) AS INTEGER) AS n FROM receipts GROUP BY payment

-- grocer: further, IN subquery of public region
SELECT COUNT(*) AS n, SUM(total) AS t FROM receipts WHERE shop_id IN (SELECT shop_id FROM shops WHERE region = 'north')

-- grocer: further, above average spenders
-- refused: other people's rows would decide
SELECT COUNT(*) FROM (SELECT member_id, SUM(total) AS s FROM receipts GROUP BY member_id) t WHERE s > (SELECT AVG(s) FROM (SELECT member_id, SUM(total) AS s FROM receipts GROUP BY member_id) u)

-- grocer: further, Superset with schema and alias quoted metric
SELECT "payment" AS "payment", SUM("total") / COUNT(DISTINCT "member_id") AS "Spend per member" FROM "main"."receipts" WHERE "payment" IN ('card', 'app') GROUP BY "payment" ORDER BY "Spend per member" DESC LIMIT 50000

-- grocer: further, Superset time comparison offset
SELECT DATE_TRUNC('month', bought_at + INTERVAL '1 year') AS __timestamp, SUM(total) AS revenue__1_year_ago FROM receipts WHERE bought_at >= '2023-01-01' AND bought_at < '2024-01-01' GROUP BY 1 ORDER BY 1

-- grocer: further, Superset rolling cumsum select star from inner qry
SELECT * FROM (SELECT payment, tier, COUNT(*) AS cnt FROM receipts r INNER JOIN members m ON r.member_id = m.member_id GROUP BY payment, tier) AS inner_qry ORDER BY cnt DESC LIMIT 100

-- grocer: further, Tableau date filter with truncated timestamp literals
SELECT CAST(DATE_TRUNC( 'MONTH', CAST("receipts"."bought_at" AS TIMESTAMP) ) AS DATE) AS "tmn:bought_at:ok", SUM(CASE WHEN ("receipts"."payment" = 'card') THEN 1 WHEN NOT ("receipts"."payment" = 'card') THEN 0 ELSE NULL END) AS "sum:Calculation_1:ok"
FROM "receipts" WHERE (("receipts"."bought_at" >= (TIMESTAMP '2024-01-01 00:00:00.000')) AND ("receipts"."bought_at" < (TIMESTAMP '2025-01-01 00:00:00.000'))) GROUP BY 1

-- grocer: further, Tableau exclude LOD join
SELECT "t0"."tier" AS "tier", "t0"."cnt" / "t1"."all_cnt" AS "share" FROM (SELECT "tier", CAST(COUNT(*) AS DOUBLE PRECISION) AS "cnt" FROM "members" GROUP BY 1) "t0" CROSS JOIN (SELECT COUNT(*) AS "all_cnt" FROM "members") "t1"

-- grocer: further, Tableau IS NOT DISTINCT FROM join
SELECT "t0"."payment", "t0"."n", "t1"."s" FROM (SELECT payment, COUNT(*) AS n FROM receipts GROUP BY 1) "t0" INNER JOIN (SELECT payment, SUM(total) AS s FROM receipts GROUP BY 1) "t1" ON ("t0"."payment" IS NOT DISTINCT FROM "t1"."payment")

-- grocer: further, Power BI DirectQuery semi join and DISTINCT count
-- plain: SELECT payment, COUNT(DISTINCT member_id) AS a0 FROM receipts GROUP BY payment
select top (1000001) [t0].[payment], count_big(distinct [t0].[member_id]) as [a0] from [receipts] as [t0] group by [t0].[payment]

-- grocer: further, Power BI blank filter
SELECT "t0"."tier", SUM(CAST("t0"."birth_year" AS DOUBLE PRECISION)) AS "a0" FROM "members" AS "t0" WHERE ("t0"."birth_year" IS NOT NULL AND "t0"."tier" IN ('gold', 'silver')) GROUP BY "t0"."tier" LIMIT 1000001

-- grocer: further, Looker pivot and row limit wrapper
SELECT * FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) as z___pivot_row_rank, RANK() OVER (PARTITION BY z__pivot_col_rank ORDER BY z___min_rank) as z__pivot_col_ordering FROM (
SELECT *, MIN(z___rank) OVER (PARTITION BY "members.tier") as z___min_rank FROM (
SELECT *, RANK() OVER (ORDER BY "receipts.count" DESC, z__pivot_col_rank, "members.tier") AS z___rank FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY "receipts.payment" NULLS LAST) AS z__pivot_col_rank FROM (
SELECT members.tier AS "members.tier", receipts.payment AS "receipts.payment", COUNT(DISTINCT receipts.receipt_id ) AS "receipts.count"
FROM receipts LEFT JOIN members ON receipts.member_id = members.member_id GROUP BY 1, 2) ww) bb WHERE z__pivot_col_rank <= 16384) aa) xx) zz
WHERE (z__pivot_col_rank <= 50 OR z__pivot_col_ordering = 1) AND z___pivot_row_rank <= 500 ORDER BY z___pivot_row_rank

-- grocer: further, dbt_utils group by and union_relations
with a as (select cast('2023' as text) as src, payment, total from receipts where bought_at < '2024-01-01'), b as (select cast('2024' as text) as src, payment, total from receipts where bought_at >= '2024-01-01'),
unioned as (select * from a union all select * from b) select src, payment, sum(total) as total from unioned group by 1,2 order by 1,2

-- grocer: further, dbt expression test
select count(*) as failures from (select 1 from receipts where not (total >= 0)) t

-- grocer: further, dbt unique test
select count(*) as failures from (select receipt_id as unique_field, count(*) as n_records from receipts where receipt_id is not null group by receipt_id having count(*) > 1) dbt_internal_test

-- metro: further, Metabase extract fields
SELECT CAST(extract(isodow from "rides"."tap_in") AS integer) AS "tap_in", COUNT(*) AS "count" FROM "rides" GROUP BY CAST(extract(isodow from "rides"."tap_in") AS integer) ORDER BY 1

-- metro: further, Metabase day of week shifted
-- plain: SELECT (dayofweek(tap_in) + 0) % 7 + 1 AS d, COUNT(*) AS c FROM rides GROUP BY 1
SELECT (CAST(extract(dow from "rides"."tap_in") AS integer) + 1) AS "tap_in", COUNT(*) AS "count" FROM "rides" GROUP BY (CAST(extract(dow from "rides"."tap_in") AS integer) + 1) ORDER BY 1

-- metro: further, Metabase week starting Sunday
-- plain: SELECT (DATE_TRUNC('week', tap_in + INTERVAL 1 DAY) - INTERVAL 1 DAY)::DATE AS w, COUNT(*) AS c FROM rides GROUP BY 1
SELECT CAST((CAST(date_trunc('week', CAST((CAST("rides"."tap_in" AS timestamp) + INTERVAL '1 day') AS timestamp)) AS timestamp) + (INTERVAL '-1 day')) AS date) AS "tap_in", COUNT(*) AS "count" FROM "rides" GROUP BY 1 ORDER BY 1

-- metro: further, Metabase filter by text contains
SELECT COUNT(*) AS "count" FROM "stations" "s" JOIN "rides" "r" ON "s"."station_id" = "r"."origin" WHERE (LOWER("s"."name") LIKE '%ar%') AND ("r"."line" <> 'U1' OR "r"."line" IS NULL)

-- metro: further, Metabase percent of rows with share expression
SELECT CAST(SUM(CASE WHEN "rides"."delay_s" > 300 THEN 1 ELSE 0.0 END) AS float) / NULLIF(COUNT(*), 0) AS "share" FROM "rides"

-- metro: further, Metabase offset previous month
SELECT "source"."month" AS "month", "source"."count" AS "count", LAG("source"."count", 1) OVER (ORDER BY "source"."month" ASC) AS "prev", CAST("source"."count" AS float) / CASE WHEN LAG("source"."count", 1) OVER (ORDER BY "source"."month" ASC) = 0 THEN NULL ELSE LAG("source"."count", 1) OVER (ORDER BY "source"."month" ASC) END AS ratio
FROM (SELECT DATE_TRUNC('month', "rides"."tap_in") AS "month", COUNT(*) AS "count" FROM "rides" GROUP BY DATE_TRUNC('month', "rides"."tap_in")) AS "source" ORDER BY 1

-- metro: further, Metabase unix timestamp coercion
-- plain: SELECT DATE_TRUNC('month', tap_in) AS m, COUNT(*) AS n FROM rides GROUP BY 1
SELECT DATE_TRUNC('month', TO_TIMESTAMP(EXTRACT(EPOCH FROM tap_in))) AS m, COUNT(*) AS n FROM rides GROUP BY 1

-- metro: further, Grafana five minute rate
-- plain: SELECT FLOOR(EPOCH(paid_at) / 300) * 300 AS t, SUM(amount) AS s FROM topups WHERE paid_at >= '2024-06-01' AND paid_at <= '2024-06-02' GROUP BY 1
SELECT floor(extract(epoch from "paid_at")/300)*300 AS "t", sum("amount") AS "s" FROM topups WHERE "paid_at" >= to_timestamp(1717200000) AND "paid_at" <= to_timestamp(1717286400) GROUP BY 1 ORDER BY 1

-- metro: further, Grafana timescale time_bucket
-- plain: SELECT DATE_TRUNC('day', tap_in) AS t, AVG(fare) AS f FROM rides WHERE tap_in BETWEEN '2024-04-01' AND '2024-04-30' GROUP BY 1
SELECT time_bucket('1 day', tap_in) AS t, avg(fare) AS f FROM rides WHERE tap_in BETWEEN '2024-04-01' AND '2024-04-30' GROUP BY 1 ORDER BY 1

-- metro: further, Grafana gap fill with generate_series
-- plain: SELECT g.t, COALESCE(x.n, 0) AS n FROM generate_series(TIMESTAMP '2024-04-01', TIMESTAMP '2024-04-02', INTERVAL '1 hour') AS g(t) LEFT JOIN (SELECT date_trunc('hour', tap_in) AS t, count(*) AS n FROM rides GROUP BY 1) x ON x.t = g.t
SELECT g.t, COALESCE(x.n, 0) AS n FROM generate_series('2024-04-01'::timestamp, '2024-04-02'::timestamp, '1 hour') AS g(t) LEFT JOIN (SELECT date_trunc('hour', tap_in) AS t, count(*) AS n FROM rides GROUP BY 1) x ON x.t = g.t ORDER BY 1

-- metro: further, rides between two stations with self-joined public table
SELECT CONCAT(o.name, ' - ', d.name) AS od, COUNT(*) AS n FROM rides r JOIN stations o ON o.station_id = r.origin JOIN stations d ON d.station_id = r.destination GROUP BY o.name, d.name HAVING COUNT(*) > 100 ORDER BY n DESC, od LIMIT 5

-- metro: further, loyal commuters
SELECT COUNT(*) AS commuters FROM (SELECT card_id FROM rides WHERE EXTRACT(ISODOW FROM tap_in) < 6 AND tap_in::time BETWEEN '07:00' AND '09:00' GROUP BY card_id HAVING COUNT(*) >= 2 AND COUNT(DISTINCT date_trunc('day', tap_in)) >= 2) t

-- metro: further, mode of line per card kind
SELECT c.kind, mode() WITHIN GROUP (ORDER BY r.line) AS favourite FROM rides r JOIN cards c USING (card_id) GROUP BY c.kind

-- metro: further, age of card at ride in months
-- plain: SELECT FLOOR(DATE_DIFF('day', c.issued_on, r.tap_in::date) / 365.0) AS years_old, COUNT(*) AS n FROM rides r JOIN cards c ON c.card_id = r.card_id WHERE r.tap_in::date >= c.issued_on GROUP BY 1
SELECT FLOOR((r.tap_in::date - c.issued_on) / 365.0) AS years_old, COUNT(*) AS n FROM rides r JOIN cards c ON c.card_id = r.card_id WHERE r.tap_in::date >= c.issued_on GROUP BY 1 ORDER BY 1

-- metro: further, ratio of weekend to weekday rides
SELECT line, COUNT(*) FILTER (WHERE EXTRACT(DOW FROM tap_in) IN (0, 6))::float / NULLIF(COUNT(*) FILTER (WHERE EXTRACT(DOW FROM tap_in) NOT IN (0, 6)), 0) AS ratio FROM rides GROUP BY line

-- campus: further, semester of login as lookup
-- refused: a subquery is refused here
SELECT (SELECT s.semester FROM semesters s WHERE l.at::date BETWEEN s.starts AND s.ends) AS semester, COUNT(*) AS n FROM logins l GROUP BY 1

-- campus: further, rank of courses inside faculty
SELECT c.faculty, c.title, AVG(e.grade) AS g, RANK() OVER (PARTITION BY c.faculty ORDER BY AVG(e.grade) DESC) AS r FROM exams e JOIN courses c ON c.code = e.course GROUP BY c.faculty, c.title

-- campus: further, CASE grade letters ordered
SELECT CASE WHEN grade >= 5.5 THEN 'A' WHEN grade >= 5 THEN 'B' WHEN grade >= 4.5 THEN 'C' WHEN grade >= 4 THEN 'D' ELSE 'F' END AS letter, COUNT(*) AS n, ROUND(COUNT(*)::numeric / SUM(COUNT(*)) OVER () * 100, 1) AS pct FROM exams WHERE grade IS NOT NULL GROUP BY 1 ORDER BY 1

-- campus: further, stddev of grades and coefficient of variation
-- about: 1e-3
SELECT course, STDDEV_SAMP(grade) AS sd, STDDEV_SAMP(grade) / AVG(grade) AS cv FROM exams GROUP BY course

-- campus: further, first exam result predicts
SELECT first_passed, COUNT(*) AS students, AVG(n) AS exams FROM (SELECT student_id, BOOL_OR(attempt = 1 AND grade >= 4) AS first_passed, COUNT(*) AS n FROM exams GROUP BY student_id) t GROUP BY first_passed

-- campus: further, born in decade
SELECT (EXTRACT(YEAR FROM born)::int / 10) * 10 AS decade, COUNT(*) AS n FROM students GROUP BY 1 ORDER BY 1

-- campus: further, born in decade with floor
SELECT FLOOR(DATE_PART('year', born) / 10) * 10 AS decade, COUNT(*) AS n FROM students GROUP BY 1 ORDER BY 1

-- campus: further, make_interval
-- plain: SELECT COUNT(*) AS n FROM students WHERE enrolled_on + INTERVAL 3 YEAR < DATE '2024-01-01'
SELECT COUNT(*) AS n FROM students WHERE enrolled_on + make_interval(years => 3) < DATE '2024-01-01'

-- campus: further, next exam within 100 days with LEAD
SELECT course, AVG(CASE WHEN nxt - taken_on <= 100 THEN 1.0 ELSE 0 END) AS soon FROM (SELECT course, taken_on, LEAD(taken_on) OVER (PARTITION BY student_id ORDER BY taken_on) AS nxt FROM exams) t WHERE nxt IS NOT NULL GROUP BY course

-- campus: further, SQL Server date parts
-- plain: SELECT YEAR(taken_on) AS y, MONTH(taken_on) AS m, COUNT(*) AS n FROM exams GROUP BY 1, 2
SELECT DATEPART(year, taken_on) AS y, DATEPART(month, taken_on) AS m, COUNT(*) AS n FROM exams GROUP BY DATEPART(year, taken_on), DATEPART(month, taken_on)

-- campus: further, ANY and ARRAY
SELECT COUNT(*) AS n FROM exams WHERE course = ANY(ARRAY['MATH1', 'MATH2'])

-- campus: further, POSIX regex
SELECT COUNT(*) AS n FROM exams WHERE course ~ '^MATH[12]$'

-- campus: further, split course code
-- refused: LEFT needs a whole number from 0 to 1,000,000 there, written as a constant
SELECT LEFT(course, LENGTH(course) - 1) AS subject, COUNT(*) AS n FROM exams GROUP BY 1

-- utility: further, days to pay in date_diff of Trino
SELECT date_diff('day', issued_on, paid_on) AS d, COUNT(*) AS n FROM bills WHERE paid_on IS NOT NULL GROUP BY 1 ORDER BY 1

-- utility: further, collections curve
SELECT days, SUM(n) OVER (ORDER BY days) * 1.0 / SUM(n) OVER () AS paid_share FROM (SELECT CEIL((paid_on - issued_on) / 10.0) * 10 AS days, COUNT(*) AS n FROM bills WHERE paid_on IS NOT NULL GROUP BY 1) t ORDER BY days

-- utility: further, top contract per town
WITH t AS (SELECT r.town, c.contract, COUNT(*) AS n FROM customers c JOIN regions r USING (postcode) GROUP BY r.town, c.contract), ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY town ORDER BY n DESC, contract) AS rn FROM t)
SELECT town, contract, n FROM ranked WHERE rn = 1

-- utility: further, cost per kWh quartile bands per customer
SELECT CASE WHEN rate < 0.2 THEN 'low' WHEN rate < 0.3 THEN 'mid' ELSE 'high' END AS band, COUNT(*) AS customers FROM (SELECT customer_id, SUM(amount) / NULLIF(SUM(kwh), 0) AS rate FROM bills GROUP BY customer_id) t GROUP BY 1

-- utility: further, winter against summer
SELECT contract, SUM(CASE WHEN EXTRACT(MONTH FROM issued_on) IN (1, 10) THEN kwh END) / NULLIF(SUM(CASE WHEN EXTRACT(MONTH FROM issued_on) IN (4, 7) THEN kwh END), 0)::numeric AS winter_ratio FROM bills JOIN customers USING (customer_id) GROUP BY contract

-- utility: further, callers who had an unpaid bill
SELECT k.reason, COUNT(*) AS calls FROM calls k WHERE k.customer_id IN (SELECT b.customer_id FROM bills b WHERE b.paid_on IS NULL AND b.issued_on < '2024-01-01') GROUP BY k.reason ORDER BY calls DESC

-- utility: further, VALUES lookup of labels
SELECT v.label, COUNT(*) AS n FROM customers c JOIN (VALUES ('green', 'Naturstrom'), ('fixed', 'Festpreis'), ('flex', 'Spot')) AS v(code, label) ON v.code = c.contract GROUP BY v.label

-- utility: public table grouped
SELECT r.canton, COUNT(*) AS postcodes FROM regions r GROUP BY r.canton

-- utility: further, quoted mixed case names
SELECT "Contract", COUNT(*) AS "Number of Customers" FROM customers GROUP BY "Contract" ORDER BY "Number of Customers" DESC

-- utility: further, epoch milliseconds
-- plain: SELECT EPOCH(DATE_TRUNC('day', called_at)) * 1000 AS t, COUNT(*) AS n FROM calls GROUP BY 1
SELECT EXTRACT(EPOCH FROM DATE_TRUNC('day', called_at)) * 1000 AS t, COUNT(*) AS n FROM calls GROUP BY 1 ORDER BY 1

-- utility: further, minutes by time of day band
SELECT CASE WHEN called_at::time < TIME '12:00' THEN 'morning' WHEN called_at::time < TIME '18:00' THEN 'afternoon' ELSE 'evening' END AS part, SUM(minutes) AS minutes FROM calls GROUP BY 1

-- utility: further, nested limit then average
SELECT AVG(n) AS mean_top FROM (SELECT reason, COUNT(*) AS n FROM calls GROUP BY reason ORDER BY n DESC LIMIT 3) t

-- utility: further, OFFSET FETCH paging
SELECT contract, COUNT(*) AS n FROM customers GROUP BY contract ORDER BY contract OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY

-- utility: further, scalar select in select list
SELECT contract, COUNT(*) AS n, (SELECT COUNT(*) FROM customers) AS all_customers, COUNT(*)::float / (SELECT COUNT(*) FROM customers) AS share FROM customers GROUP BY contract

-- utility: further, interval of several units
SELECT COUNT(*) AS n FROM bills WHERE paid_on > issued_on + INTERVAL '1 month 5 days'

-- utility: further, average interval
-- plain: SELECT contract, AVG(DATE_DIFF('day', since, ended)) AS d FROM customers WHERE ended IS NOT NULL GROUP BY contract
SELECT contract, AVG(ended - since) AS d FROM customers WHERE ended IS NOT NULL GROUP BY contract

-- utility: further, count in bins with generate_series join
-- plain: SELECT g AS low, COUNT(*) AS n FROM range(0, 2600, 500) t(g) JOIN bills b ON b.kwh >= g AND b.kwh < g + 500 GROUP BY g
SELECT g.low, COUNT(*) AS n FROM generate_series(0, 2500, 500) AS g(low) JOIN bills b ON b.kwh >= g.low AND b.kwh < g.low + 500 GROUP BY g.low ORDER BY g.low

-- metro: third, not in with nulls
SELECT COUNT(*) AS n FROM rides WHERE delay_s NOT IN (0, 60, 120)

-- metro: third, not with null comparison
SELECT COUNT(*) AS n FROM rides WHERE NOT (delay_s > 100)

-- metro: third, sum case without else
SELECT line, SUM(CASE WHEN delay_s > 600 THEN fare END) AS late_fares, AVG(CASE WHEN delay_s > 600 THEN fare END) AS avg_late FROM rides GROUP BY line

-- metro: third, between dates excludes the last day
SELECT COUNT(*) AS n FROM rides WHERE tap_in BETWEEN '2024-02-01' AND '2024-02-29'

-- metro: third, date cast between includes it
SELECT COUNT(*) AS n FROM rides WHERE tap_in::date BETWEEN '2024-02-01' AND '2024-02-29'

-- metro: third, count distinct pairs by concat
-- refused: card_id is refused here: it tells one person from another
SELECT COUNT(DISTINCT card_id::text || '-' || line) AS pairs FROM rides

-- metro: third, iso week year boundary
SELECT EXTRACT(ISOYEAR FROM tap_in) AS y, EXTRACT(WEEK FROM tap_in) AS w, COUNT(*) AS n FROM rides WHERE tap_in >= '2023-12-25' AND tap_in < '2024-01-15' GROUP BY 1, 2 ORDER BY 1, 2

-- metro: third, negative modulo and rounding
SELECT SUM(delay_s % 7) AS m, SUM(ROUND(delay_s / 7.0)) AS r, SUM(TRUNC(delay_s / 7.0)) AS t FROM rides

-- metro: third, greatest least with nulls
SELECT SUM(GREATEST(delay_s, 0)) AS late, SUM(LEAST(COALESCE(delay_s, 0), 300)) AS capped FROM rides

-- metro: third, union of two lists of cards
SELECT COUNT(*) AS n FROM (SELECT card_id FROM rides WHERE line = 'U1' UNION SELECT card_id FROM topups WHERE channel = 'web') u

-- metro: third, except
SELECT COUNT(*) AS n FROM (SELECT card_id FROM rides EXCEPT SELECT card_id FROM topups) u

-- metro: third, last topup before each ride
SELECT AVG(amount) AS a FROM (SELECT r.card_id, (SELECT t.amount FROM topups t WHERE t.card_id = r.card_id AND t.paid_at <= r.tap_in ORDER BY t.paid_at DESC LIMIT 1) AS amount FROM rides r) x

-- metro: third, running balance per card
SELECT COUNT(*) AS n FROM (SELECT card_id, SUM(amount) OVER (PARTITION BY card_id ORDER BY paid_at) AS bal FROM topups) b WHERE bal > 100

-- metro: third, rank of rides by fare per card
SELECT AVG(fare) AS top_fare FROM (SELECT card_id, fare, RANK() OVER (PARTITION BY card_id ORDER BY fare DESC) AS rk FROM rides) t WHERE rk = 1

-- metro: third, percent of total by two levels
SELECT line, origin, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY line) AS share FROM rides WHERE origin IN (1, 2, 3) GROUP BY line, origin

-- metro: third, having with or
SELECT origin, destination, COUNT(*) AS n, AVG(fare) AS f FROM rides GROUP BY origin, destination HAVING COUNT(*) > 700 OR AVG(fare) > 4 ORDER BY 1, 2

-- metro: third, rollup with null destination
SELECT line, channel, COUNT(*) AS n FROM rides r JOIN topups t ON t.card_id = r.card_id GROUP BY ROLLUP (line, channel)

-- metro: third, full outer join of two answers
SELECT COALESCE(a.m, b.m) AS m, a.n AS rides, b.n AS topups FROM (SELECT date_trunc('month', tap_in) AS m, COUNT(*) AS n FROM rides GROUP BY 1) a FULL OUTER JOIN (SELECT date_trunc('month', paid_at) AS m, COUNT(*) AS n FROM topups GROUP BY 1) b ON a.m = b.m ORDER BY 1

-- metro: third, hour of ride in local zone
-- plain: SELECT HOUR(tap_in + CASE WHEN (tap_in >= TIMESTAMP '2023-03-26 01:00' AND tap_in < TIMESTAMP '2023-10-29 01:00') OR (tap_in >= TIMESTAMP '2024-03-31 01:00' AND tap_in < TIMESTAMP '2024-10-27 01:00') THEN INTERVAL 2 HOUR ELSE INTERVAL 1 HOUR END) AS h, COUNT(*) AS n FROM rides GROUP BY 1
SELECT EXTRACT(HOUR FROM tap_in AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich') AS h, COUNT(*) AS n FROM rides GROUP BY 1 ORDER BY 1

-- metro: third, month difference functions
SELECT SUM(DATE_DIFF('month', c.issued_on, r.tap_in::date)) AS months FROM cards c JOIN rides r USING (card_id)

-- metro: third, age parts
-- plain: SELECT SUM(DATE_SUB('month', c.issued_on, DATE '2024-12-31')) AS m FROM cards c
SELECT SUM(EXTRACT(YEAR FROM AGE(DATE '2024-12-31', c.issued_on)) * 12 + EXTRACT(MONTH FROM AGE(DATE '2024-12-31', c.issued_on))) AS m FROM cards c

-- metro: third, lower case between texts
SELECT COUNT(*) AS n FROM cards WHERE kind BETWEEN 'adult' AND 'senior'

-- metro: third, like with underscore and escape
SELECT COUNT(*) AS n FROM cards WHERE kind LIKE '_dul%' OR kind LIKE 'sen%r'

-- metro: third, boolean aggregate of public column
SELECT s.lift, COUNT(*) AS n, AVG(r.fare) AS f FROM rides r JOIN stations s ON s.station_id = r.origin GROUP BY s.lift

-- metro: third, cards without topup but rides
SELECT c.kind, COUNT(*) AS n FROM cards c LEFT JOIN topups t ON t.card_id = c.card_id WHERE t.card_id IS NULL GROUP BY c.kind

-- metro: third, three way left join counts multiply
SELECT COUNT(*) AS n, COUNT(DISTINCT c.card_id) AS cards FROM cards c LEFT JOIN topups t ON t.card_id = c.card_id AND t.amount > 90

-- metro: third, max per unit then average by kind
-- refused: the difference of two timestamps is an INTERVAL, which is no number
SELECT c.kind, AVG(x.longest) AS l FROM cards c JOIN (SELECT card_id, MAX(tap_out - tap_in) AS longest FROM rides GROUP BY card_id) x USING (card_id) GROUP BY c.kind

-- metro: third, max seconds per unit then average by kind
SELECT c.kind, AVG(x.longest) AS l FROM cards c JOIN (SELECT card_id, MAX(EXTRACT(EPOCH FROM tap_out - tap_in)) AS longest FROM rides GROUP BY card_id) x USING (card_id) GROUP BY c.kind

-- grocer: third, weighted average price
SELECT p.category, SUM(i.price * i.qty) / NULLIF(SUM(i.qty), 0) AS wavg FROM items i JOIN products p USING (sku) GROUP BY p.category

-- grocer: third, distinct days shopped per member
SELECT AVG(days) AS d FROM (SELECT member_id, COUNT(DISTINCT bought_at::date) AS days FROM receipts GROUP BY member_id) t

-- grocer: third, weekday weekend case with isodow
SELECT CASE WHEN EXTRACT(ISODOW FROM bought_at) >= 6 THEN 'weekend' ELSE 'week' END AS part, payment, SUM(total) AS s FROM receipts GROUP BY 1, 2

-- grocer: third, price bands with half open bins
SELECT CASE WHEN price < 5 THEN '0-5' WHEN price < 10 THEN '5-10' WHEN price < 20 THEN '10-20' ELSE '20+' END AS band, COUNT(*) AS n, SUM(qty) AS q FROM items GROUP BY 1

-- grocer: third, coupon null counted as text
SELECT COALESCE(NULLIF(LOWER(coupon), ''), '(none)') AS c, COUNT(*) AS n FROM receipts GROUP BY 1

-- grocer: third, discount amounts with decimals
SELECT ROUND(SUM(qty * price * discount), 2) AS given, ROUND(AVG(price * (1 - discount)), 4) AS net FROM items

-- grocer: third, city trimmed and joined to shops
SELECT s.region, COUNT(*) AS n FROM members m JOIN shops s ON LOWER(s.city) = LOWER(TRIM(m.city)) GROUP BY s.region

-- grocer: third, home shop purchases share
SELECT AVG(CASE WHEN r.shop_id = m.home_shop THEN 1.0 ELSE 0.0 END) AS loyal FROM receipts r JOIN members m USING (member_id)

-- grocer: third, first and last month per member
SELECT AVG(EXTRACT(YEAR FROM last_at) * 12 + EXTRACT(MONTH FROM last_at) - EXTRACT(YEAR FROM first_at) * 12 - EXTRACT(MONTH FROM first_at)) AS months FROM (SELECT member_id, MIN(bought_at) AS first_at, MAX(bought_at) AS last_at FROM receipts GROUP BY member_id) t

-- utility: third, sum over empty filter
SELECT contract, SUM(kwh) FILTER (WHERE issued_on > DATE '2030-01-01') AS none, COUNT(*) FILTER (WHERE issued_on > DATE '2030-01-01') AS zero FROM bills JOIN customers USING (customer_id) GROUP BY contract

-- utility: third, paid late or never
SELECT COUNT(*) AS n FROM bills WHERE paid_on IS NULL OR paid_on - issued_on > 60

-- utility: third, active on a given day with coalesce far future
SELECT contract, COUNT(*) AS n FROM customers WHERE DATE '2022-06-30' BETWEEN since AND COALESCE(ended, DATE '9999-12-31') GROUP BY contract

-- utility: third, overlapping year
-- plain: SELECT COUNT(*) AS n FROM customers WHERE since < DATE '2021-01-01' AND COALESCE(ended, DATE '2024-12-31') > DATE '2020-01-01'
SELECT COUNT(*) AS n FROM customers WHERE (since, COALESCE(ended, DATE '2024-12-31')) OVERLAPS (DATE '2020-01-01', DATE '2021-01-01')

-- utility: third, days in force in 2023
SELECT SUM(GREATEST(0, LEAST(COALESCE(ended, DATE '2023-12-31'), DATE '2023-12-31') - GREATEST(since, DATE '2023-01-01') + 1)) AS days FROM customers

-- utility: third, variance by contract
-- about: 1e-3
SELECT contract, VAR_SAMP(kwh) AS v, STDDEV_POP(amount) AS s FROM bills JOIN customers USING (customer_id) GROUP BY contract

-- utility: third, rank of bills of each customer by size then share of top
SELECT SUM(CASE WHEN r = 1 THEN amount ELSE 0 END) / SUM(amount) AS top_share FROM (SELECT amount, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY amount DESC) AS r FROM bills) t

-- utility: third, dense rank and first value
SELECT AVG(amount - first_amount) AS diff FROM (SELECT amount, FIRST_VALUE(amount) OVER (PARTITION BY customer_id ORDER BY issued_on) AS first_amount FROM bills) t

-- campus: third, share of repeated attempts by degree
SELECT s.degree, COUNT(*) FILTER (WHERE e.attempt >= 2)::float / COUNT(*) AS share FROM exams e JOIN students s USING (student_id) GROUP BY s.degree

-- campus: third, count nulls
SELECT course, COUNT(*) - COUNT(grade) AS missing, COUNT(*) FILTER (WHERE grade IS NULL) AS missing2 FROM exams GROUP BY course

-- campus: third, grade rounded to halves
SELECT ROUND(grade * 2) / 2 AS g, COUNT(*) AS n FROM exams WHERE grade IS NOT NULL GROUP BY 1 ORDER BY 1

-- campus: third, average of averages versus overall
SELECT AVG(g) AS mean_of_means FROM (SELECT student_id, AVG(grade) AS g FROM exams GROUP BY student_id) t

-- campus: third, improvements between attempts
SELECT COUNT(*) AS n FROM exams a JOIN exams b ON a.student_id = b.student_id AND a.course = b.course AND b.attempt = a.attempt + 1 WHERE b.grade > a.grade

-- campus: third, concurrent semesters cross join
SELECT s.semester, COUNT(DISTINCT e.student_id) AS n FROM semesters s CROSS JOIN exams e WHERE e.taken_on BETWEEN s.starts AND s.ends GROUP BY s.semester

-- campus: third, LEFT JOIN of semesters keeps the rest
SELECT COALESCE(s.semester, 'other') AS sem, COUNT(*) AS n FROM exams e LEFT JOIN semesters s ON e.taken_on BETWEEN s.starts AND s.ends GROUP BY 1
