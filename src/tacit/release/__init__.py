"""Publish a table: the classical way (`anonymise`), or with a guarantee (`synthesise`). Fetched when first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.release import anonymise, distributions, general, hierarchies, linked, maps, publishing, synthesise

__all__ = ["anonymise", "distributions", "general", "hierarchies", "linked", "maps", "publishing", "synthesise"]


def __getattr__(name: str) -> ModuleType:
    if name not in __all__:
        raise AttributeError(f"module 'tacit.release' has no attribute {name!r}")
    return import_module(f"tacit.release.{name}")
