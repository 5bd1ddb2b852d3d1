-- cancers: new cases by year and site group
SELECT EXTRACT(YEAR FROM t.diagnosed) AS year, s.label, COUNT(*) AS new_cases
FROM tumours t JOIN sites s ON s.code = SUBSTRING(t.site FROM 1 FOR 3)
GROUP BY year, s.label ORDER BY year, new_cases DESC;

-- cancers: stage distribution in per cent, missing stage shown
SELECT COALESCE(stage, 'not recorded') AS stage, COUNT(*) AS n, ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (), 1) AS "per cent"
FROM tumours GROUP BY COALESCE(stage, 'not recorded') ORDER BY 1

-- cancers: age at diagnosis in bands
WITH aged AS (
  SELECT t.*, DATE_DIFF('year', p.born, t.diagnosed) AS age
  FROM tumours t INNER JOIN persons p ON p.person_id = t.person_id
)
SELECT CASE WHEN age < 45 THEN '0-44' WHEN age < 65 THEN '45-64' WHEN age < 75 THEN '65-74' ELSE '75+' END AS age_group, COUNT(*) AS cases
FROM aged GROUP BY age_group ORDER BY age_group

-- cancers: crude incidence rate by district and sex
SELECT c.district, c.sex, c.cases, 100000.0 * c.cases / pop.py AS crude_rate
FROM (SELECT p.district, p.sex, COUNT(*) AS cases FROM tumours t JOIN persons p USING (person_id) GROUP BY p.district, p.sex) c
JOIN (SELECT district, sex, SUM(inhabitants) AS py FROM population GROUP BY district, sex) pop ON pop.district = c.district AND pop.sex = c.sex
ORDER BY crude_rate DESC

-- cancers: directly standardised incidence by sex
WITH cases AS (
  SELECT p.sex, CASE WHEN date_diff('year', p.born, t.diagnosed) < 45 THEN '0-44' WHEN date_diff('year', p.born, t.diagnosed) < 65 THEN '45-64'
                     WHEN date_diff('year', p.born, t.diagnosed) < 75 THEN '65-74' ELSE '75+' END AS age_group, COUNT(*) AS n
  FROM tumours t JOIN persons p ON t.person_id = p.person_id
  WHERE t.site LIKE 'C%' GROUP BY ALL),
py AS (SELECT sex, age_group, SUM(inhabitants) AS py FROM population GROUP BY sex, age_group)
SELECT cases.sex, SUM(weight * n / py) * 1e5 AS asr
FROM cases JOIN py USING (sex, age_group) JOIN standard_pop USING (age_group)
GROUP BY cases.sex ORDER BY cases.sex

-- cancers: five-year survival by stage
-- plain: SELECT stage, COUNT(*) AS n, AVG(CASE WHEN p.died IS NULL OR p.died > t.diagnosed + INTERVAL 5 YEAR THEN 1.0 ELSE 0.0 END) AS s5 FROM tumours t JOIN persons p ON p.person_id = t.person_id WHERE t.diagnosed < DATE '2018-01-01' AND (p.died IS NULL OR p.died >= t.diagnosed) AND stage IS NOT NULL GROUP BY stage HAVING COUNT(*) >= 20 ORDER BY stage
SELECT stage,
       COUNT(*) AS n,
       AVG(CASE WHEN p.died IS NULL OR p.died > t.diagnosed + INTERVAL 5 YEAR THEN 1.0 ELSE 0.0 END) AS s5
FROM tumours t JOIN persons p ON p.person_id = t.person_id
WHERE t.diagnosed < DATE '2018-01-01' AND (p.died IS NULL OR p.died >= t.diagnosed)
GROUP BY stage HAVING COUNT(*) >= 20 ORDER BY stage

-- cancers: person-years since diagnosis to death or end of 2023
SELECT p.sex, SUM(LEAST(COALESCE(p.died, DATE '2023-12-31'), DATE '2023-12-31') - t.diagnosed) / 365.25 AS person_years
FROM tumours t JOIN persons p ON p.person_id = t.person_id
WHERE COALESCE(p.died, DATE '2023-12-31') >= t.diagnosed AND t.diagnosed <= DATE '2023-12-31'
GROUP BY p.sex

-- cancers: mortality rate per 1000 person-years
WITH fu AS (
  SELECT p.person_id, p.district, MIN(t.diagnosed) AS start_, ANY_VALUE(p.died) AS died
  FROM persons p JOIN tumours t ON t.person_id = p.person_id GROUP BY p.person_id, p.district
), py AS (
  SELECT district, (LEAST(COALESCE(died, DATE '2023-12-31'), DATE '2023-12-31') - start_) / 365.25 AS years, died IS NOT NULL AND died <= DATE '2023-12-31' AS event
  FROM fu WHERE COALESCE(died, DATE '2023-12-31') >= start_
)
SELECT district, COUNT(*) FILTER (WHERE event) AS deaths, SUM(years) AS py, 1000 * COUNT(*) FILTER (WHERE event) / SUM(years) AS rate
FROM py GROUP BY district ORDER BY district

-- cancers: days from diagnosis to first treatment
WITH first_tx AS (SELECT tumour_id, MIN(started) AS started FROM treatments GROUP BY tumour_id)
SELECT t.stage, AVG(f.started - t.diagnosed) AS mean_days, COUNT(*) AS n
FROM tumours t JOIN first_tx f ON f.tumour_id = t.id
WHERE f.started >= t.diagnosed GROUP BY t.stage

-- cancers: median days from diagnosis to first treatment, per kind
-- about: 5e-2
SELECT x.kind, MEDIAN(x.started - t.diagnosed) AS median_wait
FROM tumours AS t JOIN treatments AS x ON x.tumour_id = t.id GROUP BY x.kind ORDER BY median_wait

-- cancers: tumours without any treatment
-- plain: SELECT t.stage, COUNT(*) AS untreated FROM tumours t LEFT JOIN treatments x ON x.tumour_id = t.id WHERE x.tumour_id IS NULL AND t.stage IS NOT NULL GROUP BY t.stage
SELECT t.stage, COUNT(*) AS untreated
FROM tumours t LEFT JOIN treatments x ON x.tumour_id = t.id
WHERE x.tumour_id IS NULL GROUP BY t.stage

-- cancers: treated within 30 and 60 days
SELECT EXTRACT(YEAR FROM t.diagnosed) AS y,
       100.0 * AVG(CASE WHEN EXISTS (SELECT 1 FROM treatments x WHERE x.tumour_id = t.id AND x.started BETWEEN t.diagnosed AND t.diagnosed + 30) THEN 1 ELSE 0 END) AS pct30,
       100.0 * AVG(CASE WHEN EXISTS (SELECT 1 FROM treatments x WHERE x.tumour_id = t.id AND x.started BETWEEN t.diagnosed AND t.diagnosed + 60) THEN 1 ELSE 0 END) AS pct60
