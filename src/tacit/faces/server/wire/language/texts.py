"""A question as the curator reads it: PostgreSQL's ways to spell a constant or a table in the curator's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.values import oids
from tacit.policy.reading.names import fold
from tacit.sql.parsing.units import TAKES_A_UNIT

_TEXTS = {oids.TEXT, oids.VARCHAR, oids.BPCHAR, oids.TEXT_ARRAY, oids.VARCHAR_ARRAY, oids.BPCHAR_ARRAY}
_COMPARES = ("=", "<", ">", "<=", ">=", "<>", "!=", "like", "ilike")
_COMPUTES = ("+", "-", "*", "/", "%")
_ARGUMENTS = {  # what functions take, by their name and the argument's place
    **dict.fromkeys((("percentile_cont", 0), ("percentile_disc", 0), ("quantile", 1), ("power", 1)), oids.FLOAT8),
    **dict.fromkeys((("width_bucket", 1), ("width_bucket", 2), ("log", 0)), oids.FLOAT8),
    **{(name, 1): oids.INT4 for name in ("round", "trunc", "left", "right", "lag", "lead", "nth_value", "mod")},
    **{(name, place): oids.INT4 for name in ("substr", "substring", "lpad", "rpad") for place in (1, 2)},
    **{("make_date", place): oids.INT4 for place in range(3)},
    ("width_bucket", 3): oids.INT4,
    ("ntile", 0): oids.INT4,
    ("lpad", 2): oids.TEXT,
    ("rpad", 2): oids.TEXT,
}
_LONGER = {"precision", "varying", "without", "with", "time", "zone"}  # words that go on a type's name


def question_of(statement: Lexed, *, database: str = "", schema: str = "public") -> str:
    """The statement's text, each character where it was, so that positions in messages stay right.

    Escape strings and dollar quotes are plain strings, `public.` is left out, with the name of the database before it,
    and so is a cast of a parameter to the type it is sent in, or of a string to text.
    """
    return statement.once(("question", database, schema), lambda: _rewritten(statement, database, schema))


def _rewritten(statement: Lexed, database: str, schema: str) -> str:
    written = list(" " * statement.start + statement.text)
    tokens = statement.tokens
    for index, token in enumerate(tokens):
        if token.kind is Lexeme.STRING:
            _put(written, token, "'" + token.value.replace("'", "''") + "'")
        elif token.is_name and token.value == schema and _is_sign(tokens, index + 1, "."):
            whole = index > 1 and _is_sign(tokens, index - 1, ".") and _names(tokens[index - 2], database)
            _blank(written, tokens[index - 2 if whole else index].start, tokens[index + 1].end)
        cast = cast_after(tokens, index)
        if cast is not None and _is_idle(token, cast[0]):
            _blank(written, tokens[index + 1].start, cast[1])
    return "".join(written)


def _names(token: Token, database: str) -> bool:
    """Whether a word is the database's name."""
    return token.is_name and fold(token.value) == fold(database)


def _is_idle(token: Token, oid: int) -> bool:
    """Whether a cast changes nothing: of a parameter, whose type it names, or of a string to text or texts."""
    return token.kind is Lexeme.PARAMETER or (token.kind is Lexeme.STRING and oid in _TEXTS)


def cast_after(tokens: Sequence[Token], index: int) -> tuple[int, int] | None:
    """The type that a token is cast to by `::`, and where the cast ends."""
    if index + 2 >= len(tokens) or tokens[index + 1].value != "::":
        return None
    if not tokens[index + 1].says("::") or not tokens[index + 2].is_name:
        return None
    oid = oids.oid_of_name(_type_name(tokens, index + 2))
    if oid is None:
        return None
    last = index + 2
    while last + 1 < len(tokens) and tokens[last + 1].kind is Lexeme.WORD and tokens[last + 1].value in _LONGER:
        last += 1
    if _is_sign(tokens, last + 1, "("):  # VARCHAR(20)
        closing = next((i for i in range(last + 1, len(tokens)) if tokens[i].says(")")), None)
        last = last if closing is None else closing
    if _is_sign(tokens, last + 1, "["):
        array = oids.ARRAYS.get(oid) if _is_sign(tokens, last + 2, "]") else None
        return None if array is None else (array, tokens[last + 2].end)
    return oid, tokens[last].end


def _type_name(tokens: Sequence[Token], index: int) -> str:
    """The name that a cast begins with, in one word."""
    first = tokens[index].value
    following = tokens[index + 1].value if index + 1 < len(tokens) else ""
    pairs = {("double", "precision"): "float8", ("character", "varying"): "varchar"}
    pairs |= {("timestamp", "with"): "timestamptz", ("character", following): "bpchar"}
    return pairs.get((first, following), first)


def _is_sign(tokens: Sequence[Token], index: int, sign: str) -> bool:
    return 0 <= index < len(tokens) and tokens[index].says(sign)


def _put(written: list[str], token: Token, plain: str) -> None:
    """Write another spelling in a token's place; one that is longer takes its room from nobody."""
    length = token.end - token.start
    written[token.start] = plain.ljust(length)
    written[token.start + 1 : token.end] = [""] * (length - 1)


def _blank(written: list[str], start: int, end: int) -> None:
    written[start:end] = [" "] * (end - start)


