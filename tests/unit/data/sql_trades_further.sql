-- telephone: further 1
-- about: 1e-3
SELECT DISTINCT contract FROM subscribers

-- telephone: further 2
-- about: 1e-3
SELECT DISTINCT city FROM subscribers

-- telephone: further 3
-- about: 1e-3
SELECT prev, COUNT(*) FROM (SELECT topic, LAG(topic, 1, 'first') OVER (PARTITION BY msisdn ORDER BY opened) AS prev FROM tickets) t GROUP BY prev

-- telephone: further 4
-- about: 1e-3
SELECT COUNT(*) FROM (SELECT msisdn, LAG(roaming, 1, FALSE) OVER (PARTITION BY msisdn ORDER BY started) AS r FROM calls) t WHERE r

-- telephone: further 5
-- about: 1e-3
SELECT l.topic, COUNT(*) AS n FROM subscribers s CROSS JOIN LATERAL (SELECT t.topic FROM tickets t WHERE t.msisdn = s.msisdn ORDER BY t.opened DESC LIMIT 1) l GROUP BY l.topic

-- telephone: further 6
-- about: 1e-3
SELECT AVG(l.n) FROM subscribers s CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM tickets t WHERE t.msisdn = s.msisdn AND t.opened < s.churned) l

-- telephone: further 7
-- about: 1e-3
SELECT AVG((SELECT COUNT(*) FROM tickets t WHERE t.msisdn = s.msisdn AND t.opened < s.churned)) FROM subscribers s

-- telephone: further 8
-- about: 1e-3
SELECT AVG(n) FROM (SELECT s.msisdn, (SELECT COUNT(*) FROM tickets t WHERE t.msisdn = s.msisdn AND t.opened < s.churned) AS n FROM subscribers s) x

-- telephone: further 9
-- about: 1e-3
SELECT x.topic, COUNT(*) FROM (SELECT s.msisdn, (SELECT t.topic FROM tickets t WHERE t.msisdn = s.msisdn AND t.opened < s.churned ORDER BY t.opened DESC LIMIT 1) AS topic FROM subscribers s) x GROUP BY 1

-- telephone: further 10
-- about: 1e-3
SELECT x.d, COUNT(*) FROM (SELECT s.msisdn, (SELECT MAX(c.seconds) FROM calls c WHERE c.msisdn = s.msisdn AND c.started < s.churned) AS d FROM subscribers s) x WHERE x.d < 4 GROUP BY 1

-- telephone: further 11
-- about: 1e-3
SELECT AVG(g) FROM (SELECT msisdn, DATE_TRUNC('month', started) AS m, SUM(seconds) - LAG(SUM(seconds)) OVER (PARTITION BY msisdn ORDER BY DATE_TRUNC('month', started)) AS g FROM calls GROUP BY msisdn, DATE_TRUNC('month', started)) t

-- telephone: further 12
-- about: 1e-3
SELECT COUNT(*) FROM (SELECT msisdn, NTILE(4) OVER (PARTITION BY msisdn ORDER BY started) AS q FROM calls) t WHERE q = 1

-- telephone: further 13
-- about: 1e-3
SELECT contract, topic, COUNT(*) FROM (SELECT t.msisdn, s.contract, t.topic, SUM(csat) AS x FROM tickets t JOIN subscribers s USING (msisdn) GROUP BY 1, 2, 3 QUALIFY ROW_NUMBER() OVER (PARTITION BY t.msisdn ORDER BY SUM(csat) DESC, topic) = 1) f GROUP BY 1, 2

-- telephone: further 14
-- about: 1e-3
SELECT DISTINCT s.contract, c.direction FROM calls c JOIN subscribers s USING (msisdn) ORDER BY 1, 2

-- telephone: further 15
-- about: 1e-3
SELECT x.d, COUNT(*) FROM (SELECT s.msisdn, (SELECT MAX(c.seconds) FROM calls c WHERE c.msisdn = s.msisdn AND c.started < s.churned) AS d FROM subscribers s) x WHERE x.d < 400 GROUP BY 1

-- telephone: further 16
-- about: 1e-3
SELECT l.topic, COUNT(*) AS n FROM subscribers s CROSS JOIN LATERAL (SELECT t.topic FROM tickets t WHERE t.msisdn = s.msisdn AND t.opened < s.churned ORDER BY t.opened DESC LIMIT 1) l GROUP BY l.topic

-- telephone: further 17
-- about: 1e-3
SELECT AVG(DATE_DIFF('hour', t.opened, l.started)) FROM tickets t LEFT JOIN LATERAL (SELECT c.started FROM calls c WHERE c.msisdn = t.msisdn AND c.started > t.opened ORDER BY c.started LIMIT 1) l ON TRUE

