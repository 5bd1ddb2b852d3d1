-- cancers: alias in WHERE as DuckDB has it
SELECT YEAR(diagnosed) AS y, COUNT(*) AS n FROM tumours WHERE y >= 2018 GROUP BY y ORDER BY y

-- cancers: lateral column alias
SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE stage = 'IV') AS late, late * 100.0 / n AS pct FROM tumours

-- cancers: FROM first
FROM tumours SELECT grade, COUNT(*) GROUP BY grade ORDER BY grade

-- cancers: age at diagnosis by AGE
SELECT EXTRACT(YEAR FROM AGE(t.diagnosed, p.born)) // 5 * 5 AS five, COUNT(*) FROM tumours t JOIN persons p USING (person_id) GROUP BY five ORDER BY five

-- cancers: CONCAT of a label
SELECT CONCAT(CAST(FLOOR(size_mm / 25) * 25 AS INTEGER), ' mm+') AS class, COUNT(*) FROM tumours WHERE size_mm IS NOT NULL GROUP BY class

-- cancers: bands from a public table by BETWEEN
SELECT b.label, COUNT(*) FROM tumours t JOIN persons p ON p.person_id = t.person_id JOIN (VALUES (0, 49, 'young'), (50, 69, 'middle'), (70, 120, 'old')) b(lo, hi, label) ON DATE_DIFF('year', p.born, t.diagnosed) BETWEEN b.lo AND b.hi GROUP BY b.label

-- cancers: stage shift between two periods
SELECT CASE WHEN diagnosed < DATE '2018-01-01' THEN 'before' ELSE 'after' END AS period, stage, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY CASE WHEN diagnosed < DATE '2018-01-01' THEN 'before' ELSE 'after' END), 1) AS pct FROM tumours WHERE stage IS NOT NULL GROUP BY 1, 2

-- cancers: chi-square by hand
WITH o AS (SELECT sex, (education = 'tertiary') AS high, COUNT(*)::DOUBLE AS n FROM persons WHERE education IS NOT NULL GROUP BY 1, 2),
m AS (SELECT sex, high, n, SUM(n) OVER (PARTITION BY sex) AS r, SUM(n) OVER (PARTITION BY high) AS c, SUM(n) OVER () AS t FROM o)
SELECT SUM((n - r * c / t) ^ 2 / (r * c / t)) AS chi2 FROM m

-- cancers: rate ratio with confidence limits
WITH d AS (SELECT sex, COUNT(*) AS c FROM tumours JOIN persons USING (person_id) GROUP BY sex), n AS (SELECT sex, SUM(inhabitants) AS py FROM population GROUP BY sex),
r AS (SELECT d.sex, c, py, c / py AS rate FROM d JOIN n ON n.sex = d.sex)
SELECT m.rate / f.rate AS rr, EXP(LN(m.rate / f.rate) - 1.96 * SQRT(1.0 / m.c + 1.0 / f.c)) AS lo, EXP(LN(m.rate / f.rate) + 1.96 * SQRT(1.0 / m.c + 1.0 / f.c)) AS hi FROM r m, r f WHERE m.sex = 'male' AND f.sex = 'female'

-- cancers: cumulative incidence to 75
SELECT sex, 1 - EXP(-SUM(w * n / py)) AS cum FROM (
  SELECT p.sex, CASE WHEN date_diff('year', p.born, t.diagnosed) < 45 THEN '0-44' WHEN date_diff('year', p.born, t.diagnosed) < 65 THEN '45-64' WHEN date_diff('year', p.born, t.diagnosed) < 75 THEN '65-74' END AS g, COUNT(*) AS n
  FROM tumours t JOIN persons p USING (person_id) GROUP BY 1, 2) a
JOIN (SELECT sex AS s, age_group, SUM(inhabitants) AS py FROM population GROUP BY ALL) b ON b.s = a.sex AND b.age_group = a.g
JOIN (VALUES ('0-44', 45), ('45-64', 20), ('65-74', 10)) AS x(g, w) ON x.g = a.g WHERE a.g IS NOT NULL GROUP BY sex

-- cancers: person-years split by calendar year
SELECT y.year, SUM(LEAST(COALESCE(p.died, DATE '2024-12-31'), MAKE_DATE(y.year, 12, 31)) - GREATEST(t.diagnosed, MAKE_DATE(y.year, 1, 1)) + 1) / 365.25 AS py
FROM tumours t JOIN persons p ON p.person_id = t.person_id CROSS JOIN (SELECT DISTINCT year FROM population WHERE year BETWEEN 2015 AND 2019) y
WHERE t.diagnosed <= MAKE_DATE(y.year, 12, 31) AND COALESCE(p.died, DATE '2024-12-31') >= GREATEST(t.diagnosed, MAKE_DATE(y.year, 1, 1)) GROUP BY y.year ORDER BY y.year

-- cancers: person-years by generate_series
SELECT y, COUNT(*) AS alive_at_start FROM GENERATE_SERIES(2014, 2020) AS g(y) JOIN persons p ON YEAR(p.born) < y AND (p.died IS NULL OR YEAR(p.died) >= y) GROUP BY y ORDER BY y

-- cancers: UNNEST of a list of years
SELECT yr, COUNT(DISTINCT t.person_id) AS n FROM (SELECT UNNEST([2015, 2017, 2019]) AS yr) q JOIN tumours t ON YEAR(t.diagnosed) = q.yr GROUP BY yr

-- cancers: array of codes
SELECT COUNT(*) FROM tumours WHERE LEFT(site, 3) = ANY(['C18', 'C20']) AND stage IN ('I', 'II')

-- cancers: PostgreSQL ANY ARRAY
-- plain: SELECT COUNT(*) FROM tumours WHERE LEFT(site, 3) IN ('C18', 'C20')
SELECT COUNT(*) FROM tumours WHERE LEFT(site, 3) = ANY(ARRAY['C18', 'C20'])

-- cancers: list_contains
SELECT COUNT(*) FROM tumours WHERE LIST_CONTAINS(['C18', 'C20'], LEFT(site, 3))

-- cancers: SIMILAR TO
SELECT COUNT(*) FROM tumours WHERE site SIMILAR TO 'C(18|19|20).*'

-- cancers: last contact
SELECT COUNT(*) FILTER (WHERE last_ended > died) AS treated_after_death FROM (SELECT p.person_id, ANY_VALUE(p.died) AS died, MAX(COALESCE(x.ended, x.started)) AS last_ended FROM persons p JOIN tumours t USING (person_id) JOIN treatments x ON x.tumour_id = t.id GROUP BY p.person_id)

-- cancers: LAG of kind within a tumour
SELECT prev || ' then ' || kind AS step, COUNT(*) AS n FROM (SELECT kind, LAG(kind) OVER (PARTITION BY tumour_id ORDER BY started, kind) AS prev FROM treatments) WHERE prev IS NOT NULL GROUP BY step

-- cancers: median survival in days by site
-- about: 1e-1
SELECT s.label, MEDIAN(DATEDIFF('day', t.diagnosed, p.died)) FROM tumours t JOIN persons p USING (person_id) JOIN sites s ON s.code = LEFT(t.site, 3) WHERE p.died >= t.diagnosed GROUP BY s.label

-- cancers: mode of the stage
SELECT MODE(stage) FROM tumours WHERE stage <> 'II'

-- cancers: top sites with a share of the total in a scalar subquery
SELECT LEFT(site, 3) AS code, COUNT(*) AS n, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM tumours) AS pct FROM tumours GROUP BY code ORDER BY n DESC, code

-- cancers: everything but in situ
SELECT COUNT(*) AS invasive FROM tumours WHERE NOT (site LIKE 'D%') AND diagnosed BETWEEN '2015-01-01' AND '2015-12-31';

-- cancers: person with more than one primary in five years
SELECT COUNT(DISTINCT a.person_id) FROM tumours a WHERE EXISTS (SELECT 1 FROM tumours b WHERE b.person_id = a.person_id AND b.id <> a.id AND ABS(b.diagnosed - a.diagnosed) <= 5 * 365 AND LEFT(a.site, 3) <> LEFT(b.site, 3))

-- cancers: trend by regression over the answers
SELECT REGR_SLOPE(n, y) AS per_year, CORR(n, y) AS r FROM (SELECT YEAR(diagnosed) AS y, COUNT(*) AS n FROM tumours GROUP BY 1)

-- cancers: log-linear annual percentage change
SELECT 100 * (EXP(REGR_SLOPE(LN(c.n / p.n), c.y)) - 1) AS apc FROM (SELECT YEAR(diagnosed) AS y, COUNT(*) AS n FROM tumours GROUP BY 1) c JOIN (SELECT year, SUM(inhabitants) AS n FROM population GROUP BY year) p ON p.year = c.y

