-- questions as Metabase, Superset, Grafana, Tableau, Power BI and dbt write them
/* queryType: MBQL */ SELECT "public"."visits"."ward" AS "ward", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."ward" ORDER BY "public"."visits"."ward" ASC
SELECT DATE_TRUNC('month', "public"."visits"."day") AS "day", COUNT(*) AS "count" FROM "public"."visits" GROUP BY DATE_TRUNC('month', "public"."visits"."day") ORDER BY DATE_TRUNC('month', "public"."visits"."day") ASC
SELECT CAST(DATE_TRUNC('month', CAST("public"."visits"."day" AS timestamp)) AS date) AS "day", COUNT(*) AS "count" FROM "public"."visits" GROUP BY CAST(DATE_TRUNC('month', CAST("public"."visits"."day" AS timestamp)) AS date)
SELECT CAST(extract(dow from "public"."visits"."day") AS integer) AS "day", COUNT(*) AS "count" FROM "public"."visits" GROUP BY CAST(extract(dow from "public"."visits"."day") AS integer)
SELECT "source"."ward" AS "ward", AVG("source"."age") AS "avg" FROM (SELECT "public"."visits"."ward" AS "ward", "public"."visits"."age" AS "age" FROM "public"."visits") AS "source" GROUP BY "source"."ward"
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE "public"."visits"."day" >= CAST(CAST((NOW() + (INTERVAL '-30 day')) AS date) AS timestamptz)
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE "public"."visits"."at" >= timestamp with time zone '2025-03-01 02:00:00.000+02:00'
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE ("public"."visits"."day" >= DATE_TRUNC('month', NOW())) AND ("public"."visits"."day" < DATE_TRUNC('month', (NOW() + INTERVAL '1 month')))
SELECT FLOOR(("public"."visits"."age" / 10.0)) * 10.0 AS "age", COUNT(*) AS "count" FROM "public"."visits" GROUP BY FLOOR(("public"."visits"."age" / 10.0)) * 10.0
SELECT SUM(CASE WHEN "public"."visits"."age" > 18 THEN 1 ELSE 0.0 END) AS "count-where" FROM "public"."visits"
SELECT DATE_TRUNC('day', at) AS __timestamp, ward AS ward, count(*) AS count FROM public.visits WHERE at >= TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND at < TO_TIMESTAMP('2025-06-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', at), ward ORDER BY count DESC LIMIT 1000
SELECT ward AS ward, AVG(age) AS "AVG(age)" FROM "clinic"."public"."visits" WHERE day >= TO_DATE('2025-01-01', 'YYYY-MM-DD') AND day < TO_DATE('2025-06-01', 'YYYY-MM-DD') GROUP BY ward ORDER BY "AVG(age)" DESC LIMIT 100
SELECT floor(extract(epoch from visits.at)/86400)*86400 AS "time", count(*) AS n FROM visits WHERE at BETWEEN '2025-01-01T00:00:00Z' AND '2025-02-01T00:00:00Z' GROUP BY 1 ORDER BY 1
SELECT count(*) AS n FROM visits WHERE day BETWEEN '2025-01-01T13:22:11.123Z' AND '2025-02-01T13:22:11.123Z'
SELECT "visits"."ward" AS "ward", COUNT(1) AS "cnt", SUM("visits"."age") AS "sum:age:ok" FROM "public"."visits" "visits" GROUP BY 1 HAVING (COUNT(1) > 0)
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "visits"."day")) AS INTEGER) AS "yr:day:ok", SUM("visits"."age") AS "sum:age:ok" FROM "public"."visits" "visits" GROUP BY 1
SELECT DATE_TRUNC( 'MONTH', CAST("visits"."day" AS TIMESTAMP WITHOUT TIME ZONE) ) AS "tmn:day:ok", SUM("visits"."age") AS "sum:age:ok" FROM "public"."visits" "visits" GROUP BY 1
SELECT (CASE WHEN ("visits"."age" >= 18) THEN 'a' ELSE 'b' END) AS "c", AVG(CAST("visits"."age" AS DOUBLE PRECISION)) AS "avg" FROM "public"."visits" "visits" GROUP BY 1
select "_"."ward", "_"."a0" from (select "rows"."ward" as "ward", sum("rows"."age") as "a0" from (select "ward", "age" from "public"."visits" "$Table") "rows" group by "ward") "_" where not "_"."a0" is null limit 1000001
select ward, count(*) from "clinic"."public"."visits" group by ward
SELECT "clinic"."public"."visits"."ward", COUNT(*) FROM "clinic"."public"."visits" GROUP BY 1
SELECT COUNT(*) FROM visits v WHERE TRIM(BOTH ' ' FROM v.ward) = 'surgery' AND SUBSTRING(v.ward FROM 1 FOR 3) = 'sur' AND v.ward IS DISTINCT FROM 'x'
SELECT COUNT(*) FROM visits v WHERE POSITION('s' IN v.ward) = 1 AND v.age IS NOT DISTINCT FROM v.age
SELECT * FROM "clinic"."public"."visits" LIMIT 0
SELECT "visits"."ward" FROM "clinic"."public"."visits" WHERE 1 = 0
