"""Draw the rooms and their imports: wrong-way arrows are red, and make it exit with 1.

The order of the rooms is read from the layers contract in pyproject.toml, the arrows from the source's syntax trees.
Each room that others import has a track of its own, which ends in it; a dot on a track is an import. The folders of a
room stand in it, each before those that it imports.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "import-map.svg"
FRONT = ""  # the package's own __init__, which gathers the public names
SHORT_NAMES = {"dbapi", "owner", "surveys"}  # doors, for who imports them by these names: no rooms of their own
STRANGERS = {"attack"}  # rooms that may use the public names, as a stranger would

Layers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """One room importing another, and where it does so."""

    importer: str
    imported: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class House:
    """The rooms from the top down, what each is for, and the arrows between them."""

    layers: Layers
    purposes: dict[str, str]  # of the rooms that exist
    arrows: tuple[Arrow, ...]
    name: str = "tacit"
    folders: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of a room that has some, importers first
    levels: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        levels = {room: level for level, rooms in enumerate(self.layers) for room in rooms}
        object.__setattr__(self, "levels", levels)

    def is_wrong(self, arrow: Arrow) -> bool:
        """Whether an arrow leads up, sideways, to the front door or to a room without a place."""
        if arrow.importer == FRONT:
            return arrow.imported not in self.levels
        if arrow.imported == FRONT:
            return arrow.importer not in STRANGERS
        known = arrow.importer in self.levels and arrow.imported in self.levels
        return not known or self.levels[arrow.importer] >= self.levels[arrow.imported]

    @property
    def wrong(self) -> tuple[Arrow, ...]:
        """The arrows that lead the wrong way."""
        return tuple(arrow for arrow in self.arrows if self.is_wrong(arrow))


def read_layers(pyproject: Path) -> Layers:
    """The rooms from the top down, as the layers contract has them."""
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]
    package = settings["root_package"]
    contract = next(one for one in settings["contracts"] if one["type"] == "layers")
    return tuple(tuple(re.findall(rf"{package}\.(\w+)", layer)) for layer in contract["layers"])


def read_house(package: Path, layers: Layers) -> House:
    """Every room of the package and every import between two of them."""
    places: dict[tuple[str, str], list[str]] = {}
    purposes: dict[str, str] = {}
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        here = path.relative_to(package)
        room = _room(here)
        if here in {Path(room, "__init__.py"), Path(f"{room}.py")}:
            purposes[room] = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
        for target, line in _imports(tree, here, package=package):
            if target != room:
                places.setdefault((room, target), []).append(f"{package.name}/{here.as_posix()}:{line}")
    arrows = tuple(Arrow(importer, imported, tuple(where)) for (importer, imported), where in sorted(places.items()))
    folders = {room: found for room in sorted(purposes) if room and (found := read_folders(package / room))}
    return House(layers, purposes, arrows, package.name, folders)


def read_folders(room: Path) -> tuple[str, ...]:
    """The folders of a room, each before those that it imports: as a question goes through them."""
    names = sorted(path.parent.name for path in room.glob("*/__init__.py"))
    imports = {name: _reached(room / name, f"{room.parent.name}.{room.name}.") & set(names) - {name} for name in names}
    ordered: list[str] = []
    while left := [name for name in names if name not in ordered]:
        free = [name for name in left if not any(name in imports[other] for other in left)]
        ordered += free or left  # in a circle, which import-linter forbids, the rest as they are called
    return tuple(ordered)


def _reached(folder: Path, prefix: str) -> set[str]:
    """The names behind `prefix` in what a folder imports."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(prefix):
                found.add((node.module or "").removeprefix(prefix).split(".")[0])
    return found


def _room(module: Path) -> str:
    first = module.parts[0].removesuffix(".py")
    return FRONT if first.startswith("__") or first in SHORT_NAMES else first


