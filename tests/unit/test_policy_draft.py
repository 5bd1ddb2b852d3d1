"""Drafting a policy from a schema, and writing measured values back into one."""

from fractions import Fraction

import pytest

from tacit.core import Bounds
from tacit.errors import PolicyError
from tacit.policy import Bounding, ColumnType, ListDomain, amend, draft_policy, parse_policy, read_policy
from tacit.policy.amend import Change, amend_policy

SCHEMA = {
    "visits": {
        "patient_id": "BIGINT",
        "amount": "DOUBLE",
        "age": "INTEGER",
        "my city": "VARCHAR",
        "day": "DATE",
        "at": "TIMESTAMP",
        "ok": "BOOLEAN",
        "tags": "VARCHAR[]",
        'ba"d': "INTEGER",
        "evil": "ENUM('x\n[budget]\nepsilon = 99')",
    },
    "cities": {"name": "VARCHAR"},
}


def drafted() -> str:
    return draft_policy(SCHEMA, name="clinic", source={"visits": "visits.parquet", "cities": "cities.csv"})


def test_a_draft_is_refused_and_every_blank_is_named_by_its_line():
    text = drafted()
    policy, errors = read_policy(text)
    assert policy is None
    blanks = [number for number, line in enumerate(text.split("\n"), 1) if line.endswith('= "?"')]
    assert len(blanks) == 3  # the budget, and the unit of each table
    assert [int(error.message.split(":")[1]) for error in errors] == blanks
    assert all("is still blank" in error.message and error.hint.startswith("fill it in: ") for error in errors)


def test_a_draft_loads_once_its_blanks_are_filled():
    text = drafted().replace('epsilon = "?"', "epsilon = 3", 1).replace('unit = "?"', 'unit = "patient_id"', 1)
    policy = parse_policy(text.replace('unit = "?"', "public = true", 1))
    assert policy.budget.epsilon == 3
    names = [column.name for column in policy.table("visits").columns]
    assert names == [name for name in SCHEMA["visits"] if '"' not in name]
    assert policy.table("cities").public


def test_what_a_draft_advises_can_be_taken_at_its_word():
    text = drafted().replace('epsilon = "?"', "epsilon = 3", 1).replace('unit = "?"', 'unit = "row"')
    lines = []
    for line in text.split("\n"):
        entry, _, advice = line.partition(" = {}")
        keys = advice.partition(": ")[2]
        lines.append(f"{entry} = {keys}" if advice and keys.startswith("{") else line)
    policy = parse_policy("\n".join(lines))
    visits = policy.table("visits")
    assert visits.column("amount").bounds == Bounds(0, 100, step=Fraction(1, 100))
    assert visits.column("my city").domain == ListDomain(("a", "b"))
    assert visits.column("ok").type is ColumnType.BOOLEAN
    assert (visits.column("day").type, visits.column("at").type) == (ColumnType.DATE, ColumnType.TIMESTAMP)


def test_a_draft_says_nothing_that_is_not_in_the_schema():
    assert draft_policy({"t": {"a": "INTEGER"}}, name="d", source="d.duckdb").count("\na = {}") == 1
    with pytest.raises(PolicyError, match="nothing to draft"):
        draft_policy({}, name="d", source="d.duckdb")


POLICY = """\
# our clinic
[dataset]
name = "clinic"
source = "clinic.duckdb"

[budget]
epsilon = 10   # agreed in May

[tables.visits]
unit = "patient_id"  # who
max_groups = 10      # a guess
[tables.visits.columns]
# money
amount = { lower = 0.0, upper = 500, step = 0.01 }  # in euros
City   = {}

[tables.stays]
unit = "row"
[tables.stays.columns.fee]
lower = 0
upper = 9  # per night
step = 1

[tables]
beds = { unit = "row", columns = { nr = {} } }  # small
"""


