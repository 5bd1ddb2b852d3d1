"""Which names a query may use: the columns the policy declares for the tables it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from tacit.core import rational
from tacit.errors import InvalidParameter, QueryRefused, UnknownName
from tacit.policy import ColumnPolicy, ColumnType, Owner, TablePolicy, fold
from tacit.policy.reading.names import meant
from tacit.sql.expressions.calendar import is_moved, moved
from tacit.sql.expressions.names.nodes import paren, quoted_column
from tacit.sql.expressions.names.spoken import name_of as name_of  # noqa: PLC0414 - for who reads a scope

_DAY_LENGTH = len("2026-01-31")
_TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ)
_MAX_LISTED = 200  # characters of a list of columns
MAX_REPEATED = 50  # parts of an expression that is written out for every comparison with it
_MAX_NULLIFS = 3  # of them in each other: each is written out twice
Value = bool | int | Fraction | str | date | datetime | None


@dataclass(frozen=True, slots=True)
class ScopeSource:
    """One name after FROM, and what its columns are called in the relation."""

    alias: str
    columns: Mapping[str, str]  # by what the analyst writes, folded
    units: frozenset[str] = frozenset()  # the columns that name the unit, folded
    keys: Mapping[str, tuple[str, Owner]] = field(default_factory=dict)  # columns that lead to an owner, folded
    plain: Mapping[str, str] = field(default_factory=dict)  # what a name means without a qualifier, after USING
    missing: bool = False  # an outer join may have left all of its columns NULL
    matched: str | None = None  # the column that is NULL just where it has, if that is to be told from an empty cell
    table: str | None = None  # the table of the policy; None for a subquery
    public: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The relation a query reads, its columns' types, and the values of the query's parameters."""

    table: TablePolicy
    sources: tuple[ScopeSource, ...]
    parameters: Mapping[str, object]
    sql_types: Mapping[str, str] = field(default_factory=dict)  # the engine's own words, by the column's name, folded
    member: Callable[[exp.Expression], exp.Expression] | None = None  # what binds IN and EXISTS over a subquery
    scalar: Callable[[exp.Expression], tuple[exp.Expression, ColumnType, str]] | None = None  # a subquery for one value
    window: Callable[[exp.Window], object] | None = None  # a window over one unit's rows: its grid value, or a moment

    def column(self, node: exp.Column) -> tuple[ColumnPolicy, ColumnType]:
        """The declared column behind a name. An undeclared one is refused in the same words as an absent one."""
        link = self.link(node)
        if link is not None:
            raise QueryRefused(
                f"{node.name} is refused here: it is the link to {link}, and a value of it is one person's",
                hint=f"it joins tables, ties subqueries and is counted: COUNT({node.name})",
            )
        name = self._name(node)
        try:
            declared = self.table.column(name)
        except UnknownName as unknown:
            known = [column.name for column in self.table.visible]
            raise UnknownName(unknown.message, hint=_hint(node, known)) from None
        kind = declared.type or ColumnType.from_sql(self.sql_types.get(declared.name.casefold(), ""))
        if kind is None:
            raise QueryRefused(f"the column {declared.name} has a type that cannot be asked about")
        return declared, kind

    def is_unit(self, node: exp.Expression) -> bool:
        """Whether this is the column that identifies the privacy unit."""
        return isinstance(node, exp.Column) and any(fold(node.name) in source.units for source in self._named(node))

    def unit_column(self, node: exp.Expression) -> exp.Expression | None:
        """The column to look at where a unit may be missing from its own table; None where it never is."""
        owner = self.key(node)
        if owner is None or not isinstance(node, exp.Column):
            return None
        missing = any(source.missing for source in self._named(node) if fold(node.name) in source.keys)
        return quoted_column(owner[0]) if missing else None

    def key(self, node: exp.Expression) -> tuple[str, Owner] | None:
        """The key behind a name: what the relation calls it, and what it is a key of."""
        if not isinstance(node, exp.Column):
            return None
        keys = [source.keys[fold(node.name)] for source in self._named(node) if fold(node.name) in source.keys]
        return keys[0] if keys else None

    def knows(self, node: exp.Column) -> bool:
        """Whether a name is one of its tables' columns or keys; after a table of its own, whatever it is."""
        if node.table:
            return bool(self._named(node))
        name = fold(node.name)
        return any(name in source.columns or name in source.keys or name in source.plain for source in self.sources)

    def table_has(self, name: str) -> bool:
        """Whether the relation has a column of this name, its keys among them."""
        keys = [internal for source in self.sources for internal, _ in source.keys.values()]
        known = (self.table.unit_column or "", *keys, *(column.name for column in self.table.columns))
        return fold(name) in map(fold, known)

    def matched(self, name: str) -> exp.Expression | None:
        """The condition that a column of the relation has a cell, where an outer join may have left it without one."""
        held = next((source for source in self.sources if name in source.columns.values()), None)
        if held is None or held.matched is None:
            return None
        marker = quoted_column(held.matched)
        return exp.Not(this=exp.Is(this=marker, expression=exp.null()))

    def origin(self, name: str) -> tuple[str | None, str]:
        """The table of the policy that a column of the relation is from, and its name there; no table: a subquery."""
        for source in self.sources:
            for written, internal in source.columns.items():
                if internal == name:
                    return source.table, written if fold(name) != written else name
        return None, name

    def alias_of(self, name: str) -> str | None:
        """What the analyst calls the source of a column of the relation."""
        return next((source.alias for source in self.sources if name in source.columns.values()), None)

    @property
    def private_tables(self) -> tuple[str, ...]:
        """The tables of the policy whose rows have owners."""
        named = (source.table or source.alias for source in self.sources if not source.public)
        return tuple(dict.fromkeys(named))

    def link(self, node: exp.Expression) -> Owner | None:
        """What a name is the key of, where it is a key and no column that the policy gives to analysts."""
        owner = self.key(node)
        if owner is None or not isinstance(node, exp.Column):
            return None
        declared = any(fold(node.name) in source.columns for source in self._named(node))
        return None if declared else owner[1]

    def known_as(self, node: exp.Column) -> str:
        """What the relation calls a column or a key, or what the analyst does where it is none."""
        held = self.key(node)
        if held is not None and self.link(node) is not None:
            return held[0]
        try:
            return self._name(node)
        except (UnknownName, QueryRefused):
            return f"{node.table}.{node.name}" if node.table else node.name

    def _name(self, node: exp.Column) -> str:
        """What the relation calls the column that the analyst wrote."""
        if node.args.get("db") or node.args.get("catalog"):
            raise UnknownName(f"there is no column {node.sql()[:60]}", hint="write column or table.column")
        sources = self._named(node)
        if not sources:
            named = " and ".join(source.alias for source in self.sources)
            raise UnknownName(f"there is no table {node.table[:60]} in this query", hint=f"FROM names {named}")
        if not node.table and fold(node.name) in sources[0].plain:
            return sources[0].plain[fold(node.name)]
        holders = [source for source in sources if fold(node.name) in source.columns]
        if len({source.columns[fold(node.name)] for source in holders}) > 1:
            one, other = holders[0].alias, holders[1].alias
            raise QueryRefused(f"{node.name} is in {one} and in {other}", hint=f"write {one}.{node.name}")
        if not holders and len(self.sources) > 1:
            known = [name for source in sources for name in source.columns]
            raise UnknownName(f"unknown column {node.name!r}: the policy does not name it", hint=_hint(node, known))
        return holders[0].columns[fold(node.name)] if holders else node.name

    def _named(self, node: exp.Column) -> list[ScopeSource]:
        """The tables that a column's name may be of."""
        return [source for source in self.sources if not node.table or fold(node.table) == fold(source.alias)]

    def value(self, node: exp.Expression) -> Value:
        """The value of a literal or a parameter."""
        if isinstance(node, exp.Paren):
            return self.value(node.this)
        if isinstance(node, exp.Neg):
            return _negated(self.value(node.this))
        if isinstance(node, exp.Placeholder):
            return self._parameter(node)
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
            return _typed_literal(node)
        if is_moved(node, self._is_moment):
            return moved(node, self.value)
        return self._made_date(node) if isinstance(node, exp.DateFromParts) else _plain_literal(node)

    def _made_date(self, node: exp.DateFromParts) -> date:
        """MAKE_DATE(2026, 1, 31)."""
        return _date_of([self.value(node.args[name]) for name in ("year", "month", "day")])

    def is_constant(self, node: exp.Expression) -> bool:
        """Whether `value` can read this node."""
        if isinstance(node, (exp.Paren, exp.Neg)):
            return self.is_constant(node.this)
        if isinstance(node, exp.Cast):
            return isinstance(node.this, exp.Literal) and node.to.this in (exp.DType.DATE, *_TIMESTAMPS)
        if isinstance(node, exp.DateFromParts):  # MAKE_DATE(2026, 1, 31)
            return all(isinstance(part, (exp.Literal, exp.Placeholder)) for part in node.args.values())
        return isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.Placeholder)) or is_moved(
            node, self._is_moment
        )

    def _is_moment(self, node: exp.Expression) -> bool:
        """Whether a constant is a date or a timestamp, by its form or its parameter's value."""
        if isinstance(node, exp.Paren):
            return self._is_moment(node.this)
        if isinstance(node, exp.Placeholder):
            return isinstance(self.parameters.get(str(node.args.get("this") or "")), date)
        return is_moved(node, self._is_moment) or (
            isinstance(node, (exp.Cast, exp.DateFromParts)) and self.is_constant(node)
        )

    def _parameter(self, node: exp.Placeholder) -> Value:
        return parameter_value(self.parameters, node)