def _imports(tree: ast.Module, here: Path, *, package: Path) -> Iterator[tuple[str, int]]:
    """The rooms a module imports, with the line of each import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == package.name:
                    yield (parts[1] if len(parts) > 1 else FRONT), node.lineno
        elif isinstance(node, ast.ImportFrom):
            parts = (node.module or "").split(".") if node.module else []
            if node.level:
                parts = [package.name, *here.parts[: len(here.parts) - node.level], *parts]
            if parts[:1] == [package.name]:
                for alias in node.names:
                    yield _named(parts, alias.name, package), node.lineno


def _named(parts: Sequence[str], name: str, package: Path) -> str:
    """The room that `from a.b import name` reaches; from the package itself, a room or a public name."""
    if len(parts) > 1:
        return parts[1]
    is_room = (package / name).is_dir() or (package / f"{name}.py").is_file()
    return name if is_room and name not in SHORT_NAMES else FRONT


# The picture. Rows are rooms, from the top down; a track runs down to each room that is imported. Since deeper rooms
# have their tracks further right, a track never crosses the line by which another enters its room.

ROW, GAP, TOP, LEFT = 46, 16, 96, 40
LINE, LETTERS = 15, 74  # of the folders of a room: how high a line is, and how many letters go into it
BOX_WIDTH, BOX_HEIGHT, WORDS = 424, 38, 134  # words: where a room says what it is for
TRACK, FIRST_TRACK = 30, LEFT + BOX_WIDTH + 56
OUT, IN = -7, 8  # how far above and below the middle of a row its lines leave and enter
INK, PAPER, BAND, EDGE, PALE, RED = "#1f2933", "#ffffff", "#f4f6f8", "#c3ccd5", "#9aa5b1", "#d1242f"
COLOURS = (
    *("#4269d0", "#c98500", "#3c9a5f", "#a463c9", "#0f8b9d", "#b5651d", "#5b6bbf", "#7a8b2b"),
    *("#b84a7d", "#2f6f8f", "#8a5a9e", "#52606d", "#957500", "#1f7a5c", "#6b4fa0", "#37424d"),
)
FONT = "font-family='Inter, Segoe UI, Helvetica, Arial, DejaVu Sans, sans-serif'"


@dataclass(frozen=True, slots=True)
class Plan:
    """Where everything stands."""

    rows: dict[str, int]  # room → the middle of its row
    bands: tuple[tuple[int, int], ...]  # top and bottom of each layer
    tracks: dict[str, int]  # imported room → where its track runs
    height: int
    width: int


def lay_out(house: House) -> Plan:
    """Give every room a row and every imported room a track."""
    rows: dict[str, int] = {}
    bands: list[tuple[int, int]] = []
    y = TOP
    for layer in _storeys(house):
        start = y
        for room in layer:
            rows[room] = y + ROW // 2
            y += ROW + LINE * len(_folder_lines(room, house))
        bands.append((start, y))
        y += GAP
    right = [arrow for arrow in house.arrows if not house.is_wrong(arrow)]
    imported = [room for room in rows if any(arrow.imported == room for arrow in right)]
    tracks = {room: FIRST_TRACK + TRACK * place for place, room in enumerate(imported)}
    width = FIRST_TRACK + TRACK * (len(tracks) + len(house.wrong)) + 70
    return Plan(rows, tuple(bands), tracks, y + 34, max(width, 760))


def _folder_lines(room: str, house: House) -> list[str]:
    return textwrap.wrap(" · ".join(house.folders.get(room, ())), LETTERS)


def _storeys(house: House) -> list[tuple[str, ...]]:
    """The layers, under the front door, above rooms that no layer names."""
    named = set(house.levels)
    met = {room for arrow in house.arrows for room in (arrow.importer, arrow.imported)} | set(house.purposes)
    homeless = tuple(sorted(met - named - {FRONT}))
    return [(FRONT,), *house.layers, *([homeless] if homeless else [])]


def draw(house: House) -> str:
    """The picture as SVG: the same house always gives the same text."""
    plan = lay_out(house)
    size = f"viewBox='0 0 {plan.width} {plan.height}' width='{plan.width}' height='{plan.height}'"
    label = f"role='img' aria-label='The rooms of {escape(house.name)} and their imports'"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} {label}>",
        f"<rect width='100%' height='100%' fill='{PAPER}'/>",
        _text(LEFT, 44, f"The rooms of {house.name}", size=22, weight=600),
        _text(
            LEFT,
            68,
            "A room imports only what stands below it. A dot on a track is an import.",
            size=13,
            fill="#52606d",
        ),
        *(_band(top, bottom, plan) for top, bottom in plan.bands),
        *_right_way(house, plan),
        *(_box(room, y, house) for room, y in plan.rows.items()),
        *_wrong_way(house, plan),
        _legend(house, plan),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _band(top: int, bottom: int, plan: Plan) -> str:
    width, height = plan.width - 2 * LEFT + 24, bottom - top
    return f"<rect x='{LEFT - 12}' y='{top}' width='{width}' height='{height}' rx='8' fill='{BAND}'/>"


def _box(room: str, y: int, house: House) -> str:
    top = y - BOX_HEIGHT // 2
    name = room or house.name
    if room not in house.purposes:
        outline = f"fill='none' stroke='{EDGE}' stroke-dasharray='3 4'"
        return (
            f"<rect x='{LEFT}' y='{top}' width='{BOX_WIDTH}' height='{BOX_HEIGHT}' rx='6' {outline}/>"
            + _text(LEFT + 14, y + 5, name, size=15, fill=PALE)
            + _text(LEFT + WORDS, y + 4, "still empty", size=11, fill=PALE)
        )
    lines = textwrap.wrap(house.purposes[room], 47)
    if len(lines) > 2:
        lines = [lines[0], lines[1].rstrip(" ,.;:") + " …"]
    middle = y + 4 if len(lines) == 1 else y - 3
    words = "".join(
        _text(LEFT + WORDS, middle + 13 * place, line, size=11, fill="#52606d") for place, line in enumerate(lines)
    )
    folders = _folder_lines(room, house)
    height = BOX_HEIGHT + LINE * len(folders)
    below = y + BOX_HEIGHT // 2 + 8
    return (
        f"<rect x='{LEFT}' y='{top}' width='{BOX_WIDTH}' height='{height}' rx='6' fill='{PAPER}' stroke='{EDGE}'/>"
        + _text(LEFT + 14, y + 5, name, size=15, weight=600)
        + words
        + "".join(_text(LEFT + 14, below + LINE * i, line, size=11) for i, line in enumerate(folders))
    )


def _right_way(house: House, plan: Plan) -> Iterator[str]:
    edge = LEFT + BOX_WIDTH
    right = [arrow for arrow in house.arrows if not house.is_wrong(arrow) and arrow.imported in plan.tracks]
    for room in plan.rows:  # the lines by which imports leave a room
        reached = [plan.tracks[arrow.imported] for arrow in right if arrow.importer == room]
        if reached:
            y = plan.rows[room] + OUT
            yield f"<path d='M{edge} {y}H{max(reached)}' stroke='{EDGE}' stroke-width='1.5' fill='none'/>"
    for place, (room, x) in enumerate(plan.tracks.items()):  # the tracks that lead into one
        colour, end = COLOURS[place % len(COLOURS)], plan.rows[room] + IN
        starts = [plan.rows[arrow.importer] + OUT for arrow in right if arrow.imported == room]
        line = f"M{x} {min(starts)}V{end - 8}q0 8 -8 8H{edge + 8}"
        yield f"<path d='{line}' stroke='{colour}' stroke-width='2' fill='none'/>"
        yield f"<path d='M{edge + 1} {end}l9 -4.5v9z' fill='{colour}'/>"
        yield from (
            f"<circle cx='{x}' cy='{y}' r='4.5' fill='{colour}' stroke='{BAND}' stroke-width='1.5'/>" for y in starts
        )


def _wrong_way(house: House, plan: Plan) -> Iterator[str]:
    edge = LEFT + BOX_WIDTH
    first = FIRST_TRACK + TRACK * len(plan.tracks) + 6
    for place, arrow in enumerate(house.wrong):
        x, start, end = first + TRACK * place, plan.rows[arrow.importer] + OUT, plan.rows[arrow.imported] + IN
        line = f"M{edge} {start}H{x}V{end}H{edge + 8}"
        yield f"<path d='{line}' stroke='{RED}' stroke-width='3' stroke-linejoin='round' fill='none'/>"
        yield f"<path d='M{edge} {end}l12 -6v12z' fill='{RED}'/>"
        yield f"<circle cx='{edge}' cy='{start}' r='4' fill='{RED}'/>"


def _legend(house: House, plan: Plan) -> str:
    count = len(house.wrong)
    said = "no arrow leads the wrong way" if not count else f"{count} arrow{'s' * (count > 1)} the wrong way, in red"
    return _text(LEFT, plan.height - 20, said, size=12, fill=RED if count else "#3c9a5f", weight=600)


def _text(x: int, y: int, words: str, *, size: int, fill: str = INK, weight: int = 400) -> str:
    return (
        f"<text x='{x}' y='{y}' {FONT} font-size='{size}' font-weight='{weight}' fill='{fill}'>{escape(words)}</text>"
    )


def main(arguments: Sequence[str], *, root: Path = ROOT, picture: Path = PICTURE) -> int:
    """Draw the map, or with --check only see that it is right and up to date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the drawing is out of date")
    check = parser.parse_args(arguments).check
    pyproject = root / "pyproject.toml"
    name = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["root_package"]
    house = read_house(root / "src" / name, read_layers(pyproject))
    drawing = draw(house)
    for arrow in house.wrong:
        print(f"wrong way: {arrow.importer or name} → {arrow.imported or name} ({', '.join(arrow.places)})")
    if not check:
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_text(drawing, encoding="utf-8")
    elif not picture.is_file() or picture.read_text(encoding="utf-8") != drawing:
        print(f"{picture.name} is out of date: run `make map`")
        return 1
    return 1 if house.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
