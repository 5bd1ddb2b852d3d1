"""Answers used again: the same question, or one that follows from answers already given, costs nothing."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from fractions import Fraction

from tacit.core import decimal_text
from tacit.curator.derive import Found, derived, kept_selection, key_texts, swapped
from tacit.curator.noisy import Noisy
from tacit.engines import mark_of
from tacit.ledger import Keep, KeptAnswer, Ledger, Shelf
from tacit.mechanisms import Gaussian, Laplace
from tacit.policy import Policy
from tacit.sql import Measurement, Plan
from tacit.sql.restriction import restrictions


def keep(plan: Plan, *, data_version: str, audience: str | None) -> Keep:
    """Under which keys the answer to `plan` goes on the shelf."""
    facts = {
        "keys": key_texts(plan),
        "threshold": None if plan.selection is None else plan.selection.threshold,
        "delta": None if plan.selection is None else decimal_text(plan.selection.delta),
        "columns": [
            {
                "signature": m.measure.signature,
                "noise": type(m.noise).__name__,
                "scale": decimal_text(_scale(m)),
                "delta": decimal_text(m.noise.delta) if isinstance(m.noise, Gaussian) else "0",
                "step": decimal_text(m.step),
            }
            for m in plan.measurements
        ],
    }
    return Keep(key=plan.key, family=plan.family, data_version=data_version, audience=audience, facts=json.dumps(facts))


def find(plan: Plan, ledger: Ledger, shelf: Shelf) -> Found | None:
    """The best kept answer that serves `plan` at least as well as a fresh one would."""
    for kept in ledger.kept(shelf, key=plan.key):
        found = _same(plan, kept, ledger)
        if found is not None:
            return found
    if plan.bias:  # what bounds cut from a part is not told by what they cut from the whole
        return None
    for kept in ledger.kept(shelf, family=plan.family):
        found = derived(plan, kept, ledger)
        if found is not None:
            return found
    for restriction in restrictions(plan):
        wider = replace(plan, where=restriction.rest)
        for kept in ledger.kept(shelf, family=wider.family):
            found = derived(plan, kept, ledger, picks=restriction.picks)
            if found is not None:
                return found
    return None


def _scale(measurement: Measurement) -> Fraction:
    noise = measurement.noise
    if isinstance(noise, Laplace):
        return noise.scale
    return noise.sigma if isinstance(noise, Gaussian) else noise.rate


def _same(plan: Plan, kept: KeptAnswer, ledger: Ledger) -> Found | None:
    """The same measurements, none of them noisier than asked."""
    facts = json.loads(kept.keep.facts)
    columns = facts["columns"]
    served = [swapped(m, c) for m, c in zip(plan.measurements, columns, strict=True)]
    measurements = [m for m in served if m is not None]
    if len(measurements) != len(columns):
        return None
    noisy = Noisy.from_bytes(ledger.answer(kept))
    serving = replace(plan, measurements=tuple(measurements), loss=kept.loss, selection=kept_selection(plan, facts))
    return Found(noisy, serving, "the same question", kept.hash, kept.at)


def data_version(policy: Policy, engine: object) -> str:
    """The state of the data that answers are kept under: what the policy says, and what the engine can tell.

    Raises EngineError where the tables are no longer those that were opened; nothing is charged yet.
    """
    mark = mark_of(engine)
    stated = policy.dataset.data_version
    return stated if mark is None else f"{stated[:150]} {mark.text}"


def age_note(at: float, *, watched: bool) -> str:
    """How old an answer is that is given again."""
    seconds = max(0, round(time.time() - at))
    for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds >= size or size == 1:
            count = seconds // size
            age = f"{count} {name}{'' if count == 1 else 's'}"
            break
    known = "the data have not changed since" if watched else "whether the data changed since is not known"
    return f"this answer was given {age} ago; {known}"
