-- epidemiologist: admissions by month for pneumonia
SELECT DATE_TRUNC('month', admitted_at) AS month, COUNT(*) AS n FROM stays WHERE icd LIKE 'J18%' GROUP BY 1 ORDER BY 1

-- epidemiologist: age-specific rates by zone population
SELECT z.district, CASE WHEN date_diff('year', p.born, DATE '2024-01-01') < 45 THEN '0-44' WHEN date_diff('year', p.born, DATE '2024-01-01') < 65 THEN '45-64' ELSE '65+' END AS age_group, COUNT(DISTINCT s.person_id) AS cases FROM stays s JOIN persons p ON p.id = s.person_id JOIN zones z ON z.zone_id = p.zone_id GROUP BY 1, 2 ORDER BY 1, 2

-- epidemiologist: directly standardised rate
WITH cases AS (SELECT CASE WHEN 2024 - EXTRACT(YEAR FROM p.born) < 45 THEN '0-44' WHEN 2024 - EXTRACT(YEAR FROM p.born) < 65 THEN '45-64' ELSE '65+' END AS age_group, COUNT(DISTINCT s.person_id) AS sick FROM persons p JOIN stays s ON s.person_id = p.id WHERE s.icd LIKE 'I%' GROUP BY 1), pop AS (SELECT CASE WHEN 2024 - EXTRACT(YEAR FROM born) < 45 THEN '0-44' WHEN 2024 - EXTRACT(YEAR FROM born) < 65 THEN '45-64' ELSE '65+' END AS age_group, COUNT(*) AS people FROM persons GROUP BY 1) SELECT SUM(1000.0 * sick / people * weight) AS rate FROM cases JOIN pop USING (age_group) JOIN standard USING (age_group)

-- epidemiologist: thirty day readmission
WITH ordered AS (SELECT person_id, admitted_at, discharged_at, LEAD(admitted_at) OVER (PARTITION BY person_id ORDER BY admitted_at) AS next_admission FROM stays) SELECT COUNT(*) AS discharges, SUM(CASE WHEN next_admission <= discharged_at + INTERVAL 30 DAY THEN 1 ELSE 0 END) AS readmitted FROM ordered WHERE discharged_at IS NOT NULL

-- epidemiologist: follow-up ends months after discharge
SELECT COUNT(*) AS n FROM stays s JOIN persons p ON p.id = s.person_id WHERE p.died <= CAST(s.discharged_at AS DATE) + s.followup_months * INTERVAL '1 month'

-- epidemiologist: vaccinated or not and admitted or not
SELECT v.person_id IS NOT NULL AS vaccinated, s.person_id IS NOT NULL AS admitted, COUNT(*) AS n FROM persons p LEFT JOIN (SELECT DISTINCT person_id FROM vaccinations) v ON v.person_id = p.id LEFT JOIN (SELECT DISTINCT person_id FROM stays WHERE icd LIKE 'J%') s ON s.person_id = p.id GROUP BY 1, 2

-- epidemiologist: risk ratio from it
WITH t AS (SELECT EXISTS (SELECT 1 FROM vaccinations v WHERE v.person_id = p.id) AS vacc, EXISTS (SELECT 1 FROM stays s WHERE s.person_id = p.id AND s.icd LIKE 'J%') AS ill FROM persons p) SELECT (COUNT(*) FILTER (WHERE vacc AND ill) * 1.0 / COUNT(*) FILTER (WHERE vacc)) / (COUNT(*) FILTER (WHERE NOT vacc AND ill) * 1.0 / COUNT(*) FILTER (WHERE NOT vacc)) AS rr FROM t

-- epidemiologist: median length of stay by ward
-- about: 0.02
SELECT ward, MEDIAN(EXTRACT(EPOCH FROM (discharged_at - admitted_at)) / 86400) AS los FROM stays GROUP BY ward

-- epidemiologist: person years at risk
SELECT sex, SUM(DATEDIFF('day', GREATEST(born, DATE '2022-01-01'), COALESCE(died, DATE '2024-12-31')) / 365.25) AS person_years FROM persons GROUP BY sex