-- cancers: PIVOT of sex in T-SQL words
SELECT * FROM (SELECT p.district, p.sex, t.id FROM tumours t JOIN persons p ON p.person_id = t.person_id) q PIVOT (COUNT(id) FOR sex IN ('female', 'male')) ORDER BY district

-- cancers: cube with HAVING
SELECT p.sex, t.grade, COUNT(*) AS n FROM tumours t JOIN persons p USING (person_id) GROUP BY CUBE (p.sex, t.grade) HAVING COUNT(*) > 50

-- cancers: parentheses and ISO literals
SELECT ((COUNT(*))) AS n FROM (tumours) WHERE (diagnosed) >= ('2020-01-01'::DATE)

-- cancers: NTILE of sizes over everybody
-- refused: several units
SELECT q, COUNT(*) FROM (SELECT NTILE(4) OVER (ORDER BY size_mm) AS q FROM tumours) GROUP BY q

-- ambulances: longest gap between readings
SELECT MAX(gap) FROM (SELECT DATE_DIFF('minute', LAG(taken_at) OVER (PARTITION BY dispatch_id ORDER BY taken_at), taken_at) AS gap FROM vitals)
-- about: 5e-1

-- ambulances: deterioration during transport
SELECT COUNT(*) FROM (SELECT dispatch_id, FIRST_VALUE(systolic) OVER w AS s0, LAST_VALUE(systolic) OVER w AS s1, ROW_NUMBER() OVER w AS rn FROM vitals WINDOW w AS (PARTITION BY dispatch_id ORDER BY taken_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) v WHERE rn = 1 AND s1 <= s0 - 20

-- ambulances: FIRST of a run
SELECT AVG(f) FROM (SELECT dispatch_id, FIRST(pulse ORDER BY taken_at) AS f FROM vitals GROUP BY dispatch_id) x
-- about: 1e-2

-- ambulances: early warning score
SELECT CASE WHEN score >= 5 THEN 'urgent' WHEN score >= 3 THEN 'watch' ELSE 'stable' END AS triage, COUNT(*) AS readings FROM (
  SELECT (CASE WHEN spo2 < 92 THEN 3 WHEN spo2 < 94 THEN 2 WHEN spo2 < 96 THEN 1 ELSE 0 END) + (CASE WHEN systolic <= 90 THEN 3 WHEN systolic <= 100 THEN 2 WHEN systolic <= 110 THEN 1 ELSE 0 END) + (CASE WHEN pulse > 130 THEN 3 WHEN pulse > 110 THEN 2 WHEN pulse > 90 THEN 1 ELSE 0 END) AS score FROM vitals) s GROUP BY triage

-- ambulances: time between calls in bands
SELECT CASE WHEN h < 24 THEN 'a day' WHEN h < 168 THEN 'a week' ELSE 'later' END AS after, COUNT(*) FROM (SELECT EXTRACT(EPOCH FROM called_at - LAG(called_at) OVER (PARTITION BY pid ORDER BY called_at)) / 3600 AS h FROM dispatches) g WHERE h IS NOT NULL GROUP BY after

-- ambulances: TIME_BUCKET of six hours
SELECT TIME_BUCKET(INTERVAL '6 hours', called_at) AS slot, COUNT(*) AS n FROM dispatches WHERE called_at >= '2023-06-01' AND called_at < '2023-06-08' GROUP BY slot ORDER BY slot

-- ambulances: summer time
SELECT CASE WHEN called_at BETWEEN '2023-03-26 01:00' AND '2023-10-29 01:00' THEN 'summer' ELSE 'winter' END AS s, COUNT(*) FROM dispatches WHERE YEAR(called_at) = 2023 GROUP BY s

-- ambulances: day of the year
SELECT DAYOFYEAR(called_at) // 30 AS block, COUNT(*) FROM dispatches GROUP BY block ORDER BY block

-- ambulances: overlap of runs at one moment
SELECT COUNT(*) AS busy FROM dispatches WHERE TIMESTAMP '2023-05-05 12:00:00' BETWEEN dispatched_at AND COALESCE(hospital_at, arrived_at, dispatched_at)

-- ambulances: weekdays by CASE of EXTRACT
SELECT CASE EXTRACT(DOW FROM called_at) WHEN 0 THEN 'Sun' WHEN 6 THEN 'Sat' ELSE 'week' END AS part, COUNT(*) / COUNT(DISTINCT called_at::DATE) AS per_day FROM dispatches GROUP BY part

-- ambulances: percent rank of stations
SELECT name, n, PERCENT_RANK() OVER (ORDER BY n) AS pr, CUME_DIST() OVER (ORDER BY n) AS cd, NTILE(2) OVER (ORDER BY n DESC, name) AS half FROM (SELECT s.name, COUNT(*) AS n FROM dispatches d JOIN stations s USING (station) GROUP BY s.name) q

-- ambulances: share within 15 minutes meets the target
SELECT s.region, AVG((DATE_DIFF('second', called_at, arrived_at) <= 900)::INT) >= 0.9 AS meets FROM dispatches d JOIN stations s USING (station) WHERE arrived_at IS NOT NULL GROUP BY s.region

-- ambulances: trimmed mean
SELECT AVG(LEAST(DATE_DIFF('second', called_at, arrived_at), 1800)) AS capped, AVG(DATE_DIFF('second', called_at, arrived_at)) FILTER (WHERE DATE_DIFF('second', called_at, arrived_at) BETWEEN 120 AND 1500) AS trimmed FROM dispatches
-- about: 1e-3

-- ambulances: blood pressure from the notes
SELECT CASE WHEN TRY_CAST(REGEXP_EXTRACT(notes, 'RR (\d+)/(\d+)', 1) AS INT) >= 140 THEN 'high' ELSE 'other' END AS rr, COUNT(*) FROM dispatches WHERE notes LIKE '%RR%' GROUP BY rr

-- ambulances: length of notes
SELECT LENGTH(COALESCE(notes, '')) > 20 AS long_note, COUNT(*) FROM dispatches GROUP BY long_note

-- ambulances: IN with lowered text
SELECT COUNT(*) FROM dispatches WHERE TRIM(LOWER(reason)) IN ('fall', 'stroke')

-- ambulances: reason starting with a letter
SELECT UPPER(reason[1]) AS letter, COUNT(*) FROM dispatches GROUP BY letter ORDER BY letter

-- ambulances: patients by generation
SELECT CASE WHEN birth_year BETWEEN 1925 AND 1945 THEN 'silent' WHEN birth_year BETWEEN 1946 AND 1964 THEN 'boomer' WHEN birth_year BETWEEN 1965 AND 1980 THEN 'x' ELSE 'later' END AS gen, gender, COUNT(*) FROM patients GROUP BY gen, gender ORDER BY gen, gender

-- ambulances: mean of counts per patient with zeros
SELECT AVG(COALESCE(n, 0)) FROM patients p LEFT JOIN (SELECT pid, COUNT(*) AS n FROM dispatches WHERE priority = 1 GROUP BY pid) d ON d.pid = p.pid
-- about: 1e-2

-- ambulances: patients whose first call was urgent
SELECT COUNT(*) FROM patients p WHERE (SELECT priority FROM dispatches d WHERE d.pid = p.pid ORDER BY called_at LIMIT 1) = 1

-- ambulances: escalation
SELECT COUNT(*) FROM (SELECT pid, priority, LAG(priority) OVER (PARTITION BY pid ORDER BY called_at) AS before FROM dispatches) e WHERE priority < before

-- ambulances: all of a patient's calls transported
SELECT gender, COUNT(*) FROM patients p WHERE TRUE = ALL (SELECT transported FROM dispatches d WHERE d.pid = p.pid) GROUP BY gender

-- ambulances: HAVING EVERY
SELECT COUNT(*) FROM (SELECT pid FROM dispatches GROUP BY pid HAVING BOOL_AND(transported) AND COUNT(*) >= 2) t

-- births: inter-birth by self join on consecutive
SELECT AVG(b2.weight_g - b1.weight_g) AS gain FROM births b1 JOIN births b2 ON b2.mother_id = b1.mother_id AND b2.born_at > b1.born_at WHERE NOT EXISTS (SELECT 1 FROM births b3 WHERE b3.mother_id = b1.mother_id AND b3.born_at > b1.born_at AND b3.born_at < b2.born_at)
-- about: 1e-2

-- births: concordance of mode in consecutive births
SELECT COUNT(*) FILTER (WHERE mode IS NOT DISTINCT FROM prev) * 1.0 / COUNT(*) FROM (SELECT mode, LAG(mode) OVER (PARTITION BY mother_id ORDER BY born_at) AS prev FROM births) WHERE prev IS NOT NULL

-- births: mother's mean and child's deviation
SELECT STDDEV(d) AS within_sd FROM (SELECT weight_g - AVG(weight_g) OVER (PARTITION BY mother_id) AS d FROM births)
-- about: 1e-2

-- births: weight centile bands by cut points
SELECT CASE WHEN weight_g < 1000 THEN 'ELBW' WHEN weight_g < 1500 THEN 'VLBW' WHEN weight_g < 2500 THEN 'LBW' WHEN weight_g < 4000 THEN 'normal' ELSE 'macrosomic' END AS cat, mode, COUNT(*), ROUND(COUNT(*) * 100.0 / SUM(COUNT(*)) OVER (PARTITION BY mode), 1) FROM births GROUP BY 1, 2 ORDER BY 2, 1

-- births: BMI of the mother from two tables
SELECT CASE WHEN m.height_cm < 155 THEN 'short' WHEN m.height_cm < 170 THEN 'middle' ELSE 'tall' END AS h, AVG(b.weight_g)::INT AS mean_g FROM mothers m JOIN births b USING (mother_id) GROUP BY h

-- births: difference in differences
SELECT (AVG(weight_g) FILTER (WHERE smoker AND born_at >= '2020-01-01') - AVG(weight_g) FILTER (WHERE smoker AND born_at < '2020-01-01')) - (AVG(weight_g) FILTER (WHERE NOT smoker AND born_at >= '2020-01-01') - AVG(weight_g) FILTER (WHERE NOT smoker AND born_at < '2020-01-01')) AS did FROM births JOIN mothers USING (mother_id)
-- about: 1e-2

-- births: attributable fraction
WITH t AS (SELECT COALESCE(smoker, FALSE) AS exposed, AVG((weight_g < 2500)::INT) AS risk, COUNT(*) AS n FROM births JOIN mothers USING (mother_id) GROUP BY 1)
SELECT (e.risk - u.risk) / e.risk AS af, e.risk / u.risk AS rr FROM (SELECT * FROM t WHERE exposed) e, (SELECT * FROM t WHERE NOT exposed) u

-- births: Mantel-Haenszel over strata of mode
WITH s AS (SELECT mode, SUM(CASE WHEN smoker AND weeks < 37 THEN 1 ELSE 0 END) AS a, SUM(CASE WHEN smoker AND weeks >= 37 THEN 1 ELSE 0 END) AS b, SUM(CASE WHEN NOT smoker AND weeks < 37 THEN 1 ELSE 0 END) AS c, SUM(CASE WHEN NOT smoker AND weeks >= 37 THEN 1 ELSE 0 END) AS d FROM births NATURAL JOIN mothers GROUP BY mode)
SELECT SUM(a * d * 1.0 / (a + b + c + d)) / SUM(b * c * 1.0 / (a + b + c + d)) AS or_mh FROM s

-- births: hospital league table with funnel limits
WITH h AS (SELECT hospital, COUNT(*) AS n, AVG((mode = 'caesarean')::INT) AS p FROM births GROUP BY hospital), o AS (SELECT SUM(n * p) / SUM(n) AS p0 FROM h)
SELECT x.name, h.n, h.p, o.p0 + 1.96 * SQRT(o.p0 * (1 - o.p0) / h.n) AS upper_limit, h.p > o.p0 + 1.96 * SQRT(o.p0 * (1 - o.p0) / h.n) AS outlier FROM h CROSS JOIN o JOIN hospitals x ON x.hospital = h.hospital ORDER BY h.p DESC

-- births: children seen at every check
SELECT COUNT(*) AS children, AVG(n) AS mean_checks FROM (SELECT birth_id, COUNT(*) AS n FROM checks GROUP BY birth_id HAVING MIN(weight_kg) IS NOT NULL AND MAX(dental) <= 5) c
-- about: 1e-2

-- births: dental score as text
SELECT dental::VARCHAR || ' teeth' AS dental, COUNT(*) FROM checks GROUP BY ALL

-- births: follow-up completeness by anti join
SELECT YEAR(b.born_at) AS y, COUNT(*) FILTER (WHERE c.birth_id IS NULL) AS never_seen, COUNT(*) AS n FROM births b LEFT JOIN (SELECT DISTINCT birth_id FROM checks) c USING (birth_id) GROUP BY y ORDER BY y

-- births: ANTI JOIN in DuckDB
SELECT COUNT(*) FROM mothers ANTI JOIN births USING (mother_id)

-- births: SEMI JOIN in DuckDB
SELECT country, COUNT(*) FROM mothers m SEMI JOIN births b ON m.mother_id = b.mother_id AND b.twin GROUP BY country

-- births: growth between 12 and 24 months
SELECT AVG(h24 - h12) FROM (SELECT c.birth_id, MAX(CASE WHEN DATE_DIFF('month', CAST(b.born_at AS DATE), c.checked_on) BETWEEN 11 AND 17 THEN c.height_cm END) AS h12, MAX(CASE WHEN DATE_DIFF('month', CAST(b.born_at AS DATE), c.checked_on) BETWEEN 23 AND 29 THEN c.height_cm END) AS h24 FROM checks c JOIN births b ON b.birth_id = c.birth_id GROUP BY c.birth_id) g
-- about: 2e-2

-- births: the hour of birth by mode, normalised
SELECT mode, HOUR(born_at) // 6 AS quarter_of_day, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY mode) AS share FROM births GROUP BY mode, quarter_of_day ORDER BY 1, 2

-- births: USING SAMPLE
-- refused: TABLESAMPLE is refused
SELECT COUNT(*) FROM births USING SAMPLE 10%

-- laboratory: alias as a column of another case
SELECT LOWER("Unit") AS unit, COUNT(*) AS n FROM "LabResults" GROUP BY 1 ORDER BY unit

-- laboratory: last of the results by a window
SELECT AVG(v) FROM (SELECT DISTINCT "PatientID", LAST_VALUE("Result") OVER (PARTITION BY "PatientID" ORDER BY "TakenAt" ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS v FROM "LabResults" WHERE "Test" = 'Ferritin') t
-- about: 2e-2

-- laboratory: delta check
SELECT COUNT(*) FILTER (WHERE ABS("Result" - prev) > 0.5 * prev) * 1.0 / COUNT(prev) AS flagged FROM (SELECT "Result", LAG("Result") OVER (PARTITION BY "PatientID", "Test" ORDER BY "TakenAt") AS prev FROM "LabResults") d

-- laboratory: pivot of the tests within the patient
SELECT COUNT(*) FILTER (WHERE crp > 300 AND ferritin > 300) AS both_high FROM (SELECT "PatientID", MAX("Result") FILTER (WHERE "Test" = 'CRP') AS crp, MAX("Result") FILTER (WHERE "Test" = 'Ferritin') AS ferritin FROM "LabResults" GROUP BY "PatientID") w

-- laboratory: duplicates within a day
SELECT SUM(k - 1) AS surplus FROM (SELECT "PatientID", "Test", "TakenAt"::DATE AS d, COUNT(*) AS k FROM "LabResults" GROUP BY ALL HAVING COUNT(*) > 1) q

-- laboratory: retested within 90 days of an abnormal result
SELECT l."Test", COUNT(*) AS abnormal, COUNT(*) FILTER (WHERE EXISTS (FROM "LabResults" r WHERE r."PatientID" = l."PatientID" AND r."Test" = l."Test" AND r."TakenAt" > l."TakenAt" AND r."TakenAt" <= l."TakenAt" + INTERVAL 90 DAYS)) AS retested FROM "LabResults" l WHERE l."Abnormal" GROUP BY l."Test"

-- laboratory: age group at the test with quoted names
SELECT CASE WHEN "Age" < 18 THEN 'child' WHEN "Age" < 65 THEN 'adult' ELSE 'senior' END AS "Age group", COUNT(*) AS "Number of tests" FROM (SELECT DATE_DIFF('year', "Date of birth", CAST("TakenAt" AS DATE)) AS "Age" FROM "LabResults" JOIN "Patients" USING ("PatientID")) GROUP BY "Age group" ORDER BY "Number of tests" DESC

-- laboratory: schema-qualified names
SELECT COUNT(*) FROM main."Patients" WHERE main."Patients"."Sex" = 'F'

-- laboratory: vaccination status at the time of the test
SELECT CASE WHEN EXISTS (SELECT 1 FROM vaccinations v WHERE v."PatientID" = l."PatientID" AND v.given_on < l."TakenAt"::DATE) THEN 'vaccinated' ELSE 'not' END AS status, AVG(l."Result") AS mean_crp, COUNT(*) AS n FROM "LabResults" l WHERE l."Test" = 'CRP' GROUP BY status
-- about: 1e-3

-- laboratory: doses before each test by correlated count
SELECT k, COUNT(*) FROM (SELECT (SELECT COUNT(*) FROM vaccinations v WHERE v."PatientID" = l."PatientID" AND v.given_on <= l."TakenAt"::DATE) AS k FROM "LabResults" l WHERE l."Test" = 'LDL') t GROUP BY k ORDER BY k

-- laboratory: ASOF join of the last dose
SELECT AVG(l."TakenAt"::DATE - v.given_on) AS days_since FROM "LabResults" l ASOF JOIN vaccinations v ON l."PatientID" = v."PatientID" AND l."TakenAt" >= v.given_on
-- about: 1e-2

-- laboratory: municipality looked up with COALESCE
SELECT COALESCE(m.canton, 'elsewhere') AS canton, COUNT(*) FROM "Patients" p LEFT JOIN municipalities m ON m.name = p."Municipality" GROUP BY 1

-- laboratory: coverage of the public towns
SELECT m.name, COUNT(DISTINCT v."PatientID") * 1000.0 / m.inhabitants AS per_thousand FROM municipalities m JOIN "Patients" p ON p."Municipality" = m.name JOIN vaccinations v ON v."PatientID" = p."PatientID" GROUP BY m.name, m.inhabitants

-- laboratory: MAX of a public column by ANY_VALUE
SELECT p."Municipality", COUNT(*) * 1000.0 / ANY_VALUE(m.inhabitants) AS rate FROM "Patients" p JOIN municipalities m ON m.name = p."Municipality" GROUP BY p."Municipality"

-- laboratory: count of non-null by COUNT_IF
SELECT COUNT_IF("Result" > 200) AS high, COUNT_IF("Result" IS NULL) AS missing, COUNT(*) AS n FROM "LabResults"

-- laboratory: quantile by DISC
SELECT QUANTILE_DISC("Result", 0.9) FROM "LabResults" WHERE "Test" = 'LDL'
-- about: 2e-2

-- laboratory: HISTOGRAM function
SELECT "Test", COUNT(*) AS n, BAR(COUNT(*), 0, 2000, 20) AS picture FROM "LabResults" GROUP BY "Test"

-- laboratory: entropy of the tests
SELECT -SUM(p * LOG2(p)) AS bits FROM (SELECT COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS p FROM "LabResults" GROUP BY "Test")

-- laboratory: 95th centile of TAT per month below target
-- about: 5e-2
SELECT DATE_TRUNC('quarter', "TakenAt") AS q, QUANTILE_CONT(DATE_DIFF('minute', "TakenAt", "ResultAt"), 0.95) / 60.0 AS p95 FROM "LabResults" GROUP BY q ORDER BY q

-- laboratory: nested CASE on batch
SELECT CASE WHEN batch IS NULL THEN 'missing' WHEN batch LIKE 'PF-%' THEN CASE WHEN RIGHT(batch, 1) = 'A' THEN 'Pfizer A' ELSE 'Pfizer B' END ELSE 'other' END AS b, COUNT(*) FROM vaccinations GROUP BY b

-- laboratory: month gaps filled with a calendar
SELECT c.m, COALESCE(t.n, 0) AS n FROM (SELECT UNNEST(GENERATE_SERIES(DATE '2021-01-01', DATE '2021-12-01', INTERVAL 1 MONTH))::DATE AS m) c LEFT JOIN (SELECT DATE_TRUNC('month', given_on) AS m, COUNT(*) AS n FROM vaccinations WHERE vaccine = 'MMR' GROUP BY 1) t ON t.m = c.m ORDER BY c.m

-- laboratory: rank of the doses by date against the number written
SELECT COUNT(*) AS mismatched FROM (SELECT dose_no, ROW_NUMBER() OVER (PARTITION BY "PatientID" ORDER BY given_on, dose_no) AS r FROM vaccinations) q WHERE dose_no <> r

-- cancers: lateral alias in a subquery
SELECT band, COUNT(*) FROM (SELECT DATE_DIFF('year', p.born, t.diagnosed) AS age, CASE WHEN age < 50 THEN 'young' ELSE 'old' END AS band FROM tumours t JOIN persons p USING (person_id)) GROUP BY band

-- cancers: alias in WHERE of a CTE
WITH a AS (SELECT t.stage, DATE_DIFF('year', p.born, t.diagnosed) AS age FROM tumours t JOIN persons p USING (person_id) WHERE age BETWEEN 50 AND 69) SELECT COUNT(*), AVG(age) FROM a
-- about: 1e-3

-- cancers: key function over a column key
SELECT LOWER(site) AS s, COUNT(*) FROM tumours GROUP BY site

-- cancers: alias in HAVING of a key
SELECT YEAR(diagnosed) AS y, COUNT(*) AS n FROM tumours GROUP BY y HAVING y >= 2018

-- cancers: ANY subquery
SELECT COUNT(*) FROM persons WHERE person_id = ANY (SELECT person_id FROM tumours WHERE stage = 'I')

-- cancers: GREATER than all
SELECT COUNT(*) FROM tumours t WHERE size_mm >= ALL (SELECT size_mm FROM tumours o WHERE o.person_id = t.person_id AND o.size_mm IS NOT NULL)

-- cancers: alias of an aggregate used in a subquery's HAVING
SELECT COUNT(*) FROM (SELECT person_id, COUNT(*) AS n FROM tumours GROUP BY person_id HAVING n >= 3)

-- cancers: VALUES in a CTE
WITH years(y) AS (VALUES (2015), (2017), (2019)) SELECT y, COUNT(*) FROM years JOIN tumours t ON YEAR(t.diagnosed) = years.y GROUP BY y

-- cancers: index dates of a series joined
WITH d AS (SELECT MAKE_DATE(y, 12, 31) AS day FROM GENERATE_SERIES(2015, 2018) AS g(y)) SELECT d.day, COUNT(DISTINCT p.person_id) FROM d JOIN persons p ON p.born <= d.day AND (p.died IS NULL OR p.died > d.day) GROUP BY d.day

-- cancers: index dates of range
SELECT d.day, COUNT(*) FROM (SELECT DATE '2015-01-01' + INTERVAL 1 YEAR * i AS day FROM RANGE(5) r(i)) d JOIN tumours t ON t.diagnosed >= d.day AND t.diagnosed < d.day + INTERVAL 1 YEAR GROUP BY d.day

-- cancers: UNNEST directly
SELECT yr, COUNT(*) AS n FROM UNNEST([2015, 2017, 2019]) AS u(yr) JOIN tumours t ON YEAR(t.diagnosed) = yr GROUP BY yr

-- cancers: NULL stage by IFNULL in a CTE
WITH s AS (SELECT IFNULL(stage, 'X') AS stage FROM tumours) SELECT stage, COUNT(*) FROM s GROUP BY stage

-- cancers: COUNT DISTINCT of two columns
SELECT COUNT(DISTINCT (LEFT(site, 3), stage)) FROM tumours WHERE stage IS NOT NULL

-- cancers: nested aggregates by district, mean per person
SELECT district, AVG(k) AS mean_tumours FROM (SELECT p.person_id, p.district, COUNT(t.id) AS k FROM persons p LEFT JOIN tumours t ON t.person_id = p.person_id GROUP BY ALL) GROUP BY district

-- cancers: percent of parents
SELECT district, sex, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY district) AS pct, SUM(COUNT(*)) OVER (PARTITION BY sex) AS of_sex FROM persons GROUP BY district, sex

-- cancers: window over alias
SELECT district, COUNT(*) AS n, RANK() OVER (ORDER BY n DESC, district) AS r FROM persons GROUP BY district

-- cancers: dot-star of one table in CTE
WITH x AS (SELECT t.*, p.sex FROM tumours t JOIN persons p ON p.person_id = t.person_id) SELECT sex, COUNT(*) FILTER (stage = 'I') AS early FROM x GROUP BY sex

-- cancers: EXCLUDE and REPLACE
SELECT stage, COUNT(*) FROM (SELECT * REPLACE (COALESCE(stage, 'X') AS stage) FROM tumours) GROUP BY stage

-- cancers: TRY_CAST of substr to number
SELECT COUNT(*) FILTER (WHERE TRY_CAST(SUBSTR(site, 2, 2) AS INTEGER) BETWEEN 15 AND 26) AS digestive FROM tumours

-- cancers: CAST of substr to number
-- refused: it would fail on a row
SELECT COUNT(*) FROM tumours WHERE CAST(SUBSTR(site, 2, 2) AS INTEGER) BETWEEN 15 AND 26

-- cancers: interval arithmetic with months
SELECT COUNT(*) FROM treatments x JOIN tumours t ON t.id = x.tumour_id WHERE x.started <= t.diagnosed + INTERVAL '3 months' AND x.kind = 'surgery'

-- cancers: date as text compared
SELECT COUNT(*) FROM tumours WHERE STRFTIME(diagnosed, '%Y-%m') = '2019-03'

-- cancers: coalesce of dates in a group
SELECT YEAR(COALESCE(died, DATE '2024-12-31')) AS y, COUNT(*) FROM persons GROUP BY y

-- cancers: CASE with several WHEN of lists
SELECT CASE WHEN LEFT(site, 3) IN ('C18','C19','C20') THEN 'colorectum' WHEN LEFT(site, 1) = 'D' THEN 'in situ' ELSE LEFT(site, 3) END AS grp, COUNT(*) FROM tumours GROUP BY grp

-- cancers: cross join of two scalars
SELECT a.n AS tumours, b.n AS persons, a.n * 1.0 / b.n AS per_person FROM (SELECT COUNT(*) AS n FROM tumours) a, (SELECT COUNT(*) AS n FROM persons) b

-- cancers: select of scalar subqueries
SELECT (SELECT COUNT(*) FROM tumours) AS t, (SELECT COUNT(*) FROM persons WHERE died IS NOT NULL) AS d

-- cancers: UNION of totals under the rows
SELECT district, COUNT(*) AS n FROM persons GROUP BY district UNION ALL SELECT 'Total', COUNT(*) FROM persons ORDER BY n

-- cancers: negative binomial-ish mean var
SELECT AVG(k), VAR_SAMP(k), VAR_SAMP(k) / AVG(k) AS dispersion FROM (SELECT person_id, COUNT(*) AS k FROM tumours GROUP BY 1)
-- about: 1e-3

-- cancers: hospital stays as intervals
SELECT SUM(DATE_DIFF('day', started, ended) + 1) AS treatment_days, AVG(ended - started + 1) AS mean FROM treatments WHERE ended IS NOT NULL AND kind = 'chemo'
-- about: 1e-3

-- cancers: gaps and islands
SELECT AVG(episodes) FROM (SELECT tumour_id, SUM(new_episode) AS episodes FROM (SELECT tumour_id, CASE WHEN started - LAG(ended) OVER (PARTITION BY tumour_id ORDER BY started, id) <= 30 THEN 0 ELSE 1 END AS new_episode FROM (SELECT tumour_id, started, COALESCE(ended, started) AS ended, kind AS id FROM treatments) q) z GROUP BY tumour_id) y
-- about: 2e-2

-- cancers: EXTRACT epoch of dates
SELECT AVG(EXTRACT(EPOCH FROM ended) - EXTRACT(EPOCH FROM started)) / 86400 AS d FROM treatments WHERE ended IS NOT NULL
-- about: 1e-3

-- ambulances: PERCENTILE by priority in minutes
-- about: 2e-2
SELECT priority, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY DATE_DIFF('second', called_at, arrived_at)) / 60.0 AS med FROM dispatches GROUP BY priority

