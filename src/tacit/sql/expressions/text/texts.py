"""Functions of text: each by words that give the same text on every engine, and none that a cell could make fail.

Characters are code points. How long a text can become is counted while planning, for the work on one row must not
grow with what an analyst nests: a REPLACE of one letter by ten, ten times over, would write ten thousand million.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType, ListDomain
from tacit.sql.expressions import cells
from tacit.sql.expressions.dates.date_texts import formatted
from tacit.sql.expressions.names.nodes import cast_as, paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, bare, name_of
from tacit.sql.expressions.numeric import arithmetic
from tacit.sql.expressions.numeric.arithmetic import Width
from tacit.sql.expressions.operands import FUNCTIONS, Operand, comparable, literal, of_kind

MAX_GROWTH = 100  # times as long as its longest part
MAX_HELD = 100_000  # characters of a cell that becomes longer: a hundred times as many are far from any engine's end
MAX_PAD = 1_000  # characters
MAX_CUT = 10_000  # characters of a text that a subquery computes
MAX_CONSTANT = 1_000  # characters of a constant among a function's arguments
_MAX_PLACE = 1_000_000
COMPUTED: list[Callable[[exp.Expression, Scope], Operand | None]] = []  # what `predicates` makes of a computed number
_CODE_POINTS = "(?s)."  # DuckDB's own REVERSE turns clusters of letters round, and no other engine does


def _call(name: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _inner(node: exp.Expression, scope: Scope) -> Operand:
    """The text that a function is of."""
    return of_kind(node.this, {ColumnType.TEXT}, scope=scope, where=name_of(node))


def _text_operand(sql: exp.Expression, *parts: Operand, times: int | None = None) -> Operand:
    """A text, with how many times its longest part it can be long."""
    grown = max((part.times for part in parts), default=1) if times is None else times
    if grown > MAX_GROWTH:
        raise QueryRefused(
            f"a text could become more than {MAX_GROWTH} times as long as its parts: one row's work would show",
            hint="join fewer parts, or replace by something shorter",
        )
    return Operand(sql, ColumnType.TEXT, times=grown)


def grown(sql: exp.Expression, times: int) -> Operand:
    """A text that can be so many times as long as its longest part."""
    return _text_operand(sql, times=times)


def held(part: Operand) -> Operand:
    """A text that is about to become longer: its first characters, so that no row's can pass an engine's end.

    PostgreSQL has texts of up to 1 GB, DuckDB of 4: a cell of eleven million letters, each replaced by a hundred, would
    make a question fail. What is longer by now was made of such parts, and stays within the growth that is allowed.
    """
    cell = not part.constant and part.kind is ColumnType.TEXT and part.times == 1
    return replace(part, sql=first(part.sql, MAX_HELD)) if cell else part


def _constant(node: exp.Expression | None, scope: Scope, *, of: exp.Expression, empty: bool = False) -> str:
    """A constant text among the arguments of a function."""
    value = scope.value(node) if node is not None and scope.is_constant(node) else None
    if not isinstance(value, str) or len(value) > MAX_CONSTANT or not (value or empty):
        some = "a constant text" if empty else "a constant text that is not empty"
        raise QueryRefused(f"{name_of(of)} needs {some} beside the column, of at most {MAX_CONSTANT:,} characters")
    return value


def _whole(node: object, scope: Scope, *, of: exp.Expression, low: int, high: int) -> int:
    """A constant whole number among the arguments of a function."""
    value = scope.value(node) if isinstance(node, exp.Expression) and scope.is_constant(node) else None
    if type(value) is not int or not low <= value <= high:
        raise QueryRefused(
            f"{name_of(of)} needs a whole number from {low:,} to {high:,} there, written as a constant",
            hint="write the number itself, as in LEFT(code, 3) or SUBSTRING(code, 2, 4)",
        )
    return value


# ── parts of a text ──────────────────────────────────────────────────────────────────────────────────────────────────


def first(text: exp.Expression, count: int) -> exp.Expression:
    """The first so many characters."""
    return exp.Substring(this=text, start=exp.Literal.number(1), length=exp.Literal.number(count))


def _left(node: exp.Expression, scope: Scope) -> Operand:
    inner = _inner(node, scope)
    return _text_operand(first(inner.sql, _whole(node.expression, scope, of=node, low=0, high=_MAX_PLACE)), inner)


def _right(node: exp.Expression, scope: Scope) -> Operand:
    inner = _inner(node, scope)
    return _text_operand(last(inner.sql, _whole(node.expression, scope, of=node, low=0, high=_MAX_PLACE)), inner)


def last(text: exp.Expression, count: int) -> exp.Expression:
    """The last so many characters."""
    return exp.Right(this=text, expression=exp.Literal.number(count))


def _substring(node: exp.Expression, scope: Scope) -> Operand:
    """From a place counted from 1; from 0, one character less, as SQL has it; from below 0, the end of the text."""
    inner = _inner(node, scope)
    length = node.args.get("length")
    start = _whole(node.args.get("start"), scope, of=node, low=-_MAX_PLACE, high=_MAX_PLACE)
    count = None if length is None else _whole(length, scope, of=node, low=0, high=_MAX_PLACE)
    if start < 0:
        if count is not None:
            raise QueryRefused(
                f"{name_of(node)} from the end takes no length: engines count it differently",
                hint="write LEFT(RIGHT(name, 4), 2)",
            )
        return _text_operand(last(inner.sql, -start), inner)
    if start == 0:
        start, count = 1, None if count is None else max(count - 1, 0)
    ends = {"start": literal(start), "length": None if count is None else literal(count)}
    return _text_operand(exp.Substring(this=inner.sql, **ends), inner)


def _split_part(node: exp.Expression, scope: Scope) -> Operand:
    inner = _inner(node, scope)
    by = _constant(node.args.get("delimiter"), scope, of=node)
    part = _whole(node.args.get("part_index"), scope, of=node, low=-1_000, high=1_000)
    if part == 0:
        raise QueryRefused(f"{name_of(node)} counts from 1, or from -1 at the end")
    index = arithmetic.narrowed(arithmetic.constant(part), Width.INT)  # which PostgreSQL's own takes, and no wider
    return _text_operand(_call("SPLIT_PART", inner.sql, literal(by), index), inner)


def _trim(node: exp.Expression, scope: Scope) -> Operand:
    """Spaces, or the characters of a constant, off both ends or one."""
    inner = _inner(node, scope)
    if node.args.get("collation"):
        raise QueryRefused(f"{name_of(node)} takes no COLLATE")
    characters = node.args.get("expression")
    taken = None if characters is None else literal(_constant(characters, scope, of=node))
    position = str(node.args.get("position") or "BOTH").upper()
    ends = {"LEADING": "LEADING", "TRAILING": "TRAILING"}.get(position)
    return _text_operand(exp.Trim(this=inner.sql, expression=taken, position=ends), inner)


def _case(kind: type[exp.Func]) -> Callable[[exp.Expression, Scope], Operand]:
    def build(node: exp.Expression, scope: Scope) -> Operand:
        inner = _inner(node, scope)
        call = kind(this=inner.sql)
        assert isinstance(call, exp.Expression)  # noqa: S101 - every function is one; the stubs do not say so
        return _text_operand(call, inner)

    return build


# ── other texts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def as_text(node: exp.Expression, scope: Scope, *, of: exp.Expression) -> Operand:
    """What stands in a text: text itself, whole numbers and truth values, which every engine writes alike."""
    if not isinstance(node, exp.Expression):
        raise QueryRefused(f"{name_of(of)} is refused without what it is of")
    dated = formatted(cast_as(copied(node), "VARCHAR"), scope)
    if not isinstance(dated, exp.Cast):
        node = dated
    part = comparable(node, scope) or next(filter(None, (build(node, scope) for build in COMPUTED)), None)
    if part is None:
        raise QueryRefused(f"{name_of(node)} is refused in {name_of(of)}: text, whole numbers and truth values join")
    if part.constant:
        value = scope.value(node)
        if isinstance(value, (str, int)):
            return Operand(exp.Literal.string(_written(value)), ColumnType.TEXT, constant=True)
    if part.kind is ColumnType.TEXT or part.kind is None:
        return part
    if part.kind is ColumnType.BOOLEAN or (part.kind is ColumnType.INTEGER and _is_whole(part)):
        sql = part.exact if part.exact is not None else part.sql
        return Operand(cast_as(copied(sql), "VARCHAR"), ColumnType.TEXT)
    raise QueryRefused(
        f"{name_of(of)} needs text, whole numbers or truth values: engines write a {part.kind} in different ways",
        hint="group by it beside the text, or compare it on its own",
    )


def _is_whole(value: Operand) -> bool:
    """Whether an engine holds it as a whole number: a sum of larger steps is counted out as a double."""
    return not cells.in_steps(value.sql_type) or Fraction(value.sql_type.partition("(")[2].rstrip(")")) == 1


def _written(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def joined(parts: Sequence[exp.Expression]) -> exp.Expression:
    """The texts one after another, as a balanced tree: a long chain would be a deep one."""
    while len(parts) > 1:
        pairs = [exp.DPipe(this=a, expression=b, safe=True) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*(paren(pair) for pair in pairs), *parts[len(pairs) * 2 :]]
    return parts[0]


def _pipe(node: exp.Expression, scope: Scope) -> Operand:
    """The parts one after another; NULL where one is."""
    parts = [as_text(part, scope, of=node) for part in node.flatten() if isinstance(part, exp.Expression)]
    return _text_operand(joined([held(part).sql for part in parts]), times=sum(part.times for part in parts))


def _concat(node: exp.Expression, scope: Scope) -> Operand:
    """CONCAT(a, b): NULL counts as nothing. Spark's own gives NULL."""
    parts = [as_text(part, scope, of=node) for part in node.expressions]
    texts = [_or_nothing(held(part)) for part in parts]
    return _text_operand(joined(texts), times=sum(part.times for part in parts))


