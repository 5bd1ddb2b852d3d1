"""A conversation with an agent, and what it may cost: reserved before a question is asked."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction

from tacit.core import decimal_text
from tacit.curator import Release
from tacit.errors import BudgetExceeded, InvalidParameter, PolicyError, QueryRefused

LIMIT = Fraction(1)  # unless the policy says otherwise
MOST = 10_000  # conversations that are remembered
UNCHARGED = (QueryRefused, InvalidParameter, BudgetExceeded, PolicyError)  # errors after which nothing was charged


@dataclass(slots=True)
class Conversation:
    """Who asks, and what of the conversation's limit is spent. One event loop uses it."""

    analyst: str
    limit: Fraction
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What it may still cost."""
        return max(self.limit - self.spent, Fraction(0))

    @contextmanager
    def reserved(self, epsilon: Fraction) -> Iterator[list[Release]]:
        """Take a price off the limit before the question is asked; what it cost less is given back.

        The answer goes into the list. Where none comes, the price is kept unless nothing was charged.
        """
        if epsilon > self.left:
            raise BudgetExceeded(
                f"this conversation may cost ε = {decimal_text(self.limit)}, and ε = {decimal_text(self.left)} is left:"
                f" the question costs ε = {decimal_text(epsilon)}",
                hint="ask for less; people raise the limit, not agents",
            )
        self.spent += epsilon
        releases: list[Release] = []
        try:
            yield releases
        except UNCHARGED:
            self.spent -= epsilon
            raise
        self.spent += sum((each.cost.epsilon for each in releases), -epsilon if releases else Fraction(0))


@dataclass(slots=True)
class Conversations:
    """Conversations by what they are known by; those that were silent for long are forgotten."""

    idle: float  # seconds
    clock: Callable[[], float] = time.monotonic
    _known: OrderedDict[tuple[str, str], tuple[float, Conversation]] = field(default_factory=OrderedDict)

    def of(self, analyst: str, name: str, *, limit: Fraction) -> Conversation:
        """The conversation of an analyst under this name, which is begun where there is none."""
        now = self.clock()
        while self._known:
            key, (at, _) = next(iter(self._known.items()))
            if now - at < self.idle and len(self._known) < MOST:
                break
            del self._known[key]
        _, conversation = self._known.pop((analyst, name), (now, Conversation(analyst, limit)))
        conversation.limit = limit
        self._known[analyst, name] = now, conversation
        return conversation
