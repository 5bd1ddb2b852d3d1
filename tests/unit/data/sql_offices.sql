-- insurer: members by plan and sex
SELECT plan, sex, COUNT(*) FROM members GROUP BY plan, sex ORDER BY plan, sex

-- insurer: age bands at end of 2024
SELECT CASE WHEN DATE_DIFF('year', birth_date, DATE '2024-12-31') < 18 THEN '0-17'
            WHEN DATE_DIFF('year', birth_date, DATE '2024-12-31') < 40 THEN '18-39'
            WHEN DATE_DIFF('year', birth_date, DATE '2024-12-31') < 65 THEN '40-64'
            ELSE '65+' END AS age_band, COUNT(*) AS n
FROM members GROUP BY 1 ORDER BY 1

-- insurer: age via extract from age
SELECT AVG(EXTRACT(YEAR FROM AGE(DATE '2024-12-31', birth_date))) AS mean_age FROM members

-- insurer: obesity prevalence by sex
-- about: 1e-3
SELECT sex, AVG(CASE WHEN weight_kg / POWER(height_cm / 100.0, 2) >= 30 THEN 1.0 ELSE 0 END) AS obese FROM members GROUP BY sex

-- insurer: mean BMI among smokers
-- about: 1e-2
SELECT smoker, ROUND(AVG(weight_kg / ((height_cm/100.0)*(height_cm/100.0))), 1) AS bmi FROM members GROUP BY smoker

-- insurer: incidence per 1000 members per year
WITH cases AS (SELECT EXTRACT(year FROM started_at) AS yr, COUNT(DISTINCT member_id) AS c FROM encounters WHERE icd10 LIKE 'E11%' GROUP BY 1),
     pop AS (SELECT COUNT(*) AS n FROM members)
SELECT yr, c, 1000.0 * c / n AS per_1000 FROM cases CROSS JOIN pop ORDER BY yr

-- insurer: person-time denominators
-- about: 1e-5
SELECT sex, COUNT(DISTINCT e.member_id) / (SUM(DATE_DIFF('day', m.enrolled_on, DATE '2024-12-31')) / 365.25) AS rate
FROM members m JOIN encounters e ON e.member_id = m.id WHERE e.kind = 'emergency' GROUP BY sex

-- insurer: length of stay
SELECT kind, AVG(DATE_DIFF('day', started_at, ended_at)) AS los, MEDIAN(DATE_DIFF('day', started_at, ended_at)) AS med_los
FROM encounters WHERE ended_at IS NOT NULL GROUP BY kind

-- insurer: 30 day readmission via LEAD
WITH seq AS (
  SELECT member_id, ended_at, LEAD(started_at) OVER (PARTITION BY member_id ORDER BY started_at) AS next_start
  FROM encounters WHERE kind = 'inpatient')
SELECT COUNT(*) AS discharges, SUM(CASE WHEN next_start <= ended_at + INTERVAL '30 days' THEN 1 ELSE 0 END) AS readmitted FROM seq WHERE ended_at IS NOT NULL

-- insurer: readmission via exists
SELECT COUNT(*) FROM encounters a WHERE a.kind = 'inpatient' AND EXISTS (
  SELECT 1 FROM encounters b WHERE b.member_id = a.member_id AND b.kind = 'inpatient' AND b.started_at > a.ended_at AND b.started_at < a.ended_at + INTERVAL 30 DAY)

-- insurer: chapter names
SELECT c.title, COUNT(*) AS n, SUM(e.charge) AS total FROM encounters e JOIN chapters c ON c.letter = SUBSTRING(e.icd10, 1, 1) GROUP BY c.title ORDER BY total DESC

-- insurer: ILIKE
SELECT COUNT(DISTINCT member_id) AS users FROM prescriptions WHERE drug ILIKE '%metformin%'

-- insurer: medication possession ratio
-- about: 1e-3
SELECT AVG(LEAST(1.0, covered / 365.0)) AS mpr FROM (
  SELECT member_id, SUM(days_supply) AS covered FROM prescriptions WHERE filled_on >= DATE '2023-01-01' AND filled_on < DATE '2024-01-01' GROUP BY member_id) t

-- insurer: gap between fills
SELECT AVG(gap) FROM (SELECT member_id, filled_on - LAG(filled_on) OVER (PARTITION BY member_id ORDER BY filled_on) AS gap FROM prescriptions) g WHERE gap IS NOT NULL

-- insurer: monthly visits with share of year
SELECT DATE_TRUNC('month', started_at) AS m, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY DATE_PART('year', DATE_TRUNC('month', started_at))) AS share FROM encounters GROUP BY 1 ORDER BY 1

-- insurer: TO_CHAR month
-- plain: SELECT strftime(started_at, '%Y-%m') AS ym, COUNT(*) AS n FROM encounters GROUP BY 1
SELECT TO_CHAR(started_at, 'YYYY-MM') AS ym, COUNT(*) AS n FROM encounters GROUP BY TO_CHAR(started_at, 'YYYY-MM') ORDER BY ym

-- insurer: weekday names
SELECT DAYNAME(started_at) AS weekday, COUNT(*) FROM encounters WHERE kind = 'emergency' GROUP BY DAYNAME(started_at)

-- insurer: night admissions
SELECT SUM(CASE WHEN EXTRACT(HOUR FROM started_at) NOT BETWEEN 7 AND 18 THEN 1 ELSE 0 END) AS night, COUNT(*) AS total FROM encounters

-- insurer: p90 charge
-- about: 0.02
SELECT kind, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY charge) AS p90 FROM encounters GROUP BY kind

-- insurer: several quantiles
-- about: 0.02
SELECT QUANTILE_CONT(charge, 0.25) AS q1, MEDIAN(charge) AS med, QUANTILE_CONT(charge, 0.75) AS q3 FROM encounters

-- insurer: geometric mean charge
-- about: 0.01
SELECT EXP(AVG(LN(charge + 1))) - 1 AS gm FROM encounters

-- insurer: correlation
-- about: 1e-4
SELECT CORR(height_cm, weight_kg) AS r, REGR_SLOPE(weight_kg, height_cm) AS slope FROM members

-- insurer: members with diabetes and no metformin
SELECT COUNT(*) FROM members m WHERE EXISTS (SELECT * FROM encounters e WHERE e.member_id = m.id AND e.icd10 LIKE 'E11%')
 AND m.id NOT IN (SELECT member_id FROM prescriptions WHERE LOWER(drug) = 'metformin')

-- insurer: number of visits distribution
SELECT visits, COUNT(*) AS members FROM (SELECT member_id, COUNT(*) AS visits FROM encounters GROUP BY member_id) v GROUP BY visits ORDER BY visits

-- insurer: high utilisers
SELECT COUNT(*) AS frequent FROM (SELECT member_id FROM encounters WHERE kind = 'emergency' GROUP BY member_id HAVING COUNT(*) >= 3) x

-- insurer: per member cost with zero
SELECT m.plan, AVG(COALESCE(t.total, 0)) AS cost_per_member FROM members m LEFT JOIN (SELECT member_id, SUM(charge) AS total FROM encounters GROUP BY member_id) t ON t.member_id = m.id GROUP BY m.plan

-- insurer: region cleaned
SELECT COALESCE(UPPER(TRIM(region)), 'UNKNOWN') AS region, COUNT(*) AS n FROM members GROUP BY 1

-- insurer: rate against census
SELECT c.region, COUNT(m.id) AS members, c.population, ROUND(100.0 * COUNT(m.id) / c.population, 1) AS pct FROM census c JOIN members m ON m.region = c.region GROUP BY c.region, c.population

-- insurer: odds ratio smoker
WITH t AS (SELECT m.smoker, COUNT(DISTINCT CASE WHEN e.icd10 LIKE 'I%' THEN m.id END) AS ill, COUNT(DISTINCT m.id) AS n FROM members m LEFT JOIN encounters e ON e.member_id = m.id GROUP BY m.smoker)
SELECT (a.ill * 1.0 / (a.n - a.ill)) / (b.ill * 1.0 / (b.n - b.ill)) AS odds_ratio FROM t a, t b WHERE a.smoker AND NOT b.smoker

-- insurer: first encounter per member by month (incidence)
SELECT DATE_TRUNC('month', first_seen) AS month, COUNT(*) AS new_patients FROM (SELECT member_id, MIN(started_at) AS first_seen FROM encounters GROUP BY member_id) f GROUP BY 1 ORDER BY 1

-- insurer: DISTINCT ON latest encounter
SELECT kind, COUNT(*) FROM (SELECT DISTINCT ON (member_id) member_id, kind FROM encounters ORDER BY member_id, started_at DESC) last GROUP BY kind

-- shop: revenue by category
SELECT p.category, SUM(i.quantity * i.unit_price) AS revenue FROM items i JOIN products p USING (product_id) GROUP BY p.category ORDER BY revenue DESC

-- shop: net revenue per month with discount
-- about: 1e-4
SELECT DATE_TRUNC('month', o.ordered_at) AS month, SUM(i.quantity * i.unit_price * (1 - o.discount_pct / 100.0)) AS net
FROM orders o JOIN items i ON i.order_id = o.id WHERE o.status NOT IN ('cancelled', 'returned') GROUP BY 1 ORDER BY 1

-- shop: average order value
-- about: 1e-4
SELECT AVG(total) AS aov FROM (SELECT o.id, SUM(i.quantity * i.unit_price) AS total FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.id) t

-- shop: TOP 5 products T-SQL
-- plain: SELECT p.name, SUM(i.quantity) AS sold FROM items i INNER JOIN products p ON p.product_id = i.product_id GROUP BY p.name ORDER BY sold DESC LIMIT 5
SELECT TOP 5 p.name, SUM(i.quantity) AS sold FROM items i INNER JOIN products p ON p.product_id = i.product_id GROUP BY p.name ORDER BY sold DESC

-- shop: FETCH FIRST
SELECT country, COUNT(*) AS n FROM customers GROUP BY country ORDER BY n DESC FETCH FIRST 2 ROWS ONLY

-- shop: NVL / DECODE Oracle
-- plain: SELECT CASE status WHEN 'shipped' THEN 'ok' WHEN 'paid' THEN 'ok' WHEN 'cancelled' THEN 'lost' ELSE 'other' END AS outcome, COUNT(*) AS n, COUNT(COALESCE(coupon,'none')) AS c FROM orders GROUP BY 1
SELECT DECODE(status, 'shipped', 'ok', 'paid', 'ok', 'cancelled', 'lost', 'other') AS outcome, COUNT(*) AS n, COUNT(NVL(coupon, 'none')) AS c FROM orders GROUP BY DECODE(status, 'shipped', 'ok', 'paid', 'ok', 'cancelled', 'lost', 'other')

-- shop: IIF
-- plain: SELECT IF(discount_pct > 0, 'discounted', 'full price') AS pricing, COUNT(*) FROM orders GROUP BY 1
SELECT IIF(discount_pct > 0, 'discounted', 'full price') AS pricing, COUNT(*) FROM orders GROUP BY IIF(discount_pct > 0, 'discounted', 'full price')

