"""What else gives people away: columns published as they are, earlier releases, and cells that a spreadsheet runs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.curator.forms.cells import neutral
from tacit.faces.anonymise.findings import earlier_words, kept_words, plain_report, risk_rows
from tacit.faces.anonymise.page import page
from tacit.policy import BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.release.anonymise import anonymise

pd = pytest.importorskip("pandas")


def people(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(20, 80, rows)
    school = rng.integers(0, 12, rows)
    return pd.DataFrame(
        {
            "age": age,
            "school": [f"school {i}" for i in school],
            "grade": school * 10,  # tells the school
            "town": rng.choice(["Oslo", "Moss", "Bergen"], rows),
            "shoe": rng.integers(30, 48, rows),
            "ill": rng.choice(["no", "flu", "gout"], rows),
        }
    )


# ── columns that are published as they are ───────────────────────────────────────────────────────────────────────────


def alone(table: pd.DataFrame, published: pd.DataFrame, known: list[str]) -> float:
    """The share of people whom one published row fits, by trying every pair of a person and a row."""
    found = 0
    for _, person in table.iterrows():
        fits = 0
        for _, row in published.iterrows():
            low, _, high = str(row["age"]).partition("-")
            fits += int(low) <= person["age"] <= int(high or low) and all(row[name] == person[name] for name in known)
        found += fits == 1
    return found / len(table)


def test_the_attack_also_knows_what_is_kept_and_what_is_sensitive() -> None:
    table = people(120)
    result = anonymise(table, ["age"], k=5, sensitive="ill", keep=["shoe"])
    link = result.report.linkage
    assert link.found_after == 0
    assert [wider.columns for wider in link.wider] == [("shoe",), ("shoe", "ill")]
    for wider in link.wider:
        names = list(wider.columns)
        assert wider.found_after == pytest.approx(alone(table, result.to_pandas(), names))
        before = table.groupby(["age", *names]).size()
        assert wider.found_before == pytest.approx((before == 1).sum() / len(table))
    assert link.wider[0].found_after > 0.3
    assert any("also knows shoe, ill" in row[0] for row in risk_rows(result.report))


def test_without_columns_beside_the_cells_nothing_more_is_known() -> None:
    assert anonymise(people(), ["age", "town"], k=5).report.linkage.wider == ()
    one = anonymise(people(), ["age", "town"], k=5, sensitive="ill").report.linkage.wider
    assert [wider.columns for wider in one] == [("ill",)]


@pytest.mark.parametrize("method", ["greedy", "relaxed", "optimal", "local", "microaggregate"])
def test_every_method_is_attacked_by_one_who_knows_more(method: str) -> None:
    link = anonymise(people(), ["age", "town"], k=8, keep=["shoe"], sensitive="ill", method=method).report.linkage
    assert len(link.wider) == 2
    assert all(0 <= wider.found_after <= 1 for wider in link.wider)


def test_a_column_that_determines_a_quasi_identifier_is_warned_of() -> None:
    report = anonymise(people(), ["age", "school"], k=20, keep=["grade"], sensitive="ill").report
    assert [(told.column, told.quasi_identifier, told.share) for told in report.telling] == [("grade", "school", 1.0)]
    assert any("grade tells school of 100% of the rows" in said for said in kept_words(report))
    assert plain_report(report)["tells_a_quasi_identifier"]


def test_a_secret_that_determines_a_quasi_identifier_is_warned_of_too() -> None:
    report = anonymise(
        people().assign(grade=lambda t: t["grade"].astype(str)), ["school"], k=60, sensitive="grade"
    ).report
    assert [(told.column, told.quasi_identifier) for told in report.telling] == [("grade", "school")]


def test_a_column_that_tells_nothing_and_a_cell_that_hides_nothing_are_not_warned_of() -> None:
    assert anonymise(people(), ["age", "school"], k=20, keep=["shoe"], sensitive="ill").report.telling == ()
    whole = anonymise(people(), ["school"], k=2, keep=["grade"]).report
    assert whole.utility.ncp == 0
    assert whole.telling == (), "the school stands there anyway"
    table = people().assign(town="Oslo", note=lambda t: ["a", "b"] * (len(t) // 2))
    assert anonymise(table, ["age", "town"], k=5, keep=["note"]).report.telling == (), "all are of one town"


def test_missing_values_tell_no_less_than_others() -> None:
    table = people().assign(school=lambda t: t["school"].where(t["grade"] > 20))
    told = anonymise(table, ["school", "age"], k=40, keep=["grade"]).report.telling
    assert [(one.column, one.quasi_identifier) for one in told] == [("grade", "school")]


# ── earlier releases ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def clinic(tmp_path: Path) -> Policy:
    people().assign(id=range(400)).to_parquet(tmp_path / "people.parquet")
    columns = [ColumnPolicy(name) for name in ("age", "town", "school", "ill")]
    return Policy(
        Dataset("clinic", {"people": "people.parquet"}, base=tmp_path),
        BudgetPolicy(1),
        tables=[TablePolicy("people", "id", columns=columns)],
    )


def test_a_second_release_of_the_same_people_is_noticed_and_measured(clinic: Policy) -> None:
    first = anonymise("people", ["age"], k=5, sensitive="ill", l=2, policy=clinic).report
    assert first.earlier == ()
    assert earlier_words(first) == ()
    second = anonymise("people", ["town", "school"], k=5, sensitive="ill", l=2, policy=clinic)
    report = second.report
    assert [(one.same_table, "k=5" in one.note) for one in report.earlier] == [(True, True)]
    (found,) = report.intersections
    assert (found.k, found.quasi_identifiers) == (5, ("age",))
    assert found.smallest < 5, "two tables, each of k = 5, are together of less"
    assert found.below > 0.5
    assert 0 < found.unique <= found.below
    assert found.told[0].column == "ill"
    assert found.told[0].alone == 0, "l = 2"
    assert found.told[0].together > 0, "and together some are certain"
    words = earlier_words(report)
    assert "published before: the ledger has 1 earlier release" in words[0]
    assert "made again (k = 5 of age)" in words[2]
    assert words[0] in page(second, title="people").replace("&#x27;", "'")
    assert plain_report(report)["intersections"]


def test_what_two_releases_give_away_is_counted_as_anybody_would(clinic: Policy, tmp_path: Path) -> None:
    """By the published tables alone: the values of one person's class in each, and which are in both."""
    rng = np.random.default_rng(8)
    table = people(40).assign(id=range(40), ill=[f"illness {i}" for i in rng.integers(0, 60, 40)])
    table.to_parquet(tmp_path / "people.parquet")
    one = anonymise("people", ["school"], k=3, sensitive="ill", policy=clinic).to_pandas()
    two = anonymise("people", ["town"], k=3, sensitive="ill", policy=clinic)
    secrets = [
        {value: set(part.loc[part[name] == cell, "ill"]) for cell in part[name].unique() for value in cell.split("|")}
        for name, part in (("school", one), ("town", two.to_pandas()))
    ]
    left = [
        len(secrets[0][school] & secrets[1][town]) for school, town in zip(table["school"], table["town"], strict=True)
    ]
    assert two.report.intersections[0].told[0].together == pytest.approx(left.count(1) / 40)
    assert left.count(1) > 0


