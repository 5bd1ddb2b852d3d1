"""Reading a policy: the documented example, exact numbers, defaults, where things lie."""

from datetime import date, datetime, timedelta
from fractions import Fraction

import pytest

from tacit.core import Adjacency, Bounds, Budget
from tacit.errors import PolicyError
from tacit.policy import (
    Accounting,
    AnalystPolicy,
    Bounding,
    BudgetPolicy,
    ColumnPolicy,
    ColumnType,
    DatabaseSource,
    Dataset,
    FileSource,
    GroupPolicy,
    ListDomain,
    NullUnit,
    Policy,
    RangeDomain,
    TableDomain,
    TablePolicy,
    UnitForm,
    load_policy,
    parse_policy,
    policy_text,
    read_policy,
)

EXAMPLE = """\
[dataset]
name = "clinic"
engine = "duckdb"
source = { visits = "visits.parquet", cities = "cities.csv" }   # or source = "clinic.duckdb"
[budget]
epsilon = 10
delta = 1e-6
[analysts.ana]
epsilon = 4
[tables.visits]
unit = "patient_id"      # "row": each row is a person
max_groups = 10          # groups a unit may touch
max_rows = 20            # rows of a unit counted in one group
[tables.visits.columns]
amount = { lower = 0, upper = 500, step = 0.01 }
age    = { lower = 18, upper = 90, step = 1, domain = "range" }
dept   = { domain = ["CS", "Econ", "Bio"] }
city   = {}              # no public domain: its keys are private
[tables.cities]
public = true
"""

EXAMPLE_IN_PYTHON = Policy(
    Dataset("clinic", {"visits": "visits.parquet", "cities": "cities.csv"}),
    BudgetPolicy(10, 1e-6),
    analysts=[AnalystPolicy("ana", 4)],
    tables=[
        TablePolicy(
            "visits",
            "patient_id",
            max_groups=10,
            max_rows=20,
            columns=[
                ColumnPolicy("amount", lower=0, upper=500, step=0.01),
                ColumnPolicy("age", lower=18, upper=90, step=1, domain="range"),
                ColumnPolicy("dept", domain=["CS", "Econ", "Bio"]),
                ColumnPolicy("city"),
            ],
        ),
        TablePolicy("cities", public=True),
    ],
)

EVERYTHING = """\
[dataset]
name = "everything"
source = "all.duckdb"
adjacency = "replace"
data_version = "2026-11"
ledger = "debits/all.ledger"
[budget]
epsilon = "1/3"
delta = 0.000_001
accounting = "zcdp"
max_epsilon = 0.25
default_epsilon = 0.1
default_delta = 1e-9
reuse = false
share_answers = false
[groups.students]
epsilon = 1
delta = 1e-7
[analysts."bea@uni.edu"]
groups = ["students"]
[analysts.ana]
epsilon = 4
delta = 1e-7
window = "30d"
[tables.stays]
unit = "guest"
null_unit = "one"
unit_form = "trim-lower"
max_groups = 3
max_rows = 4
max_distinct = 5
bounding = "weigh"
description = "one row a stay"
[tables.stays.columns]
day = { lower = 2020-01-01, upper = 2020-12-31, domain = "range", null = 2020-01-01 }
week = { type = "date", lower = "2020-01-02", upper = "2020-12-31", step = "7d" }
at = { lower = 2020-01-01T00:00:00Z, upper = 2020-01-02T02:00:00+01:00, step = "1h" }
fee = { type = "number", lower = -5, upper = "1000", step = 0.5, nan = 2.5, unit_total = { lower = -10, upper = 2000 } }
stars = { type = "integer", lower = 1, upper = 5, null = 3 }
town = { domain = { table = "towns", column = "name" }, description = "where" }
wet = { domain = [false, true] }
room = { domain = [1, 2.5, 300] }
ssn = { hidden = true, null = "skip" }
[tables.people]
unit = "row"
[tables.towns]
public = true
columns = { size = { lower = 0, upper = 9, step = 1 } }
"""


def test_the_documented_example_loads_as_it_stands(tmp_path):
    file = tmp_path / "tacit.toml"
    file.write_text(EXAMPLE)
    policy = load_policy(file)
    assert policy == EXAMPLE_IN_PYTHON
    assert policy.version == EXAMPLE_IN_PYTHON.version
    assert policy.dataset.source == FileSource((("visits", "visits.parquet"), ("cities", "cities.csv")))
    assert policy.dataset.resolve("visits.parquet") == tmp_path / "visits.parquet"
    assert policy.dataset.ledger_path == tmp_path / "clinic.ledger"
    assert policy.adjacency is Adjacency.ADD_REMOVE
    assert policy.budget.limit == Budget(10, Fraction(1, 10**6))
    assert policy.budget.accounting is Accounting.APPROXIMATE


def test_the_other_source_of_the_example_is_one_database():
    text = EXAMPLE.replace('{ visits = "visits.parquet", cities = "cities.csv" }', '"clinic.duckdb"')
    assert parse_policy(text).dataset.source == DatabaseSource("clinic.duckdb")


def test_numbers_are_read_exactly_as_typed():
    policy = parse_policy(EXAMPLE.replace("epsilon = 4", 'epsilon = "1/3"').replace("epsilon = 10", "epsilon = 0.1"))
    assert policy.budget.epsilon == Fraction(1, 10)
    assert policy.budget.delta == Fraction(1, 1_000_000)
    assert policy.analyst("ana").epsilon == Fraction(1, 3)
    assert policy.table("visits").column("amount").bounds == Bounds(0, 500, step=Fraction(1, 100))


