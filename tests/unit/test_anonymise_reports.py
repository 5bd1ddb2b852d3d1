"""What the report says, on tables small enough to count by hand."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.faces.anonymise.findings import plain_report, risk_rows
from tacit.faces.anonymise.page import page
from tacit.faces.anonymise.pictures import class_sizes, losses
from tacit.release.anonymise import Anonymised, Bands, anonymise
from tacit.release.anonymise.checks.risk import risk
from tacit.release.anonymise.values.tuples import ClassTally

pd = pytest.importorskip("pandas")

TABLE = pd.DataFrame(
    {
        "age": [20, 22, 30, 31, 40, 47],
        "sex": ["f", "f", "f", "m", "m", "m"],
        "ill": ["yes", "yes", "no", "yes", "no", "no"],
    }
)


@pytest.fixture(scope="module")
def result() -> Anonymised:
    # in bands of ten: {20, 22}, {30, 31}, {40, 47}
    return anonymise(TABLE, ["age"], k=2, sensitive="ill", method="optimal", hierarchies={"age": Bands((10,))})


def test_the_cost_is_counted_cell_by_cell(result: Anonymised) -> None:
    utility = result.report.utility
    assert utility.ncp == pytest.approx((2 * 2 + 2 * 1 + 2 * 7) / (6 * 27))  # widths 2, 1 and 7 of 27
    assert utility.gcp == utility.ncp
    assert utility.discernibility == 3 * 2**2
    assert (utility.average_class, utility.classes, utility.rows, utility.suppressed) == (2, 3, 6, 0)
    age = utility.columns[0]
    assert (age.values, age.cells) == (6, 3)
    assert age.entropy_loss == pytest.approx(1 / np.log2(6))  # one bit of log2 6 is gone


def test_the_risks_are_those_of_the_smallest_class_and_of_the_average(result: Anonymised) -> None:
    before, after = result.report.risk_before, result.report.risk_after
    assert (before.smallest, before.prosecutor, before.sample_unique, before.marketer) == (1, 1, 1, 1)
    assert (after.smallest, after.prosecutor, after.sample_unique, after.marketer) == (2, 0.5, 0, 0.5)
    assert after.journalist is None
    assert after.population_unique is None


def test_a_class_with_one_value_tells_it(result: Anonymised) -> None:
    found = result.report.homogeneity_after[0]
    assert found.homogeneous == pytest.approx(4 / 6)  # of 20 and 22, and of 40 and 47
    assert (found.least_values, found.least_entropy, found.farthest) == (1, pytest.approx(1), pytest.approx(0.5))
    assert result.report.homogeneity_before[0].homogeneous == 1


def test_the_attack_finds_everybody_before_and_nobody_after(result: Anonymised) -> None:
    link = result.report.linkage
    assert (link.people, link.everyone) == (6, True)
    assert (link.found_before, link.found_after, link.fewest) == (1, 0, 2)
    assert link.chance == pytest.approx(0.5)
    learnt = link.learnt_after[0]
    assert learnt.certain == pytest.approx(4 / 6)
    assert link.learnt_before[0].certain == 1
    assert learnt.blind == pytest.approx(0.5)
    assert learnt.guessed == pytest.approx(5 / 6)  # of 30 and 31 the guess is right once


def test_the_attack_looks_into_every_class_that_covers_a_person() -> None:
    """Relaxed classes overlap: a person's candidates are more than the class they are in."""
    table = pd.DataFrame({"age": [1, 2, 2, 2, 2, 3]})
    link = anonymise(table, ["age"], k=3, method="relaxed").report.linkage
    assert link.fewest == 3
    assert link.chance < 1 / 3


def test_the_attack_finds_whoever_stands_alone() -> None:
    link = anonymise(TABLE, ["age", "sex"], k=1).report.linkage
    assert (link.found_before, link.found_after, link.chance) == (1, 1, 1)


def test_people_alone_in_the_population_are_estimated_from_those_alone_in_the_table() -> None:
    sizes = np.array([1, 1, 1, 1, 2, 3])
    found = risk(ClassTally(sizes, None, {}), population_size=90)
    fraction = 9 / 90
    seen = 4 * fraction + 1 * 2 * fraction * 0.9 + 1 * 3 * fraction * 0.9**2
    assert found.population_unique == pytest.approx(4 / 9 * (4 * fraction / seen))
    assert found.estimated
    everybody = risk(ClassTally(sizes, None, {}), population_size=9)
    assert everybody.population_unique == pytest.approx(4 / 9), "a table of everybody leaves nothing to estimate"
    with pytest.raises(InvalidParameter, match="fewer than the table has rows"):
        risk(ClassTally(sizes, None, {}), population_size=8)


def test_a_population_is_counted_not_estimated() -> None:
    found = risk(ClassTally(np.array([1, 1, 2, 0]), np.array([1, 5, 4, 9]), {}), population_size=None)
    assert (found.journalist, found.population_unique, found.estimated) == (1, 0.25, False)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.add(tag)
        if tag not in {"meta", "line", "rect", "path", "circle", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"line", "rect", "path", "circle"}:
            assert self.open.pop() == tag


def test_the_page_is_whole_and_holds_everything(result: Anonymised) -> None:
    text = page(result, title="<b>staff</b>")
    tags = _Tags()
    tags.feed(text)
    assert not tags.open
    assert tags.seen >= {"svg", "table", "h2"}
    assert "<b>staff" not in text
    assert "not differential privacy" in text
    for words in ("40-50", "k = 2", "As it is published", "linkage attack"):
        assert words in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", ""), "nothing is fetched from elsewhere"


def test_a_cell_cannot_break_out_of_the_page() -> None:
    table = TABLE.assign(sex=["<script>x</script>"] * 6)
    assert "<script>" not in page(anonymise(table, ["age", "sex"], k=2), title="t")


def test_the_report_is_json(result: Anonymised) -> None:
    plain = json.loads(json.dumps(plain_report(result.report)))
    assert plain["differentially_private"] is False
    assert plain["utility"]["columns"][0]["name"] == "age"
    assert plain["guarantee"] == ["k = 2"]
    assert all(len(row) == 3 for row in risk_rows(result.report))


def test_the_order_of_categories_is_published() -> None:
    report = anonymise(TABLE, ["age", "sex"], k=2).report
    assert report.orders == {"sex": ("f", "m")}


@pytest.mark.parametrize("sizes", [[(3, 1)], [(2, 5), (3, 1), (900, 2)], [(size, 1) for size in range(5, 400)]])
def test_pictures_show_every_row_once(sizes: list[tuple[int, int]]) -> None:
    drawn = class_sizes(sizes, k=5)
    shown = [int(piece.split(" rows")[0].replace(",", "")) for piece in drawn.split("<title>")[1:]]
    assert sum(shown) == sum(size * number for size, number in sizes)
    assert len(shown) <= 60


def test_a_loss_is_drawn_to_scale() -> None:
    drawn = losses([("age", 0.5, 1.0), ("sex", 0.0, 0.0)])
    assert 'width="201.0"' in drawn  # half of 402
    assert 'width="402.0"' in drawn


def test_the_page_can_be_written(result: Anonymised, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(page(result, title="t"), encoding="utf-8")