-- shop: SAFE_DIVIDE COUNTIF
-- plain: SELECT channel, SUM(CASE WHEN status='returned' THEN 1 ELSE 0 END)/COUNT(*) AS return_rate FROM orders GROUP BY channel
SELECT channel, SAFE_DIVIDE(COUNTIF(status = 'returned'), COUNT(*)) AS return_rate FROM orders GROUP BY channel

-- shop: cohort retention
WITH first AS (SELECT customer_id, MIN(DATE_TRUNC('month', ordered_at)) AS cohort FROM orders GROUP BY customer_id),
act AS (SELECT o.customer_id, f.cohort, DATE_DIFF('month', f.cohort, DATE_TRUNC('month', o.ordered_at)) AS period FROM orders o JOIN first f ON f.customer_id = o.customer_id)
SELECT cohort, period, COUNT(DISTINCT customer_id) AS active FROM act WHERE cohort < DATE '2022-04-01' AND period BETWEEN 0 AND 6 GROUP BY cohort, period ORDER BY 1, 2

-- shop: repeat purchase rate
SELECT COUNT(CASE WHEN n > 1 THEN 1 END) * 1.0 / COUNT(*) AS repeat_rate FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) t

-- shop: RFM
SELECT CASE WHEN recency <= 90 THEN 'active' WHEN recency <= 365 THEN 'lapsing' ELSE 'lost' END AS state, COUNT(*) AS customers, AVG(freq) AS avg_orders
FROM (SELECT customer_id, DATE_DIFF('day', MAX(ordered_at), TIMESTAMP '2024-12-31') AS recency, COUNT(*) AS freq FROM orders GROUP BY customer_id) r GROUP BY 1

-- shop: year over year
SELECT y, n, n - LAG(n) OVER (ORDER BY y) AS diff, ROUND(100.0 * (n - LAG(n) OVER (ORDER BY y)) / LAG(n) OVER (ORDER BY y), 1) AS pct FROM (SELECT YEAR(ordered_at) AS y, COUNT(*) AS n FROM orders GROUP BY 1) t ORDER BY y

-- shop: same month last year
WITH m AS (SELECT DATE_TRUNC('month', ordered_at) AS mon, COUNT(*) AS n FROM orders GROUP BY 1)
SELECT a.mon, a.n, b.n AS last_year FROM m a LEFT JOIN m b ON b.mon = a.mon - INTERVAL '1 year' ORDER BY a.mon

-- shop: generate_series calendar
SELECT s.mon, COALESCE(t.n, 0) AS n FROM generate_series(DATE '2024-01-01', DATE '2024-12-01', INTERVAL '1 month') AS s(mon)
LEFT JOIN (SELECT DATE_TRUNC('month', ordered_at) AS mon, COUNT(*) AS n FROM orders GROUP BY 1) t ON t.mon = s.mon ORDER BY 1

-- shop: rolling 7 day
WITH d AS (SELECT CAST(ordered_at AS DATE) AS day, COUNT(*) AS n FROM orders WHERE ordered_at >= '2024-01-01' AND ordered_at < '2024-03-01' GROUP BY 1)
SELECT day, n, AVG(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma7 FROM d ORDER BY day

-- shop: top product per category
SELECT category, name, sold FROM (SELECT p.category, p.name, SUM(i.quantity) AS sold, ROW_NUMBER() OVER (PARTITION BY p.category ORDER BY SUM(i.quantity) DESC) AS rk FROM items i JOIN products p ON p.product_id = i.product_id GROUP BY 1, 2) x WHERE rk = 1

-- shop: rollup
SELECT country, newsletter, COUNT(*) AS n FROM customers GROUP BY ROLLUP (country, newsletter)

-- shop: grouping sets
SELECT channel, status, COUNT(*) AS n FROM orders GROUP BY GROUPING SETS ((channel), (status), ())

-- shop: email domains
SELECT SPLIT_PART(email, '@', 2) AS provider, COUNT(*) AS n FROM customers GROUP BY 1 ORDER BY n DESC

-- shop: coupon usage
SELECT COALESCE(UPPER(coupon), 'NO COUPON') AS coupon, COUNT(*) AS orders, COUNT(DISTINCT customer_id) AS customers FROM orders GROUP BY 1

-- shop: string_agg of answers
SELECT STRING_AGG(category, ', ' ORDER BY category) AS cats FROM (SELECT p.category, COUNT(*) AS n FROM items i JOIN products p ON p.product_id = i.product_id GROUP BY 1) t WHERE n > 100

-- shop: Pareto cumulative share
WITH r AS (SELECT p.name, SUM(i.quantity * i.unit_price) AS rev FROM items i JOIN products p ON p.product_id = i.product_id GROUP BY p.name)
SELECT name, rev, SUM(rev) OVER (ORDER BY rev DESC) / SUM(rev) OVER () AS cum_share FROM r ORDER BY rev DESC

-- shop: age groups of customers by decade
-- plain: SELECT FLOOR((2024 - birth_year) / 10.0) * 10 AS decade, COUNT(*) FROM customers GROUP BY 1 ORDER BY 1
SELECT FLOOR((2024 - birth_year) / 10) * 10 AS decade, COUNT(*) FROM customers GROUP BY 1 ORDER BY 1

-- shop: CLV median
-- about: 0.05
SELECT MEDIAN(spend) FROM (SELECT o.customer_id, SUM(i.quantity * i.unit_price) AS spend FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.customer_id) c

-- shop: time between first and second order
WITH n AS (SELECT customer_id, ordered_at, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at) AS k FROM orders)
SELECT AVG(DATE_DIFF('day', a.ordered_at, b.ordered_at)) AS days FROM n a JOIN n b ON a.customer_id = b.customer_id AND a.k = 1 AND b.k = 2

-- shop: signup to first order funnel
SELECT COUNT(*) AS signups, COUNT(o.first_order) AS ordered, COUNT(CASE WHEN o.first_order < c.signup_date + INTERVAL 30 DAY THEN 1 END) AS within30
FROM customers c LEFT JOIN (SELECT customer_id, MIN(ordered_at) AS first_order FROM orders GROUP BY 1) o ON o.customer_id = c.id

-- shop: values list join
SELECT v.label, COUNT(*) AS n FROM orders o JOIN (VALUES ('web', 'online'), ('app', 'online'), ('store', 'offline')) AS v(channel, label) ON v.channel = o.channel GROUP BY v.label

-- shop: union of kpis
SELECT 'customers' AS kpi, COUNT(*) AS value FROM customers UNION ALL SELECT 'orders', COUNT(*) FROM orders UNION ALL SELECT 'items', COUNT(*) FROM items

-- shop: pivot by case
SELECT country, SUM(CASE WHEN newsletter THEN 1 ELSE 0 END) AS yes, SUM(CASE WHEN newsletter THEN 0 ELSE 1 END) AS no FROM customers GROUP BY country

-- shop: quarter label
SELECT CONCAT(YEAR(ordered_at), '-Q', QUARTER(ordered_at)) AS q, COUNT(*) AS n FROM orders GROUP BY 1 ORDER BY 1

-- shop: format month name
SELECT STRFTIME(DATE_TRUNC('month', ordered_at), '%b %Y') AS month, COUNT(*) FROM orders GROUP BY DATE_TRUNC('month', ordered_at) ORDER BY DATE_TRUNC('month', ordered_at)

-- shop: customers who bought shoes but never hats
SELECT COUNT(DISTINCT o.customer_id) FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.product_id = i.product_id WHERE p.category = 'Shoes'
AND o.customer_id NOT IN (SELECT o2.customer_id FROM orders o2 JOIN items i2 ON i2.order_id = o2.id JOIN products p2 ON p2.product_id = i2.product_id WHERE p2.category = 'Hats')

-- shop: except
SELECT COUNT(*) FROM (SELECT id FROM customers EXCEPT SELECT customer_id FROM orders) t

-- shop: NTILE deciles of spend
-- refused: refused
SELECT d, COUNT(*) AS n, AVG(spend) AS avg_spend FROM (SELECT spend, NTILE(10) OVER (ORDER BY spend) AS d FROM (SELECT o.customer_id, SUM(i.unit_price * i.quantity) AS spend FROM orders o JOIN items i ON i.order_id = o.id GROUP BY 1) s) t GROUP BY d ORDER BY d

-- shop: list the customers
-- refused: refused
SELECT id, email FROM customers LIMIT 10

-- transit: taps by hour
SELECT EXTRACT(HOUR FROM tapped_at) AS h, COUNT(*) AS taps FROM taps GROUP BY h ORDER BY h

-- transit: heat matrix weekday x hour
SELECT DAYOFWEEK(tapped_at) AS dow, HOUR(tapped_at) AS hr, COUNT(*) AS n FROM taps GROUP BY 1, 2 ORDER BY 1, 2

-- transit: peak vs off peak
SELECT CASE WHEN EXTRACT(HOUR FROM tapped_at) IN (7, 8, 17, 18) AND EXTRACT(ISODOW FROM tapped_at) < 6 THEN 'peak' ELSE 'off-peak' END AS period, COUNT(*) AS taps, AVG(delay_s) / 60.0 AS avg_delay_min FROM taps GROUP BY 1

-- transit: punctuality
-- about: 0.06
SELECT line, ROUND(100.0 * SUM((delay_s <= 180)::INT) / COUNT(*), 1) AS punctuality FROM taps GROUP BY line ORDER BY punctuality DESC

-- transit: delay percentiles array
-- plain: SELECT line, QUANTILE_DISC(delay_s, 0.95) AS p95 FROM taps GROUP BY line
-- about: 0.02
SELECT line, APPROX_QUANTILE(delay_s, 0.95) AS p95 FROM taps GROUP BY line

-- transit: mode join
SELECT l.mode, COUNT(*) AS boardings, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM taps t JOIN lines l ON l.line = t.line GROUP BY l.mode

-- transit: load factor
SELECT t.line, l.capacity, COUNT(*) AS n, COUNT(*) / CAST(l.capacity AS FLOAT) AS load FROM taps t JOIN lines l ON t.line = l.line GROUP BY t.line, l.capacity

-- transit: stop names
SELECT s.name, s.zone, COUNT(*) AS n FROM taps t JOIN stops s ON s.stop_id = t.stop_id GROUP BY s.name, s.zone ORDER BY n DESC

-- transit: OD matrix from consecutive taps
WITH x AS (SELECT card_id, stop_id AS origin, LEAD(stop_id) OVER (PARTITION BY card_id ORDER BY tapped_at) AS dest FROM taps)
SELECT a.name AS from_stop, b.name AS to_stop, COUNT(*) AS trips FROM x JOIN stops a ON a.stop_id = x.origin JOIN stops b ON b.stop_id = x.dest GROUP BY 1, 2

-- transit: transfers within 30 min
SELECT COUNT(*) FROM (SELECT tapped_at, LAG(tapped_at) OVER (PARTITION BY card_id ORDER BY tapped_at) AS prev FROM taps) t WHERE DATE_DIFF('minute', prev, tapped_at) <= 30

