"""Exact columns in, noisy columns out: which groups, in which order, and what a threshold lets through."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction

import numpy as np
import pytest

from conformance.sql_clinic import clinic, row_clinic
from conformance.sql_noiseless import switch_off
from conformance.sql_world import policy_of, world
from support.sources import Seeded
from tacit.curator.measuring.measure import measure
from tacit.curator.measuring.noisy import Noisy, NoisyColumn
from tacit.engines import Exact
from tacit.policy import ColumnPolicy, TablePolicy

PRIVATE = "DP-SELECT 1 DELTA 1e-6 city, COUNT(*) FROM visits GROUP BY city"


def exact(keys, counts, column="m0"):
    return Exact({"k0": keys, column: np.array(counts, dtype=np.int64)})


@pytest.fixture
def noiseless(monkeypatch):
    switch_off(monkeypatch)


@pytest.mark.usefixtures("noiseless")
def test_a_key_at_the_threshold_is_shown_and_one_below_it_is_not():
    made = row_clinic().plan(PRIVATE)
    edge = made.selection.threshold
    noisy = measure(made, [exact(["a", "b", "c"], [edge - 1, edge, edge + 1])], public={}, source=Seeded(1))
    assert noisy.keys == (("b",), ("c",))
    assert noisy.columns[0].numbers.tolist() == [edge, edge + 1]
    assert noisy.private_keys


@pytest.mark.usefixtures("noiseless")
@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a", "ß", "ss", "é", "B", "", " "],
        [3, 1, None, 2**53 + 1, 2**53, -5],
        [Fraction(1, 3), 0.25, None, math.nan, math.inf, -math.inf, 1],
        [date(2024, 1, 2), date(2024, 1, 1), None, "infinity", "0044-03-15 (BC)"],
        [True, False, None],
        [datetime.fromisoformat("2024-01-01T00:00:01"), datetime.fromisoformat("2024-01-01T00:00:00"), "294247-01-10"],
    ],
    ids=["text", "integers", "numbers", "dates", "booleans", "timestamps"],
)
def test_private_keys_come_in_one_order_whatever_order_the_engine_has(keys):
    """The engine's order tells whose row came first, and how many there are."""
    made = row_clinic().plan(PRIVATE)
    orders = set()
    for shuffled in itertools.islice(itertools.permutations(keys), 200):
        noisy = measure(made, [exact(list(shuffled), [10**6] * len(keys))], public={}, source=Seeded(1))
        orders.add(repr(noisy.keys))
    assert len(orders) == 1


@pytest.mark.usefixtures("noiseless")
def test_keys_of_two_columns_are_ordered_by_the_first_then_the_second():
    made = row_clinic().plan("DP-SELECT 1 DELTA 1e-6 city, weight, COUNT(*) FROM visits GROUP BY 1, 2")
    result = Exact({"k0": ["b", "a", "b", "a"], "k1": [2, None, 1, 3], "m0": np.full(4, 10**6)})
    noisy = measure(made, [result], public={}, source=Seeded(1))
    assert noisy.keys == (("a", None), ("a", 3), ("b", 1), ("b", 2))


@pytest.mark.usefixtures("noiseless")
def test_public_groups_are_all_there_and_others_never_are():
    made = row_clinic().plan("DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept")
    noisy = measure(made, [exact(["Bio", "Zoo", None], [7, 9, 11])], public={}, source=Seeded(1))
    assert noisy.keys == (("CS",), ("Econ",), ("Bio",))
    assert noisy.columns[0].numbers.tolist() == [0, 0, 7]


def test_an_empty_group_gets_noise_like_any_other():
    made = row_clinic().plan("DP-SELECT 1 dept, COUNT(*) FROM visits GROUP BY dept")
    seen = {int(measure(made, [exact([], [])], public={}, source=Seeded(s)).columns[0].numbers[0]) for s in range(40)}
    assert len(seen) > 3


@pytest.mark.usefixtures("noiseless")
def test_private_keys_missing_from_a_second_result_count_zero_there():
    made = clinic().plan("DP-SELECT 1 DELTA 1e-6 city, COUNT(DISTINCT dept) FROM visits GROUP BY city")
    units = made.measurements[made.selection.measurement]
    first = exact(["a", "b"], [10**6, 10**6], column=units.column)
    second = exact(["b", "ghost"], [3, 99], column=made.measurements[0].column)
    results = [first, second] if units.statement == 0 else [second, first]
    noisy = measure(made, results, public={}, source=Seeded(1))
    assert noisy.keys == (("a",), ("b",))
    assert noisy.columns[0].numbers.tolist() == [0, 3]


def test_the_same_key_as_a_double_and_as_a_decimal_is_one_key():
    columns = [ColumnPolicy("x", domain=[Fraction(1, 10), 2])]
    over = world(policy_of([TablePolicy("t", "row", columns=columns)]), "CREATE TABLE t (x DOUBLE)")
    made = over.plan("DP-SELECT 1e9 x, COUNT(*) FROM t GROUP BY x")
    for keys in ([0.1, 2.0], [Fraction(1, 10), 2]):
        noisy = measure(made, [exact(keys, [5, 6])], public={}, source=Seeded(1))
        assert noisy.columns[0].numbers.tolist() == [5, 6]


def test_noisy_columns_read_back_as_they_were():
    columns = (
        NoisyColumn("a", Fraction(1, 300), numbers=np.array([1, -(2**62)], dtype=np.int64)),
        NoisyColumn("b", Fraction(1), values=np.array([0.1, -3.5])),
        NoisyColumn("c", Fraction(1), choices=((date(2024, 1, 1),), ("x", "y"))),
        NoisyColumn("d", Fraction(1), choices=(((Fraction(1, 3), 4), (None, 5)), ((True, 6),))),
    )
    noisy = Noisy(
        ((None, Fraction(1, 3)), (True, datetime.fromisoformat("2024-01-01T00:00:00"))), columns, private_keys=True
    )
    again = Noisy.from_bytes(noisy.to_bytes())
    assert again.keys == noisy.keys
    assert again.private_keys
    for one, other in zip(noisy.columns, again.columns, strict=True):
        assert (one.signature, one.step, one.choices) == (other.signature, other.step, other.choices)
        assert (
            np.array_equal(
                one.numbers if one.numbers is not None else one.values,
                other.numbers if other.numbers is not None else other.values,
            )
            or one.choices
        )
    assert noisy.to_bytes().isascii()


def test_noise_near_the_ends_of_64_bits_saturates_and_does_not_wrap():
    made = row_clinic().plan("DP-SELECT 0.001 COUNT(*) FROM visits")
    for end in (2**63 - 1, -(2**63)):
        values = [
            int(measure(made, [Exact({"m0": np.array([end])})], public={}, source=Seeded(s)).columns[0].numbers[0])
            for s in range(20)
        ]
        assert all((value > 0) == (end > 0) for value in values)
        assert end in values


def test_a_measurement_without_its_mechanism_is_never_released_as_it_is():
    made = row_clinic().plan("DP-SELECT 1 MEDIAN(age) FROM visits")
    count = row_clinic().plan("DP-SELECT 1 COUNT(*) FROM visits").measurements[0]
    wrong = replace(made, measurements=(replace(made.measurements[0], noise=count.noise),))
    with pytest.raises(Exception, match="no mechanism"):
        measure(wrong, [Exact({"x": [1], "c": np.array([1])})], public={}, source=Seeded(1))
