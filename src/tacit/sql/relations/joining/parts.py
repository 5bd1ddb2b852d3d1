"""One table among several: its rows with their owner, under names that no other table has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlglot import exp

from tacit.errors import QueryRefused, UnknownName
from tacit.policy import (
    ColumnPolicy,
    ColumnType,
    Owner,
    Policy,
    Schema,
    TableDomain,
    TablePolicy,
    UnitForm,
    fold,
    key_of,
    lookups,
    owner_of,
    root_of,
)
from tacit.policy.reading.names import MAX_NAME, is_column_name
from tacit.policy.tables.two_owners import two_owners_refused
from tacit.sql.expressions.cells import identified
from tacit.sql.expressions.names.nodes import aliased, joined, quoted_column, table_as
from tacit.sql.expressions.names.printing import copied, table_named
from tacit.sql.expressions.names.scope import ScopeSource, name_of
from tacit.sql.parsing.schemas import is_in_our_schema

OWNER = " u"  # the owner of a subquery's rows: no column of a policy begins with a space
_SHOWN = 100  # characters of a name that is made longer


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table as it is named after FROM."""

    alias: str
    table: TablePolicy
    types: Mapping[str, str]  # the engine's words, by column as the source spells it
    columns: tuple[ColumnPolicy, ...]  # those that analysts may use
    keys: Mapping[str, Owner]  # columns, folded, that name an owner or lead to one
    owner: Owner | None
    derived: exp.Select | None = None  # the rows of a subquery: owner, keys and columns under their own names
    listed: tuple[str, ...] = ()  # the columns and keys of a subquery in their order, folded
    link: str | None = None  # the column, folded, by which the owner of a row is looked up in another table
    hops: int = 0  # how many tables away it is
    tied: bool = False  # a subquery's rows are held to a row outside by that column, and so need no look-up
    growth: int = 1  # how many of its rows one row of a table can have become
    unique: frozenset[str] | None = None  # a subquery has one row for each owner and value of these columns, folded

    @property
    def is_private(self) -> bool:
        """Whether its rows have owners."""
        return not self.table.public


def base(node: exp.Expression, policy: Policy, *, schema: Schema) -> NamedTable:
    """The table of the policy behind one name after FROM."""
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        what = name_of(node.this) if isinstance(node, exp.Table) else name_of(node)
        raise QueryRefused(
            f"{what} is refused after FROM: a table of the policy is needed",
            hint=f"the tables are {', '.join(table.name for table in policy.tables)[:200]}",
        )
    if node.args.get("sample"):
        raise QueryRefused("TABLESAMPLE is refused: which rows stay would depend on everybody", hint="leave it out")
    extra = [
        name for name, value in node.args.items() if value and name not in {"this", "alias", "db", "catalog", "joins"}
    ]
    if extra or not is_in_our_schema(node) or node.args.get("joins"):
        raise UnknownName(f"there is no table {node.sql()[:60]}", hint="write the table's name alone")
    table = policy.table(node.name)
    if table.units:
        raise two_owners_refused(table.name, table.units, what="a subquery, a view or a join over it")
    alias = node.alias or table.name
    if not isinstance(schema, KnownTables):
        return _named_table(alias, table, policy, schema=schema)
    known = schema.known(table.name, policy, lambda: _named_table(table.name, table, policy, schema=schema))
    return known if alias == known.alias else replace(known, alias=alias)


class KnownTables(dict[str, Mapping[str, str]]):
    """A schema that remembers what each table of a policy is, which follows from the two of them alone."""

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._tables: dict[str, tuple[Policy, NamedTable]] = {}

    def known(self, table: str, policy: Policy, describe: Callable[[], NamedTable]) -> NamedTable:
        """What `describe` says of a table, asked once for each policy: it is frozen, and so nobody can change it."""
        seen = self._tables.get(table)
        if seen is None or seen[0] is not policy:
            seen = self._tables[table] = policy, describe()
        return seen[1]


def _named_table(alias: str, table: TablePolicy, policy: Policy, *, schema: Schema) -> NamedTable:
    # identifiers have one spelling, which is declared where the links end
    root = root_of(policy.tables, table)
    table = table if root is table else replace(table, unit_form=root.unit_form)
    types = _of_table(schema, table)
    keys = {} if table.public else _keys(policy, table, schema)
    hops = 0 if table.public else len(lookups(policy.tables, table))
    link = fold(table.unit_column or "") if hops else None
    owner = owner_of(policy.tables, table)
    columns = _columns(table, types)
    held, leading = MappingProxyType(dict(types)), MappingProxyType(keys)  # shared by questions: nobody changes them
    return NamedTable(alias, table, held, columns, leading, owner, link=link, hops=hops)


def _columns(table: TablePolicy, types: Mapping[str, str]) -> tuple[ColumnPolicy, ...]:
    """The named columns; of a public table, all. Its values are public, so each column is its own domain."""
    if not table.public:
        return tuple(column for column in table.visible if not table.is_unit(column.name))
    known = {fold(column.name): column for column in table.columns}
    unnamed = [ColumnPolicy(name) for name in types if fold(name) not in known and is_column_name(name)]
    return tuple(
        column if column.domain is not None else replace(column, domain=TableDomain(table.name, column.name))
        for column in (*table.visible, *unnamed)
    )


