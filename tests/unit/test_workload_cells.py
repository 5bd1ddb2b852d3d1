"""Which cells a condition holds for, and which cells no question tells apart: held against the slow way to say it."""

from __future__ import annotations

import random
import resource
from datetime import date, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from sqlglot import exp

from conformance.sql_world import policy_of, world
from tacit.curator import Session
from tacit.policy import ColumnPolicy, TablePolicy
from tacit.sql.expressions.operands import literal
from tacit.sql.workloads.truth import _ORDER, PublicCells, truth
from tacit.sql.workloads.workload import _axis

DAYS = tuple(date(2026, 1, 1) + timedelta(days=day) for day in range(9))
LINES = (
    PublicCells("x", tuple(range(-3, 8)), ordered=True),
    PublicCells("x", DAYS, ordered=True),
    PublicCells("x", ("a", "b", "c"), ordered=False),
    PublicCells("x", (5, 2, 9), ordered=False),
    PublicCells("x", (False, True), ordered=False, closed=True),
)


def column():
    return exp.column("x")


@pytest.mark.parametrize("line", LINES, ids=repr)
@pytest.mark.parametrize("kind", list(_ORDER), ids=lambda kind: kind.__name__)
def test_a_comparison_holds_where_it_holds_for_the_value(line, kind):
    for value in line.domain:
        found = truth(kind(this=column(), expression=literal(value)), line)
        size = len(line.domain)
        if found is None:  # what lies outside cannot be told, for an order on values that have none
            assert kind not in {exp.EQ, exp.NEQ}
            assert not line.ordered
            continue
        assert found.true[:size].tolist() == [_ORDER[kind](each, value) for each in line.domain]
        assert not (found.true & found.false).any()
        assert (found.true | found.false).tolist() == [True] * (line.cells - 1) + [False]  # NULL is neither
        if line.ordered:
            upward = kind in {exp.GT, exp.GTE}
            beyond = [kind is exp.NEQ] * 2 if kind in {exp.EQ, exp.NEQ} else [not upward, upward]
            assert found.true[size:].tolist() == [*beyond, False]


@pytest.mark.parametrize("line", LINES, ids=repr)
def test_a_list_holds_where_one_of_it_is_the_value(line):
    rng = random.Random("lists")
    for _ in range(20):
        chosen = rng.choices(line.domain, k=rng.randint(1, 5))
        found = truth(exp.In(this=column(), expressions=[literal(value) for value in chosen]), line)
        assert found is not None
        assert found.true.tolist() == [each in chosen for each in line.domain] + [False] * line.outside
        assert (found.true | found.false).tolist() == [True] * (line.cells - 1) + [False]


def test_a_value_outside_of_the_domain_leaves_it_open():
    for line, other in zip(LINES[:4], (99, date(2030, 1, 1), "d", 7), strict=True):
        assert truth(exp.In(this=column(), expressions=[literal(line.domain[0]), literal(other)]), line) is None
        assert truth(exp.EQ(this=column(), expression=literal(other)), line) is None


def slow_classes(line, fits):
    """Cells that every question treats alike, one tuple of what each of them says for each cell."""
    said = []
    for cell in range(line.cells):
        counts = [bool(fit.masks.get("x", np.ones(line.cells, dtype=bool))[cell]) for fit in fits]
        keyed = [count and cell < len(line.domain) for count in counts]
        told = [
            (cell if key else None) if "x" in fit.keys else count
            for fit, count, key in zip(fits, counts, keyed, strict=True)
        ]
        any_counts = any(key if "x" in fit.keys else count for fit, count, key in zip(fits, counts, keyed, strict=True))
        said.append(tuple(told) if any_counts else None)
    order: dict[object, int] = {}
    return [-1 if each is None else order.setdefault(each, len(order)) for each in said]


def test_cells_are_told_apart_as_the_questions_tell_them_apart():
    rng = random.Random("cells")
    line = LINES[0]
    for _ in range(200):
        fits = []
        for _ in range(rng.randint(1, 12)):
            masks = {"x": np.array([rng.random() < 0.6 for _ in range(line.cells)])} if rng.random() < 0.8 else {}
            fits.append(SimpleNamespace(masks=masks, keys=("x",) if rng.random() < 0.3 else ()))
        assert _axis(line, fits).labels.tolist() == slow_classes(line, fits)


def test_the_questions_of_a_batch_share_the_values_of_their_columns(tmp_path):
    """Each had ten thousand numbers of its own for each of its columns: 400 kB a condition, gigabytes a batch."""
    columns = [ColumnPolicy(f"n{i}", type="integer", lower=0, upper=9_998, domain="range") for i in range(4)]
    table = TablePolicy("t", unit="id", max_rows=1, max_groups=1, columns=columns)
    made = ", ".join(f"{column.name} INTEGER" for column in columns)
    curator = world(policy_of([table]), f"CREATE TABLE t (id INTEGER, {made})").curator(tmp_path)
    where = " AND ".join(f"n{i} < {{0}}" for i in range(4))
    curator.explain_batch([f"SELECT COUNT(*) FROM t WHERE {where.format(1)}"], session=Session("ana"), epsilon=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asked = [f"SELECT COUNT(*) FROM t WHERE {where.format(i * 90)}" for i in range(1, 100)]
    curator.explain_batch(asked, session=Session("ana"), epsilon=1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80 * 1024  # kB; it was twice that
