-- clinic: epidemiologist, crude admissions by age group and sex
SELECT sex, CASE WHEN DATE_DIFF('year', birth_date, DATE '2023-01-01') < 20 THEN 'child'
                 WHEN DATE_DIFF('year', birth_date, DATE '2023-01-01') < 65 THEN 'adult' ELSE 'elderly' END AS age_group,
       COUNT(DISTINCT a.patient_id) AS cases
FROM patients p INNER JOIN admissions a ON a.patient_id = p.id
WHERE a.diagnosis LIKE 'I%' GROUP BY sex, age_group ORDER BY sex, age_group

-- clinic: epidemiologist, age at admission over 65 with AGE and an interval
SELECT ward, COUNT(*) AS n FROM admissions a JOIN patients p ON p.id = a.patient_id
WHERE AGE(a.admitted_at, p.birth_date) >= INTERVAL '65 years' GROUP BY ward

-- clinic: epidemiologist, one year mortality after admission
SELECT COUNT(DISTINCT p.id) FILTER (WHERE p.deceased_on BETWEEN a.admitted_at::DATE AND a.admitted_at::DATE + INTERVAL '1 year') AS died,
       COUNT(DISTINCT p.id) AS patients
FROM patients p JOIN admissions a ON a.patient_id = p.id WHERE a.ward = 'ICU'

-- clinic: epidemiologist, standardised by a public weight
WITH rates AS (
  SELECT CASE WHEN YEAR(birth_date) >= 1979 THEN '0-44' WHEN YEAR(birth_date) >= 1959 THEN '45-64' ELSE '65+' END AS band,
         AVG(CASE WHEN deceased_on IS NOT NULL THEN 1.0 ELSE 0.0 END) AS rate
  FROM patients GROUP BY 1),
standard(band, w) AS (VALUES ('0-44', 0.55), ('45-64', 0.27), ('65+', 0.18))
SELECT SUM(r.rate * s.w) AS standardised FROM rates r JOIN standard s USING (band)

-- clinic: epidemiologist, epidemic curve by ISO week
SELECT EXTRACT(ISOYEAR FROM admitted_at) AS y, EXTRACT(WEEK FROM admitted_at) AS w, COUNT(*) AS cases
FROM admissions WHERE diagnosis = 'J18.0' GROUP BY 1, 2 ORDER BY 1, 2

-- clinic: epidemiologist, text results that are numbers
-- refused: TRY_CAST(result AS DOUBLE) has no bounds: one row could move the answer without limit
SELECT analyte, AVG(TRY_CAST(result AS DOUBLE)) AS mean_result, COUNT(*) FILTER (WHERE TRY_CAST(result AS DOUBLE) IS NULL) AS not_numeric
FROM labs GROUP BY analyte

-- clinic: epidemiologist, relative risk of ICU for men against women
SELECT (SUM(CASE WHEN sex = 'M' AND icu > 0 THEN 1 ELSE 0 END) * 1.0 / SUM(CASE WHEN sex = 'M' THEN 1 ELSE 0 END))
     / (SUM(CASE WHEN sex = 'F' AND icu > 0 THEN 1 ELSE 0 END) * 1.0 / SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END)) AS rr
FROM (SELECT p.id, p.sex, SUM(CASE WHEN a.ward = 'ICU' THEN 1 ELSE 0 END) AS icu
      FROM patients p LEFT JOIN admissions a ON a.patient_id = p.id GROUP BY p.id, p.sex) t

-- clinic: epidemiologist, comorbidity pairs
SELECT COUNT(DISTINCT a.patient_id) AS both_conditions FROM admissions a JOIN admissions b ON a.patient_id = b.patient_id
WHERE a.diagnosis = 'E11.9' AND b.diagnosis LIKE 'I%'

-- clinic: epidemiologist, bed days by building
SELECT w.building, SUM(DATE_DIFF('day', a.admitted_at, a.discharged_at)) AS bed_days, SUM(DATE_DIFF('day', a.admitted_at, a.discharged_at)) / 1096.0 AS mean_occupied
FROM admissions a JOIN wards w ON w.ward = a.ward GROUP BY w.building

-- clinic: epidemiologist, first CRP of each stay
SELECT AVG(value) AS mean_first FROM (
  SELECT l.admission_id, l.value, ROW_NUMBER() OVER (PARTITION BY l.admission_id ORDER BY l.taken_at) AS rn FROM labs l WHERE l.analyte = 'CRP') x WHERE rn = 1

-- clinic: epidemiologist, seasonality with month names
SELECT MONTHNAME(admitted_at) AS month, COUNT(*) AS n FROM admissions GROUP BY MONTHNAME(admitted_at) ORDER BY n DESC

-- clinic: epidemiologist, survival by month of follow up
SELECT FLOOR(DATE_DIFF('day', a.admitted_at, p.deceased_on) / 30.4375) AS months, COUNT(*) AS deaths
FROM patients p JOIN admissions a ON a.patient_id = p.id WHERE p.deceased_on >= a.admitted_at::DATE GROUP BY 1 ORDER BY 1

-- clinic: epidemiologist, BMI classes
SELECT CASE WHEN bmi < 18.5 THEN 'under' WHEN bmi < 25 THEN 'normal' WHEN bmi < 30 THEN 'over' ELSE 'obese' END AS class, COUNT(*) AS n
FROM (SELECT id, weight_kg / (height_cm / 100.0) ^ 2 AS bmi FROM patients) b GROUP BY class

-- tax: tax office, revenue by canton and year with names
SELECT c.name, r.tax_year, SUM(r.tax_due) AS revenue FROM returns r JOIN taxpayers t ON t.id = r.taxpayer_id JOIN cantons c ON c.canton = t.canton
WHERE r.status IN ('filed', 'assessed') GROUP BY c.name, r.tax_year ORDER BY 1, 2

-- tax: tax office, effective rate by bracket
SELECT b.label, SUM(r.tax_due) / SUM(r.gross) AS effective FROM returns r JOIN brackets b ON r.gross >= b.lower AND r.gross < b.upper
WHERE r.tax_year = 2022 GROUP BY b.label

-- tax: tax office, late filers
SELECT tax_year, COUNT(*) AS late FROM returns WHERE filed_on > MAKE_DATE(tax_year + 1, 3, 31) GROUP BY tax_year

-- tax: tax office, not filed at all
SELECT t.canton, COUNT(*) AS missing FROM taxpayers t WHERE NOT EXISTS (SELECT 1 FROM returns r WHERE r.taxpayer_id = t.id AND r.tax_year = 2023) GROUP BY t.canton

-- tax: tax office, year on year growth
WITH y AS (SELECT tax_year, SUM(gross) AS gross FROM returns GROUP BY tax_year)
SELECT tax_year, gross, 100.0 * (gross - LAG(gross) OVER (ORDER BY tax_year)) / LAG(gross) OVER (ORDER BY tax_year) AS growth_pct FROM y ORDER BY tax_year

-- tax: tax office, gini-like deciles
SELECT NTILE(4) OVER (ORDER BY total) AS q, total FROM (SELECT canton, SUM(gross) AS total FROM taxpayers t JOIN returns r ON r.taxpayer_id = t.id GROUP BY canton) s

-- tax: tax office, taxable income per household type
SELECT marital, CASE WHEN children = 0 THEN 'none' WHEN children <= 2 THEN '1-2' ELSE '3+' END AS kids, AVG(gross - deductions) AS taxable
FROM taxpayers t, returns r WHERE r.taxpayer_id = t.id AND r.tax_year = 2021 GROUP BY 1, 2

-- tax: tax office, professions written nicely
-- plain: SELECT UPPER(LEFT(p, 1)) || LOWER(SUBSTR(p, 2)) AS profession, COUNT(*) AS n FROM (SELECT TRIM(profession) AS p FROM taxpayers WHERE profession IS NOT NULL) t GROUP BY 1
SELECT INITCAP(TRIM(profession)) AS profession, COUNT(*) AS n FROM taxpayers WHERE profession IS NOT NULL GROUP BY 1 ORDER BY n DESC

-- tax: tax office, change between two years per person
SELECT AVG(b.gross - a.gross) AS mean_change, COUNT(*) AS n FROM returns a JOIN returns b ON b.taxpayer_id = a.taxpayer_id AND b.tax_year = a.tax_year + 1
WHERE a.tax_year = 2021

-- tax: tax office, share online by canton with total row
SELECT COALESCE(canton, 'all') AS canton, AVG(online::INT) AS share FROM taxpayers GROUP BY ROLLUP (canton)

-- tax: tax office, median and quartiles of gross
-- about: 0.02
SELECT canton, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY gross) AS q1, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY gross) AS q2
FROM returns r JOIN taxpayers t ON t.id = r.taxpayer_id GROUP BY canton

-- tax: tax office, appealed more than once
SELECT COUNT(*) AS people FROM (SELECT taxpayer_id FROM returns WHERE status = 'appealed' GROUP BY taxpayer_id HAVING COUNT(*) > 1) q

-- tax: tax office, filing month profile
SELECT EXTRACT(MONTH FROM filed_on) AS m, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM returns WHERE filed_on IS NOT NULL GROUP BY m ORDER BY m

