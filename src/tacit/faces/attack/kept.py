"""What attacks and audits found last, kept beside the policy for the curator's page."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.errors import InvalidParameter

if TYPE_CHECKING:
    from tacit.attack import QueryAudit, RiskReport

NAME = "tacit-risk.json"
_TABLES, _AUDITS = 10, 20  # the last ones are kept


@dataclass(frozen=True, slots=True)
class KeptAttack:
    """One result: how often an attack was right, how often without the data, and what no attack exceeds."""

    attack: str
    against: str
    success: float
    null: float
    ceiling: float | None
    alarms: bool


@dataclass(frozen=True, slots=True)
class KeptReport:
    """The last attack on one table."""

    table: str
    at: float
    rows: int
    results: tuple[KeptAttack, ...]

    @property
    def alarming(self) -> int:
        """How many of the attacks give people away."""
        return sum(one.alarms for one in self.results)


@dataclass(frozen=True, slots=True)
class KeptAudit:
    """What an audit certified of one question."""

    question: str
    at: float
    claimed: float
    certified: float
    violates: bool


@dataclass(frozen=True, slots=True)
class KeptRisk:
    """All that is kept, the newest first."""

    reports: tuple[KeptReport, ...] = ()
    audits: tuple[KeptAudit, ...] = ()


def keep_report(folder: Path, risks: RiskReport, *, table: str) -> None:
    """Keep what attacks on a table found, instead of what they found before."""
    results = [
        {
            "attack": one.attack, "against": one.against, "success": one.success, "null": one.null,
            "ceiling": one.ceiling, "alarms": one.alarms,
        }
        for one in risks.results
    ]  # fmt: skip
    kept = _read(folder)
    others = [one for one in kept.get("reports", ()) if one.get("table") != table]
    report = {"table": table, "at": time.time(), "rows": risks.rows, "results": results}
    _write(folder, {**kept, "reports": [report, *others][:_TABLES]})


def keep_audit(folder: Path, outcome: QueryAudit, *, question: str) -> None:
    """Keep what an audit certified of a question."""
    kept = _read(folder)
    audit = {
        "question": question, "at": time.time(), "claimed": float(outcome.loss.epsilon), "certified": outcome.epsilon,
        "violates": outcome.violates,
    }  # fmt: skip
    others = [one for one in kept.get("audits", ()) if one.get("question") != question]
    _write(folder, {**kept, "audits": [audit, *others][:_AUDITS]})


def kept_risk(folder: Path) -> KeptRisk:
    """What is kept in a folder; nothing where there is nothing. Raises InvalidParameter where it cannot be read."""
    kept = _read(folder)
    try:
        reports = [
            KeptReport(
                str(one["table"]), float(one["at"]), int(one["rows"]), tuple(map(_attack, _listed(one["results"])))
            )
            for one in _listed(kept.get("reports", ()))
        ]
        audits = [
            KeptAudit(
                str(one["question"]),
                float(one["at"]),
                float(one["claimed"]),
                float(one["certified"]),
                bool(one["violates"]),
            )
            for one in _listed(kept.get("audits", ()))
        ]
    except (KeyError, TypeError, ValueError):
        raise _unreadable() from None
    return KeptRisk(tuple(reports), tuple(audits))


def _attack(one: Mapping[str, Any]) -> KeptAttack:
    ceiling = one["ceiling"]
    return KeptAttack(
        str(one["attack"]), str(one["against"]), float(one["success"]), float(one["null"]),
        None if ceiling is None else float(ceiling), bool(one["alarms"]),
    )  # fmt: skip


def _listed(raw: object) -> Sequence[Mapping[str, Any]]:
    if not isinstance(raw, list | tuple) or not all(isinstance(one, dict) for one in raw):
        raise TypeError
    return raw


def _read(folder: Path) -> dict[str, Any]:
    try:
        raw = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise _unreadable() from None
    if not isinstance(raw, dict):
        raise _unreadable()
    return raw


def _unreadable() -> InvalidParameter:
    return InvalidParameter(f"{NAME} cannot be read", hint="remove it, and attack once more")


def _write(folder: Path, kept: Mapping[str, Any]) -> None:
    """Whole or not at all, and for the owner's eyes: its numbers are exact."""
    draft = folder / f".{NAME}.new"
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)
        os.replace(draft, folder / NAME)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InvalidParameter(f"{NAME} cannot be written: {error.strerror}") from None
