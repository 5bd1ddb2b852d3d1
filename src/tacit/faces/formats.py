"""How answers and reports can be printed."""

from __future__ import annotations

from enum import StrEnum


class OutputFormat(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"
    MARKDOWN = "markdown"


class Plain(StrEnum):
    """How a report is printed."""

    TABLE = "table"
    JSON = "json"
