"""A real browser for tests: one process for a module's pages, patient with a slow machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from support.browsing import Person, account
from support.server import Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 120_000  # milliseconds: for what is waited for, not for how fast it must be
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-site-isolation-trials",
    "--process-per-site",
    "--renderer-process-limit=1",
    "--disable-features=SpareRendererForSitePerProcess,Translate,OptimizationHints,MediaRouter",
]


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser without a screen; the test is skipped where there is none."""
    drive = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no page was opened")
    if CHROMIUM is None:
        pytest.skip("chromium is not on this machine: no page was opened")
    with drive.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS, timeout=PATIENCE)
        yield opened
        opened.close()


def new_context(browser: Any, **options: Any) -> Any:
    """A browser that has never been anywhere."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    return context


class Visitors:
    """People at a console, each with one page that all tests share: they have signed in, without a browser, once.

    A page of its own for each test would cost more than what is tested: a process, a sign-in, every script compiled.
    """

    def __init__(self, browser: Any, served: Served) -> None:
        self._browser = browser
        self.served = served
        self._pages: dict[str, tuple[Any, list[str]]] = {}

    @contextmanager
    def page(self, name: str, path: str, *, role: str = "analyst", **options: Any) -> Iterator[Any]:
        """The page of this person at this path; whatever the browser complains of meanwhile fails the test."""
        if name not in self._pages:
            self._pages[name] = self._open(name, role, options)
        page, complaints = self._pages[name]
        page.goto(path)
        yield page
        found = complaints[:]
        complaints.clear()
        assert found == []

    def _open(self, name: str, role: str, options: dict[str, Any]) -> tuple[Any, list[str]]:
        context = new_context(self._browser, base_url=self.served.url, **options)
        context.add_cookies(self._cookies(name, role))
        page, complaints = context.new_page(), []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: (complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        return page, complaints

    def _cookies(self, name: str, role: str) -> list[dict[str, str]]:
        account(self.served, name, role=role)
        person = Person(self.served)
        with person.client:
            assert person.sign_in(name).url.path != "/signin"
            return [
                {"name": key, "value": value, "url": self.served.url} for key, value in person.client.cookies.items()
            ]
