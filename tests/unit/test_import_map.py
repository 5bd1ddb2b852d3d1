"""The map of the rooms: every arrow is found, and one that leads the wrong way is red."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "import_map.py"
PYPROJECT = """
[tool.importlinter]
root_package = "house"
[[tool.importlinter.contracts]]
type = "forbidden"
[[tool.importlinter.contracts]]
type = "layers"
layers = ["(house.attack) | (house.loft)", "house.hall", "house.cellar", "house.errors"]
"""


@pytest.fixture(scope="module")
def import_map() -> ModuleType:
    spec = importlib.util.spec_from_file_location("import_map", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["import_map"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house in which every arrow leads down."""
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    _write(tmp_path, "__init__.py", '"""A house."""\nfrom house.hall import door')
    _write(tmp_path, "errors.py", '"""What can go wrong."""')
    _write(tmp_path, "hall/__init__.py", '"""Where guests wait."""\nfrom house.hall.door import door')
    _write(tmp_path, "hall/door.py", "import house.cellar.wine\nfrom ..errors import Fire")
    _write(tmp_path, "cellar/__init__.py", '"""Where wine is kept."""')
    _write(tmp_path, "cellar/wine.py", "from house.errors import Fire\nimport os")
    return tmp_path


def _write(root: Path, path: str, text: str) -> None:
    target = root / "src" / "house" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def _draw(import_map: ModuleType, house: Path, *arguments: str) -> int:
    return int(import_map.main(arguments, root=house, picture=house / "docs" / "map.svg"))


def _arrows(import_map: ModuleType, house: Path) -> set[tuple[str, str]]:
    read = import_map.read_house(house / "src" / "house", import_map.read_layers(house / "pyproject.toml"))
    return {(arrow.importer, arrow.imported) for arrow in read.arrows}


def test_layers_are_read_from_the_contract(import_map: ModuleType, house: Path) -> None:
    layers = import_map.read_layers(house / "pyproject.toml")
    assert layers == (("attack", "loft"), ("hall",), ("cellar",), ("errors",))


def test_every_import_between_rooms_is_an_arrow(import_map: ModuleType, house: Path) -> None:
    assert _arrows(import_map, house) == {("", "hall"), ("hall", "cellar"), ("hall", "errors"), ("cellar", "errors")}


def test_a_house_in_order_is_drawn_without_red(import_map: ModuleType, house: Path) -> None:
    assert _draw(import_map, house) == 0
    picture = (house / "docs" / "map.svg").read_text()
    assert import_map.RED not in picture
    assert {"house", "hall", "cellar", "loft", "Where wine is kept."} <= _words(picture)


def _words(picture: str) -> set[str]:
    return {element.text or "" for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("text")}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cellar/wine.py", "from house.hall.door import door"),
        ("cellar/wine.py", "import house.hall"),
        ("cellar/wine.py", "from ..hall import door"),
        ("cellar/wine.py", "from house import hall"),
        ("cellar/wine.py", "def f():\n    from house.hall import door"),
        ("errors.py", "from .hall import door"),
        ("loft/__init__.py", "import house.attack"),
        ("cellar/wine.py", "import house"),
        ("cellar/wine.py", "from house import door"),
        ("shed/__init__.py", "from house.errors import Fire"),
        ("hall/door.py", "import house.shed"),
    ],
)
def test_a_planted_wrong_way_import_is_red_and_fails(
    import_map: ModuleType, house: Path, capsys: pytest.CaptureFixture[str], path: str, text: str
) -> None:
    _write(house, path, text)
    _write(house, "attack/__init__.py", "")
    assert _draw(import_map, house) == 1
    assert import_map.RED in (house / "docs" / "map.svg").read_text()
    assert f"wrong way: {path.split('/', maxsplit=1)[0].removesuffix('.py')} → " in capsys.readouterr().out
    assert _draw(import_map, house, "--check") == 1


def test_the_attacker_may_use_the_public_names(import_map: ModuleType, house: Path) -> None:
    _write(house, "attack/__init__.py", "import house\nfrom house import door")
    assert _draw(import_map, house) == 0


def test_a_room_that_does_not_exist_yet_is_pale(import_map: ModuleType, house: Path) -> None:
    _draw(import_map, house)
    assert (house / "docs" / "map.svg").read_text().count("still empty") == 2
    _write(house, "loft/__init__.py", '"""Where dust is kept."""')
    _draw(import_map, house)
    assert (house / "docs" / "map.svg").read_text().count("still empty") == 1


def test_a_check_writes_nothing_and_notices_an_old_picture(
    import_map: ModuleType, house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = house / "docs" / "map.svg"
    assert _draw(import_map, house, "--check") == 1
    assert not picture.exists()
    assert _draw(import_map, house) == 0
    assert _draw(import_map, house, "--check") == 0
    drawn = picture.read_text()
    _write(house, "loft/__init__.py", "from house.errors import Fire")
    assert _draw(import_map, house, "--check") == 1
    assert "out of date" in capsys.readouterr().out
    assert picture.read_text() == drawn


def test_a_new_module_that_adds_no_arrow_leaves_the_picture_alone(import_map: ModuleType, house: Path) -> None:
    _draw(import_map, house)
    _write(house, "hall/coats.py", "from house.errors import Fire")
    assert _draw(import_map, house, "--check") == 0


def test_the_folders_of_a_room_stand_in_it_importers_first(import_map: ModuleType, house: Path) -> None:
    _draw(import_map, house)
    before = (house / "docs" / "map.svg").read_text()
    _write(house, "hall/coats/__init__.py", '"""Coats."""')
    _write(house, "hall/bells/__init__.py", '"""Bells."""')
    _write(house, "hall/desk/__init__.py", '"""A desk."""')
    _write(house, "hall/desk/book.py", "from house.hall.coats import hook\nfrom house.hall.bells.small import ring")
    _write(house, "hall/coats/hook.py", "from house.hall.bells import ring")
    assert _draw(import_map, house, "--check") == 1
    assert _draw(import_map, house) == 0
    picture = (house / "docs" / "map.svg").read_text()
    assert "desk · coats · bells" in _words(picture) - _words(before)


def test_our_own_rooms_are_in_order(import_map: ModuleType) -> None:
    root = SCRIPT.parents[1]
    house = import_map.read_house(root / "src" / "tacit", import_map.read_layers(root / "pyproject.toml"))
    assert house.wrong == ()
    assert {"core", "noise", "mechanisms", "accounting"} <= set(house.levels)
