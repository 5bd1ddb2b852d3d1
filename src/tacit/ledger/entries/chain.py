"""The hash chain: every entry is sealed together with the one before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

Field = str | int | None

# The columns of an entry in the order of the table; `hash` seals all of them.
SEALED = (
    "seq", "at", "act", "dataset", "analyst", "groups", "epsilon", "delta", "rho", "slack", "plan_hash",
    "policy_version", "request_id", "kind", "note", "charge", "digest", "asked", "state", "prev",
)  # fmt: skip
# Entries of the first format had neither; an empty `state` tells them.
_SINCE_2 = frozenset({"asked", "state"})
_SEALED_1 = tuple(name for name in SEALED if name not in _SINCE_2)
BEFORE_THE_FIRST = "0" * 64


def canonical(fields: Mapping[str, Field] | Sequence[Field]) -> bytes:
    """One byte string for one set of fields: JSON with sorted keys, no spaces, ASCII only."""
    return _JSON.encode(fields).encode("ascii")


def _strange(value: object) -> list[str]:
    """What no ledger writes, as a damaged file may hold it: it has a hash as well, and not a fitting one."""
    return [type(value).__name__, repr(value)]


_JSON = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, check_circular=False, default=_strange
)


def seal(fields: Mapping[str, Field]) -> str:
    """The hash of an entry, over every field and the hash of its predecessor."""
    if is_first_format(fields):
        return _hash(b"tacit ledger entry 1\n", canonical({name: fields[name] for name in _SEALED_1}))
    return _sealed(*(fields[name] for name in SEALED))


@lru_cache(maxsize=64, typed=True)
def _sealed(*values: Field) -> str:
    """The hash of an entry by its fields in order. Remembered: what was written is read again by the next entry."""
    return _hash(b"tacit ledger entry 2\n", canonical(dict(zip(SEALED, values, strict=True))))


def is_first_format(fields: Mapping[str, Field]) -> bool:
    """Whether an entry was written before totals were sealed. It then has no field that its hash would not cover."""
    return not fields.get("state") and fields.get("asked") is None


def digest(keys: Sequence[Field], answer: bytes) -> str:
    """The hash of a kept answer and of the keys it is kept under; the settling entry carries it."""
    named: dict[str, Field] = {str(index): key for index, key in enumerate(keys)}
    named["answer"] = hashlib.sha256(answer).hexdigest()
    return _hash(b"tacit ledger answer 1\n", canonical(named))


def digest_of_several(digests: Sequence[str]) -> str:
    """The hash of all answers that one charge paid for, in their order; of one alone, its own."""
    if len(digests) == 1:
        return digests[0]
    return _hash(b"tacit ledger answers 2\n", canonical(list(digests)))


def leaf(account: Sequence[Field]) -> str:
    """The hash of one account: whose it is, its window, and all its amounts."""
    return _hash(b"tacit ledger account 2\n", canonical(list(account)))


def state(leaves: Iterable[str]) -> str:
    """The hash of all accounts together, which every entry carries: what they stand at once it is made."""
    return _hash(b"tacit ledger state 2\n", "".join(sorted(leaves)).encode("ascii"))


def _hash(purpose: bytes, content: bytes) -> str:
    return hashlib.sha256(purpose + content).hexdigest()
