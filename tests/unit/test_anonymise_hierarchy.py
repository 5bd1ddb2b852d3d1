"""Hierarchies and the cells they make; and the files they are read from."""

from __future__ import annotations

import datetime
import math
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.release.anonymise import Bands, Calendar, Hierarchy, Order, Prefix, Tree, load_hierarchies, load_tree
from tacit.release.anonymise.values.coding import FREE, Ends, column
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.hierarchy import range_label
from tacit.release.anonymise.values.hierarchy_files import parse_bands


def made(values: list[object], hierarchy: Hierarchy | None = None, ends: Ends = FREE) -> tuple[Column, list[int]]:
    counts = np.arange(len(values), 0, -1)
    found, codes = column("c", values, counts=counts, hierarchy=hierarchy, ends=ends)
    return found, codes.tolist()


def cell(found: Column, low: int, high: int) -> tuple[str, float]:
    cells = found.cells(np.array([low]), np.array([high]))
    return cells.text()[0], float(cells.loss[0])


def test_bands_are_half_open_and_the_last_edge_is_within() -> None:
    heights = [169.9, 170, 179, 180, 189.5, 190, 199]
    width = Bands((10,)).levels(heights, "c")[0]
    assert width == ["160-170", "170-180", "170-180", "180-190", "180-190", "190-200", "190-200"]
    assert Bands(((170, 180, 190),)).levels([170, 180, 190], "c") == [["170-180", "180-190", "180-190"]]
    assert Bands(((-math.inf, 20, 60, math.inf),)).levels([3, 20, 60, 99], "c") == [["<20", "20-60", "60+", "60+"]]


def test_a_value_outside_its_bands_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="outside its bands, which go from 170 to 190"):
        made([150, 180], Bands(((170, 180, 190),)))


def test_bands_of_several_widths_make_several_levels() -> None:
    found, _ = made([1, 4, 7, 12, 29], Bands((5, 10, 20)))
    assert [level.label for level in found.levels] == [
        ("0-5", "5-10", "10-15", "25-30"), ("0-10", "10-20", "20-30"), ("0-20", "20-40"),
    ]  # fmt: skip
    assert cell(found, 0, 1) == ("0-5", pytest.approx(3 / 28))
    assert cell(found, 0, 2) == ("0-10", pytest.approx(6 / 28))
    assert cell(found, 0, 4) == ("*", 1)
    assert cell(found, 3, 3) == ("12", 0)


def test_prefixes_read_as_the_lectures_write_them() -> None:
    found, codes = made(["6732", "1001", "6910", "1243"], Prefix((2, 1)))
    assert found.text == ("1001", "1243", "6732", "6910")
    assert codes == [2, 0, 3, 1]
    assert cell(found, 0, 1)[0] == "1*"
    assert cell(found, 2, 2)[0] == "6732"
    assert cell(found, 1, 2)[0] == "*"
    assert made([6732, 1001, 64], Prefix((1,)))[0].text == ("1001", "64", "6732"), "numbers are taken as text"


def test_dates_become_months_years_and_decades() -> None:
    days = [
        datetime.date(1959, 6, 7),
        datetime.date(1959, 6, 14),
        datetime.date(1959, 12, 1),
        datetime.date(1962, 1, 1),
    ]
    found, _ = made(days, Calendar())
    assert [cell(found, 0, high)[0] for high in range(4)] == ["1959-06-07", "1959-06", "1959", "*"]
    plain, _ = made(days)
    assert cell(plain, 0, 1)[0] == "1959-06-01 to 1959-06-14", "whole weeks"


def test_a_tree_puts_its_branches_side_by_side() -> None:
    tree = Tree({"Rome": ("Italy", "Europe"), "Lima": ("Peru", "America"), "Pisa": ("Italy", "Europe")})
    found, _ = made(["Lima", "Pisa", "Rome"], tree)
    assert found.text == ("Rome", "Pisa", "Lima")
    assert cell(found, 0, 1) == ("Italy", 0.5)
    assert cell(found, 1, 2)[0] == "*"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Tree({}), "empty level"),
        (lambda: Tree({"a": ("",)}), "empty level"),
        (lambda: Tree({"a": ("x",), "b": ("x", "y")}), "equally long"),
        (lambda: Tree({"a": ("x", "y"), "b": ("x", "z")}), "two groups above"),
        (lambda: Bands(()), "no level"),
        (lambda: Bands((0,)), "positive"),
        (lambda: Bands(((3, 2),)), "must rise"),
        (lambda: Prefix(()), "at least one"),
        (lambda: Prefix((1, 2)), "must fall"),
        (lambda: Calendar(("year", "month")), "in this order"),
        (lambda: Order(("a", "a")), "once"),
        (lambda: made(["a", "b"], Tree({"a": ("x",)})), "1 of its 2 values"),
        (lambda: made(["a", "b"], Order(("a",))), "not in its order"),
        (lambda: made(["a"], Bands((5,))), "bands are for numbers"),
        (lambda: made([1, 2], Calendar()), "calendar is for dates"),
        (lambda: made([1, 6, 7, 12], Bands((5, 7))), "cuts through"),
        (lambda: made(["a"], ends=Ends(None, 3)), "only numbers"),
        (lambda: made([1, 2], ends=Ends(3, 1)), "bottom must lie below"),
        (lambda: made([1, 99], Bands((10,)), ends=Ends(None, 80)), "does not go with a hierarchy"),
        (lambda: made([2**60, 2**60 + 1]), "too large to tell apart"),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        make()


