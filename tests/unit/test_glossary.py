"""The glossary names what the code has, and explains each word once."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import tacit

GLOSSARY = Path(__file__).parents[2] / "docs" / "explanation" / "glossary.md"
NAMED = {
    node.name
    for path in Path(tacit.__file__).parent.rglob("*.py")
    for node in ast.parse(path.read_text()).body
    if isinstance(node, (ast.ClassDef, ast.FunctionDef))
}


def lines(text: str) -> list[list[str]]:
    """The cells of each line of the table: the words, what they mean, what the code calls them."""
    table = [line for line in text.splitlines() if line.startswith("| **")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def unknown(text: str) -> list[str]:
    """The names on the right that no class and no function has."""
    return [name for line in lines(text) for name in re.findall(r"`(\w+)`", line[-1]) if name not in NAMED]


def said_twice(text: str) -> list[str]:
    """The words that several lines explain."""
    counts = Counter(word for line in lines(text) for word in re.findall(r"\*\*(.+?)\*\*", line[0]))
    return [word for word, count in counts.items() if count > 1]


def test_every_name_of_the_glossary_is_in_the_code() -> None:
    assert unknown(GLOSSARY.read_text()) == []
    assert len(lines(GLOSSARY.read_text())) > 40
    assert {len(line) for line in lines(GLOSSARY.read_text())} == {3}


def test_the_glossary_explains_each_word_once() -> None:
    assert said_twice(GLOSSARY.read_text()) == []


def test_what_is_wrong_with_a_glossary_would_be_noticed() -> None:
    wrong = "| **reach** | how far | `Reach`, `Sensitivity` |\n| **reach** | the same | `Loss` |\n"
    assert unknown(wrong) == ["Reach"]
    assert said_twice(wrong) == ["reach"]