-- labour: statistician, unemployment rate by region
SELECT p.region, SUM(CASE WHEN s.status = 'unemployed' THEN 1 ELSE 0 END)::DOUBLE / NULLIF(SUM(CASE WHEN s.status IN ('employed', 'self-employed', 'unemployed') THEN 1 ELSE 0 END), 0) AS rate
FROM persons p JOIN spells s ON s.person_id = p.id
WHERE DATE '2022-06-30' BETWEEN s.started_on AND COALESCE(s.ended_on, DATE '9999-12-31') GROUP BY p.region

-- labour: statistician, gender pay gap
-- about: 1e-4
WITH pay AS (SELECT p.sex, AVG(s.wage / NULLIF(s.hours * 4.33, 0)) AS hourly FROM spells s JOIN persons p ON p.id = s.person_id WHERE s.status = 'employed' GROUP BY p.sex)
SELECT 1 - MAX(CASE WHEN sex = 'f' THEN hourly END) / MAX(CASE WHEN sex = 'm' THEN hourly END) AS gap FROM pay

-- labour: statistician, spell lengths
SELECT status, AVG(COALESCE(ended_on, DATE '2024-12-31') - started_on) AS days FROM spells WHERE started_on < DATE '2024-12-31' GROUP BY status

-- labour: statistician, transitions
WITH ordered AS (SELECT person_id, status, LEAD(status) OVER (PARTITION BY person_id ORDER BY started_on, id) AS next_status FROM spells)
SELECT status, next_status, COUNT(*) AS n FROM ordered WHERE next_status IS NOT NULL GROUP BY status, next_status

-- labour: statistician, occupations by major group
-- plain: SELECT i.title, COUNT(*) AS spells, AVG(s.wage) AS mean_wage FROM spells s JOIN isco_titles i ON i.major = LEFT(s.isco, 1) GROUP BY i.title
SELECT i.title, COUNT(*) AS spells, AVG(s.wage) AS mean_wage FROM spells s LEFT JOIN isco_titles i ON i.major = LEFT(s.isco, 1) GROUP BY i.title

-- labour: statistician, real wages
SELECT c.year, AVG(s.wage * 100.0 / c.idx) AS real_wage FROM spells s JOIN cpi c ON c.year = EXTRACT(YEAR FROM s.started_on) GROUP BY c.year ORDER BY c.year

-- labour: statistician, long-term unemployed
SELECT COUNT(DISTINCT person_id) AS ltu FROM spells WHERE status = 'unemployed' AND (ended_on - started_on) > 365

-- labour: statistician, underemployment
SELECT region, COUNT(*) FILTER (WHERE hours < 20) AS part, COUNT(*) FILTER (WHERE hours >= 20 AND hours < 35) AS mid, COUNT(*) FILTER (WHERE hours >= 35) AS fulltime
FROM spells JOIN persons ON persons.id = spells.person_id GROUP BY region

-- labour: statistician, quarterly inflow
SELECT DATE_TRUNC('quarter', started_on) AS quarter, COUNT(*) AS inflow, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('quarter', started_on)) AS cumulated
FROM spells WHERE status = 'unemployed' GROUP BY 1 ORDER BY 1

-- labour: statistician, education premium
-- about: 1e-3
SELECT CASE WHEN education >= 6 THEN 'high' WHEN education BETWEEN 3 AND 5 THEN 'middle' ELSE 'low' END AS isced, MEDIAN(wage) AS median_wage
FROM persons JOIN spells ON spells.person_id = persons.id WHERE status = 'employed' GROUP BY isced

-- labour: statistician, regional rate per inhabitant
SELECT r.name, 1000.0 * COUNT(DISTINCT s.person_id) / r.population AS per_thousand FROM spells s JOIN persons p ON p.id = s.person_id JOIN regions r ON r.region = p.region
WHERE s.status = 'unemployed' GROUP BY r.name, r.population

-- rail: planner, boardings by hour and day type
SELECT c.kind, EXTRACT(HOUR FROM t.started_at) AS h, COUNT(*) AS boardings FROM trips t JOIN calendar c ON c.day = CAST(t.started_at AS DATE) GROUP BY 1, 2 ORDER BY 1, 2

-- rail: planner, load per line against capacity
SELECT t.line, l.capacity, COUNT(*) AS trips, COUNT(*) * 1.0 / l.capacity AS load FROM trips t JOIN lines l ON l.line = t.line GROUP BY t.line, l.capacity

-- rail: planner, origin destination by zone
SELECT o.zone AS from_zone, d.zone AS to_zone, COUNT(*) AS n FROM trips t JOIN stops o ON o.stop_id = t.from_stop JOIN stops d ON d.stop_id = t.to_stop GROUP BY o.zone, d.zone

-- rail: planner, travel time
-- about: 0.02
SELECT line, AVG(DATE_DIFF('minute', started_at, ended_at)) AS minutes, QUANTILE_CONT(DATE_DIFF('minute', started_at, ended_at), 0.9) AS p90 FROM trips GROUP BY line

-- rail: planner, peak share
SELECT line, 100.0 * COUNT(*) FILTER (WHERE EXTRACT(HOUR FROM started_at) IN (7, 8, 17, 18) AND EXTRACT(ISODOW FROM started_at) < 6) / COUNT(*) AS peak FROM trips GROUP BY line

-- rail: planner, intermodal chains
SELECT line, nxt, COUNT(*) AS n FROM (
  SELECT line, LEAD(line) OVER (PARTITION BY rider_id ORDER BY started_at) AS nxt, LEAD(started_at) OVER (PARTITION BY rider_id ORDER BY started_at) - ended_at AS wait FROM trips) x
WHERE wait < INTERVAL '2 days' GROUP BY line, nxt

-- rail: planner, average daily ridership
SELECT line, COUNT(*) / COUNT(DISTINCT CAST(started_at AS DATE)) AS per_day FROM trips GROUP BY line

-- rail: planner, ratings with comments about lateness
SELECT t.line, AVG(r.stars) AS stars, SUM(CASE WHEN LOWER(r.comment) LIKE '%late%' THEN 1 ELSE 0 END) AS complaints FROM ratings r JOIN trips t ON t.id = r.trip_id GROUP BY t.line HAVING COUNT(*) > 100

-- rail: planner, who pays how
SELECT kind, COALESCE(UPPER(paid_by), 'UNKNOWN') AS paid_by, SUM(fare) AS revenue FROM trips JOIN riders ON riders.id = rider_id GROUP BY kind, COALESCE(UPPER(paid_by), 'UNKNOWN')

-- rail: planner, heavy users
SELECT CASE WHEN n >= 15 THEN 'heavy' WHEN n >= 10 THEN 'medium' ELSE 'light' END AS class, COUNT(*) AS riders, SUM(n) AS trips
FROM (SELECT rider_id, COUNT(*) AS n FROM trips WHERE started_at >= '2023-01-01' GROUP BY rider_id) u GROUP BY 1