FROM tumours t GROUP BY 1 ORDER BY 1

-- cancers: second primaries
SELECT COUNT(*) FILTER (WHERE k = 1) AS one, COUNT(*) FILTER (WHERE k = 2) AS two, COUNT(*) FILTER (WHERE k >= 3) AS more
FROM (SELECT person_id, COUNT(DISTINCT LEFT(site, 3)) AS k FROM tumours GROUP BY person_id)

-- cancers: months between a person's first and second tumour
WITH seq AS (
  SELECT person_id, diagnosed,
         LAG(diagnosed) OVER (PARTITION BY person_id ORDER BY diagnosed, id) AS previous,
         ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY diagnosed, id) AS nr
  FROM tumours)
SELECT AVG(DATE_DIFF('month', previous, diagnosed)) AS months FROM seq WHERE nr = 2

-- cancers: screen-detected share with three-valued logic
SELECT s.label, COUNT(*) AS n, SUM(CASE WHEN t.screened THEN 1 ELSE 0 END) AS screen_detected,
       COUNT(*) FILTER (WHERE t.screened IS NULL) AS unknown, COUNT(*) FILTER (WHERE t.screened IS DISTINCT FROM TRUE) AS not_screened
FROM tumours t JOIN sites s ON LEFT(t.site, 3) = s.code WHERE s.screening GROUP BY s.label

-- cancers: pivot of stages by year
PIVOT (SELECT YEAR(diagnosed) AS y, stage FROM tumours WHERE stage IS NOT NULL) ON stage IN ('I', 'II', 'III', 'IV') USING COUNT(*) GROUP BY y ORDER BY y

-- cancers: grouping sets of district and sex
SELECT p.district, p.sex, GROUPING(p.district, p.sex) AS lvl, COUNT(DISTINCT t.person_id) AS patients
FROM persons p JOIN tumours t ON t.person_id = p.person_id
GROUP BY GROUPING SETS ((p.district, p.sex), (p.district), ()) ORDER BY lvl, district, sex

-- cancers: five-year moving average of the yearly count
SELECT y, n, AVG(n) OVER (ORDER BY y ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING) AS smooth
FROM (SELECT date_part('year', diagnosed) AS y, COUNT(*) AS n FROM tumours GROUP BY 1) q ORDER BY y

-- cancers: change on the year before in per cent, QUALIFY
SELECT YEAR(diagnosed) AS y, COUNT(*) AS n, ROUND(100.0 * (COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY YEAR(diagnosed))) / LAG(COUNT(*)) OVER (ORDER BY YEAR(diagnosed)), 1) AS change
FROM tumours GROUP BY y QUALIFY change IS NOT NULL ORDER BY y

-- cancers: the three commonest sites of every district
SELECT district, site, n FROM (
  SELECT p.district, s.label AS site, COUNT(*) AS n, RANK() OVER (PARTITION BY p.district ORDER BY COUNT(*) DESC) AS rk
  FROM persons p JOIN tumours t ON t.person_id = p.person_id JOIN sites s ON s.code = SUBSTR(t.site, 1, 3)
  GROUP BY p.district, s.label) ranked
WHERE rk <= 3 ORDER BY district, rk

-- cancers: tumour size quartiles by stage
-- plain: SELECT stage, QUANTILE_CONT(size_mm, 0.25) AS q1, MEDIAN(size_mm) AS q2, QUANTILE_CONT(size_mm, 0.75) AS q3 FROM tumours WHERE stage IS NOT NULL AND size_mm IS NOT NULL GROUP BY stage
-- about: 2e-2
SELECT stage, QUANTILE_CONT(size_mm, 0.25) AS q1, MEDIAN(size_mm) AS q2, QUANTILE_CONT(size_mm, 0.75) AS q3 FROM tumours WHERE size_mm IS NOT NULL GROUP BY stage

-- cancers: size classes of the TNM
SELECT CASE WHEN size_mm IS NULL THEN 'TX' WHEN size_mm <= 20 THEN 'T1' WHEN size_mm <= 50 THEN 'T2' ELSE 'T3' END AS t_class, COUNT(*)
FROM tumours WHERE site ^@ 'C50' GROUP BY 1

-- cancers: width buckets of size
-- plain: SELECT floor((size_mm - 0) / 20.0)::INT + 1 AS bucket, COUNT(*) AS n FROM tumours WHERE size_mm < 120 GROUP BY bucket ORDER BY bucket
SELECT WIDTH_BUCKET(size_mm, 0, 120, 6) AS bucket, COUNT(*) AS n FROM tumours WHERE size_mm < 120 GROUP BY bucket ORDER BY bucket

-- cancers: histogram by FLOOR
SELECT FLOOR(size_mm / 10) * 10 AS mm_from, COUNT(*) AS n FROM tumours WHERE size_mm IS NOT NULL GROUP BY 1 ORDER BY 1

-- cancers: deaths from the registered cancer
SELECT COUNT(*) AS deaths, COUNT(*) FILTER (WHERE p.death_cause LIKE 'C%') AS from_cancer,
       COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM tumours t WHERE t.person_id = p.person_id AND LEFT(t.site, 3) = LEFT(p.death_cause, 3))) AS from_the_registered
FROM persons p WHERE died IS NOT NULL

-- cancers: persons with lung or breast cancer but not both
SELECT sex, COUNT(*) AS n FROM persons
WHERE (person_id IN (SELECT person_id FROM tumours WHERE site LIKE 'C34%')) <> (person_id IN (SELECT person_id FROM tumours WHERE site LIKE 'C50%'))
GROUP BY sex

-- cancers: correlation and slope of size on age
-- about: 1e-3
SELECT CORR(t.size_mm, YEAR(t.diagnosed) - YEAR(p.born)) AS r, REGR_SLOPE(t.size_mm, YEAR(t.diagnosed) - YEAR(p.born)) AS slope
FROM tumours t JOIN persons p ON p.person_id = t.person_id

-- cancers: radiotherapy dose, mean and spread
-- about: 1e-3
SELECT COUNT(dose) AS n, AVG(dose) AS mean, STDDEV(dose) AS sd, MIN(dose), MAX(dose) FROM treatments WHERE kind = 'radio'

-- cancers: combinations of treatments
SELECT combination, COUNT(*) AS tumours FROM (
  SELECT tumour_id, CASE WHEN BOOL_OR(kind = 'surgery') THEN 'S' ELSE '' END || CASE WHEN BOOL_OR(kind = 'chemo') THEN 'C' ELSE '' END
       || CASE WHEN BOOL_OR(kind = 'radio') THEN 'R' ELSE '' END AS combination
  FROM treatments GROUP BY tumour_id) x GROUP BY combination ORDER BY tumours DESC

