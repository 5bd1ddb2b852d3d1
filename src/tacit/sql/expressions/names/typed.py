"""Tokens to trees in which every call remembers what it was called, by sqlglot's own parser.

Its parser is never subclassed: where it is compiled, it cannot be. What other databases mean by a name is put in
afterwards: such a call is given a name that the parser does not know, so that it keeps its arguments as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuerySyntaxError
from tacit.policy.reading.names import RESERVED
from tacit.sql.expressions.names.habits import HABITS

SYNTHETIC = f"{RESERVED}synthetic "  # what the name of a table begins with that was typed as `t SYNTHETIC`
SAID = "said"  # where a node keeps the name of the function that was typed
_HABIT = f"{RESERVED}habit_"  # no analyst's name begins so


class AsTyped(DuckDB):
    """DuckDB's SQL, read so that every call remembers what it was called: SUBSTR and MID are one node to the parser."""

    ORIGINAL_NAME_META_KEY = SAID

    class Tokenizer(DuckDB.Tokenizer):
        """The tokenizer that knows the names that MySQL and BigQuery quote, and takes `$1,$2` for parameters.

        Between dollars a text has no tag: `$1,$` would be one, and all that follows its text.
        """

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        HEREDOC_STRINGS: ClassVar[list[str | tuple[str, str]]] = []
        RAW_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("$$", "$$")]