-- telephone: further 18
-- about: 1e-3
SELECT t.topic, AVG(n.k) FROM tickets t JOIN LATERAL (SELECT COUNT(*) AS k, MAX(c.seconds) AS m FROM calls c WHERE c.msisdn = t.msisdn AND c.started BETWEEN t.opened - INTERVAL 7 DAY AND t.opened) n ON TRUE GROUP BY t.topic

-- telephone: further 19
-- about: 1e-3
SELECT t.topic, SUM((SELECT COUNT(*) FROM tickets o WHERE o.msisdn = t.msisdn AND o.opened < t.opened)) AS earlier FROM tickets t GROUP BY t.topic

-- telephone: further 20
-- about: 1e-3
SELECT COUNT(*) FROM tickets t WHERE (SELECT COUNT(*) FROM tickets o WHERE o.msisdn = t.msisdn AND o.opened < t.opened) >= 3

-- telephone: further 21
-- about: 1e-3
SELECT COUNT(*) FROM tickets t WHERE t.csat < (SELECT AVG(o.csat) FROM tickets o WHERE o.msisdn = t.msisdn)

-- telephone: further 22
-- about: 1e-3
SELECT COUNT(*) FROM calls c WHERE c.seconds > (SELECT 2 * AVG(o.seconds) FROM calls o WHERE o.msisdn = c.msisdn AND o.started < c.started)

-- telephone: further 23
-- about: 1e-3
SELECT COUNT(*) FROM tickets t WHERE t.opened = (SELECT MIN(o.opened) FROM tickets o WHERE o.msisdn = t.msisdn)

-- telephone: further 24
-- about: 1e-3
SELECT DISTINCT city FROM subscribers ORDER BY city DESC LIMIT 2

-- telephone: further 25
-- about: 1e-3
SELECT DISTINCT s.contract, c.direction AS d FROM calls c JOIN subscribers s USING (msisdn) WHERE c.seconds > 10 ORDER BY c.direction, 1

-- telephone: further 26
-- about: 1e-3
SELECT YEAR(started) FROM calls GROUP BY YEAR(started) ORDER BY 1

-- telephone: further 27
-- about: 1e-3
SELECT DISTINCT UPPER(topic) FROM tickets

-- telephone: further 28
-- about: 1e-3
SELECT topic FROM tickets GROUP BY topic HAVING COUNT(*) > 20

-- telephone: further 29
-- about: 1e-3
SELECT AVG(r) FROM (SELECT msisdn, cell_id, COUNT(*) AS n, ROUND(COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY msisdn), 3) AS r FROM calls GROUP BY msisdn, cell_id) t

-- telephone: further 30
-- about: 1e-3
SELECT AVG(mx) FROM (SELECT msisdn, MAX(share) AS mx FROM (SELECT msisdn, cell_id, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (PARTITION BY msisdn) AS share FROM calls GROUP BY 1, 2) a GROUP BY msisdn) b

-- schools: further 31
-- about: 1e-3
SELECT h.name, COUNT(*) AS n FROM absences a JOIN holidays h ON a.day BETWEEN h.starts - 3 AND h.starts - 1 OR a.day BETWEEN h.ends + 1 AND h.ends + 3 GROUP BY h.name ORDER BY h.name

-- schools: further 32
-- about: 1e-3
SELECT AVG(h.starts - a.day) FROM absences a JOIN holidays h ON a.day < h.starts WHERE h.name = 'winter'

-- schools: further 33
-- about: 1e-3
SELECT h.name, SUM(a.lessons) FROM absences a JOIN holidays h ON a.day >= h.starts - INTERVAL 1 WEEK AND a.day < h.starts GROUP BY h.name

-- schools: further 34
-- about: 1e-3
SELECT h.starts, COUNT(*) FROM absences a JOIN holidays h ON a.day BETWEEN h.ends AND h.ends + INTERVAL '7 days' GROUP BY h.starts

-- schools: further 35
-- about: 1e-3
SELECT DATE_TRUNC('month', h.starts), COUNT(*) FROM absences a JOIN holidays h ON a.day BETWEEN h.ends AND h.ends + 7 GROUP BY 1

-- schools: further 36
-- about: 1e-3
SELECT DATE_DIFF('week', h.starts, a.day) AS w, COUNT(*) FROM absences a JOIN holidays h ON h.name = 'autumn' AND a.day >= h.starts GROUP BY 1 ORDER BY 1

