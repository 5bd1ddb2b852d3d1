"""One of the processes that race for the last of a budget: several clients, each asking until it is refused.

usage: ledger_race.py LEDGER CLIENTS EPSILON (ledger|look-then-leap)

Says "ready", waits for a line, races, and says how many answers it released. The twin that looks before it leaps reads
the balance in one transaction and charges in another, as a budget check in a client would.
"""

from __future__ import annotations

import sys
import threading

from tacit.core import Budget, Loss
from tacit.errors import BudgetExceeded
from tacit.ledger import Answer, BudgetLimits, Charge, Reservation, SqliteLedger

BUDGET = 1
CAPS = BudgetLimits(total=Budget(BUDGET), analyst=None, window=None, groups=())
NO_LIMIT = BudgetLimits(total=Budget(10**6), analyst=None, window=None, groups=())


def client(ledger: SqliteLedger, charge: Charge, *, twin: str, released: list[int]) -> None:
    while True:
        try:
            if twin == "look-then-leap":
                left = ledger.balance(charge.dataset, CAPS, analyst=charge.analyst).total.left
                if left is None or left.epsilon < charge.loss.epsilon:
                    return
                made = ledger.reserve(charge, NO_LIMIT)
            else:
                made = ledger.reserve(charge, CAPS)
        except BudgetExceeded:
            return
        assert isinstance(made, Reservation)
        released.append(made.seq)
        ledger.settle(made, [Answer(b"about 42")])


def main() -> None:
    path, clients, epsilon, twin = sys.argv[1:]
    released: list[int] = []
    with SqliteLedger(path, create=True) as ledger:
        charges = [
            Charge(
                dataset="clinic", analyst=f"analyst {number}", groups=(), loss=Loss(epsilon), zcdp=None,
                plan_hash="plan", policy_version="1", kind="query",
            )
            for number in range(int(clients))
        ]  # fmt: skip
        threads = [
            threading.Thread(target=client, args=(ledger, charge), kwargs={"twin": twin, "released": released})
            for charge in charges
        ]
        print("ready", flush=True)
        sys.stdin.readline()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(len(released), flush=True)


if __name__ == "__main__":
    main()
