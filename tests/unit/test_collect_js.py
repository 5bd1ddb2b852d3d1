"""The ES module writes the same reports as the Python encoder, byte for byte, and draws bits of its own."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.collect_vectors import FILE, Tape, encode, kept, protocols, vectors
from support.laws import FALSE_ALARM, p_value_of_counts
from tacit import collect
from tacit.collect.descriptions import PROTOCOLS
from tacit.core import Bounds, Loss
from tacit.errors import TacitError

NODE = shutil.which("node")
MODULE = Path(collect.__file__).parent / "js" / "tacit-collect.mjs"
RUNNER = FILE.with_suffix(".mjs")
CHANGES: tuple[Any, ...] = (
    *("0/1", "1/1", "3/2", "-1/4", "1/2", "2/4", "1/3", "9/10", "1/1000000000000000000000", "3", "x", "", "1/0"),
    *(-1, 1, 3, 4, 6, 256, 257, 1 << 12, 1 << 20, (1 << 20) + 1, 1 << 25, 1.5, None, True, [], {}, [{}]),
)
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
        ({"lie": "0/1", "id": None}, 1),  # which would be the truth
        ({"lie": "3/2", "id": None}, 1),
        ({"lie": "-1/4", "id": None}, 1),
        ({"lie": 0, "id": None}, 1),
        ({"lie": "2/8", "id": None}, 1),  # whose fingerprint would be another than Python's
        ({"domain": "4", "id": None}, 1),
        ({"domain": 0, "id": None}, 0),
        ({"secret": 1, "id": None}, 1),
        ({"topic": "tax", "id": None}, 1),
        ({"protocol": "unary", "domain": 4, "keep": "1/1", "stray": "0/1", "lie": None, "id": None}, 1),
    ],
)
def test_the_module_refuses_what_does_not_fit(change: dict[str, Any], value: Any) -> None:
    description = {**collect.describe(collect.Direct.costing(Loss(1), domain=4)), **change}
    description = {name: part for name, part in description.items() if part is not None}
    script = """
      import { encode } from MODULE;
      let answer = "sent";
      try { encode(DESCRIPTION, VALUE); } catch (error) { answer = error.name; }
      console.log(JSON.stringify(answer));
    """
    answer = run(script.replace("DESCRIPTION", json.dumps(description)).replace("VALUE", json.dumps(value)))
    assert answer in {"RangeError", "TypeError"}


def spoilt(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The description without its fingerprint, as it is and with one thing in it changed after another."""
    plain = {name: part for name, part in description.items() if name != "id"}
    yield plain
    for name in plain.keys() - {"format", "protocol"}:
        for part in CHANGES:
            yield {**plain, name: part}
        yield {other: part for other, part in plain.items() if other != name}
    for name in plain.get("scale", {}):
        for part in CHANGES:
            yield {**plain, "scale": {**plain["scale"], name: part}}
    for number, part in enumerate(plain.get("parts", [])):
        for changed in spoilt(part):
            yield {**plain, "parts": [*plain["parts"][:number], changed, *plain["parts"][number + 1 :]]}
    yield {**plain, "more": 1}


def price_in_python(description: dict[str, Any]) -> float | None:
    """None if the description is refused, or is not written as Python would write it."""
    try:
        protocol = collect.from_description(description)
        if {**description, "id": collect.describe(protocol)["id"]} != collect.describe(protocol):
            return None
        forgetful = not isinstance(protocol, collect.Rappor) or protocol.forget > 0
        return float(protocol.loss().epsilon) if forgetful else math.inf
    except TacitError:
        return None


@needs_node
def test_the_module_takes_the_descriptions_that_python_takes_and_finds_the_same_price() -> None:
    changed = [one for described in kept() for one in spoilt(described["description"])]
    script = """
      import { readFileSync } from "node:fs";
      import { epsilon } from MODULE;
      const price = (description) => {
        try { return String(epsilon(description)); } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          return null;
        }
      };
      console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(price)));
    """
    prices = run(script, stdin=json.dumps(changed))
    taken = 0
    for description, found in zip(changed, prices, strict=True):
        expected = price_in_python(description)
        assert (found is None) == (expected is None), (description, found, expected)
        if found is not None:
            taken += 1
            assert float(found) == pytest.approx(expected, rel=1e-12), description
    assert taken > 100
    assert len(changed) - taken > 1000


@needs_node
def test_a_price_at_the_ends_of_what_numbers_hold_is_found_as_well() -> None:
    protocols = [collect.Direct.costing(Loss(epsilon), domain=2) for epsilon in ("1e-12", "0.5", 50, 900)]
    script = """
      import { epsilon } from MODULE;
      console.log(JSON.stringify(DESCRIPTIONS.map(epsilon)));
    """
    found = run(script.replace("DESCRIPTIONS", json.dumps([collect.describe(one) for one in protocols])))
    assert found == pytest.approx([float(one.loss().epsilon) for one in protocols], rel=1e-12)


