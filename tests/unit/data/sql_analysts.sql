-- epidemiologist: admissions by month
SELECT DATE_TRUNC('month', admitted)::date AS month, COUNT(*) AS admissions
FROM admissions
GROUP BY 1
ORDER BY 1

-- epidemiologist: mean length of stay by ward
SELECT ward, AVG(discharged - admitted) AS los
FROM admissions
GROUP BY ward
ORDER BY 2 DESC NULLS LAST

-- epidemiologist: age at admission in bands
SELECT CASE WHEN EXTRACT(YEAR FROM AGE(a.admitted, p.birth)) < 18 THEN '0-17'
            WHEN EXTRACT(YEAR FROM AGE(a.admitted, p.birth)) < 65 THEN '18-64'
            ELSE '65+' END AS band,
       COUNT(*) AS n
FROM admissions a JOIN patients p ON p.id = a.patient_id
GROUP BY 1 ORDER BY 1

-- epidemiologist: readmission within 30 days by self join
SELECT a.ward, COUNT(DISTINCT a.id) AS readmitted
FROM admissions a
JOIN admissions b ON b.patient_id = a.patient_id AND b.admitted > a.discharged AND b.admitted <= a.discharged + INTERVAL '30 days'
GROUP BY a.ward

-- epidemiologist: readmission by exists
SELECT ward, ROUND(100.0 * SUM(CASE WHEN EXISTS (
    SELECT 1 FROM admissions b WHERE b.patient_id = a.patient_id
      AND b.admitted > a.discharged AND b.admitted <= a.discharged + 30) THEN 1 ELSE 0 END) / COUNT(*), 1) AS pct
FROM admissions a
GROUP BY ward

-- epidemiologist: readmission by lead
WITH stays AS (
  SELECT patient_id, ward, discharged,
         LEAD(admitted) OVER (PARTITION BY patient_id ORDER BY admitted) AS next_admitted
  FROM admissions
)
SELECT ward, COUNT(*) AS stays,
       COUNT(*) FILTER (WHERE next_admitted - discharged <= 30) AS readmitted,
       1.0 * COUNT(*) FILTER (WHERE next_admitted - discharged <= 30) / NULLIF(COUNT(*), 0) AS rate
FROM stays
GROUP BY ward
ORDER BY rate DESC

-- epidemiologist: patients with a prescription and no visit
SELECT COUNT(*) AS n
FROM patients p
LEFT JOIN visits v ON v.patient_id = p.id
WHERE v.patient_id IS NULL

-- epidemiologist: never admitted, by sex
SELECT sex, COUNT(*) FROM patients p
WHERE NOT EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.id)
GROUP BY sex

-- epidemiologist: not in
SELECT sex, COUNT(*) AS n FROM patients
WHERE id NOT IN (SELECT patient_id FROM admissions WHERE outcome = 'died')
GROUP BY sex

-- epidemiologist: case fatality per ward per 1000
SELECT ward,
       COUNT(*) AS admissions,
       SUM(CASE WHEN outcome = 'died' THEN 1 ELSE 0 END) AS deaths,
       ROUND(1000.0 * SUM(CASE WHEN outcome = 'died' THEN 1 ELSE 0 END) / COUNT(*), 1) AS per_1000
FROM admissions
GROUP BY ward
HAVING COUNT(*) > 10
ORDER BY per_1000 DESC
LIMIT 5

-- epidemiologist: standardised rate
WITH crude AS (
  SELECT CASE WHEN DATE_DIFF('year', p.birth, a.admitted) < 40 THEN '0-39'
              WHEN DATE_DIFF('year', p.birth, a.admitted) < 65 THEN '40-64' ELSE '65+' END AS band,
         AVG(CASE WHEN a.outcome = 'died' THEN 1.0 ELSE 0 END) AS rate
  FROM admissions a JOIN patients p ON p.id = a.patient_id
  GROUP BY 1
)
SELECT ROUND(SUM(c.rate * s.share), 4) AS standardised
FROM crude c JOIN standard s ON s.band = c.band

-- epidemiologist: median age
-- about: 0.02
SELECT sex, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) AS median_age
FROM (SELECT sex, 2024 - EXTRACT(YEAR FROM birth) AS age FROM patients) t
GROUP BY sex

-- epidemiologist: quartiles of stay
-- about: 0.02
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY discharged - admitted) AS q1,
       PERCENTILE_CONT(0.50) WITHIN GROUP (ORDER BY discharged - admitted) AS q2,
       PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY discharged - admitted) AS q3
FROM admissions

-- epidemiologist: survival by month
WITH first_stay AS (
  SELECT patient_id, MIN(admitted) AS entered FROM admissions GROUP BY patient_id
)
SELECT FLOOR(DATE_DIFF('day', f.entered, p.died) / 30) AS month, COUNT(*) AS deaths
FROM first_stay f JOIN patients p ON p.id = f.patient_id
WHERE p.died IS NOT NULL AND p.died >= f.entered
GROUP BY 1 ORDER BY 1

-- epidemiologist: survival curve
WITH first_stay AS (
  SELECT patient_id, MIN(admitted) AS entered FROM admissions GROUP BY patient_id
), t AS (
  SELECT LEAST(DATE_DIFF('month', f.entered, p.died), 12) AS m
  FROM first_stay f JOIN patients p ON p.id = f.patient_id
), d AS (
  SELECT m, COUNT(*) AS deaths FROM t WHERE m >= 0 GROUP BY m
)
SELECT m, deaths, SUM(deaths) OVER (ORDER BY m) AS cumulative FROM d ORDER BY m

-- epidemiologist: incidence by iso week
SELECT EXTRACT(ISOYEAR FROM admitted) AS y, EXTRACT(WEEK FROM admitted) AS w, COUNT(*) AS n
FROM admissions
WHERE diagnosis LIKE 'J1%'
GROUP BY 1, 2
ORDER BY 1, 2

-- epidemiologist: epidemic curve, seven day moving average
WITH daily AS (
  SELECT admitted AS day, COUNT(*) AS n FROM admissions
  WHERE admitted BETWEEN '2023-01-01' AND '2023-03-31' GROUP BY admitted
)
SELECT day, n, AVG(n) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma7
FROM daily ORDER BY day

-- epidemiologist: BMI classes
SELECT CASE WHEN weight / POWER(height / 100.0, 2) < 18.5 THEN 'under'
            WHEN weight / POWER(height / 100.0, 2) < 25 THEN 'normal'
            WHEN weight / POWER(height / 100.0, 2) < 30 THEN 'over'
            ELSE 'obese' END AS bmi_class, COUNT(*) AS n
FROM patients GROUP BY bmi_class

-- epidemiologist: mean BMI
SELECT sex, ROUND(AVG(weight / ((height / 100.0) * (height / 100.0))), 1) AS bmi FROM patients GROUP BY sex

-- epidemiologist: odds ratio
WITH t AS (
  SELECT SUM((smoker AND outcome = 'died')::int) AS a, SUM((smoker AND outcome <> 'died')::int) AS b,
         SUM((NOT smoker AND outcome = 'died')::int) AS c, SUM((NOT smoker AND outcome <> 'died')::int) AS d
  FROM admissions JOIN patients ON patients.id = admissions.patient_id
)
SELECT a::float * d / NULLIF(b * c, 0) AS odds_ratio FROM t

-- epidemiologist: relative risk
SELECT AVG(CASE WHEN smoker THEN (outcome = 'died')::int END) / AVG(CASE WHEN NOT smoker THEN (outcome = 'died')::int END) AS rr
FROM admissions a JOIN patients p ON a.patient_id = p.id

-- epidemiologist: comorbidity, two diagnoses in one person
SELECT COUNT(DISTINCT a.patient_id) AS both
FROM admissions a JOIN admissions b ON a.patient_id = b.patient_id
WHERE a.diagnosis LIKE 'E11%' AND b.diagnosis LIKE 'I10%'

-- epidemiologist: polypharmacy
SELECT COUNT(*) AS patients FROM (
  SELECT a.patient_id, COUNT(DISTINCT pr.drug) AS drugs
  FROM prescriptions pr JOIN admissions a ON a.id = pr.admission_id
  GROUP BY a.patient_id HAVING COUNT(DISTINCT pr.drug) >= 3
) t

-- epidemiologist: number of stays per patient, distribution
SELECT stays, COUNT(*) AS patients
FROM (SELECT patient_id, COUNT(*) AS stays FROM admissions GROUP BY patient_id) s
GROUP BY stays ORDER BY stays

-- epidemiologist: chapter of ICD
SELECT LEFT(diagnosis, 1) AS chapter, COUNT(*) AS n, COUNT(DISTINCT patient_id) AS patients
FROM admissions GROUP BY LEFT(diagnosis, 1) ORDER BY n DESC LIMIT 10

-- epidemiologist: top diagnoses
SELECT diagnosis, COUNT(*) AS n FROM admissions GROUP BY diagnosis ORDER BY n DESC, diagnosis LIMIT 3

-- epidemiologist: correlation
SELECT CORR(height, weight) AS r, REGR_SLOPE(weight, height) AS slope, REGR_INTERCEPT(weight, height) AS i FROM patients

-- epidemiologist: prevalence with confidence limits
SELECT sex, AVG(smoker::int) AS p, COUNT(*) AS n,
       AVG(smoker::int) - 1.96 * SQRT(AVG(smoker::int) * (1 - AVG(smoker::int)) / COUNT(*)) AS lo,
       AVG(smoker::int) + 1.96 * SQRT(AVG(smoker::int) * (1 - AVG(smoker::int)) / COUNT(*)) AS hi
FROM patients GROUP BY sex

-- epidemiologist: person-years
SELECT SUM(DATE_DIFF('day', admitted, COALESCE(discharged, DATE '2024-12-31'))) / 365.25 AS person_years
FROM admissions

-- epidemiologist: mortality within 30 days of discharge
SELECT a.ward, COUNT(*) FILTER (WHERE p.died BETWEEN a.discharged AND a.discharged + INTERVAL 30 DAY) * 1.0 / COUNT(*) AS m30
FROM admissions a JOIN patients p ON p.id = a.patient_id
GROUP BY a.ward ORDER BY m30 DESC

-- epidemiologist: vaccination before admission
SELECT COUNT(*) FILTER (WHERE first_visit < first_admission) AS before, COUNT(*) AS total
FROM (
  SELECT p.id, (SELECT MIN(v.ts) FROM visits v WHERE v.patient_id = p.id) AS first_visit,
         (SELECT MIN(a.admitted) FROM admissions a WHERE a.patient_id = p.id) AS first_admission
  FROM patients p
) x

-- epidemiologist: weekend admissions
SELECT CASE WHEN EXTRACT(DOW FROM admitted) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS part,
       COUNT(*) AS n, AVG(CASE WHEN outcome = 'died' THEN 1 ELSE 0 END) AS fatality
FROM admissions GROUP BY 1

-- epidemiologist: seasons by month name
-- plain: SELECT STRFTIME(admitted, '%b') AS month, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT TO_CHAR(admitted, 'Mon') AS month, COUNT(*) AS n FROM admissions GROUP BY TO_CHAR(admitted, 'Mon')

-- epidemiologist: age pyramid
SELECT FLOOR((2024 - YEAR(birth)) / 10) * 10 AS decade,
       COUNT(*) FILTER (WHERE sex = 'F') AS women, COUNT(*) FILTER (WHERE sex = 'M') AS men
FROM patients GROUP BY 1 ORDER BY 1

-- epidemiologist: chi square inputs with pivot
SELECT * FROM (SELECT p.sex, a.outcome FROM admissions a JOIN patients p ON p.id = a.patient_id)
PIVOT (COUNT(*) FOR outcome IN ('home', 'transfer', 'died'))

-- controller: cost per case and total with share
SELECT ward, SUM(cost) AS total, ROUND(100.0 * SUM(cost) / SUM(SUM(cost)) OVER (), 1) AS share
FROM admissions GROUP BY ward ORDER BY share DESC

-- controller: year over year growth
WITH yearly AS (SELECT EXTRACT(YEAR FROM admitted) AS year, SUM(cost) AS cost FROM admissions GROUP BY 1)
SELECT year, cost, LAG(cost) OVER (ORDER BY year) AS before,
       ROUND(100.0 * (cost - LAG(cost) OVER (ORDER BY year)) / NULLIF(LAG(cost) OVER (ORDER BY year), 0), 2) AS growth
FROM yearly ORDER BY year

-- controller: month over month by ward
SELECT ward, YEAR(admitted) AS y, MONTH(admitted) AS m, SUM(cost) AS cost,
       SUM(cost) - LAG(SUM(cost)) OVER (PARTITION BY ward ORDER BY YEAR(admitted), MONTH(admitted)) AS change
FROM admissions GROUP BY ward, YEAR(admitted), MONTH(admitted) ORDER BY 1, 2, 3

-- controller: occupancy per bed
SELECT w.ward, w.beds, SUM(DATEDIFF('day', a.admitted, a.discharged)) AS bed_days,
       SUM(DATEDIFF('day', a.admitted, a.discharged)) / (w.beds * 365.0) AS occupancy
FROM admissions a JOIN wards w ON w.ward = a.ward
GROUP BY w.ward, w.beds ORDER BY occupancy DESC

