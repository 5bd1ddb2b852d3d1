"""k counts people only where each person has one row: a table in which somebody has more is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.errors import InvalidParameter
from tacit.faces.anonymise.findings import LIMITS, counted_words, limits, plain_report
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.release.anonymise import anonymise, check

pd = pytest.importorskip("pandas")

# Five visits of one patient, and five patients with one visit each.
VISITS = pd.DataFrame(
    {"patient": [1] * 5 + [2, 3, 4, 5, 6], "age": [30] * 5 + [60] * 5, "ill": ["flu", "gout"] * 5, "note": range(10)}
)
ONCE = VISITS.drop_duplicates("patient")


@pytest.mark.parametrize("how", [{"unit": "patient"}, {"unit": "PATIENT"}, {"pseudonyms": ["patient"]}])
def test_five_rows_of_one_person_are_no_class_of_five(how: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="one person has several rows: patient repeats") as caught:
        anonymise(VISITS, ["age"], k=5, **how)
    assert "GROUP BY" in caught.value.hint
    result = anonymise(ONCE, ["age"], k=2, **how)
    assert result.report.unit == "patient"
    assert counted_words(result.report.unit) == "each patient has one row, so k counts people"


def test_rows_are_counted_where_the_owner_says_so_or_nobody_is_known() -> None:
    for how in ({}, {"unit": "row"}, {"unit": "row", "pseudonyms": ["patient"]}):
        report = anonymise(VISITS, ["age"], k=5, **how).report
        assert report.unit is None
        assert counted_words(report.unit) == "k counts rows; it counts people only where each person has one row"
        assert plain_report(report)["k_counts"] == "rows"
    assert any("k counts rows" in limit for limit in LIMITS)
    with pytest.raises(InvalidParameter, match="no column 'person'"):
        anonymise(VISITS, ["age"], k=5, unit="person")


def test_an_audit_refuses_the_same() -> None:
    with pytest.raises(InvalidParameter, match="one person has several rows"):
        check(VISITS, ["age"], unit="patient")
    audit = check(ONCE, ["age"], unit="patient")
    assert (audit.k, audit.unit) == (1, "patient")
    assert check(VISITS, ["age"]).k == 5


def _policy(folder: Path, table: pd.DataFrame, **words: Any) -> Policy:
    table.to_parquet(folder / "visits.parquet")
    columns = [ColumnPolicy("age")]
    return Policy(
        Dataset("clinic", {"visits": "visits.parquet", "patients": "visits.parquet"}, base=folder),
        BudgetPolicy(1),
        tables=[
            TablePolicy("visits", columns=columns, **words),
            TablePolicy("patients", "patient", columns=columns),
        ],
    )


def test_the_unit_of_a_policys_table_is_its_unit(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="one person has several rows: patient repeats"):
        anonymise("visits", ["age"], k=5, policy=_policy(tmp_path, VISITS, unit="patient"))
    known = anonymise("visits", ["age"], k=2, policy=_policy(tmp_path, ONCE, unit="patient"))
    assert known.report.unit == "patient"
    assert anonymise("visits", ["age"], k=5, policy=_policy(tmp_path, VISITS, unit="row")).report.unit is None


def test_spellings_that_the_policy_takes_for_one_person_are_one(tmp_path: Path) -> None:
    spelt = ONCE.assign(patient=["Li", "li ", "c", "d", "e", "f"])
    assert anonymise("visits", ["age"], k=2, policy=_policy(tmp_path, spelt, unit="patient")).report.unit
    folded = _policy(tmp_path, spelt, unit="patient", unit_form="trim-lower")
    with pytest.raises(InvalidParameter, match="one person has several rows"):
        anonymise("visits", ["age"], k=2, policy=folded)


def test_a_table_whose_people_another_table_knows_is_refused(tmp_path: Path) -> None:
    linked = _policy(tmp_path, ONCE, unit="patient -> patients.patient")
    with pytest.raises(InvalidParameter, match="one person may have several rows"):
        anonymise("visits", ["age"], k=2, policy=linked)
    assert anonymise("visits", ["age"], k=2, policy=linked, unit="patient").report.unit == "patient"


def test_kept_columns_are_named_beside_what_hides_nobody() -> None:
    report = anonymise(VISITS, ["age"], k=5, keep=["note", "ill"]).report
    assert report.alone == ("note",)
    said = limits(report)
    assert said[0] == LIMITS[0]
    assert said[1] == "Kept as they are, and hiding nobody: note, ill."
    assert said[2] == "Different in every row, and so as good as a name: note."
    assert limits(anonymise(VISITS, ["age"], k=5).report) == LIMITS