-- transit: rain effect
SELECT CASE WHEN w.rain_mm > 5 THEN 'wet' ELSE 'dry' END AS wx, COUNT(*) AS taps, COUNT(*) * 1.0 / COUNT(DISTINCT w.day) AS per_day FROM taps t JOIN weather w ON w.day = CAST(t.tapped_at AS DATE) GROUP BY 1

-- transit: local time zone
SELECT EXTRACT(HOUR FROM tapped_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich') AS local_hour, COUNT(*) AS n FROM taps GROUP BY 1 ORDER BY 1

-- transit: active cards per week
SELECT DATE_TRUNC('week', tapped_at) AS wk, COUNT(DISTINCT card_id) AS riders FROM taps GROUP BY wk ORDER BY wk

-- transit: frequency classes
SELECT CASE WHEN n < 5 THEN 'rare' WHEN n BETWEEN 5 AND 12 THEN 'occasional' ELSE 'regular' END AS class, COUNT(*) AS cards FROM (SELECT card_id, COUNT(*) AS n FROM taps GROUP BY card_id) GROUP BY class

-- transit: fare by kind
SELECT c.kind, SUM(t.fare) AS revenue, SUM(t.fare) / COUNT(DISTINCT c.id) AS per_card FROM cards c JOIN taps t ON t.card_id = c.id GROUP BY c.kind

-- transit: 15 minute bins
SELECT TIME_BUCKET(INTERVAL '15 minutes', tapped_at) AS slot, COUNT(*) AS n FROM taps WHERE tapped_at >= TIMESTAMP '2024-05-06' AND tapped_at < TIMESTAMP '2024-05-07' GROUP BY 1 ORDER BY 1

-- transit: weekend
SELECT (EXTRACT(DOW FROM tapped_at) IN (0, 6)) AS weekend, COUNT(*) AS n FROM taps GROUP BY 1

-- transit: date_trunc hour peak of day
SELECT DATE_TRUNC('hour', tapped_at) AS h, COUNT(*) AS n FROM taps WHERE line = 'U1' AND tapped_at::DATE = DATE '2024-06-03' GROUP BY 1 ORDER BY 1

-- transit: delay histogram
-- plain: SELECT CAST(FLOOR((delay_s + 600) / 300.0) + 1 AS INT) AS bucket, COUNT(*) AS n FROM taps GROUP BY 1
SELECT WIDTH_BUCKET(delay_s, -600, 3600, 14) AS bucket, COUNT(*) AS n FROM taps GROUP BY 1 ORDER BY 1

-- transit: delay in minutes bins
-- plain: SELECT FLOOR(delay_s / 60.0) AS minute, COUNT(*) FROM taps WHERE delay_s BETWEEN 0 AND 1200 GROUP BY 1
SELECT FLOOR(delay_s / 60) AS minute, COUNT(*) FROM taps WHERE delay_s BETWEEN 0 AND 1200 GROUP BY FLOOR(delay_s / 60) ORDER BY 1

-- transit: U lines with regex
SELECT COUNT(*) FROM taps WHERE REGEXP_MATCHES(line, '^U[0-9]+$')

-- transit: line family
SELECT LEFT(line, 1) AS family, COUNT(*) AS n, AVG(fare) AS fare FROM taps GROUP BY LEFT(line, 1)

-- transit: month over month growth
SELECT m, n, n / LAG(n) OVER (ORDER BY m) - 1 AS growth FROM (SELECT DATE_TRUNC('month', tapped_at) m, COUNT(*) n FROM taps GROUP BY 1) ORDER BY m

-- transit: card tenure
SELECT kind, AVG(DATE '2024-12-31' - issued_on) / 365.25 AS years FROM cards GROUP BY kind

-- transit: cards using more than one line per day
SELECT AVG(lines_used) FROM (SELECT card_id, CAST(tapped_at AS DATE) AS d, COUNT(DISTINCT line) AS lines_used FROM taps GROUP BY card_id, CAST(tapped_at AS DATE)) q

-- bank: fraud rate by method
SELECT method, COUNT(*) AS n, SUM(CASE WHEN is_fraud THEN 1 ELSE 0 END) AS fraud, AVG(CASE WHEN is_fraud THEN 1.0 ELSE 0.0 END) AS rate FROM transactions GROUP BY method

-- bank: fraud volume
SELECT SUM(ABS(amount)) FILTER (WHERE is_fraud) AS fraud_volume, SUM(ABS(amount)) AS volume FROM transactions

-- bank: inflow outflow monthly
SELECT DATE_TRUNC('month', booked_at) AS m, SUM(GREATEST(amount, 0)) AS inflow, SUM(LEAST(amount, 0)) AS outflow, SUM(amount) AS net FROM transactions GROUP BY 1 ORDER BY 1

-- bank: converted to CHF
-- about: 1e-4
SELECT t.currency, SUM(t.amount * r.chf) AS chf FROM transactions t JOIN rates r ON r.currency = t.currency GROUP BY t.currency

-- bank: velocity: 3+ tx within 1 day
SELECT COUNT(DISTINCT client_id) FROM (SELECT client_id, booked_at, LAG(booked_at, 2) OVER (PARTITION BY client_id ORDER BY booked_at) AS p2 FROM transactions) t WHERE booked_at - p2 < INTERVAL '1 day'

-- bank: amount over 3x the client's mean
SELECT COUNT(*) FROM (SELECT amount, AVG(amount) OVER (PARTITION BY client_id) AS m FROM transactions WHERE amount > 0) t WHERE amount > 2 * m

-- bank: mcc labels
-- about: 0.02
SELECT COALESCE(c.label, 'Unknown') AS label, COUNT(*) n, ROUND(AVG(t.amount), 2) AS mean FROM transactions t LEFT JOIN mcc_codes c ON c.mcc = t.mcc GROUP BY 1

-- bank: merchant group
SELECT CASE WHEN merchant LIKE 'COOP%' THEN 'Coop' WHEN merchant LIKE 'MIGROS%' THEN 'Migros' WHEN merchant LIKE '%Uber%' THEN 'Uber' ELSE 'Other' END AS merchant_group, COUNT(*) FROM transactions GROUP BY 1

-- bank: merchant first word
SELECT UPPER(SPLIT_PART(merchant, ' ', 1)) AS m, COUNT(*) AS n FROM transactions GROUP BY m ORDER BY n DESC

-- bank: round amounts
SELECT COUNT(*) FROM transactions WHERE MOD(CAST(ABS(amount) AS INTEGER), 100) = 0 AND ABS(amount) >= 100

-- bank: foreign share
SELECT c.risk, COUNT(*) FILTER (WHERE t.country <> 'CH') / COUNT(*)::DOUBLE AS abroad FROM clients c JOIN transactions t ON t.client_id = c.id GROUP BY c.risk

-- bank: is distinct from
SELECT COUNT(*) FROM transactions WHERE country IS DISTINCT FROM 'CH'

-- bank: nulls
SELECT COUNT(*) AS n, COUNT(country) AS known, COUNT(*) - COUNT(country) AS missing, 100.0 * (COUNT(*) - COUNT(country)) / COUNT(*) AS pct FROM transactions

-- bank: stddev and CV
-- about: 0.01
SELECT currency, STDDEV(amount) AS sd, STDDEV_SAMP(amount) / NULLIF(AVG(amount), 0) AS cv FROM transactions GROUP BY currency

-- bank: z-score outliers
SELECT COUNT(*) FROM transactions WHERE ABS(amount - (-500)) / 1150.0 > 1.5

-- bank: income quintile thresholds
-- about: 0.02
SELECT PERCENTILE_DISC(0.2) WITHIN GROUP (ORDER BY income) p20, PERCENTILE_DISC(0.4) WITHIN GROUP (ORDER BY income) p40, PERCENTILE_DISC(0.6) WITHIN GROUP (ORDER BY income) p60, PERCENTILE_DISC(0.8) WITHIN GROUP (ORDER BY income) p80 FROM clients

-- bank: income bands
SELECT CASE WHEN income < 50000 THEN '<50k' WHEN income < 100000 THEN '50-100k' ELSE '100k+' END AS band, COUNT(*) AS clients, AVG(income) AS mean FROM clients GROUP BY 1

-- bank: round to 10k
SELECT ROUND(income, -4) AS inc, COUNT(*) AS n FROM clients GROUP BY 1 ORDER BY 1

-- bank: spending ratio per client
-- about: 0.05
SELECT AVG(out_ / NULLIF(in_, 0)) FROM (SELECT client_id, SUM(CASE WHEN amount < 0 THEN -amount ELSE 0 END) AS out_, SUM(CASE WHEN amount > 0 THEN amount ELSE 0 END) AS in_ FROM transactions GROUP BY client_id) r WHERE in_ > 100

-- bank: city spelled
SELECT LOWER(city) AS city, COUNT(*) AS n FROM clients WHERE city IS NOT NULL GROUP BY LOWER(city) HAVING COUNT(*) > 20

-- bank: client age years
SELECT YEAR(opened_on) AS cohort, risk, COUNT(*) AS n FROM clients WHERE opened_on >= '2020-01-01' GROUP BY 1, 2

-- bank: dormant
SELECT COUNT(*) FROM clients c WHERE NOT EXISTS (SELECT 1 FROM transactions t WHERE t.client_id = c.id AND t.booked_at >= DATE '2024-06-01')

-- bank: Gini of volume per client
-- refused: refused
WITH v AS (SELECT client_id, SUM(ABS(amount)) AS x FROM transactions GROUP BY client_id) SELECT SUM((2 * r - n - 1) * x) / (n * SUM(x)) AS gini FROM (SELECT x, ROW_NUMBER() OVER (ORDER BY x) AS r, COUNT(*) OVER () AS n FROM v) t GROUP BY n

-- bank: last transaction of each client
SELECT method, COUNT(*) FROM (SELECT client_id, method, ROW_NUMBER() OVER (PARTITION BY client_id ORDER BY booked_at DESC) AS rn FROM transactions) t WHERE rn = 1 GROUP BY method

-- bank: lateral last
SELECT c.risk, AVG(l.amount) AS last_amount FROM clients c CROSS JOIN LATERAL (SELECT amount FROM transactions t WHERE t.client_id = c.id ORDER BY booked_at DESC LIMIT 1) l GROUP BY c.risk

-- bank: running balance went negative
SELECT COUNT(DISTINCT client_id) FROM (SELECT client_id, SUM(amount) OVER (PARTITION BY client_id ORDER BY booked_at ROWS UNBOUNDED PRECEDING) AS bal FROM transactions) b WHERE bal < -5000

-- bank: weekend card spend
SELECT AVG(-amount) FROM transactions WHERE method = 'card' AND amount < 0 AND DAYOFWEEK(booked_at) IN (0, 6)

-- bank: min max amounts
-- about: 20
SELECT MIN(amount), MAX(amount) FROM transactions

-- bank: having vs average of groups
SELECT mcc, COUNT(*) AS n FROM transactions GROUP BY mcc HAVING COUNT(*) >= (SELECT AVG(k) FROM (SELECT COUNT(*) AS k FROM transactions GROUP BY mcc) z)

-- staff: headcount at date
SELECT dept, COUNT(*) AS headcount FROM employees WHERE hired_on <= DATE '2023-12-31' AND (left_on IS NULL OR left_on > DATE '2023-12-31') GROUP BY dept

-- staff: headcount over time
SELECT c.day, COUNT(*) AS headcount FROM calendar c JOIN employees e ON e.hired_on <= c.day AND (e.left_on IS NULL OR e.left_on > c.day) WHERE EXTRACT(DAY FROM c.day) = 1 AND c.day >= DATE '2024-01-01' GROUP BY c.day ORDER BY c.day

-- staff: turnover
SELECT dept, 100.0 * COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM left_on) = 2023) / NULLIF(COUNT(*), 0) AS turnover FROM employees GROUP BY dept

