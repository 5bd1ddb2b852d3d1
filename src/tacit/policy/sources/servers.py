"""Addresses of database servers, as a policy may write them: without a password, which is not for a file to hold."""

from __future__ import annotations

import re
from urllib.parse import unquote

from tacit.policy.reading.fault import Fault, KeyPath

_SERVER = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_SPARK = re.compile(r"sc://", re.IGNORECASE)
SECRET_PARAMETERS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
# A server that went away without a word is noticed after a minute; the kernel's own patience is hours.
KEEPALIVES: dict[str, object] = {
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
# What libpq would read as one, and what was surely meant as one: a secret may have ?, # or / in it.
_SECRETS = (
    re.compile(r"postgres(ql)?://[^/@]*:([^/@]*|[^?@]*)@", re.IGNORECASE),  # user:secret@host
    re.compile(rf"(?<![a-z])({'|'.join(sorted(SECRET_PARAMETERS))}|token)\s*=", re.IGNORECASE),
)


def is_server(location: str) -> bool:
    """Whether a location is the address of a PostgreSQL database rather than a file."""
    return _SERVER.match(location) is not None


def is_spark(location: str) -> bool:
    """Whether a location is the address of a Spark Connect server."""
    return _SPARK.match(location) is not None


def holds_secret(location: str) -> bool:
    """Whether an address holds what should not be shown, or looks as if it did."""
    spellings = (location, unquote(location))  # libpq reads pass%77ord as well
    return any(secret.search(spelled) for secret in _SECRETS for spelled in spellings)


def no_password(location: str, path: KeyPath) -> str:
    """The location, if it holds no password: policies are shown, shared and put on record."""
    if (is_server(location) or is_spark(location)) and holds_secret(location):
        where = "SPARK_REMOTE" if is_spark(location) else "PGPASSWORD, or into ~/.pgpass or a service file"
        hint = f"put it into the environment as {where}"
        raise Fault("holds a password, which does not belong into a policy", path=path, hint=hint)
    return location
