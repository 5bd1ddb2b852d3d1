"""Every Python block of the README and of the docs runs, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.documents import blocks, run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_CODE = [
    page for page in PAGES if any(block.label == "python" for block in blocks(page.read_text(encoding="utf-8")))
]


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", WITH_CODE, ids=_name)
def test_a_page_runs_and_prints_what_it_says(page: Path) -> None:
    assert run(page) > 0


def test_the_readme_and_the_tutorial_have_code_to_run() -> None:
    assert {"README.md", "docs/tutorial/first-noise.md"} <= {_name(page) for page in WITH_CODE}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{_name(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_fence_is_closed_and_has_a_label_we_know(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("```") == 2 * len(list(blocks(text)))
    assert {block.label for block in blocks(text)} <= {"", "python", "text", "text sample", "sh", "sql", "toml", "json"}


def _page(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_a_page_that_prints_something_else_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="does not print what it says"):
        run(_page(tmp_path, "```python\nprint(1)\n```\n\n```text\n2\n```\n"))


def test_a_page_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run(_page(tmp_path, "```python\n1 / 0\n```\n"))


def test_a_sample_may_differ_in_its_numbers_but_not_in_its_words(tmp_path: Path) -> None:
    run(_page(tmp_path, "```python\nprint('about', -7)\n```\n```text sample\nabout 1,234.5\n```\n"))
    with pytest.raises(AssertionError):
        run(_page(tmp_path, "```python\nprint('about', 7)\n```\n```text sample\nnearly 7\n```\n"))
