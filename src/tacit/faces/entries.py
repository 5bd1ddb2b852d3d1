"""Entries of the ledger, as JSON and as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from tacit.core import Loss, decimal_text
from tacit.ledger import Entry

HEADINGS = ("entry", "when", "act", "who", "price", "how it ended", "hash")


def plain_entry(entry: Entry) -> dict[str, object]:
    """An entry as JSON has it: amounts exact, as text."""
    amounts = {
        name: None if (value := getattr(entry, name)) is None else decimal_text(value)
        for name in ("epsilon", "delta", "rho", "slack")
    }
    names = ("seq", "act", "dataset", "analyst", "plan_hash", "policy_version", "request_id", "kind", "note")
    said: dict[str, object] = {name: getattr(entry, name) for name in names}
    return {
        **said,
        "at": _when(entry.at),
        "groups": list(entry.groups),
        **amounts,
        "charge": entry.charge,
        "outcome": entry.outcome,
        "hash": entry.hash,
    }


def entry_row(entry: Entry) -> tuple[str, ...]:
    """An entry as a person reads it."""
    price = "" if entry.epsilon is None else str(Loss(entry.epsilon, entry.delta or 0))
    ended = {"settle": "answered", "fail": "failed", None: "open"}[entry.outcome] if entry.act == "charge" else ""
    act = entry.kind if entry.act == "charge" else entry.act
    return str(entry.seq), _when(entry.at), act or "", entry.analyst or "", price, ended, entry.hash[:12]


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