-- rail: planner, rolling mean of monthly trips
SELECT m, n, AVG(n) OVER (ORDER BY m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS ma3 FROM (SELECT DATE_TRUNC('month', started_at) AS m, COUNT(*) AS n FROM trips GROUP BY 1) x ORDER BY m

-- rail: planner, return trips the same day
SELECT COUNT(*) AS returns FROM trips a JOIN trips b ON a.rider_id = b.rider_id AND a.from_stop = b.to_stop AND a.to_stop = b.from_stop AND b.started_at > a.ended_at AND CAST(b.started_at AS DATE) = CAST(a.started_at AS DATE)

-- school: board, mean mark by school and subject
SELECT s.name, m.subject, ROUND(AVG(m.mark), 2) AS mean FROM marks m JOIN pupils p ON p.id = m.pupil_id JOIN schools s ON s.school_id = p.school_id GROUP BY s.name, m.subject

-- school: board, failing pupils
SELECT grade, COUNT(*) AS pupils, SUM(CASE WHEN avg_mark < 4 THEN 1 ELSE 0 END) AS failing FROM (
  SELECT p.id, p.grade, AVG(m.mark) AS avg_mark FROM pupils p JOIN marks m ON m.pupil_id = p.id GROUP BY p.id, p.grade) t GROUP BY grade

-- school: board, chronic absence
WITH missed AS (SELECT pupil_id, SUM(minutes) AS total FROM absences WHERE day BETWEEN '2023-08-01' AND '2024-07-31' GROUP BY pupil_id)
SELECT p.free_lunch, COUNT(*) AS pupils, COUNT(CASE WHEN missed.total >= 600 THEN 1 END) AS chronic FROM pupils p LEFT JOIN missed ON missed.pupil_id = p.id GROUP BY p.free_lunch

-- school: board, absences by term
SELECT t.term, a.excused, COUNT(*) AS n, SUM(a.minutes) / 60.0 AS hours FROM absences a JOIN terms t ON a.day BETWEEN t.starts AND t.ends GROUP BY t.term, a.excused

-- school: board, gap between free lunch and others
SELECT subject, AVG(mark) FILTER (WHERE NOT free_lunch) - AVG(mark) FILTER (WHERE free_lunch) AS gap FROM marks JOIN pupils ON pupils.id = marks.pupil_id GROUP BY subject ORDER BY gap DESC

-- school: board, utilisation
SELECT s.district, SUM(x.n) AS pupils, SUM(s.capacity) AS places FROM (SELECT school_id, COUNT(*) AS n FROM pupils GROUP BY school_id) x JOIN schools s ON s.school_id = x.school_id GROUP BY s.district

-- school: board, age on enrolment
SELECT AVG(EXTRACT(YEAR FROM enrolled_on) - EXTRACT(YEAR FROM born)) AS mean_age FROM pupils

-- school: board, languages
SELECT CASE LOWER(language) WHEN 'german' THEN 'German' WHEN 'french' THEN 'French' WHEN 'italian' THEN 'Italian' ELSE 'other' END AS lang, COUNT(*) FROM pupils GROUP BY 1

-- school: board, marks as a pivot
SELECT grade, AVG(CASE WHEN subject = 'maths' THEN mark END) AS maths, AVG(CASE WHEN subject = 'german' THEN mark END) AS german, AVG(CASE WHEN subject = 'french' THEN mark END) AS french FROM pupils p JOIN marks m ON m.pupil_id = p.id GROUP BY grade ORDER BY grade

-- school: board, pivot statement
-- plain: SELECT subject, AVG(mark) FILTER (WHERE YEAR(given_on) = 2022) AS a, AVG(mark) FILTER (WHERE YEAR(given_on) = 2023) AS b, AVG(mark) FILTER (WHERE YEAR(given_on) = 2024) AS c FROM marks GROUP BY subject
PIVOT (SELECT subject, YEAR(given_on) AS y, AVG(mark) AS m FROM marks GROUP BY 1, 2) ON y USING FIRST(m)

-- school: board, pupils without any mark in maths
SELECT COUNT(*) FROM pupils p LEFT JOIN marks m ON m.pupil_id = p.id AND m.subject = 'maths' WHERE m.id IS NULL

-- school: board, best term of the year by district
SELECT district, term, mean FROM (
  SELECT s.district, t.term, AVG(m.mark) AS mean, RANK() OVER (PARTITION BY s.district ORDER BY AVG(m.mark) DESC) AS r
  FROM marks m JOIN pupils p ON p.id = m.pupil_id JOIN schools s USING (school_id) JOIN terms t ON m.given_on BETWEEN t.starts AND t.ends GROUP BY s.district, t.term) z WHERE r = 1

-- school: board, correlation of absence and marks
-- about: 1e-3
SELECT CORR(a.total, m.mean) AS r FROM (SELECT pupil_id, SUM(minutes) AS total FROM absences GROUP BY pupil_id) a JOIN (SELECT pupil_id, AVG(mark) AS mean FROM marks GROUP BY pupil_id) m ON m.pupil_id = a.pupil_id

-- motor: actuary, claim frequency
SELECT h.tariff, COUNT(c.id) * 1.0 / COUNT(DISTINCT h.id) AS frequency FROM holders h LEFT JOIN claims c ON c.holder_id = h.id AND c.occurred_on BETWEEN '2022-01-01' AND '2022-12-31' GROUP BY h.tariff

-- motor: actuary, loss ratio
WITH p AS (SELECT YEAR(due_on) AS y, SUM(amount) AS premium FROM premiums GROUP BY 1),
     c AS (SELECT YEAR(occurred_on) AS y, SUM(paid + reserve) AS incurred FROM claims GROUP BY 1)
SELECT p.y, premium, incurred, incurred / premium AS loss_ratio FROM p LEFT JOIN c ON c.y = p.y ORDER BY p.y

-- motor: actuary, development triangle
SELECT YEAR(occurred_on) AS accident_year, YEAR(reported_on) - YEAR(occurred_on) AS dev, SUM(paid) AS paid FROM claims GROUP BY 1, 2 ORDER BY 1, 2

-- motor: actuary, exposure in years
SELECT tariff, SUM(DATE_DIFF('day', GREATEST(since, DATE '2022-01-01'), DATE '2023-01-01')) / 365.0 AS exposure FROM holders WHERE since < DATE '2023-01-01' GROUP BY tariff

-- motor: actuary, severity bands
SELECT WIDTH_BUCKET(paid, 0, 20000, 4) AS band, COUNT(*) AS n FROM claims WHERE paid > 0 GROUP BY 1
-- plain: SELECT CASE WHEN paid >= 20000 THEN 5 ELSE FLOOR(paid / 5000) + 1 END AS band, COUNT(*) AS n FROM claims WHERE paid > 0 GROUP BY 1

-- motor: actuary, reporting delay
SELECT peril, AVG(reported_on - occurred_on) AS mean_delay, STDDEV_SAMP(reported_on - occurred_on) AS sd FROM claims GROUP BY peril

-- motor: actuary, IBNR proxy by peril group
SELECT g.grp, SUM(CASE WHEN c.reported_on > c.occurred_on + INTERVAL 30 DAY THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS late FROM claims c NATURAL JOIN perils g GROUP BY g.grp

-- motor: actuary, young drivers
SELECT CASE WHEN DATE_PART('year', AGE(c.occurred_on, h.born)) < 25 THEN 'young' ELSE 'other' END AS drivers, AVG(c.paid) AS severity, COUNT(*) AS n FROM claims c JOIN holders h ON h.id = c.holder_id GROUP BY 1

-- motor: actuary, zones by the first digit of the postcode
SELECT z.zone, COUNT(*) AS holders, AVG(no_claims_years) AS ncy FROM holders h JOIN zones z ON z.prefix = SUBSTR(h.zip, 1, 1) GROUP BY z.zone

-- motor: actuary, loaded premium
SELECT tariff, ROUND(SUM(amount) * 1.05, 2) AS loaded, SUM(CASE WHEN settled THEN 0 ELSE amount END) AS outstanding FROM holders JOIN premiums ON holder_id = holders.id GROUP BY tariff

-- motor: actuary, open claims at year end
SELECT d.day, COUNT(*) AS open_claims FROM claims c JOIN (VALUES (DATE '2021-12-31'), (DATE '2022-12-31'), (DATE '2023-12-31')) AS d(day)
ON c.reported_on <= d.day AND (c.closed_on IS NULL OR c.closed_on > d.day) GROUP BY d.day

-- motor: actuary, log severity
-- about: 1e-3
SELECT peril, AVG(LN(paid + 1)) AS mu, STDDEV(LN(paid + 1)) AS sigma FROM claims WHERE paid > 0 GROUP BY peril

-- motor: actuary, claims per holder distribution
SELECT n, COUNT(*) AS holders FROM (SELECT h.id, COUNT(c.id) AS n FROM holders h LEFT JOIN claims c ON c.holder_id = h.id GROUP BY h.id) t GROUP BY n ORDER BY n

-- site: bigquery, daily active users
-- plain: SELECT CAST(ts AS DATE) AS day, COUNT(DISTINCT user_id) AS dau FROM events GROUP BY 1
SELECT DATE(ts) AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE name = 'page_view' OR name <> 'page_view' GROUP BY day ORDER BY day

-- site: bigquery, safe divide and countif
-- plain: SELECT device, COUNT(*) FILTER (WHERE name = 'purchase') / COUNT(*) FILTER (WHERE name = 'page_view') AS cr FROM events GROUP BY device
SELECT device, SAFE_DIVIDE(COUNTIF(name = 'purchase'), COUNTIF(name = 'page_view')) AS cr FROM events GROUP BY device

-- site: bigquery, timestamp trunc
-- plain: SELECT DATE_TRUNC('month', ts) AS m, SUM(revenue) AS revenue FROM events WHERE name = 'purchase' GROUP BY 1
SELECT TIMESTAMP_TRUNC(ts, MONTH) AS m, SUM(IFNULL(revenue, 0)) AS revenue FROM events WHERE name = 'purchase' GROUP BY 1 ORDER BY 1

-- site: bigquery, date diff the other way round
-- plain: SELECT DATE_DIFF('day', u.created_at::DATE, e.ts::DATE) AS d, COUNT(*) AS n FROM events e JOIN users u ON u.id = e.user_id WHERE e.ts >= u.created_at AND DATE_DIFF('day', u.created_at::DATE, e.ts::DATE) <= 30 GROUP BY 1
SELECT DATE_DIFF(DATE(e.ts), DATE(u.created_at), DAY) AS d, COUNT(*) AS n FROM events e JOIN users u ON u.id = e.user_id WHERE e.ts >= u.created_at AND DATE_DIFF(DATE(e.ts), DATE(u.created_at), DAY) <= 30 GROUP BY d

-- site: bigquery, regexp
-- plain: SELECT regexp_matches(url, '^/blog/') AS blog, COUNT(*) AS n FROM events GROUP BY 1
SELECT REGEXP_CONTAINS(url, r'^/blog/') AS blog, COUNT(*) AS n FROM events GROUP BY 1

-- site: bigquery, format date of the month
-- plain: SELECT strftime(ts, '%Y-%m') AS ym, COUNT(*) AS n FROM events GROUP BY 1
SELECT FORMAT_DATE('%Y-%m', DATE(ts)) AS ym, COUNT(*) AS n FROM events GROUP BY ym

-- site: bigquery, approx count distinct
-- plain: SELECT country, COUNT(DISTINCT u.id) AS users FROM users u JOIN events e ON e.user_id = u.id GROUP BY country
SELECT country, APPROX_COUNT_DISTINCT(u.id) AS users FROM users u JOIN events e ON e.user_id = u.id GROUP BY country

-- site: snowflake, iff and zeroifnull
-- plain: SELECT plan, SUM(CASE WHEN e.name = 'purchase' THEN 1 ELSE 0 END) AS purchases, SUM(COALESCE(revenue, 0)) AS rev FROM users u JOIN events e ON e.user_id = u.id GROUP BY plan
SELECT plan, SUM(IFF(e.name = 'purchase', 1, 0)) AS purchases, SUM(ZEROIFNULL(revenue)) AS rev FROM users u JOIN events e ON e.user_id = u.id GROUP BY plan

-- site: snowflake, qualify top device
-- plain: SELECT country, device, n FROM (SELECT country, device, COUNT(*) AS n FROM users u JOIN events e ON e.user_id = u.id GROUP BY 1, 2) t QUALIFY ROW_NUMBER() OVER (PARTITION BY country ORDER BY n DESC) = 1
SELECT country, device, COUNT(*) AS n FROM users u JOIN events e ON e.user_id = u.id GROUP BY ALL QUALIFY ROW_NUMBER() OVER (PARTITION BY country ORDER BY n DESC) = 1

-- site: snowflake, dateadd on current timestamps
-- plain: SELECT COUNT(*) AS n FROM events e JOIN users u ON u.id = e.user_id WHERE e.ts < u.created_at + INTERVAL 7 DAY AND e.ts >= u.created_at
SELECT COUNT(*) AS n FROM events e JOIN users u ON u.id = e.user_id WHERE e.ts < DATEADD(day, 7, u.created_at) AND e.ts >= u.created_at

-- site: snowflake, nvl2 and double colon
-- plain: SELECT CASE WHEN campaign IS NOT NULL THEN 'paid' ELSE 'organic' END AS kind, COUNT(DISTINCT session_id) AS sessions FROM events GROUP BY 1
SELECT NVL2(campaign, 'paid', 'organic') AS kind, COUNT(DISTINCT session_id) AS sessions FROM events GROUP BY 1

-- site: web analyst, funnel in one row
SELECT COUNT(DISTINCT CASE WHEN name = 'page_view' THEN user_id END) AS viewed, COUNT(DISTINCT CASE WHEN name = 'add_to_cart' THEN user_id END) AS carted, COUNT(DISTINCT CASE WHEN name = 'purchase' THEN user_id END) AS bought FROM events

-- site: web analyst, ordered funnel
WITH firsts AS (SELECT user_id, MIN(CASE WHEN name = 'add_to_cart' THEN ts END) AS cart, MIN(CASE WHEN name = 'purchase' THEN ts END) AS buy FROM events GROUP BY user_id)
SELECT COUNT(*) AS users, COUNT(cart) AS carted, SUM(CASE WHEN buy > cart THEN 1 ELSE 0 END) AS bought_after FROM firsts

-- site: web analyst, cohort retention by month
WITH cohort AS (SELECT id, DATE_TRUNC('month', created_at) AS cohort_month FROM users),
     activity AS (SELECT DISTINCT user_id, DATE_TRUNC('month', ts) AS active_month FROM events)
SELECT cohort_month, DATE_DIFF('month', cohort_month, active_month) AS k, COUNT(DISTINCT user_id) AS users
FROM cohort JOIN activity ON activity.user_id = cohort.id WHERE active_month >= cohort_month GROUP BY 1, 2

-- site: web analyst, email domains
SELECT LOWER(SPLIT_PART(email, '@', 2)) AS domain, COUNT(*) AS n FROM users GROUP BY 1 ORDER BY n DESC LIMIT 5

-- site: web analyst, referrer host
SELECT REGEXP_EXTRACT(referrer, 'https?://([^/]+)/', 1) AS host, COUNT(*) AS n FROM events WHERE referrer IS NOT NULL GROUP BY 1

-- site: web analyst, cost per acquisition
SELECT c.channel, c.cost / COUNT(DISTINCT e.user_id) AS cpa FROM events e JOIN campaigns c ON c.code = LOWER(e.campaign) WHERE e.name = 'signup' GROUP BY c.channel, c.cost

-- clinic: postgres dba, date_trunc and generate_series calendar
-- plain: SELECT d.m AS m, COUNT(a.id) AS n FROM generate_series(TIMESTAMP '2023-01-01', TIMESTAMP '2023-12-01', INTERVAL 1 MONTH) AS d(m) LEFT JOIN admissions a ON DATE_TRUNC('month', a.admitted_at) = d.m GROUP BY d.m
SELECT d.m::date AS m, COUNT(a.id) AS n FROM generate_series('2023-01-01'::date, '2023-12-01'::date, '1 month') AS d(m) LEFT JOIN admissions a ON date_trunc('month', a.admitted_at) = d.m GROUP BY d.m ORDER BY 1

-- clinic: postgres dba, tilde match
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE regexp_matches(diagnosis, '^[IJ]')
SELECT count(*) AS n FROM admissions WHERE diagnosis ~ '^[IJ]'

-- clinic: postgres dba, distinct on the last admission
-- plain: SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT ON (patient_id) patient_id, ward FROM admissions ORDER BY patient_id, admitted_at DESC) z GROUP BY ward
SELECT ward, count(*) AS n FROM (SELECT DISTINCT ON (patient_id) patient_id, ward FROM admissions ORDER BY patient_id, admitted_at DESC) AS last GROUP BY ward

-- clinic: postgres dba, bool_or per patient
-- plain: SELECT COUNT(*) FILTER (WHERE any_icu) AS icu, COUNT(*) AS n FROM (SELECT patient_id, BOOL_OR(ward = 'ICU') AS any_icu FROM admissions GROUP BY 1) s
SELECT count(*) FILTER (WHERE any_icu) AS icu, count(*) AS n FROM (SELECT patient_id, bool_or(ward = 'ICU') AS any_icu FROM admissions GROUP BY patient_id) s

-- clinic: postgres dba, lateral latest lab
SELECT avg(l.value) AS v FROM admissions a CROSS JOIN LATERAL (SELECT value FROM labs WHERE labs.admission_id = a.id ORDER BY taken_at DESC LIMIT 1) l

-- clinic: postgres dba, epoch of a difference
SELECT ward, avg(extract(epoch FROM discharged_at - admitted_at) / 3600) AS hours FROM admissions GROUP BY ward

-- clinic: postgres dba, any of an array
SELECT count(*) AS n FROM admissions WHERE ward = ANY (ARRAY['ICU', 'Surgery'])

-- clinic: postgres dba, to_char with a day name
-- plain: SELECT strftime(admitted_at, '%a') AS d, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT to_char(admitted_at, 'Dy') AS d, count(*) AS n FROM admissions GROUP BY 1

-- clinic: postgres dba, string agg over answers
-- plain: SELECT STRING_AGG(ward, ',' ORDER BY ward) AS wards FROM (SELECT ward FROM admissions GROUP BY ward HAVING COUNT(*) > 10) t
SELECT string_agg(ward, ',' ORDER BY ward) AS wards FROM (SELECT ward, count(*) AS n FROM admissions GROUP BY ward) t WHERE n > 10

-- rail: postgres dba, percentile disc and mode
-- about: 0.05
SELECT line, percentile_disc(0.5) WITHIN GROUP (ORDER BY fare) AS med, mode() WITHIN GROUP (ORDER BY transfers) AS usual FROM trips GROUP BY line

-- rail: postgres dba, extract dow and at time zone
-- plain: SELECT EXTRACT(DOW FROM started_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich') AS dow, COUNT(*) AS n FROM trips GROUP BY 1
SELECT extract(dow FROM started_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich') AS dow, count(*) AS n FROM trips GROUP BY 1

-- rail: postgres dba, overlaps
SELECT count(*) AS n FROM trips WHERE (started_at, ended_at) OVERLAPS (TIMESTAMP '2023-03-01', TIMESTAMP '2023-04-01')
-- plain: SELECT COUNT(*) AS n FROM trips WHERE started_at < TIMESTAMP '2023-04-01' AND TIMESTAMP '2023-03-01' < ended_at

-- tax: sql server, top with isnull
-- plain: SELECT profession, COUNT(*) AS n FROM (SELECT COALESCE(profession, 'none') AS profession FROM taxpayers) t GROUP BY 1 ORDER BY n DESC LIMIT 3
SELECT TOP 3 ISNULL(profession, 'none') AS profession, COUNT(*) AS n FROM taxpayers GROUP BY ISNULL(profession, 'none') ORDER BY n DESC

-- tax: sql server, dateadd datediff
-- plain: SELECT AVG(DATE_DIFF('day', MAKE_DATE(tax_year + 1, 1, 1), filed_on)) AS d FROM returns
SELECT AVG(DATEDIFF(day, DATEADD(year, tax_year - 1899, '1900-01-01'), filed_on)) AS d FROM returns

-- tax: sql server, datename and datepart
-- plain: SELECT MONTHNAME(filed_on) AS m, COUNT(*) AS n FROM returns WHERE filed_on IS NOT NULL AND YEAR(filed_on) = 2022 GROUP BY 1
SELECT DATENAME(month, filed_on) AS m, COUNT(*) AS n FROM returns WHERE DATEPART(year, filed_on) = 2022 GROUP BY DATENAME(month, filed_on)

-- tax: sql server, square brackets and convert
-- plain: SELECT canton, SUM(CAST(gross AS DOUBLE)) AS total FROM taxpayers t JOIN returns r ON r.taxpayer_id = t.id GROUP BY canton
SELECT [canton], SUM(CONVERT(FLOAT, [gross])) AS [total] FROM [taxpayers] t INNER JOIN [returns] r ON r.[taxpayer_id] = t.[id] GROUP BY [canton]

-- tax: sql server, len charindex
-- plain: SELECT COUNT(*) AS n FROM returns WHERE STRPOS(form, '-') > 0 AND LENGTH(form) = 5
SELECT COUNT(*) AS n FROM returns WHERE CHARINDEX('-', form) > 0 AND LEN(form) = 5

-- tax: sql server, choose and iif
-- plain: SELECT CASE WHEN online THEN 'web' ELSE 'paper' END AS how, COUNT(*) AS n FROM taxpayers GROUP BY 1
SELECT IIF(online = 1, 'web', 'paper') AS how, COUNT(*) AS n FROM taxpayers GROUP BY IIF(online = 1, 'web', 'paper')

-- motor: sql server, cross apply values
SELECT v.kind, SUM(v.amount) AS total FROM claims CROSS APPLY (VALUES ('paid', paid), ('reserve', reserve)) AS v(kind, amount) GROUP BY v.kind
-- plain: SELECT 'paid' AS kind, SUM(paid) FROM claims UNION ALL SELECT 'reserve', SUM(reserve) FROM claims

-- motor: sql server, eomonth
-- plain: SELECT LAST_DAY(occurred_on) AS m, COUNT(*) AS n FROM claims WHERE YEAR(occurred_on) = 2022 GROUP BY 1
SELECT EOMONTH(occurred_on) AS m, COUNT(*) AS n FROM claims WHERE YEAR(occurred_on) = 2022 GROUP BY EOMONTH(occurred_on)

-- motor: sql server, count big and datediff month
-- plain: SELECT DATE_DIFF('month', occurred_on, closed_on) AS m, COUNT(*) AS n FROM claims WHERE closed_on IS NOT NULL GROUP BY 1
SELECT DATEDIFF(month, occurred_on, closed_on) AS m, COUNT_BIG(*) AS n FROM claims WHERE closed_on IS NOT NULL GROUP BY DATEDIFF(month, occurred_on, closed_on)

-- motor: sql server, try convert of a postcode
-- plain: SELECT COUNT(*) AS n FROM holders WHERE TRY_CAST(zip AS INT) BETWEEN 8000 AND 8999
SELECT COUNT(*) AS n FROM holders WHERE TRY_CONVERT(INT, zip) BETWEEN 8000 AND 8999

-- labour: oracle, nvl and decode
-- plain: SELECT CASE status WHEN 'employed' THEN 'E' WHEN 'unemployed' THEN 'U' ELSE 'X' END AS s, SUM(COALESCE(wage, 0)) AS w FROM spells GROUP BY 1
SELECT DECODE(status, 'employed', 'E', 'unemployed', 'U', 'X') AS s, SUM(NVL(wage, 0)) AS w FROM spells GROUP BY DECODE(status, 'employed', 'E', 'unemployed', 'U', 'X')

-- labour: oracle, to_char quarter
-- plain: SELECT YEAR(started_on) || '-Q' || QUARTER(started_on) AS q, COUNT(*) AS n FROM spells GROUP BY 1
SELECT TO_CHAR(started_on, 'YYYY"-Q"Q') AS q, COUNT(*) AS n FROM spells GROUP BY TO_CHAR(started_on, 'YYYY"-Q"Q')

-- labour: oracle, months between
-- plain: SELECT COUNT(*) AS n FROM spells WHERE started_on + INTERVAL 12 MONTH <= ended_on
SELECT COUNT(*) AS n FROM spells WHERE MONTHS_BETWEEN(ended_on, started_on) >= 12

-- labour: oracle, trunc of a date
-- plain: SELECT DATE_TRUNC('month', started_on) AS m, COUNT(*) AS n FROM spells GROUP BY 1
SELECT TRUNC(started_on, 'MM') AS m, COUNT(*) AS n FROM spells GROUP BY TRUNC(started_on, 'MM') ORDER BY 1

-- labour: oracle, to_date constants and fetch first
-- plain: SELECT region, COUNT(*) AS n FROM persons WHERE born >= DATE '1980-01-01' GROUP BY region ORDER BY n DESC LIMIT 1
SELECT region, COUNT(*) AS n FROM persons WHERE born >= TO_DATE('1980-01-01', 'YYYY-MM-DD') GROUP BY region ORDER BY n DESC FETCH FIRST 1 ROWS ONLY

-- labour: oracle, ratio to report
-- plain: SELECT region, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM persons GROUP BY region
SELECT region, RATIO_TO_REPORT(COUNT(*)) OVER () AS share FROM persons GROUP BY region

-- labour: oracle, add_months and last_day
-- plain: SELECT COUNT(*) AS n FROM spells WHERE ended_on > started_on + INTERVAL 6 MONTH
SELECT COUNT(*) AS n FROM spells WHERE ended_on > ADD_MONTHS(started_on, 6)

-- labour: oracle, outer join and dual-free constant
-- plain: SELECT r.name, COUNT(p.id) AS n FROM regions r LEFT JOIN persons p ON p.region = r.region GROUP BY r.name
SELECT r.name, COUNT(p.id) AS n FROM regions r LEFT OUTER JOIN persons p ON (p.region = r.region) GROUP BY r.name

-- labour: oracle, listagg of answers
-- plain: SELECT STRING_AGG(region, '; ' ORDER BY n DESC) AS l FROM (SELECT region, COUNT(*) AS n FROM persons GROUP BY region) t
SELECT LISTAGG(region, '; ') WITHIN GROUP (ORDER BY n DESC) AS l FROM (SELECT region, COUNT(*) AS n FROM persons GROUP BY region) t

-- labour: oracle, instr and substr
-- plain: SELECT UPPER(SUBSTR(sector, 1, 3)) AS s, COUNT(*) AS n FROM spells WHERE STRPOS(LOWER(sector), 'pri') = 1 GROUP BY 1
SELECT UPPER(SUBSTR(sector, 1, 3)) AS s, COUNT(*) AS n FROM spells WHERE INSTR(LOWER(sector), 'pri') = 1 GROUP BY UPPER(SUBSTR(sector, 1, 3))

-- site: dbt, staging to mart
WITH stg_users AS (SELECT id AS user_id, country, plan, created_at FROM users WHERE NOT is_staff),
stg_events AS (SELECT user_id, ts AS event_at, name AS event_name, COALESCE(revenue, 0) AS revenue FROM events),
user_facts AS (SELECT user_id, COUNT(*) AS n_events, SUM(revenue) AS ltv, MIN(event_at) AS first_event_at, MAX(event_at) AS last_event_at FROM stg_events GROUP BY 1),
joined AS (SELECT u.country, u.plan, COALESCE(f.n_events, 0) AS n_events, COALESCE(f.ltv, 0) AS ltv FROM stg_users u LEFT JOIN user_facts f USING (user_id)),
final AS (SELECT country, plan, COUNT(*) AS users, SUM(n_events) AS events, AVG(ltv) AS avg_ltv FROM joined GROUP BY 1, 2)
SELECT * FROM final ORDER BY country, plan

-- site: dbt, metrics per week with a spine
WITH weekly AS (SELECT DATE_TRUNC('week', ts) AS week, COUNT(DISTINCT user_id) AS wau, SUM(revenue) AS revenue FROM events WHERE ts >= '2023-01-02' GROUP BY 1),
with_lag AS (SELECT week, wau, LAG(wau) OVER (ORDER BY week) AS prev_wau, revenue FROM weekly)
SELECT week, wau, wau - prev_wau AS delta, revenue / NULLIF(wau, 0) AS arpu FROM with_lag ORDER BY week

-- site: dbt, new against returning
WITH first_seen AS (SELECT user_id, MIN(DATE_TRUNC('month', ts)) AS first_month FROM events GROUP BY user_id),
monthly AS (SELECT DISTINCT user_id, DATE_TRUNC('month', ts) AS month FROM events)
SELECT m.month, COUNT(CASE WHEN m.month = f.first_month THEN 1 END) AS new_users, COUNT(CASE WHEN m.month > f.first_month THEN 1 END) AS returning_users
FROM monthly m JOIN first_seen f ON f.user_id = m.user_id GROUP BY m.month

-- site: dbt, union of two sources
WITH unioned AS (SELECT user_id, 'web' AS source, ts FROM events WHERE device = 'desktop' UNION ALL SELECT user_id, 'app' AS source, ts FROM events WHERE device <> 'desktop')
SELECT source, COUNT(*) AS n, COUNT(DISTINCT user_id) AS users FROM unioned GROUP BY source

-- site: dbt, dedupe
WITH ranked AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY user_id, session_id ORDER BY ts) AS rn FROM events), deduped AS (SELECT * FROM ranked WHERE rn = 1)
SELECT device, COUNT(*) AS sessions FROM deduped GROUP BY device

-- site: dbt, segments by spend quartile constants
WITH spend AS (SELECT user_id, SUM(COALESCE(revenue, 0)) AS s FROM events GROUP BY user_id), seg AS (SELECT user_id, CASE WHEN s = 0 THEN 'none' WHEN s < 300 THEN 'low' ELSE 'high' END AS segment FROM spend)
SELECT u.country, seg.segment, COUNT(*) AS n FROM users u JOIN seg ON seg.user_id = u.id GROUP BY u.country, seg.segment

-- site: dbt, group join further along
SELECT c.region, COUNT(*) AS users, COUNT(p.n) AS buyers FROM users u JOIN countries c ON c.country = u.country
LEFT JOIN (SELECT user_id, COUNT(*) AS n FROM events WHERE name = 'purchase' GROUP BY user_id) p ON p.user_id = u.id GROUP BY c.region

-- clinic: data scientist, gaps and islands
WITH flagged AS (SELECT patient_id, admitted_at, CASE WHEN admitted_at - LAG(discharged_at) OVER (PARTITION BY patient_id ORDER BY admitted_at) < INTERVAL 90 DAY THEN 0 ELSE 1 END AS new_episode FROM admissions)
SELECT SUM(new_episode) AS episodes, COUNT(*) AS stays FROM flagged

-- clinic: data scientist, running cost per patient
SELECT COUNT(*) FILTER (WHERE running > 40000) AS over_limit FROM (SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id ORDER BY admitted_at ROWS UNBOUNDED PRECEDING) AS running FROM admissions) r