-- staff: gender pay gap
SELECT 1 - AVG(CASE WHEN gender = 'f' THEN salary END) / AVG(CASE WHEN gender = 'm' THEN salary END) AS gap FROM employees

-- staff: median pay gap by dept
-- about: 2000
SELECT dept, MEDIAN(salary) FILTER (WHERE gender = 'm') - MEDIAN(salary) FILTER (WHERE gender = 'f') AS gap FROM employees GROUP BY dept

-- staff: fte adjusted salary
-- about: 0.01
SELECT AVG(salary / fte) AS full_time FROM employees WHERE fte > 0

-- staff: fte nullif
-- about: 0.01
SELECT dept, AVG(salary / NULLIF(fte, 0)) AS full_time, SUM(fte) AS fte FROM employees GROUP BY dept

-- staff: tenure in years
SELECT dept, AVG(DATEDIFF('year', hired_on, COALESCE(left_on, DATE '2024-12-31'))) AS tenure FROM employees GROUP BY dept

-- staff: tenure age function
SELECT gender, AVG(DATE_PART('year', AGE(COALESCE(left_on, DATE '2024-12-31'), hired_on))) AS tenure FROM employees GROUP BY gender

-- staff: sick days per employee
SELECT e.dept, SUM(a.to_day - a.from_day + 1) * 1.0 / COUNT(DISTINCT e.id) AS sick_days FROM employees e LEFT JOIN absences a ON a.employee_id = e.id AND a.kind = 'sick' GROUP BY e.dept

-- staff: bradford factor
SELECT AVG(s * s * d) FROM (SELECT employee_id, COUNT(*) AS s, SUM(to_day - from_day + 1) AS d FROM absences WHERE kind = 'sick' AND from_day >= '2024-01-01' GROUP BY employee_id) b

-- staff: absence monday pattern
SELECT DAYNAME(from_day) AS start_day, COUNT(*) AS n FROM absences WHERE kind = 'sick' GROUP BY 1 ORDER BY n DESC

-- staff: review change
SELECT AVG(b.score - a.score) AS improvement FROM reviews a JOIN reviews b ON a.employee_id = b.employee_id AND b.year = a.year + 1

-- staff: score and salary
-- about: 1e-4
SELECT CORR(r.score, e.salary) FROM reviews r JOIN employees e ON e.id = r.employee_id WHERE r.year = 2024

-- staff: plan vs actual
SELECT d.dept, d.plan_headcount, COUNT(e.id) AS actual, COUNT(e.id) - d.plan_headcount AS diff FROM departments d LEFT JOIN employees e ON e.dept = d.dept AND e.left_on IS NULL GROUP BY d.dept, d.plan_headcount

-- staff: hires per year by gender pivot
SELECT EXTRACT(YEAR FROM hired_on) AS y, COUNT(*) FILTER (WHERE gender = 'f') AS f, COUNT(*) FILTER (WHERE gender = 'm') AS m FROM employees WHERE hired_on >= '2018-01-01' GROUP BY 1 ORDER BY 1

-- staff: highest paid
-- about: 3000
SELECT MAX(salary) FROM employees

-- staff: compa ratio within grade
-- refused: refused
SELECT grade, salary / AVG(salary) OVER (PARTITION BY grade) FROM employees

-- staff: site cleaned
SELECT UPPER(LEFT(site, 1)) || LOWER(SUBSTR(site, 2)) AS site, COUNT(*) FROM employees GROUP BY 1

-- staff: new joiners absent in first 90 days
SELECT COUNT(DISTINCT e.id) FROM employees e JOIN absences a ON a.employee_id = e.id WHERE a.from_day BETWEEN e.hired_on AND e.hired_on + 90

-- staff: quarter ends
SELECT LAST_DAY(hired_on) AS month_end, COUNT(*) FROM employees WHERE hired_on >= '2023-01-01' GROUP BY 1 ORDER BY 1

-- staff: T-SQL dateadd getdate
-- plain: SELECT COUNT(*) FROM employees WHERE hired_on >= DATE '2022-12-31'
SELECT COUNT(*) FROM employees WHERE hired_on >= DATEADD(year, -2, '2024-12-31')

-- staff: T-SQL datediff and convert
-- plain: SELECT dept, AVG(to_day - from_day) AS d, CAST(COUNT(*) AS VARCHAR) AS n FROM absences a JOIN employees e ON e.id = a.employee_id GROUP BY dept
SELECT dept, AVG(DATEDIFF(day, from_day, to_day)) AS d, CONVERT(VARCHAR, COUNT(*)) AS n FROM absences a JOIN employees e ON e.id = a.employee_id GROUP BY dept

-- staff: T-SQL brackets and isnull
-- plain: SELECT dept, COUNT(*) AS n, AVG(salary) FROM employees GROUP BY dept
SELECT [dept], COUNT(*) AS [n], ISNULL(AVG(salary), 0) AS [avg salary] FROM employees GROUP BY [dept]

-- staff: BigQuery backticks and date diff
-- plain: SELECT dept, AVG(to_day - from_day) AS d FROM absences a JOIN employees e ON e.id = a.employee_id GROUP BY dept
SELECT `dept`, AVG(DATE_DIFF(to_day, from_day, DAY)) AS d FROM absences a JOIN employees e ON e.id = a.employee_id GROUP BY `dept`

-- staff: Oracle trunc
-- plain: SELECT DATE_TRUNC('month', from_day) AS m, COUNT(*) FROM absences GROUP BY 1
SELECT TRUNC(from_day, 'MM') AS m, COUNT(*) FROM absences GROUP BY TRUNC(from_day, 'MM')

-- staff: MySQL ifnull date_format
-- plain: SELECT strftime(from_day, '%Y-%m') AS ym, COUNT(*) AS n FROM absences GROUP BY ym
SELECT DATE_FORMAT(from_day, '%Y-%m') AS ym, COUNT(*) AS n FROM absences GROUP BY ym ORDER BY ym

-- staff: BI tool quoted subquery
SELECT "t0"."dept" AS "dept", SUM("t0"."salary") AS "sum:salary:ok", COUNT(1) AS "cnt" FROM (SELECT * FROM "employees") "t0" WHERE ("t0"."gender" IN ('f', 'm')) GROUP BY 1 HAVING (COUNT(1) > 0) ORDER BY 2 DESC LIMIT 1000

-- staff: BI tool where 1=1 with date cast
SELECT date_trunc('quarter', "employees"."hired_on"::timestamp) AS "q", count(*) AS "count" FROM "employees" WHERE 1 = 1 AND "employees"."hired_on" >= CAST('2020-01-01' AS date) GROUP BY date_trunc('quarter', "employees"."hired_on"::timestamp) ORDER BY 1 ASC

-- insurer: dates, minus
SELECT AVG(ended_at::DATE - started_at::DATE) FROM encounters

-- insurer: dates, week
SELECT AVG(DATE_DIFF('week', started_at, ended_at)) FROM encounters

-- insurer: dates, month
SELECT AVG(DATE_DIFF('month', started_at, ended_at)), SUM(DATE_DIFF('year', birth_date, enrolled_on)) FROM members JOIN encounters ON encounters.member_id = members.id

-- insurer: dates, column plus interval
SELECT COUNT(*) FROM prescriptions WHERE filled_on + INTERVAL '1 month' > DATE '2024-12-01'

-- insurer: dates, date_add
SELECT COUNT(*) FROM prescriptions WHERE DATE_ADD(filled_on, INTERVAL 30 DAY) <= DATE '2024-01-01'

-- insurer: dates, supply end
SELECT COUNT(*) FROM prescriptions WHERE filled_on + days_supply >= DATE '2024-12-31'

-- insurer: dates, parts in aggregates
SELECT AVG(MONTH(filled_on)), SUM(EXTRACT(DOY FROM filled_on)), AVG(DAY(filled_on)) FROM prescriptions

-- insurer: dates, lead diff
SELECT MEDIAN(d) FROM (SELECT DATE_DIFF('day', filled_on, LEAD(filled_on) OVER (PARTITION BY member_id ORDER BY filled_on)) AS d FROM prescriptions) t

-- insurer: dates, avg of dates
-- plain: SELECT DATE '2022-01-01' + CAST(ROUND(AVG(filled_on - DATE '2022-01-01')) AS INT) FROM prescriptions
SELECT AVG(filled_on) FROM prescriptions

-- insurer: dates, trunc week quarter hour
SELECT DATE_TRUNC('week', filled_on) AS w, COUNT(*) FROM prescriptions GROUP BY w

-- insurer: dates, trunc quarter
SELECT DATE_TRUNC('quarter', filled_on) AS w, COUNT(*) FROM prescriptions GROUP BY w

-- insurer: dates, zones
SELECT DATE_TRUNC('day', started_at AT TIME ZONE 'UTC' AT TIME ZONE 'America/New_York') AS d, COUNT(*) FROM encounters GROUP BY 1

-- insurer: dates, timezone function
SELECT HOUR(timezone('Europe/Zurich', timezone('UTC', started_at))) AS d, COUNT(*) FROM encounters GROUP BY 1

-- insurer: dates, strftime
SELECT STRFTIME(filled_on, '%Y-%m') AS ym, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: dates, strftime week
SELECT STRFTIME(filled_on, '%G-W%V') AS ym, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: dates, survival by month
SELECT DATE_DIFF('month', enrolled_on, first_ev) AS m, COUNT(*) FROM members JOIN (SELECT member_id, MIN(started_at) AS first_ev FROM encounters GROUP BY 1) f ON f.member_id = members.id GROUP BY 1

-- insurer: dates, age at admission band
-- plain: SELECT FLOOR(DATE_DIFF('year', m.birth_date, e.started_at) / 10.0) * 10 AS band, COUNT(*) FROM encounters e JOIN members m ON m.id = e.member_id GROUP BY 1
SELECT FLOOR(DATE_DIFF('year', m.birth_date, e.started_at) / 10) * 10 AS band, COUNT(*) FROM encounters e JOIN members m ON m.id = e.member_id GROUP BY 1

