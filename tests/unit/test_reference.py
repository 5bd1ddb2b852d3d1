"""The reference is written from the source: no public name is missing, and an old page is noticed."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tacit import errors
from tacit.policy.keys import SECTIONS

SCRIPT = Path(__file__).parents[2] / "scripts" / "reference.py"
FRONT = '"""A room."""\nfrom tacit.core.thing import LIMIT, Thing, make\n__all__ = ["LIMIT", "Thing", "make"]\n'
BODY = '''
LIMIT = 1 << 5

class Thing:
    """A thing.

    Guarantee:  none,
                really.
    """

    size: int

    def grow(self, by: int, *, slowly: bool = True) -> "Thing":
        """Larger, by
        so much.

        More on growing.
        """

    def _secret(self): ...

def make(size: int) -> Thing:
    """A new thing."""
'''


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def source(tmp_path: Path, reference: ModuleType) -> Path:
    for room in reference.ROOMS:
        folder = tmp_path / "src" / "tacit" / room
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(FRONT)
        (folder / "thing.py").write_text(BODY)
    return tmp_path


def test_a_page_says_what_the_source_says(reference: ModuleType, source: Path) -> None:
    page = reference.page(source / "src" / "tacit" / "core")
    assert "# tacit.core\n\nA room.\n" in page
    assert "## LIMIT\n\n```text\nLIMIT = 1 << 5\n```" in page
    assert "## make\n\n```text\nmake(size: int) -> Thing\n```\n\nA new thing." in page
    assert "```text\nThing(size: int)\n```\n\nA thing.\n\n```text\nGuarantee:  none,\n            really.\n```" in page
    assert "- `grow(by: int, *, slowly: bool=True) -> 'Thing'`: Larger, by so much." in page
    assert "_secret" not in page


def test_an_old_page_is_noticed_and_nothing_is_written(reference: ModuleType, source: Path) -> None:
    pages = source / "pages"
    assert reference.main(["--check"], root=source, pages=pages) == 1
    assert not pages.exists()
    assert reference.main([], root=source, pages=pages) == 0
    assert reference.main(["--check"], root=source, pages=pages) == 0
    (source / "src" / "tacit" / "noise" / "thing.py").write_text(BODY.replace("A new thing.", "Another thing."))
    assert reference.main(["--check"], root=source, pages=pages) == 1


@pytest.mark.parametrize("room", ["core", "noise", "mechanisms", "accounting", "collect"])
def test_every_public_name_has_its_place(reference: ModuleType, room: str) -> None:
    page = reference.page(SCRIPT.parents[1] / "src" / "tacit" / room)
    names = importlib.import_module(f"tacit.{room}").__all__
    sections = page.split("\n## ")[1:]
    assert {section.split("\n")[0] for section in sections} == set(names)
    assert all(len(section.split("\n")) > 3 for section in sections), "a name without a word about it"


# ── the doors ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def doors(reference: ModuleType) -> dict[str, str]:
    return reference._doors()


def test_the_page_of_the_policy_has_every_key(doors: dict[str, str]) -> None:
    for section, keys in SECTIONS.items():
        (part,) = [part for part in doors["policy.md"].split("\n## ") if part.startswith(f"`[{section}]`")]
        assert [line.split("`")[1] for line in part.splitlines() if line.startswith("| `")] == [k.name for k in keys]


def test_the_page_of_errors_has_the_whole_tree_and_what_each_of_it_cost(doors: dict[str, str]) -> None:
    tree = [value for value in vars(errors).values() if isinstance(value, type) and value is not errors.TacitError]
    rows = [line.split(" | ") for line in doors["errors.md"].splitlines() if "`" in line and line.startswith("| ")]
    assert {(row[0].split("`")[1], int(row[1]), row[2]) for row in rows} == {
        (kind.__name__, kind.exit_code, kind.sqlstate) for kind in tree
    }
    assert all(row[4].strip(" |") for row in rows)


def test_the_page_of_commands_has_every_command_and_option(doors: dict[str, str]) -> None:
    page = doors["cli.md"]
    assert {"## tacit query", "## tacit ledger log", "## tacit survey serve"} <= set(page.splitlines())
    for option in ("--timeout", "--request-id", "--coverage", "--epsilon"):
        assert f"`{option}`" in page
    assert "\b" not in page


def test_an_old_page_of_the_doors_is_noticed_too(reference: ModuleType, source: Path) -> None:
    pages = source / "pages"
    assert reference.main([], root=source, pages=pages) == 0
    (pages / "policy.md").write_text("old")
    assert reference.main(["--check"], root=source, pages=pages) == 1
