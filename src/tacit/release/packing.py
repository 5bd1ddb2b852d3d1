"""What was released, packed without pickle: arrays, JSON that says what they mean, and the hash of it all."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidParameter, TacitError

_MOST_BYTES = 1 << 28  # of what is read, unpacked
_DAMAGED = (  # what zipfile, zlib, json and numpy raise at bytes that nobody packed: odd methods, flags, shapes
    zipfile.BadZipFile, zlib.error, struct.error, KeyError, IndexError, TypeError, ValueError, AttributeError,
    OverflowError, EOFError, OSError, NotImplementedError, RuntimeError, MemoryError,
)  # fmt: skip


def packed(about: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """A zip, the same for the same contents. `about` names its format."""
    said = json.dumps(about, sort_keys=True).encode("ascii")
    digest = hashlib.sha256(said)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(arrays):
            body = io.BytesIO()
            np.lib.format.write_array(body, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            digest.update(name.encode("ascii") + body.getvalue())
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), body.getvalue(), zipfile.ZIP_DEFLATED)
        file.writestr(zipfile.ZipInfo("about.json"), said, zipfile.ZIP_DEFLATED)
        file.writestr(zipfile.ZipInfo("sha256"), digest.hexdigest())
    return out.getvalue()


def unpacked(data: bytes, *, what: str, form: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was packed so; refused unless it is whole and of this form. `what` it should be, in an error's words."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            if sum(each.file_size for each in file.infolist()) > _MOST_BYTES:
                raise not_whole(what)
            said = file.read("about.json")
            about: dict[str, Any] = json.loads(said)
            if about.get("format") != form:
                raise InvalidParameter(f"the {what} has another format: this tacit reads {form}")
            digest, arrays = hashlib.sha256(said), {}
            for name in sorted(name for name in file.namelist() if name.endswith(".npy")):
                body = file.read(name)
                digest.update(name.removesuffix(".npy").encode("ascii") + body)
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(io.BytesIO(body), allow_pickle=False)
            if file.read("sha256").decode("ascii") != digest.hexdigest():
                raise not_whole(what)
    except TacitError:
        raise
    except _DAMAGED:
        raise not_whole(what) from None
    return about, arrays


def not_whole(what: str) -> InvalidParameter:
    """The error about bytes that are nothing of ours."""
    return InvalidParameter(f"this is no {what}, or not all of one: its hash does not fit", hint="make it anew")


def write_new(path: Path, data: bytes) -> None:
    """Write a file; one that is there already is not overwritten."""
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise InvalidParameter(f"{path.name} is there already: it is not overwritten") from None
    except OSError:
        raise InvalidParameter(f"{path.name} cannot be written", hint="check its folder") from None


def read_whole(path: Path) -> bytes:
    """All that a file holds."""
    try:
        return path.read_bytes()
    except OSError:
        raise InvalidParameter(f"{path.name} cannot be read") from None
