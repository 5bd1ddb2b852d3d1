"""Canonical text: the same with a copy and without, and the tree that was printed stays what it was."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from conformance.sql_questions import Rng, question
from conformance.sql_questions_relational import question as relational_question
from conformance.sql_relational import family
from conformance.sql_tables import random_table
from tacit.errors import TacitError
from tacit.sql.expressions.names import canonical, printing
from tacit.sql.expressions.names.canonical import written
from tacit.sql.expressions.names.printing import copied, table_named, text_of

ODD = ["trips", 'a"b', "a.b", "select", " ", "Ünï cödé", "'", "--"]

WRITTEN = (
    "SELECT a FROM t WHERE a < 1 AND NOT b IS NULL OR c >= 2 AND d <> 'it''s' OR e <= 3 AND f > 4 AND g = 5",
    "WITH s AS MATERIALIZED (SELECT DISTINCT a FROM t), r AS NOT MATERIALIZED (SELECT 1) SELECT * FROM s CROSS JOIN r",
    "WITH s AS (SELECT a FROM t AS u) SELECT s.a FROM s CROSS JOIN q LEFT JOIN r ON s.a = r.a INNER JOIN v ON TRUE",
    "SELECT a FROM t FULL JOIN u ON t.a = u.a RIGHT JOIN v ON t.a = v.a JOIN w ON FALSE",
    "SELECT a % b, a * (b % 2), a / b / c, a / (b * 2), NULLIF(a, 0), LOWER(TRIM(a)), SUBSTRING(a, 1, 2) FROM t",
    "SELECT -a, - -a, -(-1), a + b * -2 - c // 3, (a), a IN (1, 2), a IN (SELECT 1), EXISTS(SELECT 1) FROM t",
    "SELECT COUNT(*), COUNT(DISTINCT a), SUM(a) FILTER(WHERE b), AVG(a), MIN(a), MAX(a), ABS(a), FLOOR(a) FROM t",
    "SELECT CASE WHEN a THEN 1 ELSE 2 END, CASE a WHEN 1 THEN 2 END, COALESCE(a, b, 0), COALESCE(a) FROM t",
    "SELECT CAST(a AS DECIMAL(5, 2)), CAST(a AS TEXT), a::TIMESTAMP, CAST(a AS HUGEINT), CAST(a AS DOUBLE) FROM t",
    "SELECT EXTRACT(YEAR FROM a), EXTRACT(EPOCH FROM a), my_own(a, 'b'), greatest_of() FROM t",
    "SELECT ROW_NUMBER() OVER (PARTITION BY a, b ORDER BY c DESC, d ASC NULLS FIRST, e), SUM(a) OVER () FROM t",
    'SELECT "a""b", "select", x."Order" FROM "T t" AS x GROUP BY a, b HAVING COUNT(*) > 1 ORDER BY 1, a DESC',
    "SELECT a FROM (SELECT 1 AS a) AS s WHERE a BETWEEN 1 AND 2 AND b LIKE 'x%' AND NOT c LIKE 'y'",
    "SELECT '\\', 'a\nb', 1e5, 0.50, .5, NULL, TRUE FROM t",
    "SELECT a || b || '-', 'x' || (a + 1), (a || b) = c, LEAST(a, 1), GREATEST(a, b, '2'), LEAST(a) FROM t",
    "SELECT YEAR(a), MONTH(a::DATE), DAY('2020-01-01'), HOUR(a), QUARTER((a)), YEAR(MAX(a)) FROM t",
    "SELECT DATE_TRUNC('month', a), DATE_TRUNC('day', CAST(a AS TIMESTAMP)), DATE_DIFF('day', a, b::DATE) FROM t",
    "SELECT DATE_DIFF('year', t.a, b), DATE_TRUNC('quarter', t.a) FROM t",
)
GENERATED = (  # a node, or an argument of one, that only the generator knows
    "SELECT a FROM t FULL OUTER JOIN u ON t.a = u.a",
    "SELECT a FROM t JOIN u USING (a)",
    "SELECT a FROM t NATURAL JOIN u",
    "SELECT a * b % 2 FROM t ORDER BY a - b % 2",
    "SELECT TRIM(a, 'x'), LOWER(CAST(a AS BLOB)), SUBSTRING(a, 2), SUBSTRING(a, b, 3) FROM t",
    "SELECT COUNT(DISTINCT a, b) FROM t",
    "SELECT IF(a, 1, 2) FROM t",
    "SELECT CAST(a AS INT[]), TRY_CAST(a AS INT) FROM t",
    "SELECT EXTRACT(DOW FROM a) FROM t",
    "SELECT DATE_TRUNC('week', a) FROM t",
    "SELECT DATE_TRUNC('month', '2020-01-02') FROM t",
    "SELECT DATE_DIFF('day', '2020-01-02', a) FROM t",
    "SELECT DATE_DIFF('week', a, b) FROM t",
    "SELECT DATE_DIFF('day', a, b + 1) FROM t",
    "SELECT SUM(a) OVER (ORDER BY b ROWS 1 PRECEDING), DENSE_RANK() OVER (ORDER BY a) FROM t",
    "SELECT a FROM t GROUP BY ALL",
    "SELECT a FROM (SELECT 1 AS a) AS s WHERE a BETWEEN 1 AND 2 AND b LIKE 'x%' AND NOT c LIKE 'y' LIMIT 3",
    "SELECT a FROM t WHERE a BETWEEN SYMMETRIC 1 AND 2",
    "SELECT a /* why */ FROM t",
    "SELECT a FROM t AS u(x, y)",
    "SELECT a FROM s.t",
    "SELECT a FROM t TABLESAMPLE (5 PERCENT)",
)


def plans(seed):
    """Statements of every rule, over one table and over joined ones."""
    table = random_table(Rng(seed), rows=3, units=2)
    by_row = table.world.policy.tables[0].unit_column is None
    rng, joined = Rng(seed), family(seed + 1, units=2).world
    asked = [(table.world, question(rng, by_row=by_row, bias=place % 3 == 2)) for place in range(9)]
    asked += [(joined, relational_question(rng)) for _ in range(4)]
    for world, text in asked:
        try:
            yield world.plan(text)
        except TacitError:
            continue


@pytest.mark.parametrize("seed", range(8))
def test_printing_changes_no_tree_and_is_what_the_generator_prints_of_a_copy(seed):
    seen = 0
    for plan in plans(seed):
        for statement in plan.runs:
            for each in (statement, statement.settled):
                if each is None:
                    continue
                seen += 1
                before = repr(each.tree)
                for pretty in (False, True):
                    assert text_of(each.tree, pretty=pretty) == each.tree.sql(dialect="duckdb", pretty=pretty)
                assert repr(each.tree) == before
                assert all(node is each.tree or node.parent is not None for node in each.tree.walk())
    assert seen > 2


def test_a_node_that_the_generator_changes_is_copied_first():
    """DuckDB's generator takes LEFT off a join without a condition, and would leave it off."""
    tree = sqlglot.parse_one("SELECT 1 FROM a LEFT JOIN b", dialect="duckdb")
    before = repr(tree)
    text_of(tree)
    assert repr(tree) == before