-- ambulances: SUBSTRING slices
SELECT postcode[1:2] AS pc, COUNT(*) FROM patients WHERE postcode IS NOT NULL GROUP BY pc

-- ambulances: column with a table alias in quotes
SELECT "d"."priority" AS "Priority", COUNT(*) AS "Runs" FROM "dispatches" AS "d" GROUP BY "Priority"

-- ambulances: positional HAVING with FILTER
SELECT station, COUNT(*) FILTER (priority = 1) AS urgent FROM dispatches GROUP BY station HAVING COUNT(*) FILTER (WHERE priority = 1) > 100

-- ambulances: dispatches without vitals ANTI
SELECT priority, COUNT(*) FROM dispatches d ANTI JOIN vitals v ON v.dispatch_id = d.id GROUP BY priority

-- ambulances: date diff by subtraction of casts
SELECT AVG(CAST(hospital_at AS DATE) - CAST(called_at AS DATE)) FROM dispatches WHERE hospital_at IS NOT NULL

-- ambulances: EPOCH function
SELECT AVG(EPOCH(arrived_at) - EPOCH(called_at)) FROM dispatches
-- about: 1e-3

-- ambulances: call volume peak hour
SELECT hour FROM (SELECT HOUR(called_at) AS hour, COUNT(*) AS n FROM dispatches GROUP BY 1) ORDER BY n DESC LIMIT 1

