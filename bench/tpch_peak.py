"""The peak memory of one TPC-H question: `python -m bench.tpch_peak FOLDER NUMBER private|plain`, in megabytes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from bench.tpch import RUNNING, answer, opened, plain


def main(folder: str, number: str, kind: str) -> int:
    query = next(query for query in RUNNING if query.number == int(number))
    _, engine, curator = opened(Path(folder))
    before = _megabytes("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    if kind == "private":
        answer(curator, engine, str(query.runs))
    else:
        engine._connection.cursor().execute(plain(query)).fetchall()  # type: ignore[attr-defined]
    print(_megabytes("VmHWM") - before)
    return 0


def _megabytes(name: str) -> float:
    found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found.group(1)) / 1024


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