-- cancers: overlapping treatments of one tumour
-- plain: SELECT COUNT(*) AS overlapping_pairs FROM treatments a JOIN treatments b ON a.tumour_id = b.tumour_id AND a.kind < b.kind WHERE a.started < b.ended AND b.started < a.ended OR a.started = b.started
SELECT COUNT(*) AS overlapping_pairs FROM treatments a JOIN treatments b ON a.tumour_id = b.tumour_id AND a.kind < b.kind
WHERE (a.started, a.ended) OVERLAPS (b.started, b.ended)

-- cancers: overlapping treatments by comparing the ends
SELECT a.kind AS one, b.kind AS other, COUNT(*) AS pairs
FROM treatments a, treatments b
WHERE a.tumour_id = b.tumour_id AND a.kind < b.kind AND a.started <= b.ended AND b.started <= a.ended
GROUP BY a.kind, b.kind ORDER BY 1, 2

-- cancers: prevalence on a day
SELECT p.district, COUNT(DISTINCT p.person_id) AS prevalent
FROM persons p JOIN tumours t ON t.person_id = p.person_id
WHERE t.diagnosed <= '2020-12-31' AND (p.died IS NULL OR p.died > '2020-12-31')
GROUP BY p.district ORDER BY prevalent DESC

-- cancers: ten-year prevalence on each New Year's Day
SELECT d.day, COUNT(DISTINCT t.person_id) AS alive
FROM (SELECT MAKE_DATE(y, 1, 1) AS day FROM (VALUES (2018), (2020), (2022)) AS v(y)) d
JOIN tumours t ON t.diagnosed < d.day AND t.diagnosed >= d.day - INTERVAL 10 YEAR
JOIN persons p ON p.person_id = t.person_id AND (p.died IS NULL OR p.died >= d.day)
GROUP BY d.day ORDER BY d.day

-- cancers: mortality-to-incidence ratio from a union of answers
WITH ev AS (
  SELECT 'incidence' AS what, YEAR(diagnosed) AS y, COUNT(*) AS n FROM tumours GROUP BY 2
  UNION ALL
  SELECT 'mortality', YEAR(died), COUNT(*) FROM persons WHERE died IS NOT NULL AND death_cause LIKE 'C%' GROUP BY 2)
SELECT y, SUM(n) FILTER (WHERE what = 'mortality') / SUM(n) FILTER (WHERE what = 'incidence') AS mi_ratio
FROM ev WHERE y BETWEEN 2014 AND 2022 GROUP BY y ORDER BY y

-- cancers: life table by year since diagnosis
WITH fu AS (
  SELECT FLOOR((COALESCE(p.died, DATE '2024-12-31') - t.diagnosed) / 365.25) AS yr, p.died IS NOT NULL AS dead
  FROM tumours t JOIN persons p ON p.person_id = t.person_id WHERE COALESCE(p.died, DATE '2024-12-31') >= t.diagnosed),
tab AS (SELECT yr, COUNT(*) FILTER (WHERE dead) AS d, COUNT(*) FILTER (WHERE NOT dead) AS c, COUNT(*) AS n FROM fu GROUP BY yr),
risk AS (SELECT yr, d, c, SUM(n) OVER (ORDER BY yr DESC) AS at_risk FROM tab)
SELECT yr, at_risk, d, EXP(SUM(LN(1 - d / at_risk)) OVER (ORDER BY yr)) AS survival FROM risk WHERE at_risk > d AND yr < 10 ORDER BY yr

-- cancers: education and late stage, odds ratio
WITH t AS (
  SELECT p.education, COUNT(*) FILTER (WHERE t.stage IN ('III', 'IV')) AS late, COUNT(*) FILTER (WHERE t.stage IN ('I', 'II')) AS early
  FROM persons p JOIN tumours t ON t.person_id = p.person_id GROUP BY p.education)
SELECT a.education, (a.late * 1.0 / a.early) / (b.late * 1.0 / b.early) AS odds_ratio
FROM t a CROSS JOIN (SELECT late, early FROM t WHERE education = 'tertiary') b WHERE a.education <> 'tertiary'

-- cancers: morphology groups by a table of values
SELECT m.grp, COUNT(*) AS n FROM tumours t
JOIN (VALUES (8050, 8089, 'squamous'), (8140, 8389, 'adeno'), (8500, 8549, 'ductal')) AS m(lo, hi, grp) ON t.morphology BETWEEN m.lo AND m.hi
GROUP BY m.grp

-- cancers: grade as a word
SELECT CASE grade WHEN 1 THEN 'well' WHEN 2 THEN 'moderate' WHEN 3 THEN 'poor' ELSE 'undifferentiated' END AS differentiation, COUNT(*) AS n,
       COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM tumours GROUP BY grade ORDER BY grade

-- cancers: latest tumour of every person by QUALIFY
-- plain: SELECT stage, COUNT(*) FROM (SELECT person_id, stage FROM tumours QUALIFY ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY diagnosed DESC, id DESC) = 1) latest WHERE stage IS NOT NULL GROUP BY stage
SELECT stage, COUNT(*) FROM (SELECT person_id, stage FROM tumours QUALIFY ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY diagnosed DESC, id DESC) = 1) latest GROUP BY stage

-- cancers: DISTINCT ON for the first tumour
-- plain: SELECT LEFT(site, 3) AS code, COUNT(*) AS first_tumours FROM (SELECT DISTINCT ON (person_id) person_id, site FROM tumours ORDER BY person_id, diagnosed, id) f GROUP BY code ORDER BY first_tumours DESC, code LIMIT 5
SELECT LEFT(site, 3) AS code, COUNT(*) AS first_tumours FROM (SELECT DISTINCT ON (person_id) person_id, site FROM tumours ORDER BY person_id, diagnosed, id) f GROUP BY code ORDER BY first_tumours DESC LIMIT 5

-- cancers: observed and expected of a district
WITH obs AS (SELECT p.district, COUNT(*) AS o FROM tumours t JOIN persons p ON p.person_id = t.person_id GROUP BY p.district),
tot AS (SELECT SUM(o) AS cases FROM obs),
pop AS (SELECT district, SUM(inhabitants) AS n FROM population GROUP BY district)
SELECT obs.district, o, (SELECT cases FROM tot) * pop.n / (SELECT SUM(n) FROM pop) AS expected, o / ((SELECT cases FROM tot) * pop.n / (SELECT SUM(n) FROM pop)) AS sir
FROM obs JOIN pop ON pop.district = obs.district ORDER BY sir DESC