-- epidemiologist: weekly epidemic curve with a moving average
SELECT week, n, AVG(n) OVER (ORDER BY week ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS smoothed FROM (SELECT DATE_TRUNC('week', admitted_at)::DATE AS week, COUNT(*) AS n FROM stays WHERE emergency GROUP BY 1) w ORDER BY week

-- epidemiologist: vaccine coverage by cohort
SELECT FLOOR(EXTRACT(YEAR FROM born) / 10) * 10 AS decade, COUNT(*) AS people, COUNT(*) FILTER (WHERE id IN (SELECT person_id FROM vaccinations WHERE dose >= 2)) AS full_course FROM persons GROUP BY 1 ORDER BY 1

-- epidemiologist: days between first and second dose
SELECT AVG(second.given - first.given) AS days FROM vaccinations first JOIN vaccinations second ON second.person_id = first.person_id AND first.dose = 1 AND second.dose = 2

-- epidemiologist: crp on the first day
SELECT s.ward, AVG(l.value) AS mean_crp, STDDEV(l.value) AS sd FROM labs l JOIN stays s ON s.id = l.stay_id WHERE l.test = 'crp' AND l.taken_at < s.admitted_at + INTERVAL '1 day' GROUP BY s.ward

-- epidemiologist: case fatality within 30 days
SELECT 100.0 * COUNT(CASE WHEN p.died BETWEEN CAST(s.admitted_at AS DATE) AND CAST(s.admitted_at AS DATE) + 30 THEN 1 END) / COUNT(*) AS cfr FROM stays s JOIN persons p ON p.id = s.person_id

-- epidemiologist: three letter code
SELECT REGEXP_REPLACE(icd, '\..*$', '') AS code, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY n DESC

-- epidemiologist: chapter from the first letter
SELECT c.chapter, COUNT(*) AS n FROM stays s JOIN chapters c ON c.letter = SUBSTR(s.icd, 1, 1) GROUP BY c.chapter ORDER BY n DESC

-- epidemiologist: comorbidity pairs
SELECT COUNT(DISTINCT a.person_id) AS both_diagnoses FROM stays a JOIN stays b ON a.person_id = b.person_id WHERE a.icd LIKE 'E11%' AND b.icd LIKE 'I%'

-- epidemiologist: average dose count per person
SELECT AVG(doses) AS mean_doses, MAX(doses) AS most FROM (SELECT p.id, COUNT(v.id) AS doses FROM persons p LEFT JOIN vaccinations v ON v.person_id = p.id GROUP BY p.id) t

-- epidemiologist: seasonality by month of the year as text
-- plain: SELECT STRFTIME(admitted_at, '%b') AS month, COUNT(*) AS n FROM stays GROUP BY 1
SELECT TO_CHAR(admitted_at, 'Mon') AS month, COUNT(*) AS n FROM stays GROUP BY TO_CHAR(admitted_at, 'Mon')

-- epidemiologist: hospitalised shortly after the last dose
SELECT COUNT(*) AS n FROM stays s WHERE EXISTS (SELECT 1 FROM vaccinations v WHERE v.person_id = s.person_id AND s.admitted_at::DATE - v.given BETWEEN 0 AND 14)

-- controller: cost by cost centre against budget
SELECT w.cost_centre, SUM(s.cost) AS spent, MAX(w.budget) AS budget, ROUND(100.0 * SUM(s.cost) / MAX(w.budget), 1) AS pct FROM stays s JOIN wards w ON w.ward = s.ward WHERE YEAR(s.admitted_at) = 2023 GROUP BY w.cost_centre ORDER BY pct DESC

-- controller: case mix index
SELECT s.ward, AVG(t.weight) AS cmi, SUM(t.weight) AS case_mix FROM stays s JOIN tariffs t ON t.drg = s.drg GROUP BY s.ward

-- controller: pivot of quarters
-- plain: SELECT ward, SUM(cost) FILTER (QUARTER(admitted_at) = 1), SUM(cost) FILTER (QUARTER(admitted_at) = 2), SUM(cost) FILTER (QUARTER(admitted_at) = 3), SUM(cost) FILTER (QUARTER(admitted_at) = 4) FROM stays GROUP BY ward
PIVOT (SELECT ward, QUARTER(admitted_at) AS q, cost FROM stays) ON q IN (1, 2, 3, 4) USING SUM(cost) GROUP BY ward

-- controller: year over year growth
SELECT yr, total, total / LAG(total) OVER (ORDER BY yr) - 1 AS growth FROM (SELECT EXTRACT(YEAR FROM admitted_at) AS yr, SUM(cost) AS total FROM stays GROUP BY 1) ORDER BY yr

-- controller: bed days and occupancy
SELECT s.ward, SUM(DATE_DIFF('day', s.admitted_at, s.discharged_at)) AS bed_days, SUM(DATE_DIFF('day', s.admitted_at, s.discharged_at)) * 1.0 / (ANY_VALUE(w.beds) * 365) AS occupancy FROM stays s JOIN wards w USING (ward) GROUP BY s.ward

-- controller: outliers
-- plain: SELECT COUNT(*) AS outliers, SUM(cost) AS their_cost FROM stays WHERE cost > 15000 AND DATEDIFF('day', admitted_at, discharged_at) > 10
SELECT COUNT(*) AS outliers, SUM(cost) AS their_cost FROM stays WHERE cost > 15000 AND DATEDIFF(day, admitted_at, discharged_at) > 10

-- controller: cost classes
-- plain: SELECT CASE WHEN cost < 0 THEN 0 WHEN cost >= 20000 THEN 9 ELSE FLOOR(cost / 2500) + 1 END AS class, COUNT(*) AS n FROM stays GROUP BY 1
SELECT WIDTH_BUCKET(cost, 0, 20000, 8) AS class, COUNT(*) AS n FROM stays GROUP BY 1 ORDER BY 1

-- controller: emergency share by weekday
SELECT DAYNAME(admitted_at) AS weekday, AVG(CASE WHEN emergency THEN 1.0 ELSE 0 END) AS share FROM stays GROUP BY 1

-- controller: text month key
-- plain: SELECT STRFTIME(admitted_at, '%Y-%m') AS period, SUM(cost) AS cost FROM stays GROUP BY 1 HAVING COUNT(*) > 15
SELECT CAST(YEAR(admitted_at) AS VARCHAR) || '-' || LPAD(CAST(MONTH(admitted_at) AS VARCHAR), 2, '0') AS period, SUM(cost) AS cost FROM stays GROUP BY 1 ORDER BY 1

-- controller: percentiles of cost
-- about: 0.002
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost) AS q1, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) AS q2, PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY cost) AS q3 FROM stays

