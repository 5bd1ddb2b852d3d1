"""A policy from its file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tacit.errors import PolicyError
from tacit.policy import keys
from tacit.policy.budget import AnalystPolicy, BudgetPolicy, GroupPolicy
from tacit.policy.limits import LimitsPolicy
from tacit.policy.model import Policy
from tacit.policy.reading.fault import Fault, KeyPath, gathered
from tacit.policy.reading.lines import Origin, key_lines
from tacit.policy.reading.names import meant
from tacit.policy.reading.types import kind_name
from tacit.policy.server import ServerPolicy
from tacit.policy.sources.dataset import Dataset
from tacit.policy.tables.column import ColumnPolicy
from tacit.policy.tables.table import TablePolicy
from tacit.policy.tables.view import ViewPolicy

MAX_BYTES = 1_000_000
T = TypeVar("T")
BLANK = "?"  # what a draft leaves for the curator to fill in
_AT_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)")


def load_policy(path: Path | str) -> Policy:
    """The policy in a file, or a PolicyError that names the line. Locations in it are relative to the file."""
    if not isinstance(path, (str, Path)):
        raise PolicyError(f"a policy is named by its path, not by {kind_name(path)}", hint='write "tacit.toml"')
    file = Path(path)
    try:
        if not file.is_file():
            raise PolicyError(f"{file.name}: there is no such file", hint="draft one with: tacit init DATA")
        with file.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"{file.name}: cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{file.name}:{line}: not TOML: the file is not UTF-8") from None
    return parse_policy(text, file.absolute().parent, name=file.name)


def parse_policy(text: str, base: Path | str = ".", *, name: str = "tacit.toml") -> Policy:
    """The policy in a text, or a PolicyError for the first line that is wrong."""
    policy, errors = read_policy(text, base, name=name)
    if policy is None:
        raise errors[0]
    return policy


def read_policy(
    text: str, base: Path | str = ".", *, name: str = "tacit.toml"
) -> tuple[Policy | None, list[PolicyError]]:
    """The policy in a text; or None and everything that is wrong with it, in the order of lines."""
    faults: list[Fault] = []
    origin = Origin(name, {})
    policy = None
    try:
        origin = Origin(name, key_lines(_small(text)))
        policy = _read(_toml(text), faults, origin=origin, base=Path(base))
    except Fault as fault:
        faults.append(fault)
    # what is missing altogether has no line and comes last: a misspelt [budget] is better told as such
    faults.sort(key=lambda fault: fault.line or origin.line(fault.path) or MAX_BYTES)
    return (None if faults else policy), [origin.refusal(fault) for fault in faults]


def _small(text: str) -> str:
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        raise Fault(f"is larger than a policy may be: {MAX_BYTES} bytes")
    return text


def _toml(text: str) -> dict[str, Any]:
    """The text's keys and values, every decimal as it was typed."""
    try:
        return tomllib.loads(text, parse_float=_decimal)
    except tomllib.TOMLDecodeError as error:
        match = _AT_LINE.search(str(error))
        what = _AT_LINE.sub(f" at column {match[2]}" if match else "", str(error))
        line = int(match[1]) if match else text.count("\n") + 1
        raise Fault(f"not TOML: {what[:1].lower()}{what[1:]}", line=line) from None
    except (ValueError, RecursionError):  # thousands of digits, or a depth the scanner did not see
        raise Fault("not TOML: a number or a nesting beyond all measure") from None


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(text) from None


def _read(data: Mapping[str, object], faults: list[Fault], *, origin: Origin, base: Path) -> Policy | None:
    top = ("dataset", "budget", "limits", "server", "groups", "analysts", "tables", "views")
    faults += [_unknown((key,), top).under() for key in data if key not in top]
    beside = base / f"{Path(origin.name).stem}.ledger"
    dataset = gathered(partial(_dataset, data.get("dataset"), beside, base), faults, under=("dataset",))
    budget = gathered(partial(_budget, data.get("budget")), faults, under=("budget",))
    limits = gathered(partial(_limits, data.get("limits", {})), faults, under=("limits",))
    server = gathered(partial(_server, data.get("server", {})), faults, under=("server",))
    groups = _each(data, "groups", faults, make=_group)
    analysts = _each(data, "analysts", faults, make=_analyst)
    tables = _each(data, "tables", faults, make=partial(_table, faults=faults))
    views = _each(data, "views", faults, make=_view)
    if faults or dataset is None or budget is None or limits is None or server is None:
        return None
    return Policy(
        dataset,
        budget,
        tables=tables,
        analysts=analysts,
        groups=groups,
        views=views,
        limits=limits,
        server=server,
        origin=origin,
    )


