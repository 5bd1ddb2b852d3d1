"""A curator behind the PostgreSQL wire, for tests: in a thread of its own, on a free port of this machine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.curator import Explanation, Release, Session
from tacit.faces.opening import open_policy
from tacit.faces.server.serving import Hub
from tacit.faces.server.wire.server import Serving, serve_wire
from tacit.policy import Policy, load_policy

PASSWORD = "correct horse battery"


class GatedHub(Hub):
    """A hub that notes what it is asked; while `gate` is shut answers are charged, and wait."""

    def __init__(self, policy: Policy, path: Path | None = None) -> None:
        super().__init__(policy, open_policy(policy), path=path)
        self.asked: list[tuple[str, Any]] = []
        self.gate = threading.Event()
        self.gate.set()

    async def ask(
        self, session: Session, sql: str, parameters: Any = (), *, request_id: str | None = None
    ) -> Release | Explanation:
        self.asked.append((sql, parameters))
        found = await super().ask(session, sql, parameters, request_id=request_id)
        while not self.gate.is_set():
            await asyncio.sleep(0.01)
        return found


@dataclass
class Wire:
    """A server that runs: where it is, and the hub behind it."""

    hub: GatedHub
    port: int
    directory: Path
    note: str = ""

    def dsn(self, user: str = "ana", **more: str) -> str:
        """What libpq takes."""
        said = {"host": "127.0.0.1", "port": str(self.port), "user": user, "password": f"'{PASSWORD}'", **more}
        return " ".join(f"{name}={value}" for name, value in {"dbname": "clinic", **said}.items())

    def url(self, user: str = "ana", scheme: str = "postgresql") -> str:
        return f"{scheme}://{user}:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}/clinic"

    @property
    def spent(self) -> float:
        """What the ledger says of all analysts together."""
        return float(self.hub.balance("ana").total.spent.epsilon)


@contextmanager
def serving(policy: Path, *, twin: bool | None = False, watched: bool = False, **options: Any) -> Iterator[Wire]:
    """The wire in front of a policy, until the block ends; with a twin for its catalogue, or without.

    Where it is `watched`, its file may change, as under `tacit serve`.
    """
    hub = GatedHub(load_policy(policy), policy if watched else None)
    for name in ("ana", "ben"):
        hub.accounts.add(name, PASSWORD, policy=hub.policy)
    hub.accounts.add("zoe", PASSWORD, policy=hub.policy, role="curator")  # she is no analyst
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def on_loop(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    served: Serving = on_loop(serve_wire(hub, port=0, twin=twin, **options))
    try:
        yield Wire(hub, served.port, policy.parent, served.note)
    finally:
        hub.gate.set()
        on_loop(served.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()
        hub.close()