_DIALECT = AsTyped()
_WORDS: Mapping[type[exp.Expr], tuple[str, ...]] = {  # of the calls that the parser reads by a way of their own
    exp.ApproxQuantile: ("APPROX_QUANTILE",),
    exp.ArgMax: ("ARG_MAX", "MAX_BY", "ARGMAX"),
    exp.ArgMin: ("ARG_MIN", "MIN_BY", "ARGMIN"),
    exp.Cast: ("CAST", "CONVERT"),
    exp.Ceil: ("CEIL",),
    exp.Chr: ("CHR", "CHAR"),
    exp.CurrentDate: ("CURRENT_DATE",),
    exp.CurrentTime: ("CURRENT_TIME",),
    exp.CurrentTimestamp: ("CURRENT_TIMESTAMP",),
    exp.CurrentUser: ("CURRENT_USER",),
    exp.Extract: ("EXTRACT",),
    exp.Floor: ("FLOOR",),
    exp.GroupConcat: ("STRING_AGG", "LISTAGG", "GROUP_CONCAT", "STRINGAGG"),
    exp.If: ("IF",),
    exp.Initcap: ("INITCAP",),
    exp.Localtime: ("LOCALTIME",),
    exp.Localtimestamp: ("LOCALTIMESTAMP",),
    exp.Max: ("MAX",),
    exp.Min: ("MIN",),
    exp.Normalize: ("NORMALIZE",),
    exp.Overlay: ("OVERLAY",),
    exp.PercentileCont: ("QUANTILE_CONT", "QUANTILE"),
    exp.PercentileDisc: ("QUANTILE_DISC",),
    exp.Quantile: ("QUANTILE", "QUANTILE_CONT"),
    exp.StrPosition: ("POSITION",),
    exp.Substring: ("SUBSTRING",),
    exp.Trim: ("TRIM",),
    exp.TryCast: ("TRY_CAST", "SAFE_CAST", "TRY_CONVERT"),
}
_AROUND = (exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
_NAMED = (exp.Cast, exp.Anonymous, *_AROUND)
_OPEN_JOINS = 8
_JOINS = (TokenType.JOIN, TokenType.STRAIGHT_JOIN)
_BEFORE_A_TABLE = {TokenType.FROM, TokenType.JOIN, TokenType.COMMA, TokenType.L_PAREN}
_QUOTED = (TokenType.IDENTIFIER, TokenType.STRING)
_AFTER_TABLES = {
    TokenType.SELECT,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.QUALIFY,
    TokenType.WINDOW,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
}


def tokens_of(text: str) -> list[Token]:
    """The words of a text."""
    return _DIALECT.tokenize(text)


def trees_of(tokens: Sequence[Token], text: str) -> list[exp.Expr | None]:
    """The statements behind the words of a text."""
    _refuse_open_joins(tokens)
    words = [token.text.upper() for token in tokens]
    trees = _DIALECT.parser().parse(_apart(_synthetic_tables(tokens)), text)
    return [None if tree is None else _named(tree, words) for tree in trees]


def _refuse_open_joins(tokens: Sequence[Token]) -> None:
    """Refuse many joins that no condition follows.

    The parser tries each with all that follow inside it, finds no condition, and reads them once more: its time doubles
    with every such join, so that thirty would keep it for hours.
    """
    kinds = [token.token_type for token in tokens]
    if sum(map(kinds.count, _JOINS)) <= _OPEN_JOINS:
        return
    waiting = [0]  # by parentheses: joins that have no condition yet
    for index, kind in enumerate(kinds):
        if kind is TokenType.L_PAREN:
            waiting.append(0)
        elif kind is TokenType.R_PAREN and len(waiting) > 1:
            waiting.pop()
        elif kind in {TokenType.SELECT, TokenType.WHERE}:
            waiting[-1] = 0
        elif kind in {TokenType.ON, TokenType.USING}:
            waiting[-1] = max(0, waiting[-1] - 1)
        elif kind in _JOINS and kinds[index - 1] is not TokenType.CROSS:
            waiting[-1] += 1
        if waiting[-1] > _OPEN_JOINS:
            raise QuerySyntaxError(
                f"too many joins have no condition: at most {_OPEN_JOINS} are read",
                hint="add ON …, or write CROSS JOIN",
            )


def _apart(tokens: Sequence[Token]) -> list[Token]:
    """The same words, with the functions that other databases mean otherwise under names of our own."""
    apart = list(tokens)
    kinds = [token.token_type for token in tokens]
    for index, following in enumerate(kinds[1:]):
        called = following is TokenType.L_PAREN and kinds[index] not in _QUOTED
        if not called or (index and kinds[index - 1] is TokenType.DOT):
            continue
        token = tokens[index]
        if token.text.upper() in HABITS:
            where = (token.line, token.col, token.start, token.end)
            apart[index] = Token(TokenType.VAR, f"{_HABIT}{token.text}", *where, list(token.comments))
    return apart


def _synthetic_tables(tokens: Sequence[Token]) -> Sequence[Token]:
    """The same words, with one name for each `t SYNTHETIC` after FROM: one that no table has."""
    if not any(_says_synthetic(token) for token in tokens):
        return tokens
    read: list[Token] = []
    after_from = [False]  # by parentheses: whether tables are named there
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.L_PAREN:
            after_from.append(after_from[-1] and bool(read) and read[-1].token_type in _BEFORE_A_TABLE)
        elif kind is TokenType.R_PAREN and len(after_from) > 1:
            after_from.pop()
        elif kind is TokenType.FROM or kind in _AFTER_TABLES:
            after_from[-1] = kind is TokenType.FROM
        if after_from[-1] and _says_synthetic(token) and _ends_a_table(tokens, index):
            name = read.pop()
            token = Token(TokenType.IDENTIFIER, SYNTHETIC + name.text, name.line, name.col, name.start, token.end)  # noqa: PLW2901
        read.append(token)
    return read


def _says_synthetic(token: Token) -> bool:
    return token.token_type is TokenType.VAR and token.text.upper() == "SYNTHETIC"


def _ends_a_table(tokens: Sequence[Token], index: int) -> bool:
    """Whether what stands before this word is the name of a table, with its schemas or without."""
    name = index - 1
    while name >= 2 and tokens[name - 1].token_type is TokenType.DOT:
        name -= 2
    is_name = name >= 1 and (
        tokens[index - 1].token_type is TokenType.IDENTIFIER or tokens[index - 1].text.isidentifier()
    )
    return is_name and tokens[name - 1].token_type in _BEFORE_A_TABLE


def _named(tree: exp.Expr, words: Sequence[str]) -> exp.Expr:
    """The tree, with the calls of other databases read, and every call's name noted."""
    said = set(words)
    for node in reversed(list(tree.walk())):  # what stands within a call first
        if type(node) not in _WORDS and not isinstance(node, _NAMED):  # which goes by no name but its own
            continue
        if isinstance(node, exp.Cast) and not isinstance(node.args.get("to"), exp.DataType):  # TRY_CAST by another name
            raise QuerySyntaxError("a cast names no type", hint="write CAST(column AS INTEGER)")
        if isinstance(node, exp.Anonymous) and str(node.this).startswith(_HABIT):
            word = str(node.this).removeprefix(_HABIT)
            read = HABITS[word.upper()](list(node.expressions))
            read.meta.setdefault(SAID, word)
            node.replace(read)
        elif isinstance(node, _AROUND) and isinstance(node.this, exp.Expr):
            _note(node, _word(node.this, said))
        else:
            _note(node, _word(node, said))
    return tree


def _note(node: exp.Expr, word: str) -> None:
    if word:
        node.meta.setdefault(SAID, word)


def _word(node: exp.Expr, said: set[str]) -> str:
    """What a node was called: as the parser has noted, or by the one of its names that stands in the text."""
    noted = str((node._meta or {}).get(SAID, ""))  # noqa: SLF001 - `meta` would make a dict for every node
    names = () if noted else _WORDS.get(type(node), ())
    typed = [name for name in names if name in said]
    if type(node) is exp.Cast and "::" in said:  # which of them it is, is not told
        return ""
    return noted or (typed[0] if len(typed) == 1 else "")
