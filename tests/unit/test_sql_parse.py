"""Text to Query: prices, options, parameters, and every text that is no question."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest
from sqlglot import exp
from sqlglot.parser import Parser

from tacit.errors import InvalidParameter, QueryRefused, QuerySyntaxError
from tacit.sql import AtEpsilon, DefaultPrice, WithinError, parse
from tacit.sql.parsing.parse import MAX_CHARACTERS, MAX_DEPTH, MAX_TOKENS
from tacit.sql.parsing.query import TypedBounds

BODY = "COUNT(*) FROM t"


@pytest.mark.parametrize(
    ("typed", "epsilon"),
    [
        ("0.5", Fraction(1, 2)),
        (".5", Fraction(1, 2)),
        ("1/3", Fraction(1, 3)),
        ("1 / 3", Fraction(1, 3)),
        ("1e-9", Fraction(1, 10**9)),
        ("1e-300", Fraction(1, 10**300)),
        ("1e9", Fraction(10**9)),
        ("0.1", Fraction(1, 10)),
        ("0.30000000000000000000000000000000001", Fraction(30000000000000000000000000000000001, 10**35)),
    ],
)
def test_a_price_is_exactly_what_was_typed(typed, epsilon):
    assert parse(f"DP-SELECT {typed} {BODY}").price == AtEpsilon(epsilon)


@pytest.mark.parametrize("typed", ["0", "-1", "-0.5", "0/3", "1/0", "1e400", "1e-400", "9" * 61, "0x1"])
def test_a_price_that_is_no_positive_number_is_refused(typed):
    with pytest.raises(QueryRefused):
        parse(f"DP-SELECT {typed} {BODY}")


@pytest.mark.parametrize("typed", ["NaN", "Infinity", "inf", "'1'", '"1"', "e", "", "DELTA 1e-6", "(1)", "1.2.3"])
def test_a_price_that_is_no_number_is_a_syntax_error(typed):
    with pytest.raises(QuerySyntaxError):
        parse(f"DP-SELECT {typed} {BODY}")


@pytest.mark.parametrize(
    ("given", "epsilon"), [(0.1, Fraction(1, 10)), ("1/3", Fraction(1, 3)), (Decimal("0.2"), Fraction(1, 5)), (2, 2)]
)
def test_a_price_may_be_a_parameter_and_the_others_move_up(given, epsilon):
    query = parse(f"DP-SELECT ? {BODY} WHERE a = ? AND b = ?", [given, "x", 3])
    assert query.price == AtEpsilon(Fraction(epsilon))
    assert query.select.args["where"].sql(dialect="duckdb") == "WHERE a = $2 AND b = $3"


@pytest.mark.parametrize("given", [[], [None], [float("nan")], [float("inf")], [True], [0], [-1], [object()], [b"1"]])
def test_a_price_parameter_that_is_no_price_is_refused(given):
    with pytest.raises(QueryRefused):
        parse(f"DP-SELECT ? {BODY}", given)


def test_parameters_without_a_price_among_them_are_counted_from_one():
    query = parse("DP-SELECT 1 COUNT(*) FROM t WHERE a = ? AND b = ?", ["x", 3])
    assert query.select.args["where"].sql(dialect="duckdb") == "WHERE a = $1 AND b = $2"
    assert dict(query.parameters) == {"1": "x", "2": 3}


def test_a_text_is_not_a_list_of_parameters():
    with pytest.raises(InvalidParameter):
        parse(f"DP-SELECT 1 {BODY}", "CS")


def test_modifiers_stand_in_any_order_each_once():
    for text in (
        "DELTA 1e-6 CONFIDENCE 0.9 FRESH",
        "FRESH CONFIDENCE 0.9 DELTA 1e-6",
        "CONFIDENCE 9/10 FRESH DELTA 1e-6",
    ):
        query = parse(f"DP-SELECT 1 {text} {BODY}")
        assert (query.delta, query.confidence, query.fresh) == (Fraction(1, 10**6), Fraction(9, 10), True)
    with pytest.raises(QuerySyntaxError):
        parse(f"DP-SELECT 1 FRESH FRESH {BODY}")


@pytest.mark.parametrize("word", ["DELTA 0", "DELTA 1", "DELTA -0.1", "CONFIDENCE 0", "CONFIDENCE 1", "CONFIDENCE 95"])
def test_a_delta_or_confidence_beyond_its_range_is_refused(word):
    with pytest.raises(QueryRefused, match="strictly between 0 and 1"):
        parse(f"DP-SELECT 1 {word} {BODY}")


def test_a_quoted_word_is_a_column_and_not_a_modifier():
    query = parse('DP-SELECT 1 "fresh", "delta", COUNT(*) FROM t GROUP BY 1, 2')
    assert not query.fresh
    assert query.delta is None
    assert [item.alias_or_name for item in query.select.expressions[:2]] == ["fresh", "delta"]


def test_within_takes_a_bound_or_a_share():
    assert parse(f"DP-SELECT WITHIN 10 {BODY}").price == WithinError(Fraction(10), relative=False)
    assert parse(f"DP-SELECT WITHIN 2.5% CONFIDENCE 0.9 {BODY}").price == WithinError(Fraction(1, 40), relative=True)
    for wrong in ("0", "-3", "x", ""):
        with pytest.raises(QueryRefused):
            parse(f"DP-SELECT WITHIN {wrong} {BODY}")


def test_explain_is_a_wish_and_costs_a_word():
    assert parse(f"EXPLAIN DP-SELECT 1 {BODY}").explain
    assert parse(f"  explain\n DP-SELECT 1 {BODY}").explain
    assert not parse(f"DP-SELECT 1 {BODY}").explain


@pytest.mark.parametrize("more", ["ANALYZE", "analyze", "(ANALYZE)", "(FORMAT json, ANALYZE true)"])
def test_explain_that_would_run_is_refused(more):
    with pytest.raises(QueryRefused, match="EXPLAIN ANALYZE is refused"):
        parse(f"EXPLAIN {more} DP-SELECT 1 {BODY}")


@pytest.mark.parametrize("more", ["VERBOSE", "(FORMAT json)", "(COSTS off"])
def test_explain_has_one_form(more):
    with pytest.raises(QueryRefused, match="EXPLAIN with options is refused"):
        parse(f"EXPLAIN {more} DP-SELECT 1 {BODY}")


def test_googles_words_mean_the_same():
    options = "epsilon=1/2, delta=1e-6, max_groups_contributed=3, max_rows_contributed=4, privacy_unit_column=uid"
    query = parse(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {BODY}")
    assert query.price == AtEpsilon(Fraction(1, 2))
    assert query.delta == Fraction(1, 10**6)
    assert query.unit == "uid"
    assert query.caps == TypedBounds(max_groups=3, max_rows=4)
    assert query.select.sql(dialect="duckdb") == "SELECT COUNT(*) FROM t"


def test_googles_words_without_options_and_a_plain_select_leave_the_price_open():
    for text in (
        f"SELECT {BODY}",
        f"SELECT WITH DIFFERENTIAL_PRIVACY {BODY}",
        f"select with differential_privacy {BODY}",
    ):
        assert parse(text).price == DefaultPrice()


@pytest.mark.parametrize(
    "options",
    [
        "epsilon=0",
        "epsilon=-1",
        "delta=2",
        "epsilon=1, epsilon=1",
        "kappa=3",
        "max_groups_contributed=0",
        "max_groups_contributed=1.5",
        "max_groups_contributed=1000001",
        "max_rows_contributed=-1",
        "epsilon",
        "epsilon=",
        "epsilon=1 delta=1",
        "epsilon=(SELECT 1)",
    ],
)
def test_options_that_are_not_known_or_make_no_sense_are_refused(options):
    with pytest.raises(QueryRefused):
        parse(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) {BODY}")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("DROP TABLE t", "DROP"),
        ("INSERT INTO t VALUES (1)", "INSERT"),
        ("UPDATE t SET a = 1", "UPDATE"),
        ("CREATE TABLE x AS SELECT * FROM t", "CREATE"),
        ("COPY t TO 'x.csv'", "COPY"),
        ("ATTACH 'x.db'", "ATTACH"),
        ("PRAGMA database_list", "PRAGMA"),
        ("SET memory_limit = '1GB'", "SET"),
        ("CALL x()", "CALL"),
        ("FROM t", "FROM"),
        ("SUMMARIZE t", "SUMMARIZE"),
        ("DESCRIBE t", "DESCRIBE"),
        ("VALUES (1)", "VALUES"),
        ("(SELECT 1)", "("),
        ("DP SELECT 1 COUNT(*) FROM t", "DP"),
    ],
)
def test_what_is_no_question_is_refused_by_its_first_word(text, word):
    with pytest.raises(QueryRefused) as refusal:
        parse(text)
    assert refusal.value.message.startswith(f"{word} is refused")


@pytest.mark.parametrize(
    "text",
    [
        "DP-SELECT 1 COUNT(*) FROM t; SELECT 1",
        "DP-SELECT 1 COUNT(*) FROM t; DROP TABLE t",
        "DP-SELECT 1 COUNT(*) FROM t;;DP-SELECT 1 COUNT(*) FROM t",
        "DP-SELECT 1 COUNT(*) FROM t /* ; */; SELECT 1 -- ",
    ],
)
def test_stacked_statements_are_refused(text):
    with pytest.raises(QueryRefused, match="several statements"):
        parse(text)


def test_a_trailing_semicolon_and_comments_are_no_harm():
    query = parse("DP-SELECT 1 /* ; DROP TABLE t */ COUNT(*) FROM t -- ; SELECT 1\n;;")
    assert query.select.sql(dialect="duckdb", comments=False) == "SELECT COUNT(*) FROM t"


@pytest.mark.parametrize("kind", ["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
def test_a_set_operation_is_no_question_of_its_own(kind):
    query = parse(f"DP-SELECT 1 {BODY} {kind} SELECT 1")
    with pytest.raises(QueryRefused, match=f"^{kind.split()[0]} is refused"):
        _ = query.question


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n",
        "DP-SELECT",
        "DP-SELECT 1",
        "DP-SELECT 1 ;",
        "DP-SELECT 1 COUNT(*) FROM t WHERE a = 'x",
        "DP-SELECT 1 COUNT(*) FROM t /* open",
        "DP-SELECT 1 COUNT(* FROM t",
        "DP-SELECT 1 COUNT(*) FROM t WHERE",
        "DP-SELECT 1 COUNT(*) FROM t\x00; SELECT 1",
        "DP-SELECT 1 COUNT(*) GROUP GROUP",
    ],
)
def test_text_that_cannot_be_read_is_a_syntax_error(text):
    with pytest.raises(QuerySyntaxError):
        parse(text)


def test_a_syntax_error_says_where_and_quotes_no_more_than_a_little():
    with pytest.raises(QuerySyntaxError, match="line 2, column"):
        parse("DP-SELECT 1 COUNT(*)\nFROM t WHERE ORDER x" + "y" * 500)
    with pytest.raises(QuerySyntaxError) as error:
        parse("DP-SELECT 1 COUNT(*) FROM t WHERE " + "y" * 5000 + " y y")
    assert len(error.value.message) < 200


def test_texts_beyond_the_limits_are_refused_before_they_are_parsed():
    with pytest.raises(QuerySyntaxError, match="too long"):
        parse(f"DP-SELECT 1 {BODY} WHERE a = '{'x' * MAX_CHARACTERS}'")
    with pytest.raises(QuerySyntaxError, match="too long"):
        parse(f"DP-SELECT 1 {BODY} WHERE a IN ({','.join(['1'] * MAX_TOKENS)})")
    with pytest.raises(QuerySyntaxError, match="nested too deeply"):
        parse(f"DP-SELECT 1 {BODY} WHERE {'(' * (MAX_DEPTH + 1)}1=1{')' * (MAX_DEPTH + 1)}")
    assert parse(f"DP-SELECT 1 {BODY} WHERE {'(' * 20}1=1{')' * 20}")


@pytest.mark.parametrize(
    "deep", ["NOT " * 3000 + "TRUE", "- " * 3000 + "1 = 1", "CASE WHEN TRUE THEN " * 900 + "1 " + "END " * 900]
)
def test_depth_that_needs_no_parentheses_is_an_error_and_no_crash(deep):
    with pytest.raises(QuerySyntaxError, match="nested too deeply"):
        parse(f"DP-SELECT 1 {BODY} WHERE {deep}")


@pytest.mark.parametrize("text", ["SELECT [ward], [n of]", "SELECT `ward`, `n of`", 'SELECT "ward", "n of"'])
def test_names_may_be_quoted_as_other_databases_quote_them(text):
    assert parse(f"{text} FROM t").select.sql() == 'SELECT "ward", "n of" FROM t'


def test_brackets_that_hold_a_list_or_an_index_stay_what_they_are():
    for text in ("SELECT [1, 2] FROM t", "SELECT a[1] FROM t", "SELECT [a], [1] FROM t", "SELECT [] FROM t"):
        assert "[" in parse(text).select.sql("duckdb")


def test_the_parser_is_nobodys_parent():
    """Where sqlglot is compiled, whatever inherits from its parser cannot be made, and every question is refused."""
    waiting, strange = [Parser], []
    while waiting:
        kind = waiting.pop()
        strange += [kind] if kind.__module__.startswith("tacit") else []
        waiting += kind.__subclasses__()
    assert not strange


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("DATEDIFF(b, a)", "DATE_DIFF('DAY', a, b)"),
        ("DATE_TRUNC(d, MONTH)", "DATE_TRUNC('MONTH', d)"),
        ("COALESCE(ISNULL(a, IFF(b, 1, 2)), 3)", "COALESCE(COALESCE(a, CASE WHEN b THEN 1 ELSE 2 END), 3)"),
        ("CONVERT(date, ts)", "CAST(ts AS DATE)"),
        ("EVERY(a) OVER (PARTITION BY u)", "BOOL_AND(CAST(a AS BOOLEAN)) OVER (PARTITION BY u)"),
        ("_x.datediff", "_x.datediff"),
        ("datediff", "datediff"),
    ],
)
def test_functions_of_other_databases_are_read_as_ours(written, read):
    assert parse(f"SELECT {written} FROM t").select.expressions[0].sql("duckdb") == read


def test_a_name_of_ours_cannot_be_typed():
    with pytest.raises(QueryRefused, match="keeps such names"):
        parse("SELECT _tacit_habit_datediff(a, b) FROM t")


PIVOTED = (
    "SELECT * FROM (SELECT y, COUNT(*) FILTER(WHERE x = 'a') AS \"a\", COUNT(*) FILTER(WHERE x = 'b') AS \"b\""
    " FROM t GROUP BY y) ORDER BY y LIMIT 3"
)
PIVOTED_TWICE = (
    'SELECT * FROM (SELECT "y", SUM(v) FILTER(WHERE x = 1) AS "1_s", COUNT(*) FILTER(WHERE x = 1) AS "1_count(*)"'
    ' FROM (SELECT y, x, v FROM t) GROUP BY "y")'
)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("PIVOT t ON x IN ('a', 'b') USING COUNT(*) GROUP BY y ORDER BY y LIMIT 3", PIVOTED),
        ("PIVOT (SELECT y, x, v FROM t) ON x IN (1) USING SUM(v) AS s, COUNT(*)", PIVOTED_TWICE),
        ("PIVOT t ON x, z USING COUNT(*) GROUP BY y", None),
        ("PIVOT t ON x IN ('a'), z IN ('b') USING COUNT(*) GROUP BY y", None),
        ("PIVOT t ON x IN ('a') USING COUNT(*)", None),
    ],
)
def test_pivot_is_a_filtered_aggregate_for_each_value(written, read):
    if read is None:
        with pytest.raises(QueryRefused, match="PIVOT") as refusal:
            parse(written)
        assert refusal.value.hint
    else:
        assert parse(written).select.sql("duckdb") == read


def test_a_pivot_whose_values_the_policy_may_list_is_left_to_it():
    assert parse("PIVOT t ON x USING COUNT(*) GROUP BY y").select.find(exp.Pivot)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("CAST(ts AS TIME) >= TIME '22:30'", "{} >= 81000"),
        ("ts::TIME BETWEEN '06:00' AND '06:00:01'", "{} BETWEEN 21600 AND 21601"),
        ("ts::TIME IN ('00:00')", "{} IN (0)"),
        ("a < TIMESTAMP '2020-01-01 22:00:00'", "a < CAST('2020-01-01 22:00:00' AS TIMESTAMP)"),
    ],
)
def test_times_of_day_are_compared_in_seconds(written, read):
    seconds = "(EXTRACT(HOUR FROM ts) * 3600 + EXTRACT(MINUTE FROM ts) * 60 + EXTRACT(SECOND FROM ts) * 1)"
    assert parse(f"SELECT 1 FROM t WHERE {written}").select.args["where"].this.sql("duckdb") == read.format(seconds)


@pytest.mark.parametrize("time", ["25:00", "noon", "12:00:00.5", "12:00+02:00", ""])
def test_what_is_no_time_of_day_is_refused(time):
    with pytest.raises(QueryRefused, match="time of day"):
        parse(f"SELECT 1 FROM t WHERE ts::TIME > '{time}'")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("LAG(a) OVER w", "LAG(a) OVER (PARTITION BY u ORDER BY d)"),
        (
            "SUM(a) OVER (w ROWS 1 PRECEDING)",
            "SUM(a) OVER (PARTITION BY u ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
        ),
        ("SUM(a) OVER (PARTITION BY v)", "SUM(a) OVER (PARTITION BY v)"),
    ],
)
def test_a_window_that_is_named_is_what_its_name_means(written, read):
    select = parse(f"SELECT {written} AS x FROM t WINDOW W AS (PARTITION BY u ORDER BY d)").select
    assert select.sql("duckdb") == f"SELECT {read} AS x FROM t"


def test_a_window_that_nobody_named_is_refused():
    with pytest.raises(QueryRefused, match="there is no WINDOW v"):
        parse("SELECT LAG(a) OVER v AS x FROM t WINDOW w AS (PARTITION BY u)")


@pytest.mark.parametrize(
    "where", ["a IN ($1,$2)", "a IN ($1,$2)AND b IN ($1,$2)", "a=$1::text||$2", "f($1,$2,'$1,$')=g($2,$1,$2)"]
)
def test_parameters_that_touch_are_parameters_and_no_text_between_dollars(where):
    query = parse(f"DP-SELECT 1 COUNT(*) FROM t WHERE {where}", ["x", "y"])
    found = [node.this for node in query.select.find_all(exp.Placeholder)]
    assert sorted(found) == sorted(re.findall(r"\$(\d)", where.replace("'$1,$'", "")))


def test_a_text_between_two_dollars_is_taken_as_it_is():
    (text,) = parse("DP-SELECT 1 COUNT(*) FROM t WHERE a = $$it''s $1,$2 \\n$$").select.find_all(exp.RawString)
    assert text.this == "it''s $1,$2 \\n"


@pytest.mark.parametrize(
    "join", ["JOIN t", "LEFT JOIN t", "NATURAL JOIN t", "JOIN t, t", "INNER JOIN (SELECT 1)", "JOIN t ON a JOIN t"]
)
def test_many_joins_without_a_condition_are_refused_before_they_are_tried_in_each_other(join):
    with pytest.raises(QuerySyntaxError, match="joins have no condition"):
        parse(f"DP-SELECT 1 COUNT(*) FROM t {' '.join([join] * 30)}")
    with pytest.raises(QuerySyntaxError, match="joins have no condition"):
        parse(f"DP-SELECT 1 COUNT(*) FROM (SELECT a FROM t {' '.join([join] * 30)}) AS s JOIN u ON TRUE")


@pytest.mark.parametrize("join", ["CROSS JOIN t", "JOIN t ON TRUE", "JOIN t USING (a)", "JOIN (u JOIN v ON a) ON b"])
def test_any_number_of_joins_with_a_condition_is_read(join):
    parse(f"DP-SELECT 1 COUNT(*) FROM t {' '.join([join] * 30)}")
    parse("DP-SELECT 1 COUNT(*) FROM t NATURAL JOIN u NATURAL JOIN v JOIN w JOIN x ON a ON b")
