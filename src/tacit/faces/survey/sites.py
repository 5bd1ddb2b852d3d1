"""The surveys that a policy names, on the web: opened once, and again when the policy names others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.requests import Request

from tacit.collect.surveys import load
from tacit.errors import TacitError
from tacit.faces.survey.senders import Senders
from tacit.faces.survey.site import SurveySite
from tacit.policy import Policy

_Named = tuple[tuple[Path, ...], int]


class SurveySites:
    """The sites of a policy's surveys, by the name in their address. Safe to use from many threads."""

    def __init__(self, *, is_for_us: Callable[[Request], bool]) -> None:
        self._is_for_us = is_for_us
        self._lock = threading.Lock()
        self._named: _Named = ((), 0)
        self._open: dict[str, SurveySite] = {}

    def of(self, policy: Policy) -> Mapping[str, SurveySite]:
        """Those that the policy names now. Raises PolicyError where one cannot be read; then none is changed."""
        server = policy.server
        named = tuple(policy.dataset.resolve(file) for file in server.surveys), server.survey_rate
        with self._lock:
            if named != self._named:
                opened = self._opened(*named)
                self._close()
                self._open, self._named = opened, named
            return self._open

    def close(self) -> None:
        """Let go of the reports."""
        with self._lock:
            self._close()
            self._named = ((), 0)

    def _opened(self, files: tuple[Path, ...], rate: int) -> dict[str, SurveySite]:
        sites: dict[str, SurveySite] = {}
        senders = Senders(rate)
        try:
            for file in files:
                sites[file.stem] = SurveySite.of(load(file), senders=senders, is_for_us=self._is_for_us)
        except TacitError:
            for site in sites.values():
                site.store.close()
            raise
        return sites

    def _close(self) -> None:
        for site in self._open.values():
            site.store.close()
        self._open = {}