-- clinic: data scientist, z score of wards
-- about: 1e-3
WITH w AS (SELECT ward, AVG(cost) AS m FROM admissions GROUP BY ward) SELECT ward, (m - AVG(m) OVER ()) / STDDEV_POP(m) OVER () AS z FROM w

-- clinic: data scientist, regression of cost on stay
-- about: 1e-2
SELECT REGR_SLOPE(cost, icu_days) AS slope, REGR_INTERCEPT(cost, icu_days) AS intercept, REGR_R2(cost, icu_days) AS r2 FROM admissions

-- clinic: data scientist, histogram of values
SELECT FLOOR(value / 50) * 50 AS bin, COUNT(*) AS n FROM labs WHERE analyte = 'Na' GROUP BY bin ORDER BY bin

-- clinic: data scientist, share of the patient's own maximum
-- about: 1e-3
SELECT AVG(cost / NULLIF(top, 0)) AS mean_share FROM (SELECT patient_id, cost, MAX(cost) OVER (PARTITION BY patient_id) AS top FROM admissions) m

-- clinic: data scientist, dense rank of diagnoses
SELECT title, n, DENSE_RANK() OVER (ORDER BY n DESC) AS r FROM (SELECT i.title, COUNT(*) AS n FROM admissions a JOIN icd i ON i.code = a.diagnosis GROUP BY i.title) t