-- controller: T-SQL datediff
-- plain: SELECT ward, AVG(DATE_DIFF('day', admitted, discharged)) AS los FROM admissions GROUP BY ward
SELECT ward, AVG(CAST(DATEDIFF(day, admitted, discharged) AS FLOAT)) AS los FROM admissions GROUP BY ward

-- controller: MySQL datediff
-- plain: SELECT ward, AVG(DATE_DIFF('day', admitted, discharged)) AS los FROM admissions GROUP BY ward
SELECT ward, AVG(DATEDIFF(discharged, admitted)) AS los FROM admissions GROUP BY ward

-- controller: midnight census by date spine
SELECT c.day, COUNT(a.patient_id) AS in_house
FROM calendar c JOIN admissions a ON a.admitted <= c.day AND a.discharged > c.day
GROUP BY c.day ORDER BY c.day

-- controller: date spine left join of counts
WITH n AS (SELECT admitted, COUNT(*) AS n FROM admissions GROUP BY admitted)
SELECT c.day, COALESCE(n.n, 0) AS n FROM calendar c LEFT JOIN n ON n.admitted = c.day ORDER BY 1

-- controller: top decile of cost
-- about: 0.01
SELECT QUANTILE_CONT(cost, 0.9) AS p90, QUANTILE_CONT(cost, 0.99) AS p99 FROM admissions

-- controller: emergency share
SELECT ward, COUNT_IF(kind = 'emergency') / COUNT(*) AS emergency_share FROM admissions GROUP BY ALL ORDER BY ALL

-- controller: case mix index by quarter
SELECT DATE_TRUNC('quarter', admitted) AS q, AVG(cost) / (SELECT AVG(cost) FROM admissions) AS cmi
FROM admissions GROUP BY q ORDER BY q

-- controller: two periods united
SELECT '2022' AS period, COUNT(*) AS n, AVG(cost) AS cost FROM admissions WHERE admitted BETWEEN DATE '2022-01-01' AND DATE '2022-12-31'
UNION ALL
SELECT '2023', COUNT(*), AVG(cost) FROM admissions WHERE admitted BETWEEN DATE '2023-01-01' AND DATE '2023-12-31'

-- controller: long stayers
SELECT ward, COUNT(*) AS long_stayers FROM admissions WHERE discharged - admitted > 14 GROUP BY ward HAVING COUNT(*) >= 5

-- controller: rank wards
SELECT ward, cost, RANK() OVER (ORDER BY cost DESC) AS r
FROM (SELECT ward, AVG(cost) AS cost FROM admissions GROUP BY ward) x ORDER BY r

-- controller: region of wards
SELECT w.region, COUNT(*) AS n, AVG(a.cost) AS cost FROM admissions a LEFT JOIN wards w USING (ward) GROUP BY w.region

-- controller: top ward in each region
SELECT w.region, a.ward, COUNT(*) AS n
FROM admissions a JOIN wards w ON w.ward = a.ward
GROUP BY w.region, a.ward
QUALIFY ROW_NUMBER() OVER (PARTITION BY w.region ORDER BY COUNT(*) DESC) = 1

-- controller: Pareto
WITH c AS (SELECT ward, SUM(cost) AS total FROM admissions GROUP BY ward),
     r AS (SELECT ward, total, SUM(total) OVER (ORDER BY total DESC) AS running, SUM(total) OVER () AS everything FROM c)
SELECT ward, total, ROUND(100 * running / everything, 1) AS cumulative_pct FROM r ORDER BY total DESC

-- controller: costs in classes of 1000
SELECT FLOOR(cost / 1000) * 1000 AS class, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- controller: width_bucket
-- plain: SELECT CASE WHEN cost >= 10000 THEN 6 ELSE CAST(FLOOR(cost / 2000) AS INT) + 1 END AS bucket, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1
SELECT WIDTH_BUCKET(cost, 0, 10000, 5) AS bucket, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- controller: cost per day
SELECT ward, SUM(cost) / NULLIF(SUM(discharged - admitted), 0) AS per_day FROM admissions GROUP BY ward

-- controller: mean of cost per day of each stay
SELECT ward, AVG(cost / NULLIF(discharged - admitted, 0)) AS per_day FROM admissions GROUP BY ward

-- controller: patients by total cost
SELECT CASE WHEN total >= 20000 THEN 'high' WHEN total >= 5000 THEN 'middle' ELSE 'low' END AS grp, COUNT(*) AS patients, AVG(total) AS mean
FROM (SELECT patient_id, SUM(cost) AS total FROM admissions GROUP BY patient_id) t GROUP BY 1

-- controller: BigQuery safe divide
-- plain: SELECT ward, SUM(cost) / COUNT(DISTINCT patient_id) AS per_head, COUNT_IF(outcome = 'died') AS deaths FROM admissions GROUP BY ward
SELECT ward, SAFE_DIVIDE(SUM(cost), COUNT(DISTINCT patient_id)) AS per_head, COUNTIF(outcome = 'died') AS deaths FROM admissions GROUP BY ward

-- controller: budget variance against public plan
SELECT w.ward, w.plan, SUM(a.cost) AS actual, SUM(a.cost) - w.plan AS variance
FROM wards w JOIN admissions a ON a.ward = w.ward GROUP BY w.ward, w.plan

-- controller: rollup
SELECT COALESCE(ward, 'all') AS ward, COUNT(*) AS n FROM admissions GROUP BY ROLLUP (ward) ORDER BY n DESC

-- controller: fiscal year
SELECT CASE WHEN MONTH(admitted) >= 4 THEN YEAR(admitted) ELSE YEAR(admitted) - 1 END AS fiscal_year, COUNT(*) AS n
FROM admissions GROUP BY 1 ORDER BY 1

-- controller: format month
-- plain: SELECT STRFTIME(admitted, '%Y-%m') AS month, COUNT(*) AS n FROM admissions GROUP BY month ORDER BY month
SELECT FORMAT_DATE('%Y-%m', admitted) AS month, COUNT(*) AS n FROM admissions GROUP BY month ORDER BY month

-- controller: to_char
-- plain: SELECT STRFTIME(admitted, '%Y-%m') AS month, SUM(cost)::numeric(12,2) AS cost FROM admissions GROUP BY 1 ORDER BY 1
SELECT TO_CHAR(admitted, 'YYYY-MM') AS month, SUM(cost)::numeric(12,2) AS cost FROM admissions GROUP BY 1 ORDER BY 1

-- controller: yearmonth as number
SELECT YEAR(admitted) * 100 + MONTH(admitted) AS ym, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- controller: last twelve months before a date
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE '2024-06-30' - INTERVAL '12 months' AND admitted < '2024-06-30'

-- controller: date_add MySQL
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE '2023-06-30'
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE_SUB('2024-06-30', INTERVAL 1 YEAR)

-- controller: T-SQL top
-- plain: SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward ORDER BY n DESC LIMIT 3
SELECT TOP 3 ward, COUNT(*) AS n FROM admissions GROUP BY ward ORDER BY n DESC

-- controller: isnull
-- plain: SELECT COALESCE(ward, 'none') AS ward, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT ISNULL(ward, 'none') AS ward, COUNT(*) AS n FROM admissions GROUP BY ISNULL(ward, 'none')

-- controller: first ward of each patient
WITH ranked AS (
  SELECT patient_id, ward, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted) AS rn FROM admissions
)
SELECT ward, COUNT(*) AS first_stays FROM ranked WHERE rn = 1 GROUP BY ward ORDER BY first_stays DESC

-- controller: transfers between wards
WITH seq AS (
  SELECT patient_id, ward, LEAD(ward) OVER (PARTITION BY patient_id ORDER BY admitted) AS next_ward FROM admissions
)
SELECT ward, next_ward, COUNT(*) AS n FROM seq WHERE next_ward IS NOT NULL GROUP BY ward, next_ward ORDER BY n DESC LIMIT 10

-- controller: cost of drugs per admission
SELECT a.ward, SUM(pr.packs * pr.price) AS drug_cost, SUM(pr.packs * pr.price) / COUNT(DISTINCT a.id) AS per_stay
FROM admissions a JOIN prescriptions pr ON pr.admission_id = a.id GROUP BY a.ward

-- controller: drugs top
SELECT drug, SUM(packs) AS packs, COUNT(DISTINCT admission_id) AS stays FROM prescriptions GROUP BY drug ORDER BY packs DESC LIMIT 5

-- controller: standard deviation and cv
SELECT ward, STDDEV(cost) AS sd, STDDEV(cost) / AVG(cost) AS cv FROM admissions GROUP BY ward

-- controller: count nulls
SELECT COUNT(*) - COUNT(discharged) AS still_in, SUM(CASE WHEN discharged IS NULL THEN 1 ELSE 0 END) AS again FROM admissions

-- controller: days to discharge, in one cross tab with filter
SELECT ward,
  COUNT(*) FILTER (WHERE kind = 'elective') AS elective,
  COUNT(*) FILTER (WHERE kind = 'emergency') AS emergency,
  AVG(cost) FILTER (WHERE kind = 'elective') AS elective_cost
FROM admissions GROUP BY ward ORDER BY ward

-- labour statistician: mean wage by sector and sex, gap
WITH w AS (SELECT j.sector, p.sex, AVG(j.wage) AS wage FROM jobs j JOIN patients p ON p.id = j.person_id GROUP BY j.sector, p.sex)
SELECT m.sector, m.wage AS men, f.wage AS women, ROUND(100.0 * (m.wage - f.wage) / m.wage, 1) AS gap
FROM w m JOIN w f ON f.sector = m.sector WHERE m.sex = 'M' AND f.sex = 'F' ORDER BY gap DESC

-- labour statistician: hourly wage
SELECT sector, AVG(wage / (hours * 4.33)) AS hourly FROM jobs GROUP BY sector

-- labour statistician: hourly wage with nullif
-- about: 0.01
SELECT sector, MEDIAN(wage / NULLIF(hours, 0)) AS hourly FROM jobs GROUP BY sector

-- labour statistician: tenure in years
SELECT sector, AVG(DATE_PART('year', AGE(COALESCE(ended, DATE '2024-12-31'), started))) AS tenure FROM jobs GROUP BY sector

-- labour statistician: part time
SELECT sector, 100.0 * AVG((hours < 30)::int) AS part_time FROM jobs GROUP BY sector

-- labour statistician: turnover
SELECT YEAR(ended) AS y, COUNT(*) AS leavers FROM jobs WHERE ended IS NOT NULL GROUP BY YEAR(ended)

-- labour statistician: hires minus exits by year
WITH hires AS (SELECT YEAR(started) AS y, COUNT(*) AS n FROM jobs GROUP BY 1),
     exits AS (SELECT YEAR(ended) AS y, COUNT(*) AS n FROM jobs WHERE ended IS NOT NULL GROUP BY 1)
SELECT COALESCE(h.y, e.y) AS y, COALESCE(h.n, 0) - COALESCE(e.n, 0) AS net FROM hires h FULL OUTER JOIN exits e ON e.y = h.y ORDER BY 1

-- labour statistician: log wage regression
SELECT REGR_SLOPE(LN(wage), hours) AS b, REGR_R2(LN(wage), hours) AS r2 FROM jobs

-- labour statistician: geometric mean
SELECT sector, EXP(AVG(LN(wage))) AS gm FROM jobs GROUP BY sector

-- labour statistician: p90/p10
-- about: 0.02
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY wage) / PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY wage) AS ratio FROM jobs

-- labour statistician: real wages by a public index
-- about: 0.5
SELECT YEAR(j.started) AS y, AVG(j.wage) AS nominal, AVG(j.wage) * 100 / MAX(c.idx) AS real
FROM jobs j JOIN cpi c ON c.year = YEAR(j.started) GROUP BY YEAR(j.started) ORDER BY y

-- labour statistician: real wage row by row
-- more: groups without rows are in the answer
SELECT c.year, AVG(j.wage / c.idx * 100) AS real_wage FROM jobs j JOIN cpi c ON c.year = EXTRACT(YEAR FROM j.started) GROUP BY c.year

-- labour statistician: multiple job holders
SELECT COUNT(*) FILTER (WHERE n > 1)::float / COUNT(*) AS multi
FROM (SELECT person_id, COUNT(*) AS n FROM jobs GROUP BY person_id) t

-- labour statistician: transitions between sectors
SELECT a.sector AS from_sector, b.sector AS to_sector, COUNT(*) AS moves
FROM jobs a JOIN jobs b ON a.person_id = b.person_id AND b.started > a.started
GROUP BY a.sector, b.sector

-- labour statistician: gap between jobs
WITH s AS (SELECT person_id, ended, LEAD(started) OVER (PARTITION BY person_id ORDER BY started) AS nxt FROM jobs)
SELECT AVG(nxt - ended) AS gap_days, COUNT(*) FILTER (WHERE nxt - ended > 90) AS long_gaps FROM s WHERE nxt > ended

-- labour statistician: wage growth per person
WITH g AS (
  SELECT person_id, wage, LAG(wage) OVER (PARTITION BY person_id ORDER BY started) AS prev FROM jobs
)
SELECT AVG(wage - prev) AS mean_rise, AVG((wage > prev)::int) AS share_rising FROM g WHERE prev IS NOT NULL

