"""What an operator may watch, as Prometheus reads it: counts of requests, never what was asked, answered or timed."""

from __future__ import annotations

import threading
from collections import Counter

from tacit.faces.server.serving import Hub


class Metrics:
    """Counts of requests, by route and status."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def note(self, route: str, status: int) -> None:
        """Count one request."""
        with self._lock:
            self._requests[route, status] += 1

    def text(self, hub: Hub) -> str:
        """The text that Prometheus fetches."""
        running, waiting = hub.load
        counts = hub.counts
        lines = [
            "# HELP tacit_requests_total HTTP requests, by route and status.",
            "# TYPE tacit_requests_total counter",
            *(
                f'tacit_requests_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in sorted(self._requests.items())
            ),
            "# HELP tacit_questions_total Questions of all doors, by how they ended.",
            "# TYPE tacit_questions_total counter",
            *(
                f'tacit_questions_total{{ended="{name}"}} {getattr(counts, name)}'
                for name in ("answered", "refused", "failed")
            ),
            "# HELP tacit_questions_running Questions that run now.",
            "# TYPE tacit_questions_running gauge",
            f"tacit_questions_running {running}",
            "# HELP tacit_questions_waiting Questions that wait for their turn.",
            "# TYPE tacit_questions_waiting gauge",
            f"tacit_questions_waiting {waiting}",
            *_processes(hub),
        ]
        return "\n".join(lines) + "\n"


def _processes(hub: Hub) -> list[str]:
    others = hub.processes
    if others is None:
        return []
    return [
        "# HELP tacit_workers Processes that answer questions now.",
        "# TYPE tacit_workers gauge",
        f"tacit_workers {others.alive}",
        "# HELP tacit_worker_restarts_total Processes that died and were started again.",
        "# TYPE tacit_worker_restarts_total counter",
        f"tacit_worker_restarts_total {others.restarts}",
    ]
