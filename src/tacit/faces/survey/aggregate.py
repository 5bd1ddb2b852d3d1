"""Reports added up: from lines of JSON here, or in SQL where they are many and lie in Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit.collect import Tally, Unary, open_messages
from tacit.collect.messages import HEAD, head
from tacit.errors import InvalidParameter
from tacit.faces.owner import direct
from tacit.faces.survey.questionnaire import Survey
from tacit.faces.survey.store import read_lines

_MEMORY = Path(":memory:")
GROUPED = "SELECT report, COUNT(*) AS times FROM read_parquet(?) GROUP BY report"
PACKED = """COPY (
  SELECT coalesce(try(unhex(json_extract_string(line, '$.report'))), ''::BLOB) AS report  -- unreadable: counted
  FROM read_csv(?, columns = {line: 'VARCHAR'}, header = false, auto_detect = false, delim = '\x01', quote = '',
    escape = '')
) TO '{target}' (FORMAT parquet)"""


def tally(survey: Survey, reports: Path | None = None) -> Tally:
    """All reports of a survey added up; those that do not fit are dropped and counted."""
    path = reports or survey.reports
    if path.suffix == ".parquet" or "*" in path.name:
        return _in_sql(survey.protocol, path)
    kept, unreadable = read_lines(path)
    return _weighted(survey.protocol, kept).with_dropped(unreadable)


def _weighted(protocol: Any, kept: Mapping[bytes, int]) -> Tally:
    """A tally of messages, each counted as often as it came."""
    start, length = head(protocol), HEAD + protocol.width
    good = {message: times for message, times in kept.items() if len(message) == length and message.startswith(start)}
    bodies, _ = open_messages(protocol, good)
    counted: Tally = protocol.tally(bodies, np.fromiter(good.values(), np.int64, len(good)))
    return counted.with_dropped(sum(kept.values()) - sum(good.values()))


def _in_sql(protocol: Any, path: Path) -> Tally:
    """Short reports are grouped and counted by the engine; of long ones it sums every bit."""
    if isinstance(protocol, Unary):
        return _bits_in_sql(protocol, path)
    rows = _run(GROUPED, [str(path)])
    kept: Counter[bytes] = Counter()
    for message, times in rows:
        kept[bytes(message or b"")] += int(times)
    return _weighted(protocol, kept)


def bit_sums(protocol: Unary) -> str:
    """One query that counts the reports that fit, those that do not, and every bit of those that do."""
    start = head(protocol).hex()
    spare = " AND ".join(f"get_bit(bits, {_place(bit)}) = 0" for bit in range(protocol.domain, 8 * protocol.width))
    sums = ",\n  ".join(f"SUM(get_bit(bits, {_place(bit)})) AS b{bit}" for bit in range(protocol.domain))
    return f"""WITH fitting AS (
  SELECT CAST(report AS BIT) AS bits FROM read_parquet(?)
  WHERE octet_length(report) = {HEAD + protocol.width} AND starts_with(hex(report), '{start.upper()}')
), tidy AS (SELECT bits FROM fitting{f" WHERE {spare}" if spare else ""})
SELECT (SELECT COUNT(*) FROM read_parquet(?)) AS everything, COUNT(*) AS counted,
  {sums}
FROM tidy"""


def _place(bit: int) -> int:
    """Where DuckDB finds a bit of the body: it counts bytes from the left, and in them from the highest bit down."""
    return 8 * (HEAD + bit // 8) + 7 - bit % 8


def _bits_in_sql(protocol: Unary, path: Path) -> Tally:
    [(everything, counted, *sums)] = _run(bit_sums(protocol), [str(path), str(path)])
    counts = np.array([int(one or 0) for one in sums], dtype=np.int64)
    return Tally(counts, int(counted), int(everything) - int(counted))


def pack(survey: Survey, target: Path) -> int:
    """Write a survey's reports to Parquet, one binary column `report`; how many bytes there are."""
    if not survey.reports.exists():
        raise InvalidParameter("there is nothing to pack: no report was collected yet", hint="tacit survey serve")
    if target.exists():
        raise InvalidParameter(f"{target.name} is there already: it is not overwritten", hint="name another file")
    quoted = str(target).replace("'", "''")
    _run(PACKED.replace("{target}", quoted), [str(survey.reports)])
    return target.stat().st_size


def _run(sql: str, parameters: list[str]) -> list[tuple[Any, ...]]:
    """Run our own SQL in memory, at the owner's door: reports are noisy already, whoever may read them."""
    return direct(Path(), _MEMORY, sql=sql, parameters=parameters)[1]
