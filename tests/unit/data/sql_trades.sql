-- registry: mean length of stay by ward
SELECT ward, ROUND(AVG(discharged - admitted), 2) AS mean_los, COUNT(*) AS n FROM admissions WHERE discharged IS NOT NULL GROUP BY ward ORDER BY mean_los DESC;

-- registry: age at admission in bands
SELECT CASE WHEN age < 18 THEN '0-17' WHEN age BETWEEN 18 AND 64 THEN '18-64' WHEN age BETWEEN 65 AND 79 THEN '65-79' ELSE '80+' END AS band,
       COUNT(*) AS admissions, COUNT(DISTINCT patient_id) AS patients
FROM (SELECT a.patient_id, DATE_DIFF('year', p.dob, a.admitted) AS age FROM admissions a JOIN patients p ON p.id = a.patient_id) x
GROUP BY band ORDER BY band

-- registry: 30-day readmission rate by ward, LEAD
WITH s AS (SELECT patient_id, ward, admitted, discharged, LEAD(admitted) OVER (PARTITION BY patient_id ORDER BY admitted, discharged) AS next_admitted FROM admissions)
SELECT ward, COUNT(*) FILTER (WHERE next_admitted - discharged BETWEEN 0 AND 30) * 100.0 / NULLIF(COUNT(*), 0) AS readmission_pct FROM s WHERE discharged IS NOT NULL GROUP BY ward

-- registry: readmission by self join
SELECT COUNT(DISTINCT a.patient_id) FROM admissions a JOIN admissions b ON a.patient_id = b.patient_id AND b.admitted > a.discharged AND b.admitted <= a.discharged + INTERVAL '30' DAY

-- registry: index admissions with an EXISTS
SELECT a.ward, COUNT(*) AS n, SUM(CASE WHEN EXISTS (SELECT 1 FROM admissions r WHERE r.patient_id = a.patient_id AND r.admitted > a.discharged AND r.admitted <= a.discharged + 30) THEN 1 ELSE 0 END) AS readm FROM admissions a WHERE a.emergency GROUP BY a.ward

-- registry: survival by month since first admission
WITH first AS (SELECT patient_id, MIN(admitted) AS t0 FROM admissions GROUP BY patient_id),
surv AS (SELECT DATEDIFF('month', f.t0, p.died_on) AS m FROM first f JOIN patients p ON p.id = f.patient_id WHERE p.died_on >= f.t0)
SELECT m, COUNT(*) AS deaths, SUM(COUNT(*)) OVER (ORDER BY m) AS cumulative FROM surv WHERE m < 24 GROUP BY m ORDER BY m

-- registry: Kaplan-Meier-like survivors at one, two and three years
WITH f AS (SELECT patient_id, MIN(admitted) t0 FROM admissions GROUP BY 1)
SELECT COUNT(*) AS n, AVG(CASE WHEN p.died_on IS NULL OR p.died_on > f.t0 + INTERVAL 1 YEAR THEN 1 ELSE 0 END) AS s1,
  AVG(CASE WHEN p.died_on IS NULL OR p.died_on > f.t0 + INTERVAL 2 YEAR THEN 1 ELSE 0 END) AS s2,
  AVG(CASE WHEN p.died_on IS NULL OR p.died_on > f.t0 + INTERVAL 3 YEAR THEN 1 ELSE 0 END) AS s3
FROM f JOIN patients p ON p.id = f.patient_id

-- registry: BMI categories by sex
-- about: 1e-3
SELECT sex, CASE WHEN weight / POWER(height / 100.0, 2) < 18.5 THEN 'underweight' WHEN weight / POWER(height / 100.0, 2) < 25 THEN 'normal' WHEN weight / POWER(height / 100.0, 2) < 30 THEN 'overweight' ELSE 'obese' END AS bmi_class, COUNT(*) FROM patients GROUP BY sex, bmi_class ORDER BY 1, 2

-- registry: BMI as a CTE, percentiles
-- about: 5e-2
WITH b AS (SELECT sex, weight / ((height * 0.01) * (height * 0.01)) AS bmi FROM patients WHERE height > 0)
SELECT sex, MEDIAN(bmi) AS med, QUANTILE_CONT(bmi, 0.9) AS p90 FROM b GROUP BY sex

-- registry: incidence per 100 000 inhabitants
WITH c AS (SELECT p.canton, COUNT(DISTINCT p.id) AS cases FROM patients p JOIN admissions a ON a.patient_id = p.id WHERE a.icd LIKE 'A15%' AND YEAR(a.admitted) = 2022 GROUP BY p.canton)
SELECT c.canton, c.cases, ROUND(1e5 * c.cases / pop.inhabitants, 2) AS per_100k FROM c JOIN population pop USING (canton) ORDER BY per_100k DESC

-- registry: chapters, including those without a case
SELECT ch.chapter, COUNT(a.id) AS n FROM chapters ch LEFT JOIN admissions a ON LEFT(a.icd, 1) = ch.letter GROUP BY ch.chapter ORDER BY n DESC

-- registry: latest lab per patient
SELECT AVG(value) AS mean_last_crp FROM (SELECT patient_id, value, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY taken_at DESC) AS rn FROM labs WHERE test = 'crp') t WHERE rn = 1

-- registry: share with elevated CRP within two days of admission
SELECT COUNT(DISTINCT a.id) FILTER (WHERE l.value > 100) AS high, COUNT(DISTINCT a.id) AS tested
FROM admissions a JOIN labs l ON l.patient_id = a.patient_id AND l.test = 'crp' AND CAST(l.taken_at AS DATE) BETWEEN a.admitted AND a.admitted + 200

-- registry: correlation of age and length of stay
-- about: 1e-4
SELECT CORR(a.discharged - a.admitted, DATE_DIFF('year', p.dob, a.admitted)) AS r FROM admissions a JOIN patients p ON p.id = a.patient_id

-- registry: odds ratio of death for smokers
SELECT (SUM(CASE WHEN smoking = 'current' AND died_on IS NOT NULL THEN 1 ELSE 0 END) * 1.0 * SUM(CASE WHEN smoking <> 'current' AND died_on IS NULL THEN 1 ELSE 0 END)) /
  NULLIF(SUM(CASE WHEN smoking = 'current' AND died_on IS NULL THEN 1 ELSE 0 END) * SUM(CASE WHEN smoking <> 'current' AND died_on IS NOT NULL THEN 1 ELSE 0 END), 0) AS odds_ratio FROM patients

-- registry: unknown smoking status as a group
SELECT COALESCE(smoking, 'unknown') AS smoking, COUNT(*) AS n, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS pct FROM patients GROUP BY 1 ORDER BY n DESC

-- registry: PostgreSQL age
-- plain: SELECT AVG(EXTRACT(year FROM AGE(a.admitted, p.dob))) FROM admissions a JOIN patients p ON p.id = a.patient_id WHERE a.ward = 'Medicine'
SELECT AVG(EXTRACT(YEAR FROM AGE(a.admitted, p.dob)))::numeric(5,1) FROM admissions a INNER JOIN patients p ON (p.id = a.patient_id) WHERE a.ward = 'Medicine'
-- about: 1e-2

