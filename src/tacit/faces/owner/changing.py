"""A change of the policy by its owner: what it does, said beforehand; then on record, and in force."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.core import Loss
from tacit.curator.jobs.caps import caps
from tacit.curator.payment import Payment, pay
from tacit.errors import InvalidParameter, LedgerError, RequestConflict
from tacit.faces.owner import ledger_admin
from tacit.faces.owner.examining import examine_text
from tacit.faces.owner.writing import write_over
from tacit.ledger import Answer, Charge, open_books
from tacit.ledger.amounts import amount
from tacit.ledger.values import LONGEST_NAME
from tacit.policy import AnalystPolicy, Policy
from tacit.policy.write import header, toml_value

OWNER = "curator"
_Path = tuple[str, ...]
_HIDES = {"unit", "units", "unit_form", "null_unit", "adjacency", "public"}  # keys that say who is hidden


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One key that is another: what it was and what it will be, as TOML writes it; empty where it is not there."""

    where: str
    key: str
    was: str
    will_be: str


def key_changes(before: Policy, after: Policy) -> tuple[KeyChange, ...]:
    """Every key that differs, in the order of the new policy; what is left out comes last."""
    old, new = _flat(before.plain()), _flat(after.plain())
    paths = [*new, *(path for path in old if path not in new)]
    return tuple(
        KeyChange(header(path[:-1]), path[-1], _text(old, path), _text(new, path))
        for path in paths
        if old.get(path) != new.get(path)
    )


def consequences(before: Policy, after: Policy) -> Iterator[str]:
    """What the change does to answers, to analysts, and to the promise."""
    yield _kept(before, after)
    changed = {change.key for change in key_changes(before, after)}
    if changed & _HIDES:
        yield "whom the answers hide is another: answers given before keep the promise they were given with"
    if _books(before) != _books(after):
        yield "the ledger's account is another: what was charged so far is not counted in it"
        return
    names = {analyst.name for analyst in after.analysts}
    gone = [analyst.name for analyst in before.analysts if analyst.name not in names]
    yield from (f"{name} can ask nothing more; what they were charged stays charged" for name in gone)
    for account in ledger_admin.budget_of(after, None).accounts:
        if account.cap is not None and 0 < amount(account.cap) <= amount(account.spent):
            whose, spent, _, cap = account.row()
            yield f"{whose} has spent {spent} of {cap}: no more questions are charged to it"


def change_policy(path: Path, text: str, *, seen: str, note: str, who: str, in_force: Policy) -> str:
    """Put a checked text into force; the hash of the ledger's entry that says so.

    `seen` is the text that the owner began from: if the file is another by now, nothing is written. What does not fit
    its source is refused with what `tacit check` says of it. The entry is durable before the file is replaced.
    """
    said = f"policy changed by {who}: {note.strip()}" if note.strip() else f"policy changed by {who}"
    if len(said) > LONGEST_NAME or not said.isprintable():
        raise InvalidParameter(f"the note is one line of at most {LONGEST_NAME - 40} characters")
    checked = examine_text(text, path)
    checked.refuse()
    after = checked.policy
    if after is None:
        raise LedgerError("the policy could not be entered")
    payment: Payment[None] = Payment(
        charge=_charge(in_force, after, text=text, note=said),
        caps=caps(in_force, AnalystPolicy(OWNER, in_force.budget.epsilon)),
        what="the policy",
        read=lambda: _write(path, text, seen=seen),
        kept=lambda _: [Answer(hashlib.sha256(text.encode()).digest())],
        restored=_never,
    )
    with closing(open_books(in_force, create=True)) as ledger:
        return pay(ledger, payment).entry


def changed_meanwhile(path: Path) -> RequestConflict:
    """What is said to somebody who would undo what another has written."""
    return RequestConflict(f"{path.name} changed meanwhile: nothing was written", hint="load the page again")


def _write(path: Path, text: str, *, seen: str) -> None:
    if read_text(path) != seen:
        raise changed_meanwhile(path)
    write_over(path, text)


def read_text(path: Path) -> str:
    """The file as it is; empty where it cannot be read as text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return ""


def _charge(in_force: Policy, after: Policy, *, text: str, note: str) -> Charge:
    """Free: nothing is read. It is entered in the account that the policy in force has."""
    return Charge(
        dataset=in_force.dataset.name,
        analyst=OWNER,
        groups=(),
        loss=Loss(0),
        zcdp=None,
        plan_hash=hashlib.sha256(text.encode()).hexdigest(),
        policy_version=after.version,
        kind="policy",
        note=note,
    )


def _never(bodies: tuple[bytes, ...]) -> Any:
    raise LedgerError("the policy could not be entered")


def _kept(before: Policy, after: Policy) -> str:
    if before.version == after.version:
        return "nothing that was promised changes: the policy's version stays, and answers that are kept stay free"
    return "the policy's version changes: answers that are kept from before are not given again free"


def _books(policy: Policy) -> tuple[str, str]:
    return policy.dataset.name, str(policy.dataset.ledger_place)


def _flat(section: Mapping[str, object], path: _Path = ()) -> dict[_Path, object]:
    """Every key by its path; a column counts as one."""
    flat: dict[_Path, object] = {}
    for key, value in section.items():
        whole = (*path, key)
        if isinstance(value, Mapping) and len(whole) < 4 and not (len(whole) > 1 and path[0] in {"dataset", "budget"}):
            flat |= _flat(value, whole) or {whole: {}}
        else:
            flat[whole] = value
    return flat


def _text(flat: Mapping[_Path, object], path: _Path) -> str:
    return toml_value(flat[path]) if path in flat else ""