-- labour statistician: age group by employment
SELECT CASE WHEN 2024 - EXTRACT(YEAR FROM p.birth) BETWEEN 15 AND 24 THEN '15-24'
            WHEN 2024 - EXTRACT(YEAR FROM p.birth) BETWEEN 25 AND 54 THEN '25-54'
            ELSE '55+' END AS age_group,
       COUNT(DISTINCT p.id) AS people, COUNT(DISTINCT j.person_id) AS employed,
       ROUND(100.0 * COUNT(DISTINCT j.person_id) / COUNT(DISTINCT p.id), 1) AS rate
FROM patients p LEFT JOIN jobs j ON j.person_id = p.id AND DATE '2024-06-30' BETWEEN j.started AND COALESCE(j.ended, '2024-12-31')
GROUP BY 1 ORDER BY 1

-- labour statistician: wage terciles of people by mean wage
SELECT NTILE(3) OVER (ORDER BY mean) AS tercile, sector FROM (SELECT sector, AVG(wage) AS mean FROM jobs GROUP BY sector) t ORDER BY 1, 2

-- labour statistician: mode
SELECT MODE(sector) AS commonest FROM jobs

-- labour statistician: cumulative hires
-- more: groups without rows are in the answer
SELECT y, SUM(n) OVER (ORDER BY y ROWS UNBOUNDED PRECEDING) AS stock FROM (SELECT YEAR(started) AS y, COUNT(*) AS n FROM jobs GROUP BY 1) t

-- labour statistician: weighted mean wage by hours
SELECT sector, SUM(wage * hours) / SUM(hours) AS weighted FROM jobs GROUP BY sector

-- labour statistician: theil by log ratio
SELECT AVG(wage * LN(wage)) / AVG(wage) - LN(AVG(wage)) AS theil FROM jobs

-- labour statistician: last job of each person
SELECT sector, COUNT(*) AS n FROM (
  SELECT person_id, sector, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY started DESC) AS k FROM jobs) t
WHERE k = 1 GROUP BY sector

-- labour statistician: qualify last job
SELECT sector, COUNT(*) AS n FROM (
  SELECT * FROM jobs QUALIFY ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY started DESC) = 1) t
GROUP BY sector

-- product analyst: daily active users
SELECT ts::date AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE ts >= '2024-01-01' AND ts < '2024-02-01' GROUP BY 1 ORDER BY 1

-- product analyst: monthly active users
SELECT DATE_TRUNC('month', ts) AS month, COUNT(DISTINCT user_id) AS mau FROM events GROUP BY 1 ORDER BY 1

-- product analyst: hour of day
SELECT EXTRACT(HOUR FROM ts) AS h, COUNT(*) AS n FROM events GROUP BY h ORDER BY h

-- product analyst: hour of day in Berlin
SELECT EXTRACT(HOUR FROM ts AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin') AS h, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1

-- product analyst: funnel
SELECT COUNT(DISTINCT user_id) FILTER (WHERE event = 'view') AS viewed,
       COUNT(DISTINCT user_id) FILTER (WHERE event = 'cart') AS carted,
       COUNT(DISTINCT user_id) FILTER (WHERE event = 'buy') AS bought
FROM events

-- product analyst: funnel by case
SELECT COUNT(DISTINCT CASE WHEN event = 'view' THEN user_id END) AS viewed,
       COUNT(DISTINCT CASE WHEN event = 'buy' THEN user_id END) AS bought,
       COUNT(DISTINCT CASE WHEN event = 'buy' THEN user_id END) * 1.0 / COUNT(DISTINCT CASE WHEN event = 'view' THEN user_id END) AS conversion
FROM events

-- product analyst: ordered funnel per user
WITH u AS (
  SELECT user_id, MIN(CASE WHEN event = 'view' THEN ts END) AS v, MIN(CASE WHEN event = 'cart' THEN ts END) AS c, MIN(CASE WHEN event = 'buy' THEN ts END) AS b
  FROM events GROUP BY user_id
)
SELECT COUNT(v) AS viewed, COUNT(CASE WHEN c > v THEN 1 END) AS carted, COUNT(CASE WHEN b > c AND c > v THEN 1 END) AS bought FROM u

-- product analyst: cohort retention
WITH first AS (SELECT user_id, DATE_TRUNC('month', MIN(ts)) AS cohort FROM events GROUP BY user_id)
SELECT f.cohort, DATE_DIFF('month', f.cohort, DATE_TRUNC('month', e.ts)) AS k, COUNT(DISTINCT e.user_id) AS users
FROM events e JOIN first f ON f.user_id = e.user_id
GROUP BY 1, 2 ORDER BY 1, 2

-- product analyst: sessions by thirty minutes of silence
WITH g AS (
  SELECT user_id, ts, LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) AS before FROM events
)
SELECT COUNT(*) AS sessions FROM g WHERE before IS NULL OR ts - before > INTERVAL '30 minutes'

-- product analyst: session seconds
WITH g AS (
  SELECT user_id, ts, LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) AS before FROM events
)
SELECT AVG(EXTRACT(EPOCH FROM (ts - before)) / 3600) AS hours_between FROM g WHERE before IS NOT NULL

-- product analyst: revenue per user
SELECT SUM(revenue) / COUNT(DISTINCT user_id) AS arpu, SUM(revenue) / COUNT(DISTINCT user_id) FILTER (WHERE revenue > 0) AS arppu FROM events

-- product analyst: approx count distinct
-- plain: SELECT DATE_TRUNC('week', ts) AS week, COUNT(DISTINCT user_id) AS users FROM events GROUP BY week ORDER BY week
SELECT DATE_TRUNC('week', ts) AS week, APPROX_COUNT_DISTINCT(user_id) AS users FROM events GROUP BY week ORDER BY week

-- product analyst: pages
SELECT SPLIT_PART(page, '/', 2) AS section, COUNT(*) AS views FROM events WHERE event = 'view' GROUP BY 1 ORDER BY 2 DESC LIMIT 5

-- product analyst: pages by like
SELECT CASE WHEN page LIKE '/shop/%' THEN 'shop' WHEN page LIKE '/blog/%' THEN 'blog' ELSE 'other' END AS section, COUNT(*) AS n FROM events GROUP BY section

-- product analyst: regex
SELECT COUNT(*) AS n FROM events WHERE REGEXP_MATCHES(page, '^/shop/[0-9]+$')

-- product analyst: bounce
WITH s AS (SELECT user_id, CAST(ts AS DATE) AS d, COUNT(*) AS n FROM events GROUP BY user_id, CAST(ts AS DATE))
SELECT AVG(CASE WHEN n = 1 THEN 1.0 ELSE 0.0 END) AS bounce FROM s

-- product analyst: events per user and week
SELECT AVG(n) AS mean, STDDEV(n) AS sd FROM (SELECT user_id, DATE_TRUNC('week', ts) AS w, COUNT(*) AS n FROM events GROUP BY 1, 2) t

-- product analyst: days active
SELECT days, COUNT(*) AS users FROM (SELECT user_id, COUNT(DISTINCT ts::date) AS days FROM events GROUP BY user_id) t GROUP BY days ORDER BY days

-- product analyst: recency
SELECT DATE_DIFF('day', last, DATE '2024-12-31') // 30 AS months_ago, COUNT(*) AS users
FROM (SELECT user_id, MAX(ts)::date AS last FROM events GROUP BY user_id) t GROUP BY 1 ORDER BY 1

-- product analyst: stickiness
-- about: 0.5
WITH d AS (SELECT CAST(ts AS DATE) AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE ts BETWEEN '2024-03-01' AND '2024-03-31 23:59:59' GROUP BY 1),
     m AS (SELECT COUNT(DISTINCT user_id) AS mau FROM events WHERE ts BETWEEN '2024-03-01' AND '2024-03-31 23:59:59')
SELECT AVG(d.dau) / MAX(m.mau) AS stickiness FROM d CROSS JOIN m

-- product analyst: new and returning
SELECT CASE WHEN e.ts = f.first_at THEN 'new' ELSE 'returning' END AS who, COUNT(*) AS n
FROM events e JOIN (SELECT user_id, MIN(ts) AS first_at FROM events GROUP BY user_id) f ON f.user_id = e.user_id GROUP BY 1

-- product analyst: a/b test
SELECT variant, COUNT(*) AS users, AVG(converted) AS rate, STDDEV(converted) / SQRT(COUNT(*)) AS se
FROM (SELECT user_id, MAX(variant) AS variant, MAX(CASE WHEN event = 'buy' THEN 1 ELSE 0 END) AS converted FROM events GROUP BY user_id) t
GROUP BY variant

-- product analyst: date_trunc BigQuery order
-- plain: SELECT DATE_TRUNC('month', ts)::date AS month, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC(DATE(ts), MONTH) AS month, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1

-- product analyst: timestamp_diff BigQuery
-- plain: SELECT AVG(TRUNC(DATE_DIFF('second', ts, seen) / 60)) AS minutes FROM events
SELECT AVG(TIMESTAMP_DIFF(seen, ts, MINUTE)) AS minutes FROM events

-- product analyst: if
-- plain: SELECT SUM(IF(event = 'buy', revenue, 0)) AS bought, COUNT(*) FILTER (WHERE event = 'buy') AS n FROM events
SELECT SUM(IF(event = 'buy', revenue, 0)) AS bought, SUM(IFF(event = 'buy', 1, 0)) AS n FROM events

-- product analyst: logical_or per user
SELECT COUNT(*) FILTER (WHERE bought) AS buyers FROM (SELECT user_id, BOOL_OR(event = 'buy') AS bought FROM events GROUP BY user_id) t

-- product analyst: date format MySQL
-- plain: SELECT STRFTIME(ts, '%Y-%m') AS month, COUNT(*) AS n FROM events GROUP BY month ORDER BY month
SELECT DATE_FORMAT(ts, '%Y-%m') AS month, COUNT(*) AS n FROM events GROUP BY month ORDER BY month

-- product analyst: union distinct users over two sources
SELECT COUNT(DISTINCT uid) AS people FROM (
  SELECT user_id AS uid FROM events UNION SELECT patient_id FROM visits) t

-- product analyst: users who did both
SELECT COUNT(*) AS both FROM (SELECT user_id FROM events WHERE event = 'view' INTERSECT SELECT user_id FROM events WHERE event = 'buy') t

-- product analyst: active in both months
SELECT COUNT(DISTINCT user_id) AS kept FROM events
WHERE ts >= '2024-02-01' AND ts < '2024-03-01'
  AND user_id IN (SELECT user_id FROM events WHERE ts >= '2024-01-01' AND ts < '2024-02-01')

-- product analyst: churned
SELECT COUNT(DISTINCT e.user_id) AS churned FROM events e
LEFT JOIN events l ON l.user_id = e.user_id AND l.ts >= '2024-02-01' AND l.ts < '2024-03-01'
WHERE e.ts >= '2024-01-01' AND e.ts < '2024-02-01' AND l.user_id IS NULL

-- product analyst: crosstab with day name
SELECT DAYNAME(ts) AS weekday, event, COUNT(*) AS n FROM events GROUP BY weekday, event ORDER BY n DESC LIMIT 10

-- product analyst: buckets of five minutes
SELECT TIME_BUCKET(INTERVAL '15 minutes', ts) AS slot, COUNT(*) AS n FROM events WHERE ts >= '2024-01-01' AND ts < '2024-01-02' GROUP BY slot

-- product analyst: generate series spine
SELECT d.day, COALESCE(x.n, 0) AS n
FROM generate_series(DATE '2024-01-01', DATE '2024-01-31', INTERVAL 1 DAY) AS d(day)
LEFT JOIN (SELECT CAST(ts AS DATE) AS day, COUNT(*) AS n FROM events GROUP BY 1) x ON x.day = d.day ORDER BY 1

-- analyst: cumulative share of costs by patient decile
SELECT ward, ROUND(AVG(cost)::numeric, 2) AS avg_cost, ROUND(STDDEV_SAMP(cost)::numeric, 2) AS sd FROM admissions WHERE discharged IS NOT NULL GROUP BY ward ORDER BY avg_cost DESC

-- analyst: monthly admissions with yoy
WITH m AS (SELECT DATE_TRUNC('month', admitted)::date AS month, COUNT(*) AS n FROM admissions GROUP BY 1)
SELECT month, n, LAG(n, 12) OVER (ORDER BY month) AS last_year, ROUND(100.0 * (n - LAG(n, 12) OVER (ORDER BY month)) / NULLIF(LAG(n, 12) OVER (ORDER BY month), 0), 1) AS yoy FROM m ORDER BY month

-- analyst: age and sex adjusted crosstab
SELECT p.sex, CASE WHEN DATEDIFF('year', p.birth, a.admitted) BETWEEN 0 AND 17 THEN 'child' WHEN DATEDIFF('year', p.birth, a.admitted) BETWEEN 18 AND 64 THEN 'adult' ELSE 'senior' END AS age_group, COUNT(DISTINCT p.id) AS patients, COUNT(*) AS stays FROM patients p INNER JOIN admissions a ON a.patient_id = p.id GROUP BY 1, 2 ORDER BY 1, 2

