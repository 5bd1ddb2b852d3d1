"""CPU seconds of each question, as JSON on the last line. The scripts beside it import this, and nothing of tacit."""

from __future__ import annotations

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Mapping

Question = Callable[[], object]


def main(ask: Callable[[str], Mapping[str, Question]], *, version: str, repeats: int) -> None:
    """Time every question of `ask(path of the table)`; one that fails leaves its reason."""
    warnings.simplefilter("ignore")  # a peer's own deprecations
    seconds: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for name, question in ask(sys.argv[1]).items():
        print(f"  {name} …", file=sys.stderr, flush=True)
        try:
            seconds[name] = statistics.median(_timed(question) for _ in range(repeats))
        except Exception as error:  # a peer that cannot is part of the result
            reasons[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
    print(json.dumps({"version": version, "seconds": seconds, "reasons": reasons}))


def _timed(question: Question) -> float:
    start = time.process_time()
    question()
    return time.process_time() - start
