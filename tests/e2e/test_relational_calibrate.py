"""Caps and bounds of tables whose owners stand in other tables: one unit is in one cell of each."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from sqlglot import exp

from conformance.sql_relational import family
from tacit.core import Loss
from tacit.curator.calibrate import CalibrationStep, Quantity, Target, plan_calibration
from tacit.faces.owner.grids import bound_edges, cap_edges
from tacit.policy import ColumnType
from tacit.sql.relations.joining import parts

TARGETS = (
    Target("items", Quantity.MAX_ROWS, (), cap_edges()),
    Target("items", Quantity.MAX_GROUPS, ("tag",), cap_edges()),
    Target("items", Quantity.LOWER, ("price",), bound_edges(ColumnType.INTEGER, upper=False)),
    Target("items", Quantity.UPPER, ("price",), bound_edges(ColumnType.INTEGER, upper=True)),
)


def counts(step: CalibrationStep, found) -> Counter[int]:
    return Counter(dict(found.world.engine._connection.execute(step.sql[0]).fetchall()))


def every_step(found):
    world = found.world
    return plan_calibration(
        world.policy,
        TARGETS,
        schema=world.engine.schema(),
        price=Loss(1),
        coverage=Fraction(9, 10),
        dialect="duckdb",
    ).steps


def moved() -> int:
    """How many cells one unit moves at most, over some databases."""
    most = 0
    for seed in range(6):
        found = family(seed)
        for step in every_step(found):
            whole = counts(step, found)
            assert whole
            for unit in found.units:
                with found.without(unit):
                    without = counts(step, found)
                most = max(most, (whole - without).total() + (without - whole).total())
        found.world.engine.close()
    return most


def test_one_unit_is_in_one_cell_though_its_rows_are_found_through_another_table():
    assert moved() == 1


def test_a_link_that_is_not_followed_would_be_noticed(monkeypatch):
    """Items would belong to their order: a person is then in as many cells as they have orders."""

    def not_followed(selected, policy, *, table, schema):
        return exp.column(exp.to_identifier(table.unit_column, quoted=True), table="t"), selected

    monkeypatch.setattr(parts, "_followed", not_followed)
    assert moved() > 1


def test_a_unit_counts_with_all_its_rows():
    found = family(1)
    (step, *_) = every_step(found)
    edges = step.target.edges
    rows = found.world.engine._connection.execute(
        "SELECT person, COUNT(*) FROM items JOIN orders ON order_id = id WHERE person IS NOT NULL GROUP BY person"
    ).fetchall()
    wanted = Counter(next(place for place, edge in enumerate(edges) if count <= edge) for _, count in rows)
    assert counts(step, found) == wanted


def test_the_values_of_a_column_are_found_by_the_units_that_have_them():
    found = family(1)
    made = plan_calibration(
        found.world.policy,
        [Target("items", Quantity.DOMAIN, ("tag",))],
        schema=found.world.engine.schema(),
        price=Loss(1, "1e-6"),
        coverage=Fraction(9, 10),
        dialect="duckdb",
    )
    (step,) = made.steps
    assert found.world.engine._connection.execute(step.sql[0]).fetchall()