-- controller: subtotals
SELECT COALESCE(ward, 'Total') AS ward, COUNT(*) AS cases, SUM(cost) AS cost FROM stays GROUP BY ROLLUP (ward)

-- controller: share of total
SELECT ward, SUM(cost) AS cost, SUM(cost) / SUM(SUM(cost)) OVER () AS share FROM stays GROUP BY ward

-- controller: top wards
SELECT ward, cost_per_case FROM (SELECT ward, SUM(cost) / COUNT(*) AS cost_per_case FROM stays GROUP BY ward) x ORDER BY cost_per_case DESC LIMIT 2

-- controller: weekend discharges
SELECT COUNT(*) AS n FROM stays WHERE EXTRACT(DOW FROM discharged_at) IN (0, 6)

-- controller: night admissions by hour
SELECT HOUR(admitted_at) AS h, COUNT(*) AS n FROM stays WHERE HOUR(admitted_at) >= 22 OR HOUR(admitted_at) < 6 GROUP BY HOUR(admitted_at) ORDER BY h

-- controller: open cases
SELECT ward, COUNT(*) - COUNT(discharged_at) AS still_in FROM stays GROUP BY ward

-- controller: long stays as a share
SELECT ward, SUM((DATE_DIFF('day', admitted_at, discharged_at) > 7)::INT)::DOUBLE / COUNT(*) AS long_share FROM stays GROUP BY ward HAVING COUNT(*) > 100

-- controller: revenue at the tariff less cost
SELECT SUM(t.weight * 9500 - s.cost) AS margin FROM stays s LEFT JOIN tariffs t ON t.drg = s.drg

-- controller: high cost patients
SELECT COUNT(*) AS patients, AVG(total) AS avg_total FROM (SELECT person_id, SUM(cost) AS total FROM stays GROUP BY person_id HAVING SUM(cost) > 20000) t

-- controller: running total by month
SELECT month, SUM(cost) OVER (ORDER BY month) AS cumulative FROM (SELECT DATE_TRUNC('month', admitted_at) AS month, SUM(cost) AS cost FROM stays WHERE admitted_at >= '2023-01-01' AND admitted_at < '2024-01-01' GROUP BY 1)

-- statistician: mean income by education and sex
-- about: 1
SELECT education, sex, ROUND(AVG(income)) AS mean_income, COUNT(*) AS n FROM persons WHERE employed GROUP BY education, sex ORDER BY 1, 2

-- statistician: gender pay gap
SELECT 1 - AVG(income) FILTER (WHERE sex = 'F') / AVG(income) FILTER (WHERE sex = 'M') AS gap FROM persons WHERE employed = TRUE

-- statistician: age pyramid
SELECT (2024 - YEAR(born)) // 5 * 5 AS age, SUM(CASE WHEN sex = 'M' THEN -1 ELSE 0 END) AS men, SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS women FROM persons GROUP BY 1 ORDER BY 1

-- statistician: population density and sample
SELECT z.name, z.population / z.area_km2 AS density, COUNT(*) AS respondents FROM persons p INNER JOIN zones z ON p.zone_id = z.zone_id GROUP BY z.name, z.population, z.area_km2 ORDER BY density DESC

-- statistician: equivalised income
SELECT AVG(income / SQRT(household_size)) AS equivalised FROM persons

-- statistician: at risk of poverty below 60 percent of the median
WITH m AS (SELECT MEDIAN(income) AS med FROM persons) SELECT COUNT(*) AS poor FROM persons WHERE income < 0.6 * 45000

-- statistician: at risk of poverty against the median itself
-- refused: a subquery is refused here
SELECT AVG(CASE WHEN income < 0.6 * (SELECT MEDIAN(income) FROM persons) THEN 1.0 ELSE 0.0 END) AS arop FROM persons

-- statistician: deciles
-- about: 0.05
SELECT QUANTILE_CONT(income, 0.1) AS p10, QUANTILE_CONT(income, 0.9) AS p90, QUANTILE_CONT(income, 0.9) / QUANTILE_CONT(income, 0.1) AS ratio FROM persons

-- statistician: unemployment rate by district
SELECT z.district, 100.0 * SUM(CASE WHEN NOT p.employed THEN 1 ELSE 0 END) / COUNT(*) AS rate FROM persons p, zones z WHERE p.zone_id = z.zone_id AND p.born < DATE '2006-01-01' GROUP BY z.district

-- statistician: income brackets
SELECT CASE WHEN income < 20000 THEN 'low' WHEN income < 60000 THEN 'middle' ELSE 'high' END AS bracket, COUNT(*) AS n, SUM(income) AS total FROM persons GROUP BY bracket

-- statistician: cross tabulation with pivot
-- plain: SELECT education, COUNT(*) FILTER (sex = 'F'), COUNT(*) FILTER (sex = 'M') FROM persons GROUP BY 1
SELECT * FROM (SELECT education, sex FROM persons) PIVOT (COUNT(*) FOR sex IN ('F', 'M'))

-- statistician: cleaned occupation
SELECT LOWER(TRIM(occupation)) AS job, COUNT(*) AS n FROM persons WHERE occupation IS NOT NULL GROUP BY LOWER(TRIM(occupation)) ORDER BY n DESC

-- statistician: missing values
SELECT COUNT(*) FILTER (WHERE occupation IS NULL) AS missing, COUNT(*) AS total, ROUND(100.0 * COUNT(*) FILTER (WHERE occupation IS NULL) / COUNT(*), 2) AS pct FROM persons

