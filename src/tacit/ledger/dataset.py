"""The ledger of a dataset: opened, made or taken over; and never a second one for the same source."""

from __future__ import annotations

import logging

from tacit.errors import LedgerError
from tacit.ledger import claims
from tacit.ledger.places import accept_ledger, has_ledger, open_ledger
from tacit.ledger.protocol import Ledger
from tacit.ledger.values import checked
from tacit.policy import Policy

_log = logging.getLogger("tacit.ledger")
_HINT = (
    "use that ledger and that name; or, knowing that what was spent there is not counted, `tacit ledger adopt --note …`"
)


def open_books(policy: Policy, *, create: bool) -> Ledger:
    """Open the ledger of the policy's dataset. Refused where the source has another: that would be a second budget."""
    if not _has(policy):
        _refuse(policy, "")  # before one is made
    ledger = open_ledger(policy.dataset.ledger_place, create=create, mark=policy.dataset.ledger_mark)
    try:
        _refuse(policy, ledger.identity())
    except BaseException:
        ledger.close()
        raise
    if not claims.holds(policy, ledger.identity()):
        _tell_of_neighbours(policy, ledger.identity())
    claims.write(policy, ledger.identity())
    return ledger


def second_ledger(policy: Policy) -> tuple[list[str], dict[str, str]]:
    """What `tacit check` says of the ledger: nothing, unless the source, or another table of it, has another.

    Raises LedgerError where the ledger does not open.
    """
    identity = ""
    if _has(policy):
        ledger = open_ledger(policy.dataset.ledger_place, create=False, mark=policy.dataset.ledger_mark)
        try:
            identity = ledger.identity()
        finally:
            ledger.close()
    return claims.problems(policy, identity), claims.neighbours(policy, identity)


def adopt(policy: Policy, note: str) -> str:
    """Make the policy's ledger the one of its source, although another has the account; on record, with the reason."""
    checked(note, "the note")
    ledger = open_ledger(policy.dataset.ledger_place, create=True, mark=policy.dataset.ledger_mark)
    try:
        before = claims.problems(policy, ledger.identity())
        entry = ledger.adopt(policy.dataset.name, f"{note}: {'; '.join(before) or 'nobody held the source'}")
        claims.write(policy, ledger.identity())
    finally:
        ledger.close()
    return entry


def accept(policy: Policy, note: str) -> str:
    """Take a ledger that was rolled back for the truth, on record; one that had to be made anew keeps its source."""
    dataset = policy.dataset
    entry = accept_ledger(dataset.ledger_place, note, mark=dataset.ledger_mark)
    ledger = open_ledger(dataset.ledger_place, create=False, mark=dataset.ledger_mark)
    try:
        claims.renew(policy, ledger.identity())
    finally:
        ledger.close()
    return entry


def _has(policy: Policy) -> bool:
    return has_ledger(policy.dataset.ledger_place, mark=policy.dataset.ledger_mark)


def _tell_of_neighbours(policy: Policy, ledger: str) -> None:
    for table in claims.neighbours(policy, ledger):
        _log.warning("table %s of the same database has a ledger of its own: dataset %s", table, policy.dataset.name)


def _refuse(policy: Policy, ledger: str) -> None:
    for why in claims.problems(policy, ledger):
        _log.error("a second ledger for one source was refused: dataset %s", policy.dataset.name)
        raise LedgerError(f"the source has a ledger already: {why}", hint=_HINT)
