"""Budgets: of the dataset, of its analysts and of groups of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from fractions import Fraction

from tacit.accounting.grains import MOST
from tacit.core import Budget, Number, decimal_text
from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.names import account_name, all_different
from tacit.policy.reading.readers import duration, flag, hold, one_of, optional
from tacit.policy.reading.types import exact, kind_name


class Accounting(Enum):
    """How the losses of one question after another add up."""

    PURE = "pure"  # epsilons add; no delta anywhere
    APPROXIMATE = "approximate"  # epsilons add, deltas add
    ZCDP = "zcdp"  # rho adds; the total is read as (epsilon, delta)
    PLD = "pld"  # grains, rho and epsilon are counted; whichever reaches furthest decides

    def __str__(self) -> str:
        return self.value


def read_epsilon(value: object, path: KeyPath) -> Fraction:
    """An amount that can be spent."""
    number = exact(value, path)
    if number <= 0:
        raise Fault(f"must be greater than zero: got {decimal_text(number)}", path=path)
    return number


def _delta(value: object, path: KeyPath) -> Fraction:
    number = exact(value, path)
    if not 0 <= number < 1:
        raise Fault(f"must be at least 0 and below 1: got {decimal_text(number)}", path=path)
    return number


@dataclass(frozen=True, slots=True, init=False)
class BudgetPolicy:
    """The total that all analysts together may spend, and how it is counted. It never refreshes.

    `accounting` defaults to "approximate" where there is a delta, else to "pure".
    """

    epsilon: Fraction
    delta: Fraction
    accounting: Accounting
    grain: Fraction | None
    max_epsilon: Fraction | None
    default_epsilon: Fraction | None
    default_delta: Fraction | None
    reuse: bool
    share_answers: bool

    def __init__(  # noqa: PLR0913 - the keys of a budget
        self,
        epsilon: Number,
        delta: Number = 0,
        *,
        accounting: Accounting | str | None = None,
        grain: Number | None = None,
        max_epsilon: Number | None = None,
        default_epsilon: Number | None = None,
        default_delta: Number | None = None,
        reuse: bool = True,
        share_answers: bool = True,
    ) -> None:
        hold(
            self,
            (),
            _BUDGET,
            epsilon=epsilon,
            delta=delta,
            accounting=accounting,
            grain=grain,
            max_epsilon=max_epsilon,
            default_epsilon=default_epsilon,
            default_delta=default_delta,
            reuse=reuse,
            share_answers=share_answers,
        )
        if accounting is None:
            chosen = Accounting.APPROXIMATE if self.delta else Accounting.PURE
            object.__setattr__(self, "accounting", chosen)
        self._agree()

    @property
    def limit(self) -> Budget:
        """The total as the accountants want it."""
        return Budget(self.epsilon, self.delta)

    def _agree(self) -> None:
        if self.accounting is Accounting.PURE and self.delta:
            raise Fault(
                'is "pure", which has no delta: yet delta is there',
                path=("accounting",),
                hint='take delta out, or write accounting = "approximate"',
            )
        if self.accounting is Accounting.ZCDP and not self.delta:
            raise Fault('is "zcdp", which needs a delta: it is 0', path=("accounting",), hint="add delta = 1e-6")
        self._grained()
        _not_above(self.max_epsilon, self.epsilon, key="max_epsilon", limit="epsilon")
        _not_above(
            self.default_epsilon,
            self.max_epsilon or self.epsilon,
            key="default_epsilon",
            limit="what a question may cost",
        )
        _not_above(self.default_delta, self.delta, key="default_delta", limit="delta")

    def _grained(self) -> None:
        counted = self.accounting is Accounting.PLD
        if counted and not self.delta:
            raise Fault('is "pld", which needs a delta: it is 0', path=("accounting",), hint="add delta = 1e-6")
        if counted and self.grain is None:
            raise Fault(
                'is "pld", which needs a grain: there is none',
                path=("accounting",),
                hint="add grain = 0.05, the epsilon of an everyday question",
            )
        if not counted and self.grain is not None:
            raise Fault(
                f'is what "pld" counts in: accounting is "{self.accounting}"',
                path=("grain",),
                hint='take it out, or write accounting = "pld"',
            )
        if self.grain is not None:
            _not_above(self.grain, self.epsilon, key="grain", limit="epsilon")
            if self.epsilon / self.grain > MOST:
                raise Fault(
                    f"is too fine for this budget, which holds more than {MOST:,} of it",
                    path=("grain",),
                    hint="choose the epsilon of an everyday question",
                )


def _not_above(value: Fraction | None, most: Fraction, *, key: str, limit: str) -> None:
    if value is not None and value > most:
        raise Fault(
            f"{decimal_text(value)} is above {limit}, {decimal_text(most)}: it could never be spent", path=(key,)
        )


@dataclass(frozen=True, slots=True, init=False)
class GroupPolicy:
    """A cap on what the members of a group may spend together. No delta: the total's."""

    name: str
    epsilon: Fraction
    delta: Fraction | None

    def __init__(self, name: str, epsilon: Number, *, delta: Number | None = None) -> None:
        account_name(name, (name,))
        hold(self, (name,), _GROUP, name=name, epsilon=epsilon, delta=delta)


@dataclass(frozen=True, slots=True, init=False)
class AnalystPolicy:
    """One who asks, and a cap on what they may spend.

    The cap may be larger than the dataset's total: the total holds all the same, so nothing more is promised or
    lost. No epsilon: the groups' caps and the total hold. No delta: the total's. `window` gives the analyst's own
    cap back after that time; the total and the groups' caps never come back.
    """

    name: str
    epsilon: Fraction | None
    delta: Fraction | None
    groups: tuple[str, ...]
    window: timedelta | None

    def __init__(
        self,
        name: str,
        epsilon: Number | None = None,
        *,
        delta: Number | None = None,
        groups: Sequence[str] = (),
        window: timedelta | str | None = None,
    ) -> None:
        account_name(name, (name,))
        hold(self, (name,), _ANALYST, name=name, epsilon=epsilon, delta=delta, groups=groups, window=window)
        if self.epsilon is None and not self.groups:
            raise Fault(
                "is missing: the analyst has neither a budget nor a group that has one",
                path=(name, "epsilon"),
                hint='add epsilon = 1, or groups = ["…"]',
            )
        if self.epsilon is None and self.window is not None:
            raise Fault("has no budget to refresh: the analyst has no epsilon", path=(name, "window"))


def _groups(value: object, path: KeyPath) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Fault(
            f"must be a list of groups: it is {kind_name(value)}", path=path, hint='write groups = ["students"]'
        )
    names = tuple(account_name(name, (*path, index)) for index, name in enumerate(value))
    all_different(names, path=path)
    return names


_BUDGET = {
    "epsilon": read_epsilon,
    "delta": _delta,
    "accounting": optional(one_of(Accounting)),
    "grain": optional(read_epsilon),
    "max_epsilon": optional(read_epsilon),
    "default_epsilon": optional(read_epsilon),
    "default_delta": optional(_delta),
    "reuse": flag,
    "share_answers": flag,
}
_GROUP = {"epsilon": read_epsilon, "delta": optional(_delta)}
_ANALYST = {
    "epsilon": optional(read_epsilon),
    "delta": optional(_delta),
    "groups": _groups,
    "window": optional(duration),
}
