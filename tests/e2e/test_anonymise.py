"""`tacit anonymise` as an owner runs it: the table, the page, the ledger, the refusals."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from e2e.cli_clinic import build, here, tacit

QI = "age,town,sex"


@pytest.fixture
def staff(tmp_path: Path) -> Path:
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 'CANARY ' || i AS name, 20 + (i * 37) % 50 AS age,"
            f" ['Oslo', 'Moss', 'Bergen'][1 + i % 3] AS town, CASE WHEN i % 5 < 2 THEN 'f' ELSE 'm' END AS sex,"
            f" CASE WHEN i % 7 = 0 THEN 'gout' WHEN i % 2 = 0 THEN 'flu' ELSE 'none' END AS illness"
            f" FROM range(400) t(i)) TO '{tmp_path / 'staff.csv'}' (HEADER)"
        )
    return tmp_path


def test_a_table_goes_in_and_a_verified_one_comes_out(staff: Path) -> None:
    ran = tacit(
        "anonymise", "staff.csv", "--qi", QI, "-s", "illness", "-k", "5", "-l", "2", "-o", "public.csv",
        "--report", "report.html", cwd=staff,
    )  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert "every class satisfies k = 5, distinct l = 2 on illness" in ran.out
    assert "left out, having no role: name" in ran.out
    assert "not differential privacy" in ran.out
    text = (staff / "public.csv").read_text()
    assert text.startswith("age,town,sex,illness\n")
    assert "CANARY" not in text
    assert "CANARY" not in (staff / "report.html").read_text()
    assert text.count("\n") == 401
    checked = here("anonymise", "check", "public.csv", "--qi", QI, "-s", "illness", "--format", "json", cwd=staff)
    audit = json.loads(checked.out)
    assert audit["k"] >= 5
    assert audit["sensitive"][0]["least_values"] >= 2


def test_the_report_comes_as_json_too(staff: Path) -> None:
    ran = here(
        "anonymise", "staff.csv", "--qi", QI, "-s", "illness", "-k", "4", "-t", "0.3", "--format", "json", cwd=staff
    )
    plain = json.loads(ran.out)
    assert plain["guarantee"] == ["k = 4", "t = 0.3 (equal) on illness"]
    assert plain["differentially_private"] is False


def test_bands_and_prefixes_are_given_on_the_line(staff: Path) -> None:
    ran = here(
        "anonymise", "staff.csv", "--qi", "age,town", "-k", "9", "-m", "optimal", "--bands", "age=20,40,+",
        "--prefix", "town=1", "-o", "out.csv", cwd=staff,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    rows = set((staff / "out.csv").read_text().splitlines()[1:])
    assert {row.split(",")[0] for row in rows} == {"20-40", "40+"}


def test_ends_are_given_on_the_line(staff: Path) -> None:
    ran = here(
        "anonymise", "staff.csv", "--qi", "age", "-k", "2", "--top", "age=60", "--bottom", "age=25", "-o", "out.csv",
        cwd=staff,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert {"60+", "<=25"} <= set((staff / "out.csv").read_text().splitlines())


def test_nothing_is_written_over_and_nothing_half(staff: Path) -> None:
    (staff / "public.csv").write_text("mine")
    ran = here("anonymise", "staff.csv", "--qi", QI, "-k", "5", "-o", "public.csv", cwd=staff)
    assert ran.code == 2
    assert "there already" in ran.err
    assert (staff / "public.csv").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["staff.csv", "--qi", QI], "no k"),
        (["staff.csv", "--qi", QI, "-k", "401"], "more than the table's 400 rows"),
        (["staff.csv", "--qi", "height", "-k", "5"], "no column 'height'"),
        (["nobody.csv", "--qi", QI, "-k", "5"], "no such file"),
        (["staff.csv", "other.csv", "--qi", QI, "-k", "5"], "unexpected extra argument"),
        (["staff.csv", "--qi", QI, "-k", "5", "--bands", "age"], "COLUMN=VALUE"),
        (["staff.csv", "--qi", QI, "-k", "5", "--bands", "age=x"], "bands are a width"),
        (["staff.csv", "--qi", QI, "-k", "5", "--prefix", "town=x"], "lengths"),
        (["staff.csv", "--qi", QI, "-k", "5", "--top", "age=x"], "takes a number"),
        (["staff.csv", "--qi", QI, "--presence", "x", "-k", "5"], "LOW:HIGH"),
        (["staff.csv", "--qi", QI, "-k", "5", "--key-file", "none"], "cannot be read"),
        (["staff.csv", "--qi", QI, "-k", "5", "--as", "ana"], "refused to analysts"),
    ],
)
def test_refusals_are_two_lines_and_nothing_is_written(staff: Path, words: list[str], said: str) -> None:
    ran = here("anonymise", *words, "-o", "out.csv", cwd=staff)
    assert ran.code in {2, 3}
    assert ran.err.startswith("error: ")
    assert said in ran.err
    assert ran.err.count("\n") <= 2
    assert "CANARY" not in ran.err
    assert not (staff / "out.csv").exists()


def test_with_a_policy_it_is_on_record_as_a_disclosure(tmp_path: Path) -> None:
    policy = build(tmp_path)
    ran = here(
        "anonymise", "visits", "-p", str(policy), "--qi", "age,dept", "-s", "amount", "--keep", "city", "--unit", "row",
        "-k", "5", "--alpha", "0.9", "-o", "public.parquet", cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    log = here("ledger", "log", "-p", str(policy), "--format", "json", cwd=tmp_path).out
    assert "disclosure" in log
    assert "anonymise visits: k=5, alpha=0.9, unit=row, greedy; exact values, not DP" in log
    assert "; qi age,dept; sensitive amount; kept city" in log
    assert "on record in the ledger as entry" in ran.out
    assert "as good as a name: city" in ran.out, "it differs in every row"
    assert here("ledger", "verify", "-p", str(policy), cwd=tmp_path).code == 0
    budget = json.loads(here("budget", "-p", str(policy), "--format", "json", cwd=tmp_path).out)
    assert budget["total"]["spent"] == {"epsilon": "0", "delta": "0"}, "no budget covers it"


def test_a_second_release_warns_and_a_grid_and_true_rows_are_asked_for(tmp_path: Path) -> None:
    policy = build(tmp_path)
    words = ("anonymise", "visits", "-p", str(policy), "--unit", "row", "-k", "5", "--report")
    first = here(*words, "first.html", "--qi", "age", "--grid", "age=10", cwd=tmp_path)
    assert first.code == 0, first.err
    assert "published before" not in first.out
    assert "The table as it was" not in (tmp_path / "first.html").read_text()
    second = here(*words, "second.html", "--qi", "dept,age", "--true-rows", cwd=tmp_path)
    assert "warning: The same people were published before: the ledger has 1 earlier release" in second.out
    assert "made again (k = 5 of age) and intersected with this table" in " ".join(second.out.split())
    assert "The table as it was" in (tmp_path / "second.html").read_text()
    assert here(*words, "third.html", "--qi", "age", "--grid", "age=month", cwd=tmp_path).code == 2


def test_a_policys_people_with_several_rows_are_refused_without_a_name(tmp_path: Path) -> None:
    policy = build(tmp_path)
    ran = here("anonymise", "visits", "-p", str(policy), "--qi", "age,dept", "-k", "5", "-o", "a.csv", cwd=tmp_path)
    assert ran.code == 2
    assert ran.err.startswith("error: one person has several rows: patient_id repeats")
    assert "GROUP BY" in ran.err
    assert "CANARY" not in ran.err
    assert not (tmp_path / "a.csv").exists()


def test_without_a_policy_it_says_that_nothing_is_on_record(staff: Path) -> None:
    ran = here("anonymise", "staff.csv", "--qi", QI, "-k", "5", cwd=staff)
    assert "not on record: no policy was named" in ran.out
    assert "k counts rows; it counts people only where each person has one row" in ran.out
    known = here("anonymise", "staff.csv", "--qi", QI, "-k", "5", "--unit", "name", cwd=staff)
    assert "each name has one row, so k counts people" in known.out


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (["-o", "out.xlsx"], "of no kind tacit writes"),
        (["-o", "nodir/out.csv"], "cannot be written"),
        (["-o", "out.csv", "--report", "nodir/page.html"], "cannot be written"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_act_is_on_record(
    places: list[str], said: str, tmp_path: Path
) -> None:
    policy = build(tmp_path)
    ran = here(
        "anonymise", "visits", "-p", str(policy), "--qi", "age", "--unit", "row", "-k", "5", *places, cwd=tmp_path
    )
    assert (ran.code, said in ran.err) == (2, True)
    assert not list(tmp_path.glob("*.ledger*")), "no ledger was opened"
    assert not (tmp_path / "out.csv").exists()


def test_ends_of_a_column_of_dates_are_dates(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "born\n" + "".join(f"19{year}-05-0{day}\n" for year in range(50, 90) for day in "12")
    )
    ran = here(
        "anonymise", "t.csv", "--qi", "born", "-k", "2", "--top", "born=1980-01-01", "-o", "out.csv", cwd=tmp_path
    )
    assert ran.code == 0, ran.err
    assert "1980-01-01+" in (tmp_path / "out.csv").read_text()
    ran = here("anonymise", "t.csv", "--qi", "born", "-k", "2", "--top", "born=80", cwd=tmp_path)
    assert ran.code == 2
    assert "it holds dates" in ran.err


def test_check_is_a_verdict_where_numbers_are_given(staff: Path) -> None:
    words = ("anonymise", "check", "staff.csv", "--qi", "town", "-s", "illness")
    held = here(*words, "-k", "100", "-l", "3", "-t", "0.5", cwd=staff)
    assert (held.code, held.out.splitlines()[-1]) == (0, "it holds")
    for asked, said in (
        (("-k", "200"), "k is 133, not 200"),
        (("-l", "4"), "is 3, not 4"),
        (("-t", "0"), "equal t of"),
    ):
        failed = here(*words, *asked, cwd=staff)
        assert (failed.code, said in failed.out) == (1, True)
    assert json.loads(here(*words, "-k", "200", "--format", "json", cwd=staff).out)["holds"] is False
    assert here(*words, cwd=staff).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["staff.csv", "-o", "x.csv"], "no such option: -o"),
        (["staff.csv", "--alpha", "0.5"], "no such option: --alpha"),
        (["staff.csv", "--suppress", "0.5"], "no such option: --suppress"),
        ([], "missing argument 'TABLE'"),
        (["staff.csv", "-s", "illness", "-l", "2", "--diversity", "recursive"], "invalid value"),
        (["staff.csv", "--as", "ana"], "refused to analysts"),
        (["staff.csv", "-l", "2"], "none is named"),
        (["staff.csv", "-s", "illness", "--distance", "ordered"], "words have none of their own"),
        (["staff.csv", "--unit", "sex"], "one person has several rows"),
    ],
)
def test_check_refuses_what_it_would_not_do(words: list[str], said: str, staff: Path) -> None:
    ran = here("anonymise", "check", *words, "--qi", "town", cwd=staff)
    assert (ran.code in {2, 3}, said in ran.err) == (True, True), ran.err
    assert not (staff / "x.csv").exists()


def test_what_fails_after_it_was_entered_is_on_record_as_failed(tmp_path: Path) -> None:
    policy = build(tmp_path)
    ran = here("anonymise", "visits", "-p", str(policy), "--qi", "height", "-k", "5", cwd=tmp_path)
    assert ran.code == 2
    log = here("ledger", "log", "-p", str(policy), "--format", "json", cwd=tmp_path).out
    assert "disclosure" in log
    assert "fail" in log


def test_help_teaches(tmp_path: Path) -> None:
    ran = here("anonymise", "--help", cwd=tmp_path)
    assert ran.code == 0
    for words in (
        "tacit anonymise check",
        "not differential privacy",
        "--hierarchies",
        "--suppress",
        "k counts rows",
        "--unit",
    ):
        assert words in ran.out
    assert "\n  anonymise" in here("--help", cwd=tmp_path).out
