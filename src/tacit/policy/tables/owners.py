"""Following links: which unit owns the rows of a table, and which columns say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tacit.policy.reading.fault import Fault
from tacit.policy.reading.names import fold, meant
from tacit.policy.tables.domain import TableDomain
from tacit.policy.tables.link import Link
from tacit.policy.tables.table import ROW, NullUnit, TablePolicy, UnitForm

Tables = Sequence[TablePolicy]
_STEM = 4  # letters that a table and its units begin with alike


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose rows these are: the column that tells the units apart, in the table where the links end."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"

    @property
    def is_at_home(self) -> bool:
        """Whether the table goes by the name of its units, as patients does whose unit is patient_id."""
        stem = fold(self.column).partition("_")[0]
        return len(stem) >= _STEM and fold(self.table).startswith(stem)

    def linked_to(self, other: Owner) -> str:
        """The line of a policy that says that both are the same people: the table that is about them is linked to."""
        guest, home = (other, self) if self.is_at_home and not other.is_at_home else (self, other)
        return f'[tables.{guest.table}] unit = "{guest.column} -> {home}"'


def root_of(tables: Tables, table: TablePolicy) -> TablePolicy:
    """The table where the links end."""
    while table.link is not None:
        table = _named(tables, table.link.table)
    return table


def owner_of(tables: Tables, table: TablePolicy) -> Owner | None:
    """The unit that owns a table's rows; None if each row is one, or nobody is hidden."""
    if table.unit_column is None:
        return None
    root = root_of(tables, table)
    return Owner(root.name, root.unit_column or "")


def key_of(tables: Tables, table: TablePolicy, *, column: str) -> Owner | None:
    """What a column is a key of: two rows with the same key have the same owner. None if it is no such key."""
    if table.is_unit(column):
        if table.link is None:
            return Owner(fold(table.name), fold(column))
        target = _named(tables, table.link.table)
        return key_of(tables, target, column=table.link.key)
    linked = any(
        other.link is not None and fold(other.link.table) == fold(table.name) and fold(other.link.key) == fold(column)
        for other in tables
    )
    return Owner(fold(table.name), fold(column)) if linked else None


def identifiers(tables: Tables, table: TablePolicy) -> frozenset[str]:
    """The columns, folded, that tell one owner from another: a table's unit, and the keys that others link to."""
    links = [other.link for other in tables if other.link is not None]
    keys = {fold(link.key) for link in links if fold(link.table) == fold(table.name)}
    return frozenset(keys | set(map(fold, table.identifying)))


def named_in(tables: Tables, table: TablePolicy | None) -> dict[str, str]:
    """Every column of a table that a policy names, by its folded name: its own, and those that others find in it."""
    if table is None:
        return {}
    names = [*table.identifying, *(column.name for column in table.columns)]
    for other in tables:
        links = [other.link] if other.link is not None else []
        names += [link.key for link in links if fold(link.table) == fold(table.name)]
        domains = [column.domain for column in other.columns]
        names += [d.column for d in domains if isinstance(d, TableDomain) and fold(d.table) == fold(table.name)]
    return {fold(name): name for name in reversed(names) if name}


def lookups(tables: Tables, table: TablePolicy) -> tuple[Link, ...]:
    """The links to follow, in order, until a column holds the unit itself. A link to a unit's column needs no look."""
    links: list[Link] = []
    while table.link is not None:
        target = _named(tables, table.link.table)
        if not target.is_unit(table.link.key):
            links.append(Link(table.link.column, target.name, table.link.key))
        table = target
    return tuple(links)


def namesakes(tables: Tables) -> Iterator[tuple[TablePolicy, Owner, Owner]]:
    """The tables whose unit is called as that of another, which nobody said is the same: with both their owners.

    The other is the one that is about those units, or else the first in the policy.
    """
    homes: dict[str, Owner] = {}
    one_owner = [table for table in tables if not table.public and not table.units and table.link is None]
    own = [(table, Owner(table.name, table.unit_column)) for table in one_owner if table.unit_column is not None]
    for table, owner in sorted(own, key=lambda each: not each[1].is_at_home):
        home = homes.setdefault(fold(owner.column), owner)
        if home is not owner:
            yield table, owner, home


def _named(tables: Tables, name: str) -> TablePolicy:
    return next(table for table in tables if fold(table.name) == fold(name))


def broken_links(tables: Tables) -> Iterator[Fault]:
    """Links that lead nowhere, or round in a circle."""
    for table in tables:
        if table.link is None:
            continue
        path = ("tables", table.name, "unit")
        fault = _broken(tables, table)
        if fault is not None:
            yield Fault(fault[0], path=path, hint=fault[1], rooted=True)
        elif table.null_unit is not NullUnit.DROP:
            why = f"cannot be: a row that no row of {table.link.table} owns belongs to nobody"
            yield Fault(why, path=("tables", table.name, "null_unit"), rooted=True)
        elif table.unit_form not in {UnitForm.EXACT, root_of(tables, table).unit_form}:
            why = f"differs from that of {root_of(tables, table).name}, whose units these are"
            yield Fault(why, path=("tables", table.name, "unit_form"), hint="declare it there alone", rooted=True)


def _broken(tables: Tables, table: TablePolicy) -> tuple[str, str] | None:
    known = {fold(other.name): other for other in tables}
    seen = {fold(table.name)}
    while table.link is not None:
        target = known.get(fold(table.link.table))
        if target is None:
            private = [other.name for other in tables if not other.public]
            return f"links to {table.link.table!r}, which is no table here", meant(table.link.table, private)
        if target.public:
            return f"links to {target.name!r}, which is public: nobody there owns anything", "name a private table"
        if target.units:
            return f"links to {target.name!r}, whose rows have two owners: none of them alone owns these", ""
        if target.unit == ROW:
            return (
                f'links to {target.name!r}, where unit = "row": no row there can be named',
                f'declare unit = "{table.link.key}" for {target.name}',
            )
        if fold(target.name) in seen:
            return "links round in a circle: nobody owns these rows", "let one table name its unit's own column"
        seen.add(fold(target.name))
        table = target
    return None