-- insurer: dates, epoch hours
SELECT AVG(EXTRACT(EPOCH FROM (ended_at - started_at)) / 3600) AS hours FROM encounters

-- insurer: dates, between dates
SELECT COUNT(*) FROM encounters WHERE started_at BETWEEN '2023-01-01' AND '2023-12-31 23:59:59'

-- insurer: dates, make_date
SELECT MAKE_DATE(YEAR(filled_on), MONTH(filled_on), 1) AS m, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: dates, to_date
-- plain: SELECT COUNT(*) FROM prescriptions WHERE filled_on >= DATE '2024-01-01'
SELECT COUNT(*) FROM prescriptions WHERE filled_on >= TO_DATE('2024-01-01', 'YYYY-MM-DD')

-- insurer: dates, date literal concat
SELECT COUNT(*) FROM prescriptions WHERE filled_on >= '2024-01-01'::DATE - INTERVAL '6' MONTH

-- insurer: dates, isoyear week
SELECT ISOYEAR(filled_on) AS y, WEEK(filled_on) AS w, COUNT(*) FROM prescriptions GROUP BY 1, 2

-- insurer: dates, monthname
SELECT MONTHNAME(filled_on), COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: dates, fiscal year
SELECT YEAR(filled_on + INTERVAL 6 MONTH) AS fiscal, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: dates, case fiscal
SELECT CASE WHEN MONTH(filled_on) >= 7 THEN YEAR(filled_on) + 1 ELSE YEAR(filled_on) END AS fiscal, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: dates, season
SELECT CASE WHEN MONTH(filled_on) IN (12, 1, 2) THEN 'winter' WHEN MONTH(filled_on) BETWEEN 3 AND 5 THEN 'spring' WHEN MONTH(filled_on) BETWEEN 6 AND 8 THEN 'summer' ELSE 'autumn' END AS season, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: function, left right
SELECT LEFT(icd10, 3) AS c3, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, right
SELECT RIGHT(plan, 2) AS c3, COUNT(*) FROM members GROUP BY 1

-- insurer: function, concat
SELECT sex || '/' || plan AS k, COUNT(*) FROM members GROUP BY 1

-- insurer: function, concat_ws
SELECT CONCAT_WS('-', sex, plan) AS k, COUNT(*) FROM members GROUP BY 1

-- insurer: function, replace
SELECT REPLACE(icd10, '.', '') AS k, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, starts_with
SELECT COUNT(*) FROM encounters WHERE STARTS_WITH(icd10, 'E11') OR CONTAINS(facility, 'City') OR POSITION('ke' IN facility) > 0

-- insurer: function, strpos instr
SELECT COUNT(*) FROM encounters WHERE STRPOS(facility, 'Gen') > 0 OR INSTR(facility, 'side') > 0

-- insurer: function, charindex
-- plain: SELECT COUNT(*) FROM encounters WHERE STRPOS(facility, 'Gen') > 0
SELECT COUNT(*) FROM encounters WHERE CHARINDEX('Gen', facility) > 0

-- insurer: function, reverse lpad
SELECT REVERSE(LPAD(sex, 3, '0')) AS k, COUNT(*) FROM members GROUP BY 1

-- insurer: function, reverse unlisted
SELECT REVERSE(icd10) AS k, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, lpad unlisted
SELECT LPAD(icd10, 6, '0') AS k, RPAD(icd10, 6, '*') AS r, COUNT(*) FROM encounters GROUP BY 1, 2

-- insurer: function, nullif
SELECT COUNT(NULLIF(region, 'North')), SUM(NULLIF(days_supply, 30)) FROM members JOIN prescriptions ON member_id = members.id

-- insurer: function, greatest
SELECT SUM(GREATEST(days_supply, 30)), SUM(LEAST(cost, 100)) FROM prescriptions

-- insurer: function, if ifnull
SELECT SUM(IF(days_supply > 30, 1, 0)), SUM(IFNULL(days_supply, 0)) FROM prescriptions

-- insurer: function, eq int
SELECT SUM((sex = plan)::INT), AVG((smoker AND sex = 'F')::INT) FROM members

-- insurer: function, is distinct
SELECT COUNT(*) FROM members WHERE region IS NOT DISTINCT FROM NULL OR region IS DISTINCT FROM 'North'

-- insurer: function, row value in
SELECT COUNT(*) FROM members WHERE (sex, plan) IN (('F', 'basic'), ('M', 'plus'))

-- insurer: function, between symmetric
-- plain: SELECT COUNT(*) FROM members WHERE height_cm BETWEEN 160 AND 180
SELECT COUNT(*) FROM members WHERE height_cm BETWEEN SYMMETRIC 180 AND 160

-- insurer: function, like any
-- plain: SELECT COUNT(*) FROM encounters WHERE icd10 LIKE 'E%' OR icd10 LIKE 'J%'
SELECT COUNT(*) FROM encounters WHERE icd10 LIKE ANY ('E%', 'J%')

-- insurer: function, like any array
-- plain: SELECT COUNT(*) FROM encounters WHERE icd10 LIKE 'E%' OR icd10 LIKE 'J%'
SELECT COUNT(*) FROM encounters WHERE icd10 LIKE ANY (ARRAY['E%', 'J%'])

-- insurer: function, tilde
-- plain: SELECT COUNT(*) FROM encounters WHERE regexp_matches(icd10, '^E1[0-4]')
SELECT COUNT(*) FROM encounters WHERE icd10 ~ '^E1[0-4]'

-- insurer: function, tilde star
-- plain: SELECT COUNT(*) FROM prescriptions WHERE regexp_matches(lower(drug), 'metformin|insulin')
SELECT COUNT(*) FROM prescriptions WHERE drug ~* 'METFORMIN|insulin'

-- insurer: function, similar to
-- plain: SELECT COUNT(*) FROM encounters WHERE icd10 LIKE 'E%' OR icd10 LIKE 'J%'
SELECT COUNT(*) FROM encounters WHERE icd10 SIMILAR TO '(E|J)%'

-- insurer: function, regexp_like
-- plain: SELECT COUNT(*) FROM encounters WHERE regexp_matches(icd10, '^[EI]')
SELECT COUNT(*) FROM encounters WHERE REGEXP_LIKE(icd10, '^[EI]')

-- insurer: function, rlike
-- plain: SELECT COUNT(*) FROM encounters WHERE regexp_matches(icd10, '^[EI]')
SELECT COUNT(*) FROM encounters WHERE icd10 RLIKE '^[EI]'

-- insurer: function, ln log exp sqrt power
-- about: 0.01
SELECT AVG(LN(height_cm)), AVG(LOG10(weight_kg)), AVG(LOG(10, weight_kg)), AVG(SQRT(weight_kg)), AVG(POWER(height_cm, 2)), AVG(EXP(weight_kg / 100)) FROM members

-- insurer: function, log one arg
-- about: 0.01
SELECT AVG(LOG(weight_kg)) FROM members

-- insurer: function, nullif divisor
-- about: 0.02
SELECT AVG(cost / NULLIF(days_supply, 0)) FROM prescriptions

-- insurer: function, per person ratio
-- about: 0.01
SELECT AVG(em * 1.0 / n) FROM (SELECT member_id, COUNT(*) FILTER (WHERE kind = 'emergency') AS em, COUNT(*) AS n FROM encounters GROUP BY member_id) t

-- insurer: function, left join is null
SELECT COUNT(*) FROM members m LEFT JOIN encounters e ON e.member_id = m.id AND e.kind = 'telehealth' WHERE e.member_id IS NULL

-- insurer: function, scalar subquery in select
SELECT plan, AVG((SELECT COUNT(*) FROM encounters e WHERE e.member_id = m.id)) AS visits FROM members m GROUP BY plan

-- insurer: function, parenthesised joins
SELECT m.sex, COUNT(*) FROM (members m JOIN encounters e ON e.member_id = m.id) JOIN chapters c ON c.letter = LEFT(e.icd10, 1) GROUP BY m.sex

-- insurer: function, covar regr
-- about: 0.01
SELECT COVAR_POP(height_cm, weight_kg), COVAR_SAMP(height_cm, weight_kg), REGR_INTERCEPT(weight_kg, height_cm), REGR_R2(weight_kg, height_cm) FROM members

-- insurer: function, skewness
-- about: 0.01
SELECT SKEWNESS(weight_kg) FROM members

-- insurer: function, kurtosis
-- about: 0.05
SELECT KURTOSIS(weight_kg) FROM members

-- insurer: function, geometric mean
-- about: 0.01
SELECT GEOMEAN(weight_kg) FROM members

-- insurer: function, weighted mean
-- plain: SELECT SUM(cost * days_supply) / SUM(days_supply) FROM prescriptions
-- about: 0.01
SELECT SUM(cost * days_supply) / SUM(days_supply) FROM prescriptions

-- insurer: function, count distinct two
SELECT COUNT(DISTINCT (kind, facility)) FROM encounters

-- insurer: function, count distinct a, b
-- plain: SELECT COUNT(DISTINCT (kind, facility)) FROM encounters
SELECT COUNT(DISTINCT kind, facility) FROM encounters

-- insurer: function, numeric bins
SELECT FLOOR(charge / 2500) * 2500 AS bin, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, rounds
SELECT ROUND(weight_kg / 5) * 5 AS bin, COUNT(*) FROM members GROUP BY 1

-- insurer: function, ceil bins
SELECT CEIL(weight_kg / 10) AS bin, COUNT(*) FROM members GROUP BY 1

-- insurer: function, int div bins
SELECT height_cm // 10 * 10 AS bin, COUNT(*) FROM members GROUP BY 1

-- insurer: function, coalesce listed
SELECT COALESCE(plan, 'unknown') AS p, COUNT(*) FROM members GROUP BY 1

-- insurer: function, lower trim upper
SELECT UPPER(plan), LOWER(sex), COUNT(*) FROM members GROUP BY 1, 2

-- insurer: function, sign abs
SELECT SIGN(weight_kg - 70) AS s, COUNT(*) FROM members GROUP BY 1

-- insurer: function, translate
SELECT TRANSLATE(plan, 'a', 'b') AS s, COUNT(*) FROM members GROUP BY 1

-- insurer: function, ascii / length
SELECT LENGTH(plan), COUNT(*) FROM members GROUP BY 1

-- insurer: function, substring from for
SELECT SUBSTRING(icd10 FROM 1 FOR 3) AS s, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, overlay trim both
SELECT TRIM(BOTH ' ' FROM region) AS s, COUNT(*) FROM members WHERE region IS NOT NULL GROUP BY 1

-- insurer: function, regexp_replace
SELECT REGEXP_REPLACE(icd10, '\..*$', '') AS s, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, regexp_extract
SELECT REGEXP_EXTRACT(icd10, '^([A-Z])', 1) AS s, COUNT(*) FROM encounters GROUP BY 1

-- insurer: function, trunc
SELECT TRUNC(weight_kg) AS w, COUNT(*) FROM members WHERE weight_kg < 60 GROUP BY 1

