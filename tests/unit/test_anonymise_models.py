"""Each privacy model, on classes whose numbers are worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.distance import Ground, distance
from tacit.release.anonymise.models.family import (
    AlphaAnonymity,
    BetaLikeness,
    DeltaPresence,
    EntropyDiversity,
    KAnonymity,
    KMap,
    LDiversity,
    Model,
    RecursiveDiversity,
    Rules,
    TCloseness,
)
from tacit.release.anonymise.values.tuples import ClassTally, SecretSpread, Tuples, chosen, tally, whole

EQUAL, ORDERED = Ground("equal"), Ground("ordered")


def classes(*counts: Sequence[int], population: Sequence[int] | None = None) -> tuple[ClassTally, ClassTally]:
    """Classes given by how often each has each value of `s`; and all of them as one."""
    table = np.array(counts, dtype=np.int64).T
    people = None if population is None else np.array(population)
    part = ClassTally(table.sum(axis=0), people, {"s": table})
    everyone = None if people is None else people.sum(keepdims=True)
    return part, ClassTally(part.size.sum(keepdims=True), everyone, {"s": table.sum(axis=1, keepdims=True)})


def kept(model: Model, part: ClassTally, table: ClassTally) -> list[bool]:
    return model.holds(part, table).tolist()


def test_k_counts_rows_and_a_class_of_nobody_is_not_published() -> None:
    assert kept(KAnonymity(3), *classes([3, 0], [1, 1], [0, 0])) == [True, False, True]


def test_k_map_counts_people_of_the_population() -> None:
    assert kept(KMap(5), *classes([1, 0], [1, 0], population=[5, 4])) == [True, False]
    with pytest.raises(InvalidParameter, match="no population"):
        kept(KMap(5), *classes([1, 0]))


def test_delta_presence_is_a_share_of_the_population() -> None:
    part, table = classes([1, 0], [3, 0], [0, 0], population=[2, 4, 9])
    assert kept(DeltaPresence(0.25, 0.5), part, table) == [True, False, False]


def test_distinct_diversity_counts_values() -> None:
    assert kept(LDiversity(2, "s"), *classes([9, 1, 0], [5, 0, 0])) == [True, False]


def test_entropy_diversity_is_that_of_so_many_equal_values() -> None:
    model = EntropyDiversity(2, "s")
    part, table = classes([5, 5, 0], [9, 1, 0], [4, 4, 4])
    assert kept(model, part, table) == [True, False, True]
    assert model.measured(part, table)[2] == pytest.approx(3)


def test_recursive_diversity_weighs_the_commonest_against_the_rest() -> None:
    # with l = 2: r1 < c (r2 + r3). 6 < 3 (1 + 1) fails, and 5 < 3 (1 + 1) holds
    assert kept(RecursiveDiversity(2, 3, "s"), *classes([6, 1, 1], [5, 1, 1], [5, 0, 0])) == [False, True, False]
    # with l = 3 only the third counts: 5 < 3 × 1 fails
    assert kept(RecursiveDiversity(3, 3, "s"), *classes([5, 1, 1], [2, 1, 1])) == [False, True]


def test_t_closeness_by_the_salaries_of_its_inventors() -> None:
    """Li et al. 2007: salaries 3k to 11k; {3,4,5} lies 0.375 from the table, {6,8,11} only 0.167."""
    prior = np.full((9, 1), 1 / 9)
    low, mixed = np.zeros((9, 1)), np.zeros((9, 1))
    low[[0, 1, 2]], mixed[[3, 5, 8]] = 1 / 3, 1 / 3
    assert distance(low, prior, ground=ORDERED)[0] == pytest.approx(0.375)
    assert distance(mixed, prior, ground=ORDERED)[0] == pytest.approx(1 / 6, abs=1e-3)
    assert distance(low, prior, ground=EQUAL)[0] == pytest.approx(2 / 3)


def test_a_hierarchical_distance_pays_the_height_of_the_common_group() -> None:
    ground = Ground("hierarchical", ((0, 0, 1, 1), (0, 0, 0, 0)))  # two groups of two, and the root above them
    prior = np.full((4, 1), 0.25)
    within, across = np.array([[0.5], [0], [0.25], [0.25]]), np.array([[0.5], [0.5], [0], [0]])
    assert distance(within, prior, ground=ground)[0] == pytest.approx(0.25 * 1 / 2)
    assert distance(across, prior, ground=ground)[0] == pytest.approx(0.5 * 1)


def test_a_flat_tree_is_the_equal_distance() -> None:
    ground = Ground("hierarchical", ((0, 0, 0),))
    share, prior = np.array([[0.7], [0.2], [0.1]]), np.array([[0.2], [0.3], [0.5]])
    assert distance(share, prior, ground=ground) == pytest.approx(distance(share, prior, ground=EQUAL))


def test_t_closeness_holds_within_t() -> None:
    part, table = classes([5, 5], [8, 2], [2, 8])
    assert kept(TCloseness(0.3, "s"), part, table) == [True, True, True]
    assert kept(TCloseness(0.29, "s"), part, table) == [True, False, False]


def test_beta_likeness_limits_the_gain_of_every_value() -> None:
    part, table = classes([8, 2], [2, 8], [5, 5])  # the table has half of each
    assert BetaLikeness(1, "s").measured(part, table).tolist() == pytest.approx([0.6, 0.6, 0])
    assert kept(BetaLikeness(0.5, "s"), part, table) == [False, False, True]
    assert kept(BetaLikeness(9, "s"), part, table) == [True, True, True]  # −ln ½ = 0.69 is the limit then
    part, table = classes([9, 1], [1, 9])
    assert kept(BetaLikeness(9, "s"), part, table) == [False, False]


def test_alpha_limits_the_share_of_one_value() -> None:
    assert kept(AlphaAnonymity(0.8, "s"), *classes([8, 2], [9, 1])) == [True, False]


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0),
        lambda: KMap(0),
        lambda: DeltaPresence(0.5, 0.2),
        lambda: LDiversity(0, "s"),
        lambda: EntropyDiversity(math.nan, "s"),
        lambda: RecursiveDiversity(1, 1, "s"),
        lambda: RecursiveDiversity(2, 0, "s"),
        lambda: TCloseness(1.5, "s"),
        lambda: BetaLikeness(0, "s"),
        lambda: AlphaAnonymity(0, "s"),
        lambda: Ground("crow flies"),
        lambda: Ground("hierarchical"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make: object) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_rules_hold_where_every_model_does() -> None:
    part, table = classes([5, 5], [9, 0], [1, 1])
    rules = Rules((KAnonymity(3), LDiversity(2, "s")), table)
    assert rules.hold(part).tolist() == [True, False, False]
    assert (rules.least, rules.columns, rules.only_sizes) == (3, {"s"}, False)


def test_a_tally_adds_up_what_the_tuples_hold() -> None:
    spread = SecretSpread.of(
        "s", 2, owner=np.array([2, 0, 0]), value=np.array([1, 0, 1]), count=np.array([4, 1, 2]), tuples=3
    )
    tuples = Tuples(np.array([[0, 1, 2]], dtype=np.int32), np.array([3, 0, 4]), np.array([5, 6, 7]), (spread,))
    found = tally(tuples, np.array([0, 1, 0]), number=2)
    assert found.size.tolist() == [7, 0]
    assert found.population.tolist() == [12, 6]
    assert found.histogram["s"].tolist() == [[1, 0], [6, 0]]
    assert whole(chosen(tuples, np.array([2, 1]))).histogram["s"].tolist() == [[0], [4]]
