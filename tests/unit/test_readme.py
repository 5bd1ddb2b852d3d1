"""The README begins with what a user does, and says what every extra costs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from support.documents import blocks

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]


def test_it_opens_with_an_installation_eight_lines_of_python_and_a_question_on_the_command_line() -> None:
    found = [block for block in blocks(README) if block.label in {"sh", "python"}]
    install, python, question = found[:3]
    assert install.body.startswith("pip install")
    assert len(python.body.splitlines()) <= 8
    assert question.body.startswith("tacit query --as ")
    commands = next(block for block in found if block.body.startswith("make"))
    assert re.findall(r"^make (\w+)", commands.body, re.MULTILINE) == ["demo", "test"]


def test_every_extra_is_listed_once_with_its_size_and_no_other() -> None:
    listed = re.findall(r"^\| `'\.\[(\w+)\]'` \| \d+ MB", README, re.MULTILINE)
    assert sorted(listed) == sorted(EXTRAS)


def test_the_tests_are_run_with_every_extra_and_the_demo_with_none() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    bare, full = (re.search(rf"^\$\({name}\):.*?\n\n", rules, re.MULTILINE | re.DOTALL) for name in ("BARE", "STAMP"))
    assert bare is not None
    assert full is not None
    assert "[" not in bare[0]
    assert "--group" not in bare[0]
    apart = {"deep"}  # as large as all others together: it has an environment of its own
    assert set(re.findall(r"\.\[([\w,]+)\]", full[0])[0].split(",")) == EXTRAS.keys() - apart
    assert re.search(r"^test-deep: \$\(DEEP\) ##", rules, re.MULTILINE)
    assert re.search(r"^demo: \$\(BARE\) ##", rules, re.MULTILINE)
    assert re.search(r"^test: \$\(STAMP\) ", rules, re.MULTILINE)


def test_every_extra_that_the_code_asks_for_exists() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    asked = {*re.findall(r'extra="(\w+)"', source), *re.findall(r"tacit\[(\w+)\]", source)}
    assert asked
    assert asked <= EXTRAS.keys()
