"""`tacit anonymise check`: which k, l and t a table has, and whether that is enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tacit.errors import InvalidParameter
from tacit.faces.formats import Plain
from tacit.faces.terminal import print_lines, print_table

if TYPE_CHECKING:
    from tacit.release.anonymise import Hierarchy

FAILS = 1  # the exit code of a table that has not what was asked; errors have others
_TAKEN = frozenset(
    {
        "words", "qi", "sensitive", "k", "l", "t", "diversity", "distance", "unit", "hierarchies", "bands", "prefix",
        "population_size", "policy", "analyst", "form",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the table shall have; None where nothing is asked."""

    k: int | None
    l: float | None  # noqa: E741 - the model's own name for it
    t: float | None
    diversity: str
    distance: str
    unit: str | None
    hierarchies: Mapping[str, Hierarchy]

    @property
    def anything(self) -> bool:
        """Whether a verdict is wanted."""
        return any(number is not None for number in (self.k, self.l, self.t))


def checked(
    tables: Sequence[str],
    quasi: tuple[str, ...],
    *,
    context: typer.Context,
    sensitive: tuple[str, ...],
    asked: Asked,
    population_size: int | None,
    policy: Path | None,
    form: Plain,
) -> int:
    """Show what the table has; the exit code."""
    from tacit.faces.anonymise.findings import audit_rows, counted_words, plain_audit
    from tacit.faces.shown import show_json
    from tacit.policy import load_policy
    from tacit.release.anonymise import check

    _refuse_idle(context)
    if not tables:
        raise InvalidParameter("check which table? none is named", hint="tacit anonymise check TABLE --qi COLUMNS")
    if asked.diversity == "recursive":
        raise InvalidParameter("check counts l as distinct or entropy: not as recursive", hint="leave out --diversity")
    declared = None if policy is None else load_policy(policy)
    audit = check(
        tables[0], quasi, sensitive=sensitive, distance=asked.distance, hierarchies=asked.hierarchies,
        population_size=population_size, unit=asked.unit, policy=declared,
    )  # fmt: skip
    failures = audit.failures(k=asked.k, l=asked.l, t=asked.t, diversity=asked.diversity)
    if form is Plain.JSON:
        verdict = {"holds": not failures, "failures": list(failures)} if asked.anything else {}
        show_json({**plain_audit(audit), **verdict})
    else:
        print_table(("", Path(tables[0]).name), audit_rows(audit), right=(1,))
        print_lines("", counted_words(audit.unit), dim=True)
        if asked.anything:
            print_lines("", f"it does not hold: {'; '.join(failures)}" if failures else "it holds")
    return FAILS if failures else 0


def _refuse_idle(context: typer.Context) -> None:
    """An option that would do nothing is refused: -o writes no file here."""
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name not in _TAKEN and source is not None and source.name == "COMMANDLINE":
            option = max(parameter.opts, key=len)
            raise InvalidParameter(f"check takes no {option}: it changes and writes nothing", hint="leave it out")
