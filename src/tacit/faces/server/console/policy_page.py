"""Policy: the curator's page to read, check and change what is declared."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

from tacit.errors import PolicyError, TacitError
from tacit.faces.owner.changing import KeyChange, change_policy, changed_meanwhile, consequences, key_changes, read_text
from tacit.faces.owner.examining import Checked, examine_text
from tacit.faces.server.console.guard import Console, Visit, status_of
from tacit.policy import Finding, Policy, Severity

_LINE = re.compile(r"^[^:\s]+:(\d+): ")


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding of `tacit check`, with the line that it speaks of."""

    finding: Finding
    number: int | None
    line: str

    @classmethod
    def of(cls, finding: Finding, lines: list[str]) -> PlacedFinding:
        """The line is that of the text that was checked."""
        match = _LINE.match(finding.message)
        number = None if match is None else int(match[1])
        inside = number is not None and 0 < number <= len(lines)
        return cls(finding, number, lines[number - 1] if inside and number is not None else "")


@dataclass(frozen=True, slots=True)
class PolicyPreview:
    """What a text would do if it became the policy."""

    findings: tuple[PlacedFinding, ...]
    fits: bool
    changes: tuple[KeyChange, ...]
    consequences: tuple[str, ...]
    lines: tuple[str, ...]  # the text compared with the file, line by line

    @property
    def warnings(self) -> int:
        """How many findings are more than notes."""
        return sum(placed.finding.level is not Severity.NOTE for placed in self.findings)


async def show(console: Console, visit: Visit) -> Response:
    """The page with the policy's file as it is on the disk."""
    path = _file(console)
    return _page(console, visit, text=read_text(path), seen=_digest(read_text(path)))


async def check(console: Console, visit: Visit) -> Response:
    """Check the text and say what it would do; or, where that is the button, put it into force."""
    path, text = _file(console), visit.text("text")
    seen, current = visit.text("seen"), read_text(path)
    try:
        if _digest(current) != seen:
            raise changed_meanwhile(path)
        if visit.text("act") == "apply":
            return await _apply(console, visit, path, current=current)
        preview = await asyncio.to_thread(_preview, console.hub.policy, path, text)
    except TacitError as error:
        return _page(console, visit, text=text, seen=seen, error=error)
    return _page(console, visit, text=text, seen=seen, preview=preview)


async def _apply(console: Console, visit: Visit, path: Path, *, current: str) -> Response:
    text = visit.text("text")

    def act() -> tuple[str, PolicyPreview | None]:
        in_force = console.hub.policy
        preview = _preview(in_force, path, text)
        if not preview.fits:
            return "", preview
        entry = change_policy(
            path, text, seen=current, note=visit.text("note"), who=visit.visitor.name, in_force=in_force
        )
        console.hub.check_policy()
        return entry, None

    entry, preview = await asyncio.to_thread(act)
    return _page(console, visit, text=text, seen=_digest(read_text(path)), preview=preview, entry=entry)


def _preview(in_force: Policy, path: Path, text: str) -> PolicyPreview:
    checked: Checked = examine_text(text, path)
    lines = text.split("\n")
    placed = tuple(PlacedFinding.of(finding, lines) for finding in checked.findings)
    changes: tuple[KeyChange, ...] = ()
    follows: tuple[str, ...] = ()
    if checked.policy is not None:
        changes = key_changes(in_force, checked.policy)
        follows = tuple(consequences(in_force, checked.policy)) if changes else ()
    compared = difflib.unified_diff(read_text(path).split("\n"), lines, lineterm="", n=2)
    return PolicyPreview(placed, checked.fits, changes, follows, tuple(compared)[2:])


def _page(
    console: Console,
    visit: Visit,
    *,
    text: str,
    seen: str,
    preview: PolicyPreview | None = None,
    error: TacitError | None = None,
    entry: str = "",
) -> Response:
    return console.page(
        "policy.html",
        visitor=visit.visitor,
        status=status_of(error) if error is not None else 200 if preview is None or preview.fits else 422,
        text=text,
        seen=seen,
        note=visit.text("note") if not entry else "",
        preview=preview,
        error=error,
        entry=entry,
        version=console.hub.policy.version,
        name=_file(console).name,
        here="/policy",
    )


def _file(console: Console) -> Path:
    if console.hub.path is None:
        raise PolicyError("the policy was made in Python: it has no file to edit")
    return console.hub.path


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
