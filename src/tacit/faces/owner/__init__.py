"""The owner's acts: draft a policy, check it, calibrate it, look after the ledger, see true rows.

    import tacit

    tacit.owner.draft("visits.parquet", output="tacit.toml")  # then fill in every "?"
    tacit.owner.check("tacit.toml").refuse()  # raises what does not fit
    tacit.owner.calibrate("tacit.toml", "visits.max_rows", epsilon="0.1", write=True)
    print(tacit.owner.verify("tacit.toml").sound)

They are what `tacit init`, `check`, `calibrate`, `budget`, `ledger` and `sql` do, with the same checks. None of them is
for analysts: where TACIT_ANALYST is set, those that look at the data or care for the ledger are refused. A policy is
the path of its file, or a `tacit.Policy` where nothing is written into it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import QueryRefused

if TYPE_CHECKING:
    from tacit.core import Number
    from tacit.curator.calibrate import CalibrationPlan
    from tacit.faces.budget_status import BudgetStatus
    from tacit.faces.owner.calibrating import Calibrated
    from tacit.faces.owner.examining import Checked
    from tacit.faces.owner.replaying import ReplayReport
    from tacit.ledger import Entry, Verdict
    from tacit.policy import Policy
    from tacit.release.synthesise import ExactDistances, SyntheticModel

__all__ = [
    "accept",
    "adopt",
    "back_up",
    "budget",
    "calibrate",
    "check",
    "compare",
    "draft",
    "explain_calibration",
    "log",
    "replay",
    "sql",
    "verify",
]

COVERAGE = "0.95"  # the share of units that measured caps and bounds leave whole


def draft(*data: str | Path, output: str | Path | None = None, name: str | None = None) -> str:
    """The text of a first policy, from the names and types of a database, a server or files; `output` is written anew.

    What the owner must decide is left as "?". No row is looked at, but for CSV and JSON files, which have no types:
    there all of them are, and the draft says so. Paths are relative to `output`, or to the working directory.
    """
    from tacit.faces.owner.drafting import draft_text
    from tacit.faces.owner.writing import write_new

    text = draft_text(list(map(str, data)), policy=Path(output or "tacit.toml"), name=name)
    if output is not None:
        write_new(Path(output), text)
    return text


def check(policy: str | Path) -> Checked:
    """What does not fit between a policy's file and its source. Raises PolicyError where there is no such file."""
    from tacit.faces.owner.examining import examine

    _refuse_environment("a look at the source")
    return examine(Path(policy))


def compare(policy: Policy | str | Path, model: SyntheticModel) -> ExactDistances:
    """How far the rows of a model are from the table's, exactly: of all columns, pairs and triples. Not private.

    It is for the curator, who may see the data as they are, and for nobody else.
    """
    from tacit.faces.opening import source_and_books
    from tacit.release.synthesise import exact_distances

    _refuse_environment("the exact report")
    declared = _declared(policy)
    with source_and_books(declared) as (engine, _):
        return exact_distances(declared, engine, model)


def explain_calibration(
    policy: Policy | str | Path,
    *quantities: str,
    epsilon: Number,
    delta: Number | None = None,
    coverage: Number = COVERAGE,
    grids: Mapping[str, str] | None = None,
) -> CalibrationPlan:
    """What `calibrate` would measure, what it would cost, and how far off it would be. Free."""
    from tacit.faces.owner.calibrating import CalibrationRequest
    from tacit.faces.owner.calibrating import explain_calibration as explain

    _refuse_environment("calibration")
    wish = CalibrationRequest(names=quantities, epsilon=epsilon, delta=delta, coverage=coverage, grids=grids or {})
    return explain(_declared(policy), wish)


