"""The hash of a policy: which changes of the text it sees, and which not."""

import pytest

from tacit.policy import ColumnPolicy, parse_policy, resolve_types

TEXT = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
[budget]
epsilon = 10
delta = 1e-6
[groups.g]
epsilon = 3
[analysts.ana]
epsilon = 4
[tables.visits]
unit = "patient_id"
max_groups = 10
max_rows = 20
[tables.visits.columns]
amount = { lower = 0, upper = 500, step = 0.01 }
dept = { domain = ["CS", "Econ"] }
n = { domain = [1, 2] }
description = {}
ledger = { null = "none" }
"""
VERSION = parse_policy(TEXT).version


def test_the_version_is_pinned():
    # receipts carry it: a change of the encoding must be meant, and said in the changelog
    assert VERSION == "6855c3ea146b14e847bc4f6e26ed732fb29d21616269e0a3450c200b42e25d18"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[budget]", "# a comment\n\n[budget]"),
        ("epsilon = 10", "epsilon = 10.0"),
        ("delta = 1e-6", "delta = 0.000001"),
        ("delta = 1e-6", 'delta = 1e-6\naccounting = "approximate"'),
        ("lower = 0, upper = 500, step = 0.01", 'upper = 5e2, step = "1/100", lower = 0'),
        ("max_groups = 10\nmax_rows = 20", "max_rows = 20\nmax_groups = 10"),
        ('unit = "patient_id"', 'unit = "patient_id"\nnull_unit = "drop"\nbounding = "auto"'),
        ('unit = "patient_id"', 'unit = "patient_id"\ndescription = "words"'),
        ("step = 0.01 }", 'step = 0.01, description = "words" }'),
        ('name = "clinic"', 'name = "clinic"\nledger = "elsewhere.ledger"'),
        (
            "[groups.g]\nepsilon = 3\n[analysts.ana]\nepsilon = 4",
            "[analysts.ana]\nepsilon = 4\n[groups.g]\nepsilon = 3",
        ),
        ('["CS", "Econ"] }', '["CS", "Econ"], type = "text" }'),
    ],
)
def test_what_promises_the_same_has_the_same_version(old, new):
    assert TEXT.count(old) == 1
    assert parse_policy(TEXT.replace(old, new)).version == VERSION


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "clinic"', 'name = "clinics"'),
        ('"clinic.duckdb"', '"other.duckdb"'),
        ('name = "clinic"', 'name = "clinic"\nadjacency = "replace"'),
        ('name = "clinic"', 'name = "clinic"\ndata_version = "2"'),
        ("epsilon = 10", "epsilon = 10.0001"),
        ("delta = 1e-6", "delta = 1.1e-6"),
        ("delta = 1e-6", 'delta = 1e-6\naccounting = "zcdp"'),
        ("delta = 1e-6", "delta = 1e-6\nreuse = false"),
        ("epsilon = 4", "epsilon = 5"),
        ("epsilon = 4", 'epsilon = 4\nwindow = "1d"'),
        ("epsilon = 3", "epsilon = 2"),
        ('unit = "patient_id"', 'unit = "visit_id"'),
        ('unit = "patient_id"', 'unit = "patient_id"\nnull_unit = "one"'),
        ('unit = "patient_id"', 'unit = "patient_id"\nunit_form = "lower"'),
        ("max_groups = 10", "max_groups = 11"),
        ("max_rows = 20", "max_rows = 21"),
        ("upper = 500", "upper = 501"),
        ("step = 0.01", "step = 0.02"),
        ("step = 0.01", "step = 0.01, nan = 1"),
        ("step = 0.01", "step = 0.01, null = 0"),
        ("step = 0.01", "step = 0.01, unit_total = { lower = 0, upper = 900 }"),
        ("amount = {", "amounts = {"),
        ('["CS", "Econ"]', '["CS"]'),
        ("[1, 2]", '["1", "2"]'),
        ("description = {}\n", ""),  # a column that happens to be called so
        ('ledger = { null = "none" }', "ledger = {}"),
    ],
)
def test_what_promises_something_else_has_another_version(old, new):
    assert TEXT.count(old) == 1
    assert parse_policy(TEXT.replace(old, new)).version != VERSION


def test_types_filled_in_from_the_source_leave_the_version_alone():
    policy = parse_policy(TEXT)
    source = {"patient_id": "BIGINT", "amount": "DOUBLE", "dept": "VARCHAR", "n": "INTEGER"}
    typed = resolve_types(policy, {"visits": {**source, "description": "VARCHAR", "ledger": "VARCHAR"}})
    assert typed.table("visits").column("n") == ColumnPolicy("n", type="integer", domain=[1, 2])
    assert typed.version == policy.version
