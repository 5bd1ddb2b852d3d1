"""What was measured, beside the bar it is held to: printed as it comes, kept as JSON."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bar:
    """What a measured number is held to."""

    limit: float
    at_least: bool

    def met(self, measured: float) -> bool:
        return measured >= self.limit if self.at_least else measured < self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '<'} {self.limit:g}"


def at_least(limit: float) -> Bar:
    return Bar(limit, at_least=True)


def below(limit: float) -> Bar:
    return Bar(limit, at_least=False)


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement."""

    section: str
    what: str
    measured: float
    shown: str
    bar: str
    verdict: str  # pass, fail, or nothing where there is no bar


class Report:
    """Collects measurements. `share(n)` scales the work down when only a quick look is wanted; `long`: minutes more.

    `minutes` is how long a load is kept up.
    """

    def __init__(
        self,
        *,
        quick: bool = False,
        long: bool = False,
        minutes: float = 1,
        say: Callable[[str], None] = print,
    ) -> None:
        self.lines: list[Line] = []
        self.long, self.minutes = long, minutes
        self._quick = quick
        self._say = say
        self._section = ""
        self._say(
            f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores, {_versions()}"
        )
        if quick:
            self._say("a quick look: a hundredth of the work, so the numbers mean little")

    def share(self, work: int) -> int:
        return max(2, work // 100) if self._quick else work

    def section(self, title: str, about: str = "") -> None:
        self._section = title
        self._say(f"\n{title}")
        if about:
            self._say(f"  {about}")

    def add(self, what: str, measured: float, *, unit: str = "", bar: Bar | None = None) -> None:
        shown = f"{_number(measured)}{unit}"
        verdict = "" if bar is None else ("pass" if bar.met(measured) else "FAIL")
        text = "" if bar is None else f"{bar}{unit}"
        self.lines.append(Line(self._section, what, measured, shown, text, verdict.lower()))
        self._say(f"  {what:<66}{shown:>10}  {text:<10}{verdict}".rstrip())

    def close(self, folder: Path) -> None:
        barred = [line for line in self.lines if line.verdict]
        passed = sum(line.verdict == "pass" for line in barred)
        self._say(f"\n{passed} of {len(barred)} bars met")
        folder.mkdir(exist_ok=True)
        kept = folder / time.strftime("%Y-%m-%dT%H-%M-%S.json")
        machine = {
            "python": platform.python_version(),
            "cores": os.cpu_count(),
            "versions": _versions(),
            "quick": self._quick,
        }
        kept.write_text(json.dumps({"machine": machine, "lines": [asdict(line) for line in self.lines]}, indent=1))


def _number(value: float) -> str:
    if value == 0 or 0.001 <= abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def _versions() -> str:
    found = []
    for package in ("tacit", "numpy", "opendp"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} (not installed)")
    return ", ".join(found)
