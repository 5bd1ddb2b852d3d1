"""What the curator says of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction

from tacit.core import Bounds, Number
from tacit.policy.reading.fault import Fault, KeyPath
from tacit.policy.reading.names import column_name
from tacit.policy.reading.readers import flag, hold, one_of, optional, text
from tacit.policy.reading.types import ColumnType, Scalar, Value, exact, kind_name, type_fits, value_of
from tacit.policy.tables.domain import MAX_DOMAIN, Domain, DomainLike, ListDomain, RangeDomain, domain_of
from tacit.policy.tables.grid import bound_of, bounds_of, on_grid, step_of, surely_on_grid, total_of

_EXACT = 1 << 53  # the whole numbers up to here are doubles
SKIP = "skip"  # the word of the null rule that leaves NULL out, as SQL does


@dataclass(frozen=True, slots=True, init=False)
class ColumnPolicy:
    """A column analysts may use, and what is publicly known of it. Nothing known: `ColumnPolicy("city")`.

    `bounds` is the interval and grid that lower, upper and step make, in the column's own numbers: whole days since
    1970 for dates, whole seconds for timestamps. `null` is what NULL counts as; None leaves NULL out, as SQL does.
    Values beyond the bounds, the infinities among them, are clamped to the nearer bound; NaN counts as `nan_value`.
    """

    name: str
    type: ColumnType | None
    lower: Value | None
    upper: Value | None
    step: Fraction | None
    domain: Domain | None
    null: Value | None
    nan: Fraction | None
    unit_total: Bounds | None
    description: str | None
    hidden: bool
    bounds: Bounds | None = field(init=False, repr=False, compare=False)

    def __init__(  # noqa: PLR0913 - the keys of a column
        self,
        name: str,
        *,
        type: ColumnType | str | None = None,  # noqa: A002 - the policy's word for it
        lower: Scalar | None = None,
        upper: Scalar | None = None,
        step: Number | timedelta | None = None,
        domain: DomainLike | None = None,
        null: Value | None = None,
        nan: Number | None = None,
        unit_total: Bounds | Mapping[str, Number] | None = None,
        description: str | None = None,
        hidden: bool = False,
    ) -> None:
        at = (column_name(name, (name,)),)
        hold(self, at, _PLAIN, name=name, type=type, description=description, hidden=hidden)
        kind = self.type or _told_by(lower, upper, domain=domain, null=null)
        ends = optional(lambda value, path: bound_of(value, path, kind=kind))
        hold(self, at, {"lower": ends, "upper": ends}, type=kind, lower=lower, upper=upper)
        width = step_of(step, (name, "step"), kind=kind)
        bounds = bounds_of(self.lower, self.upper, step=width, stated=step is not None, path=at)
        hold(self, at, {}, bounds=bounds, step=bounds.step if bounds else None)
        hold(
            self,
            at,
            {"nan": optional(exact)},
            nan=nan,
            unit_total=total_of(unit_total, (name, "unit_total"), bounds=bounds),
        )
        hold(self, at, {}, domain=_domain(domain, (name, "domain"), kind=kind, bounds=bounds))
        hold(self, at, {}, null=_null(null, (name, "null"), column=self))
        self._agree()

    def named(self, name: str) -> ColumnPolicy:
        """The same column under another name: what its values may be was judged when it was made."""
        column_name(name, (name,))
        renamed = object.__new__(ColumnPolicy)
        for key in self.__slots__:
            object.__setattr__(renamed, key, name if key == "name" else getattr(self, key))
        return renamed

    @property
    def nan_value(self) -> Fraction | None:
        """What NaN counts as: `nan`, else the value in range closest to zero, which adds least to a sum."""
        if self.nan is not None or self.bounds is None:
            return self.nan
        return min(max(Fraction(0), self.bounds.lower), self.bounds.upper)

    @property
    def text_type(self) -> ColumnType:
        """The type of its cells in a file of text: what is declared, or what bounds and domain show, or text.

        A number that nothing says more of may have decimals, unless no double could hold it.
        """
        if self.type is not None:
            return self.type
        if isinstance(self.domain, ListDomain):
            whole = all(isinstance(value, int) for value in self.domain.values)
            return ColumnType.INTEGER if whole else ColumnType.NUMBER
        if self.bounds is None:
            return ColumnType.TEXT
        ends = (self.bounds.lower, self.bounds.upper, self.bounds.step)
        wide = max(map(abs, ends)) > _EXACT and all(end.denominator == 1 for end in ends)
        return ColumnType.INTEGER if wide else ColumnType.NUMBER

    def _agree(self) -> None:
        temporal = self.type is not None and self.type.is_temporal
        if temporal and self.unit_total is not None:
            raise Fault(f"cannot be: a {self.type} is not summed", path=(self.name, "unit_total"))
        if self.nan is None:
            return
        if temporal:
            raise Fault(f"cannot be: a {self.type} is never NaN", path=(self.name, "nan"))
        if self.bounds is None:
            raise Fault("needs bounds to lie in", path=(self.name, "nan"), hint="add lower, upper and step")
        on_grid(self.nan, (self.name, "nan"), bounds=self.bounds)


def _told_by(lower: object, upper: object, *, domain: object, null: object) -> ColumnType | None:
    """The type that the values themselves give away. Numbers do not: they may be whole or not."""
    listed = domain.values if isinstance(domain, ListDomain) else domain
    first = listed[0] if isinstance(listed, list | tuple) and listed else None
    if lower is not None or upper is not None:
        seen = [value for value in (lower, upper) if not isinstance(value, str | bool)]
    else:
        seen = [first if first is not None else null]
    for value in seen:
        for sort, kind in _GIVEN_AWAY:
            if isinstance(value, sort) and value != SKIP:
                return kind
    return None


def _domain(value: object, path: KeyPath, *, kind: ColumnType | None, bounds: Bounds | None) -> Domain | None:
    if value is None:
        return None
    domain = domain_of(value, path, kind=kind)
    if isinstance(domain, RangeDomain):
        if bounds is None:
            raise Fault('is "range", yet there are no bounds', path=path, hint="add lower, upper and step")
        if bounds.cells > MAX_DOMAIN:
            raise Fault(
                f"has {bounds.cells} values: at most {MAX_DOMAIN} are allowed", path=path, hint="choose a larger step"
            )
    if isinstance(domain, ListDomain):
        _all_fit(domain.values, path, kind=kind or ColumnType.NUMBER, bounds=bounds)
    return domain


def _all_fit(values: Sequence[Value], path: KeyPath, *, kind: ColumnType, bounds: Bounds | None) -> None:
    alike = all(type_fits(kind, value) for value in values)
    if alike and (bounds is None or surely_on_grid(values, bounds=bounds)):
        return
    for index, member in enumerate(values):  # one by one, for the message
        _fits(member, (*path, index), kind=kind, bounds=bounds)


def _null(value: object, path: KeyPath, *, column: ColumnPolicy) -> Value | None:
    if value is None or value == SKIP:
        return None
    read = value_of(value, path, kind=column.type)
    _fits(read, path, kind=column.type or (ColumnType.NUMBER if column.bounds else None), bounds=column.bounds)
    if isinstance(column.domain, ListDomain) and read not in column.domain.values:
        raise Fault("is not in the domain", path=path, hint='choose one of the listed values, or "skip"')
    return read


def _fits(value: Value, path: KeyPath, *, kind: ColumnType | None, bounds: Bounds | None) -> None:
    if kind is not None and not type_fits(kind, value):
        what = value if kind is ColumnType.INTEGER and kind_name(value) == "a number" else kind_name(value)
        raise Fault(f"does not fit a column of type {kind}: it is {what}", path=path)
    if bounds is not None:
        on_grid(value, path, bounds=bounds)


_PLAIN = {"type": optional(one_of(ColumnType)), "description": optional(text), "hidden": flag}
_GIVEN_AWAY: tuple[tuple[type, ColumnType], ...] = (
    (bool, ColumnType.BOOLEAN),
    (str, ColumnType.TEXT),
    (datetime, ColumnType.TIMESTAMP),
    (date, ColumnType.DATE),
)
