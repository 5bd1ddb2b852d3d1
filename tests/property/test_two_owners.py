"""Taking out one person moves the rows with two owners that count by as many as the plan says, on every small graph."""

from __future__ import annotations

import itertools
from dataclasses import replace

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.sql_two_owners import CREATED, counting, distance, filled, kept, planned, trips, without
from tacit.sql.planning import statements
from tacit.sql.relations.joining import two_owners
from tacit.sql.rules.sample_rows import sample_rows

PEOPLE = "wxyz"
PAIRS = [*itertools.combinations(PEOPLE, 2), ("w", "w")]
ROWS = 2  # of a pair that count
EACH_ROW = "DP-SELECT 1 n, COUNT(*) FROM trips GROUP BY n"
FEW = (1, 2)
MOST = 3


def rows_of(pairs):
    """From one row of a pair to three, the owners now in this order and now in that."""
    rows = []
    for first, second in pairs:
        number = PAIRS.index((first, second))
        for each in range(1 + number % 3):
            ends = (first, second) if each % 2 else (second, first)
            rows.append((*ends, 10 * number + each))
    return rows


GRAPHS = [frozenset(rows_of(pairs)) for size in range(len(PAIRS) + 1) for pairs in itertools.combinations(PAIRS, size)]


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect(config={"threads": 1}) as made:
        made.execute(CREATED)
        yield made


def every_graph(connection):
    """For each graph the rows that count, by how many partners do, and its distances as the SQL gives them."""
    counted = {most: counting(trips(max_rows=ROWS), EACH_ROW, partners=most) for most in range(1, MOST + 1)}
    tests = {few: planned(trips(max_partners=few), EACH_ROW).test.statement.sql("duckdb") for few in FEW}
    found, far = {}, {}
    for rows in GRAPHS:
        filled(connection, sorted(rows, key=str))
        found[rows] = {most: kept(connection, sql) for most, sql in counted.items()}
        far[rows] = {few: connection.execute(sql).fetchone()[0] for few, sql in tests.items()}
    return found, far


def moves(found, far):
    """How many rows each person moves, beside R: where the graph with that person is within the test's limit."""
    for rows in found:
        for person, few in itertools.product(PEOPLE, FEW):
            fewer = frozenset(without(rows, person))
            for hubs in range(far[rows][few], MOST - few + 1):
                most = few + hubs
                yield len(found[rows][most] ^ found[fewer][most]), ROWS * most, ROWS * hubs


@pytest.fixture(scope="module")
def truth(connection):
    return every_graph(connection)


def test_the_distance_is_the_one_counted_by_hand(truth):
    _, far = truth
    for rows, found in far.items():
        assert found == {few: distance(sorted(rows, key=str), few) for few in FEW}
    assert {max(found.values()) for found in far.values()} >= {0, 1, 2}


def test_one_person_moves_the_distance_by_at_most_one_and_never_up_by_leaving(truth):
    _, far = truth
    for rows, found in far.items():
        for person, few in itertools.product(PEOPLE, FEW):
            assert found[few] - far[frozenset(without(rows, person))][few] in {0, 1}


def test_one_person_moves_at_most_r_rows_wherever_the_test_can_pass(truth):
    moved = list(moves(*truth))
    assert all(moved_rows <= own + others for moved_rows, own, others in moved)
    assert any(moved_rows > own for moved_rows, own, _ in moved)  # t belongs into R: m alone is too few
    assert len(moved) > 1_000


def test_a_pair_never_counts_more_rows_than_it_may(truth):
    found, _ = truth
    for rows, by_most in found.items():
        owners = {number: frozenset(ends) for *ends, number in rows}
        for counted in by_most.values():
            pairs = [owners[number] for number in counted]
            assert all(pairs.count(pair) <= ROWS for pair in pairs)


# ── planted: what would let one person move more ─────────────────────────────────────────────────────────────────────


def one_end_alone(patch):
    """A pair is kept that is among the first of one of its people."""
    whole = two_owners._ends

    def first(pairs):
        tree = whole(pairs)
        union = tree.args["from_"].this.this
        half = union.this.copy()
        half.expressions[2].set("this", two_owners.integer(1))
        return half

    patch.setattr(two_owners, "_ends", first)


def either_end(patch):
    """A pair is kept that is among the first of either."""
    whole = two_owners._kept

    def either(pairs, table):
        tree = whole(pairs, table)
        tree.set("having", None)
        return tree

    patch.setattr(two_owners, "_kept", either)


def no_limit_of_a_pair(patch):
    """Each group has its own rows of a pair."""

    def by_group(tree, facts):
        return sample_rows(tree, replace(facts, across_groups=False))

    rules = tuple(by_group if rule is sample_rows else rule for rule in statements.SUM_RULES)
    patch.setattr(statements, "SUM_RULES", rules)


STAR = [("hub", f"p{each}", each) for each in range(12)]
OFTEN = [("hub", "p", each) for each in range(12)]
PLANTS = [
    (one_end_alone, [(f"p{each}", "zoe", each) for each in range(12)], "zoe"),  # who is never the first of a pair
    (either_end, STAR, "hub"),
    (no_limit_of_a_pair, OFTEN, "hub"),
]


def moved_of(connection, rows, person):
    """How many rows a person moves, where one partner is few and one hub allowed; and R."""
    policy = trips(max_rows=ROWS, max_partners=1)
    assert distance(rows, 1) <= 1
    sql = counting(policy, EACH_ROW, partners=2)
    sides = [kept(filled(connection, side), sql) for side in (rows, without(rows, person))]
    return len(sides[0] ^ sides[1]), ROWS * (2 + 1)


@pytest.mark.parametrize(("plant", "rows", "person"), PLANTS, ids=lambda each: getattr(each, "__name__", ""))
def test_a_planted_bug_moves_more_rows(connection, monkeypatch, plant, rows, person):
    moved_rows, most = moved_of(connection, rows, person)
    assert moved_rows <= most
    plant(monkeypatch)
    moved_rows, most = moved_of(connection, rows, person)
    assert moved_rows > most


# ── hubs and chains ──────────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def hubs_and_chains(draw):
    """Hubs with many partners, of whom some have others, chained to each other; a few rows without an owner."""
    pairs = []
    for hub in range(draw(st.integers(0, 3))):
        width = draw(st.integers(1, 9))
        pairs += [(f"h{hub}", f"p{each}") for each in range(width)]
    length = draw(st.integers(0, 9))
    pairs += [(f"p{each}", f"p{each + 1}") for each in range(length)]
    people = [*(f"h{each}" for each in range(3)), *(f"p{each}" for each in range(10)), None]
    pairs += draw(st.lists(st.tuples(st.sampled_from(people), st.sampled_from(people)), max_size=12))
    return [(*pair, number) for number, pair in enumerate(pairs)]


@given(hubs_and_chains(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_hubs_and_chains_move_at_most_r_rows(connection, rows, few, hubs, pair_rows):
    policy = trips(max_rows=pair_rows, max_partners=few)
    test = planned(policy, EACH_ROW).test.statement.sql("duckdb")
    sql = counting(policy, EACH_ROW, partners=few + hubs)
    filled(connection, rows)
    (found,) = connection.execute(test).fetchone()
    assert found == distance(rows, few)
    whole = kept(connection, sql)
    for person in {end for row in rows for end in row[:2]} - {None}:
        fewer = without(rows, person)
        filled(connection, fewer)
        assert found - connection.execute(test).fetchone()[0] in {0, 1}
        if found <= hubs:
            assert len(whole ^ kept(connection, sql)) <= pair_rows * (few + 2 * hubs)