-- statistician: real income of the cost
-- plain: SELECT YEAR(s.admitted_at) AS year, SUM(s.cost) / (MAX(p.cpi) / 100.0) AS real_cost FROM stays s JOIN prices p ON p.year = YEAR(s.admitted_at) GROUP BY 1
SELECT YEAR(s.admitted_at) AS year, SUM(s.cost) / (MAX(p.cpi) / 100.0) AS real_cost FROM stays s JOIN prices p ON p.year = YEAR(s.admitted_at) GROUP BY 1

-- statistician: correlation
SELECT CORR(income, household_size) AS r, REGR_SLOPE(income, household_size) AS b FROM persons

-- statistician: births by month of birth
SELECT MONTHNAME(born) AS m, COUNT(*) AS births FROM persons WHERE born BETWEEN '1950-01-01' AND '1999-12-31' GROUP BY 1

-- statistician: length of the occupation titles
-- refused: LENGTH has no bounds inside an aggregate
SELECT AVG(LENGTH(occupation)) AS mean_length FROM persons

-- statistician: coefficient of variation
SELECT education, STDDEV_SAMP(income) / AVG(income) AS cv FROM persons GROUP BY education

-- statistician: geometric mean
SELECT EXP(AVG(LN(GREATEST(income, 1)))) AS gm FROM persons

-- statistician: life table deaths by age
SELECT CAST(FLOOR(DATE_DIFF('day', born, died) / 365.25) AS INTEGER) AS age_at_death, COUNT(*) AS deaths FROM persons WHERE died IS NOT NULL GROUP BY 1 ORDER BY 1

-- planner: trips by mode and hour of the day
SELECT mode, EXTRACT(HOUR FROM started_at) AS hr, COUNT(*) AS trips FROM trips GROUP BY mode, hr ORDER BY mode, hr

-- planner: average speed
SELECT mode, SUM(km) / (SUM(EPOCH(ended_at) - EPOCH(started_at)) / 3600.0) AS kmh FROM trips GROUP BY mode

-- planner: trip duration in minutes
-- about: 0.02
SELECT mode, AVG(DATE_DIFF('minute', started_at, ended_at)) AS minutes, MEDIAN(DATE_DIFF('minute', started_at, ended_at)) AS med FROM trips GROUP BY mode

-- planner: origin destination matrix
SELECT o.name AS origin, d.name AS destination, COUNT(*) AS trips FROM trips t JOIN zones o ON o.zone_id = t.origin JOIN zones d ON d.zone_id = t.destination GROUP BY o.name, d.name

-- planner: modal split in percent
SELECT mode, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct FROM trips GROUP BY mode ORDER BY pct DESC

-- planner: peak hour share
SELECT SUM(CASE WHEN HOUR(started_at) BETWEEN 7 AND 8 OR HOUR(started_at) BETWEEN 16 AND 18 THEN 1 ELSE 0 END) / COUNT(*)::FLOAT AS peak FROM trips WHERE DAYOFWEEK(started_at) BETWEEN 1 AND 5

-- planner: fifteen minute bins
SELECT TIME_BUCKET(INTERVAL '15 minutes', started_at) AS slot, COUNT(*) AS n FROM trips WHERE started_at >= '2023-05-01' AND started_at < '2023-05-02' GROUP BY slot ORDER BY slot

-- planner: time of day as text
SELECT STRFTIME(started_at, '%H:00') AS hour, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1

-- planner: waiting between trips
SELECT AVG(EXTRACT(EPOCH FROM (started_at - prev_end)) / 60) AS minutes_between FROM (SELECT started_at, LAG(ended_at) OVER (PARTITION BY person_id ORDER BY started_at) AS prev_end FROM trips) t WHERE prev_end IS NOT NULL

-- planner: trips per person and day
SELECT AVG(n) AS trips_per_mobile_day FROM (SELECT person_id, CAST(started_at AS DATE) AS day, COUNT(*) AS n FROM trips GROUP BY 1, 2) d

-- planner: grid cells of pings
SELECT ROUND(lat, 1) AS lat, ROUND(lon, 1) AS lon, COUNT(*) AS pings, AVG(speed) AS mean_speed FROM pings GROUP BY 1, 2

-- planner: detour by haversine-like distance
SELECT AVG(SQRT(POWER((MAX_lat - MIN_lat) * 111, 2) + POWER((MAX_lon - MIN_lon) * 76, 2))) AS crow_km FROM (SELECT trip_id, MAX(lat) AS MAX_lat, MIN(lat) AS MIN_lat, MAX(lon) AS MAX_lon, MIN(lon) AS MIN_lon FROM pings GROUP BY trip_id) b

-- planner: short car trips
SELECT COUNT(*) AS n, 100.0 * AVG((km < 5)::INT) AS pct_short FROM trips WHERE mode = 'car'

-- planner: holiday against other days
SELECT CASE WHEN h.day IS NULL THEN 'normal' ELSE 'holiday' END AS kind, COUNT(*) AS trips FROM trips t LEFT JOIN holidays h ON h.day = CAST(t.started_at AS DATE) GROUP BY 1

-- planner: intermodal chains
SELECT first_mode, next_mode, COUNT(*) AS n FROM (SELECT mode AS first_mode, LEAD(mode) OVER (PARTITION BY person_id ORDER BY started_at) AS next_mode FROM trips) c WHERE next_mode IS NOT NULL GROUP BY first_mode, next_mode

