"""What to call a piece of SQL in a message: by the word that the analyst typed, never by the parser's own."""

from __future__ import annotations

from sqlglot import exp

from tacit.sql.expressions.names.printing import text_of
from tacit.sql.expressions.names.typed import SAID

_LONGEST = 60
_THIS = "this expression"


_SIGNS: dict[type[exp.Expression], str] = {
    exp.DPipe: "||",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "//",
    exp.Mod: "%",
    exp.Neg: "-",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseNot: "~",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.EQ: "=",
    exp.NEQ: "a comparison",  # <> or !=
    exp.Pow: "a power",  # ^ or **
    exp.NullSafeEQ: "a comparison that takes NULL for a value",  # IS NOT DISTINCT FROM or <=>
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Is: "IS",
    exp.In: "IN",
    exp.Between: "BETWEEN",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.Glob: "GLOB",
    exp.SimilarTo: "SIMILAR TO",
    exp.Escape: "ESCAPE",
    exp.RegexpLike: "a regular expression",
    exp.RegexpILike: "a regular expression",
    exp.StartsWith: "^@",
    exp.Overlaps: "OVERLAPS",
    exp.Collate: "COLLATE",
    exp.AtTimeZone: "AT TIME ZONE",
    exp.Interval: "INTERVAL",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Not: "NOT",
    exp.Exists: "EXISTS",
    exp.Any: "ANY",
    exp.All: "ALL",
    exp.Case: "CASE",
    exp.Cast: "a cast",  # CAST or ::
    exp.TryCast: "TRY_CAST",
    exp.Window: "OVER",
    exp.Filter: "FILTER",
    exp.Distinct: "DISTINCT",
    exp.WithinGroup: "WITHIN GROUP",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
    exp.Order: "ORDER BY",
    exp.Limit: "LIMIT",
    exp.Null: "NULL",
    exp.Star: "*",
    exp.Boolean: "a truth value",
    exp.Literal: "a constant",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.Paren: "what stands in parentheses",
    exp.Tuple: "a row value",
    exp.Array: "a list",
    exp.Struct: "a struct",
    exp.Bracket: "a part in brackets",
    exp.Lambda: "a lambda",
    exp.JSONExtract: "a part of JSON",
    exp.JSONExtractScalar: "a part of JSON",
    exp.Subquery: "a subquery",
    exp.Select: "a subquery",
    exp.Union: "UNION",
    exp.Except: "EXCEPT",
    exp.Intersect: "INTERSECT",
    exp.Values: "VALUES",
    exp.Table: "a table",
    exp.Unnest: "UNNEST",
    exp.Lateral: "LATERAL",
    exp.Pivot: "PIVOT",
}


def name_of(node: object) -> str:
    """The word that was typed for a piece of SQL, or what anybody would call it."""
    if not isinstance(node, exp.Expression):  # the parser leaves a hole where an operator has no operand
        return "nothing"
    typed = _typed(node)
    if typed:
        return typed.upper()[:_LONGEST]
    if isinstance(node, (exp.Column, exp.Identifier)):
        return str(node.name)[:_LONGEST]
    sign = _SIGNS.get(type(node))
    if sign is not None:
        return sign
    above = node.parent  # a part that the parser made of a call is called by the call
    while above is not None and not isinstance(above, exp.Query):
        typed = _typed(above)
        if typed:
            return typed.upper()[:_LONGEST]
        above = above.parent
    return _THIS


def _typed(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.name)
    return str((node._meta or {}).get(SAID, ""))  # noqa: SLF001 - `meta` would make a dict for every node


def call_as_typed(node: exp.Expr) -> str:
    """The text of an aggregate, by the name that was typed: VARIANCE and VAR_SAMP are one node to the parser."""
    if isinstance(node, exp.WithinGroup):
        parts = [
            text_of(part, comments=False).strip() for part in (node.this.this, node.expression) if part is not None
        ]
        return f"{_typed(node.this).upper() or name_of(node.this)}({', '.join(parts[:-1])}) WITHIN GROUP ({parts[-1]})"
    text, typed = text_of(node, comments=False), "" if isinstance(node, exp.Filter) else _typed(node).upper()
    written, bracket, rest = text.partition("(")
    return f"{typed}({rest}" if typed and bracket and written.replace("_", "").isalnum() else text


_CLAUSES = {
    "windows": "WINDOW",
    "laterals": "LATERAL",
    "distinct": "DISTINCT",
    "qualify": "QUALIFY",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "with_": "WITH",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "having": "HAVING",
    "group": "GROUP BY",
    "cluster": "CLUSTER BY",
    "sort": "SORT BY",
    "into": "INTO",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "all": "ALL",
    "spec": "a frame",
    "first": "FIRST",
    "alias": "a name of its own",
    "over": "OVER",
    "match_condition": "a condition of its own",
    "global_": "GLOBAL",
    "connect": "CONNECT BY",
    "prewhere": "PREWHERE",
    "distribute": "DISTRIBUTE BY",
    "settings": "SETTINGS",
    "format": "FORMAT",
    "locks": "FOR UPDATE",
    "options": "OPTION",
    "hint": "a hint",
}


def clause_named(argument: str) -> str:
    """What SQL calls a clause that the parser keeps under this name."""
    return _CLAUSES.get(argument, "this clause")
