"""The curator: the seven rooms of a question, in order. The only importer of engines and ledger.

Names are fetched from their files when they are first used: who only looks at the ledger waits for no SQL parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.curator.curator import Curator
    from tacit.curator.explaining.explain import Explanation
    from tacit.curator.forms.release import Receipt, Release
    from tacit.curator.jobs.pricing import Session

__all__ = ["Curator", "Explanation", "Receipt", "Release", "Session"]

_HOMES = {
    "Curator": "tacit.curator.curator",
    "Explanation": "tacit.curator.explaining.explain",
    "Receipt": "tacit.curator.forms.release",
    "Release": "tacit.curator.forms.release",
    "Session": "tacit.curator.jobs.pricing",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit.curator' has no attribute {name!r}")
    public: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = public
    return public


def __dir__() -> list[str]:
    return __all__
