"""GROUP BY ROLLUP, CUBE and GROUPING SETS: the sets they stand for, and the questions made of them."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pytest
from sqlglot import exp

from conformance.sql_clinic import clinic, row_clinic
from tacit.errors import QueryRefused, TacitError
from tacit.sql.binding import grouping_sets, post
from tacit.sql.binding.grouping_sets import distinct_sets, written_sets
from tacit.sql.planning import planner
from tacit.sql.workloads.sets import set_questions

OVER = row_clinic()


def sets(group, listed="COUNT(*)", **more):
    """The sets of a GROUP BY, each as the names of its keys."""
    bound = OVER.bound(f"DP-SELECT 1 {listed} FROM visits GROUP BY {group}", **more)
    names = [key.sql.sql(dialect="duckdb") for key in bound.keys]
    short = {name: next((word for word in ("dept", "insured", "city", "age") if word in name), name) for name in names}
    return [tuple(short[names[place]] for place in each) for each in bound.sets]


def refusal(text):
    with pytest.raises(TacitError) as caught:
        OVER.bound(text)
    assert isinstance(caught.value, QueryRefused)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(
    ("group", "found"),
    [
        ("ROLLUP (dept, insured)", ["dept insured", "dept", ""]),
        ("CUBE (dept, insured)", ["dept insured", "dept", "insured", ""]),
        ("GROUPING SETS ((dept, insured), dept, (insured), ())", ["dept insured", "dept", "insured", ""]),
        ("city, ROLLUP (dept)", ["city dept", "city"]),
        ("ROLLUP (dept), city", ["dept city", "city"]),
        ("ROLLUP (dept), ROLLUP (insured)", ["dept insured", "dept", "insured", ""]),
        ("ROLLUP ((dept, insured), city)", ["dept insured city", "dept insured", ""]),
        ("CUBE ((dept, insured), city)", ["dept insured city", "dept insured", "city", ""]),
        ("GROUPING SETS (ROLLUP (dept, insured), CUBE (city))", ["dept insured", "dept", "", "city", ""]),
        ("GROUPING SETS (GROUPING SETS (dept, city), ())", ["dept", "city", ""]),
        ("GROUPING SETS ((dept), (dept))", ["dept", "dept"]),
        ("DISTINCT GROUPING SETS ((dept, city), (city, dept), ())", ["dept city", ""]),
        ("ALL ROLLUP (dept)", ["dept", ""]),
        ("ROLLUP (dept, dept)", ["dept", "dept", ""]),
        ("ROLLUP (dept, DEPT, visits.dept)", ["dept", "dept", "dept", ""]),
        ("GROUPING SETS ((), ())", ["", ""]),
    ],
)
def test_a_group_by_stands_for_these_sets(group, found):
    assert [" ".join(each) for each in sets(group)] == found


@pytest.mark.parametrize(
    "group",
    [
        "ROLLUP (a, b)", "CUBE (a, b, c)", "a, ROLLUP (b, c)", "ROLLUP (a), ROLLUP (b), CUBE (c)", "ROLLUP ((a, b), c)",
        "GROUPING SETS ((a, b), (a), ())", "GROUPING SETS (ROLLUP (a, b), CUBE (b, c))", "CUBE (a, a)", "ROLLUP (a), a",
    ],
)  # fmt: skip
def test_duckdb_makes_the_same_sets(group):
    named = {"a": "dept", "b": "insured", "c": "city"}
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1 AS a, 1 AS b, 1 AS c")
    rows = connection.execute(f"SELECT {', '.join(c for c in 'abc' if c in group)} FROM t GROUP BY {group}").fetchall()
    letters = [c for c in "abc" if c in group]
    theirs = sorted(sorted(named[c] for c, cell in zip(letters, row, strict=True) if cell is not None) for row in rows)
    text = "".join(named.get(c, c) if not c.isupper() else c for c in group)
    assert sorted(sorted(each) for each in sets(text)) == theirs


def test_positions_and_aliases_are_keys_of_sets():
    by_name = sets("ROLLUP (1, i)", "dept, insured AS i, COUNT(*)")
    assert by_name == sets("ROLLUP (dept, insured)", "dept, insured AS i, COUNT(*)")


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("dept WITH ROLLUP", "WITH ROLLUP is refused"),
        ("dept WITH CUBE", "WITH CUBE is refused"),
        ("ROLLUP ()", "ROLLUP names no keys"),
        ("CUBE ()", "CUBE names no keys"),
        ("ROLLUP (dept, CUBE (insured))", "cannot be read"),
        ("ROLLUP (patient_id)", "position|patient_id"),
        ("ROLLUP (9)", "position 9"),
        ("CUBE (dept, insured, age, city, seen, at, weight, MONTH(seen), YEAR(seen))", "too many grouping sets"),
        ("CUBE (dept, insured, age), CUBE (city, seen, at), CUBE (weight, MONTH(seen), age)", "too many grouping sets"),
        ("GROUPING SETS (" + ", ".join(["()"] * 257) + ")", "too many grouping sets"),
        ("ROLLUP (" + ", ".join(["dept"] * 300) + ")", "too many grouping sets"),
        ("ROLLUP (dept, age, age + 1, age + 2)", "makes too many groups"),
    ],
)
def test_what_cannot_be_grouped_is_refused_by_name(group, says):
    with pytest.raises(QueryRefused, match=says):
        clinic(unit="row", max_groups=1, max_rows=1).bound(f"DP-SELECT 1 COUNT(*) FROM visits GROUP BY {group}")


def test_sets_that_make_too_many_groups_together_are_refused(monkeypatch):
    monkeypatch.setattr(grouping_sets, "MAX_KEYS", 225)
    assert "too many groups together: 292" in refusal("DP-SELECT 1 COUNT(*) FROM visits GROUP BY GROUPING SETS "
                                                       "(age, age, age, age)")  # fmt: skip


def test_a_cube_inside_of_a_rollup_is_refused():
    inner = exp.Rollup(expressions=[exp.Cube(expressions=[exp.column("a")])])
    with pytest.raises(QueryRefused, match="inside of ROLLUP and CUBE"):
        written_sets(exp.Group(expressions=[inner]))


def test_many_huge_cubes_are_refused_before_they_are_written_out():
    text = ", ".join(f"CUBE ({', '.join(['dept'] * 8)})" for _ in range(50))
    assert "too many grouping sets" in refusal(f"DP-SELECT 1 COUNT(*) FROM visits GROUP BY {text}")


@pytest.mark.parametrize(
    "inside",
    [
        "SELECT patient_id, MAX(age) AS m FROM visits GROUP BY ROLLUP (patient_id)",
        "SELECT patient_id, dept, MAX(age) AS m FROM visits GROUP BY patient_id, ROLLUP (dept)",
        "SELECT patient_id, MAX(age) AS m FROM visits GROUP BY GROUPING SETS ((patient_id), ())",
    ],
)
def test_sets_are_refused_in_a_subquery(inside):
    with pytest.raises(QueryRefused):
        clinic().plan(f"DP-SELECT 1 COUNT(*) FROM ({inside}) AS t")


# ── GROUPING ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_grouping_is_a_bit_for_each_key_the_first_the_highest():
    for kept, found in (((0, 1), 0), ((0,), 1), ((1,), 2), ((), 3)):
        assert post.grouped_by(post.Grouping((0, 1)), kept) == post.Number(Fraction(found))
    assert post.grouped_by(post.Grouping((1, 0)), (0,)) == post.Number(Fraction(2))
    inside = post.Sum(post.Ref(0), post.Product(post.Grouping((0,)), post.Number(Fraction(2))))
    assert post.refs(inside) == {0}
    assert post.is_linear(inside)
    resolved = post.grouped_by(inside, ())
    band = post.Band(*(np.array([5.0]) for _ in range(3)))
    assert post.evaluate(resolved, [band]).value == [7.0]
    with pytest.raises(TypeError):
        post.evaluate(inside, [band])


def test_grouping_of_a_plain_group_by_is_zero():
    bound = OVER.bound("DP-SELECT 1 dept, GROUPING(dept), COUNT(*) FROM visits GROUP BY dept")
    assert bound.sets is None
    assert bound.outputs[1].value == post.Number(Fraction(0))


@pytest.mark.parametrize("call", ["GROUPING(city)", "GROUPING(COUNT(*))", "GROUPING(dept, city)", "GROUPING_ID()"])
def test_grouping_needs_keys(call):
    with pytest.raises(QueryRefused):
        OVER.bound(f"DP-SELECT 1 {call}, COUNT(*) FROM visits GROUP BY ROLLUP (dept)")


# ── the questions ────────────────────────────────────────────────────────────────────────────────────────────────────


def questions(body):
    return set_questions(OVER.bound(f"DP-SELECT 1 {body}"))


def test_a_repeated_set_is_one_question():
    found = questions("dept, COUNT(*) FROM visits GROUP BY GROUPING SETS ((dept, insured), (insured, dept), (), ())")
    assert found.sets == ((0, 1), ())
    assert distinct_sets(((1, 0), (0, 1), (), (1,))) == ((1, 0), (), (1,))


def test_every_set_counts_the_rows_of_all_domains():
    text = "DP-SELECT 1 dept, COUNT(*) FROM visits WHERE amount > 3 GROUP BY ROLLUP (dept, insured, YEAR(seen))"
    for bound in set_questions(clinic().bound(text)).bounds:  # where units are sampled: from the same rows
        within = " ".join([bound.where.sql(), *(key.keep.sql() for key in bound.keys if key.keep is not None)])
        for word in ("IN ('CS', 'Econ', 'Bio')", 'NOT "insured" IS NULL', "BETWEEN 2024 AND 2024", "> 3"):
            assert within.count(word) == 1, (word, within)


def test_where_every_row_counts_by_itself_the_set_of_all_keys_is_a_plain_group_by():
    found = questions("dept, COUNT(*) FROM visits WHERE amount > 3 GROUP BY ROLLUP (dept, insured)")
    assert [bound.where.sql() for bound in found.bounds][:2] == [
        '"amount" > 3',
        '"amount" > 3 AND NOT "insured" IS NULL',
    ]


def test_private_keys_restrict_nothing():
    found = questions("city, COUNT(*) FROM visits GROUP BY ROLLUP (city)")
    assert [bound.where for bound in found.bounds] == [None, None]


def test_what_having_and_order_by_need_is_asked_of_every_set():
    found = questions(
        "dept, COUNT(*) FROM visits GROUP BY ROLLUP (dept) HAVING SUM(amount) > 3 ORDER BY AVG(age) + GROUPING(dept)"
    )
    for bound in found.bounds:
        assert len(bound.outputs) == 3
        assert (bound.having, bound.order, bound.limit) == (None, (), None)
    assert found.bounds[0].outputs[1] != found.bounds[1].outputs[1]  # GROUPING is a number there


def test_only_sums_over_listed_keys_share_cells():
    assert questions("COUNT(*) FROM visits GROUP BY ROLLUP (dept, insured)").kinds.keys() == {0, 1, 2}
    assert questions("SUM(age), AVG(amount) FROM visits GROUP BY ROLLUP (dept)").kinds.keys() == {0, 1}
    assert questions("COUNT(*) FROM visits GROUP BY CUBE (dept, city)").kinds.keys() == {1, 3}
    for measured in ("MEDIAN(age)", "COUNT(DISTINCT age)", "MODE(dept)", "COUNT(*), COUNT(DISTINCT age)"):
        assert questions(f"{measured} FROM visits GROUP BY ROLLUP (dept)").kinds == {}


def test_cells_that_are_too_many_are_not_joined(monkeypatch):
    from tacit.sql.workloads import sets as workload_sets

    found = questions("COUNT(*) FROM visits GROUP BY CUBE (dept, insured, age)")
    assert found.joined([0, 1, 2]).workload.cells == 3 * 2 * 73
    monkeypatch.setattr(workload_sets, "MAX_CELLS", 100)
    assert found.joined([0]) is None
    assert found.joined([len(found.sets) - 1]) is None  # () alone has no cells


def test_a_set_is_called_by_its_columns():
    found = questions("dept AS d, COUNT(*) FROM visits GROUP BY ROLLUP (dept, age)")
    assert [found.label(place) for place in range(3)] == ["(d, age)", "(d)", "()"]


def test_a_statement_with_sets_is_never_planned_as_one_group_by():
    bound = OVER.bound("DP-SELECT 1 COUNT(*) FROM visits GROUP BY ROLLUP (dept)")
    with pytest.raises(TypeError):
        planner.plan(bound, OVER.policy, price=None)