def calibrate(
    policy: str | Path,
    *quantities: str,
    epsilon: Number,
    delta: Number | None = None,
    coverage: Number = COVERAGE,
    grids: Mapping[str, str] | None = None,
    fresh: bool = False,
    write: bool = False,
) -> Calibrated:
    """Measure what the policy does not say, privately and at a price that is on record; `write` puts it into the file.

    A quantity is `visits.max_rows`, `visits.max_groups`, `visits.cut` or a column such as `visits.amount`; without any
    it is all that is missing. `grids` says where to look for a column's bounds: `{"visits.amount": "0:1000:10"}`. What
    was measured before is given again, free, unless `fresh`.
    """
    from tacit.faces.owner.calibrating import CalibrationRequest, calibrate_file
    from tacit.faces.owner.writing import write_over

    _refuse_environment("calibration")
    wish = CalibrationRequest(
        names=quantities, epsilon=epsilon, delta=delta, coverage=coverage, grids=grids or {}, fresh=fresh
    )
    calibrated = calibrate_file(Path(policy), wish)
    if write:
        write_over(Path(policy), calibrated.text)
    return calibrated


def budget(policy: Policy | str | Path, *, analyst: str | None = None) -> BudgetStatus:
    """What is spent and what is left: of one analyst, or of everyone."""
    from tacit.faces.owner import ledger_admin

    return ledger_admin.budget_of(_declared(policy), analyst)


def log(policy: Policy | str | Path, *, analyst: str | None = None, limit: int = 50) -> tuple[Entry, ...]:
    """The newest entries of the ledger, of one analyst or of all, the newest first."""
    from tacit.faces.owner import ledger_admin

    return ledger_admin.entries(_declared(policy), analyst, limit=limit)


def verify(policy: Policy | str | Path) -> Verdict:
    """Whether the ledger is whole: every hash, total and answer is computed anew. Its `problems` say what is not."""
    from tacit.faces.owner import ledger_admin

    return ledger_admin.verdict(_declared(policy))


def back_up(policy: Policy | str | Path, copy: str | Path) -> Verdict:
    """Copy the ledger into a new file, while charges go on; what is found in the copy."""
    from tacit.faces.owner import ledger_admin

    _refuse_environment("a copy of everybody's answers")
    return ledger_admin.back_up(_declared(policy), Path(copy))


def replay(policy: Policy | str | Path, *, limit: int = 1000) -> ReplayReport:
    """Every question of the log planned anew, and its price held against what was charged. Reads no row; free."""
    from tacit.faces.owner import ledger_admin
    from tacit.faces.owner.replaying import replay as audit

    _refuse_environment("an audit of everybody's questions")
    declared = _declared(policy)
    charges = [entry for entry in ledger_admin.entries(declared, None, limit=limit) if entry.act == "charge"]
    return audit(declared, charges)


def adopt(policy: Policy | str | Path, *, note: str) -> str:
    """Make the policy's ledger the one of its source, although another has the account; the hash of the entry.

    What was spent there can be spent again: a loss of privacy, unless the data are others. `note` says why, for ever.
    """
    from tacit.faces.owner import ledger_admin

    _refuse_environment("the ledger's care")
    return ledger_admin.take_over(_declared(policy), note)


def accept(policy: Policy | str | Path, *, note: str) -> str:
    """Take a ledger that was rolled back for the truth; the hash of the entry that says so.

    What was charged after that point can be spent again: a loss of privacy. `note` says why, for ever.
    """
    from tacit.faces.owner import ledger_admin

    _refuse_environment("the ledger's care")
    return ledger_admin.accept(_declared(policy), note)


def sql(
    policy: Policy | str | Path, text: str, parameters: Sequence[object] = ()
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Run the owner's SQL on the policy's own source: the names of the columns, and true rows. No privacy."""
    from tacit.faces.owner.direct import direct

    _refuse_environment("direct look-up")
    return direct(_declared(policy), text, parameters)


def refuse_analyst(analyst: str | None, what: str) -> None:
    """What an owner does is not done in an analyst's name."""
    if analyst:
        raise QueryRefused(
            f"{what} is the owner's: it is refused to analysts",
            hint="leave out --as and unset TACIT_ANALYST, if the data are yours",
        )


def _refuse_environment(what: str) -> None:
    """The environment of an analyst's commands is no place for the owner's acts."""
    refuse_analyst(os.environ.get("TACIT_ANALYST"), what)


def _declared(policy: Policy | str | Path) -> Policy:
    """The policy itself, or the one in a file. No engine is loaded: most of the ledger's care needs none."""
    from tacit.policy import Policy, load_policy

    return policy if isinstance(policy, Policy) else load_policy(policy)
