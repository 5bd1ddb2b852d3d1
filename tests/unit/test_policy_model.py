"""The policy as Python objects: the same rules, the same errors, lookups that do not mind the case."""

from dataclasses import FrozenInstanceError, fields, replace
from datetime import date, timedelta
from fractions import Fraction

import pytest

from tacit.core import Adjacency, Bounds, Budget, PrivacyUnit
from tacit.errors import PolicyError, UnknownName
from tacit.policy import (
    Accounting,
    AnalystPolicy,
    BudgetPolicy,
    ColumnPolicy,
    ColumnType,
    Dataset,
    GroupPolicy,
    ListDomain,
    Policy,
    TableDomain,
    TablePolicy,
    keys_markdown,
)
from tacit.policy.keys import ANALYST, BUDGET, COLUMN, DATASET, GROUP, SECTIONS, TABLE, names_of


def clinic(**changes) -> Policy:
    given = {
        "dataset": Dataset("clinic", "clinic.duckdb"),
        "budget": BudgetPolicy(10, 1e-6),
        "tables": [TablePolicy("Visits", "id", columns=[ColumnPolicy("Age"), ColumnPolicy("ssn", hidden=True)])],
        "analysts": [AnalystPolicy("ana", 4), AnalystPolicy("bea", groups=["students"])],
        "groups": [GroupPolicy("students", 2)],
        **changes,
    }
    return Policy(given.pop("dataset"), given.pop("budget"), **given)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ColumnPolicy("a", lower=500, upper=0, step=1), "a: lower 500 is not below upper 0"),
        (lambda: ColumnPolicy("a", lower=float("nan"), upper=0, step=1), "a: lower is not finite: nan"),
        (lambda: ColumnPolicy("a", lower=0, upper=1, step=0), "a: step must be greater than zero"),
        (lambda: ColumnPolicy("a", lower=0, upper=1), "a: step is missing"),
        (lambda: ColumnPolicy("a", domain=[]), "a: domain is empty"),
        (lambda: ColumnPolicy("a", domain=["x", "x"]), "a: domain value 2 repeats 'x'"),
        (lambda: ColumnPolicy("a", domain=ListDomain(("x", "x"))), "a: domain value 2 repeats 'x'"),
        (lambda: ColumnPolicy("a", domain={"x", "y"}), "a: domain must be a list of values"),
        (lambda: ColumnPolicy("a", domain=[Fraction(1, 3)]), "a: domain value 1 has no decimal form"),
        (lambda: ColumnPolicy("a", domain=["\ud800"]), "a: domain value 1 is not sound text"),
        (lambda: ColumnPolicy("a", domain=range(1_000_001)), "a: domain has 1000001 values"),
        (lambda: ColumnPolicy("a", type="money"), "a: type must be one of"),
        (lambda: ColumnPolicy(" "), "is not a name tacit accepts"),
        (lambda: ColumnPolicy("a", hidden="no"), "a: hidden must be true or false"),
        (
            lambda: ColumnPolicy("a", lower=0, upper=1, step=1, unit_total=Bounds(0, 2, step=2)),
            "a: unit_total has step 2, the column 1",
        ),
        (lambda: TablePolicy("t"), "t: unit is missing"),
        (lambda: TablePolicy("t", "id", public=True), "t: unit cannot be: the table is public"),
        (lambda: TablePolicy("t", "id", max_groups=0), "t: max_groups must be at least 1: got 0"),
        (lambda: TablePolicy("t", "id", max_rows=1.0), "t: max_rows must be a whole number: it is 1.0"),
        (lambda: TablePolicy("t", "id", columns=[ColumnPolicy("x"), ColumnPolicy("X")]), "X differs from 'x' by case"),
        (lambda: TablePolicy("t", "id", columns=["x"]), "t: columns must be columns"),
        (lambda: TableDomain("t.x", "c"), "has a dot"),
        (lambda: BudgetPolicy(0), "epsilon: must be greater than zero: got 0"),
        (lambda: BudgetPolicy(1, 1), "delta: must be at least 0 and below 1"),
        (lambda: BudgetPolicy(1, 1e-6, accounting="pure"), 'accounting: is "pure", which has no delta'),
        (lambda: AnalystPolicy("ana"), "ana: epsilon is missing"),
        (lambda: AnalystPolicy("a b", 1), "is not a name tacit accepts"),
        (lambda: AnalystPolicy("ana", 1, window=timedelta(0)), "ana: window must be a whole number of seconds"),
        (lambda: GroupPolicy("g", -1), "g: epsilon must be greater than zero"),
        (lambda: Dataset("clinic", {}), "source: is empty"),
        (lambda: Dataset("clinic", {"a": "x", "A": "y"}), "source: A differs from 'a' by case only"),
        (lambda: Dataset("clinic", "x", engine="oracle"), "engine: 'oracle' is not an engine tacit knows"),
        (lambda: clinic(tables=[]), "[tables]: is missing"),
        (lambda: clinic(groups=[]), "[analysts.bea] groups: value 1 'students' is no group here"),
        (lambda: clinic(dataset=Dataset("clinic", {"v": "v.csv"})), "[tables.Visits]: has no file"),
        (lambda: clinic(analysts=[AnalystPolicy("a", 1), AnalystPolicy("A", 1)]), "[analysts.A]: differs from 'a'"),
        (lambda: clinic(analysts=[AnalystPolicy("a", 1)] * 2), "[analysts.a]: is there twice"),
    ],
)
def test_objects_made_in_python_obey_the_rules_of_the_file(make, says):
    with pytest.raises(PolicyError) as caught:
        make()
    assert says in caught.value.message


