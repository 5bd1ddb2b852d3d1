"""TPC-H with customers hidden: taking one out moves no exact number farther than the plan of its question says."""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp

import tacit
from conformance import sql_questions_relational as relational
from conformance.sql_forms_relational import FORMS, GROUPED, priced
from conformance.sql_sensitivity import Violation
from conformance.sql_sensitivity_relational import Database, check, check_others, database
from e2e.tpch_queries import RUNNING, Query
from support import tpch
from tacit.policy import Policy, Schema, TablePolicy, parse_policy
from tacit.sql.planning import bounding, planner
from tacit.sql.planning.bounding import Sensitivity
from tacit.sql.relations.correlating import correlated
from tacit.sql.relations.joining import joins, parts

BITING = tpch.Caps(orders=(3, 2), lines=(6, 3))
CUSTOMERS = (1, 2, 3, 4, 5, 7, 11, 22, 24, 27, 1000)  # heavy, sharing orders, without any, with orders alone
running = pytest.mark.parametrize("query", RUNNING, ids=lambda query: f"q{query.number:02}")

MORE = """
DP-SELECT 1 COUNT(*) FROM orders a JOIN orders b ON a.o_orderkey = b.o_orderkey AND a.o_totalprice < b.o_totalprice;

DP-SELECT 1 o_orderpriority, COUNT(*) FROM orders
WHERE o_orderkey IN (SELECT o_orderkey FROM orders WHERE o_totalprice > 10) GROUP BY o_orderpriority;

DP-SELECT 1 AVG(q) FROM (
    SELECT o_custkey, SUM(l_quantity) AS q FROM orders JOIN lineitem ON o_orderkey = l_orderkey
    GROUP BY o_custkey HAVING COUNT(*) > 2) AS t;

DP-SELECT 1 SUM(p) FROM (SELECT o_totalprice AS p FROM orders UNION ALL SELECT c_acctbal AS p FROM customer) AS t;

DP-SELECT 1 c_mktsegment, COUNT(*), COUNT(o_totalprice)
FROM customer FULL JOIN orders ON c_custkey = o_custkey GROUP BY c_mktsegment;

DP-SELECT 1 DELTA 1e-7 l_suppkey, COUNT(DISTINCT o_custkey), SUM(l_quantity)
FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY l_suppkey;

DP-SELECT 1 a.o_orderpriority, COUNT(*)
FROM orders a JOIN orders b ON a.o_orderkey = b.o_orderkey WHERE b.o_totalprice < 1000 GROUP BY a.o_orderpriority;

DP-SELECT 1 MEDIAN(l_quantity) FROM lineitem JOIN part ON l_partkey = p_partkey WHERE p_size > 2;

DP-SELECT 1 r_name, COUNT(*)
FROM (SELECT DISTINCT l_orderkey, l_suppkey FROM lineitem) AS t JOIN supplier ON l_suppkey = s_suppkey
    JOIN nation ON s_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
GROUP BY r_name
""".strip().split(";\n\n")
MORE += [priced(text) for text in (*FORMS, *GROUPED)]


def _odd(policy: str, *, size: tpch.Size = tpch.TINY) -> Database:
    """Few customers, some with far more than counts, and data that keep none of the keys' promises."""

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        tpch.fill(connection, size)
        for statement in tpch.ODD:
            connection.execute(statement)

    return database(parse_policy(policy), fill, owned=tpch.owned())


@pytest.fixture(scope="module")
def odd() -> Database:
    return _odd(tpch.policy(BITING))


@pytest.fixture(scope="module")
def whole() -> Database:
    policy = parse_policy(tpch.policy())
    return database(policy, lambda connection: tpch.fill(connection, tpch.scale(0.01)), owned=tpch.owned())


@pytest.fixture(scope="module")
def spelled() -> Database:
    """Customers whose identifiers are typed by hand, and so in many ways."""

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        tpch.fill(connection, tpch.TINY)
        for statement in (*tpch.ODD, *tpch.SPELLED):
            connection.execute(statement)

    text = tpch.policy(BITING).replace('unit = "c_custkey"', 'unit = "c_custkey"\nunit_form = "trim-lower"')
    number = "TRY_CAST(substr(lower(trim({})), 2) AS BIGINT)"
    return database(parse_policy(text), fill, owned=tpch.owned(number))


