"""What the lectures say of neighbours and sensitivity, claim by claim; where they are loose, what is right.

The numbers are by brute force over small universes: every database, every neighbour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest

from tacit.core import Adjacency, Bounds, Loss
from tacit.errors import InvalidParameter
from tacit.mechanisms import Laplace

ADD, REPLACE = Adjacency.ADD_REMOVE, Adjacency.REPLACE
Database = tuple[object, ...]
Query = Callable[[Sequence[object]], object]


def neighbours(database: Database, universe: Sequence[object], adjacency: Adjacency) -> Iterator[Database]:
    """Every database that differs in one row."""
    for place in range(len(database)):
        rest = database[:place] + database[place + 1 :]
        if adjacency is ADD:
            yield rest
        else:
            yield from ((*rest, row) for row in universe)
    if adjacency is ADD:
        yield from ((*database, row) for row in universe)


def sensitivity(query: Query, universe: Sequence[object], *, rows: int, adjacency: Adjacency) -> Fraction:
    """sup over neighbours of the L1 distance between answers, over all databases of so many rows."""

    def distance(a: object, b: object) -> Fraction:
        pair = zip(a, b, strict=True) if isinstance(a, tuple) and isinstance(b, tuple) else [(a, b)]
        return sum((abs(Fraction(x) - Fraction(y)) for x, y in pair), Fraction(0))

    return max(
        distance(query(database), query(other))
        for database in product(universe, repeat=rows)
        for other in neighbours(database, universe, adjacency)
    )


def multiset_distance(a: Sequence[object], b: Sequence[object]) -> int:
    """Rows to add or remove on the way from one to the other, whatever their order."""
    counts = Counter(a)
    counts.subtract(Counter(b))
    return sum(abs(count) for count in counts.values())


def test_000_a_deleted_row_is_one_step_and_an_edited_row_two():
    data = ("Li Pu", "Sara Lee", "Nikos 170", "Student", "Li Yang")
    assert multiset_distance(data, data[:2] + data[3:]) == ADD.steps == 1
    assert multiset_distance(data, (*data[:2], "Nikos 180", *data[3:])) == REPLACE.steps == 2


def test_004_differing_rows_are_counted_by_position_where_the_order_should_not_matter():
    """[X] ‖r − v‖₀ = 2 although r and v hold the same rows; as multisets their distance is 0."""
    r = ((1, 2), (5, 6), (7, 8), (11, 5))
    s = ((1, 2), (5, 7), (7, 8), (5, 11))
    v = ((5, 6), (1, 2), (7, 8), (11, 5))
    w = ((5, 6), (1, 2), (7, 8), (0, 0))

    def by_position(a: Database, b: Database) -> int:
        return sum(x != y for x, y in zip(a, b, strict=True))

    assert [by_position(r, s), by_position(r, v), sum(any(row) for row in w)] == [2, 2, 3]
    assert multiset_distance(r, v) == 0
    assert multiset_distance(r, s) == 4  # two rows replaced


def test_004_the_highest_total_balance():
    def highest(data: Sequence[tuple[int, int]]) -> int:
        return max(a + b for a, b in data)

    assert highest([(1, 2), (5, 6), (7, 8), (11, 5)]) == 16
    assert highest([(1, 2), (5, 7), (7, 8), (5, 11)]) == 16
    assert highest([(5, 6), (1, 2), (7, 8), (0, 0)]) == 15


def test_004_three_counts_of_accounts_above_100_move_by_three():
    def counts(data: Sequence[object]) -> tuple[int, ...]:
        return tuple(sum(row[account] for row in data) for account in range(3))  # type: ignore[index]

    accounts = list(product((0, 1), repeat=3))  # whether each of a customer's accounts exceeds 100
    assert sensitivity(counts, accounts, rows=2, adjacency=ADD) == 3
    assert sensitivity(counts, accounts, rows=2, adjacency=REPLACE) == 3


def test_000_sensitivity_is_the_largest_change_between_neighbours():
    clipped = {value: min(5, max(0, value)) for value in range(-2, 9)}
    assert sensitivity(lambda d: clipped[d[0]], list(clipped), rows=1, adjacency=REPLACE) == 5


def test_000_example_12_a_clipped_value_moves_by_b():
    bounds = Bounds(0, 5)
    assert bounds.row_sensitivity(REPLACE) == bounds.row_sensitivity(ADD) == 5


def test_000_example_13_a_mean_of_n_clipped_values_moves_by_b_over_n_when_n_is_public():
    def mean(data: Sequence[object]) -> Fraction:
        return Fraction(sum(data), len(data)) if data else Fraction(0)  # type: ignore[arg-type]

    assert sensitivity(mean, range(6), rows=4, adjacency=REPLACE) == Fraction(5, 4)
    assert Fraction(100_000, 10_000) == 10  # the lecture's B and n


def test_000_under_add_remove_a_mean_moves_by_more_than_b_over_n():
    """[X] B/n needs replace and a public n: one row more or less moves the mean by up to B/(n+1), or all of B."""

    def mean(data: Sequence[object]) -> Fraction:
        return Fraction(sum(data), len(data)) if data else Fraction(0)  # type: ignore[arg-type]

    assert sensitivity(mean, range(6), rows=1, adjacency=ADD) == 5
    assert sensitivity(mean, range(6), rows=3, adjacency=ADD) == Fraction(5, 3)  # (0, 0, 5) without its first
    # what is released instead: a noisy sum and a noisy count, which do have finite sensitivity whatever n is
    assert sensitivity(lambda d: (sum(d), len(d)), range(6), rows=3, adjacency=ADD) == 5 + 1


def test_001_the_sum_of_salaries_and_what_one_row_does_to_it():
    salaries = (35, 33, 34, 48, 47)
    assert sum(salaries) == 197
    assert sum(salaries) - 48 == 149
    assert sum(salaries) - 35 == 162


@pytest.mark.parametrize(("adjacency", "moved"), [(ADD, 48), (REPLACE, 53)], ids=str)
def test_001_a_sum_over_a_to_b_moves_by_its_magnitude_or_its_width(adjacency, moved):
    """[X] "sensitivity b": max(|a|, |b|) under add/remove, b − a under replace."""
    assert Bounds(-5, 48).row_sensitivity(adjacency) == moved
    small = range(-2, 4)
    brute = sensitivity(sum, small, rows=2, adjacency=adjacency)  # type: ignore[arg-type]
    assert brute == Bounds(-2, 3).row_sensitivity(adjacency)


def test_001_a_bound_is_declared_and_never_read_off_the_data():
    """[X] b = 48 is the largest salary: taking it from the data would tell it."""
    with pytest.raises(TypeError):
        Bounds()  # type: ignore[call-arg]


def test_001_a_count_moves_by_one():
    for adjacency in (ADD, REPLACE):
        assert sensitivity(lambda d: sum(row == 1 for row in d), range(3), rows=3, adjacency=adjacency) == 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_004_a_normalised_count_moves_by_one_over_n(k):
    """[X] Example 2.1 says Δ = 1 and k: that is of raw counts. Divided by n they move by 1/n and k/n."""
    rows = 3
    universe = list(product((0, 1), repeat=k))  # which of k properties a row has

    def raw(data: Sequence[object]) -> tuple[int, ...]:
        return tuple(sum(row[place] for row in data) for place in range(k))  # type: ignore[index]

    def normalised(data: Sequence[object]) -> tuple[Fraction, ...]:
        return tuple(Fraction(count, rows) for count in raw(data))

    assert sensitivity(raw, universe, rows=rows, adjacency=REPLACE) == k
    assert sensitivity(normalised, universe, rows=rows, adjacency=REPLACE) == Fraction(k, rows)


def test_004_changing_a_first_name_moves_two_counts():
    names = ("Albert", "Ada", "Alan")

    def histogram(data: Sequence[object]) -> tuple[int, ...]:
        return tuple(data.count(name) for name in names)

    assert sensitivity(histogram, names, rows=3, adjacency=REPLACE) == 2
    assert sensitivity(histogram, names, rows=3, adjacency=ADD) == 1  # a disjoint partition: one cell


def test_004_the_count_of_alberts_alone_moves_by_one():
    for adjacency in (ADD, REPLACE):
        alberts = sensitivity(lambda d: d.count("Albert"), ("Albert", "Ada"), rows=3, adjacency=adjacency)
        assert alberts == 1


def test_004_a_vector_of_binary_rows_of_two_has_the_sensitivity_of_its_columns():
    """The lecture's N = {0, 1}, d = 2: all pairs of databases that differ in one row."""
    rows = list(product((0, 1), repeat=2))
    columns = sensitivity(lambda d: tuple(map(sum, zip(*d, strict=True))), rows, rows=2, adjacency=REPLACE)
    assert columns == 2


def test_004_the_score_of_an_election_is_the_count_and_moves_by_one():
    """Example 3.2: what matters is the largest move of a single candidate's score."""
    for candidate in ("Trudeau", "Legault"):
        votes = sensitivity(
            lambda d, c=candidate: d.count(c), ("Trudeau", "Legault", "Bieber"), rows=3, adjacency=REPLACE
        )
        assert votes == 1


def test_004_exercise_10_the_fewest_votes_score_minus_the_count():
    votes = {"Trudeau": 5, "Legault": 2, "Bieber": 9}
    assert max(votes, key=lambda name: -votes[name]) == "Legault"
    assert sensitivity(lambda d: -d.count("Legault"), ("Legault", "Bieber"), rows=3, adjacency=REPLACE) == 1


def test_004_the_curator_controls_epsilon_but_the_query_sets_the_sensitivity():
    assert Laplace.costing(Loss("0.5"), 3).scale == 6
    with pytest.raises(InvalidParameter):
        Laplace.costing(Loss("0.5"), 0)
