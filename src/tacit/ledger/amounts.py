"""Exact sums of losses, as text and back, that never come out too small."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tacit.accounting import grains_for
from tacit.core import AnyOf, Budget, Grains, Limit, Loss, Zcdp, decimal_text
from tacit.core.running_sum import GRID, added
from tacit.errors import InvalidParameter, LedgerError

Cap = Limit | AnyOf
_NOTHING = Fraction(0)
_LARGEST = GRID * GRID


@dataclass(frozen=True, slots=True)
class Spent:
    """What an account has been charged, in every currency. `rho` is None once a charge had no zCDP price.

    `grains` are of the size `grain`, which is that of a cap; None where no cap counts them.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = Fraction(0)
    slack: Fraction = Fraction(0)  # the delta beside rho
    grain: Fraction | None = None
    grains: int = 0

    def plus(self, loss: Loss, zcdp: Zcdp | None) -> Spent:
        """The sum with one more charge."""
        rho = None if zcdp is None else zcdp.rho
        return Spent(
            added(self.epsilon, loss.epsilon),
            added(self.delta, loss.delta),
            None if self.rho is None or rho is None else added(self.rho, rho),
            added(self.slack, zcdp.delta if zcdp else _NOTHING),
            self.grain,
            self.grains + (0 if self.grain is None else grains_for(loss, self.grain, rho=rho).count),
        )

    def in_grains(self, grain: Fraction) -> Grains:
        """The same in grains of this size: those that were counted, and every delta."""
        if self.grain != grain:
            raise InvalidParameter("the grains of an account are of another size than the cap's")
        return Grains(grain, self.grains, min(Fraction(1), self.delta))

    def within(self, cap: Cap) -> bool:
        """Whether no part of `cap` is exceeded; of alternatives, whether there is one that is not."""
        if isinstance(cap, AnyOf):
            return any(self.within(limit) for limit in cap.limits)
        if isinstance(cap, Budget):
            return self.epsilon <= cap.epsilon and self.delta <= cap.delta
        if isinstance(cap, Grains):
            return self.in_grains(cap.grain).within(cap)
        return self.rho is not None and self.rho <= cap.rho and self.slack <= cap.delta

    def roomiest(self, cap: Cap) -> Limit:
        """The cap; of alternatives, the one of which the largest share is left, the first of equals."""
        if not isinstance(cap, AnyOf):
            return cap
        return max(cap.limits, key=self._share_left)

    def _share_left(self, limit: Limit) -> Fraction:
        if not self.within(limit):
            return Fraction(-1)
        return amount(self.left(limit)) / amount(limit) if amount(limit) else Fraction(0)

    def left(self, cap: Limit) -> Limit:
        """What `cap` still allows, never below zero."""
        if isinstance(cap, Budget):
            return Budget(max(_NOTHING, cap.epsilon - self.epsilon), max(_NOTHING, cap.delta - self.delta))
        if isinstance(cap, Grains):
            return cap.minus(self.in_grains(cap.grain))
        rho = Fraction(0) if self.rho is None else max(Fraction(0), cap.rho - self.rho)
        return Zcdp(rho, max(Fraction(0), cap.delta - self.slack))


def to_text(value: Fraction) -> str:
    """`p/q` in lowest terms: the one form in which an amount is stored and hashed."""
    return f"{value.numerator}/{value.denominator}"


def from_text(text: object) -> Fraction:
    """The amount behind `p/q`; anything but that form is a damaged ledger."""
    try:
        above, below = str(text).split("/")
        value = Fraction(int(above), int(below))
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if value < 0 or to_text(value) != text:
        raise LedgerError(
            "the ledger cannot be trusted: an amount in it is malformed", hint="run `tacit ledger verify`"
        )
    return value


def storable(value: Fraction, what: str) -> None:
    """Refuse a number that is too long to be kept exactly."""
    if value.denominator > GRID or value.numerator > _LARGEST:
        raise InvalidParameter(f"{what} has too many digits to be kept exactly", hint="write a shorter number")


def shown(value: Fraction) -> str:
    """For people: exact where that is short, else six digits."""
    text = decimal_text(value)
    return text if len(text) <= 24 else f"about {float(value):.6g}"


def amount(limit: Limit) -> Fraction:
    """The part of a limit that is not delta, in its own currency."""
    if isinstance(limit, Grains):
        return Fraction(limit.count)
    return limit.rho if isinstance(limit, Zcdp) else limit.epsilon


def shown_amounts(amounts: Loss | Limit, *, delta: bool) -> str:
    """For people: what is asked, or left."""
    if isinstance(amounts, Grains):
        text = str(Grains(amounts.grain, amounts.count))
        return f"{text}, δ = {shown(amounts.delta)}" if delta else text
    text = f"ρ = {shown(amounts.rho)}" if isinstance(amounts, Zcdp) else f"ε = {shown(amounts.epsilon)}"
    return f"{text}, δ = {shown(amounts.delta)}" if delta else text