def parameter_value(parameters: Mapping[str, object], node: exp.Placeholder) -> Value:
    """The value that a parameter was given."""
    key = str(node.args.get("this") or "")
    if key not in parameters:
        raise QueryRefused(f"the parameter {key or '?'} has no value", hint="give one value for each ? or :name")
    return _parameter_value(parameters[key], key)


def _hint(node: exp.Column, known: Sequence[str]) -> str:
    """What was probably meant by a name that nobody knows."""
    if isinstance(node.this, exp.Identifier) and node.this.quoted:
        return f"text stands between single quotes: '{node.name[:40]}'"
    listed = ", ".join(dict.fromkeys(known))
    shown = listed if len(listed) <= _MAX_LISTED else f"{listed[:_MAX_LISTED].rpartition(',')[0]}, …"
    return meant(node.name, known) or (f"the columns are {shown}" if shown else "")


def _parameter_value(value: object, name: str) -> Value:
    if isinstance(value, datetime):
        return _zoneless(value)
    if isinstance(value, str):
        return _sound(value)
    if value is None or isinstance(value, (bool, date)):
        return value
    if isinstance(value, (int, float, Decimal, Fraction)):
        return _whole(rational(value, f"the parameter {name}"))
    raise InvalidParameter(
        f"the parameter {name} is a {type(value).__name__}: give text, a number, a date or a truth value",
        hint="a list stands after ANY: dept = ANY(?)" if isinstance(value, (list, tuple)) else "",
    )


