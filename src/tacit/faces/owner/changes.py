"""Kept answers held against the data as they are now: for `tacit check`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from tacit.curator.reusing.reuse import data_version
from tacit.errors import TacitError
from tacit.faces.owner.ledger_admin import kept_states
from tacit.policy import Finding, Policy, Severity

_PATH = ("dataset", "data_version")


def changes_since(policy: Policy, engine: object) -> Iterator[Finding]:
    """Whether answers are kept of older data, and whether the source could tell."""
    now = data_version(policy, engine)
    if now == policy.dataset.data_version and policy.budget.reuse:
        why = "the source cannot tell when its data change: answers that are kept are given again until this is raised"
        yield Finding(Severity.NOTE, _PATH, why, "raise data_version whenever the data change")
    try:
        states = kept_states(policy)
    except TacitError:  # which is for `tacit ledger verify` to say
        return
    old = [state for state in states if state.data_version != now]
    if old:
        newest = datetime.fromtimestamp(max(state.newest for state in old), UTC)
        count = sum(state.count for state in old)
        when = f"{newest:%Y-%m-%d %H:%M} UTC"
        why = f"the data have changed since {when}: {count:,} answers that are kept from before are not given again"
        yield Finding(Severity.NOTE, _PATH, why)
