"""Tables named with the schema that our own catalogue shows them in, as every tool writes them."""

from __future__ import annotations

import pytest

from conformance.sql_world import policy_of, world
from tacit.curator import Session
from tacit.errors import UnknownName
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, TablePolicy, ViewPolicy

ANA = Session("ana")
PLAIN = "SELECT dept, COUNT(*) AS n FROM visits WHERE age > 3 GROUP BY dept"


@pytest.fixture
def curator(tmp_path):
    columns = [ColumnPolicy("dept", domain=["a", "b"]), ColumnPolicy("age", lower=0, upper=9, step=1)]
    visits = TablePolicy("visits", "uid", columns=columns, max_rows=3, max_groups=2)
    policy = policy_of(
        [visits, TablePolicy("depts", public=True)],
        budget=BudgetPolicy(10**9, default_epsilon=10**6),
        analysts=[AnalystPolicy("ana", 10**9)],
        views=[ViewPolicy("old", "SELECT uid, dept, age FROM visits WHERE age > 6")],
    )
    made = world(
        policy,
        "CREATE TABLE visits AS SELECT i AS uid, ['a', 'b'][1 + i % 2] AS dept, i % 10 AS age FROM range(100) t(i)",
        "CREATE TABLE depts AS SELECT * FROM (VALUES ('a', 'Ward A'), ('b', 'Ward B')) v(dept, title)",
    )
    return made.curator(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        'SELECT "public"."visits"."dept", COUNT(*) AS n FROM "public"."visits" WHERE public.visits.age > 3 GROUP BY 1',
        "SELECT v.dept, COUNT(*) AS n FROM PUBLIC.visits v WHERE v.age > 3 GROUP BY v.dept",
        "SELECT dept, COUNT(*) AS n FROM main.visits WHERE main.visits.age > 3 GROUP BY dept",
        "WITH visits AS (SELECT * FROM public.visits WHERE age > 3) SELECT dept, COUNT(*) AS n FROM visits GROUP BY 1",
        'SELECT dept, COUNT(*) FROM (SELECT "public"."visits".* FROM "public"."visits") q WHERE age > 3 GROUP BY 1',
        "SELECT dept, COUNT(*) AS n FROM public.visits JOIN public.depts USING (dept) WHERE age > 3 GROUP BY dept",
    ],
)
def test_a_schema_of_ours_says_nothing(text, curator):
    plain = curator.ask(PLAIN, session=ANA).rows
    assert curator.ask(text, session=ANA).rows == plain


def test_a_table_is_read_past_a_name_that_with_gives_to_another(curator):
    shadowed = "WITH visits AS (SELECT * FROM visits WHERE age > 8)"
    everybody = curator.ask(f"{shadowed} SELECT COUNT(*) FROM public.visits", session=ANA).scalar()
    some = curator.ask(f"{shadowed} SELECT COUNT(*) FROM visits", session=ANA).scalar()
    assert (round(everybody), round(some)) == (100, 10)


def test_a_view_has_a_schema_too(curator):
    assert round(curator.ask("SELECT COUNT(*) FROM public.old", session=ANA).scalar()) == 30


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT COUNT(*) FROM sales.visits", "there is no table sales.visits"),
        ("SELECT COUNT(*) FROM shop.public.visits", "there is no table shop.public.visits"),
        ("SELECT COUNT(*) FROM public.visits WHERE sales.visits.age > 3", "there is no column sales.visits.age"),
        ("SELECT COUNT(*) FROM public.visits v WHERE public.visits.age > 3", "there is no column public.visits.age"),
        ("SELECT COUNT(*) FROM public.beds", "unknown table 'beds'"),
    ],
)
def test_another_schema_is_refused_by_its_name(text, said, curator):
    with pytest.raises(UnknownName, match=said):
        curator.ask(text, session=ANA)
