"""What the twin holds: the public schema as empty tables, and a role that may look at their shape alone."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.faces.catalogue import Catalogue, CatalogueTable
from tacit.faces.server.wire.settings import VERSION, VERSION_NUMBER

READER = "analyst"
VERSION_TEXT = f"PostgreSQL {VERSION} (tacit, a curator that speaks the protocol of PostgreSQL)"
_TYPES = {
    "integer": "bigint",
    "number": "double precision",
    "text": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
# each is answered by the planner, which puts the body in the place of the call
_ANSWERED = (
    f"version() RETURNS text LANGUAGE sql STABLE AS $$ SELECT '{VERSION_TEXT}'::text $$",
    (
        "current_setting(text) RETURNS text LANGUAGE sql STABLE AS $$ SELECT CASE lower($1) WHEN 'server_version' THEN "
        f"'{VERSION}' WHEN 'server_version_num' THEN '{VERSION_NUMBER}' ELSE pg_catalog.tacit_setting($1) END $$"
    ),
    *(
        f"has_{what}_privilege({who}{arguments}, text) RETURNS boolean LANGUAGE sql STABLE "
        f"AS $$ SELECT ${f'{who}{arguments},'.count(',') + 1} ~* 'select|usage|references' $$"
        for who in ("", "name, ", "oid, ")
        for what, of in {
            **dict.fromkeys(("table", "any_column", "schema"), ("oid", "text")),
            "column": ("text, text", "text, smallint", "oid, text", "oid, smallint"),
        }.items()
        for arguments in of
    ),
)
# what clients set by a function; anything else would lift the limits of the role, or look as if it had been set here
_SETTABLE = (
    "jit", "search_path", "application_name", "client_min_messages", "timezone", "datestyle", "intervalstyle",
    "extra_float_digits", "bytea_output",
)  # fmt: skip
# what would read a table by its name in a text, hold others up, write to the disk, or end their sessions
_REVOKED = (
    r"query\_to\_%", r"table\_to\_%", r"cursor\_to\_%", r"schema\_to\_%", r"database\_to\_%", "ts_stat", "ts_rewrite",
    r"pg\_sleep%", r"pg\_cancel\_backend", r"pg\_terminate\_backend", r"lo\_%", "lowrite", "loread", "pg_notify",
    r"pg\_logical\_emit\_message", r"pg\_advisory\_lock%", r"pg\_advisory\_xact%", r"pg\_try\_advisory%",
    r"pg\_export\_snapshot", r"pg\_stat\_get\_activity", r"pg\_stat\_reset%", r"pg\_log\_backend%",
)  # fmt: skip


def setup(catalogue: Catalogue) -> Iterator[str]:
    """The statements that make the twin, for the owner of an empty database."""
    internal = "LANGUAGE internal STABLE STRICT AS 'show_config_by_name'"
    yield f"CREATE FUNCTION pg_catalog.tacit_setting(text) RETURNS text {internal}"
    yield from (f"CREATE OR REPLACE FUNCTION pg_catalog.{each}" for each in _ANSWERED)
    yield from _guarded_settings()
    for pattern in _REVOKED:
        yield (
            "DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid FROM pg_proc WHERE proname LIKE "
            f"{_literal(pattern)} LOOP EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP; END $$"
        )
    for table in catalogue:
        yield from _table(table)
    yield "REVOKE CREATE ON SCHEMA public FROM PUBLIC"
    yield f"REVOKE TEMPORARY ON DATABASE {quoted(catalogue.dataset)} FROM PUBLIC"


def _guarded_settings() -> Iterator[str]:
    """`set_config` for settings that limit nothing: the rest is refused, and so is what the connection itself keeps."""
    arguments = "(text, text, boolean) RETURNS text"
    yield f"CREATE FUNCTION pg_catalog.tacit_set{arguments} LANGUAGE internal AS 'set_config_by_name'"
    yield "REVOKE EXECUTE ON FUNCTION pg_catalog.tacit_set FROM PUBLIC"
    yield "REVOKE UPDATE ON pg_catalog.pg_settings FROM PUBLIC"  # a rule of it sets what is written there
    names = ", ".join(map(_literal, _SETTABLE))
    yield (
        f"CREATE FUNCTION pg_catalog.tacit_config{arguments} LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN "
        f"IF lower($1) IN ({names}) THEN RETURN pg_catalog.tacit_set($1, $2, $3); END IF; "
        "RAISE insufficient_privilege USING MESSAGE = format('permission denied to set parameter \"%s\"', $1), "
        "HINT = 'write it as SET name = value'; END $$"
    )
    # the planner puts the body in the place of the call; each argument stands in it once, so it always can
    yield (
        f"CREATE OR REPLACE FUNCTION pg_catalog.set_config{arguments} LANGUAGE sql "
        "AS $$ SELECT pg_catalog.tacit_config($1, $2, $3) $$"
    )


def roles() -> Iterator[str]:
    """The role that clients' questions run as: it may see names and types, and read no table, not even an empty one."""
    yield f"CREATE ROLE {READER} LOGIN NOINHERIT"
    for name, value in {
        "statement_timeout": "5s",
        "lock_timeout": "1s",
        "idle_in_transaction_session_timeout": "60s",
        "default_transaction_read_only": "on",
        "search_path": "public",
        "work_mem": "4MB",
        "jit": "off",
        "timezone": "UTC",
    }.items():
        yield f"ALTER ROLE {READER} SET {name} = {_literal(value)}"


def _table(table: CatalogueTable) -> Iterator[str]:
    name = f"public.{quoted(table.name)}"
    columns = [f"{quoted(column.name)} {_TYPES.get(column.type, 'text')}" for column in table.columns]
    yield f"CREATE TABLE {name} ({', '.join(columns)})"
    yield f"GRANT REFERENCES ON {name} TO {READER}"
    said = "; ".join(filter(None, (table.description, f"hides {table.hides}" if table.hides else "public", table.caps)))
    yield f"COMMENT ON TABLE {name} IS {_literal(said)}"
    for column in table.columns:
        known = "; ".join(filter(None, (column.known, column.description)))
        if known:
            yield f"COMMENT ON COLUMN {name}.{quoted(column.name)} IS {_literal(known)}"


def quoted(name: str) -> str:
    """A name as an identifier."""
    return '"' + name.replace("\0", "").replace('"', '""') + '"'


def _literal(text: str) -> str:
    escaped = text.replace("\0", "").replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