-- ambulances: day with most calls
SELECT MAX(n) AS busiest, MIN(n) AS calmest, AVG(n) FROM (SELECT DATE_TRUNC('month', called_at) AS d, COUNT(*) AS n FROM dispatches WHERE YEAR(called_at) < 2024 GROUP BY d)

-- ambulances: simultaneous via range join with public slots
SELECT s.t, COUNT(*) AS busy FROM (SELECT UNNEST([TIMESTAMP '2023-01-01 12:00:00', TIMESTAMP '2023-07-01 12:00:00']) AS t) s JOIN dispatches d ON s.t BETWEEN d.called_at AND d.called_at + INTERVAL 2 DAY GROUP BY s.t

-- ambulances: bearing in CASE
SELECT CASE WHEN lat >= 46.95 AND lon >= 7.45 THEN 'NE' WHEN lat >= 46.95 THEN 'NW' WHEN lon >= 7.45 THEN 'SE' ELSE 'SW' END AS quadrant, COUNT(*) FROM dispatches GROUP BY quadrant

-- births: multiple CTE join per mother
WITH f AS (SELECT mother_id, MIN(born_at) AS first_at FROM births GROUP BY mother_id), l AS (SELECT mother_id, MAX(born_at) AS last_at, COUNT(*) AS n FROM births GROUP BY mother_id)
SELECT n, AVG(DATE_DIFF('day', first_at, last_at)) AS span FROM f JOIN l USING (mother_id) WHERE n > 1 GROUP BY n ORDER BY n
-- about: 1e-3