-- insurer: function, mod
SELECT height_cm % 10 AS terminal_digit, COUNT(*) FROM members GROUP BY 1

-- insurer: over answers, lag over groups
SELECT DATE_TRUNC('year', started_at) y, COUNT(*) n, LAG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('year', started_at)) p FROM encounters GROUP BY 1

-- insurer: over answers, distinct on answers
SELECT DISTINCT ON (plan) plan, sex, n FROM (SELECT plan, sex, COUNT(*) n FROM members GROUP BY 1, 2) t ORDER BY plan, n DESC, sex

-- insurer: over answers, pivot tsql
SELECT * FROM (SELECT plan, sex, COUNT(*) AS n FROM members GROUP BY 1, 2) PIVOT (SUM(n) FOR sex IN ('F', 'M', 'X'))

-- insurer: over answers, having subquery
SELECT plan, COUNT(*) FROM members GROUP BY plan HAVING COUNT(*) > (SELECT COUNT(*) / 3.0 FROM members)

-- insurer: over answers, union of answers
SELECT sex AS k, COUNT(*) FROM members GROUP BY 1 UNION ALL SELECT plan, COUNT(*) FROM members GROUP BY 1

-- insurer: over answers, cast format
SELECT plan, CAST(COUNT(*) AS VARCHAR) || ' members' AS txt, FORMAT('{:,}', COUNT(*)) AS f FROM members GROUP BY plan

-- insurer: over answers, printf
SELECT plan, PRINTF('%.1f%%', 100.0 * COUNT(*) / SUM(COUNT(*)) OVER ()) AS pct FROM members GROUP BY plan

-- insurer: over answers, case over
SELECT plan, CASE WHEN COUNT(*) > 200 THEN 'big' ELSE 'small' END AS size FROM members GROUP BY plan

-- insurer: over answers, two dp selects join
-- plain: SELECT a.plan, a.n, b.c FROM (SELECT plan, COUNT(*) AS n FROM members GROUP BY plan) AS a JOIN (SELECT plan, SUM(charge) AS c FROM members m JOIN encounters e ON e.member_id = m.id GROUP BY plan) AS b ON a.plan = b.plan
SELECT a.plan, a.n, b.c FROM (DP-SELECT 1 plan, COUNT(*) AS n FROM members GROUP BY plan) AS a JOIN (DP-SELECT 1 plan, SUM(charge) AS c FROM members m JOIN encounters e ON e.member_id = m.id GROUP BY plan) AS b ON a.plan = b.plan

-- insurer: over answers, public join answer
SELECT c.title, t.n FROM (SELECT LEFT(icd10, 1) AS l, COUNT(*) AS n FROM encounters GROUP BY 1) t JOIN chapters c ON c.letter = t.l

-- insurer: over answers, first_value
SELECT plan, COUNT(*) n, FIRST_VALUE(plan) OVER (ORDER BY COUNT(*) DESC) AS top_plan FROM members GROUP BY plan

-- insurer: over answers, order by expression
-- plain: SELECT plan FROM members GROUP BY plan ORDER BY COUNT(*) DESC LIMIT 1
SELECT plan FROM members GROUP BY plan ORDER BY COUNT(*) DESC LIMIT 1

-- insurer: over answers, crosstab total union
WITH g AS (SELECT plan, COUNT(*) AS n FROM members GROUP BY plan) SELECT plan, n FROM g UNION ALL SELECT 'total', SUM(n) FROM g

-- insurer: form of another database, pj1
SELECT m.sex, COUNT(*) FROM members m JOIN (encounters e JOIN chapters c ON c.letter = LEFT(e.icd10, 1)) ON e.member_id = m.id GROUP BY m.sex

-- insurer: form of another database, pj2
SELECT m.sex, COUNT(*) FROM (members m JOIN encounters e ON e.member_id = m.id) GROUP BY m.sex

-- insurer: form of another database, pj3
SELECT m.sex, COUNT(*), COUNT(e.kind) FROM members m LEFT JOIN (encounters e JOIN chapters c ON c.letter = LEFT(e.icd10, 1)) ON e.member_id = m.id AND e.kind = 'inpatient' GROUP BY m.sex

-- insurer: form of another database, pj4
SELECT m.sex, COUNT(*) FROM ((members m JOIN encounters e ON e.member_id = m.id) JOIN chapters c ON c.letter = LEFT(e.icd10, 1)) GROUP BY m.sex

-- insurer: form of another database, pj5
SELECT a.plan, a.n, b.c FROM ((SELECT plan, COUNT(*) n FROM members GROUP BY 1) a JOIN (SELECT plan, COUNT(*) AS c FROM members WHERE smoker GROUP BY 1) b ON a.plan = b.plan)

-- insurer: form of another database, dp
-- plain: SELECT COUNT(*) FROM members
WITH a AS (DP-SELECT 1 plan, COUNT(*) AS n FROM members GROUP BY plan) SELECT SUM(n) FROM a

-- insurer: form of another database, dp2
-- plain: SELECT a.plan, a.n, b.c FROM (SELECT plan, COUNT(*) AS n FROM members GROUP BY plan) AS a JOIN (SELECT plan, SUM(charge) AS c FROM members m JOIN encounters e ON e.member_id = m.id GROUP BY plan) AS b ON a.plan = b.plan
SELECT a.plan, a.n, b.c FROM (DP-SELECT 1 plan, COUNT(*) AS n FROM members GROUP BY plan) AS a JOIN (DP-SELECT 1 plan, SUM(charge) AS c FROM members m JOIN encounters e ON e.member_id = m.id GROUP BY plan) AS b ON a.plan = b.plan

-- insurer: form of another database, make
SELECT MAKE_DATE(YEAR(filled_on), MONTH(filled_on), 1) AS m, COUNT(*) FROM prescriptions GROUP BY 1

-- insurer: form of another database, make2
-- plain: SELECT DATE_TRUNC('year', filled_on) AS m, COUNT(*) FROM prescriptions WHERE filled_on >= DATE '2023-01-01' GROUP BY 1
SELECT DATEFROMPARTS(YEAR(filled_on), 1, 1) AS m, COUNT(*) FROM prescriptions WHERE filled_on >= DATEFROMPARTS(2023, 1, 1) GROUP BY DATEFROMPARTS(YEAR(filled_on), 1, 1)

-- insurer: form of another database, decode
-- plain: SELECT CASE plan WHEN 'basic' THEN 'B' WHEN 'plus' THEN 'P' ELSE 'other' END, COUNT(*) FROM members GROUP BY 1
SELECT DECODE(plan, 'basic', 'B', 'plus', 'P', 'other') AS p, COUNT(*) FROM members GROUP BY DECODE(plan, 'basic', 'B', 'plus', 'P', 'other')

-- insurer: form of another database, decode sum
-- plain: SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) FROM members
SELECT SUM(DECODE(sex, 'F', 1, 0)) FROM members

-- insurer: form of another database, convert
-- plain: SELECT strftime(filled_on, '%Y-%m'), COUNT(*) FROM prescriptions GROUP BY 1
SELECT CONVERT(VARCHAR(7), filled_on, 120) AS ym, COUNT(*) FROM prescriptions GROUP BY CONVERT(VARCHAR(7), filled_on, 120)

-- insurer: form of another database, convert 2
-- plain: SELECT CAST(started_at AS DATE), CAST(COUNT(*) AS VARCHAR) FROM encounters WHERE started_at < '2022-01-10' GROUP BY 1
SELECT CONVERT(DATE, started_at) AS d, CONVERT(VARCHAR, COUNT(*)) AS n FROM encounters WHERE started_at < '2022-01-10' GROUP BY CONVERT(DATE, started_at)

-- insurer: form of another database, months between
-- plain: SELECT AVG(DATE_DIFF('month', birth_date, enrolled_on) + (DAY(enrolled_on) - DAY(birth_date)) / 31.0) FROM members
-- about: 1e-3
SELECT AVG(MONTHS_BETWEEN(enrolled_on, birth_date)) FROM members

-- shop: keys that a condition leaves, a
WITH r AS (SELECT * FROM orders WHERE ordered_at >= '2024-01-01') SELECT DATE_TRUNC('month', ordered_at) AS m, COUNT(*) FROM r GROUP BY 1

-- shop: keys that a condition leaves, b
SELECT m, COUNT(*) FROM (SELECT DATE_TRUNC('month', ordered_at) AS m FROM orders WHERE ordered_at >= '2024-01-01') t GROUP BY 1

-- shop: keys that a condition leaves, c
SELECT DATE_TRUNC('month', ordered_at) AS m, COUNT(*) FROM orders WHERE DATE_TRUNC('month', ordered_at) >= '2024-01-01' GROUP BY 1

-- shop: keys that a condition leaves, d
SELECT DATE_TRUNC('month', ordered_at) AS m, COUNT(*) FROM orders WHERE CAST(ordered_at AS DATE) BETWEEN '2024-01-01' AND '2024-01-31' GROUP BY 1

-- shop: keys that a condition leaves, e
SELECT MONTH(ordered_at) AS m, COUNT(*) FROM orders WHERE MONTH(ordered_at) <= 3 GROUP BY 1

-- shop: keys that a condition leaves, f
SELECT DATE_TRUNC('day', ordered_at) AS m, COUNT(*) FROM orders WHERE DATE_TRUNC('month', ordered_at) = '2024-03-01' GROUP BY 1

-- shop: keys that a condition leaves, g
SELECT HOUR(ordered_at) AS m, COUNT(*) FROM orders WHERE HOUR(ordered_at) BETWEEN 8 AND 17 GROUP BY 1

-- shop: keys that a condition leaves, h
SELECT country, COUNT(*) FROM customers WHERE NOT country = 'CH' GROUP BY 1

-- shop: keys that a condition leaves, i
SELECT country, COUNT(*) FROM customers WHERE country = 'CH' OR country='DE' GROUP BY 1

-- shop: keys that a condition leaves, j
SELECT country, COUNT(*) FROM customers WHERE country LIKE 'C%' GROUP BY 1

-- shop: keys that a condition leaves, k
-- plain: SELECT FLOOR(birth_year/10.0)*10 AS d, COUNT(*) FROM customers WHERE FLOOR(birth_year/10.0)*10 >= 1980 GROUP BY 1
SELECT FLOOR(birth_year/10)*10 AS d, COUNT(*) FROM customers WHERE FLOOR(birth_year/10)*10 >= 1980 GROUP BY 1

-- shop: keys that a condition leaves, l
WITH first AS (SELECT customer_id, MIN(DATE_TRUNC('month', ordered_at)) AS cohort FROM orders GROUP BY customer_id),
act AS (SELECT o.customer_id, f.cohort, DATE_DIFF('month', f.cohort, DATE_TRUNC('month', o.ordered_at)) AS period FROM orders o JOIN first f ON f.customer_id = o.customer_id)
SELECT cohort, period, COUNT(DISTINCT customer_id) AS active FROM act WHERE cohort < DATE '2022-04-01' AND period BETWEEN 0 AND 6 GROUP BY cohort, period ORDER BY 1, 2