def _or_nothing(part: Operand) -> exp.Expression:
    if part.kind is None:
        return exp.Literal.string("")
    return part.sql if part.constant else exp.Coalesce(this=part.sql, expressions=[exp.Literal.string("")])


def _concat_ws(node: exp.Expression, scope: Scope) -> Operand:
    separator, *others = node.expressions
    between = _constant(separator, scope, of=node, empty=True)
    parts = [as_text(part, scope, of=node) for part in others]
    if not parts:
        raise QueryRefused(f"{name_of(node)} needs something to join")
    texts = [cast_as(part.sql, "VARCHAR") if part.kind is None else held(part).sql for part in parts]
    grown = sum(part.times for part in parts) + len(parts)
    return _text_operand(_call("CONCAT_WS", literal(between), *texts), times=grown)


def _replace(node: exp.Expression, scope: Scope) -> Operand:
    inner = _inner(node, scope)
    old = _constant(node.args.get("expression"), scope, of=node)
    new = _constant(node.args.get("replacement"), scope, of=node, empty=True)
    each = max(1, -(-len(new) // len(old)))
    text = inner if each == 1 else held(inner)
    return _text_operand(_call("REPLACE", text.sql, literal(old), literal(new)), times=inner.times * each)


def _translate(node: exp.Expression, scope: Scope) -> Operand:
    """Each character of one constant by that at the same place of another, or by nothing."""
    inner = _inner(node, scope)
    old = _constant(node.args.get("from_"), scope, of=node)
    new = _constant(node.args.get("to"), scope, of=node, empty=True)
    if len(set(old)) < len(old) or len(new) > len(old):
        raise QueryRefused(f"{name_of(node)} needs different characters, and no more to put in their place")
    return _text_operand(_call("TRANSLATE", inner.sql, literal(old), literal(new)), inner)


def _reverse(node: exp.Expression, scope: Scope) -> Operand:
    inner = _inner(node, scope)
    letters = _call("REGEXP_EXTRACT_ALL", inner.sql, literal(_CODE_POINTS))
    return _text_operand(_call("ARRAY_TO_STRING", _call("LIST_REVERSE", letters), literal("")), inner)


def _pad(node: exp.Expression, scope: Scope) -> Operand:
    inner = _inner(node, scope)
    width = _whole(node.expression, scope, of=node, low=0, high=MAX_PAD)
    filled = node.args.get("fill_pattern")
    fill = " " if filled is None else _constant(filled, scope, of=node)
    name = "LPAD" if node.args.get("is_left") else "RPAD"
    return _text_operand(_call(name, inner.sql, literal(width), literal(fill)), inner)


def _cast(node: exp.Expression, scope: Scope) -> Operand | None:
    """CAST(x AS TEXT) of what every engine writes alike. Any other cast is arithmetic, or refused."""
    kind = node.args["to"]
    if ColumnType.from_sql(kind.sql(dialect="duckdb")) is not ColumnType.TEXT or kind.expressions:
        return None
    if kind.this in {exp.DType.UUID, exp.DType.ENUM}:
        return None
    return as_text(node.this, scope, of=node)


# ── numbers of a text ────────────────────────────────────────────────────────────────────────────────────────────────


def _length(node: exp.Expression, scope: Scope) -> Operand:
    return Operand(exp.Length(this=_inner(node, scope).sql), ColumnType.INTEGER)


def _position(node: exp.Expression, scope: Scope) -> Operand:
    """The place of a constant's first character in the text, from 1 on; 0 where it is not."""
    inner = _inner(node, scope)
    if node.args.get("position") or node.args.get("occurrence"):
        raise QueryRefused(f"{name_of(node)} takes a text and what is looked for")
    needle = _constant(node.args.get("substr"), scope, of=node)
    return Operand(exp.StrPosition(this=inner.sql, substr=literal(needle)), ColumnType.INTEGER)


def placed(text: exp.Expression, needle: str, *, at: str) -> exp.Expression:
    """The condition that a constant stands at the start or the end of a text, or anywhere in it."""
    plain = not {"%", "_", "\\"} & set(needle)
    if plain:  # which an index may serve
        pattern = {"start": f"{needle}%", "end": f"%{needle}", "within": f"%{needle}%"}[at]
        return exp.Like(this=text, expression=exp.Literal.string(pattern))
    if at == "within":
        return exp.GT(
            this=exp.StrPosition(this=text, substr=exp.Literal.string(needle)), expression=exp.Literal.number(0)
        )
    part = first(text, len(needle)) if at == "start" else last(text, len(needle))
    return exp.EQ(this=part, expression=exp.Literal.string(needle))


def _placed(at: str) -> Callable[[exp.Expression, Scope], Operand]:
    def build(node: exp.Expression, scope: Scope) -> Operand:
        inner = _inner(node, scope)
        needle = _constant(node.expression, scope, of=node, empty=True)
        # in parentheses: beside = a comparison would be read as the end of another one
        return Operand(exp.paren(placed(inner.sql, needle, at=at), copy=False), ColumnType.BOOLEAN)

    return build


PLACED: dict[type[exp.Expression], str] = {exp.StartsWith: "start", exp.EndsWith: "end", exp.Contains: "within"}
_Build = Callable[[exp.Expression, Scope], Operand | None]
_BUILDERS: dict[type[exp.Expression], tuple[_Build, set[str]]] = {  # and the arguments that are read
    exp.Lower: (_case(exp.Lower), set()),
    exp.Upper: (_case(exp.Upper), set()),
    exp.Trim: (_trim, {"expression", "position", "collation"}),
    exp.Left: (_left, {"expression"}),
    exp.Right: (_right, {"expression"}),
    exp.Substring: (_substring, {"start", "length"}),
    exp.SplitPart: (_split_part, {"delimiter", "part_index"}),
    exp.DPipe: (_pipe, {"expression"}),
    exp.Concat: (_concat, {"expressions"}),
    exp.ConcatWs: (_concat_ws, {"expressions"}),
    exp.Replace: (_replace, {"expression", "replacement"}),
    exp.Translate: (_translate, {"from_", "to"}),
    exp.Reverse: (_reverse, set()),
    exp.Pad: (_pad, {"expression", "fill_pattern"}),
    exp.Cast: (_cast, {"to"}),
    exp.TryCast: (_cast, {"to"}),
    exp.Length: (_length, set()),
    exp.StrPosition: (_position, {"substr", "position", "occurrence"}),
    **{kind: (_placed(at), {"expression"}) for kind, at in PLACED.items()},
}


def _reading(build: _Build, names: set[str]) -> _Build:
    """The builder, refusing an argument that it would leave out unseen; flags are the parser's own."""

    def checked(node: exp.Expression, scope: Scope) -> Operand | None:
        known = {"this", *names}
        if any(value and not isinstance(value, bool) and name not in known for name, value in node.args.items()):
            raise QueryRefused(f"{name_of(node)} is refused with so many arguments")
        return build(node, scope)

    return checked


FUNCTIONS.update({kind: _reading(*each) for kind, each in _BUILDERS.items()})


def longest(node: exp.Expression, scope: Scope) -> int | None:
    """How many characters a text has at most, where its form or a listed domain says so."""
    node = bare(node)
    if isinstance(node, (exp.Left, exp.Right)) and scope.is_constant(node.expression):
        count = scope.value(node.expression)
        return count if type(count) is int and 0 <= count <= MAX_CUT else None
    if isinstance(node, exp.Substring) and node.args.get("length") is not None:
        count = scope.value(node.args["length"]) if scope.is_constant(node.args["length"]) else None
        return count if type(count) is int and 0 <= count <= MAX_CUT else None
    if isinstance(node, (exp.Lower, exp.Upper, exp.Trim, exp.Reverse, exp.SplitPart)):
        return longest(node.this, scope)
    if not isinstance(node, exp.Column) or scope.key(node) is not None:
        return None
    declared, kind = scope.column(node)
    listed = declared.domain.values if kind is ColumnType.TEXT and isinstance(declared.domain, ListDomain) else ()
    return max((len(str(value)) for value in listed), default=None)


def cut(value: Operand) -> Operand:
    """A text that a subquery computes, cut at a public length: what grows in one could grow again in the next."""
    return value if value.times == 1 else replace(value, sql=first(paren(value.sql), MAX_CUT), times=1)