def _sound(text: str) -> str:
    """A text that SQL can carry: no engine is told of half a character, nor of a NUL that might end its statement."""
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise QueryRefused("a text holds a character that no column can: NUL or half of a pair")
    return text


def _zoneless(moment: datetime) -> datetime:
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def _whole(number: Fraction) -> int | Fraction:
    return int(number) if number.denominator == 1 else number


def _negated(value: Value) -> Value:
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return -value
    raise QueryRefused("a minus stands before something that is not a number")


def _plain_literal(node: exp.Expression) -> Value:
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if not isinstance(node, exp.Literal):
        raise QueryRefused(
            f"{name_of(node)} is refused here: a constant is needed",
            hint="write the value itself, or ? and give it as a parameter",
        )
    return _sound(str(node.this)) if node.is_string else _whole(rational(str(node.this), "a number"))


def _date_of(parts: list[Value]) -> date:
    try:
        year, month, day = (part for part in parts if type(part) is int)
        return date(year, month, day)
    except (ValueError, OverflowError):
        raise QueryRefused("MAKE_DATE needs a year, a month and a day that there is") from None


def _typed_literal(node: exp.Cast) -> Value:
    text, kind = str(node.this.this), node.to.this
    try:
        if kind is exp.DType.DATE:  # of a moment, its day: so PostgreSQL reads it, and Grafana writes it
            return date.fromisoformat(text) if len(text) == _DAY_LENGTH else datetime.fromisoformat(text).date()
        if kind in _TIMESTAMPS:
            return _zoneless(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise QueryRefused(f"{text[:40]!r} is not a date", hint="write DATE '2026-01-31'") from None
    raise QueryRefused("only DATE and TIMESTAMP can stand before a text", hint="write DATE '2026-01-31'")


def written_twice(node: exp.Expression) -> exp.Expression:
    """A node that will stand in several places. Were a CASE among its parts, its copies would multiply by the level.

    NULLIF stands in itself often enough (a / NULLIF(NULLIF(b, 0), 1)): a few of them may.
    """
    size = sum(1 for _ in node.walk())
    nullifs = sum(1 for _ in node.find_all(exp.Nullif))
    if size > MAX_REPEATED or nullifs > _MAX_NULLIFS or node.find(exp.Case, exp.Between):
        raise QueryRefused(
            "what is compared several times is too long: it would be written out again for each comparison",
            hint="BETWEEN, NULLIF and CASE … WHEN need a column or a short expression without CASE",
        )
    return node


def chain(node: exp.Expression) -> list[exp.Expression]:
    """The parts of a long AND or OR, from left to right."""
    return [part for part in node.flatten() if isinstance(part, exp.Expression)]


def bare(node: exp.Expression) -> exp.Expression:
    """The expression without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def conjuncts(node: exp.Expression) -> list[exp.Expression]:
    """The conditions that must all hold."""
    node = bare(node)
    return [each for part in chain(node) for each in conjuncts(part)] if isinstance(node, exp.And) else [node]


def all_of(conditions: list[exp.Expression]) -> exp.Expression | None:
    """One condition that holds where all of these do."""
    whole: exp.Expression | None = None
    for condition in conditions:
        part = paren(condition) if isinstance(condition, exp.Or) else condition
        whole = part if whole is None else exp.And(this=whole, expression=part)
    return whole