-- registry: number of admissions per patient, distribution
SELECT n_adm, COUNT(*) AS patients FROM (SELECT p.id, COUNT(a.id) AS n_adm FROM patients p LEFT JOIN admissions a ON a.patient_id = p.id GROUP BY p.id) t GROUP BY n_adm ORDER BY n_adm

-- registry: patients never admitted
SELECT sex, COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT * FROM admissions a WHERE a.patient_id = p.id) GROUP BY sex

-- registry: monthly admissions with seven-month moving average
SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', admitted) ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS ma7 FROM admissions GROUP BY 1 ORDER BY 1

-- registry: rollup of canton and sex with labels
SELECT CASE WHEN GROUPING(canton) = 1 THEN 'All cantons' ELSE canton END AS canton, CASE WHEN GROUPING(sex) = 1 THEN 'Both' ELSE sex END AS sex, COUNT(*) AS n FROM patients GROUP BY ROLLUP (canton, sex)

-- registry: T-SQL year to year
-- plain: SELECT year(admitted) AS yr, count(*) AS n, count(*) - lag(count(*)) OVER (ORDER BY year(admitted)) AS delta FROM admissions GROUP BY year(admitted) ORDER BY yr
SELECT DATEPART(year, admitted) AS yr, COUNT(*) AS n, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY DATEPART(year, admitted)) AS delta FROM [admissions] GROUP BY DATEPART(year, admitted) ORDER BY yr

-- registry: paired labs by pivoting with CASE
SELECT COUNT(*) AS both_measured, AVG(crp_max) AS crp, AVG(hb_min) AS hb FROM (SELECT patient_id, MAX(CASE WHEN test = 'crp' THEN value END) AS crp_max, MIN(CASE WHEN test = 'hb' THEN value END) AS hb_min FROM labs GROUP BY patient_id) w WHERE crp_max IS NOT NULL AND hb_min IS NOT NULL

-- registry: change from first to last HbA1c
SELECT AVG(last_v - first_v) AS mean_change FROM (SELECT DISTINCT patient_id, FIRST_VALUE(value) OVER w AS first_v, LAST_VALUE(value) OVER w AS last_v FROM labs WHERE test = 'hba1c' AND value IS NOT NULL WINDOW w AS (PARTITION BY patient_id ORDER BY taken_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) z

-- registry: standardised rates through a public weight
WITH rates AS (SELECT canton, SUM(CASE WHEN died_on IS NOT NULL THEN 1.0 ELSE 0 END) / COUNT(*) AS r FROM patients GROUP BY canton)
SELECT SUM(r * inhabitants) / SUM(inhabitants) AS weighted FROM rates JOIN population USING (canton)

-- registry: wrong case of a listed value
-- refused: 'icu' is not in the domain of ward
SELECT COUNT(*) FROM admissions WHERE ward = 'icu'

-- registry: bed days per month from a generated calendar
SELECT d.day, COUNT(*) AS in_house FROM (SELECT UNNEST(GENERATE_SERIES(DATE '2022-01-01', DATE '2022-01-31', INTERVAL 1 DAY))::DATE AS day) d JOIN admissions a ON a.admitted <= d.day AND a.discharged > d.day GROUP BY d.day ORDER BY d.day

-- registry: median time between admissions
SELECT MEDIAN(gap) FROM (SELECT admitted - LAG(discharged) OVER (PARTITION BY patient_id ORDER BY admitted) AS gap FROM admissions WHERE discharged IS NOT NULL) t WHERE gap > 0

-- registry: list of patients over 100
-- refused: rows are not released
SELECT id, sex, dob FROM patients WHERE dob < DATE '1926-01-01'

-- registry: comorbidity count
SELECT k, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(DISTINCT LEFT(icd, 1)) AS k FROM admissions GROUP BY patient_id) c GROUP BY k HAVING COUNT(*) > 5 ORDER BY k

-- registry: first diagnosis and later stroke
WITH dm AS (SELECT patient_id, MIN(admitted) AS dx FROM admissions WHERE icd LIKE 'E11%' GROUP BY patient_id),
stroke AS (SELECT patient_id, MIN(admitted) AS ev FROM admissions WHERE icd LIKE 'I63%' GROUP BY patient_id)
SELECT COUNT(*) AS diabetics, COUNT(stroke.ev) AS strokes_after, AVG(stroke.ev - dm.dx) AS mean_days FROM dm LEFT JOIN stroke ON stroke.patient_id = dm.patient_id AND stroke.ev > dm.dx

-- app: daily active users
SELECT CAST(ts AS DATE) AS day, COUNT(DISTINCT user_id) AS dau FROM events WHERE ts >= '2024-03-01' AND ts < '2024-04-01' GROUP BY 1 ORDER BY 1

-- app: DAU over MAU
WITH d AS (SELECT DATE_TRUNC('day', ts) AS day, COUNT(DISTINCT user_id) AS dau FROM events GROUP BY 1),
m AS (SELECT DATE_TRUNC('month', ts) AS month, COUNT(DISTINCT user_id) AS mau FROM events GROUP BY 1)
SELECT m.month, AVG(d.dau) / m.mau AS stickiness FROM d JOIN m ON DATE_TRUNC('month', d.day) = m.month GROUP BY m.month, m.mau ORDER BY m.month

-- app: funnel by platform
SELECT u.platform, COUNT(DISTINCT CASE WHEN e.name = 'open' THEN e.user_id END) AS opened, COUNT(DISTINCT CASE WHEN e.name = 'view_item' THEN e.user_id END) AS viewed,
  COUNT(DISTINCT CASE WHEN e.name = 'purchase' THEN e.user_id END) AS bought,
  1.0 * COUNT(DISTINCT CASE WHEN e.name = 'purchase' THEN e.user_id END) / COUNT(DISTINCT CASE WHEN e.name = 'open' THEN e.user_id END) AS cr
FROM users u JOIN events e USING (user_id) GROUP BY u.platform

-- app: ordered funnel
WITH steps AS (SELECT user_id, MIN(ts) FILTER (WHERE name = 'view_item') AS t1, MIN(ts) FILTER (WHERE name = 'add_to_cart') AS t2, MIN(ts) FILTER (WHERE name = 'purchase') AS t3 FROM events GROUP BY user_id)
SELECT COUNT(t1) AS s1, COUNT(CASE WHEN t2 > t1 THEN 1 END) AS s2, COUNT(CASE WHEN t2 > t1 AND t3 > t2 THEN 1 END) AS s3 FROM steps

-- app: retention cohorts by month
WITH cohort AS (SELECT user_id, DATE_TRUNC('month', signed_up_at) AS c FROM users)
SELECT c AS cohort, DATE_DIFF('month', c, DATE_TRUNC('month', e.ts)) AS month_no, COUNT(DISTINCT e.user_id) AS active
FROM cohort JOIN events e USING (user_id) WHERE e.ts >= c GROUP BY 1, 2 ORDER BY 1, 2

