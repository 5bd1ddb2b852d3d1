"""The errors to expect of a job, before anyone has looked at the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.curator.grouping_rows import resolved
from tacit.curator.job import Job
from tacit.curator.members import Served
from tacit.mechanisms import Gaussian, Laplace, strategy
from tacit.sql import Output, post
from tacit.sql.errors_expected import half_width, nominal_value, shared_confidence


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
    found = []
    for measurement, variances in zip(plan.measurements, served.variances, strict=True):
        if not isinstance(measurement.noise, (Laplace, Gaussian)):
            raise TypeError("an estimate has the noise of numbers")
        worst = np.max(variances, initial=0.0, keepdims=True)
        found.append(float(strategy.half_width(worst, noise=measurement.noise, confidence=confidence)[0]))
    return found


def expected_bands(served: Served) -> list[post.Band]:
    """The measurements as they might come out in a group of the size that the policy speaks of."""
    bands = []
    for measurement, width in zip(served.asked.measurements, widths(served), strict=True):
        value = np.full(1, nominal_value(measurement.measure, served.plan.size))
        bands.append(post.Band(value, value - width, value + width))
    return bands
