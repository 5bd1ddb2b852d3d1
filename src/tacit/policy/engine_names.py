"""The one list of database engines a policy may name."""

from __future__ import annotations

from tacit.policy.fault import Fault, KeyPath, shown
from tacit.policy.names import meant
from tacit.policy.reading import text

ENGINES = ("duckdb", "postgres", "spark", "sqlite")  # add a name here when tacit.engines serves it


def engine_name(value: object, path: KeyPath) -> str:
    """An engine that this version serves."""
    name = text(value, path)
    if name in ENGINES:
        return name
    served = ", ".join(f'"{engine}"' for engine in ENGINES)
    raise Fault(f"{shown(name)} is not an engine tacit knows: it serves {served}", path=path, hint=meant(name, ENGINES))