-- cancers: a person's list
-- refused: rows
SELECT person_id, diagnosed, site FROM tumours WHERE stage = 'IV' ORDER BY diagnosed DESC LIMIT 10

-- ambulances: response interval in minutes by priority
SELECT priority, AVG(EXTRACT(EPOCH FROM (arrived_at - called_at)) / 60.0) AS mean_minutes FROM dispatches WHERE arrived_at IS NOT NULL GROUP BY priority ORDER BY priority
-- about: 1e-3

-- ambulances: share reached within fifteen minutes
SELECT s.name, COUNT(*) AS runs, ROUND(100.0 * SUM(CASE WHEN d.arrived_at <= d.called_at + INTERVAL '15 minutes' THEN 1 ELSE 0 END) / COUNT(*), 1) AS pct_within_15
FROM dispatches d JOIN stations s USING (station) WHERE d.priority = 1 AND d.arrived_at IS NOT NULL GROUP BY s.name ORDER BY pct_within_15

-- ambulances: ninetieth percentile of the response interval
-- about: 2e-2
SELECT s.region, QUANTILE_CONT(DATE_DIFF('second', d.called_at, d.arrived_at), 0.9) / 60 AS p90
FROM dispatches d JOIN stations s ON s.station = d.station GROUP BY s.region

-- ambulances: calls by hour of the day and weekday
SELECT DAYNAME(called_at) AS weekday, EXTRACT(HOUR FROM called_at) AS hour, COUNT(*) AS calls FROM dispatches GROUP BY 1, 2

-- ambulances: local time in Zurich
SELECT EXTRACT(hour FROM called_at AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Zurich') AS local_hour, COUNT(*) AS n FROM dispatches GROUP BY local_hour ORDER BY local_hour

-- ambulances: night shift
SELECT CASE WHEN called_at::TIME >= TIME '22:00' OR called_at::TIME < TIME '06:00' THEN 'night' ELSE 'day' END AS shift, COUNT(*) AS n, COUNT(DISTINCT pid) AS patients
FROM dispatches GROUP BY shift

-- ambulances: reasons tidied
SELECT LOWER(TRIM(reason)) AS reason, COUNT(*) AS n FROM dispatches GROUP BY LOWER(TRIM(reason)) HAVING COUNT(*) > 20 ORDER BY n DESC

-- ambulances: Glasgow coma scale from the notes
-- refused: it would fail on a row
SELECT CAST(REGEXP_EXTRACT(notes, 'GCS (\d+)', 1) AS INTEGER) AS gcs, COUNT(*) AS n FROM dispatches WHERE REGEXP_MATCHES(notes, 'GCS \d+') GROUP BY gcs ORDER BY gcs

-- ambulances: notes that mention a resuscitation
SELECT COUNT(*) FILTER (WHERE notes ILIKE '%cpr%' OR notes ~* 'reanim') AS cpr, COUNT(*) FILTER (WHERE notes IS NULL OR notes = '') AS empty FROM dispatches

-- ambulances: calls again within 72 hours
WITH d AS (
  SELECT pid, station, called_at, LEAD(called_at) OVER (PARTITION BY pid ORDER BY called_at) AS next_call FROM dispatches)
SELECT s.name, AVG(CASE WHEN next_call - called_at <= INTERVAL 72 HOUR THEN 1 ELSE 0 END) * 100 AS pct_again
FROM d JOIN stations s ON s.station = d.station GROUP BY s.name

-- ambulances: frequent callers
SELECT CASE WHEN n >= 6 THEN '6+' ELSE CAST(n AS VARCHAR) END AS calls, COUNT(*) AS patients, SUM(n) AS runs
FROM (SELECT pid, COUNT(*) AS n FROM dispatches WHERE called_at >= TIMESTAMP '2023-01-01 00:00:00' AND called_at < TIMESTAMP '2024-01-01 00:00:00' GROUP BY pid) f
GROUP BY 1 ORDER BY 1

-- ambulances: share of runs owed to frequent callers
SELECT SUM(CASE WHEN n > 4 THEN n END) * 1.0 / SUM(n) AS share FROM (SELECT pid, COUNT(*) n FROM dispatches GROUP BY pid) t

-- ambulances: age bands at the call
SELECT (YEAR(d.called_at) - p.birth_year) // 10 * 10 AS decade, COUNT(*) AS calls FROM dispatches d JOIN patients p ON p.pid = d.pid GROUP BY decade ORDER BY decade

-- ambulances: chute time, dispatch interval and total of every quarter
SELECT DATE_TRUNC('quarter', called_at)::DATE AS quarter, AVG(DATE_DIFF('second', called_at, dispatched_at)) AS call_to_dispatch, AVG(DATE_DIFF('second', dispatched_at, arrived_at)) AS dispatch_to_arrival, AVG(DATE_DIFF('minute', called_at, hospital_at)) AS call_to_hospital
FROM dispatches GROUP BY quarter ORDER BY quarter
-- about: 1e-3

-- ambulances: seven-day rolling mean of daily calls
WITH daily AS (SELECT called_at::date AS d, COUNT(*) AS n FROM dispatches WHERE called_at BETWEEN '2023-03-01' AND '2023-04-30 23:59:59' GROUP BY 1)
SELECT d, n, AVG(n) OVER (ORDER BY d RANGE BETWEEN INTERVAL 6 DAY PRECEDING AND CURRENT ROW) AS rolling7 FROM daily ORDER BY d

-- ambulances: holidays against the average day
SELECT h.name, COUNT(d.id) AS calls FROM holidays h LEFT JOIN dispatches d ON CAST(d.called_at AS DATE) = h.day GROUP BY h.name

-- ambulances: calls per thousand inhabitants of a station
SELECT s.region, COUNT(*) * 1000.0 / (SELECT SUM(x.inhabitants) FROM stations x WHERE x.region = s.region) AS per_thousand
FROM dispatches d JOIN stations s ON s.station = d.station GROUP BY s.region

-- ambulances: not transported by gender
SELECT p.gender, 1 - AVG(d.transported::INT) AS left_at_scene FROM dispatches d JOIN patients p ON p.pid = d.pid GROUP BY p.gender ORDER BY 2 DESC

-- ambulances: shock index at first contact
WITH first_v AS (
  SELECT dispatch_id, pulse, systolic, ROW_NUMBER() OVER (PARTITION BY dispatch_id ORDER BY taken_at) AS rn FROM vitals)
SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE pulse * 1.0 / systolic > 0.9) AS shocked, AVG(pulse * 1.0 / systolic) AS mean_index FROM first_v WHERE rn = 1
-- about: 1e-2