-- analyst: date parts text
SELECT CONCAT(YEAR(admitted), '-Q', QUARTER(admitted)) AS quarter, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- analyst: casts and concat
SELECT CAST(EXTRACT(YEAR FROM admitted) AS VARCHAR) || '-' || LPAD(CAST(EXTRACT(MONTH FROM admitted) AS VARCHAR), 2, '0') AS ym, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- analyst: mode of admission and time
SELECT kind, DAYOFWEEK(admitted) AS dow, COUNT(*) AS n FROM admissions GROUP BY kind, dow ORDER BY kind, dow

-- analyst: having avg
SELECT ward FROM admissions GROUP BY ward HAVING AVG(cost) > 9000 ORDER BY ward

-- analyst: distinct patients across two wards
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM admissions WHERE ward IN ('Icu', 'Surgery') GROUP BY patient_id HAVING COUNT(DISTINCT ward) = 2) t

-- analyst: longest stay per patient
SELECT AVG(longest) AS m, MAX(longest) AS mx FROM (SELECT patient_id, MAX(discharged - admitted) AS longest FROM admissions GROUP BY patient_id) t

-- analyst: time between first and second stay
WITH r AS (SELECT patient_id, admitted, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted) AS k FROM admissions)
SELECT AVG(b.admitted - a.admitted) AS gap FROM r a JOIN r b ON b.patient_id = a.patient_id AND a.k = 1 AND b.k = 2

-- analyst: share with at least one emergency
SELECT AVG(CASE WHEN EXISTS (SELECT 1 FROM admissions a WHERE a.patient_id = p.id AND a.kind = 'emergency') THEN 1 ELSE 0 END) AS share FROM patients p

-- analyst: left join counts per patient including zero
SELECT n, COUNT(*) AS patients FROM (SELECT p.id, COUNT(a.id) AS n FROM patients p LEFT JOIN admissions a ON a.patient_id = p.id GROUP BY p.id) t GROUP BY n ORDER BY n

-- analyst: average visits per patient by channel
SELECT channel, COUNT(*) * 1.0 / COUNT(DISTINCT patient_id) AS per_patient FROM visits GROUP BY channel

-- analyst: hour buckets
SELECT CASE WHEN HOUR(ts) < 6 THEN 'night' WHEN HOUR(ts) < 12 THEN 'morning' WHEN HOUR(ts) < 18 THEN 'afternoon' ELSE 'evening' END AS part, COUNT(*) AS n FROM visits GROUP BY 1

-- analyst: visits in the 90 days after discharge
SELECT a.ward, COUNT(v.ts) AS visits FROM admissions a JOIN visits v ON v.patient_id = a.patient_id AND v.ts::date BETWEEN a.discharged AND a.discharged + 90 GROUP BY a.ward

-- analyst: percent of column total with grouping
SELECT kind, outcome, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY kind), 1) AS pct FROM admissions GROUP BY kind, outcome ORDER BY kind, outcome

-- analyst: median by filter
-- about: 0.01
SELECT MEDIAN(cost) FILTER (WHERE kind = 'elective') AS el, MEDIAN(cost) FILTER (WHERE kind = 'emergency') AS em FROM admissions

-- analyst: cost index vs overall average by CTE cross join
WITH t AS (SELECT AVG(cost) AS overall FROM admissions), w AS (SELECT ward, AVG(cost) AS c FROM admissions GROUP BY ward)
SELECT w.ward, w.c / t.overall AS idx FROM w, t ORDER BY idx DESC

-- analyst: kaplan-meier like table
-- more: groups without rows are in the answer
WITH d AS (SELECT LEAST(FLOOR((p.died - a.first) / 30.0), 24) AS m, COUNT(*) AS deaths FROM patients p JOIN (SELECT patient_id, MIN(admitted) AS first FROM admissions GROUP BY patient_id) a ON a.patient_id = p.id WHERE p.died >= a.first GROUP BY 1),
n AS (SELECT COUNT(DISTINCT patient_id) AS total FROM admissions)
SELECT d.m, 1 - SUM(d.deaths) OVER (ORDER BY d.m) * 1.0 / n.total AS survival FROM d CROSS JOIN n ORDER BY d.m

-- analyst: bmi by sex with corr
SELECT sex, AVG(weight / POWER(height / 100, 2)) AS bmi, CORR(weight, height) AS r FROM patients GROUP BY sex

-- analyst: patient-level flag join
WITH flags AS (SELECT patient_id, MAX(CASE WHEN outcome = 'died' THEN 1 ELSE 0 END) AS died, SUM(cost) AS total FROM admissions GROUP BY patient_id)
SELECT p.smoker, AVG(f.died) AS mortality, AVG(f.total) AS mean_total FROM patients p JOIN flags f ON f.patient_id = p.id GROUP BY p.smoker

-- analyst: top drugs by share
SELECT drug, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS pct FROM prescriptions GROUP BY drug ORDER BY n DESC, drug

-- analyst: unique drugs per ward
SELECT a.ward, COUNT(DISTINCT pr.drug) AS drugs FROM admissions a JOIN prescriptions pr ON pr.admission_id = a.id GROUP BY a.ward

-- analyst: coalesce discharge to today-ish
SELECT ward, AVG(COALESCE(discharged, DATE '2024-12-31') - admitted) AS los FROM admissions GROUP BY ward

-- analyst: exclude list
SELECT COUNT(*) AS n FROM admissions WHERE ward NOT IN ('Icu', 'Maternity') AND diagnosis NOT LIKE 'S%' AND cost BETWEEN 100 AND 5000

-- analyst: tenure bands
SELECT CASE WHEN months < 12 THEN '<1y' WHEN months < 36 THEN '1-3y' ELSE '3y+' END AS band, COUNT(*) AS n, AVG(wage) AS wage FROM (SELECT DATE_DIFF('month', started, COALESCE(ended, DATE '2024-12-31')) AS months, wage FROM jobs) t GROUP BY 1

-- analyst: employment on a day
SELECT c.day, COUNT(DISTINCT j.person_id) AS employed FROM calendar c JOIN jobs j ON j.started <= c.day AND (j.ended IS NULL OR j.ended > c.day) GROUP BY c.day ORDER BY c.day LIMIT 7

-- analyst: min wage share
SELECT sector, SUM(CASE WHEN wage < 1500 THEN 1 END)::float / COUNT(*) AS low_pay FROM jobs GROUP BY sector

-- analyst: wage quantiles by sector
-- about: 0.01
SELECT sector, QUANTILE_CONT(wage, 0.25) AS q1, MEDIAN(wage) AS q2, QUANTILE_CONT(wage, 0.75) AS q3 FROM jobs GROUP BY sector

-- analyst: share above twice the median
SELECT AVG((wage > 2 * 4000)::int) AS share FROM jobs

-- analyst: job changers within a year
SELECT COUNT(DISTINCT person_id) AS changers FROM (SELECT person_id, started, LAG(started) OVER (PARTITION BY person_id ORDER BY started) AS prev FROM jobs) t WHERE started <= prev + INTERVAL '1 year'

-- analyst: retention w1
WITH f AS (SELECT user_id, MIN(ts) AS t0 FROM events GROUP BY user_id)
SELECT COUNT(DISTINCT e.user_id) * 1.0 / (SELECT COUNT(*) FROM f) AS w1 FROM events e JOIN f ON f.user_id = e.user_id WHERE e.ts > f.t0 + INTERVAL 7 DAY AND e.ts <= f.t0 + INTERVAL 14 DAY

-- analyst: revenue by month with running total
SELECT DATE_TRUNC('month', ts) AS m, SUM(revenue) AS rev, SUM(SUM(revenue)) OVER (ORDER BY DATE_TRUNC('month', ts)) AS cum FROM events GROUP BY 1 ORDER BY 1

-- analyst: conversion by variant
SELECT variant, COUNT(DISTINCT user_id) AS users, COUNT(DISTINCT user_id) FILTER (WHERE event = 'buy') AS buyers, COUNT(DISTINCT user_id) FILTER (WHERE event = 'buy') * 1.0 / COUNT(DISTINCT user_id) AS cr FROM events GROUP BY variant

-- analyst: lift
WITH c AS (SELECT variant, AVG((event = 'buy')::int) AS r FROM events GROUP BY variant)
SELECT (SELECT r FROM c WHERE variant = 'b') / (SELECT r FROM c WHERE variant = 'a') - 1 AS lift

-- analyst: heavy users
SELECT COUNT(*) FILTER (WHERE n >= 10) AS heavy, COUNT(*) AS everyone FROM (SELECT user_id, COUNT(*) AS n FROM events GROUP BY user_id) t

-- analyst: time to purchase
SELECT AVG(DATE_DIFF('hour', v, b)) AS hours FROM (SELECT user_id, MIN(ts) FILTER (WHERE event = 'view') AS v, MIN(ts) FILTER (WHERE event = 'buy') AS b FROM events GROUP BY user_id) t WHERE b > v

-- analyst: last touch page before buying
SELECT page, COUNT(*) AS n FROM (SELECT user_id, event, LAG(page) OVER (PARTITION BY user_id ORDER BY ts) AS page FROM events) t WHERE event = 'buy' GROUP BY page ORDER BY n DESC

-- analyst: weekday vs weekend per user
-- about: 0.00001
SELECT AVG(wk) AS weekend_share FROM (SELECT user_id, AVG(CASE WHEN EXTRACT(ISODOW FROM ts) >= 6 THEN 1.0 ELSE 0 END) AS wk FROM events GROUP BY user_id) t

-- analyst: events per minute band
SELECT DATE_TRUNC('hour', ts) AS h, COUNT(*) AS n FROM events WHERE ts >= TIMESTAMP '2024-05-01' AND ts < TIMESTAMP '2024-05-03' GROUP BY 1 HAVING COUNT(*) > 0 ORDER BY n DESC LIMIT 5

-- analyst: rank within group, top 2 per kind
SELECT * FROM (SELECT kind, ward, COUNT(*) AS n, RANK() OVER (PARTITION BY kind ORDER BY COUNT(*) DESC) AS r FROM admissions GROUP BY kind, ward) t WHERE r <= 2 ORDER BY kind, r

-- analyst: union with labels and totals
SELECT 'admissions' AS what, COUNT(*) AS n FROM admissions UNION ALL SELECT 'visits', COUNT(*) FROM visits UNION ALL SELECT 'jobs', COUNT(*) FROM jobs

-- analyst: case in order by
SELECT kind, COUNT(*) AS n FROM admissions GROUP BY kind ORDER BY CASE kind WHEN 'emergency' THEN 0 ELSE 1 END

-- analyst: string_agg over answers
SELECT STRING_AGG(ward, ', ' ORDER BY n DESC) AS wards FROM (SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward) t

-- analyst: nested aggregates of counts
SELECT AVG(n) AS per_month, MAX(n) AS peak FROM (SELECT DATE_TRUNC('month', admitted) AS m, COUNT(*) AS n FROM admissions GROUP BY 1) t

-- analyst: like with ilike and trim
SELECT COUNT(*) AS n FROM admissions WHERE UPPER(TRIM(diagnosis)) ILIKE 'j1%' OR LOWER(diagnosis) = 'i10'

-- analyst: group by boolean expression
SELECT cost > 10000 AS expensive, COUNT(*) AS n FROM admissions GROUP BY cost > 10000

-- analyst: distinct count of months per patient
SELECT AVG(m) AS mean FROM (SELECT patient_id, COUNT(DISTINCT DATE_TRUNC('month', admitted)) AS m FROM admissions GROUP BY patient_id) t

-- analyst: anti join with dates
SELECT COUNT(*) AS lost FROM patients p WHERE p.died IS NULL AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.ts >= '2024-01-01')

-- analyst: select distinct
SELECT COUNT(*) AS pairs FROM (SELECT DISTINCT patient_id, ward FROM admissions) t

-- analyst: T-SQL top and convert
-- plain: SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 5
SELECT TOP (5) ward, COUNT(*) AS n FROM admissions GROUP BY ward ORDER BY COUNT(*) DESC

-- analyst: fetch first
SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward ORDER BY n DESC FETCH FIRST 3 ROWS ONLY

-- analyst: named window
SELECT ward, n, SUM(n) OVER w AS running FROM (SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward) t WINDOW w AS (ORDER BY ward)

-- analyst: lateral alias
SELECT ward, COUNT(*) AS n, SUM(cost) AS c, c / n AS per_case FROM admissions GROUP BY ward

-- analyst: nulls first
SELECT ward, AVG(cost) AS c FROM admissions GROUP BY ward ORDER BY c NULLS FIRST

-- analyst: max_by over answers
SELECT MAX_BY(ward, n) AS busiest FROM (SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward) t

-- analyst: distinct on first stay
SELECT ward, COUNT(*) AS n FROM (SELECT DISTINCT ON (patient_id) patient_id, ward FROM admissions ORDER BY patient_id, admitted) t GROUP BY ward

-- analyst: any_value attribute per person
SELECT variant, COUNT(*) AS users FROM (SELECT user_id, ANY_VALUE(variant) AS variant FROM events GROUP BY user_id) t GROUP BY variant

