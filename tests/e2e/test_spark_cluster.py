"""Spark itself, on a standalone master with two workers: `make test-spark` sets SPARK_HOME and runs this."""

from __future__ import annotations

import os
import random

import pytest

from conformance.engine_pairs import cells, questions, random_script, samples
from conformance.engine_sources import in_spark

pytestmark = pytest.mark.skipif("SPARK_HOME" not in os.environ, reason="SPARK_HOME is not set: run make test-spark")
QUESTIONS = 20


@pytest.mark.parametrize("seed", [0, 1])
def test_questions_have_equal_whole_numbers_before_noise(seed):
    from support.spark import cluster

    rng = random.Random(seed)
    script = random_script(rng, rows=60, units=7, tame=True)
    first = script.world().engine
    second = in_spark(script, address=cluster().address)
    try:
        for text, made in questions(rng, script, schema=first.schema(), count=QUESTIONS):
            for statement in made.statements:
                assert cells(first, statement, shared=True) == cells(second, statement, shared=True), text
                if samples(statement):
                    cells(second, statement, shared=False)
    finally:
        first.close()
        second.close()
