"""A cursor over the tokens of a query."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuerySyntaxError


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
        """As `take`, but it must be there."""
        text = self.take(kind)
        if text is None:
            found = self.next_text()[:40] or "the end"
            raise QuerySyntaxError(f"the query cannot be read: expected {what}, found {found}")
        return text

    def skip(self) -> None:
        """Step over the next token."""
        self.position += 1

    def first_word(self) -> str:
        """What the query starts with, for a message."""
        return self._tokens[0].text.split()[0].upper()[:40] if self._tokens and self._tokens[0].text.strip() else "this"

    def rest_as_select(self, parameters_used: int) -> list[Token]:
        """The tokens not yet read, with a SELECT put before them and each `?` given its number."""
        rest = self._tokens[self.position :]
        if not rest:
            hint = "name what to select: DP-SELECT 0.5 COUNT(*) FROM t"
            raise QuerySyntaxError("the query ends after its price", hint=hint)
        first = rest[0]
        tokens = [Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.start)]
        place = parameters_used
        for token in rest:
            if token.token_type is TokenType.PLACEHOLDER:
                place += 1
                where = (token.line, token.col, token.start, token.end)
                tokens += [Token(TokenType.PARAMETER, "$", *where), Token(TokenType.NUMBER, str(place), *where)]
            else:
                tokens.append(token)
        return tokens