def test_were_such_a_node_not_copied_the_tree_would_change(monkeypatch):
    monkeypatch.setattr(printing, "copied", lambda tree: tree)
    tree = sqlglot.parse_one("SELECT 1 FROM a LEFT JOIN b", dialect="duckdb")
    before = repr(tree)
    text_of(tree)
    assert repr(tree) != before


def test_much_of_what_is_generated_is_written_without_a_copy():
    """Questions are drawn here that hold every odd function there is: of plain ones it is nearly all."""
    trees = [statement.tree for seed in range(3) for plan in plans(seed) for statement in plan.runs]
    assert sum(written(tree) is not None for tree in trees) > len(trees) / 3


@pytest.mark.parametrize("text", [*WRITTEN, *GENERATED])
def test_what_is_written_without_the_generator_is_what_it_writes(text):
    tree = sqlglot.parse_one(text, dialect="duckdb")
    for node in tree.walk():
        assert written(node) in {None, node.copy().sql(dialect="duckdb")}
    assert (written(tree) is None) == (text in GENERATED)
    assert text_of(tree) == tree.sql(dialect="duckdb")


def test_a_word_that_differed_from_the_generators_would_be_noticed(monkeypatch):
    monkeypatch.setitem(canonical._OPERATORS, exp.LT, " <= ")
    with pytest.raises(AssertionError):
        test_what_is_written_without_the_generator_is_what_it_writes(WRITTEN[0])


def test_a_chain_of_thousands_is_written_without_a_deep_stack():
    chain = " + ".join(["a"] * 5_000)
    assert written(sqlglot.parse_one(chain, dialect="duckdb")) == chain


def test_a_copy_is_the_same_tree_of_other_nodes():
    tree = sqlglot.parse_one(
        "SELECT /* why */ CAST(a AS DECIMAL(5, 2)), COUNT(*) FROM t AS u GROUP BY 1", dialect="duckdb"
    )
    tree.meta["said"] = {"a": [1]}
    copy = copied(tree)
    assert repr(copy) == repr(tree)
    assert copy.meta == tree.meta
    assert copy.meta is not tree.meta
    pairs = list(zip(tree.walk(), copy.walk(), strict=True))
    assert all(one is not other and (one.arg_key, one.index) == (other.arg_key, other.index) for one, other in pairs)
    held = {id(node) for node in copy.walk()}
    assert all(node is copy or id(node.parent) in held for node in copy.walk())


def test_a_part_is_printed_as_if_nothing_stood_around_it():
    tree = sqlglot.parse_one("SELECT CAST(MAP {'a': 1} AS MAP(VARCHAR, INT)) AS m, a + 1 FROM t", dialect="duckdb")
    for node in tree.walk():
        if isinstance(node, exp.Expression):
            assert text_of(node) == node.copy().sql(dialect="duckdb")


@pytest.mark.parametrize("name", ODD)
def test_a_table_of_any_name_is_that_table(name):
    read = sqlglot.parse_one(f"SELECT 1 FROM {text_of(table_named(name))}", dialect="duckdb")
    assert [table.name for table in read.find_all(exp.Table)] == [name]