-- app: retention as a share of the cohort's size
WITH size AS (SELECT DATE_TRUNC('quarter', signed_up_at) AS q, COUNT(*) AS n FROM users GROUP BY 1),
act AS (SELECT DATE_TRUNC('quarter', u.signed_up_at) AS q, COUNT(DISTINCT u.user_id) AS a FROM users u JOIN events e ON e.user_id = u.user_id AND e.ts BETWEEN u.signed_up_at + INTERVAL 30 DAY AND u.signed_up_at + INTERVAL 60 DAY GROUP BY 1)
SELECT size.q, size.n, COALESCE(act.a, 0) AS retained, COALESCE(act.a, 0) * 1.0 / size.n AS rate FROM size LEFT JOIN act ON act.q = size.q ORDER BY 1

-- app: sessions of thirty minutes of idle time
WITH e AS (SELECT user_id, ts, LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) AS prev FROM events),
f AS (SELECT user_id, ts, CASE WHEN prev IS NULL OR ts - prev > INTERVAL '30 minutes' THEN 1 ELSE 0 END AS is_new FROM e)
SELECT SUM(is_new) AS sessions, COUNT(DISTINCT user_id) AS users, SUM(is_new) * 1.0 / COUNT(DISTINCT user_id) AS per_user FROM f

-- app: mean events per session
WITH f AS (SELECT user_id, ts, CASE WHEN ts - LAG(ts) OVER (PARTITION BY user_id ORDER BY ts) <= INTERVAL '10 day' THEN 0 ELSE 1 END AS new_s FROM events),
s AS (SELECT user_id, SUM(new_s) OVER (PARTITION BY user_id ORDER BY ts) AS sid FROM f),
l AS (SELECT user_id, sid, COUNT(*) AS len FROM s GROUP BY user_id, sid)
SELECT AVG(len) FROM l

-- app: percent of total revenue by plan
SELECT plan, SUM(amount) AS revenue, 100 * SUM(amount) / SUM(SUM(amount)) OVER () AS pct FROM invoices WHERE NOT refunded GROUP BY plan ORDER BY revenue DESC

-- app: running revenue
SELECT month, revenue, SUM(revenue) OVER (ORDER BY month) AS running FROM (SELECT DATE_TRUNC('month', paid_on) AS month, SUM(amount) AS revenue FROM invoices GROUP BY 1) r ORDER BY month

-- app: month over month growth in MySQL's words
-- plain: SELECT strftime(paid_on, '%Y-%m') AS ym, SUM(amount) AS rev, (SUM(amount) - LAG(SUM(amount)) OVER (ORDER BY strftime(paid_on, '%Y-%m'))) / LAG(SUM(amount)) OVER (ORDER BY strftime(paid_on, '%Y-%m')) AS growth FROM invoices GROUP BY 1 ORDER BY 1
SELECT DATE_FORMAT(paid_on, '%Y-%m') AS ym, SUM(amount) AS rev, (SUM(amount) - LAG(SUM(amount)) OVER (ORDER BY DATE_FORMAT(paid_on, '%Y-%m'))) / LAG(SUM(amount)) OVER (ORDER BY DATE_FORMAT(paid_on, '%Y-%m')) AS growth FROM invoices GROUP BY 1 ORDER BY 1

-- app: top 2 events of every country
SELECT * FROM (SELECT u.country, e.name, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY u.country ORDER BY COUNT(*) DESC, e.name) AS rk FROM users u JOIN events e ON e.user_id = u.user_id GROUP BY u.country, e.name) t WHERE rk <= 2 ORDER BY country, rk

-- app: QUALIFY in Snowflake's way
SELECT platform, referrer, COUNT(*) AS signups FROM users WHERE referrer IS NOT NULL GROUP BY platform, referrer QUALIFY RANK() OVER (PARTITION BY platform ORDER BY signups DESC) = 1

-- app: A/B test, conversion with confidence interval
WITH c AS (SELECT u.variant, COUNT(*) AS n, SUM(CASE WHEN p.user_id IS NOT NULL THEN 1 ELSE 0 END) AS conv FROM users u LEFT JOIN (SELECT DISTINCT user_id FROM events WHERE name = 'purchase') p ON p.user_id = u.user_id GROUP BY u.variant)
SELECT variant, n, conv, conv * 1.0 / n AS rate, 1.96 * SQRT((conv * 1.0 / n) * (1 - conv * 1.0 / n) / n) AS ci FROM c ORDER BY variant

-- app: z-score of the test in one row
WITH c AS (SELECT variant, COUNT(*) AS n, COUNT(*) FILTER (WHERE user_id IN (SELECT user_id FROM invoices WHERE plan = 'pro')) AS k FROM users GROUP BY variant)
SELECT (t.k * 1.0 / t.n - x.k * 1.0 / x.n) / SQRT(((t.k + x.k) * 1.0 / (t.n + x.n)) * (1 - (t.k + x.k) * 1.0 / (t.n + x.n)) * (1.0 / t.n + 1.0 / x.n)) AS z FROM c t JOIN c x ON t.variant = 'treatment' AND x.variant = 'control'

-- app: ARPU of payers by continent
SELECT c.continent, SUM(i.amount) / COUNT(DISTINCT i.user_id) AS arpu FROM invoices i JOIN users u ON u.user_id = i.user_id JOIN countries c ON c.code = u.country WHERE i.refunded = FALSE GROUP BY c.continent

-- app: lifetime value quartiles
-- about: 2e-2
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY ltv) AS q1, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY ltv) AS q2, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY ltv) AS q3 FROM (SELECT user_id, SUM(amount) AS ltv FROM invoices GROUP BY user_id) v

-- app: time to first purchase in days
SELECT AVG(EXTRACT(EPOCH FROM (first_buy - signed_up_at)) / 86400) AS days FROM users u JOIN (SELECT user_id, MIN(ts) AS first_buy FROM events WHERE name = 'purchase' GROUP BY user_id) p ON p.user_id = u.user_id WHERE first_buy > signed_up_at
-- about: 1e-3

-- app: share of users with three opens or more
SELECT COUNT(*) FILTER (WHERE opens >= 3) * 100.0 / COUNT(*) FROM (SELECT user_id, COUNT(*) AS opens FROM events WHERE name = 'open' GROUP BY user_id) o

-- app: new and returning per month
SELECT DATE_TRUNC('month', e.ts) AS m, CASE WHEN DATE_TRUNC('month', u.signed_up_at) = DATE_TRUNC('month', e.ts) THEN 'new' ELSE 'returning' END AS kind, COUNT(DISTINCT e.user_id) AS users FROM events e JOIN users u ON u.user_id = e.user_id GROUP BY 1, 2 ORDER BY 1, 2

-- app: hour by weekday heat map
SELECT EXTRACT(ISODOW FROM ts) AS dow, EXTRACT(HOUR FROM ts) AS hr, COUNT(*) AS n FROM events GROUP BY dow, hr ORDER BY dow, hr

