"""The lectures on definitions and composition, one test a claim: where a lecture is loose, the right one.

Mechanisms are pairs of exact finite laws: {outcome: Fraction}.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from tacit.accounting import (
    PureFilter,
    Zcdp,
    ZcdpFilter,
    best_guess,
    compose_advanced,
    compose_basic,
    compose_optimal,
    compose_parallel,
    replace_loss,
    zcdp_to_dp,
)
from tacit.core import Adjacency, Budget, GaussianEvent, Loss, PureEvent
from tacit.errors import BudgetExceeded, InvalidParameter

HALF = Fraction(1, 2)


def hockey_stick(p, q, growth):
    """The largest P(S) - growth Q(S) over all sets S."""
    return sum(max(Fraction(0), p.get(o, Fraction(0)) - growth * q.get(o, Fraction(0))) for o in p)


def over_sets(p, q, growth):
    """The same by trying every set: what the definition says."""
    outcomes = sorted(set(p) | set(q), key=str)
    best = Fraction(0)
    for chosen in product((False, True), repeat=len(outcomes)):
        picked = [o for o, taken in zip(outcomes, chosen, strict=True) if taken]
        best = max(best, sum(p.get(o, Fraction(0)) - growth * q.get(o, Fraction(0)) for o in picked))
    return best


def largest_ratio(p, q):
    """e^epsilon of two laws: the largest ratio over *all* outcomes, in both directions."""
    return max(max(p[o] / q[o], q[o] / p[o]) for o in p)


def response(growth):
    stay = Fraction(growth) / (1 + growth)
    return {0: stay, 1: 1 - stay}, {0: 1 - stay, 1: stay}


def joint(first, second):
    return {(a, b): first[a] * second[b] for a in first for b in second}


# Definitions


def test_definition_3_epsilon_must_bound_every_output_not_just_one():
    p = {"a": Fraction(1, 2), "b": Fraction(1, 2) - Fraction(1, 100), "c": Fraction(1, 100)}
    q = {"a": Fraction(1, 2), "b": Fraction(1, 4), "c": Fraction(1, 4)}
    assert p["a"] / q["a"] == 1  # one output alone says nothing
    assert largest_ratio(p, q) == 25


def test_definition_4_delta_is_about_sets_of_outputs():
    p, q = {o: Fraction(1, 4) for o in "abcd"}, {o: Fraction(1, 10) for o in "abcd"} | {"e": Fraction(6, 10)}
    growth = Fraction(2)
    single = max(p[o] - growth * q[o] for o in p)
    assert single == Fraction(1, 20)
    assert over_sets(p, q, growth) == hockey_stick(p, q, growth) == 4 * single


def test_definition_5_zero_zero_privacy_means_the_same_law_not_the_same_data():
    constant = {"D1": {"ok": Fraction(1)}, "D2": {"ok": Fraction(1)}}
    assert constant.keys() == {"D1", "D2"}  # two databases
    assert hockey_stick(constant["D1"], constant["D2"], 1) == 0
    p, q = response(Fraction(101, 100))
    assert hockey_stick(p, q, 1) > 0  # any difference between the laws shows


def test_definition_6_a_deterministic_algorithm_is_private_only_if_constant():
    databases = list(product((0, 1), repeat=3))
    neighbours = [(x, y) for x in databases for y in databases if sum(a != b for a, b in zip(x, y, strict=True)) == 1]

    def delta(function, growth):
        return max(hockey_stick({function(x): Fraction(1)}, {function(y): Fraction(1)}, growth) for x, y in neighbours)

    assert delta(lambda x: 7, 1) == 0
    for function in (sum, max, lambda x: x[0]):
        assert delta(function, 10**9) == 1


def test_definition_7_editing_a_row_is_two_steps_of_adding_and_removing():
    assert Adjacency.ADD_REMOVE.steps == 1
    assert Adjacency.REPLACE.steps == 2
    assert replace_loss(Loss("0.5")) == Loss(1)
    # and 2 epsilon is really lost: a histogram of two cells, one randomised response each, loses it when a unit moves
    p, q = response(3)
    assert largest_ratio(joint(p, q), joint(q, p)) == 9


def test_definition_8_databases_are_multisets_so_order_is_no_difference():
    r = [(1, 2), (5, 6), (7, 8), (11, 5)]
    s = [(1, 2), (5, 7), (7, 8), (5, 11)]
    v = [(5, 6), (1, 2), (7, 8), (11, 5)]
    w = [(5, 6), (1, 2), (7, 8), (0, 0)]

    def by_position(x, y):
        return sum(a != b for a, b in zip(x, y, strict=True))

    def replaced(x, y):
        return (Counter(x) - Counter(y)).total()

    assert (by_position(r, s), by_position(r, v), sum(row != (0, 0) for row in w)) == (2, 2, 3)
    assert replaced(r, v) == 0
    assert replaced(r, s) == 2
    assert [max(sum(row) for row in x) for x in (r, s, w)] == [16, 16, 15]


# Composition


def test_claim_27_t_queries_cost_t_epsilon():
    assert compose_basic([Loss("0.1")] * 100) == Loss(10)
    assert compose_basic([Loss("0.1"), Loss("0.25"), Loss(1)]) == Loss("1.35")


@pytest.mark.parametrize("growths", [(2, 3), (Fraction(3, 2), 5)])
def test_claim_27_and_exercise_12_the_joint_law_loses_the_sum_over_all_product_sets(growths):
    (p1, q1), (p2, q2) = (response(growth) for growth in growths)
    p, q = joint(p1, p2), joint(q1, q2)
    assert largest_ratio(p, q) == growths[0] * growths[1]
    assert over_sets(p, q, growths[0] * growths[1]) == 0
    for s1, s2 in product(([0], [1], [0, 1]), repeat=2):  # S1 x S2, as the exercise asks
        mass_p = sum(p[a, b] for a in s1 for b in s2)
        mass_q = sum(q[a, b] for a in s1 for b in s2)
        assert mass_p <= growths[0] * growths[1] * mass_q
        assert mass_p == sum(p1[a] for a in s1) * sum(p2[b] for b in s2)


def test_claim_27_holds_when_the_second_query_depends_on_the_first_answer():
    first_p, first_q = response(2)
    second = {0: response(3), 1: response(Fraction(3, 2))}  # chosen after the first answer; never above ln 3
    p = {(a, b): first_p[a] * second[a][0][b] for a in (0, 1) for b in (0, 1)}
    q = {(a, b): first_q[a] * second[a][1][b] for a in (0, 1) for b in (0, 1)}
    assert largest_ratio(p, q) <= 2 * 3
    assert over_sets(p, q, 6) == 0


def test_claim_28_k_attributes_at_epsilon_cost_k_epsilon_so_take_epsilon_over_k():
    for k in (2, 3, 7, 1000):
        assert compose_basic([Loss(1)] * k) == Loss(k)
        assert compose_basic([Loss(Fraction(1, k))] * k) == Loss(1)


def test_claim_29_parallel_composition_is_the_maximum_only_under_add_remove():
    parts = [Loss(1), Loss("0.5"), Loss("0.7")]
    assert compose_parallel(parts, Adjacency.ADD_REMOVE) == Loss(1)
    assert compose_parallel(parts, Adjacency.REPLACE) == Loss("1.7")


def test_claim_29_a_partition_chosen_by_the_data_is_no_partition():
    # put the unit into part 0 or 1 by its secret bit, release which part is empty: disjoint, and everything is lost
    law = {bit: {(bit == 0, bit == 1): Fraction(1)} for bit in (0, 1)}
    assert hockey_stick(law[0], law[1], 10**9) == 1


def test_claim_30_post_processing_is_free():
    p, q = response(3)
    kernel = {0: {"x": Fraction(2, 3), "y": Fraction(1, 3)}, 1: {"x": Fraction(1, 5), "y": Fraction(4, 5)}}

    def processed(law):
        return {o: sum(law[a] * kernel[a][o] for a in law) for o in ("x", "y")}

    assert largest_ratio(processed(p), processed(q)) <= 3
    for growth in (1, 2, 3):
        assert hockey_stick(processed(p), processed(q), growth) <= hockey_stick(p, q, growth)


def test_claim_31_the_square_root_needs_a_delta_and_pure_privacy_stays_linear():
    found = compose_advanced(Loss("0.1"), 100, slack="1e-6")
    assert float(found.epsilon) == pytest.approx(6.308230950513409, rel=1e-14)
    assert found.delta == Fraction("1e-6")
    p, q = response(Fraction(11, 10))
    sure = {(0,) * 20: math.prod([p[0]] * 20)}
    assert sure[(0,) * 20] / math.prod([q[0]] * 20) == Fraction(11, 10) ** 20  # some output loses all of k epsilon
    with pytest.raises(InvalidParameter):
        compose_advanced(Loss("0.1"), 100, slack=0)


def test_claim_31_advanced_composition_can_be_worse_than_basic_so_the_minimum_is_taken():
    formula = math.sqrt(2 * 10 * math.log(1e6)) + 10 * (math.e - 1)
    assert formula == pytest.approx(33.8, abs=0.05)
    assert compose_advanced(Loss(1), 10, slack="1e-6") == Loss(10)


def test_claim_31_optimal_composition_beats_advanced():
    found = compose_optimal(Loss("0.1"), 100, slack="1e-6")
    assert found.epsilon == Fraction("4.8")
    assert float(found.delta) == pytest.approx(8.054944965407164e-07, rel=1e-13)


def test_claim_32_users_who_talk_need_a_total_as_well_as_budgets_of_their_own():
    question = PureEvent(Fraction(1, 2))
    alice = bob = PureFilter(Budget(1))
    total = PureFilter(Budget("1.5"))
    for _ in range(2):
        alice, bob = alice.charge(question), bob.charge(question)
    assert compose_basic([alice.spent, bob.spent]) == Loss(2)  # together they learnt twice what each was allowed
    for _ in range(3):
        total = total.charge(question)
    with pytest.raises(BudgetExceeded):
        total.charge(question)


def test_claim_46_a_differencing_pair_costs_two_epsilon_and_gives_the_bayes_accuracy():
    both = compose_basic([Loss("0.1"), Loss("0.1")])
    assert both == Loss("0.2")
    assert float(best_guess(both)) == pytest.approx(0.549833997312478, rel=1e-14)


def test_exercise_13_error_probabilities_of_a_concatenation_add_at_most():
    # two answers that err independently with chances a1 and a2: at least one errs with at most a1 + a2
    for a1, a2 in ((Fraction(1, 100), Fraction(1, 20)), (HALF, HALF)):
        either = 1 - (1 - a1) * (1 - a2)
        assert either <= a1 + a2
        assert either == a1 + a2 - a1 * a2


def test_exercise_17_errors_on_independent_samples_are_independent():
    samples = {(x, y): Fraction(1, 6) if y else Fraction(1, 3) for x in (0, 1) for y in (0, 1)}
    assert sum(samples.values()) == 1

    def wrong(sample):
        return sample[0] != sample[1]  # the classifier that answers its input

    right = sum(w for s, w in samples.items() if not wrong(s))
    both = sum(samples[s] * samples[t] for s in samples for t in samples if not wrong(s) and not wrong(t))
    assert both == right * right


# The election of 004, examples 1.4 and exercise 4


CANDIDATES = ("Trudeau", "Legault", "Bieber", "Shreya", "Trump")
FIFTH = Fraction(1, 5)


def majority(votes):
    """The winner's law, ties broken at random."""
    counts = Counter(votes)
    top = max(counts.values())
    winners = [c for c in counts if counts[c] == top]
    return {c: Fraction(1, len(winners)) for c in winners}


