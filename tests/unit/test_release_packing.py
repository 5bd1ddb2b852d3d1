"""What was released, packed: bytes that come back whole or not at all, however they were damaged."""

from __future__ import annotations

import io
import random
import zipfile
from typing import Any

import numpy as np
import pytest

from tacit.errors import InvalidParameter
from tacit.release.packing import packed, unpacked

ABOUT = {"format": 1, "table": "t", "rows": 7, "deep": [[{"a": 1}] * 9]}
ARRAYS = {"one": np.arange(500), "two": np.linspace(0, 1, 300).reshape(30, 10)}


def opened(data: bytes) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """What the bytes hold; None where they are refused in our own words."""
    try:
        return unpacked(data, what="model", form=1)
    except InvalidParameter:
        return None


def test_damaged_bytes_are_refused_in_our_words_or_hold_what_was_packed() -> None:
    good, chance = packed(ABOUT, ARRAYS), random.Random(1)
    refused = 0
    for turn in range(3_000):
        bad = bytearray(good)
        for _ in range(chance.choice([1, 1, 2, 8])):
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        if turn % 5 == 0:
            del bad[chance.randrange(len(bad)) :]
        found = opened(bytes(bad))
        refused += found is None
        if found is not None:  # what was hit says nothing: a date, or a flag that nobody reads
            assert found[0] == ABOUT
            assert all((found[1][name] == array).all() for name, array in ARRAYS.items())
    assert refused > 2_000


@pytest.mark.parametrize("data", [b"", b"PK", b"PK\x05\x06" + bytes(18), bytes(1000)])
def test_what_is_no_zip_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidParameter, match="no model"):
        unpacked(data, what="model", form=1)


def test_another_format_is_told_of() -> None:
    with pytest.raises(InvalidParameter, match="another format: this tacit reads 2"):
        unpacked(packed(ABOUT, ARRAYS), what="model", form=2)


def test_depths_that_json_cannot_follow_are_refused() -> None:

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("about.json", "[" * 200_000)
    with pytest.raises(InvalidParameter, match="no model"):
        unpacked(out.getvalue(), what="model", form=1)
