"""Read the table: values to codes, rows to distinct tuples, in the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from tacit.engines.columns import quoted
from tacit.errors import InvalidParameter
from tacit.release.anonymise.models.family import Rules
from tacit.release.anonymise.reading.grouping import (
    LARGEST,
    Code,
    Grouped,
    coded,
    grouped,
    key_rows,
    unpacked,
    values_of,
)
from tacit.release.anonymise.reading.sensitive import sensitive_codes
from tacit.release.anonymise.reading.source import SOURCE, TableSource, ask, named, view_population
from tacit.release.anonymise.reading.units import known_unit, refuse_several
from tacit.release.anonymise.request import BY_ROW, Request, Roles
from tacit.release.anonymise.values.coding import Ends, column
from tacit.release.anonymise.values.columns import Column
from tacit.release.anonymise.values.tuples import Ints, SecretSpread, Tuples, whole

T = TypeVar("T")
POPULATION = "population"
KEYED = "keyed"  # the table of rows: key or row, sensitive codes, and what is carried along


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A table read: its columns, its tuples, the rules they must keep, and by which number rows find their tuple."""

    source: TableSource
    request: Request
    columns: tuple[Column, ...]
    tuples: Tuples
    rules: Rules
    by: str  # `tacit_key`, or `tacit_row` where rows that are alike may be parted
    key: Ints  # of each tuple
    left_out: tuple[str, ...]  # columns that have no role
    unit: str | None  # the column of which each value has one row, where one is known


def prepare(source: TableSource, request: Request, *, population: object | None) -> Prepared:
    """Read what the methods need. Nothing of it has been published yet."""
    there = source.columns()
    request = _spelt(request, there)
    roles = request.roles
    if (population is not None) != request.wanted.needs_population:
        raise InvalidParameter(
            "a population goes with k-map or delta-presence, and these with a population",
            hint="give both, or neither",
        )
    used = (*roles.quasi_identifiers, *roles.sensitive, *roles.pseudonyms, *roles.keep)
    unit = known_unit(source, asked=request.unit, pseudonyms=roles.pseudonyms)
    if unit is not None:
        refuse_several(source, unit)
    source.bring(used)
    if population is not None:
        _join_population(source, request, population)
    columns, codes = _columns(source, request, POPULATION if population is not None else SOURCE)
    asked = request.wanted
    grounds, secrets = sensitive_codes(
        source.connection, SOURCE, {name: there[name] for name in roles.sensitive},
        hierarchies=request.hierarchies, distances=asked.distances(roles.sensitive),
    )  # fmt: skip
    tuples, key = _tuples(source, request, codes=codes, secrets=secrets)
    if population is not None:
        tuples, key = _with_population(source, tuples, key, codes)
    _enough(tuples, request)
    models = asked.models(roles.sensitive, grounds)
    rules = Rules(models, whole(tuples))
    _refuse_hopeless(rules)
    left_out = tuple(name for name in there if name not in used)
    by = "tacit_row" if request.method in BY_ROW else "tacit_key"
    return Prepared(source, request, columns, tuples, rules, by, key, left_out, unit)


def _spelt(request: Request, there: Mapping[str, str]) -> Request:
    """The same request with every column spelt as the table spells it."""
    roles = request.roles
    spelt = {
        what: tuple(named(getattr(roles, what), dict(there), what=what.replace("_", "-")))
        for what in ("quasi_identifiers", "sensitive", "pseudonyms", "keep")
    }
    roles = Roles(**spelt)
    _refuse_our_names(roles)
    names = {name.casefold(): name for name in there}

    def renamed(given: Mapping[str, T]) -> dict[str, T]:
        return {names.get(column.casefold(), column): value for column, value in given.items()}

    return replace(
        request, roles=roles, hierarchies=renamed(request.hierarchies), top=renamed(request.top),
        bottom=renamed(request.bottom), grids=renamed(request.grids),
    )  # fmt: skip


def _refuse_our_names(roles: Roles) -> None:
    for name in (*roles.quasi_identifiers, *roles.sensitive, *roles.pseudonyms, *roles.keep):
        if name.casefold().startswith("tacit_"):
            raise InvalidParameter(f"{name!r} begins as our own columns do", hint="rename it")


def _join_population(source: TableSource, request: Request, population: object) -> None:
    """The population as a view, and before anything else the rows of the table that are not in it are refused."""
    view_population(source, population, "everybody")
    names = request.roles.quasi_identifiers
    there = {str(name): "" for name, *_ in ask(source.connection, "DESCRIBE SELECT * FROM everybody")}
    spelt = named(names, there, what="the population")
    listed = ", ".join(f"{quoted(one)} AS {quoted(name)}" for one, name in zip(spelt, names, strict=True))
    ask(source.connection, f"CREATE TEMP VIEW {POPULATION} AS SELECT {listed} FROM everybody")
    plain = ", ".join(map(quoted, names))
    same = " AND ".join(f"s.{quoted(name)} IS NOT DISTINCT FROM p.{quoted(name)}" for name in names)
    outside = ask(
        source.connection,
        f"SELECT count(*) FROM (SELECT {plain}, count(*) FROM {SOURCE} GROUP BY ALL) s ANTI JOIN"
        f" (SELECT {plain}, count(*) FROM {POPULATION} GROUP BY ALL) p ON {same}",
    )
    if outside != [(0,)]:
        raise InvalidParameter(
            "the table is not part of the population: some of its people are not there",
            hint="a population is everybody the table could have held, with the same columns and types",
        )