def mixed(laws):
    total = {}
    for weight, law in laws:
        for outcome, chance in law.items():
            total[outcome] = total.get(outcome, Fraction(0)) + weight * chance
    return total


def with_random_voter(votes):
    """W: one more voter, who votes at random."""
    return mixed((FIFTH, majority((*votes, c))) for c in CANDIDATES)


@cache
def election(votes):
    """M: one more voter who votes at random, then one row of all is replaced by a random vote."""
    rows = len(votes) + 1
    cases = []
    for stranger in CANDIDATES:
        ballot = (*votes, stranger)
        for row, vote in product(range(rows), CANDIDATES):
            changed = (*ballot[:row], vote, *ballot[row + 1 :])
            cases.append((FIFTH * Fraction(1, rows) * FIFTH, majority(changed)))
    return mixed(cases)


def neighbours():
    for x in product(CANDIDATES, repeat=2):
        for row, vote in product(range(2), CANDIDATES):
            yield x, (*x[:row], vote, *x[row + 1 :])


def test_example_1_4_a_hundredth_of_epsilon_is_a_factor_of_1_01005():
    assert math.exp(0.01) == pytest.approx(1.010050167084168, rel=1e-15)


def test_claim_49_the_majority_with_a_random_voter():
    law = with_random_voter(("Trump", "Legault"))
    assert law["Trudeau"] == Fraction(1, 15)
    assert law["Trump"] == Fraction(2, 5)