@running
def test_one_customer_moves_no_measurement_farther_than_its_plan_says(query: Query, odd: Database) -> None:
    assert check(odd.world.plan(str(query.runs)), odd, units=CUSTOMERS) > 0
    check_others(odd.world.bound(str(query.runs)), odd, units=CUSTOMERS[:2])


@pytest.mark.parametrize("text", MORE, ids=range(len(MORE)))
def test_nor_do_they_in_questions_of_other_shapes(text: str, odd: Database) -> None:
    assert check(odd.world.plan(text), odd, units=CUSTOMERS) > 0


@running
def test_nor_at_scale(query: Query, whole: Database) -> None:
    """The two customers with most orders, and one without any."""
    heaviest = "SELECT o_custkey FROM orders GROUP BY o_custkey ORDER BY count(*) DESC, o_custkey LIMIT 2"
    check(whole.world.plan(str(query.runs)), whole, units=[*whole.units(heaviest), 3])


@pytest.mark.parametrize("text", ["DP-SELECT 1 COUNT(*), COUNT(DISTINCT o_custkey) FROM orders", *MORE[1:5]])
def test_nor_does_one_with_many_spellings(text: str, spelled: Database) -> None:
    assert check(spelled.world.plan(text), spelled, units=CUSTOMERS[:5]) > 0


def _asked_at_random(seed: int, *, questions: int) -> None:
    """Random questions, and customers with many orders, few, none, and no row of their own."""
    over = _odd(tpch.policy(BITING), size=tpch.Size(24, 160, parts=30, suppliers=12, variety=2, heavy=3))
    tried = moved = 0
    for place in range(seed, seed + questions):
        asked = relational.question(relational.Rng(place))
        try:
            made = over.world.plan(asked)
        except tacit.TacitError:
            continue
        try:
            moved += check(made, over, units=(1, 2, 3, 4, 9, 1000)) > 0
            check_others(over.world.bound(asked), over, units=(1, 2, 4))
        except Violation as violation:
            raise Violation(f"{violation}\n  seed {place}: {asked}") from None
        tried += 1
    assert moved > questions / 2  # and so are most of them answered
    assert tried < questions  # while some would count pairs of customers


def test_nor_in_questions_at_random() -> None:
    _asked_at_random(1, questions=24)


@pytest.mark.heavy
def test_nor_in_many_questions_at_random() -> None:
    _asked_at_random(1_001, questions=100)


@pytest.mark.heavy
@pytest.mark.parametrize("bounding", ["sample", "weigh"])
@pytest.mark.parametrize("delta", ["", "DELTA 1e-7 "])
def test_nor_does_anybody_however_heavy_customers_are_bounded(bounding: str, delta: str) -> None:
    text = tpch.policy(BITING).replace("max_groups = 3", f'max_groups = 3\nbounding = "{bounding}"')
    over = _odd(text.replace("max_groups = 2", f'max_groups = 2\nbounding = "{bounding}"'))
    everybody = over.units("SELECT c_custkey FROM customer WHERE c_custkey > 0 UNION SELECT 1002 ORDER BY 1")
    checked = 0
    for question in (*MORE, *(str(query.runs) for query in RUNNING)):
        priced = question if "DELTA" in question else question.replace("DP-SELECT 1 ", f"DP-SELECT 100 {delta}")
        try:
            made = over.world.plan(priced)
        except tacit.InvalidParameter:  # Gaussian noise on a fine grid may be too wide for whole numbers: refused
            continue
        check(made, over, units=everybody[::3])
        checked += 1
    assert checked > 20


# ── the check has power ──────────────────────────────────────────────────────────────────────────────────────────────


def keys_believed(patch: pytest.MonkeyPatch) -> None:
    """Equal keys are taken to mean equal owners."""
    right = joins.Same.sql
    patch.setattr(joins.Same, "sql", lambda same, owner: right(same, owner)[:1])


