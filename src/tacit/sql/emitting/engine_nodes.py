"""Small nodes that the words of several engines are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from tacit.sql.expressions.numeric import arithmetic

Rewrite = Callable[[exp.Expression], exp.Expression]
Order = Callable[[Sequence[exp.Expression]], exp.Expression]  # how a unit's own rows or groups are ranked


def call(name: str, *arguments: exp.Expression) -> exp.Expression:
    """A function by the engine's own name."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def named(kind: str) -> exp.DataType:
    """A type by the engine's own name."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=kind)


def cast(value: exp.Expression, kind: str) -> exp.Expression:
    """A value in a type of the engine's own."""
    return arithmetic.cast_to(value, named(kind))


def quoted(value: str) -> exp.Expression:
    """A constant text."""
    return exp.Literal.string(value)


def small(letter: str) -> str:
    """One letter for one letter: İ has two in Python."""
    return letter.lower()[0]
