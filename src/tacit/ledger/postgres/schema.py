"""The tables of the ledger in PostgreSQL, and whether those that are there are ours."""

from __future__ import annotations

from collections.abc import Iterator

from tacit.ledger.entries.rows import Connection

SCHEMA = "tacit_ledger"


def _amount(column: str, *, rest: str = "") -> str:
    """A column that can hold only `p/q` with q > 0: never a sign, a point, a letter."""
    return f"{column} TEXT {rest} CHECK ({column} ~ '^[0-9]+/[1-9][0-9]*$')"


_ACTS = "'open', 'charge', 'settle', 'fail', 'accept', 'carry', 'adopt'"
_COUNTED = "(grain IS NULL) = (grains IS NULL)"
_MEMBER = "member >= 0"
_STATE = "LENGTH(state) = 64 OR state = ''"
# Writers queue for a table that holds nothing, so that no vacuum is in their way. Who may not write the ledger may not
# lock it either: an advisory lock could be taken by anybody who can connect, and would stop all charges.
_TURN = "CREATE TABLE turn (nothing BOOLEAN)"
LOCK = f"LOCK TABLE {SCHEMA}.turn IN EXCLUSIVE MODE"
FIRST_LOCK = 0x7AC17_1ED6E5  # the advisory lock of the first format's writers

