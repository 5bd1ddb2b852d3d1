"""Running totals: what each account has spent, read and raised in the transaction of the charge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from tacit.core import Loss
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.ledger.amounts import Cap, Spent, Zcdp, from_text, shown_amounts, to_text
from tacit.ledger.rows import Connection, Row
from tacit.ledger.values import Balance, Caps, Charge, Line

Scope = Literal["total", "analyst", "group"]
Key = tuple[str, Scope, str]  # dataset, scope, name
Raise = tuple[Key, int | None, Spent]  # account, length of its window, what it will have spent
_AMOUNTS = ("span", "since", "epsilon", "delta", "rho", "slack")
_STORE = (
    "INSERT INTO account VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (dataset, scope, name) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _AMOUNTS)
)


def after(connection: Connection, charge: Charge, *, caps: Caps, at: int) -> list[Raise]:
    """What each account will stand at once the charge is made; refused if a cap does not cover it. Reads only."""
    budgets = dict(caps.groups)
    if missing := [group for group in charge.groups if group not in budgets]:
        raise InvalidParameter(f"the group {missing[0]!r} is charged but has no cap")
    raises: list[Raise] = []
    for key, cap, span in _limits(charge, caps):
        spent = read(connection, key, span=span, at=at)
        risen = spent.plus(charge.loss, charge.zcdp)
        if cap is not None and not charge.is_free and not risen.within(cap):
            raise _exceeded(key, charge, cap=cap, spent=spent)
        raises.append((key, span, risen))
    return raises


def store(connection: Connection, raises: list[Raise], *, at: int) -> None:
    """Write what `after` found."""
    for key, span, risen in raises:
        connection.execute(_STORE, (*key, span, window_start(at, span), *to_columns(risen)))


def read(connection: Connection, key: Key, *, span: int | None, at: int) -> Spent:
    """What the account has spent, of a renewing one: in the window that holds `at`."""
    row = connection.execute("SELECT * FROM account WHERE dataset = ? AND scope = ? AND name = ?", key).fetchone()
    if row is None:
        return Spent()
    since = window_start(at, span)
    if row["span"] == span:
        return from_columns(row) if row["since"] >= since else Spent()
    # The policy's window has changed: count what falls into the new one, from the entries.
    charges = connection.execute(
        "SELECT epsilon, delta, rho, slack FROM entry"
        " WHERE act = 'charge' AND dataset = ? AND analyst = ? AND at >= ? ORDER BY seq",
        (key[0], key[2], since),
    )
    return total(charges)


def balance(connection: Connection, dataset: str, *, caps: Caps, analyst: str, at: int) -> Balance:
    """Every account one analyst's next charge would touch."""
    span = _span(caps)
    return Balance(
        total=Line(read(connection, (dataset, "total", ""), span=None, at=at), caps.total),
        analyst=Line(read(connection, (dataset, "analyst", analyst), span=span, at=at), caps.analyst),
        groups=tuple(
            (name, Line(read(connection, (dataset, "group", name), span=None, at=at), cap)) for name, cap in caps.groups
        ),
    )


def total(rows: Iterable[Row]) -> Spent:
    """The sum of charges, in the order they were made."""
    spent = Spent()
    for row in rows:
        spent = spent.plus(*price(row))
    return spent


def price(row: Row) -> tuple[Loss, Zcdp | None]:
    """What the entry of a charge cost."""
    loss = Loss(from_text(row["epsilon"]), from_text(row["delta"]))
    return loss, None if row["rho"] is None else Zcdp(from_text(row["rho"]), from_text(row["slack"]))


def window_start(at: int, span: int | None) -> int:
    """When the window that holds `at` began; 0 for a budget that never renews. Milliseconds."""
    return 0 if span is None else at - at % span


def to_columns(spent: Spent) -> tuple[str, str, str | None, str]:
    """As stored."""
    rho = None if spent.rho is None else to_text(spent.rho)
    return to_text(spent.epsilon), to_text(spent.delta), rho, to_text(spent.slack)


def from_columns(row: Row) -> Spent:
    """As it was before it was stored."""
    rho = None if row["rho"] is None else from_text(row["rho"])
    return Spent(from_text(row["epsilon"]), from_text(row["delta"]), rho, from_text(row["slack"]))


def _limits(charge: Charge, caps: Caps) -> Iterator[tuple[Key, Cap | None, int | None]]:
    """Every account a charge touches, with its cap and the length of its window. Only an analyst's renews."""
    budgets = dict(caps.groups)
    yield (charge.dataset, "total", ""), caps.total, None
    for group in charge.groups:
        yield (charge.dataset, "group", group), budgets[group], None
    yield (charge.dataset, "analyst", charge.analyst), caps.analyst, _span(caps)


def _span(caps: Caps) -> int | None:
    return None if caps.window is None else caps.window * 1000


def _exceeded(key: Key, charge: Charge, *, cap: Cap, spent: Spent) -> BudgetExceeded:
    dataset, scope, name = key
    whose = {"total": "total budget", "analyst": f"budget of {name!r}", "group": f"budget of the group {name!r}"}[scope]
    asked = charge.zcdp if isinstance(cap, Zcdp) else charge.loss
    if asked is None or (isinstance(cap, Zcdp) and spent.rho is None):
        return BudgetExceeded(
            f"the {whose} for {dataset!r} is counted in zCDP: a charge without a zCDP price cannot be paid from it",
            hint="let the policy account by (ε, δ), or ask with Gaussian noise",
        )
    delta = asked.delta > 0
    left = shown_amounts(spent.left(cap), delta=delta)
    return BudgetExceeded(
        f"the {whose} for {dataset!r} does not cover this question:"
        f" {shown_amounts(asked, delta=delta)} was asked, {left} is left",
        hint="ask for less, reuse an earlier answer, or ask the curator",
    )
