"""The local model: a million reports, how near the optimum they come, and beside pure-ldp where there is one."""

from __future__ import annotations

import json
import math
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.report import Report, at_least, below
from tacit import collect
from tacit.core import Loss

PEOPLE, VALUES, EPSILON, REPEATS = 10**6, 1024, 1, 20
OPTIMUM = 4 * math.exp(EPSILON) / (math.exp(EPSILON) - 1) ** 2
SECONDS = {"unary, optimised": 5.0, "local hash": 5.0, "Hadamard": 0.5}
RATIOS = {
    "unary, optimised": (0.95, 1.05),
    "local hash": (0.95, 1.05),
    "Hadamard": (0.0, 1.3),
    "subset selection": (0.0, 1.03),
}
PEER = Path(__file__).parents[1] / ".venv-peers" / "pure-ldp" / "bin" / "python"  # which `bench.peers` sets up


def protocols() -> dict[str, Any]:
    loss = Loss(EPSILON)
    return {
        "unary, optimised": collect.Unary.optimised(loss, domain=VALUES),
        "unary, symmetric": collect.Unary.symmetric(loss, domain=VALUES),
        "local hash": collect.LocalHash.costing(loss, domain=VALUES),
        "Hadamard": collect.Hadamard.costing(loss, domain=VALUES),
        "projective": collect.Projective.costing(loss, domain=VALUES),
        "direct": collect.Direct.costing(loss, domain=VALUES),
        "subset selection": collect.SubsetSelection.costing(loss, domain=VALUES),
    }


def sketches() -> dict[str, Any]:
    loss = Loss(EPSILON)
    return {
        "count-mean sketch": collect.CountMeanSketch.costing(loss, hashes=64, columns=256),
        "Hadamard sketch": collect.HadamardSketch.costing(loss, hashes=64, columns=256),
    }


def run(report: Report) -> None:
    took = _speed(report)
    _error(report)
    took["RAPPOR"] = _rappor(report)
    _peer(report, took)


def _speed(report: Report) -> dict[str, float]:
    people = report.share(PEOPLE)
    values = _zipf(people)
    report.section(
        "Collect: encode and estimate", f"{people:,} people, {VALUES} values, ε = {EPSILON}, CPU seconds, secure source"
    )
    took = {}
    for name, protocol in protocols().items():
        if name == "subset selection":
            continue
        seconds = min(_cpu(lambda protocol=protocol: _round(protocol, values)) for _ in range(2))
        took[name] = seconds
        report.add(name, seconds, unit=" s", bar=below(SECONDS[name]) if name in SECONDS else None)
    texts = [str(value) for value in values]
    for name, sketch in sketches().items():
        candidates = [str(value) for value in range(VALUES)]
        took[name] = _cpu(
            lambda sketch=sketch, found=candidates: sketch.estimate(sketch.tally(sketch.encode(texts)), found)
        )
        report.add(f"{name}, 64 × 256, {VALUES} candidates", took[name], unit=" s")
    return took


def _error(report: Report) -> None:
    people, repeats = report.share(10**5), max(2, report.share(REPEATS * 100) // 100)
    report.section(
        "Collect: mean squared error over the optimum",
        f"{people:,} people, {VALUES} values, {repeats} repeats; the optimum is 4e^ε / (n (e^ε − 1)²)",
    )
    for name, protocol in protocols().items():
        if name in {"direct", "unary, symmetric"}:
            continue
        count = people // (10 if name == "subset selection" else 1)
        values = _zipf(count)
        truth = np.bincount(values, minlength=VALUES) / count
        times = 10 * repeats if name == "Hadamard" else repeats  # its bar is near, and it is quick
        errors = [float(((_round(protocol, values).values - truth) ** 2).mean()) for _ in range(times)]
        ratio = float(np.mean(errors)) * count / OPTIMUM
        low, high = RATIOS.get(name, (0.0, math.inf))
        report.add(name, ratio, bar=below(high) if high < math.inf else None)
        if low:
            report.add(f"{name}, from below", ratio, bar=at_least(low))


def _rappor(report: Report) -> float:
    people = report.share(PEOPLE)
    report.section(
        "Collect: the RAPPOR demo",
        f"{people:,} reports, 32 bits, 1 hash, 64 cohorts, ε₁ = 1.022, 100 values falling off exponentially, "
        "190 candidates of which 10 true ones are missing",
    )
    protocol = collect.Rappor(32, 1, 64, forget="0.5", zero="0.25", one="0.75")
    falling = np.exp(-np.arange(1, 101) / 20)
    numbers = np.random.default_rng(1).choice(100, people, p=falling / falling.sum()) + 1
    texts = [f"v{number}" for number in numbers]
    began = time.process_time()
    bodies = protocol.encode(texts)
    report.add("encode", time.process_time() - began, unit=" s", bar=below(5))
    tally = protocol.tally(bodies)
    candidates = [f"v{number}" for number in range(1, 201) if number > 100 or not re.fullmatch(r"\d*9", str(number))]
    start = time.process_time()
    found = collect.decode(protocol, tally, candidates)
    took = time.process_time() - began
    report.add("decode", time.process_time() - start, unit=" s")
    truth = {f"v{number + 1}": count / people for number, count in enumerate(np.bincount(numbers - 1, minlength=100))}
    shares = {one.text: one.share for one in found.found}
    distance = sum(abs(truth.get(text, 0) - shares.get(text, 0)) for text in truth | shares) / 2
    report.add("values found", len(found.found))
    report.add("of them wrong", sum(text not in truth for text in shares))
    report.add("total variation distance", distance, bar=below(0.148))
    return took


def _peer(report: Report, ours: dict[str, float]) -> None:
    if not PEER.exists():
        report.section("Collect: beside pure-ldp", "not run: `python -m bench.peers pure-ldp` sets it up")
        return
    people = report.share(PEOPLE) // 100
    script = Path(__file__).with_name("collect_peer.py")
    ran = subprocess.run(
        [str(PEER), str(script), str(people), str(VALUES), str(EPSILON)], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        report.section("Collect: beside pure-ldp", f"not run: {ran.stderr.strip().splitlines()[-1]}")
        return
    theirs = json.loads(ran.stdout.splitlines()[-1])
    broken = [name for name, seconds in theirs.items() if isinstance(seconds, str)]
    report.section(
        "Collect: beside pure-ldp",
        f"theirs on {people:,} people, multiplied up to ours: their time grows in proportion"
        + (f"; does not run there: {', '.join(broken)}" if broken else ""),
    )
    for name in (name for name in theirs if name not in broken):
        scaled = theirs[name] * 100
        report.add(f"{name}: pure-ldp", scaled, unit=" s")
        report.add(f"{name}: faster than pure-ldp", scaled / ours[name], unit="×", bar=at_least(10))


def _round(protocol: Any, values: Any) -> Any:
    return protocol.estimate(protocol.tally(protocol.encode(values)))


def _cpu(task: Callable[[], object]) -> float:
    start = time.process_time()
    task()
    return time.process_time() - start


def _zipf(people: int) -> Any:
    return np.random.default_rng(0).zipf(1.5, people) % VALUES
