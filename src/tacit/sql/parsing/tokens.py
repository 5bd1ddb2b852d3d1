"""A cursor over the tokens of a query."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuerySyntaxError

_BEGINS = {TokenType.SELECT, TokenType.PIVOT, TokenType.FROM}
_ENDS_A_LIST = {
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.QUALIFY,
    TokenType.WINDOW,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
    TokenType.UNION,
    TokenType.EXCEPT,
    TokenType.INTERSECT,
}


class Cursor:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self.position = 0

    def sees(self, kind: TokenType) -> bool:
        """Whether the next token is of this kind."""
        return self.position < len(self._tokens) and self._tokens[self.position].token_type is kind

    def next_text(self) -> str:
        """The next token's text, in capitals; empty at the end."""
        return self._tokens[self.position].text.upper() if self.position < len(self._tokens) else ""

    def takes(self, word: str) -> bool:
        """Step over the next token if it is this bare word or sign."""
        if self.next_text() != word or self.sees(TokenType.IDENTIFIER) or self.sees(TokenType.STRING):
            return False
        self.position += 1
        return True

    def take(self, kind: TokenType) -> str | None:
        """The next token's text if it is of this kind, stepped over."""
        if not self.sees(kind):
            return None
        self.position += 1
        return self._tokens[self.position - 1].text

    def needs(self, kind: TokenType, what: str) -> str:
        """The next token's text, stepped over; QuerySyntaxError where it is not of this kind."""
        text = self.take(kind)
        if text is None:
            seen = self.next_text()[:40] or "the end"
            raise QuerySyntaxError(f"the query cannot be read: expected {what}, found {seen}")
        return text

    def skip(self) -> None:
        """Step over the next token."""
        self.position += 1

    def first_word(self) -> str:
        """What the query starts with, for a message."""
        return self._tokens[0].text.split()[0].upper()[:40] if self._tokens and self._tokens[0].text.strip() else "this"

    def with_clause(self) -> list[Token]:
        """The WITH that stands before the question, taken off; empty if there is none."""
        if not self.sees(TokenType.WITH):
            return []
        depth = 0
        for index, token in enumerate(self._tokens):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            following = self._tokens[index + 1].text if index + 1 < len(self._tokens) else ""
            is_question = token.token_type in _BEGINS or (token.text.upper() == "DP" and following == "-")
            if index and depth == 0 and is_question:
                clause, self._tokens = self._tokens[:index], self._tokens[index:]
                return clause
        raise QuerySyntaxError("the query ends after WITH", hint="write WITH t AS (SELECT …) DP-SELECT 0.5 … FROM t")

    def select_first(self) -> None:
        """FROM t SELECT a, b WHERE …, as DuckDB has it: the list before FROM."""
        if self.position or not self.sees(TokenType.FROM):
            return
        depth, start, end = 0, len(self._tokens), len(self._tokens)
        for index, token in enumerate(self._tokens):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if depth == 0 and token.token_type is TokenType.SELECT and start > index:
                priced = index > 1 and [each.text.upper() for each in self._tokens[index - 2 : index]] == ["DP", "-"]
                start = index - 2 if priced else index
            elif depth == 0 and token.token_type in _ENDS_A_LIST and start < index:
                end = index
                break
        if start < end:
            self._tokens = [*self._tokens[start:end], *self._tokens[:start], *self._tokens[end:]]

    def pivot_as_select(self) -> None:
        """PIVOT … alone is SELECT * FROM (PIVOT …)."""
        if not self.sees(TokenType.PIVOT):
            return
        first, depth, end = self._tokens[self.position], 0, len(self._tokens)
        for index in range(self.position, len(self._tokens)):
            kind = self._tokens[index].token_type
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(kind, 0)
            if depth == 0 and kind in {TokenType.ORDER_BY, TokenType.LIMIT}:
                end = index  # they order what PIVOT gives
                break
        last = self._tokens[end - 1]
        where = (first.line, first.col, first.start, first.start)
        words = (
            (TokenType.SELECT, "SELECT"),
            (TokenType.STAR, "*"),
            (TokenType.FROM, "FROM"),
            (TokenType.L_PAREN, "("),
        )
        before = [Token(kind, text, *where) for kind, text in words]
        after = Token(TokenType.R_PAREN, ")", last.line, last.col, last.end, last.end)
        rows = self._tokens[self.position : end]
        self._tokens = [*self._tokens[: self.position], *before, *rows, after, *self._tokens[end:]]

    def rest_as_select(self, parameters_used: int, *, clause: list[Token]) -> list[Token]:
        """The tokens not yet read, with a SELECT put before them, a WITH before that, and each `?` given its number."""
        rest = self._tokens[self.position :]
        if not rest:
            hint = "name what to select: DP-SELECT 0.5 COUNT(*) FROM t"
            raise QuerySyntaxError("the query ends after its price", hint=hint)
        first = rest[0]
        select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)
        tokens: list[Token] = []
        number = parameters_used
        for token in (*clause, select, *rest):
            if token.token_type is TokenType.PLACEHOLDER:
                number += 1
                where = (token.line, token.col, token.start, token.end)
                tokens += [Token(TokenType.PARAMETER, "$", *where), Token(TokenType.NUMBER, str(number), *where)]
            else:
                tokens.append(token)
        return tokens


