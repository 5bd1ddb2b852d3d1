"""The door: a table in, a verified table and its report out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit.errors import InvalidParameter
from tacit.policy import Policy
from tacit.release.anonymise.checks.auditing import Classes, classes_of, verify, verify_cells, verify_rows
from tacit.release.anonymise.checks.linkage import attack
from tacit.release.anonymise.checks.risk import homogeneity, risk
from tacit.release.anonymise.checks.utility import utility
from tacit.release.anonymise.methods.halving import Progress
from tacit.release.anonymise.methods.making import make
from tacit.release.anonymise.models.distance import EQUAL
from tacit.release.anonymise.models.family import Model
from tacit.release.anonymise.models.wanted import wanted_of
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.reading.preparing import Prepared, prepare
from tacit.release.anonymise.reading.source import TableSource, open_named
from tacit.release.anonymise.reading.units import alone_in
from tacit.release.anonymise.recording import Record, recorded
from tacit.release.anonymise.releases import intersections
from tacit.release.anonymise.request import Request, Roles
from tacit.release.anonymise.result import Anonymised, Report
from tacit.release.anonymise.values.hierarchy import Hierarchy
from tacit.release.anonymise.values.tuples import ClassTally, SecretSpread, tally
from tacit.release.anonymise.writing.beside import beside, telling
from tacit.release.anonymise.writing.publishing import PUBLISHED, publish


def anonymise(  # noqa: PLR0913 - one door for all models and methods
    table: object,
    quasi_identifiers: Sequence[str],
    *,
    models: Sequence[Model] = (),
    sensitive: str | Sequence[str] = (),
    k: int | None = None,
    l: float | None = None,  # noqa: E741 - the model's own name for it
    t: float | None = None,
    method: str = "greedy",
    keep: Sequence[str] = (),
    pseudonyms: Sequence[str] = (),
    key: bytes | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    top: Mapping[str, object] | None = None,
    bottom: Mapping[str, object] | None = None,
    grids: Mapping[str, object] | None = None,
    suppression: float = 0.0,
    diversity: str = "distinct",
    c: float | None = None,
    distance: str = EQUAL,
    beta: float | None = None,
    alpha: float | None = None,
    k_map: int | None = None,
    presence: tuple[float, float] | None = None,
    population: object | None = None,
    population_size: int | None = None,
    unit: str | None = None,
    policy: Policy | None = None,
    progress: Progress | None = None,
) -> Anonymised:
    """Make a table publishable with respect to its quasi-identifiers. Not differential privacy; see the docs.

    `table` is a path (Parquet, CSV, JSON), a pandas or Arrow table, a DuckDB relation, or the name of a table of
    `policy`, whose engine then groups it. Columns without a role, identifiers among them, are left out. Every class
    of the result satisfies each of `models`, such as `[KAnonymity(5), LDiversity(2)]` or, in short, `k=5, l=2`: that is
    recomputed from the published table, and a table that fails is not handed over.

    `unit` is the column that says whose a row is; left out, it is the policy's for a table of its, or the one column of
    `pseudonyms`. A table in which somebody has several rows is refused, unless `unit="row"` says that rows are what is
    meant to be counted. Raises InvalidParameter for what makes no sense, or cannot be reached with this table.
    """
    roles = Roles(
        quasi_identifiers=_listed(quasi_identifiers), sensitive=_listed(sensitive), pseudonyms=_listed(pseudonyms),
        keep=_listed(keep),
    )  # fmt: skip
    wanted = wanted_of(
        _models(models), k=k, k_map=k_map, presence=presence, l=l, diversity=diversity, c=c, t=t, distance=distance,
        beta=beta, alpha=alpha,
    )  # fmt: skip
    request = Request(
        roles=roles, wanted=wanted, method=method, hierarchies=dict(hierarchies or {}), top=dict(top or {}),
        bottom=dict(bottom or {}), grids=dict(grids or {}), suppression=suppression, unit=unit,
    )  # fmt: skip
    return anonymise_source(
        lambda: open_named(table, policy), request, name=_name_of(table), key=key, population=population,
        population_size=population_size, policy=policy, progress=progress,
    )  # fmt: skip


def anonymise_source(
    opened: Callable[[], TableSource],
    request: Request,
    *,
    name: str,
    key: bytes | None = None,
    population: object | None = None,
    population_size: int | None = None,
    policy: Policy | None = None,
    progress: Progress | None = None,
) -> Anonymised:
    """The same for a request that is made up already. The table is opened only once the act is on record."""

    def act(record: Record) -> Anonymised:
        source = opened()
        verified = run(source, request, key=key, population=population, progress=progress or (lambda _: None))
        prepared = verified.prepared
        record.said = f"{verified.classes.each.size.size} classes, {prepared.tuples.rows} rows, {prepared.rules.models}"
        return Anonymised(
            source,
            prepared.rules.models,
            measure=lambda: _report(verified, population_size=population_size, record=record),
        )

    return recorded(policy, request, table=name, act=act)


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedTable:
    """A table that was read, split, joined back and verified."""

    prepared: Prepared
    partition: Partition
    classes: Classes
    people: ClassTally | None  # the same classes beside the population, where one is known
    seconds: float


def run(
    source: TableSource, request: Request, *, key: bytes | None, population: object | None, progress: Progress
) -> VerifiedTable:
    """Read, split, join back, verify."""
    start = time.perf_counter()
    prepared = prepare(source, request, population=population)
    progress(0.25)
    partition = make(prepared, lambda done: progress(0.25 + 0.45 * done))
    progress(0.7)
    publish(prepared, partition, key=key)
    progress(0.9)
    classes, people = _verified(prepared, partition)
    progress(1.0)
    return VerifiedTable(prepared, partition, classes, people, time.perf_counter() - start)


def _verified(prepared: Prepared, partition: Partition) -> tuple[Classes, ClassTally | None]:
    """The classes as the published table has them, every one within the models; and beside the population."""
    request = prepared.request
    verify_cells(prepared.tuples, partition)
    classes = classes_of(
        prepared.source.connection, PUBLISHED, request.roles.quasi_identifiers, sensitive=request.roles.sensitive,
        hierarchies=request.hierarchies, distances=request.wanted.distances(request.roles.sensitive),
    )  # fmt: skip
    reads_as = verify_rows(
        prepared.source.connection, PUBLISHED, classes, names=request.roles.quasi_identifiers,
        tuples=prepared.tuples, partition=partition,
    )  # fmt: skip
    people = None
    if prepared.tuples.population is not None:
        kept = np.flatnonzero(partition.classes >= 0)
        mine = reads_as[partition.classes[kept]]
        people = tally(prepared.tuples, mine, number=int(reads_as.max()) + 1, of=kept)
    verify(classes, request.wanted.models(request.roles.sensitive, classes.grounds), population=people)
    return classes, people


def _report(verified: VerifiedTable, *, population_size: int | None, record: Record) -> Report:
    prepared, partition, classes = verified.prepared, verified.partition, verified.classes
    tuples, request = prepared.tuples, prepared.request
    alike = np.arange(tuples.size.size)
    if prepared.by == "tacit_row":
        alike = np.unique(tuples.codes, axis=1, return_inverse=True)[1].ravel()
    before: ClassTally = tally(tuples, alike, number=int(alike.max()) + 1)
    sizes, number = np.unique(classes.each.size, return_counts=True)
    lost = utility(tuples, prepared.columns, partition, published=classes.each.size)
    linkage = attack(tuples, partition, _known(prepared))
    tells = telling(prepared, [column.name for column in lost.columns if column.ncp > 0])
    return Report(
        request=request,
        models=tuple(map(str, prepared.rules.models)),
        utility=lost,
        risk_before=risk(before, population_size=population_size),
        risk_after=risk(verified.people or classes.each, population_size=population_size),
        homogeneity_before=tuple(homogeneity(before, prepared.rules.table, name) for name in request.roles.sensitive),
        homogeneity_after=tuple(homogeneity(classes.each, classes.table, name) for name in request.roles.sensitive),
        linkage=linkage,
        class_sizes=tuple(zip(sizes.tolist(), number.tolist(), strict=True)),
        orders={column.name: column.text for column in prepared.columns if not column.numeric},
        left_out=prepared.left_out,
        unit=prepared.unit,
        alone=alone_in(prepared.source.connection, PUBLISHED, request.roles.keep),
        telling=tells,
        earlier=record.earlier,
        intersections=intersections(prepared, partition, record.earlier),  # last: it reads the table anew
        entry=record.entry,
        seconds=verified.seconds,
    )


def _known(prepared: Prepared) -> dict[tuple[str, ...], SecretSpread]:
    """What somebody may know beside the quasi-identifiers: what is kept, and that with the sensitive columns."""
    roles = prepared.request.roles
    known = {}
    if roles.keep:
        known[roles.keep] = beside(prepared, roles.keep, ())
    if roles.sensitive:
        known[(*roles.keep, *roles.sensitive)] = beside(prepared, roles.keep, roles.sensitive)
    return known


def _listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _models(models: object) -> Sequence[Model]:
    if isinstance(models, Sequence) and not isinstance(models, str):
        return models
    raise InvalidParameter("models is a list", hint="models=[KAnonymity(5), LDiversity(2)]")


def _name_of(table: object) -> str:
    return Path(table).name if isinstance(table, str | os.PathLike) else type(table).__name__