-- app: PIVOT of events by platform
PIVOT (SELECT u.platform, e.name, COUNT(*) AS n FROM users u JOIN events e ON e.user_id = u.user_id GROUP BY 1, 2) ON platform USING SUM(n) GROUP BY name ORDER BY name

-- app: PIVOT as T-SQL has it
SELECT * FROM (SELECT plan, YEAR(paid_on) AS yr, SUM(amount) AS total FROM invoices GROUP BY plan, YEAR(paid_on)) s PIVOT (SUM(total) FOR yr IN (2023, 2024)) ORDER BY plan

-- app: BigQuery functions
-- plain: SELECT date_trunc('week', ts) AS wk, count(*) FILTER (WHERE name = 'purchase') AS buys, count(*) FILTER (WHERE name = 'purchase') / nullif(count(*), 0) AS share FROM events GROUP BY 1 ORDER BY 1
SELECT DATE_TRUNC(ts, ISOWEEK) AS wk, COUNTIF(name = 'purchase') AS buys, SAFE_DIVIDE(COUNTIF(name = 'purchase'), COUNT(*)) AS share FROM `events` GROUP BY wk ORDER BY wk

-- app: misspelt column
-- refused: plattform
SELECT plattform, COUNT(*) FROM users GROUP BY plattform

-- app: forgotten group by
-- refused: platform
SELECT platform, COUNT(*) FROM users

-- app: double quotes round a text
-- refused: unknown column 'ios'
SELECT COUNT(*) FROM users WHERE platform = "ios"

-- app: names of buyers
-- refused: user_id
SELECT DISTINCT user_id FROM events WHERE name = 'purchase' LIMIT 10

-- app: screens visited, unnested steps
SELECT COALESCE(screen, '(none)') AS screen, name, COUNT(*) AS n, COUNT(DISTINCT user_id) AS uniq FROM events GROUP BY COALESCE(screen, '(none)'), name ORDER BY n DESC LIMIT 20

-- app: power users, those above average
-- refused: other people's rows would decide
WITH per AS (SELECT user_id, COUNT(*) AS n FROM events GROUP BY user_id)
SELECT COUNT(*) FROM per WHERE n > (SELECT AVG(n) FROM per)

-- app: next event after a view
SELECT nxt, COUNT(*) AS n FROM (SELECT name, LEAD(name) OVER (PARTITION BY user_id ORDER BY ts) AS nxt FROM events) t WHERE name = 'view_item' AND nxt IS NOT NULL GROUP BY nxt ORDER BY n DESC

-- app: churned subscribers, no invoice in 90 days
SELECT COUNT(*) AS churned FROM (SELECT user_id, MAX(paid_on) AS last_paid FROM invoices GROUP BY user_id HAVING MAX(paid_on) < DATE '2024-12-31' - INTERVAL 90 DAY) q

-- app: users per number of platforms, two-column distinct
SELECT COUNT(DISTINCT (user_id, name)) AS pairs FROM events

-- schools: mean mark by subject and grade
SELECT m.subject, p.grade, ROUND(AVG(m.mark), 2) AS mean, COUNT(m.mark) AS n FROM marks AS m INNER JOIN pupils AS p ON p.pupil_id = m.pupil_id GROUP BY m.subject, p.grade ORDER BY m.subject, p.grade

-- schools: fail rate by area
SELECT s.area, SUM(CASE WHEN m.mark < 4 THEN 1 ELSE 0 END) / COUNT(m.mark)::FLOAT AS fail_rate FROM marks m JOIN pupils p USING (pupil_id) JOIN schools s USING (school_id) GROUP BY s.area
-- about: 1e-5

-- schools: pupils whose average is insufficient
WITH avgs AS (SELECT pupil_id, AVG(mark) AS a FROM marks WHERE subject IN ('maths','german','french') GROUP BY pupil_id)
SELECT p.grade, COUNT(*) AS at_risk FROM avgs JOIN pupils p ON p.pupil_id = avgs.pupil_id WHERE avgs.a < 3.4 GROUP BY p.grade ORDER BY p.grade

-- schools: use of capacity
SELECT s.name, s.capacity, COUNT(p.pupil_id) AS enrolled, ROUND(100.0 * COUNT(p.pupil_id) / s.capacity, 1) AS occupancy FROM schools s LEFT JOIN pupils p ON p.school_id = s.school_id GROUP BY s.name, s.capacity ORDER BY occupancy DESC

-- schools: overcrowded schools
SELECT s.name FROM schools s JOIN pupils p ON p.school_id = s.school_id GROUP BY s.name, s.capacity HAVING COUNT(*) > s.capacity ORDER BY s.name

-- schools: absences per hundred pupils
SELECT p.school_id, 100.0 * SUM(a.lessons) / COUNT(DISTINCT p.pupil_id) AS per_100 FROM pupils p LEFT JOIN absences a ON a.pupil_id = p.pupil_id GROUP BY p.school_id ORDER BY 1

-- schools: unexcused share by weekday names
SELECT DAYNAME(day) AS weekday, AVG(CASE WHEN excused THEN 0.0 ELSE 1.0 END) AS unexcused FROM absences WHERE excused IS NOT NULL GROUP BY DAYNAME(day)

-- schools: chronic absentees
SELECT gender, COUNT(*) FROM pupils WHERE pupil_id IN (SELECT pupil_id FROM absences GROUP BY pupil_id HAVING SUM(lessons) >= 20) GROUP BY gender

-- schools: absences on days next to holidays
SELECT h.name, COUNT(*) AS n FROM absences a JOIN holidays h ON a.day BETWEEN h.starts - 3 AND h.starts - 1 OR a.day BETWEEN h.ends + 1 AND h.ends + 3 GROUP BY h.name ORDER BY h.name

-- schools: gender gap in maths
SELECT AVG(CASE WHEN p.gender = 'boy' THEN m.mark END) - AVG(CASE WHEN p.gender = 'girl' THEN m.mark END) AS gap FROM marks m JOIN pupils p ON p.pupil_id = m.pupil_id WHERE m.subject = 'maths'

-- schools: rank of schools by mean mark
SELECT s.name, AVG(m.mark) AS mean, DENSE_RANK() OVER (ORDER BY AVG(m.mark) DESC) AS place FROM schools s JOIN pupils p ON p.school_id = s.school_id JOIN marks m ON m.pupil_id = p.pupil_id WHERE m.subject = 'german' GROUP BY s.name ORDER BY place

-- schools: schools above the overall mean
WITH per_school AS (SELECT p.school_id, AVG(m.mark) AS mean FROM pupils p JOIN marks m ON m.pupil_id = p.pupil_id GROUP BY p.school_id)
SELECT school_id, mean FROM per_school WHERE mean > (SELECT AVG(mean) FROM per_school) ORDER BY mean DESC

-- schools: age on the day school starts
SELECT FLOOR(DATE_DIFF('month', born, DATE '2023-08-01') / 12) AS age, COUNT(*) FROM pupils GROUP BY 1 ORDER BY 1

