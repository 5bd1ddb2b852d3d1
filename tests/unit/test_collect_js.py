"""The ES module writes the same reports as the Python encoder, byte for byte, and draws bits of its own."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.collect_vectors import FILE, Tape, encode, kept, protocols, vectors
from support.laws import FALSE_ALARM, p_value_of_counts
from tacit import collect
from tacit.collect.descriptions import PROTOCOLS
from tacit.core import Loss

NODE = shutil.which("node")
MODULE = Path(collect.__file__).parent / "js" / "tacit-collect.mjs"
RUNNER = FILE.with_suffix(".mjs")
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not on this machine: the ES module was not run")


def run(script: str, *, stdin: str = "") -> Any:
    """What a piece of JavaScript prints, as JSON."""
    assert NODE is not None
    code = script.replace("MODULE", json.dumps(MODULE.as_uri()))
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", code], input=stdin, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_formats_are_those_of_the_kept_vectors() -> None:
    assert vectors() == kept(), "a format has changed: raise VERSION, and write the vectors anew"


def test_every_protocol_that_a_page_can_use_has_vectors() -> None:
    shown = {one["description"]["protocol"] for one in kept()}
    assert shown == set(PROTOCOLS) - {"laplace"}, "Laplace noise needs digits of exp, which the module does not have"


def test_some_vectors_hold_ties_and_words_drawn_again() -> None:
    longer = 0
    for one in kept():
        lengths = [len(random) for _, random, _ in one["cases"]]
        longer += sum(length > min(lengths) for length in lengths)
    assert longer > 50


@needs_node
def test_the_module_writes_the_same_bytes() -> None:
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(RUNNER)], input=FILE.read_text(encoding="utf-8"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for one, reports in zip(kept(), json.loads(done.stdout), strict=True):
        for (value, _, expected), report in zip(one["cases"], reports, strict=True):
            assert report == expected, (one["description"], value)


def test_a_changed_bit_of_the_tape_would_be_noticed() -> None:
    protocol, values = protocols()[1]
    value, random, report = kept()[1]["cases"][0]
    assert value == values[0]
    tape = bytearray.fromhex(random)
    tape[3] ^= 1
    tape[0] = tape[1] = 0  # a lie
    assert encode(protocol, value, Tape(bytes(tape))).hex() != report


@needs_node
def test_the_module_draws_its_own_bits_by_the_same_law() -> None:
    protocol = collect.Direct.costing(Loss(1), domain=4)
    script = """
      import { encode } from MODULE;
      const seen = [0, 0, 0, 0];
      const description = DESCRIPTION;
      for (let i = 0; i < 40000; i++) seen[encode(description, 2)[5]] += 1;
      console.log(JSON.stringify(seen));
    """
    counts = run(script.replace("DESCRIPTION", json.dumps(collect.describe(protocol))))
    stray = float(protocol.support.other)
    chances = [stray, stray, 1 - 3 * stray, stray]
    assert p_value_of_counts(np.array(counts), chances) > FALSE_ALARM
    assert p_value_of_counts(np.array(counts), [0.25] * 4) < FALSE_ALARM, "the test has power"


@needs_node
def test_sha_256_is_sha_256() -> None:
    texts = ["", "abc", "a" * 55, "a" * 56, "a" * 64, "é" * 1000]
    script = """
      import { readFileSync } from "node:fs";
      import { sha256, toHex } from MODULE;
      const texts = JSON.parse(readFileSync(0, "utf8"));
      console.log(JSON.stringify(texts.map((text) => toHex(sha256(new TextEncoder().encode(text))))));
    """
    assert run(script, stdin=json.dumps(texts)) == [hashlib.sha256(text.encode()).hexdigest() for text in texts]


@needs_node
@pytest.mark.parametrize(
    ("change", "value"),
    [
        ({}, 4),
        ({}, -1),
        ({}, 1.5),
        ({}, "1"),
        ({}, None),
        ({"lie": "1/1000"}, 1),
        ({"id": "00000000"}, 1),
        ({"format": "tacit-collect/2"}, 1),
        ({"protocol": "constructor", "id": None}, 1),
        ({"protocol": "laplace", "id": None}, 1),
    ],
)
def test_the_module_refuses_what_does_not_fit(change: dict[str, Any], value: Any) -> None:
    description = {**collect.describe(collect.Direct.costing(Loss(1), domain=4)), **change}
    if description["id"] is None:
        del description["id"]
    script = """
      import { encode } from MODULE;
      let answer = "sent";
      try { encode(DESCRIPTION, VALUE); } catch (error) { answer = error.name; }
      console.log(JSON.stringify(answer));
    """
    answer = run(script.replace("DESCRIPTION", json.dumps(description)).replace("VALUE", json.dumps(value)))
    assert answer in {"RangeError", "TypeError"}


@needs_node
def test_a_remembered_report_is_told_again() -> None:
    script = """
      import { once, remembered, toHex } from MODULE;
      const items = new Map();
      const store = { getItem: (key) => items.get(key) ?? null, setItem: (key, text) => items.set(key, text) };
      const told = new Set();
      for (let i = 0; i < 200; i++) told.add(toHex(remembered(DESCRIPTION, 1, store)));
      const single = new Set();
      for (let i = 0; i < 100; i++) single.add(toHex(once(DESCRIPTION, i, store)));
      const named = [...items.keys()].filter((key) => key.endsWith(":1"));
      console.log(JSON.stringify([told.size, single.size, items.size, named.length]));
    """
    description = json.dumps(collect.describe(collect.Direct.costing(Loss(1), domain=100)))
    assert run(script.replace("DESCRIPTION", description)) == [1, 1, 2, 1]


@needs_node
def test_without_random_bits_nothing_is_sent() -> None:
    script = """
      import { encode } from MODULE;
      const answers = [];
      for (const draw of [() => new Uint8Array(0), () => undefined, () => { throw new Error("none"); }]) {
        try { encode(DESCRIPTION, 1, { draw }); answers.push("sent"); } catch (error) { answers.push("refused"); }
      }
      console.log(JSON.stringify(answers));
    """
    description = json.dumps(collect.describe(collect.Direct.two_coin()))
    assert run(script.replace("DESCRIPTION", description)) == ["refused"] * 3


def test_the_module_is_shipped_beside_the_python() -> None:
    assert MODULE.is_file()
    text = MODULE.read_text(encoding="utf-8")
    assert "Math.random" not in text
    assert "import " not in text.replace("//   import { encode }", ""), "the module has no dependencies"
