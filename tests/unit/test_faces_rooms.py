"""Who may reach what inside the doors, read off the source text; and the names the package makes public."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import tacit

FACES = Path(tacit.__file__).parent / "faces"
MODULES = {path.relative_to(FACES).as_posix(): path for path in sorted(FACES.rglob("*.py"))}
OPENS_ENGINES = {
    "opening.py",
    "owner/direct.py",
    "owner/drafting.py",
    "owner/examining.py",
    "owner/left_out.py",
    "demo/data.py",
    "survey/__init__.py",  # its reports are private already, and lie in an engine where they are many
}
ANALYSTS = {name for name in MODULES if name.startswith("shell/")} | {
    "database.py",
    "catalogue.py",
    "budget_status.py",
    "entries.py",
}


def imports(text: str) -> Iterator[str]:
    """Every module, and every name of a module, that a text imports, at whatever depth."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def reaches(text: str, *modules: str) -> list[str]:
    return [name for name in imports(text) if any(name == m or name.startswith(f"{m}.") for m in modules)]


def text_of(name: str) -> str:
    return MODULES[name].read_text(encoding="utf-8")


def test_there_are_modules_to_look_at() -> None:
    assert MODULES.keys() >= OPENS_ENGINES | ANALYSTS


def test_only_the_opener_and_the_owner_know_engines() -> None:
    found = {
        name: reaches(text_of(name), "tacit.engines", "duckdb", "sqlglot") for name in MODULES.keys() - OPENS_ENGINES
    }
    assert {name: reached for name, reached in found.items() if reached} == {}


def test_no_analysts_door_knows_the_owners() -> None:
    owners = (
        "tacit.faces.owner",
        "tacit.faces.demo",
        "tacit.faces.survey",
    )
    found = {name: reaches(text_of(name), *owners) for name in ANALYSTS}
    assert {name: reached for name, reached in found.items() if reached} == {}


def test_no_door_imports_the_package_itself() -> None:
    assert [name for name in MODULES if "tacit" in imports(text_of(name))] == []


@pytest.mark.parametrize(
    "text",
    ["import duckdb", "from tacit.engines import open_engine", "def f():\n    from tacit.engines.owner import x"],
)
def test_a_reach_would_be_noticed(text: str) -> None:
    assert reaches(text, "tacit.engines", "duckdb")


def test_every_public_name_is_there_and_comes_from_where_it_lives() -> None:
    assert tacit.__all__ == sorted(tacit.__all__)
    for name in tacit.__all__:
        value = getattr(tacit, name)
        home = value.__name__ if isinstance(value, ModuleType) else value.__module__
        assert home.startswith("tacit."), name
        assert name in dir(tacit)
    assert tacit.open.__name__ == "open_database"
    assert isinstance(tacit.__version__, str)


def test_every_error_of_the_tree_is_public() -> None:
    tree = {name for name, value in vars(importlib.import_module("tacit.errors")).items() if isinstance(value, type)}
    assert {name for name in tree if issubclass(getattr(tacit.errors, name), tacit.TacitError)} <= set(tacit.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tacit.nonsense


ROOMS = [path.parent.name for path in Path(tacit.__file__).parent.glob("*/__init__.py") if path.parent.name != "faces"]


@pytest.mark.parametrize("room", [*ROOMS, "owner", "surveys", "errors", "release.anonymise"])
def test_every_room_resolves_after_a_plain_import(room: str) -> None:
    code = f"import sys, tacit; before = set(sys.modules); print(tacit.{room}.__name__, 'duckdb' in before)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(tacit.__file__).parents[1])},
    )
    assert done.stdout.split()[0].startswith("tacit.")
    assert done.stdout.split()[1] == "False"
    assert room == "errors" or "." in room or room in tacit.__all__


@pytest.mark.parametrize(("name", "home"), [("dbapi", "dbapi"), ("owner", "owner"), ("surveys", "survey")])
def test_a_door_is_a_module_by_its_short_name_too(name: str, home: str) -> None:
    short, at_home = importlib.import_module(f"tacit.{name}"), importlib.import_module(f"tacit.faces.{home}")
    assert short is getattr(tacit, name)
    assert all(getattr(short, each) is getattr(at_home, each) for each in at_home.__all__)