-- births: first born against later born
SELECT CASE WHEN rn = 1 THEN 'first' ELSE 'later' END AS birth_order, AVG(weight_g) AS mean_g, STDDEV(weight_g) AS sd FROM (SELECT weight_g, DENSE_RANK() OVER (PARTITION BY mother_id ORDER BY born_at) AS rn FROM births) GROUP BY 1
-- about: 1e-3

-- births: t test
SELECT (AVG(weight_g) FILTER (WHERE sex = 'm') - AVG(weight_g) FILTER (WHERE sex = 'f')) / SQRT(VAR_SAMP(weight_g) FILTER (WHERE sex = 'm') / COUNT(*) FILTER (WHERE sex = 'm') + VAR_SAMP(weight_g) FILTER (WHERE sex = 'f') / COUNT(*) FILTER (WHERE sex = 'f')) AS t FROM births
-- about: 1e-1

-- births: kurtosis skew
-- about: 5e-2
SELECT SKEWNESS(weight_g), KURTOSIS(weight_g) FROM births

-- births: children of mothers with at least two sections
SELECT COUNT(*) FROM births WHERE mother_id IN (SELECT mother_id FROM births WHERE mode = 'caesarean' GROUP BY mother_id HAVING COUNT(*) >= 2)

-- births: CASE on subquery column in HAVING
SELECT hospital, COUNT(*) AS n FROM births GROUP BY hospital HAVING AVG(weight_g) > (SELECT AVG(weight_g) FROM births)

-- births: natural percent of twin by hospital name
SELECT name, 100 * AVG(CAST(twin AS INTEGER)) AS pct FROM births JOIN hospitals USING (hospital) GROUP BY name ORDER BY pct DESC NULLS LAST

-- births: concat keys
SELECT CONCAT_WS('/', mode, sex) AS k, COUNT(*) FROM births GROUP BY k

-- births: arg_max of latest check per child
SELECT vision, COUNT(*) FROM (SELECT birth_id, ARG_MAX(vision, checked_on) AS vision FROM checks GROUP BY birth_id) l GROUP BY vision

-- births: count of distinct modes per mother
SELECT k, COUNT(*) FROM (SELECT mother_id, COUNT(DISTINCT mode) AS k FROM births GROUP BY mother_id) GROUP BY k ORDER BY k

-- births: text key with NULL
SELECT vision, COUNT(*) FROM checks GROUP BY vision

-- laboratory: DISTINCT list
SELECT DISTINCT vaccine FROM vaccinations ORDER BY vaccine

-- laboratory: join with three public and ORDER BY expression
SELECT x.manufacturer, v.dose_no, COUNT(*) FROM vaccinations v JOIN vaccines x USING (vaccine) GROUP BY x.manufacturer, v.dose_no ORDER BY COUNT(*) DESC