def _keys(policy: Policy, table: TablePolicy, schema: Schema) -> dict[str, Owner]:
    """The columns that name an owner or lead to one. An engine must never convert a cell to compare two of them."""
    owners: dict[str, Owner] = {}
    for name, sql_type in _of_table(schema, table).items():
        key = key_of(policy.tables, table, column=name)
        if key is None:
            continue
        if ColumnType.from_sql(sql_type) is not ColumnType.from_sql(
            _sql_type(schema, policy.table(key.table), key.column)
        ):
            raise QueryRefused(
                f"{table.name}.{name} cannot be held against {key}: they differ in type",
                hint="put a view before one of the tables that converts it; see tacit check",
            )
        owners[fold(name)] = key
    return owners


@dataclass(frozen=True, slots=True)
class Named:
    """A part whose columns have names of their own: `columns` by what the analyst writes, folded."""

    part: NamedTable
    index: int
    columns: Mapping[str, str]

    @property
    def owner(self) -> exp.Column:
        """The column that says whose a row is."""
        return self.of(f" u{self.index}")

    def key(self, name: str) -> exp.Column:
        """The column that holds a key."""
        return self.of(f" j{self.index}_{sorted(self.part.keys).index(fold(name))}")

    @property
    def link(self) -> str | None:
        """The column by which the owner of a row is looked up; None where it stands in the row."""
        return self.part.link

    @property
    def alias(self) -> str:
        """What its rows are called among those it is joined with."""
        return f"t{self.index}"

    def of(self, column: str) -> exp.Column:
        """A column of its rows."""
        return _of(self.alias, column)

    @property
    def every(self) -> list[str]:
        """The names of all columns that its rows have."""
        ours = [self.owner.name, *(self.key(name).name for name in self.part.keys)]
        return [*self.columns.values(), *ours, *([] if self.marker is None else [self.marker])]

    def source(self) -> ScopeSource:
        """What the analyst may write of it."""
        units = frozenset(name for name, key in self.part.keys.items() if self._is_owner(key))
        keys = {name: (self.key(name).name, key) for name, key in self.part.keys.items()}
        table = self.part.table.name if self.part.derived is None else None
        return ScopeSource(self.part.alias, self.columns, units, keys, table=table, public=self.part.table.public)

    @property
    def marker(self) -> str | None:
        """A column that is never NULL in its rows, and so is where an outer join has none of them.

        Only where the policy says what an empty cell counts as: elsewhere a cell that is missing is as good as empty.
        """
        ruled = any(column.null is not None for column in self.part.columns)
        return f" m{self.index}" if ruled else None

    def _marked(self) -> list[exp.Expression]:
        marker = self.marker
        one = exp.Literal.number(1)
        return [] if marker is None else [exp.Alias(this=one, alias=exp.to_identifier(marker, quoted=True))]

    def names_owner(self, name: str) -> bool:
        """Whether a column holds the owner itself, in whatever spelling."""
        return self._is_owner(self.part.keys[fold(name)])

    def _is_owner(self, key: Owner) -> bool:
        owner = self.part.owner
        return owner is not None and (fold(owner.table), fold(owner.column)) == (key.table, key.column)

    def rows(self, policy: Policy, *, schema: Schema, lent: bool = False) -> exp.Select:
        """The table's rows: owner, keys, and every column under its own name. `lent`: another part knows the owner."""
        if self.part.derived is not None:
            return self._derived_rows(self.part.derived)
        table = self.part.table
        first = table_named(table.name)
        selected = exp.select().from_(table_as(first, "t"), copy=False)
        written = {fold(name): name for name in self.part.types}
        listed = [
            aliased(_of("t", written.get(fold(column.name), column.name)), self.columns[fold(column.name)])
            for column in self.part.columns
        ]
        types = {fold(name): kind for name, kind in self.part.types.items()}
        for index, key in enumerate(sorted(self.part.keys)):
            held = identified(_of("t", written.get(key, key)), types.get(key, ""))
            listed.append(aliased(held, f" j{self.index}_{index}"))
        if self.part.is_private and not lent:
            owner: exp.Expression = _typed("t", table, table.unit_column or "", schema)
            if not self.part.tied:
                owner, selected = _followed(selected, policy, table=table, schema=schema)
            listed.append(aliased(owner, f" u{self.index}"))
            selected = selected.where(exp.Not(this=exp.Is(this=copied(owner), expression=exp.null())), copy=False)
        return selected.select(*listed, *self._marked(), copy=False)

    def _derived_rows(self, rows: exp.Select) -> exp.Select:
        listed = [aliased(_of("t", column.name), self.columns[fold(column.name)]) for column in self.part.columns]
        for index, key in enumerate(sorted(self.part.keys)):
            listed.append(aliased(_of("t", key_column(key)), f" j{self.index}_{index}"))
        if self.part.is_private:
            listed.append(aliased(_of("t", OWNER), f" u{self.index}"))
        return exp.select(*listed, *self._marked()).from_(
            exp.Subquery(this=copied(rows), alias=exp.TableAlias(this=exp.to_identifier("t"))), copy=False
        )


