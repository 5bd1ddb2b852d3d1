"""A model of linked tables: paid for once; rows of all of them, with keys that fit, are then free to draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Loss
from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.noise.redrawing import RepeatableBits
from tacit.policy import ColumnType
from tacit.release.linked.children import ChildModel, Conditional
from tacit.release.packing import not_whole, packed, read_whole, unpacked, write_new
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.compression import Compression
from tacit.release.synthesise.model import MOST_ROWS, SyntheticModel
from tacit.release.synthesise.packed_columns import plain_attribute, read_attribute
from tacit.release.synthesise.table import SyntheticTable

FORMAT = 1
_WHAT = "model of linked tables"


@dataclass(frozen=True)
class LinkedModel:
    """A parent's model, whose last columns are the numbers of its children; and the children's, given a parent's row.

    Everything one does with it is free.
    """

    parent: SyntheticModel
    key: str  # the parent's column that children name
    children: tuple[ChildModel, ...]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables, the parent's first."""
        return (self.parent.table, *(child.table for child in self.children))

    @property
    def loss(self) -> Loss:
        """What all of it cost together."""
        return self.parent.loss

    @property
    def notes(self) -> tuple[str, ...]:
        """What the synthetic rows leave out, and no error covers."""
        notes = []
        for child in self.children:
            notes.append(
                f"at most {child.bound} rows of a unit count in {child.table}: who has more is drawn with no more than"
                " that, so means and totals of it are too low where many have more, and no error covers that"
            )
            notes.append(
                f"rows of {child.table} whose {child.column} is no {self.key} of {self.parent.table} are left out;"
                f" those of one {self.key} are drawn one by one, alike in nothing but what {self.parent.table} tell"
            )
        return tuple(notes)

    def sample(self, rows: int | None = None) -> dict[str, SyntheticTable]:
        """New rows of every table, by its name: as many parents as there are about, or so many, and their children."""
        return self._linked(self.parent.sample(rows), Chance())

    @cached_property
    def rows_drawn(self) -> dict[str, SyntheticTable]:
        """The tables themselves: the same rows each time, for whoever has this model."""
        return self._linked(self.parent.rows_drawn, Chance(RepeatableBits(self.to_bytes())))

    def _linked(self, parents: SyntheticTable, chance: Chance) -> dict[str, SyntheticTable]:
        own = len(self.parent.attributes) - len(self.children)
        index: IntArray = np.arange(len(parents), dtype=np.int64)
        tables = {parents.name: _keyed(_first(parents, own), self.key, index, keys=len(parents))}
        for number, child in enumerate(self.children):
            numbers = numbers_of(parents, own + number)
            if int(numbers.sum()) > MOST_ROWS:
                raise InvalidParameter(f"a synthetic table has 0 to {MOST_ROWS:,} rows", hint="draw fewer parents")
            owners = np.repeat(index, numbers)
            drawn = child.drawn(parents, owners, chance)
            tables[child.table] = _keyed(drawn, child.column, owners, keys=len(parents))
        return tables

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What a SELECT over the synthetic tables gives: free, and only as exact as the model is."""
        import duckdb

        first, *others = self.rows_drawn.values()
        with first.connection() as held:
            for table in others:
                table.put_into(held)
            held.execute("SET enable_external_access = false")
            held.execute("SET lock_configuration = true")
            try:
                return held.execute(sql).fetchall()
            except duckdb.Error as error:
                line = str(error).split("\n", maxsplit=1)[0]
                raise InvalidParameter(f"the synthetic tables could not be asked: {line[:200]}") from None

    @property
    def errors(self) -> dict[tuple[str, ...], float]:
        """How far each column or pair that was measured, as `table.column`, is expected from the truth by its noise."""
        above = [f"{self.parent.table}.{each.name}" for each in self.parent.attributes]
        distances = {tuple(above[axis] for axis in axes): error for axes, error in self.parent.errors}
        for child in self.children:
            names = [f"{child.table}.{each.name}" for each in child.attributes]
            names += [above[axis] for axis in child.context]
            distances |= {tuple(names[axis] for axis in axes): error for axes, error in child.errors}
        return distances

    def error(self, *columns: str) -> float | None:
        """How far one or two columns, as `table.column`, are expected from the truth, as total variation.

        None where they were not measured.
        """
        known = {frozenset(names): error for names, error in self.errors.items()}
        if not 1 <= len(columns) <= 2 or any(frozenset({name}) not in known for name in columns):
            raise InvalidParameter("an error is that of one or two columns", hint='model.error("visits.ward")')
        return known.get(frozenset(columns))

    def __repr__(self) -> str:
        shape = ", ".join([f"about {self.parent.rows:,} rows of {self.parent.table}", *self.tables[1:]])
        return f"<model of linked tables: {shape}, {self.loss}>"

    # ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: Path | str) -> None:
        """Write it to a file, without pickle; one that is there already is not overwritten."""
        write_new(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: Path | str) -> LinkedModel:
        """Read one that was saved. What is no model, or not whole, is refused."""
        return cls.from_bytes(read_whole(Path(path)))

    def to_bytes(self) -> bytes:
        """A zip of arrays, what they mean as JSON beside them, and the hash of it all: the same for equal models."""
        arrays: dict[str, Any] = {"parent": np.frombuffer(self.parent.to_bytes(), dtype=np.uint8)}
        for number, child in enumerate(self.children):
            for axis, compression in enumerate(child.bins):
                arrays[f"child{number}bins{axis}"] = compression.bins.astype(np.int32)
                arrays[f"child{number}within{axis}"] = compression.within.astype(np.float32)
            for index, law in enumerate(child.laws):
                arrays[f"child{number}law{index}"] = law.chances.astype(np.float32)
        about = {"format": FORMAT, "key": self.key, "children": [_plain_child(child) for child in self.children]}
        return packed(about, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> LinkedModel:
        """The model that was packed so."""
        about, arrays = unpacked(data, what=_WHAT, form=FORMAT)
        try:
            parent = SyntheticModel.from_bytes(arrays["parent"].tobytes())
            children = [_read_child(plain, arrays, f"child{index}") for index, plain in enumerate(about["children"])]
            return cls(parent, about["key"], tuple(children))
        except (KeyError, TypeError, ValueError, IndexError):
            raise not_whole(_WHAT) from None


def numbers_of(parents: SyntheticTable, axis: int) -> IntArray:
    """The numbers of children that a column of the parent's model holds."""
    lows: IntArray = np.array(parents.attributes[axis].lows, dtype=np.int64)
    numbers: IntArray = lows[parents.codes[axis]] + parents.steps[axis]
    return numbers


