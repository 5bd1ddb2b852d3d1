"""Names of the select list that the list and WHERE read: written out where no column has them, and never for ever."""

from __future__ import annotations

import pytest

from conformance.sql_registers import register
from tacit.errors import TacitError, UnknownName
from tacit.sql import parse
from tacit.sql.postprocessing.binding import bind_statement
from tacit.sql.postprocessing.own_aliases import aliases_written_out


@pytest.fixture(scope="module")
def cancers():
    return register("cancers")


def written(text, world):
    return aliases_written_out(parse(text).select, world.policy, schema=world.engine.schema())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT foo AS foo, COUNT(*) FROM tumours WHERE foo > 1 GROUP BY foo",
        "SELECT bb + 1 AS aa, aa + 1 AS bb, COUNT(*) FROM tumours WHERE aa > 1 AND bb > 2 GROUP BY ALL",
        "SELECT bb + 1 AS aa, cc + 1 AS bb, aa + 1 AS cc, COUNT(*) FROM tumours WHERE aa > 1 GROUP BY ALL",
    ],
)
def test_a_name_that_stands_for_itself_is_unknown(text, cancers):
    with pytest.raises(UnknownName):
        bind_statement(parse(text), cancers.policy, schema=cancers.engine.schema())


def test_a_column_comes_before_a_name(cancers):
    text = "SELECT grade + 1 AS size_mm, COUNT(*) FROM tumours WHERE size_mm > 20 AND stage IS NOT NULL GROUP BY 1"
    assert written(text, cancers).sql() == parse(text).select.sql()


@pytest.mark.parametrize("steps", [10, 60])
def test_what_is_written_out_twice_in_every_step_does_not_grow_without_end(steps, cancers):
    doubled = ", ".join(f"x{index} + x{index} AS x{index + 1}" for index in range(steps))
    held = " AND ".join(f"x{1 + index % steps} > 1" for index in range(300))
    text = f"SELECT {doubled.replace('x0 + x0', 'grade + grade')}, COUNT(*) FROM tumours WHERE {held} GROUP BY ALL"
    assert sum(1 for _ in written(text, cancers).walk()) < 100_000
    with pytest.raises(TacitError):
        bind_statement(parse(text), cancers.policy, schema=cancers.engine.schema())
