"""The owner's door: drafts, checks, direct SQL, the ledger's care. Closed to analysts, and no server imports it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tacit.curator.pricing import caps
from tacit.engines import open_engine, read_schema, run_owner_sql, unreadable_tables
from tacit.errors import InvalidParameter, LedgerError, PolicyError, QueryRefused
from tacit.faces.standing import Standing, standing
from tacit.ledger import Balance, Entry, Line, Spent, SqliteLedger, Verdict, accept_rollback, verify_file
from tacit.policy import (
    AnalystPolicy,
    Dataset,
    Finding,
    Level,
    Policy,
    check_policy,
    draft_policy,
    load_policy,
    read_policy,
)

_DATABASES = (".duckdb", ".db", ".ddb")
_OWNER = "curator"
T = TypeVar("T")
Rows = tuple[tuple[str, ...], list[tuple[object, ...]]]


def refuse_analyst(analyst: str | None, what: str) -> None:
    """What an owner does is not done in an analyst's name."""
    if analyst:
        raise QueryRefused(
            f"{what} is the owner's: it is refused to analysts",
            hint="leave out --as and unset TACIT_ANALYST, if the data are yours",
        )


def draft(sources: Sequence[Path], *, policy: Path, name: str | None) -> str:
    """The text of a first policy for a database or for files, from their schema alone."""
    base = policy.absolute().parent
    location = _location(sources, base)
    title = name or _account(sources[0].stem if len(sources) == 1 else base.name)
    schema = read_schema(Dataset(title, location, base=base))
    return draft_policy(schema, name=title, source=location)


def write_new(path: Path, text: str) -> None:
    """Write a file that was not there before; one that was is left alone."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PolicyError(
            f"{path.name} is there already: it is not overwritten", hint="write elsewhere with -o"
        ) from None
    except OSError as error:
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None


def write_over(path: Path, text: str) -> None:
    """Replace a policy by its next version, whole or not at all."""
    draft_path = path.with_name(f".{path.name}.new")
    try:
        mode = path.stat().st_mode & 0o777
        draft_path.write_text(text, encoding="utf-8")
        draft_path.chmod(mode)
        os.replace(draft_path, path)
    except OSError as error:
        draft_path.unlink(missing_ok=True)
        raise PolicyError(f"{path.name} cannot be written: {error.strerror}") from None


def examine(path: Path) -> tuple[Policy | None, list[Finding]]:
    """Everything `tacit check` has to say of a policy: its text, its fit to the source, cells that cannot be read."""
    policy, errors = read_policy(_text(path), path.absolute().parent, name=path.name)
    if policy is None:
        return None, [Finding(Level.ERROR, (), error.message, error.hint) for error in errors]
    schema = read_schema(policy.dataset, policy.tables)
    found = check_policy(policy, schema)
    if not any(finding.level is Level.ERROR for finding in found):
        found += _unreadable(policy)
    return policy, found


def _unreadable(policy: Policy) -> list[Finding]:
    engine = open_engine(policy)
    try:
        why = "holds a cell that cannot be read: questions that touch it would fail, and so tell of it"
        return [
            Finding(Level.WARNING, ("tables", name), why, "write the file anew") for name in unreadable_tables(engine)
        ]
    finally:
        engine.close()


def direct(policy: Path, database: Path | None, *, sql: str, parameters: Sequence[object]) -> Rows:
    """Run the owner's SQL on the policy's own source, or on a database that has no policy yet."""
    return run_owner_sql(load_policy(policy) if database is None else database, sql, parameters)


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────


def standings(policy: Policy, analyst: str | None) -> Standing:
    """What is spent and left: of one analyst, or of all. Makes no ledger where there is none yet."""
    chosen = [policy.analyst(analyst)] if analyst else list(policy.analysts)
    who = chosen or [AnalystPolicy(_OWNER, policy.budget.epsilon)]
    balances = _in_ledger(policy, lambda ledger: {one.name: _balance(policy, one, ledger) for one in who})
    made = standing(policy.dataset.name, balances)
    return made if chosen else Standing(made.dataset, made.total, (), ())


def _balance(policy: Policy, analyst: AnalystPolicy, ledger: SqliteLedger | None) -> Balance:
    limits = caps(policy, analyst)
    if ledger is not None:
        return ledger.balance(policy.dataset.name, limits, analyst=analyst.name)
    groups = tuple((name, Line(Spent(), cap)) for name, cap in limits.groups)
    return Balance(total=Line(Spent(), limits.total), analyst=Line(Spent(), limits.analyst), groups=groups)


def entries(policy: Policy, analyst: str | None, *, limit: int) -> tuple[Entry, ...]:
    """The newest entries of the dataset, of one analyst or of all."""
    if limit < 1:
        raise InvalidParameter(f"at least one entry is shown: got {limit}")
    name = None if analyst is None else policy.analyst(analyst).name
    dataset = policy.dataset.name
    return _in_ledger(
        policy, lambda ledger: () if ledger is None else ledger.entries(limit=limit, dataset=dataset, analyst=name)
    )


def verdict(policy: Policy) -> Verdict:
    """What an examination of the whole ledger finds."""
    if not _has_ledger(policy):
        raise LedgerError("there is no ledger yet: nothing was ever asked", hint="the first question makes one")
    return verify_file(policy.dataset.ledger_path)


def accept(policy: Policy, note: str) -> str:
    """Take a ledger that was rolled back for the truth, on record."""
    return accept_rollback(policy.dataset.ledger_path, note)


def _has_ledger(policy: Policy) -> bool:
    path = policy.dataset.ledger_path
    return path.exists() or path.with_name(f"{path.name}.mark").exists()


def _in_ledger(policy: Policy, read: Callable[[SqliteLedger | None], T]) -> T:
    if not _has_ledger(policy):
        return read(None)
    with SqliteLedger(policy.dataset.ledger_path, create=False) as ledger:
        return read(ledger)


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _location(sources: Sequence[Path], base: Path) -> str | dict[str, str]:
    databases = [source for source in sources if source.suffix.lower() in _DATABASES]
    if databases and len(sources) > 1:
        raise InvalidParameter("one database, or several files: not both", hint="draft a policy for each database")
    if databases:
        return _relative(databases[0], base)
    found: dict[str, str] = {}
    for source in sources:
        table = re.sub(r"\W+", "_", source.name.partition(".")[0]).strip("_") or "data"
        if table.casefold() in map(str.casefold, found):
            raise InvalidParameter(f"two files would both be the table {table!r}", hint="rename one of them")
        found[table] = _relative(source, base)
    return found


def _relative(source: Path, base: Path) -> str:
    """As the policy writes it: relative to the policy where it lies below or beside it."""
    return Path(os.path.relpath(source.absolute(), base)).as_posix()


def _account(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@-]+", "-", text).strip("-_.@") or "data"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PolicyError(f"{path.name}: there is no such file", hint="draft one with: tacit init DATA") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path.name}: not TOML: the file is not UTF-8") from None
    except OSError as error:
        raise PolicyError(f"{path.name}: cannot be read: {error.strerror}") from None