-- ambulances: improvement of saturation between first and last reading
SELECT AVG(last_spo2 - first_spo2) AS gain FROM (
  SELECT dispatch_id, ARG_MIN(spo2, taken_at) AS first_spo2, ARG_MAX(spo2, taken_at) AS last_spo2, COUNT(spo2) AS k FROM vitals GROUP BY dispatch_id) x WHERE k >= 2
-- about: 1e-2

-- ambulances: hypotension by reason
SELECT d.reason, COUNT(DISTINCT d.id) AS runs, COUNT(DISTINCT CASE WHEN v.systolic < 90 THEN d.id END) AS hypotensive
FROM dispatches d JOIN vitals v ON v.dispatch_id = d.id GROUP BY d.reason

-- ambulances: mean arterial pressure grouped by an alias
SELECT pulse > 100 AS tachycardic, COUNT(*) n, AVG(systolic) mean_sys FROM vitals GROUP BY tachycardic

-- ambulances: vitals outside symmetric limits
-- plain: SELECT COUNT(*) FILTER (WHERE systolic NOT BETWEEN 90 AND 180) AS outside, COUNT(*) AS n FROM vitals
SELECT COUNT(*) FILTER (WHERE systolic NOT BETWEEN SYMMETRIC 180 AND 90) AS outside, COUNT(*) AS n FROM vitals

-- ambulances: fewer than two readings
SELECT COUNT(*) AS poorly_documented FROM dispatches d WHERE (SELECT COUNT(*) FROM vitals v WHERE v.dispatch_id = d.id) < 2

-- ambulances: worst reading of a run by lateral
SELECT d.priority, AVG(w.low) AS mean_lowest FROM dispatches d, LATERAL (SELECT MIN(v.spo2) AS low FROM vitals v WHERE v.dispatch_id = d.id) w GROUP BY d.priority

-- ambulances: grid of coordinates
SELECT ROUND(lat, 1) AS lat, ROUND(lon, 1) AS lon, COUNT(*) AS n FROM dispatches GROUP BY 1, 2 HAVING COUNT(*) >= 5

-- ambulances: distance in kilometres from the centre
-- about: 1e-2
SELECT AVG(SQRT(POWER((lat - 46.948) * 111.2, 2) + POWER((lon - 7.447) * 76.0, 2))) AS km FROM dispatches

-- ambulances: incomplete time stamps
SELECT COUNT(*) - COUNT(arrived_at) AS no_arrival, COUNT(*) FILTER (WHERE hospital_at < arrived_at) AS impossible, COUNT(*) AS all_runs FROM dispatches

-- ambulances: year against year side by side
SELECT a.m, a.n AS n2022, b.n AS n2023, b.n - a.n AS more FROM
 (SELECT MONTH(called_at) m, COUNT(*) n FROM dispatches WHERE YEAR(called_at) = 2022 GROUP BY 1) a
 FULL OUTER JOIN (SELECT MONTH(called_at) m, COUNT(*) n FROM dispatches WHERE YEAR(called_at) = 2023 GROUP BY 1) b ON a.m = b.m ORDER BY a.m

-- ambulances: month as text
-- refused: neither grouped nor aggregated
SELECT STRFTIME(called_at, '%Y-%m') AS month, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY STRFTIME(called_at, '%Y') ORDER BY STRFTIME(called_at, '%Y-%m')) AS ytd FROM dispatches GROUP BY 1 ORDER BY 1

-- ambulances: PostgreSQL's to_char
-- plain: SELECT strftime(called_at, '%Y-%m') AS mon, count(*) FROM dispatches GROUP BY 1 ORDER BY 1
SELECT to_char(called_at, 'YYYY-MM') AS mon, count(*) FROM dispatches GROUP BY 1 ORDER BY 1;

-- ambulances: postcodes by their first digit, unknown apart
SELECT IFNULL(LEFT(postcode, 1), '?') AS area, COUNT(*) AS patients FROM patients GROUP BY area ORDER BY patients DESC

-- ambulances: concurrent runs of one patient
SELECT COUNT(*) FROM dispatches a JOIN dispatches b ON a.pid = b.pid AND a.id < b.id AND b.called_at BETWEEN a.called_at AND a.called_at + INTERVAL '1 day'

-- ambulances: quickest station, the answer's own row
SELECT * FROM (SELECT station, AVG(DATE_DIFF('second', called_at, arrived_at)) AS secs FROM dispatches GROUP BY station) t ORDER BY secs LIMIT 1

-- ambulances: stations slower than the mean of the stations
WITH st AS (SELECT station, AVG(DATE_DIFF('second', called_at, arrived_at)) AS secs FROM dispatches WHERE arrived_at IS NOT NULL GROUP BY station)
SELECT station, secs FROM st WHERE secs > (SELECT AVG(secs) FROM st)

-- ambulances: runs longer than the average run
-- refused: other people's rows
SELECT COUNT(*) FROM dispatches WHERE DATE_DIFF('minute', called_at, hospital_at) > (SELECT AVG(DATE_DIFF('minute', called_at, hospital_at)) FROM dispatches)

-- births: live births by year and canton
SELECT YEAR(b.born_at) AS yr, h.canton, COUNT(*) AS births FROM births b JOIN hospitals h ON h.hospital = b.hospital GROUP BY yr, h.canton ORDER BY yr, h.canton

-- births: low birth weight and prematurity
SELECT 100.0 * COUNT(*) FILTER (WHERE weight_g < 2500) / COUNT(*) AS lbw_pct, 100.0 * COUNT(*) FILTER (WHERE weeks < 37) / COUNT(*) AS preterm_pct,
       100.0 * COUNT(*) FILTER (WHERE weight_g < 1500 AND weeks < 32) / COUNT(*) AS both_pct FROM births

-- births: caesarean rate by hospital level
SELECT h.level, AVG((b.mode = 'caesarean')::INT) AS rate, COUNT(*) AS n FROM births b NATURAL JOIN hospitals h GROUP BY h.level ORDER BY rate DESC

-- births: Robson-like classes by parity
WITH o AS (SELECT mother_id, born_at, mode, weeks, twin, ROW_NUMBER() OVER (PARTITION BY mother_id ORDER BY born_at) - 1 AS parity FROM births)
SELECT CASE WHEN twin THEN 'multiple' WHEN weeks < 37 THEN 'preterm' WHEN parity = 0 THEN 'nulliparous term' ELSE 'multiparous term' END AS robson,
       COUNT(*) AS n, COUNT(*) FILTER (WHERE mode = 'caesarean') AS sections FROM o GROUP BY robson

-- births: previous section predicts the next
WITH o AS (SELECT mother_id, mode, LAG(mode) OVER (PARTITION BY mother_id ORDER BY born_at, birth_id) AS before FROM births)
SELECT before, COUNT(*) AS n, AVG(CASE WHEN mode = 'caesarean' THEN 1 ELSE 0 END) AS rate FROM o WHERE before IS NOT NULL GROUP BY before

