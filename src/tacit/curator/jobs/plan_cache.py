"""Plans kept for questions that are asked again: bounded, and known by everything that shapes a plan.

A plan depends on the text, the values of its parameters with their types, what a plain SELECT costs in the session, the
policy, the names and types of the source, and what public tables count; and on the day or the minute, where it holds
one. Names and types belong to one curator: where they changed, the source is opened anew, with an empty cache. What was
counted belongs to one state of the data, which the curator adds to the key. Each analyst's plans are kept apart: how
fast a question is planned tells nobody what others have asked.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timezone
from decimal import Decimal
from fractions import Fraction

from tacit.curator.jobs.job import Job
from tacit.curator.jobs.pricing import Session
from tacit.policy import Policy
from tacit.sql import Parameters
from tacit.sql.parsing.today import asked_at

MOST_PLANS = 256  # of one analyst
MOST_TEXT = 4_000_000  # characters of SQL, of one analyst: about a tenth of what their trees take in bytes
_EXACT = frozenset({str, int, float, bool, type(None), Decimal, Fraction, date})  # told apart by their type and repr

Key = tuple[object, ...]


def plan_key(text: object, parameters: Parameters, *, session: Session, policy: Policy) -> Key | None:
    """What a plan is known by; None where two values could look alike that are not, so that nothing is kept.

    1, 1.0, True and '1' are equal or look alike, and mean four things.
    """
    if type(text) is not str:
        return None
    values = _known_by(parameters)
    if values is None:
        return None
    return text, values, session.epsilon, session.delta, policy.version, asked_at(text, datetime.now(UTC))


def _known_by(parameters: Parameters) -> tuple[object, ...] | None:
    if type(parameters) is dict:
        named = list(parameters.items())
    elif type(parameters) in {list, tuple}:
        named = [(str(index), value) for index, value in enumerate(parameters, start=1)]
    else:
        return None
    known = []
    for name, value in named:
        items = value if type(value) in {list, tuple} else (value,)  # ANY(?) takes a list
        if type(name) is not str or not all(type(item) in _EXACT or _is_plain_time(item) for item in items):
            return None
        shown = repr(value) if items is not value else tuple((type(item).__name__, repr(item)) for item in items)
        known.append((name, type(value).__name__, shown))
    return tuple(known)


def _is_plain_time(value: object) -> bool:
    """A moment whose repr says it all: one with a zone of its own making may hide what it means."""
    return type(value) is datetime and (value.tzinfo is None or type(value.tzinfo) is timezone)


@dataclass(slots=True)
class _Shelf:
    """The plans of one analyst, the one that was not asked for the longest first."""

    plans: OrderedDict[Key, tuple[Job, int]]
    text: int = 0


class PlanCache:
    """Plans by key, a bounded number for each analyst. Safe to use from many threads."""

    def __init__(self, *, most: int = MOST_PLANS, most_text: int = MOST_TEXT) -> None:
        self._most, self._most_text = most, most_text
        self._shelves: dict[str, _Shelf] = {}
        self._lock = threading.Lock()

    def get(self, analyst: str, key: Key | None, plan: Callable[[], Job]) -> Job:
        """The plan of that key, or the one that `plan` makes. A refusal is raised each time anew."""
        if key is None:
            return plan()
        with self._lock:
            shelf = self._shelves.get(analyst)
            cached = None if shelf is None else shelf.plans.get(key)
            if shelf is not None and cached is not None:
                shelf.plans.move_to_end(key)
                return cached[0]
        job = plan()
        if (
            job.sharper is None and job.tellings is None
        ):  # a pilot's planner grows with what it is asked, and its second half is planned anew
            self._keep(analyst, key, job)
        return job

    def __len__(self) -> int:
        with self._lock:
            return sum(len(shelf.plans) for shelf in self._shelves.values())

    def _keep(self, analyst: str, key: Key, job: Job) -> None:
        size = _size(key, job)
        if size > self._most_text:
            return
        with self._lock:
            shelf = self._shelves.setdefault(analyst, _Shelf(OrderedDict()))
            before = shelf.plans.pop(key, None)
            shelf.text += size - (0 if before is None else before[1])
            shelf.plans[key] = job, size
            while len(shelf.plans) > self._most or shelf.text > self._most_text:
                _, (_, freed) = shelf.plans.popitem(last=False)
                shelf.text -= freed


def _size(key: Key, job: Job) -> int:
    """About how much a plan takes, in characters of SQL."""
    statements = (len(statement.canonical) for piece in job.pieces for statement in piece.plan.runs)
    return len(str(key[0])) + sum(len(repr(value)) for value in key[1:]) + sum(statements)
