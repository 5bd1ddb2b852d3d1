"""A budget as it burns down: what was left after each charge, over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction

from tacit.accounting import grains_for
from tacit.core import Limit, Loss
from tacit.faces.budget_status import Account
from tacit.faces.server.console.figures import AxisMark, round_marks
from tacit.ledger import Entry, Grains, Zcdp
from tacit.ledger.amounts import amount

_LEAST = 10.0  # seconds that the axis spans at least
_MARKS = 4
_UNITS = {Zcdp: "ρ", Grains: "grains"}


@dataclass(frozen=True, slots=True)
class BurnDown:
    """A falling staircase in a box of 100 by 100, with its marks."""

    line: str
    area: str
    across: tuple[AxisMark, ...]
    up: tuple[AxisMark, ...]
    end: tuple[float, float]
    unit: str


def burn_down(entries: Sequence[Entry], account: Account, *, now: float) -> BurnDown | None:
    """The staircase that ends now, at what is spent; None where nothing was ever charged, or nothing caps it.

    It is counted as the account is: in ε, in ρ, or in grains. What is not among the entries, because they are too old,
    was spent before the first of them.
    """
    if account.cap is None:
        return None
    cap, spent = amount(account.cap), amount(account.spent)
    charges = sorted((e.at, price) for e in entries if e.act == "charge" and (price := _price(e, account.cap)))
    if not charges or cap <= 0:
        return None
    first, last = charges[0][0], max(charges[-1][0], now)
    span = max(last - first, _LEAST) * 1.05
    begin = last - span
    left = float(1 - (spent - sum(price for _, price in charges)) / cap)
    steps = [(0.0, left)]
    for at, price in charges:
        x = (at - begin) / span
        steps.append((x, left))
        left -= float(price / cap)
        steps.append((x, left))
    steps.append((1.0, left))
    line = " ".join(f"{100 * x:.3f},{100 * (1 - min(max(y, 0.0), 1.0)):.3f}" for x, y in steps)
    marks = tuple(AxisMark(1 - mark / float(cap), f"{mark:,.6g}") for mark in round_marks(0.0, float(cap)))
    end = (1.0, 1 - min(max(left, 0.0), 1.0))
    return BurnDown(line, f"0,100 {line} 100,100", _times(begin, span), marks, end, _UNITS.get(type(account.cap), "ε"))


def _price(entry: Entry, cap: Limit) -> Fraction:
    """What a charge took off an account with this cap."""
    if isinstance(cap, Zcdp):
        return entry.rho or Fraction(0)
    if isinstance(cap, Grains):
        loss = Loss(entry.epsilon or 0, entry.delta or 0)
        return Fraction(grains_for(loss, cap.grain, rho=entry.rho).count)
    return entry.epsilon or Fraction(0)


def _times(begin: float, span: float) -> tuple[AxisMark, ...]:
    """A few moments, as long or as short as they differ."""
    form = "%Y-%m-%d" if span > 4 * 86_400 else "%d %b %H:%M" if span > 43_200 else "%H:%M"
    if span < 600:
        form = "%H:%M:%S"
    shares = [(2 * mark + 1) / (2 * _MARKS) for mark in range(_MARKS)]
    return tuple(AxisMark(at, datetime.fromtimestamp(begin + at * span, UTC).strftime(form)) for at in shares)