-- planner: purpose in clean words
-- plain: SELECT UPPER(LEFT(p, 1)) || LOWER(SUBSTR(p, 2)) AS purpose, COUNT(*) AS n FROM (SELECT TRIM(purpose) AS p FROM trips) t GROUP BY 1
SELECT INITCAP(TRIM(purpose)) AS purpose, COUNT(*) AS n FROM trips GROUP BY 1

-- planner: fare per kilometre
SELECT mode, SUM(fare) / NULLIF(SUM(km), 0) AS per_km, AVG(fare / NULLIF(km, 0)) AS mean_of_ratios FROM trips WHERE mode IN ('bus', 'rail') GROUP BY mode

-- planner: trips within the same district
SELECT COUNT(*) AS n FROM trips t WHERE (SELECT district FROM zones WHERE zone_id = t.origin) = (SELECT district FROM zones WHERE zone_id = t.destination)

-- planner: night owls
SELECT COUNT(DISTINCT person_id) AS people FROM trips WHERE CAST(started_at AS TIME) >= TIME '23:00:00' OR CAST(started_at AS TIME) < TIME '04:00:00'

-- planner: share above the limit
SELECT COUNT(*) FILTER (speed > 50) * 1.0 / COUNT(*) AS speeding FROM pings

-- product: daily active users
SELECT CAST(started_at AS DATE) AS day, COUNT(DISTINCT person_id) AS dau FROM sessions GROUP BY 1 ORDER BY 1

-- product: monthly actives and stickiness
-- plain: WITH d AS (SELECT DATE_TRUNC('month', started_at) AS m, CAST(started_at AS DATE) AS day, COUNT(DISTINCT person_id) AS dau FROM sessions GROUP BY 1, 2), mm AS (SELECT DATE_TRUNC('month', started_at) AS m, COUNT(DISTINCT person_id) AS mau FROM sessions GROUP BY 1) SELECT mm.m, AVG(d.dau) / mm.mau AS stickiness FROM d JOIN mm ON mm.m = d.m GROUP BY mm.m, mm.mau HAVING mm.m < DATE '2024-09-01'
WITH d AS (SELECT DATE_TRUNC('month', started_at) AS m, CAST(started_at AS DATE) AS day, COUNT(DISTINCT person_id) AS dau FROM sessions GROUP BY 1, 2), mm AS (SELECT DATE_TRUNC('month', started_at) AS m, COUNT(DISTINCT person_id) AS mau FROM sessions GROUP BY 1) SELECT mm.m, AVG(d.dau) / mm.mau AS stickiness FROM d JOIN mm ON mm.m = d.m GROUP BY mm.m, mm.mau ORDER BY 1

-- product: funnel
SELECT COUNT(DISTINCT CASE WHEN action = 'view' THEN session_id END) AS viewed, COUNT(DISTINCT CASE WHEN action = 'add' THEN session_id END) AS added, COUNT(DISTINCT CASE WHEN action = 'purchase' THEN session_id END) AS bought FROM clicks

-- product: conversion by variant
SELECT s.variant, COUNT(DISTINCT s.person_id) AS users, COUNT(DISTINCT CASE WHEN c.action = 'purchase' THEN s.person_id END) AS buyers, COUNT(DISTINCT CASE WHEN c.action = 'purchase' THEN s.person_id END)::DOUBLE / COUNT(DISTINCT s.person_id) AS rate FROM sessions s LEFT JOIN clicks c ON c.session_id = s.id GROUP BY s.variant

-- product: revenue per user
SELECT variant, AVG(revenue) AS arpu FROM (SELECT s.person_id, MAX(s.variant) AS variant, SUM(c.amount) AS revenue FROM sessions s JOIN clicks c ON c.session_id = s.id GROUP BY s.person_id) u GROUP BY variant

-- product: page sections
SELECT SPLIT_PART(page, '/', 2) AS section, COUNT(*) AS views FROM clicks GROUP BY 1 ORDER BY views DESC

-- product: product from the url
SELECT REGEXP_EXTRACT(page, '^/shop/([a-z]+)', 1) AS item, COUNT(*) AS n FROM clicks WHERE page LIKE '/shop/%' GROUP BY 1

-- product: url without its parameters
SELECT REGEXP_REPLACE(page, '\?.*', '') AS path, COUNT(*) AS hits FROM clicks GROUP BY path ORDER BY hits DESC LIMIT 10

-- product: session length
-- plain: SELECT device, AVG(DATE_DIFF('second', started_at, ended_at)) AS secs FROM sessions WHERE ended_at IS NOT NULL GROUP BY device
SELECT device, AVG(TIMESTAMPDIFF(SECOND, started_at, ended_at)) AS secs FROM sessions WHERE ended_at IS NOT NULL GROUP BY device

-- product: bounce rate
SELECT AVG(CASE WHEN clicks = 1 THEN 1.0 ELSE 0.0 END) AS bounce FROM (SELECT session_id, COUNT(*) AS clicks FROM clicks GROUP BY session_id) t

-- product: retention by cohort
WITH firsts AS (SELECT person_id, DATE_TRUNC('month', MIN(started_at)) AS cohort FROM sessions GROUP BY person_id) SELECT f.cohort, DATE_DIFF('month', f.cohort, DATE_TRUNC('month', s.started_at)) AS month_no, COUNT(DISTINCT s.person_id) AS users FROM sessions s JOIN firsts f ON f.person_id = s.person_id GROUP BY 1, 2 ORDER BY 1, 2