def test_claim_49_the_printed_formula_misses_cases_and_the_right_chance_is_23_over_225():
    third, fifth = Fraction(1, 3), FIFTH
    printed = third * fifth * third + 2 * third * (fifth * fifth + fifth * Fraction(4, 5) * third)
    assert float(printed) == pytest.approx(0.0844, abs=1e-4)
    assert election(("Trump", "Legault"))["Trudeau"] == Fraction(23, 225)


def test_exercise_4_the_election_of_two_is_ln_13_over_3_private():
    worst = max(largest_ratio(election(x), election(y)) for x, y in neighbours())
    assert worst == Fraction(13, 3)
    assert math.log(worst) == pytest.approx(1.466337068793427, rel=1e-14)


@pytest.mark.parametrize(("epsilon", "delta"), [(0, 1 / 3), (0.5, 0.2148), (1, 0.1292)])
def test_exercise_4_a_smaller_epsilon_needs_a_delta(epsilon, delta):
    growth = Fraction(math.exp(epsilon))
    worst = max(hockey_stick(election(x), election(y), growth) for x, y in neighbours())
    assert float(worst) == pytest.approx(delta, abs=5e-5)


# The Census of 001


def test_the_census_spent_17_14_at_a_delta_of_1e_minus_10():
    rho = 1 / Fraction(339, 542) ** 2
    assert float(rho) == pytest.approx(2.5562255810513306, rel=1e-15)
    assert float(zcdp_to_dp(rho, "1e-10").epsilon) == pytest.approx(17.143550750372114, rel=1e-9)


def test_the_census_shares_of_the_six_levels_spend_rho_to_the_last_bit():
    rho = 1 / Fraction(339, 542) ** 2
    shares = (104, 1440, 447, 687, 1256, 165)
    assert sum(shares) == 4099
    state = ZcdpFilter(Zcdp(rho))
    for share in shares:
        state = state.charge(GaussianEvent(rho * Fraction(share, 4099)))
    assert state.left == Zcdp(0)
    assert not state.admits(GaussianEvent(Fraction("1e-100")))