-- analyst: mysql if and ifnull
SELECT IFNULL(kind, 'unknown') AS kind, SUM(IF(cost > 1000, 1, 0)) AS dear FROM admissions GROUP BY IFNULL(kind, 'unknown')

-- analyst: timestamps between dates
SELECT COUNT(*) AS n FROM events WHERE DATE(ts) BETWEEN '2024-03-01' AND '2024-03-31'

-- analyst: interval arithmetic between columns
SELECT COUNT(*) AS n FROM events WHERE seen - ts > INTERVAL '1 hour'

-- analyst: extract epoch
SELECT event, AVG(EXTRACT(EPOCH FROM seen) - EXTRACT(EPOCH FROM ts)) / 60 AS minutes FROM events GROUP BY event

-- analyst: log odds
WITH t AS (SELECT AVG((outcome = 'died')::int) AS p FROM admissions) SELECT LN(p / (1 - p)) AS logit FROM t

-- analyst: z scores
WITH w AS (SELECT ward, AVG(cost) AS m FROM admissions GROUP BY ward) SELECT ward, (m - AVG(m) OVER ()) / STDDEV(m) OVER () AS z FROM w

-- analyst: multi-level CTE
WITH base AS (SELECT patient_id, ward, cost, admitted FROM admissions WHERE kind = 'emergency'), per AS (SELECT patient_id, SUM(cost) AS c, COUNT(*) AS k FROM base GROUP BY patient_id), b AS (SELECT CASE WHEN k = 1 THEN 'once' ELSE 'again' END AS g, c FROM per) SELECT g, COUNT(*) AS n, AVG(c) AS mean FROM b GROUP BY g

-- analyst: stays overlapping a month
SELECT COUNT(*) AS n FROM admissions WHERE admitted <= DATE '2023-06-30' AND (discharged >= DATE '2023-06-01' OR discharged IS NULL)

-- analyst: sum of days in month
SELECT SUM(LEAST(COALESCE(discharged, DATE '2023-06-30'), DATE '2023-06-30') - GREATEST(admitted, DATE '2023-06-01')) AS days FROM admissions WHERE admitted <= DATE '2023-06-30' AND discharged >= DATE '2023-06-01'

-- analyst: patients table wide
-- about: 0.5
SELECT smoker, COUNT(*) AS n, AVG(height) AS h, MIN(weight) AS lo, MAX(weight) AS hi FROM patients GROUP BY smoker

-- analyst: percent of patients by town with private keys
SELECT town, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / (SELECT COUNT(*) FROM patients), 1) AS pct FROM patients GROUP BY town ORDER BY n DESC, town

-- analyst: scalar min
SELECT COUNT(*) AS n FROM (SELECT p.id, (SELECT MIN(a.admitted) FROM admissions a WHERE a.patient_id = p.id) AS fa FROM patients p) x WHERE fa < '2023-01-01'

-- analyst: scalar count
SELECT k, COUNT(*) AS n FROM (SELECT p.id, (SELECT COUNT(*) FROM admissions a WHERE a.patient_id = p.id) AS k FROM patients p) x GROUP BY k ORDER BY k

-- analyst: emergency share
SELECT ward, COUNT_IF(kind = 'emergency') / COUNT(*) AS emergency_share FROM admissions GROUP BY ALL

-- analyst: order by all
SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward ORDER BY ALL

-- analyst: avg of scalar
SELECT p.sex, AVG((SELECT COUNT(*) FROM admissions a WHERE a.patient_id = p.id)) AS k FROM patients p GROUP BY p.sex

-- analyst: several, in arithmetic
SELECT COUNT(*) AS n FROM (SELECT p.id, (SELECT MAX(a.admitted) FROM admissions a WHERE a.patient_id = p.id) - (SELECT MIN(a.admitted) FROM admissions a WHERE a.patient_id = p.id) AS span FROM patients p) x WHERE span > 100

-- analyst: ratio per person
SELECT AVG(r) AS mean FROM (SELECT patient_id, SUM(cost) / COUNT(*) AS r FROM admissions GROUP BY patient_id) t

-- analyst: filter per person
SELECT COUNT(*) FILTER (WHERE e > 0 AND el > 0) AS both FROM (SELECT patient_id, COUNT(*) FILTER (WHERE kind='emergency') AS e, COUNT_IF(kind='elective') AS el FROM admissions GROUP BY 1) t

-- analyst: alias in having
SELECT COUNT(*) AS n FROM (SELECT patient_id, COUNT(*) AS k FROM admissions GROUP BY patient_id HAVING k >= 3) t

-- analyst: ratio per person with filter
SELECT AVG(share) AS m FROM (SELECT patient_id, 1.0 * SUM(CASE WHEN kind='emergency' THEN 1 ELSE 0 END) / COUNT(*) AS share FROM admissions GROUP BY patient_id) t

-- analyst: union in IN
SELECT COUNT(*) AS n FROM patients WHERE id IN (SELECT patient_id FROM admissions UNION SELECT patient_id FROM visits)

-- analyst: except
SELECT COUNT(*) AS n FROM (SELECT id FROM patients EXCEPT SELECT patient_id FROM admissions) t

-- analyst: qualify on an unlisted column
SELECT ward, COUNT(*) AS n FROM (SELECT patient_id, ward FROM admissions WHERE cost > 100 QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY admitted) = 1 AND kind = 'elective') t GROUP BY ward

-- analyst: median diff of dates
SELECT AVG(gap) AS g FROM (SELECT patient_id, MAX(admitted) - MIN(admitted) AS gap FROM admissions GROUP BY patient_id) t

-- analyst: date part of min
SELECT y, COUNT(*) AS n FROM (SELECT patient_id, EXTRACT(YEAR FROM MIN(admitted)) AS y FROM admissions GROUP BY patient_id) t GROUP BY y ORDER BY y

-- analyst: transfers
WITH seq AS (SELECT patient_id, ward, LEAD(ward) OVER (PARTITION BY patient_id ORDER BY admitted, id) AS nw FROM admissions) SELECT ward, nw, COUNT(*) AS n FROM seq WHERE nw IS NOT NULL GROUP BY ward, nw

-- analyst: changed ward
SELECT COUNT(*) AS n FROM (SELECT patient_id, ward <> LAG(ward) OVER (PARTITION BY patient_id ORDER BY admitted, id) AS moved FROM admissions) t WHERE moved

-- analyst: running sum
SELECT COUNT(*) AS n FROM (SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id ORDER BY admitted) AS running FROM admissions) t WHERE running > 20000

-- analyst: running rows
SELECT AVG(running) AS n FROM (SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id ORDER BY admitted, id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS running FROM admissions) t

-- analyst: avg over
-- about: 0.001
SELECT AVG(cost - m) AS n FROM (SELECT patient_id, cost, AVG(cost) OVER (PARTITION BY patient_id) AS m FROM admissions) t

-- analyst: first value
SELECT fw, COUNT(*) AS n FROM (SELECT patient_id, FIRST_VALUE(ward) OVER (PARTITION BY patient_id ORDER BY admitted, id) AS fw FROM admissions) t GROUP BY fw

-- analyst: lag default
SELECT SUM(d) AS n FROM (SELECT patient_id, cost - LAG(cost, 1, 0) OVER (PARTITION BY patient_id ORDER BY admitted, id) AS d FROM admissions) t

-- analyst: last value
SELECT lw, COUNT(*) AS n FROM (SELECT patient_id, LAST_VALUE(ward) OVER (PARTITION BY patient_id ORDER BY admitted, id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS lw FROM admissions) t GROUP BY lw

-- analyst: count so far
SELECT k, COUNT(*) AS n FROM (SELECT patient_id, COUNT(*) OVER (PARTITION BY patient_id ORDER BY admitted ROWS UNBOUNDED PRECEDING) AS k FROM admissions) t GROUP BY k ORDER BY k

-- analyst: min date over ordered
SELECT COUNT(*) AS n FROM (SELECT patient_id, admitted - MIN(admitted) OVER (PARTITION BY patient_id) AS d FROM admissions) t WHERE d > 30

-- analyst: standard shares row by row
SELECT SUM(s.share * 1000) AS x FROM patients p JOIN standard s ON s.band = CASE WHEN YEAR(p.birth) > 1984 THEN '0-39' WHEN YEAR(p.birth) > 1959 THEN '40-64' ELSE '65+' END

-- analyst: beds
SELECT w.region, SUM(a.cost / w.beds) AS per_bed FROM admissions a JOIN wards w USING (ward) GROUP BY w.region

-- analyst: cte pivot
WITH t AS (SELECT ward, kind, cost FROM admissions) SELECT ward, elective, emergency FROM t PIVOT (SUM(cost) FOR kind IN ('elective', 'emergency')) ORDER BY ward

-- analyst: values join
SELECT v.label, a.n FROM (VALUES ('elective', 'planned'), ('emergency', 'acute')) AS v(kind, label) JOIN (SELECT kind, COUNT(*) AS n FROM admissions GROUP BY kind) a ON a.kind = v.kind ORDER BY 1

-- analyst: range spine
SELECT m.m, COALESCE(x.n, 0) AS n FROM range(1, 13) AS m(m) LEFT JOIN (SELECT MONTH(admitted) AS m, COUNT(*) AS n FROM admissions GROUP BY 1) x ON x.m = m.m ORDER BY 1

-- analyst: unnest
SELECT m.m, COALESCE(x.n, 0) AS n FROM UNNEST([1,2,3]) AS m(m) LEFT JOIN (SELECT MONTH(admitted) AS m, COUNT(*) AS n FROM admissions GROUP BY 1) x ON x.m = m.m ORDER BY 1

-- analyst: rate per 1000 patient days
SELECT ward, 1000.0 * COUNT(*) FILTER (WHERE outcome = 'died') / NULLIF(SUM(DATE_DIFF('day', admitted, discharged)), 0) AS per_1000_days FROM admissions GROUP BY ward ORDER BY 2 DESC NULLS LAST

-- analyst: month name and year text
SELECT STRFTIME(admitted, '%b %Y') AS label, COUNT(*) AS n FROM admissions GROUP BY label

-- analyst: age in completed years, banded by floor
SELECT FLOOR(DATE_PART('year', AGE(a.admitted, p.birth)) / 10) * 10 AS decade, COUNT(*) AS n FROM admissions a JOIN patients p ON a.patient_id = p.id GROUP BY 1 ORDER BY 1

-- analyst: average of ratio of sums
SELECT ward, ROUND(SUM(cost)::numeric / NULLIF(COUNT(DISTINCT patient_id), 0), 2) AS per_patient FROM admissions GROUP BY ward

-- analyst: percentage with concat
SELECT ward, CONCAT(ROUND(100.0 * AVG((kind = 'emergency')::int), 1), ' %') AS share FROM admissions GROUP BY ward

-- analyst: rolling sum
SELECT day, SUM(n) OVER (ORDER BY day RANGE BETWEEN INTERVAL 6 DAYS PRECEDING AND CURRENT ROW) AS n7 FROM (SELECT ts::date AS day, COUNT(*) AS n FROM events WHERE ts >= '2024-01-01' AND ts < '2024-02-01' GROUP BY 1) t ORDER BY day

-- analyst: first event type
SELECT event, COUNT(*) AS users FROM (SELECT user_id, event, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY ts) AS rn FROM events) WHERE rn = 1 GROUP BY event

-- analyst: users per number of sessions
WITH g AS (SELECT user_id, CASE WHEN ts - LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) > INTERVAL '30 minutes' THEN 1 ELSE 0 END AS new FROM events),
s AS (SELECT user_id, 1 + SUM(new) AS sessions FROM g GROUP BY user_id)
SELECT AVG(sessions) AS mean FROM s

-- analyst: cross join two aggregates
SELECT a.n AS admissions, v.n AS visits, a.n * 1.0 / v.n AS ratio FROM (SELECT COUNT(*) AS n FROM admissions) a CROSS JOIN (SELECT COUNT(*) AS n FROM visits) v

-- analyst: patients with first admission per year
SELECT EXTRACT(YEAR FROM first) AS y, COUNT(*) AS new_patients FROM (SELECT patient_id, MIN(admitted) AS first FROM admissions GROUP BY 1) f GROUP BY 1 ORDER BY 1

-- analyst: in list of dates
SELECT COUNT(*) AS n FROM admissions WHERE admitted IN (DATE '2023-01-01', DATE '2023-01-02', '2023-01-03')

-- analyst: not between
SELECT COUNT(*) AS n FROM admissions WHERE cost NOT BETWEEN 1000 AND 2000 AND NOT (ward = 'Icu')

-- analyst: nested case
SELECT CASE WHEN kind = 'emergency' THEN CASE WHEN cost > 10000 THEN 'dear emergency' ELSE 'emergency' END ELSE 'planned' END AS c, COUNT(*) AS n FROM admissions GROUP BY 1

-- analyst: simple case
SELECT CASE outcome WHEN 'died' THEN 'dead' ELSE 'alive' END AS status, AVG(cost) AS c FROM admissions GROUP BY 1

-- analyst: greatest and least in sum
SELECT SUM(LEAST(cost, 1000)) AS capped, AVG(GREATEST(cost - 5000, 0)) AS excess FROM admissions

