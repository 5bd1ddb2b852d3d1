"""The errors to expect of a job, before anyone has looked at the data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.curator.answer import estimate_width
from tacit.curator.grouping_rows import resolved
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Served
from tacit.mechanisms.strategy.picks import Floats
from tacit.sql import Output
from tacit.sql.binding import post
from tacit.sql.planning.errors_expected import MeasuredColumns, half_width, nominal_value
from tacit.sql.planning.output_laws import ColumnNoise, single_term


def outputs_of(job: Job, question: int) -> Sequence[Output]:
    """The columns of one question; of a grouping set, as its rows have them."""
    if job.sets is None:
        return job.bounds[question].outputs
    return resolved(job.sets.whole.outputs, job.sets.sets[question])


def widths(served: Served, confidence: Fraction) -> list[float]:
    """Of each measurement the half-width that it holds with this confidence, the widest of all groups."""
    plan = served.plan
    if served.estimates is None:
        return [half_width(measurement, confidence) for measurement in plan.measurements]
    pairs = zip(plan.measurements, served.estimates, strict=True)
    return [float(np.max(estimate_width(m, spread, confidence), initial=0.0)) for m, spread in pairs]


def expected(served: Served, values: Sequence[Floats] | None = None) -> MeasuredColumns:
    """The measurements as they might come out: as these values, or in a group of the size that the policy speaks of."""
    measurements = served.asked.measurements
    if values is None:
        values = [np.full(1, nominal_value(m.measure, served.plan.size)) for m in measurements]

    def bands(confidence: Fraction) -> list[post.Band]:
        return [post.around(value, width) for value, width in zip(values, widths(served, confidence), strict=True)]

    alone = served.estimates is None
    terms = tuple(single_term(measurement) if alone else None for measurement in served.plan.measurements)
    return MeasuredColumns(bands, ColumnNoise(terms, served.plan.confidence))