def test_amending_keeps_comments_and_order_and_says_what_it_cost():
    amended = amend_policy(
        POLICY,
        [
            Change("visits", {"max_groups": 3, "max_rows": 7}, note="calibrated for ε = 0.1"),
            Change("VISITS", {"upper": Fraction(1001, 2)}, column="amount", note="calibrated for ε = 0.2"),
            Change("visits", {"domain": ["Rom", 'Pa"ris']}, column="city", note="calibrated for ε = 0.5, δ = 1e-7"),
            Change("stays", {"upper": 12}, column="fee", note="calibrated for ε = 0.2"),
            Change("beds", {"lower": 1, "upper": 9, "step": Fraction(1, 3)}, column="nr", note="calibrated for ε = 1"),
        ],
    )
    assert amended == POLICY.replace(
        "max_groups = 10      # a guess\n",
        "max_groups = 3  # a guess; calibrated for ε = 0.1\nmax_rows = 7  # calibrated for ε = 0.1\n",
    ).replace(
        "amount = { lower = 0.0, upper = 500, step = 0.01 }  # in euros",
        "amount = { lower = 0.0, upper = 500.5, step = 0.01 }  # in euros; calibrated for ε = 0.2",
    ).replace("City   = {}", 'City   = { domain = ["Rom", "Pa\\"ris"] }  # calibrated for ε = 0.5, δ = 1e-7').replace(
        "upper = 9  # per night", "upper = 12  # per night; calibrated for ε = 0.2"
    ).replace(
        "columns = { nr = {} } }  # small",
        'columns = { nr = { lower = 1, upper = 9, step = "1/3" } } }  # small; calibrated for ε = 1',
    ).replace("# calibrated for ε = 0.1\n[tables.visits.c", "# calibrated for ε = 0.1\n\n[tables.visits.c")
    policy = parse_policy(amended)
    assert policy.table("visits").max_groups == 3
    assert policy.table("visits").column("amount").bounds == Bounds(0, "500.5", step="0.01")


def test_a_later_calibration_replaces_the_note_of_an_earlier_one():
    once = amend_policy(POLICY, [Change("visits", {"max_groups": 3}, note="calibrated for ε = 0.1")])
    twice = amend_policy(once, [Change("visits", {"max_groups": 4}, note="calibrated for ε = 0.3")])
    assert "max_groups = 4  # a guess; calibrated for ε = 0.3\n" in twice


def test_a_column_or_its_section_is_added_where_it_is_missing():
    amended = amend_policy(POLICY, [Change("visits", {"type": "text"}, column="new name", note="found")])
    assert '"new name" = { type = "text" }  # found\n' in amended
    bare = POLICY.partition("[tables.visits.columns]")[0]
    amended = amend_policy(bare, [Change("visits", {"lower": 0, "upper": 1, "step": 1}, column="a")])
    assert "[tables.visits.columns]\na = { lower = 0, upper = 1, step = 1 }\n" in amended


def test_a_note_cannot_break_out_of_its_comment():
    amended = amend_policy(POLICY, [Change("visits", {"max_rows": 7}, note='x\nbounding = "sample"')])
    assert parse_policy(amended).table("visits").bounding is Bounding.AUTO


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (Change("visits", {"upper": -1}, column="amount"), r"tacit.toml:14: \[tables.visits.columns\] amount: lower 0"),
        (Change("visits", {"uper": 1}, column="amount"), "uper is not a key tacit knows"),
        (Change("nowhere", {"max_rows": 1}), "unit: is missing"),
    ],
)
def test_a_change_that_makes_no_sound_policy_is_refused(change, says):
    with pytest.raises(PolicyError, match=says):
        amend_policy(POLICY, [change])


def test_an_editor_that_changes_more_than_was_asked_is_caught(monkeypatch):
    honest = amend.tomlkit.dumps
    monkeypatch.setattr(
        amend.tomlkit, "dumps", lambda document: honest(document).replace("epsilon = 10", "epsilon = 100")
    )
    with pytest.raises(PolicyError, match="cannot be amended without changing more than was asked"):
        amend_policy(POLICY, [Change("visits", {"max_rows": 7})])


def test_a_text_that_is_no_toml_cannot_be_amended():
    with pytest.raises(PolicyError, match="not TOML"):
        amend_policy("a = ", [])


def test_a_draft_proposes_the_tables_that_a_column_names():
    schema = {
        "stays": {"patient_id": "BIGINT", "ward_id": "INTEGER", "id": "BIGINT", "idle": "INTEGER"},
        "patients": {"patient_id": "BIGINT"},
        "ward": {"ID": "INTEGER"},
        "an odd name": {"patient_id": "BIGINT"},
    }
    lines = draft_policy(schema, name="clinic", source="clinic.duckdb").splitlines()
    proposed = [line.partition("   #")[0] for line in lines if line.startswith("# unit =")]
    assert proposed[:2] == ['# unit = "patient_id -> patients.patient_id"', '# unit = "ward_id -> ward.ID"']
    assert len(proposed) == 3  # and the oddly named one's own
