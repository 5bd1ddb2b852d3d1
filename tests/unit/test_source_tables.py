"""Tables in the source say each thing once, and a class has a name of its own."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import tacit

SOURCES = sorted(Path(tacit.__file__).parent.rglob("*.py"))


def said_twice(text: str) -> list[str]:
    """The keys that a dict display or a set display of a module has more than once."""
    found = []
    for node in ast.walk(ast.parse(text)):
        keys = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Set) else []
        counts = Counter(ast.unparse(key) for key in keys if key is not None)
        found += [f"{getattr(node, 'lineno', 0)}: {key}" for key, count in counts.items() if count > 1]
    return found


def test_no_table_has_a_key_twice() -> None:
    found = {path.name: said_twice(path.read_text()) for path in SOURCES}
    assert {name: keys for name, keys in found.items() if keys} == {}
    assert len(SOURCES) > 500


@pytest.mark.parametrize("text", ["{exp.Div: 1, exp.Mod: 2, exp.Div: 3}", "{'a': 1, **more, 'a': 2}", "{1, 2, 1}"])
def test_a_key_that_stands_twice_would_be_noticed(text: str) -> None:
    assert said_twice(text)


def named_twice(texts: dict[str, str]) -> dict[str, list[str]]:
    """The public classes that several modules define under one name."""
    homes: dict[str, list[str]] = {}
    for path, text in texts.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(path)
    return {name: found for name, found in homes.items() if len(found) > 1}


def test_a_class_has_a_name_of_its_own() -> None:
    assert named_twice({str(path): path.read_text() for path in SOURCES}) == {}


def test_a_name_that_two_classes_have_would_be_noticed() -> None:
    assert named_twice({"a": "class Row: ...", "b": "class Row: ...", "c": "class _Row: ..."}) == {"Row": ["a", "b"]}