-- births: interval between pregnancies in months
SELECT CASE WHEN m < 18 THEN 'short' WHEN m <= 60 THEN 'usual' ELSE 'long' END AS spacing, COUNT(*) AS births FROM (
  SELECT DATE_DIFF('month', LAG(born_at) OVER (PARTITION BY mother_id ORDER BY born_at), born_at) AS m FROM births) x WHERE m IS NOT NULL GROUP BY 1

-- births: age of the mother
SELECT CASE WHEN age < 20 THEN '<20' WHEN age < 25 THEN '20-24' WHEN age < 30 THEN '25-29' WHEN age < 35 THEN '30-34' WHEN age < 40 THEN '35-39' ELSE '40+' END AS age_of_mother,
       COUNT(*) AS n, AVG(weight_g) AS mean_weight
FROM (SELECT b.weight_g, DATE_DIFF('year', m.born, b.born_at::DATE) AS age FROM births b JOIN mothers m USING (mother_id)) t
GROUP BY 1 ORDER BY 1

-- births: exact age in completed years
SELECT AVG(DATE_SUB('year', m.born, CAST(b.born_at AS DATE))) AS mean_age FROM births b JOIN mothers m ON m.mother_id = b.mother_id WHERE b.born_at >= '2020-01-01'

-- births: age of the mother at her first birth by country
SELECT m.country, AVG(f.first_birth - m.born) / 365.25 AS age_at_first, COUNT(*) AS mothers
FROM mothers m JOIN (SELECT mother_id, MIN(born_at)::DATE AS first_birth FROM births GROUP BY mother_id) f ON f.mother_id = m.mother_id
GROUP BY m.country

-- births: children per mother, childless mothers too
SELECT children, COUNT(*) AS mothers FROM (SELECT m.mother_id, COUNT(b.birth_id) AS children FROM mothers m LEFT JOIN births b ON b.mother_id = m.mother_id GROUP BY m.mother_id) c GROUP BY children ORDER BY children

-- births: small for gestational age with a public chart
SELECT b.sex, COUNT(*) AS n, COUNT(*) FILTER (WHERE b.weight_g < g.mean_g - 1.28 * g.sd_g) AS sga
FROM births b JOIN growth g ON g.sex = b.sex AND g.weeks = b.weeks GROUP BY b.sex

-- births: mean z-score by smoking
-- plain: SELECT m.smoker, AVG((b.weight_g - g.mean_g) / g.sd_g) AS z FROM births b JOIN mothers m ON m.mother_id = b.mother_id JOIN growth g USING (sex, weeks) WHERE m.smoker IS NOT NULL GROUP BY m.smoker
-- about: 1e-2
SELECT m.smoker, AVG((b.weight_g - g.mean_g) / g.sd_g) AS z FROM births b JOIN mothers m ON m.mother_id = b.mother_id JOIN growth g USING (sex, weeks) GROUP BY m.smoker

-- births: weighted mean of weight with public weights
SELECT SUM(b.weight_g * w.w) / SUM(w.w) AS weighted FROM births b JOIN (SELECT 'f' AS sex, 0.487 AS w UNION ALL SELECT 'm', 0.513) w ON w.sex = b.sex
-- about: 1e-3

-- births: sex ratio by year
SELECT YEAR(born_at) AS y, 1000.0 * SUM(CASE sex WHEN 'm' THEN 1 ELSE 0 END) / NULLIF(SUM(CASE sex WHEN 'f' THEN 1 ELSE 0 END), 0) AS boys_per_1000_girls FROM births GROUP BY y ORDER BY y

-- births: seasonality index
SELECT MONTHNAME(born_at) AS mon, COUNT(*) / (SUM(COUNT(*)) OVER () / 12.0) AS idx FROM births GROUP BY mon ORDER BY idx DESC

-- births: weekend births against weekdays by mode
SELECT mode, COUNT(*) FILTER (WHERE DAYOFWEEK(born_at) IN (0, 6)) AS weekend, COUNT(*) FILTER (WHERE DAYOFWEEK(born_at) NOT IN (0, 6)) AS weekday FROM births GROUP BY mode

-- births: low Apgar adjusted for weeks
SELECT weeks >= 37 AS term, mode, AVG(CASE WHEN apgar5 < 7 THEN 1.0 WHEN apgar5 >= 7 THEN 0.0 END) AS low_apgar, COUNT(apgar5) AS scored FROM births GROUP BY ALL ORDER BY ALL

-- births: rollup with names for the totals
SELECT COALESCE(h.canton, 'all') AS canton, COALESCE(h.level, 'all') AS level, COUNT(*) AS n, AVG(b.weight_g) AS mean_g
FROM births b JOIN hospitals h ON h.hospital = b.hospital GROUP BY ROLLUP (h.canton, h.level) ORDER BY 1, 2

-- births: mothers with a preterm birth after a term birth
SELECT COUNT(DISTINCT x.mother_id) FROM births x WHERE x.weeks < 37 AND EXISTS (SELECT * FROM births y WHERE y.mother_id = x.mother_id AND y.born_at < x.born_at AND y.weeks >= 37)

-- births: row values
SELECT COUNT(*) FROM births WHERE (mode, sex) IN (('caesarean', 'f'), ('instrumental', 'm'))

-- births: checks done per child by age two
SELECT k, COUNT(*) AS children FROM (
  SELECT b.birth_id, COUNT(c.birth_id) AS k FROM births b LEFT JOIN checks c ON c.birth_id = b.birth_id AND c.checked_on < b.born_at::DATE + INTERVAL 2 YEAR
  WHERE b.born_at < '2022-01-01' GROUP BY b.birth_id) t GROUP BY k ORDER BY k

-- births: BMI at school checks
-- about: 1e-2
SELECT CASE WHEN bmi < 14 THEN 'thin' WHEN bmi < 18 THEN 'normal' ELSE 'heavy' END AS class, COUNT(*) AS checks
FROM (SELECT weight_kg / (height_cm / 100) ^ 2 AS bmi FROM checks WHERE weight_kg IS NOT NULL) t GROUP BY class

-- births: gain of weight between consecutive checks
SELECT AVG(gain / days * 30) AS kg_per_month FROM (
  SELECT weight_kg - LAG(weight_kg) OVER w AS gain, checked_on - LAG(checked_on) OVER w AS days FROM checks WHERE weight_kg IS NOT NULL WINDOW w AS (PARTITION BY birth_id ORDER BY checked_on)) g WHERE days > 0
-- about: 5e-2

