"""A model of a table: paid for once, and from then on free to draw from, to ask, to keep and to hand on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tacit.core import Loss, decimal_text
from tacit.errors import InvalidParameter
from tacit.noise import IntArray
from tacit.noise.redrawing import RepeatableBits
from tacit.release.packing import not_whole, packed, read_whole, unpacked, write_new
from tacit.release.synthesise.columns import Attribute
from tacit.release.synthesise.counting import TablePlan
from tacit.release.synthesise.fitting.arrays import FloatArray
from tacit.release.synthesise.fitting.chance import Chance
from tacit.release.synthesise.fitting.compression import Compression, pair_cells
from tacit.release.synthesise.fitting.hybrid import Fitted
from tacit.release.synthesise.fitting.junction_tree import JunctionTree, TreeEdge, drawn_within, rows_from
from tacit.release.synthesise.fitting.mixture import Mixture
from tacit.release.synthesise.fitting.swaps import swapped
from tacit.release.synthesise.packed_columns import plain_attribute, read_attribute
from tacit.release.synthesise.ruling import obeying
from tacit.release.synthesise.table import SyntheticTable, joined_tables, made_table

FORMAT = 1
MOST_ROWS = 20_000_000  # that are drawn at once
_BLOCK = 4_000_000  # cells of the rows that are drawn together: what is made of them on the way is some times as much
_MOST_FINE = 2_000_000  # cells of all pairs together that rows are brought nearer to; beyond, to bins of them
_WHAT = "model"


@dataclass(frozen=True)
class SyntheticModel:
    """What a table is made from: cells and their chances, none of them exact. Everything one does with it is free."""

    table: str
    attributes: tuple[Attribute, ...]
    rows: int  # about how many the table has: noisy, or exact where the policy declares it public
    method: str
    loss: Loss
    rho: Fraction
    policy_version: str
    bins: tuple[Compression, ...]
    tree: JunctionTree
    marginals: tuple[FloatArray, ...]
    mixture: Mixture | None
    sweeps: int
    errors: tuple[tuple[tuple[int, ...], float], ...]
    rules: tuple[str, ...] = ()  # conditions that every row keeps, in DuckDB's SQL
    entry: str = ""  # of the ledger, that settled it

    def sample(self, rows: int | None = None) -> SyntheticTable:
        """New rows: as many as the table has, but no more than `MOST_ROWS`; or so many."""
        return self._drawn(min(self.rows, MOST_ROWS) if rows is None else rows, Chance())

    @cached_property
    def rows_drawn(self) -> SyntheticTable:
        """The table itself, or `MOST_ROWS` of it: the same rows each time, for whoever has this model."""
        return self.drawn(min(self.rows, MOST_ROWS))

    def drawn(self, rows: int) -> SyntheticTable:
        """So many rows, the same each time."""
        return self._drawn(rows, Chance(RepeatableBits(self.to_bytes() + rows.to_bytes(8, "big"))))

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What a SELECT over the synthetic table gives: free, and only as exact as the model is."""
        import duckdb

        with self.rows_drawn.connection() as held:
            held.execute("SET enable_external_access = false")
            held.execute("SET lock_configuration = true")
            try:
                return held.execute(sql).fetchall()
            except duckdb.Error as error:
                first = str(error).split("\n", maxsplit=1)[0]
                raise InvalidParameter(f"the synthetic table could not be asked: {first[:200]}") from None

    def error(self, *columns: str) -> float | None:
        """How far a marginal of one or two columns is expected from the truth, as total variation.

        By its noise, and by how much further the model is from what was measured than noise is: what lies within bins,
        and what contribution bounds cut, is not in it. None where it was not measured.
        """
        names = [each.name for each in self.attributes]
        unknown = [name for name in columns if name not in names]
        if unknown or not 1 <= len(columns) <= 2:
            raise InvalidParameter("an error is that of one or two of the model's columns")
        return dict(self.errors).get(tuple(sorted(names.index(name) for name in columns)))

    def __repr__(self) -> str:
        shape = f"{len(self.attributes)} columns, about {self.rows:,} rows"
        return f"<model of {self.table}: {shape}, {self.method}, {self.loss}>"

    def _drawn(self, number: int, chance: Chance) -> SyntheticTable:
        if not 0 <= number <= MOST_ROWS:
            raise InvalidParameter(f"a synthetic table has 0 to {MOST_ROWS:,} rows")
        return obeying(lambda rows: self._any(rows, chance), self.rules, number=number)

    def _any(self, number: int, chance: Chance) -> SyntheticTable:
        """Rows of whatever kind: no rule has been looked at. Many are drawn block by block."""
        most = max(1, _BLOCK // len(self.attributes))
        blocks = max(1, -(-number // most))
        sizes = np.diff(np.linspace(0, number, blocks + 1).astype(np.int64)).tolist()
        drawn = [made_table(self.table, self.attributes, self._cells(each, chance), chance=chance) for each in sizes]
        return drawn[0] if len(drawn) == 1 else joined_tables(drawn)

    def _cells(self, number: int, chance: Chance) -> IntArray:
        cells = rows_from(self.tree, self.marginals, number=number, chance=chance)
        sizes = tuple(each.cells for each in self.attributes)
        swaps = self.sweeps if self.mixture is not None else 0
        coarse = pair_cells(sizes) > _MOST_FINE
        if swaps and coarse:
            targets = self._targets(fine=False)
            cells = swapped(cells, targets, sizes=self.tree.sizes, sweeps=swaps, chance=chance)
        fine = np.empty_like(cells)
        for axis, compression in enumerate(self.bins):
            within = np.zeros((compression.size, compression.bins.size))
            within[compression.bins, np.arange(compression.bins.size)] = compression.within
            fine[:, axis] = drawn_within(cells[:, axis], within, chance=chance)
        if swaps and not coarse:
            fine = swapped(fine, self._targets(fine=True), sizes=sizes, sweeps=swaps, chance=chance)
        return fine

    def _targets(self, *, fine: bool) -> dict[tuple[int, int], FloatArray]:
        """The marginals of all pairs that the mixture has, over cells or over bins of them."""
        targets: dict[tuple[int, int], FloatArray] = {}
        if self.mixture is None:
            return targets
        for one, first in enumerate(self.bins):
            for other in range(one + 1, len(self.bins)):
                second = self.bins[other]
                coarse = self.mixture.pair(one, other)
                if fine:
                    coarse = coarse[np.ix_(first.bins, second.bins)] * np.outer(first.within, second.within)
                targets[one, other] = coarse
        return targets

    # ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, path: Path | str) -> None:
        """Write it to a file, without pickle; one that is there already is not overwritten."""
        write_new(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: Path | str) -> SyntheticModel:
        """Read one that was saved. What is no model, or not whole, is refused."""
        return cls.from_bytes(read_whole(Path(path)))

    def to_bytes(self) -> bytes:
        """A zip of arrays, what they mean as JSON beside them, and the hash of it all: the same for equal models."""
        arrays: dict[str, Any] = {}
        for axis, compression in enumerate(self.bins):
            arrays[f"bins{axis}"] = compression.bins.astype(np.int32)
            arrays[f"within{axis}"] = compression.within
        for index, table in enumerate(self.marginals):
            arrays[f"clique{index}"] = table.astype(np.float32)
        if self.mixture is not None:
            arrays["weights"], arrays["chances"] = self.mixture.weights, self.mixture.chances.astype(np.float32)
        return packed(self._about(), arrays)

    def _about(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "table": self.table,
            "columns": [plain_attribute(each) for each in self.attributes],
            "rows": self.rows,
            "method": self.method,
            "epsilon": decimal_text(self.loss.epsilon),
            "delta": decimal_text(self.loss.delta),
            "rho": decimal_text(self.rho),
            "policy": self.policy_version,
            "sizes": list(self.tree.sizes),
            "cliques": [list(clique) for clique in self.tree.cliques],
            "edges": [[edge.clique, edge.parent, list(edge.shared)] for edge in self.tree.edges],
            "starts": None if self.mixture is None else list(self.mixture.starts),
            "sweeps": self.sweeps,
            "rules": list(self.rules),
            "errors": [[list(axes), error] for axes, error in self.errors],
        }

    @classmethod
    def from_bytes(cls, data: bytes, *, entry: str = "") -> SyntheticModel:
        """The model that `to_bytes` packed."""
        about, arrays = unpacked(data, what=_WHAT, form=FORMAT)
        try:
            mixture = None
            if about["starts"] is not None:
                mixture = Mixture(arrays["weights"], arrays["chances"].astype(np.float64), tuple(about["starts"]))
            edges = tuple(TreeEdge(clique, parent, tuple(shared)) for clique, parent, shared in about["edges"])
            tree = JunctionTree(tuple(about["sizes"]), tuple(map(tuple, about["cliques"])), edges)
            columns = range(len(about["columns"]))
            return cls(
                table=about["table"],
                attributes=tuple(map(read_attribute, about["columns"])),
                rows=about["rows"],
                method=about["method"],
                loss=Loss(about["epsilon"], about["delta"]),
                rho=Fraction(about["rho"]),
                policy_version=about["policy"],
                bins=tuple(Compression(arrays[f"bins{i}"].astype(np.int64), arrays[f"within{i}"]) for i in columns),
                tree=tree,
                marginals=tuple(arrays[f"clique{i}"].astype(np.float64) for i in range(len(tree.cliques))),
                mixture=mixture,
                sweeps=about["sweeps"],
                rules=tuple(about["rules"]),
                errors=tuple((tuple(axes), error) for axes, error in about["errors"]),
                entry=entry,
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise not_whole(_WHAT) from None


def model_of(
    fitted: Fitted,
    counted: TablePlan,
    *,
    method: str,
    loss: Loss,
    rho: Fraction,
    policy_version: str,
    sweeps: int,
    rows: int | None = None,
) -> SyntheticModel:
    """The model that was fitted, with what it is of and what it cost; its numbers as they will be kept.

    `rows` is how many there are, where that is public; else it is as it was measured.
    """
    model = SyntheticModel(
        table=counted.table,
        attributes=counted.attributes,
        rows=max(0, round(fitted.singles.total) if rows is None else rows),
        method=method,
        loss=loss,
        rho=rho,
        policy_version=policy_version,
        bins=fitted.singles.bins,
        tree=fitted.tree,
        marginals=fitted.marginals,
        mixture=fitted.mixture,
        sweeps=sweeps,
        rules=counted.rules,
        errors=tuple(sorted(fitted.errors.items())),
    )
    return SyntheticModel.from_bytes(model.to_bytes())
