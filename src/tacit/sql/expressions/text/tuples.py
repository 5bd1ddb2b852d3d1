"""Several values as one text, so that two rows have the same text if and only if they have the same values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.numeric.arithmetic import cast_in
from tacit.sql.expressions.text.texts import joined


def together(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The length of each but the last, before all of them; NULL where one of them is, as COUNT(DISTINCT a, b) has it.

    Read from the left, a text of that form can be taken apart in one way alone.
    """
    texts = [cast_in(copied(part), "VARCHAR") for part in parts]
    written: list[exp.Expression] = []
    for text in texts[:-1]:
        written += [cast_in(exp.Length(this=copied(text)), "VARCHAR"), exp.Literal.string(":"), text]
    return joined([*written, texts[-1]])


def as_row(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The same of a row (a, b), which is there though a part of it is NULL: COUNT(DISTINCT (a, b)) counts it."""
    told = []
    for part in parts:
        text = cast_in(copied(part), "VARCHAR")
        missing = exp.Is(this=copied(text), expression=exp.null())
        present = joined([exp.Literal.string("v"), text])
        told.append(exp.Case(ifs=[exp.If(this=missing, true=exp.Literal.string(""))], default=present))
    return together(told)
