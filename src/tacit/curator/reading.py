"""A job, read: its queries are run in one state of the data, and their exact numbers are given noise at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Member, Served, estimated
from tacit.curator.jobs.pieces import Joint
from tacit.curator.measuring.measure import PublicTables, encoded, listed, measure, tellings
from tacit.curator.measuring.noisy import Noisy
from tacit.engines import Engine, Exact, State, one_state
from tacit.noise import IntArray, Source, WideArray
from tacit.sql import Plan, Statement
from tacit.sql.planning.bounding import is_wide_noise
from tacit.sql.rules.sample_groups import TIES


def read_job(job: Job, engine: Engine, *, public: Callable[[Plan], PublicTables], source: Source) -> tuple[Member, ...]:
    """Every member of the job, noisy. The only place where a job's exact numbers are."""
    known, members = iter(job.members), []
    tables = [public(piece.plan) for piece in job.pieces]
    with one_state(engine) as state:
        for piece, domains in zip(job.pieces, tables, strict=True):
            exact = [execute(statement, state) for statement in piece.plan.runs]
            if isinstance(piece, Joint):
                members += _workload(piece, exact[0], known=[next(known) for _ in piece.members], source=source)
            else:
                plan = next(known).plan
                members.append(Member(plan, measure(plan, exact, public=domains, source=source)))
    return tuple(members)


def read_tellings(
    job: Job, engine: Engine, *, prices: Sequence[Fraction], public: Callable[[Plan], PublicTables], source: Source
) -> list[Noisy]:
    """The one question of a job at each of these prices, noisiest first. Of all but what is told they are secrets."""
    (piece,) = job.pieces
    domains = public(piece.plan)
    with one_state(engine) as state:
        exact = [execute(statement, state) for statement in piece.plan.runs]
    return tellings(piece.plan, exact, prices=prices, public=domains, source=source)


def execute(statement: Statement, state: State) -> Exact:
    """The exact columns of a statement; with its ties settled, should there be any.

    Ranking by hash alone gives the same groups as ranking by hash and key unless two hashes of one unit are equal, so
    which of the two ran cannot be told from the result.
    """
    exact = state.execute(statement.sql(state.dialect))
    if statement.settled is None or not exact.integers(TIES).any():
        return exact
    return state.execute(statement.settled.sql(state.dialect))


def _workload(joint: Joint, exact: Exact, *, known: list[Served], source: Source) -> list[Member]:
    """Every question of a workload, from the estimates that least squares makes of its noisy histograms."""
    pairs = zip(joint.noises, histograms(joint, exact), strict=True)
    cells = [noise.cells(noise.release(histogram, source)) for noise, histogram in pairs]
    return [estimated(joint, member, cells, each) for member, each in enumerate(known)]


def histograms(joint: Joint, exact: Exact) -> list[IntArray | WideArray]:
    """Of each measurement the histogram over the classes that the questions tell apart."""
    known = np.ones(exact.rows, dtype=bool)
    indexes = []
    for axis, (key, classes) in enumerate(zip(joint.plan.keys, joint.cells.classes, strict=True)):
        index = dict(zip(encoded(key, {}), classes.tolist(), strict=True))
        own = np.array([index.get(value, -1) for value in listed(exact.keys(f"k{axis}"))], dtype=np.int64)
        known &= own >= 0
        indexes.append(own)
    counted: list[IntArray | WideArray] = []
    for measurement, noise in zip(joint.plan.measurements, joint.noises, strict=True):
        wide = measurement.wide or any(map(is_wide_noise, noise.noises))
        column = exact.wide(measurement.column) if wide else exact.integers(measurement.column)
        cells: IntArray | WideArray
        cells = np.zeros(joint.cells.workload.sizes, dtype=object if wide else np.int64)
        np.add.at(cells, tuple(own[known] for own in indexes), column[known])
        counted.append(cells)
    return counted
