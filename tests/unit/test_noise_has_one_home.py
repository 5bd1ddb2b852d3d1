"""Randomness is drawn in one room, from one source, and nobody can seed it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tacit
from support.lint import randomness, seeds, sources

PACKAGE = Path(tacit.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_there_are_modules_to_look_at() -> None:
    assert {"noise/source.py", "core/loss.py"} <= {_name(path) for path in MODULES}


def test_only_the_source_of_the_room_of_noise_draws_randomness() -> None:
    """One item for all modules: a parameter each made seven hundred, and the list of what was found says as much."""
    assert {_name(path) for path in MODULES if randomness(path.read_text())} == {"noise/source.py"}


def test_nothing_takes_a_seed() -> None:
    assert {_name(path): found for path in MODULES if (found := seeds(path.read_text()))} == {}


def test_the_package_has_no_source_of_noise_but_the_systems() -> None:
    found = {(_name(path), name) for path in MODULES for name in sources(path.read_text())}
    repeatable = ("noise/redrawing.py", "RepeatableBits")
    assert found == {("noise/source.py", "Source"), ("noise/source.py", "SystemSource"), repeatable}


def test_bits_that_repeat_are_used_where_released_numbers_are_redrawn_and_nowhere_else() -> None:
    naming = {_name(path) for path in MODULES if "RepeatableBits" in path.read_text()}
    released = {"release/synthesise/model.py", "release/linked/model.py", "release/responses/perturbed.py"}
    assert naming == {"noise/redrawing.py", "curator/computing/computing.py", *released}
    redrawing = (PACKAGE / "curator/computing/computing.py").read_text()
    assert "curator.measuring" not in redrawing


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "import secrets as s",
        "from random import SystemRandom",
        "from secrets import token_bytes",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import numpy as np\nnp.random.default_rng()",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "import os\nos.getrandom(8)",
        "import uuid\nuuid.uuid4()",
        "def f():\n    import random",
    ],
)
def test_randomness_of_ones_own_is_noticed(text: str) -> None:
    assert randomness(text)


@pytest.mark.parametrize(
    "text", ["import randomness_free", "import os\nos.path", "x.random", "from tacit.noise import SYSTEM"]
)
def test_what_is_not_randomness_is_let_pass(text: str) -> None:
    assert not randomness(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(seed): ...",
        "def f(*, seed=None): ...",
        "lambda rng_seed: 1",
        "class A:\n    seed: int",
        "async def f(random_state): ...",
    ],
)
def test_a_seed_is_noticed(text: str) -> None:
    assert seeds(text)


def test_a_second_source_is_noticed() -> None:
    assert sources("class Fixed:\n    def draw(self, count): ...") == ["Fixed"]
    assert sources("class Fixed:\n    def draw(self, count, byte=0): ...") == ["Fixed"]
    assert sources("class Artist:\n    def draw(self, what, where): ...") == []
