"""What comes of it: the published table, and what can be said of its cost and its risks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.engines.columns import literal, quoted
from tacit.errors import EngineError, InvalidParameter
from tacit.release.anonymise.checks.linkage import Linkage
from tacit.release.anonymise.checks.risk import Homogeneity, Risk
from tacit.release.anonymise.checks.utility import Utility
from tacit.release.anonymise.models.family import Model
from tacit.release.anonymise.reading.source import SOURCE, TableSource, ask
from tacit.release.anonymise.releases import Earlier, Intersection
from tacit.release.anonymise.request import Request
from tacit.release.anonymise.writing.beside import Telling
from tacit.release.anonymise.writing.formulas import harmless
from tacit.release.anonymise.writing.publishing import PUBLISHED

if TYPE_CHECKING:
    import duckdb

_FORMATS = {
    ".parquet": "FORMAT parquet",
    ".pq": "FORMAT parquet",
    ".csv": "FORMAT csv, HEADER",
    ".tsv": r"FORMAT csv, HEADER, DELIMITER '\t'",
}
SHOWN_ROWS = 8


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was measured. None of it is differentially private: it is the owner's."""

    request: Request
    models: tuple[str, ...]  # in words; every class of the published table satisfies each
    utility: Utility
    risk_before: Risk
    risk_after: Risk
    homogeneity_before: tuple[Homogeneity, ...]
    homogeneity_after: tuple[Homogeneity, ...]
    linkage: Linkage
    class_sizes: tuple[tuple[int, int], ...]  # (size, how many classes have it)
    orders: Mapping[str, tuple[str, ...]]  # of each column of categories: the order its intervals are taken in
    left_out: tuple[str, ...]  # columns that have no role
    unit: str | None  # the column of which each value has one row, so that k counts people; None where it counts rows
    alone: tuple[str, ...]  # kept columns that differ in every row
    telling: tuple[Telling, ...]  # published columns that tell a quasi-identifier, however coarse its cells are
    earlier: tuple[Earlier, ...]  # releases of the same dataset that the ledger knows of, the oldest first
    intersections: tuple[Intersection, ...]  # with those of this table that could be made again
    entry: str | None  # the ledger's, where a policy has one
    seconds: float


class Anonymised:
    """A verified table. It stays in the engine until it is asked for, and the report is made when it is."""

    def __init__(self, source: TableSource, models: Sequence[Model], *, measure: Callable[[], Report]) -> None:
        self._source, self._measure = source, measure
        self.models = tuple(map(str, models))

    def __repr__(self) -> str:
        return f"<anonymised table: {', '.join(self.models)}; not differentially private>"

    @cached_property
    def report(self) -> Report:
        """What the table costs and risks."""
        return self._measure()

    @property
    def table(self) -> Any:
        """The published table as the kind of thing it came as: a frame, an Arrow table, or a relation."""
        if self._source.kind == "pandas":
            return self.to_pandas()
        return self.to_arrow() if self._source.kind == "arrow" else self.relation()

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The published table as a DuckDB relation."""
        return self._source.connection.table(PUBLISHED)

    def to_pandas(self) -> Any:
        """The published table as a pandas frame."""
        return self.relation().df()

    def to_arrow(self) -> Any:
        """The published table as an Arrow table."""
        return self.relation().to_arrow_table()

    def rows(self, limit: int = SHOWN_ROWS) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The names of the columns and the first rows."""
        relation = self.relation()
        return tuple(relation.columns), relation.limit(limit).fetchall()

    def samples(
        self, limit: int = SHOWN_ROWS
    ) -> tuple[tuple[str, ...], list[tuple[object, ...]], list[tuple[object, ...]]]:
        """The columns of the published table, some rows of the source, and some published ones: the owner's to see."""
        columns, after = self.published_rows(limit)
        listed = ", ".join(map(quoted, columns))
        return columns, ask(self._source.connection, f"SELECT {listed} FROM {SOURCE} LIMIT {limit}"), after

    def published_rows(self, limit: int = SHOWN_ROWS) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        """The columns of the published table and some of its rows, evenly over it."""
        columns = tuple(self.relation().columns)
        step = max(1, self.report.utility.rows // limit)  # evenly: neighbours are of one class
        after = ask(
            self._source.connection, f"SELECT * FROM {PUBLISHED} WHERE rowid % {step} = 0 ORDER BY rowid LIMIT {limit}"
        )
        return columns, after

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the published table as Parquet or CSV, by the name's ending. A file that is there is left alone.

        In CSV a text that a spreadsheet would take for a formula has an apostrophe before it.
        """
        target, form = writable(path)
        draft = target.with_name(f".{target.name}.new{target.suffix}")
        table = PUBLISHED if "parquet" in form else harmless(self._source.connection, PUBLISHED)
        try:
            ask(self._source.connection, f"COPY {table} TO {literal(str(draft.absolute()))} ({form})")
            os.replace(draft, target)
        except (OSError, EngineError):
            raise InvalidParameter(f"{target.name} cannot be written", hint="check that its folder is there") from None
        finally:
            draft.unlink(missing_ok=True)
        return target


def writable(path: str | os.PathLike[str]) -> tuple[Path, str]:
    """A place where a table can be written, and DuckDB's words for its form. Refused before any work is done for it."""
    target = Path(path)
    form = _FORMATS.get(target.suffix.lower())
    if form is None:
        raise InvalidParameter(f"{target.name} is of no kind tacit writes", hint="end it in .parquet or .csv")
    if target.exists():
        raise InvalidParameter(f"{target.name} is there already: it is not overwritten", hint="write elsewhere")
    if not target.absolute().parent.is_dir():
        raise InvalidParameter(f"{target.name} cannot be written", hint="check that its folder is there")
    return target, form