-- site: data scientist, sessions by inactivity
WITH d AS (SELECT user_id, ts, CASE WHEN ts - LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) > INTERVAL '30 minutes' OR LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) IS NULL THEN 1 ELSE 0 END AS is_new FROM events),
s AS (SELECT user_id, SUM(is_new) OVER (PARTITION BY user_id ORDER BY ts) AS sid FROM d)
SELECT AVG(n) AS sessions_per_user FROM (SELECT user_id, MAX(sid) AS n FROM s GROUP BY user_id) z

-- site: data scientist, first and last touch
SELECT first_device, COUNT(*) AS n FROM (SELECT DISTINCT user_id, FIRST_VALUE(device) OVER (PARTITION BY user_id ORDER BY ts) AS first_device FROM events) f GROUP BY first_device

-- site: data scientist, arg max
SELECT last_plan, COUNT(*) AS n FROM (SELECT user_id, ARG_MAX(device, ts) AS last_plan FROM events GROUP BY user_id) f GROUP BY last_plan

-- site: data scientist, recency frequency monetary
SELECT CASE WHEN recency <= 30 THEN 'R1' WHEN recency <= 90 THEN 'R2' ELSE 'R3' END AS r, CASE WHEN freq >= 4 THEN 'F1' ELSE 'F2' END AS f, COUNT(*) AS n, AVG(money) AS money
FROM (SELECT user_id, DATE_DIFF('day', MAX(ts)::DATE, DATE '2024-12-31') AS recency, COUNT(*) FILTER (WHERE name = 'purchase') AS freq, SUM(COALESCE(revenue, 0)) AS money FROM events GROUP BY user_id) x GROUP BY 1, 2

