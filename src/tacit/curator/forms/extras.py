"""Optional packages: imported where they are used, with a hint where they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from tacit.errors import InvalidParameter


def needs(module: str, *, extra: str = "frames") -> ModuleType:
    """The module, or an error that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InvalidParameter(
            f"{module.partition('.')[0]} is not installed", hint=f"pip install 'tacit[{extra}]'"
        ) from None
