"""What is published of the people: rows as they are, rows in classes, or noisy tables; each with what it is worth."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from tacit.attack.people import Codes, KnownColumn, People, quoted
from tacit.core import Loss
from tacit.curator import Curator, Release, Session
from tacit.engines import Engine, open_engine
from tacit.ledger import SqliteLedger
from tacit.policy import AnalystPolicy, BudgetPolicy, ColumnPolicy, Dataset, Policy, TablePolicy
from tacit.release.anonymise import anonymise
from tacit.release.publishing import Publisher
from tacit.release.synthesise import SynthesisRequest

MOST_VALUES = 2_000  # of a column whose noisy counts are asked for
_BLOCK = 200  # values whose classes are looked up at once
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:-|–|to)\s*(-?\d+(?:\.\d+)?)")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRows:
    """Rows, gathered into those that read alike: what each cell covers, and the secrets beside them."""

    name: str
    covers: tuple[NDArray[np.bool_], ...]  # for each known column: (what is published, true value) → fits
    cells: Codes  # (column, class): which published cell a class has
    secrets: Floats  # (class, secret): how many
    loss: Loss | None = None

    def candidates(self, people: Sequence[Codes]) -> NDArray[np.bool_]:
        """(person, class): whether the class may hold the person, known by these codes."""
        return np.unpackbits(self.packed(people), axis=1, count=self.cells.shape[1]).view(np.bool_)

    def first(self, people: Sequence[Codes]) -> Codes:
        """The first class that may hold each person, or −1."""
        packed = self.packed(people)
        byte = (packed > 0).argmax(axis=1)
        bits = np.unpackbits(packed[np.arange(byte.size), byte][:, None], axis=1)
        return np.where(bits.any(axis=1), 8 * byte + bits.argmax(axis=1), -1)

    def packed(self, people: Sequence[Codes]) -> NDArray[np.uint8]:
        """`candidates`, eight classes to a byte: what a value fits is looked up once for all who have it."""
        fits = np.full((people[0].size, -(-self.cells.shape[1] // 8)), 255, dtype=np.uint8)
        for cover, cells, codes in zip(self.covers, self.cells, people, strict=True):
            there, index = np.unique(codes, return_inverse=True)
            parts = [there[start : start + _BLOCK] for start in range(0, there.size, _BLOCK)]
            bits = [np.packbits(np.take(cover[:, part].T, cells, axis=1), axis=1) for part in parts]
            fits &= np.concatenate(bits)[index]
        return fits

    def table(self, index: int, known: KnownColumn) -> Floats:
        """(value, secret): how many there seem to be, every row spread evenly over what its cell covers."""
        cover = self.covers[index].astype(np.float64)
        each = cover / np.maximum(1, cover.sum(axis=1, keepdims=True))
        counts = np.zeros((cover.shape[0], self.secrets.shape[1]))  # by what is published: classes are many more
        np.add.at(counts, self.cells[index], self.secrets)
        spread: Floats = each.T @ counts
        return spread


@dataclass(frozen=True, slots=True)
class NoisyTables:
    """Counts by each known column and the secret, as DP-SELECT answers them."""

    name: str
    counts: tuple[Floats | None, ...]  # for each known column: (value, secret); None where there are too many values
    loss: Loss


Publication = PublishedRows | NoisyTables


def as_they_are(people: People, name: str = "pseudonymised rows") -> PublishedRows:
    """Every member's row, without the name: a pseudonym hides nothing that the row itself tells."""
    return _gathered(name, [a.values for a in people.known], [a.codes[people.members] for a in people.known], people)


