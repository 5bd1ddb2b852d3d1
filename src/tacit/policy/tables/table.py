"""What the curator says of one table: whose presence is hidden, and how much of it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tacit.core import Adjacency, PrivacyUnit
from tacit.errors import UnknownName
from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.names import all_different, fold, meant, table_name
from tacit.policy.reading.readers import count, flag, hold, one_of, optional, size, text
from tacit.policy.reading.types import kind_name
from tacit.policy.sources.text_format import TextFormat, format_of
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.cut import CutShares, cut_of
from tacit.policy.tables.domain import TableDomain
from tacit.policy.tables.link import Link, link_of, unit_name
from tacit.policy.tables.two_owners import check_two_owners, in_words, two_owners_refused, units_of

ROW = "row"  # the unit of a table in which each row is a person


class NullUnit(Enum):
    """What becomes of rows whose unit is NULL. Never a unit each: that would be one person with many lives."""

    DROP = "drop"
    ONE = "one"  # all of them are one unit

    def __str__(self) -> str:
        return self.value


class UnitForm(Enum):
    """When two spellings are one unit. Applied wherever the unit is read, in every table."""

    EXACT = "exact"
    TRIM = "trim"
    LOWER = "lower"
    TRIM_LOWER = "trim-lower"

    @property
    def trims(self) -> bool:
        """Whether space at either end is left out."""
        return self in {UnitForm.TRIM, UnitForm.TRIM_LOWER}

    @property
    def lowers(self) -> bool:
        """Whether upper and lower case are the same."""
        return self in {UnitForm.LOWER, UnitForm.TRIM_LOWER}

    def __str__(self) -> str:
        return self.value


class Bounding(Enum):
    """How the contributions of a heavy unit are bounded."""

    AUTO = "auto"  # whichever promises the smaller error
    SAMPLE = "sample"  # keep some of its rows and groups, drop the others
    WEIGH = "weigh"  # keep all, scaled down

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, init=False)
class TablePolicy:
    """A table, public or private.

    A private table has a unit: a column, or "row" if each row is a person, or a link to the table that knows whose a
    row is (`patient_id -> patients.id`). Where the unit is a column, a cap that is not given is not known: a question
    that needs it is refused until the curator declares or calibrates it. `rows` is about how many rows there are, as
    everybody may know: errors are stated for it before the data are read. It promises nothing, and bounds nothing.
    Where each row has two owners, `units` names both in place of `unit`. Whoever asks for *the* unit of such a table is
    refused: there is none, and whatever takes a row for one person's, or for nobody's, would be wrong.
    `rules` are conditions on columns that every synthetic row keeps; `public_totals` are numbers of rows that leave as
    they are: "*" is that of the table, a level of a hierarchy those of its places.
    Only the columns named here exist for analysts; of a public table all do, and naming one adds what is known of it.
    """

    name: str
    unit: str | None
    units: tuple[str, ...]
    columns: tuple[ColumnPolicy, ...]
    public: bool
    null_unit: NullUnit
    unit_form: UnitForm
    max_groups: int | None
    max_rows: int | None
    max_distinct: int | None
    max_partners: int | None
    max_hubs: int | None
    bounding: Bounding
    rows: int | None
    rules: tuple[str, ...]
    public_totals: str | None
    cut: CutShares | None
    description: str | None
    format: TextFormat | None

    def __init__(  # noqa: PLR0913 - the keys of a table
        self,
        name: str,
        unit: str | None = None,
        *,
        units: Sequence[str] = (),
        columns: Iterable[ColumnPolicy] = (),
        public: bool = False,
        null_unit: NullUnit | str = NullUnit.DROP,
        unit_form: UnitForm | str = UnitForm.EXACT,
        max_groups: int | None = None,
        max_rows: int | None = None,
        max_distinct: int | None = None,
        max_partners: int | None = None,
        max_hubs: int | None = None,
        bounding: Bounding | str = Bounding.AUTO,
        rows: int | None = None,
        rules: Sequence[str] = (),
        public_totals: str | None = None,
        cut: CutShares | Mapping[str, object] | None = None,
        description: str | None = None,
        format: TextFormat | Mapping[str, object] | None = None,  # noqa: A002 - the policy's word for it
    ) -> None:
        path = (table_name(name, (name,)),)
        hold(self, path, _READERS, name=name, unit=unit, columns=columns, public=public, description=description)
        hold(
            self, path, _READERS, null_unit=null_unit, unit_form=unit_form, bounding=bounding, rows=rows, format=format
        )
        hold(self, path, _READERS, cut=cut, rules=rules, public_totals=public_totals)
        hold(self, path, _READERS, max_groups=max_groups, max_rows=max_rows, max_distinct=max_distinct)
        hold(self, path, _READERS, units=units, max_partners=max_partners, max_hubs=max_hubs)
        all_different([column.name for column in self.columns], path=(name, "columns"))
        if self.public:
            self._has_no_unit()
        else:
            self._has_a_unit()

    @property
    def unit_column(self) -> str | None:
        """The column that tells units apart; None if each row is one, or nobody is hidden.

        Raises QueryRefused where each row has two owners: so no path takes such a table for one with a single owner.
        """
        if self.units:
            raise two_owners_refused(self.name, self.units)
        if self.unit is None or self.unit == ROW:
            return None
        return self.unit if self.link is None else self.link.column

    @property
    def link(self) -> Link | None:
        """The table that knows whose a row is, where it is another."""
        return None if self.unit is None else link_of(self.unit)

    @property
    def identifying(self) -> tuple[str, ...]:
        """The columns that say whose a row is, of one owner or of two; none if each row is a unit, or nobody's."""
        return self.units or (() if self.unit_column is None else (self.unit_column,))

    def is_unit(self, name: str) -> bool:
        """Whether `name` is the unit's column, or one of two, whatever its case."""
        return any(fold(name) == fold(each) for each in self.identifying)

    def privacy_unit(self, adjacency: Adjacency) -> PrivacyUnit | None:
        """Whose presence is hidden; None for a public table."""
        if self.units:
            return PrivacyUnit(in_words(self.units), adjacency)
        return None if self.public else PrivacyUnit(self.unit_column, adjacency)

    @property
    def visible(self) -> tuple[ColumnPolicy, ...]:
        """The named columns that analysts may use."""
        return tuple(column for column in self.columns if not column.hidden)

    def column(self, name: str) -> ColumnPolicy:
        """The column of that name, whatever its case. A hidden column is unknown, like one that does not exist."""
        for column in self.visible:
            if fold(column.name) == fold(name):
                return column
        raise UnknownName(
            f"unknown column {name!r}: the policy does not name it in table {self.name!r}",
            hint=meant(name, [column.name for column in self.visible]),
        )

    def _has_no_unit(self) -> None:
        for key, untouched in _UNTOUCHED.items():
            if getattr(self, key) != untouched:
                raise Fault("cannot be: the table is public, nobody in it is hidden", path=(self.name, key))
        for column in self.columns:
            if column.unit_total is not None:
                raise Fault("cannot be: the table is public", path=(self.name, "columns", column.name, "unit_total"))

    def _has_a_unit(self) -> None:
        check_two_owners(self, _UNTOUCHED)
        if self.unit is None and not self.units:
            raise Fault(
                "is missing: whose presence is to be hidden?",
                path=(self.name, "unit"),
                hint='add unit = "column", or unit = "row" if each row is a person, or public = true',
            )
        if self.unit == ROW:
            self._is_one_row()
        for column in self.columns:
            if self.is_unit(column.name) and (column.domain is not None or column.null is not None):
                key = "domain" if column.domain is not None else "null"
                why = "cannot be: the column is the unit, which is never a group; see null_unit for NULL"
                raise Fault(why, path=(self.name, "columns", column.name, key))

    def _is_one_row(self) -> None:
        for key in ("max_groups", "max_rows", "max_distinct"):
            value = getattr(self, key)
            if value not in {None, 1}:
                raise Fault(f'{value} contradicts unit = "row": a unit is one row in one group', path=(self.name, key))
            object.__setattr__(self, key, 1)
        for key in ("null_unit", "unit_form"):
            if getattr(self, key) is not _UNTOUCHED[key]:
                raise Fault('cannot be: unit = "row" has no identifier', path=(self.name, key))
        if self.cut is not None:
            raise Fault('cannot be: unit = "row", so nothing is cut', path=(self.name, "cut"))
        for column in self.columns:
            if column.unit_total is not None:
                why = 'cannot be: unit = "row", so the total of a unit is the value itself'
                raise Fault(
                    why, path=(self.name, "columns", column.name, "unit_total"), hint="lower and upper bound it"
                )


