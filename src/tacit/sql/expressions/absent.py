"""What an expression is worth in a row that an outer join keeps without a partner: some of its columns are NULL there.

Told from the text alone, and on the safe side: whatever is not known to come to one thing may come to anything.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from sqlglot import exp

Absent = Callable[[exp.Column], bool]  # whether a column is NULL in such a row


class Worth(Enum):
    """What an expression comes to."""

    NULL = "NULL"
    FALSE = "FALSE"
    TRUE = "TRUE"
    ZERO = "0"
    NOT_TRUE = "NULL or FALSE"
    ANYTHING = "anything"

    @property
    def rules_out(self) -> bool:
        """Whether a row of which this is asked is left out."""
        return self in {Worth.NULL, Worth.FALSE, Worth.NOT_TRUE}


_STRICT = (  # NULL where any part is, on every engine
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Sqrt,
    exp.Ln, exp.Exp, exp.Pow, exp.Extract, exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DateDiff, exp.TimestampDiff,
    exp.DateTrunc, exp.TimestampTrunc, exp.DateAdd, exp.DateSub, exp.Upper, exp.Lower, exp.Length, exp.Substring,
)  # fmt: skip


def worth(node: exp.Expr | None, absent: Absent) -> Worth:
    """What an expression comes to where those columns are NULL, whatever the others hold."""
    for kinds, reading in _READINGS:
        if isinstance(node, kinds):
            return reading(node, absent)
    return Worth.ANYTHING


def _column(node: exp.Column, absent: Absent) -> Worth:
    return Worth.NULL if absent(node) else Worth.ANYTHING


def _inside(node: exp.Paren | exp.Alias, absent: Absent) -> Worth:
    return worth(node.this, absent)


def _cast(node: exp.Cast, absent: Absent) -> Worth:
    inner = worth(node.this, absent)
    return inner if inner is Worth.NULL else Worth.ANYTHING


def _strict(node: exp.Expr, absent: Absent) -> Worth:
    parts = [part for part in node.iter_expressions() if isinstance(part, exp.Expr)]
    return Worth.NULL if any(worth(part, absent) is Worth.NULL for part in parts) else Worth.ANYTHING


def _among(node: exp.In | exp.Between, absent: Absent) -> Worth:
    """IN and BETWEEN: a list, or ends, that are NULL may still leave FALSE, and nothing is in an empty table."""
    reads = node.args.get("query") or node.args.get("unnest")
    return Worth.NULL if not reads and worth(node.this, absent) is Worth.NULL else Worth.ANYTHING


def _constant(node: exp.Null | exp.Boolean | exp.Literal, absent: Absent) -> Worth:
    if isinstance(node, exp.Null):
        return Worth.NULL
    if isinstance(node, exp.Boolean):
        return Worth.TRUE if node.this else Worth.FALSE
    return Worth.ZERO if not node.is_string and str(node.this).strip("0.") == "" else Worth.ANYTHING


def _logic(node: exp.And | exp.Or | exp.Not, absent: Absent) -> Worth:
    parts = [worth(part, absent) for part in (node.this, node.args.get("expression")) if part is not None]
    if isinstance(node, exp.Not):
        turned = {Worth.NULL: Worth.NULL, Worth.FALSE: Worth.TRUE, Worth.TRUE: Worth.FALSE}
        return turned.get(parts[0], Worth.ANYTHING)
    if isinstance(node, exp.And):
        if Worth.FALSE in parts:
            return Worth.FALSE
        if any(part.rules_out for part in parts):
            return Worth.NOT_TRUE
        return Worth.TRUE if set(parts) == {Worth.TRUE} else Worth.ANYTHING
    if Worth.TRUE in parts:
        return Worth.TRUE
    return Worth.NOT_TRUE if all(part.rules_out for part in parts) else Worth.ANYTHING


def _is(node: exp.Is, absent: Absent) -> Worth:
    """IS NULL, IS TRUE and IS FALSE, which are never NULL themselves."""
    inner, asked = worth(node.this, absent), node.expression
    if isinstance(asked, exp.Null):
        known = {Worth.NULL: Worth.TRUE, Worth.FALSE: Worth.FALSE, Worth.TRUE: Worth.FALSE, Worth.ZERO: Worth.FALSE}
        return known.get(inner, Worth.ANYTHING)
    if isinstance(asked, exp.Boolean) and asked.this:
        return Worth.FALSE if inner.rules_out else Worth.TRUE if inner is Worth.TRUE else Worth.ANYTHING
    return Worth.ANYTHING


def _case(node: exp.Case | exp.If, absent: Absent) -> Worth:
    """The branch that is taken; of several that may be, what all of them come to."""
    branches = (
        [(node.this, node.args["true"])]
        if isinstance(node, exp.If)
        else [(b.this, b.args["true"]) for b in node.args["ifs"]]
    )
    rest = node.args.get("false") if isinstance(node, exp.If) else node.args.get("default")
    subject = None if isinstance(node, exp.If) else node.this
    found: list[Worth] = []
    for condition, value in branches:
        asked = Worth.ANYTHING if subject is not None else worth(condition, absent)
        if subject is not None and Worth.NULL in {worth(subject, absent), worth(condition, absent)}:
            asked = Worth.NULL
        if not asked.rules_out:
            found.append(worth(value, absent))
        if asked is Worth.TRUE:
            break
    else:
        found.append(Worth.NULL if rest is None else worth(rest, absent))
    return found[0] if len(set(found)) == 1 else Worth.ANYTHING


def _first(node: exp.Coalesce, absent: Absent) -> Worth:
    parts = [worth(each, absent) for each in (node.this, *node.expressions)]
    return next((part for part in parts if part is not Worth.NULL), Worth.NULL)


_READINGS: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Callable[..., Worth]], ...] = (
    (exp.Column, _column),
    ((exp.Paren, exp.Alias), _inside),
    ((exp.Null, exp.Boolean, exp.Literal), _constant),
    (exp.Cast, _cast),
    ((exp.And, exp.Or, exp.Not), _logic),
    (exp.Is, _is),
    ((exp.Case, exp.If), _case),
    (exp.Coalesce, _first),
    ((exp.In, exp.Between), _among),
    (_STRICT, _strict),
)
