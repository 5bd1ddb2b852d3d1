"""Audit any table: which k, l and t it has, with respect to the quasi-identifiers one names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter
from tacit.policy import Policy
from tacit.release.anonymise.checks.auditing import classes_of
from tacit.release.anonymise.checks.risk import Homogeneity, Risk, homogeneity, risk
from tacit.release.anonymise.models.distance import EQUAL, ORDERED
from tacit.release.anonymise.models.family import SLACK
from tacit.release.anonymise.models.wanted import Wanted
from tacit.release.anonymise.reading.source import SOURCE, TableSource, ask, named, open_named
from tacit.release.anonymise.reading.units import known_unit, refuse_several
from tacit.release.anonymise.values.hierarchy import Hierarchy

_CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class Audit:
    """What a table is worth as it stands."""

    rows: int
    classes: int
    quasi_identifiers: tuple[str, ...]
    risk: Risk
    sensitive: tuple[Homogeneity, ...]
    class_sizes: tuple[tuple[int, int], ...]  # (size, how many classes have it)
    unit: str | None = None  # the column of which each value has one row, so that k counts people; None: it counts rows

    @property
    def k(self) -> int:
        """The rows of the smallest class."""
        return self.risk.smallest

    def failures(
        self,
        *,
        k: int | None = None,
        l: float | None = None,  # noqa: E741 - the model's own name for it
        t: float | None = None,
        diversity: str = "distinct",
    ) -> tuple[str, ...]:
        """In words, which of these the table does not have; none where all hold. l and t are of every secret."""
        Wanted(k=1 if k is None else k, l=l, t=t, diversity=diversity)  # what makes no sense is refused there
        if (l is not None or t is not None) and not self.sensitive:
            raise InvalidParameter("l and t are of sensitive columns, and none is named", hint="name the column")
        failures = [f"k is {self.k:,}, not {k:,}"] if k is not None and self.k < k else []
        for one in self.sensitive:
            stands = one.least_entropy if diversity == "entropy" else float(one.least_values)
            if l is not None and stands < l - SLACK:
                failures.append(f"{diversity} l of {one.column} is {stands:.4g}, not {l:g}")
            if t is not None and one.farthest > t + SLACK:
                failures.append(f"{one.distance} t of {one.column} is {one.farthest:.4g}, not {t:g}")
        return tuple(failures)


def check(
    table: object,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: str | Sequence[str] = (),
    distance: str = EQUAL,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    population_size: int | None = None,
    unit: str | None = None,
    policy: Policy | None = None,
) -> Audit:
    """Group a table by its quasi-identifiers and measure what the groups give away. A missing cell is a value.

    The table is what `anonymise` takes; of a table of `policy` its engine groups the rows. `unit` is as there: where it
    is known and somebody has several rows, the table is refused, because its k would count rows.
    """
    source = open_named(table, policy, as_text=True)
    there = source.columns()
    columns = named((quasi_identifiers,) if isinstance(quasi_identifiers, str) else quasi_identifiers, there, what="qi")
    secrets = named((sensitive,) if isinstance(sensitive, str) else sensitive, there, what="sensitive")
    if not columns:
        raise InvalidParameter("no quasi-identifiers: a table has no k of its own", hint="name the columns")
    whose = known_unit(source, asked=unit)
    if whose is not None:
        refuse_several(source, whose)
    source.bring([*columns, *secrets])
    view = _with_numbers(source, secrets) if distance == ORDERED else SOURCE
    levels = {name: level for spelt, level in (hierarchies or {}).items() for name in named([spelt], there, what="qi")}
    distances = dict.fromkeys(secrets, distance)
    classes = classes_of(source.connection, view, columns, sensitive=secrets, hierarchies=levels, distances=distances)
    if not classes.each.size.size:
        raise InvalidParameter("the table is empty: there is nothing to check")
    sizes, number = np.unique(classes.each.size, return_counts=True)
    return Audit(
        rows=int(classes.each.size.sum()),
        classes=int(classes.each.size.size),
        quasi_identifiers=tuple(columns),
        risk=risk(classes.each, population_size=population_size),
        sensitive=tuple(
            homogeneity(classes.each, classes.table, name, ground=classes.grounds[name]) for name in secrets
        ),
        class_sizes=tuple(zip(sizes.tolist(), number.tolist(), strict=True)),
        unit=whose,
    )


def _with_numbers(source: TableSource, columns: Sequence[str]) -> str:
    """The table, with sensitive numbers that stand there as text read as numbers: an order of digits is none."""
    texts = [name for name in columns if source.columns()[name] == "VARCHAR"]
    read = {name: f"TRY_CAST({quoted(name)} AS DOUBLE)" for name in texts}
    if not read:
        return SOURCE
    counts = ", ".join(f"count(*) - count({number})" for number in read.values())
    lost = ask(source.connection, f"SELECT {counts} FROM {SOURCE}")[0]
    numbers = [name for name, count in zip(texts, lost, strict=True) if count == 0]
    if not numbers:
        return SOURCE
    listed = ", ".join(f"{read[name]} AS {quoted(name)}" for name in numbers)
    ask(source.connection, f"CREATE TEMP VIEW {_CHECKED} AS SELECT * REPLACE ({listed}) FROM {SOURCE}")
    return _CHECKED
