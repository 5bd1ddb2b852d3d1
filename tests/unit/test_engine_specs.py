"""Engines are listed once: whatever a policy may name can be opened, is tried with the others, and is in the docs."""

from __future__ import annotations

import pytest

from conformance.engine_words import ENGINES as TRIED
from tacit.engines import opener_of
from tacit.errors import EngineError, PolicyError
from tacit.policy import Dataset
from tacit.policy.engine_specs import ENGINES, engine_at
from tacit.policy.keys import keys_markdown
from tacit.sql.emitting.dialects import _REWRITES

PLACES = {
    None: {"duckdb", "spark"},
    "clinic.duckdb": {"duckdb", "sqlite"},
    "postgresql://host/clinic": {"postgres"},
    "sc://host": {"spark"},
}


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_can_be_opened_speaks_a_dialect_and_is_tried(name):
    assert callable(opener_of(name))
    assert ENGINES[name].dialect in _REWRITES
    assert any(tried.split()[0].startswith(name) or name in tried for tried in TRIED)
    assert f"`{name}`" in keys_markdown()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("place", PLACES)
def test_each_takes_its_own_sources_and_no_others(name, place):
    assert ENGINES[name].takes(place) == (name in PLACES[place])
    source = {"t": "t.parquet"} if place is None else place
    if name in PLACES[place]:
        assert Dataset("d", source, engine=name).engine == name
        return
    with pytest.raises(PolicyError) as told:
        Dataset("d", source, engine=name)
    assert told.value.hint is not None
    hinted = told.value.hint.partition('"')[2].partition('"')[0]
    assert hinted in ENGINES or ENGINES[name].takes(hinted)  # what the hint says is accepted


def test_an_address_tells_its_engine():
    assert [spec and spec.name for spec in map(engine_at, ("postgres://h/d", "sc://h", "x.db", ""))] == [
        "postgres", "spark", None, None,
    ]  # fmt: skip


def test_what_is_not_installed_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "tacit.engines.spark", None)
    with pytest.raises(EngineError, match="Spark is not installed") as told:
        opener_of("spark")
    assert told.value.hint == "pip install 'tacit[spark]'"
