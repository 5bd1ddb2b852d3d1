"""Engines are listed once: whatever a policy may name can be opened, is tried with the others, and is in the docs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conformance.engine_words import ENGINES as TRIED
from tacit.engines import opener_of
from tacit.errors import EngineError, PolicyError
from tacit.policy import Dataset
from tacit.policy.keys import keys_markdown
from tacit.policy.sources.engine_specs import ENGINES, engine_at
from tacit.sql.emitting import dialects
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
    monkeypatch.setitem(__import__("sys").modules, "tacit.engines.spark.engine", None)
    with pytest.raises(EngineError, match="Spark is not installed") as told:
        opener_of("spark")
    assert told.value.hint == "pip install 'tacit[spark]'"


def overwritten(source: str) -> list[str]:
    """The keys that stand twice in one literal dictionary: of two rewrites of a node, the first would be forgotten."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Dict):
            keys = [ast.unparse(key) for key in node.keys if key is not None]
            found += [key for key in set(keys) if keys.count(key) > 1]
    return found


def test_no_rewrite_of_a_node_is_forgotten_for_a_later_one():
    room = Path(dialects.__file__).parent
    assert {path.name: twice for path in room.glob("*.py") if (twice := overwritten(path.read_text("utf-8")))} == {}


def test_a_rewrite_that_is_forgotten_for_a_later_one_is_noticed():
    assert overwritten("{exp.Anonymous: called, exp.Cast: cast, exp.Anonymous: other_words}") == ["exp.Anonymous"]
