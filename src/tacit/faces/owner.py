"""The owner's door: drafts, checks, direct SQL. Closed to analysts, and no server imports it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from tacit.engines import (
    UNLIMITED,
    Engine,
    advice_on,
    holds_identifiers,
    look_at_files,
    open_engine,
    opener_of,
    read_schema,
    run_owner_sql,
    shared_keys,
    unfit_in,
    unreadable_tables,
)
from tacit.engines.reading import name_in
from tacit.engines.sources import holds_sqlite
from tacit.engines.text_tables import Unfit
from tacit.errors import EngineError, InvalidParameter, PolicyError, QueryRefused, TacitError
from tacit.faces.changes import changes_since
from tacit.faces.left_out import rows_left_out
from tacit.ledger import second_ledger
from tacit.policy import (
    Dataset,
    Finding,
    Level,
    Policy,
    Schema,
    TablePolicy,
    check_policy,
    draft_policy,
    load_policy,
    read_policy,
)
from tacit.policy.check import two_owners
from tacit.policy.engine_specs import engine_at
from tacit.policy.second_owner import second_owners
from tacit.sql import bind, parse

_DATABASES = (".duckdb", ".db", ".ddb")
_SQLITE = (".sqlite", ".sqlite3")
Rows = tuple[tuple[str, ...], list[tuple[object, ...]]]
Columns = Mapping[str, str]  # names and types


def refuse_analyst(analyst: str | None, what: str) -> None:
    """What an owner does is not done in an analyst's name."""
    if analyst:
        raise QueryRefused(
            f"{what} is the owner's: it is refused to analysts",
            hint="leave out --as and unset TACIT_ANALYST, if the data are yours",
        )


def draft(given: Sequence[str], *, policy: Path, name: str | None) -> str:
    """The text of a first policy: from the schema of a database, server or files; of CSV and JSON, from their rows."""
    base = policy.absolute().parent
    server = engine_at(given[0]) if len(given) == 1 else None
    if server is not None:
        address = urlsplit(given[0])
        title = name or _account(address.path.strip("/;") or address.hostname or server.name)
        schema = read_schema(Dataset(title, given[0], engine=server.name, base=base))
        return draft_policy(schema, name=title, source=given[0], engine=server.name)
    sources = [Path(source) for source in given]
    location = _location(sources, base)
    title = name or _account(sources[0].stem if len(sources) == 1 else base.name)
    engine = "sqlite" if isinstance(location, str) and _is_sqlite(sources[0]) else "duckdb"
    dataset = Dataset(title, location, engine=engine, base=base)
    if isinstance(location, str):
        return draft_policy(read_schema(dataset), name=title, source=location, engine=engine)
    looked = look_at_files(dataset)
    return draft_policy(looked.schema, name=title, source=location, engine=engine, looked_at=looked.formats)


def write_new(path: Path, text: str, *, hint: str = "write elsewhere with -o") -> None:
    """Write a file that was not there before; one that was is left alone."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PolicyError(f"{path.name} is there already: it is not overwritten", hint=hint) from None
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
        found += [*_ledger(policy), *_views(policy, schema), *_examined(policy)]
    return policy, found


def _ledger(policy: Policy) -> list[Finding]:
    """A second ledger for the same source: a second budget for the same people."""
    hint = "use that ledger and that name; or, knowing what is not counted then, `tacit ledger adopt`"
    what = "the source has a ledger already"
    return [Finding(Level.ERROR, ("dataset", "ledger"), f"{what}: {why}", hint) for why in second_ledger(policy)]


def _views(policy: Policy, schema: Schema) -> list[Finding]:
    """The views that could not be asked about."""
    found = []
    for view in policy.views:
        try:
            bind(parse(f'DP-SELECT 1 COUNT(*) FROM "{view.name}"'), policy, schema=schema)
        except TacitError as error:
            found.append(Finding(Level.ERROR, ("views", view.name, "query"), error.message, error.hint or ""))
    return found


def _examined(policy: Policy) -> list[Finding]:
    engine = open_engine(policy)
    try:
        why = "holds a cell that cannot be read: questions that touch it would fail, and so tell of it"
        cells = [
            Finding(Level.WARNING, ("tables", name), why, "write the file anew") for name in unreadable_tables(engine)
        ]
        role = [Finding(Level.WARNING, ("dataset", "source"), why, hint) for why, hint in advice_on(engine)]
        owners = [
            Finding(
                Level.ERROR,
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


def _unfit(found: Unfit) -> Finding:
    """What of a file of text is read as NULL, for the curator, who may see an example."""
    example = f"line {found.line} has {found.example!r}" if found.example else f"line {found.line}"
    of = f"{found.count:,} of {found.rows:,}"
    if found.column is None:
        why = f"{of} lines have not one cell for each column, and are rows of NULLs: {example}"
        hint = 'mend them; or state the format, as in { delimiter = ";" } or { newlines = true }'
        return Finding(Level.WARNING, ("tables", found.table), why, hint)
    why = f"{of} cells are not of its type, {found.kind}, and are read as NULL: {example}"
    hint = "mend them, or state another type, or the format of dates or numbers"
    return Finding(Level.WARNING, ("tables", found.table, "columns", found.column), why, hint)


def _second_owners(policy: Policy, engine: Engine) -> list[Finding]:
    """Columns whose values are identifiers of units, though their names do not say so."""
    found = []
    for each in second_owners(policy, engine.schema()):
        column, unit = (each.table, each.column), (each.unit_table, each.unit_column)
        if each.likely and not each.alike and holds_identifiers(engine, column, unit):
            found.append(two_owners(each))
    return found


def direct(policy: Path, database: Path | None, *, sql: str, parameters: Sequence[object]) -> Rows:
    """Run the owner's SQL on the policy's own source, or on a database that has no policy yet."""
    return run_owner_sql(load_policy(policy) if database is None else database, sql, parameters)


def look(dataset: Dataset, table: str, *, write: Callable[[str, str, Columns], str]) -> dict[str, list[object]]:
    """Run one SELECT on a table that has no policy, in its own engine: true columns, for the owner alone.

    `write` makes the SELECT of the engine's dialect, the table's name as it is quoted there, and the types of columns.
    """
    engine = opener_of(dataset.engine)(dataset, [TablePolicy(table, public=True)], every=False, limits=UNLIMITED)
    with closing(engine):
        sql = write(engine.dialect, name_in(engine)(table), engine.schema()[table])
        try:
            found = engine.execute(sql)
        except EngineError:  # which speaks of a charge, and nothing was charged
            raise EngineError(f"the table {table!r} could not be read", hint="the curator's log says why") from None
    return {name: found.keys(name) for name in found.names}


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _location(sources: Sequence[Path], base: Path) -> str | dict[str, str]:
    databases = [source for source in sources if source.suffix.lower() in _DATABASES or _is_sqlite(source)]
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


def _is_sqlite(source: Path) -> bool:
    return source.suffix.lower() in _SQLITE or holds_sqlite(str(source))


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