-- schools: too old for their grade
SELECT grade, COUNT(*) AS overage FROM pupils WHERE DATE_PART('year', AGE(DATE '2023-08-01', born)) > grade + 7 GROUP BY grade ORDER BY grade

-- schools: histogram of marks
SELECT FLOOR(mark * 2) / 2 AS bin, COUNT(*) AS n FROM marks WHERE mark IS NOT NULL GROUP BY 1 ORDER BY 1

-- schools: standard deviation and spread
-- plain: SELECT subject, STDDEV_SAMP(mark), VAR_POP(mark), 1.25, 5.75 FROM marks GROUP BY subject
-- about: 1e-4
SELECT subject, STDDEV_SAMP(mark) AS sd, VAR_POP(mark) AS v, MIN(mark) AS lo, MAX(mark) AS hi FROM marks GROUP BY subject

-- schools: marks and absences together without double counting
SELECT CORR(m.mean, COALESCE(a.lessons, 0)) AS r FROM (SELECT pupil_id, AVG(mark) AS mean FROM marks GROUP BY pupil_id) m LEFT JOIN (SELECT pupil_id, SUM(lessons) AS lessons FROM absences GROUP BY pupil_id) a ON a.pupil_id = m.pupil_id
-- about: 1e-3

-- schools: quintiles of pupils by mean mark
SELECT q, COUNT(*) AS pupils, AVG(a) AS mean FROM (SELECT pupil_id, AVG(mark) AS a, NTILE(5) OVER (ORDER BY AVG(mark)) AS q FROM marks GROUP BY pupil_id) x GROUP BY q
-- refused: NTILE OVER is refused here: it would look at the rows of several units

-- schools: improvement over two terms
SELECT AVG(t2 - t1) FROM (SELECT pupil_id, AVG(mark) FILTER (WHERE given_on < '2024-02-01') AS t1, AVG(mark) FILTER (WHERE given_on >= '2024-02-01') AS t2 FROM marks WHERE subject = 'maths' GROUP BY pupil_id) z WHERE t1 IS NOT NULL AND t2 IS NOT NULL

-- schools: crosstab with totals
SELECT grade, COUNT(*) FILTER (WHERE gender = 'girl') AS girls, COUNT(*) FILTER (WHERE gender = 'boy') AS boys, COUNT(*) AS total FROM pupils GROUP BY CUBE (grade) ORDER BY grade NULLS LAST

-- schools: union of two answers
SELECT 'marks' AS source, COUNT(*) AS n FROM marks UNION ALL SELECT 'absences', COUNT(*) FROM absences UNION ALL SELECT 'pupils', COUNT(*) FROM pupils

-- schools: language of the school's pupils as a list
SELECT s.area, STRING_AGG(DISTINCT p.language, ', ') FROM pupils p JOIN schools s USING (school_id) GROUP BY s.area
-- refused: STRING_AGG

-- schools: LIKE ANY, ILIKE, regexp
SELECT COUNT(*) FROM pupils WHERE language ILIKE 'D%' OR language ~ '^(fr|it)$'

-- schools: class with most special needs
SELECT school_id, grade, AVG(special_needs::INT) AS share FROM pupils GROUP BY school_id, grade HAVING COUNT(*) >= 5 ORDER BY share DESC LIMIT 3

-- schools: Oracle NVL and DECODE
-- plain: SELECT CASE gender WHEN 'girl' THEN 'F' WHEN 'boy' THEN 'M' ELSE '?' END AS g, coalesce(language, 'n/a') AS lang, count(*) FROM pupils GROUP BY 1, 2 ORDER BY 1, 2
SELECT DECODE(gender, 'girl', 'F', 'boy', 'M', '?') AS g, NVL(language, 'n/a') AS lang, COUNT(*) FROM pupils GROUP BY DECODE(gender, 'girl', 'F', 'boy', 'M', '?'), NVL(language, 'n/a') ORDER BY 1, 2

-- schools: pupil-level model inputs
-- refused: rows are not released
SELECT p.*, m.mark FROM pupils p JOIN marks m ON m.pupil_id = p.pupil_id

-- grid: consumption per month and heating
SELECT TO_CHAR(r.read_at, 'YYYY-MM') AS month, h.heating, SUM(r.kwh) AS kwh FROM readings r JOIN households h ON h.hh_id = r.hh_id GROUP BY 1, 2 ORDER BY 1, 2
-- plain: SELECT strftime(r.read_at, '%Y-%m') AS month, h.heating, SUM(r.kwh) AS kwh FROM readings r JOIN households h ON h.hh_id = r.hh_id GROUP BY 1, 2 ORDER BY 1, 2

-- grid: kWh per square metre
-- about: 1e-3
SELECT heating, AVG(total / area_m2) AS kwh_per_m2 FROM (SELECT h.hh_id, h.heating, h.area_m2, SUM(r.kwh) AS total FROM households h JOIN readings r ON r.hh_id = h.hh_id GROUP BY h.hh_id, h.heating, h.area_m2) t GROUP BY heating

-- grid: intensity as a ratio of sums
SELECT h.heating, SUM(r.kwh) / COUNT(DISTINCT h.hh_id) AS per_household FROM households h JOIN readings r ON r.hh_id = h.hh_id WHERE r.read_at >= TIMESTAMP '2024-01-01' GROUP BY h.heating

-- grid: revenue at tariff price
SELECT t.tariff, SUM(r.kwh * t.price_kwh) AS revenue FROM readings r JOIN households h ON h.hh_id = r.hh_id JOIN tariffs t ON t.tariff = h.tariff GROUP BY t.tariff ORDER BY revenue DESC

-- grid: weather regression
-- about: 1e-3
SELECT REGR_SLOPE(r.kwh, d.hdd) AS slope, REGR_INTERCEPT(r.kwh, d.hdd) AS base, REGR_R2(r.kwh, d.hdd) AS r2 FROM readings r JOIN degree_days d ON d.day = r.read_at::DATE

-- grid: regression on daily totals
-- about: 1e-3
WITH daily AS (SELECT r.read_at::DATE AS day, SUM(r.kwh) AS kwh FROM readings r GROUP BY 1)
SELECT REGR_SLOPE(daily.kwh, d.hdd), CORR(daily.kwh, d.hdd) FROM daily JOIN degree_days d USING (day)

-- grid: late payers
SELECT CASE WHEN paid_on IS NULL THEN 'open' WHEN paid_on <= due_on THEN 'on time' WHEN paid_on - due_on <= 30 THEN '1-30 days' ELSE 'over 30 days' END AS bucket, COUNT(*) AS n, SUM(amount_due) AS amount FROM payments GROUP BY bucket ORDER BY bucket