# The outcome index makes a second settlement impossible; the request index, a second charge for one request.
TABLES = (
    f"""CREATE TABLE entry (
    seq BIGINT PRIMARY KEY CHECK (seq >= 0), at BIGINT NOT NULL CHECK (at >= 0),
    act TEXT NOT NULL CHECK (act IN ({_ACTS})),
    dataset TEXT, analyst TEXT, groups TEXT, {_amount("epsilon")}, {_amount("delta")}, {_amount("rho")},
    {_amount("slack")}, plan_hash TEXT, policy_version TEXT, request_id TEXT, kind TEXT, note TEXT,
    charge BIGINT REFERENCES entry (seq), digest TEXT, asked TEXT,
    state TEXT NOT NULL CONSTRAINT sealed CHECK ({_STATE}), prev TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
    CONSTRAINT charged CHECK (act <> 'charge' OR (dataset IS NOT NULL AND analyst IS NOT NULL AND groups IS NOT NULL
        AND epsilon IS NOT NULL AND delta IS NOT NULL AND slack IS NOT NULL AND plan_hash IS NOT NULL)),
    CONSTRAINT concluded CHECK ((charge IS NOT NULL) = (act IN ('settle', 'fail')) AND (charge IS NULL OR charge < seq))
    )""",
    "CREATE UNIQUE INDEX outcome ON entry (charge) WHERE charge IS NOT NULL",
    "CREATE UNIQUE INDEX request ON entry (dataset, analyst, request_id) WHERE request_id IS NOT NULL",
    "CREATE INDEX spender ON entry (dataset, analyst, at) WHERE act = 'charge'",
    f"""CREATE TABLE account (
    dataset TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('total', 'analyst', 'group')), name TEXT NOT NULL,
    span BIGINT CHECK (span IS NULL OR (span > 0 AND scope = 'analyst')), since BIGINT NOT NULL CHECK (since >= 0),
    {_amount("epsilon", rest="NOT NULL")}, {_amount("delta", rest="NOT NULL")}, {_amount("rho")},
    {_amount("slack", rest="NOT NULL")}, {_amount("grain")}, grains BIGINT CHECK (grains >= 0),
    CONSTRAINT counted CHECK ({_COUNTED}), PRIMARY KEY (dataset, scope, name))""",
    f"""CREATE TABLE answer (
    charge BIGINT NOT NULL REFERENCES entry (seq), member BIGINT NOT NULL CONSTRAINT numbered CHECK ({_MEMBER}),
    dataset TEXT NOT NULL, key TEXT, family TEXT, data_version TEXT, audience TEXT, facts TEXT, body BYTEA NOT NULL,
    PRIMARY KEY (charge, member))""",
    "CREATE INDEX shelf_key ON answer (dataset, key) WHERE key IS NOT NULL",
    "CREATE INDEX shelf_family ON answer (dataset, family) WHERE family IS NOT NULL",
    _TURN,
)
# From the first format to this one: `state` stays empty where totals were not sealed yet.
_CARRY = (
    "ALTER TABLE entry ADD COLUMN asked TEXT, ADD COLUMN state TEXT NOT NULL DEFAULT ''",
    (
        f"ALTER TABLE entry ALTER COLUMN state DROP DEFAULT, ADD CONSTRAINT sealed CHECK ({_STATE}),"
        f" DROP CONSTRAINT entry_act_check, ADD CONSTRAINT entry_act_check CHECK (act IN ({_ACTS}))"
    ),
    (
        f"ALTER TABLE account ADD COLUMN {_amount('grain')}, ADD COLUMN grains BIGINT CHECK (grains >= 0),"
        f" ADD CONSTRAINT counted CHECK ({_COUNTED})"
    ),
    "ALTER TABLE answer ADD COLUMN member BIGINT NOT NULL DEFAULT 0",  # each charge had one answer
    (
        f"ALTER TABLE answer ALTER COLUMN member DROP DEFAULT, ADD CONSTRAINT numbered CHECK ({_MEMBER}),"
        " DROP CONSTRAINT answer_pkey, ADD PRIMARY KEY (charge, member)"
    ),
    _TURN,
)
# What stands for the rules: constraints, indexes, columns; and anything that could act on a write behind our back.
_RULES = f"""
SELECT 'constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid) || ' ' || c.convalidated AS rule
FROM pg_constraint AS c JOIN pg_namespace AS s ON s.oid = c.connamespace
WHERE s.nspname = '{SCHEMA}' AND c.contype <> 'n'
UNION ALL SELECT 'index ' || pg_get_indexdef(i.indexrelid) || ' ' || i.indisvalid
FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = '{SCHEMA}'
UNION ALL
SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull
FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = '{SCHEMA}' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL SELECT 'table ' || concat_ws(' ', c.relname, c.relkind, c.relpersistence, c.relrowsecurity)
FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = '{SCHEMA}' AND c.relkind <> 'i'
UNION ALL SELECT 'trigger ' || t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = '{SCHEMA}' AND NOT t.tgisinternal
UNION ALL SELECT 'disabled ' || t.tgname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = '{SCHEMA}' AND t.tgenabled <> 'O'
UNION ALL SELECT 'rule ' || r.rulename FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class
JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = '{SCHEMA}'"""
_COMMENT = f"SELECT obj_description(s.oid, 'pg_namespace') AS said FROM pg_namespace AS s WHERE s.nspname = '{SCHEMA}'"
_SEAL = "SELECT encode(sha256(string_agg(rule, E'\\n' ORDER BY rule COLLATE \"C\")::bytea), 'hex') AS seal FROM ("
_FORMAT, _FIRST = "tacit ledger 2", "tacit ledger 1"
# What no seal is needed for: our tables never have any of these, whoever made it.
_FOREIGN = f"""
SELECT 'a trigger' AS what FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
JOIN pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = '{SCHEMA}' AND (NOT t.tgisinternal OR t.tgenabled <> 'O')
UNION ALL SELECT 'a rewrite rule' FROM pg_rewrite AS r JOIN pg_class AS c ON c.oid = r.ev_class
JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = '{SCHEMA}'
UNION ALL SELECT 'row security' FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = '{SCHEMA}' AND (c.relrowsecurity OR c.relforcerowsecurity)
UNION ALL SELECT 'an inherited table' FROM pg_inherits AS i JOIN pg_class AS c ON c.oid IN (i.inhrelid, i.inhparent)
JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = '{SCHEMA}'"""
# Whose the schema and its tables are. A role owns what belongs to a role that it is a member of.
_OWNERS = f"""
SELECT s.nspowner AS owner FROM pg_namespace AS s WHERE s.nspname = '{SCHEMA}'
UNION SELECT c.relowner FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname = '{SCHEMA}'"""
_STRANGERS = f"SELECT 1 AS one FROM ({_OWNERS}) AS o WHERE NOT pg_has_role(current_user, o.owner, 'USAGE')"
# What others were granted: to read is for auditors; to write, or to lock, is a way to cheat or to stop all charges.
_GRANTS = f"""
WITH granted AS (
    SELECT s.nspowner AS owner, a.grantee, a.privilege_type AS privilege
    FROM pg_namespace AS s CROSS JOIN aclexplode(s.nspacl) AS a WHERE s.nspname = '{SCHEMA}'
    UNION ALL SELECT c.relowner, a.grantee, a.privilege_type FROM pg_class AS c
    JOIN pg_namespace AS s ON s.oid = c.relnamespace CROSS JOIN aclexplode(c.relacl) AS a WHERE s.nspname = '{SCHEMA}'
    UNION ALL SELECT c.relowner, a.grantee, a.privilege_type FROM pg_attribute AS t
    JOIN pg_class AS c ON c.oid = t.attrelid JOIN pg_namespace AS s ON s.oid = c.relnamespace
    CROSS JOIN aclexplode(t.attacl) AS a WHERE s.nspname = '{SCHEMA}')
SELECT privilege FROM granted WHERE grantee <> owner
AND (grantee = 0 OR privilege NOT IN ('SELECT', 'USAGE')) ORDER BY privilege"""


