"""The types of numbers that each engine knows, and what its operators make of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

INTEGER, DECIMAL, FIXED, DOUBLE, OTHER = "integer", "decimal", "numeric", "double", "no number"
MOMENT = "moment"  # a DATE (of size 1) or a TIMESTAMP (of size 2)


@dataclass(frozen=True)
class Type:
    """A whole number of so many bits, DECIMAL(size, scale), a NUMERIC of any size, a double, or none of these."""

    family: str
    size: int = 0
    scale: int = 0
    unsigned: bool = False

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        if self.family is INTEGER:
            return (
                (Fraction(0), Fraction((1 << self.size) - 1))
                if self.unsigned
                else (Fraction(-(1 << (self.size - 1))), Fraction((1 << (self.size - 1)) - 1))
            )
        most = Fraction(10**self.size - 1, 10**self.scale)
        return -most, most

    def __str__(self) -> str:
        return f"{self.family}({self.size},{self.scale})"


_BITS = {
    **dict.fromkeys(("TINYINT", "INT1"), 8),
    **dict.fromkeys(("SMALLINT", "INT2"), 16),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), 32),
    **dict.fromkeys(("BIGINT", "INT8", "LONG"), 64),
    **dict.fromkeys(("HUGEINT", "INT128"), 128),
}
_UNSIGNED = {"UTINYINT": 8, "USMALLINT": 16, "UINTEGER": 32, "UBIGINT": 64, "UHUGEINT": 128}
_DOUBLES = ("DOUBLE", "DOUBLE PRECISION", "FLOAT", "REAL")


def named_type(name: str, dialect: str) -> Type:
    """The type behind its name."""
    word, _, digits = name.upper().partition("(")
    word = word.strip()
    if word in _BITS:
        return Type(INTEGER, _BITS[word])
    if word in _UNSIGNED:
        return Type(INTEGER, _UNSIGNED[word], unsigned=True)
    if word in _DOUBLES:
        return Type(DOUBLE)
    if word in {"DECIMAL", "NUMERIC"}:
        if dialect == "postgres" and not digits:
            return Type(FIXED)
        size, scale = ([int(part) for part in re.findall(r"\d+", digits)] + [0])[:2] if digits else (18, 3)
        return Type(DECIMAL, size, scale)
    return Type(OTHER)


def literal_type(text: str, dialect: str) -> Type:
    """The type of a constant, by how it is written and how large it is."""
    if "e" in text.lower():
        return Type(FIXED) if dialect == "postgres" else Type(DOUBLE)
    if "." in text:
        whole, _, places = text.partition(".")
        return Type(FIXED) if dialect == "postgres" else Type(DECIMAL, len(whole) + len(places), len(places))
    value = int(text)
    for bits in (32, 64):
        if value < 1 << (bits - 1):
            return Type(INTEGER, bits)
    if dialect == "duckdb":
        return Type(INTEGER, 128) if value < 1 << 127 else Type(DOUBLE)
    return Type(FIXED) if dialect == "postgres" else Type(DECIMAL, len(text), 0) if len(text) <= 38 else Type(OTHER)


@dataclass(frozen=True)
class Rules:
    """What an engine makes of two types."""

    dialect: str

    def common(self, one: Type, other: Type, *, literals: tuple[int, int] = (0, 0)) -> Type:
        """The type that both are converted to, and in which +, −, × and % are done.

        `literals`: which of them is written out: 1, or −1 where it is below zero.
        """
        families = {one.family, other.family}
        if OTHER in families:
            return Type(OTHER)
        if MOMENT in families:
            return Type(MOMENT, max(one.size, other.size)) if len(families) == 1 else Type(OTHER)
        for family in (DOUBLE, FIXED):
            if family in families:
                return Type(family)
        if DECIMAL in families:
            return self._decimal(one, other)
        if self.dialect == "duckdb" and 0 in literals and any(literals):  # a constant that fits takes the other's type
            constant, typed = (one, other) if literals[0] else (other, one)
            if not (typed.unsigned and -1 in literals):  # no unsigned type holds one below zero
                return typed if constant.size <= 32 or constant.size <= typed.size else constant
        if one.unsigned != other.unsigned:  # the signed type that holds both
            if self.dialect == "duckdb" and any(side.unsigned and side.size == 128 for side in (one, other)):
                return Type(
                    INTEGER, 64
                )  # which does not hold it: CASE WHEN n < -5 … of a UHUGEINT fails on large cells
            return Type(INTEGER, min(128, max(side.size * (2 if side.unsigned else 1) for side in (one, other))))
        return Type(INTEGER, max(one.size, other.size), unsigned=one.unsigned)

    def _decimal(self, one: Type, other: Type) -> Type:
        if self.dialect == "postgres":
            return Type(FIXED)
        pair = [self._as_decimal(side) for side in (one, other)]
        scale = max(side.scale for side in pair)
        return Type(DECIMAL, min(38, max(side.size - side.scale for side in pair) + scale + 1), scale)

    def compared(self, one: Type, other: Type, *, literals: tuple[int, int] = (0, 0)) -> Type:
        """The type that both are converted to before they are compared: no digit is added to decimals for a carry."""
        kind = self.common(one, other, literals=literals)
        if kind.family is not DECIMAL:
            return kind
        pair = [self._as_decimal(side) for side in (one, other)]
        return Type(DECIMAL, min(38, max(side.size - side.scale for side in pair) + kind.scale), kind.scale)

    @staticmethod
    def _as_decimal(kind: Type) -> Type:
        return kind if kind.family is DECIMAL else Type(DECIMAL, {8: 3, 16: 5, 32: 10, 64: 20}.get(kind.size, 38))

    def product(self, one: Type, other: Type, *, literals: tuple[int, int] = (0, 0)) -> Type:
        """The type of a product: Spark adds up the digits of decimals, and keeps 38 of them."""
        if self.dialect != "spark" or {one.family, other.family} - {INTEGER, DECIMAL} or one.family == other.family:
            return self.common(one, other, literals=literals)
        pair = [self._as_decimal(side) for side in (one, other)]
        size, scale = sum(side.size for side in pair) + 1, sum(side.scale for side in pair)
        return Type(DECIMAL, min(size, 38), scale if size <= 38 else max(38 - size + scale, min(scale, 6)))

    def divided(self, node: exp.Expression, one: Type, other: Type) -> Type:
        """The type of a quotient."""
        common = self.common(one, other)
        if common.family is DOUBLE or (isinstance(node, exp.Div) and self.dialect == "duckdb"):
            return Type(DOUBLE)
        if self.dialect == "postgres":
            return Type(FIXED)
        if self.dialect == "spark":
            return Type(INTEGER, 64) if isinstance(node, exp.IntDiv) else Type(DECIMAL, 38, 6)
        return common

    def summed(self, kind: Type) -> Type:
        """The type of a SUM."""
        if kind.family in {DOUBLE, FIXED, OTHER}:
            return kind
        if self.dialect == "duckdb":
            return Type(INTEGER, 128) if kind.family is INTEGER else Type(DECIMAL, 38, kind.scale)
        if self.dialect == "postgres":
            return Type(INTEGER, 64) if kind.family is INTEGER and kind.size <= 32 else Type(FIXED)
        return Type(INTEGER, 64) if kind.family is INTEGER else Type(DECIMAL, min(38, kind.size + 10), kind.scale)