-- grid: ageing report as of a day
SELECT SUM(CASE WHEN DATE '2024-12-31' - due_on BETWEEN 0 AND 30 THEN amount_due ELSE 0 END) AS d30, SUM(CASE WHEN DATE '2024-12-31' - due_on BETWEEN 31 AND 60 THEN amount_due ELSE 0 END) AS d60, SUM(CASE WHEN DATE '2024-12-31' - due_on > 60 THEN amount_due ELSE 0 END) AS older FROM payments WHERE paid_on IS NULL

-- grid: days sales outstanding
SELECT SUM(amount_due * (paid_on - due_on)) / SUM(amount_due) AS weighted_delay FROM payments WHERE paid_on IS NOT NULL

-- grid: peak hours
SELECT HOUR(read_at) AS h, AVG(kwh) AS mean_kwh, RANK() OVER (ORDER BY AVG(kwh) DESC) AS rk FROM readings GROUP BY HOUR(read_at) ORDER BY rk FETCH FIRST 3 ROWS ONLY

-- grid: peak to average ratio
SELECT MAX(s) / AVG(s) AS par FROM (SELECT EXTRACT(HOUR FROM read_at) AS h, SUM(kwh) AS s FROM readings GROUP BY 1) x

-- grid: baseline share, night against day
SELECT SUM(CASE WHEN EXTRACT(HOUR FROM read_at) < 6 OR EXTRACT(HOUR FROM read_at) >= 22 THEN kwh END) / SUM(kwh) AS night_share FROM readings

-- grid: estimated readings by postcode prefix
SELECT SUBSTR(h.postcode, 1, 1) AS region, SUM(CASE WHEN r.estimated THEN 1 ELSE 0 END) AS est, COUNT(*) AS n FROM readings r, households h WHERE r.hh_id = h.hh_id GROUP BY SUBSTR(h.postcode, 1, 1)

-- grid: household size bands and per-capita use
SELECT CASE WHEN persons = 1 THEN '1' WHEN persons = 2 THEN '2' WHEN persons <= 4 THEN '3-4' ELSE '5+' END AS size, SUM(kwh) / SUM(persons) AS per_capita FROM (SELECT h.hh_id, h.persons, SUM(r.kwh) AS kwh FROM households h JOIN readings r USING (hh_id) GROUP BY 1, 2) q GROUP BY 1
-- about: 1e-3

-- grid: year on year by quarter
SELECT QUARTER(read_at) AS q, SUM(kwh) FILTER (WHERE YEAR(read_at) = 2023) AS y23, SUM(kwh) FILTER (WHERE YEAR(read_at) = 2024) AS y24, SUM(kwh) FILTER (WHERE YEAR(read_at) = 2024) / SUM(kwh) FILTER (WHERE YEAR(read_at) = 2023) - 1 AS change FROM readings GROUP BY q ORDER BY q

-- grid: width_bucket of floor space
-- plain: SELECT least(greatest(floor((area_m2 - 0) / 50.0), -1), 6) + 1 AS b, count(*) FROM households GROUP BY 1 ORDER BY 1
SELECT WIDTH_BUCKET(area_m2, 0, 300, 6) AS b, COUNT(*) FROM households GROUP BY 1 ORDER BY 1

