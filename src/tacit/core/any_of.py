"""Limits in several currencies, of which one is to be kept."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.core.grains import Grains
from tacit.core.loss import Budget
from tacit.core.zcdp import Zcdp
from tacit.errors import InvalidParameter

Limit = Budget | Zcdp | Grains


@dataclass(frozen=True, slots=True)
class AnyOf:
    """What is spent fits while it fits one of these. Each currency has one limit at most."""

    limits: tuple[Limit, ...]

    def __post_init__(self) -> None:
        kinds = {type(limit) for limit in self.limits}
        if not kinds or len(kinds) < len(self.limits):
            raise InvalidParameter("alternatives are limits in different currencies: one of each, and at least one")
