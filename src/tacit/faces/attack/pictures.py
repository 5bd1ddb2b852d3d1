"""Pictures as SVG text: every attack on one axis, and what a publication is worth against what it gives away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tacit.attack import AttackResult, MembershipCurve, Published
from tacit.attack.results import ceiling

WIDTH = 680
_LABEL, _ROW, _NUMBER = 150, 24, 112
_NAME, _NAMES_APART = 150, 15  # how wide a name of the chart is, and how far two of them stand apart


def attacks(results: Sequence[AttackResult], *, title: str) -> str:
    """For each attack a track from 0 to 100 %: its success and interval, what chance gives, and the ceiling."""
    left, right, top = _LABEL + 8, WIDTH - _NUMBER, 26
    bottom = top + len(results) * _ROW

    def x(share: float) -> float:
        return left + min(1.0, max(0.0, share)) * (right - left)

    parts = []
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_line(x(mark), top - 6, x(mark), bottom, kind="grid"))
        parts.append(_text(x(mark), top - 11, f"{mark:.0%}", anchor="middle", kind="axis"))
    for index, one in enumerate(results):
        middle = top + index * _ROW + _ROW / 2
        kind = "found" if one.alarms else "private"
        parts.append(_text(_LABEL, middle + 4, one.attack, anchor="end"))
        if one.ceiling is not None:
            parts.append(
                f'<rect class="room" x="{x(one.null):.1f}" y="{middle - 7:.1f}"'
                f' width="{x(one.ceiling) - x(one.null):.1f}" height="14"/>'
            )
            parts.append(_line(x(one.ceiling), middle - 8, x(one.ceiling), middle + 8, kind="ceiling"))
        parts.append(_line(x(one.null), middle - 8, x(one.null), middle + 8, kind="null"))
        parts.append(_line(x(one.low), middle, x(one.high), middle, kind="error"))
        tip = f"<title>{escape(str(one))}</title>"
        parts.append(f'<circle class="{kind}" cx="{x(one.success):.1f}" cy="{middle:.1f}" r="5">{tip}</circle>')
        parts.append(
            _text(right + 14, middle + 4, f"{one.success:.1%} / {one.null:.1%}", anchor="start", kind="number")
        )
    return _svg(parts, bottom + 6, label=title)


def trade_off(published: Sequence[Published]) -> str:
    """What each publication is worth, from left to right, and upwards how much the best attack gains from it."""
    height, left, right, top, bottom = 340, 56, WIDTH - 24, 20, 290
    least = min(0.9, *(one.utility for one in published))
    low = max(0.0, math.floor(10 * least - 0.2) / 10)  # a tenth, so that the marks are round numbers

    def x(utility: float) -> float:
        return left + (utility - low) / (1 - low) * (right - left - _NAME - 12)

    def y(gain: float) -> float:
        return bottom - gain * (bottom - top)

    parts = []
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_line(left, y(mark), right, y(mark), kind="grid"))
        parts.append(_text(left - 8, y(mark) + 4, f"{mark:.0%}", anchor="end", kind="axis"))
    for mark in (low, (low + 1) / 2, 1.0):
        parts.append(_text(x(mark), bottom + 18, f"{mark:.0%}", anchor="middle", kind="axis"))
    drawn = sorted(published, key=_gain, reverse=True)
    for one in drawn:  # bars first, so that no bar covers a point or a name
        room = max((r.ceiling - r.null for r in one.results if r.ceiling is not None), default=None)
        if room is not None:
            parts.append(_line(x(one.utility), y(0), x(one.utility), y(room), kind="room"))
            parts.append(_line(x(one.utility) - 7, y(room), x(one.utility) + 7, y(room), kind="ceiling"))
    points = [(x(one.utility), y(_gain(one))) for one in drawn]
    names = _names_apart(points)
    for (across, up), (beside, at) in zip(points, names, strict=True):
        if abs(at - 4 - up) > 1:  # a name that had to move is tied to its point
            parts.append(_line(across, up, beside - 3, at - 4, kind="error"))
    for one, (across, up), (beside, at) in zip(drawn, points, names, strict=True):
        kind = "found" if one.worst is not None else "private"
        parts.append(f'<circle class="{kind}" cx="{across:.1f}" cy="{up:.1f}" r="6"/>')
        parts.append(_text(beside, at, one.name, anchor="start", kind="label"))
    axis = "what it is worth: the share of its tables that is right"
    parts.append(_text((left + right) / 2, height - 8, axis, anchor="middle", kind="axis"))
    return _svg(parts, height, label="what is gained by attacks against what a publication is worth")


def _names_apart(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Where the name of each point begins: beside it, or as far above as it takes to meet no name and no point."""
    taken: list[tuple[float, float]] = []
    for across, up in points:
        left = across + 12
        at = up + 4
        while any(abs(at - other) < _NAMES_APART and abs(left - beside) < _NAME for beside, other in taken) or any(
            abs(at - 4 - high) < _NAMES_APART / 2 + 4 and left - 6 < point < left + _NAME
            for point, high in points
            if (point, high) != (across, up)
        ):
            at -= _NAMES_APART
        taken.append((left, at))
    return taken


def roc(curve: MembershipCurve) -> str:
    """Members found against false alarms, on logarithmic axes: the attack, a coin, and what no attack exceeds."""
    height, left, right, top, bottom = 340, 56, 420, 20, 290
    least = 1e-3

    def x(share: float) -> float:
        return left + (1 - math.log(max(share, least)) / math.log(least)) * (right - left)

    def y(share: float) -> float:
        return bottom - (1 - math.log(max(share, least)) / math.log(least)) * (bottom - top)

    parts = []
    for mark in (0.001, 0.01, 0.1, 1.0):
        parts.append(_line(left, y(mark), right, y(mark), kind="grid"))
        parts.append(_text(left - 8, y(mark) + 4, f"{mark:g}", anchor="end", kind="axis"))
        parts.append(_text(x(mark), bottom + 18, f"{mark:g}", anchor="middle", kind="axis"))
    steps = [least ** (1 - step / 59) for step in range(60)]
    alarms, caught = curve.points
    drawn = {"null": (steps, steps), "attack": (alarms.tolist(), caught.tolist())}
    most = [ceiling(share, curve.loss) for share in steps]
    if curve.loss is not None:
        drawn["ceiling"] = (steps, [share for share in most if share is not None])
    for kind, (across, up) in drawn.items():
        there = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in zip(across, up, strict=True))
        parts.append(f'<polyline class="{kind}" points="{there}"/>')
    axis = "false alarms"
    parts.append(_text((left + right) / 2, height - 8, axis, anchor="middle", kind="axis"))
    return _svg(parts, height, label=f"members found against false alarms: {curve.against}")


def _gain(published: Published) -> float:
    """The largest advantage of an attack that alarms."""
    worst = published.worst
    return 0.0 if worst is None else worst.advantage


def _svg(parts: Sequence[str], height: float, *, label: str) -> str:
    box = f'viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


def _line(x1: float, y1: float, x2: float, y2: float, *, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, *, anchor: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
