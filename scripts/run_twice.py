"""Run the tests as pytest does; give the few that fail a second chance, by themselves, and name them.

A test of threads, processes or sockets can fail because the machine was busy: a defect of the test, to be mended, and
no reason to lose everything else. So up to three failures in tests/unit or tests/e2e are run again, alone, three times
each in processes of their own, and must pass every time. Whatever else fails stays failed: laws, properties,
conformance, threats, neighbours and the fuzz of sensitivities have a stated rate of false alarms or none, and no second
chance, unless a server that they need did not answer in time: then they have compared nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".pytest_cache" / "v" / "cache"
FAILED, REASONS = CACHE / "lastfailed", CACHE / "failures"
AGAIN = ("tests/unit/", "tests/e2e/")
NEVER = ("threats", "neighbours", "sensitivity")
UNANSWERED = ("TimeoutError", "ConnectionRefusedError", "subprocess.TimeoutExpired", "psycopg.OperationalError",
              "tacit.errors.EngineError: the catalogue's server does not answer")  # fmt: skip
MOST, TIMES = 3, 3
TESTS_FAILED = 1  # pytest's exit code for that alone: not stopped, not broken, no test missing


def main(arguments: list[str]) -> int:
    """Run all, then perhaps a few again; pytest's exit code, or 0 where those passed."""
    for file in (FAILED, REASONS):
        file.unlink(missing_ok=True)
    code = _pytest(arguments)
    if code != TESTS_FAILED or not FAILED.exists():
        return code
    failed = sorted(json.loads(FAILED.read_text()))
    reasons = json.loads(REASONS.read_text()) if REASONS.exists() else {}
    if not failed or len(failed) > MOST or not all(_may_have_raced(name, reasons.get(name, "")) for name in failed):
        return code
    print(f"run again, alone, {TIMES} times: {', '.join(failed)}", flush=True)
    for name in failed:
        if any(_pytest(["-q", "-n0", name]) for _ in range(TIMES)):
            return code
    print(f"unstable: {', '.join(failed)} failed at first, and passed {TIMES} times alone: mend them", flush=True)
    return 0


def _may_have_raced(name: str, reason: str) -> bool:
    file, _, test = name.partition("::")
    if not test:
        return False
    return reason.startswith(UNANSWERED) or (file.startswith(AGAIN) and not any(word in file for word in NEVER))


def _pytest(arguments: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
