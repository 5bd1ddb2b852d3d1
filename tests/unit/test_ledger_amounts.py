"""Sums of losses are exact, and where they cannot be, too large."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core import Budget, Loss
from tacit.core.running_sum import GRID, bounded
from tacit.errors import InvalidParameter, LedgerError
from tacit.ledger import BudgetLimits, Charge, Spent, Zcdp
from tacit.ledger.amounts import from_text, to_text
from tacit.ledger.values import dataset_key

amounts = st.fractions(min_value=0, max_value=100)


@pytest.mark.parametrize("parts", [10**4, pytest.param(10**6, marks=pytest.mark.heavy)])
def test_a_million_millionths_are_one(parts: int) -> None:
    spent, loss = Spent(), Loss(Fraction(1, parts))
    for _ in range(parts):
        spent = spent.plus(loss, None)
    assert spent.epsilon == 1


def test_a_millionth_more_than_a_million_millionths_is_too_much() -> None:
    cap, spent = Budget(1), Spent(epsilon=Fraction(999_999, 10**6))
    assert spent.plus(Loss("1e-6"), None).within(cap)
    assert not spent.plus(Loss("1e-6"), None).plus(Loss("1e-6"), None).within(cap)


@given(amounts)
def test_an_amount_survives_being_written_down(value: Fraction) -> None:
    assert from_text(to_text(value)) == value


@pytest.mark.parametrize(
    "text", ["", "1", "1/0", "-1/2", "2/4", "1/2/3", "0.5", "1e3/1", " 1/2", "١/2", None, 7, "x/1"]
)
def test_a_malformed_amount_is_a_damaged_ledger(text: object) -> None:
    with pytest.raises(LedgerError, match="malformed"):
        from_text(text)


@given(st.lists(amounts, max_size=30))
def test_everyday_sums_are_exact(parts: list[Fraction]) -> None:
    spent = Spent()
    for part in parts:
        spent = spent.plus(Loss(part), Zcdp(part, 0))
    assert spent.epsilon == spent.rho == sum(parts)


def test_a_sum_of_unlike_fractions_stays_short_and_is_never_too_small() -> None:
    exact = spent = Fraction(0)
    for number in range(3, 2003, 2):
        part = Fraction(1, number**20)
        exact += part
        spent = bounded(spent + part)
        assert spent >= exact
    assert spent.denominator <= GRID < exact.denominator
    assert spent - exact < Fraction(2000, GRID)


def test_after_rounding_decimals_are_still_added_exactly() -> None:
    rough = bounded(Fraction(1, 3**1000))
    assert bounded(rough + Fraction("0.1")) - rough == Fraction("0.1")


def test_what_is_left_is_never_negative() -> None:
    spent = Spent(Fraction(3), Fraction(1, 10), Fraction(5), Fraction(1, 10))
    assert spent.left(Budget(2)) == Budget(0)
    assert spent.left(Zcdp(2, 0)) == Zcdp(0, 0)


@pytest.mark.parametrize(("rho", "delta"), [(-1, 0), (1, 2), (1, -1)])
def test_zcdp_refuses_what_is_no_loss(rho: int, delta: int) -> None:
    with pytest.raises(InvalidParameter):
        Zcdp(rho, delta)


def test_a_cap_that_promises_nothing_is_refused() -> None:
    for caps in ({"total": Zcdp(1, 1)}, {"analyst": Zcdp(1, 1)}, {"groups": (("g", Zcdp(1, 1)),)}):
        with pytest.raises(InvalidParameter, match="promises nothing"):
            BudgetLimits(**{"total": Budget(1), "analyst": None, "window": None, "groups": ()} | caps)


FIELDS = {
    "dataset": "clinic", "analyst": "ana", "groups": (), "loss": Loss(1), "zcdp": None, "plan_hash": "p",
    "policy_version": "1", "kind": "query",
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"dataset": ""},
        {"analyst": "a\nb"},
        {"analyst": "a\0"},
        {"plan_hash": "\ud800"},
        {"request_id": "x" * 201},
        {"groups": ("",)},
        {"loss": Loss(Fraction(1, GRID + 1))},
        {"loss": Loss(Fraction(GRID**3))},
        {"zcdp": Zcdp(Fraction(1, GRID + 1), 0)},
    ],
)
def test_a_charge_that_could_not_be_kept_is_refused_at_once(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        Charge(**(FIELDS | wrong))


def test_groups_are_a_set_in_order() -> None:
    assert Charge(**(FIELDS | {"groups": ("b", "a", "b")})).groups == ("a", "b")


@pytest.mark.parametrize("name", ["Straße", "STRASSE", "straSSe"])
def test_a_dataset_is_known_by_its_folded_name(name: str) -> None:
    assert dataset_key(name) == "strasse"


def test_of_a_concentrated_budget_nothing_is_left_once_a_charge_without_such_a_price_was_made():
    spent = Spent().plus(Loss("0.1"), Zcdp("0.005")).plus(Loss("0.1"), None)
    assert spent.left(Zcdp(1, "1e-6")) == Zcdp(0, "1e-6")
    assert not spent.within(Zcdp(1, "1e-6"))
