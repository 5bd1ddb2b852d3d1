"""The address of a ledger's server: where it is, and no password."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tacit.errors import LedgerError
from tacit.policy.sources.servers import KEEPALIVES, SECRET_PARAMETERS, holds_secret

_EXAMPLE = "write it as postgresql://host/database"


def parameters(address: str) -> dict[str, Any]:
    """The parameters of a connection, as libpq reads the address. What else it needs comes from the environment."""
    malformed = LedgerError("the ledger's place is not an address of PostgreSQL", hint=_EXAMPLE)
    try:
        settings: dict[str, Any] = dict(conninfo_to_dict(address))
    except psycopg.Error:
        raise malformed from None
    if SECRET_PARAMETERS & settings.keys() or holds_secret(address):
        hint = "put it into the environment as PGPASSWORD, or into ~/.pgpass or a service file"
        raise LedgerError("the ledger's address holds a password, which does not belong there", hint=hint)
    fixed = {"application_name": "tacit ledger", "client_encoding": "UTF8"}
    return {"connect_timeout": 10} | KEEPALIVES | settings | fixed