-- schools: further 37
-- about: 1e-3
SELECT h.name, h.ends - h.starts AS days, COUNT(*) FROM absences a JOIN holidays h ON a.day BETWEEN h.starts AND h.ends GROUP BY 1, 2

-- grid: further 38
-- about: 1e-3
SELECT d.hdd, AVG(r.kwh) FROM readings r JOIN degree_days d ON r.read_at >= d.day AND r.read_at < d.day + INTERVAL 1 DAY GROUP BY d.hdd

-- grid: further 39
-- about: 1e-3
SELECT AVG(r.kwh) FROM readings r JOIN degree_days d ON CAST(r.read_at AS DATE) = d.day - 1 WHERE d.hdd > 10

-- grid: further 40
-- about: 1e-3
SELECT YEAR(d.day), SUM(r.kwh) FROM readings r JOIN degree_days d ON d.day + 1 = CAST(r.read_at AS DATE) GROUP BY YEAR(d.day)

-- telephone: further 41
-- about: 1e-3
WITH months AS (SELECT * FROM GENERATE_SERIES(TIMESTAMP '2023-01-01', TIMESTAMP '2023-12-01', INTERVAL '1 month') AS g(m))
SELECT m, COUNT(*) AS active FROM months JOIN subscribers s ON s.activated <= m AND (s.churned IS NULL OR s.churned > m) GROUP BY m ORDER BY m

-- telephone: further 42
-- about: 1e-3
WITH RECURSIVE months AS (SELECT DATE '2023-01-01' AS m UNION ALL SELECT CAST(m + INTERVAL 1 MONTH AS DATE) FROM months WHERE m < DATE '2023-06-01')
SELECT months.m, COUNT(s.msisdn) AS active FROM months LEFT JOIN subscribers s ON s.activated <= months.m GROUP BY months.m ORDER BY 1

-- telephone: further 43
-- about: 1e-3
WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 5), c AS (SELECT csat, COUNT(*) AS v FROM tickets WHERE csat IS NOT NULL GROUP BY csat)
SELECT n.k, COALESCE(c.v, 0) FROM n LEFT JOIN c ON c.csat = n.k ORDER BY 1

-- telephone: further 44
-- about: 1e-3
WITH days AS (SELECT UNNEST(GENERATE_SERIES(DATE '2023-01-01', DATE '2023-12-31', INTERVAL 1 DAY))::DATE AS day),
d AS (SELECT started::DATE AS day, COUNT(*) AS n FROM calls GROUP BY 1)
SELECT days.day, COALESCE(d.n, 0) AS calls FROM days LEFT JOIN d ON d.day = days.day ORDER BY 1

-- telephone: further 45
-- about: 1e-3
SELECT d.m, COUNT(*) FROM (SELECT m::DATE AS m, (m + INTERVAL 1 MONTH)::DATE AS nxt FROM GENERATE_SERIES(DATE '2023-01-01', DATE '2023-05-01', INTERVAL 1 MONTH) t(m)) d JOIN tickets t ON t.opened >= d.m AND t.opened < d.nxt GROUP BY d.m

-- telephone: further 46
-- about: 1e-3
SELECT h.hr, COUNT(c.started) AS n FROM (SELECT UNNEST(RANGE(24)) AS hr) h LEFT JOIN calls c ON EXTRACT(HOUR FROM c.started) = h.hr GROUP BY h.hr ORDER BY h.hr

-- telephone: further 47
-- about: 1e-3
-- plain: WITH m AS (SELECT unnest(generate_series(date '2023-01-01', date '2023-06-01', INTERVAL 1 MONTH)) AS d) SELECT d, COUNT(*) FROM m CROSS JOIN subscribers s WHERE s.activated < m.d GROUP BY d
WITH m AS (SELECT d FROM UNNEST(GENERATE_DATE_ARRAY('2023-01-01', '2023-06-01', INTERVAL 1 MONTH)) AS d) SELECT d, COUNT(*) FROM m CROSS JOIN subscribers s WHERE s.activated < m.d GROUP BY d

-- telephone: further 48
-- about: 1e-3
WITH bands(lo, hi, label) AS (VALUES (0, 29, 'young'), (30, 59, 'middle'), (60, 120, 'old')) SELECT b.label, COUNT(*) FROM subscribers s JOIN bands b ON s.age BETWEEN b.lo AND b.hi GROUP BY b.label

-- telephone: further 49
-- about: 1e-3
WITH bands AS (SELECT 0 AS lo, 29 AS hi, 'young' AS label UNION ALL SELECT 30, 59, 'middle' UNION ALL SELECT 60, 120, 'old') SELECT b.label, COUNT(*) FROM subscribers s JOIN bands b ON s.age BETWEEN b.lo AND b.hi GROUP BY b.label

