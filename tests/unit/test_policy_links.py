"""Links: whose rows are whose, said once in the policy and checked before anything is asked."""

from __future__ import annotations

import duckdb
import pytest

from tacit.engines import dummy_engine, open_engine, shared_keys
from tacit.errors import PolicyError
from tacit.faces.owner.examining import _views
from tacit.policy import (
    TablePolicy,
    ViewPolicy,
    check_policy,
    key_of,
    lookups,
    owner_of,
    parse_policy,
    policy_text,
    root_of,
)

HEAD = '[dataset]\nname = "d"\nsource = "d.duckdb"\n[budget]\nepsilon = 1\n'
CHAIN = """
[tables.people]
unit = "id"
[tables.orders]
unit = "person -> people.id"
max_rows = 3
[tables.items]
unit = "order_id → orders.id"
[tables.places]
public = true
"""
SCHEMA = {
    "people": {"id": "INTEGER"},
    "orders": {"id": "INTEGER", "person": "INTEGER"},
    "items": {"order_id": "INTEGER"},
    "places": {"name": "VARCHAR"},
}


def declared(text, **keys):
    return parse_policy(HEAD + text, **keys)


def test_links_are_followed_to_the_table_that_names_the_unit():
    policy = declared(CHAIN)
    people, orders, items, places = policy.tables
    assert [root_of(policy.tables, table).name for table in (people, orders, items)] == ["people"] * 3
    assert {str(owner_of(policy.tables, table)) for table in (people, orders, items)} == {"people.id"}
    assert owner_of(policy.tables, places) is None
    assert [len(lookups(policy.tables, table)) for table in (people, orders, items)] == [0, 0, 1]


def test_two_columns_are_keys_of_the_same_thing_only_where_a_link_says_so():
    policy = declared(CHAIN)
    people, orders, items, _ = policy.tables
    key = lambda table, column: str(key_of(policy.tables, table, column=column))  # noqa: E731 - a short name
    assert key(orders, "person") == key(people, "id") == "people.id"
    assert key(items, "order_id") == key(orders, "id") == "orders.id"
    assert key(orders, "id") != key(people, "id")
    assert key(people, "name") == "None"


def test_either_arrow_reads_and_writes_back_the_same():
    assert TablePolicy("a", "x->b.y").unit == TablePolicy("a", "x  →  b.y").unit == "x -> b.y"
    assert TablePolicy("a", "x -> b.y").unit_column == "x"
    assert declared(CHAIN).version == declared(CHAIN.replace("→", "->")).version


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("person -> nowhere.id", "no table here"),
        ("person -> places.name", "which is public"),
        ("person -> rows.id", 'where unit = "row"'),
        ("person -> orders.id", "round in a circle"),
        ("person -> people", "is not a link"),
        ("a -> b.c -> d.e", "is not a link"),
    ],
)
def test_a_link_that_leads_nowhere_is_refused_with_its_line(unit, words):
    text = CHAIN.replace("person -> people.id", unit) + '[tables.rows]\nunit = "row"\n'
    with pytest.raises(PolicyError) as caught:
        declared(text, name="tacit.toml")
    assert words in caught.value.message
    assert "tacit.toml:10" in caught.value.message


@pytest.mark.parametrize("line", ['null_unit = "one"', 'unit_form = "lower"'])
def test_a_linked_table_takes_the_unit_as_its_root_declares_it(line):
    with pytest.raises(PolicyError):
        declared(CHAIN.replace("max_rows = 3", line))


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("UHUGEINT", "BIGINT", True),
        ("DECIMAL(20,0)", "DECIMAL(22,2)", True),
        ("DECIMAL(20,0)", "DOUBLE", True),
        ("TIMESTAMP", "TIMESTAMP_NS", True),
        ("UHUGEINT", "UHUGEINT", False),
        ("DECIMAL(20,0)", "DECIMAL(20,0)", False),
        ("INTEGER", "UBIGINT", False),
        ("UUID", "VARCHAR", False),
    ],
)
def test_keys_that_would_be_rounded_to_be_compared_are_refused(one, other, differ):
    schema = {**SCHEMA, "items": {"order_id": one}, "orders": {**SCHEMA["orders"], "id": other}}
    found = [str(finding) for finding in check_policy(declared(CHAIN), schema) if str(finding.level) == "error"]
    assert any("two people could become one" in each for each in found) is differ


