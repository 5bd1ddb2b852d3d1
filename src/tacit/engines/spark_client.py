"""The client of Spark Connect, loaded with care."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


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
    from pyspark.sql.connect.session import SparkSession

__all__ = ["SparkSession"]
