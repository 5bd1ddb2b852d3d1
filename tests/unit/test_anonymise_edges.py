"""Numbers, dates and words at the edge of what they mean: read as they are written, or refused."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.policy import BudgetPolicy, Dataset, Policy, TablePolicy
from tacit.release.anonymise import Bands, Order, Request, Roles, Tree, Wanted, anonymise, check
from tacit.release.anonymise.checks.risk import risk
from tacit.release.anonymise.recording import said
from tacit.release.anonymise.values.tuples import ClassTally

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

TABLE = pd.DataFrame({"age": [20, 21, 30, 31] * 3, "ill": ["flu", "gout", "none"] * 4, "pay": [1, 2, 3] * 4})


@pytest.mark.parametrize("k", [1.5, True, "2", 2.0])
@pytest.mark.parametrize("name", ["k", "k_map"])
def test_a_count_is_a_whole_number(name: str, k: object) -> None:
    with pytest.raises(InvalidParameter, match="whole number"):
        anonymise(TABLE, ["age"], **{name: k}, population=TABLE if name == "k_map" else None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["l", "t", "beta", "alpha"])
def test_a_word_is_no_number(name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"{name} is a number"):
        anonymise(TABLE, ["age"], k=2, sensitive="ill", **{name: "0.5"})


def test_recursive_diversity_counts_values_and_not_parts_of_them() -> None:
    with pytest.raises(InvalidParameter, match=r"l of recursive diversity is a whole number: got 2\.9"):
        anonymise(TABLE, ["age"], k=2, sensitive="ill", l=2.9, diversity="recursive", c=3)
    models = anonymise(TABLE, ["age"], k=2, sensitive="ill", l=2.0, diversity="recursive", c=9).models
    assert models == ("k = 2", "recursive (9, 2)-diversity on ill")
    assert anonymise(TABLE, ["age"], k=np.int64(2)).models == ("k = 2",)


def test_words_are_in_no_order_until_somebody_says_so() -> None:
    def made(secret: str, **more: Any) -> Any:
        return anonymise(TABLE, ["age"], k=2, sensitive=secret, t=0.5, distance="ordered", **more)

    with pytest.raises(InvalidParameter, match="ill: an ordered distance needs an order") as caught:
        made("ill")
    assert "Order" in caught.value.hint
    assert made("ill", hierarchies={"ill": Order(("none", "flu", "gout"))})
    assert made("ill", hierarchies={"ill": Tree({"none": ("no",), "flu": ("yes",), "gout": ("yes",)})})
    assert made("pay")


def test_a_constant_secret_is_at_no_distance_from_itself() -> None:
    tree = {"ill": Tree({"flu": ("yes",)})}
    for distance, levels in (("equal", {}), ("ordered", {}), ("hierarchical", tree)):
        made = anonymise(
            TABLE.assign(ill="flu"), ["age"], k=2, sensitive="ill", t=0, distance=distance, hierarchies=levels
        )
        assert made.models == ("k = 2", f"t = 0 ({distance}) on ill")


@pytest.mark.parametrize(
    ("values", "width", "labels"),
    [
        ([0.1, 0.2, 0.3, 0.6, 0.7], 0.1, ["0.1-0.2", "0.2-0.3", "0.3-0.4", "0.6-0.7", "0.7-0.8"]),
        ([Decimal("0.3"), Decimal("0.29")], 0.1, ["0.3-0.4", "0.2-0.3"]),
        ([1.1, 2.2, 3.3], 1.1, ["1.1-2.2", "2.2-3.3", "3.3-4.4"]),
        ([-0.3, 0], 0.1, ["-0.3 to -0.2", "0-0.1"]),
        ([Decimal("0.3"), 0.3, 0.1], (0.1, 0.3, 0.5), ["0.3-0.5", "0.3-0.5", "0.1-0.3"]),
        ([0.5, 9], (0.5, float("inf")), ["0.5+", "0.5+"]),
    ],
)
def test_bands_are_of_the_numbers_that_are_written(values: list[object], width: Any, labels: list[str]) -> None:
    assert Bands((width,)).levels(values, "x") == [labels]


def test_infinite_numbers_are_refused_where_an_interval_would_end() -> None:
    for end in (np.inf, -np.inf):
        with pytest.raises(InvalidParameter, match="age has infinite numbers"):
            anonymise(TABLE.assign(age=[end] + [1.0] * 11), ["age"], k=2)
    assert anonymise(TABLE.assign(pay=[np.inf] + [1.0] * 11), ["age"], k=2, sensitive="pay").report.models == ("k = 2",)


@pytest.mark.parametrize(
    "make", [lambda table: table, pa.Table.from_pandas, lambda table: duckdb.connect().from_df(table)]
)
def test_times_with_a_zone_are_read_as_times_of_utc(make: Any) -> None:
    times = pd.to_datetime(["2024-03-01 23:30", "2024-03-02 00:30"] * 6).tz_localize("Europe/Oslo")
    table = make(TABLE.assign(seen=times))
    rows = anonymise(table, ["seen"], k=2, sensitive="ill", keep=["pay"]).rows(limit=99)[1]
    assert {row[2] for row in rows} == {"2024-03-01T22:30:00", "2024-03-01T23:30:00"}
    kept = anonymise(table, ["age"], k=2, keep=["seen"]).rows(limit=99)[1]
    assert {row[1] for row in kept} == {datetime.datetime.fromisoformat(f"2024-03-01T{hour}:30") for hour in (22, 23)}
    assert check(table, ["seen"]).k == 6


def test_times_with_a_zone_are_read_in_files_populations_and_policies(tmp_path: Path) -> None:
    times = pd.to_datetime(["2024-03-01 23:30", "2024-03-02 00:30"] * 6).tz_localize("Europe/Oslo")
    table = TABLE.assign(seen=times)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    for given in (tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert (
            anonymise(given, ["seen"], k=2, k_map=2, population=tmp_path / "t.parquet").report.risk_after.smallest == 6
        )
    policy = Policy(
        Dataset("d", {"t": "t.parquet"}, base=tmp_path), BudgetPolicy(1), tables=[TablePolicy("t", public=True)]
    )
    assert check("t", ["seen"], policy=policy).k == 6
    assert anonymise("t", ["seen"], k=6, policy=policy).report.unit is None


@pytest.mark.parametrize(
    ("column", "end", "kind"),
    [
        ("age", datetime.date(2020, 1, 1), "numbers"),
        ("age", "30", "numbers"),
        ("age", True, "numbers"),
        ("age", float("nan"), "numbers"),
        ("born", 30, "dates"),
        ("born", "1990-01-01", "dates"),
    ],
)
def test_an_end_is_of_its_columns_kind(column: str, end: object, kind: str) -> None:
    born = pd.to_datetime(["1990-01-01", "2000-01-01"] * 6)
    table = pa.Table.from_pandas(TABLE.assign(born=born)).set_column(3, "born", pa.array(born.date))
    for which in ("top", "bottom"):
        with pytest.raises(InvalidParameter, match=f"{column}: it holds {kind}"):
            anonymise(table, [column], k=2, **{which: {column: end}})
    cells = anonymise(table, ["born"], k=2, top={"born": datetime.date(1995, 1, 1)}).rows(limit=99)[1]
    assert {row[0] for row in cells} == {"1990-01-01", "1995-01-01+"}


def test_means_keep_all_the_digits_before_the_point() -> None:
    table = pd.DataFrame({"pay": [1234567, 1234567, 7654321.5, 7654321.5, 10.123456789, 10.123456789]})
    out = set(anonymise(table, ["pay"], k=2, method="microaggregate").table["pay"])
    assert out == {"1234567", "7654322", "10.1235"}


def test_the_classes_of_a_report_are_those_one_can_tell_apart() -> None:
    table = pd.DataFrame({"age": [5] * 12})
    for method in ("relaxed", "microaggregate"):
        report = anonymise(table, ["age"], k=3, method=method).report
        utility = report.utility
        assert report.class_sizes == ((12, 1),), method
        assert (utility.classes, utility.average_class, utility.discernibility) == (1, 12, 144), method


def test_a_marketer_guesses_within_the_population_where_it_is_known() -> None:
    found = risk(ClassTally(np.array([2, 1, 0]), np.array([4, 5, 9]), {}), population_size=None)
    assert found.marketer == pytest.approx((2 / 4 + 1 / 5) / 3)
    assert risk(ClassTally(np.array([2, 1]), None, {}), population_size=None).marketer == pytest.approx(2 / 3)


def test_what_is_missing_and_what_is_empty_are_two_values_to_a_check() -> None:
    table = pa.table({"a": pa.array(["", None, None, "x", "x"]), "s": pa.array(["", None, "", "q", None])})
    audit = check(table, ["a"], sensitive="s")
    assert (audit.k, audit.classes, audit.rows) == (1, 3, 5)
    assert audit.sensitive[0].least_values == 1
    assert check(table.slice(1, 2), ["a"], sensitive="s").sensitive[0].least_values == 2


def test_what_is_no_number_is_a_value_to_a_check() -> None:
    numbers = pa.table({"a": pa.array([float("nan"), float("nan"), None, 1.0, 1.0, float("inf")])})
    audit = check(numbers, ["a"])
    assert (audit.k, audit.classes, audit.rows) == (1, 4, 6)
    assert check(numbers.slice(0, 2), ["a"], sensitive=()).k == 2


def test_a_check_measures_t_by_the_distance_asked_for(tmp_path: Any) -> None:
    table = pd.DataFrame({"a": [1, 1, 1, 2, 2, 2], "pay": [9, 10, 11, 10, 11, 12]})
    table.to_csv(tmp_path / "t.csv", index=False)  # a check reads text: 9 must still come before 10
    for given in (table, tmp_path / "t.csv"):
        equal, ordered = (
            check(given, ["a"], sensitive="pay", distance=distance).sensitive[0] for distance in ("equal", "ordered")
        )
        assert (equal.distance, equal.farthest) == ("equal", pytest.approx(1 / 6))
        assert (ordered.distance, ordered.farthest) == ("ordered", pytest.approx((1 / 6 + 1 / 6 + 1 / 6) / 3))
    with pytest.raises(InvalidParameter, match="ordered distance needs an order"):
        check(TABLE, ["age"], sensitive="ill", distance="ordered")
    levels = {"ill": Tree({"none": ("no",), "flu": ("yes",), "gout": ("yes",)})}
    assert check(TABLE, ["age"], sensitive="ill", distance="hierarchical", hierarchies=levels).sensitive


def test_the_ledgers_note_lists_every_model_and_column_by_role() -> None:
    roles = Roles(quasi_identifiers=("age", "town"), sensitive=("ill",), pseudonyms=("id",), keep=("note",))
    wanted = Wanted(k=5, l=2, diversity="recursive", c=3, t=0.2, alpha=0.9, beta=2, k_map=7, presence=(0, 0.5))
    note = said(Request(roles=roles, wanted=wanted, suppression=0.1), table="visits")
    for words in (
        "anonymise visits: k=5", "k-map=7", "presence=0:0.5", "recursive l=2", "c=3", "equal t=0.2", "alpha=0.9",
        "beta=2", "suppress=0.1", "greedy", "qi age,town", "sensitive ill", "kept note", "pseudonyms id",
        "exact values, not DP",
    ):  # fmt: skip
        assert words in note
    many = Roles(quasi_identifiers=tuple(f"a column with a long name {place}" for place in range(40)), keep=("x\ny",))
    long = said(Request(roles=many, wanted=Wanted(k=5)), table="t" * 300)
    assert len(long) <= 200
    assert re.search(r": k=5, greedy; exact values, not DP; qi .*, ?\d+ more; kept xy$", long)