def test_every_key_is_read_as_documented():
    policy = parse_policy(EVERYTHING, "/data")
    assert policy.dataset == Dataset("everything", "all.duckdb", adjacency="replace", data_version="2026-11")
    assert str(policy.dataset.ledger_path) == "/data/debits/all.ledger"
    assert policy.budget == BudgetPolicy(
        Fraction(1, 3),
        "1e-6",
        accounting="zcdp",
        max_epsilon="0.25",
        default_epsilon=0.1,
        default_delta="1e-9",
        reuse=False,
        share_answers=False,
    )
    assert policy.groups == (GroupPolicy("students", 1, delta=1e-7),)
    assert policy.analysts == (
        AnalystPolicy("bea@uni.edu", groups=["students"]),
        AnalystPolicy("ana", 4, delta=1e-7, window=timedelta(days=30)),
    )
    stays = policy.table("stays")
    assert (stays.null_unit, stays.unit_form, stays.bounding) == (NullUnit.ONE, UnitForm.TRIM_LOWER, Bounding.WEIGH)
    assert (stays.max_groups, stays.max_rows, stays.max_distinct) == (3, 4, 5)
    assert policy.table("towns").column("size").bounds == Bounds(0, 9)


def test_columns_are_read_as_documented():
    stays = parse_policy(EVERYTHING).table("stays")
    days = (date(2020, 1, 1) - date(1970, 1, 1)).days
    seconds = days * 86400
    assert stays.column("day").bounds == Bounds(days, days + 365)
    assert (stays.column("day").type, stays.column("day").null) == (ColumnType.DATE, date(2020, 1, 1))
    assert isinstance(stays.column("day").domain, RangeDomain)
    assert stays.column("week").bounds == Bounds(days + 1, days + 365, step=7)
    assert stays.column("at").type is ColumnType.TIMESTAMP
    assert stays.column("at").upper == datetime.fromisoformat("2020-01-02T01:00:00")  # read as UTC
    assert stays.column("at").bounds == Bounds(seconds, seconds + 25 * 3600, step=3600)
    assert stays.column("fee").unit_total == Bounds(-10, 2000, step=Fraction(1, 2))
    assert stays.column("fee").nan_value == Fraction(5, 2)
    assert stays.column("stars").bounds == Bounds(1, 5)
    assert stays.column("stars").null == 3
    assert stays.column("town").domain == TableDomain("towns", "name")
    assert stays.column("wet").type is ColumnType.BOOLEAN
    assert stays.column("room").domain == ListDomain((1, Fraction(5, 2), 300))
    assert [column.name for column in stays.columns if column.hidden] == ["ssn"]


def test_a_row_is_a_unit_in_one_group():
    people = parse_policy(EVERYTHING).table("people")
    assert people.unit_column is None
    assert (people.max_groups, people.max_rows, people.max_distinct) == (1, 1, 1)


@pytest.mark.parametrize("text", [EXAMPLE, EVERYTHING])
def test_a_policy_written_down_reads_back_as_itself(text):
    policy = parse_policy(text)
    again = parse_policy(policy_text(policy))
    assert again == policy
    assert again.version == policy.version
    assert again.dataset.ledger == policy.dataset.ledger


def test_every_character_of_a_value_survives_writing():
    low = [chr(code) for code in range(0x100)]
    odd = [chr(code) for code in range(0x100, 0x110000, 0x101) if not 0xD800 <= code < 0xE000]
    column = ColumnPolicy("c", domain=[*low, *odd, "\u2028", "\u202e", "'''", '"' * 3, "\\\\"])
    policy = Policy(Dataset("d", "d.duckdb"), BudgetPolicy(1), tables=[TablePolicy("t", "u", columns=[column])])
    assert parse_policy(policy_text(policy)) == policy


def test_a_byte_order_mark_and_windows_line_ends_are_taken(tmp_path):
    file = tmp_path / "tacit.toml"
    file.write_bytes(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode())
    assert load_policy(file) == EXAMPLE_IN_PYTHON
    file.write_bytes(EXAMPLE.replace("\n", "\r\n").replace("max_rows = 20", "max_rows = 0").encode())
    with pytest.raises(PolicyError, match=r"^tacit.toml:13: \[tables.visits\] max_rows"):
        load_policy(file)


def test_a_file_that_cannot_be_read_is_a_policy_error(tmp_path):
    with pytest.raises(PolicyError, match="there is no such file") as caught:
        load_policy(tmp_path / "none.toml")
    assert "tacit init" in caught.value.hint
    with pytest.raises(PolicyError, match="there is no such file"):
        load_policy(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'[dataset]\nname = "caf\xe9"\n')
    with pytest.raises(PolicyError, match=r"^latin.toml:2: not TOML: the file is not UTF-8"):
        load_policy(tmp_path / "latin.toml")


def test_a_file_larger_than_allowed_is_not_read_on(tmp_path):
    file = tmp_path / "tacit.toml"
    file.write_text(EXAMPLE + "#" * 1_000_000)
    with pytest.raises(PolicyError, match="larger than a policy may be"):
        load_policy(file)


def test_a_sound_policy_has_no_faults_and_remembers_its_lines():
    policy, faults = read_policy(EXAMPLE)
    assert faults == []
    assert policy.place("tables", "visits", "columns", "city") == "tacit.toml:18"
    assert policy.place("tables", "visits", "columns", "elsewhere") == "tacit.toml:14"
    assert EXAMPLE_IN_PYTHON.place("tables", "visits") == ""