-- laboratory: LIKE with underscores
SELECT COUNT(*) FROM vaccinations WHERE batch LIKE 'PF-____/_'

-- laboratory: NULL-safe municipality compare
SELECT COUNT(*) FROM "Patients" WHERE "Municipality" IS NOT DISTINCT FROM NULL

-- laboratory: REGEXP in CASE
SELECT CASE WHEN REGEXP_MATCHES(LOWER("Comment"), '^(repeat|haem)') THEN 'problem' ELSE 'fine' END AS q, COUNT(*) FROM "LabResults" GROUP BY q

-- laboratory: mean of three most recent
SELECT AVG("Result") FROM (SELECT "Result", ROW_NUMBER() OVER (PARTITION BY "PatientID" ORDER BY "TakenAt" DESC) AS rn FROM "LabResults" WHERE "Test" = 'HbA1c' AND "Result" IS NOT NULL) q WHERE rn <= 3
-- about: 1e-2

-- laboratory: waning by weeks since dose
SELECT DATE_DIFF('week', last_dose, "TakenAt"::DATE) // 4 AS block, COUNT(*) FROM (SELECT l."TakenAt", (SELECT MAX(given_on) FROM vaccinations v WHERE v."PatientID" = l."PatientID" AND v.given_on <= l."TakenAt"::DATE) AS last_dose FROM "LabResults" l WHERE l."Test" = 'CRP') q WHERE last_dose IS NOT NULL GROUP BY block

-- laboratory: window count of tests in 30 days by RANGE
SELECT MAX(k) FROM (SELECT COUNT(*) OVER (PARTITION BY "PatientID" ORDER BY "TakenAt" RANGE BETWEEN INTERVAL 30 DAY PRECEDING AND CURRENT ROW) AS k FROM "LabResults") q
-- about: 5e-1

-- laboratory: ever-never table
SELECT v.ever, COUNT(*) AS n, AVG(l.mx) AS mean_max FROM (SELECT p."PatientID", EXISTS (SELECT 1 FROM vaccinations x WHERE x."PatientID" = p."PatientID") AS ever FROM "Patients" p) v JOIN (SELECT "PatientID", MAX("Result") AS mx FROM "LabResults" WHERE "Test" = 'CRP' GROUP BY "PatientID") l USING ("PatientID") GROUP BY v.ever

-- cancers: labelled years
SELECT q.label, COUNT(*) FROM tumours t JOIN (SELECT y AS yr, label FROM (VALUES (2015, 'a'), (2016, 'b')) v(y, label)) q ON YEAR(t.diagnosed) = q.yr GROUP BY q.label

-- cancers: bands computed
SELECT b.lo, COUNT(*) FROM tumours t JOIN persons p USING (person_id) JOIN (SELECT i * 10 AS lo FROM RANGE(0, 12) AS r(i)) b ON DATE_DIFF('year', p.born, t.diagnosed) >= b.lo AND DATE_DIFF('year', p.born, t.diagnosed) < b.lo + 10 GROUP BY b.lo

-- births: list over answers
SELECT h.level, x.n FROM (SELECT hospital, COUNT(*) AS n FROM births GROUP BY hospital) x JOIN hospitals h USING (hospital) WHERE x.hospital IN (SELECT UNNEST([1, 2]))

-- ambulances: arg_max with a filter
SELECT v, COUNT(*) FROM (SELECT dispatch_id, ARG_MAX(pulse, taken_at) FILTER (WHERE systolic < 120) AS v FROM vitals GROUP BY dispatch_id) t WHERE v IS NOT NULL GROUP BY v

-- ambulances: arg_max of a CASE
SELECT COUNT(v), AVG(v) FROM (SELECT dispatch_id, ARG_MAX(CASE WHEN systolic < 120 THEN pulse END, taken_at) AS v FROM vitals GROUP BY dispatch_id) t
-- about: 1e-2

-- ambulances: arg_max in HAVING
SELECT COUNT(*) FROM (SELECT dispatch_id FROM vitals GROUP BY dispatch_id HAVING ARG_MAX(pulse, taken_at) > 100) t

-- ambulances: first and last
SELECT COUNT(*) FILTER (WHERE l > f) AS up, COUNT(f) AS n FROM (SELECT dispatch_id, FIRST(spo2 ORDER BY taken_at) AS f, LAST(spo2 ORDER BY taken_at) AS l FROM vitals GROUP BY dispatch_id) t

-- ambulances: array_agg
SELECT COUNT(*) FILTER (WHERE f > 90) AS up, COUNT(f) AS n FROM (SELECT dispatch_id, (ARRAY_AGG(spo2 ORDER BY taken_at DESC))[1] AS f FROM vitals GROUP BY dispatch_id) t

-- laboratory: first by a descending order with NULLs
SELECT COUNT(v), AVG(v) FROM (SELECT "PatientID", FIRST(DATE_DIFF('day', DATE '2022-01-01', "TakenAt"::DATE) ORDER BY "Result" DESC NULLS FIRST, "TakenAt") AS v, COUNT(*) AS n FROM "LabResults" GROUP BY "PatientID") t

-- laboratory: last by a nullable order
SELECT u, COUNT(*) FROM (SELECT "PatientID", LAST("Unit" ORDER BY "Result", "TakenAt") AS u FROM "LabResults" GROUP BY "PatientID") t GROUP BY u

-- ambulances: first with a filter
SELECT v, COUNT(*) FROM (SELECT dispatch_id, FIRST(pulse ORDER BY taken_at DESC) FILTER (WHERE systolic < 120) AS v FROM vitals GROUP BY dispatch_id) t WHERE v IS NOT NULL GROUP BY v

-- laboratory: GROUP BY ALL with FILTER and a median
SELECT AVG(hi), AVG(m) FROM (SELECT "PatientID", "Test", COUNT(*) FILTER (WHERE "Abnormal") AS hi, MEDIAN("Result") AS m FROM "LabResults" GROUP BY ALL)
-- about: 1e-2

-- cancers: REPLACE of two with a join
SELECT site, AVG(size_mm) FROM (SELECT t.* EXCLUDE (grade) REPLACE (LEFT(site, 3) AS site, COALESCE(size_mm, 0) AS size_mm), p.sex FROM tumours t JOIN persons p USING (person_id)) WHERE sex = 'female' GROUP BY site
-- about: 1e-3

-- cancers: column before alias
SELECT UPPER(stage) AS stage, COUNT(*) FROM tumours WHERE stage = 'I' GROUP BY 1

-- cancers: alias of another column's name
SELECT t.stage AS site, COUNT(*) FROM tumours t WHERE site LIKE 'C50%' AND stage IS NOT NULL GROUP BY 1

-- cancers: window alias in the list
SELECT COUNT(*) FILTER (WHERE quick) FROM (SELECT diagnosed - LAG(diagnosed) OVER (PARTITION BY person_id ORDER BY diagnosed) AS gap, gap <= 365 AS quick FROM tumours)

-- cancers: alias over an answer
SELECT y, n, n * 2 AS twice, twice + 1 AS more FROM (SELECT YEAR(diagnosed) AS y, COUNT(*) AS n FROM tumours GROUP BY y) WHERE twice > 10

-- cancers: two steps
SELECT site3, COUNT(*) FROM (SELECT LEFT(site, 3) AS site3, site3 IN ('C18', 'C20') AS crc, diagnosed FROM tumours WHERE crc AND YEAR(diagnosed) > 2014) GROUP BY site3

-- laboratory: alias in WHERE
SELECT LOWER("Unit") AS u, COUNT(*) FROM "LabResults" WHERE u = 'mg/l' GROUP BY u

-- ambulances: of no rows, b
SELECT AVG((SELECT COUNT_IF(v.spo2 < 92) FROM vitals v WHERE v.dispatch_id = d.id)) FROM dispatches d
-- about: 1e-3

-- ambulances: of no rows, c
SELECT AVG((SELECT COUNT(*) + 1 FROM vitals v WHERE v.dispatch_id = d.id)) FROM dispatches d
-- about: 1e-3

-- ambulances: of no rows, d
SELECT AVG((SELECT COALESCE(SUM(v.pulse), 0) FROM vitals v WHERE v.dispatch_id = d.id)) FROM dispatches d
-- about: 1e-3

-- ambulances: of no rows, e
SELECT COUNT(*) FILTER (WHERE (SELECT COUNT(*) > 0 FROM vitals v WHERE v.dispatch_id = d.id)) AS a, COUNT(*) FILTER (WHERE NOT (SELECT COUNT(*) > 0 FROM vitals v WHERE v.dispatch_id = d.id)) AS b FROM dispatches d

