"""The hash chain: every entry is sealed together with the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

Field = str | int | None

# The columns of an entry in the order of the table; `hash` seals all of them.
SEALED = (
    "seq", "at", "act", "dataset", "analyst", "groups", "epsilon", "delta", "rho", "slack", "plan_hash",
    "policy_version", "request_id", "kind", "note", "charge", "digest", "prev",
)  # fmt: skip
BEFORE_THE_FIRST = "0" * 64


def canonical(fields: Mapping[str, Field]) -> bytes:
    """One byte string for one set of fields: JSON with sorted keys, no spaces, ASCII only."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def seal(fields: Mapping[str, Field]) -> str:
    """The hash of an entry, over every field and the hash of its predecessor."""
    return hashlib.sha256(b"tacit ledger entry 1\n" + canonical({name: fields[name] for name in SEALED})).hexdigest()


def digest(keys: Sequence[Field], answer: bytes) -> str:
    """The hash of a kept answer and of the keys it is kept under; the settling entry carries it."""
    named: dict[str, Field] = {str(place): key for place, key in enumerate(keys)}
    named["answer"] = hashlib.sha256(answer).hexdigest()
    return hashlib.sha256(b"tacit ledger answer 1\n" + canonical(named)).hexdigest()
