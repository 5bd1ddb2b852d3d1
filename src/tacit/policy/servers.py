"""Addresses of database servers, as a policy may write them: without a password, which is not for a file to hold."""

from __future__ import annotations

import re

from tacit.policy.fault import Fault, KeyPath

_SERVER = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_SPARK = re.compile(r"sc://", re.IGNORECASE)
_SECRETS = (
    re.compile(r"postgres(ql)?://[^/?#]*:[^/?#@]*@", re.IGNORECASE),  # user:secret@host
    re.compile(r"(?<![a-z])((ssl)?password|token)=", re.IGNORECASE),
)


def is_server(location: str) -> bool:
    """Whether a location is the address of a PostgreSQL database rather than a file."""
    return _SERVER.match(location) is not None


def is_spark(location: str) -> bool:
    """Whether a location is the address of a Spark Connect server."""
    return _SPARK.match(location) is not None


def no_password(location: str, path: KeyPath) -> str:
    """The location, if it holds no password: policies are shown, shared and put on record."""
    if (is_server(location) or is_spark(location)) and any(secret.search(location) for secret in _SECRETS):
        where = "SPARK_REMOTE" if is_spark(location) else "PGPASSWORD, or into ~/.pgpass or a service file"
        hint = f"put it into the environment as {where}"
        raise Fault("holds a password, which does not belong into a policy", path=path, hint=hint)
    return location
