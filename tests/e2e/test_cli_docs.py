"""Every command on the pages about these doors runs, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cli_clinic import POLICY, build, here
from support.documents import SAMPLE, Block, blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("tutorial/ask.md", "how-to/ask-a-question.md", "how-to/write-a-policy.md", "how-to/calibrate.md")
SETTING_UP = {"pip", "make"}  # what stands before the first command
BARE = POLICY.replace("amount = { lower = 0, upper = 500, step = 0.01 }", "amount = {}").replace("max_rows = 4\n", "")


def commands(block: str) -> Iterator[list[str]]:
    """The commands of a block; one goes on over lines while a quote is open."""
    held = ""
    for line in block.splitlines():
        held += line + "\n"
        try:
            words = shlex.split(held, comments=True)
        except ValueError:
            continue
        held = ""
        if words:
            yield words
    assert not held, "a quote is never closed"


def like(text: str, *, sample: bool) -> list[str]:
    """The words of what is printed; a sample's numbers differ, and so do the widths of its tables."""
    if sample:
        text = re.sub(r"\b[0-9a-f]{16}\b", "hash", text)
        text = re.sub(r"-?\d[\d,]*(\.\d+|/\d+)?(e-?\d+)?", "#", text)
    return [re.sub(r"─+", "─", re.sub(r" +", " ", line)).strip() for line in text.strip().splitlines()]


def follow(page: Path, directory: Path) -> int:
    """Do what the page says, in a directory; how many commands it has."""
    ran, printed = 0, ""
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.label == "python":
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.chdir(directory):
                exec(compile(block.body, str(page), "exec"), namespace)
            printed = said.getvalue()
        elif block.label == "toml":
            (directory / block.body.splitlines()[0].removeprefix("# ")).write_text(block.body, encoding="utf-8")
        elif block.label == "sh":
            printed = ""
            for program, *arguments in commands(block.body):
                if program in SETTING_UP:
                    continue
                assert program == "tacit"
                result = here(*arguments, cwd=directory)
                assert result.code == 0 or _is_meant(page, block, result.err), f"{page.name}:{block.line}: {result}"
                printed += result.out + result.err
                ran += 1
        elif block.label.startswith("text"):
            sample = block.label == SAMPLE
            assert like(printed, sample=sample) == like(block.body, sample=sample), f"{page.name}:{block.line}"
    return ran


def _is_meant(page: Path, block: Block, error: str) -> bool:
    """Whether the page shows this very error below."""
    return any(
        b.line > block.line and b.body.strip() == error.strip() for b in blocks(page.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_followed(name: str, tmp_path: Path) -> None:
    if not name.startswith("tutorial"):
        build(tmp_path, people=20_000)
        if name == "how-to/calibrate.md":
            (tmp_path / "tacit.toml").write_text(BARE, encoding="utf-8")
    assert follow(DOCS / name, tmp_path) > 1


def test_the_readme_can_be_followed_in_an_empty_folder(tmp_path: Path) -> None:
    assert follow(DOCS.parent / "README.md", tmp_path) == 2


def test_a_page_that_says_something_else_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ntacit --version\n```\n\n```text\nnonsense\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:5"):
        follow(page, tmp_path)
    page.write_text("```sh\ntacit nonsense\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page\.md:1"):
        follow(page, tmp_path)
