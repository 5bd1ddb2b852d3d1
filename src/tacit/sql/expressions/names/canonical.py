"""The canonical text of the nodes that generated queries are made of, written without a copy of their tree.

The general way is sqlglot's generator: it changes nodes as it writes, so that every tree is copied for it first. What
stands here is written as it writes it, letter for letter (`tests/unit/test_sql_printing.py` compares the two); for any
other node, any other argument and any comment `written` gives up, and the generator is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

_DUCKDB = DuckDB()
_RESERVED = frozenset(_DUCKDB.generator().RESERVED_KEYWORDS)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})  # by no other name
_PARTS = _UNITS | {"EPOCH"}
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: " + ",
    exp.Sub: " - ",
    exp.Mul: " * ",
    exp.IntDiv: " // ",
    exp.Div: " / ",
    exp.Mod: " % ",
    exp.EQ: " = ",
    exp.NEQ: " <> ",
    exp.LT: " < ",
    exp.LTE: " <= ",
    exp.GT: " > ",
    exp.GTE: " >= ",
    exp.Is: " IS ",
    exp.Like: " LIKE ",
    exp.And: " AND ",
    exp.Or: " OR ",
    exp.DPipe: " || ",
}
_CALLS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Max: "MAX",
    exp.Min: "MIN",
    exp.Abs: "ABS",
    exp.Floor: "FLOOR",
    exp.IsNan: "ISNAN",
    exp.Ln: "LN",
    exp.Sqrt: "SQRT",
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Day: "DAY",
    exp.Hour: "HOUR",
}
_EMPTY = {exp.Null: "NULL", exp.Star: "*", exp.RowNumber: "ROW_NUMBER()", exp.DenseRank: "DENSE_RANK()"}


class _Unwritten(Exception):
    """A node, or an argument of one, that only the generator knows how to write."""


def written(tree: exp.Expr) -> str | None:
    """The canonical text of a tree; None where some of it is not written here."""
    try:
        return _text(tree).strip()
    except (_Unwritten, LookupError):  # or an argument is not there that every such node has
        return None


def _text(node: object) -> str:
    writer, known = _WRITERS[type(node)]
    if node.comments:  # type: ignore[attr-defined]  # a node, by its type
        raise _Unwritten
    for name, value in node.args.items():  # type: ignore[attr-defined]
        if value and name not in known:
            raise _Unwritten
    return writer(node)


def _plainly(node: exp.Identifier) -> str:
    """What `_text` says of an identifier, which most nodes of a query are, or which stands in them."""
    args = node.args
    if node.comments or (len(args) > 2 and any(value and name not in _NAME for name, value in args.items())):
        raise _Unwritten
    return _spelled(args["this"], bool(args.get("quoted")))


@lru_cache(maxsize=4096)
def _spelled(name: object, quoted: bool) -> str:
    if not isinstance(name, str):
        raise _Unwritten
    if quoted:
        return '"' + name.replace('"', '""') + '"'
    if not _PLAIN.fullmatch(name) or name.lower() in _RESERVED:
        raise _Unwritten
    return name


def _list(nodes: Iterable[object] | None) -> str:
    return ", ".join([_text(node) for node in nodes or ()])


def _optional(before: str, node: object) -> str:
    return f"{before}{_text(node)}" if node else ""


# ── names, constants, types ──────────────────────────────────────────────────────────────────────────────────────────


def _column(node: exp.Column) -> str:
    this, table = node.args["this"], node.args.get("table")
    name = _plainly(this) if type(this) is exp.Identifier else _text(this)
    if not table:
        return name
    return f"{_plainly(table) if type(table) is exp.Identifier else _text(table)}.{name}"


def _literal(node: exp.Literal) -> str:
    text = str(node.args["this"] or "")
    return "'" + text.replace("'", "''") + "'" if node.args.get("is_string") else text


def _boolean(node: exp.Boolean) -> str:
    return "TRUE" if node.args.get("this") else "FALSE"


def _var(node: exp.Var) -> str:
    return str(node.args["this"])


def _type(node: exp.DataType) -> str:
    kind = node.args["this"]
    parameters = node.args.get("expressions") or ()
    if not isinstance(kind, exp.DType) or (parameters and kind is not exp.DType.DECIMAL):
        raise _Unwritten
    return f"{_type_name(kind)}({_list(parameters)})" if parameters else _type_name(kind)


@lru_cache(maxsize=256)
def _type_name(kind: exp.DType) -> str:
    """The generator knows what each type is called."""
    return str(exp.DataType(this=kind).sql(dialect=_DUCKDB))


def _parameter(node: exp.DataTypeParam) -> str:
    if type(node.args["this"]) is not exp.Literal:
        raise _Unwritten
    return _text(node.args["this"])


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _binary(node: exp.Expr) -> str:
    """A chain is written from its end, so that a long one needs no deep stack."""
    texts: list[str] = []
    first: object = node
    while type(first) in _OPERATORS:
        known = _WRITERS[type(first)][1]
        if first.comments or any(value and name not in known for name, value in first.args.items()):  # type: ignore[attr-defined]
            raise _Unwritten
        second = first.args["expression"]  # type: ignore[attr-defined]
        if type(second) is exp.Mod:  # which is put into parentheses after some operators
            raise _Unwritten
        texts += [_text(second), _OPERATORS[type(first)]]  # type: ignore[index]
        first = first.args["this"]  # type: ignore[attr-defined]
    texts.append(_text(first))
    return "".join(reversed(texts))


def _negative(node: exp.Neg) -> str:
    text = _text(node.args["this"])
    return f"- {text}" if text[0] == "-" else f"-{text}"  # two in a row would begin a comment


def _case(node: exp.Case) -> str:
    texts = ["CASE", _optional(" ", node.args.get("this"))]
    for each in node.args["ifs"]:
        if type(each) is not exp.If or each.comments or each.args.get("false"):
            raise _Unwritten
        texts.append(f" WHEN {_text(each.args['this'])} THEN {_text(each.args['true'])}")
    return "".join([*texts, _optional(" ELSE ", node.args.get("default")), " END"])


def _between(node: exp.Between) -> str:
    if node.args.get("symmetric") is not None:
        raise _Unwritten
    return " ".join([_text(node.args["this"]), "BETWEEN", _text(node.args["low"]), "AND", _text(node.args["high"])])


def _in(node: exp.In) -> str:
    query = node.args.get("query")
    among = _text(query) if query else f"({_list(node.args.get('expressions'))})"
    return f"{_text(node.args['this'])} IN {among}"


def _call(node: exp.Expr) -> str:
    return f"{_CALLS[type(node)]}({_text(node.args['this'])})"


def _of_text(name: str) -> Callable[[exp.Expr], str]:
    """Of a column: what the generator knows to be no text, such as a cast, it casts to one."""

    def call(node: exp.Expr) -> str:
        if type(node.args["this"]) not in {exp.Column, exp.Lower, exp.Trim, exp.Substring}:
            raise _Unwritten
        return f"{name}({_text(node.args['this'])})"

    return call


def _substring(node: exp.Substring) -> str:
    start, length = node.args["start"], node.args["length"]
    if type(start) is not exp.Literal or type(length) is not exp.Literal or type(node.args["this"]) is not exp.Column:
        raise _Unwritten
    return f"SUBSTRING({_list([node.args['this'], start, length])})"


def _anonymous(node: exp.Anonymous) -> str:
    name = node.args["this"]
    if not isinstance(name, str):
        raise _Unwritten
    return f"{name.upper()}({_list(node.args.get('expressions'))})"


def _extract(node: exp.Extract) -> str:
    part = node.args["this"]
    if type(part) is not exp.Var or part.args["this"] not in _PARTS:
        raise _Unwritten
    return f"EXTRACT({_text(part)} FROM {_text(node.args['expression'])})"


def _unit(node: exp.Expr) -> str:
    unit = node.args["unit"]
    if type(unit) is not exp.Var or unit.args["this"] not in _UNITS:
        raise _Unwritten
    return str(unit.args["this"])


def _cell(node: object) -> str:
    """A column, or one in another type: the generator casts a constant to a date."""
    if type(node) is not exp.Column and not (type(node) is exp.Cast and type(node.args["this"]) is exp.Column):
        raise _Unwritten
    return _text(node)


def _truncated(node: exp.TimestampTrunc) -> str:
    return f"DATE_TRUNC('{_unit(node)}', {_cell(node.args['this'])})"


def _between_dates(node: exp.DateDiff) -> str:
    return f"DATE_DIFF('{_unit(node)}', {_cell(node.args['expression'])}, {_cell(node.args['this'])})"


def _extreme(node: exp.Expr) -> str:
    if not node.args.get("ignore_nulls"):
        raise _Unwritten
    name = "LEAST" if type(node) is exp.Least else "GREATEST"
    return f"{name}({_list([node.args['this'], *(node.args.get('expressions') or ())])})"


def _distinct(node: exp.Distinct) -> str:
    several = node.args.get("expressions") or ()
    if len(several) > 1:
        raise _Unwritten
    return f"DISTINCT {_list(several)}".rstrip()


def _window(node: exp.Window) -> str:
    if node.arg_key == "windows" or node.args.get("over") not in {None, "OVER"} or node.args.get("first") is not None:
        raise _Unwritten
    partition = node.args.get("partition_by")
    order = node.args.get("order")
    inside = [f"PARTITION BY {_list(partition)}"] if partition else []
    inside += [_text(order).strip()] if order else []
    return f"{_text(node.args['this'])} OVER ({' '.join(inside)})"


def _ordered(node: exp.Ordered) -> str:
    descending = node.args.get("desc")
    direction = "" if descending is None else " DESC" if descending else " ASC"
    return f"{_text(node.args['this'])}{direction}{' NULLS FIRST' if node.args.get('nulls_first') else ''}"


# ── queries ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _select(node: exp.Select) -> str:
    args = node.args
    texts = [_optional("", args.get("with_")) + " " if args.get("with_") else "", "SELECT"]
    texts.append(_optional(" ", args.get("distinct")))
    texts.append(f" {_list(args.get('expressions'))}" if args.get("expressions") else "")
    texts.append(_optional("", args.get("from_")))
    texts += [_text(join) for join in args.get("joins") or ()]
    texts += [_optional("", args.get(name)) for name in ("where", "group", "having", "order")]
    return "".join(texts)


def _group(node: exp.Group) -> str:
    if node.args.get("all") is not None:
        raise _Unwritten
    return f" GROUP BY {_list(node.args['expressions'])}"


def _join(node: exp.Join) -> str:
    on, side, kind = node.args.get("on"), node.args.get("side") or "", node.args.get("kind") or ""
    if not isinstance(side, str) or not isinstance(kind, str):
        raise _Unwritten
    how = " ".join(word for word in (side.upper(), kind.upper()) if word)
    if how not in ({"", "INNER", "LEFT", "RIGHT", "FULL"} if on else {"CROSS"}):
        raise _Unwritten
    return f" {how} JOIN ".replace("  ", " ") + _text(node.args["this"]) + _optional(" ON ", on)


def _with_alias(node: exp.Table) -> str:
    return _text(node.args["this"]) + _optional(" AS ", node.args.get("alias"))


def _subquery(node: exp.Subquery) -> str:
    return f"({_text(node.args['this'])})" + _optional(" AS ", node.args.get("alias"))


def _common(node: exp.CTE) -> str:
    flag = node.args.get("materialized")
    said = "" if flag is None else "MATERIALIZED " if flag else "NOT MATERIALIZED "
    return f"{_text(node.args['alias'])} AS {said}({_text(node.args['this'])})"


def _after(word: str) -> Callable[[exp.Expr], str]:
    return lambda node: f"{word}{_text(node.args['this'])}"


def _listed(word: str) -> Callable[[exp.Expr], str]:
    return lambda node: f"{word}{_list(node.args['expressions'])}"


_Writer = tuple[Callable[..., str], frozenset[str]]
_THIS, _TWO, _NAME = frozenset({"this"}), frozenset({"this", "expression"}), frozenset({"this", "quoted"})
_WRITERS: dict[type, _Writer] = {
    **dict.fromkeys(_OPERATORS, (_binary, _TWO)),
    **{kind: (_call, frozenset({"this", "big_int"})) for kind in _CALLS},
    **{kind: (lambda _, word=word: word, frozenset()) for kind, word in _EMPTY.items()},
    **dict.fromkeys((exp.Div, exp.DPipe), (_binary, frozenset({"this", "expression", "safe"}))),
    **dict.fromkeys((exp.Least, exp.Greatest), (_extreme, frozenset({"this", "expressions", "ignore_nulls"}))),
    exp.TimestampTrunc: (_truncated, frozenset({"this", "unit"})),
    exp.DateDiff: (_between_dates, frozenset({"this", "expression", "unit", "date_part_boundary"})),
    exp.Lower: (_of_text("LOWER"), _THIS),
    exp.Trim: (_of_text("TRIM"), _THIS),
    exp.Substring: (_substring, frozenset({"this", "start", "length"})),
    exp.Nullif: (lambda node: f"NULLIF({_text(node.args['this'])}, {_text(node.args['expression'])})", _TWO),
    exp.Identifier: (_plainly, _NAME),
    exp.Column: (_column, frozenset({"this", "table"})),
    exp.Literal: (_literal, frozenset({"this", "is_string"})),
    exp.Boolean: (_boolean, _THIS),
    exp.Var: (_var, _THIS),
    exp.DataType: (_type, frozenset({"this", "expressions"})),
    exp.DataTypeParam: (_parameter, _THIS),
    exp.Alias: (
        lambda node: f"{_text(node.args['this'])} AS {_text(node.args['alias'])}",
        frozenset({"this", "alias"}),
    ),
    exp.Cast: (lambda node: f"CAST({_text(node.args['this'])} AS {_text(node.args['to'])})", frozenset({"this", "to"})),
    exp.Paren: (lambda node: f"({_text(node.args['this'])})", _THIS),
    exp.Neg: (_negative, _THIS),
    exp.Not: (_after("NOT "), _THIS),
    exp.Case: (_case, frozenset({"this", "ifs", "default"})),
    exp.Between: (_between, frozenset({"this", "low", "high"})),
    exp.In: (_in, frozenset({"this", "expressions", "query"})),
    exp.Exists: (lambda node: f"EXISTS({_text(node.args['this'])})", _THIS),
    exp.Coalesce: (
        lambda node: f"COALESCE({_list([node.args['this'], *(node.args.get('expressions') or ())])})",
        frozenset({"this", "expressions"}),
    ),
    exp.Anonymous: (_anonymous, frozenset({"this", "expressions"})),
    exp.Extract: (_extract, _TWO),
    exp.Distinct: (_distinct, frozenset({"expressions"})),
    exp.Filter: (lambda node: f"{_text(node.args['this'])} FILTER({_text(node.args['expression']).strip()})", _TWO),
    exp.Window: (_window, frozenset({"this", "partition_by", "order", "over"})),
    exp.Ordered: (_ordered, frozenset({"this", "desc", "nulls_first"})),
    exp.Select: (
        _select,
        frozenset({"with_", "distinct", "expressions", "from_", "joins", "where", "group", "having", "order"}),
    ),
    exp.From: (_after(" FROM "), _THIS),
    exp.Where: (_after(" WHERE "), _THIS),
    exp.Having: (_after(" HAVING "), _THIS),
    exp.Group: (_group, frozenset({"expressions"})),
    exp.Order: (_listed(" ORDER BY "), frozenset({"expressions"})),
    exp.With: (_listed("WITH "), frozenset({"expressions"})),
    exp.CTE: (_common, frozenset({"this", "alias", "materialized"})),
    exp.Table: (_with_alias, frozenset({"this", "alias"})),
    exp.TableAlias: (lambda node: _text(node.args["this"]), _THIS),
    exp.Subquery: (_subquery, frozenset({"this", "alias"})),
    exp.Join: (_join, frozenset({"this", "on", "side", "kind"})),
}