-- shop: keys that a condition leaves, m
SELECT p.category, COUNT(*) FROM items i JOIN products p ON p.product_id = i.product_id WHERE p.category <> 'Bags' GROUP BY 1

-- staff: keys that a condition leaves, n
SELECT c.day, COUNT(*) AS headcount FROM calendar c JOIN employees e ON e.hired_on <= c.day AND (e.left_on IS NULL OR e.left_on > c.day) WHERE EXTRACT(DAY FROM c.day) = 1 AND c.day >= DATE '2024-01-01' GROUP BY c.day ORDER BY c.day

-- transit: keys that a condition leaves, o
SELECT DATE_TRUNC('hour', tapped_at) AS h, COUNT(*) AS n FROM taps WHERE line = 'U1' AND tapped_at::DATE = DATE '2024-06-03' GROUP BY 1 ORDER BY 1

-- staff: fte adjusted salary, 2
-- about: 0.01
SELECT AVG(salary / fte) AS full_time FROM employees WHERE fte > 0

-- staff: case guard
-- about: 0.01
SELECT dept, AVG(CASE WHEN fte > 0 THEN salary / fte END) AS full_time FROM employees GROUP BY dept

-- staff: ratio per person guard
-- about: 0.02
SELECT AVG(a / b) FROM (SELECT employee_id, SUM(CASE WHEN kind='sick' THEN 1 ELSE 0 END) AS a, COUNT(*) FILTER (WHERE kind = 'vacation') AS b FROM absences GROUP BY 1) t WHERE b > 0

-- shop: values list join, 2
SELECT v.label, COUNT(*) AS n FROM orders o JOIN (VALUES ('web', 'online'), ('app', 'online'), ('store', 'offline')) AS v(channel, label) ON v.channel = o.channel GROUP BY v.label

-- shop: values left
SELECT COALESCE(v.label, 'other') AS l, COUNT(*) AS n FROM orders o LEFT JOIN (VALUES ('web', 'online'), ('app', 'mobile')) AS v(channel, label) ON v.channel = o.channel GROUP BY 1

-- shop: values left 2
SELECT label, COUNT(*) AS n, SUM(w) FROM orders o JOIN (VALUES ('web', 'online', 2), ('app', 'mobile', 3)) AS v(channel, label, w) ON v.channel = o.channel GROUP BY label

-- shop: values cte
WITH v(channel, label) AS (VALUES ('web', 'online'), ('app', 'mobile')) SELECT v.label, COUNT(*) FROM orders o JOIN v ON v.channel = o.channel GROUP BY v.label

-- shop: unlisted label key
SELECT v.label, COUNT(*) AS n FROM customers o JOIN (VALUES ('gold', 'top'), ('silver', 'mid')) AS v(s, label) ON v.s = o.segment GROUP BY v.label

-- shop: answers with values
SELECT t.country, t.n, v.pop, t.n / v.pop AS r FROM (SELECT country, COUNT(*) AS n FROM customers GROUP BY 1) t JOIN (VALUES ('CH', 9), ('DE', 83)) AS v(country, pop) ON v.country = t.country

-- transit: lead text
WITH x AS (SELECT card_id, line, LEAD(line) OVER (PARTITION BY card_id ORDER BY tapped_at) AS nxt FROM taps)
SELECT line, nxt, COUNT(*) AS trips FROM x WHERE nxt IS NOT NULL GROUP BY 1, 2

-- transit: lead unlisted int
WITH x AS (SELECT card_id, stop_id, LEAD(stop_id) OVER (PARTITION BY card_id ORDER BY tapped_at) AS nxt FROM taps)
SELECT stop_id, nxt, COUNT(*) AS trips FROM x WHERE nxt IS NOT NULL GROUP BY 1, 2

-- transit: lead compare
SELECT COUNT(*) FROM (SELECT stop_id, LAG(stop_id) OVER (PARTITION BY card_id ORDER BY tapped_at) AS p FROM taps) t WHERE stop_id = p

-- transit: first stop
SELECT s, COUNT(*) FROM (SELECT card_id, FIRST_VALUE(stop_id) OVER (PARTITION BY card_id ORDER BY tapped_at) AS s, ROW_NUMBER() OVER (PARTITION BY card_id ORDER BY tapped_at) AS r FROM taps) t WHERE r = 1 GROUP BY s

-- bank: lag text unlisted
SELECT COUNT(*) FROM (SELECT country, LAG(country) OVER (PARTITION BY client_id ORDER BY booked_at) AS p FROM transactions) t WHERE country <> p

-- insurer: share of telehealth by quarter
-- about: 0.01
SELECT DATE_TRUNC('quarter', started_at) AS q, ROUND(100.0 * SUM(CASE WHEN kind = 'telehealth' THEN 1 ELSE 0 END) / COUNT(*), 2) AS pct FROM encounters GROUP BY 1 ORDER BY 1

-- insurer: under 5s vaccinated style rate
SELECT plan, COUNT(CASE WHEN birth_date > DATE '2019-12-31' THEN 1 END)::FLOAT / NULLIF(COUNT(*), 0) AS under5 FROM members GROUP BY plan ORDER BY under5 DESC

-- insurer: age standardised with public weights inline
WITH bands AS (
  SELECT CASE WHEN DATE_PART('year', AGE(DATE '2024-01-01', birth_date)) < 40 THEN 'young' ELSE 'old' END AS band, COUNT(*) AS n,
         SUM(CASE WHEN smoker THEN 1 ELSE 0 END) AS s FROM members GROUP BY 1)
SELECT SUM(s * 1.0 / n * w) AS std_rate FROM bands JOIN (VALUES ('young', 0.6), ('old', 0.4)) AS std(band, w) USING (band)

-- insurer: any two kinds of drug (polypharmacy)
SELECT COUNT(*) AS poly FROM (SELECT member_id FROM prescriptions GROUP BY member_id HAVING COUNT(DISTINCT LOWER(drug)) >= 3) p

-- insurer: days from enrolment to first inpatient stay, by sex
-- about: 3
SELECT m.sex, MEDIAN(DATE_DIFF('day', m.enrolled_on, f.first_in)) AS med FROM members m JOIN (SELECT member_id, MIN(CAST(started_at AS DATE)) AS first_in FROM encounters WHERE kind = 'inpatient' GROUP BY member_id) f ON f.member_id = m.id GROUP BY m.sex

-- insurer: charges log bucket
SELECT FLOOR(LOG10(charge + 1)) AS magnitude, COUNT(*) FROM encounters GROUP BY 1 ORDER BY 1

-- insurer: emergency then inpatient within 7 days
SELECT COUNT(DISTINCT a.member_id) FROM encounters a JOIN encounters b ON b.member_id = a.member_id AND a.kind = 'emergency' AND b.kind = 'inpatient' AND b.started_at BETWEEN a.started_at AND a.started_at + INTERVAL '7 days'

-- insurer: kinds ever used per member crosstab
SELECT has_er, has_in, COUNT(*) FROM (SELECT member_id, MAX(CASE WHEN kind = 'emergency' THEN 1 ELSE 0 END) AS has_er, MAX(CASE WHEN kind = 'inpatient' THEN 1 ELSE 0 END) AS has_in FROM encounters GROUP BY member_id) t GROUP BY 1, 2

-- insurer: bool_or per member
SELECT COUNT(*) FILTER (WHERE diabetic) AS diabetics, COUNT(*) AS all_members FROM (SELECT member_id, BOOL_OR(icd10 LIKE 'E11%') AS diabetic FROM encounters GROUP BY member_id) t

-- insurer: open encounters at a date
SELECT COUNT(*) FROM encounters WHERE started_at <= TIMESTAMP '2023-06-30 12:00:00' AND COALESCE(ended_at, TIMESTAMP '2025-01-01') > TIMESTAMP '2023-06-30 12:00:00'

-- insurer: births by month name
-- plain: SELECT strftime(birth_date, '%b') AS mon, COUNT(*) FROM members GROUP BY 1
SELECT TO_CHAR(birth_date, 'Mon') AS mon, COUNT(*) FROM members GROUP BY 1

-- insurer: generation by year
SELECT CASE WHEN EXTRACT(YEAR FROM birth_date) BETWEEN 1946 AND 1964 THEN 'boomer' WHEN EXTRACT(YEAR FROM birth_date) BETWEEN 1965 AND 1980 THEN 'gen x' ELSE 'other' END AS gen, AVG(weight_kg) FROM members GROUP BY 1

-- insurer: top decile spend share
-- about: 0.001
WITH t AS (SELECT member_id, SUM(charge) AS c FROM encounters GROUP BY member_id) SELECT SUM(c) FILTER (WHERE c > 80000) / SUM(c) AS share FROM t

-- insurer: null audit
SELECT SUM(CASE WHEN region IS NULL THEN 1 ELSE 0 END) AS region_missing, SUM(CASE WHEN region = '' THEN 1 ELSE 0 END) AS region_blank FROM members

-- shop: AOV by channel and month with HAVING
-- about: 1e-4
SELECT o.channel, MONTH(o.ordered_at) AS m, SUM(i.quantity * i.unit_price) / COUNT(DISTINCT o.id) AS aov FROM orders o JOIN items i ON i.order_id = o.id WHERE YEAR(o.ordered_at) = 2023 GROUP BY 1, 2 HAVING COUNT(DISTINCT o.id) > 10

-- shop: first order channel
SELECT f.channel, COUNT(*) AS customers FROM (SELECT o.*, ROW_NUMBER() OVER (PARTITION BY customer_id ORDER BY ordered_at) AS rn FROM orders o) f WHERE f.rn = 1 GROUP BY f.channel

-- shop: customers with all three channels
SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(DISTINCT channel) = 3) x

-- shop: cancel rate window share
SELECT channel, status, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY channel) AS pct FROM orders GROUP BY channel, status ORDER BY channel, pct DESC

-- shop: rank of countries
SELECT country, COUNT(*) AS n, DENSE_RANK() OVER (ORDER BY COUNT(*) DESC) AS rnk FROM customers GROUP BY country ORDER BY rnk

-- shop: month to date compare
SELECT EXTRACT(MONTH FROM ordered_at) AS mon, COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM ordered_at) = 2023) AS y23, COUNT(*) FILTER (WHERE EXTRACT(YEAR FROM ordered_at) = 2022) AS y22 FROM orders GROUP BY 1 ORDER BY 1

-- shop: price bands of items by list price
SELECT CASE WHEN i.unit_price < 0.9 * p.list_price THEN 'discounted' ELSE 'full' END AS priced, COUNT(*) AS lines, SUM(i.quantity) AS units FROM items i JOIN products p ON p.product_id = i.product_id GROUP BY 1

-- shop: gmail users orders
SELECT CASE WHEN c.email LIKE '%@gmail.com' THEN 'gmail' ELSE 'other' END AS mail, COUNT(o.id) AS orders FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY 1