-- analyst: log10 histogram
SELECT FLOOR(LOG10(GREATEST(cost, 1))) AS magnitude, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- analyst: variance components
SELECT VAR_SAMP(cost) AS v, VAR_POP(cost) AS vp, STDDEV_POP(cost) AS s FROM admissions

-- analyst: bool aggregates as rates
SELECT AVG(CAST(smoker AS INTEGER)) AS p, SUM(CAST(smoker AS INT)) AS n FROM patients

-- analyst: join three tables
SELECT p.sex, a.ward, SUM(pr.packs) AS packs FROM patients p JOIN admissions a ON a.patient_id = p.id JOIN prescriptions pr ON pr.admission_id = a.id GROUP BY p.sex, a.ward ORDER BY 1, 2

-- analyst: drugs per stay
SELECT AVG(n) AS mean FROM (SELECT a.id, a.patient_id, COUNT(pr.admission_id) AS n FROM admissions a LEFT JOIN prescriptions pr ON pr.admission_id = a.id GROUP BY a.id, a.patient_id) t

-- analyst: exists across links
SELECT COUNT(*) AS n FROM admissions a WHERE EXISTS (SELECT 1 FROM prescriptions pr WHERE pr.admission_id = a.id AND pr.drug = 'drug1')

-- analyst: share of patients on each drug
SELECT pr.drug, COUNT(DISTINCT a.patient_id) * 100.0 / (SELECT COUNT(*) FROM patients) AS pct FROM prescriptions pr JOIN admissions a ON a.id = pr.admission_id GROUP BY pr.drug ORDER BY pct DESC, pr.drug

-- analyst: month-end
SELECT LAST_DAY(admitted) AS eom, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- analyst: half open age with interval
SELECT COUNT(*) AS adults FROM patients WHERE birth <= DATE '2024-01-01' - INTERVAL '18 years'

-- analyst: current date
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= CURRENT_DATE - INTERVAL '20 years'

-- analyst: quarter label by ||
SELECT YEAR(admitted) || ' Q' || QUARTER(admitted) AS q, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY 1

-- analyst: grouping sets
SELECT kind, outcome, COUNT(*) AS n FROM admissions GROUP BY GROUPING SETS ((kind, outcome), (kind), ()) ORDER BY 1, 2

-- analyst: cube with grouping
SELECT CASE WHEN GROUPING(kind) = 1 THEN 'all' ELSE kind END AS kind, COUNT(*) AS n FROM admissions GROUP BY CUBE (kind)

-- analyst: having on alias
SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward HAVING n > 220 ORDER BY n

-- analyst: distinct in select of keys with count
SELECT DISTINCT ward, COUNT(*) OVER () AS k FROM (SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward) t

-- analyst: ratio of two filters over window total
SELECT ward, n, n - AVG(n) OVER () AS dev FROM (SELECT ward, COUNT(*) AS n FROM admissions WHERE kind = 'elective' GROUP BY ward) t ORDER BY dev DESC

-- analyst: median of per patient totals
-- about: 0.01
SELECT MEDIAN(total) AS m FROM (SELECT patient_id, SUM(cost) AS total FROM admissions GROUP BY patient_id) t

-- analyst: lost to follow up
SELECT COUNT(*) AS n FROM (SELECT patient_id, MAX(ts) AS last FROM visits GROUP BY patient_id HAVING MAX(ts) < '2024-01-01') t

-- analyst: same-day readmission via self join inequality
SELECT COUNT(*) AS n FROM admissions a JOIN admissions b ON a.patient_id = b.patient_id AND a.id <> b.id AND b.admitted BETWEEN a.discharged AND a.discharged + INTERVAL 30 DAY

-- analyst: wages by tenure decile bins
-- plain: SELECT CAST(FLOOR((wage - 500) / 1000) AS INT) + 1 AS b, COUNT(*) AS n FROM jobs GROUP BY b ORDER BY b
SELECT WIDTH_BUCKET(wage, 500, 8500, 8) AS b, COUNT(*) AS n FROM jobs GROUP BY b ORDER BY b

-- analyst: sum distinct-free counts by day of week name ordering
SELECT DAYNAME(ts) AS d, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY MIN(EXTRACT(ISODOW FROM ts))

-- analyst: date between columns of public calendar by month
SELECT DATE_TRUNC('month', c.day) AS m, COUNT(*) AS bed_days FROM admissions a JOIN calendar c ON c.day >= a.admitted AND c.day < a.discharged GROUP BY 1 ORDER BY 1

-- analyst: conditional sum via boolean multiplication
SELECT SUM(cost * (kind = 'emergency')::int) AS em_cost FROM admissions

-- analyst: share of total by subquery in select
SELECT ward, SUM(cost) / (SELECT SUM(cost) FROM admissions) AS share FROM admissions GROUP BY ward

-- analyst: top page per event by qualify on answers
SELECT event, page, COUNT(*) AS n FROM events GROUP BY event, page QUALIFY ROW_NUMBER() OVER (PARTITION BY event ORDER BY n DESC, page) = 1

-- analyst: string functions on private text
SELECT SUBSTRING(diagnosis FROM 1 FOR 3) AS d, COUNT(*) AS n FROM admissions GROUP BY 1 ORDER BY n DESC, d

-- analyst: regexp ~
SELECT COUNT(*) AS n FROM admissions WHERE diagnosis ~ '^J[0-9]+'

-- analyst: null-safe compare
SELECT COUNT(*) AS n FROM admissions WHERE discharged IS DISTINCT FROM admitted

-- analyst: union all of rows, then count by source
SELECT src, COUNT(*) AS n FROM (SELECT patient_id, 'stay' AS src FROM admissions UNION ALL SELECT patient_id, 'visit' FROM visits) t GROUP BY src

-- analyst: median on union
SELECT src, COUNT(DISTINCT patient_id) AS people FROM (SELECT patient_id, 'stay' AS src FROM admissions UNION ALL SELECT patient_id, 'visit' FROM visits) t GROUP BY src

-- analyst: arg_max per person
SELECT last_ward, COUNT(*) AS n FROM (SELECT patient_id, ARG_MAX(ward, admitted) AS last_ward FROM admissions GROUP BY patient_id) t GROUP BY last_ward

-- analyst: max_by on text
SELECT last_ward, COUNT(*) AS n FROM (SELECT patient_id, MAX_BY(ward, admitted) AS last_ward FROM admissions GROUP BY patient_id) t GROUP BY last_ward

-- analyst: cumulative patients over time
SELECT m, SUM(n) OVER (ORDER BY m) AS cum FROM (SELECT DATE_TRUNC('month', first) AS m, COUNT(*) AS n FROM (SELECT patient_id, MIN(admitted) AS first FROM admissions GROUP BY patient_id) f GROUP BY 1) t ORDER BY m

-- analyst: two-way share
SELECT p.sex, a.kind, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 2) AS pct FROM patients p, admissions a WHERE p.id = a.patient_id GROUP BY p.sex, a.kind

-- analyst: flags in a CTE
WITH f AS (SELECT patient_id, ward, CASE WHEN outcome = 'died' THEN 1 ELSE 0 END AS died, CASE WHEN cost > 10000 THEN 1 ELSE 0 END AS dear FROM admissions) SELECT ward, SUM(died) AS deaths, AVG(dear) AS share FROM f GROUP BY ward

-- analyst: grouped by a flag
WITH f AS (SELECT patient_id, cost, CASE WHEN kind = 'emergency' THEN 1 ELSE 0 END AS em FROM admissions) SELECT em, COUNT(*) AS n, AVG(cost) AS c FROM f GROUP BY em

-- analyst: codes
WITH f AS (SELECT patient_id, CASE kind WHEN 'emergency' THEN 10 ELSE 99 END AS code FROM admissions) SELECT code, COUNT(*) AS n FROM f GROUP BY code

-- analyst: flags compared
SELECT COUNT(*) AS n FROM (SELECT patient_id, CASE WHEN kind = 'emergency' THEN 1 ELSE 0 END AS em FROM admissions) t WHERE em = 1

-- analyst: flag of a window
SELECT SUM(x) AS n FROM (SELECT user_id, CASE WHEN revenue > LAG(revenue) OVER (PARTITION BY user_id ORDER BY ts) THEN 1 ELSE 0 END AS x FROM events) g

-- analyst: case of columns
SELECT SUM(x) AS n FROM (SELECT patient_id, CASE WHEN kind = 'emergency' THEN cost ELSE 0 END AS x FROM admissions) g

-- analyst: nullable flag
SELECT COUNT(x) AS k, SUM(x) AS n FROM (SELECT patient_id, CASE WHEN kind = 'emergency' THEN 1 END AS x FROM admissions) g

-- analyst: boolean flag
SELECT SUM(x::int) AS n, AVG(CASE WHEN x THEN 1.0 ELSE 0 END) AS s FROM (SELECT patient_id, kind = 'emergency' AS x FROM admissions) g

-- analyst: iif flag
SELECT SUM(x) AS n FROM (SELECT patient_id, IF(kind = 'emergency', 1, 0) AS x FROM admissions) g

-- epidemiologist: another stay within 30 days
SELECT ward, COUNT(*) AS n FROM admissions a WHERE EXISTS (SELECT 1 FROM admissions b WHERE b.patient_id = a.patient_id AND b.id <> a.id AND b.admitted BETWEEN a.discharged AND a.discharged + INTERVAL 30 DAY) GROUP BY ward

-- epidemiologist: no earlier stay
SELECT COUNT(*) AS n FROM admissions a WHERE NOT EXISTS (SELECT 1 FROM admissions b WHERE b.patient_id = a.patient_id AND b.id < a.id)

-- epidemiologist: pairs of stays
SELECT COUNT(*) AS n FROM admissions a JOIN admissions b ON a.patient_id = b.patient_id AND a.id < b.id

-- privacy: rows of patients
-- refused: rows are not released
SELECT * FROM patients LIMIT 10

-- privacy: the costliest patient
-- refused: 
SELECT patient_id, SUM(cost) AS total FROM admissions GROUP BY patient_id ORDER BY total DESC LIMIT 1

-- privacy: patients ranked against each other
-- refused: several units
SELECT COUNT(*) FROM (SELECT patient_id, NTILE(10) OVER (ORDER BY cost) AS decile FROM admissions) t WHERE decile = 10

-- privacy: pairs of patients of one town
-- refused: two units
SELECT COUNT(*) FROM patients a JOIN patients b ON a.town = b.town AND a.id < b.id

-- privacy: the towns as a list
-- refused: 
SELECT STRING_AGG(town, ', ') FROM patients

-- privacy: above the mean of everybody
-- refused: other people
SELECT COUNT(*) FROM admissions WHERE cost > (SELECT AVG(cost) FROM admissions)

-- privacy: any patient's diagnosis
-- refused: somebody's own
SELECT ward, ANY_VALUE(diagnosis) FROM admissions GROUP BY ward

-- privacy: the latest ten admissions
-- refused: depend on everybody
SELECT AVG(cost) FROM (SELECT cost, admitted FROM admissions ORDER BY admitted DESC LIMIT 10) t

-- privacy: a sample of rows
-- refused: depend on everybody
SELECT AVG(cost) FROM admissions TABLESAMPLE 10%

-- privacy: the first patient in
-- refused: 
SELECT ARG_MIN(diagnosis, admitted) FROM admissions

-- analyst: what each person's own costs spread by
SELECT AVG(s) AS a FROM (SELECT patient_id, STDDEV(cost) AS s FROM admissions GROUP BY patient_id) t

-- analyst: the median of each person's own costs
SELECT AVG(m) AS a FROM (SELECT patient_id, MEDIAN(cost) AS m FROM admissions GROUP BY patient_id) t

-- analyst: the last thirty days by the clock
SELECT COUNT(*) AS n FROM events WHERE ts >= NOW() - INTERVAL '30 days'

-- analyst: the month of a day as SQL Server counts it
-- plain: SELECT DATE_TRUNC('month', admitted) AS m, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT DATEADD(month, DATEDIFF(month, DATE '2022-01-01', admitted), DATE '2022-01-01') AS m, COUNT(*) AS n FROM admissions GROUP BY 1

-- analyst: the last visit by a lateral join
SELECT COUNT(*) AS n FROM patients p CROSS JOIN LATERAL (SELECT MAX(v.ts) AS last FROM visits v WHERE v.patient_id = p.id) l WHERE l.last < '2023-01-01'

-- analyst: the variance of each person's own minutes, and what nine tenths of their costs are below
SELECT AVG(v) AS v, AVG(p) AS p, AVG(q) AS q FROM (SELECT patient_id, VAR_POP(cost) AS v, STDDEV_POP(cost) AS p, QUANTILE_CONT(cost, 0.9) AS q FROM admissions GROUP BY patient_id) t

-- analyst: who varies more than a thousand
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM admissions GROUP BY patient_id HAVING STDDEV_SAMP(cost) > 1000 AND COUNT(*) > 1) t

-- analyst: median per person within group, in days
SELECT ROUND(AVG(m), 3) AS m FROM (SELECT patient_id, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY discharged - admitted) AS m FROM admissions WHERE kind = 'elective' GROUP BY patient_id) t

