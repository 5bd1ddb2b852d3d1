"""Arithmetic that stands over aggregates: which of it there is, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.sql.binding import dated, post

Build = Callable[[exp.Expression], post.Post]
DATED = (exp.Paren, exp.Add, exp.Sub)  # what may be done with a date
_MINUS = post.Number(Fraction(-1))


def _rounded(node: exp.Expression, build: Build) -> post.Post:
    decimals = node.args.get("decimals")
    if decimals is not None and not (
        isinstance(decimals, exp.Literal) and str(decimals.this).isdigit() and int(decimals.this) <= 12
    ):
        raise QueryRefused("ROUND needs a whole number of places")
    return post.Rounded(build(node.this), int(decimals.this) if decimals is not None else 0)


ARITHMETIC: dict[type[exp.Expression], Callable[[exp.Expression, Build], post.Post]] = {
    exp.Paren: lambda node, build: build(node.this),
    exp.Add: lambda node, build: dated.plus(build(node.this), build(node.expression)),
    exp.Sub: lambda node, build: dated.minus(build(node.this), build(node.expression)),
    exp.Mul: lambda node, build: post.Product(build(node.this), build(node.expression)),
    exp.Div: lambda node, build: post.Quotient(build(node.this), build(node.expression)),
    exp.Neg: lambda node, build: post.Product(_MINUS, build(node.this)),
    exp.Abs: lambda node, build: post.Absolute(build(node.this)),
    exp.Sqrt: lambda node, build: post.Root(build(node.this)),
    exp.Round: _rounded,
}
