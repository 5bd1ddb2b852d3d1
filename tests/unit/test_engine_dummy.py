"""Dummy data: made from what is public, and from nothing else."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

import pytest

from tacit.engines import dummy_engine, open_engine
from tacit.errors import EngineError, InvalidParameter, PolicyError
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, ListDomain, Policy, Schema, TableDomain, TablePolicy

SCHEMA: Schema = {
    "visits": {
        "patient_id": "BIGINT",
        "amount": "DECIMAL(10,2)",
        "age": "TINYINT",
        "dept": "VARCHAR",
        "city": "VARCHAR",
        "day": "DATE",
        "at": "TIMESTAMP WITH TIME ZONE",
        "ill": "BOOLEAN",
        "note": "VARCHAR",
        "mood": "ENUM",
        "tags": "VARCHAR[]",
        "weight": "DOUBLE",
        "grade": "SMALLINT",
        "Unnamed": "INTEGER",
    },
    "people": {"patient_id": "BIGINT", "born": "DATE"},
    "cities": {"name": "VARCHAR", "size": "INTEGER", "shape": "STRUCT(x DOUBLE)"},
}
TABLES = [
    TablePolicy(
        "visits",
        "patient_id",
        max_rows=3,
        columns=[
            ColumnPolicy("amount", lower=0, upper=500, step="0.01"),
            ColumnPolicy("age", lower=18, upper=90, step=1, domain="range"),
            ColumnPolicy("dept", domain=["CS", "Econ", "it's"]),
            ColumnPolicy("city", domain=TableDomain("cities", "name")),
            ColumnPolicy("day", lower=date(2020, 1, 1), upper=date(2020, 12, 31)),
            ColumnPolicy("at", lower="2020-01-01T00:00:00", upper="2020-01-02T00:00:00", step="1h", type="timestamp"),
            ColumnPolicy("ill"),
            ColumnPolicy("note"),
            ColumnPolicy("mood"),
            ColumnPolicy("tags"),
            ColumnPolicy("weight", domain=[Fraction(1, 2), Fraction(3, 4)]),
            ColumnPolicy("grade", domain=ListDomain((1, 2, 3))),
        ],
    ),
    TablePolicy("people", "patient_id", max_rows=1, columns=[ColumnPolicy("born")]),
    TablePolicy("cities", public=True),
]


def policy_with(epsilon: int = 1) -> Policy:
    return Policy(
        Dataset("clinic", {"visits": "v.parquet", "people": "p.parquet", "cities": "c.csv"}, base="nowhere"),
        BudgetPolicy(epsilon, delta="1e-6"),
        tables=TABLES,
    )


@pytest.fixture(scope="module")
def dummy():
    engine = dummy_engine(policy_with(), SCHEMA)
    yield engine
    engine.close()


def values(engine, column: str, table: str = "visits") -> list[object]:
    return engine.execute(f'SELECT "{column}" AS k FROM {table}').keys("k")


def test_there_are_as_many_rows_as_asked_for_and_no_file_is_needed(dummy):
    assert len(values(dummy, "age")) == 10_000
    few = dummy_engine(policy_with(), SCHEMA, rows=7)
    assert len(values(few, "age")) == 7
    few.close()


def test_the_dummy_has_the_columns_of_the_source(dummy):
    schema = dummy.schema()
    assert {table: list(columns) for table, columns in schema.items()} == {t: list(c) for t, c in SCHEMA.items()}
    changed = {(t, c) for t, columns in SCHEMA.items() for c, kind in columns.items() if schema[t][c] != kind}
    assert changed == {("visits", "mood"), ("visits", "tags"), ("cities", "shape")}


@pytest.mark.parametrize(
    ("column", "allowed"),
    [
        ("dept", {"CS", "Econ", "it's"}),
        ("age", set(range(18, 91))),
        ("weight", {0.5, 0.75}),
        ("grade", {1, 2, 3}),
        ("ill", {True, False}),
        (
            "at",
            {datetime.fromisoformat(f"2020-01-01 {hour:02}:00:00") for hour in range(24)}
            | {datetime.fromisoformat("2020-01-02")},
        ),
    ],
)
def test_values_are_those_of_the_public_domain_and_all_of_them_occur(dummy, column, allowed):
    assert set(values(dummy, column)) - {None} == allowed


def test_values_lie_in_their_bounds_and_on_their_grid(dummy):
    amounts = [value for value in values(dummy, "amount") if value is not None]
    assert 0 <= min(amounts) < 10
    assert 490 < max(amounts) <= 500
    assert all((value * 100).denominator == 1 for value in map(Fraction, amounts))
    days = [value for value in values(dummy, "day") if value is not None]
    assert date(2020, 1, 1) <= min(days) <= max(days) <= date(2020, 12, 31)


def test_a_domain_in_a_public_table_is_drawn_from_that_table(dummy):
    assert set(values(dummy, "city")) - {None} <= set(values(dummy, "name", "cities"))
    assert len(set(values(dummy, "city"))) > 5


def test_some_cells_are_null_but_no_unit_is(dummy):
    for column in ("amount", "dept", "city", "day", "note", "Unnamed"):
        share = values(dummy, column).count(None) / 10_000
        assert 0.03 < share < 0.08, column
    assert None not in values(dummy, "patient_id")


def test_units_have_several_rows_some_more_than_the_policy_counts(dummy):
    sql = "SELECT patient_id AS u, CAST(count(*) AS BIGINT) AS n FROM visits GROUP BY patient_id"
    counts = dummy.execute(sql).integers("n")
    assert 2 < counts.mean() < 5
    assert counts.max() > 3


def test_units_meet_across_tables(dummy):
    sql = "SELECT CAST(count(*) AS BIGINT) AS n FROM visits AS v JOIN people AS p ON v.patient_id = p.patient_id"
    assert dummy.execute(sql).integers("n")[0] > 1000


@pytest.mark.parametrize("kind", ["VARCHAR", "UUID", "INTEGER", "DOUBLE", "DATE", "ENUM", "citext", "HUGEINT"])
def test_a_unit_may_be_of_any_type(kind):
    schema = {"t": {"who": kind}}
    policy = Policy(Dataset("d", "d.duckdb"), BudgetPolicy(1), tables=[TablePolicy("t", "who")])
    engine = dummy_engine(policy, schema)
    who = values(engine, "who", "t")
    assert None not in who
    assert 2000 < len(set(who)) <= 2500
    engine.close()


def test_the_same_policy_gives_the_same_rows_and_another_gives_others(dummy):
    again = dummy_engine(policy_with(), SCHEMA)
    other = dummy_engine(policy_with(epsilon=2), SCHEMA)
    for column in ("amount", "dept", "patient_id"):
        assert values(again, column) == values(dummy, column)
        assert values(other, column) != values(dummy, column)
    again.close()
    other.close()


def test_columns_do_not_move_together(dummy):
    sql = "SELECT grade AS k, weight AS w, CAST(count(*) AS BIGINT) AS n FROM visits GROUP BY ALL"
    assert dummy.execute(sql).rows == 4 * 3  # each with NULL


def test_public_tables_are_the_real_ones_where_an_engine_is_given(tmp_path):
    (tmp_path / "c.csv").write_text("name,size\nBern,1\nZug,\n'quoted',3\n")
    schema = {**SCHEMA, "cities": {"name": "VARCHAR", "size": "INTEGER"}}
    cities = Policy(
        Dataset("public", {"cities": "c.csv"}, base=tmp_path),
        BudgetPolicy(1),
        tables=[TablePolicy("cities", public=True)],
    )
    real = open_engine(cities)
    engine = dummy_engine(policy_with(), schema, public=real)
    assert values(engine, "name", "cities") == ["Bern", "Zug", "'quoted'"]
    assert values(engine, "size", "cities") == [1, None, 3]
    assert set(values(engine, "city")) == {"Bern", "Zug", "'quoted'", None}
    engine.close()
    real.close()


def test_bounds_wider_than_a_type_give_null_not_an_error():
    tables = [TablePolicy("t", "row", columns=[ColumnPolicy("x", lower=-(2**62), upper=2**62, step=1)])]
    policy = Policy(Dataset("d", "d.duckdb"), BudgetPolicy(1), tables=tables)
    engine = dummy_engine(policy, {"t": {"x": "TINYINT"}})
    assert values(engine, "x", "t").count(None) > 9_000
    engine.close()


def test_the_dummy_is_locked_like_any_engine(dummy):
    assert repr(dummy.execute("SELECT 1 AS n")) == "<exact>"
    with pytest.raises(EngineError):
        dummy.execute("SELECT * FROM glob('*')")
    with pytest.raises(EngineError):
        dummy.execute("DROP TABLE visits")


def test_a_schema_that_does_not_fit_the_policy_is_refused():
    with pytest.raises(PolicyError):
        dummy_engine(policy_with(), {"visits": SCHEMA["visits"]})


def test_no_rows_is_no_dummy():
    with pytest.raises(InvalidParameter):
        dummy_engine(policy_with(), SCHEMA, rows=0)
