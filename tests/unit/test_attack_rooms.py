"""The adversary is a stranger: it uses what the rooms publish, and no door, no private module, no underscore."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit

ROOM = Path(tacit.__file__).parent / "attack"
MODULES = {path.relative_to(ROOM).as_posix(): path.read_text("utf-8") for path in sorted(ROOM.rglob("*.py"))}


def reaches(text: str) -> Iterator[tuple[str, str]]:
    """(module, name) of all that a text takes from tacit outside of its own room."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tacit":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "*") for alias in node.names if alias.name.split(".")[0] == "tacit")


def strange(text: str) -> list[tuple[str, str]]:
    """What of it is nobody's to see."""
    found = []
    for module, name in reaches(text):
        if module.startswith("tacit.attack"):
            continue
        published = module == "tacit.errors" or name in _published(module)
        if not published or name.startswith("_") or module.startswith("tacit.faces") or module == "tacit":
            found.append((module, name))
    return found


def _published(module: str) -> list[str]:
    try:
        return list(getattr(importlib.import_module(module), "__all__", ()))
    except ImportError:
        return []


def test_there_are_modules_to_look_at():
    assert {"__init__.py", "auditing/playing.py", "auditing/queries.py"} <= MODULES.keys()


def test_the_adversary_takes_only_what_is_published():
    assert {name: found for name, text in MODULES.items() if (found := strange(text))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import tacit",
        "from tacit import open",
        "from tacit.curator.measuring.measure import measure",
        "from tacit.curator.nowhere import nothing",
        "from tacit.curator import payment",
        "from tacit.faces.database import Database",
        "from tacit.engines.columns import quoted",
        "def f():\n    from tacit.noise.redrawing import RepeatableBits",
    ],
)
def test_a_reach_for_what_is_private_is_noticed(text):
    assert strange(text)
