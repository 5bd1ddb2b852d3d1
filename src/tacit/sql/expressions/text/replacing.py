"""Parts of a text that match a regular expression: taken out, or replaced by others.

In plain words where there are some, which every engine has; else by DuckDB's automaton, linear whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from tacit.errors import QueryRefused
from tacit.policy import ColumnType
from tacit.sql.expressions.names.scope import Scope, name_of
from tacit.sql.expressions.operands import Operand, literal, of_kind
from tacit.sql.expressions.text import regular
from tacit.sql.expressions.text.regular import InTurn, Letters, Node, Pattern, Repeat
from tacit.sql.expressions.text.texts import MAX_CONSTANT, grown, held

_OPTIONS = frozenset({"", "g", "i", "c", "gi", "ig", "gc", "cg"})
_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)


def _pattern(node: exp.Expression, scope: Scope, *, blind: bool) -> Pattern:
    written = node.args.get("expression")
    value = scope.value(written) if isinstance(written, exp.Expression) and scope.is_constant(written) else None
    if not isinstance(value, str):
        raise QueryRefused(
            f"{name_of(node)} needs a constant pattern: one that comes from a row could be anything",
            hint=f"write it out, as in {name_of(node)}(page, '/([a-z]+)', …)",
        )
    return regular.read(value, blind=blind, parts=True)


def _option(node: exp.Expression, scope: Scope, name: str) -> str:
    written = node.args.get(name)
    value = scope.value(written) if isinstance(written, exp.Expression) else ""
    if value not in _OPTIONS:
        raise QueryRefused(
            f"{name_of(node)} takes no such option", hint="'g' replaces all, 'i' takes capital for small"
        )
    return str(value)


def _only(node: exp.Expression, names: set[str]) -> None:
    """Refuse an argument that would go unread; flags are the parser's own."""
    if any(value and not isinstance(value, bool) and name not in names for name, value in node.args.items()):
        raise QueryRefused(f"{name_of(node)} is refused with so many arguments")


def _replaced(node: exp.Expression, scope: Scope) -> Operand:
    """REGEXP_REPLACE(text, pattern, replacement, options): the first match, or with 'g' all of them."""
    _only(node, {"this", "expression", "replacement", "modifiers"})
    text = of_kind(node.this, {ColumnType.TEXT}, scope=scope, where=name_of(node))
    options = _option(node, scope, "modifiers")
    pattern = _pattern(node, scope, blind="i" in options)
    given = node.args.get("replacement")
    new = scope.value(given) if isinstance(given, exp.Expression) and scope.is_constant(given) else None
    if not isinstance(new, str) or len(new) > MAX_CONSTANT:
        raise QueryRefused(f"{name_of(node)} needs a constant text to put in, of at most {MAX_CONSTANT:,} characters")
    count = _references(new, pattern, node)
    every = "g" in options
    times = text.times * (1 + count + (len(new) if every else 0)) + (0 if every else 1)
    sql = held(text).sql if times > text.times else text.sql
    return grown(_in_words(sql, pattern.node, new, every) or _by_automaton(sql, pattern, new, every), times)


def _references(new: str, pattern: Pattern, node: exp.Expression) -> int:
    """How many groups are put in again; what else follows a backslash is refused."""
    most = regular.groups(pattern.node)
    marks = _REFERENCE.findall(new)
    if any(not (mark == "\\" or (mark.isascii() and mark.isdigit() and int(mark) <= most)) for mark in marks):
        raise QueryRefused(
            f"{name_of(node)} puts in a group that its pattern does not have", hint=r"\1 is the first (…), \0 the whole"
        )
    return sum(mark != "\\" for mark in marks)


def _by_automaton(text: exp.Expression, pattern: Pattern, new: str, every: bool) -> exp.Expression:
    arguments = [text, literal(regular.written(pattern.node)), literal(new), *([literal("g")] if every else [])]
    return exp.Anonymous(this="REGEXP_REPLACE", expressions=arguments)


def _in_words(text: exp.Expression, node: Node, new: str, every: bool) -> exp.Expression | None:
    """The same by REPLACE or TRANSLATE, which every engine has: all of a constant text, or of some characters."""
    if not every or "\\" in new:
        return None
    plain = _plain(node)
    if plain:
        return exp.Anonymous(this="REPLACE", expressions=[text, literal(plain), literal(new)])
    several = isinstance(node, Repeat) and (node.least, node.most) == (1, None)
    letters = node.part if several and isinstance(node, Repeat) else node
    listed = letters.listed() if isinstance(letters, Letters) and not letters.but else None
    if not listed or new:
        return None
    return exp.Anonymous(this="TRANSLATE", expressions=[text, literal("".join(listed)), literal("")])


def _plain(node: Node) -> str | None:
    """The text that a pattern is, if it is one."""
    parts = node.parts if isinstance(node, InTurn) else (node,)
    listed = [part.listed() if isinstance(part, Letters) and not part.but else None for part in parts]
    return "".join(each[0] for each in listed if each) if all(each and len(each) == 1 for each in listed) else None


def _extracted(node: exp.Expression, scope: Scope) -> Operand:
    """REGEXP_EXTRACT(text, pattern, group): the first match, or a group of it; '' where nothing matches."""
    _only(node, {"this", "expression", "group", "parameters"})
    text = of_kind(node.this, {ColumnType.TEXT}, scope=scope, where=name_of(node))
    pattern = _pattern(node, scope, blind="i" in _option(node, scope, "parameters"))
    written = node.args.get("group")
    group = scope.value(written) if isinstance(written, exp.Expression) and scope.is_constant(written) else 0
    if type(group) is not int or not 0 <= group <= min(regular.groups(pattern.node), 9):
        raise QueryRefused(
            f"{name_of(node)} needs the number of a group that its pattern has",
            hint="0 is the whole match, 1 the first (…)",
        )
    arguments = [text.sql, literal(regular.written(pattern.node)), literal(group)]
    return grown(exp.Anonymous(this="REGEXP_EXTRACT", expressions=arguments), text.times)


REPLACING: dict[type[exp.Expression], Callable[[exp.Expression, Scope], Operand]] = {
    exp.RegexpReplace: _replaced,
    exp.RegexpExtract: _extracted,
}
