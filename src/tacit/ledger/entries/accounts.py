"""Running totals: what each account has spent, read and raised in the transaction of the charge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from tacit.accounting import grains_for
from tacit.core import AnyOf, Grains, Loss, Zcdp
from tacit.errors import BudgetExceeded, InvalidParameter, LedgerError
from tacit.ledger.amounts import Cap, Spent, from_text, shown_amounts, to_text
from tacit.ledger.entries.chain import Field
from tacit.ledger.entries.links import ADVICE, Head, first_at, head, stretch
from tacit.ledger.entries.rows import Connection, Row
from tacit.ledger.entries.totals import COLUMNS, Name, Totals
from tacit.ledger.values import AccountLine, Balance, BudgetLimits, Charge

Scope = Literal["total", "analyst", "group"]
Key = tuple[str, Scope, str]  # dataset, scope, name
Changes = dict[Name, tuple[Field, ...]]  # accounts as they will be stored
_AMOUNTS = ("span", "since", "epsilon", "delta", "rho", "slack", "grain", "grains")
_STORE = (
    f"INSERT INTO account ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
    " ON CONFLICT (dataset, scope, name) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in _AMOUNTS)
)


@dataclass(frozen=True, slots=True)
class View:
    """The accounts at one moment: the newest entry, what it seals, and the time as the ledger counts it."""

    connection: Connection
    head: Head
    totals: Totals
    at: int

    @classmethod
    def of(cls, connection: Connection, totals: Totals, *, now: int) -> View:
        """The accounts as they stand; refused where they are not those that the newest entry seals."""
        newest = head(connection)
        return cls(connection, newest, totals.at(connection, newest), max(now, newest.at))


@dataclass(frozen=True, slots=True)
class Risen:
    """The accounts that a charge touches, as it will leave them: as they are stored, and what that says."""

    changes: Changes
    spent: Mapping[Name, Spent]
    balance: Balance | None  # None where the charge leaves a group alone that has a cap


def after(view: View, charge: Charge, *, caps: BudgetLimits) -> Risen:
    """What each account will stand at once the charge is made; refused if a cap does not cover it. Reads only."""
    budgets = dict(caps.groups)
    if missing := [group for group in charge.groups if group not in budgets]:
        raise InvalidParameter(f"the group {missing[0]!r} is charged but has no cap")
    changes: Changes = {}
    amounts: dict[Name, Spent] = {}
    lines: dict[tuple[Scope, str], AccountLine] = {}
    for key, cap, span in _limits(charge, caps):
        spent = read(view, key, span=span, cap=cap)
        risen = spent.plus(charge.loss, charge.zcdp)
        if cap is not None and not charge.is_free and not risen.within(cap):
            raise _exceeded(key, charge, cap=cap, spent=spent)
        changes[key] = (*key, span, window_start(view.at, span), *to_columns(risen), *grain_columns(risen))
        amounts[key] = risen
        lines[key[1:]] = AccountLine(risen, cap)
    return Risen(changes, amounts, _as_balance(lines, charge, caps))


def _as_balance(lines: Mapping[tuple[Scope, str], AccountLine], charge: Charge, caps: BudgetLimits) -> Balance | None:
    if {name for name, _ in caps.groups} - set(charge.groups):
        return None
    return Balance(
        total=lines["total", ""],
        analyst=lines["analyst", charge.analyst],
        groups=tuple((name, lines["group", name]) for name, _ in caps.groups),
    )


def store(connection: Connection, changes: Changes) -> None:
    """Write the accounts that a charge changes, as `after` worked them out."""
    for account in changes.values():
        connection.execute(_STORE, account)


def read(view: View, key: Key, *, span: int | None, cap: Cap | None = None) -> Spent:
    """What an account has spent, of a renewing one in the window that holds the view's time; in grains if `cap` is."""
    grain = _counted_in(cap)
    spent = _stored(view, key, span=span, grain=grain)
    if spent.grain == grain:
        return spent
    if grain is None:
        return replace(spent, grain=None, grains=0)  # no cap counts them any more
    since = window_start(view.at, span)
    in_grains = view.totals.grains.spent(view.connection, view.head, key, grain=grain, since=since)
    return replace(spent, grain=grain, grains=in_grains)


def _counted_in(cap: Cap | None) -> Fraction | None:
    """The size of the grains in which a cap, or one of its alternatives, counts; None where none does."""
    limits = cap.limits if isinstance(cap, AnyOf) else (cap,)
    return next((limit.grain for limit in limits if isinstance(limit, Grains)), None)


def _stored(view: View, key: Key, *, span: int | None, grain: Fraction | None) -> Spent:
    """What the account says; in grains of another size, or of none, where it was not counted in these."""
    row = view.connection.execute("SELECT * FROM account WHERE dataset = ? AND scope = ? AND name = ?", key).fetchone()
    known = view.totals.check(key, row)
    since = window_start(view.at, span)
    if row is None or (row["span"] == span and row["since"] < since):
        return Spent(grain=grain)
    if row["span"] != span:
        return _recounted(view, key, since=since, grain=grain)
    return from_columns(row) if known is None else known