def parameter_types(statement: Lexed, given: Sequence[int], columns: Mapping[str, str]) -> tuple[int, ...]:
    """The type of each parameter: what the client names, else its cast, else that of the column it is held against.

    `columns` has the policy's kind of each column of the tables that the statement names.
    """
    tokens = statement.tokens
    count = max((int(t.value) for t in tokens if t.kind is Lexeme.PARAMETER and len(t.value) < 6), default=0)
    named = [0 if oid == oids.UNKNOWN else oid for oid in given]  # what a client calls unknown it leaves to us
    types = [named[index] if index < len(named) else 0 for index in range(max(count, len(named)))]
    for index, token in enumerate(tokens):
        if token.kind is Lexeme.PARAMETER and 1 <= int(token.value) <= len(types):
            number = int(token.value) - 1
            cast = cast_after(tokens, index)
            types[number] = types[number] or (cast[0] if cast else _compared(tokens, index, columns))
            if not types[number] and _is_list(tokens, index):
                types[number] = oids.TEXT_ARRAY
    return tuple(oid or oids.TEXT for oid in types)


def _compared(tokens: Sequence[Token], index: int, columns: Mapping[str, str]) -> int:
    """The type of what a parameter stands beside; 0 if that is not known."""
    before = tokens[index - 1] if index else tokens[index]
    if before.says("limit", "offset"):
        return oids.INT8
    if before.says("select") and index > 2 and tokens[index - 2].says("-"):  # DP-SELECT $1
        return oids.FLOAT8
    known = _given(tokens, index) or _computed(tokens, index, columns)
    if known:
        return known
    beside = _beside(tokens, index)
    oid = 0 if beside is None else _column(beside, columns)
    return oids.ARRAYS.get(oid, oid) if _is_list(tokens, index) else oid


def _given(tokens: Sequence[Token], index: int) -> int:
    """The type that a function takes in a parameter's place: of ROUND the second is a whole number; 0 if not known."""
    before = tokens[index - 1] if index else tokens[index]
    after = tokens[index + 1] if index + 1 < len(tokens) else before
    if not before.says("(", ",") or not after.says(",", ")"):  # it is part of an argument
        return 0
    place, depth = 0, 0
    for at in range(index - 1, 0, -1):
        depth += tokens[at].says(")") - tokens[at].says("(")
        if depth < 0:
            return _ARGUMENTS.get((tokens[at - 1].value.lower(), place), 0)
        place += depth == 0 and tokens[at].says(",")
    return 0


def _computed(tokens: Sequence[Token], index: int, columns: Mapping[str, str]) -> int:
    """The type of the number that a parameter is added to, or taken times; 0 if it is not known to be one."""
    if index > 1 and tokens[index - 1].says(*_COMPUTES):
        beside = tokens[index - 2]
    elif index + 2 < len(tokens) and tokens[index + 1].says(*_COMPUTES):
        last = index + 4 if _is_sign(tokens, index + 3, ".") and index + 4 < len(tokens) else index + 2
        beside = tokens[last]
    else:
        return 0
    if beside.kind is Lexeme.NUMBER:
        return oids.INT8 if beside.value.isdigit() else oids.FLOAT8
    oid = _column(beside, columns)
    return oid if oid in (oids.INT8, oids.FLOAT8) else 0


def _is_list(tokens: Sequence[Token], index: int) -> bool:
    """Whether a parameter stands for a list: `= ANY ($1)`."""
    return index > 1 and _is_sign(tokens, index - 1, "(") and tokens[index - 2].says("any", "all", "some")


def parameter_columns(statement: Lexed) -> dict[int, str]:
    """The name of the column that each parameter is held against, by the parameter's index; without those of none."""
    tokens, columns = statement.tokens, {}
    for index, token in enumerate(tokens):
        if token.kind is Lexeme.PARAMETER and len(token.value) < 6:
            beside = _beside(tokens, index)
            if beside is not None and beside.is_name:
                columns[int(token.value) - 1] = beside.value.lower()
    return columns


def unit_parameters(statement: Lexed) -> set[int]:
    """The parameters that name a unit of time, as in `date_trunc($1, day)`, by index."""
    tokens, found = statement.tokens, set()
    for index, token in enumerate(tokens):
        if token.kind is Lexeme.PARAMETER and len(token.value) < 6:
            at = index - 2 if index > 1 and tokens[index - 2].says("cast") else index
            if at > 1 and _is_sign(tokens, at - 1, "(") and tokens[at - 2].value.upper() in TAKES_A_UNIT:
                found.add(int(token.value) - 1)
    return found


def _beside(tokens: Sequence[Token], index: int) -> Token | None:
    """What a parameter is held against."""
    if index > 3 and _is_list(tokens, index) and tokens[index - 3].says(*_COMPARES):
        return tokens[index - 4]
    if index > 1 and tokens[index - 1].says(*_COMPARES):
        return tokens[index - 2]
    if index + 2 < len(tokens) and tokens[index + 1].says(*_COMPARES):
        last = index + 4 if _is_sign(tokens, index + 3, ".") and index + 4 < len(tokens) else index + 2
        return tokens[last]
    return _listed(tokens, index)


def _listed(tokens: Sequence[Token], index: int) -> Token | None:
    """The column before IN or BETWEEN, if the parameter stands behind one."""
    at = index - 1
    while at > 0 and (tokens[at].kind is not Lexeme.WORD or tokens[at].says("and")):
        if tokens[at].says(*_COMPARES, ")"):
            return None
        at -= 1
    if not tokens[max(at, 0)].says("in", "between"):
        return None
    return tokens[at - 2 if tokens[at - 1].says("not") else at - 1]


def _column(token: Token, columns: Mapping[str, str]) -> int:
    if token.says(")"):  # a number that some function made
        return oids.FLOAT8
    return oids.OF_KIND.get(columns.get(token.value.lower(), ""), 0) if token.is_name else 0