def k_anonymous(
    people: People, k: int, *, by: Sequence[int] | None = None, method: str = "greedy", share: float | None = None
) -> PublishedRows:
    """The members' rows made k-anonymous with respect to all known columns, or to some of them.

    With a `share`, no secret is more frequent than that in a class: l-diversity as a frequency, with l = 1 / share.
    """
    chosen = list(range(len(people.known))) if by is None else list(by)
    with duckdb.connect() as connection:
        relation = _members(connection, people)
        names = {
            index: people.known[index].name for index in chosen
        }  # as the owner calls them: what is refused says so
        secret = people.secret.name
        anonymous = anonymise(
            relation,
            list(names.values()),
            sensitive=secret,
            k=k,
            alpha=share,
            method=method,
            unit="row",
            suppression=0.05,
        ).relation()
        listed = [*((f"q{index}", name) for index, name in names.items()), ("s", secret)]
        cells = anonymous.project(
            ", ".join(f'CAST({quoted(name)} AS VARCHAR) AS "{column}"' for column, name in listed)
        ).fetchnumpy()
    labels, codes = [], []
    for index in range(len(people.known)):
        texts = np.ma.filled(cells[f"q{index}"], "*").astype(str) if index in chosen else np.full(cells["s"].size, "*")
        distinct, inverse = np.unique(texts, return_inverse=True)
        labels.append(tuple(distinct.tolist()))
        codes.append(inverse.astype(np.int64).ravel())
    secrets = np.searchsorted(np.array(people.secret.values), np.ma.filled(cells["s"], "").astype(str))
    diverse = "" if share is None else f", {1 / share:g}-diverse"
    return _gathered(f"{k}-anonymous{diverse} rows", labels, codes, people, secrets=secrets)


def _gathered(
    name: str,
    labels: Sequence[Sequence[str]],
    codes: Sequence[Codes],
    people: People,
    *,
    secrets: Codes | None = None,
    loss: Loss | None = None,
) -> PublishedRows:
    stacked = np.stack(codes)
    classes, inverse = np.unique(stacked, axis=1, return_inverse=True)
    number = np.zeros((classes.shape[1], len(people.secret.values)))
    np.add.at(number, (np.ravel(inverse), people.secret.codes[people.members] if secrets is None else secrets), 1)
    covers = tuple(_covering(cells, known) for cells, known in zip(labels, people.known, strict=True))
    return PublishedRows(name, covers, classes, number, loss)


def _covering(cells: Sequence[str], known: KnownColumn) -> NDArray[np.bool_]:
    """(published cell, true value) → whether the one may stand for the other."""
    code_of = {value: code for code, value in enumerate(known.values)}
    numbers = known.numbers
    covering = np.zeros((len(cells), len(known.values)), dtype=np.bool_)
    for row, cell in enumerate(cells):
        within = _RANGE.fullmatch(cell)
        if cell in code_of:
            covering[row, code_of[cell]] = True
        elif cell == "*":
            covering[row] = True
        elif within is not None and numbers is not None:
            covering[row] = (numbers >= float(within[1])) & (numbers <= float(within[2]))
        else:
            for part in cell.split("|"):
                if part in code_of:
                    covering[row, code_of[part]] = True
    return covering


def _members(connection: duckdb.DuckDBPyConnection, people: People) -> duckdb.DuckDBPyRelation:
    """The members' rows as a table: numbers as numbers, so that they may be put into ranges."""
    columns = {}
    for attribute in (*people.known, people.secret):
        values = np.array(attribute.values, dtype=object)
        numbers = attribute.numbers if attribute is not people.secret else None
        if numbers is not None:
            whole = np.array_equal(numbers, np.trunc(numbers))
            values = numbers.astype(np.int64) if whole else numbers
        columns[quoted(attribute.name)] = values[attribute.codes[people.members]]
    connection.execute("CREATE TABLE members (" + ", ".join(f"{n} {_kind(c)}" for n, c in columns.items()) + ")")
    listed = ", ".join(f"unnest(?) AS {name}" for name in columns)
    connection.execute(f"INSERT INTO members SELECT {listed}", [column.tolist() for column in columns.values()])
    return connection.table("members")


def _kind(column: NDArray[np.int64] | Floats | NDArray[np.object_]) -> str:
    return {"i": "BIGINT", "f": "DOUBLE"}.get(column.dtype.kind, "VARCHAR")


@dataclass(frozen=True, slots=True)
class _Bench:
    """The members behind a policy: codes for values, a row for a person, and a ledger that is thrown away."""

    policy: Policy
    engine: Engine
    ledger: SqliteLedger


