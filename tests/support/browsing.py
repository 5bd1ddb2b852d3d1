"""A person at the console: signs in, sends forms, and reads pages, without a browser."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any

import httpx

from support.server import Served

PASSWORD = "correct horse battery"


class Person:
    """Somebody with cookies, who follows redirects and fills in forms as a browser would."""

    def __init__(self, served: Served) -> None:
        self.client = httpx.Client(base_url=served.url, follow_redirects=True, timeout=60)
        self.token = ""

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self._read(self.client.get(path, **options))

    def post(self, path: str, data: dict[str, str] | None = None, **options: Any) -> httpx.Response:
        return self._read(self.client.post(path, data={"csrf": self.token, **(data or {})}, **options))

    def _read(self, reply: httpx.Response) -> httpx.Response:
        found = re.search(r'name="csrf" value="(\w+)"', reply.text)
        if found:
            self.token = found[1]
        return reply

    def sign_in(self, name: str, password: str = PASSWORD, *, wanted: str = "") -> httpx.Response:
        self.get("/signin")
        return self.post("/signin", {"name": name, "password": password, "next": wanted})

    def ask(self, sql: str, *, epsilon: str = "", key: str | None = None) -> httpx.Response:
        """Ask with the key of a form that was loaded for it, or with that of another."""
        return self.post("/ask", {"sql": sql, "epsilon": epsilon, "key": key or self.form_key()})

    def form_key(self) -> str:
        return re.search(r'name="key" value="([^"]+)"', self.get("/ask").text)[1]

    def price(self, sql: str, *, epsilon: str = "") -> httpx.Response:
        return self.post("/ask/price", {"sql": sql, "epsilon": epsilon}, headers={"x-tacit-part": "1"})


@contextmanager
def person(served: Served, name: str | None = None, *, role: str = "analyst"):
    """Somebody who is signed in; or, without a name, a stranger."""
    made = Person(served)
    with made.client:
        if name is not None:
            account(served, name, role=role)
            assert made.sign_in(name).url.path != "/signin"
        yield made


def account(served: Served, name: str, *, role: str = "analyst") -> None:
    if served.hub.accounts.find(name) is None:
        served.hub.accounts.add(name, PASSWORD, policy=served.hub.policy, role=role)
