"""Where a ledger is: a file of this host, or a database that many hosts share."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tacit.errors import LedgerError
from tacit.ledger.desk import mark_beside
from tacit.ledger.owner import accept_rollback, verify_file
from tacit.ledger.sqlite import SqliteLedger
from tacit.ledger.values import Verdict

if TYPE_CHECKING:
    from tacit.ledger.postgres.ledger import PostgresLedger

Location = str | Path  # the address of a server, or a file


def open_ledger(location: Location, *, create: bool, mark: Path | None = None) -> SqliteLedger | PostgresLedger:
    """Open a ledger. `mark` is where this host remembers how far it had come; beside a file unless it is given."""
    if isinstance(location, Path):
        return SqliteLedger(location, create=create, mark=mark)
    ledger: PostgresLedger = _postgres().PostgresLedger(location, create=create, mark=mark)
    return ledger


def has_ledger(location: Location, *, mark: Path | None = None) -> bool:
    """Whether something was ever charged there, as far as this host knows without asking a server."""
    if isinstance(location, Path):
        return location.exists() or (mark or mark_beside(location)).exists()
    return mark is not None and mark.exists()


def verify_ledger(location: Location, *, mark: Path | None = None) -> Verdict:
    """Examine a ledger, also one that does not open."""
    if isinstance(location, Path):
        return verify_file(location, mark=mark)
    verdict: Verdict = _postgres().verify_database(location, mark=mark)
    return verdict


def accept_ledger(location: Location, note: str, *, mark: Path | None = None) -> str:
    """Take a ledger that was rolled back for the truth, on record."""
    if isinstance(location, Path):
        return accept_rollback(location, note, mark=mark)
    entry: str = _postgres().accept_database(location, note, mark=mark)
    return entry


def _postgres() -> ModuleType:
    try:
        from tacit.ledger.postgres import ledger as postgres
    except ImportError:
        raise LedgerError("PostgreSQL is not installed with tacit", hint="pip install 'tacit[postgres]'") from None
    return postgres
