"""Reports of a survey added up where they lie: by an engine, or here from lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from tacit.collect import Tally, Unary
from tacit.collect.messages import HEAD
from tacit.collect.surveys import Survey, tally_lines
from tacit.engines import UNLIMITED, opener_of, run_owner_sql
from tacit.engines.exact import log
from tacit.engines.reading import name_in
from tacit.engines.reports.report_sql import WORDS, grouped, summed
from tacit.errors import EngineError, InvalidParameter, TacitError
from tacit.policy import Dataset, TablePolicy
from tacit.policy.sources.engine_specs import engine_at

Columns = Mapping[str, str]  # names and types

TABLE = "reports"
_MEMORY = Path(":memory:")
_DATABASES = (".duckdb", ".ddb", ".db")
_BYTES = ("BLOB", "BYTEA", "BINARY")  # as the engines call them
PACKED = """COPY (
  SELECT coalesce(try(unhex(json_extract_string(line, '$.report'))), ''::BLOB) AS report  -- unreadable: counted
  FROM read_csv(?, columns = {line: 'VARCHAR'}, header = false, auto_detect = false, delim = '\x01', quote = '',
    escape = '')
) TO '{target}' (FORMAT parquet)"""


def tally(survey: Survey, reports: Path | str | None = None, *, table: str = TABLE, engine: str | None = None) -> Tally:
    """All reports of a survey added up; those that do not fit are dropped and counted.

    `reports` are lines of JSON, Parquet, or a database with a `table` of them. Which `engine` adds up is told by the
    place, and can be said: Parquet is read by Spark as well.
    """
    location = str(reports or survey.reports)
    chosen = engine or _engine(location)
    if chosen is None:
        return tally_lines(survey, None if reports is None else Path(location))
    return _summed(survey, location, table, engine=chosen)


def _engine(location: str) -> str | None:
    """Who adds up what lies there; None for lines of JSON, which are read here."""
    spec = engine_at(location)
    if spec is not None:
        return spec.name
    return "duckdb" if location.lower().endswith((".parquet", *_DATABASES)) or "*" in location else None


def _summed(survey: Survey, location: str, table: str, *, engine: str) -> Tally:
    """Short reports are grouped and counted by the engine; of long ones it sums every bit."""
    if engine not in WORDS:
        raise InvalidParameter(f"{engine!r} does not add up reports", hint=f"{', '.join(WORDS)} do")
    database = engine_at(location) is not None or location.lower().endswith(_DATABASES)
    dataset = Dataset("survey", location if database else {table: location}, engine=engine, base=Path.cwd())
    protocol = survey.protocol
    of_bits = isinstance(protocol, Unary)

    def write(dialect: str, name: str, columns: Columns) -> str:
        _refuse_others(columns)
        return (summed if of_bits else grouped)(survey, WORDS[dialect], table=name)

    rows = _look(dataset, table, write=write)
    return _from_bits(protocol, rows) if of_bits else _from_groups(protocol, rows)


def _look(dataset: Dataset, table: str, *, write: Callable[[str, str, Columns], str]) -> dict[str, list[object]]:
    """The columns of one SELECT on a table that has no policy, by its own engine: true values, for the owner alone.

    `write` makes the SELECT of the engine's dialect, the table's name as it is quoted there, and the types of columns.
    """
    engine = opener_of(dataset.engine)(dataset, [TablePolicy(table, public=True)], every=False, limits=UNLIMITED)
    with closing(engine):
        sql = write(engine.dialect, name_in(engine)(table), engine.schema()[table])
        try:
            exact = engine.execute(sql)
        except EngineError:  # which speaks of a charge, and nothing was charged
            raise EngineError(f"the table {table!r} could not be read", hint="the curator's log says why") from None
    return {name: exact.keys(name) for name in exact.names}


def _refuse_others(columns: Columns) -> None:
    kind = columns.get("report")
    if kind not in _BYTES:
        instead = "there is none" if kind is None else f"it is {kind}"
        raise InvalidParameter(
            f"reports are read from a column `report` of bytes: {instead}", hint="tacit survey pack writes one"
        )


def _from_bits(protocol: Unary, totals: Mapping[str, list[object]]) -> Tally:
    columns = {name: np.array(cells, dtype=np.int64) for name, cells in totals.items()}
    order = np.argsort(columns["part"])
    sums = [columns[f"s{index}"][order] for index in range(len(columns) - 3)]
    everything, counted = int(columns["everything"][0]), int(columns["counted"][0])
    return Tally(np.stack(sums, axis=1).ravel()[: protocol.domain], counted, everything - counted)


def _from_groups(protocol: Any, columns: Mapping[str, list[object]]) -> Tally:
    times = np.array(columns["times"], dtype=np.int64)
    fits = np.array([text is not None for text in columns["report"]], dtype=np.bool_)
    messages = bytes.fromhex("".join(str(text) for text in columns["report"] if text is not None))
    bodies = np.frombuffer(messages, dtype=np.uint8).reshape(-1, HEAD + protocol.width)[:, HEAD:]
    kept: Tally = protocol.tally(bodies, times[fits])
    return kept.with_dropped(int(times[~fits].sum()))


def pack(survey: Survey, target: Path) -> int:
    """Write a survey's reports to Parquet, one binary column `report`; how many bytes there are."""
    if not survey.reports.exists():
        raise InvalidParameter("there is nothing to pack: no report was collected yet", hint="tacit survey serve")
    if target.exists():
        raise InvalidParameter(f"{target.name} is there already: it is not overwritten", hint="name another file")
    if not target.parent.is_dir():
        raise InvalidParameter(
            f"{target} cannot be written: there is no directory {target.parent}", hint="make it first"
        )
    quoted = str(target).replace("'", "''")
    try:
        run_owner_sql(_MEMORY, PACKED.replace("{target}", quoted), [str(survey.reports)])
    except TacitError as error:  # in the engine's words, which are not for the shell
        log.error("reports could not be packed: %s", error.message)
        target.unlink(missing_ok=True)
        raise EngineError(
            f"{target.name} could not be written", hint="is there room, and may its directory be written to?"
        ) from None
    return target.stat().st_size