def is_there(connection: Connection) -> bool:
    """Whether a schema of our name is there."""
    return connection.execute(_COMMENT).fetchone() is not None


def is_first_format(connection: Connection) -> bool:
    """Whether the tables are, untouched, those of the first format, which `carry_over` turns into ours."""
    return _said(connection) == f"{_FIRST} {_seal(connection)}"


def create(connection: Connection) -> None:
    """Make the tables, inside the caller's transaction. The schema's comment keeps a seal of their rules."""
    connection.execute(f"CREATE SCHEMA {SCHEMA}")
    for statement in TABLES:
        connection.execute(statement)
    _comment(connection)


def carry_over(connection: Connection) -> None:
    """Turn the tables of the first format into ours, inside the caller's transaction. Their rows stay as they are."""
    for statement in _CARRY:
        connection.execute(statement)
    _comment(connection)


def problems(connection: Connection) -> Iterator[str]:
    """What is wrong with the tables: a trigger, a grant, or a check less, is a way to cheat.

    The seal holds against accidents and against those who may change tables but not comments. Whoever owns the
    schema can renew it: the chain, the totals and the mark are what they cannot make fit.
    """
    if _said(connection) not in {f"{known} {_seal(connection)}" for known in (_FORMAT, _FIRST)}:
        yield "the tables are not those of a ledger: a rule was added or taken away"
    for row in connection.execute(_FOREIGN):
        yield f"the tables have {row['what']}, which could act on a charge behind its back: a rule was added"
    if connection.execute(_STRANGERS).fetchone() is not None:
        yield "the schema or a table belongs to a role that the one who connects is no member of"
    if len(list(connection.execute(_OWNERS))) > 1:  # a superuser is a member of every role
        yield "the schema and its tables belong to several roles"
    for row in connection.execute(_GRANTS):
        yield f"others than the owner were granted {row['privilege']} on the schema or a table"


def _said(connection: Connection) -> str:
    row = connection.execute(_COMMENT).fetchone()
    return "" if row is None else str(row["said"])


def _comment(connection: Connection) -> None:
    connection.execute(f"COMMENT ON SCHEMA {SCHEMA} IS '{_FORMAT} {_seal(connection)}'")


def _seal(connection: Connection) -> str:
    return str(connection.execute(f"{_SEAL}{_RULES}) AS rules").fetchone()["seal"])
