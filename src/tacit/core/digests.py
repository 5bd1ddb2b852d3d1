"""One short text for many: what plans, questions and releases are known by."""

from __future__ import annotations

import hashlib


def digest(*parts: str) -> str:
    """The hash of texts one after another: the same for the same ones, in the same order."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
