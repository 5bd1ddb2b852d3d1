"""Public keys that are computed: the values that we list are those that the engine computes, and no others."""

from __future__ import annotations

from functools import cache

import duckdb
import pytest

from conformance import sql_words
from conformance.sql_world import World, policy_of, world
from tacit.errors import QueryRefused
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.text import publicly

LETTERS = (
    "ß", "ẞ", "SS", "İ", "ı", "Σ", "é", "e\u0301", "Я", " x ", "\u00a0x\u3000", "\tx", "a%b", "a\\b", "a'b", "", "🏔x",
    "Bio", "bio", "CS", "xx-y-z", "-", "i", "oo",
)  # fmt: skip
KEYS = tuple(
    form.replace("g", "s").replace("flas", "flag")
    for form in (*sql_words.TEXTS, *(key for key in sql_words.PUBLIC_KEYS if "IN (" not in key and "WITH" not in key))
    if "n >" not in form
)
MORE = (
    "UPPER(s)", "LOWER(TRIM(s))", "CASE WHEN s LIKE 'B%' THEN 'b' ELSE s END", "CASE WHEN s < 'a' THEN s END",
    "CASE WHEN s IN ('CS', 'Bio') AND NOT flag THEN s WHEN s IS NULL THEN 'none' ELSE LEFT(s, 1) END",
    "CONCAT(FLOOR(m / 2) * 2, '-', FLOOR(m / 2) * 2 + 1)", "m || '/' || s", "CASE m WHEN 1 THEN s ELSE 'x' END",
)  # fmt: skip


@cache
def listed() -> World:
    """Every combination of public cells, each in a row of its own, an empty one among them."""
    texts = ", ".join("('{}')".format(text.replace("'", "''")) for text in LETTERS)
    columns = [
        ColumnPolicy("s", domain=LETTERS),
        ColumnPolicy("m", lower=0, upper=5, step=1, domain="range"),
        ColumnPolicy("flag"),
    ]
    table = TablePolicy("t", "uid", columns=columns, max_rows=2, max_groups=2)
    return world(
        policy_of([table]),
        f"CREATE TABLE s AS SELECT * FROM (VALUES {texts}, (NULL)) AS v(s)",
        "CREATE TABLE t AS SELECT CAST(row_number() OVER () AS BIGINT) AS uid, s, CAST(m AS INTEGER) AS m, flag"
        " FROM s, (SELECT range AS m FROM range(6) UNION ALL SELECT NULL), (VALUES (TRUE), (FALSE), (NULL)) AS f(flag)",
    )


@cache
def rows() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    texts = ", ".join("('{}')".format(text.replace("'", "''")) for text in LETTERS)
    connection.execute(
        f"CREATE TABLE t AS SELECT s, CAST(m AS INTEGER) AS m, flag FROM (VALUES {texts}, (NULL)) AS v(s),"
        " (SELECT range AS m FROM range(6) UNION ALL SELECT NULL), (VALUES (TRUE), (FALSE), (NULL)) AS f(flag)"
    )
    return connection


def computed(form: str) -> tuple[set[object], set[object]]:
    """The values that we list, and those that the engine has."""
    key = listed().bound(f"DP-SELECT 1 DELTA 1e-6 {form} AS k, COUNT(*) FROM t GROUP BY k").keys[0]
    assert key.values is not None, form
    sql = text_of(key.sql)
    for name in ("m",):
        sql = sql.replace(f'GRID("{name}")', f'"{name}"')
    return set(key.values), {row[0] for row in rows().execute(f"SELECT DISTINCT {sql} FROM t").fetchall()} - {None}


@pytest.mark.parametrize("form", [*KEYS, *MORE])
def test_the_values_that_are_listed_are_those_that_the_engine_computes(form):
    ours, engines = computed(form)
    assert engines <= ours
    if "LIKE" not in form:  # of which we know no more than that it may hold or not
        assert ours == engines


def test_letters_change_their_case_as_they_do_in_the_engine():
    codes = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE c AS SELECT chr(range::INT) AS s FROM range(1, 1114112)"
                           " WHERE range NOT BETWEEN 55296 AND 57343")  # fmt: skip
        found = dict.fromkeys(codes, ("", ""))
        found |= {s: (low, up) for s, low, up in connection.execute("SELECT s, lower(s), upper(s) FROM c").fetchall()}
    for letter, (low, up) in found.items():
        assert publicly.lower(letter) == low
        try:
            assert publicly.upper(letter) == up
        except publicly.Unlisted:
            assert 0x1F80 <= ord(letter) < 0x2000


def test_a_wrong_small_letter_is_noticed(monkeypatch):
    monkeypatch.setattr(publicly, "lower", str.lower)
    ours, engines = computed("LOWER(s)")
    assert ours != engines


@pytest.mark.parametrize(
    ("condition", "said", "hint"),
    [
        ("s = 'BIO'", "'BIO' is not in the domain of s", "did you mean 'bio'?"),
        ("'cs' = s", "'cs' is not in the domain of s", "did you mean 'CS'?"),
        ("s IN ('zzz', 'yyy')", "'zzz', 'yyy' are not in the domain of s", "its values are"),
        ("flag AND (s = 'cs' OR s = 'BIO')", "'cs' is not in the domain of s", "did you mean 'CS'?"),
    ],
)
def test_a_condition_that_no_public_value_meets_is_answered_for_nothing(condition, said, hint):
    with pytest.raises(QueryRefused) as refused:
        listed().bound(f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}")
    assert said in refused.value.message
    assert hint in refused.value.hint


@pytest.mark.parametrize(
    "condition",
    ["s IN ('CS', 'cs')", "s = 'CS' OR s = 'cs'", "NOT s = 'cs'", "CASE WHEN s = 'cs' THEN flag ELSE TRUE END"],
)
def test_a_constant_outside_the_domain_is_noted_where_others_may_match(condition):
    bound = listed().bound(f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}")
    assert bound.notes == ("'cs' is not in the domain of s: did you mean 'CS'?",)


def test_nothing_is_said_of_an_empty_cell_or_of_other_columns():
    for condition in ("s IS NULL", "s <> 'CS'", "m = 3", "s LIKE 'zz%'", "LOWER(s) = 'zz'"):
        assert listed().bound(f"DP-SELECT 1 COUNT(*) FROM t WHERE {condition}").notes == ()
