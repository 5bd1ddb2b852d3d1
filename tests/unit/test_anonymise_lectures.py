"""The lectures' five people, and the toy tables of the implementation they link to."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from tacit.release.anonymise import Bands, Prefix, Tree, anonymise, check
from tacit.release.anonymise.methods.mondrian import relaxed, strict
from tacit.release.anonymise.models.family import KAnonymity, Rules
from tacit.release.anonymise.partition import Partition
from tacit.release.anonymise.values.coding import column
from tacit.release.anonymise.values.tuples import Tuples, whole

PEOPLE = (
    ("06/07", "Li Pu", 190, 80, "60+", "1001", "Politician"),
    ("06/14", "Sara Lee", 185, 110, "60+", "1001", "Rentier"),
    ("06/12", "Nikos Papadopoulos", 180, 82, "60+", "1243", "Politician"),
    ("01/01", "A. B. Student", 170, 70, "40-60", "6732", "Time Traveller"),
    ("05/08", "Li Yang", 175, 72, "30-40", "6910", "Policeman"),
)
COLUMNS = ("birthday", "name", "height", "weight", "age", "postcode", "profession")
QUASI = ("height", "weight", "age", "postcode")
LEVELS = {
    "height": Bands(((170, 180, 190),)),
    "weight": Bands(((60, 80, float("inf")),)),
    "age": Tree({"60+": ("60+",), "40-60": ("20-60",), "30-40": ("20-60",)}),
    "postcode": Prefix((1,)),
}
FIRST = [[6, 1], [6, 1], [8, 2], [8, 2], [4, 1], [4, 2], [4, 3], [4, 4]]
SECOND = [[6, 1], [8, 1], [8, 1], [8, 1], [8, 1], [4, 1], [4, 2], [4, 3], [4, 4]]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (" + ", ".join(f"{c} VARCHAR" for c in COLUMNS) + ")")
        connection.execute("ALTER TABLE t ALTER height TYPE INTEGER; ALTER TABLE t ALTER weight TYPE INTEGER")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(COLUMNS))})", PEOPLE)
        connection.execute(f"COPY t TO '{tmp_path / 'people.parquet'}'")
    return tmp_path / "people.parquet"


@pytest.mark.parametrize("method", ["optimal", "local"])
def test_the_five_rows_become_the_lectures_table(people: Path, method: str) -> None:
    result = anonymise(people, QUASI, k=2, method=method, hierarchies=LEVELS)
    columns, rows = result.rows()
    assert columns == QUASI
    assert sorted(rows) == [("170-180", "60-80", "20-60", "6*")] * 2 + [("180-190", "80+", "60+", "1*")] * 3
    assert result.report.class_sizes == ((2, 1), (3, 1))


def test_with_the_birthday_everybody_stands_alone(people: Path) -> None:
    assert check(people, ["birthday", *QUASI]).k == 1
    assert check(people, ["birthday"]).risk.sample_unique == 1


def test_intervals_read_as_the_lectures_write_them(people: Path) -> None:
    _, rows = anonymise(people, ("height", "weight"), k=2, top={"weight": 80}).rows()
    assert sorted(rows) == [("170-175", "70-72")] * 2 + [("180-190", "80+")] * 3


def _run(method: object, table: list[list[int]], k: int = 2) -> tuple[Partition, float]:
    columns, codes = [], []
    for place, values in enumerate(np.array(table).T):
        different, at, counts = np.unique(values, return_inverse=True, return_counts=True)
        made, numbers = column(str(place), different.tolist(), counts=counts, hierarchy=None)
        columns.append(made)
        codes.append(numbers[at])
    tuples = Tuples(np.stack(codes).astype(np.int32), np.ones(len(table), dtype=np.int64), None, ())
    partition = method(tuples, columns, rules=Rules((KAnonymity(k),), whole(tuples)), progress=lambda _: None)
    rows = np.bincount(partition.classes)
    assert rows.min() >= k
    loss = np.mean([cells.loss for cells in partition.cells], axis=0)
    return partition, float((loss * rows).sum() / rows.sum())


@pytest.mark.parametrize(
    ("method", "table", "expected"),
    [
        (strict, FIRST, 100 / 12),
        (relaxed, FIRST, 100 / 12),
        (strict, SECOND, 2300 / 108),  # 21.296 %
        (relaxed, SECOND, 700 / 54),  # 12.963 %
    ],
)
def test_mondrian_loses_what_the_lectures_link_says(method: object, table: list[list[int]], expected: float) -> None:
    assert _run(method, table)[1] * 100 == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", [strict, relaxed])
def test_a_constant_column_loses_nothing(method: object) -> None:
    partition, loss = _run(method, [[*row, 7] for row in FIRST])
    assert partition.cells[2].loss.max() == 0
    assert loss == pytest.approx(1 / 12 * 2 / 3)


def test_strict_keeps_what_is_alike_together_and_relaxed_parts_it() -> None:
    table = [[1]] * 7 + [[2]] * 2
    assert sorted(np.bincount(_run(strict, table)[0].classes)) == [2, 7]
    assert sorted(np.bincount(_run(relaxed, table)[0].classes)) == [2, 3, 4]
