"""Put an anonymised table on record: in the ledger of a policy, as a disclosure of exact values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tacit.core import Loss
from tacit.curator.pricing import caps
from tacit.errors import LedgerError
from tacit.ledger import Charge, Ledger, Reservation, SqliteLedger
from tacit.policy import AnalystPolicy, Policy
from tacit.release.anonymise.request import Request

OWNER = "curator"


@dataclass(slots=True)
class Record:
    """An act that is in the ledger already; `entry` is the hash of the line that closes it."""

    entry: str | None = None
    said: str = ""


@contextmanager
def recorded(policy: Policy | None, request: Request, *, table: str) -> Iterator[Record]:
    """Enter the act before the data are read, and its outcome after. Nothing is charged: it is no private answer.

    The guarantee of the policy does not cover what is published here, and the entry says so.
    """
    record = Record()
    if policy is None:
        yield record
        return
    with SqliteLedger(policy.dataset.ledger_path, create=True) as ledger:
        reserved = _reserve(ledger, policy, request, table=table)
        try:
            yield record
        except BaseException:
            ledger.fail(reserved)
            raise
        record.entry = ledger.settle(reserved, hashlib.sha256(record.said.encode()).digest(), keep=None)


def _reserve(ledger: Ledger, policy: Policy, request: Request, *, table: str) -> Reservation:
    wanted = request.wanted
    asked = {"k": wanted.k, "k-map": wanted.k_map, "l": wanted.l, "t": wanted.t, "beta": wanted.beta}
    numbers = ", ".join(f"{name} = {number}" for name, number in asked.items() if number is not None)
    charge = Charge(
        dataset=policy.dataset.name,
        analyst=OWNER,
        groups=(),
        loss=Loss(0),
        zcdp=None,
        plan_hash=request.digest,
        policy_version=policy.version,
        kind="disclosure",
        note=f"anonymise {table[:60]}: {numbers}; exact values, not differentially private",
    )
    reserved = ledger.reserve(charge, caps(policy, AnalystPolicy(OWNER, policy.budget.epsilon)))
    if not isinstance(reserved, Reservation):
        raise LedgerError("the disclosure could not be entered")
    return reserved