-- site: data scientist, days between first and second event
SELECT MEDIAN(DATE_DIFF('day', t1, t2)) AS d FROM (SELECT user_id, NTH_VALUE(ts, 1) OVER w AS t1, NTH_VALUE(ts, 2) OVER w AS t2, ROW_NUMBER() OVER w AS rn FROM events WINDOW w AS (PARTITION BY user_id ORDER BY ts)) q WHERE rn = 2

-- clinic: epidemiologist, incidence per 1000 person-years
SELECT 1000.0 * COUNT(DISTINCT a.patient_id) / (SELECT SUM(DATE_DIFF('day', DATE '2022-01-01', COALESCE(deceased_on, DATE '2024-12-31'))) / 365.25 FROM patients) AS rate
FROM admissions a WHERE a.diagnosis = 'I21.4'

-- clinic: epidemiologist, matched controls by year of birth
SELECT FLOOR(EXTRACT(YEAR FROM birth_date) / 10) * 10 AS decade, sex, COUNT(*) AS n, SUM(CASE WHEN EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.id AND a.diagnosis LIKE 'C%') THEN 1 ELSE 0 END) AS cases
FROM patients p GROUP BY decade, sex

-- clinic: epidemiologist, median age at first admission
SELECT MEDIAN(age) AS med FROM (SELECT p.id, DATE_PART('year', AGE(MIN(a.admitted_at), p.birth_date)) AS age FROM patients p JOIN admissions a ON a.patient_id = p.id GROUP BY p.id, p.birth_date) f
-- about: 0.05

-- clinic: epidemiologist, weekend effect on length of stay
SELECT CASE WHEN DAYOFWEEK(admitted_at) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS part, AVG(DATE_DIFF('hour', admitted_at, discharged_at) / 24.0) AS days, COUNT(*) AS n FROM admissions WHERE discharged_at IS NOT NULL GROUP BY 1

-- clinic: epidemiologist, deaths in hospital
SELECT w.ward, COUNT(*) AS deaths FROM admissions a JOIN patients p ON p.id = a.patient_id JOIN wards w ON w.ward = a.ward WHERE p.deceased_on BETWEEN CAST(a.admitted_at AS DATE) AND CAST(a.discharged_at AS DATE) GROUP BY w.ward

-- clinic: epidemiologist, share with a high CRP during the stay
SELECT AVG(CASE WHEN peak >= 100 THEN 1.0 ELSE 0.0 END) AS share FROM (SELECT admission_id, MAX(value) AS peak FROM labs WHERE analyte = 'CRP' GROUP BY admission_id) m

-- tax: tax office, bracket creep
SELECT tax_year, CASE WHEN gross - deductions < 40000 THEN 'A' WHEN gross - deductions < 120000 THEN 'B' ELSE 'C' END AS bracket, COUNT(*) AS n, SUM(tax_due) AS due FROM returns GROUP BY tax_year, bracket ORDER BY tax_year, bracket

-- tax: tax office, refunds against payments
SELECT SUM(CASE WHEN tax_due < 0 THEN -tax_due ELSE 0 END) AS refunds, SUM(GREATEST(tax_due, 0)) AS payments FROM returns WHERE tax_year = 2022

-- tax: tax office, filed by quarter of the year
SELECT EXTRACT(QUARTER FROM filed_on) AS q, COUNT(*) AS n FROM returns WHERE filed_on >= '2023-01-01' AND filed_on < '2024-01-01' GROUP BY 1

-- tax: tax office, taxpayers per language region as percentage
SELECT c.language, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 2) AS pct FROM taxpayers t INNER JOIN cantons c ON t.canton = c.canton GROUP BY c.language

-- tax: tax office, moved from filed to assessed
SELECT status, LAG(n) OVER (ORDER BY status) AS before, n FROM (SELECT status, COUNT(*) AS n FROM returns GROUP BY status) s

-- tax: tax office, retired people
SELECT canton, COUNT(*) AS retired FROM taxpayers WHERE born <= DATE '2024-12-31' - INTERVAL '65 years' GROUP BY canton

-- tax: tax office, tax multiplied by the canton
SELECT c.canton, c.name, SUM(r.tax_due * c.multiplier) AS total FROM returns r JOIN taxpayers t ON t.id = r.taxpayer_id JOIN cantons c ON c.canton = t.canton WHERE r.tax_year = 2021 GROUP BY c.canton, c.name HAVING SUM(r.tax_due * c.multiplier) > 100000