-- product: new against returning
SELECT CASE WHEN n = 1 THEN 'new' ELSE 'returning' END AS kind, COUNT(*) AS sessions FROM (SELECT person_id, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY started_at) AS n FROM sessions) x GROUP BY 1

-- product: traffic sources
SELECT COALESCE(NULLIF(LOWER(TRIM(source)), ''), '(none)') AS source, COUNT(*) AS sessions FROM sessions GROUP BY 1 ORDER BY 2 DESC

-- product: time to purchase
-- about: 0.02
SELECT MEDIAN(secs) AS median_seconds FROM (SELECT s.id, DATE_DIFF('second', MIN(s.started_at), MIN(c.clicked_at)) AS secs FROM sessions s JOIN clicks c ON c.session_id = s.id AND c.action = 'purchase' GROUP BY s.id) t

-- product: order value histogram
SELECT FLOOR(amount / 50) * 50 AS bucket, COUNT(*) AS orders FROM clicks WHERE action = 'purchase' GROUP BY bucket ORDER BY bucket

-- product: dates as text keys
SELECT CAST(CAST(clicked_at AS DATE) AS VARCHAR) AS day, SUM(amount) AS revenue FROM clicks WHERE clicked_at >= '2024-06-01' AND clicked_at < '2024-06-08' GROUP BY 1 ORDER BY 1

-- product: weekly revenue with growth
SELECT STRFTIME(clicked_at, '%Y-W%V') AS week, SUM(amount) AS revenue, SUM(amount) - LAG(SUM(amount)) OVER (ORDER BY STRFTIME(clicked_at, '%Y-W%V')) AS delta FROM clicks GROUP BY 1 ORDER BY 1

-- product: users who viewed and never bought
SELECT COUNT(*) AS n FROM (SELECT s.person_id FROM sessions s JOIN clicks c ON c.session_id = s.id WHERE c.action = 'view' EXCEPT SELECT s.person_id FROM sessions s JOIN clicks c ON c.session_id = s.id WHERE c.action = 'purchase') t

-- product: average order value with a cap on the page length
SELECT AVG(LEAST(LENGTH(page), 100)) AS mean_url, AVG(amount) FILTER (WHERE amount > 0) AS aov FROM clicks

-- product: ninetieth percentile of the time on site
-- about: 0.05
SELECT device, APPROX_QUANTILE(DATE_DIFF('second', started_at, ended_at), 0.9) AS p90 FROM sessions GROUP BY device

-- epidemiologist: attack rate by school-age child
SELECT CASE WHEN EXTRACT(YEAR FROM AGE(DATE '2024-06-30', born)) BETWEEN 6 AND 17 THEN 'school age' ELSE 'other' END AS grp, AVG(CASE WHEN EXISTS (SELECT 1 FROM stays s WHERE s.person_id = persons.id AND s.icd LIKE 'J%') THEN 1.0 ELSE 0.0 END) AS attack_rate FROM persons GROUP BY 1

-- epidemiologist: odds ratio
WITH cells AS (SELECT COUNT(*) FILTER (WHERE p.sex = 'M' AND s.emergency) AS a, COUNT(*) FILTER (WHERE p.sex = 'M' AND NOT s.emergency) AS b, COUNT(*) FILTER (WHERE p.sex = 'F' AND s.emergency) AS c, COUNT(*) FILTER (WHERE p.sex = 'F' AND NOT s.emergency) AS d FROM stays s JOIN persons p ON p.id = s.person_id) SELECT (a * d) * 1.0 / (b * c) AS odds_ratio, EXP(LN(a * d * 1.0 / (b * c)) - 1.96 * SQRT(1.0/a + 1.0/b + 1.0/c + 1.0/d)) AS lower FROM cells

-- epidemiologist: time from the last dose to admission
SELECT AVG(days) AS mean_days FROM (SELECT s.id, MIN(DATE_DIFF('day', v.given, CAST(s.admitted_at AS DATE))) AS days FROM stays s JOIN vaccinations v ON v.person_id = s.person_id AND v.given <= CAST(s.admitted_at AS DATE) GROUP BY s.id) t

