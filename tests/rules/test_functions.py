"""Functions that can be read at a glance: none of the product has more than sixty lines, signature and all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
LONGEST = 60


def too_long(text: str) -> Iterator[str]:
    """The functions of a module that have more lines than that."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST:
                yield f"{node.name} has {lines} lines"


def test_no_function_is_too_long() -> None:
    found = {
        path.relative_to(SOURCE).as_posix(): list(too_long(path.read_text("utf-8"))) for path in SOURCE.rglob("*.py")
    }
    assert len(found) > 300
    assert {path: names for path, names in found.items() if names} == {}


def test_one_that_is_too_long_is_noticed_wherever_it_stands() -> None:
    body = "    x = 1\n" * (LONGEST - 1)
    assert list(too_long(f"def f():\n{body}")) == []
    assert list(too_long(f"def f():\n{body}    x = 1\n")) == ["f has 61 lines"]
    within = "\n".join(f"    {line}" for line in f"async def f():\n{body}    x = 1".split("\n"))
    assert list(too_long(f"class A:\n{within}\n")) == ["f has 61 lines"]
