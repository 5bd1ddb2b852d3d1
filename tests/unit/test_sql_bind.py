"""Query + policy → BoundQuery: names, positions, aliases, and every refusal by name."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

import pytest

from conformance.sql_clinic import clinic, row_clinic
from tacit.errors import InvalidParameter, QueryRefused, TacitError, UnboundedColumn, UnknownName
from tacit.policy import ColumnType
from tacit.sql import Additive, Counted, Mode, Quantile


@pytest.fixture(scope="module")
def over():
    return clinic()


def bound(over, body, parameters=()):
    return over.bound(f"DP-SELECT 1 DELTA 1e-6 {body}", parameters)


def refusal(over, body, kind=QueryRefused, parameters=()):
    with pytest.raises(kind) as caught:
        bound(over, body, parameters)
    return caught.value.message


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("COUNT(*) FROM visits SEMI JOIN cities", "SEMI JOIN is refused"),
        ("COUNT(*) FROM visits ASOF JOIN cities ON city = name", "ASOF JOIN is refused"),
        ("COUNT(*) FROM visits CROSS JOIN visits AS w", "a joined row would belong to two units"),
        ("DISTINCT dept FROM visits", "DISTINCT is refused"),
        ("COUNT(*) FROM visits QUALIFY TRUE", "QUALIFY is refused"),
        ("COUNT(*) FROM visits USING SAMPLE 10%", "SAMPLE is refused"),
        ("COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)", "a subquery is refused"),
        ("COUNT(*) FROM visits WHERE age IN (SELECT age FROM visits)", "IN over other people's rows is refused"),
        ("COUNT(*) FROM visits WHERE EXISTS (SELECT 1)", "EXISTS needs a SELECT"),
        ("(SELECT COUNT(*) FROM visits) FROM visits", "a subquery is refused"),
        ("COUNT(*) FROM (SELECT * FROM visits LIMIT 3)", "LIMIT is refused in a subquery"),
        ("COUNT(*) FROM (VALUES (1)) AS x", "is refused after FROM"),
        ("SUM(age) OVER () FROM visits", "a window function is refused"),
        ("ROW_NUMBER() OVER (ORDER BY age) FROM visits", "a window function is refused"),
        ("COUNT(*) FROM visits GROUP BY dept WITH ROLLUP", "ROLLUP is refused"),
        ("COUNT(*) FROM visits GROUP BY dept WITH CUBE", "CUBE is refused"),
        ("COUNT(*) FROM visits GROUP BY dept WITH TOTALS", "TOTALS is refused"),
        ("COUNT(*) FROM visits GROUP BY 7", "position 7"),
        ("COUNT(*) FROM visits GROUP BY 'x'", "GROUP BY a constant is refused"),
        ("patient_id, COUNT(*) FROM visits GROUP BY patient_id", "GROUP BY patient_id is refused"),
        ("PATIENT_ID, COUNT(*) FROM visits GROUP BY 1", "GROUP BY PATIENT_ID is refused"),
        ("SUBSTRING(patient_id, 1, 1), COUNT(*) FROM visits GROUP BY 1", "tells one person from another"),
        ("COUNT(*) FROM visits WHERE patient_id = 'p1'", "tells one person from another"),
        ("COUNT(*) FROM visits WHERE UPPER(patient_id) LIKE 'P%'", "tells one person from another"),
        ("MODE(patient_id) FROM visits", "GROUP BY patient_id is refused"),
        ("SUM(patient_id) FROM visits", "tells one person from another"),
        ("COUNT(DISTINCT LOWER(patient_id)) FROM visits", "tells one person from another"),
        ("* FROM visits", "* is refused in the select list"),
        ("age, dept FROM visits", "age is refused in the select list"),
        ("dept FROM visits GROUP BY dept", "rows are refused"),
        ("age, COUNT(*) FROM visits GROUP BY dept", "age is refused beside aggregates: it is neither grouped"),
        ("'x', COUNT(*) FROM visits", "a bare text or date"),
        ("SUM(dept) FROM visits", "the column dept is text"),
        ("SUM(seen) FROM visits", "the column seen is date"),
        ("AVG(age / amount) FROM visits", "divisor may be zero"),
        ("SUM(age / 0) FROM visits", "a division by zero"),
        ("SUM(age // amount) FROM visits", "divisor may be zero"),
        ("SUM(age % 0) FROM visits", "% needs a constant other than 0"),
        ("SUM(age % amount) FROM visits", "% needs a constant other than 0"),
        ("SUM(NULLIF(age, dept)) FROM visits", "tacit does not convert cells"),
        ("SUM(WIDTH_BUCKET(age, 3, 3, 2)) FROM visits", "WIDTH_BUCKET needs two different numbers"),
        ("SUM(WIDTH_BUCKET(age, 3, 9, 1.5)) FROM visits", "WIDTH_BUCKET needs two different numbers"),
        ("SUM(CAST(dept AS INTEGER)) FROM visits", "CAST of text is refused: it would fail on a row"),
        ("SUM(CAST(amount AS BOOLEAN)) FROM visits", "a cast to BOOLEAN is refused"),
        ("SUM(TRY_CAST(dept AS INTEGER)) FROM visits", "TRY_CAST(dept AS INT) has no bounds"),
        ("SUM(CASE WHEN TRUE THEN NULL END) FROM visits", "every branch is NULL"),
        ("COUNT(*) FROM visits WHERE RANDOM() < 0.5", "RANDOM is refused"),
        ("COUNT(*) FROM visits WHERE CAST(dept AS INTEGER) = 1", "CAST of text is refused"),
        ("COUNT(*) FROM visits WHERE ERROR(dept)", "ERROR is refused in a condition"),
        ("COUNT(*) FROM visits WHERE dept = 3", "is compared with"),
        ("COUNT(*) FROM visits WHERE age = '3'", "is compared with"),
        ("COUNT(*) FROM visits WHERE seen = TIMESTAMP '2024-01-01 00:00:01'", "is compared with"),
        ("COUNT(*) FROM visits WHERE seen = at", "at has no bounds"),
        ("COUNT(*) FROM visits WHERE seen > 'yesterday'", "is not a date"),
        ("COUNT(*) FROM visits WHERE dept LIKE city", "a constant is needed"),
        ("COUNT(*) FROM visits WHERE dept LIKE 'a\\'", "backslash"),
        ("COUNT(*) FROM visits WHERE dept SIMILAR TO 'a('", "a parenthesis is not closed"),
        ("COUNT(*) FROM visits WHERE REGEXP_MATCHES(dept, city)", "REGEXP_MATCHES needs a constant pattern"),
        ("COUNT(*) FROM visits WHERE age IS DISTINCT FROM '3'", "is compared with"),
        ("COUNT(*) FROM visits WHERE insured IS 3", "IS needs NULL, TRUE or FALSE"),
        ("COUNT(*) FROM visits WHERE age IN (age)", "a constant is needed"),
        ("COUNT(*) FROM visits WHERE SUBSTRING(dept, -3, 1) = 'C'", "SUBSTRING from the end"),
        ("COUNT(*) FROM visits WHERE SUBSTRING(dept, 1, TRUE) = 'C'", "SUBSTRING needs a whole number"),
        ("COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 3 AND 'x'", "is compared with"),
        ("SUM(ROUND(amount, TRUE)) FROM visits", "ROUND needs a whole number"),
        ("COUNT(*) FROM visits WHERE TRIM(LEADING city FROM dept) = 'C'", "TRIM needs a constant text"),
        ("COUNT(*) FROM visits WHERE EXTRACT(MILLENNIUM FROM seen) > 1", "MILLENNIUM is refused"),
        ("COUNT(*) FROM visits WHERE DATE_TRUNC('century', seen) > '2024-01-01'", "DATE_TRUNC to CENTURY is refused"),
        ("COUNT(*) FROM visits WHERE COALESCE(dept, 3) = 'x'", "COALESCE needs"),
        ("COUNT(age, dept) FROM visits", "COUNT takes one argument"),
        ("SUM(DISTINCT age) FROM visits", "DISTINCT is refused in SUM"),
        ("COUNT(*) FROM visits WHERE age * 2 > '3'", "number is compared with text"),
        ("SUM(*) FROM visits", "SUM needs a column"),
        ("QUANTILE(age, 2) FROM visits", "a quantile lies between 0 and 1"),
        ("QUANTILE(age, -0.1) FROM visits", "a quantile lies between 0 and 1"),
        ("QUANTILE(age, 0.1234567) FROM visits", "named too finely"),
        ("QUANTILE(age, amount) FROM visits", "a constant is needed"),
        ("QUANTILE(age) FROM visits", "needs a share"),
        ("MEDIAN(amount * 1000) FROM visits WHERE FALSE", None),
        ("MODE(city) FROM visits", "needs a public domain"),
        ("TOP_K(dept, 4) FROM visits", "more values than the domain has"),
        ("TOP_K(dept, 0) FROM visits", "TOP_K needs"),
        ("TOP_K(dept) FROM visits", "TOP_K needs"),
        ("AVG(5) FROM visits", "nothing is measured"),
        ("COUNT(*) FROM visits LIMIT 10%", "LIMIT needs a whole number"),
        ("COUNT(*) FROM visits LIMIT 5 BY dept", "LIMIT needs a whole number"),
        ("COUNT(*) FROM visits FETCH FIRST 5 ROWS WITH TIES", "LIMIT needs a whole number"),
        ("COUNT(*) FROM visits LIMIT -1", "LIMIT needs a whole number"),
        ("COUNT(*) FROM visits LIMIT 1.5", "LIMIT needs a whole number"),
        ("COUNT(*) FROM visits OFFSET age", "a constant is needed"),
        ("COUNT(*) FROM visits ORDER BY age", "age is refused beside aggregates"),
        ("COUNT(*) FROM visits ORDER BY 1 NULLS FIRST", "NULLS FIRST"),
        ("dept, COUNT(*) FROM visits GROUP BY dept HAVING dept = 'CS'", "refused in HAVING"),
        ("COUNT(*) FROM visits HAVING insured", "refused in HAVING"),
        ("COUNT(*) FROM visits HAVING COUNT(*) IN (1, 2)", "IN is refused in HAVING"),
        ("COUNT(*) FROM visits WHERE age = ?", "has no value"),
        ("COUNT(*) FROM visits WHERE age = :who", "has no value"),
        ("LOWER(COUNT(*)) FROM visits", "LOWER is refused in the select list"),
        ("ROUND(COUNT(*), -1) FROM visits", "ROUND needs a whole number of places"),
        ("SUM(SUM(age)) FROM visits", "SUM is refused here"),
        ("COUNT(*) FILTER (WHERE COUNT(*) > 1) FROM visits", "is refused"),
        ("COUNT(*) FROM visits WHERE COUNT(*) > 1", "is refused"),
        ("COUNT(*) FROM visits WHERE age + 1 > 1e-40", "too far apart in size"),
        ("HISTOGRAM(dept) + 1 FROM visits", "HISTOGRAM(dept) is not a number"),
        ("COUNT(*) FROM visits HAVING MODE(dept) > 3", "MODE(dept) is not a number"),
        ("HISTOGRAM(city) FROM visits", "needs a public domain"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(over, body, word):
    if word is None:
        assert bound(over, body.replace("* 1000", "")).measures
        return
    assert word in refusal(over, body)


@pytest.mark.parametrize(
    "call",
    [
        *("FIRST(age)", "LAST(age)", "ANY_VALUE(age)", "ARG_MAX(age, amount)", "ARG_MIN(age, amount)", "LIST(age)"),
        *(
            "ARRAY_AGG(age)",
            "STRING_AGG(dept, ',')",
            "GROUP_CONCAT(dept)",
        ),
        *(
            "BIT_AND(age)",
            "BOOL_AND(insured)",
            "PRODUCT(age)",
            "ENTROPY(age)",
            "MAX_BY(age, amount)",
        ),
        *("MAD(age)",),
        *(
            "CHECKSUM(age)",
            "COUNT_STAR_EXACT()",
            "JSON_GROUP_ARRAY(age)",
            "GETVARIABLE('x')",
            "STATS(age)",
        ),
    ],
)
def test_an_aggregate_that_shows_cells_or_is_not_known_is_refused(over, call):
    name = call.partition("(")[0].replace("_", "").rstrip("S")
    message = refusal(over, f"{call} FROM visits")
    assert "is refused" in message
    assert "visits" not in message or name


@pytest.mark.parametrize("name", ["nothing", "undeclared", "secret", "rowid", "visits", "COLUMNS"])
def test_a_column_that_is_hidden_undeclared_or_absent_is_unknown_in_the_same_words(over, name):
    message = refusal(over, f"SUM({name}) FROM visits", kind=UnknownName)
    assert message == f"unknown column {name!r}: the policy does not name it in table 'visits'"


@pytest.mark.parametrize("name", ["secrets", "duckdb_tables", "sqlite_master", "pg_stats", "information_schema.tables"])
def test_a_table_that_is_not_in_the_policy_does_not_exist(over, name):
    message = refusal(over, f"COUNT(*) FROM {name}", kind=UnknownName)
    assert "table" in message


@pytest.mark.parametrize(
    "source",
    [
        *(
            "read_csv('/etc/passwd')",
            "read_text('x')",
            "query('SELECT 1')",
            "query_table('visits')",
            "range(10)",
            "'visits.csv'",
        ),
        *(
            "duckdb_settings()",
            "pragma_table_info('visits')",
            "unnest([1])",
            "generate_series(1, 9)",
            "glob('*')",
            "LATERAL (SELECT 1)",
        ),
    ],
)
def test_only_a_table_by_its_name_stands_after_from(over, source):
    assert refusal(over, f"COUNT(*) FROM {source}")


@pytest.mark.parametrize(
    "source", ["visits", "VISITS", '"visits"', '"Visits"', "main.visits", "MAIN.Visits", "visits AS v", "visits v"]
)
def test_a_table_is_one_table_however_it_is_spelled(over, source):
    assert bound(over, f"COUNT(*) FROM {source}").table.name == "visits"


@pytest.mark.parametrize(
    "source", ["db.main.visits", "other.visits", "visits TABLESAMPLE 10%", "visits AT (VERSION => 1)", "ONLY visits"]
)
def test_a_table_elsewhere_or_at_another_time_is_refused(over, source):
    with pytest.raises(QueryRefused):
        bound(over, f"COUNT(*) FROM {source}")


def test_a_public_table_is_not_asked_here(over):
    assert "is public" in refusal(over, "COUNT(*) FROM cities")


@pytest.mark.parametrize("name", ["age", "AGE", '"Age"', "visits.age", "VISITS.AGE"])
def test_columns_are_found_whatever_their_case(over, name):
    assert (
        bound(over, f"SUM({name}) FROM visits").measures[0].signature
        == bound(over, "SUM(age) FROM visits").measures[0].signature
    )


def test_an_alias_of_the_table_names_its_columns_and_nothing_else_does(over):
    assert bound(over, "SUM(v.age) FROM visits AS v").measures
    assert "there is no table w" in refusal(over, "SUM(w.age) FROM visits AS v", kind=UnknownName)
    assert bound(over, "SUM(main.visits.age) FROM visits").measures
    assert "there is no column" in refusal(over, "SUM(other.visits.age) FROM visits", kind=UnknownName)


def test_a_sum_without_bounds_is_refused_with_the_line_to_add(over):
    with pytest.raises(UnboundedColumn, match="weight has no bounds") as caught:
        bound(over, "SUM(weight) FROM visits")
    assert "[tables.visits.columns]" in caught.value.hint


def test_positions_and_aliases_in_group_by_and_order_by_mean_the_select_list(over):
    written = [
        "dept, COUNT(*) AS n FROM visits GROUP BY dept ORDER BY n DESC",
        "dept AS d, COUNT(*) AS n FROM visits GROUP BY d ORDER BY N DESC",
        "dept, COUNT(*) FROM visits GROUP BY 1 ORDER BY 2 DESC",
        "dept, COUNT(*) FROM visits GROUP BY ALL ORDER BY COUNT(*) DESC",
        "DEPT, count(*) FROM visits GROUP BY (visits.dept) ORDER BY COUNT(*) DESC",
    ]
    for text in written:
        found = bound(over, text)
        assert [out.key for out in found.outputs] == [0, None]
        assert found.order[0].descending
        assert found.order[0].output.value == found.outputs[1].value
        assert len(found.measures) == 1


def test_group_by_all_takes_the_columns_without_an_aggregate(over):
    found = bound(over, "insured, COUNT(*) / 2, dept FROM visits GROUP BY ALL")
    assert [key.kind for key in found.keys] == [ColumnType.BOOLEAN, ColumnType.TEXT]


def test_order_by_something_not_shown_is_measured_too(over):
    found = bound(over, "dept, COUNT(*) FROM visits GROUP BY dept ORDER BY SUM(age)")
    assert len(found.measures) == 2


def test_limits_and_offsets_may_be_parameters(over):
    found = bound(over, "dept, COUNT(*) FROM visits GROUP BY dept LIMIT ? OFFSET ?", [2, 1])
    assert (found.limit, found.offset) == (2, 1)
    assert bound(over, "COUNT(*) FROM visits FETCH FIRST 3 ROWS ONLY").limit == 3


def test_two_columns_of_one_name_are_told_apart(over):
    found = bound(over, "COUNT(*) AS n, SUM(age) AS n, AVG(age) AS n FROM visits")
    assert [out.name for out in found.outputs] == ["n", "n_2", "n_3"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("CS", "'CS'"),
        ("O'Brien'; DROP TABLE visits; --", "'O''Brien''; DROP TABLE visits; --'"),
        ("back\\slash", "'back\\slash'"),
        ("\u2019\u00df\U0001f600", "'\u2019\u00df\U0001f600'"),
        ("line\nbreak", "'line\nbreak'"),
    ],
)
def test_a_text_parameter_is_a_literal_and_never_sql(over, value, written):
    where = bound(over, "COUNT(*) FROM visits WHERE city = ?", [value]).where
    assert where is not None
    assert where.sql(dialect="duckdb") == f'"city" = {written}'
    plan = over.plan("DP-SELECT 1 COUNT(*) FROM visits WHERE city = ?", [value])
    assert over.exact(plan)[0].rows == 1


def test_parameters_of_other_kinds_become_exact_constants(over):
    text = "COUNT(*) FROM visits WHERE amount > ? AND seen > ? AND at < ? AND insured = ? AND age < ?"
    moment = datetime(2024, 1, 1, 12, tzinfo=UTC)
    where = bound(over, text, [Fraction(1, 3), date(2024, 2, 29), moment, True, 10**30]).where.sql(dialect="duckdb")
    assert "CAST('2024-02-29' AS DATE)" in where
    assert "CAST('2024-01-01 12:00:00' AS TIMESTAMP)" in where
    assert "0.3333333333333333" in where
    assert '"age" = "age"' in where  # below 10^30 is every INTEGER there is


@pytest.mark.parametrize("value", [object(), b"x", [1], {"a": 1}, float("nan"), float("inf"), complex(1)])
def test_a_parameter_of_another_kind_is_refused(over, value):
    with pytest.raises(TacitError):
        bound(over, "COUNT(*) FROM visits WHERE amount > ?", [value])
    assert issubclass(InvalidParameter, TacitError)


@pytest.mark.parametrize("value", ["a\x00b", "\ud800"])
def test_a_text_no_engine_could_be_told_is_refused_before_any_charge(over, value):
    with pytest.raises(QueryRefused):
        over.plan("DP-SELECT 1 COUNT(*) FROM visits WHERE dept = ?", [value])


def test_aggregates_of_one_column_share_their_measurements(over):
    found = bound(over, "SUM(amount), COUNT(amount), AVG(amount), VAR_POP(amount), STDDEV(amount) FROM visits")
    counted = [measure.counted for measure in found.measures if isinstance(measure, Additive)]
    assert sorted(counted, key=str) == [Counted.ROWS, Counted.VALUES, Counted.VALUES]


def test_a_sum_alone_is_one_measurement_and_with_its_count_it_is_centred(over):
    alone = bound(over, "SUM(amount) FROM visits").measures
    assert [(m.low, m.high) for m in alone] == [(0, 50000)]
    beside = bound(over, "SUM(amount), COUNT(amount) FROM visits").measures
    assert {(m.counted, m.low, m.high) for m in beside} == {(Counted.VALUES, -25000, 25000), (Counted.ROWS, 0, 1)}


def test_an_extreme_says_that_it_is_a_quantile(over):
    found = bound(over, "MIN(age), MAX(age), QUANTILE(age, 1), QUANTILE(age, 0) FROM visits")
    assert all(isinstance(measure, Quantile) and measure.share is None for measure in found.measures)
    assert len(found.measures) == 2
    assert "never the largest itself" in " ".join(found.notes)


def test_the_other_spellings_of_an_aggregate_mean_the_same(over):
    same = [
        (
            "MEDIAN(age)",
            "QUANTILE(age, 0.5)",
            "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
            "QUANTILE_CONT(age, 0.5)",
        ),
        ("VARIANCE(age)", "VAR_SAMP(age)"),
        ("STDDEV(age)", "STDDEV_SAMP(age)"),
        ("COUNT(*)", "COUNT(1)"),
        ("COUNT(*) FILTER (WHERE insured)", "COUNT_IF(insured)", "COUNTIF(insured)"),
    ]
    for group in same:
        signatures = set()
        for text in group:
            signatures.add(tuple(measure.signature for measure in bound(over, f"{text} FROM visits").measures))
        assert len(signatures) == 1, group


def test_a_mode_needs_no_bounds_but_a_domain(over):
    found = bound(over, "MODE(dept), TOP_K(age, 3), MODE(insured) FROM visits")
    assert [measure.count for measure in found.measures if isinstance(measure, Mode)] == [1, 3, 1]


def test_google_may_name_the_unit_but_not_change_it(over):
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, privacy_unit_column={}) COUNT(*) FROM visits"
    assert over.bound(text.format("Patient_ID"))
    with pytest.raises(QueryRefused, match="the privacy unit is not city"):
        over.bound(text.format("city"))


def test_where_each_row_is_a_person_no_column_is_a_unit():
    over = row_clinic()
    assert over.bound("DP-SELECT 1 COUNT(*) FROM visits WHERE dept = 'CS'").measures
    with pytest.raises(UnknownName):
        over.bound("DP-SELECT 1 COUNT(DISTINCT patient_id) FROM visits")


def test_a_condition_that_is_written_out_again_and_again_is_held_short(over):
    nested = "age"
    for _ in range(12):
        nested = f"CASE WHEN {nested} + 1 BETWEEN 20 AND 30 THEN 1 ELSE 0 END"
    assert "too long" in refusal(over, f"SUM({nested}) FROM visits")
    subject = "+".join(["age"] * 60)
    assert "too long" in refusal(over, f"SUM(CASE {subject} WHEN 1 THEN 1 WHEN 2 THEN 2 END) FROM visits")


@pytest.mark.parametrize(
    "form", ["ABS({} - 1)", "COALESCE({}, 1)", "FLOOR({} / 3)", "ROUND({}, 1)", "CEIL({} * 0.5)", "({} % 7)"]
)
def test_nesting_grows_the_sql_in_proportion_and_not_by_powers(over, form):
    lengths = []
    for depth in (4, 8, 16):
        text = "age"
        for _ in range(depth):
            text = form.format(text)
        lengths.append(len(over.plan(f"DP-SELECT 1 SUM({text}) FROM visits").statements[0].sql("duckdb")))
    assert lengths[2] - lengths[1] <= 4 * (lengths[1] - lengths[0]) + 100


def test_too_many_groups_together_are_refused(over):
    assert "too many groups" in refusal(
        over, "age, seen, dept, insured, FLOOR(age / 2), COUNT(*) FROM visits GROUP BY 1, 2, 3, 4, 5"
    )


def test_a_select_list_that_is_too_long_is_refused(over):
    assert "too long" in refusal(over, f"{', '.join(['COUNT(*)'] * 101)} FROM visits")


def test_not_like_is_not_like(over):
    for words in ("dept NOT LIKE 'C%'", "dept NOT ILIKE 'c%'", "NOT dept LIKE 'C%'"):
        where = bound(over, f"COUNT(*) FROM visits WHERE {words}").where
        assert where.sql(dialect="duckdb").startswith("NOT "), words


@pytest.mark.parametrize("call", ["PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age)", "VAR_SAMP(age)", "STDEV(age)"])
def test_an_aggregate_is_called_as_it_was_typed(over, call):
    labels = [measure.label for measure in bound(over, f"{call} FROM visits").measures]
    said = " ".join([*labels, *bound(over, f"{call} FROM visits").notes])
    assert call.partition("(")[0] in said
    assert "QUANTILE_CONT" not in said
