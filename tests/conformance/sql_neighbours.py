"""Two tables that differ in one person, whose cells are as odd as can be; and noise that has forgotten its numbers.

Where noise does not depend on what it is added to, nothing that leaves may: rows, half-widths, notes, refusals, charges
and the log are then the same, byte for byte, whether the person is there or not.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

from conformance import sql_tables
from conformance.engine_pairs import Script, _nearer, random_script
from tacit.curator import Curator, Session
from tacit.curator.measuring import measure
from tacit.engines.duckdb import DuckDB
from tacit.errors import TacitError
from tacit.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from tacit.noise import is_wide

Rng = random.Random
SOMEBODY = "(777,"  # the first cell of every row of the person who is there or not
_ANA = Session("ana")
_AGE = re.compile(r"\d+ (second|minute)s? ago")
_OF_THE_CLOCK = {"at", "hash", "state"}  # what differs between two runs over one table, too


class _Odd(Rng):
    """A source of cells that are never usual: NULL, or the oddest of their type."""

    def random(self) -> float:
        return super().random() * 0.25


@dataclass
class Forgetful:
    """Noise that is a function of nothing but how many numbers there are; `sign` says on which side of zero.

    No private key is above its threshold, as it is up to noise which are.
    """

    sign: int = 1

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        for kind in (Laplace, Gaussian):
            patch.setattr(kind, "release", lambda mechanism, values, source=None: self.numbers(values))
        patch.setattr(
            measure, "_PrivateGroups", lambda exact, names: measure._Groups([], names)
        )  # all below the threshold
        for choice in (Exponential, PermuteAndFlip):
            patch.setattr(choice, "release", lambda mechanism, scores, source=None: len(scores) // 2)

    def numbers(self, values: Any) -> Any:
        made = [self.sign * (7 + 5 * index % 11) for index in range(len(values))]
        return np.array(made, dtype=object if is_wide(values) else np.int64)


def pair(rng: Rng, *, tame: bool = False, rows: int = 12) -> tuple[Script, Script]:
    """A random table, and the same with one more person of one to three rows."""
    odd: list[str] = []
    usual = sql_tables._row

    def kept(source: Rng, rid: int, owner: object, **kinds: Any) -> str:
        if not odd:
            unit = "Somebody" if isinstance(owner, str) else 777
            odd.extend(usual(_Odd(rng.random()), 777, unit, **kinds) for _ in range(rng.choice((1, 2, 3))))
        return usual(source, rid, owner, **kinds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sql_tables, "_row", kept)
        fewer = random_script(rng, rows=rows, units=5, tame=tame)
    inserted = next(text for text in fewer.statements if text.startswith("INSERT"))
    more = f"{inserted}, {_nearer(', '.join(odd), tame=tame)}"
    return fewer, Script(fewer.policy, tuple(more if text is inserted else text for text in fewer.statements))


def told(curator: Curator, text: str) -> dict[str, Any]:
    """Everything that leaves for a question: the refusal, or what EXPLAIN says and the answer with its charge."""
    left: dict[str, Any] = {}
    try:
        left["explained"] = str(curator.explain(text, session=_ANA))
        release = curator.ask(text, session=_ANA)
    except TacitError as error:
        return left | {"refused": (type(error).__name__, error.message, error.hint)}
    answer = release.to_dict()
    receipt = answer["receipt"]
    assert isinstance(receipt, dict)
    receipt.pop("entry")  # a hash over the time
    answer["notes"] = [_AGE.sub("some time ago", str(note)) for note in release.notes]
    return left | {"answer": answer, "shapes": repr(release.shapes), "keys": release.keys, "shown": release.shown()}


def recorded(curator: Curator) -> list[dict[str, object]]:
    """The log, without what the clock decides, and without the marks of two databases of one server."""
    left_out = _OF_THE_CLOCK | (set() if isinstance(curator._engine, DuckDB) else {"digest"})
    return [
        {field.name: getattr(entry, field.name) for field in fields(entry) if field.name not in left_out}
        for entry in curator.log("ana", limit=10_000)
    ]
