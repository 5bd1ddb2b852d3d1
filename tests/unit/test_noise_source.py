"""The source of bits: stateless, fresh after a fork, and closed when the system fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tacit import noise
from tacit.errors import NoiseUnavailable
from tacit.noise.source import KEY_BYTES, STRETCH_FROM, SystemSource

SOURCE_ROOT = Path(noise.__file__).parents[2]
SAMPLERS: dict[str, Callable[[], object]] = {
    "bernoulli": lambda: noise.bernoulli("1/3"),
    "bernoulli, many": lambda: noise.bernoulli("1/3", 10_000),
    "bernoulli_exp": lambda: noise.bernoulli_exp(1),
    "categorical": lambda: noise.categorical(np.array([1, 2]), 1),
    "discrete_gaussian": lambda: noise.discrete_gaussian(5),
    "discrete_gaussian, many": lambda: noise.discrete_gaussian(5, 10_000),
    "geometric": lambda: noise.geometric(5),
    "keep_each": lambda: noise.keep_each(np.array([1, 2]), 1),
    "one_of": lambda: noise.one_of(np.array([True, True])),
    "two_sided_geometric": lambda: noise.two_sided_geometric(5),
    "two_sided_geometric, many": lambda: noise.two_sided_geometric(5, 10_000),
    "uniform_integer": lambda: noise.uniform_integer(6),
}


@pytest.mark.parametrize("count", [0, 1, 15, STRETCH_FROM - 1, STRETCH_FROM, STRETCH_FROM + 1, 10**6 + 7])
def test_as_many_bytes_come_as_were_asked_for(count: int) -> None:
    data = noise.SYSTEM.draw(count)
    assert data.dtype == np.uint8
    assert data.size == count


@pytest.mark.parametrize("count", [STRETCH_FROM, 4097, 100_003])
def test_stretched_bytes_are_random_to_the_last_one(count: int) -> None:
    tails = {noise.SYSTEM.draw(count)[-16:].tobytes() for _ in range(20)}
    assert len(tails) == 20


@pytest.mark.parametrize("count", [16, STRETCH_FROM - 16, STRETCH_FROM, 1 << 16])
def test_no_two_draws_share_a_block(count: int) -> None:
    data = b"".join(noise.SYSTEM.draw(count).tobytes() for _ in range(50))
    blocks = [data[start : start + 16] for start in range(0, len(data), 16)]
    assert len(set(blocks)) == len(blocks)


def test_the_source_keeps_no_state() -> None:
    assert SystemSource.__slots__ == ()
    assert not hasattr(noise.SYSTEM, "__dict__")


FORKING = """
import os, sys
import numpy as np
from tacit.noise import SYSTEM

class Stateful:
    def __init__(self):
        self.generator = np.random.default_rng()
    def draw(self, count):
        return np.frombuffer(self.generator.bytes(count), dtype=np.uint8)

source = SYSTEM if sys.argv[1] == "system" else Stateful()
source.draw(64), source.draw(4096)  # warm up before the fork
for child in range(8):
    if os.fork() == 0:
        for _ in range(50):
            sys.stdout.buffer.write(source.draw(256).tobytes() + source.draw(4096).tobytes())
        sys.stdout.buffer.flush()
        os._exit(0)
    os.wait()
"""


def _blocks_after_fork(which: str) -> list[bytes]:
    run = subprocess.run(
        [sys.executable, "-c", FORKING, which],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT)},
    )
    return [run.stdout[start : start + 16] for start in range(0, len(run.stdout), 16)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_eight_forked_processes_share_no_block() -> None:
    blocks = _blocks_after_fork("system")
    assert len(blocks) == 8 * 50 * (256 + 4096) // 16
    assert len(set(blocks)) == len(blocks)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_source_with_state_would_be_caught_by_the_fork_test() -> None:
    blocks = _blocks_after_fork("stateful")
    assert len(set(blocks)) < len(blocks)


def _fails(_count: int, _flags: int = 0) -> bytes:
    raise OSError(38, "Function not implemented")


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_no_sampler_answers_when_the_system_gives_no_bits(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getrandom", _fails, raising=False)
    with pytest.raises(NoiseUnavailable, match="no random bits") as caught:
        SAMPLERS[sampler]()
    assert caught.value.hint


def test_a_failure_in_the_middle_of_a_draw_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([b"only seven"[:7], b""])
    monkeypatch.setattr(os, "getrandom", lambda _count: next(answers), raising=False)
    with pytest.raises(NoiseUnavailable):
        noise.SYSTEM.draw(16)


def test_a_short_read_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = iter([b"\x01" * 5, b"\x02" * 1, b"\x03" * 10])
    asked: list[int] = []

    def short(count: int) -> bytes:
        asked.append(count)
        return next(pieces)

    monkeypatch.setattr(os, "getrandom", short, raising=False)
    assert noise.SYSTEM.draw(16).tolist() == [1] * 5 + [2] + [3] * 10
    assert asked == [16, 11, 10]


def test_too_many_bytes_are_no_answer_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getrandom", lambda count: b"\x00" * (count + 1), raising=False)
    with pytest.raises(NoiseUnavailable):
        noise.SYSTEM.draw(16)


def test_a_long_draw_is_one_key_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    real, asked = os.urandom, []

    def counted(count: int) -> bytes:
        asked.append(count)
        return real(count)

    monkeypatch.setattr(os, "getrandom", counted, raising=False)
    noise.SYSTEM.draw(100_000)
    assert asked == [KEY_BYTES]


def test_a_cipher_that_writes_too_little_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["tacit.noise.source"]

    class Lazy:
        def __init__(self, *_: object) -> None: ...
        def encryptor(self) -> Lazy:
            return self

        def update_into(self, data: bytes, _into: bytearray) -> int:
            return len(data) - 16

    monkeypatch.setattr(module, "Cipher", Lazy)
    with pytest.raises(NoiseUnavailable):
        noise.SYSTEM.draw(10_000)


ASKING = """
from tacit.errors import NoiseUnavailable
from tacit.noise import two_sided_geometric
try:
    two_sided_geometric(10)
except NoiseUnavailable:
    print("refused")
else:
    print("answered")
"""


def _strace() -> str:
    """The tracer, if it may trace here; else the reason why not."""
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed: the failing system call is only simulated above")
    tried = subprocess.run([found, "-qq", "-o", os.devnull, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"strace may not trace here: {tried.stderr.decode(errors='replace').strip()[:100]}")
    return found


@pytest.mark.parametrize(
    ("inject", "said"), [("inject=getrandom:error=ENOSYS", "refused"), ("trace=getrandom", "answered")]
)
def test_a_failing_system_call_stops_the_release(inject: str, said: str) -> None:
    run = subprocess.run(
        [_strace(), "-f", "-qq", "-o", os.devnull, "-e", inject, sys.executable, "-c", textwrap.dedent(ASKING)],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT), "PYTHONHASHSEED": "0"},
    )
    assert run.stdout.decode().strip() == said
