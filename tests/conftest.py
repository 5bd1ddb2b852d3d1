"""What holds for every test: hypothesis has no deadline (a busy machine is no bug), and memory has an end.

Each test has a registry of ledgers of its own: what another test charged, of data that both read, is not its concern.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from support import memory

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile("here", deadline=None, suppress_health_check=SLOW)
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

REASONS: dict[str, str] = {}  # of failed tests, by name
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="tacit-state-")  # for what is opened outside of any test


@pytest.fixture(autouse=True)
def registry(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The registry of this test."""
    directory = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    monkeypatch.delenv("TACIT_REGISTRY", raising=False)  # of whoever runs the tests: it is not theirs to fill
    return directory / "tacit" / "sources"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note what the test took of memory, and fail one that took more than any may."""
    before = memory.start()
    yield
    grown = memory.peak() - before
    item.user_properties.append(("grown", grown))
    if memory.is_too_much(grown):
        pytest.fail(f"the test took {grown >> 20:,} MB: at most {memory.MOST >> 20:,} MB are allowed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave beside the list of failures what each said first: scripts/run_twice.py tells races from findings by it."""
    cache = getattr(session.config, "cache", None)  # none where it is switched off
    if cache is not None and not hasattr(session.config, "workerinput"):
        cache.set("cache/failures", REASONS)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note why a test failed; here, and not in a worker."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if report.failed:
        REASONS[report.nodeid] = "" if crash is None else str(crash.message)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Below the slowest tests, those that took the most memory."""
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "nodeid")]
    grown = [
        (report.nodeid, size)
        for report in reports
        for name, size in getattr(report, "user_properties", ())
        if name == "grown" and report.when == "call"
    ]
    lines = memory.largest(grown)
    if lines:
        terminalreporter.write_sep("=", "what took the most memory")
        for line in lines:
            terminalreporter.write_line(line)