-- births: catch-up of small children
SELECT b.weeks < 37 AS preterm, AVG(c.height_cm) AS height FROM checks c JOIN births b ON b.birth_id = c.birth_id WHERE DATE_DIFF('month', b.born_at::DATE, c.checked_on) BETWEEN 10 AND 16 GROUP BY preterm

-- births: glasses ever
SELECT b.sex, COUNT(DISTINCT b.birth_id) AS children, COUNT(DISTINCT b.birth_id) FILTER (WHERE c.vision = 'glasses') AS with_glasses FROM births b JOIN checks c ON c.birth_id = b.birth_id GROUP BY b.sex

-- births: from normal vision to referral
WITH s AS (SELECT birth_id, vision, LEAD(vision) OVER (PARTITION BY birth_id ORDER BY checked_on) AS next_vision FROM checks)
SELECT vision, next_vision, COUNT(*) AS n FROM s WHERE vision IS NOT NULL AND next_vision IS NOT NULL GROUP BY vision, next_vision ORDER BY 1, 2

-- births: unpivoted indicators
SELECT indicator, SUM(v) AS n FROM (
  SELECT 'low weight' AS indicator, COUNT(*) FILTER (WHERE weight_g < 2500) AS v FROM births
  UNION ALL SELECT 'preterm', COUNT(*) FILTER (WHERE weeks < 37) FROM births
  UNION ALL SELECT 'low Apgar', COUNT(*) FILTER (WHERE apgar5 < 7) FROM births) u GROUP BY indicator ORDER BY n DESC

-- births: hospitals without a level three
SELECT COUNT(*) FROM births WHERE hospital NOT IN (SELECT hospital FROM hospitals WHERE level = 'III') AND weeks < 32

-- births: number of siblings at birth, cumulated within the mother
SELECT older, COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY mother_id ORDER BY born_at ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS older FROM births) z GROUP BY older ORDER BY older

-- births: mother's range of weights
SELECT AVG(mx - mn) AS mean_range, MAX(mx - mn) AS largest FROM (SELECT mother_id, MAX(weight_g) mx, MIN(weight_g) mn FROM births GROUP BY mother_id HAVING COUNT(*) > 1) r

-- births: regression of weight on weeks
-- about: 1e-3
SELECT sex, REGR_SLOPE(weight_g, weeks) AS slope, REGR_INTERCEPT(weight_g, weeks) AS intercept, REGR_R2(weight_g, weeks) AS r2, REGR_COUNT(weight_g, weeks) AS n FROM births GROUP BY sex

-- births: coefficient of variation
-- about: 1e-3
SELECT mode, STDDEV_SAMP(weight_g) / AVG(weight_g) AS cv, VAR_POP(weight_g) AS v FROM births GROUP BY mode

-- births: confidence interval of a proportion
SELECT mode, p, p - 1.96 * SQRT(p * (1 - p) / n) AS lo, p + 1.96 * SQRT(p * (1 - p) / n) AS hi
FROM (SELECT mode, COUNT(*)::DOUBLE AS n, AVG(CASE WHEN weeks < 37 THEN 1.0 ELSE 0 END) AS p FROM births GROUP BY mode) q ORDER BY mode

-- births: heaviest child of every mother
-- refused: MAX_BY is refused
SELECT MAX_BY(b.sex, b.weight_g) FROM births b

-- laboratory: tests per month
SELECT DATE_TRUNC('month', "TakenAt") AS "Month", "Test", COUNT(*) AS "N" FROM "LabResults" GROUP BY 1, 2 ORDER BY 1, 2

-- laboratory: names without quotes
SELECT Test, count(*) AS n, avg(Result) AS mean FROM LabResults WHERE Result IS NOT NULL GROUP BY Test

-- laboratory: turnaround time
-- about: 5e-1
SELECT "Test", AVG(DATE_DIFF('minute', "TakenAt", "ResultAt")) / 60.0 AS hours, MAX(DATE_DIFF('hour', "TakenAt", "ResultAt")) AS longest FROM "LabResults" GROUP BY "Test"

-- laboratory: age from a column with spaces
SELECT l."Test", AVG(l."Result") AS mean FROM "LabResults" l JOIN "Patients" p ON p."PatientID" = l."PatientID"
WHERE DATE_DIFF('year', p."Date of birth", l."TakenAt"::DATE) >= 65 GROUP BY l."Test"

-- laboratory: outside the range of reference
SELECT l."Test", p."Sex", COUNT(*) AS n,
       SUM(CASE WHEN l."Result" < r.low THEN 1 ELSE 0 END) AS below, SUM(CASE WHEN l."Result" > r.high THEN 1 ELSE 0 END) AS above
FROM "LabResults" AS l JOIN "Patients" AS p USING ("PatientID") JOIN reference_ranges AS r ON r.test = l."Test" AND r.sex = p."Sex"
WHERE l."Result" IS NOT NULL GROUP BY l."Test", p."Sex"

-- laboratory: units as they ought to be
SELECT LOWER("Unit") AS unit, COUNT(*) FROM "LabResults" WHERE "Test" = 'CRP' GROUP BY unit

-- laboratory: repeats by comment
SELECT COUNT(*) FILTER (WHERE "Comment" ILIKE 'repeat%') AS repeats, COUNT(*) FILTER (WHERE LOWER("Comment") IN ('haemolysed', 'ok')) AS other FROM "LabResults"

-- laboratory: first word of the comment
SELECT SPLIT_PART(LOWER("Comment"), ':', 1) AS kind, COUNT(*) AS n FROM "LabResults" WHERE "Comment" IS NOT NULL GROUP BY kind

-- laboratory: the last HbA1c of each patient in classes
SELECT CASE WHEN v < 100 THEN 'low' WHEN v < 250 THEN 'middle' ELSE 'high' END AS control, COUNT(*) AS patients
FROM (SELECT "PatientID", LAST("Result" ORDER BY "TakenAt") AS v FROM "LabResults" WHERE "Test" = 'HbA1c' GROUP BY "PatientID") t WHERE v IS NOT NULL GROUP BY control

-- laboratory: rising CRP on consecutive samples
SELECT COUNT(DISTINCT "PatientID") FROM (
  SELECT "PatientID", "Result", LAG("Result", 1) OVER (PARTITION BY "PatientID" ORDER BY "TakenAt") AS r1, LAG("Result", 2) OVER (PARTITION BY "PatientID" ORDER BY "TakenAt") AS r2
  FROM "LabResults" WHERE "Test" = 'CRP') s WHERE "Result" > r1 AND r1 > r2

