"""The client of Spark Connect, loaded with care."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def _taken_for_a_program() -> Iterator[None]:
    """Where Python runs a text (`python -c`, a worker), the client takes itself for a doctest and ends the process."""
    main = sys.modules["__main__"]
    if hasattr(main, "__file__"):
        yield
        return
    main.__file__ = "<text>"
    try:
        yield
    finally:
        del main.__file__


with _taken_for_a_program(), warnings.catch_warnings():  # what it thinks of pandas' version is nothing to a curator
    warnings.simplefilter("ignore")
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

# A server that has gone is asked again for about ten seconds. The client's own patience is ten minutes, and
# would be spent with an analyst waiting: a session does not outlive its server, so that there is nothing to wait for.
_PATIENCE = DefaultPolicy(max_retries=5, max_backoff=5_000, max_server_retry_delay=5_000)
warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")  # the error that follows says it


def connect(remote: str) -> SparkSession:
    """A session of its own, which none of the process's others shares. Nothing is sent yet."""
    session: SparkSession = SparkSession.builder.remote(remote).create()
    session.client.set_retry_policies([_PATIENCE])
    return session


def disconnect(session: SparkSession) -> None:
    """End a session, and say so to the server once: if it is gone, it has ended already."""
    with suppress(Exception):
        session.client.set_retry_policies([])
        session.stop()


__all__ = ["SparkSession", "connect", "disconnect"]