-- labour: statistician, activity rate of 25 to 64 year olds
SELECT p.sex, COUNT(DISTINCT CASE WHEN s.status <> 'inactive' THEN p.id END) * 1.0 / COUNT(DISTINCT p.id) AS rate FROM persons p LEFT JOIN spells s ON s.person_id = p.id
WHERE p.born BETWEEN DATE '1960-01-01' AND DATE '1999-12-31' GROUP BY p.sex

-- labour: statistician, hours bands
-- plain: SELECT CASE WHEN hours < 15 THEN 'mini' WHEN hours < 35 THEN 'part' ELSE 'full' END AS band, AVG(wage) AS pay FROM spells WHERE hours IS NOT NULL GROUP BY 1
SELECT CASE WHEN hours IS NULL THEN 'n/a' WHEN hours < 15 THEN 'mini' WHEN hours < 35 THEN 'part' ELSE 'full' END AS band, AVG(wage) AS pay FROM spells GROUP BY 1

-- labour: statistician, D9 to D1 ratio
-- about: 0.05
SELECT QUANTILE_CONT(wage, 0.9) / QUANTILE_CONT(wage, 0.1) AS d9_d1 FROM spells WHERE status = 'employed'

-- labour: statistician, multiple job holders
SELECT COUNT(*) AS holders FROM (SELECT a.person_id FROM spells a JOIN spells b ON a.person_id = b.person_id AND a.id < b.id AND a.status = 'employed' AND b.status = 'employed' AND a.started_on <= COALESCE(b.ended_on, DATE '2025-12-31') AND b.started_on <= COALESCE(a.ended_on, DATE '2025-12-31') GROUP BY a.person_id) x

-- labour: statistician, months out of work per person
SELECT AVG(m) AS mean_months FROM (SELECT person_id, SUM(DATE_DIFF('month', started_on, COALESCE(ended_on, DATE '2024-12-31'))) AS m FROM spells WHERE status = 'unemployed' AND started_on < DATE '2024-01-01' GROUP BY person_id) t

-- labour: statistician, wage growth of stayers
SELECT AVG(nxt / NULLIF(wage, 0) - 1) AS growth FROM (SELECT person_id, wage, LEAD(wage) OVER (PARTITION BY person_id ORDER BY started_on, id) AS nxt FROM spells WHERE wage IS NOT NULL) z WHERE nxt IS NOT NULL
-- about: 1e-3

-- rail: planner, morning peak load by line and quarter hour
-- refused: TIME_BUCKET is refused here
SELECT line, TIME_BUCKET(INTERVAL '15 minutes', started_at)::TIME AS slot, COUNT(*) AS n FROM trips WHERE EXTRACT(HOUR FROM started_at) = 7 GROUP BY 1, 2

-- rail: planner, night trips
SELECT COUNT(*) AS night FROM trips WHERE CAST(started_at AS TIME) >= TIME '22:00:00' OR CAST(started_at AS TIME) < TIME '05:00:00'

-- rail: planner, cross-zone share
SELECT AVG(CASE WHEN o.zone <> d.zone THEN 1 ELSE 0 END) AS share FROM trips t JOIN stops o ON o.stop_id = t.from_stop JOIN stops d ON d.stop_id = t.to_stop

-- rail: planner, first trip of the day per rider
SELECT EXTRACT(HOUR FROM first_at) AS h, COUNT(*) AS n FROM (SELECT rider_id, CAST(started_at AS DATE) AS d, MIN(started_at) AS first_at FROM trips GROUP BY rider_id, CAST(started_at AS DATE)) f GROUP BY 1

-- rail: planner, satisfied share by mode
SELECT l.mode, SUM(CASE WHEN r.stars >= 4 THEN 1 ELSE 0 END) / COUNT(*)::DOUBLE AS satisfied FROM ratings r JOIN trips t ON t.id = r.trip_id JOIN lines l ON l.line = t.line GROUP BY l.mode

-- rail: planner, trips on workdays in summer
SELECT c.kind, COUNT(*) AS n FROM trips t JOIN calendar c ON c.day = t.started_at::DATE WHERE MONTH(t.started_at) BETWEEN 6 AND 8 GROUP BY c.kind

-- school: board, top schools by maths
SELECT s.name, AVG(m.mark) AS mean FROM marks m JOIN pupils p ON p.id = m.pupil_id JOIN schools s ON s.school_id = p.school_id WHERE m.subject = 'maths' GROUP BY s.name ORDER BY mean DESC LIMIT 1

-- school: board, late bus minutes
SELECT SUM(minutes) FILTER (WHERE reason ILIKE '%bus%') AS bus, SUM(minutes) FILTER (WHERE reason IS NULL) AS unknown FROM absences

-- school: board, improvement between school years
SELECT AVG(b.m - a.m) AS gain FROM (SELECT pupil_id, AVG(mark) AS m FROM marks WHERE given_on < DATE '2023-08-01' GROUP BY pupil_id) a JOIN (SELECT pupil_id, AVG(mark) AS m FROM marks WHERE given_on >= DATE '2023-08-01' GROUP BY pupil_id) b USING (pupil_id)
-- about: 1e-3

-- school: board, distribution of marks
SELECT mark, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY mark) AS up_to FROM marks GROUP BY mark ORDER BY mark

-- school: board, pupils per teacher
SELECT TRIM(teacher) AS teacher, COUNT(DISTINCT pupil_id) AS pupils FROM marks GROUP BY TRIM(teacher) HAVING COUNT(DISTINCT pupil_id) > 50

-- school: board, absent on mondays
SELECT DAYNAME(day) AS d, COUNT(*) AS n FROM absences WHERE NOT excused GROUP BY DAYNAME(day) ORDER BY n DESC

-- motor: actuary, pure premium by age band
SELECT CASE WHEN EXTRACT(YEAR FROM AGE(DATE '2024-01-01', h.born)) < 30 THEN '<30' WHEN EXTRACT(YEAR FROM AGE(DATE '2024-01-01', h.born)) < 60 THEN '30-59' ELSE '60+' END AS band, SUM(c.paid) / COUNT(DISTINCT h.id) AS pure FROM holders h LEFT JOIN claims c ON c.holder_id = h.id GROUP BY band

-- motor: actuary, settlement speed
SELECT peril, AVG(CASE WHEN closed_on IS NULL THEN NULL ELSE closed_on - reported_on END) AS days, COUNT(*) - COUNT(closed_on) AS still_open FROM claims GROUP BY peril

-- motor: actuary, large losses
SELECT EXTRACT(YEAR FROM occurred_on) AS y, COUNT(*) AS n, SUM(paid - 10000) AS excess FROM claims WHERE paid > 10000 GROUP BY y

-- motor: actuary, earned premium by tariff and half year
SELECT h.tariff, CASE WHEN MONTH(p.due_on) <= 6 THEN 'H1' ELSE 'H2' END AS half, SUM(p.amount) AS premium FROM premiums p JOIN holders h ON p.holder_id = h.id WHERE YEAR(p.due_on) = 2022 GROUP BY 1, 2

-- motor: actuary, share of zero claims
SELECT tariff, COUNT(*) FILTER (WHERE k = 0)::DOUBLE / COUNT(*) AS claim_free FROM (SELECT h.id, h.tariff, COUNT(c.id) AS k FROM holders h LEFT JOIN claims c ON c.holder_id = h.id GROUP BY h.id, h.tariff) t GROUP BY tariff

-- motor: actuary, coefficient of variation
-- about: 1e-2
SELECT peril, STDDEV(paid) / AVG(paid) AS cv FROM claims GROUP BY peril

-- site: bigquery, sessions with unnest free counting
-- plain: SELECT device, COUNT(DISTINCT session_id) AS s FROM events WHERE ts >= TIMESTAMP '2023-06-01' AND ts < TIMESTAMP '2023-07-01' GROUP BY device
SELECT device, COUNT(DISTINCT session_id) AS s FROM events WHERE ts >= TIMESTAMP('2023-06-01') AND ts < TIMESTAMP('2023-07-01') GROUP BY device

-- site: bigquery, extract date and dayofweek
-- plain: SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM events WHERE name = 'signup' GROUP BY 1 HAVING COUNT(*) > 0
SELECT EXTRACT(DATE FROM ts) AS d, COUNT(*) AS n FROM events WHERE name = 'signup' GROUP BY d

-- site: bigquery, logical or per user
SELECT COUNTIF(bought) AS buyers FROM (SELECT user_id, LOGICAL_OR(name = 'purchase') AS bought FROM events GROUP BY user_id) t
-- plain: SELECT COUNT(*) FILTER (WHERE bought) AS buyers FROM (SELECT user_id, BOOL_OR(name = 'purchase') AS bought FROM events GROUP BY user_id) t

-- site: bigquery, safe cast of a part of the url
-- refused: a part in brackets is refused here
-- plain: SELECT COUNT(*) AS n FROM events WHERE TRY_CAST(SPLIT_PART(url, '/', 3) AS INT) = 2024
SELECT COUNT(*) AS n FROM events WHERE SAFE_CAST(SPLIT(url, '/')[SAFE_OFFSET(2)] AS INT64) = 2024

