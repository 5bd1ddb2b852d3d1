"""No table in the source names a key twice: the second would take the place of the first, in silence."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tacit

ROOT = Path(tacit.__file__).parent


def named_twice(source: str) -> list[str]:
    """The keys that a dictionary has twice, as they are written."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            keys = [ast.unparse(key) for key in node.keys if key is not None]
            found += [key for key in set(keys) if keys.count(key) > 1]
    return found


def test_no_dictionary_names_a_key_twice():
    found = {str(path.relative_to(ROOT)): named_twice(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
    assert {path: keys for path, keys in found.items() if keys} == {}


@pytest.mark.parametrize("source", ["{exp.Anonymous: f, exp.Cast: g, exp.Anonymous: h}", "x = {**a, 'b': 1, 'b': 2}"])
def test_a_key_that_is_there_twice_is_noticed(source):
    assert named_twice(source)