-- grid: vintage decades
SELECT CONCAT(FLOOR(YEAR(connected_on) / 10) * 10, 's') AS decade, COUNT(*) AS n FROM households GROUP BY 1 ORDER BY 1
-- plain: SELECT (year(connected_on) // 10 * 10)::INT || 's' AS decade, COUNT(*) AS n FROM households GROUP BY 1 ORDER BY 1

-- grid: top decile of consumers' share
WITH t AS (SELECT hh_id, SUM(kwh) AS k FROM readings GROUP BY hh_id)
SELECT SUM(CASE WHEN k > 400 THEN k ELSE 0 END) / SUM(k) AS share_of_heavy, COUNT(*) FILTER (WHERE k > 400) AS heavy FROM t

-- grid: outliers by three sigma
-- refused: mix the rows of several units
WITH st AS (SELECT AVG(kwh) AS mu, STDDEV(kwh) AS sd FROM readings)
SELECT COUNT(*) FROM readings, st WHERE kwh > mu + 1.5 * sd

-- grid: households with consecutive late payments
SELECT COUNT(DISTINCT hh_id) FROM (SELECT hh_id, paid_on > due_on AS late, LAG(paid_on > due_on) OVER (PARTITION BY hh_id ORDER BY due_on) AS late_before FROM payments) s WHERE late AND late_before

-- grid: geometric mean and log
-- about: 1e-2
SELECT EXP(AVG(LN(kwh))) AS gm FROM readings WHERE kwh > 1

-- grid: share of zero or missing
SELECT AVG((kwh IS NULL)::INT) AS missing, SUM(IF(kwh = 0, 1, 0)) AS zeros, COUNT(*) - COUNT(kwh) AS nulls FROM readings

-- grid: comment in the middle
SELECT /* all */ COUNT(*) AS n -- number of households
FROM households -- table
WHERE persons >= 3;

-- grid: join of three answers
WITH a AS (SELECT heating, COUNT(*) AS n FROM households GROUP BY heating),
b AS (SELECT h.heating, SUM(r.kwh) AS kwh FROM households h JOIN readings r USING (hh_id) GROUP BY h.heating),
c AS (SELECT h.heating, SUM(p.amount_due) AS due FROM households h JOIN payments p USING (hh_id) GROUP BY h.heating)
SELECT a.heating, n, kwh / n AS kwh_per_hh, due / kwh AS price FROM a JOIN b ON b.heating = a.heating JOIN c ON c.heating = a.heating ORDER BY price DESC

-- telephone: minutes by contract and month
SELECT s.contract, DATE_TRUNC('month', c.started)::DATE AS month, SUM(c.seconds) / 60.0 AS minutes FROM calls c JOIN subscribers s ON s.msisdn = c.msisdn GROUP BY 1, 2 ORDER BY 1, 2

-- telephone: churn rate against target
SELECT s.contract, AVG(CASE WHEN s.churned IS NOT NULL THEN 1.0 ELSE 0 END) AS churn, t.max_churn, AVG(CASE WHEN s.churned IS NOT NULL THEN 1.0 ELSE 0 END) > t.max_churn AS over_target FROM subscribers s JOIN targets t ON t.contract = s.contract GROUP BY s.contract, t.max_churn

-- telephone: tenure at churn in months
SELECT contract, AVG(MONTHS_BETWEEN(churned, activated)) AS tenure FROM subscribers WHERE churned > activated GROUP BY contract
-- plain: SELECT contract, AVG(datediff('month', activated, churned)) AS tenure FROM subscribers WHERE churned > activated GROUP BY contract
-- about: 5e-2

-- telephone: active base at the end of each month
WITH months AS (SELECT * FROM GENERATE_SERIES(TIMESTAMP '2023-01-01', TIMESTAMP '2023-12-01', INTERVAL '1 month') AS g(m))
SELECT m, COUNT(*) AS active FROM months JOIN subscribers s ON s.activated <= m AND (s.churned IS NULL OR s.churned > m) GROUP BY m ORDER BY m

-- telephone: dropped to busiest cell per town
SELECT DISTINCT ON (k.town) k.town, k.cell_id, COUNT(*) AS n FROM calls c JOIN cells k ON k.cell_id = c.cell_id GROUP BY k.town, k.cell_id ORDER BY k.town, n DESC

-- telephone: tickets solved within a day
SELECT topic, COUNT(*) AS n, SUM(CASE WHEN closed - opened <= INTERVAL '24 hours' THEN 1 ELSE 0 END) * 1.0 / COUNT(closed) AS in_a_day FROM tickets GROUP BY topic

-- telephone: mean hours to close
SELECT LOWER(topic) AS topic, AVG(EXTRACT(EPOCH FROM closed - opened)) / 3600 AS hours FROM tickets WHERE closed IS NOT NULL GROUP BY LOWER(topic) ORDER BY hours

-- telephone: NPS-like score
SELECT 100.0 * (COUNT(*) FILTER (WHERE csat = 5) - COUNT(*) FILTER (WHERE csat <= 2)) / COUNT(csat) AS score FROM tickets

-- telephone: callers with complaints against those without
SELECT CASE WHEN t.msisdn IS NULL THEN 'no ticket' ELSE 'ticket' END AS grp, COUNT(*) AS subs, AVG(CASE WHEN s.churned IS NULL THEN 0 ELSE 1 END) AS churn FROM subscribers s LEFT JOIN (SELECT msisdn FROM tickets GROUP BY msisdn) t ON t.msisdn = s.msisdn GROUP BY 1

-- telephone: minutes in the month before churn
SELECT AVG(m) FROM (SELECT s.msisdn, SUM(c.seconds) / 60 AS m FROM subscribers s JOIN calls c ON c.msisdn = s.msisdn AND c.started BETWEEN s.churned - INTERVAL '1 month' AND s.churned GROUP BY s.msisdn) z
-- plain: SELECT AVG(m) FROM (SELECT s.msisdn, SUM(c.seconds) / 60 AS m FROM subscribers s JOIN calls c ON c.msisdn = s.msisdn AND c.started BETWEEN s.churned - INTERVAL '1 month' AND s.churned GROUP BY s.msisdn) z
-- about: 1e-2

-- telephone: cumulative distribution of call length
SELECT b, n, SUM(n) OVER (ORDER BY b) * 1.0 / SUM(n) OVER () AS cdf FROM (SELECT seconds / 60 AS b, COUNT(*) AS n FROM calls WHERE seconds < 600 GROUP BY 1) h ORDER BY b

-- telephone: calls by age decade
SELECT (s.age / 10)::INT * 10 AS decade, COUNT(*) AS calls FROM calls c JOIN subscribers s USING (msisdn) GROUP BY 1 ORDER BY 1

-- telephone: roaming share by technology
SELECT technology, AVG(CAST(roaming AS INTEGER)) AS share FROM calls NATURAL JOIN cells GROUP BY technology ORDER BY technology

-- telephone: repeat tickets within a week
SELECT COUNT(*) FROM tickets a WHERE EXISTS (SELECT 1 FROM tickets b WHERE b.msisdn = a.msisdn AND b.opened > a.opened AND b.opened <= a.opened + INTERVAL '7 days')

-- telephone: first call resolution with NOT EXISTS
SELECT a.topic, 1.0 * SUM(CASE WHEN NOT EXISTS (SELECT 1 FROM tickets b WHERE b.msisdn = a.msisdn AND b.opened > a.opened AND b.opened < a.opened + INTERVAL 14 DAY) THEN 1 ELSE 0 END) / COUNT(*) AS fcr FROM tickets a GROUP BY a.topic

-- telephone: lateral last ticket before churn
SELECT l.topic, COUNT(*) AS n FROM subscribers s CROSS JOIN LATERAL (SELECT t.topic FROM tickets t WHERE t.msisdn = s.msisdn AND t.opened < s.churned ORDER BY t.opened DESC LIMIT 1) l GROUP BY l.topic

-- telephone: subscribers by city, tidied
SELECT COALESCE(INITCAP(TRIM(city)), 'Unknown') AS city, COUNT(*) AS n FROM subscribers GROUP BY 1 ORDER BY n DESC
-- plain: SELECT COALESCE(upper(left(trim(city), 1)) || lower(substr(trim(city), 2)), 'Unknown') AS city, COUNT(*) AS n FROM subscribers GROUP BY 1 ORDER BY n DESC

-- telephone: contract tiers and calls with grouping sets
SELECT s.contract, c.direction, COUNT(*) AS n, SUM(c.seconds) AS secs FROM calls c JOIN subscribers s USING (msisdn) GROUP BY GROUPING SETS ((s.contract, c.direction), (s.contract), ())

-- telephone: scalar subqueries side by side
SELECT (SELECT COUNT(*) FROM subscribers) AS subs, (SELECT COUNT(*) FROM calls) AS calls, (SELECT COUNT(*) FROM calls) * 1.0 / (SELECT COUNT(*) FROM subscribers) AS per_sub

-- telephone: phone numbers that call most
-- refused: msisdn
SELECT msisdn, COUNT(*) AS n FROM calls GROUP BY msisdn ORDER BY n DESC LIMIT 10

-- telephone: calls per active day
-- refused: a division is refused whose divisor may be zero
SELECT AVG(n * 1.0 / days) FROM (SELECT msisdn, COUNT(*) AS n, COUNT(DISTINCT CAST(started AS DATE)) AS days FROM calls GROUP BY msisdn) x
-- about: 1e-3

-- telephone: SELECT TOP
-- plain: SELECT c.cell_id, COUNT(*) AS n FROM calls c GROUP BY c.cell_id ORDER BY n DESC LIMIT 3
SELECT TOP 3 c.cell_id, COUNT(*) AS n FROM calls c GROUP BY c.cell_id ORDER BY n DESC

-- hotels: occupancy by hotel and month
SELECT h.name, DATE_TRUNC('month', s.checkin) AS month, SUM(s.checkout - s.checkin) AS nights, SUM(s.checkout - s.checkin) * 100.0 / (h.rooms * 30) AS occ FROM stays s JOIN hotels h ON h.hotel_id = s.hotel_id WHERE NOT s.cancelled GROUP BY h.name, h.rooms, 2 ORDER BY 1, 2

-- hotels: RevPAR and ADR
SELECT h.town, SUM(s.rate * (s.checkout - s.checkin)) / SUM(s.checkout - s.checkin) AS adr FROM stays s JOIN hotels h USING (hotel_id) WHERE s.cancelled = false GROUP BY h.town

-- hotels: cancellation by channel
SELECT channel, COUNT(*) FILTER (WHERE cancelled)::DECIMAL / COUNT(*) AS cancel_rate FROM stays GROUP BY channel ORDER BY cancel_rate DESC
-- about: 1e-3

-- hotels: season from a public calendar
SELECT se.season, COUNT(*) AS stays, AVG(st.rate) AS avg_rate FROM stays st JOIN seasons se ON se.month = EXTRACT(MONTH FROM st.checkin) GROUP BY se.season

-- hotels: loyalty share of nights
SELECT g.tier, SUM(DATEDIFF('day', s.checkin, s.checkout)) AS nights, SUM(DATEDIFF('day', s.checkin, s.checkout)) / SUM(SUM(DATEDIFF('day', s.checkin, s.checkout))) OVER () AS share FROM guests g JOIN stays s ON s.guest_id = g.guest_id GROUP BY g.tier

-- hotels: repeat guests
SELECT COUNT(*) FILTER (WHERE n > 1) * 1.0 / COUNT(*) AS repeat_rate FROM (SELECT guest_id, COUNT(*) AS n FROM stays WHERE NOT cancelled GROUP BY guest_id) t

-- hotels: guests who rated after a stay in the same hotel
SELECT COUNT(*) FROM stays s WHERE EXISTS (SELECT 1 FROM ratings r WHERE r.guest_id = s.guest_id AND r.hotel_id = s.hotel_id AND r.rated_on >= s.checkout)

-- hotels: mean stars with the Bayesian average
WITH g AS (SELECT AVG(stars) AS c FROM ratings), h AS (SELECT hotel_id, AVG(stars) AS r, COUNT(*) AS v FROM ratings GROUP BY hotel_id)
SELECT n.name, (h.v * h.r + 50 * g.c) / (h.v + 50) AS score FROM h CROSS JOIN g JOIN hotels n ON n.hotel_id = h.hotel_id ORDER BY score DESC

-- hotels: five-star share per town with HAVING
SELECT h.town, SUM(CASE WHEN r.stars = 5 THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS five FROM ratings r JOIN hotels h ON h.hotel_id = r.hotel_id GROUP BY h.town HAVING COUNT(*) > (SELECT COUNT(*) / 10 FROM ratings)

-- hotels: length of stay distribution
SELECT CASE WHEN checkout - checkin = 0 THEN 'day use' WHEN checkout - checkin = 1 THEN '1 night' WHEN checkout - checkin <= 3 THEN '2-3' ELSE '4+' END los, COUNT(*) n, ROUND(AVG(rate), 0) avg_rate FROM stays GROUP BY ALL ORDER BY n DESC

-- hotels: generation of the guest
SELECT CASE WHEN birth_year < 1965 THEN 'boomer' WHEN birth_year < 1981 THEN 'X' WHEN birth_year < 1997 THEN 'Y' ELSE 'Z' END AS gen, COUNT(DISTINCT s.guest_id) AS guests, COUNT(*) / COUNT(DISTINCT s.guest_id) AS stays_each FROM stays s JOIN guests g ON g.guest_id = s.guest_id GROUP BY gen

-- hotels: comments about noise
SELECT COUNT(*) FROM ratings WHERE LOWER(comment) LIKE '%loud%' OR comment LIKE '%noise%'

-- hotels: share of comments that mention breakfast, by stars
SELECT stars, AVG(CASE WHEN comment ILIKE '%breakfast%' THEN 1 ELSE 0 END) FROM ratings WHERE comment IS NOT NULL GROUP BY stars ORDER BY stars

-- hotels: overlapping stays
SELECT COUNT(*) FROM stays a JOIN stays b ON a.guest_id = b.guest_id AND a.id < b.id AND a.checkin < b.checkout AND b.checkin < a.checkout

-- hotels: nationality top three and others
WITH n AS (SELECT nationality, COUNT(*) AS c, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM guests WHERE nationality IS NOT NULL GROUP BY nationality)
SELECT CASE WHEN r <= 1 THEN nationality ELSE 'other' END AS nat, SUM(c) AS guests FROM n GROUP BY 1

-- hotels: full outer join of two years
SELECT COALESCE(a.hotel_id, b.hotel_id) AS hotel, a.n AS y23, b.n AS y24 FROM (SELECT hotel_id, COUNT(*) AS n FROM stays WHERE checkin < '2024-01-01' GROUP BY hotel_id) a FULL OUTER JOIN (SELECT hotel_id, COUNT(*) AS n FROM stays WHERE checkin >= '2024-01-01' GROUP BY hotel_id) b ON a.hotel_id = b.hotel_id ORDER BY 1

-- hotels: lead in weekly bookings
SELECT wk, n, n - LEAD(n, 1, 0) OVER (ORDER BY wk) AS diff FROM (SELECT DATE_TRUNC('week', checkin) AS wk, COUNT(*) AS n FROM stays WHERE checkin BETWEEN '2024-01-01' AND '2024-03-31' GROUP BY wk) t ORDER BY wk

-- hotels: guests of gold tier who never rated
SELECT COUNT(*) FROM guests g LEFT JOIN ratings r ON r.guest_id = g.guest_id WHERE r.guest_id IS NULL AND g.tier = 'gold'

-- hotels: weekend arrivals
SELECT CASE WHEN DAYOFWEEK(checkin) IN (0, 6) THEN 'weekend' ELSE 'weekday' END AS wd, AVG(rate) AS adr, COUNT(*) FROM stays GROUP BY 1

-- hotels: pace, days to the thirtieth percentile
SELECT APPROX_QUANTILE(rate, 0.3) AS p30, QUANTILE_DISC(rate, 0.3) AS d30 FROM stays
-- about: 1e-2

-- hotels: mode of channel
SELECT MODE(channel) FROM stays WHERE NOT cancelled

-- hotels: distinct guests and hotels
SELECT COUNT(DISTINCT guest_id) AS guests, COUNT(DISTINCT hotel_id) AS hotels, COUNT(*) AS stays FROM stays

-- hotels: missing table
-- refused: bookings
SELECT COUNT(*) FROM bookings

-- hotels: two statements
-- refused: one
SELECT COUNT(*) FROM guests; SELECT COUNT(*) FROM stays

-- hotels: deleting
-- refused: DELETE
DELETE FROM stays WHERE cancelled

-- hotels: stars as a score per channel, joined stays
SELECT s.channel, AVG(r.stars) AS stars FROM stays s JOIN ratings r ON (r.guest_id, r.hotel_id) = (s.guest_id, s.hotel_id) GROUP BY s.channel

-- hotels: value against price
SELECT NTILE(4) OVER (ORDER BY adr, name) AS quartile, town, adr, stars FROM (SELECT h.name, h.town, AVG(s.rate) AS adr FROM stays s JOIN hotels h USING (hotel_id) GROUP BY 1, 2) p JOIN (SELECT h.name, AVG(r.stars) AS stars FROM ratings r JOIN hotels h USING (hotel_id) GROUP BY 1) q USING (name) ORDER BY adr

-- hotels: year-to-date with named window
SELECT m, n, SUM(n) OVER w AS ytd, AVG(n) OVER w AS mean_so_far FROM (SELECT EXTRACT(MONTH FROM checkin) AS m, COUNT(*) AS n FROM stays WHERE EXTRACT(YEAR FROM checkin) = 2023 GROUP BY 1) t WINDOW w AS (ORDER BY m) ORDER BY m
