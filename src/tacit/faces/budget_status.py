"""Where an analyst stands: what is spent and what is left, of every cap that binds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape

from tacit.core import Budget, Limit, decimal_text
from tacit.ledger import AccountLine, Balance, Grains, Zcdp
from tacit.ledger.amounts import amount, shown

Amounts = dict[str, str]  # {"epsilon": "0.5", "delta": "0"}, exact; "rho" or "grains" where the policy counts so


@dataclass(frozen=True, slots=True)
class Account:
    """One account: the total, an analyst's or a group's. `cap` and `left` are None where nothing caps it.

    Of a cap in several currencies it shows the one of which the largest share is left.
    """

    name: str
    kind: str
    spent: Limit
    cap: Limit | None
    left: Limit | None

    @classmethod
    def of(cls, name: str, kind: str, *, line: AccountLine) -> Account:
        """An account from a line of the ledger's balance, in the currency of its cap."""
        spent: Limit = Budget(line.spent.epsilon, line.spent.delta)
        if isinstance(line.limit, Zcdp):
            spent = Zcdp(line.spent.rho if line.spent.rho is not None else line.limit.rho, line.spent.slack)
        if isinstance(line.limit, Grains):
            spent = line.spent.in_grains(line.limit.grain)
        return cls(name, kind, spent, line.limit, line.left)

    def to_dict(self) -> dict[str, object]:
        """Plain values; amounts are exact, as text."""
        return {
            "spent": plain(self.spent),
            "left": None if self.left is None else plain(self.left),
            "cap": None if self.cap is None else plain(self.cap),
        }

    def share_left(self) -> Fraction:
        """How much of its cap is left, between 0 and 1; all where nothing caps it."""
        if self.cap is None or self.left is None:
            return Fraction(1)
        return amount(self.left) / amount(self.cap) if amount(self.cap) else Fraction(0)

    def row(self) -> tuple[str, str, str, str]:
        """Whose, spent, left, of: as a person reads them."""
        whose = self.name if self.kind == "total" else f"{self.kind} {self.name}"
        rest = [_shown(self.left), _shown(self.cap)] if self.cap is not None else ["no cap of its own", ""]
        return whose, _shown(self.spent), rest[0], rest[1]


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """The accounts that a question of one analyst touches; or, for the curator, all of them."""

    dataset: str
    total: Account
    analysts: tuple[Account, ...]
    groups: tuple[Account, ...]

    @property
    def accounts(self) -> tuple[Account, ...]:
        """All of them, the total first."""
        return (self.total, *self.analysts, *self.groups)

    @property
    def left(self) -> Limit | None:
        """What can still be spent: the least of every cap, where they count alike; else the account with least left."""
        limited = [account for account in self.accounts if account.left is not None]
        lefts = [account.left for account in limited if account.left is not None]
        if len({type(left) for left in lefts}) > 1:
            return min(limited, key=Account.share_left).left
        delta = min((left.delta for left in lefts), default=Fraction(0))
        match min(lefts, key=amount, default=None):
            case Grains(grain, count):
                return Grains(grain, count, delta)
            case Zcdp(rho):
                return Zcdp(rho, delta)
            case Budget(epsilon):
                return Budget(epsilon, delta)
        return None

    def to_dict(self) -> dict[str, object]:
        """Plain values, as `tacit budget --format json` prints them."""
        return {
            "dataset": self.dataset,
            "total": self.total.to_dict(),
            "analysts": {account.name: account.to_dict() for account in self.analysts},
            "groups": {account.name: account.to_dict() for account in self.groups},
        }

    def __str__(self) -> str:
        rows = [("budget", "spent", "left", "of"), *(account.row() for account in self.accounts)]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("budget", "spent", "left", "of"))
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in account.row()) + "</tr>"
            for account in self.accounts
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def budget_status(dataset: str, balances: dict[str, Balance]) -> BudgetStatus:
    """From the balances of one analyst or several, by name; each holds the same total."""
    first = next(iter(balances.values()))
    groups = {name: line for balance in balances.values() for name, line in balance.groups}
    return BudgetStatus(
        dataset,
        Account.of("total", "total", line=first.total),
        tuple(Account.of(name, "analyst", line=balance.analyst) for name, balance in balances.items()),
        tuple(Account.of(name, "group", line=line) for name, line in groups.items()),
    )


def plain(limit: Limit) -> Amounts:
    """Exact amounts as text."""
    first = {Zcdp: "rho", Grains: "grains"}.get(type(limit), "epsilon")
    grain = {"grain": decimal_text(limit.grain)} if isinstance(limit, Grains) else {}
    return {first: decimal_text(amount(limit)), **grain, "delta": decimal_text(limit.delta)}


def _shown(limit: Limit | None) -> str:
    if limit is None:
        return ""
    first = f"{'ρ' if isinstance(limit, Zcdp) else 'ε'} = {shown(amount(limit))}"
    if isinstance(limit, Grains):
        first = f"{limit.count:,} grain{'' if limit.count == 1 else 's'}"
    return first if limit.delta == 0 else f"{first}, δ = {shown(limit.delta)}"
