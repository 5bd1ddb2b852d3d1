"""A Spark Connect server for tests, without Java: Sail, in this process, gone when the session ends."""

from __future__ import annotations

import functools
import os


@functools.cache
def server() -> str:
    """Its address; started when it is first asked for."""
    os.environ.setdefault("RUST_LOG", "off")
    from pysail.spark import SparkConnectServer

    made = SparkConnectServer("127.0.0.1", 0)
    made.start(background=True)
    _, port = made.listening_address
    _kept.append(made)
    return f"sc://127.0.0.1:{port}"


_kept: list[object] = []  # it ends when nobody holds it
