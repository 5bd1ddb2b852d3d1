"""Questions about rows with two owners: what is answered, withheld, refused, charged and said."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from sqlglot import exp

import tacit
from conformance.charges import overheard
from conformance.sql_two_owners import CREATED, counting, distance, filled, kept, planned, trips
from conformance.sql_world import policy_of, world
from tacit.accounting import pure_rho
from tacit.core import ApproximateEvent, LaplaceEvent, Loss
from tacit.curator import Session
from tacit.curator.measuring import measure as measuring
from tacit.errors import AnswerWithheld, BudgetExceeded, PolicyError, QueryRefused
from tacit.policy import BudgetPolicy, ColumnPolicy, TablePolicy, ViewPolicy, check_policy, parse_policy, policy_text
from tacit.sql.planning import stability
from tacit.sql.relations.joining.two_owners import PairFacts

ANA = Session("ana")
DELTA = Fraction(1, 10**6)
BUDGET = BudgetPolicy(1000, Fraction(1, 10), default_delta=DELTA)
FEW = [f"('p{each}', 'q{each}', {each}, {each % 9}, 'a')" for each in range(300)]
HUBS = [f"('h{hub}', 'p{each}', {each}, 1, 'b')" for hub in range(200) for each in range(hub, hub + 80)]


def world_of(*rows: str, budget: BudgetPolicy = BUDGET, **more):
    return world(trips(budget=budget, **more), CREATED, f"INSERT INTO trips VALUES {', '.join(rows)}")


@pytest.fixture
def few(tmp_path):
    """A curator over people with one partner each."""
    return world_of(*FEW).curator(tmp_path)


@pytest.fixture
def many(tmp_path):
    """A curator over two hundred hubs: the test fails but once in 10^30 times."""
    return world_of(*HUBS).curator(tmp_path)


def spent(curator) -> Fraction:
    return sum((entry.epsilon for entry in curator._ledger.entries(limit=1_000) if entry.act == "charge"), Fraction(0))


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def answered(curator, text):
    """An answer: one in a hundred is withheld by chance, six of six once in 10^12 times."""
    for _ in range(6):
        try:
            return curator.ask(text, session=ANA)
        except AnswerWithheld:
            continue
    raise AssertionError("six answers in a row were withheld")


def test_a_second_ask_is_free(few):
    first = answered(few, "DP-SELECT 3 town, COUNT(*), AVG(fare) FROM trips GROUP BY town")
    before = spent(few)
    again = few.ask("DP-SELECT 3 town, COUNT(*), AVG(fare) FROM trips GROUP BY town", session=ANA)
    assert again.rows == first.rows
    assert spent(few) == before


def test_an_answer_of_another_price_is_another_answer(few):
    """Its pairs are others, and its test was another: what is kept of one serves the other in nothing."""
    plans = [few.prepare(f"DP-SELECT {price} COUNT(*) FROM trips", session=ANA) for price in ("3", "3.001")]
    assert plans[0].pieces[0].plan.key != plans[1].pieces[0].plan.key
    assert plans[0].pieces[0].plan.family != plans[1].pieces[0].plan.family


def test_an_answer_is_about_right(few):
    (row,) = answered(few, "DP-SELECT 900 COUNT(*), SUM(fare), MEDIAN(fare) FROM trips").rows
    assert abs(row[0] - 300) <= 30
    assert abs(row[1] - sum(each % 9 for each in range(300))) <= 300


def test_the_answer_says_what_was_tested_and_explain_what_it_costs(few):
    found = answered(few, "DP-SELECT 3 COUNT(*) FROM trips")
    assert any("two owners" in note and "δ = 0.000001" in note for note in found.notes)
    assert "rider or driver" in str(found)
    shown = few.explain("DP-SELECT 3 COUNT(*) FROM trips", session=ANA)
    test = planned(trips(), "DP-SELECT 3 COUNT(*) FROM trips").test
    assert shown.test is not None
    assert f"noisy f ≤ {test.most}" in shown.test
    assert f"at most {test.rows:,} rows" in shown.text()
    assert shown.to_dict()["test"] == shown.test
    assert "COUNT(*) AS f" in shown.text(sql=True)


def test_a_public_table_may_be_joined(tmp_path):
    towns = TablePolicy("towns", public=True)
    made = world(
        trips(budget=BUDGET, others=[towns]),
        CREATED,
        f"INSERT INTO trips VALUES {', '.join(FEW)}",
        "CREATE TABLE towns AS SELECT 'a' AS town, 'west' AS part UNION ALL SELECT 'b', 'east'",
    )
    text = "DP-SELECT 900 part, COUNT(*) FROM trips JOIN towns USING (town) GROUP BY part ORDER BY part"
    rows = answered(made.curator(tmp_path), text).rows
    assert [row[0] for row in rows] == ["east", "west"]
    assert abs(rows[1][1] - 300) <= 30


# ── what is withheld ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_where_many_have_many_partners_the_answer_is_withheld_and_charged(many):
    with overheard() as heard, pytest.raises(AnswerWithheld, match="withheld") as caught:
        many.ask("DP-SELECT 3 town, COUNT(*), SUM(fare) FROM trips GROUP BY town", session=ANA)
    (paid,) = heard
    test = planned(trips(), "DP-SELECT 3 town, COUNT(*), SUM(fare) FROM trips GROUP BY town").test
    assert paid.drawn == [test.noise]  # and nothing else: no noise of an answer that does not leave
    assert spent(many) == 3
    assert "max_partners" in caught.value.hint
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_what_is_withheld_says_the_same_whatever_the_data_hold(many, tmp_path):
    (tmp_path / "others").mkdir()
    others = world_of(*HUBS, *FEW).curator(tmp_path / "others")
    said = set()
    for curator in (many, others):
        with pytest.raises(AnswerWithheld) as caught:
            curator.ask("DP-SELECT 3 COUNT(*) FROM trips", session=ANA)
        said.add((caught.value.message, caught.value.hint))
    assert len(said) == 1


def test_hubs_that_the_policy_allows_for_are_no_reason(tmp_path):
    curator = world_of(*HUBS[:800], max_hubs=90).curator(tmp_path)  # ten of them, and the ninety they share
    answered(curator, "DP-SELECT 3 COUNT(*) FROM trips")


def test_a_test_that_is_skipped_or_comes_late_is_noticed(many, monkeypatch):
    """The broken twins of the two tests above: an answer leaves, or its noise was drawn before the test."""
    monkeypatch.setattr(measuring, "check_stability", lambda *_, **__: None)
    many.ask("DP-SELECT 3 FRESH COUNT(*) FROM trips", session=ANA)
    monkeypatch.undo()
    whole = measuring.measure

    def late(plan, exact, **more):
        found = whole(replace(plan, test=None), exact[:-1], **more)
        measuring.check_stability(plan.test, exact[-1], source=more["source"])
        return found

    monkeypatch.setattr("tacit.curator.reading.measure", late)
    with overheard() as heard, pytest.raises(AnswerWithheld):
        many.ask("DP-SELECT 3 FRESH COUNT(*) FROM trips", session=ANA)
    assert len(heard[0].drawn) > 1


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "1", "7", "80"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-6", "0.01", "0.4", "0.6"])
def test_the_tests_errors_are_as_rare_as_it_claims(epsilon, delta):
    """P(noise ≤ −τ) = q^τ / (1 + q) is at most δ, and P(noise > a) = q^(a + 1) / (1 + q) at most one in a hundred."""
    test, left = stability.test_of(_facts(hubs=2), Loss(Fraction(epsilon), Fraction(delta)), delta=Fraction(delta))
    q = (-Decimal(test.epsilon.numerator) / Decimal(test.epsilon.denominator)).exp()
    assert q ** (test.hubs - test.most) / (1 + q) <= Decimal(delta)
    assert q ** (test.most - 2 + 1) / (1 + q) <= Decimal("0.01")
    assert test.epsilon + left.epsilon == Fraction(epsilon)
    assert test.partners == 5 + test.hubs
    assert test.rows == 3 * (5 + 2 * test.hubs)


def _facts(*, hubs: int = 0, few: int = 5, rows: int = 3):
    pairs = exp.select(*(exp.column(name, quoted=True) for name in (" u", " a", " b"))).from_("t")
    return PairFacts("trips", ("rider", "driver"), rows, few, hubs, pairs)


def test_no_other_split_of_the_price_has_a_smaller_error(monkeypatch):
    made = planned(trips(max_rows=3, max_partners=20), "DP-SELECT 1 COUNT(*) FROM trips")
    (best,) = made.measurements
    for share in range(1, 40):
        monkeypatch.setattr(stability, "_SHARES", (Fraction(share, 40),))
        (other,) = planned(trips(max_rows=3, max_partners=20), "DP-SELECT 1 COUNT(*) FROM trips").measurements
        assert other.noise.scale >= best.noise.scale


def test_every_measurement_moves_by_r_rows():
    text = "DP-SELECT 2 town, COUNT(*), SUM(fare), MEDIAN(fare) FROM trips GROUP BY town"
    made = planned(trips(max_rows=3, max_partners=20), text)
    rows = made.test.rows
    assert rows == 3 * (20 + 2 * made.test.hubs)
    assert [m.l1 for m in made.measurements] == [rows, 9 * rows, rows]
    assert [m.in_group for m in made.measurements] == [rows, 9 * rows, rows]
    assert all(m.l2 == m.l1 for m in made.measurements)


@pytest.mark.parametrize("accounting", ["approximate", "zcdp"])
def test_the_events_are_the_tests_and_the_measurements(accounting):
    budget = BudgetPolicy(10, Fraction(1, 10), accounting=accounting)
    made = planned(trips(budget=budget), "DP-SELECT 1 COUNT(*), SUM(fare) FROM trips")
    parts = [event for event, _ in made.event.parts]
    gaussian = accounting == "zcdp"
    delta = DELTA / 2 if gaussian else DELTA
    assert parts[-2:] == [LaplaceEvent(made.test.epsilon), ApproximateEvent(Loss(0, delta))]
    assert len(parts) == 4
    if not gaussian:
        assert sum(event.epsilon for event in parts[:3]) == 1


def test_what_is_charged_under_zcdp_is_the_tests_rho_and_delta(tmp_path):
    curator = world_of(*FEW, budget=BudgetPolicy(100, Fraction(1, 10), accounting="zcdp")).curator(tmp_path)
    with overheard() as heard:
        answered(curator, "DP-SELECT 1 DELTA 1e-6 COUNT(*) FROM trips")
    test, noise = heard[-1].drawn
    made = curator.prepare("DP-SELECT 1 DELTA 1e-6 COUNT(*) FROM trips", session=ANA).pieces[0].plan
    rho = pure_rho(1 / test.scale) + Fraction(made.test.rows) ** 2 / (2 * noise.sigma**2)
    assert (heard[-1].charge.zcdp.rho, heard[-1].charge.zcdp.delta) == (rho, DELTA / 2)


def test_conditions_know_nothing_of_the_graph_and_the_graph_nothing_of_them():
    """Where a person's partners were counted among the rows of one question alone, each question had its own graph."""
    texts = ["COUNT(*) FROM trips", "COUNT(*) FROM trips WHERE fare > 3", "town, SUM(fare) FROM trips GROUP BY town"]
    tests = {planned(trips(), f"DP-SELECT 1 {text}").test.statement.canonical for text in texts}
    assert len(tests) == 1
    assert "fare" not in tests.pop()
    rows = [("hub", f"p{each}", each) for each in range(12)]
    with duckdb.connect() as connection:
        filled(connection.execute(CREATED), rows)
        texts = ["n, COUNT(*) FROM trips GROUP BY n", "n, COUNT(*) FROM trips WHERE fare = 0 GROUP BY n"]
        every, some = (kept(connection, counting(trips(), f"DP-SELECT 1 {text}", partners=3)) for text in texts)
    assert len(every) == 3
    assert some == {number for number in every if number % 3 == 0}


