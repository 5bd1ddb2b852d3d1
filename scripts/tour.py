"""A short tour of the mechanisms: what each releases, what that costs, how far off it is."""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np

from tacit.accounting import PureFilter, compose_basic, compose_optimal, posterior
from tacit.core import Adjacency, Bounds, Budget, Loss, sqrt_above
from tacit.errors import BudgetExceeded, InvalidParameter
from tacit.mechanisms import (
    AboveThreshold,
    Gaussian,
    GradualRelease,
    Laplace,
    PermuteAndFlip,
    RandomisedResponse,
)

ADDED = Adjacency.ADD_REMOVE
SICK = 412
BY_AGE = [31, 44, 58, 87, 102, 90]
PAY = Bounds(0, 5000, step="0.01")


def main() -> int:
    """Walk through the rooms that exist."""
    print("A village doctor keeps a register. Everything below is invented, and everything released is private.")
    _a_count()
    _a_sum()
    _many_counts()
    _a_choice()
    _an_alarm()
    _without_a_curator()
    _more_and_more_precisely()
    _a_budget()
    _together()
    _refusals()
    return 0


def _heading(title: str) -> None:
    print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}")


def _a_count() -> None:
    _heading("How many patients were ill? (Laplace)")
    for epsilon in ("0.1", "1"):
        mechanism = Laplace.costing(Loss(epsilon), 1)
        answer, reach = mechanism.release(SICK)[0], mechanism.error("0.95")
        print(f"  {answer}, give or take {reach} with 95 % confidence, for {mechanism.loss(1)}")
    print(f"  (the register says {SICK}; you would never see this line)")


def _a_sum() -> None:
    _heading("What did treatment cost altogether? (Laplace, counted in cents)")
    moves = PAY.row_sensitivity(ADDED)
    mechanism = Laplace.costing(Loss(1), moves)
    answer = mechanism.release([123_456_789])[0] * PAY.step
    reach = mechanism.error("0.95") * PAY.step
    print(f"  {float(answer):,.2f}, give or take {float(reach):,.2f}, for {mechanism.loss(moves)}; bounds {PAY}")


def _many_counts() -> None:
    _heading("How many came in each week of the year, if a patient may come every week? (Gaussian)")
    loss, weeks = Loss(1, "1e-9"), [400 + 10 * (week % 13) for week in range(52)]
    gaussian = Gaussian.costing(loss, sensitivity=sqrt_above(Fraction(52)))
    laplace = Laplace.costing(Loss(1), sensitivity=52)
    print(f"  {', '.join(map(str, gaussian.release(weeks)[:6]))}, …, for {loss}")
    print(f"  each within {gaussian.error('0.95')}; Laplace noise, without δ, would be within {laplace.error('0.95')}")


def _a_choice() -> None:
    _heading("Which age group is largest? (permute-and-flip)")
    mechanism = PermuteAndFlip.costing(Loss(1), 1, adjacency=ADDED, monotone=True)
    chosen, reach = mechanism.release(np.array(BY_AGE)), mechanism.error("0.95", candidates=len(BY_AGE))
    print(f"  group {chosen}, at most {reach} patients from the largest, for {mechanism.loss(1)}")


def _an_alarm() -> None:
    _heading("On which day did more than 40 fall ill? (sparse vector)")
    mechanism = AboveThreshold.costing(Loss(1), 1, threshold=40, hits=1, adjacency=ADDED, monotone=True)
    run, days = mechanism.start(), [3, 5, 2, 0, 4, 95, 80]
    day = next((number for number, ill in enumerate(days) if run.ask(ill)), None)
    print(f"  day {day}, for {mechanism.loss(1)} however many days are asked about")


def _without_a_curator() -> None:
    _heading("Who drinks? (randomised response: not even the doctor learns)")
    coins = RandomisedResponse.two_coin()
    truth = np.repeat([1, 0], [300, 700])
    yes = int(coins.release(truth).sum())
    estimate, reach = coins.estimate(yes, respondents=truth.size), coins.error("0.95", respondents=truth.size)
    cost = float(coins.loss(1).epsilon)
    print(f"  {yes} of {truth.size} said yes, so about {float(estimate):.0f} do, give or take {reach:.0f}")
    print(f"  each of them paid ε = {cost:.3f}, and can still say that it was the coin")


def _more_and_more_precisely() -> None:
    _heading("The first answer again, until it is good enough (gradual release)")
    mechanism = GradualRelease.costing([Loss("0.05"), Loss("0.2"), Loss(1)], 1)
    run = mechanism.start(SICK, sensitivity=1)
    for telling in range(1, 4):
        answer = run.reveal()[0]
        print(f"  {answer}, within {mechanism.error('0.95', tellings=telling)}; {run.spent} so far, not the sum")


def _a_budget() -> None:
    _heading("A budget that says no")
    purse, event = PureFilter(Budget(1)), Laplace.costing(Loss("0.1"), 1).event(1)
    answers = 0
    try:
        while True:
            purse = purse.charge(event)
            answers += 1
    except BudgetExceeded as refusal:
        print(f"  {answers} answers at ε = 0.1 fit into {purse.budget}, exactly; then:")
        print("  " + refusal.explain().replace("\n", "\n  "))


def _together() -> None:
    _heading("What a hundred answers at ε = 0.1 cost together")
    each = Loss("0.1")
    best = compose_optimal(each, 100, slack="1e-6")
    print(f"  {compose_basic([each] * 100)}; or ε = {float(best.epsilon):.2f} at δ = 1e-6")
    after = posterior("1/2", "0.1", answers=10)
    print(f"  ten of them can move a belief of 50% to between {float(after.low):.0%} and {float(after.high):.0%}")


def _refusals() -> None:
    _heading("What is refused")
    for scale in ("0", "nan", "1e400"):
        try:
            Laplace(scale)
        except InvalidParameter as refusal:
            print(f"  {refusal.message}")


if __name__ == "__main__":
    sys.exit(main())
