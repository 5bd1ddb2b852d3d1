"""Several values as one text, so that two rows have the same text if and only if they have the same values."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tacit.sql.expressions.numeric.arithmetic import cast_in
from tacit.sql.expressions.text.texts import joined


def together(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The length of each but the last, before all of them; NULL where one of them is, as COUNT(DISTINCT a, b) has it.

    Read from the left, a text of that form can be taken apart in one way alone.
    """
    texts = [cast_in(part.copy(), "VARCHAR") for part in parts]
    written: list[exp.Expression] = []
    for text in texts[:-1]:
        written += [cast_in(exp.Length(this=text.copy()), "VARCHAR"), exp.Literal.string(":"), text]
    return joined([*written, texts[-1]])