# ── identifiers ──────────────────────────────────────────────────────────────────────────────────────────────────────

ODD = [
    "",
    " ",
    "1:",
    "1:a",
    "a",
    "A",
    "'",
    '"',
    "é",
    "e\u0301",
    "\U0001f600",
    "0",
    "null",
    "x" * 3000,
    "%",
    "\\",
    "a\nb",
]


def test_odd_identifiers_are_told_apart_and_pairs_of_them_too():
    rows = [(first, second, 0) for first in ODD for second in ODD]
    with duckdb.connect() as connection:
        filled(connection.execute(CREATED), rows)
        (found,) = connection.execute(
            planned(trips(max_partners=1), "DP-SELECT 1 COUNT(*) FROM trips").test.statement.sql("duckdb")
        ).fetchone()
        assert found == distance(rows, 1)
        sql = counting(trips(max_rows=1), "DP-SELECT 1 COUNT(*) FROM trips", partners=len(ODD))
        assert connection.execute(sql).fetchone() == (len(ODD) * (len(ODD) + 1) // 2,)


def test_spellings_that_the_policy_calls_one_are_one_person_at_both_ends():
    rows = [("Ann ", "bob", 0), ("BOB", "ann", 1), (" ann", " Ann", 2), ("cy", None, 3), (None, None, 4)]
    with duckdb.connect() as connection:
        filled(connection.execute(CREATED), rows)
        sql = counting(trips(max_rows=1, unit_form="trim-lower"), "DP-SELECT 1 COUNT(*) FROM trips", partners=9)
        assert connection.execute(sql).fetchone() == (2,)  # of ann and bob one row, and one of ann alone
        assert "LOWER(TRIM" in sql


@pytest.mark.parametrize(
    ("types", "fits"),
    [
        (("VARCHAR", "VARCHAR"), True),
        (("BIGINT", "INTEGER"), True),
        (("UUID", "VARCHAR"), True),
        (("VARCHAR", "BIGINT"), False),
        (("DOUBLE", "DOUBLE"), False),
        (("DATE", "DATE"), False),
    ],
)
def test_both_ends_must_be_identifiers_of_one_kind(types, fits):
    schema = {"trips": {"rider": types[0], "driver": types[1], "n": "BIGINT", "fare": "BIGINT", "town": "VARCHAR"}}
    found = [finding for finding in check_policy(trips(), schema) if "units" in finding.path]
    if fits:
        planned(trips(), "DP-SELECT 1 COUNT(*) FROM trips", schema=schema)
        assert not found
    else:
        assert "cannot be held against each other" in found[0].reason
        with pytest.raises(QueryRefused, match="cannot be held against each other"):
            planned(trips(), "DP-SELECT 1 COUNT(*) FROM trips", schema=schema)


@pytest.mark.parametrize(
    "names", [("u", "r"), ("select", "a or b"), (" a"[1:], "b.c"), ("Rider", "RIDER2"), ("k0", "m0")]
)
def test_hostile_names_of_both_ends_are_only_names(names, tmp_path):
    table = TablePolicy("t", units=names, max_rows=1, max_partners=1, columns=[ColumnPolicy("u1", domain=["x"])])
    made = world(
        policy_of([table], budget=BUDGET),
        f'CREATE TABLE t ("{names[0]}" BIGINT, "{names[1]}" BIGINT, u1 VARCHAR)',
        "INSERT INTO t SELECT i, -i - 1, 'x' FROM range(200) AS made(i)",
    )
    (row,) = answered(made.curator(tmp_path), "DP-SELECT 900 u1, COUNT(*) FROM t GROUP BY u1").rows
    assert abs(row[1] - 200) <= 30


# ── what is refused ──────────────────────────────────────────────────────────────────────────────────────────────────

REFUSED = [
    "COUNT(DISTINCT rider) FROM trips",
    "COUNT(DISTINCT fare) FROM trips",
    "rider, COUNT(*) FROM trips GROUP BY rider",
    "COUNT(*) FROM trips WHERE driver = 'p1'",
    "COUNT(rider) FROM trips",
    "COUNT(*) FROM trips t WHERE t.driver IS NULL",
    "fare, COUNT(*) FROM trips GROUP BY fare",
    "MODE(town) FROM trips",
    "TOP_K(town, 1) FROM trips",
    "HISTOGRAM(town) FROM trips",
    "town, COUNT(*) FROM trips GROUP BY ROLLUP (town)",
    "town, COUNT(*) FROM trips GROUP BY GROUPING SETS ((town), ())",
    "COUNT(*) FROM (SELECT fare FROM trips)",
    "COUNT(*) FROM (SELECT rider, MAX(fare) AS f FROM trips GROUP BY rider) WHERE f > 1",
    "COUNT(*) FROM trips a JOIN trips b ON a.n = b.n",
    "COUNT(*) FROM trips JOIN people ON rider = id",
    "COUNT(*) FROM people JOIN trips ON driver = id",
    "COUNT(*) FROM people WHERE id IN (SELECT rider FROM trips)",
    "COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM trips WHERE rider = id)",
    "COUNT(*) FROM people WHERE age > (SELECT MAX(fare) FROM trips WHERE rider = id)",
    "COUNT(*) FROM trips WHERE rider IN (SELECT id FROM people)",
    "COUNT(*) FROM seen",
    "SUM(s) FROM (SELECT SUM(fare) OVER (PARTITION BY rider) AS s FROM trips)",
    "COUNT(*) FROM (SELECT id FROM people UNION ALL SELECT rider FROM trips)",
    "(SELECT COUNT(*) FROM trips) + (SELECT COUNT(*) FROM people)",
]


@pytest.fixture
def town(tmp_path):
    """A curator over trips beside people of whom each has one row, and a view over trips."""
    people = TablePolicy(
        "people", "id", max_rows=1, max_groups=1, columns=[ColumnPolicy("age", lower=0, upper=99, step=1)]
    )
    policy = policy_of(
        [*trips(budget=BUDGET).tables, people], budget=BUDGET, views=[ViewPolicy("seen", "SELECT fare FROM trips")]
    )
    return world(
        policy,
        CREATED,
        f"INSERT INTO trips VALUES {', '.join(FEW)}",
        "CREATE TABLE people AS SELECT 'p' || i AS id, i AS age FROM range(90) AS made(i)",
    ).curator(tmp_path)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_bounded_by_pairs_is_refused_in_words_before_any_charge(town, text):
    with pytest.raises(QueryRefused, match="two owners"):
        town.ask(f"DP-SELECT 1 {text}", session=ANA)
    assert spent(town) == 0


@pytest.mark.parametrize("options", ["WITHIN 10", "WITHIN 10%", "1 WITH BIAS"])
def test_a_price_that_is_found_and_a_bias_are_refused(town, options):
    with pytest.raises(QueryRefused, match="two owners"):
        town.ask(f"DP-SELECT {options} COUNT(*) FROM trips", session=ANA)
    assert spent(town) == 0


def test_a_batch_is_refused(town):
    for questions in (["SELECT COUNT(*) FROM trips"], ["SELECT COUNT(*) FROM people", "SELECT COUNT(*) FROM trips"]):
        with pytest.raises(QueryRefused, match="two owners"):
            town.batch(questions, session=ANA, epsilon=1)
    assert spent(town) == 0


def test_other_tables_are_asked_as_ever(town):
    (row,) = town.ask("DP-SELECT 50 COUNT(DISTINCT id) FROM people", session=ANA).rows
    assert abs(row[0] - 90) <= 2


def test_without_a_delta_nothing_is_asked(tmp_path):
    curator = world_of(*FEW, budget=BudgetPolicy(10, Fraction(1, 10))).curator(tmp_path)
    with pytest.raises(QueryRefused, match="need a delta"):
        curator.ask("DP-SELECT 1 COUNT(*) FROM trips", session=ANA)
    assert spent(curator) == 0


def test_what_the_budget_does_not_cover_is_not_read(tmp_path):
    curator = world_of(*FEW, budget=BudgetPolicy(1, DELTA / 2, default_delta=DELTA / 2)).curator(tmp_path)
    with pytest.raises(BudgetExceeded):
        curator.ask("DP-SELECT 1 DELTA 1e-6 COUNT(*) FROM trips", session=ANA)


# ── the policy ───────────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = """
[dataset]
name = "d"
source = "d.duckdb"
[budget]
epsilon = 1
delta = 1e-6
[tables.trips]
units = ["rider", "driver"]
max_rows = 2
max_partners = 30
max_hubs = 3
"""


def test_a_policy_with_two_owners_is_written_as_it_was_read():
    policy = parse_policy(TEXT)
    (table,) = policy.tables
    assert (table.units, table.max_rows, table.max_partners, table.max_hubs) == (("rider", "driver"), 2, 30, 3)
    assert parse_policy(policy_text(policy)).version == policy.version
    assert parse_policy(TEXT.replace("= 30", "= 31")).version != policy.version
    assert str(policy.unit_of("trips")) == "one rider or driver (add/remove)"


def test_replacing_a_person_is_refused():
    with pytest.raises(PolicyError, match="only adding or removing one is bounded"):
        parse_policy(TEXT.replace('source = "d.duckdb"', 'source = "d.duckdb"\nadjacency = "replace"'))


def test_no_table_links_to_rows_with_two_owners():
    with pytest.raises(PolicyError, match="whose rows have two owners"):
        parse_policy(TEXT + '[tables.stops]\nunit = "trip -> trips.id"\n')


def test_whoever_asks_for_the_one_owner_is_refused():
    (table,) = parse_policy(TEXT).tables
    with pytest.raises(QueryRefused, match="two owners"):
        _ = table.unit_column
    assert table.is_unit("RIDER")
    assert table.is_unit("driver")
    assert not table.is_unit("fare")


def test_check_warns_of_a_third_owner_alone():
    schema = {"trips": {"rider": "VARCHAR", "driver": "VARCHAR", "passenger": "VARCHAR", "fare": "BIGINT"}}
    found = [finding for finding in check_policy(parse_policy(TEXT), schema) if "is not hidden" in finding.reason]
    assert [finding.path[-1] for finding in found] == ["passenger"]
    one = parse_policy(TEXT.replace('units = ["rider", "driver"]', 'unit = "rider"').split("max_partners")[0])
    found = [finding for finding in check_policy(one, schema) if "is not hidden" in finding.reason]
    assert {finding.path[-1] for finding in found} == {"driver", "passenger"}


def test_a_budget_without_delta_is_warned_of():
    found = check_policy(
        parse_policy(TEXT.replace("delta = 1e-6\n", "")), {"trips": {"rider": "TEXT", "driver": "TEXT"}}
    )
    assert any("need a delta" in finding.reason for finding in found)


def test_the_error_has_a_name_at_the_door():
    assert issubclass(tacit.AnswerWithheld, tacit.TacitError)
    assert not issubclass(tacit.AnswerWithheld, tacit.QueryRefused)  # which are free