_ENDS_A_VALUE = {TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING}


def without_brackets(tokens: list[Token], text: str) -> list[Token]:
    """Names in brackets, as SQL Server quotes them, as names: all of them, or none where some bracket holds a list."""
    if not any(token.token_type is TokenType.L_BRACKET for token in tokens):
        return tokens
    read: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        last = index and tokens[index - 1].token_type in _ENDS_A_VALUE
        if token.token_type is not TokenType.L_BRACKET or (last and not _ends_top(tokens[:index])):
            read.append(token)
            index += 1
            continue
        end = next((i for i in range(index, len(tokens)) if tokens[i].token_type is TokenType.R_BRACKET), 0)
        inside = tokens[index + 1 : end]
        if not inside or not all(
            each.text.replace("_", "a").isalnum() and not each.text[0].isdigit() for each in inside
        ):
            return tokens
        name = text[token.end + 1 : tokens[end].start]
        read.append(Token(TokenType.IDENTIFIER, name, token.line, token.col, token.start, tokens[end].end))
        index = end + 1
    return read


def _ends_top(tokens: list[Token]) -> bool:
    """Whether the last words are TOP (10), after which a list of columns begins."""
    kinds = [token.token_type for token in tokens[-3:]]
    return (
        kinds == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]
        and len(tokens) > 3
        and tokens[-4].text.upper() == "TOP"
    )


def without_raw_marks(tokens: list[Token]) -> list[Token]:
    """The tokens without the r of r'^/blog', as BigQuery writes a text in which a backslash is one: all texts are."""
    after: list[Token | None] = [*tokens[1:], None]
    return [
        token
        for token, following in zip(tokens, after, strict=False)  # of none there is none after it
        if following is None
        or following.token_type is not TokenType.STRING
        or (token.token_type, token.text.lower(), token.end + 1) != (TokenType.VAR, "r", following.start)
    ]


def without_response(tokens: list[Token]) -> tuple[list[Token], bool]:
    """The tokens without `USING RANDOMISED RESPONSE`, and whether it was there."""
    for index in range(len(tokens) - 2):
        if tokens[index].token_type is not TokenType.USING:
            continue
        using, randomised, response = tokens[index : index + 3]
        said = (randomised.token_type, response.token_type) == (TokenType.VAR, TokenType.VAR)
        words = randomised.text.upper() in _RANDOMISED and response.text.upper() == "RESPONSE"
        if using.token_type is TokenType.USING and said and words:
            return tokens[:index] + tokens[index + 3 :], True
    return tokens, False


_RANDOMISED = {"RANDOMISED", "RANDOMIZED"}
