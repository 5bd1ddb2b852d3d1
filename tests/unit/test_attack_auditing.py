"""The auditor's parts: bounds on probabilities, outcomes as columns, events, worlds and replays."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import tacit.attack.auditing.queries as queries
from support.sources import Seeded
from tacit import attack
from tacit.attack import (
    EndpointDraw,
    audit,
    audit_one_run,
    audit_query,
    audit_sequentially,
    callable_draw,
    certified,
    load_callable,
)
from tacit.attack.auditing.binomial import at_least, at_most, tail
from tacit.attack.auditing.events import learn_event
from tacit.attack.auditing.one_run import one_run_epsilon
from tacit.attack.auditing.outcomes import columns_of, fractional_digits
from tacit.errors import InvalidParameter, QueryRefused, UnknownName
from tacit.policy import Policy, load_policy

POLICY = """\
[dataset]
name = "d"
source = "d.duckdb"
{adjacency}
[budget]
epsilon = 1
delta = 1e-3
[analysts.ana]
epsilon = 1
[tables.t]
unit = "{unit}"
{bounds}
[tables.t.columns]
x = {{ lower = 0, upper = 10, step = 1 }}
dept = {{ domain = ["A", "B", "C", "D"] }}
town = {{}}
"""


def declared(directory: Path, *, unit: str = "uid", rows: int = 2, adjacency: str = "") -> Policy:
    import duckdb

    if not (directory / "d.duckdb").exists():
        with duckdb.connect(str(directory / "d.duckdb")) as connection:
            connection.execute("CREATE TABLE t (uid BIGINT, x DOUBLE, dept VARCHAR, town VARCHAR)")
    bounds = "" if unit == "row" else f"max_rows = {rows}\nmax_groups = 3\nmax_distinct = 2"
    said = f'adjacency = "{adjacency}"' if adjacency else ""
    (directory / "tacit.toml").write_text(POLICY.format(unit=unit, bounds=bounds, adjacency=said))
    return load_policy(directory / "tacit.toml")


@pytest.mark.parametrize(("times", "draws"), [(0, 50), (1, 50), (25, 50), (50, 50), (3, 10**6), (731_000, 10**6)])
@pytest.mark.parametrize("level", [0.025, 5e-7])
def test_bounds_are_those_of_clopper_and_pearson_rounded_outwards(times, draws, level):
    low = stats.beta.ppf(level, times, draws - times + 1) if times else 0.0
    high = stats.beta.ppf(1 - level, times + 1, draws - times) if times < draws else 1.0
    assert at_least(times, draws, level=level) == pytest.approx(low, rel=1e-8)
    assert at_most(times, draws, level=level) == pytest.approx(high, rel=1e-8)
    assert at_least(times, draws, level=level) <= low
    assert at_most(times, draws, level=level) >= high or high == 1.0


@pytest.mark.parametrize("probability", [1e-6, 0.3, 0.999])
def test_a_tail_is_the_binomial_s(probability):
    for times in (0, 1, 7, 40, 41):
        assert tail(times, 40, probability) == pytest.approx(stats.binom.sf(times - 1, 40, probability), rel=1e-9)


@pytest.mark.parametrize("counts", [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (1, 5, 0.0), (1, 5, 1.0)])
def test_what_cannot_be_counted_is_refused(counts):
    with pytest.raises(InvalidParameter):
        at_least(counts[0], counts[1], level=counts[2])


def test_an_event_that_never_happens_certifies_nothing():
    assert certified(0, 0, draws=100) == 0
    assert certified(100, 100, draws=100) == 0
    assert certified(90, 1, draws=100, delta=0.85) == 0


@pytest.mark.parametrize(("likely", "rare", "delta"), [(700, 200, 0.0), (40, 0, 0.0), (500, 90, 0.1)])
def test_what_is_certified_is_the_ratio_of_both_bounds(likely, rare, delta):
    low = stats.beta.ppf(5e-4, likely, 1000 - likely + 1) - delta
    high = stats.beta.ppf(1 - 5e-4, rare + 1, 1000 - rare)
    found = certified(likely, rare, draws=1000, delta=delta, false_alarm=1e-3)
    assert found == pytest.approx(math.log(low / high), rel=1e-6)


def test_binary_digits_behind_the_point_are_counted():
    numbers = np.array([0.0, 1.0, -3.0, 0.5, 0.75, 2.0**-54, 1 + 2.0**-52, np.nan, np.inf])
    assert fractional_digits(numbers).tolist() == [0, 0, 0, 1, 2, 54, 52, -1, -1]


@pytest.mark.parametrize(
    ("outcomes", "width"),
    [
        (np.arange(5), 1),
        (np.arange(10).reshape(5, 2), 2),
        ([1, 2, 3], 1),
        ([(1, 2), (3, 4)], 2),
        ([(1, "a"), (3, "b")], 2),
        (["a", "b"], 1),
        ([(1,), (1, 2)], 1),
        (np.array([0.5, 0.25]), 2),
        ([None, "x"], 1),
        ([10**30, -(10**30)], 1),
    ],
)
def test_outcomes_of_every_kind_become_columns(outcomes, width):
    columns = columns_of(outcomes)
    assert len(columns) == width
    assert {column.size for column in columns} == {len(outcomes)}


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ([0, 1] * 50, [2, 3] * 50),
        (["a"] * 100, ["b"] * 100),
        ([(1, 2)] * 100, [(1,)] * 100),  # told apart by their shape
        ([1] * 100, ["raises ValueError"] * 100),
        ([math.nan] * 100, [1.0] * 100),
        ([(0, 1), (1, 0)] * 50, [(0, 0), (1, 1)] * 50),  # told apart only if taken whole
    ],
)
def test_an_event_is_learnt_where_one_tells_the_sides_apart(here, there):
    event = learn_event((here, there), counted=100)
    sides = [event(here), event(there)]
    assert sides[event.side].all()
    assert not sides[1 - event.side].any()
    assert str(event)


def test_an_outcome_of_another_shape_is_in_no_event_that_was_learnt():
    event = learn_event(([(1, 2)] * 50, [(3, 4)] * 50), counted=100)
    assert event([(1,)]).tolist() in ([True], [False])  # and nothing breaks


def test_a_function_that_raises_on_one_side_gives_it_away():
    def careless(value: int) -> int:
        if value == 1:
            raise ValueError("somebody's cell")
        return value

    found = audit(callable_draw(careless, (0, 1)), draws=4000, claimed=1)
    assert found.violates
    assert "somebody" not in f"{found}{found.event}"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "names no function"),
        ("no_such_module:f", "no module"),
        ("math:nothing", "has no function"),
        ("math:pi", "no function"),
        (":f", "names no function"),
    ],
)
def test_a_function_that_is_not_there_is_named(name, message):
    with pytest.raises(InvalidParameter, match=message):
        load_callable(name)
    assert load_callable("math:sqrt")(4) == 2


@pytest.mark.parametrize("settings", [{"draws": 3}, {"delta": 1.0}, {"delta": -1}, {"false_alarm": 0}])
def test_an_audit_that_could_certify_nothing_is_refused(settings):
    with pytest.raises(InvalidParameter):
        audit(lambda side, times: np.zeros(times), **settings)


@pytest.mark.parametrize("sequential", [False, True])
def test_draws_that_an_event_was_learnt_from_are_not_counted(sequential):
    """Sides that differ when they are first drawn, and never again: nothing is certified of them."""
    drawn = [0, 0]

    def draw(side, times):
        drawn[side] += 1
        return np.full(times, side if drawn[side] == 1 else 0)

    found = audit_sequentially(draw, claimed=1, most=1 << 12) if sequential else audit(draw, draws=4000)
    assert found.epsilon == 0


def test_a_sequential_audit_needs_a_claim():
    with pytest.raises(InvalidParameter, match="claim"):
        audit_sequentially(lambda side, times: np.zeros(times), claimed=0)


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────────

QUESTIONS = [
    ("DP-SELECT 1 COUNT(*) FROM t", 0.9),
    ("DP-SELECT 1 SUM(x) FROM t WHERE town = 'Bern' AND x > 7", 0.9),
    ("DP-SELECT 1 COUNT(DISTINCT dept) FROM t", 0.9),
    ("DP-SELECT 1 AVG(x) FROM t", 0.85),
    ("DP-SELECT 1 COUNT(*), SUM(x) FROM t", 0.85),
    ("DP-SELECT 1 dept, COUNT(*) FROM t GROUP BY dept", 0.75),
]


@pytest.mark.parametrize(("question", "least"), QUESTIONS)
def test_a_question_is_audited_on_the_worst_neighbours_its_plan_allows(tmp_path, question, least):
    found = audit_query(declared(tmp_path), question, draws=200_000, source=Seeded(5))
    assert found.replayed is not None
    assert least < found.replayed.epsilon <= 1
    assert all(one.holds for one in found.movements)
    assert max(one.found / one.planned for one in found.movements) == 1
    assert not found.violates


def test_of_an_average_by_groups_four_fifths_are_certified_over_all_its_cells_together(tmp_path):
    """Six cells, each with a share of the price: the event that shows all of it happens once in sixty-four times."""
    text = "DP-SELECT 1 dept, AVG(x) FROM t GROUP BY dept"
    found = audit_query(declared(tmp_path), text, draws=1_000_000, source=Seeded(5))
    assert found.replayed is not None
    assert 0.8 <= found.replayed.epsilon <= 1
    assert not found.violates


@pytest.mark.parametrize(
    "kind", [{"unit": "row"}, {"adjacency": "replace"}, {"unit": "row", "adjacency": "replace"}], ids=str
)
def test_every_relation_of_neighbours_is_played(tmp_path, kind):
    found = audit_query(declared(tmp_path, **kind), "DP-SELECT 1 SUM(x) FROM t", draws=80_000, source=Seeded(6))
    assert found.replayed is not None
    assert (
        0.3 < found.replayed.epsilon <= 1
    )  # half of it where no sum is below zero: a replacement is planned as two steps
    assert not found.violates


def test_private_keys_are_hidden_as_their_threshold_says(tmp_path):
    text = "DP-SELECT 1 DELTA 1e-3 town, COUNT(*) FROM t GROUP BY town"
    found = audit_query(declared(tmp_path), text, draws=100_000, source=Seeded(7))
    assert found.replayed is not None
    assert found.replayed.epsilon <= 1
    assert all(one.holds for one in found.movements)


def test_a_question_that_chooses_is_audited_at_the_door(tmp_path):
    found = audit_query(declared(tmp_path), "DP-SELECT 1 MODE(dept) FROM t", door=25, source=Seeded(8))
    assert found.replayed is None
    assert found.answered is not None
    assert found.answered.epsilon <= 1


def test_a_bound_that_the_sql_forgot_is_noticed(tmp_path, monkeypatch):
    """The noise and the sensitivities are those of one row a unit; the SQL counts two."""
    loose, tight = declared(tmp_path, rows=2), declared(tmp_path, rows=1)
    question = "DP-SELECT 1 COUNT(*) FROM t"
    honest = audit_query(tight, question, draws=50_000, source=Seeded(9))
    assert not honest.violates
    plan = queries.plan

    def careless(bound, policy, *, price):
        planned = plan(bound, policy, price=price)
        other = replace(policy, tables=[replace(policy.tables[0], max_rows=loose.tables[0].max_rows)])
        wide = plan(queries.bind(bound.query, other, schema={"t": SCHEMA}), other, price=price)
        return replace(planned, statements=wide.statements)

    monkeypatch.setattr(queries, "plan", careless)
    broken = audit_query(tight, question, draws=50_000, source=Seeded(9))
    assert broken.violates
    assert [one.holds for one in broken.movements] == [False]
    assert broken.replayed is not None
    assert broken.replayed.epsilon > 1.5


SCHEMA = {"uid": "BIGINT", "x": "DOUBLE", "dept": "VARCHAR", "town": "VARCHAR"}


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ("DP-SELECT 1 SUM(salary) FROM t", UnknownName),
        ("SELECT COUNT(*) FROM t", QueryRefused),
        ("DP-SELECT WITHIN 5 COUNT(*) FROM t", QueryRefused),
    ],
)
def test_a_question_that_cannot_be_audited_is_refused(tmp_path, question, error):
    with pytest.raises(error):
        audit_query(declared(tmp_path), question)


# ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_hand(right: int, guesses: int, *, canaries: int, delta: float, epsilon: float) -> float:
    """The bound of Steinke, Nasr and Jagielski, written out."""
    each = 1 / (1 + math.exp(-epsilon))
    beyond = stats.binom.sf(right - 1, guesses, each)
    falls = [(stats.binom.sf(right - i - 1, guesses, each) - beyond) / i for i in range(1, right + 1)]
    return min(1.0, beyond + 2 * canaries * delta * max(falls))


@pytest.mark.parametrize(("right", "guesses", "delta"), [(80, 100, 0.0), (800, 1000, 1e-5), (70, 100, 1e-4)])
def test_a_single_run_certifies_what_the_theorem_says(right, guesses, delta):
    epsilon = one_run_epsilon(right, guesses, canaries=1000, delta=delta, false_alarm=0.05)
    assert 0 < epsilon < math.log(right / (guesses - right))
    assert by_hand(right, guesses, canaries=1000, delta=delta, epsilon=epsilon) == pytest.approx(0.05, rel=1e-6)


def test_guesses_no_better_than_chance_certify_nothing():
    assert one_run_epsilon(50, 100, canaries=100, delta=0.0, false_alarm=0.05) == 0


@pytest.mark.parametrize(
    ("run", "canaries", "message"),
    [(lambda inside: inside, 3, "3 canaries"), (lambda inside: inside[:5], 20, "one score of each canary")],
)
def test_a_run_that_cannot_be_judged_is_refused(run, canaries, message):
    with pytest.raises(InvalidParameter, match=message):
        audit_one_run(run, canaries)


def test_every_public_name_of_the_adversary_is_there():
    assert attack.__all__ == sorted(attack.__all__)
    for name in attack.__all__:
        assert getattr(attack, name) is not None
    with pytest.raises(AttributeError):
        _ = attack.nonsense


# ── an endpoint ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_server_is_audited_over_the_wire_by_a_question_that_leaves_one_person_out():
    from support.postgres import server

    address = server().database()
    with EndpointDraw([address], ["SELECT 41 + 1", "SELECT 42"]) as alike:
        assert audit(alike, draws=60).epsilon == 0
    with EndpointDraw([address], ["SELECT 42, 'a'", "SELECT 41, 'a'"]) as apart:
        assert audit(apart, draws=200, claimed=1).violates
    with EndpointDraw([address, address], ["SELECT 1 / (1 - 1)", "SELECT 1 / 1"]) as failing:
        assert audit(failing, draws=200, claimed=1).violates  # an error is an outcome


def test_rows_whose_key_is_none_of_the_public_ones_are_no_group(tmp_path):
    """NULL is no value of a domain: its group is read and never leaves, so it moves nothing."""
    text = "DP-SELECT 1 x > 3 AS more, COUNT(*) FROM t GROUP BY x > 3"
    found = audit_query(declared(tmp_path), text, draws=4_000, source=Seeded(10))
    assert all(one.holds for one in found.movements)


@pytest.mark.parametrize(
    "question",
    [
        "DP-SELECT 1 dept, COUNT(*) FROM t GROUP BY ROLLUP (dept)",
        "DP-SELECT 1 a.n - b.n AS d FROM (SELECT COUNT(*) AS n FROM t) a, (SELECT COUNT(*) AS n FROM t WHERE x > 3) b",
    ],
)
def test_several_questions_in_one_are_audited_at_the_door(tmp_path, question):
    found = audit_query(declared(tmp_path), question, door=20, source=Seeded(11))
    assert found.replayed is None
    assert found.answered is not None
    assert (found.loss.epsilon, found.violates) == (1, False)


@pytest.mark.parametrize("question", ["EXPLAIN DP-SELECT 1 COUNT(*) FROM t", "DP-SELECT 1 * FROM t"])
def test_what_is_no_answer_is_refused(tmp_path, question):
    with pytest.raises(QueryRefused):
        audit_query(declared(tmp_path), question)