@pytest.mark.parametrize("name", ["Visits", "visits", "VISITS"])
def test_a_table_is_found_whatever_its_case(name):
    assert clinic().table(name).name == "Visits"


@pytest.mark.parametrize("name", ["Age", "age", "AGE"])
def test_a_column_is_found_whatever_its_case(name):
    assert clinic().table("visits").column(name).name == "Age"


def test_an_unknown_name_is_refused_with_the_nearest_known():
    with pytest.raises(UnknownName) as caught:
        clinic().table("visit")
    assert caught.value.hint == 'did you mean "Visits"?'
    with pytest.raises(UnknownName) as caught:
        clinic().table("visits").column("agee")
    assert caught.value.hint == 'did you mean "Age"?'


def test_a_hidden_column_is_refused_in_the_same_words_as_one_that_does_not_exist():
    table = clinic().table("visits")
    with pytest.raises(UnknownName) as hidden:
        table.column("ssn")
    with pytest.raises(UnknownName) as absent:
        TablePolicy("Visits", "id", columns=[ColumnPolicy("Age")]).column("ssn")
    assert (hidden.value.message, hidden.value.hint) == (absent.value.message, absent.value.hint)
    with pytest.raises(UnknownName) as near:
        table.column("ssm")
    assert "ssn" not in near.value.hint


def test_a_stranger_learns_no_analysts_name():
    with pytest.raises(PolicyError) as caught:
        clinic().analyst("anna")
    assert "ana" not in (caught.value.message + caught.value.hint).replace("anna", "").replace("analyst", "")


def test_units_are_the_vocabulary_of_the_core():
    policy = clinic(
        tables=[TablePolicy("v", "id"), TablePolicy("p", "row"), TablePolicy("c", public=True)],
        dataset=Dataset("clinic", "x.duckdb", adjacency=Adjacency.REPLACE),
    )
    assert policy.unit_of("V") == PrivacyUnit("id", Adjacency.REPLACE)
    assert policy.unit_of("p") == PrivacyUnit(None, Adjacency.REPLACE)
    assert policy.unit_of("c") is None
    assert policy.table("v").is_unit("ID")
    assert not policy.table("p").is_unit("row")


def test_what_an_analyst_does_not_say_is_the_totals():
    policy = clinic(analysts=[AnalystPolicy("ana", 40), AnalystPolicy("bea", groups=["students"])])
    assert policy.limit_of(policy.analyst("ANA")) == Budget(
        40, 1e-6
    )  # more than the total is allowed; the total caps it
    assert policy.limit_of(policy.analyst("bea")) == Budget(10, 1e-6)
    assert policy.limit_of(policy.group("students")) == Budget(2, 1e-6)


@pytest.mark.parametrize(("delta", "accounting"), [(0, Accounting.PURE), (1e-6, Accounting.APPROXIMATE)])
def test_accounting_follows_delta_unless_it_is_said(delta, accounting):
    assert BudgetPolicy(1, delta).accounting is accounting