def _recounted(view: View, key: Key, *, since: int, grain: Fraction | None) -> Spent:
    """The policy's window has changed: count what falls into the new one, from the entries, every link checked.

    The stretch begins one entry before the window, so that what the seals say of its time proves that none is left out.
    """
    start = first_at(view.connection, since, end=view.head.seq)
    spent, first = Spent(grain=grain), True
    for row in stretch(view.connection, since=max(0, start - 1)):
        if first and row["seq"] > 0 and row["at"] >= since:
            raise LedgerError("the ledger cannot be trusted: its times are out of order", hint=ADVICE)
        first = False
        if row["act"] == "charge" and (row["dataset"], row["analyst"]) == (key[0], key[2]) and row["at"] >= since:
            spent = spent.plus(*price(row))
    return spent


def balance(view: View, dataset: str, *, caps: BudgetLimits, analyst: str) -> Balance:
    """Every account one analyst's next charge would touch."""
    return Balance(
        total=AccountLine(read(view, (dataset, "total", ""), span=None, cap=caps.total), caps.total),
        analyst=AccountLine(
            read(view, (dataset, "analyst", analyst), span=_span(caps), cap=caps.analyst), caps.analyst
        ),
        groups=tuple(
            (name, AccountLine(read(view, (dataset, "group", name), span=None, cap=cap), cap))
            for name, cap in caps.groups
        ),
    )


def price(row: Row) -> tuple[Loss, Zcdp | None]:
    """What the entry of a charge cost."""
    loss = Loss(from_text(row["epsilon"]), from_text(row["delta"]))
    return loss, None if row["rho"] is None else Zcdp(from_text(row["rho"]), from_text(row["slack"]))


def window_start(at: int, span: int | None) -> int:
    """When the window that holds `at` began; 0 for a budget that never renews. Milliseconds."""
    return 0 if span is None else at - at % span


def to_columns(spent: Spent) -> tuple[str, str, str | None, str]:
    """Epsilon, delta, rho and slack as exact texts, as a row of accounts has them."""
    rho = None if spent.rho is None else to_text(spent.rho)
    return to_text(spent.epsilon), to_text(spent.delta), rho, to_text(spent.slack)


def grain_columns(spent: Spent) -> tuple[str | None, int | None]:
    """What was spent in grains, as a row of accounts has it: the size of one as text, and how many."""
    return (None, None) if spent.grain is None else (to_text(spent.grain), spent.grains)


def from_columns(row: Row) -> Spent:
    """What a row of accounts says was spent."""
    rho = None if row["rho"] is None else from_text(row["rho"])
    grain = grain_of(row)
    grains = 0 if grain is None else int(row["grains"])
    return Spent(from_text(row["epsilon"]), from_text(row["delta"]), rho, from_text(row["slack"]), grain, grains)


def grain_of(row: Row) -> Fraction | None:
    """The size of the grains that an account is counted in; the first format counted none."""
    return None if "grain" not in row.keys() or row["grain"] is None else from_text(row["grain"])  # noqa: SIM118


def _limits(charge: Charge, caps: BudgetLimits) -> Iterator[tuple[Key, Cap | None, int | None]]:
    """Every account a charge touches, with its cap and the length of its window. Only an analyst's renews."""
    budgets = dict(caps.groups)
    yield (charge.dataset, "total", ""), caps.total, None
    for group in charge.groups:
        yield (charge.dataset, "group", group), budgets[group], None
    yield (charge.dataset, "analyst", charge.analyst), caps.analyst, _span(caps)


def _span(caps: BudgetLimits) -> int | None:
    return None if caps.window is None else caps.window * 1000


def _exceeded(key: Key, charge: Charge, *, cap: Cap, spent: Spent) -> BudgetExceeded:
    dataset, scope, name = key
    whose = {"total": "total budget", "analyst": f"budget of {name!r}", "group": f"budget of the group {name!r}"}[scope]
    limit = spent.roomiest(cap)
    asked: Loss | Zcdp | Grains | None = charge.zcdp if isinstance(limit, Zcdp) else charge.loss
    if isinstance(limit, Grains):
        asked = grains_for(charge.loss, limit.grain, rho=None if charge.zcdp is None else charge.zcdp.rho)
    if asked is None or (isinstance(limit, Zcdp) and spent.rho is None):
        return BudgetExceeded(
            f"the {whose} for {dataset!r} is counted in zCDP: a charge without a zCDP price cannot be paid from it",
            hint="let the policy account by (ε, δ), or ask with Gaussian noise",
        )
    delta = asked.delta > 0
    left = shown_amounts(spent.left(limit), delta=delta)
    return BudgetExceeded(
        f"the {whose} for {dataset!r} does not cover this question:"
        f" {shown_amounts(asked, delta=delta)} was asked, {left} is left",
        hint="ask for less, reuse an earlier answer, or ask the curator",
    )