def _columns(source: TableSource, request: Request, view: str) -> tuple[tuple[Column, ...], tuple[Code, ...]]:
    columns, codes = [], []
    for index, name in enumerate(request.roles.quasi_identifiers):
        values = values_of(source.connection, view, name, table=f"qi{index}")
        if not values.distinct:
            raise InvalidParameter("the table is empty: there is nothing to publish")
        ends = Ends(request.bottom.get(name), request.top.get(name), request.grids.get(name), request.cells_apart)
        coded_column, numbers = column(
            name, values.distinct, counts=values.counts, hierarchy=request.hierarchies.get(name), ends=ends
        )
        columns.append(coded_column)
        codes.append(coded(source.connection, values, numbers, size=coded_column.size))
    return tuple(columns), tuple(codes)


def _tuples(
    source: TableSource,
    request: Request,
    *,
    codes: tuple[Code, ...],
    secrets: Mapping[str, Code],
) -> tuple[Tuples, Ints]:
    roles = request.roles
    carried = [f"{code.expression} AS {quoted(hidden(index))}" for index, code in enumerate(secrets.values())]
    carried += [f"s.{quoted(name)}" for name in (*roles.sensitive, *roles.pseudonyms, *roles.keep)]
    if request.method in BY_ROW:
        carried.append("row_number() OVER () - 1 AS tacit_row")
    joined = [replace(code, join="") for code in codes[:-1]]
    joined.append(replace(codes[-1], join=" ".join(code.join for code in (*codes, *secrets.values()))))
    sizes = key_rows(source.connection, SOURCE, joined, carried=carried, table=KEYED)
    asked = [(hidden(index), code.size) for index, code in enumerate(secrets.values())]
    if request.method in BY_ROW:
        return _single(source, sizes=sizes, secrets=asked, names=roles.sensitive)
    groups: Grouped = grouped(source.connection, KEYED, sizes=sizes, sensitive=asked)
    spreads = tuple(replace(spread, name=name) for spread, name in zip(groups.sensitive, roles.sensitive, strict=True))
    return Tuples(groups.codes, groups.size, None, spreads), groups.key


def _single(
    source: TableSource, *, sizes: list[int], secrets: list[tuple[str, int]], names: tuple[str, ...]
) -> tuple[Tuples, Ints]:
    """Every row as a tuple of its own."""
    listed = "".join(f", {quoted(column)}" for column, _ in secrets)
    distinct = source.connection.execute(
        f"SELECT tacit_key, tacit_row{listed} FROM {KEYED} ORDER BY tacit_row"
    ).fetchnumpy()
    key, row = (np.asarray(distinct[name], dtype=np.int64) for name in ("tacit_key", "tacit_row"))
    ones = np.ones(row.size, dtype=np.int64)
    spreads = tuple(
        SecretSpread.of(
            name, size, owner=row, value=np.asarray(distinct[column], dtype=np.int64), count=ones, tuples=row.size
        )
        for name, (column, size) in zip(names, secrets, strict=True)
    )
    return Tuples(unpacked(source.connection, KEYED, key, sizes=sizes), ones, None, spreads), row


def _with_population(source: TableSource, tuples: Tuples, key: Ints, codes: tuple[Code, ...]) -> tuple[Tuples, Ints]:
    """Add the tuples that only the population has. The columns' codes cover it, so that intervals do."""
    sizes = key_rows(source.connection, POPULATION, list(codes), carried=(), table="everyone")
    people = grouped(source.connection, "everyone", sizes=sizes, sensitive=())
    if math.prod(sizes) >= LARGEST:  # the keys of the two tables would not be the same numbers
        raise InvalidParameter("the quasi-identifiers have too many values to be compared with a population")
    index = np.searchsorted(people.key, key)
    size = np.zeros(people.key.size, dtype=np.int64)
    size[index] = tuples.size
    spreads = tuple(
        SecretSpread.of(
            spread.name, spread.cardinality, owner=index[np.repeat(np.arange(key.size), np.diff(spread.start))],
            value=spread.value.astype(np.int64), count=spread.count, tuples=people.key.size,
        )
        for spread in tuples.sensitive
    )  # fmt: skip
    return Tuples(people.codes, size, people.size, spreads), people.key


def hidden(index: int) -> str:
    """The name under which rows carry the code of a sensitive column."""
    return f"tacit_secret{index}"


def _enough(tuples: Tuples, request: Request) -> None:
    k = request.wanted.k
    if k is not None and k > tuples.rows:
        raise InvalidParameter(f"k = {k} is more than the table's {tuples.rows:,} rows", hint="ask for a smaller k")


def _refuse_hopeless(rules: Rules) -> None:
    """If the table as one class breaks a model, no part of it can be found that keeps it everywhere."""
    for model in rules.models:
        if not model.holds(rules.table, rules.table).all():
            stands = float(model.measured(rules.table, rules.table)[0])
            raise InvalidParameter(
                f"{model} cannot be reached: the whole table as one class stands at {stands:.4g}",
                hint="ask for less",
            )