-- epidemiologist: five year age bands by sex
-- plain: SELECT sex, CONCAT((2024 - YEAR(born)) // 5 * 5, '-', (2024 - YEAR(born)) // 5 * 5 + 4) AS band, COUNT(*) AS n FROM persons GROUP BY 1, 2 HAVING COUNT(*) > 12
SELECT sex, CONCAT(FLOOR((2024 - YEAR(born)) / 5) * 5, '-', FLOOR((2024 - YEAR(born)) / 5) * 5 + 4) AS band, COUNT(*) AS n FROM persons GROUP BY 1, 2

-- epidemiologist: cumulative incidence
SELECT month, SUM(n) OVER (ORDER BY month) AS cumulative FROM (SELECT DATE_TRUNC('month', first_admission) AS month, COUNT(*) AS n FROM (SELECT person_id, MIN(admitted_at) AS first_admission FROM stays WHERE icd LIKE 'I%' GROUP BY person_id) f GROUP BY 1) m ORDER BY month

-- epidemiologist: charlson-like score
SELECT score, COUNT(*) AS patients FROM (SELECT person_id, MAX(CASE WHEN icd LIKE 'I21%' THEN 1 ELSE 0 END) + MAX(CASE WHEN icd LIKE 'E11%' THEN 1 ELSE 0 END) + 2 * MAX(CASE WHEN icd LIKE 'C%' THEN 1 ELSE 0 END) AS score FROM stays GROUP BY person_id) x GROUP BY score ORDER BY score

-- epidemiologist: abnormal labs per stay
SELECT ward, AVG(abnormal) AS mean_abnormal FROM (SELECT s.id, ANY_VALUE(s.ward) AS ward, SUM(CASE WHEN l.test = 'crp' AND l.value > 100 OR l.test = 'hb' AND l.value < 120 THEN 1 ELSE 0 END) AS abnormal FROM stays s LEFT JOIN labs l ON l.stay_id = s.id GROUP BY s.id) q GROUP BY ward

-- epidemiologist: deaths in the half year after discharge, by quarter of discharge
SELECT CONCAT(YEAR(s.discharged_at), 'Q', QUARTER(s.discharged_at)) AS q, COUNT(*) AS n, COUNT(p.died) FILTER (WHERE p.died < s.discharged_at::DATE + INTERVAL 6 MONTH) AS deaths FROM stays s JOIN persons p ON s.person_id = p.id WHERE s.discharged_at IS NOT NULL GROUP BY 1 ORDER BY 1

-- controller: cost per bed day
SELECT ward, SUM(cost) / NULLIF(SUM(GREATEST(DATE_DIFF('day', admitted_at, discharged_at), 1)), 0) AS cost_per_day FROM stays GROUP BY ward ORDER BY 2 DESC

-- controller: deviation from the ward mean
SELECT ward, AVG(cost) AS mean, AVG(cost) - (SELECT AVG(cost) FROM stays) AS deviation FROM stays GROUP BY ward

-- controller: budget variance with traffic light
SELECT w.ward, w.budget, SUM(s.cost) AS actual, CASE WHEN SUM(s.cost) > w.budget * 1.05 THEN 'red' WHEN SUM(s.cost) > w.budget THEN 'amber' ELSE 'green' END AS light FROM wards w JOIN stays s ON s.ward = w.ward GROUP BY w.ward, w.budget

-- controller: same day readmissions
SELECT COUNT(*) AS n FROM stays a JOIN stays b ON a.person_id = b.person_id AND a.id <> b.id AND CAST(b.admitted_at AS DATE) = CAST(a.discharged_at AS DATE)

-- controller: monthly report with previous year
WITH m AS (SELECT DATE_TRUNC('month', admitted_at) AS mon, COUNT(*) AS cases, SUM(cost) AS cost FROM stays GROUP BY 1) SELECT a.mon, a.cases, b.cases AS cases_ly, ROUND(100.0 * (a.cost - b.cost) / NULLIF(b.cost, 0), 1) AS change_pct FROM m a LEFT JOIN m b ON b.mon = a.mon - INTERVAL 1 YEAR ORDER BY a.mon

-- controller: drg league
SELECT drg, COUNT(*) AS cases, AVG(cost) AS avg_cost, RANK() OVER (ORDER BY AVG(cost) DESC) AS rnk FROM stays GROUP BY drg HAVING COUNT(*) >= 50

-- controller: midnight census on a day
SELECT COUNT(*) AS census FROM stays WHERE admitted_at < TIMESTAMP '2023-06-01 00:00:00' AND (discharged_at IS NULL OR discharged_at >= '2023-06-01')

-- controller: average daily census by ward over a calendar of holidays
SELECT h.day, COUNT(*) AS in_house FROM holidays h JOIN stays s ON CAST(s.admitted_at AS DATE) <= h.day AND CAST(s.discharged_at AS DATE) > h.day GROUP BY h.day ORDER BY h.day

-- statistician: quintile shares
-- refused: it would look at many units
SELECT NTILE(5) OVER (ORDER BY income) AS quintile, SUM(income) AS total FROM persons GROUP BY 1

-- statistician: weighted mean
SELECT SUM(income * household_size) * 1.0 / SUM(household_size) AS weighted_mean FROM persons

-- statistician: crosstab with totals
SELECT education, sex, COUNT(*) AS n FROM persons GROUP BY CUBE (education, sex) ORDER BY education, sex

-- statistician: share of single households by district
SELECT z.district, AVG((p.household_size = 1)::INT) AS single_share FROM persons p JOIN zones z USING (zone_id) GROUP BY z.district

-- statistician: income histogram with labels
SELECT CAST(FLOOR(income / 10000) * 10 AS INTEGER) || 'k' AS bracket, COUNT(*) AS n FROM persons GROUP BY 1

-- statistician: mean age in completed years
SELECT sex, AVG(DATEDIFF('year', born, DATE '2024-12-31') - CASE WHEN STRFTIME(born, '%m%d') > '1231' THEN 1 ELSE 0 END) AS mean_age FROM persons GROUP BY sex

-- statistician: top coded income
SELECT AVG(LEAST(income, 80000)) AS topcoded, AVG(LN(income + 1)) AS log_income FROM persons WHERE employed IS TRUE

-- statistician: dependency ratio
SELECT (SUM(CASE WHEN 2024 - YEAR(born) < 15 THEN 1 ELSE 0 END) + SUM(CASE WHEN 2024 - YEAR(born) >= 65 THEN 1 ELSE 0 END))::FLOAT / SUM(CASE WHEN 2024 - YEAR(born) BETWEEN 15 AND 64 THEN 1 ELSE 0 END) * 100 AS dependency FROM persons

-- planner: average occupancy of a slot by weekday and hour
SELECT ISODOW(started_at) AS wd, HOUR(started_at) AS h, COUNT(*) / 156.0 AS per_week FROM trips GROUP BY ALL ORDER BY ALL

-- planner: speed bands
SELECT CASE WHEN kmh < 10 THEN '<10' WHEN kmh < 30 THEN '10-30' WHEN kmh < 60 THEN '30-60' ELSE '60+' END AS band, COUNT(*) AS trips FROM (SELECT id, km / NULLIF(DATE_DIFF('second', started_at, ended_at) / 3600.0, 0) AS kmh FROM trips) s GROUP BY band

-- planner: trip chains home work home
SELECT COUNT(*) AS chains FROM (SELECT person_id, LAG(purpose) OVER w AS prev, purpose, LEAD(purpose) OVER w AS nxt FROM trips WINDOW w AS (PARTITION BY person_id ORDER BY started_at)) c WHERE TRIM(LOWER(purpose)) = 'work' AND prev <> purpose

-- planner: longest gap between pings
SELECT MAX(gap) AS longest, AVG(gap) AS mean FROM (SELECT trip_id, DATE_DIFF('second', LAG(pinged_at) OVER (PARTITION BY trip_id ORDER BY pinged_at), pinged_at) AS gap FROM pings) g WHERE gap IS NOT NULL

-- planner: share of trips by public transport per district of origin
SELECT z.district, 100.0 * SUM(CASE WHEN t.mode IN ('bus', 'rail') THEN 1 ELSE 0 END) / COUNT(*) AS pt_share FROM trips t JOIN zones z ON z.zone_id = t.origin GROUP BY z.district ORDER BY pt_share DESC

-- planner: trips that cross midnight
SELECT COUNT(*) AS n FROM trips WHERE CAST(started_at AS DATE) <> CAST(ended_at AS DATE)

-- planner: number of distinct modes used by a person
SELECT modes, COUNT(*) AS persons FROM (SELECT person_id, COUNT(DISTINCT mode) AS modes FROM trips GROUP BY person_id) m GROUP BY modes ORDER BY modes

-- planner: daily distance by person
-- about: 0.05
SELECT QUANTILE_CONT(daily, 0.5) AS median_km, QUANTILE_CONT(daily, 0.95) AS p95 FROM (SELECT person_id, DATE(started_at) AS day, SUM(km) AS daily FROM trips GROUP BY person_id, DATE(started_at)) d

-- product: sessions per user distribution
SELECT LEAST(n, 10) AS sessions, COUNT(*) AS users FROM (SELECT person_id, COUNT(*) AS n FROM sessions GROUP BY person_id) u GROUP BY 1 ORDER BY 1

-- product: first touch source
SELECT first_source, COUNT(*) AS users FROM (SELECT person_id, FIRST_VALUE(source) OVER (PARTITION BY person_id ORDER BY started_at) AS first_source, ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY started_at) AS rn FROM sessions) x WHERE rn = 1 GROUP BY first_source

