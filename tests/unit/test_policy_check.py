"""A policy held against the schema of its source."""

import pytest

from tacit.core import Bounds
from tacit.errors import PolicyError
from tacit.policy import ColumnType, Severity, check_policy, parse_policy, resolve_types

TEXT = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 10
delta = 1e-6
[analysts.ana]
epsilon = 4
[tables.visits]
unit = "patient_id"
max_groups = 10
max_rows = 20
[tables.visits.columns]
amount = { lower = 0, upper = 500, step = 0.01 }
dept = { domain = ["CS", "Econ"] }
day = { lower = 2020-01-01, upper = 2020-12-31 }
city = { domain = { table = "cities", column = "name" } }
[tables.cities]
public = true
"""
SCHEMA = {
    "VISITS": {"Patient_ID": "BIGINT", "Amount": "DECIMAL(9,2)", "dept": "VARCHAR", "day": "DATE", "city": "VARCHAR"},
    "cities": {"Name": "VARCHAR", "size": "INTEGER", 'od"d': "INTEGER"},
}


def with_column(name: str, sql_type: str) -> dict[str, dict[str, str]]:
    return {**SCHEMA, "VISITS": {**SCHEMA["VISITS"], name: sql_type}}


def without_column(name: str) -> dict[str, dict[str, str]]:
    return {**SCHEMA, "VISITS": {key: kind for key, kind in SCHEMA["VISITS"].items() if key != name}}


def test_a_policy_that_fits_has_no_findings():
    assert check_policy(parse_policy(TEXT), SCHEMA) == []


@pytest.mark.parametrize(
    ("text", "schema", "level", "message"),
    [
        (TEXT, {"cities": SCHEMA["cities"]}, Severity.ERROR, "tacit.toml:9: [tables.visits]: is not in the source"),
        (
            TEXT,
            without_column("dept"),
            Severity.ERROR,
            "tacit.toml:15: [tables.visits.columns] dept: is not in the source",
        ),
        (
            TEXT,
            without_column("Patient_ID"),
            Severity.ERROR,
            "tacit.toml:10: [tables.visits] unit: the source has no column",
        ),
        (
            TEXT,
            with_column("Amount", "VARCHAR"),
            Severity.ERROR,
            "tacit.toml:14: [tables.visits.columns] amount: lower cannot",
        ),
        (
            TEXT,
            with_column("Amount", "DATE"),
            Severity.ERROR,
            "amount: lower must be a date: it is a number; the source has",
        ),
        (TEXT, with_column("dept", "INTEGER"), Severity.ERROR, "dept: type cannot be text; the source has INTEGER"),
        (TEXT, with_column("day", "TIMESTAMP"), Severity.ERROR, "day: type cannot be date; the source has TIMESTAMP"),
        (TEXT, with_column("Amount", "BLOB"), Severity.ERROR, "amount: cannot have bounds or a domain"),
        (TEXT, with_column("AMOUNT", "DOUBLE"), Severity.ERROR, "[tables.visits]: has columns 'Amount' and 'AMOUNT'"),
        (TEXT, {**SCHEMA, "cities": {"n": "VARCHAR"}}, Severity.ERROR, "city: domain names column 'name', which table"),
        (TEXT, with_column("Patient_ID", "DOUBLE"), Severity.WARNING, "unit: the column is DOUBLE: rounding may make"),
        (
            TEXT.replace("max_rows = 20\n", ""),
            SCHEMA,
            Severity.WARNING,
            "tacit.toml:9: [tables.visits] max_rows: is missing",
        ),
        (
            TEXT.replace("max_groups = 10\n", ""),
            SCHEMA,
            Severity.WARNING,
            "max_groups: is missing: GROUP BY will be refused",
        ),
        (
            TEXT.replace("max_rows", 'unit_form = "trim"\nmax_rows'),
            SCHEMA,
            Severity.WARNING,
            "unit_form: 'trim' does nothing",
        ),
        (
            TEXT.replace("dept = {", "tags = {}\ndept = {"),
            with_column("tags", "VARCHAR[]"),
            Severity.WARNING,
            "only be counted",
        ),
        (
            TEXT.replace("dept = {", "n = {}\ndept = {"),
            with_column("n", "INTEGER"),
            Severity.NOTE,
            "n: has no bounds: SUM",
        ),
        (TEXT, with_column("extra", "INTEGER"), Severity.NOTE, "columns]: analysts cannot use 'extra': not named here"),
        (TEXT.replace("[analysts.ana]\nepsilon = 4\n", ""), SCHEMA, Severity.NOTE, "nobody is named who may ask"),
        (
            TEXT.replace("delta = 1e-6\n", "").replace("dept = {", "name = {}\ndept = {"),
            with_column("name", "VARCHAR"),
            Severity.NOTE,
            "name: has no public domain, and the budget no delta",
        ),
    ],
)
def test_what_does_not_fit_is_found_with_its_line(text, schema, level, message):
    findings = check_policy(parse_policy(text), schema)
    assert [finding.level for finding in findings if message in finding.message] == [level], findings
    assert findings == sorted(findings, key=lambda finding: list(Severity).index(finding.level))


def test_a_hidden_column_needs_no_type_that_can_be_measured():
    text = TEXT.replace("dept = {", "scan = { hidden = true }\ndept = {")
    assert check_policy(parse_policy(text), with_column("scan", "BLOB")) == []


def test_names_suggested_come_from_the_source():
    findings = check_policy(parse_policy(TEXT.replace("dept =", "deppt =")), SCHEMA)
    assert [finding.hint for finding in findings if finding.level is Severity.ERROR] == ['did you mean "dept"?']


def test_types_come_from_the_source_and_public_columns_are_all_there():
    policy = resolve_types(parse_policy(TEXT), SCHEMA)
    visits = policy.table("visits")
    assert [(column.name, column.type) for column in visits.columns] == [
        ("amount", ColumnType.NUMBER),
        ("dept", ColumnType.TEXT),
        ("day", ColumnType.DATE),
        ("city", ColumnType.TEXT),
    ]
    assert visits.column("amount").bounds == Bounds(0, 500, step="0.01")
    assert [column.name for column in policy.table("cities").columns] == ["Name", "size"]


def test_a_grid_finer_than_whole_numbers_is_allowed_on_an_integer_column():
    typed = resolve_types(parse_policy(TEXT), with_column("Amount", "INTEGER"))
    assert typed.table("visits").column("amount").type is ColumnType.NUMBER


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"cities": SCHEMA["cities"]}, r"^tacit.toml:9: \[tables.visits\]: is not in the source"),
        (without_column("dept"), r"^tacit.toml:15: \[tables.visits.columns\] dept: is not in the source"),
        (without_column("Patient_ID"), r"^tacit.toml:10: \[tables.visits\] unit: the source has no column"),
        (with_column("Amount", "VARCHAR"), r"^tacit.toml:14: \[tables.visits.columns\] amount: lower cannot be"),
    ],
)
def test_types_are_not_filled_in_where_policy_and_source_disagree(schema, message):
    with pytest.raises(PolicyError, match=message):
        resolve_types(parse_policy(TEXT), schema)


@pytest.mark.parametrize(
    ("own", "public"),
    [
        ("VARCHAR", "INTEGER"),
        ("BIGINT", "VARCHAR"),
        ("UUID", "VARCHAR"),
        ("DECIMAL(18,2)", "DOUBLE"),
        ("DECIMAL(18,2)", "DECIMAL(18,3)"),
        ("DOUBLE", "FLOAT"),
        ("UHUGEINT", "BIGINT"),
        ("DATE", "TIMESTAMP"),
        ("TIMESTAMP", "TIMESTAMP_NS"),
        ("VARCHAR[]", "VARCHAR[]"),
    ],
)
def test_a_domain_of_another_type_is_an_error(own, public):
    schema = {**with_column("city", own), "cities": {"Name": public}}
    found = [str(finding) for finding in check_policy(parse_policy(TEXT), schema) if finding.level is Severity.ERROR]
    assert any("domain" in each and "is of another type" in each for each in found), found


@pytest.mark.parametrize(
    ("own", "public"), [("VARCHAR", "ENUM"), ("INTEGER", "BIGINT"), ("UBIGINT", "HUGEINT"), ("DECIMAL(9,2)",) * 2]
)
def test_a_domain_that_no_cell_must_be_converted_for_is_none(own, public):
    schema = {**with_column("city", own), "cities": {"Name": public}}
    assert [finding for finding in check_policy(parse_policy(TEXT), schema) if finding.level is Severity.ERROR] == []


STAYS = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 10
delta = 1e-6
[analysts.ana]
epsilon = 4
[tables.stays]
unit = "Patient_id"
max_groups = 1
max_rows = 1
[tables.tests]
unit = "patient_id"
max_groups = 1
max_rows = 1
[tables.patients]
unit = "patient_id"
max_groups = 1
max_rows = 1
[tables.trips]
units = ["patient_id", "driver_id"]
max_rows = 1
max_partners = 2
"""
PEOPLE = {
    "stays": {"patient_id": "BIGINT"},
    "tests": {"patient_id": "BIGINT"},
    "patients": {"patient_id": "BIGINT"},
    "trips": {"patient_id": "BIGINT", "driver_id": "BIGINT"},
}


def test_units_of_one_name_that_nobody_links_are_said_with_the_line_that_links_them():
    found = [each for each in check_policy(parse_policy(STAYS), PEOPLE) if "is called as" in each.reason]
    assert [each.path for each in found] == [("tables", "stays", "unit"), ("tables", "tests", "unit")]
    assert "joins are refused" in found[0].reason
    text = STAYS
    for each in found:  # the hint, followed
        header, line = each.hint.removeprefix("if they are the same people: ").split(" ", 1)
        before, after = text.split(f"{header}\n")
        text = f"{before}{header}\n{line}\n" + after.split("\n", 1)[1]
    linked = parse_policy(text)
    assert [str(linked.table(name).link) for name in ("stays", "tests")] == [
        "Patient_id -> patients.patient_id",
        "patient_id -> patients.patient_id",
    ]
    assert not [each for each in check_policy(linked, PEOPLE) if "is called as" in each.reason]