@contextmanager
def _bench(people: People) -> Iterator[_Bench]:
    """A database of the members, open. The domains are taken to be public."""
    with tempfile.TemporaryDirectory(prefix="tacit-attack-") as scratch:
        everything = (*people.known, people.secret)
        names = [*(f"q{i}" for i in range(len(people.known))), "s"]
        with duckdb.connect(str(Path(scratch, "members.duckdb"))) as connection:
            connection.execute("CREATE TABLE members (" + ", ".join(f"{name} BIGINT" for name in names) + ")")
            listed = ", ".join("unnest(?)" for _ in names)
            codes = [column.codes[people.members].tolist() for column in everything]
            connection.execute(f"INSERT INTO members SELECT {listed}", codes)
        columns = [
            ColumnPolicy(name, type="integer", domain=list(range(len(column.values))), null=0)  # no cell is missing
            for name, column in zip(names, everything, strict=True)
        ]
        policy = Policy(
            Dataset("members", "members.duckdb", base=Path(scratch)),
            BudgetPolicy(10**9, Fraction(1, 2), reuse=False),
            tables=[TablePolicy("members", unit="row", columns=columns)],
            analysts=[AnalystPolicy("mallory", 10**9)],
        )
        ledger = SqliteLedger(Path(scratch, "members.ledger"), create=True)
        with closing(open_engine(policy)) as engine, closing(ledger):
            yield _Bench(policy, engine, ledger)


def noisy_tables(people: People, epsilons: Sequence[Fraction]) -> list[NoisyTables]:
    """Counts by each known column and the secret, asked of a curator over the members: one publication for each price.

    Each table has an equal share of the price.
    """
    asked = [i for i, known in enumerate(people.known) if len(known.values) <= MOST_VALUES]
    publications = []
    with _bench(people) as bench:
        curator = Curator(bench.policy, bench.engine, bench.ledger)
        for epsilon in epsilons:
            counts: list[Floats | None] = [None] * len(people.known)
            for index in asked:
                counts[index] = _asked(curator, index, epsilon / len(asked), people)
            publications.append(NoisyTables(f"DP-SELECT at ε = {float(epsilon):g}", tuple(counts), Loss(epsilon)))
    return publications


def synthetic_rows(people: People, epsilon: Fraction, *, delta: Fraction = Fraction(1, 10**6)) -> PublishedRows:
    """As many made-up rows as there are members, from a model of them that was paid for once."""
    request = SynthesisRequest("members", epsilon, delta)
    with _bench(people) as bench:
        model = Publisher(bench.policy, bench.engine, bench.ledger).publish(request, bench.policy.analysts[0]).value
    table = model.sample()
    cells = dict(zip(table.columns, table.lists(), strict=True))
    codes = [np.array(cells[f"q{index}"], dtype=np.int64) for index in range(len(people.known))]
    secrets = np.array(cells["s"], dtype=np.int64)
    labels = [known.values for known in people.known]
    return _gathered(
        f"synthetic rows at ε = {float(epsilon):g}", labels, codes, people, secrets=secrets, loss=Loss(epsilon, delta)
    )


def _asked(curator: Curator, index: int, epsilon: Fraction, people: People) -> Floats:
    text = f"DP-SELECT {epsilon} q{index}, s, COUNT(*) FROM members GROUP BY q{index}, s"
    answer = curator.ask(text, session=Session("mallory"))
    assert isinstance(answer, Release)  # noqa: S101 - it does not say EXPLAIN
    table = np.zeros((len(people.known[index].values), len(people.secret.values)))
    for value, secret, number in answer.rows:
        table[int(str(value)), int(str(secret))] = float(str(number))
    return table


def utility(publication: Publication, people: People) -> float:
    """How much of the tables of each known column by the secret is right: 1 less half the distance of the shares."""
    distances = []
    for index, known in enumerate(people.known):
        noisy = publication.table(index, known) if isinstance(publication, PublishedRows) else publication.counts[index]
        if noisy is None:
            continue
        true = np.zeros(noisy.shape)
        np.add.at(true, (known.codes[people.members], people.secret.codes[people.members]), 1)
        shares = [np.maximum(0, table) / max(1e-9, np.maximum(0, table).sum()) for table in (noisy, true)]
        distances.append(1 - float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return float(np.mean(distances)) if distances else 0.0