def test_a_failed_release_and_another_dataset_are_none(clinic: Policy, tmp_path: Path) -> None:
    from tacit.errors import InvalidParameter

    with pytest.raises(InvalidParameter):
        anonymise("people", ["nose"], k=5, policy=clinic)
    assert anonymise("people", ["age"], k=5, policy=clinic).report.earlier == ()


def test_another_table_of_the_dataset_is_said_and_not_remade(clinic: Policy, tmp_path: Path) -> None:
    people().to_csv(tmp_path / "other.csv", index=False)
    anonymise(str(tmp_path / "other.csv"), ["age"], k=5, policy=clinic)
    report = anonymise("people", ["town"], k=5, policy=clinic).report
    assert [one.same_table for one in report.earlier] == [False]
    assert report.intersections == ()
    assert "another table" in earlier_words(report)[1]


def test_an_entry_that_had_no_room_for_its_columns_is_said_and_not_remade(clinic: Policy) -> None:
    from tacit.release.anonymise.releases import _asked

    assert _asked("anonymise people: k=5, greedy; exact values, not DP; qi age,town; sensitive ill") == (
        5,
        ("age", "town"),
    )
    assert _asked("anonymise a: b: k=5, k-map=7, greedy; exact values, not DP; qi age") == (5, ("age",))
    assert _asked("anonymise people: k-map=7, greedy; exact values, not DP; qi age") is None
    assert _asked("something else") is None


# ── CSV and the page ─────────────────────────────────────────────────────────────────────────────────────────────────

FORMULAS = ["=cmd()", "+1+1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1+1", "-1+1", "=", "-"]
HARMLESS = [
    "Oslo",
    "-5",
    "-5 to 10",
    "12-13",
    "-1.5e-7 to 3",
    "a=b",
    "",
    "*",
    "<=20",
    "80+",
    "2024-01-01 to 2024-02-01",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_text_to_a_spreadsheet(text: str) -> None:
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert neutral(text) == text


@given(st.text(max_size=20))
def test_no_text_begins_as_a_formula_afterwards(text: str) -> None:
    first = neutral(text).lstrip()[:1]
    assert first not in set("=+@＝＋－＠") - {""}
    assert first != "-" or neutral(text).lstrip("-")[:1].isdigit()


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_formulas_in_cells_and_names_are_neutralised_in_every_role(tmp_path: Path, ending: str) -> None:
    bad = '=HYPERLINK("http://x")'
    table = pd.DataFrame(
        {"=town": [bad, "Oslo"] * 10, "ill": ["@x", "y"] * 10, "note": ["-5", "+z"] * 10, "n": [-3, 4] * 10}
    )
    path = anonymise(table, ["=town"], k=5, sensitive="ill", keep=["note", "n"]).write(tmp_path / f"out.{ending}")
    with path.open(newline="") as file:
        names, *rows = csv.reader(file, delimiter="," if ending == "csv" else "\t")
    assert names == ["'=town", "ill", "note", "n"]
    assert {row[0] for row in rows} == {f"'{bad}", "Oslo"}
    assert {tuple(row[1:]) for row in rows} == {("'@x", "-5", "-3"), ("y", "'+z", "4")}
    whole = anonymise(table, ["=town"], k=5).write(tmp_path / "out.parquet")
    assert set(pd.read_parquet(whole)["=town"]) == {bad, "Oslo"}, "only a spreadsheet is in danger"


def test_the_page_shows_no_true_row_unless_it_is_asked_to_and_says_whose_it_is() -> None:
    table = people().assign(shoe=lambda t: t["shoe"] * 1_000_003)
    result = anonymise(table, ["age", "shoe"], k=40)
    shown = page(result, title="people")
    true = [str(value) for value in table["shoe"].head(8)]
    assert not any(value in shown for value in true)
    assert "The table as it was" not in shown
    assert "not for publication" in shown
    asked = page(result, title="people", true_rows=True)
    assert all(value in asked for value in true)
    assert "The table as it was" in asked