def with_columns(table: TablePolicy, columns: tuple[ColumnPolicy, ...]) -> TablePolicy:
    """The table with other columns; its unit goes by a name that none of them has."""
    taken = {fold(each.name) for each in columns}
    if table.unit_column is None or fold(table.unit_column) not in taken:
        return replace(table, columns=columns)
    return replace(table, columns=columns, unit=unlike(f"{table.unit_column}'", lambda name: fold(name) in taken))


def key_column(name: str) -> str:
    """What a subquery calls a key of its rows."""
    return f" k {fold(name)}"


def _followed(
    selected: exp.Select, policy: Policy, *, table: TablePolicy, schema: Schema
) -> tuple[exp.Expression, exp.Select]:
    """The owner of each row, and the tables to look it up in."""
    form = root_of(policy.tables, table).unit_form
    owner = _typed("t", table, table.unit_column or "", schema)
    for index, link in enumerate(lookups(policy.tables, table)):
        table, other = policy.table(link.table), f"l{index}"
        on = exp.EQ(this=owner, expression=_typed(other, table, link.key, schema))
        selected = joined(selected, table_as(table_named(table.name), other), on=on)
        owner = _typed(other, table, table.unit_column or "", schema)
    is_text = ColumnType.from_sql(_sql_type(schema, table, table.unit_column or "")) is ColumnType.TEXT
    return spelled(owner, form, is_text=is_text), selected


def _typed(alias: str, table: TablePolicy, column: str, schema: Schema) -> exp.Expression:
    """A column as it may be compared with any other of its kind."""
    return identified(_of(alias, column), _sql_type(schema, table, column))


def _sql_type(schema: Schema, table: TablePolicy, column: str) -> str:
    return {fold(name): kind for name, kind in _of_table(schema, table).items()}.get(fold(column), "")


def _of_table(schema: Schema, table: TablePolicy) -> Mapping[str, str]:
    return next((columns for name, columns in schema.items() if fold(name) == fold(table.name)), {})


def spelled(owner: exp.Expression, form: UnitForm, *, is_text: bool) -> exp.Expression:
    """An identifier in the one spelling that the policy gives it."""
    if is_text and form.trims:
        owner = exp.Trim(this=owner)
    if is_text and form.lowers:
        owner = exp.Lower(this=owner)
    return owner


def _of(table: str, column: str) -> exp.Column:
    return quoted_column(column, table)


def looked_up(table: TablePolicy, columns: Sequence[str], *, policy: Policy, schema: Schema) -> exp.Select:
    """The rows of a table whose owners another table knows: the owner `u`, and the columns as v0, v1, …"""
    first = table_named(table.name)
    owner, rows = _followed(exp.select().from_(table_as(first, "t"), copy=False), policy, table=table, schema=schema)
    listed = [exp.alias_(_of("t", column), f"v{index}") for index, column in enumerate(columns)]
    rows = rows.where(exp.Not(this=exp.Is(this=copied(owner), expression=exp.null())), copy=False)
    return rows.select(exp.alias_(owner, "u"), *listed, copy=False)


def named_apart(parts: Sequence[NamedTable]) -> list[Named]:
    """Every column under a name of its own: its plain one, or `alias.column` where two tables have it."""
    seen = [fold(column.name) for part_ in parts for column in part_.columns]
    aliases = [fold(part_.alias) for part_ in parts]
    twice = next((part_.alias for part_ in parts if aliases.count(fold(part_.alias)) > 1), None)
    if twice is not None:
        raise QueryRefused(
            f"{twice} is named twice after FROM: its columns could not be told apart",
            hint=f"give each its own name: … AS a, … AS b, and write a.x for {twice}.x",
        )
    taken = {name for name in seen if seen.count(name) == 1}
    return [Named(part_, index, _apart(part_, taken)) for index, part_ in enumerate(parts)]


def _apart(part: NamedTable, taken: set[str]) -> dict[str, str]:
    """What its columns are called, by what the analyst writes, folded. Those that are alone keep their names."""
    names: dict[str, str] = {}
    for column in part.columns:
        name = column.name
        if fold(name) not in taken:
            name = unlike(f"{part.alias}.{name}", lambda other: fold(other) in taken)
            taken.add(fold(name))
        names[fold(column.name)] = name
    return names


def unlike(name: str, is_taken: Callable[[str], bool]) -> str:
    """The name, or one that is like it: one that a column may have, and that is not taken."""
    plain = "".join(letter for letter in name if letter.isprintable() and letter != '"').strip()
    plain = plain[:_SHOWN].strip() if len(plain) > MAX_NAME else plain
    tried, count = plain, 1
    while is_taken(tried) or not is_column_name(tried):
        count += 1
        tried = f"{plain[:_SHOWN]}'{count}"
    return tried