def test_categories_stand_in_the_order_given_or_the_most_frequent_first() -> None:
    assert made(["b", "c", "a"])[0].text == ("b", "c", "a")
    assert made(["b", "c", "a"], Order(("a", "b", "c", "d")))[0].text == ("a", "b", "c")
    found, _ = made(["b", "c", "a"])
    assert cell(found, 0, 1) == ("b|c", 0.5)
    assert cell(found, 0, 2) == ("*", 1)


def test_top_and_bottom_gather_what_lies_beyond() -> None:
    found, codes = made([10, 30, 55, 80, 110], ends=Ends(30, 80))
    assert found.text == ("<=30", "55", "80+")
    assert codes == [0, 0, 1, 2, 2]
    assert [cell(found, *pair)[0] for pair in ((0, 1), (1, 2), (0, 2), (2, 2))] == ["<=56", "54+", "*", "80+"]
    assert made([40, 50], ends=Ends(30, 80))[0].text == ("40", "50"), "nothing lies beyond"


def test_ranges_with_a_minus_sign_are_written_out() -> None:
    assert [range_label(*pair) for pair in ((-5, 5), (0.5, 1.5), (80, math.inf), (-math.inf, 20))] == [
        "-5 to 5", "0.5-1.5", "80+", "<20",
    ]  # fmt: skip
    found, _ = made([-3, -1, 2])
    assert cell(found, 0, 1)[0] == "-3 to -1"


FILE = """
[height]
bands = [[170, 180, 190]]
[weight]
bands = "60,80,+"
[age]
bands = [5, 10]
[postcode]
prefix = [2, 1]
[born]
calendar = ["year", "decade"]
[grade]
order = ["low", "high"]
[city]
tree = "cities.csv"
[job.tree.work]
office = ["clerk", "chief"]
field = ["farmer"]
"""


def test_a_file_names_the_levels_of_every_column(tmp_path: Path) -> None:
    (tmp_path / "levels.toml").write_text(FILE)
    (tmp_path / "cities.csv").write_text("Rome;Italy;Europe;*\nLima;Peru;America;*\n")
    assert load_hierarchies(tmp_path / "levels.toml") == {
        "height": Bands(((170, 180, 190),)),
        "weight": Bands(((60, 80, math.inf),)),
        "age": Bands((5, 10)),
        "postcode": Prefix((2, 1)),
        "born": Calendar(("year", "decade")),
        "grade": Order(("low", "high")),
        "city": Tree({"Rome": ("Italy", "Europe"), "Lima": ("Peru", "America")}),
        "job": Tree({"clerk": ("office", "work"), "chief": ("office", "work"), "farmer": ("field", "work")}),
    }
    assert parse_bands("5/10") == Bands((5, 10))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a]\nbands = []", "empty"),
        ("[a]\nbands = 1\nprefix = 1", "needs one of"),
        ("[a]\nsteps = 1", "needs one of"),
        ("a = 1", "needs one of"),
        ("[a", "not TOML"),
        ("[a]\ntree = 3", "CSV file"),
        ("[a.tree]\nx = []", "is empty"),
        ("[a]\nprefix = ['x']", "whole numbers"),
        ("[a]\nbands = 'wide'", "bands are a width"),
        ("[a]\ntree = 'nowhere.csv'", "not there"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "levels.toml").write_text(text)
    with pytest.raises(InvalidParameter, match=said):
        load_hierarchies(tmp_path / "levels.toml")


def test_a_tree_with_a_value_in_two_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("a,x\na,y\n")
    with pytest.raises(InvalidParameter, match="twice"):
        load_tree(tmp_path / "tree.csv")