-- product: add to cart rate by day of week
SELECT DAYNAME(clicked_at) AS dow, SUM(action = 'add') / COUNT(*) AS rate FROM clicks GROUP BY 1

-- product: seven day retention
SELECT COUNT(DISTINCT CASE WHEN s2.person_id IS NOT NULL THEN s1.person_id END) * 1.0 / COUNT(DISTINCT s1.person_id) AS d7 FROM (SELECT person_id, MIN(CAST(started_at AS DATE)) AS d0 FROM sessions GROUP BY person_id) s1 LEFT JOIN sessions s2 ON s2.person_id = s1.person_id AND CAST(s2.started_at AS DATE) BETWEEN s1.d0 + 1 AND s1.d0 + 7

-- product: lift of the test with a z score
WITH r AS (SELECT variant, COUNT(DISTINCT s.person_id) AS n, COUNT(DISTINCT CASE WHEN c.action = 'purchase' THEN s.person_id END) AS k FROM sessions s JOIN clicks c ON c.session_id = s.id GROUP BY variant) SELECT t.k * 1.0 / t.n - c.k * 1.0 / c.n AS lift, (t.k * 1.0 / t.n - c.k * 1.0 / c.n) / SQRT((t.k + c.k) * 1.0 / (t.n + c.n) * (1 - (t.k + c.k) * 1.0 / (t.n + c.n)) * (1.0 / t.n + 1.0 / c.n)) AS z FROM r t, r c WHERE t.variant = 'test' AND c.variant = 'control'

-- product: top pages that are not the shop
SELECT page, COUNT(*) AS hits FROM clicks WHERE page NOT LIKE '/shop/%' GROUP BY page ORDER BY hits DESC LIMIT 5

-- product: query parameter
SELECT SPLIT_PART(SPLIT_PART(page, 'id=', 2), '&', 1) AS product_id, COUNT(*) AS n FROM clicks WHERE page LIKE '%id=%' GROUP BY 1

-- product: rolling seven day revenue
SELECT day, SUM(revenue) OVER (ORDER BY day RANGE BETWEEN INTERVAL 6 DAY PRECEDING AND CURRENT ROW) AS rolling FROM (SELECT CAST(clicked_at AS DATE) AS day, SUM(amount) AS revenue FROM clicks WHERE action = 'purchase' GROUP BY 1) d ORDER BY day
