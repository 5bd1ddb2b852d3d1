"""Reports added up: from lines of JSON here, or by an engine where they are many."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit.collect import Tally, Unary, open_messages
from tacit.collect.messages import HEAD, head
from tacit.errors import EngineError, InvalidParameter, TacitError
from tacit.faces.log_file import log
from tacit.faces.owner.direct import direct, look
from tacit.faces.survey.questionnaire import Survey
from tacit.faces.survey.report_sql import WORDS, grouped, summed
from tacit.faces.survey.store import read_lines
from tacit.policy import Dataset
from tacit.policy.engine_specs import engine_at

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
    place = str(reports or survey.reports)
    chosen = engine or _engine(place)
    if chosen is None:
        if reports is not None and not Path(place).is_file():
            raise InvalidParameter(f"{place}: there is no such file of reports", hint="look at what --reports names")
        kept, unreadable = read_lines(Path(place))
        return _weighted(survey, kept).with_dropped(unreadable)
    return _summed(survey, place, table, engine=chosen)


def _engine(place: str) -> str | None:
    """Who adds up what lies there; None for lines of JSON, which are read here."""
    spec = engine_at(place)
    if spec is not None:
        return spec.name
    return "duckdb" if place.lower().endswith((".parquet", *_DATABASES)) or "*" in place else None


def _summed(survey: Survey, place: str, table: str, *, engine: str) -> Tally:
    """Short reports are grouped and counted by the engine; of long ones it sums every bit."""
    if engine not in WORDS:
        raise InvalidParameter(f"{engine!r} does not add up reports", hint=f"{', '.join(WORDS)} do")
    database = engine_at(place) is not None or place.lower().endswith(_DATABASES)
    dataset = Dataset("survey", place if database else {table: place}, engine=engine, base=Path.cwd())
    protocol = survey.protocol
    of_bits = isinstance(protocol, Unary)

    def write(dialect: str, name: str, columns: Mapping[str, str]) -> str:
        _refuse_others(columns)
        return (summed if of_bits else grouped)(survey, WORDS[dialect], table=name)

    found = look(dataset, table, write=write)
    return _from_bits(protocol, found) if of_bits else _from_groups(protocol, found)


def _refuse_others(columns: Mapping[str, str]) -> None:
    kind = columns.get("report")
    if kind not in _BYTES:
        found = "there is none" if kind is None else f"it is {kind}"
        raise InvalidParameter(
            f"reports are read from a column `report` of bytes: {found}", hint="tacit survey pack writes one"
        )


def _from_bits(protocol: Unary, found: Mapping[str, list[object]]) -> Tally:
    columns = {name: np.array(cells, dtype=np.int64) for name, cells in found.items()}
    order = np.argsort(columns["part"])
    sums = [columns[f"s{place}"][order] for place in range(len(columns) - 3)]
    everything, counted = int(columns["everything"][0]), int(columns["counted"][0])
    return Tally(np.stack(sums, axis=1).ravel()[: protocol.domain], counted, everything - counted)


def _from_groups(protocol: Any, found: Mapping[str, list[object]]) -> Tally:
    times = np.array(found["times"], dtype=np.int64)
    fits = np.array([text is not None for text in found["report"]], dtype=np.bool_)
    messages = bytes.fromhex("".join(str(text) for text in found["report"] if text is not None))
    bodies = np.frombuffer(messages, dtype=np.uint8).reshape(-1, HEAD + protocol.width)[:, HEAD:]
    kept: Tally = protocol.tally(bodies, times[fits])
    return kept.with_dropped(int(times[~fits].sum()))


def _weighted(survey: Survey, kept: Mapping[bytes, int]) -> Tally:
    """A tally of messages, each counted as often as it came."""
    protocol = survey.protocol
    start, length = head(protocol, survey.topic), HEAD + protocol.width
    good = {message: times for message, times in kept.items() if len(message) == length and message.startswith(start)}
    bodies, _ = open_messages(protocol, good, topic=survey.topic)
    counted: Tally = protocol.tally(bodies, np.fromiter(good.values(), np.int64, len(good)))
    return counted.with_dropped(sum(kept.values()) - sum(good.values()))


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
        direct(_MEMORY, PACKED.replace("{target}", quoted), [str(survey.reports)])
    except TacitError as error:  # in the engine's words, which are not for the shell
        log.error("reports could not be packed: %s", error.message)
        target.unlink(missing_ok=True)
        raise EngineError(
            f"{target.name} could not be written", hint="is there room, and may its directory be written to?"
        ) from None
    return target.stat().st_size
