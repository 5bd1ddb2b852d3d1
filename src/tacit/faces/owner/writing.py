"""Files that the owner's acts write: new ones, and the next version of a policy."""

from __future__ import annotations

import os
from pathlib import Path

from tacit.errors import PolicyError


def write_new(path: Path, text: str, *, hint: str = "write elsewhere with -o") -> None:
    """Write a file that was not there before; one that was is left alone."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PolicyError(f"{path.name} is there already: it is not overwritten", hint=hint) from None
    except OSError as error:
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None


def write_over(path: Path, text: str) -> None:
    """Replace a policy by its next version, whole or not at all."""
    draft_path = path.with_name(f".{path.name}.new")
    try:
        mode = path.stat().st_mode & 0o777
        draft_path.write_text(text, encoding="utf-8")
        draft_path.chmod(mode)
        os.replace(draft_path, path)
    except OSError as error:
        draft_path.unlink(missing_ok=True)
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None
