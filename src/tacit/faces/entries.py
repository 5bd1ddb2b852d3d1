"""Entries of the ledger, as JSON and as people read them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from tacit.core import Loss, decimal_text
from tacit.ledger import Entry

HEADINGS = ("entry", "when", "act", "who", "price", "how it ended", "hash", "question")


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
        **_asked(entry),
        "hash": entry.hash,
    }


def entry_row(entry: Entry) -> tuple[str, ...]:
    """An entry as a person reads it."""
    price = "" if entry.epsilon is None else str(Loss(entry.epsilon, entry.delta or 0))
    ended = {"settle": "answered", "fail": "failed", None: "open"}[entry.outcome] if entry.act == "charge" else ""
    act = entry.kind if entry.act == "charge" else entry.act
    who = entry.analyst or ""
    return str(entry.seq), _when(entry.at), act or "", who, price, ended, entry.hash[:12], _said(entry)


def _asked(entry: Entry) -> dict[str, object]:
    """The questions of a charge, each with the values of its parameters; the tables; and, if kept, the words."""
    asked = entry.asked
    if asked is None:
        return {"questions": None, "tables": None, "words": None}
    questions = [
        {"sql": sql, "parameters": json.loads(values)}
        for sql, values in zip(asked.questions, asked.parameters, strict=True)
    ]
    return {"questions": questions, "tables": list(asked.tables), "words": list(asked.words) or None}


def _said(entry: Entry) -> str:
    """The question in one line, values in brackets; of a batch the first, and how many more; else the note."""
    if entry.asked is None or not entry.asked.questions:
        return entry.note or ""
    first, values = entry.asked.questions[0], json.loads(entry.asked.parameters[0])
    given = ", ".join(f"${name} = {_value(*value)}" for name, value in values.items())
    more = len(entry.asked.questions) - 1
    return first + (f" [{given}]" if given else "") + (f" … and {more} more" if more else "")


def _value(kind: str, text: str) -> str:
    return f"'{text}'" if kind == "text" else text or kind


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