-- laboratory: moving mean of three within the patient
SELECT AVG(m3) FROM (SELECT AVG("Result") OVER (PARTITION BY "PatientID" ORDER BY "TakenAt" ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m3 FROM "LabResults" WHERE "Test" = 'LDL' AND "Result" IS NOT NULL) q
-- about: 1e-2

-- laboratory: patients ever above three times their own first value
WITH r AS (SELECT "PatientID" AS pid, "Result" AS v, FIRST_VALUE("Result") OVER (PARTITION BY "PatientID" ORDER BY "TakenAt") AS v0 FROM "LabResults" WHERE "Test" = 'CRP' AND "Result" > 0)
SELECT COUNT(DISTINCT pid) FROM r WHERE v >= 3 * v0

-- laboratory: abnormal share with missing flags
SELECT "Test", AVG(CASE WHEN "Abnormal" THEN 1 WHEN NOT "Abnormal" THEN 0 END) AS abnormal, COUNT("Abnormal") AS flagged, COUNT(*) AS n FROM "LabResults" GROUP BY "Test"

-- laboratory: geometric mean
-- about: 1e-2
SELECT "Test", EXP(AVG(LN("Result"))) AS gmean FROM "LabResults" WHERE "Result" > 0 GROUP BY "Test"

-- laboratory: percentiles of every test
-- about: 2e-2
SELECT "Test", PERCENTILE_CONT(0.025) WITHIN GROUP (ORDER BY "Result") AS p2_5, PERCENTILE_CONT(0.975) WITHIN GROUP (ORDER BY "Result") AS p97_5 FROM "LabResults" GROUP BY "Test"

-- laboratory: coverage with two doses by municipality
WITH d AS (SELECT "PatientID", COUNT(*) AS doses FROM vaccinations WHERE vaccine IN ('Comirnaty', 'Spikevax') GROUP BY "PatientID")
SELECT p."Municipality", COUNT(*) AS patients, COUNT(*) FILTER (WHERE d.doses >= 2) AS covered, ROUND(100.0 * COUNT(*) FILTER (WHERE d.doses >= 2) / COUNT(*), 1) AS coverage
FROM "Patients" p LEFT JOIN d ON d."PatientID" = p."PatientID" GROUP BY p."Municipality" HAVING COUNT(*) > 10

-- laboratory: interval between first and second dose
SELECT v1.vaccine, AVG(v2.given_on - v1.given_on) AS days, COUNT(*) AS n
FROM vaccinations v1 JOIN vaccinations v2 ON v2."PatientID" = v1."PatientID" AND v2.dose_no = v1.dose_no + 1
WHERE v1.dose_no = 1 AND v2.given_on > v1.given_on GROUP BY v1.vaccine

-- laboratory: doses by manufacturer and cumulative
SELECT m, manufacturer, n, SUM(n) OVER (PARTITION BY manufacturer ORDER BY m) AS cumulative FROM (
  SELECT DATE_TRUNC('month', v.given_on) AS m, x.manufacturer, COUNT(*) AS n FROM vaccinations v JOIN vaccines x ON x.vaccine = v.vaccine GROUP BY 1, 2) t ORDER BY manufacturer, m

-- laboratory: completed series by a public number of doses
SELECT x.vaccine, COUNT(*) AS starters, SUM(CASE WHEN t.k >= x.doses THEN 1 ELSE 0 END) AS complete
FROM (SELECT "PatientID", vaccine, COUNT(*) AS k FROM vaccinations GROUP BY "PatientID", vaccine) t JOIN vaccines x ON x.vaccine = t.vaccine GROUP BY x.vaccine

-- laboratory: mixed series
SELECT COUNT(*) AS mixed FROM (SELECT "PatientID" FROM vaccinations WHERE vaccine IN ('Comirnaty', 'Spikevax') GROUP BY "PatientID" HAVING COUNT(DISTINCT vaccine) = 2) m

-- laboratory: batches by prefix with a regular expression
SELECT REGEXP_REPLACE(batch, '-.*$', '') AS maker, COUNT(*) AS doses FROM vaccinations WHERE batch ~ '^[A-Z]{2}-[0-9]+' GROUP BY maker

-- laboratory: unvaccinated by a NOT IN
SELECT "Sex", COUNT(*) AS unvaccinated FROM "Patients" WHERE "PatientID" NOT IN (SELECT "PatientID" FROM vaccinations) GROUP BY "Sex"

-- laboratory: vaccinated before an abnormal CRP
SELECT COUNT(DISTINCT l."PatientID") AS n FROM "LabResults" l WHERE l."Test" = 'CRP' AND l."Result" > 200
  AND EXISTS (SELECT 1 FROM vaccinations v WHERE v."PatientID" = l."PatientID" AND v.given_on BETWEEN CAST(l."TakenAt" AS DATE) - INTERVAL 14 DAY AND CAST(l."TakenAt" AS DATE))

-- laboratory: ISO week
SELECT ISOYEAR(given_on) AS y, WEEK(given_on) AS w, COUNT(*) AS doses FROM vaccinations WHERE given_on >= DATE '2022-01-03' AND given_on < DATE '2022-07-04' GROUP BY y, w ORDER BY y, w

-- laboratory: age at vaccination in months for the youngest
SELECT COUNT(*) FILTER (WHERE mo < 12) AS infants, COUNT(*) FILTER (WHERE mo BETWEEN 12 AND 60) AS toddlers, COUNT(*) AS everybody
FROM (SELECT DATEDIFF('month', p."Date of birth", v.given_on) AS mo FROM vaccinations v JOIN "Patients" p ON p."PatientID" = v."PatientID") a

-- laboratory: patients with both tests on one day
SELECT COUNT(*) FROM (SELECT "PatientID", "TakenAt"::DATE FROM "LabResults" WHERE "Test" = 'CRP' INTERSECT SELECT "PatientID", "TakenAt"::DATE FROM "LabResults" WHERE "Test" = 'LDL') b

-- laboratory: patients with CRP but never LDL
SELECT COUNT(*) FROM (SELECT "PatientID" FROM "LabResults" WHERE "Test" = 'CRP' EXCEPT SELECT "PatientID" FROM "LabResults" WHERE "Test" = 'LDL') b

-- laboratory: comment in the middle of a question
SELECT "Sex", /* women first */ COUNT(*) AS n, -- everybody
       COUNT("Municipality") AS known, FROM "Patients" GROUP BY "Sex" ORDER BY "Sex";

-- laboratory: samples per patient, descriptive
SELECT MIN(n) AS least, MEDIAN(n) AS med, AVG(n) AS mean, MAX(n) AS most FROM (SELECT "PatientID", COUNT(*) AS n FROM "LabResults" GROUP BY 1) s
-- about: 1e-2

-- laboratory: weekday rhythm as a share within the test
SELECT "Test", ISODOW("TakenAt") AS dow, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY "Test") AS pct FROM "LabResults" GROUP BY "Test", dow ORDER BY "Test", dow
