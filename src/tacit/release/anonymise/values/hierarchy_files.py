"""Hierarchies from files: a TOML file for all columns, a CSV file for a tree."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path

from tacit.errors import InvalidParameter
from tacit.release.anonymise.values.hierarchy import ANY, Bands, Calendar, Hierarchy, Order, Prefix, Tree

KINDS = ("bands", "prefix", "calendar", "tree", "order")


def load_hierarchies(path: Path) -> dict[str, Hierarchy]:
    """Read a TOML file: a table for each column, with one of `bands`, `prefix`, `calendar`, `tree` or `order`."""
    try:
        read = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InvalidParameter(f"{path.name} is not TOML: {error}") from None
    return {column: _hierarchy(column, said, base=path.parent) for column, said in read.items()}


def load_tree(path: Path) -> Tree:
    """Read a CSV file: each line a value and then its groups, from the smallest up; a last `*` may be left out.

    The separator is a comma or a semicolon, whichever the first line has.
    """
    text = _text(path)
    first = text.partition("\n")[0]
    rows = [row for row in csv.reader(text.splitlines(), delimiter=";" if ";" in first else ",") if row]
    paths: dict[str, tuple[str, ...]] = {}
    for value, *groups in rows:
        names = tuple(group.strip() for group in groups)
        names = names[:-1] if names and names[-1] == ANY else names
        if paths.setdefault(value.strip(), names) != names:
            raise InvalidParameter(f"{path.name}: {value.strip()!r} is written twice, with different groups")
    return Tree(paths)


def parse_bands(text: str) -> Bands:
    """`10` or `10/20/40`: widths. `60,80,+`: edges, the last band open; `-,20,60`: the first one open."""
    return Bands(tuple(_step(part) for part in text.split("/")))


def _step(text: str) -> float | tuple[float, ...]:
    parts = [part.strip() for part in text.split(",")]
    ends = {"+": math.inf, "-": -math.inf}
    try:
        edges = [ends[part] if part in ends else float(part) for part in parts]
    except ValueError:
        raise InvalidParameter(f"bands are a width such as 10, or edges such as 60,80,+: got {text!r}") from None
    return edges[0] if len(edges) == 1 else tuple(edges)


def _hierarchy(column: str, said: object, *, base: Path) -> Hierarchy:
    if not isinstance(said, Mapping) or len(said) != 1 or next(iter(said)) not in KINDS:
        raise InvalidParameter(f"[{column}] needs one of {', '.join(KINDS)}")
    ((kind, value),) = said.items()
    if kind == "tree":
        return _tree(column, value, base=base)
    items = value if isinstance(value, list) else [value]
    if not items:
        raise InvalidParameter(f"[{column}] {kind} is empty: a hierarchy has at least one level")
    if kind == "calendar":
        return Calendar(tuple(map(str, items)))
    if kind == "order":
        return Order(tuple(map(str, items)))
    if kind == "prefix" and all(isinstance(item, int) for item in items):
        return Prefix(tuple(items))
    if kind == "bands":
        return _bands(column, items)
    raise InvalidParameter(f"[{column}] {kind}: lengths are whole numbers")


def _bands(column: str, items: list[object]) -> Bands:
    """`bands = 10`, `bands = "60,80,+"`, or a list of these, one a level."""
    steps: list[float | tuple[float, ...]] = []
    for item in items:
        if isinstance(item, list) and all(isinstance(edge, int | float) for edge in item):
            steps.append(tuple(float(edge) for edge in item))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            steps.append(float(item))
        elif isinstance(item, str):
            steps.append(_step(item))
        else:
            raise InvalidParameter(f"[{column}] bands: a level is a width, or a list of edges")
    return Bands(tuple(steps))


def _tree(column: str, value: object, *, base: Path) -> Tree:
    if isinstance(value, str):
        return load_tree(base / value)
    if not isinstance(value, Mapping):
        raise InvalidParameter(f"[{column}] tree: give the name of a CSV file, or tables of groups")
    return Tree(_branches(column, value, above=()))


def _branches(column: str, value: Mapping[str, object], *, above: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    branches: dict[str, tuple[str, ...]] = {}
    for group, inside in value.items():
        path = (group, *above)
        if isinstance(inside, Mapping):
            branches |= _branches(column, inside, above=path)
        elif isinstance(inside, list) and inside:
            branches |= {str(leaf): path for leaf in inside}
        else:
            raise InvalidParameter(f"[{column}] tree: group {group!r} is empty")
    return branches


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InvalidParameter(f"{path.name} is not there: no such file") from None
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(f"{path.name} cannot be read as text") from None