def test_keys_of_different_types_are_found_before_a_question_is():
    schema = {**SCHEMA, "items": {"order_id": "VARCHAR"}}
    found = [finding for finding in check_policy(declared(CHAIN), schema) if str(finding.level) == "error"]
    assert ["they differ in type" in finding.message for finding in found] == [True]
    missing = {**SCHEMA, "orders": {"person": "INTEGER", "ident": "INTEGER"}}
    found = [finding for finding in check_policy(declared(CHAIN), missing) if str(finding.level) == "error"]
    assert ["the source has not" in finding.message for finding in found] == [True]


@pytest.mark.parametrize(("rows", "shared"), [("(1, 7), (2, 8), (2, 8)", False), ("(1, 7), (2, 8), (2, 9)", True)])
def test_a_key_that_two_owners_share_is_found_by_the_curator(tmp_path, rows, shared):
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT 7 AS id; CREATE TABLE places AS SELECT 'x' AS name")
        connection.execute("CREATE TABLE orders (id INTEGER, person INTEGER); CREATE TABLE items (order_id INTEGER)")
        connection.execute(f"INSERT INTO orders VALUES {rows}")
    policy = parse_policy(HEAD + CHAIN, base=tmp_path)
    engine = open_engine(policy)
    assert shared_keys(engine, policy) == ((("items", "orders.id"),) if shared else ())
    engine.close()


def test_dummy_tables_meet_where_their_links_say():
    engine = dummy_engine(declared(CHAIN), SCHEMA, rows=500)
    met = engine.execute("SELECT CAST(COUNT(*) AS BIGINT) AS n FROM items JOIN orders ON order_id = orders.id")
    owned = engine.execute("SELECT CAST(COUNT(*) AS BIGINT) AS n FROM orders JOIN people ON person = people.id")
    assert met.integers("n")[0] == 500  # each item has one order
    assert owned.integers("n")[0] > 100
    engine.close()


def test_a_view_is_part_of_the_policy_and_of_its_version():
    view = '[views.big]\nquery = "SELECT * FROM orders"\n'
    policy = declared(CHAIN + view)
    assert policy.view("BIG") == ViewPolicy("big", "SELECT * FROM orders")
    assert policy.version != declared(CHAIN).version
    assert parse_policy(policy_text(policy)).version == policy.version


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ('[views.orders]\nquery = "SELECT 1"\n', "is there twice"),
        ("[views.big]\n", "query: is missing"),
        ('[views.big]\nsql = "SELECT 1"\nquery = "x"\n', "is not a key tacit knows"),
    ],
)
def test_a_faulty_view_is_refused_with_its_line(view, words):
    with pytest.raises(PolicyError, match=words):
        declared(CHAIN + view)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM orders", None),
        ("SELECT person, COUNT(*) AS n FROM orders GROUP BY person", None),
        ("SELECT * FROM", "cannot be read"),
        ("DROP TABLE orders", "is not a SELECT"),
        ("SELECT * FROM big", "reads from itself"),
        ("SELECT COUNT(*) AS n FROM orders", "several units"),
    ],
)
def test_a_view_that_cannot_be_asked_about_is_found_by_the_curator(query, words):
    policy = declared(CHAIN + f'[views.big]\nquery = "{query}"\n')
    found = [f"{finding.message} {finding.hint}" for finding in _views(policy, SCHEMA)]
    assert len(found) == (words is not None)
    assert words is None or words in found[0]