-- analyst: coefficient of variation per person
-- about: 0.01
SELECT AVG(cv) AS cv FROM (SELECT patient_id, STDDEV(cost) / NULLIF(AVG(cost), 0) AS cv FROM admissions GROUP BY patient_id HAVING COUNT(*) >= 2) t

-- analyst: counts and costs by a lateral join, zero where there are none
SELECT p.sex, AVG(l.n) AS n, AVG(l.cost) AS c FROM patients p LEFT JOIN LATERAL (SELECT COUNT(*) AS n, MAX(cost) AS cost FROM admissions a WHERE a.patient_id = p.id AND a.kind = 'emergency') l ON TRUE GROUP BY p.sex

-- analyst: the last ward by CROSS APPLY
-- plain: SELECT l.ward, COUNT(*) AS n FROM patients p CROSS JOIN LATERAL (SELECT a.ward FROM admissions a WHERE a.patient_id = p.id ORDER BY a.admitted DESC, a.ward LIMIT 1) l GROUP BY 1
SELECT l.ward, COUNT(*) AS n FROM patients p CROSS APPLY (SELECT TOP 1 a.ward FROM admissions a WHERE a.patient_id = p.id ORDER BY a.admitted DESC, a.ward) l GROUP BY l.ward

-- analyst: the last ward by LATERAL with a comma
SELECT l.ward, COUNT(*) AS n FROM patients p, LATERAL (SELECT a.ward FROM admissions a WHERE a.patient_id = p.id ORDER BY a.admitted DESC, a.ward LIMIT 1) l GROUP BY l.ward

-- analyst: minutes by OUTER APPLY
-- plain: SELECT AVG(l.m) AS m FROM patients p LEFT JOIN LATERAL (SELECT SUM(minutes) AS m FROM visits WHERE visits.patient_id = p.id) l ON TRUE WHERE p.sex = 'F'
SELECT AVG(l.m) AS m FROM patients p OUTER APPLY (SELECT SUM(minutes) AS m FROM visits WHERE visits.patient_id = p.id) l WHERE p.sex = 'F'

-- analyst: rows by a lateral join
SELECT COUNT(*) AS n FROM patients p JOIN LATERAL (SELECT a.cost FROM admissions a WHERE a.patient_id = p.id AND a.cost > 5000) l ON TRUE

-- analyst: a lateral join by more than equalities
SELECT COUNT(*) AS n FROM patients p JOIN LATERAL (SELECT a.cost FROM admissions a WHERE a.patient_id = p.id AND a.admitted > p.birth) l ON TRUE

-- analyst: long before now
SELECT COUNT(*) AS n FROM events WHERE ts < CURRENT_TIMESTAMP - INTERVAL '700 days'

-- analyst: three years back from now, of days
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= NOW() - INTERVAL '3 years'

-- analyst: before today, as SQL Server casts it
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted < CAST(NOW() AS DATE)
SELECT COUNT(*) AS n FROM admissions WHERE admitted < CAST(GETDATE() AS DATE)

-- analyst: days until now
-- plain: SELECT ward, AVG(DATE_DIFF('day', admitted, CURRENT_DATE)) AS d FROM admissions GROUP BY ward
SELECT ward, AVG(DATEDIFF(day, admitted, GETDATE())) AS d FROM admissions GROUP BY ward

-- analyst: the year that it is
SELECT DATE_PART('year', NOW()) AS y, COUNT(*) AS n FROM admissions

-- analyst: adults at the start of the month
SELECT COUNT(*) AS n FROM patients WHERE birth <= DATE_TRUNC('month', NOW()) - INTERVAL 18 YEAR

-- analyst: the quarter of a day as SQL Server counts it
-- plain: SELECT DATE_TRUNC('quarter', admitted) AS m, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT DATEADD(qq, DATEDIFF(qq, 0, admitted), 0) AS m, COUNT(*) AS n FROM admissions GROUP BY DATEADD(qq, DATEDIFF(qq, 0, admitted), 0)

-- analyst: months counted from the middle of one by each row's own number
-- plain: SELECT DATE '2022-01-15' + TO_MONTHS(DATEDIFF('month', DATE '2022-01-15', admitted)::INT) AS m, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT DATEADD(month, DATEDIFF(month, DATE '2022-01-15', admitted), DATE '2022-01-15') AS m, COUNT(*) AS n FROM admissions GROUP BY 1

-- epidemiology: 30-day mortality by ward and sex
SELECT a.ward, p.sex, AVG(CASE WHEN p.died IS NOT NULL AND p.died - a.admitted BETWEEN 0 AND 30 THEN 1.0 ELSE 0 END) AS mortality FROM admissions a JOIN patients p ON a.patient_id = p.id GROUP BY a.ward, p.sex ORDER BY a.ward, p.sex

-- epidemiology: person-days by ward
SELECT ward, SUM(GREATEST(discharged - admitted, 1)) AS person_days FROM admissions WHERE discharged IS NOT NULL GROUP BY ward

-- epidemiology: incidence per 1000 person-days
SELECT ward, 1000.0 * COUNT(*) FILTER (WHERE outcome = 'died') / NULLIF(SUM(discharged - admitted), 0) AS rate FROM admissions GROUP BY ward

-- epidemiology: epidemic curve by ISO week with cumulative share
WITH wk AS (SELECT DATE_TRUNC('week', admitted) AS w, COUNT(*) AS n FROM admissions WHERE diagnosis LIKE 'J1%' AND admitted >= DATE '2023-01-01' AND admitted < DATE '2024-01-01' GROUP BY 1)
SELECT w, n, SUM(n) OVER (ORDER BY w) / SUM(n) OVER () AS cum FROM wk ORDER BY w

-- epidemiology: age pyramid
SELECT FLOOR(DATE_DIFF('year', birth, DATE '2024-01-01') / 5) * 5 AS age5, COUNT(*) FILTER (WHERE sex = 'M') AS men, COUNT(*) FILTER (WHERE sex = 'F') AS women FROM patients GROUP BY 1 ORDER BY 1

-- epidemiology: obesity by sex
SELECT sex, AVG((weight / POWER(height / 100.0, 2) >= 30)::INT) AS obese FROM patients GROUP BY sex

-- epidemiology: odds ratio of smoking and death
SELECT SUM(CASE WHEN smoker AND died IS NOT NULL THEN 1 ELSE 0 END) * 1.0 * SUM(CASE WHEN NOT smoker AND died IS NULL THEN 1 ELSE 0 END) / (SUM(CASE WHEN smoker AND died IS NULL THEN 1 ELSE 0 END) * 1.0 * SUM(CASE WHEN NOT smoker AND died IS NOT NULL THEN 1 ELSE 0 END)) AS odds FROM patients

-- epidemiology: comorbid patients, two diagnoses
-- plain: SELECT COUNT(*) AS n FROM (SELECT patient_id FROM admissions WHERE diagnosis IN ('E11.9', 'I10') GROUP BY patient_id HAVING COUNT(DISTINCT diagnosis) = 2)
SELECT COUNT(*) AS n FROM (SELECT patient_id FROM admissions WHERE diagnosis IN ('E11.9', 'I10') GROUP BY patient_id HAVING COUNT(DISTINCT diagnosis) = 2) AS both_conditions

-- epidemiology: time to death after first admission in bands
SELECT CASE WHEN p.died - f.first < 30 THEN '<30' WHEN p.died - f.first < 365 THEN '30-364' ELSE '365+' END AS band, COUNT(*) AS n FROM patients p JOIN (SELECT patient_id, MIN(admitted) AS first FROM admissions GROUP BY patient_id) f ON f.patient_id = p.id WHERE p.died >= f.first GROUP BY 1

-- epidemiology: charlson-like score
SELECT score, COUNT(*) AS n FROM (SELECT patient_id, MAX(CASE WHEN diagnosis LIKE 'E11%' THEN 1 ELSE 0 END) + MAX(CASE WHEN diagnosis = 'C50' THEN 2 ELSE 0 END) + MAX(CASE WHEN diagnosis = 'I10' THEN 1 ELSE 0 END) AS score FROM admissions GROUP BY patient_id) s GROUP BY score ORDER BY score

-- epidemiology: seasonality, mean per calendar month over years
WITH m AS (SELECT EXTRACT(YEAR FROM admitted) AS y, EXTRACT(MONTH FROM admitted) AS m, COUNT(*) AS n FROM admissions GROUP BY 1, 2)
SELECT m, AVG(n) AS mean FROM m GROUP BY m ORDER BY m

-- epidemiology: excess over the mean of the two years before
WITH y AS (SELECT YEAR(admitted) AS y, COUNT(*) AS n FROM admissions GROUP BY 1)
SELECT (SELECT n FROM y WHERE y = 2024) - (SELECT AVG(n) FROM y WHERE y < 2024) AS excess

-- epidemiology: median length of stay by admission kind, quartiles too
-- about: 0.1
SELECT kind, QUANTILE_CONT(discharged - admitted, 0.25) AS q1, MEDIAN(discharged - admitted) AS q2, QUANTILE_CONT(discharged - admitted, 0.75) AS q3 FROM admissions GROUP BY kind

-- epidemiology: proportion readmitted within 7 days by window
SELECT AVG(CASE WHEN gap <= 7 THEN 1.0 ELSE 0.0 END) AS p FROM (SELECT patient_id, DATEDIFF('day', LAG(discharged) OVER (PARTITION BY patient_id ORDER BY admitted), admitted) AS gap FROM admissions) t WHERE gap >= 0

-- epidemiology: multiple drugs in one stay
SELECT COUNT(*) AS polypharmacy FROM (SELECT admission_id, COUNT(DISTINCT drug) AS drugs FROM prescriptions GROUP BY admission_id HAVING COUNT(DISTINCT drug) >= 2) t

-- school office: share above a threshold by group, sql server
-- plain: SELECT sector, 100.0 * SUM(CASE WHEN hours >= 30 THEN 1 ELSE 0 END) / COUNT(*) AS pct FROM jobs GROUP BY sector
SELECT [sector], 100.0 * SUM(IIF(hours >= 30, 1, 0)) / COUNT(*) AS pct FROM jobs GROUP BY [sector]

-- school office: cohort sizes by academic year
SELECT CASE WHEN MONTH(started) >= 9 THEN YEAR(started) ELSE YEAR(started) - 1 END AS school_year, COUNT(*) AS entrants FROM jobs GROUP BY 1 ORDER BY 1

-- school office: dropout within half a year
SELECT sector, COUNT(*) FILTER (WHERE ended IS NOT NULL AND ended < started + INTERVAL '6 months') AS dropouts, COUNT(*) AS entrants FROM jobs GROUP BY sector

-- school office: how many still enrolled at a date
SELECT COUNT(DISTINCT person_id) AS enrolled FROM jobs WHERE started <= '2020-09-01' AND (ended IS NULL OR ended > '2020-09-01')

-- school office: enrolled at the start of each year
SELECT c.year, COUNT(*) AS enrolled FROM cpi c JOIN jobs j ON YEAR(j.started) <= c.year AND (j.ended IS NULL OR YEAR(j.ended) > c.year) GROUP BY c.year ORDER BY c.year

-- school office: number of subjects per pupil
SELECT sectors, COUNT(*) AS pupils FROM (SELECT person_id, COUNT(DISTINCT sector) AS sectors FROM jobs GROUP BY person_id) x GROUP BY sectors ORDER BY sectors

-- school office: correlation of hours and wage by sector
-- about: 0.001
SELECT sector, CORR(hours, wage) AS r, REGR_SLOPE(wage, hours) AS slope FROM jobs GROUP BY sector

-- school office: rank of groups
SELECT sector, AVG(wage) AS w, DENSE_RANK() OVER (ORDER BY AVG(wage) DESC) AS place FROM jobs GROUP BY sector

-- school office: percentage distribution in one row
SELECT AVG(CASE sector WHEN 'health' THEN 100.0 ELSE 0 END) AS health, AVG(CASE sector WHEN 'trade' THEN 100.0 ELSE 0 END) AS trade FROM jobs

-- school office: groups with fewer than ten left out
SELECT sector, EXTRACT(YEAR FROM started) AS y, COUNT(*) AS n FROM jobs GROUP BY 1, 2 HAVING COUNT(*) >= 10 ORDER BY 1, 2

-- school office: standard deviation between pupils
-- about: 0.001
SELECT STDDEV_SAMP(h) AS sd FROM (SELECT person_id, AVG(hours) AS h FROM jobs GROUP BY person_id) t

-- school office: quintile shares
SELECT NTILE(3) OVER (ORDER BY w DESC) AS tertile, sector, w FROM (SELECT sector, AVG(wage) AS w FROM jobs GROUP BY sector) s

-- school office: age at start in months
-- plain: SELECT AVG(DATE_SUB('month', p.birth, j.started)) AS months FROM jobs j JOIN patients p ON p.id = j.person_id
SELECT AVG(TIMESTAMPDIFF(MONTH, p.birth, j.started)) AS months FROM jobs j JOIN patients p ON p.id = j.person_id

-- school office: mysql if and ifnull
-- plain: SELECT sector, SUM(IF(ended IS NULL, 1, 0)) AS open, AVG(COALESCE(ended, DATE '2024-12-31') - started) AS days FROM jobs GROUP BY sector
SELECT sector, SUM(IF(ended IS NULL, 1, 0)) AS `open`, AVG(DATEDIFF(IFNULL(ended, '2024-12-31'), started)) AS days FROM jobs GROUP BY sector

