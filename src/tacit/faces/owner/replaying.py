"""The auditor's replay: every question of the log planned and priced anew, and held against what was charged for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from tacit.curator import Curator
from tacit.errors import TacitError
from tacit.faces.opening import open_policy
from tacit.ledger import Entry
from tacit.policy import Policy


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay found: how many charges follow from their questions, which do not, and which cannot be told."""

    agreeing: int
    differing: tuple[Entry, ...]
    untold: tuple[tuple[Entry, str], ...]  # and why


def replay(policy: Policy, entries: Sequence[Entry]) -> ReplayReport:
    """Plan each charge's question under the policy as it is now. Names and types are read, no row is; it is free."""
    agreeing: list[Entry] = []
    differing: list[Entry] = []
    untold: list[tuple[Entry, str]] = []
    with closing(open_policy(policy).curator) as curator:
        for entry in entries:
            why = _untold(entry, policy) or _failed(curator, entry)
            if why is not None:
                untold.append((entry, why))
            else:
                (agreeing if curator.replay(entry).agrees else differing).append(entry)
    return ReplayReport(len(agreeing), tuple(differing), tuple(untold))


def _untold(entry: Entry, policy: Policy) -> str | None:
    if not entry.is_question:
        return f"a {entry.kind} is no question"
    if entry.asked is None:
        return "charged before the ledger kept questions"
    if entry.policy_version != policy.version:
        return f"asked under another policy, version {(entry.policy_version or '')[:16]}"
    return None


def _failed(curator: Curator, entry: Entry) -> str | None:
    try:
        curator.replay(entry)
    except TacitError as error:
        return error.message
    return None