def _columns(value: object, path: KeyPath) -> tuple[ColumnPolicy, ...]:
    columns = tuple(value) if isinstance(value, Iterable) else ()
    if not isinstance(value, Iterable) or not all(isinstance(column, ColumnPolicy) for column in columns):
        raise Fault(f"must be columns: it is {kind_name(value)}", path=path)
    return columns


def _rules(value: object, path: KeyPath) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Fault(f"must be a list of texts: it is {kind_name(value)}", path=path, hint='write rules = ["age >= 18"]')
    return tuple(text(rule, (*path, index)) for index, rule in enumerate(value))


_READERS = {
    "unit": optional(unit_name),
    "units": units_of,
    "columns": _columns,
    "public": flag,
    "null_unit": one_of(NullUnit),
    "unit_form": one_of(UnitForm),
    "max_groups": optional(count),
    "max_rows": optional(count),
    "max_distinct": optional(count),
    "max_partners": optional(count),
    "max_hubs": optional(count),
    "bounding": one_of(Bounding),
    "rows": optional(size),
    "rules": _rules,
    "public_totals": optional(text),
    "cut": optional(cut_of),
    "description": optional(text),
    "format": format_of,
}
_UNTOUCHED: dict[str, object] = {
    "unit": None,
    "units": (),
    "null_unit": NullUnit.DROP,
    "unit_form": UnitForm.EXACT,
    "max_groups": None,
    "max_rows": None,
    "max_distinct": None,
    "max_partners": None,
    "max_hubs": None,
    "bounding": Bounding.AUTO,
    "cut": None,
}


def spellings(tables: Iterable[TablePolicy], name: str) -> dict[str, str]:
    """How the policy spells the columns of a table, by their folded names: servers tell "Age" from "age"."""
    said: list[str] = []
    for table in tables:
        if fold(table.name) == fold(name):
            said += [*table.identifying, *(column.name for column in table.columns)]
        domains = [column.domain for column in table.columns if isinstance(column.domain, TableDomain)]
        said += [domain.column for domain in domains if fold(domain.table) == fold(name)]
    return {fold(spelled): spelled for spelled in reversed(said)}