@pytest.mark.parametrize(("lower", "upper", "nan"), [(0, 500, 0), (18, 90, 18), (-9, -1, -1), (-5, 1000, 0)])
def test_nan_counts_as_the_value_in_range_nearest_to_zero(lower, upper, nan):
    assert ColumnPolicy("a", lower=lower, upper=upper, step=1).nan_value == nan


def test_a_number_given_as_float_text_or_fraction_is_the_same_number():
    columns = [ColumnPolicy("a", lower=0, upper=1, step=step) for step in (0.1, "0.1", "1/10", Fraction(1, 10))]
    assert len(set(columns)) == 1


def test_a_day_bounds_a_timestamp_from_its_first_moment():
    days = ColumnPolicy("at", type="timestamp", lower=date(2024, 1, 1), upper=date(2025, 1, 1))
    moments = ColumnPolicy("at", type="timestamp", lower="2024-01-01T00:00:00", upper="2025-01-01T00:00:00")
    assert days == moments
    assert days.bounds == moments.bounds


def test_values_are_frozen_and_replaceable():
    column = ColumnPolicy("a", type="integer", lower=0, upper=9)
    with pytest.raises(FrozenInstanceError):
        column.lower = 3
    wider = replace(column, upper=19)
    assert wider.bounds == Bounds(0, 19)
    with pytest.raises(PolicyError):
        replace(column, upper=-1)
    assert replace(clinic(), analysts=()).analysts == ()


def test_a_long_domain_is_not_printed_whole():
    assert len(repr(ColumnPolicy("a", domain=[f"v{i}" for i in range(1000)]))) < 500


@pytest.mark.parametrize(
    ("kind", "keys", "others"),
    [
        (Dataset, DATASET, {"base"}),
        (BudgetPolicy, BUDGET, set()),
        (AnalystPolicy, ANALYST, {"name"}),
        (GroupPolicy, GROUP, {"name"}),
        (TablePolicy, TABLE, {"name"}),
        (ColumnPolicy, COLUMN, {"name", "bounds"}),
    ],
)
def test_every_attribute_is_a_documented_key(kind, keys, others):
    assert {field.name for field in fields(kind)} == set(names_of(keys)) | others


def test_the_reference_page_lists_every_key():
    page = keys_markdown()
    for section, keys in SECTIONS.items():
        assert f"[{section}]" in page
        assert all(f"| `{key.name}` |" in page for key in keys)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("INTEGER BIGINT int4 serial UHUGEINT smallint uint64", ColumnType.INTEGER),
        ("DOUBLE FLOAT real numeric DECIMAL(18,3) float8 numeric(10,_2)", ColumnType.NUMBER),
        ("VARCHAR text varchar(10) character_varying(5) bpchar UUID ENUM('a',_'b]') citext", ColumnType.TEXT),
        ("BOOLEAN bool", ColumnType.BOOLEAN),
        ("DATE date", ColumnType.DATE),
        ("TIMESTAMP TIMESTAMP_NS timestamp(3)_without_time_zone TIMESTAMP_WITH_TIME_ZONE", ColumnType.TIMESTAMP),
        ("BLOB INTEGER[] VARCHAR[3] STRUCT(x_INTEGER) MAP(INTEGER,_INTEGER) JSON TIME INTERVAL BIGNUM", None),
    ],
)
def test_sql_types_are_recognised(names, kind):
    for name in names.split():
        spoken = name if name.startswith("TIMESTAMP_NS") else name.replace("_", " ")
        assert ColumnType.from_sql(spoken) is kind, spoken


@pytest.mark.parametrize(
    "column",
    [
        ColumnPolicy("a", lower=0, upper=10, step="0.5", domain="range", null=0, nan="0.5", description="how much"),
        ColumnPolicy("a", domain=["x", "y"], null="x", hidden=True),
        ColumnPolicy("a", type="date", lower="2024-01-01", upper="2024-02-01"),
        ColumnPolicy("a"),
    ],
)
def test_a_column_under_another_name_is_the_same_in_all_else(column):
    renamed = column.named("B c")
    anew = replace(column, name="B c")
    assert renamed == anew
    assert {field.name: getattr(renamed, field.name) for field in fields(anew)} == {
        field.name: getattr(anew, field.name) for field in fields(anew)
    }
    assert column.name == "a"
    with pytest.raises(PolicyError):
        column.named("")
