"""Other libraries' models on the same rows and splits.

`python -m bench.peers dp-ebm diffprivlib` sets them up, each in an environment of its own; else they are left out.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from bench.report import Report

HERE = Path(__file__).parent
PEERS = {"dp-ebm": "dp_ebm.py", "diffprivlib": "diffprivlib_models.py"}
TIMEOUT = 1_800
Table = NDArray[Any]
Split = tuple[Table, Table]


def beside(
    report: Report, data: tuple[Table, Table, Sequence[Any]], *, splits: Sequence[Split], epsilons: Sequence[float]
) -> Mapping[tuple[str, float], tuple[float, float]]:
    """Show what each library reaches; AUC and accuracy of each model at each epsilon. One draw for each split."""
    rows, truth, features = data
    task = {
        "columns": rows.T.tolist(),
        "truth": truth.tolist(),
        "declared": [
            {"bounds": list(each), "values": []} if isinstance(each, tuple) else {"bounds": [], "values": list(each)}
            for each in features
        ],
        "splits": [[part.tolist() for part in split] for split in splits],
        "epsilons": list(epsilons),
        "delta": 1e-6,
    }
    reached: dict[tuple[str, float], tuple[float, float]] = {}
    for peer, script in PEERS.items():
        try:
            found = _asked(peer, script, task)
        except (subprocess.SubprocessError, OSError) as error:
            report.section(f"{peer} was not measured", type(error).__name__)
            continue
        for name, scores in found.items():
            for epsilon, (auc, accuracy, seconds) in scores.items():
                report.add(f"{name}, ε = {epsilon}: AUC", auc)
                report.add(f"{name}, ε = {epsilon}: accuracy", accuracy)
                report.add(f"{name}, ε = {epsilon}: CPU of a fit", seconds, unit=" s")
                reached[name, float(epsilon)] = auc, accuracy
    return reached


def _asked(peer: str, script: str, task: Mapping[str, Any]) -> dict[str, dict[str, tuple[float, float, float]]]:
    python = HERE.parent / ".venv-peers" / peer / "bin" / "python"
    if not python.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.json"
        path.write_text(json.dumps(task))
        command = [str(python), str(HERE / "peers" / script), str(path)]
        said = subprocess.run(command, check=True, timeout=TIMEOUT, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, dict[str, tuple[float, float, float]]] = json.loads(said.splitlines()[-1])
    return found