-- ambulances: of no rows, f
SELECT AVG((SELECT COUNT(DISTINCT v.spo2) FROM vitals v WHERE v.dispatch_id = d.id)) FROM dispatches d
-- about: 1e-3

-- ambulances: of no rows, g
SELECT AVG(l.n) FROM dispatches d, LATERAL (SELECT COUNT(*) + 0 AS n FROM vitals v WHERE v.dispatch_id = d.id) l
-- about: 1e-3

-- ambulances: of no rows, h
SELECT AVG(l.n) FROM dispatches d LEFT JOIN LATERAL (SELECT COUNT(*) FILTER (WHERE v.spo2 < 92) AS n FROM vitals v WHERE v.dispatch_id = d.id) l ON TRUE
-- about: 1e-3

-- ambulances: of no rows, i
SELECT COUNT(*) FROM dispatches d WHERE (SELECT COUNT(*) FILTER (WHERE v.spo2 < 92) FROM vitals v WHERE v.dispatch_id = d.id) = 0

-- ambulances: of no rows, j
SELECT COUNT(*) FROM dispatches d WHERE (SELECT COUNT(*) - 1 FROM vitals v WHERE v.dispatch_id = d.id) < 0

-- ambulances: of no rows, k
SELECT COUNT(*) FROM dispatches d WHERE (SELECT COALESCE(MAX(v.pulse), 0) FROM vitals v WHERE v.dispatch_id = d.id) < 60

-- ambulances: of no rows, l
SELECT COUNT(*) FROM dispatches d WHERE (SELECT CASE WHEN COUNT(*) = 0 THEN 'none' ELSE 'some' END FROM vitals v WHERE v.dispatch_id = d.id) = 'none'

-- ambulances: of no rows, m
SELECT k, COUNT(*) FROM (SELECT d.id, (SELECT COALESCE(SUM(1), 0) FROM vitals v WHERE v.dispatch_id = d.id) AS k FROM dispatches d) t GROUP BY k

-- ambulances: of no rows, n
SELECT COUNT(*) FROM dispatches d WHERE (SELECT BOOL_OR(v.spo2 < 90) FROM vitals v WHERE v.dispatch_id = d.id) IS NULL

-- ambulances: of no rows, o
SELECT AVG(CASE WHEN (SELECT COUNT(*) FROM vitals v WHERE v.dispatch_id = d.id AND v.spo2 < 90) = 0 THEN 1 ELSE 0 END) FROM dispatches d
-- about: 1e-3

-- births: semi join of a public table
SELECT COUNT(*) FROM births b SEMI JOIN (SELECT hospital FROM hospitals WHERE level = 'III') h ON h.hospital = b.hospital WHERE b.twin OR b.weeks < 32

-- births: semi join of answers
SELECT x.level, COUNT(*) FROM hospitals x SEMI JOIN (SELECT hospital, COUNT(*) AS n FROM births GROUP BY hospital) b ON b.hospital = x.hospital AND b.n > 10 GROUP BY x.level

-- births: semi join and a join after it
SELECT h.canton, COUNT(*) FROM births b ANTI JOIN checks c ON c.birth_id = b.birth_id JOIN hospitals h ON h.hospital = b.hospital GROUP BY h.canton

-- cancers: later than some
SELECT COUNT(*) FROM tumours t WHERE t.diagnosed > ANY (SELECT o.diagnosed FROM tumours o WHERE o.person_id = t.person_id) AND t.grade = 1

-- births: not all
SELECT COUNT(*) FROM births WHERE hospital <> ALL (SELECT hospital FROM hospitals WHERE level = 'III')

-- laboratory: schema-qualified keys
SELECT main.vaccinations.vaccine, COUNT(DISTINCT main.vaccinations."PatientID") AS n FROM main.vaccinations GROUP BY main.vaccinations.vaccine ORDER BY n

-- cancers: ALL with NULLs on both sides
SELECT COUNT(*) FROM tumours WHERE size_mm >= ALL (SELECT o.size_mm FROM tumours o WHERE o.person_id = tumours.person_id)

-- cancers: SIMILAR TO of letters
SELECT COUNT(*) FROM tumours WHERE site SIMILAR TO 'C[0-4][0-9]\.[0-9]'

-- cancers: SIMILAR TO in SQL
-- plain: SELECT COUNT(*) FROM tumours WHERE site LIKE 'C50%' OR site LIKE 'C34%'
SELECT COUNT(*) FROM tumours WHERE site SIMILAR TO 'C(50|34)%'

-- cancers: NOT SIMILAR TO
SELECT COUNT(*) FROM tumours WHERE site NOT SIMILAR TO '.+\.\d'

-- ambulances: distinct patient days
SELECT COUNT(*) FROM (SELECT DISTINCT pid, called_at::DATE FROM dispatches)

-- ambulances: groups nobody named
SELECT COUNT(*) FROM (SELECT pid, DATE_TRUNC('month', called_at), COUNT(*) FROM dispatches GROUP BY 1, 2 HAVING COUNT(*) > 1)

-- ambulances: union of unnamed
SELECT COUNT(*) FROM (SELECT pid, YEAR(called_at) FROM dispatches WHERE priority = 1 UNION SELECT pid, YEAR(called_at) FROM dispatches WHERE station = 2)

-- ambulances: except over two columns
SELECT COUNT(*) FROM (SELECT pid, station FROM dispatches WHERE priority = 1 EXCEPT SELECT pid, station FROM dispatches WHERE priority = 3)

-- ambulances: slice compared
SELECT COUNT(*) FROM patients WHERE postcode[:2] = '80' OR postcode[2:] = '201' OR postcode[-1] = '2'

-- cancers: FROM first in a subquery
FROM (FROM tumours SELECT person_id, COUNT(*) AS n GROUP BY person_id) SELECT n, COUNT(*) GROUP BY n

-- laboratory: window count of tests in 30 days by RANGE
SELECT k, COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY "PatientID" ORDER BY "TakenAt" RANGE BETWEEN INTERVAL 250 DAY PRECEDING AND CURRENT ROW) AS k FROM "LabResults") q GROUP BY k

-- cancers: FROM first with WITH and everything
WITH k AS (SELECT person_id, COUNT(*) AS n FROM tumours GROUP BY 1) FROM k JOIN persons p USING (person_id) SELECT sex, AVG(n) AS mean WHERE n > 1 GROUP BY sex ORDER BY sex
-- about: 1e-3

-- cancers: FROM first at a price
-- plain: SELECT COUNT(*) FROM tumours WHERE grade = 2
FROM tumours DP-SELECT 50 COUNT(*) WHERE grade = 2

-- cancers: FROM first, all rows
-- refused: only questions are answered
FROM tumours

-- ambulances: last letters and an empty slice
SELECT postcode[-2:] AS z, postcode[3:2] AS e, COUNT(*) FROM patients WHERE postcode IS NOT NULL GROUP BY ALL

-- laboratory: list of quantiles picked
SELECT "Test", q[1] AS q1, q[2] AS q3 FROM (SELECT "Test", QUANTILE_CONT("Result", [0.25, 0.75]) AS q FROM "LabResults" GROUP BY "Test")
-- about: 2e-2

-- cancers: letter of a code in a subquery
SELECT chapter, COUNT(*) FROM (SELECT person_id, site[1] AS chapter, site[2:3] AS two FROM tumours) WHERE two <> '05' GROUP BY chapter

-- cancers: tumours within six years on either side
SELECT k, COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY person_id ORDER BY diagnosed RANGE BETWEEN INTERVAL 2190 DAYS PRECEDING AND INTERVAL 2190 DAYS FOLLOWING) AS k FROM tumours) GROUP BY k

-- births: by weight
SELECT k, COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY mother_id ORDER BY weight_g DESC RANGE BETWEEN 500 PRECEDING AND UNBOUNDED FOLLOWING) AS k FROM births) GROUP BY k

-- births: months
-- refused: not equally long
SELECT k, COUNT(*) FROM (SELECT COUNT(*) OVER (PARTITION BY mother_id ORDER BY born_at RANGE BETWEEN INTERVAL 18 MONTH PRECEDING AND CURRENT ROW) AS k FROM births) GROUP BY k

-- ambulances: count_if within window
SELECT v, COUNT(*) FROM (SELECT SUM(lat) FILTER (WHERE priority = 1) OVER (PARTITION BY pid) > 100 AS v FROM dispatches) t WHERE v IS NOT NULL GROUP BY v

-- laboratory: ASOF join of the last dose
-- about: 1e-2
SELECT AVG(l."TakenAt"::DATE - v.given_on) AS days_since, COUNT(*) FROM "LabResults" l ASOF JOIN vaccinations v ON l."PatientID" = v."PatientID" AND l."TakenAt" >= v.given_on

