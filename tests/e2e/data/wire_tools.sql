-- what Metabase, Superset, Grafana, DBeaver, Tableau, dbt and their drivers ask while they connect and look around
SHOW timezone
SHOW search_path
SET search_path = "public"
SELECT pg_backend_pid()
SELECT current_schema(), current_user, session_user, current_database()
SELECT to_regclass('public.visits')::oid
SELECT 'pg_class'::regclass::oid
SELECT format('%I.%I', n.nspname, c.relname)::regclass::oid, col_description(c.oid, 1) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = ANY (ARRAY['r', 'v', 'p', 'm', 'f'])
SELECT c.relname, a.attname FROM pg_constraint AS k JOIN pg_class AS c ON c.oid = k.conrelid JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey) WHERE k.contype IN ('p', 'f')
SELECT schemaname, relname, n_live_tup FROM pg_stat_user_tables
SELECT t.table_schema, t.table_name, has_table_privilege(format('%I.%I', t.table_schema, t.table_name), 'SELECT') FROM information_schema.tables AS t WHERE t.table_schema NOT IN ('pg_catalog', 'information_schema')
SELECT column_name, data_type, is_nullable, ordinal_position FROM information_schema.columns WHERE table_name = 'visits' ORDER BY ordinal_position
SELECT tc.constraint_type, kcu.column_name FROM information_schema.table_constraints AS tc JOIN information_schema.key_column_usage AS kcu USING (constraint_name)
SELECT quote_ident(nspname) FROM pg_namespace WHERE nspname !~ '^pg_' ORDER BY 1
SELECT datname FROM pg_database WHERE datallowconn AND NOT datistemplate
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE datname = 'clinic'
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid LEFT JOIN pg_description d ON t.oid = d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') LIMIT 5
SELECT * FROM pg_catalog.pg_roles
SELECT * FROM pg_settings LIMIT 3
SELECT version()
SELECT setting FROM pg_settings WHERE name = 'server_version_num'
SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute}'::text[])
SELECT i.indexrelid::regclass, s.n FROM pg_index AS i CROSS JOIN LATERAL generate_series(1, i.indnatts) AS s (n) LIMIT 3
SELECT n.nspname, x.n FROM pg_class c JOIN pg_namespace n ON n.oid=c.relnamespace, LATERAL (SELECT (information_schema._pg_expandarray(ARRAY[1,2])).n) x LIMIT 2
SELECT pg_catalog.pg_get_userbyid(relowner), pg_total_relation_size(oid) FROM pg_class WHERE relname = 'visits'
SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()
SELECT extname FROM pg_extension
SELECT * FROM pg_catalog.pg_enum LIMIT 1
SELECT proname FROM pg_proc WHERE proname = 'count'
SELECT matviewname FROM pg_matviews
SELECT pg_get_viewdef('visits'::regclass)
SELECT * FROM pg_available_extensions LIMIT 1
SELECT inhrelid FROM pg_inherits
SET extra_float_digits = 3
SET application_name = 'Metabase v0.50'
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY
SET statement_timeout = 60000
SET lock_timeout TO 5000
SET client_min_messages = 'warning'
SET bytea_output = 'hex'
SET DateStyle = 'ISO'
SET intervalstyle = 'iso_8601'
SET TIME ZONE 'UTC'
SET TimeZone TO 'Europe/Zurich'
SELECT 1 AS connection_test
SELECT 1 WHERE 1=0
SELECT NULL
SELECT pg_is_in_recovery()
SELECT current_setting('server_version_num')::int / 100
SHOW transaction_isolation
SHOW standard_conforming_strings
SHOW server_version
SHOW max_identifier_length
SHOW lc_collate
SELECT nspname FROM pg_namespace WHERE has_schema_privilege(nspname, 'USAGE')
SELECT pg_postmaster_start_time()
SELECT has_database_privilege('clinic', 'CREATE')
BEGIN READ ONLY
COMMIT
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY
ROLLBACK
SELECT CAST('t' AS bool), now()
SELECT * FROM "public"."visits" LIMIT 0
SELECT "visits"."dept" FROM "public"."visits" WHERE (0 = 1)
SELECT true AS "_" FROM "public"."visits" WHERE 1 <> 1 LIMIT 0
UNLISTEN *
DEALLOCATE ALL
EXPLAIN SELECT 1
SELECT * FROM pg_tables WHERE schemaname='public'
SELECT * FROM pg_views LIMIT 1
SELECT relname FROM pg_class WHERE relispartition = false AND relkind='r' AND relname='visits'
SELECT oid, typname FROM pg_type WHERE typname = ANY('{int8,text,bool}')
SELECT count(*) FROM pg_catalog.pg_class WHERE relname='visits'
SELECT attname, pg_get_expr(adbin, adrelid) FROM pg_attribute LEFT JOIN pg_attrdef ON attrelid=adrelid AND attnum=adnum WHERE attrelid='public.visits'::regclass AND attnum>0 AND NOT attisdropped
SELECT current_schemas(true)
SELECT reltuples FROM pg_class WHERE relname='visits'
SELECT * FROM (SELECT * FROM visits) AS t LIMIT 0
