"""Generated arithmetic has one home, `arithmetic` for whole numbers and `doubles`: there a node knows its ends."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tacit.sql

ROOM = Path(tacit.sql.__file__).parent
HOME = {"arithmetic.py", "doubles.py"}
MADE = {"Add", "Sub", "Mul", "Div", "IntDiv", "Mod", "Neg", "Abs", "Pow", "Cast", "TryCast", "Bracket", "BitwiseAnd"}
PARSED = {"maybe_parse", "parse_one"}  # arithmetic may stand in a text
NO_NUMBERS = {"DATE", "TIMESTAMP", "VARCHAR"}
ARGUED = {
    ("expressions/cells.py", "exp.TryCast"): "seconds and milliseconds as a TIMESTAMP: what does not fit is NULL",
    (
        "expressions/cells.py",
        "exp.cast",
    ): "a column in the type that it is compared in, which holds every cell; or a day, a moment",
    ("expressions/names/nodes.py", "exp.cast"): "what makes the others, each of which is looked at where it is called",
    ("expressions/operands.py", "exp.cast"): "a day or a moment",
    (
        "expressions/predicates.py",
        "exp.cast",
    ): "a text that is read as a day or a moment while planning, and never runs",
    ("postprocessing/dissection.py", "exp.cast"): "a constant in its own type, over released rows",
    ("relations/deriving/columns.py", "exp.cast"): "a constant in its own type",
    (
        "workloads/binned.py",
        "exp.cast",
    ): "a constant list of our own whole numbers, in the type that holds each of them",
    ("parsing/clock.py", "exp.Add"): "an analyst's own words, which are bound and built anew",
    ("parsing/clock.py", "exp.Mul"): "an analyst's own words, which are bound and built anew",
    ("expressions/dates/instant_reading.py", "exp.Mul"): "an analyst's own words, which are bound and built anew",
    ("expressions/logic.py", "exp.Add"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/converted.py", "exp.TryCast"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/habits.py", "exp.cast"): "a text constant that is a date, which is bound and built anew",
    ("expressions/names/habits.py", "exp.Add"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/habits.py", "exp.Div"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/converted.py", "exp.Add"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/converted.py", "exp.Sub"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/converted.py", "exp.Div"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/converted.py", "exp.cast"): "an analyst's own words, which are bound and built anew",
    ("expressions/names/converted.py", "exp.Cast"): "an analyst's own words, which are bound and built anew",
    (
        "expressions/series.py",
        "exp.Neg",
    ): "the sign of a constant of a series, which is bound and built anew",
    ("parsing/lists.py", "exp.Neg"): "the sign of a number in an analyst's own list, which is bound and built anew",
    ("parsing/several_at_once.py", "exp.Div"): "an analyst's own words, which are bound and built anew",
}


def made(source: str) -> list[str]:
    """The calls in a module that make arithmetic, or that might."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        owner, _, name = called.rpartition(".")
        called = "exp.cast" if called == "cast_as" else called  # the same, without a copy
        to_number = called == "exp.cast" and ast.unparse(node.args[1]).strip("'") not in NO_NUMBERS
        if (owner == "exp" and name in MADE) or (owner in {"", "exp", "sqlglot"} and name in PARSED) or to_number:
            found.append(called)
    return found


def modules() -> dict[str, str]:
    return {str(path.relative_to(ROOM)): path.read_text() for path in ROOM.rglob("*.py") if path.name not in HOME}


def test_no_other_module_makes_arithmetic():
    found = {(name, call) for name, source in modules().items() for call in made(source)}
    assert found - ARGUED.keys() == set()


def test_every_exception_is_still_one():
    found = {(name, call) for name, source in modules().items() for call in made(source)}
    assert ARGUED.keys() - found == set()


@pytest.mark.parametrize(
    "source",
    [
        "x = exp.Add(this=a, expression=b)",
        "def f(): return exp.paren(exp.Neg(this=a))",
        "exp.cast(a, 'BIGINT')",
        "exp.cast(a, kind)",
        "cast_as(a, 'BIGINT')",
        "exp.maybe_parse('a + 1')",
        "[exp.Sub(this=a, expression=b) for a in c]",
    ],
)
def test_arithmetic_elsewhere_is_noticed(source):
    assert made(source)
