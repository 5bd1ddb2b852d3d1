"""Timing attacks: how well the clock tells a database with somebody from one without, with slots and without them."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import duckdb
from scipy import stats

from bench.report import Report, below
from tacit.curator import Session
from tacit.faces.server.serving import Hub, open_hub

PAIRS, MORE, SLOT = 200, 1_000, 400  # pairs of answers, with --long, and milliseconds
OTHERS, HEAVY = 20_000, 300_000  # rows of everybody else, and of the one that the attack is about

POLICY = """
[dataset]
name = "clock"
source = {{ visits = "visits.parquet" }}
[budget]
epsilon = 1000000000
[analysts.eve]
epsilon = 1000000000
[tables.visits]
unit = "person"
max_groups = 1
max_rows = 1
[tables.visits.columns]
name = {{ type = "text" }}
cost = {{ type = "integer", lower = 0, upper = 500 }}
[server]
{slots}
"""
BOMB = " + ".join(f"(cost + {k}) * (cost - {k})" for k in range(1, 9))
ATTACKS = (
    ("a heavy user", "DP-SELECT 0.001 FRESH COUNT(*) AS n FROM visits"),
    (
        "a CASE-bomb that only one person's rows set off",
        f"DP-SELECT 0.001 FRESH COUNT(*) AS n FROM visits WHERE CASE WHEN name = 'victim' THEN {BOMB} ELSE 0 END > 7",
    ),
)


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        for slot in (None, SLOT):
            how = "no slots" if slot is None else f"slots of {slot} ms"
            about = "how often the slower of two answers is that of the database with somebody: 0.5 tells nothing"
            report.section(f"Timing attacks, {how}", about if slot is None else "")
            hubs = [_opened(Path(folder), f"{how} {who}", slot=slot, somebody=who) for who in (True, False)]
            try:
                for name, sql in ATTACKS:
                    _attack(report, hubs, name, sql, slot=slot)
            finally:
                for hub in hubs:
                    hub.close(0)


def _opened(folder: Path, name: str, *, slot: int | None, somebody: bool) -> Hub:
    here = folder / name
    here.mkdir()
    with duckdb.connect() as made:
        made.execute(f"""COPY (
            SELECT 'person ' || i AS person, 'name ' || i AS name, i % 400 AS cost FROM range({OTHERS}) t(i)
            UNION ALL SELECT 'victim', 'victim', i % 400 FROM range({HEAVY if somebody else 0}) t(i)
        ) TO '{here}/visits.parquet' (FORMAT parquet)""")
    policy = here / "tacit.toml"
    policy.write_text(POLICY.format(slots="" if slot is None else f"slot_ms = {slot}"))
    return open_hub(policy)


def _attack(report: Report, hubs: list[Hub], name: str, sql: str, *, slot: int | None) -> None:
    session = Session("eve")

    async def timed(hub: Hub) -> float:
        start = time.perf_counter()
        await hub.ask(session, sql)
        return time.perf_counter() - start

    async def attack() -> list[list[float]]:
        times: list[list[float]] = [[], []]
        for hub in hubs:
            await timed(hub)  # planned, and warm
        for pair in range(report.share(MORE if report.long else PAIRS)):
            for which in (0, 1) if pair % 2 else (1, 0):
                times[which].append(await timed(hubs[which]))
        return times

    there, gone = asyncio.run(attack())
    greater = stats.mannwhitneyu(there, gone).statistic / (len(there) * len(gone))
    bar = None if slot is None else below(0.55)
    report.add(f"{name}: area under the curve, either way", max(greater, 1 - greater), bar=bar)
    report.add(f"{name}: median beside median", statistics.median(there) / statistics.median(gone), unit="×")