def _dataset(raw: object, beside: Path, base: Path) -> Dataset:
    """The dataset. Its ledger goes by its name; one that an earlier version named after the policy's file is kept."""
    section = _section(raw, (), keys.DATASET)
    dataset = Dataset(**section, base=base)
    if "ledger" in section or dataset.ledger_path == beside or not _is_ledger(beside):
        return dataset
    if _is_ledger(dataset.ledger_path):
        raise Fault(
            f"is not said, and there are two: {dataset.ledger} and {beside.name}",
            path=("ledger",),
            hint='write ledger = "…": the one that was charged last',
        )
    return Dataset(**section, ledger=beside.name, base=base)


def _is_ledger(path: Path) -> bool:
    return path.exists() or path.with_name(f"{path.name}.mark").exists()


def _budget(raw: object) -> BudgetPolicy:
    return BudgetPolicy(**_section(raw, (), keys.BUDGET))


def _limits(raw: object) -> LimitsPolicy:
    return LimitsPolicy(**_section(raw, (), keys.LIMITS))


def _server(raw: object) -> ServerPolicy:
    return ServerPolicy(**_section(raw, (), keys.SERVER))


def _group(name: str, raw: object) -> GroupPolicy:
    return GroupPolicy(name, **_section(raw, (name,), keys.GROUP))


def _analyst(name: str, raw: object) -> AnalystPolicy:
    return AnalystPolicy(name, **_section(raw, (name,), keys.ANALYST))


def _column(name: str, raw: object) -> ColumnPolicy:
    return ColumnPolicy(name, **_section(raw, (name,), keys.COLUMN))


def _view(name: str, raw: object) -> ViewPolicy:
    return ViewPolicy(name, **_section(raw, (name,), keys.VIEW))


def _table(name: str, raw: object, *, faults: list[Fault]) -> TablePolicy:
    section = _section(raw, (name,), keys.TABLE)
    section["columns"] = _each(section, "columns", faults, make=_column, under=("tables", name))
    return TablePolicy(name, **section)


def _each(
    data: Mapping[str, object],
    key: str,
    faults: list[Fault],
    *,
    make: Callable[[str, object], T],
    under: tuple[str, ...] = (),
) -> list[T]:
    """One thing for each entry of a table of tables; faulty ones are left out and their faults put with the others."""
    entries = data.get(key, {})
    if not isinstance(entries, Mapping):
        faults.append(Fault(f"must be a table: it is {kind_name(entries)}", path=(*under, key), rooted=True))
        return []
    values = (gathered(partial(make, name, raw), faults, under=(*under, key)) for name, raw in entries.items())
    return [thing for thing in values if thing is not None]


def _section(raw: object, path: KeyPath, known: tuple[keys.PolicyKey, ...]) -> dict[str, Any]:
    """A table's keys and values: no unknown ones, none that is needed missing, none left blank."""
    if raw is None:
        raise Fault("is missing", path=path, hint="a policy needs [dataset], [budget] and [tables.…]")
    if not isinstance(raw, Mapping):
        hint = "write {} where nothing is known of it" if known is keys.COLUMN else ""
        raise Fault(f"must be a table: it is {kind_name(raw)}", path=path, hint=hint)
    names = keys.names_of(known)
    for key in raw:
        if key not in names:
            raise _unknown((*path, key), names)
    for key in known:
        if key.default == keys.NEEDED and key.name not in raw:
            raise Fault(f"is missing: {key.meaning}", path=(*path, key.name), hint=f"add {key.name} = …")
        if raw.get(key.name) == BLANK:
            raise Fault("is still blank", path=(*path, key.name), hint=f"fill it in: {key.meaning}")
    return dict(raw)


def _unknown(path: KeyPath, known: tuple[str, ...]) -> Fault:
    key = str(path[-1])
    word = keys.SYNONYMS.get(key, "")
    hint = f'did you mean "{word}"?' if word in known else meant(key, known)
    return Fault("is not a key tacit knows", path=path, hint=hint or f"the keys here are {', '.join(known)}")