@needs_node
def test_a_page_can_refuse_what_costs_more_than_it_allows() -> None:
    script = """
      import { encode, once } from MODULE;
      const store = { getItem: () => null, setItem() {} };
      const answers = [];
      for (const most of [2, 1, 0.999, 0, NaN, "9"]) {
        for (const send of [() => encode(DESCRIPTION, 1, { most }), () => once(DESCRIPTION, 1, store, { most })]) {
          try { send(); answers.push("sent"); } catch (error) { answers.push(error.name); }
        }
      }
      console.log(JSON.stringify(answers));
    """
    description = json.dumps(collect.describe(collect.Direct.costing(Loss(1), domain=4)))
    assert run(script.replace("DESCRIPTION", description)) == ["sent"] * 4 + ["RangeError"] * 8


STORE = """
      const items = new Map();
      const store = { getItem: (key) => items.get(key) ?? null, setItem: (key, text) => items.set(key, text) };
"""


@needs_node
def test_numbers_that_the_protocol_cannot_tell_apart_are_remembered_as_one() -> None:
    protocol = collect.Piecewise.costing(Loss(1), bounds=Bounds(0, 100, step=1))
    script = f"""
      import {{ remembered, toHex }} from MODULE;
      {STORE}
      const told = (values) => new Set(values.map((value) => toHex(remembered(DESCRIPTION, value, store)))).size;
      const days = Array.from({{ length: 200 }}, (_, day) => 37 + day * 1e-6);
      console.log(JSON.stringify([told(days), told([Infinity, 1e300, 100]), told([NaN, 0, -5]), items.size]));
    """
    assert run(script.replace("DESCRIPTION", json.dumps(collect.describe(protocol)))) == [1, 1, 1, 3]


@needs_node
def test_an_attribute_that_did_not_change_is_not_drawn_anew_by_the_module() -> None:
    one = collect.Direct.costing(Loss(1), domain=1000)
    script = f"""
      import {{ remembered, toHex }} from MODULE;
      {STORE}
      const first = new Set();
      for (let i = 0; i < 50; i++) first.add(toHex(remembered(DESCRIPTION, [3, i], store)).slice(10, 14));
      console.log(JSON.stringify([first.size, items.size]));
    """
    description = json.dumps(collect.describe(collect.EveryAttribute((one, one))))
    assert run(script.replace("DESCRIPTION", description)) == [1, 51]


@needs_node
def test_what_is_remembered_about_one_topic_is_not_told_for_another_by_the_module() -> None:
    protocol = collect.Direct.costing(Loss(1), domain=1000)
    topics = ["", *(collect.topic_of({"question": text}) for text in ("tax?", "doping?"))]
    script = f"""
      import {{ once, toHex }} from MODULE;
      {STORE}
      const reports = DESCRIPTIONS.map((description) => [0, 1].map(() => toHex(once(description, 1, store))));
      console.log(JSON.stringify([reports, items.size]));
    """
    described = json.dumps([collect.describe(protocol, topic) for topic in topics])
    reports, stored = run(script.replace("DESCRIPTIONS", described))
    assert stored == len(topics)
    for topic, (first, again) in zip(topics, reports, strict=True):
        assert first == again
        accepted = [collect.open_messages(protocol, [bytes.fromhex(first)], topic=other)[1] == 0 for other in topics]
        assert accepted == [other == topic for other in topics]


@needs_node
def test_topics_are_the_same_on_both_sides() -> None:
    asked = {"name": "Ελλάδα \U0001f600", "question": 'a "b"\n\t\x7f\\?', "answers": ["é", ""], "bounds": None}
    script = """
      import { topicOf } from MODULE;
      console.log(JSON.stringify(topicOf(ASKED)));
    """
    assert run(script.replace("ASKED", json.dumps(asked))) == collect.topic_of(asked)


@needs_node
def test_a_spoilt_memory_is_neither_told_nor_drawn_again() -> None:
    script = """
      import { once } from MODULE;
      const answers = [];
      for (const kept of ["", "zz", "00", "undefined"]) {
        try { once(DESCRIPTION, 1, { getItem: () => kept, setItem() {} }); answers.push("sent"); }
        catch (error) { answers.push(error.name); }
      }
      console.log(JSON.stringify(answers));
    """
    description = json.dumps(collect.describe(collect.Direct.two_coin()))
    assert run(script.replace("DESCRIPTION", description)) == ["RangeError"] * 4


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
        const source = { draw };
        try { encode(DESCRIPTION, 1, { source }); answers.push("sent"); } catch (error) { answers.push("refused"); }
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
