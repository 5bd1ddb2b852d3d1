"""The vocabulary: losses, budgets, bounds, units, neighbours, events."""

from __future__ import annotations

import dataclasses
import pickle
from fractions import Fraction

import pytest

from tacit import core
from tacit.core import (
    NOTHING,
    Adjacency,
    ApproximateEvent,
    Bounds,
    Budget,
    ComposedEvent,
    GaussianEvent,
    LaplaceEvent,
    Loss,
    PrivacyUnit,
    PureEvent,
    SampledEvent,
)
from tacit.errors import InvalidParameter

VALUES = [
    Loss("0.1", "1e-6"),
    Budget(1, "1e-6"),
    Bounds(0, 10, step="0.5"),
    PrivacyUnit("patient", Adjacency.REPLACE),
    PureEvent(Fraction(1)),
    LaplaceEvent(Fraction(1, 2)),
    GaussianEvent(Fraction(1, 8)),
    ApproximateEvent(Loss(1, "1e-9")),
    SampledEvent(Fraction(1, 10), PureEvent(Fraction(1))),
    ComposedEvent(((PureEvent(Fraction(1)), 3),)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_cannot_be_changed(value: object) -> None:
    field = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, None)
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_equals_its_copy(value: object) -> None:
    arrived = pickle.loads(pickle.dumps(value))
    assert arrived == value
    assert hash(arrived) == hash(value)


def test_losses_add_exactly() -> None:
    assert sum([Loss(0.1)] * 10, NOTHING) == Loss(1)
    assert 10 * Loss("0.1", "1e-7") == Loss(1, "1e-6")
    assert Loss("1/3") + Loss("1/6", "1e-9") == Loss("1/2", "1e-9")


def test_a_delta_never_exceeds_one() -> None:
    assert (Loss(1, "0.7") + Loss(1, "0.7")).delta == 1
    assert (Loss(1, "0.7") * 5).delta == 1


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(-1, 0), ("-1e-9", 0), (1, -1), (1, "1.0001"), ("nan", 0), (1, float("inf"))]
)
def test_a_loss_that_means_nothing_is_refused(epsilon: object, delta: object) -> None:
    with pytest.raises(InvalidParameter):
        Loss(epsilon, delta)


def test_a_million_millionths_fit_and_one_more_does_not() -> None:
    budget = Budget(1)
    assert budget.covers(Loss("1e-6") * 10**6)
    assert not budget.covers(Loss("1e-6") * (10**6 + 1))


@pytest.mark.parametrize(
    ("loss", "fits"), [(Loss(1), True), (Loss(1, "1e-6"), True), (Loss(0, "1.1e-6"), False), (Loss("1.0000001"), False)]
)
def test_a_budget_covers_a_loss_in_both_parts(loss: Loss, fits: bool) -> None:
    assert Budget(1, "1e-6").covers(loss) is fits


def test_what_is_left_is_never_below_zero() -> None:
    assert Budget(1, "1e-6").minus(Loss("0.25")) == Budget("0.75", "1e-6")
    assert Budget(1, "1e-6").minus(Loss(2, "1e-3")) == Budget(0)


def test_a_budget_whose_delta_is_one_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="promises nothing"):
        Budget(1, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Loss("0.1"), "ε = 0.1"),
        (Loss("1/3", "1e-9"), "ε = 1/3, δ = 1e-9"),
        (Budget(3), "ε = 3"),
        (Bounds(0, 10, step="0.5"), "[0, 10] by 0.5"),
        (Adjacency.ADD_REMOVE, "add/remove"),
        (PrivacyUnit(), "one row (add/remove)"),
        (PrivacyUnit("patient", Adjacency.REPLACE), "one patient (replace)"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, text: str) -> None:
    assert str(value) == text


def test_replacing_a_row_is_two_steps() -> None:
    assert (Adjacency.ADD_REMOVE.steps, Adjacency.REPLACE.steps) == (1, 2)


@pytest.mark.parametrize(
    ("bounds", "added", "replaced"),
    [
        (Bounds(0, 10), 10, 10),
        (Bounds(-5, 1000), 1000, 1005),
        (Bounds(-10, -4), 10, 6),
        (Bounds(35, 48), 48, 13),
        (Bounds(-1, 1, step="0.01"), 100, 200),
        (Bounds("1/3", "2/3", step="1/3"), 2, 1),
    ],
)
def test_a_row_moves_a_sum_by_its_magnitude_or_by_the_width(bounds: Bounds, added: int, replaced: int) -> None:
    assert bounds.row_sensitivity(Adjacency.ADD_REMOVE) == added == bounds.magnitude
    assert bounds.row_sensitivity(Adjacency.REPLACE) == replaced
    values = range(bounds.lower_units, bounds.upper_units + 1)
    assert len(values) == bounds.cells
    assert max(abs(value) for value in values) == added
    assert max(values) - min(values) == replaced


@pytest.mark.parametrize(
    ("lower", "upper", "step", "why"),
    [
        (1, 1, 1, "empty or inverted"),
        (2, 1, 1, "empty or inverted"),
        (0, 1, 0, "greater than zero"),
        (0, 1, -1, "greater than zero"),
        (0, 1, "0.3", "not on the grid"),
        ("0.5", 2, 1, "not on the grid"),
        (float("nan"), 1, 1, "not finite"),
        (0, float("inf"), 1, "not finite"),
    ],
)
def test_bounds_that_mean_nothing_are_refused(lower: object, upper: object, step: object, why: str) -> None:
    with pytest.raises(InvalidParameter, match=why):
        Bounds(lower, upper, step=step)


@pytest.mark.parametrize("kind", [PureEvent, LaplaceEvent, GaussianEvent])
def test_an_event_of_negative_cost_is_refused(kind: type) -> None:
    with pytest.raises(InvalidParameter, match="must not be negative"):
        kind(Fraction(-1, 10**9))


@pytest.mark.parametrize("chance", [Fraction(0), Fraction(-1), Fraction(11, 10)])
def test_a_sample_of_nobody_or_of_more_than_all_is_refused(chance: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="sampling probability"):
        SampledEvent(chance, PureEvent(Fraction(1)))


def test_an_event_that_never_happened_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="at least once"):
        ComposedEvent(((PureEvent(Fraction(1)), 1), (PureEvent(Fraction(2)), 0)))


def test_a_unit_without_a_column_is_the_row() -> None:
    assert PrivacyUnit().is_row
    assert not PrivacyUnit("patient").is_row


def test_public_names_are_listed_and_exist() -> None:
    assert sorted(core.__all__) == sorted(set(core.__all__))
    assert all(hasattr(core, name) for name in core.__all__)
