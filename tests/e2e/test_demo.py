"""The demonstration, at a smaller size: its story is true, and its report needs nothing but itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

import pytest

from e2e.cli_clinic import Ran, here
from tacit.faces.demo import tour
from tacit.faces.demo.data import build_clinic, build_tax_office


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    directory = tmp_path_factory.mktemp("demo") / "tour"
    with patch.object(tour, "REPEATS", 100):
        return directory, here("demo", str(directory), "--rows", "20000", cwd=directory.parent)


def test_it_tells_its_whole_story(demo: tuple[Path, Ran]) -> None:
    _, ran = demo
    assert (ran.code, ran.err) == (0, "")
    assert "How many politicians are there?" in ran.out
    assert "true politicians" in ran.out
    assert "reused: rolled up from a finer answer, free" in ran.out
    assert "people.name has no public domain" in ran.out
    assert "the budget of 'ana' for 'tax' does not cover this question: ε = 0.5 was asked, ε = 0.4 is left" in ran.out
    assert "kuru" not in ran.out, "a disease of one patient is not shown"
    assert "Both ledgers are whole." in ran.out


def test_averaging_fails_twice(demo: tuple[Path, Ran]) -> None:
    _, ran = demo
    assert re.search(r"asked 100 times: one noisy answer, -?\d+, given 100 times; paid once", ran.out)
    assert re.search(r"with FRESH: 19 more answers, each paid for", ran.out)
    assert (
        "the budget of 'mallory' for 'tax' does not cover this question: ε = 0.05 was asked, ε = 0 is left" in ran.out
    )


class Page(HTMLParser):
    """What a page is made of, and that it is well formed."""

    EMPTY = frozenset({"meta", "br", "rect", "line", "circle", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "action", "data"}]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_the_report_is_one_page_with_pictures_and_no_links(demo: tuple[Path, Ran]) -> None:
    directory, _ = demo
    text = (directory / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert page.links == []
    assert "script" not in page.tags
    assert "url(" not in text
    assert "@import" not in text
    assert page.tags.count("svg") >= 10
    assert page.tags.count("article") == 17
    assert "nan" not in re.sub(r"<[^>]*>", " ", text).lower().split()


def test_the_data_are_the_same_every_time(demo: tuple[Path, Ran], tmp_path: Path) -> None:
    directory, _ = demo
    tax, clinic = build_tax_office(tmp_path, rows=20000), build_clinic(tmp_path, rows=20000)
    for table, office in (("people", tax), ("visits", clinic)):
        digest = f"SELECT COUNT(*) AS n, bit_xor(hash(t)) AS h FROM {table} AS t"
        earlier = here(
            "sql", "-p", directory / f"{office.policy.dataset.name}.toml", "--format", "json", digest, cwd=directory
        )
        assert earlier.json["rows"] == [list(office.truth(digest)[0])]
        assert earlier.json["rows"][0][0] == 20000
    names = clinic.truth("SELECT COUNT(*) FROM visits WHERE diagnosis = 'kuru'")
    assert names == [(1,)]


def test_a_directory_with_something_in_it_is_left_alone(demo: tuple[Path, Ran]) -> None:
    directory, _ = demo
    again = here("demo", str(directory), cwd=directory.parent)
    assert again.code == 5
    assert "is not empty" in again.lines[0]
    assert here("demo", "--rows", "10", cwd=directory.parent).code == 2