-- shop: churned last 6 months BigQuery
-- plain: SELECT COUNT(*) FROM (SELECT customer_id, MAX(CAST(ordered_at AS DATE)) AS last_day FROM orders GROUP BY customer_id) WHERE DATE_DIFF('month', last_day, DATE '2024-12-31') >= 6
SELECT COUNT(*) FROM (SELECT customer_id, MAX(DATE(ordered_at)) AS last_day FROM orders GROUP BY customer_id) WHERE DATE_DIFF(DATE '2024-12-31', last_day, MONTH) >= 6

-- shop: cumulative customers
SELECT month, new_customers, SUM(new_customers) OVER (ORDER BY month) AS total FROM (SELECT DATE_TRUNC('month', signup_date) AS month, COUNT(*) AS new_customers FROM customers GROUP BY 1) s ORDER BY month

-- shop: weekday average orders
-- about: 0.2
SELECT dow, AVG(n) AS mean_orders FROM (SELECT CAST(ordered_at AS DATE) AS d, EXTRACT(DOW FROM ordered_at) AS dow, COUNT(*) AS n FROM orders WHERE ordered_at >= '2024-01-01' AND ordered_at < '2024-07-01' GROUP BY 1, 2) t GROUP BY dow ORDER BY dow

-- shop: Snowflake style
-- plain: SELECT COUNT(*) FILTER (WHERE status = 'returned') AS r, COUNT(*) / SUM(COUNT(*)) OVER () AS s, channel FROM orders GROUP BY channel
SELECT COUNT_IF(status = 'returned') AS r, RATIO_TO_REPORT(COUNT(*)) OVER () AS s, channel FROM orders GROUP BY channel

-- shop: IN subquery of own rows
SELECT COUNT(*) FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE country = 'CH' AND newsletter)

-- shop: average basket size by country above overall
WITH per AS (SELECT c.country, AVG(i.quantity) AS q FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id GROUP BY c.country) SELECT country, q FROM per WHERE q > (SELECT AVG(q) FROM per)

-- transit: busiest hour per line
SELECT line, h, n FROM (SELECT line, EXTRACT(HOUR FROM tapped_at) AS h, COUNT(*) AS n, RANK() OVER (PARTITION BY line ORDER BY COUNT(*) DESC) AS r FROM taps GROUP BY line, EXTRACT(HOUR FROM tapped_at)) t WHERE r = 1

-- transit: inbound vs outbound am
SELECT inbound, COUNT(*) FROM taps WHERE CAST(tapped_at AS TIME) BETWEEN TIME '06:00' AND TIME '09:30' GROUP BY inbound

-- transit: average headway like gap between taps same card same day in minutes
-- about: 0.1
SELECT AVG(gap_min) FROM (SELECT EXTRACT(EPOCH FROM tapped_at - LAG(tapped_at) OVER (PARTITION BY card_id, tapped_at::DATE ORDER BY tapped_at)) / 60 AS gap_min FROM taps) g

-- transit: zone revenue
SELECT s.zone, SUM(t.fare) AS revenue, COUNT(DISTINCT t.card_id) AS cards FROM taps AS t INNER JOIN stops AS s USING (stop_id) GROUP BY s.zone ORDER BY s.zone

-- transit: distance bands from centre
SELECT CASE WHEN SQRT(POWER(s.lat - 47.0, 2) + POWER(s.lon - 8.0, 2)) < 0.1 THEN 'near' ELSE 'far' END AS band, COUNT(*) FROM taps t JOIN stops s ON s.stop_id = t.stop_id GROUP BY 1

-- transit: on hot days
SELECT COUNT(*) FROM taps t WHERE CAST(t.tapped_at AS DATE) IN (SELECT day FROM weather WHERE temp >= 20)

-- transit: 95th percentile delay by line peak only
-- about: 20
SELECT line, PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY delay_s) AS p95 FROM taps WHERE HOUR(tapped_at) IN (7, 8) GROUP BY line

-- transit: regular commuters: tapped on at least 10 different days
SELECT c.kind, COUNT(*) FROM cards c JOIN (SELECT card_id, COUNT(DISTINCT CAST(tapped_at AS DATE)) AS days FROM taps GROUP BY card_id) d ON d.card_id = c.id WHERE d.days >= 10 GROUP BY c.kind

-- transit: share of free trips
SELECT AVG(CAST(fare = 0 AS INT)) AS free_share FROM taps

-- transit: pivot lines by month
SELECT MONTHNAME(tapped_at) AS m, COUNT(*) FILTER (WHERE line = 'U1') AS "U1", COUNT(*) FILTER (WHERE line = 'B10') AS "B10" FROM taps GROUP BY MONTHNAME(tapped_at)

-- transit: duckdb pivot
PIVOT taps ON line IN ('U1', 'U2') USING COUNT(*) GROUP BY inbound

-- transit: school holidays between
-- about: 0.5
SELECT CASE WHEN tapped_at BETWEEN '2024-07-08' AND '2024-08-16' THEN 'holidays' ELSE 'term' END AS period, COUNT(*) / COUNT(DISTINCT CAST(tapped_at AS DATE)) AS per_day FROM taps GROUP BY 1

-- bank: structuring just below 1000
SELECT COUNT(*) AS n, COUNT(DISTINCT client_id) AS clients FROM transactions WHERE amount BETWEEN 900 AND 999.99 AND method = 'cash'

-- bank: risk scorecards
-- about: 300
SELECT risk, COUNT(*) AS n, AVG(income) AS avg_income, MEDIAN(income) AS med_income, STDDEV_POP(income) AS sd FROM clients GROUP BY risk

-- bank: merchant contains number
-- plain: SELECT COUNT(*) FROM transactions WHERE regexp_matches(merchant, '[0-9]{4}')
SELECT COUNT(*) FROM transactions WHERE merchant ~ '[0-9]{4}'

-- bank: fraud by amount bucket
-- plain: SELECT CAST(FLOOR(ABS(amount) / 500) + 1 AS INT) AS b, AVG(is_fraud::INT) AS rate, COUNT(*) FROM transactions GROUP BY b
SELECT WIDTH_BUCKET(ABS(amount), 0, 2500, 5) AS b, AVG(is_fraud::INT) AS rate, COUNT(*) FROM transactions GROUP BY b ORDER BY b

-- bank: clients with more out than in
SELECT COUNT(*) FROM (SELECT client_id, SUM(amount) AS net FROM transactions GROUP BY client_id) t WHERE net < 0

-- bank: monthly active clients
SELECT STRFTIME(booked_at, '%Y-%m') AS ym, COUNT(DISTINCT client_id) AS mac FROM transactions GROUP BY 1 ORDER BY 1

-- bank: night share T-SQL
-- plain: SELECT method, SUM(CASE WHEN hour(booked_at) < 6 THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS night FROM transactions GROUP BY method
SELECT method, SUM(CASE WHEN DATEPART(hour, booked_at) < 6 THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS night FROM transactions GROUP BY method

-- bank: z score of fraud rate across mcc
-- about: 0.01
WITH r AS (SELECT mcc, AVG(CASE WHEN is_fraud THEN 1.0 ELSE 0 END) AS rate FROM transactions GROUP BY mcc) SELECT mcc, rate, (rate - AVG(rate) OVER ()) / STDDEV(rate) OVER () AS z FROM r

-- bank: city normalised
SELECT REPLACE(LOWER(city), 'ü', 'ue') AS city, COUNT(*) FROM clients GROUP BY 1

-- bank: cross tab currency method totals
SELECT COALESCE(currency, 'all') AS currency, COALESCE(method, 'all') AS method, COUNT(*) AS n FROM transactions GROUP BY CUBE (currency, method)

-- bank: first 3 transactions average
-- about: 1e-4
SELECT AVG(amount) FROM (SELECT amount, ROW_NUMBER() OVER (PARTITION BY client_id ORDER BY booked_at) rn FROM transactions) t WHERE rn <= 3

-- staff: average grade weighted by fte
-- about: 1e-4
SELECT SUM(grade * fte) / SUM(fte) AS g FROM employees WHERE left_on IS NULL

-- staff: span 5 year tenure cohorts
-- plain: SELECT 5 * FLOOR(DATE_DIFF('year', hired_on, DATE '2024-12-31') / 5.0) AS tenure_from, COUNT(*) FROM employees GROUP BY 1
SELECT 5 * FLOOR(DATE_DIFF('year', hired_on, DATE '2024-12-31') / 5) AS tenure_from, COUNT(*) FROM employees GROUP BY 1 ORDER BY 1

-- staff: attrition within first year
SELECT dept, AVG(CASE WHEN left_on <= hired_on + INTERVAL '12 months' THEN 1.0 ELSE 0 END) FROM employees GROUP BY dept

-- staff: avg score trend
-- about: 0.02
SELECT year, ROUND(AVG(score), 2) AS score, ROUND(AVG(score) - LAG(AVG(score)) OVER (ORDER BY year), 2) AS change FROM reviews GROUP BY year ORDER BY year

-- staff: improved two years running
SELECT COUNT(*) FROM (SELECT score, LAG(score) OVER (PARTITION BY employee_id ORDER BY year) AS p1, LAG(score, 2) OVER (PARTITION BY employee_id ORDER BY year) AS p2 FROM reviews) t WHERE score > p1 AND p1 > p2

-- staff: share of dept in site
-- about: 0.1
SELECT d.location, d.dept, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY d.location), 1) AS pct FROM employees e JOIN departments d ON d.dept = e.dept GROUP BY d.location, d.dept

-- staff: sick on weekends via calendar
SELECT c.weekend, COUNT(*) FROM absences a JOIN calendar c ON c.day = a.from_day WHERE a.kind = 'sick' GROUP BY c.weekend

-- staff: days lost by month expanded
SELECT DATE_TRUNC('month', c.day) AS m, COUNT(*) AS person_days FROM absences a JOIN calendar c ON c.day BETWEEN a.from_day AND a.to_day WHERE a.kind = 'sick' GROUP BY 1 ORDER BY 1

-- staff: listing best paid
-- refused: refused
SELECT id, salary FROM employees ORDER BY salary DESC LIMIT 10

-- staff: one person's salary
-- refused: refused
SELECT salary FROM employees WHERE id = 42

-- shop: day and week and weekday
SELECT CAST(ordered_at AS DATE) AS d, WEEK(ordered_at) AS w, ISODOW(ordered_at) AS i, COUNT(*) FROM orders WHERE ordered_at >= '2024-12-20' GROUP BY 1, 2, 3

-- shop: week and isoyear
SELECT DATE_TRUNC('week', ordered_at) AS w, WEEK(ordered_at) AS n, COUNT(*) FROM orders GROUP BY 1, 2

-- staff: last day
SELECT LAST_DAY(hired_on) AS month_end, COUNT(*) FROM employees WHERE hired_on >= '2023-01-01' GROUP BY 1 ORDER BY 1

-- transit: bool
-- refused: somebody's own
SELECT BOOL_OR(fare = 0) FROM taps