def file_of(path: Path, table: str) -> Path:
    """Where one of several tables is written: beside the path, with the table in its name."""
    if any(character in table for character in "/\\\0"):
        raise InvalidParameter(f"no file can be named after {table[:60]}", hint="sample the model in Python")
    return path.with_name(f"{path.stem}-{table}{path.suffix}")


def _first(table: SyntheticTable, number: int) -> SyntheticTable:
    return SyntheticTable(table.name, table.attributes[:number], table.codes[:number], table.steps[:number])


def _keyed(table: SyntheticTable, name: str, owners: IntArray, *, keys: int) -> SyntheticTable:
    """The table with a column of keys, from 1 on, before the others."""
    key = Attribute(name, ColumnType.INTEGER, ordered=True, nullable=False, lows=(1,), widths=(max(1, keys),))
    codes = (np.zeros(owners.size, dtype=np.int64), *table.codes)
    return SyntheticTable(table.name, (key, *table.attributes), codes, (owners, *table.steps))


def _plain_child(child: ChildModel) -> dict[str, Any]:
    return {
        "table": child.table,
        "column": child.column,
        "columns": [plain_attribute(each) for each in child.attributes],
        "context": list(child.context),
        "laws": [[law.column, list(law.given)] for law in child.laws],
        "rows": child.rows,
        "bound": child.bound,
        "rules": list(child.rules),
        "errors": [[list(axes), error] for axes, error in child.errors],
    }


def _read_child(plain: dict[str, Any], arrays: dict[str, Any], prefix: str) -> ChildModel:
    columns = range(len(plain["columns"]) + len(plain["context"]))
    return ChildModel(
        table=plain["table"],
        column=plain["column"],
        attributes=tuple(map(read_attribute, plain["columns"])),
        context=tuple(plain["context"]),
        bins=tuple(
            Compression(
                arrays[f"{prefix}bins{axis}"].astype(np.int64), arrays[f"{prefix}within{axis}"].astype(np.float64)
            )
            for axis in columns
        ),
        laws=tuple(
            Conditional(column, tuple(given), arrays[f"{prefix}law{index}"].astype(np.float64))
            for index, (column, given) in enumerate(plain["laws"])
        ),
        rows=plain["rows"],
        bound=plain["bound"],
        rules=tuple(plain["rules"]),
        errors=tuple((tuple(axes), error) for axes, error in plain["errors"]),
    )
