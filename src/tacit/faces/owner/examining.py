"""A policy held against its source: everything that does not fit, for the owner's eyes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tacit.curator.forms.cells import in_one_line
from tacit.engines import (
    Engine,
    advice_on,
    holds_identifiers,
    open_engine,
    read_schema,
    shared_keys,
    unfit_in,
    unreadable_tables,
)
from tacit.engines.text.tables import Unfit
from tacit.errors import LedgerError, PolicyError, TacitError
from tacit.faces.owner.changes import changes_since
from tacit.faces.owner.left_out import rows_left_out
from tacit.ledger import second_ledger
from tacit.policy import Finding, Policy, Schema, Severity, check_policy, read_policy
from tacit.policy.check import two_owners
from tacit.policy.second_owner import second_owners
from tacit.sql import bind, parse


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found; `policy` is None where the file is none."""

    policy: Policy | None
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What must be mended before anybody can ask."""
        return tuple(finding for finding in self.findings if finding.level is Severity.ERROR)

    @property
    def fits(self) -> bool:
        """Whether questions can be asked."""
        return not self.errors

    def refuse(self) -> None:
        """Raise PolicyError where something must be mended: the first of it, and how much there is."""
        if self.errors:
            first = self.errors[0]
            count = "1 error" if len(self.errors) == 1 else f"{len(self.errors)} errors"
            raise PolicyError(f"the policy has {count}: {first.message}", hint=first.hint)

    def __str__(self) -> str:
        lines = [f"{finding.level}: {finding.message}{_hint(finding)}" for finding in self.findings]
        return "\n".join(map(in_one_line, lines)) or "it fits its source"


def _hint(finding: Finding) -> str:
    return f" ({finding.hint})" if finding.hint else ""


def examine(path: Path) -> Checked:
    """Everything `tacit check` has to say of a policy: its text, its fit to the source, cells that cannot be read."""
    return examine_text(_text(path), path)


def examine_text(text: str, path: Path) -> Checked:
    """What `examine` would say of the policy, were this text its file."""
    policy, errors = read_policy(text, path.absolute().parent, name=path.name)
    if policy is None:
        return Checked(None, tuple(Finding(Severity.ERROR, (), error.message, error.hint) for error in errors))
    schema = read_schema(policy.dataset, policy.tables)
    findings = check_policy(policy, schema)
    if not any(finding.level is Severity.ERROR for finding in findings):
        findings += [*_ledger(policy), *_views(policy, schema), *_examined(policy)]
    return Checked(policy, tuple(findings))


def _ledger(policy: Policy) -> list[Finding]:
    """A second ledger for the same source, or beside it: a second budget for the same people."""
    hint = "use that ledger and that name; or, knowing what is not counted then, `tacit ledger adopt --note …`"
    path = ("dataset", "ledger")
    try:
        problems, neighbours = second_ledger(policy)
    except LedgerError as error:
        why = f"no question can be asked now: {error.message}"
        return [Finding(Severity.WARNING, path, why, error.hint or "tacit ledger verify")]
    findings = [Finding(Severity.ERROR, path, f"the source has a ledger already: {why}", hint) for why in problems]
    for table, ledger in {} if problems else neighbours.items():
        why = f"table {table!r} of the same database has a ledger of its own, {ledger}: who is in both has two budgets"
        both = "let one policy name both, unless they hold other people"
        findings.append(Finding(Severity.WARNING, path, why, both))
    return findings


def _views(policy: Policy, schema: Schema) -> list[Finding]:
    """The views that could not be asked about."""
    findings = []
    for view in policy.views:
        try:
            bind(parse(f'DP-SELECT 1 COUNT(*) FROM "{view.name}"'), policy, schema=schema)
        except TacitError as error:
            findings.append(Finding(Severity.ERROR, ("views", view.name, "query"), error.message, error.hint or ""))
    return findings


def _examined(policy: Policy) -> list[Finding]:
    engine = open_engine(policy)
    try:
        why = "holds a cell that cannot be read: questions that touch it would fail, and so tell of it"
        cells = [
            Finding(Severity.WARNING, ("tables", name), why, "write the file anew")
            for name in unreadable_tables(engine)
        ]
        role = [Finding(Severity.WARNING, ("dataset", "source"), why, hint) for why, hint in advice_on(engine)]
        owners = [
            Finding(
                Severity.ERROR,
                ("tables", name, "unit"),
                f"links to {key}, which several owners share: whose would a row be?",
                "link to a key that one row has",
            )
            for name, key in ([] if cells else shared_keys(engine, policy))
        ]
        unfit = map(_unfit, unfit_in(policy))
        changes = changes_since(policy, engine)
        rows = [] if cells or owners else [*rows_left_out(policy, engine), *_second_owners(policy, engine)]
        return [*cells, *owners, *role, *unfit, *changes, *rows]
    finally:
        engine.close()


def _unfit(unfit: Unfit) -> Finding:
    """What of a file of text is read as NULL, for the curator, who may see an example."""
    example = f"line {unfit.line} has {unfit.example!r}" if unfit.example else f"line {unfit.line}"
    of = f"{unfit.count:,} of {unfit.rows:,}"
    if unfit.column is None:
        why = f"{of} lines have not one cell for each column, and are rows of NULLs: {example}"
        hint = 'mend them; or state the format, as in { delimiter = ";" } or { newlines = true }'
        return Finding(Severity.WARNING, ("tables", unfit.table), why, hint)
    why = f"{of} cells are not of its type, {unfit.kind}, and are read as NULL: {example}"
    hint = "mend them, or state another type, or the format of dates or numbers"
    return Finding(Severity.WARNING, ("tables", unfit.table, "columns", unfit.column), why, hint)


def _second_owners(policy: Policy, engine: Engine) -> list[Finding]:
    """Columns whose values are identifiers of units, though their names do not say so."""
    findings = []
    for each in second_owners(policy, engine.schema()):
        column, unit = (each.table, each.column), (each.unit_table, each.unit_column)
        if each.likely and not each.alike and holds_identifiers(engine, column, unit):
            findings.append(two_owners(each))
    return findings


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{path.name}: there is no such file", hint="draft one with: tacit init DATA") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name}: not TOML: the file is not UTF-8") from None
    except OSError as error:
        raise PolicyError(f"{path.name}: cannot be read: {error.strerror}") from None