-- retail: conversion funnel
SELECT COUNT(DISTINCT CASE WHEN event = 'view' THEN user_id END) AS viewed, COUNT(DISTINCT CASE WHEN event = 'cart' THEN user_id END) AS carted, COUNT(DISTINCT CASE WHEN event = 'buy' THEN user_id END) AS bought FROM events

-- retail: revenue by month with growth
WITH m AS (SELECT DATE_TRUNC('month', ts)::DATE AS m, SUM(revenue) AS rev FROM events WHERE event = 'buy' GROUP BY 1)
SELECT m, rev, ROUND(100 * (rev / LAG(rev) OVER (ORDER BY m) - 1), 2) AS growth FROM m ORDER BY m

-- retail: average basket of buyers, bigquery
-- plain: SELECT variant, SUM(revenue) / NULLIF(COUNT_IF(event = 'buy'), 0) AS aov FROM events GROUP BY variant
SELECT variant, SAFE_DIVIDE(SUM(revenue), COUNTIF(event = 'buy')) AS aov FROM events GROUP BY variant

-- retail: repeat purchase rate, snowflake
-- plain: SELECT AVG(CASE WHEN n > 1 THEN 1 ELSE 0 END) AS rate FROM (SELECT user_id, COUNT(*) AS n FROM events WHERE event = 'buy' GROUP BY user_id)
SELECT AVG(IFF(n > 1, 1, 0)) AS rate FROM (SELECT user_id, COUNT(*) AS n FROM events WHERE event = 'buy' GROUP BY user_id)

-- retail: spend deciles of customers
-- about: 1
SELECT QUANTILE_CONT(total, 0.5) AS p50, QUANTILE_CONT(total, 0.9) AS p90 FROM (SELECT user_id, SUM(revenue) AS total FROM events GROUP BY user_id HAVING SUM(revenue) > 0) t

-- retail: weekday and hour heat map
SELECT DAYNAME(ts) AS d, HOUR(ts) AS h, COUNT(*) AS n FROM events GROUP BY 1, 2

-- retail: weekend share
SELECT AVG(CASE WHEN EXTRACT(ISODOW FROM ts) IN (6, 7) THEN 1 ELSE 0 END) AS weekend FROM events WHERE event = 'buy'

-- retail: first purchase cohorts
SELECT cohort, COUNT(*) AS customers, AVG(n) AS orders FROM (SELECT user_id, DATE_TRUNC('quarter', MIN(ts)) AS cohort, COUNT(*) AS n FROM events WHERE event = 'buy' GROUP BY user_id) t GROUP BY cohort ORDER BY cohort

-- retail: days between purchases
SELECT AVG(days) AS mean_days FROM (SELECT user_id, DATE_DIFF('day', LAG(ts) OVER (PARTITION BY user_id ORDER BY ts), ts) AS days FROM events WHERE event = 'buy') t WHERE days IS NOT NULL

-- retail: recency frequency segments
SELECT CASE WHEN last >= TIMESTAMP '2024-10-01' AND n >= 3 THEN 'loyal' WHEN last >= TIMESTAMP '2024-10-01' THEN 'recent' ELSE 'lapsed' END AS segment, COUNT(*) AS customers FROM (SELECT user_id, MAX(ts) AS last, COUNT(*) AS n FROM events GROUP BY user_id) t GROUP BY 1

-- retail: share of revenue by page section
SELECT SPLIT_PART(page, '/', 2) AS section, SUM(revenue) AS rev, ROUND(100.0 * SUM(revenue) / SUM(SUM(revenue)) OVER (), 1) AS pct FROM events GROUP BY 1 ORDER BY rev DESC

-- retail: a/b test with standard error
-- about: 0.0001
SELECT variant, AVG(revenue) AS mean, STDDEV(revenue) / SQRT(COUNT(*)) AS se FROM events WHERE event = 'buy' GROUP BY variant

-- retail: top three drugs by spend
SELECT drug, SUM(packs * price) AS spend FROM prescriptions GROUP BY drug ORDER BY spend DESC LIMIT 3

-- retail: weighted mean price
SELECT SUM(packs * price) / SUM(packs) AS mean_price FROM prescriptions

-- retail: price bands with width_bucket
SELECT FLOOR(price / 10) * 10 AS band, SUM(packs) AS packs FROM prescriptions GROUP BY FLOOR(price / 10) * 10 ORDER BY band

-- retail: abc classes over cumulative spend
WITH s AS (SELECT drug, SUM(packs * price) AS spend FROM prescriptions GROUP BY drug), c AS (SELECT drug, spend, SUM(spend) OVER (ORDER BY spend DESC) / SUM(spend) OVER () AS cum FROM s)
SELECT drug, CASE WHEN cum <= 0.5 THEN 'A' WHEN cum <= 0.8 THEN 'B' ELSE 'C' END AS class FROM c

-- retail: carts that were never bought
SELECT COUNT(DISTINCT e.user_id) AS n FROM events e WHERE e.event = 'cart' AND NOT EXISTS (SELECT 1 FROM events b WHERE b.user_id = e.user_id AND b.event = 'buy' AND b.ts > e.ts)

-- retail: average items per user per active day
-- refused: a division is refused whose divisor may be zero
SELECT AVG(1.0 * n / days) AS per_day FROM (SELECT user_id, COUNT(*) AS n, COUNT(DISTINCT ts::DATE) AS days FROM events GROUP BY user_id) t

-- transport: trips by hour band
SELECT CASE WHEN HOUR(ts) BETWEEN 6 AND 9 THEN 'am peak' WHEN HOUR(ts) BETWEEN 16 AND 19 THEN 'pm peak' ELSE 'off peak' END AS period, COUNT(*) AS n, AVG(minutes) AS mean FROM visits GROUP BY 1

-- transport: mean duration and its 95th percentile
-- about: 0.6
SELECT channel, AVG(minutes) AS mean, APPROX_QUANTILE(minutes, 0.95) AS p95 FROM visits GROUP BY channel

-- transport: delay in minutes between two clocks
SELECT AVG(EXTRACT(EPOCH FROM seen - ts) / 60.0) AS delay, COUNT(*) FILTER (WHERE seen - ts > INTERVAL '1 hour') AS late FROM events

-- transport: delay with date_diff in seconds
SELECT event, AVG(DATE_DIFF('second', ts, seen)) AS s FROM events GROUP BY event

-- transport: quarter-hour counts of one day
SELECT TIME_BUCKET(INTERVAL '15 minutes', ts) AS t, COUNT(*) AS n FROM events WHERE ts >= '2024-03-01' AND ts < '2024-03-02' GROUP BY 1 ORDER BY 1

-- transport: origin and destination pairs
-- about: 0.000001
SELECT o, d, COUNT(*) AS trips FROM (SELECT patient_id, ward AS o, LEAD(ward) OVER (PARTITION BY patient_id ORDER BY admitted, id) AS d FROM admissions) t WHERE d IS NOT NULL AND o <> d GROUP BY o, d ORDER BY trips DESC

-- transport: weekday profile against its mean
WITH d AS (SELECT EXTRACT(ISODOW FROM ts) AS dow, COUNT(*) AS n FROM visits GROUP BY 1)
SELECT dow, n, n / AVG(n) OVER () AS idx FROM d ORDER BY dow

-- transport: riders by number of trips, capped
SELECT LEAST(n, 5) AS trips, COUNT(*) AS riders FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY 1 ORDER BY 1

-- transport: morning and evening of the same day
SELECT COUNT(*) AS n FROM (SELECT user_id, CAST(ts AS DATE) AS d FROM events GROUP BY user_id, CAST(ts AS DATE) HAVING MIN(HOUR(ts)) < 10 AND MAX(HOUR(ts)) >= 16) t

-- transport: by day with the days that had none
SELECT c.day, COUNT(v.patient_id) AS n FROM calendar c LEFT JOIN visits v ON CAST(v.ts AS DATE) = c.day GROUP BY c.day ORDER BY c.day

-- analyst: COUNT DISTINCT of several columns, distinct pairs
-- plain: SELECT COUNT(DISTINCT ward || diagnosis) AS n FROM admissions
SELECT COUNT(DISTINCT ward, diagnosis) AS n FROM admissions

-- analyst: COUNT DISTINCT of several columns, distinct pairs by ward
-- plain: SELECT ward, COUNT(DISTINCT patient_id || '|' || admitted) AS n FROM admissions GROUP BY ward
SELECT ward, COUNT(DISTINCT patient_id, admitted) AS n FROM admissions GROUP BY ward

-- analyst: COUNT DISTINCT of several columns, distinct inside
-- plain: SELECT AVG(n) AS n FROM (SELECT patient_id, COUNT(DISTINCT ward || '|' || kind) AS n FROM admissions GROUP BY patient_id) t
SELECT AVG(n) AS n FROM (SELECT patient_id, COUNT(DISTINCT ward, kind) AS n FROM admissions GROUP BY patient_id) t

-- analyst: COUNT DISTINCT of several columns, distinct nulls
-- plain: SELECT COUNT(DISTINCT discharged || ward) AS n FROM admissions
SELECT COUNT(DISTINCT discharged, ward) AS n FROM admissions

-- analyst: COUNT DISTINCT of several columns, distinct numbers
-- plain: SELECT COUNT(DISTINCT hours || '|' || sector) AS n FROM jobs
SELECT COUNT(DISTINCT hours, sector) AS n FROM jobs

-- analyst: names in brackets
-- plain: SELECT sector, COUNT(*) AS n FROM jobs GROUP BY sector
SELECT [sector], COUNT(*) AS [n jobs] FROM [jobs] AS [j] GROUP BY [j].[sector]

-- analyst: every ward, those with none too
SELECT w.ward, COUNT(a.id) AS n, SUM(a.cost) AS cost FROM wards w LEFT JOIN admissions a ON a.ward = w.ward AND a.kind = 'emergency' AND a.cost > 19000 GROUP BY w.ward

-- analyst: patients of every region, from the public table
SELECT w.region AS r, COUNT(DISTINCT a.patient_id) AS n FROM wards w LEFT JOIN admissions a ON a.ward = w.ward GROUP BY r

-- privacy: COUNT(*) would count a ward that nobody is in
-- refused: LEFT JOIN keeps rows of w that match nobody
SELECT w.ward, COUNT(*) AS n FROM wards w LEFT JOIN admissions a ON a.ward = w.ward AND a.cost > 19000 GROUP BY w.ward

-- privacy: wards without anybody
-- refused: LEFT JOIN keeps rows of w that match nobody
SELECT w.ward, COUNT(a.id) AS n FROM wards w LEFT JOIN admissions a ON a.ward = w.ward WHERE a.id IS NULL GROUP BY w.ward

-- privacy: an ELSE that counts a ward that nobody is in
-- refused: LEFT JOIN keeps rows of w that match nobody
SELECT w.ward, SUM(CASE WHEN a.cost > 100 THEN 0 ELSE 1 END) AS n FROM wards w LEFT JOIN admissions a ON a.ward = w.ward GROUP BY w.ward

-- analyst: ADD_MONTHS
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted < discharged AND admitted + INTERVAL 3 MONTH > DATE '2023-01-01'
SELECT COUNT(*) AS n FROM admissions WHERE admitted < discharged AND ADD_MONTHS(admitted, 3) > DATE '2023-01-01'

-- analyst: NVL2
-- plain: SELECT SUM(CASE WHEN discharged IS NOT NULL THEN 1 ELSE 0 END) AS n FROM admissions
SELECT SUM(NVL2(discharged, 1, 0)) AS n FROM admissions

-- analyst: DATEFROMPARTS
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE '2023-01-01'
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATEFROMPARTS(2023, 1, 1)

-- analyst: TO_DATE of a constant
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE '2023-01-01'
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= TO_DATE('2023-01-01', 'YYYY-MM-DD')

-- analyst: PARSE_DATE of a constant
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE '2023-01-01'
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= PARSE_DATE('%Y-%m-%d', '2023-01-01')

-- analyst: CONVERT to a date as SQL Server writes it
-- plain: SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM visits GROUP BY 1
SELECT CONVERT(date, ts) AS d, COUNT(*) AS n FROM visits GROUP BY CONVERT(date, ts)

-- analyst: TRUNC to a month as Oracle writes it
-- plain: SELECT DATE_TRUNC('month', admitted) AS d, COUNT(*) AS n FROM admissions GROUP BY 1
SELECT TRUNC(admitted, 'MM') AS d, COUNT(*) AS n FROM admissions GROUP BY TRUNC(admitted, 'MM')

-- analyst: STR_TO_DATE of a constant
-- plain: SELECT COUNT(*) AS n FROM admissions WHERE admitted >= DATE '2023-01-01'
SELECT COUNT(*) AS n FROM admissions WHERE admitted >= STR_TO_DATE('2023-01-01', '%Y-%m-%d')

-- analyst: TO_DATE of a time
-- plain: SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM visits GROUP BY 1
SELECT TO_DATE(ts) AS d, COUNT(*) AS n FROM visits GROUP BY 1
