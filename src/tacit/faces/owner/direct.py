"""The owner's direct look at the data: true rows, without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit.engines import run_owner_sql
from tacit.policy import Policy

Rows = tuple[tuple[str, ...], list[tuple[object, ...]]]


def direct(source: Policy | Path, sql: str, parameters: Sequence[object]) -> Rows:
    """Run the owner's SQL on a policy's own source, or on a database that has no policy yet."""
    return run_owner_sql(source, sql, parameters)
