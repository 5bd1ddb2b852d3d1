"""Rules about randomness that are read off the source text."""

from __future__ import annotations

import ast
from collections.abc import Iterator

MODULES = {"random", "secrets", "numpy.random"}
CALLS = {"urandom", "getrandom", "uuid1", "uuid4", "SystemRandom"}


def randomness(text: str) -> list[str]:
    """Every place in a module's text that reaches for randomness of its own."""
    return sorted({found for node in ast.walk(ast.parse(text)) for found in _reaches(node)})


def _reaches(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _is_random(alias.name))
    elif isinstance(node, ast.ImportFrom):
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        if _is_random(node.module or ""):
            yield node.module or ""
        yield from (name for name in names if _is_random(name) or name.rpartition(".")[2] in CALLS)
    elif isinstance(node, ast.Attribute):
        if node.attr in CALLS:
            yield node.attr
        if node.attr == "random" and isinstance(node.value, ast.Name) and node.value.id in {"np", "numpy"}:
            yield "numpy.random"


def _is_random(name: str) -> bool:
    return any(name == module or name.startswith(module + ".") for module in MODULES)


def seeds(text: str) -> list[str]:
    """Every function and class field of a module that is called, or takes, a seed."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            arguments = node.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
            found += [argument.arg for argument in every if argument is not None and _is_seed(argument.arg)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and _is_seed(node.target.id):
            found.append(node.target.id)
    return found


def _is_seed(name: str) -> bool:
    return "seed" in name.lower().split("_") or name == "random_state"


def sources(text: str) -> list[str]:
    """Every class of a module that could pass for a source of bits: it can `draw` so many bytes."""
    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return [node.name for node in classes if any(_draws_bytes(item) for item in node.body)]


def _draws_bytes(item: ast.stmt) -> bool:
    if not isinstance(item, ast.FunctionDef) or item.name != "draw":
        return False
    needed = len(item.args.posonlyargs) + len(item.args.args) - len(item.args.defaults)
    return needed <= 2  # itself, and how many
