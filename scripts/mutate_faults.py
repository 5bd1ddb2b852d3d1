"""Small faults of Python: what `mutate.py` plants, and how a fault gets into functions that are already there."""

from __future__ import annotations

import ast
import copy
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

SOURCES = Path(__file__).resolve().parent.parent / "src" / "tacit"

TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SWAPPED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One mutated file: `lines` run the fault, and `within` names the outermost function around it, if there is one."""

    path: Path
    line: int
    columns: tuple[int, int]
    what: str
    tree: ast.Module
    lines: range
    within: int | None

    @property
    def key(self) -> str:
        """What tells it from every other fault of these sources."""
        first, last = self.columns
        return f"{self.path.relative_to(SOURCES)}:{self.line}:{first}-{last}: {self.what}"

    def code(self) -> CodeType:
        """The mutated module, whose lines are the original's."""
        return compile(self.tree, str(self.path), "exec", dont_inherit=True)


def faults(path: Path) -> Iterator[Fault]:
    """Every fault that can be planted in a file. Docstrings, annotations and messages are left alone."""
    tree = ast.parse(path.read_text())
    left_alone = set(_left_alone(tree))
    outer = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for index, node in enumerate(ast.walk(tree)):
        for what, change in () if node in left_alone else (*_changes(node), *_more_changes(node)):
            mutant = copy.deepcopy(tree)
            twin = next(other for position, other in enumerate(ast.walk(mutant)) if position == index)
            change(twin)
            ast.fix_missing_locations(mutant)
            place: Any = node.test if isinstance(node, ast.If | ast.IfExp) else node
            lines = range(place.lineno, (place.end_lineno or place.lineno) + 1)
            around = [one.lineno for one in outer if one.body[0].lineno <= lines[0] <= (one.end_lineno or 0)]
            yield Fault(
                path,
                place.lineno,
                (place.col_offset, place.end_col_offset),
                what,
                mutant,
                lines,
                min(around, default=None),
            )


def _changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        other = TURNED[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} becomes {other.__name__}", _Change("ops", [other(), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        other_op = SWAPPED[type(node.op)]
        yield f"{type(node.op).__name__} becomes {other_op.__name__}", _Change("op", other_op())
    elif isinstance(node, ast.BoolOp):
        flipped = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} becomes {type(flipped).__name__}", _Change("op", flipped)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not is left out", _Change("operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} becomes {node.value + 1}", _Change("value", node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} becomes {not node.value}", _Change("value", not node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"min", "max"}:
        other_name = "max" if node.func.id == "min" else "min"
        yield f"{node.func.id} becomes {other_name}", _Change("func", ast.Name(other_name, ast.Load()))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield f"{ast.unparse(node.value)[:60]} is left out", _Change("value", ast.Constant(None))
    elif isinstance(node, ast.If) and node.body and isinstance(node.body[-1], ast.Raise):
        yield f"the guard {ast.unparse(node.test)[:60]} is left out", _Change("test", ast.Constant(False))


def _more_changes(node: ast.AST) -> Iterator[tuple[str, _Change]]:
    if isinstance(node, ast.If | ast.IfExp) and isinstance(node.test, ast.Call | ast.Name | ast.Attribute):
        yield f"if {ast.unparse(node.test)[:60]} is turned", _Change("test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"any", "all"}:
        other = "all" if node.func.id == "any" else "any"
        yield f"{node.func.id} becomes {other}", _Change("func", ast.Name(other, ast.Load()))
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for index, part in enumerate(node.elts):
            if not isinstance(part, ast.Constant | ast.Starred):
                rest = [*node.elts[:index], ast.Constant(None), *node.elts[index + 1 :]]
                yield f"{ast.unparse(part)[:60]} becomes None", _Change("elts", rest)


def _left_alone(tree: ast.Module) -> Iterator[ast.AST]:
    """What changes no answer: annotations, `zip(..., strict=True)`, and a tree that is built with `copy=False`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in {"strict", "copy"}:
            yield node.value
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                yield from ast.walk(annotation)


@dataclass(frozen=True, slots=True)
class _Change:
    field: str
    value: object

    def __call__(self, node: ast.AST) -> None:
        setattr(node, self.field, self.value)


def plant(fault: Fault) -> int:
    """Give every function of this process the mutated code; the number of those that changed is returned."""
    mutated: dict[tuple[str, int], CodeType] = {}
    unread = [fault.code()]
    while unread:
        code = unread.pop()
        mutated[code.co_qualname, code.co_firstlineno] = code
        unread += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    changed = 0
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == str(fault.path):
            other = mutated.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if other is not None and other != one.__code__:
                one.__code__ = other
                changed += 1
    return changed