-- telephone: further 50
-- about: 1e-3
SELECT b.label, AVG(s.age) FROM subscribers s JOIN (SELECT 'prepaid' AS contract, 'consumer' AS label UNION ALL SELECT 'postpaid', 'consumer' UNION ALL SELECT 'business', 'firm') b ON b.contract = s.contract GROUP BY b.label

-- telephone: further 51
-- about: 1e-3
WITH p AS (SELECT 30 AS threshold) SELECT COUNT(*) FROM subscribers s, p WHERE s.age >= p.threshold

-- telephone: further 52
-- about: 1e-3
WITH params AS (SELECT DATE '2023-06-30' AS asof, 0.5 AS w) SELECT s.contract, COUNT(*) * MAX(p.w) FROM subscribers s CROSS JOIN params p WHERE s.activated <= p.asof GROUP BY s.contract

-- app: further 53
-- about: 1e-3
PIVOT (SELECT u.platform, e.name, COUNT(*) AS n FROM users u JOIN events e ON e.user_id = u.user_id GROUP BY 1, 2) ON platform USING SUM(n) GROUP BY name ORDER BY name

-- app: further 54
-- about: 1e-3
PIVOT invoices ON plan USING COUNT(*) GROUP BY refunded

-- app: further 55
-- about: 1e-3
WITH m AS (SELECT plan, YEAR(paid_on) AS y, SUM(amount) AS s FROM invoices GROUP BY 1, 2) PIVOT m ON y USING SUM(s) ORDER BY plan

-- app: further 56
-- about: 1e-3
PIVOT (SELECT country, platform FROM users) ON platform USING COUNT(*)

-- app: further 57
-- about: 1e-3
PIVOT invoices ON refunded USING SUM(amount) GROUP BY plan

-- app: further 58
-- about: 1e-3
SELECT * FROM (PIVOT (SELECT plan, QUARTER(paid_on) AS q, amount FROM invoices) ON q USING AVG(amount) GROUP BY plan) ORDER BY plan

-- telephone: further 59
-- about: 1e-3
SELECT s.city, COUNT(c.started) FROM subscribers s LEFT JOIN (calls c JOIN cells k ON k.cell_id = c.cell_id AND k.technology = '5G') ON c.msisdn = s.msisdn GROUP BY s.city

-- telephone: further 60
-- about: 1e-3
SELECT s.contract, COUNT(DISTINCT t.msisdn) AS with_ticket, COUNT(DISTINCT s.msisdn) AS n FROM subscribers s JOIN targets g ON g.contract = s.contract LEFT JOIN (tickets t JOIN calls c ON c.msisdn = t.msisdn AND c.started < t.opened) ON t.msisdn = s.msisdn GROUP BY s.contract

-- telephone: further 61
-- about: 1e-3
-- plain: SELECT COALESCE(upper(left(trim(city), 1)) || lower(substr(trim(city), 2)), 'Unknown') AS city, COUNT(*) AS n FROM subscribers GROUP BY 1 ORDER BY n DESC
SELECT COALESCE(INITCAP(TRIM(city)), 'Unknown') AS city, COUNT(*) AS n FROM subscribers GROUP BY 1 ORDER BY n DESC

-- telephone: further 62
-- about: 1e-3
-- plain: SELECT COUNT(DISTINCT LOWER(topic)) FROM tickets
SELECT COUNT(DISTINCT INITCAP(topic)) FROM tickets

-- telephone: further 63
-- about: 1e-3
SELECT prev, COUNT(*) FROM (SELECT direction, LEAD(direction, 1, 'last') OVER (PARTITION BY msisdn ORDER BY started) AS prev FROM calls) t GROUP BY prev

-- telephone: further 64
-- about: 1e-3
SELECT COUNT(*) FROM (SELECT msisdn, LAG(roaming, 1, FALSE) OVER (PARTITION BY msisdn ORDER BY started) AS r, LAG(seconds > 60, 1, TRUE) OVER (PARTITION BY msisdn ORDER BY started) AS q FROM calls) t WHERE r AND q

-- app: further 65
WITH f AS (SELECT user_id, MIN(YEAR(paid_on)) AS y0 FROM invoices GROUP BY user_id), a AS (SELECT DISTINCT user_id, YEAR(paid_on) AS y FROM invoices) SELECT f.y0, a.y - f.y0 AS yrs, COUNT(*) AS users FROM f JOIN a USING (user_id) GROUP BY 1, 2 ORDER BY 1, 2
