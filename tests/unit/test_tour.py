"""What `make demo` runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tacit

TOUR = Path(__file__).parents[2] / "scripts" / "tour.py"


def test_the_tour_ends_without_a_warning_and_visits_every_stop() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(TOUR)],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(tacit.__file__).parents[1]), "PYTHONUTF8": "1"},
    )
    assert run.stderr == ""
    assert run.returncode == 0
    stops = [line for line in run.stdout.splitlines() if line and not line.startswith(" ")]
    assert len(stops) == 11
    assert "10 answers at ε = 0.1 fit into ε = 1, exactly" in run.stdout
