"""The verifier believes the published table alone: what a defect does to it on the way is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.errors import TacitError
from tacit.release.anonymise import anonymise, door
from tacit.release.anonymise.checks.auditing import Classes, verify
from tacit.release.anonymise.models.family import KAnonymity, KMap
from tacit.release.anonymise.values.tuples import ClassTally

pd = pytest.importorskip("pandas")

PEOPLE = pd.DataFrame({"age": [1, 1, 1, 1, 5, 5, 5, 5]})
TABLE = pd.DataFrame({"age": [1, 1, 5, 5]})
ASKED: list[dict[str, Any]] = [{"k": 2}, {"k": 2, "k_map": 2, "population": PEOPLE}]
DEFECTS = {
    "a row of each class is lost": (
        "DELETE FROM published WHERE rowid IN (SELECT min(rowid) FROM published GROUP BY age)",
        "it has 2 rows where there should be 4",
    ),
    "every row is there twice": (
        "INSERT INTO published SELECT * FROM published",
        "it has 8 rows where there should be 4",
    ),
    "all rows stand under one cell": (
        "UPDATE published SET age = (SELECT max(age) FROM published)",
        "do not stand under the cells of their classes",
    ),
    "two cells have changed places": (
        "CREATE TYPE swapped AS ENUM ('5', '1'); ALTER TABLE published ALTER age SET DATA TYPE swapped",
        "not those of its classes",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("asked", ASKED, ids=["alone", "beside a population"])
def test_a_table_that_is_not_the_one_its_classes_were_made_for_is_refused(
    asked: dict[str, Any], defect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(anonymise(TABLE, ["age"], **asked).table) == 4
    real = door.publish
    sql, said = DEFECTS[defect]

    def broken(prepared: Any, partition: Any, *, key: bytes | None) -> None:
        real(prepared, partition, key=key)
        prepared.source.connection.execute(sql)

    monkeypatch.setattr(door, "publish", broken)
    with pytest.raises(TacitError, match=f"nothing is published: .*{said}"):
        anonymise(TABLE, ["age"], **asked)


def test_k_is_counted_in_the_published_table_whatever_the_population_is() -> None:
    """The tally beside the population is the method's own, and may be what is wrong."""
    published = ClassTally(np.array([1, 3]), None, {})
    believed = ClassTally(np.array([2, 2]), np.array([9, 9]), {})
    classes = Classes(published, ClassTally(np.array([4]), None, {}), {}, np.zeros((1, 2), dtype=np.int32))
    verify(classes, [KMap(9)], population=believed)
    with pytest.raises(TacitError, match="1 of 2 classes do not satisfy k = 2"):
        verify(classes, [KAnonymity(2)], population=believed)


def test_more_cells_than_one_number_holds_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({f"c{place}": rng.integers(0, 10**6, 200) for place in range(14)})
    assert len(anonymise(table, list(table.columns), k=1).table) == 200
    real = door.publish

    def broken(prepared: Any, partition: Any, *, key: bytes | None) -> None:
        real(prepared, partition, key=key)
        prepared.source.connection.execute("UPDATE published SET c0 = (SELECT max(c0) FROM published)")

    monkeypatch.setattr(door, "publish", broken)
    with pytest.raises(TacitError, match="do not stand under the cells"):
        anonymise(table, list(table.columns), k=1)
