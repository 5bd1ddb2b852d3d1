"""Put an anonymised table on record: in the ledger of a policy, as a disclosure of exact values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

from tacit.core import Loss
from tacit.curator.jobs.caps import caps
from tacit.curator.payment import Payment, pay
from tacit.errors import LedgerError
from tacit.ledger import Answer, Charge, Ledger, open_books
from tacit.ledger.values import LONGEST_NAME
from tacit.policy import AnalystPolicy, Policy
from tacit.release.anonymise.releases import Earlier
from tacit.release.anonymise.request import Request

T = TypeVar("T")

OWNER = "curator"
LOOKED_AT = 10_000  # entries of the owner, the newest first, among which earlier releases are looked for


@dataclass(slots=True)
class Record:
    """An act that is in the ledger already; `entry` is the hash of the line that closes it."""

    entry: str | None = None
    said: str = ""
    earlier: tuple[Earlier, ...] = ()  # tables of the same dataset that were published before this one


def recorded(policy: Policy | None, request: Request, *, table: str, act: Callable[[Record], T]) -> T:
    """What `act` gives. It is entered before the data are read, and its outcome after.

    Nothing is charged: it is no private answer. The guarantee of the policy does not cover what is published here, and
    the entry says so.
    """
    record = Record()
    if policy is None:
        return act(record)
    with closing(open_books(policy, create=True)) as ledger:
        record.earlier = _earlier(ledger, policy, table=table)
        payment: Payment[T] = Payment(
            charge=_charge(policy, request, table=table),
            caps=caps(policy, AnalystPolicy(OWNER, policy.budget.epsilon)),
            what="the published table",
            read=lambda: act(record),
            kept=lambda _: [Answer(hashlib.sha256(record.said.encode()).digest())],
            restored=_never,
        )
        paid = pay(ledger, payment)
        record.entry = paid.entry
    return paid.value


def _never(bodies: tuple[bytes, ...]) -> Any:
    raise LedgerError("the disclosure could not be entered")


def _earlier(ledger: Ledger, policy: Policy, *, table: str) -> tuple[Earlier, ...]:
    """The releases on record, the oldest first; those that failed handed nothing over."""
    entries = ledger.entries(limit=LOOKED_AT, dataset=policy.dataset.name, analyst=OWNER)
    released = [entry for entry in entries if entry.act == "charge" and entry.kind == "disclosure" and entry.note]
    return tuple(
        Earlier(entry.hash, entry.at, str(entry.note), str(entry.note).startswith(f"{_first(table)}:"))
        for entry in sorted(released, key=lambda entry: entry.seq)
        if entry.outcome != "fail" and str(entry.note).startswith("anonymise ")
    )


def _first(table: str) -> str:
    return "".join(character for character in f"anonymise {table[:40]}" if character.isprintable())


def _charge(policy: Policy, request: Request, *, table: str) -> Charge:
    return Charge(
        dataset=policy.dataset.name,
        analyst=OWNER,
        groups=(),
        loss=Loss(0),
        zcdp=None,
        plan_hash=request.digest,
        policy_version=policy.version,
        kind="disclosure",
        note=said(request, table=table),
    )


def said(request: Request, *, table: str) -> str:
    """The act in words: every model, and which columns go out how. The entry's hash covers what has no room."""
    roles = request.roles
    columns = {
        "qi": roles.quasi_identifiers, "sensitive": roles.sensitive, "kept": roles.keep, "pseudonyms": roles.pseudonyms,
    }  # fmt: skip
    first = f"{_first(table)}: {_models(request)}"
    for most in (max(map(len, columns.values())), 3, 2, 1, 0):  # names, as many as there is room for
        listed = [f"{role} {_some(names, most)}" for role, names in columns.items() if names]
        note = "; ".join([first, "exact values, not DP", *listed])
        if len(note) <= LONGEST_NAME:
            break
    return "".join(character for character in note[:LONGEST_NAME] if character.isprintable())


def _models(request: Request) -> str:
    wanted = request.wanted
    asked = {
        "k": wanted.k, "k-map": wanted.k_map, "presence": wanted.presence and "{:g}:{:g}".format(*wanted.presence),
        f"{wanted.diversity} l": wanted.l, "c": wanted.c, f"{wanted.distance} t": wanted.t, "beta": wanted.beta,
        "alpha": wanted.alpha, "suppress": request.suppression or None, "unit": request.unit,
    }  # fmt: skip
    numbers = [f"{name}={number}" for name, number in asked.items() if number is not None]
    return ", ".join([*numbers, request.method, *map(str, wanted.scoped)])


def _some(names: Sequence[str], most: int) -> str:
    if len(names) <= most:
        return ",".join(names)
    return ",".join([*names[:most], f"{len(names) - most} more"]) if most else f"{len(names)} columns"
