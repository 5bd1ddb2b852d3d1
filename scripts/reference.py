"""Write docs/reference/ from the source: the rooms of mathematics, name by name, and the doors."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
ROOMS = ("core", "noise", "mechanisms", "accounting", "collect", "learn", "attack")
WIDTH = 100


def page(room: Path) -> str:
    """A room's page in Markdown, read from its syntax trees: nothing is imported."""
    front = ast.parse((room / "__init__.py").read_text(encoding="utf-8"))
    known = _definitions(room)
    parts = [f"# tacit.{room.name}", _documentation(front), "Written by `make docs` from the docstrings."]
    for name in sorted(_public(front), key=str.lower):
        parts += [f"## {name}", *(_entry(name, known[name]) if name in known else ())]
    return "\n\n".join(part for part in parts if part) + "\n"


def _doors() -> dict[str, str]:
    """The pages about what runs, which must be imported for it: from beside this script, wherever it is called."""
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    try:
        from reference_doors import pages
    finally:
        sys.path.pop(0)
    return pages()


def _public(front: ast.Module) -> list[str]:
    """What `__all__` lists."""
    for node in front.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _definitions(room: Path) -> dict[str, ast.stmt]:
    """Every name that a module of the room defines at its top. An overload gives way to what follows it."""
    found: dict[str, ast.stmt] = {}
    deepest_first = sorted(room.rglob("*.py"), key=lambda path: (-len(path.parts), path))
    for path in deepest_first:  # what stands in the room itself goes before its folders'
        for node in ast.parse(path.read_text(encoding="utf-8"), filename=str(path)).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                found[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found.setdefault(node.targets[0].id, node)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.setdefault(node.target.id, node)
    return found


def _entry(name: str, node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef):
        yield from _class(node)
    elif isinstance(node, ast.FunctionDef):
        yield _code(_call(name, node.args, node.returns))
        yield _documentation(node)
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        yield _code(f"{name} = {ast.unparse(node.value)}")


def _class(node: ast.ClassDef) -> Iterator[str]:
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}
    bases = [ast.unparse(base) for base in node.bases]
    if bases:
        yield _code(f"class {node.name}({', '.join(bases)})")
    elif "__init__" in methods:
        yield _code(_call(node.name, _bare(methods["__init__"])))
    else:
        fields = [ast.unparse(item) for item in node.body if isinstance(item, ast.AnnAssign)]
        yield _code(f"{node.name}({', '.join(fields)})")
    yield _documentation(node)
    yield "\n".join(_method(method) for name, method in methods.items() if not name.startswith("_"))


def _method(method: ast.FunctionDef) -> str:
    decorators = {ast.unparse(decorator) for decorator in method.decorator_list}
    shown = method.name if "property" in decorators else _call(method.name, _bare(method), method.returns)
    return f"- `{shown}`: {_first_paragraph(method)}"


def _bare(method: ast.FunctionDef) -> ast.arguments:
    """A method's arguments without `self` or `cls`."""
    given = method.args
    return ast.arguments(
        posonlyargs=given.posonlyargs,
        args=given.args[1:],
        vararg=given.vararg,
        kwonlyargs=given.kwonlyargs,
        kw_defaults=given.kw_defaults,
        kwarg=given.kwarg,
        defaults=given.defaults,
    )


def _call(name: str, arguments: ast.arguments, returns: ast.expr | None = None) -> str:
    result = f" -> {ast.unparse(returns)}" if returns is not None else ""
    return f"{name}({ast.unparse(arguments)}){result}"


def _code(text: str) -> str:
    """A signature as a block; a long one has an argument a line."""
    if len(text) > WIDTH and "(" in text:
        head, _, rest = text.partition("(")
        inside, _, tail = rest.rpartition(")")
        text = "\n".join([f"{head}(", *(f"    {part}," for part in _split(inside)), f"){tail}"])
    return f"```text\n{text}\n```"


def _split(arguments: str) -> Iterator[str]:
    """The arguments of a signature, cut at the commas between them."""
    depth, start = 0, 0
    for place, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield arguments[start:place].strip()
            start = place + 1
    yield arguments[start:].strip()


def _documentation(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    """A docstring in Markdown. Its fields, and all that is set in columns, keep their shape."""
    paragraphs = (ast.get_docstring(node) or "").split("\n\n")
    return "\n\n".join(_verbatim(paragraph) if "\n " in paragraph else paragraph for paragraph in paragraphs)


def _verbatim(paragraph: str) -> str:
    return f"```text\n{dedent(paragraph)}\n```"


def _first_paragraph(node: ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").split("\n\n", maxsplit=1)[0].replace("\n", " ")


def main(arguments: Sequence[str], *, root: Path = ROOT, pages: Path = PAGES) -> int:
    """Write the pages, or with --check only see that they are up to date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is out of date")
    check = parser.parse_args(arguments).check
    written = {pages / f"{room}.md": page(root / "src" / "tacit" / room) for room in ROOMS}
    written |= {pages / name: text for name, text in _doors().items()}
    if check:
        old = [path for path, text in written.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
        for path in old:
            print(f"docs/reference/{path.name} is out of date: run `make docs`")
        return 1 if old else 0
    pages.mkdir(parents=True, exist_ok=True)
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
