"""Where an analyst stands: what is spent and what is left, of every cap that binds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from html import escape

from tacit.core import Budget, decimal_text
from tacit.ledger import AccountLine, Balance, Cap, Grains, Zcdp
from tacit.ledger.amounts import shown

Amounts = dict[str, str]  # {"epsilon": "0.5", "delta": "0"}, exact; "rho" or "grains" where the policy counts so


@dataclass(frozen=True, slots=True)
class Account:
    """One account: the total, an analyst's or a group's. `cap` and `left` are None where nothing caps it."""

    name: str
    kind: str
    spent: Cap
    cap: Cap | None
    left: Cap | None

    @classmethod
    def of(cls, name: str, kind: str, *, line: AccountLine) -> Account:
        """An account from a line of the ledger's balance, in the currency of its cap."""
        spent: Cap = Budget(line.spent.epsilon, line.spent.delta)
        if isinstance(line.cap, Zcdp):
            spent = Zcdp(line.spent.rho if line.spent.rho is not None else line.cap.rho, line.spent.slack)
        if isinstance(line.cap, Grains):
            spent = line.spent.in_grains(line.cap.grain)
        return cls(name, kind, spent, line.cap, line.left)

    def to_dict(self) -> dict[str, object]:
        """Plain values; amounts are exact, as text."""
        return {
            "spent": plain(self.spent),
            "left": None if self.left is None else plain(self.left),
            "cap": None if self.cap is None else plain(self.cap),
        }

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
    def left(self) -> Cap | None:
        """What can still be spent: the least of every cap."""
        lefts = [account.left for account in self.accounts if account.left is not None]
        if all(isinstance(left, Budget) for left in lefts):
            return Budget(min(epsilon(left) for left in lefts), min(left.delta for left in lefts))
        grained = [left for left in lefts if isinstance(left, Grains)]
        if grained:
            return Grains(grained[0].grain, min(left.count for left in grained), min(left.delta for left in grained))
        return Zcdp(min(epsilon(left) for left in lefts), min(left.delta for left in lefts))

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


def epsilon(amount: Cap) -> Fraction:
    """The part that is not delta."""
    if isinstance(amount, Grains):
        return Fraction(amount.count)
    return amount.rho if isinstance(amount, Zcdp) else amount.epsilon


def plain(amount: Cap) -> Amounts:
    """Exact amounts as text."""
    first = {Zcdp: "rho", Grains: "grains"}.get(type(amount), "epsilon")
    grain = {"grain": decimal_text(amount.grain)} if isinstance(amount, Grains) else {}
    return {first: decimal_text(epsilon(amount)), **grain, "delta": decimal_text(amount.delta)}


def _shown(amount: Cap | None) -> str:
    if amount is None:
        return ""
    first = f"{'ρ' if isinstance(amount, Zcdp) else 'ε'} = {shown(epsilon(amount))}"
    if isinstance(amount, Grains):
        first = f"{amount.count:,} grain{'' if amount.count == 1 else 's'}"
    return first if amount.delta == 0 else f"{first}, δ = {shown(amount.delta)}"