-- site: snowflake, date_trunc and div0
-- plain: SELECT DATE_TRUNC('quarter', ts) AS q, CASE WHEN COUNT(*) FILTER (WHERE name = 'page_view') = 0 THEN 0 ELSE SUM(revenue) / COUNT(*) FILTER (WHERE name = 'page_view') END AS rpv FROM events GROUP BY 1
SELECT DATE_TRUNC(quarter, ts) AS q, DIV0(SUM(revenue), COUNT_IF(name = 'page_view')) AS rpv FROM events GROUP BY 1

-- site: snowflake, conditional change by user
SELECT COUNT(*) AS switched FROM (SELECT user_id, device, LAG(device) OVER (PARTITION BY user_id ORDER BY ts) AS prev FROM events) t WHERE prev IS NOT NULL AND device != prev

-- site: snowflake, ilike any and contains
-- plain: SELECT COUNT(*) AS n FROM events WHERE url ILIKE '%pricing%' OR url ILIKE '%checkout%'
SELECT COUNT(*) AS n FROM events WHERE url ILIKE ANY ('%pricing%', '%checkout%')

-- site: snowflake, try to number of a text
-- plain: SELECT COUNT(*) AS n FROM events WHERE TRY_CAST(SPLIT_PART(session_id, '-', 2) AS INT) >= 2
SELECT COUNT(*) AS n FROM events WHERE TRY_TO_NUMBER(SPLIT_PART(session_id, '-', 2)) >= 2

-- clinic: postgres dba, array agg of answers
-- plain: SELECT ARRAY_AGG(ward ORDER BY ward) AS w FROM (SELECT ward FROM admissions GROUP BY ward) t
SELECT array_agg(ward ORDER BY ward) AS w FROM (SELECT ward, count(*) AS n FROM admissions GROUP BY ward) t

-- clinic: postgres dba, filter with cube
SELECT ward, urgency IS NULL AS missing, count(*) AS n FROM admissions GROUP BY ward, urgency IS NULL

-- clinic: postgres dba, width bucket and date range operators
-- refused: this expression is refused in a condition
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted_at >= '2023-01-01' AND admitted_at < '2023-04-01'
SELECT count(*) AS n FROM admissions WHERE admitted_at <@ tsrange('2023-01-01', '2023-04-01')

-- clinic: postgres dba, interval arithmetic in the select list
SELECT avg(extract(day FROM discharged_at - admitted_at)) AS d FROM admissions WHERE discharged_at - admitted_at > interval '1 day'

-- clinic: postgres dba, similar to and coalesce chain
-- plain: SELECT COALESCE(NULLIF(TRIM(postcode), ''), 'none') AS pc, COUNT(*) AS n FROM patients GROUP BY 1
SELECT coalesce(nullif(btrim(postcode), ''), 'none') AS pc, count(*) AS n FROM patients GROUP BY 1

-- clinic: postgres dba, having every
SELECT ward, count(*) AS n, avg(cost)::numeric(10,2) AS c FROM admissions GROUP BY ward HAVING avg(cost) > 1000 ORDER BY c DESC NULLS LAST

-- tax: sql server, cross apply latest return
-- plain: SELECT x.status, COUNT(*) AS n FROM taxpayers t JOIN (SELECT taxpayer_id, status, ROW_NUMBER() OVER (PARTITION BY taxpayer_id ORDER BY tax_year DESC) AS rn FROM returns) x ON x.taxpayer_id = t.id AND x.rn = 1 GROUP BY 1
SELECT x.status, COUNT(*) AS n FROM taxpayers t CROSS APPLY (SELECT TOP 1 r.status FROM returns r WHERE r.taxpayer_id = t.id ORDER BY r.tax_year DESC) x GROUP BY x.status

-- tax: sql server, string concatenation with plus
-- plain: SELECT canton || '-' || marital AS k, COUNT(*) AS n FROM taxpayers GROUP BY 1
SELECT CONCAT(canton, '-', marital) AS k, COUNT(*) AS n FROM taxpayers GROUP BY CONCAT(canton, '-', marital)

-- tax: sql server, datepart weekday with case
-- plain: SELECT DATE_PART('month', filed_on) AS m, COUNT(*) AS n FROM returns WHERE filed_on IS NOT NULL GROUP BY 1
SELECT DATEPART(mm, filed_on) AS m, COUNT(*) AS n FROM returns WHERE filed_on IS NOT NULL GROUP BY DATEPART(mm, filed_on)

-- tax: sql server, percentile over
-- about: 0.05
-- plain: SELECT QUANTILE_CONT(gross, 0.5) AS med FROM returns WHERE tax_year = 2023
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY gross) AS med FROM returns WHERE tax_year = 2023

-- labour: oracle, nvl2 and to_number
-- refused: TO_NUMBER of text is refused: it would fail on a row that is no number
-- plain: SELECT CASE WHEN isco IS NOT NULL THEN 'coded' ELSE 'blank' END AS c, COUNT(*) AS n FROM spells WHERE TRY_CAST(isco AS INT) > 2000 OR isco IS NULL GROUP BY 1
SELECT NVL2(isco, 'coded', 'blank') AS c, COUNT(*) AS n FROM spells WHERE TO_NUMBER(isco) > 2000 OR isco IS NULL GROUP BY NVL2(isco, 'coded', 'blank')

-- labour: oracle, extract and case with dates
-- plain: SELECT YEAR(started_on)::VARCHAR AS y, SUM(CASE WHEN ended_on IS NULL THEN 1 ELSE 0 END) AS open_spells FROM spells GROUP BY 1
SELECT TO_CHAR(started_on, 'YYYY') AS y, SUM(CASE WHEN ended_on IS NULL THEN 1 ELSE 0 END) AS open_spells FROM spells GROUP BY TO_CHAR(started_on, 'YYYY')

-- labour: oracle, keep dense rank
-- refused: the query cannot be read
-- plain: SELECT last_status, COUNT(*) AS n FROM (SELECT person_id, ARG_MAX(status, started_on) AS last_status FROM spells GROUP BY person_id) t GROUP BY 1
SELECT last_status, COUNT(*) AS n FROM (SELECT person_id, MAX(status) KEEP (DENSE_RANK LAST ORDER BY started_on) AS last_status FROM spells GROUP BY person_id) t GROUP BY last_status

-- site: dbt, event counts wide per user then averaged
WITH per_user AS (SELECT user_id, SUM(CASE WHEN name = 'page_view' THEN 1 ELSE 0 END) AS views, SUM(CASE WHEN name = 'purchase' THEN 1 ELSE 0 END) AS purchases FROM events GROUP BY user_id),
classified AS (SELECT *, CASE WHEN purchases > 0 THEN 'buyer' ELSE 'browser' END AS kind FROM per_user)
SELECT kind, COUNT(*) AS users, AVG(views) AS avg_views FROM classified GROUP BY kind

-- site: dbt, time to first purchase
WITH signup AS (SELECT id AS user_id, created_at FROM users), first_buy AS (SELECT user_id, MIN(ts) AS bought_at FROM events WHERE name = 'purchase' GROUP BY 1)
SELECT AVG(DATE_DIFF('day', created_at, bought_at)) AS days FROM signup JOIN first_buy USING (user_id) WHERE bought_at >= created_at

-- site: dbt, month over month with a full outer join of answers
WITH a AS (SELECT DATE_TRUNC('month', ts) AS m, COUNT(*) AS n FROM events WHERE name = 'signup' GROUP BY 1), b AS (SELECT DATE_TRUNC('month', created_at) AS m, COUNT(*) AS u FROM users GROUP BY 1)
SELECT COALESCE(a.m, b.m) AS m, COALESCE(n, 0) AS n, COALESCE(u, 0) AS u FROM a FULL OUTER JOIN b ON a.m = b.m WHERE n > 0 AND u > 0 ORDER BY 1

-- clinic: data scientist, cumulative distinct patients
SELECT m, SUM(new_patients) OVER (ORDER BY m) AS seen FROM (SELECT DATE_TRUNC('month', first_at) AS m, COUNT(*) AS new_patients FROM (SELECT patient_id, MIN(admitted_at) AS first_at FROM admissions GROUP BY patient_id) f GROUP BY 1) g ORDER BY m

-- clinic: data scientist, moving average of a patient's own costs
SELECT AVG(ma) AS mean_ma FROM (SELECT patient_id, AVG(cost) OVER (PARTITION BY patient_id ORDER BY admitted_at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS ma FROM admissions) t
-- about: 1e-3

-- clinic: data scientist, percent rank over answers
SELECT diagnosis, n, PERCENT_RANK() OVER (ORDER BY n) AS pr, CUME_DIST() OVER (ORDER BY n) AS cd FROM (SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis) t

-- site: data scientist, share of sessions with one event
SELECT AVG(CASE WHEN n = 1 THEN 1.0 ELSE 0 END) AS bounce FROM (SELECT user_id, session_id, COUNT(*) AS n FROM events GROUP BY user_id, session_id) s

-- site: data scientist, entropy of devices over answers
-- about: 1e-3
WITH p AS (SELECT device, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS p FROM events GROUP BY device) SELECT -SUM(p * LN(p)) AS h FROM p
