"""Cursors: DECLARE asks the question, FETCH and MOVE go about in its answer, CLOSE forgets it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tacit.faces.server.wire.executor import Executor
from tacit.faces.server.wire.faults import WireFault
from tacit.faces.server.wire.language.lexer import Lexed, Lexeme, Token
from tacit.faces.server.wire.outcome import Outcome
from tacit.faces.server.wire.portals import Bound, Portal, PreparedStatement

_FAR = 1 << 40
_STEPS = {"next": 1, "prior": -1, "forward": 1, "backward": -1}


@dataclass(frozen=True, slots=True)
class Move:
    """How a cursor moves: by so many rows from where it is, or to a row counted from an end."""

    count: int
    absolute: bool = False


async def declare(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    """DECLARE name [BINARY] [NO SCROLL] CURSOR [WITH HOLD] FOR question: it is asked, and charged, now."""
    tokens = prepared.statement.tokens
    index_of_for = next((index for index, token in enumerate(tokens) if token.says("for")), None)
    if index_of_for is None or index_of_for + 1 >= len(tokens):
        raise WireFault("42601", "DECLARE needs a question after FOR", position=tokens[-1].end + 1)
    options = [token.value for token in tokens[2:index_of_for]]
    holds = any(pair == ("with", "hold") for pair in pairwise(options))
    if not holds:
        executor.transaction.need("DECLARE CURSOR")
    name = tokens[1].value
    if name in executor.shelf.portals:
        raise WireFault("42P03", f'cursor "{name[:60]}" already exists')
    inner = await executor.prepare(prepared.statement.after(index_of_for + 1), prepared.types)
    if inner.route is None:
        raise WireFault("42601", "DECLARE takes a question", position=tokens[index_of_for + 1].start + 1)
    results = (1,) if "binary" in options else ()
    outcome = await executor.run(inner, replace(bound, results=results))
    portal = Portal(inner, Bound(results=results), outcome, holds=holds, is_cursor=True)
    executor.shelf.keep_portal(name, portal)
    return Outcome("DECLARE CURSOR", notices=outcome.notices)


async def fetch(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    """FETCH: the rows that the cursor passes."""
    portal, start, end, back = _moved(executor, prepared.statement)
    outcome = portal.outcome or Outcome("")
    if outcome.raw is not None:
        rows = outcome.raw[start:end]
        return replace(outcome, tag="FETCH {}", raw=rows[::-1] if back else rows, notices=())
    cells = list(outcome.cells[start:end])
    return replace(outcome, tag="FETCH {}", cells=cells[::-1] if back else cells, notices=())


async def move(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    """MOVE: how many rows it passes."""
    _, start, end, _ = _moved(executor, prepared.statement)
    return Outcome(f"MOVE {end - start}")


async def close(executor: Executor, prepared: PreparedStatement, bound: Bound) -> Outcome:
    """CLOSE one cursor, or ALL."""
    name = prepared.statement.tokens[-1]
    if name.says("all"):
        kept = {name: portal for name, portal in executor.shelf.portals.items() if not portal.is_cursor}
        executor.shelf.portals = kept
        return Outcome("CLOSE CURSOR ALL")
    executor.shelf.portal(name.value)
    del executor.shelf.portals[name.value]
    return Outcome("CLOSE CURSOR")


def _moved(executor: Executor, statement: Lexed) -> tuple[Portal, int, int, bool]:
    """The cursor, the rows it passes from the first up to an end, and whether it passes them backwards.

    `at` counts from 1: 0 stands before the first row, and one more than there are rows behind the last.
    """
    portal = executor.shelf.portal(statement.tokens[-1].value)
    count = len(portal.outcome or ())
    wish = _direction([token for token in statement.tokens[1:-1] if not token.says("from", "in")])
    at = portal.at
    if wish.absolute:
        target = wish.count if wish.count >= 0 else count + 1 + wish.count
        portal.at = min(max(target, 0), count + 1)
        inside = 1 <= target <= count
        return portal, target - 1 if inside else 0, target if inside else 0, False
    portal.at = min(max(at + wish.count, 0), count + 1)
    if wish.count > 0:
        return portal, min(at, count), min(portal.at, count), False
    if wish.count == 0:
        inside = 1 <= at <= count
        return portal, at - 1 if inside else 0, at if inside else 0, False
    return portal, max(portal.at - 1, 0), max(at - 1, 0), True


def _direction(tokens: Sequence[Token]) -> Move:
    if not tokens:
        return Move(1)
    first, rest = tokens[0], tokens[1:]
    if first.says("first", "last"):
        return Move(1 if first.says("first") else -1, absolute=True)
    if first.says("absolute", "relative"):
        return Move(_number(rest), absolute=first.says("absolute"))
    if first.says(*_STEPS):
        return Move(_STEPS[first.value] * (_number(rest) if rest else 1))
    return Move(_number(tokens))


def _number(tokens: Sequence[Token]) -> int:
    if tokens and tokens[0].says("all"):
        return _FAR
    sign = -1 if tokens and tokens[0].says("-") else 1
    digits = tokens[1:] if tokens and tokens[0].says("-", "+") else tokens
    if len(digits) != 1 or digits[0].kind is not Lexeme.NUMBER or not digits[0].value.isdigit():
        raise WireFault("42601", "a cursor moves by a whole number of rows")
    return sign * min(int(digits[0].value[:15]), _FAR)