-- laboratory: ASOF the next
SELECT v.dose_no, COUNT(*) FROM "LabResults" l ASOF JOIN vaccinations v ON v."PatientID" = l."PatientID" AND l."TakenAt" <= v.given_on GROUP BY v.dose_no

-- ambulances: next vital sign within a run
SELECT AVG(v.pulse) FROM dispatches d ASOF JOIN vitals v ON d.id = v.dispatch_id AND d.arrived_at <= v.taken_at
-- about: 1e-2

-- ambulances: untied
-- refused: ASOF JOIN is refused
SELECT AVG(v.pulse) FROM dispatches d ASOF JOIN vitals v ON d.id = v.dispatch_id

-- ambulances: alias same as column
SELECT LOWER(TRIM(reason)) AS reason, COUNT(*) AS n FROM dispatches GROUP BY reason

-- ambulances: alias same as column, ordered
SELECT LOWER(TRIM(reason)) AS Reason, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct FROM dispatches GROUP BY REASON HAVING COUNT(*) > 10 ORDER BY reason, n DESC

-- ambulances: alias of a case
SELECT CASE priority WHEN 1 THEN 'urgent' ELSE 'other' END AS priority, COUNT(*) AS n, AVG(lat) FROM dispatches GROUP BY priority

-- cancers: year of two
SELECT YEAR(t.diagnosed) AS year, COUNT(*) AS n FROM tumours t JOIN persons p USING (person_id) GROUP BY year

-- cancers: coalesced
SELECT COALESCE(stage, '?') AS stage, COUNT(*) FROM tumours WHERE stage IS NOT NULL GROUP BY stage

-- cancers: date cut and named as it is
SELECT DATE_TRUNC('year', diagnosed) AS diagnosed, COUNT(*) AS n FROM tumours WHERE YEAR(diagnosed) = 2015 GROUP BY diagnosed

-- cancers: COALESCE of two
SELECT COALESCE(p.died, t.diagnosed) AS died, COUNT(*) FROM tumours t JOIN persons p USING (person_id) GROUP BY 1

-- laboratory: alias unit
SELECT LOWER("Unit") AS unit, COUNT(*) FROM "LabResults" GROUP BY unit

-- ambulances: a value NOT IN its readings
SELECT COUNT(*) FROM dispatches d WHERE 90 NOT IN (SELECT v.spo2 FROM vitals v WHERE v.dispatch_id = d.id)

-- ambulances: a value IN its readings
SELECT COUNT(*) FROM dispatches d WHERE 90 IN (SELECT v.spo2 FROM vitals v WHERE v.dispatch_id = d.id)

-- cancers: breast among a person's sites
SELECT sex, COUNT(*) FROM persons p WHERE 'C50' IN (SELECT LEFT(t.site, 3) FROM tumours t WHERE t.person_id = p.person_id) GROUP BY sex

-- cancers: stage again
SELECT COUNT(*) FROM tumours a WHERE a.stage IN (SELECT b.stage FROM tumours b WHERE b.person_id = a.person_id AND b.id <> a.id)

-- cancers: stage never again
SELECT COUNT(*) FROM tumours a WHERE a.stage NOT IN (SELECT b.stage FROM tumours b WHERE b.person_id = a.person_id AND b.id <> a.id) AND a.grade = 1

-- cancers: key in a tied subquery
SELECT COUNT(*) FROM persons p WHERE p.person_id IN (SELECT t.person_id FROM tumours t WHERE t.person_id = p.person_id AND t.grade = 4)

-- cancers: in a CASE
SELECT SUM(CASE WHEN p.death_cause IN (SELECT t.site FROM tumours t WHERE t.person_id = p.person_id) THEN 1 ELSE 0 END) FROM persons p

-- cancers: in a FILTER
SELECT COUNT(*) FILTER (WHERE p.death_cause NOT IN (SELECT t.site FROM tumours t WHERE t.person_id = p.person_id)) AS other, COUNT(*) AS n FROM persons p

-- cancers: of everybody it is other people's
-- refused: other people's rows
SELECT COUNT(*) FROM persons p WHERE p.death_cause IN (SELECT t.site FROM tumours t)

-- cancers: untied beside a column of the row
-- refused: other people's rows
SELECT COUNT(*) FROM persons p WHERE p.death_cause IN (SELECT t.site FROM tumours t WHERE t.diagnosed > p.born)

-- cancers: MAX of a text function
SELECT m, COUNT(*) FROM (SELECT person_id, MIN(LEFT(site, 3)) AS m FROM tumours GROUP BY person_id) GROUP BY m

-- cancers: MAX of upper
SELECT m, COUNT(*) FROM (SELECT person_id, MAX(UPPER(stage)) AS m FROM tumours GROUP BY person_id) WHERE m IS NOT NULL GROUP BY m

-- ambulances: max of tidied text
SELECT m, COUNT(*) FROM (SELECT pid, MAX(LOWER(TRIM(reason))) AS m FROM dispatches GROUP BY pid) GROUP BY m

-- ambulances: min of a piece where it holds
SELECT m, COUNT(*) FROM (SELECT pid, MIN(REGEXP_EXTRACT(notes, 'GCS (\d+)', 1)) FILTER (WHERE notes LIKE 'GCS%') AS m FROM dispatches GROUP BY pid) WHERE m IS NOT NULL GROUP BY m

-- cancers: max of a joined text
SELECT m, COUNT(*) FROM (SELECT t.person_id, MAX(LEFT(t.site, 1) || '-' || x.kind) AS m FROM tumours t JOIN treatments x ON x.tumour_id = t.id GROUP BY t.person_id) GROUP BY m HAVING COUNT(*) > 30

-- cancers: max of a number and a date
SELECT SUM(a), SUM(YEAR(b)), SUM(c) FROM (SELECT person_id, MAX(size_mm * 2) AS a, MIN(diagnosed + 30) AS b, MAX(YEAR(diagnosed)) AS c FROM tumours GROUP BY person_id)

-- cancers: max of conditions
SELECT a, COUNT(*) FROM (SELECT person_id, MAX((stage = 'I')::INT) AS a FROM tumours GROUP BY person_id) WHERE a IS NOT NULL GROUP BY a

-- ambulances: largest of all sorts
SELECT SUM(a), SUM(b), SUM(c), SUM(d) FROM (SELECT pid, MAX(DATE_DIFF('minute', called_at, arrived_at)) AS a, MAX(LENGTH(LEFT(reason, 4))) AS b, MIN(ABS(priority - 2)) AS c, MAX(EXTRACT(HOUR FROM called_at)) AS d FROM dispatches GROUP BY pid)

-- ambulances: largest of a CASE of numbers, and of moments
SELECT SUM(a), SUM(DATE_DIFF('day', DATE '2022-01-01', b::DATE)) FROM (SELECT pid, MAX(CASE WHEN transported THEN priority ELSE 0 END) AS a, MAX(COALESCE(hospital_at, called_at)) AS b, MIN(EXTRACT(EPOCH FROM arrived_at - called_at)) AS c FROM dispatches GROUP BY pid)

-- laboratory: month as a text
SELECT DATE_TRUNC('month', given_on)::VARCHAR AS m, COUNT(*) FROM vaccinations GROUP BY 1

-- laboratory: a date with its time of day
SELECT STRFTIME(given_on, '%Y-%m %H:%M') AS m, COUNT(*) FROM vaccinations GROUP BY 1

-- cancers: the year's start as a text
SELECT CAST(DATE_TRUNC('year', diagnosed) AS VARCHAR) AS y, COUNT(*) FROM tumours GROUP BY y ORDER BY y

-- cancers: compared as a text
SELECT COUNT(*) FROM tumours WHERE DATE_TRUNC('year', diagnosed)::VARCHAR = '2015-01-01 00:00:00'

-- laboratory: nothing but the time of a date
-- refused: no time of day
SELECT STRFTIME(given_on, '%H:%M') AS m, COUNT(*) FROM vaccinations GROUP BY 1

-- cancers: a semi join within another
SELECT COUNT(*) FROM persons p SEMI JOIN (SELECT t.person_id FROM tumours t SEMI JOIN treatments x ON x.tumour_id = t.id AND x.kind = 'chemo') c ON c.person_id = p.person_id

-- cancers: ANY within ANY
SELECT COUNT(*) FROM persons WHERE person_id = ANY (SELECT person_id FROM tumours WHERE id = ANY (SELECT tumour_id FROM treatments WHERE kind = 'radio'))

-- cancers: two semi joins in a row
SELECT COUNT(*) FROM persons p SEMI JOIN tumours t ON t.person_id = p.person_id AND t.grade = 1 ANTI JOIN tumours u ON u.person_id = p.person_id AND u.grade = 4