def membership_across_units(patch: pytest.MonkeyPatch) -> None:
    """A subquery in a condition is tied to the row outside by its keys alone."""
    right = correlated.Correlated._same_owner
    patch.setattr(correlated.Correlated, "_same_owner", lambda inner, part: right(inner, part)[:-1])


def every_order_a_unit(patch: pytest.MonkeyPatch) -> None:
    """Line items are taken to belong to their order, and links are not followed."""

    def not_followed(selected: exp.Select, policy: Policy, *, table: TablePolicy, schema: Schema) -> object:
        return parts._of("t", table.unit_column or ""), selected

    patch.setattr(parts, "_followed", not_followed)


def half_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    def halved(*args: object, **named: object) -> Sensitivity:
        full = bounding.sensitivity_of(*args, **named)  # type: ignore[arg-type]  # as it is called
        return Sensitivity(max(1, full.in_group // 2), max(1, full.l1 // 2), full.l2 / 2)

    patch.setattr(planner, "sensitivity_of", halved)


UNEQUAL = """
DP-SELECT 1 COUNT(*) FROM customer a CROSS JOIN customer b
LEFT JOIN orders d ON d.o_custkey = a.c_custkey AND d.o_custkey = b.c_custkey WHERE b.c_acctbal < -900
"""


def test_an_outer_join_does_not_make_one_owner_of_two(odd: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps the pairs that its condition would have told apart; were they counted, one customer would move all."""
    with pytest.raises(tacit.QueryRefused, match=r"two units: to a\.c_custkey, and to b\.c_custkey"):
        odd.world.plan(UNEQUAL)
    right = joins.Joins._on
    monkeypatch.setattr(joins.Joins, "_on", lambda self, join, place, *, outer: right(self, join, place, outer=False))
    with pytest.raises(Violation, match="COUNT"):
        check(odd.world.plan(UNEQUAL), odd, units=CUSTOMERS)
    unfiltered = UNEQUAL.split("WHERE", maxsplit=1)[
        0
    ]  # so many pairs that every cap is reached, with and without one customer
    check(odd.world.plan(unfiltered), odd, units=CUSTOMERS)
    with pytest.raises(Violation, match="units change"):
        check_others(odd.world.bound(unfiltered), odd, units=CUSTOMERS)


STRANGERS = (
    "DP-SELECT 1 COUNT(*) FROM customer c WHERE EXISTS (SELECT 1 FROM lineitem l WHERE l.l_orderkey = c.c_custkey)"
)


def test_a_key_of_something_else_says_nothing_of_the_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line items that are held to an order need no look-up; held to a customer's number they are anybody's."""
    policy = parse_policy(tpch.policy())
    plain = database(policy, lambda connection: tpch.fill(connection, tpch.TINY), owned=tpch.owned())
    with pytest.raises(tacit.QueryRefused, match="different keys"):
        plain.world.plan(STRANGERS)

    def believed(inner: correlated.Correlated, part: parts.NamedTable) -> list[exp.Expression]:
        assert part.tied
        relation = inner.asker.relation
        (name, (outside, _)) = inner.ties[0]
        inside = correlated._of(parts.key_column(name))
        return [exp.EQ(this=inside, expression=correlated._outside(relation.held(outside)))]

    monkeypatch.setattr(correlated.Correlated, "_same_owner", believed)
    monkeypatch.setattr(correlated.Correlated, "_keys_held", lambda inner: [name for name, _ in inner.ties])
    with pytest.raises(Violation, match="without"):
        check(plain.world.plan(STRANGERS), plain, units=range(1, tpch.TINY.customers + 1))


PLANTED = (keys_believed, membership_across_units, every_order_a_unit, half_the_sensitivity)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.__name__)
def test_a_planted_wrong_join_is_caught(planted, odd: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def all_checked() -> None:
        for question in (*MORE, *(str(query.runs) for query in RUNNING)):
            check(odd.world.plan(question), odd, units=CUSTOMERS)

    planted(monkeypatch)
    with pytest.raises(Violation, match="without"):
        all_checked()
