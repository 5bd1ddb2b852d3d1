"""Conditions that a text matches a pattern: comparisons of fixed places, or an automaton where there are none."""

from __future__ import annotations

import itertools

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions import logic
from tacit.sql.expressions.names.nodes import paren
from tacit.sql.expressions.names.printing import copied
from tacit.sql.expressions.names.scope import Scope, name_of
from tacit.sql.expressions.operands import of_kind
from tacit.sql.expressions.text import regular
from tacit.sql.expressions.text.places import Places, places
from tacit.sql.expressions.text.regular import Letters, Pattern
from tacit.sql.expressions.text.texts import first, last, placed

AUTOMATON = "REGEXP_MATCHES"  # DuckDB's; emitted for no other engine


def matches(node: exp.Expression, scope: Scope) -> exp.Expression:
    """REGEXP_MATCHES, ~, REGEXP_FULL_MATCH, SIMILAR TO and their like, of a constant pattern."""
    text = of_kind(node.this, {ColumnType.TEXT}, scope=scope, where=name_of(node))
    value = scope.value(node.expression) if scope.is_constant(node.expression) else None
    if not isinstance(value, str):
        raise QueryRefused(
            f"{name_of(node)} needs a constant pattern: one that comes from a row could be anything",
            hint="write it out, as in REGEXP_MATCHES(code, '^J4[0-7]')",
        )
    if isinstance(node, exp.SimilarTo):
        return matched(text.sql, regular.read_similar(value))
    blind = isinstance(node, exp.RegexpILike) or _is_blind(node, scope)
    whole = isinstance(node, exp.RegexpFullMatch)
    return matched(text.sql, regular.read(value, blind=blind, whole=whole))


def _is_blind(node: exp.Expression, scope: Scope) -> bool:
    flag = node.args.get("flag") or node.args.get("options")
    if flag is None:
        return False
    value = scope.value(flag)
    if value not in ("i", "c", ""):
        raise QueryRefused(f"{name_of(node)} takes no such option", hint="'i' takes capital for small letters")
    return value == "i"


def matched(text: exp.Expression, pattern: Pattern) -> exp.Expression:
    """The condition that a text matches."""
    ways = places(pattern)
    if ways is None:
        written = exp.Literal.string(regular.written(pattern.node))
        return exp.Anonymous(this=AUTOMATON, expressions=[text, written])
    return logic.joined(exp.Or, [paren(_way(text, way)) for way in dict.fromkeys(ways)])


def _way(text: exp.Expression, way: Places) -> exp.Expression:
    """That some characters stand at the start of a text, at its end, or both."""
    size = len(way.letters)
    plain = _plain(way.letters)
    if plain is not None and way.start and way.end:
        return exp.EQ(this=copied(text), expression=exp.Literal.string(plain))
    if plain is not None:
        return placed(copied(text), plain, at="start" if way.start else "end" if way.end else "within")
    part = text if way.start else last(copied(text), size)
    kind = exp.EQ if way.start and way.end else exp.GTE
    length = exp.Length(this=copied(text))
    held: list[exp.Expression] = [kind(this=length, expression=exp.Literal.number(size))]
    for is_plain, run in itertools.groupby(enumerate(way.letters), key=lambda each: _plain((each[1],)) is not None):
        group = list(run)
        if is_plain:
            held.append(_at(part, group[0][0], _plain([letters for _, letters in group]) or ""))
        else:
            held += [_among(part, index, letters) for index, letters in group]
    return logic.joined(exp.And, [paren(each) for each in held])


def _plain(letters: tuple[Letters, ...] | list[Letters]) -> str | None:
    """The text that these characters are, if each is a certain one."""
    listed = [each.listed() for each in letters]
    if any(each.but for each in letters) or any(each is None or len(each) != 1 for each in listed):
        return None
    return "".join(each[0] for each in listed if each)


def _piece(text: exp.Expression, index: int, size: int) -> exp.Expression:
    if index == 0:
        return first(copied(text), size)
    return exp.Substring(this=copied(text), start=exp.Literal.number(index + 1), length=exp.Literal.number(size))


def _at(text: exp.Expression, index: int, plain: str) -> exp.Expression:
    return exp.EQ(this=_piece(text, index, len(plain)), expression=exp.Literal.string(plain))


def _among(text: exp.Expression, index: int, letters: Letters) -> exp.Expression:
    listed = [exp.Literal.string(each) for each in letters.listed() or ()]
    among = exp.In(this=_piece(text, index, 1), expressions=listed or [exp.Literal.string("")])
    return exp.Not(this=paren(among)) if letters.but else among


def unescaped(text: exp.Expression, pattern: str, sign: str) -> exp.Expression:
    """The condition behind LIKE with ESCAPE, by where the text in its pattern stands."""
    letters: list[tuple[str, bool]] = []  # and whether it is to be taken as it is
    waiting = iter(pattern)
    for letter in waiting:
        escaped = letter == sign
        letters.append((next(waiting, "") if escaped else letter, escaped or letter not in "%_"))
    start, end = (bool(letters) and letters[index] == ("%", False) for index in (0, -1))
    middle = letters[start : len(letters) - end] if len(letters) > 1 else ([] if start else letters)
    if not all(is_plain and letter for letter, is_plain in middle):
        raise QueryRefused(
            "LIKE with ESCAPE is refused where % or _ stand in the middle",
            hint="write LIKE 'text!_%' ESCAPE '!', or two conditions with AND",
        )
    needle = "".join(letter for letter, _ in middle)
    if not start and not end:
        return exp.EQ(this=text, expression=exp.Literal.string(needle))
    return placed(text, needle, at="within" if start and end else "start" if end else "end")
