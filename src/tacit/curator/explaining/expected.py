"""The errors to expect of a job, before anyone has looked at the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.curator.answer import estimate_width
from tacit.curator.grouping_rows import resolved
from tacit.curator.jobs.job import Job
from tacit.curator.jobs.members import Served
from tacit.sql import Output
from tacit.sql.binding import post
from tacit.sql.planning.errors_expected import half_width, nominal_value, shared_confidence


def outputs_of(job: Job, question: int) -> Sequence[Output]:
    """The columns of one question; of a grouping set, as its rows have them."""
    if job.sets is None:
        return job.bounds[question].outputs
    return resolved(job.sets.whole.outputs, job.sets.sets[question])


def widths(served: Served) -> list[float]:
    """Of each measurement the half-width, the widest of all groups."""
    plan = served.plan
    confidence = shared_confidence(plan.confidence, len(plan.measurements))
    if served.variances is None:
        return [half_width(measurement, confidence) for measurement in plan.measurements]
    half_widths = []
    for measurement, variances, lattice in zip(plan.measurements, served.variances, served.lattices, strict=True):
        worst = np.max(variances, initial=0.0, keepdims=True)
        half_widths.append(float(estimate_width(worst, measurement, lattice, confidence=confidence)[0]))
    return half_widths


def expected_bands(served: Served) -> list[post.Band]:
    """The measurements as they might come out in a group of the size that the policy speaks of."""
    bands = []
    for measurement, width in zip(served.asked.measurements, widths(served), strict=True):
        value = np.full(1, nominal_value(measurement.measure, served.plan.size))
        bands.append(post.Band(value, value - width, value + width))
    return bands
